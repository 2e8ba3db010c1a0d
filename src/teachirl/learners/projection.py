"""Abbeel & Ng's (2004) apprenticeship learning, the projection version: the paper's learner.

From μ, the feature expectations of the mixture so far, and the demonstrated b,

    w = b − μ,   π = a best policy for ⟨w, φ⟩,   μ ← μ + α (μ(π) − μ),

with α ∈ [0, 1] the step to the point of the segment that is nearest to b. The occupancy of the
mixture goes the same way, so that it is one stationary policy whenever it stops. It is the method
of Frank & Wolfe on ‖μ − b‖²: each step also proves that no policy is nearer to b than

    (⟨w, b⟩ − max_M ⟨w, μ⟩)/‖w‖.

Abbeel & Ng have features in [0, 1]: all of it is in even units (`learner`), so that a feature does
not count for less because its numbers are small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats, frozen
from ..mdp import clock, kernels
from ..mdp.kernels.projection import Aim, Mixture, Standing, World, advance, needed, walk
from ..mdp.model import MDP
from ..mdp.occupancy import occupancy, policy_from_occupancy
from ..mdp.planning import optimal_policy
from ..mdp.policy import Policy
from .answers import Answers
from .learner import Assignment, Learned, LearnStatus, check_limits, even_scale
from .nearness import IDLE, concluded, distance, proved, rounding

SMALL = 1_000_000  # entries up to which sparse features are taken as an array
# States times steps of a compiled loop, a fraction of a second: then an interrupt is heeded.
WORK = 2_000_000


@dataclass(frozen=True)
class Projection:
    """Abbeel & Ng's projection algorithm.

    Parameters
    ----------
    tolerance : float, the distance to stop at, or what is left to gain over the nearest policy, as
        a fraction of max ‖Aφ‖/(1 − γ), all in even units (`learner`)
    max_steps : int, MDP solves at most; one more proves how near a policy can be

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> right = ti.Policy.deterministic(mdp, [1, 1, 1, 1, 0])
    >>> learned = ti.learners.Projection().learn(mdp, ti.feature_expectations(mdp, right))
    >>> learned.status, learned.mismatch < 0.01
    (MATCHED, True)
    """

    tolerance: float = 1e-3
    max_steps: int = 10_000

    def __post_init__(self) -> None:
        check_limits(self.tolerance, self.max_steps)

    def learn(self, seen: MDP, target: ArrayLike, start: Policy | None = None) -> Learned:
        """Find a policy near a target.

        Parameters
        ----------
        seen : MDP with the learner's features
        target : array [ℓ], what was shown in these features
        start : Policy, the first of the mixture; the uniform one by default

        Returns
        -------
        Learned
        """
        assignment = Assignment(seen, target, start).even()
        weights, goal = np.zeros(seen.n_features), self.tolerance * assignment.scale
        if assignment.miss(assignment.first) <= goal:
            return assignment.report(assignment.start, weights, 0, [], LearnStatus.MATCHED)
        pursuit = Pursuit(
            assignment.seen,
            assignment.target,
            assignment.units,
            goal,
            assignment.first,
            occupancy(seen, assignment.start),
        )
        history = pursuit.run(self.max_steps)
        mixture, standing = pursuit.mixture, pursuit.standing
        status = LearnStatus.ROUNDING if standing.ended else LearnStatus.OUT_OF_STEPS
        if standing.miss <= goal:
            status = LearnStatus.MATCHED
        solves, nearest = len(history), 0.0
        if standing.near > 0.0:  # up to rounding; it is proved once, here
            best, enough = mixture.best, pursuit.aim.enough
            exactly = needed(enough, assignment.scale)
            plan = optimal_policy(assignment.seen, best, tolerance=exactly)
            solves, nearest = solves + 1, proved(assignment, best, plan.upper)
            near = distance(assignment.target, best, plan.upper)
            if status is LearnStatus.ROUNDING and near and standing.miss - near <= enough:
                status = LearnStatus.NEAREST
        policy = policy_from_occupancy(seen, mixture.x)
        weights = assignment.as_given(mixture.weights)
        learned = assignment.report(policy, weights, solves, history, status, nearest)
        return concluded(assignment, learned, goal)


class Pursuit:
    """The projection's steps from one policy on, until there is nothing to gain.

    Parameters
    ----------
    seen : MDP with the learner's features in even units
    target, units : arrays [ℓ]
    goal : the mismatch to stop at
    mu, x : feature expectations [ℓ] and occupancy [P] of the policy to start from
    """

    def __init__(
        self, seen: MDP, target: Floats, units: Floats, goal: float, mu: Floats, x: Floats
    ) -> None:
        enough, scale = max(goal, rounding(target)), even_scale(seen)
        self.seen, self.answers = seen, Answers(seen)
        self.aim = Aim(frozen(target), frozen(units), scale, goal, enough, IDLE)
        n, width = seen.n_states, seen.n_features
        weights = np.zeros((2, width))
        choice = np.empty(n, np.uint8)
        self.mixture = Mixture(mu.copy(), x.copy(), np.zeros(n), choice, weights[0], weights[1])
        miss = float(kernels.length(mu - target))
        self.standing = Standing(miss, 0.0, miss, 0, False)
        self.compiled = _world_of(seen)

    def run(self, steps: int) -> list[float]:
        """At most so many steps; the mismatch after each, in the learner's features as given."""
        history: list[float] = []
        burst = max(WORK // self.seen.n_states, 1)
        while len(history) < steps and not self.standing.ended:
            clock.look()
            new = np.empty(min(burst, steps - len(history)))
            if self.compiled is None:
                new = new[:1]
                self._step()
                new[0] = kernels.length(self.aim.units * (self.aim.target - self.mixture.mu))
            else:
                state = (self.mixture, self.standing)
                taken, *led = walk(self.compiled, self.aim, *state, new)
                self.standing = Standing(*led)
                new = new[:taken]
            history += new.tolist()
        return history

    def _step(self) -> None:
        """Mix in a best policy, in any world; as `walk` does in those that it is for."""
        seen, aim, mixture = self.seen, self.aim, self.mixture
        missing = aim.target - mixture.mu
        weights = missing / kernels.length(missing)
        mixture.weights[:] = weights
        tolerance = needed(self.standing.gap, aim.scale)
        plan = optimal_policy(seen, weights, tolerance=tolerance, guess=mixture.values)
        mixture.values[:] = plan.values
        x, mu = self.answers.of(plan.policy)
        near = float(weights @ aim.target) - plan.upper
        self.standing = Standing(*advance(aim, mixture, self.standing, mu, x, near))


def _world_of(seen: MDP) -> World | None:
    """The world as an array of features [S, ℓ], where compiled loops take the steps."""
    dynamics, phi = seen.dynamics, seen.features
    if not dynamics.deterministic or seen.features_per_pair:
        return None
    if not isinstance(phi, np.ndarray):
        if phi.shape[0] * phi.shape[1] > SMALL:
            return None
        phi = phi.toarray()
    features = frozen(np.ascontiguousarray(phi))
    return World(dynamics.layout, features, seen.start, seen.discount, dynamics.offsets)


__all__ = ["Projection", "Pursuit"]
