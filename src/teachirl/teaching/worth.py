"""Which features are worth buying whatever the reward: in plans for many plausible rewards."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..errors import InvalidInputError, require
from ..learners import MinNormPoint
from ..mdp import clock
from ..mdp.rewards.rewards import Rewards
from .goals import Goals
from .matching import Matching
from .needed import needed
from .prices import ample
from .task import Task
from .teach import teach
from .teacher import Teacher

# How closely worst cases are solved for a gain.
CLOSELY = 1e-4


@dataclass(frozen=True)
class FeatureWorth:
    """What a feature is worth under plausible rewards.

    Attributes
    ----------
    name : str
    share : float, in which share of the rewards a plan buys it
    least, median : float, the guaranteed relative performance that it adds if it is the first to be
        taught, at least and in the median over the rewards
    tried : int, under how many rewards
    exact : int, for how many of them all sets of features were searched for the plan

    Examples
    --------
    >>> import teachirl as ti
    >>> ti.FeatureWorth("camera", 1.0, 0.1, 0.2, 20).always
    True
    """

    name: str
    share: float
    least: float
    median: float
    tried: int
    exact: int = 0

    @property
    def always(self) -> bool:
        """Whether the plan for every reward that was tried buys it."""
        return self.share == 1.0


def worth_buying(
    task: Task,
    teacher: Teacher,
    *,
    rng: np.random.Generator,
    rewards: Rewards | None = None,
    tried: int = 20,
    until: float | Goals | None = None,
    budget: int | None = None,
    max_cost: float = math.inf,
    matching: Matching | None = None,
    max_seconds: float = math.inf,
) -> tuple[FeatureWorth, ...]:
    """For each feature, in how many plans it is bought if the reward is any of several.

    What a plan turns out not to need, as later features made up for it, is not bought.

    Parameters
    ----------
    task : Task
    teacher : Teacher, who plans for each reward by itself
    rng : numpy.random.Generator, draws rewards if there are more
    rewards : Rewards that are plausible; those of the task by default
    tried : int, for how many rewards plans are made, at most
    until, budget, max_cost : float or Goals, int, float, when a plan ends, as in `teach`; but
        prices count without a `max_cost` as well
    matching : Matching, how closely learners match; exactly by default
    max_seconds : float, how long it may take; those rewards that are done by then count

    Returns
    -------
    tuple of FeatureWorth, one a teachable feature, in their order

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp, rng = ti.worlds.chain(5), np.random.default_rng(0)
    >>> several = ti.Rewards.listed([[-2, -1, 0, 1, 2], [0, 0, 0, 0, 1]])
    >>> task = ti.Task(mdp, several, ti.Worldview.select(mdp, ["cell 3"]), np.eye(5))
    >>> found = ti.worth_buying(task, ti.teachers.GapGreedy(), rng=rng, until=0.99)
    >>> [each.name for each in found if each.always]
    ['cell 1']
    """
    several = task.rewards if rewards is None else rewards
    if several is None:
        raise InvalidInputError("rewards are needed: the task has one reward only")
    several.check(task.mdp)
    require(tried >= 1, f"tried must be at least 1, got {tried!r}")
    matching = matching or Matching(None)
    deadline = clock.seconds() + max_seconds
    return worth_over(
        task,
        some_of(several, rng, tried),
        lambda other: greedily(
            other, teacher, until=until, budget=budget, max_cost=max_cost, matching=matching
        ),
        matching,
        over=lambda: clock.seconds() > deadline,
    )


def some_of(several: Rewards, rng: np.random.Generator, most: int) -> Floats:
    """array [n, k], the weights of rewards that are not all 0: those that are listed or sampled, if
    they are no more than `most`; else so many that are drawn."""
    few = not several.convex and len(several.points) <= most
    points = several.points if few else several.draw(rng, most)
    return np.asarray(points[points.any(axis=1)])


class Bought(NamedTuple):
    """What a plan for one reward buys, and whether all sets of features were searched for it."""

    features: tuple[int, ...]
    exact: bool


def worth_over(
    task: Task,
    points: Floats,
    bought: Callable[[Task], Bought],
    matching: Matching,
    *,
    over: Callable[[], bool],
) -> tuple[FeatureWorth, ...]:
    """For each feature, in how many plans it is bought.

    Parameters
    ----------
    task : Task
    points : array [n, k], weights of rewards
    bought : what a plan for one of them buys, given the task with that reward
    matching : Matching, how closely learners match
    over : whether time is up, asked before every reward but the first

    Returns
    -------
    tuple of FeatureWorth, one a teachable feature, in their order
    """
    bought_by, gains, exact = list[NDArray[np.bool_]](), list[list[float]](), 0
    for w in points:
        if bought_by and over():
            break
        other = task.with_weights(w)
        found = bought(other)
        exact += found.exact
        bought_by.append(np.isin(np.arange(len(task.names)), found.features))
        gains.append(_gains(other, matching))
    shares, added, tried = np.mean(bought_by, axis=0), np.array(gains), len(bought_by)
    return tuple(
        FeatureWorth(name, float(share), float(each.min()), float(np.median(each)), tried, exact)
        for name, share, each in zip(task.names, shares, added.T, strict=True)
    )


def greedily(
    task: Task,
    teacher: Teacher,
    *,
    until: float | Goals | None,
    budget: int | None,
    max_cost: float,
    matching: Matching,
) -> Bought:
    """What a teacher's plan for one reward buys, as far as it is needed; prices always count."""
    lesson = teach(
        task,
        teacher,
        MinNormPoint(),
        rng=np.random.default_rng(0),
        until=until,
        budget=budget,
        max_cost=min(max_cost, ample(task)),
        tolerance=-1.0,
        mismatch=matching.mismatch,
    )
    taught = [int(each.taught) for each in lesson.rounds[1:] if each.taught is not None]
    asked = until if isinstance(until, Goals) else Goals(guarantee=until)
    goals, shown = asked.of(task), task.demonstration
    kept = needed(goals, taught, shown, matching, room=CLOSELY, tolerance=CLOSELY)
    return Bought(kept, exact=False)


def _gains(task: Task, matching: Matching) -> list[float]:
    """What each feature adds to the guarantee if it is the first to be taught."""
    view, shown = task.worldview, task.demonstration

    def guaranteed(rows: np.ndarray) -> float:
        seen = view.extend(rows) if len(rows) else view
        found = task.worst_case(seen, shown, matching, tolerance=CLOSELY)
        return task.guaranteed_by(found)

    before = guaranteed(np.asarray(task.teachable[:0]))
    return [max(guaranteed(row) - before, 0.0) for row in task.teachable]


__all__ = ["Bought", "FeatureWorth", "greedily", "some_of", "worth_buying", "worth_over"]
