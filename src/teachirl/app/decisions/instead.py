"""A policy that is shown in the place of the expert's, against the expert and doing nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats
from ...demonstrations.demonstration import Demonstration
from ...mdp import clock
from ...mdp.model import MDP
from ...mdp.policy import Policy
from ..problem import Baseline, Problem

# Who has less than this share of what there can be of a feature never collects it; who has all but
# this share never avoids it.
NEVER = 1e-3
# Who earns less than this share of the turnover more than by doing nothing does hardly better: of
# all that is earned and paid, by the one and by the other.
HARDLY = 0.02
# Who gains less than this share of what the expert gains over doing nothing is far from the expert.
FAR = 0.5
# What could earn less than this share of the turnover is small change: not to collect it is hardly
# a mistake.
SMALL_CHANGE = 0.25
# Entries of features that are looked at to find what all who act have.
ENTRIES = 5_000_000


@dataclass(frozen=True)
class Instead:
    """A policy that is shown in the place of the expert's, and whether that is of any use.

    Attributes
    ----------
    reward : what it earns
    expert : what the expert earns
    idle : Baseline, doing nothing, if there is an action for that; else acting at random
    idle_reward : what that earns; NaN if there was no time for it
    hardly_better : whether it does hardly better than that
    far : whether it is far from what the expert earns, counted from that
    uncollected : the names of features that it never collects, and that earn the expert no small
        change
    worth : what these earn the expert
    """

    reward: float
    expert: float
    idle: Baseline
    idle_reward: float
    hardly_better: bool
    far: bool
    uncollected: tuple[str, ...]
    worth: float

    @property
    def doubtful(self) -> bool:
        """Whether there is anything to warn of."""
        return self.hardly_better or self.far or bool(self.uncollected)


def shown_instead(problem: Problem, shown: Demonstration) -> Instead:
    """What a policy is worth that is shown, or could be, in the place of the expert's.

    Parameters
    ----------
    problem : Problem
    shown : Demonstration

    Returns
    -------
    Instead
    """
    return of_instead(problem, shown, *idle_of(problem))


def of_instead(problem: Problem, shown: Demonstration, idle: Baseline, waiting: Floats) -> Instead:
    """The same, where what doing nothing earns is known.

    Parameters
    ----------
    problem : Problem
    shown : Demonstration
    idle : Baseline, who does nothing
    waiting : array [k], what that earns by each feature

    Returns
    -------
    Instead
    """
    mdp, weights, expert = problem.mdp, problem.weights, problem.expert.expectations
    earned, own = weights * expert, weights * shown.expectations
    turnover = float(np.fmax(np.abs(earned), np.abs(waiting)).sum())
    # Where amounts can be negative, having none of a feature is not to leave it.
    left = (weights > 0.0) & (shown.expectations <= NEVER * expert)
    missed = np.flatnonzero(left & (earned >= SMALL_CHANGE * turnover) & (earned > 0.0))
    choice, gain = mdp.n_pairs > mdp.n_states, float(own.sum() - waiting.sum())
    return Instead(
        float(own.sum()) + 0.0,
        float(earned.sum()),
        idle,
        float(waiting.sum()),
        choice and gain <= HARDLY * turnover,
        choice and gain < FAR * float(earned.sum() - waiting.sum()),
        tuple(mdp.feature_name(int(i)) for i in missed),
        float(earned[missed].sum()),
    )


def paid_by_all_who_act(mdp: MDP, idle: Policy | None) -> NDArray[np.bool_]:
    """The features of which all actions have as much but that of doing nothing, as a price of each
    step: not to avoid them is not to do nothing.

    Parameters
    ----------
    mdp : MDP
    idle : Policy of who does nothing; who acts at random tells of none

    Returns
    -------
    bool array [k]; none in a large world
    """
    dynamics, none = mdp.dynamics, np.zeros(mdp.n_features, dtype=bool)
    if idle is None or not mdp.features_per_pair or mdp.n_pairs * mdp.n_features > ENTRIES:
        return none
    choice = np.diff(dynamics.offsets)[dynamics.pair_states] > 1
    reached = np.isin(dynamics.pair_states, dynamics.reachable)
    rows: Any = mdp.features[np.flatnonzero(choice & reached & (idle.probabilities == 0.0))]
    rows = rows if isinstance(rows, np.ndarray) else rows.toarray()
    if not len(rows):
        return none
    return np.asarray((rows.min(axis=0) == rows.max(axis=0)) & (rows[0] > 0.0))


def idle_of(problem: Problem, until: float = math.inf) -> tuple[Baseline, Floats]:
    """Who does nothing, or acts at random where there is no action for that, and what it earns.

    Parameters
    ----------
    problem : Problem
    until : when to do without what it earns, by `clock.seconds`

    Returns
    -------
    Baseline, and an array [k] of what it earns by each feature; NaN if there was no time for it
    """
    earned = clock.in_time(until, lambda: problem.idle_earns)
    return problem.idle, np.nan * problem.weights if earned is None else earned


__all__ = [
    "FAR",
    "HARDLY",
    "NEVER",
    "SMALL_CHANGE",
    "Instead",
    "idle_of",
    "of_instead",
    "paid_by_all_who_act",
    "shown_instead",
]
