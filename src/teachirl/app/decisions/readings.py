"""Two readings of recorded episodes: a learner who matches them, or the expert who made them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...demonstrations.row_errors import RowErrors
from ...teaching.matching import Matching
from ..problem import Problem, Show
from .comparison import ASIDE

# How often the mismatch that is small enough is halved; and up to how many episodes are told.
HALVINGS, MOST = 12, 10_000_000
# Of the error that is small enough, the share that cutting off may have.
CUT_SHARE = 0.1


@dataclass(frozen=True)
class Reading:
    """What is guaranteed if learners match as this says.

    Attributes
    ----------
    name : what they match
    mismatch : up to how much, in their features
    guaranteed : relative performance
    confidence : with which that holds
    """

    name: str
    mismatch: float
    guaranteed: float
    confidence: float


@dataclass(frozen=True)
class Enough:
    """How much would have to be recorded for a guarantee, about.

    Attributes
    ----------
    wanted : the guarantee, a relative performance
    mismatch : the error in the learner's features at which there is such a guarantee
    episodes, steps : how many, each so long; None if no number is enough, or far too many
    """

    wanted: float
    mismatch: float
    episodes: int | None
    steps: int | None


@dataclass(frozen=True)
class Readings:
    """Both readings of recorded episodes.

    Attributes
    ----------
    recordings, expert : Reading; of learners who match the recordings, and of those who match the
        expert whose sample they are
    cut, chance : the error of the recordings in the learner's features, by cutting off, by chance
    earns : the least and the most that the expert earns, with the stated confidence
    enough : Enough, what would have to be recorded for the second to guarantee as much as is asked
        for, or, if nothing is, nearly as much as the first
    """

    recordings: Reading
    expert: Reading
    cut: float
    chance: float
    earns: tuple[float, float]
    enough: Enough


def readings(problem: Problem) -> Readings | None:
    """Both readings of recorded episodes, and how much more would have to be recorded.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    Readings; None if what is shown was not recorded
    """
    if problem.show is not Show.RECORDED:
        return None
    task, view, shown = problem.task, problem.worldview, problem.task.demonstration
    assert shown.along is not None

    def guaranteed(matching: Matching) -> float:
        return task.guaranteed(view, shown, matching, max_seconds=ASIDE)

    near, far = Matching(problem.matching.mismatch, problem.nearest), Matching()
    recordings = Reading(
        "the learner matches the recordings", near.within(view, shown), guaranteed(near), 1.0
    )
    expert = Reading(
        "the learner matches the expert whose sample they are",
        far.within(view, shown),
        guaranteed(far),
        shown.confidence,
    )
    places = shown.along.places(view.matrix)
    cut = 0.0 if places is None else float(np.linalg.norm(shown.along.cut[places]))
    wanted = problem.until if problem.until is not None else 0.9 * recordings.guaranteed
    return Readings(
        recordings,
        expert,
        min(cut, expert.mismatch),
        max(expert.mismatch - cut, 0.0),
        _earns(problem, shown.along),
        _enough(problem, wanted, recordings, expert, places),
    )


def _earns(problem: Problem, along: RowErrors) -> tuple[float, float]:
    task, shown = problem.task, problem.task.demonstration
    place = along.places(problem.weights[None])
    middle = float(problem.weights @ shown.expectations)
    off = float(np.linalg.norm(problem.weights)) * shown.error
    low, high = middle - off, middle + off
    if place is not None:
        low, high = max(low, float(along.lower[place[0]])), min(high, float(along.upper[place[0]]))
    return max(low, task.worst.lower), min(high, task.best.upper)


def _enough(
    problem: Problem, wanted: float, recordings: Reading, expert: Reading, places: object
) -> Enough:
    task, view, shown = problem.task, problem.worldview, problem.task.demonstration
    along, gamma = shown.along, problem.mdp.discount
    least, most = recordings.mismatch, max(expert.mismatch, recordings.mismatch)
    if recordings.guaranteed < wanted or along is None or not isinstance(places, np.ndarray):
        return Enough(wanted, least, None, None)
    for _ in range(HALVINGS):
        middle = 0.5 * (least + most)
        if task.guaranteed(view, shown, Matching(middle), max_seconds=ASIDE) >= wanted:
            least = middle
        else:
            most = middle
    tail = float(np.linalg.norm(along.tail[places]))
    steps = 1
    if tail > 0.0 and least > 0.0:
        steps = max(1, math.ceil(math.log(CUT_SHARE * least / tail) / math.log(gamma)))
    low, high = 1.0, float(MOST)
    if least == 0.0 or along.expected(places, high, steps, gamma) > least:
        return Enough(wanted, least, None, steps)
    while high > 1.01 * low:
        middle = math.sqrt(low * high)
        if along.expected(places, middle, steps, gamma) > least:
            low = middle
        else:
            high = middle
    digits = 10 ** max(math.floor(math.log10(high)) - 1, 0)
    return Enough(wanted, least, int(math.ceil(high / digits) * digits), steps)


__all__ = ["Enough", "Reading", "Readings", "readings"]
