"""The teacher who plans the whole set: the one with the least teaching risk in the end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..checks import Ints, frozen
from ..errors import require
from ..greedy import WITHIN
from ..risk import risk_after, teaching_risk
from ..subsets import Subset, best_subset
from .teacher import Choice, Situation


@dataclass(frozen=True)
class OptimalSubset:
    """Teaches the best set for the features or the money that are left, and then stops.

    Its members are taught in the order in which each lowers the risk most; their scores are how
    much it falls, and the others have none.

    Parameters
    ----------
    max_nodes : how much to search in a round; `plan` says how far from optimal its set may be

    >>> from teachirl.teachers.optimal_subset import OptimalSubset
    >>> OptimalSubset(max_nodes=500)
    OptimalSubset(max_nodes=500)
    """

    max_nodes: int = 1_000

    def __post_init__(self) -> None:
        require(self.max_nodes >= 0, f"max_nodes must be 0 or more, got {self.max_nodes!r}")

    def plan(self, situation: Situation) -> Subset:
        """The best set beyond what is taught, as indices into the teachable features."""
        task = situation.task
        pool, required = _pool(situation)
        found = best_subset(
            situation.view,
            task.weights,
            task.teachable[pool],
            size=situation.features_left,
            max_cost=situation.cost_left,
            costs=task.costs[pool],
            required=np.flatnonzero(np.isin(pool, required)),
            max_nodes=self.max_nodes,
        )
        chosen = tuple(int(pool[i]) for i in found.chosen)
        return Subset(chosen, found.risk, found.lower, found.gap, found.nodes, found.status)

    def choose(self, situation: Situation, rng: np.random.Generator) -> Choice:
        task = situation.task
        scores = np.full(len(task.teachable), np.nan)
        members = [i for i in self.plan(situation).chosen if i in situation.candidates]
        if not members:
            return Choice(None, frozen(scores))
        after = risk_after(situation.view, task.weights, task.teachable[members])
        scores[members] = teaching_risk(situation.view, task.weights) - after
        return Choice(members[0], frozen(scores))


def _pool(situation: Situation) -> tuple[Ints, Ints]:
    """What may be taught in this round or later, and what of it must be."""
    task, candidates = situation.task, situation.candidates
    required = np.setdiff1d(np.array(task.required, dtype=np.int64), situation.taught)
    fit = len(required) <= situation.features_left and float(
        task.costs[required].sum()
    ) <= situation.cost_left * (1.0 + WITHIN)
    if len(required) == 0 or not fit:
        # If not all that is required fits, the best of it that does.
        return candidates, required[:0]
    gone = (*situation.taught, *task.forbidden)
    return np.setdiff1d(np.arange(len(task.teachable)), gone), required
