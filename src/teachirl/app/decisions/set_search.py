"""Which set of features is worth its cost: a search over all of them, that may end at any time.

What is known of the sets are bounds on what each guarantees (`teachers/set_bounds.py`). A search
tightens those that still matter, and ends once none does, when its time is up, or on Ctrl-C: what
is proved by then is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ...mdp import clock
from ...precision import ROUNDED, first_largest
from ...study.progress import Part
from ...teachers.set_bounds import CLOSE, MOST, set_bounds
from ..problem import Problem
from .comparison import SAME_GUARANTEE
from .greedy_plan import to_choose_from
from .kept import Kept
from .patience import Patience
from .worth import LEAST_WORTH, WORTH, whole_range, worth_of

Mask: TypeAlias = NDArray[np.bool_]

# Seconds between two times that somebody is told what is known.
BETWEEN = 0.5
# Up to so many features, all parts of a set are compared to know which come first; else pairs.
TOGETHER = 6


@dataclass(frozen=True)
class Known:
    """What a set of features is known to guarantee.

    Attributes
    ----------
    cost : of the whole set
    guaranteed : relative performance, at least
    reward : the same, as a reward
    features : its names; those that are required come first
    """

    cost: float
    guaranteed: float
    reward: float
    features: tuple[str, ...]


Watch: TypeAlias = Callable[[tuple[Known, ...]], None]


class SetSearch:
    """Sets of the features that can be chosen, their costs, and bounds on what they guarantee.

    Sets are numbers, as in `SetBounds`; those with features that are required in any case have
    these beside. Rewards are counted from what the demonstration earns.

    Parameters
    ----------
    problem : Problem
    patience : Patience
    worth : share of what is at stake for the expert, below which a gain does not count
    kept : Kept, where what is proved is kept, or gone on from; by default nowhere
    watch : called with what sets are known to guarantee, now and then; by default nobody is

    Attributes
    ----------
    free : tuple of int, the features to choose from
    left_out : int, how many features there are besides: of very many, those that a greedy plan
        takes first are chosen from, and what of the reward is not seen
    cost : array [2ⁿ], of each set, with what is required
    order : array [2ⁿ], the sets by cost, size and number
    goal : float, the reward that is asked for; None if there is none
    """

    def __init__(
        self,
        problem: Problem,
        patience: Patience,
        worth: float = WORTH,
        kept: Kept | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.problem, self.task, self.patience = problem, problem.task, patience
        self.kept, self.watch, self._told = kept or Kept(), watch, -math.inf
        task = self.task
        fixed = (*task.required, *task.forbidden)
        every = [i for i in range(len(task.names)) if i not in fixed]
        taken, first = to_choose_from(problem, every, MOST, patience, self.kept)
        self.free = tuple(sorted(first))
        self.left_out = len(every) - len(self.free)
        # Bounds have to be closer than what is told apart by them.
        self.scale, share = whole_range(task), worth_of(problem, worth)
        self.worth, self.same = share * self.scale, min(SAME_GUARANTEE, share) * self.scale
        # From the worst policy to the best: goals count as met on that scale, whatever is 0.
        self.width = max(task.best.value - task.worst.value, 0.0) or 1.0
        self.rounded = ROUNDED * self.width
        close = 0.25 * self.worth / (task.best.value - task.worst.value or 1.0)
        close = min(max(close, 0.25 * LEAST_WORTH), CLOSE)
        self.bounds = set_bounds(task, problem.matching, self.free, close)
        self.kept.follow(self.bounds)
        for each in taken:
            if each.worst_case is not None and set(task.required) <= set(each.taught):
                self.bounds.learn(self.number(each.taught), each.view, each.worst_case)
        numbers = self.bounds.numbers
        price, size = np.full(len(numbers), task.costs[list(task.required)].sum()), 0 * numbers
        for j, feature in enumerate(self.free):
            inside = numbers >> j & 1
            price, size = price + inside * task.costs[feature], size + inside
        self.size: Ints = size + len(task.required)
        self.cost = _twelve_digits(price)
        self.order: Ints = np.lexsort((numbers, size, self.cost))
        self.goal = _goal(problem, self.bounds.earned)

    @property
    def tried(self) -> int:
        """How many sets were looked at by themselves."""
        return len(self.bounds.tried)

    def reaches(self, reward: float) -> bool:
        """Whether a reward is all that is asked for."""
        return self.goal is not None and reward >= self.goal - self.rounded

    def hopeful(self) -> Mask:
        """bool array [2ⁿ], which sets, by cost, may guarantee all that is asked for."""
        hopes = self.bounds.hopes[self.order]
        if self.goal is None:
            return np.zeros(len(hopes), dtype=bool)
        return np.asarray(hopes >= self.goal - self.rounded)

    def guaranteed(self, chosen: int) -> float:
        """The relative performance that is proved of a set."""
        return float(self.task.relative_at_least(self.reward(chosen)))

    def reward(self, chosen: int) -> float:
        """The reward that is proved of a set, by the time that there has to be an answer."""
        return self.bounds.proved(chosen, self.patience.latest)

    def proved(self, taught: Sequence[int]) -> float:
        """The reward that is proved of who was taught these features, what is required among them;
        else nothing is known."""
        if not set(self.task.required) <= set(taught):
            return -math.inf
        return self.reward(self.number(taught))

    def number(self, taught: Sequence[int]) -> int:
        """The set of those features that can be chosen and were taught."""
        return sum(1 << j for j, i in enumerate(self.free) if i in taught)

    def at_most(self, reward: float) -> float:
        """A reward as a relative performance that is not exceeded."""
        return float(self.task.relative(reward + self.bounds.earned))

    def names(self, chosen: int) -> tuple[str, ...]:
        """The features of a set; those that are required come first."""
        members = (*self.task.required, *self.bounds.members(chosen))
        return tuple(self.task.names[i] for i in members)

    def tighten(
        self,
        chosen: int,
        bar: float = -math.inf,
        room: float = 0.0,
        deadline: float | None = None,
    ) -> None:
        """See `SetBounds.tighten`; what was kept of a set is not searched for again."""
        if not self.bounds.done[chosen]:
            until = self.patience.until if deadline is None else deadline
            self.bounds.tighten(int(chosen), bar, until, room)
            self.kept.now_and_then()
        if self.watch is not None and clock.seconds() > self._told + BETWEEN:
            self._told = clock.seconds()
            self.watch(self.known())

    def known(self) -> tuple[Known, ...]:
        """What sets that were tried are known to guarantee, those worth their cost."""
        lower, earned = self.bounds.lower, self.bounds.earned
        return tuple(self.told(each, float(lower[each]) + earned) for each in self.envelope())

    def told(self, chosen: int, reward: float) -> Known:
        """A set with the reward that it guarantees."""
        performance = float(self.task.relative_at_least(reward))
        return Known(float(self.cost[chosen]), performance, reward, self.names(chosen))

    def note(self, chosen: int, reward: float) -> None:
        """What a set guarantees, proved to more digits than its search has, if it had one."""
        if chosen not in self.bounds.tried:
            return
        lower, upper = self.bounds.lower, self.bounds.upper
        lower[chosen] = max(lower[chosen], reward - self.bounds.earned)
        upper[chosen] = max(lower[chosen], upper[chosen])

    def follow(self, enough: float = math.inf, allowed: Mask | None = None) -> int:
        """Where a greedy plan leads: it takes what gains most for its cost, two at once where no
        one helps, until the reward is enough."""
        bounds, now = self.bounds, 0
        while bounds.lower[now] < min(enough, -self.worth) and not self.patience.over():
            step = self._step(now, 1, allowed) or self._step(now, 2, allowed)
            if step is None:
                break
            now = step
        return now

    def _step(self, now: int, count: int, allowed: Mask | None) -> int | None:
        """The best set with so many features more; None if none is worth it."""
        bounds = self.bounds
        more = ((bounds.numbers & now) == now) & (self.size == self.size[now] + count)
        wider = np.flatnonzero(more if allowed is None else more & allowed)
        wider = wider[bounds.hopes[wider] > bounds.lower[now] + self.worth]
        if len(wider) == 0:
            return None
        best = self._gains_most(now, wider)
        return best if bounds.lower[best] > bounds.lower[now] + self.worth else None

    def _gains_most(self, now: int, wider: Ints) -> int:
        """Of sets with more features than one, that which gains most for its cost, up to what is
        not worth it and as far as there is time."""
        bounds, price = self.bounds, self.cost[wider] - self.cost[now]

        def gains(table: Floats) -> Floats:
            return np.asarray((table[wider] - bounds.lower[now]) / price)

        while not self.patience.over():
            close = bounds.upper - bounds.lower <= self.worth
            most = gains(np.where(close, bounds.lower, bounds.hopes))
            proved, first = float(gains(bounds.lower).max()), first_largest(most, 0.0)
            if most[first] <= proved + self.worth / price[first]:
                break
            bar = bounds.lower[now] + proved * price[first]
            self.tighten(int(wider[first]), bar, self.worth)
        return int(wider[first_largest(gains(bounds.lower), self.same)])

    def cheapest(self, enough: float, allowed: Mask | None = None) -> int | None:
        """The cheapest set that guarantees so much; None if none does, or time is up."""
        bounds = self.bounds
        order = self.order if allowed is None else self.order[allowed[self.order]]
        while not self.patience.over():
            hope = bounds.hopes[order] >= enough
            if not hope.any():
                return None
            first = int(order[np.argmax(hope)])
            if bounds.lower[first] >= enough:
                return first
            self.tighten(first, enough)
            if bounds.done[first] and bounds.lower[first] < enough <= bounds.upper[first]:
                self._look_closer(first)
        return None

    def _look_closer(self, chosen: int) -> None:
        """Where bounds that are close enough do not tell whether a set is, a search of its own."""
        view, bounds = self.bounds.view_of(chosen), self.bounds
        shown, left = self.task.demonstration, self.patience.left()
        found = self.task.worst_case(view, shown, self.problem.matching, max_seconds=left)
        bounds.lower[chosen] = max(bounds.lower[chosen], found.lower - bounds.earned)

    def most(self, room: float, allowed: Mask | None = None) -> float | None:
        """The most that a set guarantees, less at most the room; None if time is up."""
        bounds = self.bounds
        order = self.order if allowed is None else self.order[allowed[self.order]]
        while not self.patience.over():
            known, hopes = float(bounds.lower[order].max()), bounds.hopes[order]
            if hopes.max() <= known + room:
                return known
            self.tighten(int(order[first_largest(hopes, self.same)]), known + room)
        return None

    def best(self, allowed: Mask | None = None) -> int | None:
        """The cheapest set with all that is asked for, or else, up to what is not worth its cost,
        with the most; None if time is up."""
        if self.goal is not None:
            found = self.cheapest(self.goal - self.rounded, allowed)
            if found is not None:
                return found
        room = 0.5 * self.worth  # on both sides: none is better by more than what is worth it
        most = self.most(room, allowed)
        return None if most is None else self.cheapest(most - room, allowed)

    def thinned(self, chosen: int, enough: float) -> int:
        """A set without the features that it does not need to guarantee so much, the dearest
        first."""
        members = sorted(range(len(self.free)), key=lambda j: -self.task.costs[self.free[j]])
        for j in members:
            fewer = chosen & ~(1 << j)
            if fewer == chosen or self.bounds.upper[fewer] < enough or self.patience.over():
                continue
            self.tighten(fewer, enough)
            if self.bounds.lower[fewer] >= enough:
                chosen = fewer
        return chosen

    def ordered(self, chosen: int, now: int = 0) -> list[int]:
        """The features of a set beside those of another, those first that gain most for their
        cost, several together if they gain more than one alone."""
        more = chosen & ~now
        count = more.bit_count()
        if count <= 1:
            return list(self.bounds.members(more))
        between = self.order[((self.order & now) == now) & ((self.order & ~chosen) == 0)]
        added = self.size[between] - self.size[now]
        most = count - 1 if count <= TOGETHER else 2
        first = self._gains_most(now, between[(added > 0) & (added <= most)])
        return [*self.ordered(first, now), *self.ordered(chosen, first)]

    def curve(self, part: Part | None = None) -> bool:
        """Tighten bounds until it is known what each cost buys; whether it was."""
        bounds, proved = self.bounds, -math.inf
        while True:
            place = self._next_open(proved)
            if part is not None:
                part.advance(place - part.done)
            if place == len(self.order):
                return True
            cost = self.cost[self.order[place]]
            group = self.order[place : int(np.searchsorted(self.cost[self.order], cost, "right"))]
            if not self._settled(group, proved):
                return False
            proved = max(proved, self._counts(float(bounds.lower[group].max()), proved))

    def _next_open(self, proved: float) -> int:
        """The place, by cost, of the first set that may be worth its cost."""
        hope = self.bounds.hopes[self.order] > proved + self.worth
        if not self.reaches(proved):
            hope |= self.hopeful()
        return int(np.argmax(hope)) if hope.any() else len(hope)

    def _counts(self, reward: float, proved: float) -> float:
        """The reward, if it is worth more than what is proved for less; else that."""
        better = reward > proved + self.worth
        return reward if better or (self.reaches(reward) and not self.reaches(proved)) else proved

    def _settled(self, group: Ints, proved: float) -> bool:
        """Find the best of sets that cost the same, or that none is worth it; False if cut."""
        bounds = self.bounds
        bar = proved + self.worth
        if self.goal is not None and not self.reaches(proved):
            bar = min(bar, math.nextafter(self.goal - self.rounded, -math.inf))
        while True:
            known, hopes = float(bounds.lower[group].max()), bounds.hopes[group]
            best = known + self.same if known > bar else bar
            chosen = group[first_largest(hopes, self.same)]
            if hopes.max() <= best:
                # Of ties the first: those before it that may tie are looked at as well.
                best = known - self.same
                rivals = group[: int(np.argmax(bounds.lower[group] >= best))]
                rivals = rivals[bounds.hopes[rivals] >= best]
                if known <= bar or len(rivals) == 0:
                    return True
                chosen = rivals[0]
            if self.patience.over():
                return False
            self.tighten(int(chosen), best)

    def envelope(self) -> list[int]:
        """The sets that guarantee more than all that cost no more and were tried; of ties the
        smallest."""
        bounds, proved, found = self.bounds, -math.inf, list[int]()
        tried = self.order[np.isin(self.order, list(bounds.tried))]
        for cost in np.unique(self.cost[tried]):
            even = tried[self.cost[tried] == cost]
            best = int(even[first_largest(bounds.lower[even], self.same)])
            now = self._counts(float(bounds.lower[best]), proved)
            if now > proved:
                proved = now
                found.append(best)
        return found


def _goal(problem: Problem, earned: float) -> float | None:
    """The reward that the goals about reward ask for, counted from what is shown."""
    aims = problem.aims
    asked = [aims.reward_asked(goal) for goal in aims if goal.feature is None]
    return max(asked) - earned if asked else None


def _twelve_digits(values: Floats) -> Floats:
    """To twelve digits, so that .1 + .2 is .3.

    >>> print(_twelve_digits(np.array([0.0, 0.1 + 0.2, 1e6 / 3])))
    [0.00000000e+00 3.00000000e-01 3.33333333e+05]
    """
    different, places = np.unique(values, return_inverse=True)
    return np.array([float(f"{value:.12g}") for value in different.tolist()])[places]


__all__ = ["Known", "Mask", "SetSearch", "Watch"]
