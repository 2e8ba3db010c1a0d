"""What must be guaranteed: of the reward, and of single features.

A share of the way from the worst policy to the best says little where the worst is very bad: a loss
of half the reward can be 3 % of it. So a goal can also be an amount: of reward, of reward lost
against the expert, or of a feature. What is guaranteed of a feature is the most, or the least, that
a policy has of it which looks right to the learner: the worst case of a reward that is the feature
itself, or its opposite.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..arrays import Floats
from ..demonstrations.demonstration import Demonstration
from ..errors import require
from ..guarantees.bounds import WorstCaseBounds, WorstCaseStatus
from ..mdp.plan import Plan
from ..mdp.planning import optimal_policy, worst_policy
from ..precision import SEARCH_TIE, up
from ..selection.greedy import is_number
from ..views.worldview import Worldview
from .goal import Goal, GoalKind, Limit, Promise
from .losses import behind_at_most, earned_at_most, same_unknown_world
from .matching import Matching
from .task import Task

# How close bounds on a feature's amount are asked to be, as a share of its range: so that a limit
# of 0 is met by who can be seen to have none.
CLOSE = 1e-9


@dataclass(frozen=True)
class Goals:
    """What must be guaranteed of every learner who matches; by default nothing.

    Parameters
    ----------
    guarantee : float, a relative performance from 0 to 1
    max_loss : float, the expert may earn at most this much more
    max_loss_share : float, the same as a share of the expert's reward, or of its size if that is
        negative
    at_least : float, a reward
    limits : tuple of Limit, of single features

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> goals = ti.Goals(max_loss=1.0, limits=(ti.Limit("cell 1", at_most=0.5),))
    >>> mdp = ti.worlds.chain(5)
    >>> view = ti.Worldview.select(mdp, ["cell 3"])
    >>> task = ti.Task(mdp, [0, 0, 0, 0, 1], view, np.eye(5))
    >>> asked = goals.of(task)
    >>> promise = asked.promise(view, task.demonstration)
    >>> [(goal.kind.value, goal.name, round(goal.missing(promise), 2)) for goal in asked.goals]
    [('max_loss', '', 3.11), ('limit', 'cell 1', 3.81)]
    """

    guarantee: float | None = None
    max_loss: float | None = None
    max_loss_share: float | None = None
    at_least: float | None = None
    limits: tuple[Limit, ...] = ()

    def __post_init__(self) -> None:
        given = self.guarantee
        require(
            given is None or (is_number(given) and 0.0 <= given <= 1.0),
            f"guarantee must be a relative performance from 0 to 1, got {given!r}",
        )
        for name in ("max_loss", "max_loss_share", "at_least"):
            value = getattr(self, name)
            least = -math.inf if name == "at_least" else 0.0
            require(
                value is None or (is_number(value) and math.isfinite(value) and value >= least),
                f"{name} must be a finite number{' from 0 on' if least == 0.0 else ''}, "
                f"got {value!r}",
            )

    def __bool__(self) -> bool:
        return self != Goals()

    def of(self, task: Task, expert: Demonstration | None = None) -> TaskGoals:
        """These goals in a task.

        Parameters
        ----------
        task : Task
        expert : Demonstration, against whom a loss counts; by default what the task shows

        Returns
        -------
        TaskGoals
        """
        return TaskGoals(self, task, task.demonstration if expert is None else expert)


class TaskGoals:
    """Goals in a task: what is promised of them, which are met, and how far the others are.

    Parameters
    ----------
    asked : Goals
    task : Task
    expert : Demonstration, against whom a loss counts

    Attributes
    ----------
    goals : tuple of Goal
    expert_reward : float, the expert earns at most this
    """

    def __init__(self, asked: Goals, task: Task, expert: Demonstration) -> None:
        self.asked, self.task, self.expert = asked, task, expert
        self._extremes: dict[int, tuple[Plan, Plan]] = {}
        self._tasks: dict[Goal, Task] = {}
        self.goals = tuple(replace(goal, number=i) for i, goal in enumerate(self._made()))

    def __bool__(self) -> bool:
        return bool(self.goals)

    def __iter__(self) -> Iterator[Goal]:
        return iter(self.goals)

    @cached_property
    def expert_reward(self) -> float:
        """What the expert earns at most."""
        return earned_at_most(self.task, self.expert)

    def promise(
        self,
        view: Worldview,
        shown: Demonstration,
        matching: Matching | None = None,
        *,
        known: WorstCaseBounds | None = None,
        least: float = -math.inf,
        before: Promise | None = None,
        max_seconds: float = math.inf,
    ) -> Promise:
        """What is guaranteed of every learner who matches.

        Parameters
        ----------
        view : Worldview, what they see
        shown : Demonstration that they are shown
        matching : Matching, how closely they match; by default exactly
        known : WorstCaseBounds of the reward, if they are known already
        least : float, a reward that is proved by other means, of those who match
        before : Promise, what else is guaranteed of them, if any does
        max_seconds : float, how long to search for each bound; 0 not to search

        Returns
        -------
        Promise
        """
        task, matching = self.task, matching or Matching()
        if known is None:
            known = task.worst_case(view, shown, matching, max_seconds=max_seconds)
        reward, performance = task.worst.lower, task.guaranteed_by(known)
        if known.status is not WorstCaseStatus.INFEASIBLE:
            reward = max(reward, known.lower, least)
            performance = task.relative_at_least(reward)
        loss, amounts = max(up(self.expert_reward - reward), 0.0), []
        if self._together(shown) and known.status is not WorstCaseStatus.INFEASIBLE:
            loss = min(loss, behind_at_most(task, view, shown, matching, known))
        for goal in self.goals:
            if goal.kind is GoalKind.GUARANTEE:
                amounts.append(performance)
            elif goal.kind is GoalKind.MAX_LOSS:
                amounts.append(loss)
            elif goal.kind is GoalKind.AT_LEAST:
                amounts.append(reward)
            else:
                amounts.append(self._amount(goal, view, shown, matching, max_seconds))
        promise = Promise(float(reward), performance, float(loss), tuple(map(float, amounts)))
        if before is None or known.status is WorstCaseStatus.INFEASIBLE:
            return promise
        return self._better(promise, before)

    def _better(self, one: Promise, other: Promise) -> Promise:
        """What is guaranteed if both are."""
        pairs = zip(self.goals, one.amounts, other.amounts, strict=True)
        return Promise(
            max(one.reward, other.reward),
            max(one.performance, other.performance),
            min(one.loss, other.loss),
            tuple(min(a, b) if goal.most else max(a, b) for goal, a, b in pairs),
        )

    def own(self, shown: Demonstration) -> Promise:
        """What a demonstration itself has of all that the goals are about.

        Parameters
        ----------
        shown : Demonstration

        Returns
        -------
        Promise, of those who do just that
        """
        task = self.task
        reward = float(task.weights @ shown.expectations)
        loss = 0.0 if self._together(shown) else max(self.expert_reward - reward, 0.0)
        amounts = {
            GoalKind.GUARANTEE: task.relative(reward),
            GoalKind.MAX_LOSS: loss,
            GoalKind.AT_LEAST: reward,
        }
        return Promise(
            reward,
            amounts[GoalKind.GUARANTEE],
            loss,
            tuple(
                float(
                    amounts[goal.kind] if goal.feature is None else shown.expectations[goal.feature]
                )
                for goal in self.goals
            ),
        )

    def _together(self, shown: Demonstration) -> bool:
        """Whether the expert and who is shown that are in the same world, which is not known."""
        return same_unknown_world(self.task, self.expert, shown)

    def unmet(self, promise: Promise) -> tuple[Goal, ...]:
        """The goals that a promise does not meet.

        Parameters
        ----------
        promise : Promise

        Returns
        -------
        tuple of Goal
        """
        return tuple(goal for goal in self.goals if goal.missing(promise) > 0.0)

    def shortfall(self, promise: Promise) -> float:
        """How far the goal that is furthest is from being met, as a share of its scale.

        Parameters
        ----------
        promise : Promise

        Returns
        -------
        float from 0 on
        """
        far = (goal.missing(promise) / goal.scale for goal in self.unmet(promise))
        return max(far, default=0.0)

    def possible(self, goal: Goal) -> float:
        """The most of what a goal is about that any policy has; the least, if it is to be little.

        Parameters
        ----------
        goal : Goal

        Returns
        -------
        float, on the side of who hopes
        """
        if goal.feature is not None:
            most, least = self._range(goal.feature)
            return least.lower if goal.most else most.upper
        hopes = {GoalKind.GUARANTEE: 1.0, GoalKind.MAX_LOSS: 0.0}
        return hopes.get(goal.kind, self.task.best.upper)

    def eased(self, own: Promise) -> TaskGoals:
        """These goals as far as they can be had of who does no better than that.

        Parameters
        ----------
        own : Promise, what those have themselves

        Returns
        -------
        TaskGoals, in which a goal that they miss asks for what they have, up to what a search does
        not tell from it
        """
        found = copy(self)
        found.goals = tuple(
            goal.eased(own.amounts[goal.number]) if goal.missing(own) else goal
            for goal in self.goals
        )
        return found

    def task_of(self, goal: Goal) -> Task:
        """The task whose reward is to keep a limit.

        Parameters
        ----------
        goal : Goal about a feature

        Returns
        -------
        Task
        """
        if goal not in self._tasks:
            assert goal.feature is not None
            weights = _alone(self.task, goal.feature)
            self._tasks[goal] = self.task.with_weights(-weights if goal.most else weights)
        return self._tasks[goal]

    def reward_asked(self, goal: Goal) -> float:
        """The reward that a goal asks for.

        Parameters
        ----------
        goal : Goal about the reward

        Returns
        -------
        float
        """
        if goal.kind is GoalKind.GUARANTEE:
            return self.task.zero + goal.wanted * (self.task.best.value - self.task.zero)
        if goal.kind is GoalKind.MAX_LOSS:
            return self.expert_reward - goal.wanted
        return goal.wanted

    def _made(self) -> Iterator[Goal]:
        asked, task = self.asked, self.task
        width = max(task.best.value - task.worst.value, 0.0) or 1.0
        if asked.guarantee is not None:  # rounding is of the reward, whatever counts as 0
            shares = 1.0 if task.baseline is None else width / (task.best.value - task.zero)
            yield Goal(GoalKind.GUARANTEE, asked.guarantee, False, scale=shares, at_stake=1.0)
        stake = width * task.tolerance / SEARCH_TIE  # as closely as it is searched
        if asked.max_loss is not None:
            yield Goal(GoalKind.MAX_LOSS, asked.max_loss, True, "", None, width, at_stake=stake)
        if asked.max_loss_share is not None:
            lost = asked.max_loss_share * abs(float(task.weights @ self.expert.expectations))
            yield Goal(GoalKind.MAX_LOSS, lost, True, "", None, width, 0, True, stake)
        if asked.at_least is not None:
            yield Goal(GoalKind.AT_LEAST, asked.at_least, False, "", None, width, at_stake=stake)
        for limit in asked.limits:
            feature = _index(task, limit.feature)
            name = task.mdp.feature_name(feature)
            most, least = self._range(feature)
            scale = most.upper - least.lower or 1.0
            if limit.at_most is not None:
                yield Goal(GoalKind.LIMIT, limit.at_most, True, name, feature, scale)
            if limit.at_least is not None:
                yield Goal(GoalKind.LIMIT, limit.at_least, False, name, feature, scale)

    def _range(self, feature: int) -> tuple[Plan, Plan]:
        """The policies with the most, and with the least, of a feature."""
        if feature not in self._extremes:
            weights, mdp = _alone(self.task, feature), self.task.model
            self._extremes[feature] = optimal_policy(mdp, weights), worst_policy(mdp, weights)
        return self._extremes[feature]

    def _amount(
        self,
        goal: Goal,
        view: Worldview,
        shown: Demonstration,
        matching: Matching,
        max_seconds: float,
    ) -> float:
        """The most, or the least, of a feature that a policy has which looks right."""
        assert goal.feature is not None
        most, least = self._range(goal.feature)
        anyway = most.upper if goal.most else least.lower
        if max_seconds == 0.0:
            return anyway
        found = self.task_of(goal).worst_case(
            view, shown, matching, tolerance=CLOSE, max_seconds=max_seconds
        )
        if found.status is WorstCaseStatus.INFEASIBLE:
            return anyway
        return min(-found.lower, anyway) if goal.most else max(found.lower, anyway)


def _alone(task: Task, feature: int) -> Floats:
    weights: Floats = np.zeros(task.mdp.n_features)
    weights[feature] = 1.0
    return weights


def _index(task: Task, feature: int | str) -> int:
    names = [task.mdp.feature_name(i) for i in range(task.mdp.n_features)]
    if isinstance(feature, str):
        require(feature in names, f"limits: there is no feature {feature!r}")
        return names.index(feature)
    require(0 <= feature < len(names), f"limits must lie in 0 … {len(names) - 1}, got {feature}")
    return int(feature)


__all__ = ["Goal", "GoalKind", "Goals", "Limit", "Promise", "TaskGoals"]
