"""The cheapest features with which what was asked for is guaranteed under all plausible rewards.

Who is taught more is guaranteed no less, whatever the reward: a set that is not enough rules out
all its subsets. And a reward under which one set failed is tried first with the next.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...arrays import Floats
from ...demonstrations.demonstration import Demonstration
from ...mdp.rewards.rewards import Rewards
from ...precision import ROUNDED
from ...views.worldview import Worldview
from ..problem import Problem
from .patience import Patience
from .plausible import GoalOver, certified_over_rewards, goals_over

# Of more features than this there are too many sets; and seconds that it takes at most.
FEATURES, ASIDE = 10, 30.0


@dataclass(frozen=True)
class EnoughForAll:
    """Features with which all that was asked for is guaranteed under all plausible rewards.

    Attributes
    ----------
    features : their names, those that are required first; None if no set is enough, which is proved
    cost : of all of them; NaN if none is enough
    """

    features: tuple[str, ...] | None
    cost: float


def enough_for_all(
    problem: Problem, shown: Demonstration, patience: Patience
) -> EnoughForAll | None:
    """The cheapest set with which all goals are met, whichever of the plausible rewards it is.

    Parameters
    ----------
    problem : Problem, whose features are few
    shown : Demonstration, what is shown all along
    patience : Patience

    Returns
    -------
    EnoughForAll; None if none was found, and it is not known that there is none, or there was no
        time for it
    """
    task, within = problem.task, patience.share(0.5, ASIDE)
    free = len(task.names) - len(task.required) - len(task.forbidden)
    if free > FEATURES or shown.error > 0.0 or problem.world.model is not None:
        return None
    with within.strictly():
        return _searched(_Tried(problem, shown, within), within)
    return None


def _searched(tried: _Tried, within: Patience) -> EnoughForAll | None:
    """The first that is enough, from the cheapest on."""
    task = tried.problem.task
    every = frozenset(range(len(task.names))) - set(task.forbidden)
    enough = tried.enough(every)
    if enough is None or within.over():
        return None
    if not enough:
        return EnoughForAll(None, np.nan) if tried.failed else None
    short: list[frozenset[int]] = []
    for each in tried.by_cost(every):
        if within.over():
            return None
        if any(each <= other for other in short):
            continue
        if each == every or tried.enough(each):
            order = (*task.required, *sorted(each - set(task.required)))
            cost = float(task.costs[list(order)].sum())
            return EnoughForAll(tuple(task.names[i] for i in order), cost)
        short.append(each)
    return None


class _Tried:
    """Which sets of features are enough, and the rewards under which some were not.

    Parameters
    ----------
    problem : Problem
    shown : Demonstration
    within : Patience

    Attributes
    ----------
    failed : bool, whether the last set that was not enough is known to fail, and not only unproved
    """

    def __init__(self, problem: Problem, shown: Demonstration, within: Patience) -> None:
        self.problem, self.shown, self.within = problem, shown, within
        self.failed, self.hard = False, list[Rewards]()
        inferred = problem.inferred
        self.rewards = [] if problem.rewards is None else [problem.rewards]
        if inferred is not None and inferred.plausible.experts:
            self.rewards.append(Rewards.sampled(inferred.plausible.points))

    def by_cost(self, every: frozenset[int]) -> Iterator[frozenset[int]]:
        """The sets that the file allows, the cheapest first, and of these the smallest."""
        problem, task = self.problem, self.problem.task
        required, most = frozenset(task.required), problem.max_cost
        rest = sorted(every - required)
        many = len(rest) if problem.budget is None else max(problem.budget - len(required), 0)
        sets = (
            required | set(more)
            for size in range(min(many, len(rest)) + 1)
            for more in itertools.combinations(rest, size)
        )
        priced = [(float(task.costs[sorted(each)].sum()), len(each), each) for each in sets]
        limit = np.inf if most is None else most * (1.0 + ROUNDED)
        allowed = [each for each in priced if each[0] <= limit]
        yield from (each for *_, each in sorted(allowed, key=lambda each: each[:2]))

    def enough(self, taught: frozenset[int]) -> bool | None:
        """Whether all goals are met with it under all rewards; None if one was not looked at."""
        problem, task = self.problem, self.problem.task
        places = sorted(taught)
        names = tuple(task.names[i] for i in places)
        view = problem.worldview.extend(task.teachable[places], names=names)
        promise = problem.goals.promise(view, self.shown, problem.matching)
        if problem.goals.unmet(promise):
            return False
        for rewards in (*self.hard, *self.rewards):
            found = self._goals(rewards, view)
            if any(each.met is None for each in found):
                return None
            if not all(each.met for each in found):
                self.failed = any(each.fails for each in found)
                return False
        return True

    def _goals(self, rewards: Rewards, view: Worldview) -> tuple[GoalOver, ...]:
        """What is known of the goals under some rewards; the worst of them is kept."""
        problem, shown, left = self.problem, self.shown, self.within.left()
        certificate = certified_over_rewards(problem, rewards, view, shown, left)
        found = goals_over(problem, rewards, view, shown, certificate, self.within)
        if rewards not in self.hard:
            worst = [_worst(rewards, each) for each in found if each.met is False]
            self.hard[:0] = [Rewards.sampled(weights[None]) for weights in worst]
        return found


def _worst(rewards: Rewards, over: GoalOver) -> Floats:
    """The weights under which most is missing to a goal."""
    assert over.certificate is not None
    each, allowed = over.certificate.each, over.allowed
    if allowed is None or not len(each):
        return over.certificate.weights
    return np.asarray(rewards.points[int(np.argmax(each[:, 1] - allowed))])


__all__ = ["EnoughForAll", "enough_for_all"]
