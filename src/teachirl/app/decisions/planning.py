"""What to teach, in which order, where to stop and what to demonstrate: how it is found."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ...demonstrations.demonstration import Demonstration
from ...mdp.occupancy import feature_expectations
from ...precision import first_largest
from ...selection.distance_from_optimal import GreedyGap
from ...study.progress import Progress
from ...teaching.lesson import Lesson
from ...teaching.lesson_record import LessonStatus
from ...teaching.needed import as_good
from ...teaching.prices import same_price
from ...teaching.rounds import Moment
from ..problem import Problem
from .comparison import SAME_GUARANTEE, Difference, Shortfall, differences, shortfall
from .demonstration import WhatToShow, what_to_show
from .following import Followed, Parts, enough, follow, told
from .kept import Kept
from .patience import Cut, Patience
from .set_search import Watch
from .set_to_teach import Searched, SetToTeach, set_to_teach
from .stakes import expectations_there, matching_witness, shown_briefly, stakes, unfinished
from .teaching_plan import Ending, TeachingPlan
from .ways import Way, leaner
from .worth import worth_of

# What there is no plan without.
NEEDED = "find the best and the worst policy, and what is shown"


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
    parts = Parts.of(problem, patience, progress or Progress(), kept, watch)
    with (problem.place / "plan").locating():
        chosen = set_to_teach(problem, parts.for_sets, kept, watch)
        parts.sought.advance()
        patience.renew()
        followed = follow(problem, chosen, patience, parts)
        instead = chosen.at_once
        if instead is not None and _falls_short(problem, instead, followed):
            chosen, followed = instead, follow(problem, instead, patience, parts)
        chosen, followed = _leanest(problem, chosen, followed, patience, parts)
    found = _explained(problem, chosen, followed, patience)
    kept.end(patience.cut or parts.for_sets.cut)
    return found


def _explained(
    problem: Problem, chosen: SetToTeach, followed: Followed, patience: Patience
) -> TeachingPlan:
    """How far to follow the steps, and what they come to."""
    lesson, moments, steps, _ = followed
    stop, ending = _where_to_stop(problem, chosen, moments)
    last, demonstration = moments[stop], moments[stop].demonstration
    assert last.promise is not None and last.worst_case is not None
    early, case, there = unfinished(last.worst_case), last.worst_case, None
    if problem.world.model is None:
        case = shown_briefly(problem, last.view, demonstration, case, patience)
        there = expectations_there(problem, case)
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
        stakes=stakes(problem, demonstration, last.promise, there, early, patience.last),
        cap=_cap(problem, lesson, ending),
        gap=gap,
        below=below,
        view=last.view,
        demonstration=demonstration,
        witness=matching_witness(case),
        show=show,
        differences=apart,
        lesson=lesson,
        problem=problem,
        patience=patience,
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


def _falls_short(problem: Problem, instead: SetToTeach, found: Followed) -> bool:
    """Whether a plan was cut short before it came to what another set is proved to guarantee."""
    if found.lesson.status is not LessonStatus.CUT_SHORT or enough(problem, found.moments[-1]):
        return False
    assert instead.proved is not None
    proved = instead.proved((*problem.task.required, *instead.order))
    reached = [each.promise.reward for each in found.moments if each.promise is not None]
    return proved > max(reached, default=-math.inf)


def _leanest(
    problem: Problem, chosen: SetToTeach, found: Followed, patience: Patience, parts: Parts
) -> tuple[SetToTeach, Followed]:
    """A teacher's plan without what it does not need, or a cheaper one that came up on its way."""
    if chosen.searched is not Searched.TEACHER or patience.over():
        return chosen, found
    stop, _ = _where_to_stop(problem, chosen, found.moments)
    whole, lean = Way.through(found.moments[: stop + 1]), None
    with patience.strictly():
        lean = leaner(problem, whole, found.ways)
    if lean is None or patience.over():
        return chosen, found
    required, names = len(problem.task.required), problem.task.names
    led = chosen.led or told(found.moments[stop], tuple(names[i] for i in whole.taught))
    order, shown = lean.taught[required:], lean.shown[required:]
    other = replace(chosen, order=order, shown=shown, led=led)
    again = follow(problem, other, patience, parts)
    end, _ = _where_to_stop(problem, other, again.moments)
    then = Way.through(again.moments[: end + 1])
    if not as_good(problem.aims, then.promise, whole.promise, worth_of(problem)):
        return chosen, found  # there was no time to prove it
    return _leanest(problem, other, again, patience, parts)


def _late(
    problem: Problem, chosen: SetToTeach, moments: list[Moment], patience: Patience
) -> Cut | None:
    """Out of time, if more may be guaranteed than was proved, in rounds that must be there."""
    must = len(problem.task.required) + 1
    needed = moments if chosen.fixed else moments[:must]
    found = (each.worst_case for each in needed)
    short = any(each is not None and unfinished(each) for each in found)
    return Cut.OUT_OF_TIME if short and patience.seconds < math.inf else None


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
        room = min(worth, SAME_GUARANTEE) if chosen.fixed else worth
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
