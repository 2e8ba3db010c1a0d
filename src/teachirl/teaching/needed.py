"""Which features of a plan it does not need, as later ones made up for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..demonstrations.demonstration import Demonstration
from .goal import Promise
from .goals import TaskGoals
from .matching import Matching


def as_good(goals: TaskGoals, one: Promise, other: Promise, room: float) -> bool:
    """Whether what one set of features guarantees makes up for another.

    Parameters
    ----------
    goals : TaskGoals, what is asked for
    one, other : Promise
    room : float, the relative performance, and the share of a goal's scale, that does not count

    Returns
    -------
    bool: if the other has all that is asked for, whether the one does; else whether it comes as
    close and has as much reward
    """
    if goals and not goals.unmet(other):
        return not goals.unmet(one)
    close = goals.shortfall(one) <= goals.shortfall(other) + room
    return close and one.performance >= other.performance - room


def needed(
    goals: TaskGoals,
    taught: Sequence[int],
    shown: Demonstration,
    matching: Matching,
    *,
    room: float,
    tolerance: float | None = None,
) -> tuple[int, ...]:
    """The features of a plan without those that it does not need, the dearest looked at first.

    Parameters
    ----------
    goals : TaskGoals, what is asked for, and of which task
    taught : the features of the plan, in its order
    shown : Demonstration, what is shown in the end
    matching : Matching, how closely learners match
    room : float, as for `as_good`
    tolerance : float, how closely worst cases are proved; as the task's are by default

    Returns
    -------
    tuple of int, in the same order: without any one of them, the plan would be worse
    """
    task = goals.task

    def promised(features: Sequence[int]) -> Promise:
        rows = task.teachable[np.array(features, dtype=np.int64)]
        view = task.worldview.extend(rows) if features else task.worldview
        known = task.worst_case(view, shown, matching, tolerance=tolerance)
        return goals.promise(view, shown, matching, known=known)

    kept = tuple(taught)
    spare = sorted(set(kept) - set(task.required), key=lambda i: -float(task.costs[i]))
    whole = promised(kept) if spare else None
    for each in spare:
        rest = tuple(other for other in kept if other != each)
        if whole is not None and as_good(goals, promised(rest), whole, room):
            kept = rest
    return kept


__all__ = ["as_good", "needed"]
