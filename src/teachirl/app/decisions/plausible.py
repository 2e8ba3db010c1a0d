"""What is guaranteed if the reward is any of the plausible ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Floats
from ...demonstrations.demonstration import Demonstration
from ...guarantees.certificate import certify
from ...guarantees.plausible.certificate import RewardsCertificate
from ...guarantees.plausible.judgement import Criterion, Judgement
from ...mdp.rewards.rewards import Rewards, RewardsKind
from ...precision import ROUNDED
from ...teaching.goal import Goal, GoalKind
from ...views.worldview import Worldview
from ...what_to_show.search import best_demonstration
from ...what_to_show.several import ShownForRewards
from ..problem import Problem, Show
from .patience import Patience

# Seconds for the guarantee, and for each goal.
ASIDE = 60.0
# What guarantees more by less than this is not worth a sentence.
TOLD = 1e-3


@dataclass(frozen=True, eq=False)
class GoalOver:
    """Whether a goal about the reward is met under all plausible rewards.

    Attributes
    ----------
    goal : Goal
    certificate : RewardsCertificate of what it is about; None if that is not looked at
    allowed : array [n], of a loss that is asked for as a share of what the expert earns: how much
        that is under each reward that is listed, sampled or a vertex, or of a box or an ellipsoid
        [1] the least that it is under any; else None
    """

    goal: Goal
    certificate: RewardsCertificate | None
    allowed: Floats | None = None

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
        if self.allowed is not None:
            lost = found.each[:, 1] if len(found.each) else np.array([found.upper])
            return found.matchable and bool(np.all(lost <= self.allowed))
        return found.matchable and self.goal.missing_at(amount) == 0.0

    @property
    def fails(self) -> bool:
        """Whether a policy that looks right is known to miss it, under one of the rewards."""
        found = self.certificate
        if found is None or not found.matchable:
            return False
        if self.allowed is not None:
            return len(found.each) > 0 and bool(np.any(found.each[:, 0] > self.allowed))
        return self.goal.missing_at(found.lower if self.goal.most else found.upper) > 0.0


@dataclass(frozen=True, eq=False)
class OverRewards:
    """What holds for all plausible rewards.

    Attributes
    ----------
    certificate : RewardsCertificate, of what is shown and seen, as things stand or after a plan
    goals : tuple of GoalOver, the file's goals about the reward; limits do not depend on it
    instead : ShownForRewards, what to show for all of them, if what to show is to be chosen and
        that guarantees more; else None
    """

    certificate: RewardsCertificate
    goals: tuple[GoalOver, ...] = ()
    instead: ShownForRewards | None = None


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


def over_rewards(
    problem: Problem, view: Worldview, shown: Demonstration, patience: Patience
) -> OverRewards | None:
    """What is guaranteed under all plausible rewards.

    Parameters
    ----------
    problem : Problem
    view : Worldview, what learners see, as things stand or once a plan is followed
    shown : Demonstration, what they are then shown
    patience : Patience

    Returns
    -------
    OverRewards; None if one reward is given, or there was no time for it
    """
    rewards = problem.rewards
    if rewards is None:
        return None
    return patience.spared(lambda: _over(problem, rewards, view, shown, patience))


def _over(
    problem: Problem, rewards: Rewards, view: Worldview, shown: Demonstration, patience: Patience
) -> OverRewards:
    seconds = min(patience.left(), ASIDE)
    certificate = certified_over_rewards(problem, rewards, view, shown, seconds)
    goals = goals_over(problem, rewards, view, shown, certificate, patience)
    return OverRewards(certificate, goals, _instead(problem, rewards, view, certificate, patience))


def _instead(
    problem: Problem,
    rewards: Rewards,
    view: Worldview,
    certificate: RewardsCertificate,
    patience: Patience,
) -> ShownForRewards | None:
    """What guarantees more under all of the rewards, where that is asked for: who misses what is
    shown is not thought of in that search."""
    seconds = min(patience.left(), ASIDE)
    exactly = problem.mismatch is None and problem.mismatch_share is None
    if problem.show is not Show.CHOSEN or not exactly or seconds <= 0.0:
        return None
    found = best_demonstration(
        problem.model,
        view,
        rewards,
        rng=np.random.default_rng(problem.seed),
        indistinct=problem.task.indistinct,
        judgement=Judgement(tail=problem.reward.tail),
        max_seconds=seconds,
    )
    return found if found.guaranteed > certificate.lower + TOLD else None


def goals_over(
    problem: Problem,
    rewards: Rewards,
    view: Worldview,
    shown: Demonstration,
    certificate: RewardsCertificate,
    patience: Patience,
) -> tuple[GoalOver, ...]:
    """Which goals about the reward are met under all of some rewards.

    Parameters
    ----------
    problem, rewards, view, shown : as for `certified_over_rewards`
    certificate : RewardsCertificate, what that found of the performance
    patience : Patience

    Returns
    -------
    tuple of GoalOver
    """
    return tuple(
        _goal_over(problem, rewards, view, shown, goal, certificate, patience)
        for goal in problem.goals
        if goal.kind is not GoalKind.LIMIT
    )


def _goal_over(
    problem: Problem,
    rewards: Rewards,
    view: Worldview,
    shown: Demonstration,
    goal: Goal,
    certificate: RewardsCertificate,
    patience: Patience,
) -> GoalOver:
    """Whether a goal is met under all of the rewards."""
    share = problem.asked.max_loss_share if goal.computed else None
    proved = _certified(problem, rewards, view, shown, goal, certificate, patience)
    if proved is None or share is None:
        return GoalOver(goal, proved)
    return GoalOver(goal, proved, share * least_earned(rewards, problem.expert.expectations))


def least_earned(rewards: Rewards, expert: Floats) -> Floats:
    """What the expert earns or pays under plausible rewards, rounded down.

    Between two rewards of a polytope under which the expert both earns and pays, it may earn
    nothing: then so little counts under all.

    Parameters
    ----------
    rewards : Rewards
    expert : array [k], feature expectations

    Returns
    -------
    array [n], under each that is listed, sampled or a vertex; of a box or an ellipsoid [1], the
    least under any

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> from teachirl.app.decisions.plausible import least_earned
    >>> least_earned(ti.Rewards.within([2.0, -1.0], 0.1), np.array([5.0, 1.0])).round(6)
    array([7.9])
    """
    size = float(np.abs(expert).sum())
    if rewards.convex and not len(rewards.points):
        middle, along = float(rewards.mean @ expert), np.abs(rewards.root.T @ expert)
        box = rewards.kind is RewardsKind.BOX
        reach = float(along.sum() if box else np.linalg.norm(along))
        large = float(np.abs(rewards.mean).max() + np.abs(rewards.root).sum())
        return np.array([max(abs(middle) - reach - ROUNDED * large * size, 0.0)])
    found = rewards.points @ expert
    if rewards.convex and found.min() < 0.0 < found.max():
        return np.zeros(len(found))
    room = ROUNDED * np.abs(rewards.points).max(axis=1) * size
    return np.asarray(np.maximum(np.abs(found) - room, 0.0))


def _certified(
    problem: Problem,
    rewards: Rewards,
    view: Worldview,
    shown: Demonstration,
    goal: Goal,
    certificate: RewardsCertificate,
    patience: Patience,
) -> RewardsCertificate | None:
    """What is proved of a goal; None where it counts from what changes with the reward: another
    policy than the worst or than is shown, or an expert or a world known roughly; or where a share
    of what is lost is asked for of some of the rewards only."""
    if goal.kind is GoalKind.GUARANTEE:
        return certificate if problem.baseline.kind == "worst" else None
    if goal.kind is GoalKind.MAX_LOSS and (
        (goal.computed and problem.reward.tail is not None)
        or shown.error > 0.0
        or shown is not problem.expert
        or problem.world.model is not None
    ):
        return None
    what = Criterion.GAP if goal.kind is GoalKind.MAX_LOSS else Criterion.REWARD
    seconds = min(patience.left(), ASIDE)
    return certified_over_rewards(problem, rewards, view, shown, seconds, what)


__all__ = [
    "GoalOver",
    "OverRewards",
    "certified_over_rewards",
    "goals_over",
    "least_earned",
    "over_rewards",
]
