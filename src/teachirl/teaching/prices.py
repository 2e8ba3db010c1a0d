"""What features cost, and how much money is more than enough."""

from __future__ import annotations

import math

from .task import Task


def same_price(task: Task) -> bool:
    """Whether all features cost the same.

    Parameters
    ----------
    task : Task

    Returns
    -------
    bool
    """
    return bool((task.costs == task.costs[:1]).all())


def ample(task: Task) -> float:
    """More than all features cost: with this to spend, none is too dear, and gains count per cost.

    Parameters
    ----------
    task : Task

    Returns
    -------
    float, ∞ if all cost the same, where it makes no difference
    """
    return math.inf if same_price(task) else 2.0 * float(task.costs.sum())


__all__ = ["ample", "same_price"]
