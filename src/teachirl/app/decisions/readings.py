"""Two readings of recorded episodes: a learner who matches them, or the expert who made them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ...demonstrations.demonstration import Demonstration
from ...teaching.goal import GoalKind, Promise
from ...teaching.matching import Matching
from ...views.worldview import Worldview
from ..problem import Problem, Show
from .comparison import ASIDE
from .patience import Patience

# How closely the share of the errors that is small enough is told, and after how many looks it is
# told less closely; and up to how many episodes are told.
CLOSE, LOOKS, MOST = 1.0 / 4096, 24, 10_000_000
# Of the error that is small enough, the share that cutting off may have; and by how much smaller it
# is to be, as other episodes have another mean, and vary more or less than these.
CUT_SHARE, MARGIN = 0.1, 1.2


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
    """How much would have to be recorded for what is asked for, about.

    Attributes
    ----------
    wanted : the guarantee, a relative performance; None if other goals are asked for
    mismatch : the error in the learner's features at which there is such a guarantee
    episodes, steps : how many, each so long; None if no number is enough, or far too many; 0 if
        what was recorded is enough
    """

    wanted: float | None
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
    enough : Enough, what would have to be recorded for the second to guarantee what is asked for,
        or, if nothing is, nearly as much as the first; None if that is nothing, or not known
    """

    recordings: Reading
    expert: Reading
    cut: float
    chance: float
    earns: tuple[float, float]
    enough: Enough | None

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
    known = 1.0 if problem.world.model is None else problem.world.model.confidence
    sure = max(shown.confidence - (1.0 - known), 0.0)  # what may fail adds up
    named = (
        ("the learner matches the recordings", near, known),
        ("the learner matches the expert whose sample they are", far, sure),
    )
    first, second = (
        Reading(
            name,
            each.within(view, shown),
            max(
                _guaranteed(problem, part, each, patience)
                for part in (_parts(problem, view) if each.keeps(shown) else [view])
            ),
            confidence,
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
    return Readings(
        recordings,
        expert,
        min(cut, expert.mismatch),
        max(expert.mismatch - cut, 0.0),
        (
            max(shown.earned_between(problem.weights)[0], problem.task.worst.lower),
            problem.goals.expert_reward,
        ),
        _enough(problem, view, both, patience),
    )


def _parts(problem: Problem, view: Worldview) -> list[Worldview]:
    """A view after each step that led to it: who matches the expert does so in all of them."""
    fewest, rows = problem.worldview.n_rows, view.n_rows
    fewer = (Worldview(view.matrix[:n]) for n in range(fewest, rows))
    return [*fewer, view]


def _guaranteed(problem: Problem, view: Worldview, matching: Matching, patience: Patience) -> float:
    task, seconds = problem.task, min(patience.left(), ASIDE)
    return task.guaranteed(view, task.demonstration, matching, max_seconds=seconds)


def _enough(
    problem: Problem, view: Worldview, both: tuple[Reading, Reading], patience: Patience
) -> Enough | None:
    """What would have to be recorded for the goals, or for most of what the first guarantees."""
    (recordings, expert), shown, goals = both, problem.task.demonstration, problem.goals
    nearly = 0.9 * recordings.guaranteed
    wanted = (problem.until if len(goals.goals) == 1 else None) if goals else nearly
    if wanted == 0.0:
        return None

    def promised(share: float, seen: Worldview = view) -> Promise:
        limit = min(patience.left(), ASIDE)
        return goals.promise(seen, _surer(shown, share), Matching(), max_seconds=limit)

    def spare(promise: Promise) -> float:
        return min((goal.spare(promise) for goal in goals), default=promise.performance - nearly)

    least, whole = 1.0, 0.0
    for part in _parts(problem, view):
        whole = spare(promised(1.0, part))
        if whole >= 0.0:
            return Enough(wanted, expert.mismatch, 0, 0)
    if recordings.mismatch < expert.mismatch:
        least = recordings.mismatch / expert.mismatch
    nearest, along = promised(least), shown.along
    if any(goal.kind is GoalKind.MAX_LOSS for goal in goals.unmet(nearest)):
        return None  # what the expert earns at most would fall as well
    if spare(nearest) < 0.0 or along is None or along.places(view.matrix) is None:
        return Enough(wanted, least * expert.mismatch, None, None)
    share = largest_share(lambda part: spare(promised(part)), (least, spare(nearest)), (1.0, whole))
    mismatch = share * expert.mismatch
    return Enough(wanted, mismatch, *_recorded(problem, view, mismatch))


def largest_share(
    spare: Callable[[float], float], low: tuple[float, float], high: tuple[float, float]
) -> float:
    """The largest share with something to spare, which falls with the share, or a little less.

    By the Illinois method: looked at is where a line through both ends is 0, for which an end that
    stays counts half.

    Parameters
    ----------
    spare : of a share, how much there is to spare, below 0 if there is too little
    low, high : a share with enough and one without, each with what it has to spare

    Returns
    -------
    float, a share with enough
    """
    close, stayed = CLOSE * (high[0] - low[0]), 0
    for _ in range(LOOKS):
        (least, above), (most, below) = low, high
        if most - least <= close:
            break
        line = least + (most - least) * above / (above - below)
        # A little to the side that stayed: if that is near enough, the other end is, too.
        line += 0.5 * close * stayed
        at = min(max(line, least + 0.5 * close), most - 0.5 * close)
        found = spare(at)
        if found >= 0.0:
            low, high = (at, found), (most, 0.5 * below if stayed > 0 else below)
            stayed = 1
        else:
            low, high = (least, 0.5 * above if stayed < 0 else above), (at, found)
            stayed = -1
    return low[0]


def _surer(shown: Demonstration, share: float) -> Demonstration:
    """What is shown, were all errors of it that share of what they are."""
    along = shown.along
    if along is not None:
        along = replace(along, cut=share * along.cut, chance=share * along.chance)
    return replace(shown, bias=share * shown.bias, radius=share * shown.radius, along=along)


def _recorded(problem: Problem, view: Worldview, mismatch: float) -> tuple[int | None, int]:
    """How many episodes have no larger error, and of how many steps; more than there are."""
    shown, gamma = problem.task.demonstration, problem.mdp.discount
    assert shown.along is not None and shown.trajectories is not None
    along, seen = shown.along, len(shown.trajectories)
    places, steps = along.places(view.matrix), int(shown.trajectories.lengths.max())
    assert places is not None
    tail, small = along.tail(places), mismatch / MARGIN
    if tail > 0.0 and small > 0.0:
        steps = max(steps, math.ceil(math.log(CUT_SHARE * small / tail) / math.log(gamma)))
    low, high = 1.0, float(MOST)
    if small == 0.0 or along.expected(places, high, steps, gamma) > small:
        return None, steps
    while high > 1.01 * low:
        middle = math.sqrt(low * high)
        if along.expected(places, middle, steps, gamma) > small:
            low = middle
        else:
            high = middle
    high = max(high, seen + 1)
    digits = 10 ** max(math.floor(math.log10(high)) - 1, 0)
    return int(math.ceil(high / digits) * digits), steps


__all__ = ["Enough", "Reading", "Readings", "both_readings", "largest_share", "readings"]
