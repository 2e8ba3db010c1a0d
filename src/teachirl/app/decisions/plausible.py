"""What is guaranteed if the reward is any of the plausible ones, and what is worth buying then."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...demonstrations.demonstration import Demonstration
from ...guarantees.certificate import certify
from ...guarantees.plausible.certificate import RewardsCertificate
from ...guarantees.plausible.judgement import Judgement
from ...mdp.rewards.rewards import Rewards
from ...teachers import GapGreedy
from ...teaching.worth import FeatureWorth, worth_buying
from ...views.worldview import Worldview
from ..problem import Problem
from .assessment import Assessment
from .teaching_plan import TeachingPlan

# Seconds for the guarantee, and for the plans for other rewards, of which so many are made.
ASIDE, TRIED = 60.0, 12


@dataclass(frozen=True, eq=False)
class OverRewards:
    """What holds for all plausible rewards.

    Attributes
    ----------
    certificate : RewardsCertificate, of what is shown and seen, as things stand or after a plan
    worth : tuple of FeatureWorth, what is worth buying; empty as things stand
    """

    certificate: RewardsCertificate
    worth: tuple[FeatureWorth, ...]


def certified_over_rewards(
    problem: Problem, rewards: Rewards, view: Worldview, shown: Demonstration, seconds: float
) -> RewardsCertificate:
    """What is guaranteed to learners with a view, whichever of the rewards it is.

    Parameters
    ----------
    problem : Problem, that says how closely they match and which tail counts
    rewards : Rewards, those that are plausible
    view : Worldview
    shown : Demonstration
    seconds : for the search, at most
    """
    return certify(
        problem.model,
        view,
        rewards,
        shown,
        problem.matching.within(view, shown),
        max_seconds=seconds,
        indistinct=problem.task.indistinct,
        judgement=Judgement(tail=problem.reward.tail),
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
            until=problem.until,
            budget=problem.budget,
            max_cost=math.inf if problem.max_cost is None else problem.max_cost,
            matching=problem.matching,
            max_seconds=min(found.patience.left(), ASIDE),
        )
    return OverRewards(certificate, worth)


__all__ = ["OverRewards", "certified_over_rewards", "over_rewards"]
