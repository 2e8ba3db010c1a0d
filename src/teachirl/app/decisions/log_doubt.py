"""What a log leaves open, and where more steps would help most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...guarantees.bounds import WorstCaseBounds
from ...guarantees.doubt_costs import doubt_costs
from ...precision import INVISIBLE, ranks
from ..problem import Problem
from .teaching_plan import TeachingPlan

# Pairs that are named.
MOST = 10


@dataclass(frozen=True)
class PairDoubt:
    """A pair, and what it costs not to know it better.

    Attributes
    ----------
    state, action : str, their names
    tries : int, how often the log tried it
    cost : float, of the reward that is guaranteed, about so much
    share : float, of what all doubt costs
    """

    state: str
    action: str
    tries: int
    cost: float
    share: float


@dataclass(frozen=True)
class LogDoubt:
    """How well the world is known.

    Attributes
    ----------
    steps : int, of the log
    confidence : float, with which the true world is one of those that it allows
    pairs : int, how many there are
    untried : tuple of str, the pairs that were never tried
    costly : tuple of PairDoubt, those that cost most, first; none if nothing is to gain
    """

    steps: int
    confidence: float
    pairs: int
    untried: tuple[str, ...]
    costly: tuple[PairDoubt, ...]


def log_doubt(
    problem: Problem, found: WorstCaseBounds | None = None, after: TeachingPlan | None = None
) -> LogDoubt | None:
    """What the log leaves open, and where more steps would help most.

    Parameters
    ----------
    problem : Problem
    found : WorstCaseBounds as things stand; computed unless given
    after : TeachingPlan, whose guarantee is meant, if not that of things as they stand

    Returns
    -------
    LogDoubt; None if the world is known
    """
    model = problem.world.model
    if model is None:
        return None
    view, shown = problem.worldview, problem.task.demonstration
    if after is not None:
        view, shown, found = after.view, after.demonstration, None
    if found is None:
        found = problem.task.worst_case(view, shown, problem.matching)
    policy = shown.policy if shown.error == 0.0 else None
    costs = doubt_costs(model, view, problem.weights, found, policy)
    total = float(costs.sum())
    dynamics = model.nominal.dynamics
    first = np.argsort(ranks(costs, INVISIBLE * total), kind="stable")[:MOST]
    return LogDoubt(
        model.n_steps,
        model.confidence,
        model.n_pairs,
        tuple(model.pair_name(int(pair)) for pair in model.untried),
        tuple(
            PairDoubt(
                dynamics.state_name(int(dynamics.pair_states[pair])),
                dynamics.action_name(int(dynamics.actions[pair])),
                int(model.tries[pair]),
                float(costs[pair]),
                float(costs[pair] / total),
            )
            for pair in first
            if costs[pair] > INVISIBLE * total
        ),
    )


__all__ = ["LogDoubt", "PairDoubt", "log_doubt"]
