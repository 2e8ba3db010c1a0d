"""What all decisions rest on, in sentences; and how two policies differ, feature by feature."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...arrays import Floats, Ints
from ...demonstrations.demonstration import Demonstration
from ...mdp.model import MDP
from ...precision import INVISIBLE, ranks
from ...teaching.matching import Matching
from ...teaching.rounds import ROUNDED
from ...teaching.task import Task
from ...views.teaching_risk import teaching_risk
from ...views.worldview import Worldview
from ..digits import at_most, percent_at_least
from ..problem import Problem

# Plausible weights that are tried where they are inferred.
PLAUSIBLE = 200
# Differences below this share of what there can be of a feature are rounding.
SAME = 1e-7
# Guarantees that differ by less are the same: the worst case is as exact as that.
SAME_GUARANTEE = 1e-6
# How long to look for what is guaranteed to a learner who stops early: it is an aside.
ASIDE = 5.0


@dataclass(frozen=True)
class Difference:
    """How much of a feature two policies see, discounted: an expert's, and another.

    Attributes
    ----------
    name, weight : of the feature
    expert, other : the feature expectations
    lost : the reward that the other loses through it; negative if it gains
    """

    name: str
    weight: float
    expert: float
    other: float
    lost: float


def differences(mdp: MDP, weights: Floats, expert: Floats, other: Floats) -> tuple[Difference, ...]:
    """Where two feature expectations [k] differ, what costs most first; rounding is left out.

    >>> import numpy as np, teachirl as ti
    >>> mdp = ti.worlds.chain(3)
    >>> weights, expert, other = np.array([[1.0, 0, 0], [5, 5, 0], [3, 5, 0]])
    >>> [each] = differences(mdp, weights, expert, other)
    >>> each
    Difference(name='cell 1', weight=1.0, expert=5.0, other=3.0, lost=2.0)
    """
    apart = expert - other
    notable = np.abs(apart) > SAME * mdp.largest_entries / (1.0 - mdp.discount)
    lost = weights * apart
    # Of features that cost the same, such as nothing, the one that differs most; then the first.
    order = np.lexsort((_places(np.abs(apart)), _places(lost)))
    return tuple(
        Difference(
            mdp.feature_name(int(i)),
            float(weights[i]),
            float(expert[i]),
            float(other[i]),
            float(lost[i]) + 0.0,
        )
        for i in order
        if notable[i]
    )


def _places(values: Floats) -> Ints:
    return ranks(values, INVISIBLE * float(np.abs(values).max(initial=0.0)))


def ample(task: Task) -> float:
    """More than all features cost: with this to spend, none is too dear, and gains count per cost.

    ∞ if all cost the same, where it makes no difference.
    """
    costs = task.costs
    return 2.0 * float(costs.sum()) if (costs != costs[:1]).any() else math.inf


def why_below(
    problem: Problem,
    view: Worldview,
    shown: Demonstration,
    name: str,
    performance: float,
    mismatch: float,
) -> str:
    """Why a learner who is simulated does less than is guaranteed: she stops before she matches.

    Parameters
    ----------
    view : what she sees, and `shown` what she is shown
    name, performance, mismatch : hers
    """
    # A little more than her mismatch, which is said rounded up.
    less = Matching(1.001 * mismatch)
    proved = problem.task.guaranteed(view, shown, less, max_seconds=ASIDE)
    return (
        f"{name} does less than is guaranteed, {percent_at_least(performance)}, as she misses what "
        f"she is shown by {at_most(mismatch)} in her features: of learners who miss it by that "
        f"much, {percent_at_least(proved)} are guaranteed."
    )


def notes_on(problem: Problem) -> tuple[str, ...]:
    """What a reader must know of where the numbers come from; empty if there is nothing to say."""
    notes, shown = [], problem.task.demonstration
    if problem.reward.residual > 1e-9:
        notes.append(
            f"The features leave {problem.reward.residual:.2g} of the rewards, in length, "
            "unexpressed: all that follows is about the reward that they do express."
        )
    if problem.many_features:
        notes.append(
            "With so many features it is not known which of their combinations no policy can "
            "change: risks are those of all together."
        )
    task = problem.task
    if task.relative_at_least(task.best.upper) == 0.0:
        notes.append(
            "All policies earn the same, as far as planning can tell: there is nothing to teach, "
            "and relative performances say nothing."
        )
    if problem.inferred is not None:
        notes.append(f"The weights are inferred from episodes: {problem.inferred.summary}")
        plausible = problem.inferred.sample(np.random.default_rng(problem.seed), PLAUSIBLE)
        risks = [teaching_risk(problem.worldview, weights) for weights in plausible]
        low, high = np.quantile(risks, [0.05, 0.95])
        notes.append(
            f"Guarantees are for these weights. Under 90 % of the plausible ones the teaching risk "
            f"is between {low:.2f} and {high:.2f}."
        )
    if shown.error > 0.0:
        count = "" if shown.trajectories is None else f"{len(shown.trajectories)} "
        allowed = "guarantees are for learners who match the episodes as `mismatch` says."
        if problem.mismatch is None:
            allowed = "all guarantees allow for that, and hold with that confidence."
        notes.append(
            f"What she is shown are {count}recorded episodes, which say what the expert does up to "
            f"{at_most(shown.error)} (confidence {shown.confidence:g}): {allowed}"
        )
    if problem.mismatch or (problem.mismatch is not None and shown.error > 0.0):
        notes.append(
            f"Guarantees are for learners who match what they are shown up to {problem.mismatch:g} "
            "in their features."
        )
    return tuple(notes)


__all__ = [
    "ROUNDED",
    "SAME_GUARANTEE",
    "Difference",
    "ample",
    "differences",
    "notes_on",
    "why_below",
]
