"""Algorithm 1 of the paper, for any teacher and any learner: rounds, until a rule ends them.

The paper stops once |R(L) − R(T)| ≤ ε, or after B rounds. Here a lesson can end as well when the
money is spent, or as soon as a relative performance is guaranteed, whatever the learner does.
"""

from __future__ import annotations

import math

import numpy as np

from ..demonstrations.demonstration import Demonstration
from ..diagnosis.diagnosis import Diagnosis
from ..errors import require
from ..learners import Informed, Learner
from ..mdp.occupancy import feature_expectations
from ..mdp.policy import Policy
from ..selection.greedy import is_number, is_whole
from ..views.worldview import Worldview
from .goals import Goals, TaskGoals
from .lesson import Lesson
from .lesson_record import LessonStatus
from .matching import Matching
from .progress import Progress, telling
from .rounds import Moment, Rounds
from .task import Task
from .teacher import Teacher
from .unknown import Unknown


def teach(
    task: Task,
    teacher: Teacher,
    learner: Learner | Informed,
    *,
    rng: np.random.Generator,
    budget: int | None = None,
    max_cost: float = math.inf,
    tolerance: float | None = None,
    until: float | Goals | None = None,
    mismatch: float | None = None,
    certified: bool = True,
    worldviews: Diagnosis | None = None,
    start: Policy | None = None,
    after: Lesson | None = None,
    progress: Progress = False,
) -> Lesson:
    """Teach features until a stopping rule applies: Algorithm 1 of the paper.

    Parameters
    ----------
    task : Task
    teacher : Teacher, who chooses what to teach
    learner : Learner, or Informed who is told the reward
    rng : numpy.random.Generator, for teachers who leave something to chance
    budget : int, B, how many features may be taught, those of `after` included; all by default
    max_cost : float, what they may cost in all, those of `after` included
    tolerance : float, ε; the lesson ends once |R(L) − R(T)| is at most this fraction of max R − min
        R, T being the task's own demonstration; or, if only episodes of it are known, once that is
        within what they leave open. Negative: never. 1e-3 by default; with `until`, negative
    until : float or Goals, the lesson ends once this relative performance, or all, are guaranteed
    mismatch : float, how closely learners are taken to match, in their features, for what is
        guaranteed. By default exactly; a sampled demonstration, as closely as the expert does. For
        one who stops early, give the distance at which it stops, or see `Round.guaranteed`
    certified : bool, whether to compute what is guaranteed, one exact worst case a round
    worldviews : Diagnosis, all that the teacher knows of the task's worldview: what is proved
        counts, and what is open is tested before it is paid for
    start : Policy that the learner starts with; the uniform one by default
    after : Lesson of this task to go on from; what its last round guarantees is computed anew
    progress : bool or Callable, True for a bar on stderr, or a function that hears of each Round

    Returns
    -------
    Lesson

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> view, rng = ti.Worldview.select(mdp, ["cell 3"]), np.random.default_rng(0)
    >>> task = ti.Task(mdp, [-2, -1, 0, 1, 2], view, np.eye(5))
    >>> lesson = ti.teach(task, ti.teachers.TRGreedy(), ti.learners.MinNormPoint(), rng=rng)
    >>> print(lesson)
         taught             cost   risk   mismatch  performance  guaranteed
      0  (nothing yet)         0  1.000     < 1e-9        0.325       0.000
      1  cell 1                1  0.775     < 1e-9        1.000       1.000
    ended: the learner earns what the expert does, up to the tolerance
    """
    _check_those_involved(task, teacher, learner, rng)
    if tolerance is None:
        tolerance = 1e-3 if until is None else -1.0
    unknown = _unknown(task, worldviews, after)
    if unknown is not None:
        task, mismatch = unknown.task, unknown.mismatch if mismatch is None else mismatch
    goals = _check_rules(budget, max_cost, tolerance, until, certified).of(task)
    rounds = Rounds(
        task,
        teacher,
        learner,
        rng=rng,
        budget=len(task.teachable) if budget is None else int(budget),
        max_cost=max_cost,
        matching=Matching(mismatch),
        certified=certified,
        goals=goals,
        start=start,
        unknown=unknown,
        after=after,
    )
    return _driven(rounds, goals, tolerance, progress)


