"""Which features are worth buying whatever the reward: in plans for many plausible rewards."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
    points = several.points if not several.convex and len(several.points) <= tried else None
    points = several.draw(rng, tried) if points is None else points
    points = points[points.any(axis=1)]
    deadline = clock.seconds() + max_seconds
    bought, gains = list[NDArray[np.bool_]](), list[list[float]]()
    for w in points:
        if bought and clock.seconds() > deadline:
            break
        other = task.with_weights(w)
        kept = _bought(other, teacher, until, budget, max_cost, matching)
        bought.append(np.isin(np.arange(len(task.names)), kept))
        gains.append(_gains(other, matching))
    shares, added = np.mean(bought, axis=0), np.array(gains)
    return tuple(
        FeatureWorth(name, float(share), float(each.min()), float(np.median(each)), len(bought))
        for name, share, each in zip(task.names, shares, added.T, strict=True)
    )


def _bought(
    task: Task,
    teacher: Teacher,
    until: float | Goals | None,
    budget: int | None,
    max_cost: float,
    matching: Matching,
) -> tuple[int, ...]:
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
    return needed(goals, taught, shown, matching, room=CLOSELY, tolerance=CLOSELY)


def _gains(task: Task, matching: Matching) -> list[float]:
    """What each feature adds to the guarantee if it is the first to be taught."""
    view, shown = task.worldview, task.demonstration

    def guaranteed(rows: np.ndarray) -> float:
        seen = view.extend(rows) if len(rows) else view
        found = task.worst_case(seen, shown, matching, tolerance=CLOSELY)
        return task.guaranteed_by(found)

    before = guaranteed(np.asarray(task.teachable[:0]))
    return [max(guaranteed(row) - before, 0.0) for row in task.teachable]


__all__ = ["FeatureWorth", "worth_buying"]
