"""What to teach, and how much to record, where too little was recorded to tell what helps."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..problem import Problem
from .patience import Patience
from .readings import Enough, readings
from .set_to_teach import Searched, set_to_teach

# Seconds that the search for what to teach takes at most: it is an aside.
ASIDE = 20.0


@dataclass(frozen=True)
class OnceRecorded:
    """What would guarantee learners who match the expert what is asked for.

    Attributes
    ----------
    names : the features to teach, in this order
    cost : what these cost
    enough : Enough, how much would have to be recorded then
    """

    names: tuple[str, ...]
    cost: float
    enough: Enough


def once_recorded(problem: Problem, patience: Patience) -> OnceRecorded | None:
    """What to teach if the recordings had no error, and how small an error is small enough then.

    Parameters
    ----------
    problem : Problem, where learners are taken to match the expert whose sample the recordings are
    patience : Patience, how long to search

    Returns
    -------
    OnceRecorded; None if no sets were searched, or there was no time for it
    """
    share = patience.share(0.5, ASIDE)
    found = patience.spared(lambda: set_to_teach(replace(problem, match="recordings"), share))
    if found is None or found.searched is not Searched.ALL:
        return None
    order, task = list(found.order), problem.task
    view = problem.worldview.extend(problem.teachable[order]) if order else problem.worldview
    both = readings(problem, view, patience)
    if both is None or both.enough is None or both.enough.episodes == 0:
        return None
    cost = float(sum(task.costs[each] for each in order))
    return OnceRecorded(tuple(task.names[each] for each in order), cost, both.enough)


__all__ = ["OnceRecorded", "once_recorded"]
