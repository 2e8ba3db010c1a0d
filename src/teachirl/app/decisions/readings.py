"""Two readings of recorded episodes: a learner who matches them, or the expert who made them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...teaching.matching import Matching
from ...views.worldview import Worldview
from ..problem import Problem, Show
from .comparison import ASIDE
from .patience import Patience

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
    episodes, steps : how many, each so long; None if no number is enough, or far too many; 0 if
        what was recorded is enough
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

    @property
    def both(self) -> tuple[Reading, Reading]:
        """The two, one beside the other."""
        return self.recordings, self.expert


def both_readings(
    problem: Problem, view: Worldview, patience: Patience
) -> tuple[Reading, Reading] | None:
    """What each reading of recorded episodes guarantees.

    Parameters
    ----------
    problem : Problem
    view : Worldview, what the learner sees
    patience : Patience, how long to search

    Returns
    -------
    Reading of who matches the recordings, and of who matches the expert; None if what is shown was
    not recorded, or there was no time for it
    """
    if problem.show is not Show.RECORDED:
        return None
    return patience.spared(lambda: _both(problem, view, patience))


def _both(problem: Problem, view: Worldview, patience: Patience) -> tuple[Reading, Reading]:
    shown = problem.task.demonstration
    near, far = Matching(problem.matching.mismatch, problem.nearest), Matching()
    named = (
        ("the learner matches the recordings", near, 1.0),
        ("the learner matches the expert whose sample they are", far, shown.confidence),
    )
    first, second = (
        Reading(
            name, each.within(view, shown), _guaranteed(problem, view, each, patience), confidence
        )
        for name, each, confidence in named
    )
    return first, second


def readings(problem: Problem, view: Worldview, patience: Patience) -> Readings | None:
    """Both readings of recorded episodes, and how much more would have to be recorded.

    Parameters
    ----------
    problem : Problem
    view : Worldview, what the learner sees
    patience : Patience, how long to search

    Returns
    -------
    Readings; None if what is shown was not recorded, or there was no time for it
    """
    if problem.show is not Show.RECORDED:
        return None
    return patience.spared(lambda: _readings(problem, view, patience))


def _readings(problem: Problem, view: Worldview, patience: Patience) -> Readings:
    both, shown = _both(problem, view, patience), problem.task.demonstration
    recordings, expert = both
    assert shown.along is not None
    places = shown.along.places(view.matrix)
    cut = 0.0 if places is None else float(np.linalg.norm(shown.along.cut[places]))
    wanted = problem.until if problem.until is not None else 0.9 * recordings.guaranteed
    return Readings(
        recordings,
        expert,
        min(cut, expert.mismatch),
        max(expert.mismatch - cut, 0.0),
        (
            max(shown.earned_between(problem.weights)[0], problem.task.worst.lower),
            problem.goals.expert_reward,
        ),
        _enough(problem, view, wanted, both, patience),
    )


def _guaranteed(problem: Problem, view: Worldview, matching: Matching, patience: Patience) -> float:
    task, seconds = problem.task, min(patience.left(), ASIDE)
    return task.guaranteed(view, task.demonstration, matching, max_seconds=seconds)


def _enough(
    problem: Problem,
    view: Worldview,
    wanted: float,
    both: tuple[Reading, Reading],
    patience: Patience,
) -> Enough:
    (recordings, expert), along = both, problem.task.demonstration.along
    places, gamma = None if along is None else along.places(view.matrix), problem.mdp.discount
    least, most = recordings.mismatch, max(expert.mismatch, recordings.mismatch)
    if expert.guaranteed >= wanted:
        return Enough(wanted, expert.mismatch, 0, 0)
    if recordings.guaranteed < wanted or along is None or places is None:
        return Enough(wanted, least, None, None)
    for _ in range(HALVINGS):
        middle = 0.5 * (least + most)
        if _guaranteed(problem, view, Matching(middle), patience) >= wanted:
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


__all__ = ["Enough", "Reading", "Readings", "both_readings", "readings"]
