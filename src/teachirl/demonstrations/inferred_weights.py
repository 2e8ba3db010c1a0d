"""What an expert is after: weights estimated from recorded episodes, and how sure that is.

The expert is taken to follow the soft policy π_θ of some weights θ (see `soft_planning`). Given the
states that were visited, the steps (s, a) of the episodes have the log-likelihood

    L(θ) = Σ log π_θ(a | s),    ∇L = Σ D_θ(s, a),    F = Σ Σ_a π_θ(a | s) D_θ(s, a) D_θ(s, a)ᵀ

with D_θ the advantage features and F Fisher's information. Where an episode started, what chance
did in it and when it was cut off says nothing about θ, and does not enter. The estimate maximises

    L(θ) − κ/2 θᵀGθ,  G the mean of D₀D₀ᵀ along the uniform policy.

θᵀGθ is the mean square of how much better an action is than a random one, in nats. κ is the
strength of the prior under which the episodes are most plausible (MacKay 1992),
κ θᵀGθ = rank G − κ tr(J⁻¹G) with J = F + κG, and at least rank G/choosiness², as an expert who
never errs has no finite θ. Soft policies of a larger θ are closer to optimal: its length says how
consistent the expert is, and its direction what the expert is after. With S the sum of s_i s_iᵀ
over the m episodes' scores s_i = Σ D_θ(s, a), the covariance of θ is

    C = J⁻¹ (λS + (1 − λ)F + κG) J⁻¹,  λ = m/(m + k),

which is J⁻¹ if the expert is as assumed, as S and F then agree, and allows for one who is not once
there are enough episodes to tell. Where the episodes say nothing, C is the prior's, (κG)⁻¹.

Directions that cannot tell policies apart cannot be estimated: they are projected out of θ.

An expert who never errs is not one of those assumed. The estimate is then a reward for which the
expert is optimal, or nearly so, but so are many others, and the spread says too little of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy  # its parts are loaded when they are used
import scipy.sparse as sp

from ..arrays import Floats, frozen
from ..errors import Status, require
from ..mdp.model import MDP, check_is_mdp
from ..mdp.policy import Policy
from ..mdp.soft_planning import SoftModel, SoftPoint
from ..precision import SOLVED
from ..views.potential_shaping import indistinct_directions
from .demonstration import Demonstration
from .trajectories import Trajectories, check_trajectories


class InferStatus(Status):
    """How an inference ended; the text says what to do about it.

    Examples
    --------
    >>> import teachirl as ti
    >>> [status.name for status in ti.InferStatus]
    ['CONVERGED', 'OUT_OF_STEPS', 'ROUNDING', 'UNIDENTIFIED']
    """

    CONVERGED = "the likelihood is at its maximum"
    OUT_OF_STEPS = "stopped early; raise max_steps"
    ROUNDING = "rounding leaves nothing to gain; ask for a larger tolerance"
    UNIDENTIFIED = "the features tell no policies apart: no episodes would say anything"


@dataclass(frozen=True, eq=False)
class InferredWeights:
    """The weights that explain an expert's episodes, and how far they may be off.

    Attributes
    ----------
    weights : array [k] of length 1, orthogonal to `unidentified`; zeros if nothing is known
    scale : float, ‖θ‖, the inverse temperature at which the expert follows them; 0 if nothing is
        known
    root : array [k, r]: scale · weights + root · z, z ~ N(0, I), are plausible θ
    unidentified : array [d, k], orthonormal directions that no episodes say anything about
    log_likelihood : float, L(θ), of all steps together
    steps : int, how many steps the episodes have
    policy : Policy, the soft policy of θ: what the expert is taken to do
    status : InferStatus

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp, rng = ti.worlds.chain(3), np.random.default_rng(0)
    >>> right = ti.Policy.deterministic(mdp, [1, 1, 0])
    >>> seen = ti.sample_trajectories(mdp, right, episodes=20, horizon=10, rng=rng)
    >>> found = ti.infer_weights(mdp, seen)
    >>> found.steps, found.sample(rng, 4).shape
    (200, (4, 3))
    """

    weights: Floats
    scale: float
    root: Floats
    unidentified: Floats
    log_likelihood: float
    steps: int
    policy: Policy
    status: InferStatus

    def __repr__(self) -> str:
        return f"InferredWeights({len(self.weights)} features, {self.status!r}: {self.summary})"

    @cached_property
    def covariance(self) -> Floats:
        """array [k, k], the mean of (w − weights)(w − weights)ᵀ over plausible w of length 1.

        Errors across the weights turn them and make θ longer; both are counted.
        """
        across = self.root - np.outer(self.weights, self.weights @ self.root)
        length = math.hypot(self.scale, float(np.linalg.norm(across))) or 1.0
        short = 1.0 - self.scale / length
        turned = across @ across.T / length**2
        return frozen(turned + short**2 * np.outer(self.weights, self.weights))

    @cached_property
    def spread(self) -> Floats:
        """array [k], the standard errors of the weights."""
        return frozen(np.sqrt(np.diagonal(self.covariance)))

    def sample(self, rng: np.random.Generator, n: int) -> Floats:
        """Plausible weight vectors of length 1.

        Parameters
        ----------
        rng : numpy.random.Generator
        n : int, how many

        Returns
        -------
        array [n, k]
        """
        require(
            isinstance(rng, np.random.Generator),
            f"rng must be a numpy.random.Generator, got {type(rng).__name__}",
        )
        require(
            isinstance(n, (int, np.integer)) and n >= 0,
            f"n must be a whole number, 0 or more, got {n!r}",
        )
        theta = self.scale * self.weights + rng.standard_normal((n, self.root.shape[1])) @ (
            self.root.T
        )
        lengths = np.linalg.norm(theta, axis=1, keepdims=True)
        return np.asarray(theta / np.where(lengths > 0.0, lengths, 1.0))

    @property
    def summary(self) -> str:
        """str, what is known of the weights, in one sentence."""
        if self.scale == 0.0:
            return "the episodes say nothing about the weights."
        off = math.sqrt(float(np.trace(self.covariance)))
        degrees = math.degrees(2.0 * math.asin(min(off / 2.0, 1.0)))  # off is a chord
        mean = math.exp(self.log_likelihood / self.steps)
        return (
            "if the expert errs as soft policies do, the direction of the weights is known to "
            f"about {degrees:.2g} degrees; they give the expert's actions a probability of "
            f"{mean:.2g} (geometric mean of {self.steps} steps)."
        )


def infer_weights(
    mdp: MDP,
    demonstrations: Trajectories | Demonstration,
    *,
    choosiness: float = 10.0,
    tolerance: float = 1e-3,
    max_steps: int = 1000,
) -> InferredWeights:
    """Estimate the weights of the reward that an expert follows.

    Parameters
    ----------
    mdp : MDP with the full features
    demonstrations : Trajectories, or a Demonstration that has them: independent episodes
    choosiness : float, how much better than a random action an expert's may be expected to be, in
        nats (at 10, a random action is taken e^10 times less often): a weak prior, for experts who
        never err
    tolerance : float, how far the estimate may be from the maximum, in standard errors
    max_steps : int, stop after so many steps

    Returns
    -------
    InferredWeights

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp, rng = ti.worlds.chain(5), np.random.default_rng(0)
    >>> expert = ti.soft_policy(mdp, [0, 0, 0, 0, 1]).policy
    >>> seen = ti.sample_trajectories(mdp, expert, episodes=500, horizon=20, rng=rng)
    >>> found = ti.infer_weights(mdp, seen)
    >>> found.status, len(found.unidentified)  # all cells, and cells of equal parity, count alike
    (CONVERGED, 2)
    >>> true = np.array([-1, 0, -1, 0, 2]) / np.sqrt(6)  # without those directions
    >>> bool(np.all(np.abs(found.weights - true) < 3 * found.spread + 1e-12))
    True
    """
    check_is_mdp(mdp)
    episodes = _episodes(mdp, demonstrations)
    require(
        0.0 < choosiness < math.inf, f"choosiness must be positive and finite, got {choosiness!r}"
    )
    require(0.0 < tolerance < math.inf, f"tolerance must be positive and finite, got {tolerance!r}")
    require(
        isinstance(max_steps, (int, np.integer)) and max_steps >= 1,
        f"max_steps must be a whole number from 1 on, got {max_steps!r}",
    )
    return _Fit(mdp, episodes, choosiness).run(tolerance, max_steps)


def _episodes(mdp: MDP, demonstrations: Trajectories | Demonstration) -> Trajectories:
    episodes: object = demonstrations
    if isinstance(demonstrations, Demonstration):
        episodes = demonstrations.trajectories
        require(
            episodes is not None,
            "demonstrations must have episodes: a Demonstration of feature expectations alone "
            "does not; sample some, or read them from a file",
        )
    if not isinstance(episodes, Trajectories):
        kind = type(demonstrations).__name__
        require(False, f"demonstrations must be Trajectories or a Demonstration, got {kind}")
    assert isinstance(episodes, Trajectories)
    check_trajectories(mdp, episodes)
    return episodes


class _Fit:
    """The penalised likelihood in coordinates z, θ = Bz, in which G is the identity."""

    def __init__(self, mdp: MDP, episodes: Trajectories, choosiness: float) -> None:
        self.mdp, self.episodes, self.model = mdp, episodes, SoftModel(mdp)
        self.counts = np.bincount(episodes.pairs, minlength=mdp.n_pairs).astype(float)
        self.by_state = np.add.reduceat(self.counts, mdp.dynamics.offsets[:-1])
        # ∇L has the successor features of where steps may lead, less those of where they are.
        ahead = np.asarray(mdp.dynamics.transitions.T @ self.counts)
        self.source = mdp.discount * ahead - self.by_state
        chances = Policy.uniform(mdp).probabilities
        visits = (1.0 - mdp.discount) * self.model.visits(chances)
        self.B = self.model.coordinates(self.model.root(chances, visits), 1.0)
        self.kappa = self.weakest = self.B.shape[1] / choosiness**2
        self.taken = 0

    def loss(self, z: Floats, point: SoftPoint) -> tuple[float, Floats]:
        """κ/2 ‖z‖² − L and its gradient [r]."""
        mdp, model = self.mdp, self.model
        value = 0.5 * self.kappa * float(z @ z) - self.likelihood(point)
        passed = model.visits(point.chances, self.source)
        if mdp.features_per_pair:
            score = mdp.features.T @ (self.counts + point.chances * passed[model.states])
        else:
            score = mdp.features.T @ (self.by_state + passed)
        return value, self.kappa * z - self.B.T @ np.asarray(score)

    def likelihood(self, point: SoftPoint) -> float:
        """L"""
        return float(self.counts @ self.model.log_chances(point))

    def run(self, tolerance: float, max_steps: int) -> InferredWeights:
        if self.B.shape[1] == 0:
            point = self.model.at(np.zeros(self.mdp.n_features))
            return self.report(np.empty(0), point, np.empty((0, 0)), InferStatus.UNIDENTIFIED)
        z = np.zeros(self.B.shape[1])
        # So often, at most, the strength of the prior is estimated anew.
        for _ in range(20):
            z = self.quasi_newton(z, max_steps)
            z, point, J, root, status = self.scoring(z, tolerance, max_steps)
            known = len(z) - self.kappa * float(np.trace(np.linalg.inv(J)))
            kappa = max(self.weakest, known / (float(z @ z) or math.inf))
            if status is not InferStatus.CONVERGED or abs(kappa / self.kappa - 1.0) <= 0.05:
                break
            self.kappa = kappa
        return self.report(z, point, root, status)

    def scoring(
        self, z: Floats, tolerance: float, max_steps: int
    ) -> tuple[Floats, SoftPoint, Floats, Floats, InferStatus]:
        """Fisher's scoring steps J δ = −gradient, halved until they help; and J and the root."""
        point = self.model.at(self.B @ z)
        while True:
            value, slope = self.loss(z, point)
            J, root = self.spread(point)
            step = -np.linalg.solve(J, slope)
            if math.sqrt(max(-float(slope @ step), 0.0)) <= tolerance:
                return z, point, J, root, InferStatus.CONVERGED
            if self.taken >= max_steps:
                return z, point, J, root, InferStatus.OUT_OF_STEPS
            for _ in range(30):
                trial = self.model.at(self.B @ (z + step), point.values)
                if self.loss(z + step, trial)[0] < value:
                    break
                step = 0.5 * step
            else:
                return z, point, J, root, InferStatus.ROUNDING
            self.taken += 1
            z, point = z + step, trial

    def quasi_newton(self, z: Floats, max_steps: int) -> Floats:
        """L-BFGS from z, until the gradient is small or rounding stops it."""
        point = self.model.at(self.B @ z)
        left = max_steps - self.taken
        if left <= 0:
            return z

        def objective(z: Floats) -> tuple[float, Floats]:
            nonlocal point
            point = self.model.at(self.B @ z, point.values)
            return self.loss(z, point)

        found: scipy.optimize.OptimizeResult = scipy.optimize.minimize(
            objective,
            z,
            jac=True,
            method="L-BFGS-B",
            options={
                "maxiter": left,
                "maxfun": 20 * left,
                "maxcor": 20,
                "gtol": 1e-6,
                "ftol": 1e-13,
            },
        )
        self.taken += int(found.nit)
        return np.asarray(found.x)

    def spread(self, point: SoftPoint) -> tuple[Floats, Floats]:
        """J [r, r], and a root of the covariance, [r, r], both of z."""
        model, episodes, m = self.model, self.episodes, len(self.episodes)
        D = model.advantages(point.chances) @ self.B
        F = (D * (self.by_state[model.states] * point.chances)[:, None]).T @ D
        seen = sp.csr_array(
            (np.ones(episodes.n_steps), episodes.pairs, episodes.offsets),
            shape=(m, self.mdp.n_pairs),
        )
        scores = np.asarray(seen @ D)
        prior, share = self.kappa * np.eye(len(F)), m / (m + self.mdp.n_features)
        J = F + prior
        middle = share * (scores.T @ scores) + (1.0 - share) * F + prior
        return J, np.linalg.solve(J, np.linalg.cholesky(middle))

    def report(
        self, z: Floats, point: SoftPoint, root: Floats, status: InferStatus
    ) -> InferredWeights:
        never = indistinct_directions(self.mdp)
        theta = never.project(self.B @ z)
        scale = float(np.linalg.norm(theta))
        spread = never.project((self.B @ root).T).T if len(z) else np.empty((len(theta), 0))
        # A θ that is nothing beside its own error is rounding, and has no direction.
        if scale <= SOLVED * float(np.linalg.norm(spread)):
            theta, scale = np.zeros_like(theta), 0.0
        return InferredWeights(
            weights=frozen(theta / (scale or 1.0)),
            scale=scale,
            root=frozen(np.ascontiguousarray(spread)),
            unidentified=never.basis,
            log_likelihood=self.likelihood(point),
            steps=self.episodes.n_steps,
            policy=Policy(self.mdp.dynamics, chances=point.chances),
            status=status,
        )
