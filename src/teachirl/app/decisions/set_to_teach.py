"""Which features a plan teaches: the cheapest set that is enough, or one that guarantees most."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...arrays import frozen
from ...demonstrations.demonstration import Demonstration
from ...guarantees.bounds import WorstCaseStatus
from ...mdp import clock
from ...precision import ROUNDED, first_largest
from ...teachers import GapGreedy
from ...teachers.set_bounds import MOST
from ...teaching.rounds import Proved
from ...teaching.teacher import Choice, Situation
from ..problem import Problem
from .at_once import showing_all, tried_at_once
from .kept import Kept
from .limited_sets import LimitedSets
from .patience import Cut, Patience
from .set_search import Known, Mask, SetSearch, Watch
from .sought import lean, sought
from .worth import CLEARLY, at_stake, whole_range, worth_of

# Of the time for the search, what is added to find what a plan does not need.
THIN = 0.25
# What is cheaper by this share of a plan's cost is told of, if it guarantees nearly as much.
CHEAPER = 0.2


class Searched(enum.Enum):
    """Among what the features of a plan were sought."""

    ALL = enum.auto()
    SOME = enum.auto()
    TEACHER = enum.auto()

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class SetToTeach:
    """A set of features, and what was searched to find it.

    Attributes
    ----------
    searched : Searched: all sets that the file allows, so that none is better; some, of which this
        is the best that is proved; or those that the teacher leads through
    order : the features in the order in which to teach them, beside what is required; empty if it
        is left to the teacher
    free : how many features there are to choose from
    sets : how many sets were looked at by themselves
    proved : the reward that is proved of who was taught some features; None if that is not known
    part_way : Known, of the sets that were tried and clearly beat some of the first steps for no
        more, the one that gains most for its cost; None if none does
    nearly : Known, of the sets that were tried and cost clearly less than this one, the cheapest
        that guarantees nearly as much, where nothing was asked for; None if none does
    at_once : SetToTeach that was found before a teacher began, to fall back on if that one is cut
        short; None if there is none
    led : Known, where the teacher's own steps lead, if that is dearer than it need be and the
        order is of a set that is not; else None
    shown : what to show from each feature of the order on; empty if that is always the same
    """

    searched: Searched
    order: tuple[int, ...] = ()
    free: int = 0
    sets: int = 0
    proved: Proved | None = field(default=None, compare=False, repr=False)
    part_way: Known | None = None
    nearly: Known | None = None
    at_once: SetToTeach | None = None
    led: Known | None = None
    shown: tuple[Demonstration, ...] = field(default=(), compare=False, repr=False)

    @property
    def fixed(self) -> bool:
        """Whether the order is known before the lesson."""
        return self.searched is not Searched.TEACHER or self.led is not None

    def __getstate__(self) -> dict[str, Any]:
        """Without what is still at hand of the search, which no copy has."""
        return {**self.__dict__, "proved": None}


@dataclass(frozen=True)
class Following:
    """A teacher who teaches features in an order that is known.

    Parameters
    ----------
    order : features of the task; required ones that are not among them come first
    shown : what to show from each of them on; empty if that is always the same
    """

    order: tuple[int, ...]
    shown: tuple[Demonstration, ...] = ()

    def choose(self, situation: Situation, rng: np.random.Generator) -> Choice:
        """The next of them.

        Parameters
        ----------
        situation : Situation
        rng : numpy.random.Generator, not used

        Returns
        -------
        Choice
        """
        scores = np.full(len(situation.task.teachable), np.nan)
        left: Sequence[int] = [each for each in self.order if each in situation.candidates]
        if situation.must_teach:
            left = situation.candidates.tolist()
        if not left:
            return Choice(None, frozen(scores))
        feature, new = int(left[0]), None
        if self.shown:
            new = self.shown[self.order.index(feature)]
            new = None if new is situation.demonstration else new
        return Choice(feature, frozen(scores), new)


def set_to_teach(
    problem: Problem, patience: Patience, kept: Kept | None = None, watch: Watch | None = None
) -> SetToTeach:
    """The features to teach: all sets are searched, as long as there is time.

    When time is up, it is the cheapest set that is proved to be enough by then; or else one that is
    proved to come closest. Other teachers than `GapGreedy` have aims of their own: there it is left
    to the teacher.

    Parameters
    ----------
    problem : Problem
    patience : Patience
    kept, watch : Kept and Watch, as for `SetSearch`

    Returns
    -------
    SetToTeach
    """
    task = problem.task
    free = len(task.names) - len(task.required) - len(task.forbidden)
    asks_limits = any(goal.feature is not None for goal in problem.aims)
    known = problem.world.model is None  # sets of features share plans of one world
    if not known or not isinstance(problem.teacher, GapGreedy) or not free:
        return SetToTeach(Searched.TEACHER)
    if free > MOST:
        at_once = None if asks_limits else _at_once(problem, patience, free)
        return SetToTeach(Searched.TEACHER, at_once=at_once)
    search = _begun(problem, patience, kept, watch)
    if search is None:
        whole = patience.whole or patience
        at_once = None if asks_limits or patience.interrupted else _at_once(problem, whole, free)
        return SetToTeach(Searched.TEACHER, at_once=at_once)
    allowed = np.ones(len(search.order), dtype=bool)
    if problem.budget is not None:
        allowed &= search.size <= problem.budget
    if problem.max_cost is not None:
        allowed &= search.cost <= problem.max_cost * (1.0 + ROUNDED)
    if not allowed.any():
        return SetToTeach(Searched.TEACHER)
    sets, found = None, None
    with patience.work():
        sets = LimitedSets(search, allowed)
        found = sought(search, sets, allowed)
    if sets is None:
        return SetToTeach(Searched.TEACHER)
    searched, proved = Searched.SOME if found is None else Searched.ALL, search.proved
    chosen = sets.proved() if found is None else found  # what was proved by then counts
    order, instead, nearly = search.bounds.members(chosen), None, None
    with patience.work():
        if found is None and not asks_limits:
            if patience.cut is not Cut.INTERRUPTED:
                search.patience = Patience(THIN * patience.seconds, patience)
            chosen = lean(search, chosen)
        order = search.bounds.members(chosen)
        order = tuple(search.ordered(chosen))
        instead = None if asks_limits else _part_way(search, order, allowed)
        nearly = None if problem.aims else _nearly(search, chosen, allowed)
    return SetToTeach(searched, order, free, search.tried, proved, instead, nearly)


def _at_once(problem: Problem, patience: Patience, free: int) -> SetToTeach | None:
    """What helps, found without a comparison of all features; None if nothing was."""
    tried = tried_at_once(problem, patience)
    whole = showing_all(problem, tried[0], patience) if tried else None
    tried += [] if whole is None else [whole]
    proved = {frozenset(each.taught): each.worst_case.lower for each in tried}
    asked = max((problem.aims.reward_asked(goal) for goal in problem.aims), default=np.inf)
    # The first that is enough, or that guarantees most.
    ways = [min(each.worst_case.lower, asked) for each in tried]
    best = first_largest(ways, worth_of(problem) * whole_range(problem.task)) if tried else 0
    if best == 0:
        return None
    order = tried[best].taught[len(problem.task.required) :]

    def known(taught: Sequence[int]) -> float:
        # What is guaranteed of who sees less is guaranteed.
        have = frozenset(taught)
        return max((least for each, least in proved.items() if each <= have), default=-np.inf)

    return SetToTeach(Searched.SOME, order, free, len(tried), known)


def _begun(
    problem: Problem, patience: Patience, kept: Kept | None, watch: Watch | None
) -> SetSearch | None:
    """A search that knows what is guaranteed as things stand; None if there is no time for one."""
    until = patience.until
    search = clock.in_time(until, lambda: SetSearch(problem, patience, kept=kept, watch=watch))
    if search is None:
        patience.over()  # which it says from now on
    else:
        search.tighten(0)
    return search


def _part_way(search: SetSearch, order: tuple[int, ...], allowed: Mask) -> Known | None:
    """Of the sets that clearly beat some of the steps before the last for no more, the one that
    gains most for its cost, if any does."""
    lower, cost, clearly = search.bounds.lower, search.cost, CLEARLY * at_stake(search.problem)
    steps = [search.number(order[:count]) for count in range(1, len(order))]
    for step in steps:
        if not search.patience.over():
            search.tighten(step, room=search.worth)

    def beats(each: int) -> bool:
        even = (lower[step] for step in steps if cost[step] >= cost[each])
        return bool(allowed[each]) and any(lower[each] > at + clearly for at in even)

    found = [each for each in search.envelope() if beats(each)]
    if not found:
        return None
    gains = (lower[found] - lower[0]) / (cost[found] - cost[0])
    return _told(search, found[first_largest(gains, search.same)])


def _nearly(search: SetSearch, chosen: int, allowed: Mask) -> Known | None:
    """The cheapest of the sets that were tried and cost clearly less than one, and guarantee all
    but a little of what that adds, and of what is at stake."""
    lower, cost = search.bounds.lower, search.cost
    less = min(lower[chosen] - lower[0], at_stake(search.problem))
    enough = lower[chosen] - CLEARLY * less
    for each in search.envelope():
        cheap = cost[each] <= (1.0 - CHEAPER) * cost[chosen]
        if cheap and each and allowed[each] and lower[each] >= enough:
            return _told(search, each)
    return None


def _told(search: SetSearch, chosen: int) -> Known:
    """What a set guarantees, in the digits that a plan has of it and a curve."""
    task, view, left = search.task, search.bounds.view_of(chosen), search.patience.left()
    found = task.worst_case(view, task.demonstration, search.problem.matching, max_seconds=left)
    known = found.status is not WorstCaseStatus.INFEASIBLE
    least = found.lower if known else -np.inf
    return search.told(chosen, max(least, search.reward(chosen)))


__all__ = ["Following", "Searched", "SetToTeach", "set_to_teach"]
