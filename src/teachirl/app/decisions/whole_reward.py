"""A set of features with which the learner sees all of the reward: then nothing can go wrong.

If w is a combination of what the learner sees, all policies that match earn the same. That is
proved without a search: so it is known at once what suffices, and a search is for what is cheaper.
"""

from __future__ import annotations

from ...mdp import clock
from ...precision import DEPENDENT
from ...views.teaching_risk import teaching_risk
from .patience import GRACE
from .set_search import Mask, SetSearch


def first_look(search: SetSearch, allowed: Mask | None = None) -> int:
    """Tighten the bounds on a set that shows all of the reward; if none that is allowed does, on
    the last that is: what all of them guarantee bounds every set, and its plans serve every set.

    That nothing is lost where all of it is shown takes a plan to prove: there is a moment for that
    also when time is up.

    Parameters
    ----------
    search : SetSearch
    allowed : bool array [2ⁿ], the sets to choose from; all by default

    Returns
    -------
    int, the set
    """
    patience, chosen = search.patience, showing(search)
    if chosen is None or not (allowed is None or allowed[chosen]):
        chosen = len(search.order) - 1 if allowed is None else int(allowed.nonzero()[0][-1])
        search.tighten(chosen)
    else:
        moment = min(clock.seconds() + GRACE, patience.last)
        search.tighten(chosen, deadline=max(patience.until, moment))
    return chosen


def showing(search: SetSearch) -> int | None:
    """A set with which the learner sees all of the reward, without what that does not need, the
    dearest first; None if all features together do not show it.

    Parameters
    ----------
    search : SetSearch

    Returns
    -------
    int, or None
    """
    bounds, task = search.bounds, search.task

    def shows(chosen: int) -> bool:
        return teaching_risk(bounds.view_of(chosen), task.weights) <= DEPENDENT

    chosen = len(search.order) - 1
    if not shows(chosen):
        return None
    for j in sorted(range(len(search.free)), key=lambda j: -task.costs[search.free[j]]):
        fewer = chosen & ~(1 << j)
        if shows(fewer):
            chosen = fewer
    return chosen


__all__ = ["first_look", "showing"]
