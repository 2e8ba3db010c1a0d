"""The set of features that is asked for: the order in which every command looks for it.

What a greedy plan finds, without what it does not need, comes first: it is known early. A search
of all sets for what is better comes after it. So of two commands the one with more time knows at
least the sets of the other.
"""

from __future__ import annotations

import numpy as np

from .limited_sets import LimitedSets
from .set_search import Mask, SetSearch
from .whole_reward import first_look


def sought(search: SetSearch, sets: LimitedSets, allowed: Mask | None = None) -> int | None:
    """The cheapest set with all that is asked for, or one that comes closest to it.

    Parameters
    ----------
    search : SetSearch
    sets : LimitedSets of it
    allowed : bool array [2ⁿ], the sets to choose from; all by default

    Returns
    -------
    int, or None if time is up: what `sets.proved` says by then is the best that is known
    """
    # A greedy plan is made for the reward, and keeps no limits.
    # What shows the whole reward is all that was asked for, and proved in no time.
    missing = search.goal is not None and not search.reaches(float(search.bounds.lower.max()))
    if not limits(search) and (missing or not search.patience.over()):
        whole = first_look(search, allowed)
        search.follow(np.inf if search.goal is None else search.goal, allowed)
        # Rid of what they do not need, two sets that are enough seldom come to the same.
        for each in (sets.proved(), whole):
            if not search.patience.over():
                lean(search, each)
    if search.patience.over():
        return None
    if search.problem.aims:
        sets.run()
        if sets.chosen is not None:
            return sets.chosen
    return sets.closest() if limits(search) else search.best(allowed)


def lean(search: SetSearch, chosen: int) -> int:
    """A set without what it does not need for what it guarantees, or for what is asked.

    Parameters
    ----------
    search : SetSearch
    chosen : int, the set

    Returns
    -------
    int
    """
    enough = float(search.bounds.lower[chosen]) - search.worth
    if search.reaches(enough + search.worth):
        enough = search.goal or 0.0
    return search.thinned(chosen, enough)


def limits(search: SetSearch) -> bool:
    """Whether something is asked of single features.

    Parameters
    ----------
    search : SetSearch

    Returns
    -------
    bool
    """
    return any(goal.feature is not None for goal in search.problem.aims)


__all__ = ["lean", "limits", "sought"]
