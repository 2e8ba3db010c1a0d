"""Weights under which an expert's habits are optimal: a cone, and its extreme directions.

With V the values, a habit a in s is optimal for w exactly if some V has

    V(s) ≥ ⟨w, φ(s, b)⟩ + γ E V(s′) for all pairs (s, b), with equality at the habit,

which is linear in w and V together. Where there is no habit V may be too large, so that the cone
may be; what is found here only suggests where to look, and `Evidence` decides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy  # its parts are loaded when they are used
import scipy.sparse as sp

from ..arrays import Floats, Ints
from ..mdp.model import MDP

# A habit is what was chosen more often than anything else in its state, by so many standard errors
# of the difference, if there are slips at all: more than this share of choices that are no habit.
CLEARLY, SLIPPING = 3.0, 1e-3
# Weights are sought up to this many times as long as their part along the start: to 87 degrees.
LONGEST = 20.0
# Pairs up to which programs take little time.
MOST_PAIRS = 20_000


class OptimalCone:
    """The weights without part in `never` [d, k] under which habits in recorded choices are
    optimal."""

    def __init__(self, mdp: MDP, pairs: Ints, never: Floats) -> None:
        dynamics, k = mdp.dynamics, mdp.n_features
        n_states, n_pairs, states = mdp.n_states, mdp.n_pairs, dynamics.pair_states
        self.k, self.small = k, n_pairs <= MOST_PAIRS and k > 0
        if not self.small:
            return
        tight = _habits(mdp, np.bincount(pairs, minlength=n_pairs).astype(float))
        tight |= (np.diff(dynamics.offsets) == 1)[states]
        phi: Any = mdp.features
        phi = sp.csr_array(phi if mdp.features_per_pair else phi[states])
        self.size = mdp.largest_feature or 1.0
        mine = sp.csr_array((np.ones(n_pairs), (np.arange(n_pairs), states)), (n_pairs, n_states))
        slack = sp.hstack(
            [-phi / self.size, mine - mdp.discount * dynamics.transitions], format="csr"
        )
        beside = sp.csr_array((len(never), n_states))
        self.equal = sp.vstack(
            [slack[np.flatnonzero(tight)], sp.hstack([sp.csr_array(never), beside])], format="csr"
        )
        self.slack = slack[np.flatnonzero(~tight)]

    def centre(self) -> Floats | None:
        """Weights [k] far inside the cone: all other actions are worse by much, up to a limit."""
        if not self.small:
            return None
        others, columns = self.slack.shape
        gains = -sp.eye_array(others, format="csr")
        objective = np.append(np.zeros(columns), -np.ones(others))
        equal = sp.hstack([self.equal, sp.csr_array((self.equal.shape[0], others))], format="csr")
        limits = (
            [(-1.0, 1.0)] * self.k + [(None, None)] * (columns - self.k) + [(0.0, 0.1)] * others
        )
        found = scipy.optimize.linprog(
            objective,
            A_ub=-sp.hstack([self.slack, gains], format="csr"),
            b_ub=np.zeros(others),
            A_eq=equal,
            b_eq=np.zeros(equal.shape[0]),
            bounds=limits,
            method="highs",
        )
        return None if found.status != 0 else _unit(np.asarray(found.x)[: self.k])

    def extremes(self, start: Floats) -> list[Floats]:
        """The most and the least that each weight can be, beside what lies along `start` [k]."""
        if not self.small:
            return []
        columns = self.slack.shape[1]
        along = np.append(start, np.zeros(columns - self.k))
        equal = sp.vstack([self.equal, sp.csr_array(along[None])], format="csr")
        limits = [(-LONGEST, LONGEST)] * self.k + [(None, None)] * (columns - self.k)
        ends: list[Floats] = []
        for objective in np.vstack([np.eye(self.k, columns), -np.eye(self.k, columns)]):
            found = scipy.optimize.linprog(
                objective,
                A_ub=-self.slack,
                b_ub=np.zeros(self.slack.shape[0]),
                A_eq=equal,
                b_eq=np.append(np.zeros(self.equal.shape[0]), 1.0),
                bounds=limits,
                method="highs",
            )
            end = None if found.status != 0 else _unit(np.asarray(found.x)[: self.k])
            if end is None:
                break
            ends.append(end)
        return ends


def _habits(mdp: MDP, counts: Floats) -> Any:
    """bool array [P]: what is clearly chosen most often in its state."""
    dynamics, states = mdp.dynamics, mdp.dynamics.pair_states
    order = np.lexsort((-counts, states))
    leaders = order[dynamics.offsets[:-1]]
    rest = np.bincount(states, counts, mdp.n_states) - counts[leaders]
    choices = np.diff(dynamics.offsets) > 1
    second = np.zeros(mdp.n_states)
    second[choices] = counts[order[dynamics.offsets[:-1][choices] + 1]]
    most = counts[leaders]
    need = CLEARLY if rest.sum() > SLIPPING * counts.sum() else 0.0
    habits = np.zeros(mdp.n_pairs, dtype=bool)
    habits[leaders[(most > 0.0) & (most - second >= need * np.sqrt(most + second))]] = True
    return habits


def _unit(vector: Floats) -> Floats | None:
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0.0 else None
