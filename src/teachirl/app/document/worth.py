"""From what difference on guarantees are told apart, in words."""

from __future__ import annotations

from ...figures.digits import asked, at_most
from ..decisions.worth import stretched, whole_range, worth_of
from ..problem import Problem


def told_apart(problem: Problem, worth: float | None = None) -> str:
    """A relative performance; or where the range says little of what is at stake, the reward.

    Parameters
    ----------
    problem : Problem
    worth : float, the relative performance; by default that of `worth_of`

    Returns
    -------
    str
    """
    share, scale = worth_of(problem) if worth is None else worth, whole_range(problem.task)
    if stretched(problem):
        return f"{at_most(share * scale, digits=2)} of reward"
    return asked(share)


__all__ = ["told_apart"]
