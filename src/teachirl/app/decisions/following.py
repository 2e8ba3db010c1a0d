"""A plan is followed, round by round: what is taught, learned and guaranteed on its way."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from ...mdp import clock
from ...study.progress import Part, Progress
from ...teaching.lesson import Lesson
from ...teaching.lesson_record import LessonStatus
from ...teaching.prices import ample
from ...teaching.rounds import Moment, Rounds
from ...teaching.teacher import Teacher
from ..problem import Problem
from .comparison import SAME_GUARANTEE
from .kept import Kept, Remembering
from .patience import Cut, Patience
from .set_search import Known, Watch
from .set_to_teach import Following, SetToTeach
from .steps import Step, second_best, step_of
from .ways import Way

# What there is no plan without if it is required.
REQUIRED = "teach what is required"
# How long to search for the set to teach, in seconds, without a limit: nobody waits much longer.
SEARCH = 20.0


class Followed(NamedTuple):
    """A plan that was followed, its steps, and the ways that were second best in them."""

    lesson: Lesson
    moments: list[Moment]
    steps: list[Step]
    ways: list[Way]


class Parts(NamedTuple):
    """Who is asked and told while a plan is made, and the time that its parts have."""

    teacher: Remembering
    for_sets: Patience
    sought: Part
    planned: Part
    compared: Part
    kept: Kept
    watch: Watch | None
    notes: dict[str, Any]

    @classmethod
    def of(
        cls,
        problem: Problem,
        patience: Patience,
        progress: Progress,
        kept: Kept,
        watch: Watch | None,
    ) -> Parts:
        task = problem.task  # first, as weights may be inferred for it: no time of the search's
        most = len(task.names) - len(task.forbidden)
        most = most if problem.budget is None else min(most, problem.budget)
        # Half of a limited time is for the sets: the steps take the rest.
        seconds = patience.seconds
        for_sets = patience.share(0.5, SEARCH if seconds == math.inf else math.inf)
        return cls(
            Remembering(problem.teacher, problem),
            for_sets,
            progress.part("sets of features", 1, within=for_sets.seconds),
            progress.part("plan", most, within=seconds),
            progress.part("second best", most, weight=0.5, within=seconds),
            kept,
            watch,
            {},
        )

    def tell(self, moments: list[Moment]) -> None:
        """What is guaranteed after each step so far."""
        self.kept.now_and_then()
        if self.watch is not None:
            names = tuple(each.round.name for each in moments[1:])
            self.watch(tuple(told(each, names[:i]) for i, each in enumerate(moments)))


def told(moment: Moment, features: tuple[str, ...]) -> Known:
    """What is guaranteed where a lesson stands."""
    now, promise = moment.round, moment.promise
    reward = math.nan if promise is None else promise.reward
    return Known(now.cost, float(now.guaranteed), reward, features)


def follow(problem: Problem, chosen: SetToTeach, patience: Patience, parts: Parts) -> Followed:
    """The rounds until what was asked for is guaranteed, and the steps that they are."""
    parts.kept.follow(parts.teacher)
    rounds, moments = _rounds(problem, chosen, parts.teacher), list[Moment]()
    rounds.notes = parts.notes
    status: LessonStatus | None = None
    while status is None:
        with _one_round(chosen, rounds, patience):
            next(rounds, None)
        if rounds.now is not None and rounds.now not in moments:
            moments.append(rounds.now)
            with patience.work():
                parts.planned.advance(int(len(moments) > 1))
                parts.tell(moments)
        if rounds.status is not None:
            status = rounds.status
        elif moments and enough(problem, moments[-1]):
            status = LessonStatus.GUARANTEED if patience.cut is None else LessonStatus.CUT_SHORT
        elif not _must_go_on(chosen, rounds) and patience.over():
            status = LessonStatus.CUT_SHORT
    steps, ways = [step_of(problem, moments[0], None)], list[Way]()
    for i, each in enumerate(moments[1:], start=1):  # last, as it only explains
        other = second_best(problem, parts.teacher, moments[: i + 1], patience)
        instead = None if other is None else other[0]
        ways += [] if other is None else [other[1]]
        # Of a set that was chosen as a whole, a step may gain less than others would at its place.
        if instead is not None and chosen.fixed:
            better = instead.guaranteed > each.round.guaranteed + SAME_GUARANTEE
            instead = None if better else instead
        steps.append(step_of(problem, each, instead))
        parts.compared.advance()
    return Followed(rounds.lesson(status), moments, steps, ways)


def _rounds(problem: Problem, chosen: SetToTeach, teacher: Teacher) -> Rounds:
    """The lesson that teaches what was chosen, or is left to the teacher."""
    task = problem.task
    return Rounds(
        task,
        Following(chosen.order, chosen.shown) if chosen.fixed else teacher,
        problem.learner,
        rng=np.random.default_rng(problem.seed),
        budget=len(task.names) if problem.budget is None else problem.budget,
        max_cost=ample(task) if problem.max_cost is None else problem.max_cost,
        matching=problem.matching,
        goals=problem.aims,
        proved=chosen.proved,
    )


def _must_go_on(chosen: SetToTeach, rounds: Rounds) -> bool:
    """Whether there must be another round even if time is up: the first, what is required, and what
    was found and proved."""
    if rounds.now is None or chosen.fixed:
        return True
    return not set(rounds.task.required) <= set(rounds.now.taught)


def _one_round(
    chosen: SetToTeach, rounds: Rounds, patience: Patience
) -> AbstractContextManager[None]:
    """For the next round, with its share of the time; or else it is left out as a whole."""
    rounds.until, interrupted = math.inf, patience.cut is Cut.INTERRUPTED
    if not _must_go_on(chosen, rounds):
        return patience.strictly()
    if rounds.now is not None and not chosen.fixed:
        if interrupted:
            raise KeyboardInterrupt  # without what must be taught there is no plan
        rounds.until = patience.last
        return patience.needed(REQUIRED)
    begun = 0 if rounds.now is None else len(rounds.now.taught) + 1
    left = max(len(rounds.task.required) + len(chosen.order) + 1 - begun, 1)
    now, end = clock.seconds(), patience.last if chosen.proved is None else patience.until
    rounds.until = now if interrupted else now + max(end - now, 0.0) / left
    # On Ctrl-C it begins again, in a hurry; a second one ends that as well.
    return nullcontext() if interrupted else patience.work()


def enough(problem: Problem, now: Moment) -> bool:
    """Whether what was asked for and can be is guaranteed, and what is required is taught."""
    if not problem.aims or not set(problem.task.required) <= set(now.taught):
        return False
    if now.promise is None:
        return False
    return not problem.aims.unmet(now.promise)


__all__ = ["Followed", "Parts", "enough", "follow", "told"]
