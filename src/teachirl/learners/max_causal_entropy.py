"""Maximum causal entropy (Ziebart 2010): of all policies that match, the most random one.

With H the discounted causal entropy and b the target, sought is max H(π) such that μ(π) = b. Its
Lagrangian dual, over weights θ of a reward that the learner then ascribes to the expert, is convex:

    min D(θ) = ⟨start, V_θ⟩ − ⟨θ, b⟩ + ρ/2 ‖θ‖²,    ∇D = μ(π_θ) − b + ρθ,

with V_θ and π_θ the soft values and policy of the reward ⟨θ, Aφ⟩ (see `soft_planning`; at
temperature τ all is the same with θ/τ, and ρτ in the place of ρ). L-BFGS minimises it in
coordinates in which ∂μ/∂θ is the identity at θ = 0, so that the scales of the features do not
matter and what cannot tell policies apart is left alone. The last digits of ∇D, finer than
differences of D, are Newton's.

A target outside AM has no θ with ∇D = 0, D falls without end, and a direction u proves it:

    ‖μ − b‖ ≥ ⟨u, b⟩ − max_M ⟨u, Aμ⟩ > 0 for all μ,  ‖u‖ = 1; one MDP solve.

Then ρ is lowered step by step: the least of D has b − μ = ρθ, is the most of H − ‖μ − b‖²/2ρ, and
so tends to the most random of the nearest policies, with a proof, u = θ/‖θ‖, that misses by at most
max H/‖θ‖. A target on the boundary of AM, such as that of a deterministic expert who looks optimal
to the learner, has no finite θ either, but gradients as small as one likes: learning stops at the
tolerance.

A state that is never left counts with its entropy, for ever: a sink should have one action.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import ArrayLike

from ..arrays import Floats
from ..errors import require
from ..mdp.model import MDP
from ..mdp.planning import optimal_policy
from ..mdp.policy import Policy
from ..mdp.soft_planning import SoftModel, SoftPoint, check_temperature
from ..precision import EPS, SQUARED
from .learner import Assignment, Learned, LearnStatus, check_limits
from .nearness import concluded, distance, proved

# Out of reach, ρ falls by a factor whenever ‖∇D‖ is this share of what is left to prove.
FALL, NEAR = 5.0, 0.1


@dataclass(frozen=True)
class MaxCausalEntropy:
    """The most random of all policies that match, and the reward whose soft-optimal policy it is.

    A target out of reach leads to the nearest policy, with a proof. If the policy to start with
    matches, it is kept, and there are no weights to report; the uniform one is the most random.

    Parameters
    ----------
    tolerance : float, the distance to stop at, as a fraction of max ‖Aφ‖/(1 − γ), in even units
        (`learner`)
    max_steps : int, stop after so many steps
    temperature : float, τ > 0; it scales the reported weights, and nothing else if not regularised
    regularisation : float, ρ ≥ 0, to keep the weights of the features as given small: learning then
        stops at the least of D, if nothing matches before, with the status SETTLED

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> seen = ti.Worldview.select(mdp, ["cell 5"]).observe(mdp)
    >>> target = ti.feature_expectations(seen, ti.soft_policy(seen, [0.5]).policy)
    >>> learned = ti.learners.MaxCausalEntropy(tolerance=1e-9).learn(seen, target)
    >>> learned.status, learned.weights.round(6)
    (MATCHED, array([0.5]))
    >>> ti.learners.MaxCausalEntropy().learn(seen, [8.0]).status
    NEAREST
    """

    tolerance: float = 1e-6
    max_steps: int = 1000
    temperature: float = 1.0
    regularisation: float = 0.0

    def __post_init__(self) -> None:
        check_limits(self.tolerance, self.max_steps)
        check_temperature(self.temperature)
        require(
            0.0 <= self.regularisation < math.inf,
            f"regularisation must be non-negative and finite, got {self.regularisation!r}",
        )

    def learn(self, seen: MDP, target: ArrayLike, start: Policy | None = None) -> Learned:
        """Match a target as randomly as possible.

        Parameters
        ----------
        seen : MDP with the learner's features
        target : array [ℓ], what was shown in these features
        start : Policy, used if it is nearer than the uniform one

        Returns
        -------
        Learned
        """
        given = Assignment(seen, target, start)
        task, rho = given.even(), self.regularisation * self.temperature
        goal = self.tolerance * task.scale
        if task.miss(task.first) <= goal:
            nothing = np.zeros(seen.n_features)
            return task.report(task.start, nothing, 0, [], LearnStatus.MATCHED)
        if rho > 0.0:
            # ‖θ‖ is to be small in the features as given; whoever is this near in them matches.
            goal *= float(task.units.min())
            task = given
        few = task.independent()
        search = _Search(few, goal, self.tolerance * task.scale, rho, self.max_steps)
        status = search.run()
        policy = Policy(seen.dynamics, chances=search.now.point.chances)
        weights = self.temperature * (few.along(search.now.theta) / task.units)
        q, upper = search.proof
        if few is not task and q.any():  # what few features are rounded to proves nothing of all
            q = few.along(q)
            upper = optimal_policy(task.seen, q).upper
        nearest = proved(task, q, upper)
        learned = task.report(policy, weights, search.solves, search.history, status, nearest)
        return concluded(task, learned, goal)


@dataclass(frozen=True, eq=False)
class _Iterate:
    """Some θ and what its soft policy does.

    Attributes
    ----------
    point : SoftPoint
    visits : array [S]
    mu, gap : arrays [ℓ], μ and μ − b
    dual : D for ρ = 0
    """

    point: SoftPoint
    visits: Floats
    mu: Floats
    gap: Floats
    dual: float

    @property
    def theta(self) -> Floats:
        return self.point.theta

    @property
    def miss(self) -> float:
        return float(np.linalg.norm(self.gap))

    def value(self, rho: float) -> float:
        """D"""
        return self.dual + 0.5 * rho * float(self.theta @ self.theta)

    def slope(self, rho: float) -> Floats:
        """∇D, array [ℓ]"""
        return self.gap + rho * self.theta


class _Search:
    """The minimisation of D at temperature 1.

    Attributes
    ----------
    now : _Iterate, the last one accepted
    goal : the distance that is a match
    flat : the ‖∇D‖ that ends the search if ρ > 0
    history : the mismatches of those accepted, without θ = 0, which it begins with
    solves : MDPs solved
    nearest : lower bound on the distance of all policies
    proof : the direction [ℓ] that gives it, and what no policy exceeds along it
    outside : whether the target is proved out of reach, and the nearest policy is looked for
    """

    def __init__(
        self, task: Assignment, goal: float, flat: float, rho: float, max_steps: int
    ) -> None:
        self.task, self.goal, self.flat, self.rho, self.max_steps = task, goal, flat, rho, max_steps
        self.model = SoftModel(task.seen)
        self.rounding = 128.0 * EPS * (float(np.linalg.norm(task.target)) + task.scale)
        self.history: list[float] = []
        self.solves, self.nearest, self.outside = 0, 0.0, False
        self.proof = np.zeros(task.seen.n_features), 0.0
        self.now = self.first = self.at(np.zeros(task.seen.n_features), None)

    def at(self, theta: Floats, guess: Floats | None) -> _Iterate:
        self.solves += 1
        b, point = self.task.target, self.model.at(theta, guess)
        visits = self.model.visits(point.chances)
        mu = self.model.expectations(point.chances, visits)
        return _Iterate(point, visits, mu, mu - b, point.value - float(theta @ b))

    def run(self) -> LearnStatus:
        status = self.status() or self.proved()
        if status is None:
            self.quasi_newton()
            status = self.status() or self.proved()
        if status is None:
            status = self.newton()
        return status

    def status(self) -> LearnStatus | None:
        """How it has ended, if it has."""
        if self.now.miss <= self.goal:
            return LearnStatus.MATCHED
        if self.nearest > 0.0 and self.now.miss - self.nearest <= max(self.goal, self.rounding):
            return LearnStatus.NEAREST
        if self.rho > 0.0 and _length(self.now.slope(self.rho)) <= self.flat:
            return LearnStatus.SETTLED
        return LearnStatus.OUT_OF_STEPS if len(self.history) >= self.max_steps else None

    def proved(self) -> LearnStatus | None:
        """The status after two more directions have been tried for a proof."""
        b = self.task.target
        for direction in (b - self.now.mu, self.now.theta):
            length = float(np.linalg.norm(direction))
            if length > 0.0:
                self.solves += 1
                u = direction / length
                upper = optimal_policy(self.task.seen, u).upper
                bound = distance(b, u, upper)
                if bound > self.nearest:
                    self.nearest, self.proof = bound, (u, upper)
        self.outside = self.outside or (self.rho == 0.0 and self.nearest > self.goal)
        return self.status()

    def accept(self, iterate: _Iterate) -> None:
        self.now = iterate
        self.history.append(self.task.mismatch(iterate.gap))
        # D is at least the entropy of whoever matches: negative, it says that nobody does.
        # What a target may be off by, relatively, because it was computed.
        sizes = 1e-10 * (np.abs(self.task.target) + self.model.largest)
        doubt = iterate.point.error + float(np.abs(iterate.theta) @ sizes)
        self.outside = self.outside or (self.rho == 0.0 and iterate.dual < -doubt)

    def root(self) -> Floats:
        """R with RᵀR = ∂μ/∂θ where it is."""
        return self.model.root(self.now.point.chances, self.now.visits)

    def quasi_newton(self) -> None:
        """L-BFGS in coordinates z, θ = Bz, until it has ended or gets nowhere."""
        R = self.root()
        if self.rho > 0.0:
            R = np.vstack([R, math.sqrt(self.rho) * np.eye(R.shape[1])])
        B = self.model.coordinates(R, 1.0 / (1.0 - self.task.seen.discount))
        if B.shape[1] == 0:
            return
        tried = self.now

        def objective(z: Floats) -> tuple[float, Floats]:
            nonlocal tried
            tried = self.at(B @ z, tried.point.values)
            return tried.value(self.rho), B.T @ tried.slope(self.rho)

        def callback(intermediate_result: scipy.optimize.OptimizeResult) -> None:
            theta = B @ intermediate_result.x
            same = np.array_equal(theta, tried.theta)
            self.accept(tried if same else self.at(theta, tried.point.values))
            steps = len(self.history)
            status = self.proved() if steps & (steps - 1) == 0 else self.status()
            if status is not None or self.outside:
                raise StopIteration

        scipy.optimize.minimize(
            objective,
            np.zeros(B.shape[1]),
            jac=True,
            method="L-BFGS-B",
            callback=callback,
            options={
                "maxiter": self.max_steps,
                "maxfun": 20 * self.max_steps,
                # Pairs of steps and gradients that L-BFGS keeps.
                "maxcor": 20,
                # L-BFGS compares values of D. Where they differ by rounding alone, Newton's steps
                # go on.
                "ftol": 128.0 * EPS,
                "gtol": 0.0,
            },
        )

    def newton(self) -> LearnStatus:
        """Newton's steps, halved until they help.

        If the target is out of reach, ρ is lowered whenever it is near the least of D.
        """
        rho, best = self.rho, self.now
        while True:
            if self.outside and rho == 0.0:
                self.now = self.first  # D has led θ far off by now
            _, sizes, W = np.linalg.svd(self.root(), full_matrices=False)
            now = self.now
            if self.outside and rho == 0.0:
                rho = float(sizes[0]) ** 2 or 1.0
            elif self.outside and _length(now.slope(rho)) <= NEAR * (now.miss - self.nearest):
                rho /= FALL
            slope = now.slope(rho)
            along = W @ slope
            if rho > 0.0:
                step = -(W.T @ (along / (sizes**2 + rho))) - (slope - W.T @ along) / rho
            else:
                kept = sizes > SQUARED * sizes[0]
                step = -(W[kept].T @ (along[kept] / sizes[kept] ** 2))
            # Halvings of a step of Newton's, before rounding is taken to be in the way.
            for share in 0.5 ** np.arange(20):
                trial = self.at(now.theta + share * step, now.point.values)
                # D is convex, and its gradient falls along Newton's step; D itself would let
                # steps pass that lead far off, to where all is flat.
                if _length(trial.slope(rho)) < (1.0 - 0.1 * share) * _length(slope):
                    break
            else:
                best = min(best, self.now, key=lambda iterate: iterate.miss)
                if rho == 0.0 and not self.outside:
                    # Perhaps the target is out of reach, and nothing has proved it yet.
                    self.outside = True
                    continue
                self.now = best
                return LearnStatus.ROUNDING
            self.accept(trial)
            status = self.status() or self.proved()
            if status is not None:
                return status


def _length(vector: Floats) -> float:
    return float(np.linalg.norm(vector))
