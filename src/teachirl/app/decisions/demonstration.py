"""What to demonstrate, and whether something else would guarantee more."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...demonstrations.demonstration import Demonstration
from ...mdp import clock
from ...teaching.goal import Promise
from ...what_to_show.search import Shown, best_demonstration
from ..problem import Problem
from .comparison import SAME_GUARANTEE, Difference, differences
from .instead import Instead, shown_instead
from .patience import Cut, Patience
from .stakes import GoalResult, goal_results

# Transitions up to which it takes a second to find the demonstration that would be chosen; places
# from which another is sought beyond that, only to say whether it is worth choosing one; and
# transitions up to which that takes seconds.
WHOLE, STARTS, SOUGHT = 5_000, 4, 50_000


@dataclass(frozen=True, eq=False)
class Offer:
    """A policy that could be shown instead, and what that costs.

    Attributes
    ----------
    guaranteed, reward : what it guarantees before anything is taught, as a relative performance and
        in reward
    own, own_reward : its own relative performance and reward, beyond which nothing it guarantees
    differences : Difference, what it does otherwise than the expert, in the features that count
    worse : whether its own reward is less than the plan guarantees: then it is only for who teaches
        nothing
    goals : GoalResult of each goal, before anything is taught
    instead : Instead, whether it is of any use
    """

    guaranteed: float
    reward: float
    own: float
    own_reward: float
    differences: tuple[Difference, ...]
    worse: bool
    goals: tuple[GoalResult, ...]
    instead: Instead

    @property
    def broken(self) -> tuple[GoalResult, ...]:
        """The goals that it misses itself: whoever is shown it cannot be sure to meet them."""
        return tuple(each for each in self.goals if each.goal.missing_at(each.own) > 0.0)

    @property
    def enough(self) -> bool:
        """Whether it guarantees all that was asked for before anything is taught."""
        return bool(self.goals) and all(each.met for each in self.goals)


@dataclass(frozen=True, eq=False)
class WhatToShow:
    """What a plan demonstrates in the end, and what else could be demonstrated.

    Attributes
    ----------
    since : the step from which on the teacher shows something else; None if what the file says is
        shown from the start
    performance, reward : the relative performance and the reward of what is shown in the end
    now, reward_now : what is guaranteed before anything is taught, as a relative performance and in
        reward
    differences : Difference, what that does otherwise than the expert, in the features that count
    optimal : the relative performance that is guaranteed before anything is taught if an optimal
        policy were shown; None unless another was chosen instead
    offer : Offer, the policy that guarantees most of those that were found; None unless that is
        more than is guaranteed now
    sought : whether another policy was sought
    best : Shown, the demonstration that guarantees most before anything is taught; None if it was
        not sought
    instead : Instead, whether what is shown since that step is of any use; None unless there is one
    """

    since: int | None
    performance: float
    reward: float
    now: float
    reward_now: float
    differences: tuple[Difference, ...]
    optimal: float | None = None
    offer: Offer | None = None
    sought: bool = True
    best: Shown | None = None
    instead: Instead | None = None


def what_to_show(
    problem: Problem,
    shown: Demonstration,
    first: Promise,
    last: Promise,
    since: int | None,
    patience: Patience,
) -> WhatToShow:
    """What is shown in the end, and the best that could be before anything is taught.

    Parameters
    ----------
    problem : Problem
    shown : Demonstration, what the plan shows in the end
    first, last : Promise, before anything is taught, and at the end of the plan
    since : the step from which on the teacher shows that; None if it is what the file says
    patience : Patience; Ctrl-C, or the time, ends the search for another policy, and nothing else

    Returns
    -------
    WhatToShow
    """
    task, chosen = problem.task, problem.chosen
    reward = float(task.weights @ shown.expectations)
    said = WhatToShow(
        since,
        task.relative(reward),
        reward,
        first.performance,
        first.reward,
        _counting(problem, shown),
        best=chosen,
    )
    if since is not None:
        return replace(said, instead=patience.spared(lambda: shown_instead(problem, shown)))
    if chosen is not None and chosen.gain == 0.0:
        return said
    if chosen is not None:
        optimal, matching = problem.expert, problem.matching
        seconds = patience.left()
        found = task.guaranteed(problem.worldview, optimal, matching, max_seconds=seconds)
        return replace(said, optimal=found)
    if problem.world.model is not None or problem.mdp.dynamics.transitions.nnz > SOUGHT:
        return replace(said, sought=False)
    if patience.cut is not Cut.INTERRUPTED:
        with patience.work(), clock.limited(patience.last):
            best = _sought(problem)
            offer = _offer(problem, best.demonstration, first, last)
            return replace(said, offer=offer, best=best)
    return replace(said, sought=False)


def _sought(problem: Problem) -> Shown:
    """What could be shown: what would be chosen, or in a larger world what a short search finds."""
    mdp, view, weights = problem.mdp, problem.worldview, problem.weights
    rng, indistinct = np.random.default_rng(problem.seed), problem.task.indistinct
    if mdp.dynamics.transitions.nnz <= WHOLE:
        return best_demonstration(mdp, view, weights, rng=rng, indistinct=indistinct)
    return best_demonstration(
        mdp, view, weights, starts=STARTS, rng=rng, proof_solves=0, indistinct=indistinct
    )


def _offer(problem: Problem, shown: Demonstration, first: Promise, last: Promise) -> Offer | None:
    """What another demonstration brings and costs; None if it does not bring more."""
    task, goals = problem.task, problem.goals
    then = goals.promise(problem.worldview, shown, problem.matching)
    if then.performance <= first.performance + SAME_GUARANTEE:
        return None
    own = goals.own(shown)
    room = SAME_GUARANTEE * (task.best.value - task.worst.value)
    return Offer(
        then.performance,
        then.reward,
        own.performance,
        own.reward,
        _counting(problem, shown),
        own.reward < last.reward - room,
        goal_results(goals, then, own),
        shown_instead(problem, shown),
    )


def _counting(problem: Problem, shown: Demonstration) -> tuple[Difference, ...]:
    """What is shown otherwise than the expert does it, in the features that count."""
    expert, mdp = problem.expert.expectations, problem.mdp
    apart = differences(mdp, problem.weights, expert, shown.expectations)
    return tuple(each for each in apart if each.weight != 0.0)


__all__ = ["Offer", "WhatToShow", "what_to_show"]
