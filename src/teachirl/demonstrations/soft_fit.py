"""The soft policy that fits an expert's choices best, and how sure that is if the expert is soft.

Given the states that were visited, the steps (s, a) of the episodes have the log-likelihood

    L(θ) = Σ log π_θ(a | s),    ∇L = Σ D_θ(s, a),    F = Σ Σ_a π_θ(a | s) D_θ(s, a) D_θ(s, a)ᵀ

with D_θ the advantage features and F Fisher's information. Where an episode started, what chance
did in it and when it was cut off says nothing about θ, and does not enter. The estimate maximises

    L(θ) − κ/2 θᵀGθ,  G the mean of D₀D₀ᵀ along the uniform policy.

θᵀGθ is the mean square of how much better an action is than a random one, in nats. κ is the
strength of the prior under which the episodes are most plausible (MacKay 1992),
κ θᵀGθ = rank G − κ tr(J⁻¹G) with J = F + κG, and at least rank G/choosiness², as an expert who
never errs has no finite θ. With S the sum of s_i s_iᵀ over the m episodes' scores
s_i = Σ D_θ(s, a), the covariance of θ is

    C = J⁻¹ (λS + (1 − λ)F + κG) J⁻¹,  λ = m/(m + k),

which is J⁻¹ if the expert is as assumed, as S and F then agree, and allows for one who is not once
there are enough episodes to tell. Where the episodes say nothing, C is the prior's, (κG)⁻¹.
"""

from __future__ import annotations

import math

import numpy as np
import scipy  # its parts are loaded when they are used
import scipy.sparse as sp

from ..arrays import Floats
from ..errors import Status
from ..mdp.model import MDP
from ..mdp.policy import Policy
from ..mdp.soft_planning import SoftModel, SoftPoint
from .trajectories import Trajectories

# Steps of a fit that need not be at the maximum.
REFIT = 30


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


class SoftFit:
    """The penalised likelihood in coordinates z, θ = Bz, in which G is the identity.

    `counts` [P] say how often each pair was chosen.
    """

    def __init__(self, mdp: MDP, choosiness: float) -> None:
        self.mdp, self.model = mdp, SoftModel(mdp)
        self.choose(np.zeros(mdp.n_pairs))
        chances = Policy.uniform(mdp).probabilities
        visits = (1.0 - mdp.discount) * self.model.visits(chances)
        self.B = self.model.coordinates(self.model.root(chances, visits), 1.0)
        self.kappa = self.weakest = self.B.shape[1] / choosiness**2
        self.taken, self.last = 0, np.zeros(self.B.shape[1])

    def choose(self, counts: Floats) -> None:
        """Take these to be the choices: how often each pair was chosen, [P]."""
        dynamics = self.mdp.dynamics
        self.counts = counts
        self.by_state = np.add.reduceat(counts, dynamics.offsets[:-1])
        # ∇L has the successor features of where steps may lead, less those of where they are.
        ahead = np.asarray(dynamics.transitions.T @ counts)
        self.source = self.mdp.discount * ahead - self.by_state

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

    def run(
        self, episodes: Trajectories, tolerance: float, max_steps: int
    ) -> tuple[Floats, SoftPoint, Floats, InferStatus]:
        """θ [k], its soft plan, a root [k, r] of its covariance, and how the search ended."""
        self.choose(np.bincount(episodes.pairs, minlength=self.mdp.n_pairs).astype(float))
        z, self.taken = np.zeros(self.B.shape[1]), 0
        if len(z) == 0:
            point = self.model.at(np.zeros(self.mdp.n_features))
            return self.B @ z, point, self.B, InferStatus.UNIDENTIFIED
        # So often, at most, the strength of the prior is estimated anew.
        for _ in range(20):
            z = self.quasi_newton(z, max_steps)
            z, point, J, root, status = self.scoring(z, episodes, tolerance, max_steps)
            known = len(z) - self.kappa * float(np.trace(np.linalg.inv(J)))
            kappa = max(self.weakest, known / (float(z @ z) or math.inf))
            if status is not InferStatus.CONVERGED or abs(kappa / self.kappa - 1.0) <= 0.05:
                break
            self.kappa = kappa
        return self.B @ z, point, self.B @ root, status

    def refit(self, counts: Floats) -> Floats:
        """The chances [P] of the policy that fits these choices, found quickly from the last."""
        self.choose(counts)
        self.kappa, self.taken = self.weakest, 0
        if self.B.shape[1]:
            self.last = self.quasi_newton(self.last, REFIT)
        return self.model.at(self.B @ self.last).chances

    def scoring(
        self, z: Floats, episodes: Trajectories, tolerance: float, max_steps: int
    ) -> tuple[Floats, SoftPoint, Floats, Floats, InferStatus]:
        """Fisher's scoring steps J δ = −gradient, halved until they help; and J and the root."""
        point = self.model.at(self.B @ z)
        while True:
            value, slope = self.loss(z, point)
            J, root = self.spread(point, episodes)
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

    def spread(self, point: SoftPoint, episodes: Trajectories) -> tuple[Floats, Floats]:
        """J [r, r], and a root of the covariance, [r, r], both of z."""
        model, m = self.model, len(episodes)
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


__all__ = ["InferStatus", "SoftFit"]
