"""What a guarantee means: in reward, in the feature that costs most, and for what was asked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...arrays import Floats
from ...demonstrations.demonstration import Demonstration
from ...guarantees.bounds import WorstCaseBounds, WorstCaseStatus
from ...mdp import clock
from ...mdp.occupancy import expectations_of
from ...mdp.policy import Policy
from ...precision import SEARCH_TIE
from ...teaching.goal import Goal, Promise
from ...teaching.goals import TaskGoals
from ...views.worldview import Worldview
from ..problem import Baseline, Problem
from .comparison import Difference, differences
from .instead import idle_of
from .patience import BRIEFLY, Cut, Patience


@dataclass(frozen=True)
class GoalResult:
    """What is guaranteed of a goal.

    Attributes
    ----------
    goal : Goal
    amount : what is guaranteed of it
    own : the same of what is shown itself, which no learner can be sure to exceed
    missing : how much is missing; 0 if it is met
    """

    goal: Goal
    amount: float
    own: float
    missing: float

    @property
    def met(self) -> bool:
        """Whether it is met."""
        return self.missing == 0.0

    @property
    def as_shown(self) -> bool:
        """Whether as much is guaranteed as what is shown has itself, as far as a search tells."""
        return self.goal.eased(self.own).missing_at(self.amount) == 0.0


@dataclass(frozen=True)
class Stakes:
    """What a guarantee means.

    Attributes
    ----------
    performance : the relative performance that is guaranteed
    reward : what every learner who matches earns at least
    expert : what the expert earns; an estimate if it was recorded
    loss : the expert earns at most this much more
    most_lost : Difference, the feature through which the worst policy that looks right loses most;
        None if none loses, or no such policy was found
    goals : GoalResult of each goal
    idle : Baseline, doing nothing, if there is an action for that; else acting at random
    idle_reward : what that earns; NaN if there was no time for it
    shown : what is shown earns, where that is something else than what the expert does; else None
    shown_of_it : how much of that feature is in what is shown; None if that is not told, or none
        loses
    early : whether the search for the worst policy that looks right ended early: there may be a
        worse one than that in `most_lost`
    """

    performance: float
    reward: float
    expert: float
    loss: float
    most_lost: Difference | None
    goals: tuple[GoalResult, ...]
    idle: Baseline
    idle_reward: float
    shown: float | None = None
    shown_of_it: float | None = None
    early: bool = False

    @property
    def worse_than_nothing(self) -> bool:
        """Whether less is guaranteed than doing nothing earns, and the expert earns more."""
        room = SEARCH_TIE * abs(self.expert - self.idle_reward)
        return self.reward + room < self.idle_reward < self.expert

    @property
    def met(self) -> bool:
        """Whether all goals are met; True if there are none."""
        return all(each.met for each in self.goals)


def stakes(
    problem: Problem,
    shown: Demonstration,
    promise: Promise,
    worst: Floats | None,
    early: bool = False,
    until: float = math.inf,
) -> Stakes:
    """What a promise means.

    Parameters
    ----------
    problem : Problem
    shown : Demonstration, what the learners are shown
    promise : Promise
    worst : array [k], the feature expectations of the worst policy that looks right; None if they
        are not known
    early : whether the search for it ended early, so that there may be a worse one
    until : when to do without what doing nothing earns, by `clock.seconds`

    Returns
    -------
    Stakes
    """
    goals, weights, expert = problem.goals, problem.weights, problem.expert
    most: Difference | None = None
    if worst is not None and problem.world.model is None:  # else its world is its own
        most = _first_lost(differences(problem.mdp, weights, expert.expectations, worst))
    own = goals.own(shown)
    amounts = shown.expectations
    other = bool(differences(problem.mdp, weights, expert.expectations, amounts))
    idle, waiting = idle_of(problem, until)
    there = dict(zip(map(problem.mdp.feature_name, range(len(amounts))), amounts, strict=True))
    return Stakes(
        promise.performance,
        promise.reward,
        float(weights @ expert.expectations),
        promise.loss,
        most,
        goal_results(goals, promise, own),
        idle,
        float(waiting.sum()),
        float(weights @ amounts) + 0.0 if other else None,
        float(there[most.name]) if other and most is not None else None,
        early,
    )


def goal_results(goals: TaskGoals, promise: Promise, own: Promise) -> tuple[GoalResult, ...]:
    """What a promise is to each goal, beside what is shown has itself.

    Parameters
    ----------
    goals : TaskGoals
    promise : Promise
    own : Promise, of what is shown
    """
    return tuple(
        GoalResult(
            goal, promise.amounts[goal.number], own.amounts[goal.number], goal.missing(promise)
        )
        for goal in goals
    )


def matching_witness(found: WorstCaseBounds) -> Policy | None:
    """The worst policy that looks right; None if there is none."""
    return None if found.status is WorstCaseStatus.INFEASIBLE else found.witness


def unfinished(found: WorstCaseBounds) -> bool:
    """Whether more may be guaranteed than was proved."""
    return found.status is WorstCaseStatus.OUT_OF_BUDGET


def shown_briefly(
    problem: Problem,
    view: Worldview,
    shown: Demonstration,
    found: WorstCaseBounds,
    patience: Patience,
) -> WorstCaseBounds:
    """A worst case that was cut short before a policy was known that looks right and loses: what a
    moment more finds, as a headline says through what most is lost; else, and after Ctrl-C, the
    same.

    Parameters
    ----------
    problem : Problem
    view : Worldview, what is seen
    shown : Demonstration
    found : WorstCaseBounds, of these
    patience : Patience
    """
    task, shown_reward = problem.task, problem.task.weights @ shown.expectations
    room = SEARCH_TIE * (task.best.value - task.worst.value)
    known = problem.world.model is None  # else the worst policy has a world of its own
    stop = patience.cut is Cut.INTERRUPTED or not (known and unfinished(found))
    if stop or found.upper < shown_reward - room:
        return found
    other = clock.in_time(
        clock.seconds() + BRIEFLY,
        lambda: task.worst_case(view, shown, problem.matching, max_seconds=0.5 * BRIEFLY),
    )
    better = other is not None and other.upper < found.upper
    return other if other is not None and better else found


def expectations_there(problem: Problem, found: WorstCaseBounds) -> Floats | None:
    """The feature expectations [k] of the worst policy that looks right, in the world where it
    does; None if none was found. How often it is where is known from the search: that takes no
    time.

    Parameters
    ----------
    problem : Problem
    found : WorstCaseBounds
    """
    world = problem.mdp if found.world is None else found.world
    if matching_witness(found) is None or found.occupancy is None:
        return None
    return expectations_of(world, found.occupancy)


def _first_lost(apart: Sequence[Difference]) -> Difference | None:
    return apart[0] if apart and apart[0].lost > 0.0 else None


__all__ = [
    "GoalResult",
    "Stakes",
    "expectations_there",
    "goal_results",
    "matching_witness",
    "shown_briefly",
    "stakes",
    "unfinished",
]
