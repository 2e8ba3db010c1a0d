"""The set of features with which all goals are met as far as they can be, limits on single features
included: the cheapest, or else one that comes closest to them.

A limit is a reward as well, the feature with weight 1 or −1: bounds on what sets guarantee of it
are those of `SetBounds`, for another task.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...arrays import Floats
from ...precision import ROUNDED, SEARCH_TIE, first_largest
from ...teachers.set_bounds import SetBounds, set_bounds
from ...teaching.goal import GoalKind, Promise
from .set_search import Mask, SetSearch


class _Part(NamedTuple):
    """A goal: bounds on what sets guarantee of it, what is wanted, and how much there can be."""

    bounds: SetBounds
    bar: float
    scale: float

    def short(self, table: Floats) -> Floats:
        """array [2ⁿ], how far sets are from it that guarantee so much."""
        return np.asarray(np.maximum(self.bar - table, 0.0) / self.scale)


class LimitedSets:
    """Which sets meet all goals, as far as they can be had, as far as a search has found out.

    Parameters
    ----------
    search : SetSearch, for the reward
    allowed : bool array [2ⁿ], the sets to choose from; all by default

    Attributes
    ----------
    chosen : int, the cheapest set that meets all of them; None if none was found. Of sets that
        cost the same, one that guarantees most, as far as there is time
    promise : Promise, what it guarantees; None likewise
    """

    def __init__(self, search: SetSearch, allowed: Mask | None = None) -> None:
        self.search, self.problem = search, search.problem
        self.chosen: int | None = None
        self.promise: Promise | None = None
        order = search.order
        self._order = order if allowed is None else order[allowed[order]]
        self._refused, self._met = np.zeros((2, len(order)), dtype=bool)
        self._parts = list(self._made())

    def _made(self) -> Iterator[_Part]:
        # What is searched to a tolerance is looked at again, to more digits, before it counts.
        search, problem = self.search, self.problem
        for goal in problem.aims:
            if goal.kind is GoalKind.LIMIT:
                bounds = set_bounds(problem.aims.task_of(goal), problem.matching, search.free)
                search.kept.follow(bounds)
                wanted = -goal.wanted if goal.most else goal.wanted
                tie = SEARCH_TIE * goal.scale
                yield _Part(bounds, wanted - bounds.earned - tie, goal.scale)
            else:
                wanted = problem.aims.reward_asked(goal) - search.bounds.earned
                tie = SEARCH_TIE * search.width
                yield _Part(search.bounds, wanted - tie, search.width)
        if not problem.aims:  # the more reward the better
            wanted = search.task.best.upper - search.bounds.earned
            yield _Part(search.bounds, wanted, search.scale)

    def run(self) -> None:
        """Look at sets by cost until one meets all goals, and none that costs the same promises
        more; none can; or time is up."""
        search, patience = self.search, self.search.patience
        for part in self._parts:
            if not patience.over():
                part.bounds.tighten(0, -np.inf, patience.until)
        while True:
            hope = self._hopeful() & self._better()
            if not hope.any() or patience.over():
                return
            first = self._next(hope)
            unsure = [part for part in self._parts if part.bounds.lower[first] < part.bar]
            if not unsure and self._in_doubt(first):
                search.tighten(first, self._more)
                # As close as it gets, and still no more than that is proved: it is no better.
                self._met[first] = bool(search.bounds.done[first] and self._no_more(first))
            elif unsure:
                bounds, bar, _ = unsure[0]
                bounds.tighten(first, bar, patience.until)
                search.kept.now_and_then()
                # Cut short, or as close as it gets: what is not proved does not count.
                self._refused[first] = bool(bounds.done[first] and bounds.lower[first] < bar)
            else:
                self._look(first)

    def closest(self) -> int | None:
        """Where none meets all goals, the cheapest set that comes closest to the one it is furthest
        from, up to what is not worth its cost; None if time is up."""
        search, room = self.search, 0.5 * self._room
        while not search.patience.over():
            far = [part.short(part.bounds.lower)[self._order] for part in self._parts]
            hope = self._short([part.bounds.hopes for part in self._parts])
            furthest = np.max(far, axis=0)
            least = float(furthest.min())
            first = int(np.argmin(hope))
            if hope[first] >= least - room:  # none is closer that is worth it
                first = int(np.argmax(hope <= least + room))
                if furthest[first] <= least + room:
                    return int(self._order[first])
            part = self._parts[int(np.argmax([each[first] for each in far]))]
            bar = part.bar - (least + room) * part.scale
            part.bounds.tighten(int(self._order[first]), bar, search.patience.until)
            search.kept.now_and_then()
        return None

    def proved(self) -> int:
        """The cheapest set that is proved to meet all goals, as far as the search has come; else
        the one that is proved to come closest, up to what is not worth its cost."""
        far = self._short([part.bounds.lower for part in self._parts])
        least = float(far.min())
        return int(self._order[np.argmax(far <= least + (self._room if least > 0.0 else 0.0))])

    def known(self, chosen: int) -> Promise:
        """What is proved by now of single features, of who was taught a set; of the rest nothing.

        Parameters
        ----------
        chosen : int, the set

        Returns
        -------
        Promise
        """
        amounts = list[float]()
        for goal, part in zip(self.problem.aims, self._parts, strict=True):
            limit = goal.kind is GoalKind.LIMIT
            found = part.bounds.proved(chosen, -math.inf) if limit else -math.inf
            amounts.append(-found if goal.most else found)
        return Promise(-math.inf, -math.inf, math.inf, tuple(amounts))

    @property
    def cost_at_least(self) -> float | None:
        """What a set that meets all goals costs at least; None if none can."""
        hope = self._hopeful()
        return float(self.search.cost[self._order[np.argmax(hope)]]) if hope.any() else None

    @property
    def _room(self) -> float:
        """What is not worth its cost, as a share of what there can be."""
        return self.search.worth / self.search.scale

    def _short(self, tables: list[Floats]) -> Floats:
        """How far sets, by cost, are from the goal that they are furthest from."""
        both = zip(self._parts, tables, strict=True)
        return np.asarray(np.max([part.short(each)[self._order] for part, each in both], axis=0))

    def _hopeful(self) -> Mask:
        """Which sets, by cost, may meet all goals."""
        hope = ~self._refused[self._order]
        for part in self._parts:
            hope &= part.bounds.hopes[self._order] >= part.bar
        return hope

    def _better(self) -> Mask:
        """Which sets, by cost, may be better than the one that is chosen: all, if none is."""
        search, better = self.search, ~self._met
        if self.chosen is not None:
            better &= search.cost <= search.cost[self.chosen] * (1.0 + ROUNDED)
            better &= search.bounds.hopes > self._more
        return np.asarray(better[self._order])

    @property
    def _more(self) -> float:
        """What a set has to guarantee to be better than the one that is chosen."""
        if self.promise is None:
            return -math.inf
        return self.promise.reward - self.search.bounds.earned + self.search.worth

    def _next(self, hope: Mask) -> int:
        """Of sets that may be better the cheapest; once one is chosen, what promises most."""
        if self.chosen is None:
            return int(self._order[np.argmax(hope)])
        left = self._order[hope]
        return int(left[first_largest(self.search.bounds.hopes[left], self.search.same)])

    def _in_doubt(self, chosen: int) -> bool:
        """Whether it is open if a set is better than the one that is chosen."""
        return not self.search.bounds.done[chosen] and self._no_more(chosen)

    def _no_more(self, chosen: int) -> bool:
        """Whether no more is proved of a set than of the one that is chosen."""
        return bool(self.search.bounds.lower[chosen] <= self._more)

    def _look(self, chosen: int) -> None:
        """Whether a set meets all goals that can be had, proved to all digits."""
        problem, view = self.problem, self.search.bounds.view_of(chosen)
        shown = problem.task.demonstration
        seconds = self.search.patience.left()
        promise = problem.aims.promise(view, shown, problem.matching, max_seconds=seconds)
        if not problem.aims.unmet(promise):
            self._met[chosen] = True
            self.search.note(chosen, promise.reward)
            if self.promise is None or promise.reward > self.promise.reward:
                self.chosen, self.promise = chosen, promise
        elif not self.search.patience.over():
            self._refused[chosen] = True


__all__ = ["LimitedSets"]
