"""Of very many features, those that a greedy plan takes first, and what it guarantees with them."""

from __future__ import annotations

import numpy as np

from ...mdp import clock
from ...teachers import GapGreedy
from ...teaching.prices import ample
from ...teaching.rounds import Moment, Rounds
from ...views.linear_algebra import without_span
from ..problem import Problem
from .at_once import tried_at_once
from .kept import Kept, Remembering
from .patience import Patience
from .worth import worth_of

# The share of the time that it has.
GREEDY = 0.9


def to_choose_from(
    problem: Problem, every: list[int], count: int, patience: Patience, kept: Kept
) -> tuple[list[Moment], list[int]]:
    """Of very many features, those to search the sets of: first those that a greedy plan takes,
    then those that help at once, then what of the reward is not seen.

    Parameters
    ----------
    problem : Problem
    every : list of int, the features that there are
    count : int, how many of them there may be to choose from
    patience, kept : as for `taken_first`

    Returns
    -------
    tuple of a list of Moment, the rounds of that plan, and a list of int
    """
    if len(every) <= count:
        return [], every
    task, helpful = problem.task, tried_at_once(problem, patience)
    taken = taken_first(problem, count, patience, kept)
    hidden = without_span(task.worldview.basis, task.weights)
    first = dict.fromkeys(
        [
            *(taken[-1].taught if taken else ()),
            *(helpful[-1].taught if helpful else ()),
            *np.flatnonzero(task.teachable @ hidden).tolist(),  # what the reward is made of
            *every,
        ]
    )
    free = set(every)
    return taken, [each for each in first if each in free][:count]


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


__all__ = ["taken_first", "to_choose_from"]
