"""What to teach, in which order, where to stop and what to demonstrate: how it is found."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from ...demonstrations.demonstration import Demonstration
from ...mdp import clock
from ...mdp.occupancy import feature_expectations
from ...precision import first_largest
from ...selection.distance_from_optimal import GreedyGap
from ...study.progress import Part, Progress
from ...teaching.lesson import Lesson
from ...teaching.lesson_record import LessonStatus
from ...teaching.rounds import Moment, Rounds
from ...teaching.teacher import Teacher
from ..problem import Problem
from .comparison import SAME_GUARANTEE, Difference, Shortfall, differences, shortfall
from .demonstration import WhatToShow, what_to_show
from .greedy_plan import ample, same_price
from .kept import Kept, Remembering
from .patience import Cut, Patience
from .set_search import Known, Watch
from .set_to_teach import Following, Searched, SetToTeach, set_to_teach
from .stakes import expectations_there, matching_witness, stakes, unfinished
from .steps import Step, second_best, step_of
from .teaching_plan import Ending, TeachingPlan
from .worth import worth_of

# What there is no plan without; and none in which it is not taught.
NEEDED = "find the best and the worst policy, and what is shown"
REQUIRED = "teach what is required"
_Followed: TypeAlias = tuple[Lesson, list[Moment], list[Step]]
# How long to search for the set to teach, in seconds, without a limit: nobody waits much longer.
SEARCH = 20.0


def plan(
    problem: Problem,
    *,
    seconds: float = math.inf,
    progress: Progress | None = None,
    kept: Kept | None = None,
    watch: Watch | None = None,
) -> TeachingPlan:
    """What to teach, in which order, where to stop and what to demonstrate.

    Parameters
    ----------
    problem : Problem
    seconds : how long to plan; what is planned by then, or on Ctrl-C, is the plan; `cut` says so
    progress : Progress, to tell of what is being done; by default nobody is told
    kept : Kept, where what is proved is kept if planning is cut short; by default nowhere
    watch : called with what is known to be guaranteed, as soon as something is, and now and then

    Returns
    -------
    TeachingPlan

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from teachirl.app.decisions import plan
    >>> from teachirl.app.problem import read_problem
    >>> text = '''
    ... [world]
    ... name = "chain"
    ... [reward.weights]
    ... "cell 1" = -1.0
    ... "cell 5" = 1.0
    ... [learner]
    ... sees = ["cell 3"]
    ... [teach]
    ... features = "all"
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "figure_1.toml"
    ...     _ = path.write_text(text)
    ...     found = plan(read_problem(path))
    >>> [(step.name, round(step.guaranteed, 3)) for step in found.steps[: found.stop + 1]]
    [('', 0.0), ('cell 1', 1.0)]
    >>> found.steps[1].alternative.name
    'cell 2'
    """
    patience, kept = Patience(seconds), kept or Kept()
    with patience.needed(NEEDED):
        _ = problem.task.simulated
        with (problem.place / "plan").locating():
            _ = problem.aims
    parts = _Parts.of(problem, patience, progress or Progress(), kept, watch)
    with (problem.place / "plan").locating():
        chosen = set_to_teach(problem, parts.for_sets, kept, watch)
        parts.sought.advance()
        patience.renew()
        followed = _followed(problem, chosen, patience, parts)
        instead = chosen.at_once
        if instead is not None and _falls_short(problem, instead, followed):
            chosen, followed = instead, _followed(problem, instead, patience, parts)
    found = _explained(problem, chosen, *followed, patience)
    kept.end(patience.cut or parts.for_sets.cut)
    return found


def _explained(
    problem: Problem,
    chosen: SetToTeach,
    lesson: Lesson,
    moments: list[Moment],
    steps: list[Step],
    patience: Patience,
) -> TeachingPlan:
    """How far to follow the steps, and what they come to."""
    stop, ending = _where_to_stop(problem, chosen, moments)
    last, demonstration = moments[stop], moments[stop].demonstration
    assert last.promise is not None and last.worst_case is not None
    witness, there = matching_witness(last.worst_case), None
    if problem.world.model is None:
        there = expectations_there(problem, last.worst_case, patience)
    show = _shown(problem, moments[: stop + 1], patience)
    below, gap = _below(problem, moments, patience), _gap(lesson, stop, patience)
    apart = _from_optimal(problem, demonstration, patience)
    return TeachingPlan(
        teacher=type(problem.teacher).__name__,
        learner=type(problem.learner).__name__,
        chosen=chosen,
        cut=patience.cut or _late(problem, chosen, moments, patience),
        steps=tuple(steps),
        stop=stop,
        ending=ending,
        stakes=stakes(problem, demonstration, last.promise, there, patience.last),
        cap=_cap(problem, lesson, ending),
        gap=gap,
        below=below,
        view=last.view,
        demonstration=demonstration,
        witness=witness,
        show=show,
        differences=apart,
        lesson=lesson,
        problem=problem,
        patience=patience,
    )


def _rounds(problem: Problem, chosen: SetToTeach, teacher: Teacher) -> Rounds:
    """The lesson that teaches what was chosen, or is left to the teacher."""
    task, found = problem.task, chosen.searched is not Searched.TEACHER
    return Rounds(
        task,
        Following(chosen.order) if found else teacher,
        problem.learner,
        rng=np.random.default_rng(problem.seed),
        budget=len(task.names) if problem.budget is None else problem.budget,
        max_cost=ample(task) if problem.max_cost is None else problem.max_cost,
        matching=problem.matching,
        goals=problem.aims,
        proved=chosen.proved,
    )


def _shown(problem: Problem, moments: list[Moment], patience: Patience) -> WhatToShow:
    """About what is demonstrated in the end, and since when."""
    first, last = moments[0].promise, moments[-1].promise
    assert first is not None and last is not None
    changes = [i for i, each in enumerate(moments) if each.round.shown]
    since = changes[-1] if changes else None
    return what_to_show(problem, moments[-1].demonstration, first, last, since, patience)


def _from_optimal(
    problem: Problem, shown: Demonstration, patience: Patience
) -> tuple[Difference, ...]:
    mdp, best, policy = problem.mdp, problem.task.best.policy, shown.policy
    if policy is None or policy is best:
        return ()
    both = patience.spared(lambda: [feature_expectations(mdp, each) for each in (best, policy)])
    return () if both is None else differences(mdp, problem.weights, *both)


class _Parts(NamedTuple):
    """Who is asked and told while a plan is made, and the time that its parts have."""

    teacher: Remembering
    for_sets: Patience
    sought: Part
    planned: Part
    compared: Part
    kept: Kept
    watch: Watch | None

    @classmethod
    def of(
        cls,
        problem: Problem,
        patience: Patience,
        progress: Progress,
        kept: Kept,
        watch: Watch | None,
    ) -> _Parts:
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
        )

    def tell(self, moments: list[Moment]) -> None:
        """What is guaranteed after each step so far."""
        self.kept.now_and_then()
        if self.watch is not None:
            names = tuple(each.round.name for each in moments[1:])
            self.watch(tuple(_told(each, names[:i]) for i, each in enumerate(moments)))


def _told(moment: Moment, features: tuple[str, ...]) -> Known:
    """What is guaranteed where a lesson stands."""
    now, promise = moment.round, moment.promise
    reward = math.nan if promise is None else promise.reward
    return Known(now.cost, float(now.guaranteed), reward, features)


def _falls_short(problem: Problem, instead: SetToTeach, followed: _Followed) -> bool:
    """Whether a plan was cut short before it came to what another set is proved to guarantee."""
    lesson, moments, _ = followed
    if lesson.status is not LessonStatus.CUT_SHORT or _enough(problem, moments[-1]):
        return False
    assert instead.proved is not None
    proved = instead.proved((*problem.task.required, *instead.order))
    reached = [each.promise.reward for each in moments if each.promise is not None]
    return proved > max(reached, default=-math.inf)


def _followed(problem: Problem, chosen: SetToTeach, patience: Patience, parts: _Parts) -> _Followed:
    """The rounds until what was asked for is guaranteed, and the steps that they are."""
    parts.kept.follow(parts.teacher)
    rounds, moments = _rounds(problem, chosen, parts.teacher), list[Moment]()
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
        elif moments and _enough(problem, moments[-1]):
            status = LessonStatus.GUARANTEED if patience.cut is None else LessonStatus.CUT_SHORT
        elif not _must_go_on(chosen, rounds) and patience.over():
            status = LessonStatus.CUT_SHORT
    steps = [step_of(problem, moments[0], None)]
    for each in moments[1:]:  # last, as it only explains
        other = second_best(problem, parts.teacher, each, patience)
        # Of a set that was chosen as a whole, a step may gain less than others would at its place.
        if other is not None and chosen.searched is not Searched.TEACHER:
            other = other if other.guaranteed <= each.round.guaranteed + SAME_GUARANTEE else None
        steps.append(step_of(problem, each, other))
        parts.compared.advance()
    return rounds.lesson(status), moments, steps


def _must_go_on(chosen: SetToTeach, rounds: Rounds) -> bool:
    """Whether there must be another round even if time is up: the first, what is required, and what
    was found and proved."""
    if rounds.now is None or chosen.searched is not Searched.TEACHER:
        return True
    return not set(rounds.task.required) <= set(rounds.now.taught)


def _one_round(
    chosen: SetToTeach, rounds: Rounds, patience: Patience
) -> AbstractContextManager[None]:
    """For the next round, with its share of the time; or else it is left out as a whole."""
    rounds.until, interrupted = math.inf, patience.cut is Cut.INTERRUPTED
    if not _must_go_on(chosen, rounds):
        return patience.strictly()
    if rounds.now is not None and chosen.searched is Searched.TEACHER:
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


def _late(
    problem: Problem, chosen: SetToTeach, moments: list[Moment], patience: Patience
) -> Cut | None:
    """Out of time, if more may be guaranteed than was proved, in rounds that must be there."""
    must = len(problem.task.required) + 1
    needed = moments[:must] if chosen.searched is Searched.TEACHER else moments
    found = (each.worst_case for each in needed)
    short = any(each is not None and unfinished(each) for each in found)
    return Cut.OUT_OF_TIME if short and patience.seconds < math.inf else None


def _enough(problem: Problem, now: Moment) -> bool:
    """Whether what was asked for and can be is guaranteed, and what is required is taught."""
    if not problem.aims or not set(problem.task.required) <= set(now.taught):
        return False
    if now.promise is None:
        return False
    return not problem.aims.unmet(now.promise)


def _where_to_stop(
    problem: Problem, chosen: SetToTeach, moments: list[Moment]
) -> tuple[int, Ending]:
    """After how many steps, and why."""
    goals, must = problem.goals, len(problem.task.required)  # what must be taught is taught
    worth = worth_of(problem)
    promises = [each.promise for each in moments[must:] if each.promise is not None]
    if not goals:
        short = np.array([-each.performance for each in promises])
        first = int(np.flatnonzero(short <= short.min() + worth)[0])
    else:
        short = np.array([problem.aims.shortfall(each) for each in promises])
        # What was searched for is without what is not worth its cost already.
        room = worth if chosen.searched is Searched.TEACHER else min(worth, SAME_GUARANTEE)
        first = int(np.flatnonzero(short <= short.min() + room * (short.min() > 0.0))[0])
    stop = must + first
    if goals:
        return stop, Ending.NOT_REACHED if goals.unmet(promises[first]) else Ending.REACHED
    return stop, Ending.LITTLE_TO_GAIN if stop + 1 < len(moments) else Ending.LESSON_ENDED


def _cap(problem: Problem, lesson: Lesson, ending: Ending) -> float | None:
    """The relative performance of what is shown, if no more can be guaranteed because of it."""
    shown = lesson.demonstration
    if shown.error > 0.0 or ending is Ending.REACHED:
        return None  # an estimate caps nothing
    own = problem.goals.own(shown)
    if problem.goals:
        missed = (goal for goal in problem.goals.unmet(own) if goal not in problem.impossible)
        reward = (goal for goal in missed if goal.feature is None)
        return own.performance if any(reward) else None
    return own.performance if own.performance < 1.0 - worth_of(problem) else None


def _gap(lesson: Lesson, stop: int, patience: Patience) -> GreedyGap | None:
    """How far what is taught up to there may be from the best set that costs no more; None if
    nothing is, or there was no time for it."""
    followed = replace(lesson, rounds=lesson.rounds[: stop + 1])
    if stop == 0:
        return None
    if same_price(lesson.task):
        return patience.spared(followed.gap_to_optimal)
    within = followed.rounds[-1].cost * (1.0 + 1e-9)
    return patience.spared(lambda: followed.gap_to_optimal(max_cost=within))


def _below(
    problem: Problem, moments: list[Moment], patience: Patience
) -> tuple[int, Shortfall] | None:
    # Of who had no time to learn nothing is known.
    short = [
        float(np.nan_to_num(each.round.guaranteed - each.round.performance)) for each in moments
    ]
    step = first_largest(short, SAME_GUARANTEE)
    if short[step] <= SAME_GUARANTEE:
        return None
    now, name = moments[step], type(problem.learner).__name__
    performance, mismatch = now.round.performance, now.round.mismatch
    found = patience.spared(
        lambda: shortfall(problem, now.view, now.demonstration, name, performance, mismatch)
    )
    return None if found is None else (step, found)


__all__ = ["plan"]
