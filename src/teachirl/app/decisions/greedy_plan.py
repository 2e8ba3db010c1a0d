"""Of very many features, those that a greedy plan takes first, and what it guarantees with them."""

from __future__ import annotations

import math

import numpy as np

from ...mdp import clock
from ...teachers import GapGreedy
from ...teaching.rounds import Moment, Rounds
from ...teaching.task import Task
from ..problem import Problem
from .kept import Kept, Remembering
from .patience import Patience
from .worth import worth_of

# The share of the time that it has.
GREEDY = 0.9


def taken_first(problem: Problem, count: int, patience: Patience, kept: Kept) -> list[Moment]:
    """The rounds of a greedy plan, as far as there is time, and until Ctrl-C.

    Parameters
    ----------
    problem : Problem
    count : how many features it may take, beside what is required
    patience : Patience
    kept : Kept, where its choices are kept, or known from

    Returns
    -------
    list of Moment
    """
    task, worth = problem.task, worth_of(problem)
    teacher = Remembering(GapGreedy(tolerance=worth), problem)
    kept.follow(teacher)
    rounds = Rounds(
        task,
        teacher,
        rng=np.random.default_rng(problem.seed),
        budget=len(task.required) + count,
        max_cost=ample(task),
        matching=problem.matching,
    )
    taken: list[Moment] = []
    now = clock.seconds()
    until = now + GREEDY * (patience.last - now)
    with patience.work():
        while (each := clock.in_time(until, lambda: next(rounds, None))) is not None:
            taken.append(each)
            kept.now_and_then()
            if each.guarantees(1.0 - worth) or patience.over():
                break
    return taken


def same_price(task: Task) -> bool:
    """Whether all features cost the same."""
    return bool((task.costs == task.costs[:1]).all())


def ample(task: Task) -> float:
    """More than all features cost: with this to spend, none is too dear, and gains count per cost.

    ∞ if all cost the same, where it makes no difference.
    """
    return math.inf if same_price(task) else 2.0 * float(task.costs.sum())


__all__ = ["ample", "same_price", "taken_first"]
