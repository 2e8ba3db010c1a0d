"""What to teach, in which order, where to stop and what to demonstrate."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...mdp.occupancy import feature_expectations
from ...mdp.policy import Policy
from ...precision import first_largest
from ...selection.distance_from_optimal import GreedyGap
from ...study.progress import Part, Progress
from ...teaching.lesson import Lesson, LessonStatus
from ...teaching.rounds import Moment, Rounds
from ...what_to_show.search import Shown
from ..digits import asked, at_least, money, percent, percent_at_least
from ..problem import Problem
from ..problem.places import Place
from .basis import (
    ROUNDED,
    SAME_GUARANTEE,
    Difference,
    ample,
    differences,
    notes_on,
    why_below,
)
from .showing import what_to_show

# Unless more was asked for, steps that add less than this to what is guaranteed are not taken.
WORTH = 1e-3
# Risks that differ by less are the same.
SAME_RISK = 1e-6


@dataclass(frozen=True)
class Alternative:
    """The second-best choice of a step.

    Attributes
    ----------
    name, price : of the feature
    guaranteed : relative performance that would be guaranteed had it been taught instead
    """

    name: str
    price: float
    guaranteed: float


@dataclass(frozen=True)
class Step:
    """A step of the plan; step 0 is the learner as she is.

    Attributes
    ----------
    feature : index into the task's teachable features; None in step 0
    name, price : of the feature; empty and 0 in step 0
    cost : of all features so far
    risk : her teaching risk after the step
    guaranteed : relative performance that is guaranteed after the step
    performance : relative performance of the simulated learner after the step
    mismatch : how far the simulated learner is from the demonstration, in her features
    new_demonstration : whether another policy is demonstrated from this step on
    alternative : what the teacher would have chosen were that feature not there; None if nothing
        else would help, or the feature is required
    """

    feature: int | None
    name: str
    price: float
    cost: float
    risk: float
    guaranteed: float
    performance: float
    mismatch: float
    new_demonstration: bool
    alternative: Alternative | None


@dataclass(frozen=True, eq=False)
class Advice:
    """An ordered plan, and how far to follow it.

    Attributes
    ----------
    title : of the problem
    teacher, learner : who plans, and who is simulated
    steps : the first is the learner as she is
    stop : the number of steps to take
    reason : a sentence, why to stop there
    wanted : the relative performance to be guaranteed; None if none was asked for
    reached : whether it is guaranteed after `stop` steps; True if none was asked for
    gap : how far from the best set of features that costs no more the plan may be, in teaching
        risk; None if nothing is taught
    nearness : a sentence, what that says
    below : a sentence, why the simulated learner does less than is guaranteed, at the step where
        she falls furthest below it; empty if she never does
    policy : what to demonstrate after `stop` steps; None if it was recorded
    demonstrate : a sentence, what to demonstrate
    shown : Shown, the demonstration that guarantees most before anything is taught, and what it
        gains over an optimal policy; None if the search would take too long, or episodes are shown
    differences : how what to demonstrate differs from the optimal policy's features, if it does
    notes : sentences on what all of this rests on, as in `Standing`
    lesson : Lesson, with all the rounds
    """

    title: str
    teacher: str
    learner: str
    steps: tuple[Step, ...]
    stop: int
    reason: str
    wanted: float | None
    reached: bool
    gap: GreedyGap | None
    nearness: str
    below: str
    policy: Policy | None
    demonstrate: str
    shown: Shown | None
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]
    lesson: Lesson


def advise(problem: Problem, *, progress: Progress | None = None) -> Advice:
    """What to teach, in which order, where to stop and what to demonstrate.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from teachirl.app.decisions import advise
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
    ...     advice = advise(read_problem(path))
    >>> [(step.name, round(step.guaranteed, 3)) for step in advice.steps[: advice.stop + 1]]
    [('', 0.0), ('cell 1', 1.0)]
    >>> advice.steps[1].alternative.name
    'cell 2'
    """
    progress = progress or Progress()
    task, lessons = problem.task, problem.lessons
    most = len(lessons.names) - len(lessons.forbidden)
    most = most if problem.budget is None else min(most, problem.budget)
    planned = progress.part("plan", most)
    compared = progress.part("second best", most, weight=0.5)
    others = progress.part("demonstration", 1)
    with (Place(problem.path) / "plan").blamed():
        rounds = Rounds(
            task,
            problem.teacher,
            problem.learner,
            rng=np.random.default_rng(problem.seed),
            budget=len(lessons.names) if problem.budget is None else problem.budget,
            max_cost=ample(task) if problem.max_cost is None else problem.max_cost,
            matching=problem.matching,
        )
        lesson, moments, steps = _followed(problem, rounds, planned, compared)
    stop, reason, reached = _where_to_stop(problem, lesson)
    gap = _gap(lesson, stop)
    changes = [i for i, step in enumerate(steps[: stop + 1]) if step.new_demonstration]
    demonstration = moments[stop].demonstration
    now, since = steps[0].guaranteed, changes[-1] if changes else None
    shown, sentence = what_to_show(problem, demonstration, now, since)
    others.advance()
    policy = demonstration.policy
    return Advice(
        title=problem.title,
        teacher=type(problem.teacher).__name__,
        learner=type(problem.learner).__name__,
        steps=tuple(steps),
        stop=stop,
        reason=reason,
        wanted=problem.until,
        reached=reached,
        gap=gap,
        nearness=_nearness(lesson, stop, gap),
        below=_below(problem, moments),
        policy=policy,
        demonstrate=sentence,
        shown=shown,
        differences=()
        if policy is None
        else differences(
            problem.mdp,
            problem.weights,
            feature_expectations(problem.mdp, task.best.policy),
            feature_expectations(problem.mdp, policy),
        ),
        notes=notes_on(problem),
        lesson=lesson,
    )


def _followed(
    problem: Problem, rounds: Rounds, planned: Part, compared: Part
) -> tuple[Lesson, list[Moment], list[Step]]:
    """The rounds until what was asked for is guaranteed, and the steps that they are."""
    moments, steps = list[Moment](), list[Step]()
    for each in rounds:
        moments.append(each)
        if each.choice is not None:
            planned.advance()
        steps.append(_step(problem, each))
        if each.choice is not None:
            compared.advance()
        if _enough(problem, each):
            return rounds.lesson(LessonStatus.GUARANTEED), moments, steps
    return rounds.lesson(), moments, steps


def _enough(problem: Problem, now: Moment) -> bool:
    """Whether what was asked for is guaranteed, and what is required is taught."""
    if problem.until is None or not set(problem.task.required) <= set(now.taught):
        return False
    return now.guarantees(problem.until)


def _step(problem: Problem, moment: Moment) -> Step:
    each = moment.round
    return Step(
        feature=each.taught,
        name=each.name,
        price=0.0 if each.taught is None else float(problem.lessons.costs[each.taught]),
        cost=each.cost,
        risk=each.risk,
        guaranteed=float(each.guaranteed),
        performance=each.performance,
        mismatch=each.mismatch,
        new_demonstration=each.shown,
        alternative=_alternative(problem, moment),
    )


def _alternative(problem: Problem, moment: Moment) -> Alternative | None:
    """What the teacher would choose were the first not there.

    Of required features the order hardly matters: for those there is none.
    """
    situation, choice = moment.situation, moment.choice
    if situation is None or choice is None or situation.must_teach:
        return None
    left = situation.candidates[situation.candidates != choice.feature]
    if len(left) == 0:
        return None
    # With dice of its own, so that to ask for it changes nothing.
    rng = np.random.default_rng(0)
    other = problem.teacher.choose(replace(situation, candidates=left), rng)
    if other.feature is None:
        return None
    feature, lessons = other.feature, problem.lessons
    view = situation.view.extend(lessons.features[feature])
    guaranteed = problem.guaranteed(view, other.demonstration or situation.demonstration)
    return Alternative(lessons.names[feature], float(lessons.costs[feature]), guaranteed)


def _where_to_stop(problem: Problem, lesson: Lesson) -> tuple[int, str, bool]:
    """After how many steps, why, and whether what was wanted is guaranteed."""
    task, wanted = problem.task, problem.until
    guaranteed = np.array([each.guaranteed for each in lesson.rounds])
    guaranteed[: len(task.required)] = -1.0  # what must be taught is taught
    room = WORTH if wanted is None else SAME_GUARANTEE
    stop = int(np.flatnonzero(guaranteed >= guaranteed.max() - room)[0])
    most = percent_at_least(guaranteed[stop])
    own = task.relative(float(task.weights @ lesson.demonstration.expectations))
    capped = f" What she is shown has a relative performance of {percent(own)} itself: no more can "
    capped += "be guaranteed unless she is shown something else."
    if lesson.demonstration.error > 0.0:
        own = 1.0  # it is an estimate, and caps nothing
    if wanted is None:
        reason = f"{most} are guaranteed: {lesson.status}."
        if stop + 1 < len(guaranteed):
            reason = f"{most} are guaranteed, and the steps after it add less than 0.1 %."
        return stop, reason + (capped if own < 1.0 - WORTH else ""), True
    enough = np.flatnonzero(guaranteed >= wanted - ROUNDED)
    if len(enough):
        return int(enough[0]), f"{asked(wanted)} were asked for, and are guaranteed.", True
    reason = f"{asked(wanted)} are not reached, {most} are the most: {lesson.status}."
    return stop, reason + (capped if own < wanted else ""), False


def _gap(lesson: Lesson, stop: int) -> GreedyGap | None:
    """How far what is taught up to there may be from the best set that costs no more."""
    followed = replace(lesson, rounds=lesson.rounds[: stop + 1])
    if stop == 0:
        return None
    if _even(lesson):
        return followed.gap_to_optimal()
    return followed.gap_to_optimal(max_cost=followed.rounds[-1].cost * (1.0 + 1e-9))


def _even(lesson: Lesson) -> bool:
    costs = lesson.task.costs
    return bool((costs == costs[0]).all())


def _nearness(lesson: Lesson, stop: int, gap: GreedyGap | None) -> str:
    if gap is None:
        return "Nothing is taught, so that there is nothing to compare."
    others = f"for {money(lesson.rounds[stop].cost)} or less"
    if _even(lesson):
        others = f"of {stop} feature{'' if stop == 1 else 's'}"
    below = at_least(gap.lower, scale=1.0) if gap.risk - gap.lower > SAME_RISK else "that"
    return (
        f"In teaching risk the plan ends at {gap.risk:.3f}, and no set {others} below {below}; "
        "`teachirl frontier` compares what sets guarantee."
    )


def _below(problem: Problem, moments: list[Moment]) -> str:
    short = [each.round.guaranteed - each.round.performance for each in moments]
    step = first_largest(short, SAME_GUARANTEE)
    if short[step] <= SAME_GUARANTEE:
        return ""
    now, name = moments[step], type(problem.learner).__name__
    performance, mismatch = now.round.performance, now.round.mismatch
    why = why_below(problem, now.view, now.demonstration, name, performance, mismatch)
    return f"At step {step}, {why}"


__all__ = ["Advice", "Alternative", "Step", "advise"]
