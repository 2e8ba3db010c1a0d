"""What is worth telling apart: a thousandth of what is at stake for the expert."""

from __future__ import annotations

from ...teaching import closeness
from ...teaching.task import Task
from ..problem import Problem

# Unless more was asked for, what adds less than this share of what is at stake is not worth a cost.
WORTH = 1e-3
# What is better by less than this share of it is no reason to advise another way to the same end.
CLEARLY = 0.05
# A range of more than so many times what is at stake is one that a terrible weight stretches.
FAR_MORE = 2.0
# Relative performances are not told apart that differ by less: bounds are found to some digits.
LEAST_WORTH = 1e-8


def whole_range(task: Task) -> float:
    """The reward between relative performances of 0 and 1; 1 where all policies earn the same, as
    any scale will do there."""
    return max(task.simulated[0].value - task.zero, 0.0) or 1.0


def at_stake(problem: Problem) -> float:
    """What is at stake for the expert, in reward: that range, or twice all that the expert earns
    and pays, if that is less and not 0."""
    expert = problem.expert.expectations
    return closeness.at_stake(whole_range(problem.task), problem.weights, expert)


def stretched(problem: Problem) -> bool:
    """Whether a terrible policy makes that range longer than what is at stake: shares of the range,
    and of the weights, then hide what the expert earns."""
    return at_stake(problem) < whole_range(problem.task)


def risk_misleads(problem: Problem) -> bool:
    """Whether the teaching risk mostly counts a terrible weight, which the expert may never meet:
    one that makes the reward between the worst and the best policy far more than what is at
    stake."""
    width = problem.task.best.value - problem.task.worst.value
    expert = problem.expert.expectations
    return FAR_MORE * closeness.at_stake(width, problem.weights, expert) < width


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
    times = whole_range(problem.task) / at_stake(problem)
    return max(share / times, min(share, LEAST_WORTH))


__all__ = [
    "CLEARLY",
    "LEAST_WORTH",
    "WORTH",
    "at_stake",
    "risk_misleads",
    "stretched",
    "whole_range",
    "worth_of",
]
