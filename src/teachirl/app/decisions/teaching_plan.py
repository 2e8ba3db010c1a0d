"""A plan: what to teach, in which order, where to stop and what to demonstrate."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import cached_property

from ...demonstrations.demonstration import Demonstration
from ...guarantees.sensitivity import Sensitivity
from ...mdp.policy import Policy
from ...precision import ROUNDED
from ...selection.distance_from_optimal import GreedyGap
from ...teaching.goal import GoalKind
from ...teaching.lesson import Lesson
from ...teaching.worth import FeatureWorth
from ...views.worldview import Worldview
from ..problem import Problem
from .comparison import Difference, Shortfall
from .demonstration import WhatToShow
from .doubt import WeightDoubt, weight_doubt
from .enough_for_all import EnoughForAll, enough_for_all
from .expert import ExpertAccount, account_in_time
from .misses import if_missed
from .once_recorded import OnceRecorded, once_recorded
from .patience import Cut, Patience
from .plausible import OverRewards, over_rewards
from .readings import Reading, Readings, both_readings, readings
from .set_search import Known
from .set_to_teach import SetToTeach
from .stakes import Stakes
from .steps import Step
from .whatever_reward import worth_buying
from .worth import CLEARLY, at_stake


class Ending(enum.Enum):
    """Why to stop after the last step that is to be taken."""

    REACHED = enum.auto()
    NOT_REACHED = enum.auto()
    LITTLE_TO_GAIN = enum.auto()
    LESSON_ENDED = enum.auto()

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class TeachingPlan:
    """What to teach, in which order, and how far to follow it.

    Attributes
    ----------
    teacher, learner : who plans, and who is simulated
    chosen : SetToTeach, among what its features were sought
    cut : Cut, what ended the planning early; None if nothing did
    steps : the first is the learner as it is
    stop : the number of steps to take
    ending : Ending, why to stop there: what was asked for is guaranteed, or never is; the steps
        after it gain little; or the lesson ended by itself, `lesson.status` says why
    stakes : Stakes, what is guaranteed after `stop` steps, in reward and of what was asked for
    cap : the relative performance of what is shown, if no more can be guaranteed because of it
    gap : how far from the best set of features that costs no more the plan may be, in teaching
        risk; None if nothing is taught
    below : the step where the simulated learner falls furthest below what is guaranteed, and its
        Shortfall; None if it never does
    view : Worldview, what the learner sees after `stop` steps
    demonstration : Demonstration, what to demonstrate then
    witness : the worst policy that looks right to a learner who was taught that; None if none was
        found
    show : WhatToShow, about what is demonstrated
    differences : how what to demonstrate differs from the optimal policy's features, if it does
    lesson : Lesson, with all the rounds
    problem : Problem that it is about
    patience : Patience, how long it may take, and what is computed when it is asked for
    """

    teacher: str
    learner: str
    chosen: SetToTeach
    cut: Cut | None
    steps: tuple[Step, ...]
    stop: int
    ending: Ending
    stakes: Stakes
    cap: float | None
    gap: GreedyGap | None
    below: tuple[int, Shortfall] | None
    view: Worldview
    demonstration: Demonstration
    witness: Policy | None
    show: WhatToShow
    differences: tuple[Difference, ...]
    lesson: Lesson
    problem: Problem
    patience: Patience

    @property
    def seconds(self) -> float:
        """How long it was allowed to take."""
        return self.patience.seconds

    @property
    def policy(self) -> Policy | None:
        """What to demonstrate after `stop` steps; None if it was recorded."""
        return self.demonstration.policy

    @property
    def mismatch(self) -> float:
        """ε, up to which learners are taken to match after `stop` steps, in their features."""
        return self.problem.matching.within(self.view, self.demonstration)

    @cached_property
    def account(self) -> ExpertAccount:
        """What the expert does whose behaviour is demonstrated."""
        return account_in_time(self.problem, self.patience)

    @cached_property
    def over_rewards(self) -> OverRewards | None:
        """What holds under all plausible rewards once it is followed; None if one is given, or
        there was no time for it."""
        return over_rewards(self.problem, self.view, self.demonstration, self.patience)

    @cached_property
    def worth_buying(self) -> tuple[FeatureWorth, ...]:
        """What is worth buying whatever the reward; nothing if one is given, there is nothing to
        teach, or there was no time for it."""
        problem, rewards, patience = self.problem, self.problem.rewards, self.patience
        if rewards is None or not len(problem.task.names):
            return ()
        return patience.spared(lambda: worth_buying(problem, rewards, patience)) or ()

    @cached_property
    def sensitivity(self) -> Sensitivity | None:
        """What is guaranteed once it is followed, of learners who miss a little; None if there was
        no time for it."""
        return if_missed(self.problem, self.view, self.demonstration, self.patience)

    @cached_property
    def doubt(self) -> WeightDoubt | None:
        """What it guarantees under other plausible weights; None if they were not inferred, or
        there was no time for it."""
        reached = self.steps[self.stop].guaranteed
        return weight_doubt(self.problem, self.view, self.demonstration, reached, self.patience)

    @cached_property
    def enough_for_all(self) -> EnoughForAll | None:
        """What to teach for all that was asked for under all plausible rewards; None if it is not
        known, or something else is shown in the end."""
        if self.show.since is not None:
            return None
        problem, shown, patience = self.problem, self.demonstration, self.patience
        return patience.spared(lambda: enough_for_all(problem, shown, patience))

    @cached_property
    def readings_before(self) -> tuple[Reading, Reading] | None:
        """What recorded episodes guarantee if nothing is taught; None if nothing was recorded."""
        if not self.taught and self.readings is not None:
            return self.readings.both
        return both_readings(self.problem, self.problem.worldview, self.patience)

    @cached_property
    def readings(self) -> Readings | None:
        """Two ways to take recorded episodes once it is followed; None if others are shown."""
        if self.demonstration is not self.problem.task.demonstration:
            return None
        return readings(self.problem, self.view, self.patience)

    @cached_property
    def once_recorded(self) -> OnceRecorded | None:
        """What to teach and to record for what is asked for, where the error of the recordings is
        in the way; None if it is not, or there was no time for it."""
        in_the_way = self.problem.matching.keeps(self.demonstration)
        if self.reached or not in_the_way:
            return None
        return once_recorded(self.problem, self.patience)

    @property
    def reached(self) -> bool:
        """Whether what was asked for is guaranteed after `stop` steps; True if nothing was."""
        return self.ending is not Ending.NOT_REACHED

    @property
    def wanted(self) -> float | None:
        """The relative performance to be guaranteed; None if none was asked for."""
        goals = (each.goal for each in self.stakes.goals)
        return next((goal.wanted for goal in goals if goal.kind is GoalKind.GUARANTEE), None)

    @property
    def part_way(self) -> tuple[Known, Step] | None:
        """A set that guarantees clearly more than a step before the last and costs no more, and
        the last such step: for who means to stop part-way; None if none is known."""
        other, problem = self.chosen.part_way, self.problem
        if other is None:
            return None
        clearly = CLEARLY * at_stake(problem)
        beaten = (
            step
            for step in self.steps[self.stop - 1 : 0 : -1]
            if step.cost >= other.cost * (1.0 - ROUNDED) and other.reward > step.reward + clearly
        )
        step = next(beaten, None)
        return None if step is None else (other, step)

    @property
    def taught(self) -> tuple[Step, ...]:
        """The steps to take, without the first, in which nothing is taught."""
        return self.steps[1 : self.stop + 1]


__all__ = ["Ending", "TeachingPlan"]
