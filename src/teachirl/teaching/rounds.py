"""The rounds of a lesson, one by one: what the teacher chose, and where that led.

Round 0 is the untaught learner, trained on what is seen of the demonstration. In each round that
follows the teacher chooses a feature f, the learner's worldview becomes A ⊕ ⟨f, ·⟩, and the learner
trains from the last policy on the new view of the demonstration. Whoever drives the rounds decides
when there have been enough (`teach`); without a learner they are a plan, and what it guarantees.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from ..arrays import Ints, as_floats, frozen
from ..demonstrations.demonstration import Demonstration, as_demonstration
from ..errors import require
from ..guarantees.bounds import WorstCaseBounds, WorstCaseStatus, unsearched
from ..guarantees.worst_case import LEAST
from ..learners import Informed, Learned, Learner
from ..learners.asking import learned_by
from ..mdp import clock
from ..mdp.occupancy import feature_expectations
from ..mdp.policy import Policy, check_policy
from ..precision import ROUNDED
from ..selection.greedy import is_number, is_whole, money_left
from ..views.teaching_risk import relative_risk, teaching_risk
from ..views.worldview import Worldview
from .goal import Promise
from .goals import Goals, TaskGoals
from .lesson import Lesson
from .lesson_record import LessonStatus, Round
from .matching import Matching
from .task import Task
from .teacher import Choice, Situation, Teacher
from .towards import choose_towards
from .unknown import Unknown

Proved: TypeAlias = Callable[[tuple[int, ...]], float]


@dataclass(frozen=True, eq=False)
class Moment:
    """Where a lesson stands after a round.

    Attributes
    ----------
    round : Round, its numbers
    taught : tuple of int, indices of all features that were taught so far
    view : Worldview, what the learner sees by now
    demonstration : Demonstration that the learner is shown by now
    policy : Policy of the learner by now
    worst_case : WorstCaseBounds, what the guarantee is computed from; None in rounds without one
    promise : Promise, what is guaranteed, of the goals as well; None in rounds without it
    situation, choice : where the teacher chose, and what; None before anything was taught
    """

    round: Round
    taught: tuple[int, ...]
    view: Worldview
    demonstration: Demonstration
    policy: Policy
    worst_case: WorstCaseBounds | None = None
    situation: Situation | None = None
    choice: Choice | None = None
    promise: Promise | None = None

    def guarantees(self, performance: float) -> bool:
        """Whether that relative performance is guaranteed, up to rounding."""
        return self.round.guaranteed >= performance - ROUNDED


class Rounds(Iterator[Moment]):
    """A lesson while it goes on: each `next` is a round, until nothing is left to be taught.

    Parameters
    ----------
    task, teacher : Task, Teacher
    learner : who learns; None if only the plan matters: the policy then stays the start's, and
        performance and mismatch are NaN
    rng : for teachers who leave something to chance
    budget : how many features may be taught in all, those of `after` included
    max_cost : what they may cost in all
    matching : Matching, whom guarantees are about
    certified : whether to compute what is guaranteed, one exact worst case a round
    goals : TaskGoals, what the teacher is to reach; without them, as much reward as can be
    start : the policy that the learner starts with; the uniform one by default
    unknown : Unknown, if the task's worldview is only what is proved of the learner's
    after : a lesson of this task to go on from; what its last round guarantees is computed anew
    until : by `clock.seconds`: what the learner has not learned by then, and a relative risk that
        is not known by then, are NaN; guarantees are what is proved in half of the time left
    proved : called with what was taught, the reward that is proved of who was by other means

    Attributes
    ----------
    status : LessonStatus, why no more rounds came; None until they have ended by themselves

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> from teachirl.teaching.rounds import Rounds
    >>> mdp = ti.worlds.chain(5)
    >>> view = ti.Worldview.select(mdp, ["cell 3"])
    >>> task = ti.Task(mdp, [-2, -1, 0, 1, 2], view, np.eye(5))
    >>> rounds = Rounds(task, ti.teachers.TRGreedy(), rng=np.random.default_rng(0), budget=2)
    >>> [(each.round.name, round(each.round.guaranteed, 3)) for each in rounds]
    [('', 0.0), ('cell 1', 1.0), ('cell 5', 1.0)]
    >>> print(rounds.status)
    as many features as allowed were taught; raise budget to go on
    """

    def __init__(
        self,
        task: Task,
        teacher: Teacher,
        learner: Learner | Informed | None = None,
        *,
        rng: np.random.Generator,
        budget: int,
        max_cost: float = math.inf,
        matching: Matching | None = None,
        certified: bool = True,
        goals: TaskGoals | None = None,
        start: Policy | None = None,
        unknown: Unknown | None = None,
        after: Lesson | None = None,
        until: float = math.inf,
        proved: Proved | None = None,
    ) -> None:
        _check_required(task, budget, max_cost)
        if isinstance(learner, Informed):
            learner = learner.informed(task.mdp, task.weights)
        self.task, self.teacher, self.learner, self.rng = task, teacher, learner, rng
        self.budget, self.max_cost = budget, max_cost
        self.matching, self.certified = matching or Matching(), certified
        self.goals = Goals().of(task) if goals is None else goals
        self.unknown = unknown
        self.found: set[int] = set()  # what the learner turned out to have
        self.past: list[Round] = []
        self.now: Moment | None = None
        self.begun = 0
        self.status: LessonStatus | None = None
        self.notes: dict[str, Any] = {}
        self.policy = Policy.uniform(task.mdp) if start is None else start
        check_policy(task.mdp, self.policy)
        self.after, self.until, self.proved = after, until, proved
        if after is not None:
            kind = type(after).__name__
            require(isinstance(after, Lesson), f"after must be a Lesson, got {kind}")
            said = "start is for a new lesson; the one to go on from has its policy"
            require(start is None, said)
            require(after.task is task, "after must be a lesson of this very task")

    def __next__(self) -> Moment:
        if self.status is not None:
            raise StopIteration
        if self.now is None:
            moment = self._first() if self.after is None else self._resumed(self.after)
        else:
            found = self._ended(self.now)
            following = None if found is not None else self._following(self.now)
            if following is None:
                self.status = found or LessonStatus.NOTHING_HELPS
                raise StopIteration
            moment = following
        self.now = moment
        return moment

    def lesson(self, status: LessonStatus | None = None) -> Lesson:
        """What has been taught and learned so far, as a lesson that ended so, or by itself."""
        status = status or self.status
        assert self.now is not None and status is not None
        rounds = (*self.past, self.now.round)
        return Lesson(self.task, rounds, self.now.policy, self.now.demonstration, status)

    def _first(self) -> Moment:
        return self._trained((), self.task.worldview, self.task.demonstration, self.policy)

    def _resumed(self, lesson: Lesson) -> Moment:
        *self.past, last = lesson.rounds
        self.begun = len(lesson.taught)
        view, shown = lesson.worldview, lesson.demonstration
        found = self._worst_case(view, shown)
        if found is not None:
            # The lesson's may be that of another mismatch, or never have been computed.
            last = replace(last, guaranteed=self.task.guaranteed_by(found))
        taught, policy = tuple(lesson.taught), lesson.policy
        promise = self._promise(taught, view, shown, found)
        return Moment(last, taught, view, shown, policy, found, promise=promise)

    def _worst_case(self, view: Worldview, shown: Demonstration) -> WorstCaseBounds | None:
        if not self.certified:
            return None
        task = self.task
        if self.proved is not None and clock.seconds() >= self.until:  # what is proved has to do
            return unsearched(task.model, view, task.weights)
        return task.worst_case(view, shown, self.matching, max_seconds=self._half)

    def _promise(
        self,
        taught: tuple[int, ...],
        view: Worldview,
        shown: Demonstration,
        found: WorstCaseBounds | None,
    ) -> Promise | None:
        if found is None:
            return None
        least, late = -math.inf, found.status is WorstCaseStatus.OUT_OF_BUDGET
        if late and self.proved is not None:
            least = self.proved(taught)
        now, before = self.now, None
        if now is not None and now.demonstration is shown and self.matching.grows(shown):
            before = now.promise
        limits = {"least": least, "max_seconds": self._half}
        return self.goals.promise(view, shown, self.matching, known=found, before=before, **limits)

    @property
    def _half(self) -> float:
        """Half of the seconds left."""
        return max(0.5 * (self.until - clock.seconds()), LEAST)

    def _cost(self, taught: tuple[int, ...]) -> float:
        return float(self.task.costs[[i for i in taught if i not in self.found]].sum())

    def _candidates(self, taught: tuple[int, ...], max_cost: float) -> Ints:
        """Who may be taught next; while some are required, those alone."""
        task = self.task
        free = np.ones(len(task.teachable), dtype=bool)
        free[[*taught, *task.forbidden]] = False
        required = [feature for feature in task.required if feature not in taught]
        if required:
            free[:] = False
            free[required] = True
        return np.flatnonzero(free & (task.costs <= money_left(max_cost, self._cost(taught))))

    def _ended(self, now: Moment) -> LessonStatus | None:
        """Why nothing more can be taught, if it can't."""
        if not set(self.task.required) <= set(now.taught):
            return None
        if len(self._candidates(now.taught, math.inf)) == 0:
            return LessonStatus.NOTHING_LEFT
        if len(now.taught) >= self.budget:
            return LessonStatus.OUT_OF_BUDGET
        affordable = self._candidates(now.taught, self.max_cost)
        return LessonStatus.OUT_OF_MONEY if len(affordable) == 0 else None

    def _following(self, now: Moment) -> Moment | None:
        """One more round; None if the teacher does not want one."""
        task, began = self.task, clock.seconds()
        situation = Situation(
            task=task,
            view=now.view,
            demonstration=now.demonstration,
            policy=now.policy,
            taught=now.taught,
            candidates=self._candidates(now.taught, self.max_cost),
            features_left=self.budget - len(now.taught),
            cost_left=self.max_cost - self._cost(now.taught),
            matching=self.matching,
            begun=self.begun,
            notes=self.notes,
            worst_case=now.worst_case,
        )
        if now.promise is None:
            choice = self._chosen(situation)
        else:
            choice = choose_towards(self.goals, now.promise, situation, self._chosen)
        spent = clock.seconds() - began
        if choice.feature is None:
            missing = [task.names[i] for i in task.required if i not in now.taught]
            require(not missing, f"the teacher stopped, but {missing} must be taught")
            return None
        require(
            is_whole(choice.feature) and choice.feature in situation.candidates,
            f"the teacher chose feature {choice.feature!r}, which is not among the candidates",
        )
        feature, shown = int(choice.feature), now.demonstration
        if self.unknown is not None:
            self._ask_for(feature)
        if choice.demonstration is not None:
            shown = as_demonstration(task.mdp, choice.demonstration)
        view = now.view.extend(task.teachable[feature], task.names[feature])
        taught = (*now.taught, feature)
        moment = self._trained(taught, view, shown, now.policy, situation, choice, spent)
        self.past.append(now.round)
        return moment

    def _ask_for(self, feature: int) -> None:
        """Before a feature is paid for, a probe tells whether the learner has it already."""
        assert self.unknown is not None
        if self.learner is not None and self.unknown.tested(feature, self.learner, self.rng):
            self.found.add(feature)
        else:
            self.unknown.give(feature)

    def _chosen(self, situation: Situation) -> Choice:
        return _checked_choice(self.teacher.choose(situation, self.rng), len(self.task.teachable))

    def _trained(
        self,
        taught: tuple[int, ...],
        view: Worldview,
        shown: Demonstration,
        policy: Policy,
        situation: Situation | None = None,
        choice: Choice | None = None,
        choosing: float = 0.0,
    ) -> Moment:
        """Where things stand once the learner has learned from what is seen and shown now."""
        task, began = self.task, clock.seconds()
        found = self._worst_case(view, shown)
        promise = self._promise(taught, view, shown, found)
        guaranteed = math.nan if promise is None else promise.performance
        at_most = math.nan
        if self.unknown is not None and self.certified:
            at_most = self.unknown.guaranteed_at_most(shown, self.matching)
        certifying, learning = clock.seconds() - began, 0.0
        mismatch, performance, solves = math.nan, math.nan, 0
        known = clock.in_time(self.until, lambda: self._learned(view, shown, policy))
        if known is not None:
            learned, learning, performance = known
            policy, mismatch, solves = learned.policy, learned.mismatch, learned.solves
        hidden = clock.in_time(
            self.until,
            lambda: relative_risk(task.mdp, view, task.weights, indistinct=task.indistinct),
        )
        record = Round(
            taught=None if choice is None else taught[-1],
            name="" if choice is None else task.names[taught[-1]],
            scores=None if choice is None else choice.scores,
            shown=choice is not None and choice.demonstration is not None,
            cost=self._cost(taught),
            risk=teaching_risk(view, task.weights),
            relative_risk=math.nan if hidden is None else hidden,
            mismatch=mismatch,
            performance=performance,
            guaranteed=guaranteed,
            gap=math.nan if choice is None else choice.gap,
            solves=solves,
            choosing_seconds=choosing,
            learning_seconds=learning,
            certifying_seconds=certifying,
            guaranteed_at_most=at_most,
            found=bool(taught) and taught[-1] in self.found,
        )
        return Moment(record, taught, view, shown, policy, found, situation, choice, promise)

    def _learned(
        self, view: Worldview, shown: Demonstration, policy: Policy
    ) -> tuple[Learned, float, float] | None:
        """What the learner makes of it, the seconds that takes, and its relative performance; None
        if nobody learns."""
        if self.learner is None:
            return None
        task, own = self.task, view if self.unknown is None else self.unknown.own
        target, began = own.matrix @ shown.expectations, clock.seconds()
        seen, episodes = own.observe(task.mdp), shown.trajectories
        learned = learned_by(self.learner, seen, target, policy, episodes)
        learning = clock.seconds() - began
        earned = float(task.weights @ feature_expectations(task.mdp, learned.policy))
        return learned, learning, task.relative(earned)


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
    required, n = list(task.required), len(task.required)
    require(n <= most, f"budget must allow for {n} required features, got {most}")
    cost = float(task.costs[required].sum())
    require(
        cost <= money_left(max_cost, 0.0),
        f"max_cost must allow for the required features, which cost {cost:g}, got {max_cost:g}",
    )


__all__ = ["ROUNDED", "Moment", "Rounds"]
