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
from ..mdp import kernels
from ..mdp.kernels import Table
from ..mdp.kernels.projection import project
from ..mdp.model import MDP
from ..mdp.occupancy import expectations_of, occupancy, policy_from_occupancy
from ..mdp.planning import optimal_policy
from ..mdp.policy import Policy
from .learner import Assignment, Learned, LearnStatus, check_limits
from .nearness import (
    IDLE,
    best_share,
    brings_nothing,
    concluded,
    distance,
    needed,
    proved,
    rounding,
)

SMALL = 1_000_000  # entries up to which sparse features are taken as an array


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
        b, goal = assignment.target, self.tolerance * assignment.scale
        miss, weights = assignment.miss(assignment.first), np.zeros(seen.n_features)
        if miss <= goal:
            return assignment.report(assignment.start, weights, 0, [], LearnStatus.MATCHED)
        mixture = _Mixture(assignment)
        enough = max(goal, rounding(b))
        hoped, best, gap, idle = 0.0, weights, miss, 0
        history: list[float] = []
        status = LearnStatus.OUT_OF_STEPS
        while status is LearnStatus.OUT_OF_STEPS and len(history) < self.max_steps:
            weights, near, miss = mixture.step(needed(gap, assignment))
            if near > hoped:  # up to rounding; it is proved once, at the end
                hoped, best = near, weights
            history.append(assignment.mismatch(b - mixture.mu))
            before, gap = gap, miss - hoped
            idle = idle + 1 if brings_nothing(before, gap, assignment) else 0
            if miss <= goal:
                status = LearnStatus.MATCHED
            elif gap <= 0.9 * enough or idle == IDLE:
                status = LearnStatus.ROUNDING
        solves, nearest = len(history), 0.0
        if hoped > 0.0:
            plan = optimal_policy(assignment.seen, best, tolerance=needed(enough, assignment))
            solves, nearest = solves + 1, proved(assignment, best, plan.upper)
            near = distance(b, best, plan.upper)
            if status is LearnStatus.ROUNDING and near and miss - near <= enough:
                status = LearnStatus.NEAREST
        policy = policy_from_occupancy(seen, mixture.x)
        weights = assignment.as_given(weights)
        learned = assignment.report(policy, weights, solves, history, status, nearest)
        return concluded(assignment, learned, goal)


class _Mixture:
    """The policies so far as one: feature expectations mu [ℓ] and occupancy x [P]."""

    def __init__(self, assignment: Assignment) -> None:
        seen = assignment.seen
        self.seen, self.target, self.mu = seen, assignment.target, assignment.first.copy()
        self.x = occupancy(seen, assignment.start)
        self.values = np.zeros(seen.n_states)
        self.choice = np.empty(seen.n_states, np.uint8)
        # The features as an array [S, ℓ], where one compiled call makes the step.
        self.dense: Floats | None = None
        layout, phi = seen.dynamics.layout, seen.features
        paths = isinstance(layout, Table) and layout.own == 1.0 and not seen.features_per_pair
        if paths and (isinstance(phi, np.ndarray) or phi.shape[0] * phi.shape[1] <= SMALL):
            array = phi if isinstance(phi, np.ndarray) else phi.toarray()
            self.dense = frozen(np.ascontiguousarray(array))

    def step(self, tolerance: float) -> tuple[Floats, float, float]:
        """Mix in a best policy: its reward, what no policy's mismatch is below, and the mixture's.

        `tolerance` is that of planning; the bound holds up to rounding.
        """
        seen, b = self.seen, self.target
        if self.dense is not None:
            self.values, weights, near, mismatch = project(
                seen.dynamics.layout,
                self.dense,
                seen.start,
                b,
                seen.discount,
                tolerance,
                self.values,
                self.choice,
                self.mu,
                self.x,
                seen.dynamics.offsets,
            )
            return weights, near, mismatch
        missing = b - self.mu
        weights = missing / kernels.length(missing)
        plan = optimal_policy(seen, weights, tolerance=tolerance, guess=self.values)
        self.values = plan.values
        x = occupancy(seen, plan.policy)
        ahead = expectations_of(seen, x) - self.mu
        share = best_share(ahead, missing)
        self.mu += share * ahead
        self.x += share * (x - self.x)
        return weights, float(weights @ b) - plan.upper, kernels.length(b - self.mu)
