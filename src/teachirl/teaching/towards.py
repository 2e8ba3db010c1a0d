"""What a teacher teaches who has goals: what helps the reward, and then what keeps limits.

A teacher chooses for a reward. A limit on a feature is a reward as well, that feature with weight 1
or −1: where a limit is what is missing, the same teacher chooses for that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .goal import Promise
from .goals import TaskGoals
from .teacher import Choice, Situation


def choose_towards(
    goals: TaskGoals,
    promise: Promise,
    situation: Situation,
    choose: Callable[[Situation], Choice],
) -> Choice:
    """What to teach next, for the goals that are not met.

    Parameters
    ----------
    goals : TaskGoals
    promise : Promise, what is guaranteed as things stand
    situation : Situation
    choose : what a teacher chooses there

    Returns
    -------
    Choice; of a feature for the reward, unless that is as asked for, or nothing helps it further
    """
    unmet = goals.unmet(promise)
    limits = [goal for goal in unmet if goal.feature is not None]
    limits.sort(key=lambda goal: -goal.missing(promise) / goal.scale)
    # What is known of one reward is not known of another.
    situations = [
        replace(situation, task=goals.task_of(goal), worst_case=None, notes={}) for goal in limits
    ]
    if not limits or len(limits) < len(unmet):
        situations.insert(0, situation)
    for each in situations:
        choice = choose(each)
        if choice.feature is not None:
            break
    # What is shown is chosen for the reward, and what comes next is told of that.
    return choice if each is situation else replace(choice, demonstration=None, second=None)


__all__ = ["choose_towards"]
