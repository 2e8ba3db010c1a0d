"""The lesson: Algorithm 1 of the paper, for any teacher and any learner.

Round 0 is the learner as she comes, trained on what she sees of the demonstration. Before each
round that follows, the stopping rules are checked; then the teacher chooses a feature f, the
learner's worldview becomes A ⊕ ⟨f, ·⟩, and she trains from her last policy on her new view of the
demonstration.

The paper stops once |R(L) − R(T)| ≤ ε, or after B rounds. Here a lesson can end as well when the
money is spent, or as soon as a relative performance is guaranteed, whatever the learner does.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import Ints, as_floats, frozen
from ..demonstrations.demonstration import Demonstration, as_demonstration
from ..errors import require
from ..learners import Informed, Learner
from ..mdp import clock
from ..mdp.occupancy import feature_expectations
from ..mdp.policy import Policy, check_policy
from ..selection.greedy import is_number, is_whole, money_left
from ..views.teaching_risk import relative_risk, teaching_risk
from ..views.worldview import Worldview
from .lesson import Lesson, LessonStatus, Round
from .matching import Matching
from .task import Task
from .teacher import Choice, Situation, Teacher


def teach(
    task: Task,
    teacher: Teacher,
    learner: Learner | Informed,
    *,
    rng: np.random.Generator,
    budget: int | None = None,
    max_cost: float = math.inf,
    tolerance: float | None = None,
    until: float | None = None,
    mismatch: float | None = None,
    certified: bool = True,
    start: Policy | None = None,
    after: Lesson | None = None,
) -> Lesson:
    """Teach features until a stopping rule applies: Algorithm 1 of the paper.

    Parameters
    ----------
    rng : for teachers who leave something to chance
    budget : B, how many features may be taught in all, those of `after` included; all of them by
        default
    max_cost : what they may cost in all, those of `after` included
    tolerance : ε; the lesson ends once |R(L) − R(T)| is at most this fraction of max R − min R, T
        being the task's own demonstration; or, if only episodes of it are known, once that is
        within what they leave open. A negative one never ends it. 1e-3 by default; with `until`,
        which asks for more than luck, negative
    until : the lesson ends once this relative performance is guaranteed, up to 1e-9
    mismatch : how closely learners are taken to match, in her features, for what is guaranteed. By
        default exactly; a sampled demonstration, as closely as the expert himself does. For one
        who stops early, such as Projection(tolerance), give what she stops at, or see
        `Round.guaranteed`
    certified : whether to compute what is guaranteed, one exact worst case a round
    start : the policy that the learner starts with; the uniform one by default
    after : a lesson of this task to go on from. What its last round guarantees is computed anew,
        with this `mismatch`

    Returns
    -------
    Lesson

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> view = ti.Worldview.select(mdp, ["cell 3"])
    >>> task = ti.Task(mdp, [-2, -1, 0, 1, 2], view, np.eye(5))
    >>> rng = np.random.default_rng(0)
    >>> lesson = ti.teach(task, ti.teachers.TRGreedy(), ti.learners.MinNormPoint(), rng=rng)
    >>> print(lesson)
         taught             cost   risk   mismatch  performance  guaranteed
      0  (nothing yet)         0  1.000     < 1e-9        0.479       0.000
      1  cell 1                1  0.775     < 1e-9        1.000       1.000
    ended: she earns what the expert does, up to the tolerance
    """
    _check_those_involved(task, teacher, learner, rng)
    require(
        budget is None or (is_whole(budget) and budget >= 0),
        f"budget must be a whole number that is not negative, got {budget!r}",
    )
    require(
        is_number(max_cost) and max_cost >= 0.0,
        f"max_cost must not be negative; math.inf if it does not matter; got {max_cost!r}",
    )
    if tolerance is None:
        tolerance = 1e-3 if until is None else -1.0
    require(
        is_number(tolerance) and not math.isnan(tolerance),
        f"tolerance must be a number, got {tolerance!r}",
    )
    require(
        until is None or (is_number(until) and 0.0 <= until <= 1.0),
        f"until must be a relative performance from 0 to 1, got {until!r}",
    )
    require(certified or until is None, "until needs certified=True: it is about a guarantee")
    most = len(task.teachable) if budget is None else int(budget)
    _check_required(task, most, max_cost)
    if isinstance(learner, Informed):
        learner = learner.informed(task.mdp, task.weights)
    lecture = _Lecture(task, learner, Matching(mismatch), certified)
    if after is None:
        lecture.begin(start)
    else:
        require(isinstance(after, Lesson), f"after must be a Lesson, got {type(after).__name__}")
        require(start is None, "start is for a new lesson; the one to go on from has its policy")
        require(after.task is task, "after must be a lesson of this very task")
        lecture.resume(after)
    while True:
        status = lecture.ended(most, max_cost, tolerance, until)
        if status is None and not lecture.next(teacher, rng, most, max_cost):
            status = LessonStatus.NOTHING_HELPS
        if status is not None:
            rounds = tuple(lecture.rounds)
            return Lesson(task, rounds, lecture.policy, lecture.demonstration, status)


class _Lecture:
    """A lesson while it goes on."""

    def __init__(self, task: Task, learner: Learner, matching: Matching, certified: bool) -> None:
        self.task, self.learner = task, learner
        self.matching, self.certified = matching, certified
        self.view, self.demonstration = task.worldview, task.demonstration
        self.rounds: list[Round] = []
        self.taught: list[int] = []
        self.begun = 0
        self.notes: dict[str, Any] = {}

    def begin(self, start: Policy | None) -> None:
        self.policy = Policy.uniform(self.task.mdp) if start is None else start
        check_policy(self.task.mdp, self.policy)
        self._train(None, None, 0.0)

    def resume(self, lesson: Lesson) -> None:
        self.rounds, self.taught = list(lesson.rounds), list(lesson.taught)
        self.policy, self.demonstration = lesson.policy, lesson.demonstration
        self.view, self.begun = lesson.worldview, len(self.taught)
        if self.certified:
            # It may be that of another mismatch, or never have been computed.
            self.rounds[-1] = replace(self.rounds[-1], guaranteed=self._guaranteed())

    @cached_property
    def expert(self) -> tuple[float, float]:
        """R(T), and how far that may be off."""
        shown, weights = self.task.demonstration, self.task.weights
        if shown.policy is not None:
            return float(weights @ feature_expectations(self.task.mdp, shown.policy)), 0.0
        value = float(weights @ shown.expectations)
        if shown.trajectories is None or shown.confidence == 1.0:
            return value, float(np.linalg.norm(weights)) * shown.error
        # The error along w alone is smaller: that of the mean return of the episodes.
        returns = Worldview(weights[None]).observe(self.task.mdp)
        return value, Demonstration.from_trajectories(
            returns, shown.trajectories, shown.confidence
        ).error

    @property
    def cost(self) -> float:
        return float(self.task.costs[self.taught].sum())

    def candidates(self, max_cost: float) -> Ints:
        """Who may be taught next; while some are required, those alone."""
        task = self.task
        free = np.ones(len(task.teachable), dtype=bool)
        free[[*self.taught, *task.forbidden]] = False
        required = [feature for feature in task.required if feature not in self.taught]
        if required:
            free[:] = False
            free[required] = True
        return np.flatnonzero(free & (task.costs <= money_left(max_cost, self.cost)))

    def ended(
        self, most: int, max_cost: float, tolerance: float, until: float | None
    ) -> LessonStatus | None:
        task, last = self.task, self.rounds[-1]
        if not set(task.required) <= set(self.taught):
            return None
        earned = float(task.weights @ feature_expectations(task.mdp, self.policy))
        allowed = tolerance * (task.best.value - task.worst.value)
        shown, doubt = self.expert
        if tolerance >= 0.0 and abs(earned - shown) <= max(allowed, 0.0):
            return LessonStatus.LEARNED
        # Guarantees are rounded down, so that 1 itself is never reached.
        if until is not None and last.guaranteed >= until - 1e-9:
            return LessonStatus.GUARANTEED
        if tolerance >= 0.0 and abs(earned - shown) <= doubt:
            return LessonStatus.INDISTINGUISHABLE
        if len(self.candidates(math.inf)) == 0:
            return LessonStatus.NOTHING_LEFT
        if len(self.taught) >= most:
            return LessonStatus.OUT_OF_BUDGET
        return LessonStatus.OUT_OF_MONEY if len(self.candidates(max_cost)) == 0 else None

    def next(self, teacher: Teacher, rng: np.random.Generator, most: int, max_cost: float) -> bool:
        """One more round; False if the teacher does not want one."""
        task, began = self.task, clock.seconds()
        candidates = self.candidates(max_cost)
        situation = Situation(
            task=task,
            view=self.view,
            demonstration=self.demonstration,
            policy=self.policy,
            taught=tuple(self.taught),
            candidates=candidates,
            features_left=most - len(self.taught),
            cost_left=max_cost - self.cost,
            matching=self.matching,
            begun=self.begun,
            notes=self.notes,
        )
        choice = teacher.choose(situation, rng)
        spent = clock.seconds() - began
        choice = _checked_choice(choice, len(task.teachable))
        if choice.feature is None:
            missing = [task.names[i] for i in task.required if i not in self.taught]
            require(not missing, f"the teacher stopped, but {missing} must be taught")
            return False
        require(
            is_whole(choice.feature) and choice.feature in candidates,
            f"the teacher chose feature {choice.feature!r}, which is not among the candidates",
        )
        self.taught.append(int(choice.feature))
        self.view = self.view.extend(
            task.teachable[choice.feature], task.names[int(choice.feature)]
        )
        if choice.demonstration is not None:
            self.demonstration = as_demonstration(task.mdp, choice.demonstration)
        self._train(int(choice.feature), choice, spent)
        return True

    def _train(self, feature: int | None, choice: Choice | None, choosing: float) -> None:
        task, view = self.task, self.view
        target = view.matrix @ self.demonstration.expectations
        began = clock.seconds()
        learned = self.learner.learn(view.observe(task.mdp), target, self.policy)
        learning = clock.seconds() - began
        self.policy = learned.policy
        earned = float(task.weights @ feature_expectations(task.mdp, learned.policy))
        began = clock.seconds()
        guaranteed = self._guaranteed() if self.certified else math.nan
        certifying = clock.seconds() - began
        self.rounds.append(
            Round(
                taught=feature,
                name="" if feature is None else task.names[feature],
                scores=None if choice is None else choice.scores,
                shown=choice is not None and choice.demonstration is not None,
                cost=self.cost,
                risk=teaching_risk(view, task.weights),
                relative_risk=relative_risk(
                    task.mdp, view, task.weights, indistinct=task.indistinct
                ),
                mismatch=learned.mismatch,
                performance=task.relative(earned),
                guaranteed=guaranteed,
                gap=math.nan if choice is None else choice.gap,
                solves=learned.solves,
                choosing_seconds=choosing,
                learning_seconds=learning,
                certifying_seconds=certifying,
            )
        )

    def _guaranteed(self) -> float:
        return self.task.guaranteed(self.view, self.demonstration, self.matching)


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


def _checked_choice(choice: Choice, n: int) -> Choice:
    """What the teacher returned, if that is a choice, with scores of its own."""
    require(
        isinstance(choice, Choice),
        f"the teacher must return a Choice, got {type(choice).__name__}",
    )
    scores = np.array(as_floats("the teacher's scores", choice.scores))
    require(
        scores.shape == (n,),
        f"the teacher's scores must have shape ({n},), one a feature, got {scores.shape}",
    )
    require(
        not np.isinf(scores).any(),
        f"the teacher's scores must be finite, or NaN where not considered, got {scores}",
    )
    gap = choice.gap
    require(
        is_number(gap) and not (gap < 0.0 or gap == math.inf),
        f"the teacher's gap must be a number from 0 on, or NaN, got {gap!r}",
    )
    return replace(choice, scores=frozen(scores), gap=float(gap))


def _check_required(task: Task, most: int, max_cost: float) -> None:
    required = list(task.required)
    require(
        len(required) <= most,
        f"budget must allow for {len(required)} required features, got {most}",
    )
    cost = float(task.costs[required].sum())
    require(
        cost <= money_left(max_cost, 0.0),
        f"max_cost must allow for the required features, which cost {cost:g}, got {max_cost:g}",
    )
