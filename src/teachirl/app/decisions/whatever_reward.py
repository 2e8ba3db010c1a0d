"""Which features are worth buying whatever the reward: in plans for many plausible rewards.

Each of these plans is found as `teach` finds its own: by a search of all sets of features, as long
as there is time.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ...mdp.rewards.rewards import Rewards
from ...teachers import GapGreedy
from ...teaching.task import Task
from ...teaching.worth import Bought, FeatureWorth, greedily, some_of, worth_over
from ..problem import Baseline, Problem, RewardSource, Show
from .patience import Patience
from .set_to_teach import Searched, set_to_teach

# Seconds for the plans, of which so many are made.
ASIDE, TRIED = 60.0, 12


def worth_buying(
    problem: Problem, rewards: Rewards, patience: Patience
) -> tuple[FeatureWorth, ...]:
    """For each feature, in how many plans it is bought if the reward is any of several.

    Parameters
    ----------
    problem : Problem, that says what is asked for and may be spent
    rewards : Rewards, those that are plausible
    patience : Patience

    Returns
    -------
    tuple of FeatureWorth, one a teachable feature
    """
    within = patience.share(1.0, ASIDE)
    points = some_of(rewards, np.random.default_rng(problem.seed), TRIED)
    left = len(points)

    def bought(task: Task) -> Bought:
        nonlocal left
        found = set_to_teach(_with_weights(problem, task), within.share(1.0 / left))
        left = max(left - 1, 1)
        if found.searched is not Searched.TEACHER:
            return Bought((*task.required, *found.order), found.searched is Searched.ALL)
        return greedily(
            task,
            GapGreedy(),
            until=problem.asked or None,
            budget=problem.budget,
            max_cost=math.inf if problem.max_cost is None else problem.max_cost,
            matching=problem.matching,
        )

    return worth_over(problem.task, points, bought, problem.matching, over=within.over)


def _with_weights(problem: Problem, task: Task) -> Problem:
    """The problem of teaching what is shown for the reward of a task, counted from its own worst
    policy."""
    recorded = problem.show is Show.RECORDED
    return replace(
        problem,
        reward=RewardSource("weights", task.weights),
        show=problem.show if recorded else Show.POLICY,
        shown=problem.shown if recorded else task.demonstration,
        teacher=GapGreedy(),
        baseline=Baseline("worst"),
    )


__all__ = ["worth_buying"]
