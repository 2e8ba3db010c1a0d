"""What is worth telling apart: a thousandth of what is at stake for the expert.

From the worst policy to the best is what is at stake, unless one terrible policy stretches that:
beside what nobody would do, all that an expert earns is nothing. An expert who earns and pays T in
all is 2T above who pays what the expert earns: no more than that is at stake.
"""

from __future__ import annotations

import numpy as np

from ...teaching.task import Task
from ..problem import Problem

# Unless more was asked for, what adds less than this share of what is at stake is not worth a cost.
WORTH = 1e-3
# What is better by less than this share of it is no reason to advise another way to the same end.
CLEARLY = 0.05
# Relative performances are not told apart that differ by less: bounds are found to some digits.
LEAST_WORTH = 1e-8


def whole_range(task: Task) -> float:
    """The reward between relative performances of 0 and 1; 1 where all policies earn the same, as
    any scale will do there."""
    return max(task.simulated[0].value - task.zero, 0.0) or 1.0


def at_stake(problem: Problem) -> float:
    """What is at stake for the expert, in reward: that range, or twice all that the expert earns
    and pays, if that is less and not 0."""
    turnover = float(np.abs(problem.weights * problem.expert.expectations).sum())
    return min(whole_range(problem.task), 2.0 * turnover or np.inf)


def worth_of(problem: Problem, share: float = WORTH) -> float:
    """The relative performance below which a gain does not count.

    Parameters
    ----------
    problem : Problem
    share : of what is at stake for the expert

    Returns
    -------
    float, the share, or less where the range is more than what is at stake
    """
    stretched = whole_range(problem.task) / at_stake(problem)
    return max(share / stretched, min(share, LEAST_WORTH))


__all__ = ["CLEARLY", "LEAST_WORTH", "WORTH", "at_stake", "whole_range", "worth_of"]
