"""How near to a target policies are, and can be: what learners that go to the nearest one share.

For any q, every policy's ‖μ − b‖ is at least (⟨q, b⟩ − max_M ⟨q, μ⟩)/‖q‖, and the maximum is one
MDP solve; q = b − μ makes it exact once μ is the nearest point of M. All of this may be in even
units; what is reported is proved in the features as given, with q_i/u_i in the place of q_i.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arrays import Floats, frozen
from ..mdp import kernels
from ..mdp.kernels.projection import best_share
from ..mdp.occupancy import expectation_error, feature_expectations, mixture
from ..precision import EPS, sum_error
from .learner import Assignment, Learned, LearnStatus

IDLE = 3  # steps in a row that bring nothing: rounding


def distance(target: Floats, q: Floats, upper: float) -> float:
    """No policy is nearer than this to the target, if ⟨q, μ⟩ ≤ upper for all of them."""
    length = float(kernels.length(q))
    if length == 0.0:
        return 0.0
    sizes = float(np.abs(q) @ np.abs(target)) + abs(upper)
    least = float(q @ target) - upper - sum_error(len(q) + 6, sizes)
    return max(least / (length * (1.0 + length_error(len(q)))), 0.0)


def proved(assignment: Assignment, q: Floats, upper: float) -> float:
    """No policy's mismatch is below this, if ⟨q, μ⟩ ≤ upper for all of the assignment's.

    It is that in the features as given, of any policy; and below what is computed of it as well:
    the one place where the error of computed feature expectations counts.
    """
    given, seen = assignment.given, assignment.seen
    if not q.any():
        return 0.0
    # By the largest, as nothing else is known of the size of the units.
    p = q / assignment.units
    size = float(np.abs(p).max())
    p /= size
    # Features and weights in other units are rounded once each, which Σ |p_i| |Aφ_i| bounds.
    terms = float(np.abs(q) @ seen.largest_entries) / (1.0 - seen.discount)
    most = (upper + 4.0 * EPS * (terms + abs(upper))) / size + expectation_error(given.seen, p)
    return distance(given.target, p, most)


def length_error(n: int) -> float:
    """How far ‖v‖ may be off, relatively, with the n entries of v rounded once themselves; twice
    that, as two lengths are compared: of a direction, and of what is missing."""
    return 2.0 * (n + 8) * EPS


def rounding(target: Floats) -> float:
    """What `distance` may lose: no mismatch is asked to be nearer to what is proved."""
    return 8.0 * (len(target) + 8) * EPS * float(kernels.length(target))


def concluded(assignment: Assignment, learned: Learned, goal: float) -> Learned:
    """What was learned, at least as near to the target as the start, and MATCHED only if it is.

    Both are in the assignment's units.
    """
    first, mu = assignment.first, learned.expectations / assignment.units
    if assignment.miss(mu) >= assignment.miss(first):
        share = float(best_share(mu - first, assignment.target - first))
        policy = assignment.start
        if share > 0.0:
            shares = [1.0 - share, share]
            policy = mixture(assignment.seen, [assignment.start, learned.policy], shares)
        given = assignment.given
        expectations = feature_expectations(given.seen, policy)
        mu = expectations / assignment.units
        if assignment.miss(mu) > assignment.miss(first):
            policy, expectations, mu = assignment.start, given.first, first
        learned = replace(
            learned,
            policy=policy,
            expectations=frozen(expectations),
            mismatch=given.miss(expectations),
        )
    if learned.status is LearnStatus.MATCHED and assignment.miss(mu) > goal:
        learned = replace(learned, status=LearnStatus.ROUNDING)
    return learned