def _unknown(task: Task, worldviews: Diagnosis | None, after: Lesson | None) -> Unknown | None:
    """A learner of whom only so much is known, if that is so."""
    if worldviews is None:
        return None
    require(after is None, "a lesson with a learner who is unknown cannot go on from another")
    return Unknown(task, worldviews)


def _driven(rounds: Rounds, goals: TaskGoals, tolerance: float, progress: Progress) -> Lesson:
    """The lesson of all rounds until a rule ends it."""
    expert, after = _expert(goals.task), rounds.after
    most = min(rounds.budget, len(goals.task.teachable))
    with telling(progress, 0 if after is None else len(after.taught), most) as hear:
        for each in rounds:
            hear(each.round)
            status = _ended(goals, each, expert, tolerance)
            if status is not None:
                return rounds.lesson(status)
    return rounds.lesson()


def _expert(task: Task) -> tuple[float, float]:
    """R(T), and how far that may be off."""
    shown, weights = task.demonstration, task.weights
    if shown.policy is not None:
        return float(weights @ feature_expectations(task.mdp, shown.policy)), 0.0
    value = float(weights @ shown.expectations)
    if shown.trajectories is None or shown.confidence == 1.0:
        return value, float(np.linalg.norm(weights)) * shown.error
    # The error along w alone is smaller: that of the mean return of the episodes.
    returns = Worldview(weights[None]).observe(task.mdp)
    sampled = Demonstration.from_trajectories(returns, shown.trajectories, shown.confidence)
    return value, sampled.error


def _ended(
    goals: TaskGoals, last: Moment, expert: tuple[float, float], tolerance: float
) -> LessonStatus | None:
    """Whether what is learned, or guaranteed, is enough."""
    task = goals.task
    if not set(task.required) <= set(last.taught):
        return None
    earned = float(task.weights @ feature_expectations(task.mdp, last.policy))
    allowed = tolerance * (task.best.value - task.worst.value)
    shown, doubt = expert
    if tolerance >= 0.0 and abs(earned - shown) <= max(allowed, 0.0):
        return LessonStatus.LEARNED
    if goals and last.promise is not None and not goals.unmet(last.promise):
        return LessonStatus.GUARANTEED
    if tolerance >= 0.0 and abs(earned - shown) <= doubt:
        return LessonStatus.INDISTINGUISHABLE
    return None


def _check_those_involved(task: object, teacher: object, learner: object, rng: object) -> None:
    require(isinstance(task, Task), f"task must be a Task, got {type(task).__name__}")
    for role, who, methods in (
        ("teacher", teacher, ("choose",)),
        ("learner", learner, ("learn", "informed")),
    ):
        name = getattr(who, "__name__", "")
        require(
            not isinstance(who, type), f"{role} must be an object, not a class: {name}() instead"
        )
        require(
            any(callable(getattr(who, method, None)) for method in methods),
            f"{role} must have a method {' or '.join(methods)}, {type(who).__name__} has none",
        )
    require(
        isinstance(rng, np.random.Generator),
        f"rng must be a numpy.random.Generator, got {type(rng).__name__}",
    )


def _check_rules(
    budget: int | None,
    max_cost: float,
    tolerance: float,
    until: float | Goals | None,
    certified: bool,
) -> Goals:
    """What was asked for, if nothing is wrong."""
    require(
        budget is None or (is_whole(budget) and budget >= 0),
        f"budget must be a whole number that is not negative, got {budget!r}",
    )
    require(
        is_number(max_cost) and max_cost >= 0.0,
        f"max_cost must not be negative; math.inf if it does not matter; got {max_cost!r}",
    )
    require(
        is_number(tolerance) and not math.isnan(tolerance),
        f"tolerance must be a number, got {tolerance!r}",
    )
    require(
        until is None or isinstance(until, Goals) or (is_number(until) and 0.0 <= until <= 1.0),
        f"until must be a relative performance from 0 to 1, or Goals, got {until!r}",
    )
    require(certified or until is None, "until needs certified=True: it is about a guarantee")
    return until if isinstance(until, Goals) else Goals(until)


__all__ = ["teach"]
