"""How rewards are written: what is known, what is guaranteed and what is lost, each in one way."""

from __future__ import annotations

from ...figures.digits import ROUNDING, number, percent_at_least, promised_of, steady, steady_loss
from ...precision import ROUNDED, SEARCH_TIE
from ..problem import Problem


def reward_range(problem: Problem) -> float:
    """How far apart the best and the worst policy are, which is what digits are for, or what is at
    stake where a terrible policy stretches that, as closely as it is searched; or how much all
    earn, where that is rounding beside it."""
    task = problem.task
    best, worst = task.best.value, task.worst.value
    size = max(abs(best), abs(worst))
    if best - worst <= ROUNDING * size:
        return size
    return (best - worst) * (task.tolerance / SEARCH_TIE)


def earned(problem: Problem, reward: float) -> str:
    """A reward that is known, or estimated: no guarantee, and the same in all answers."""
    return steady(reward, reward_range(problem))


def guaranteed(problem: Problem, reward: float) -> str:
    """A reward that is guaranteed, never more than it is: as the expert's, or that of what is
    shown, where it is all of that."""
    task, mean = problem.task, problem.weights @ problem.expert.expectations
    shown = task.weights @ task.demonstration.expectations
    known = float(mean), float(shown), task.best.value, task.worst.value
    return promised_of(reward, known, reward_range(problem))


def performance(problem: Problem, share: float) -> str:
    """A relative performance that is guaranteed, never more than it is: all of it if what is
    missing is rounding of the reward, whatever counts as 0, as where it is asked for."""
    task, rounding = problem.task, ROUNDED
    if task.baseline is not None:
        rounding *= (task.best.value - task.worst.value) / (task.best.value - task.zero)
    return percent_at_least(1.0 if 1.0 - share <= rounding else share)


def costs(problem: Problem, lost: float, whole: float | None = None) -> str:
    """A reward that is lost, as the whole that can be lost is written where it is all of that."""
    scale = reward_range(problem)
    if whole is not None and abs(lost - whole) <= SEARCH_TIE * scale:
        return lost_at_most(problem, whole)
    return number(lost, scale)


def lost_at_most(problem: Problem, loss: float) -> str:
    """A loss that is not exceeded, up to rounding."""
    task, scale = problem.task, reward_range(problem)
    rounding = rounding_of(task.best.value - task.worst.value, scale)
    return steady_loss(0.0 if loss <= rounding else loss, scale)


def rounding_of(whole: float, told_by: float) -> float:
    """What cannot be told from 0: it counts as 0 where that is asked for, being rounding of the
    `whole` range; and no search tells it apart, which goes by what is at stake."""
    return min(ROUNDED * whole, SEARCH_TIE * told_by)


__all__ = [
    "costs",
    "earned",
    "guaranteed",
    "lost_at_most",
    "performance",
    "reward_range",
    "rounding_of",
]
