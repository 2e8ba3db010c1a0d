"""What is guaranteed if the reward is any of the plausible ones, and what is worth buying then."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...demonstrations.demonstration import Demonstration
from ...guarantees.certificate import certify
from ...guarantees.plausible.certificate import RewardsCertificate
from ...guarantees.plausible.judgement import Criterion, Judgement
from ...mdp.rewards.rewards import Rewards
from ...teachers import GapGreedy
from ...teaching.goal import Goal, GoalKind
from ...teaching.worth import FeatureWorth, worth_buying
from ...views.worldview import Worldview
from ..problem import Problem
from .assessment import Assessment
from .teaching_plan import TeachingPlan

# Seconds for the guarantee, and for the plans for other rewards, of which so many are made.
ASIDE, TRIED = 60.0, 12


@dataclass(frozen=True, eq=False)
class GoalOver:
    """Whether a goal about the reward is met under all plausible rewards.

    Attributes
    ----------
    goal : Goal
    certificate : RewardsCertificate of what it is about; None if that is not looked at
    """

    goal: Goal
    certificate: RewardsCertificate | None

    @property
    def amount(self) -> float | None:
        """What is proved of it; None if it is not looked at."""
        found = self.certificate
        return None if found is None else found.upper if self.goal.most else found.lower

    @property
    def met(self) -> bool | None:
        """Whether that is enough; None if it is not looked at."""
        amount, found = self.amount, self.certificate
        if amount is None or found is None:
            return None
        return found.matchable and self.goal.missing_at(amount) == 0.0

    @property
    def fails(self) -> bool:
        """Whether a policy that looks right is known to miss it, under one of the rewards."""
        found = self.certificate
        if found is None or not found.matchable:
            return False
        return self.goal.missing_at(found.lower if self.goal.most else found.upper) > 0.0


@dataclass(frozen=True, eq=False)
class OverRewards:
    """What holds for all plausible rewards.

    Attributes
    ----------
    certificate : RewardsCertificate, of what is shown and seen, as things stand or after a plan
    worth : tuple of FeatureWorth, what is worth buying; empty as things stand
    goals : tuple of GoalOver, the file's goals about the reward; limits do not depend on it
    """

    certificate: RewardsCertificate
    worth: tuple[FeatureWorth, ...]
    goals: tuple[GoalOver, ...] = ()


def certified_over_rewards(
    problem: Problem,
    rewards: Rewards,
    view: Worldview,
    shown: Demonstration,
    seconds: float,
    criterion: Criterion = Criterion.PERFORMANCE,
) -> RewardsCertificate:
    """What is guaranteed to learners with a view, whichever of the rewards it is.

    Parameters
    ----------
    problem : Problem, that says how closely they match and which tail counts
    rewards : Rewards, those that are plausible
    view : Worldview
    shown : Demonstration
    seconds : for the search, at most
    criterion : Criterion, what of them counts

    Returns
    -------
    RewardsCertificate
    """
    return certify(
        problem.model,
        view,
        rewards,
        shown,
        problem.matching.within(view, shown),
        max_seconds=seconds,
        indistinct=problem.task.indistinct,
        judgement=Judgement(criterion, tail=problem.reward.tail),
    )


def over_rewards(problem: Problem, found: Assessment | TeachingPlan) -> OverRewards | None:
    """What is guaranteed under all plausible rewards, as things stand or once a plan is followed.

    Parameters
    ----------
    problem : Problem
    found : Assessment or TeachingPlan

    Returns
    -------
    OverRewards; None if one reward is given, or there was no time for it
    """
    rewards = problem.rewards
    if rewards is None:
        return None
    return found.patience.spared(lambda: _over(problem, rewards, found))


def _over(problem: Problem, rewards: Rewards, found: Assessment | TeachingPlan) -> OverRewards:
    task, view, shown = problem.task, problem.worldview, problem.task.demonstration
    worth: tuple[FeatureWorth, ...] = ()
    if isinstance(found, TeachingPlan):
        view, shown = found.view, found.demonstration
    seconds = min(found.patience.left(), ASIDE)
    certificate = certified_over_rewards(problem, rewards, view, shown, seconds)
    if isinstance(found, TeachingPlan) and len(task.names):
        worth = worth_buying(
            task,
            GapGreedy(),
            rng=np.random.default_rng(problem.seed),
            rewards=rewards,
            tried=TRIED,
            until=problem.asked or None,
            budget=problem.budget,
            max_cost=math.inf if problem.max_cost is None else problem.max_cost,
            matching=problem.matching,
            max_seconds=min(found.patience.left(), ASIDE),
        )
    goals = tuple(
        GoalOver(goal, _certified(problem, rewards, view, shown, goal, certificate, found))
        for goal in problem.goals
        if goal.kind is not GoalKind.LIMIT
    )
    return OverRewards(certificate, worth, goals)


def _certified(
    problem: Problem,
    rewards: Rewards,
    view: Worldview,
    shown: Demonstration,
    goal: Goal,
    certificate: RewardsCertificate,
    found: Assessment | TeachingPlan,
) -> RewardsCertificate | None:
    """What is proved of a goal; None where it counts from what changes with the reward: another
    policy than the worst or than is shown, an expert or a world known roughly, or a share."""
    if goal.kind is GoalKind.GUARANTEE:
        return certificate if problem.baseline.kind == "worst" else None
    if goal.kind is GoalKind.MAX_LOSS and (
        goal.computed
        or shown.error > 0.0
        or shown is not problem.expert
        or problem.world.model is not None
    ):
        return None
    what = Criterion.GAP if goal.kind is GoalKind.MAX_LOSS else Criterion.REWARD
    seconds = min(found.patience.left(), ASIDE)
    return certified_over_rewards(problem, rewards, view, shown, seconds, what)


__all__ = ["GoalOver", "OverRewards", "certified_over_rewards", "over_rewards"]
