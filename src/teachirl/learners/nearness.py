"""How near to a target policies are, and can be: what learners that go to the nearest one share.

For any q, every policy's ‖μ − b‖ is at least (⟨q, b⟩ − max_M ⟨q, μ⟩)/‖q‖, and the maximum is one
MDP solve; q = b − μ makes it exact once μ is the nearest point of M.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .. import kernels
from ..checks import Floats, frozen
from ..occupancies import feature_expectations, mixture
from .learner import Assignment, Learned, LearnStatus

_EPS = float(np.finfo(float).eps)
IDLE = 3  # steps in a row that bring nothing: rounding


def distance(target: Floats, q: Floats, upper: float) -> float:
    """No policy is nearer than this to the target, if ⟨q, μ⟩ ≤ upper for all of them."""
    length = float(kernels.length(q))
    if length == 0.0:
        return 0.0
    lost = (len(q) + 8) * _EPS * (float(np.abs(q) @ np.abs(target)) + abs(upper))
    return max((float(q @ target) - upper - lost) / (length * (1.0 + len(q) * _EPS)), 0.0)


def rounding(target: Floats) -> float:
    """What `distance` may lose: no mismatch is asked to be nearer to what is proved."""
    return 8.0 * (len(target) + 8) * _EPS * float(kernels.length(target))


def needed(gap: float, assignment: Assignment) -> float:
    """How exactly to plan, as a fraction of the returns' range, for a gap that is to be closed."""
    share = gap / assignment.scale if assignment.scale else 1.0
    return min(max(0.05 * share, 1e-13), 1e-3)


def brings_nothing(before: float, gap: float, assignment: Assignment) -> bool:
    """Whether the gap between the mismatch and what is proved has fallen by rounding only."""
    return gap > before - 8.0 * _EPS * assignment.scale


def best_share(ahead: Floats, missing: Floats) -> float:
    """α ∈ [0, 1] with the least ‖missing − α · ahead‖."""
    reach = float(kernels.length(ahead))
    if reach == 0.0:
        return 0.0
    along = ahead / reach  # so that no square under- or overflows
    return min(max(float(along @ missing) / reach, 0.0), 1.0)


def concluded(assignment: Assignment, learned: Learned, goal: float) -> Learned:
    """What was learned, at least as near to the target as the start, and MATCHED only if it is."""
    first = assignment.first
    if learned.mismatch >= assignment.miss(first):
        share = best_share(learned.expectations - first, assignment.target - first)
        policy, mu = assignment.start, first
        if share > 0.0:
            shares = [1.0 - share, share]
            policy = mixture(assignment.seen, [assignment.start, learned.policy], shares)
            mu = feature_expectations(assignment.seen, policy)
        if assignment.miss(mu) > assignment.miss(first):
            policy, mu = assignment.start, first
        learned = replace(
            learned, policy=policy, expectations=frozen(mu), mismatch=assignment.miss(mu)
        )
    if learned.status is LearnStatus.MATCHED and learned.mismatch > goal:
        learned = replace(learned, status=LearnStatus.ROUNDING)
    return learned
