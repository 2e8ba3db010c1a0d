"""How two policies differ, feature by feature; and who does less than is guaranteed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Floats, Ints
from ...demonstrations.demonstration import Demonstration
from ...mdp.model import MDP
from ...precision import INVISIBLE, ranks
from ...teaching.matching import Matching
from ...views.worldview import Worldview
from ..problem import Problem

# Differences below this share of what there can be of a feature are rounding.
SAME = 1e-7
# Guarantees that differ by less are the same: the worst case is as exact as that.
SAME_GUARANTEE = 1e-6
# How many seconds to look for what is guaranteed to a learner who stops early: it is an aside.
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


@dataclass(frozen=True)
class Shortfall:
    """A simulated learner who does less than is guaranteed, by not matching what is shown.

    Attributes
    ----------
    name : of the learner
    performance : its relative performance
    mismatch : how far it is from what is shown, in its features
    guaranteed : the relative performance that is guaranteed to learners who miss it by as much
    """

    name: str
    performance: float
    mismatch: float
    guaranteed: float


def differences(mdp: MDP, weights: Floats, expert: Floats, other: Floats) -> tuple[Difference, ...]:
    """Where two feature expectations differ, what costs most first; rounding is left out.

    Parameters
    ----------
    mdp : MDP, whose features they are
    weights : array [k]
    expert, other : array [k], feature expectations

    Returns
    -------
    tuple of Difference

    Examples
    --------
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


def shortfall(
    problem: Problem,
    view: Worldview,
    shown: Demonstration,
    name: str,
    performance: float,
    mismatch: float,
) -> Shortfall:
    """What is guaranteed to learners who match as loosely as one of them did.

    Parameters
    ----------
    problem : Problem
    view : Worldview, what the learner sees
    shown : Demonstration, what it is shown
    name, performance, mismatch : of the learner, as in `Shortfall`

    Returns
    -------
    Shortfall
    """
    # A little more than the mismatch, which is said rounded up.
    less = Matching(1.001 * mismatch)
    proved = problem.task.guaranteed(view, shown, less, max_seconds=ASIDE)
    return Shortfall(name, performance, mismatch, proved)


__all__ = ["ASIDE", "SAME_GUARANTEE", "Difference", "Shortfall", "differences", "shortfall"]
