"""The cheapest set of features with which all goals are met that can be, limits on single features
included.

A limit is a reward as well, the feature with weight 1 or −1: bounds on what sets guarantee of it
are those of `SetBounds`, for another task.
"""

from __future__ import annotations

import numpy as np

from ...precision import SEARCH_TIE
from ...teachers.set_bounds import SetBounds, set_bounds
from ...teaching.goal import GoalKind, Promise
from .set_search import Mask, SetSearch


class LimitedSets:
    """Which sets meet all goals within reach, as far as a search has found out.

    Parameters
    ----------
    search : SetSearch, for the reward
    allowed : bool array [2ⁿ], the sets to choose from; all by default

    Attributes
    ----------
    chosen : int, the cheapest set that meets all of them; None if none was found
    promise : Promise, what it guarantees; None likewise
    """

    def __init__(self, search: SetSearch, allowed: Mask | None = None) -> None:
        self.search, self.problem = search, search.problem
        self.chosen: int | None = None
        self.promise: Promise | None = None
        self._refused = np.zeros(len(search.order), dtype=bool) if allowed is None else ~allowed
        # What is searched to a tolerance is looked at again, to more digits, before it counts.
        self._parts: list[tuple[SetBounds, float]] = []
        if search.goal is not None:
            self._parts.append((search.bounds, search.goal - SEARCH_TIE * search.scale))
        for goal in self.problem.within_reach:
            if goal.kind is GoalKind.LIMIT:
                task = self.problem.goals.task_of(goal)
                bounds = set_bounds(task, self.problem.matching, search.free)
                search.kept.follow(bounds)
                wanted = -goal.wanted if goal.most else goal.wanted
                self._parts.append((bounds, wanted - bounds.earned - SEARCH_TIE * goal.scale))

    def run(self) -> None:
        """Look at sets by cost until one meets all goals, none can, or time is up."""
        search, patience = self.search, self.search.patience
        for bounds, _ in self._parts:
            if not patience.over():
                bounds.tighten(0, -np.inf, patience.until)
        while self.chosen is None:
            hope = self._hopeful()
            if not hope.any() or patience.over():
                return
            first = int(search.order[np.argmax(hope)])
            unsure = [part for part in self._parts if part[0].lower[first] < part[1]]
            if unsure:
                bounds, bar = unsure[0]
                bounds.tighten(first, bar, patience.until)
                search.kept.now_and_then()
                # Cut short, or as close as it gets: what is not proved does not count.
                self._refused[first] = bool(bounds.done[first] and bounds.lower[first] < bar)
            else:
                self._look(first)

    @property
    def cost_at_least(self) -> float | None:
        """What a set that meets all goals costs at least; None if none can."""
        hope = self._hopeful()
        return float(self.search.cost[self.search.order[np.argmax(hope)]]) if hope.any() else None

    def _hopeful(self) -> np.ndarray:
        """bool array [2ⁿ], which sets, by cost, may meet all goals."""
        order = self.search.order
        hope = ~self._refused[order]
        for bounds, bar in self._parts:
            hope &= bounds.hopes[order] >= bar
        return hope

    def _look(self, chosen: int) -> None:
        """Whether a set meets all goals within reach, proved to all digits."""
        problem, view = self.problem, self.search.bounds.view_of(chosen)
        shown = problem.task.demonstration
        seconds = self.search.patience.left()
        promise = problem.goals.promise(view, shown, problem.matching, max_seconds=seconds)
        if not problem.goals.unmet(promise, beside=problem.out_of_reach):
            self.chosen, self.promise = chosen, promise
            self.search.note(chosen, promise.reward)
        elif not self.search.patience.over():
            self._refused[chosen] = True


__all__ = ["LimitedSets"]
