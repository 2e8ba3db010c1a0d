"""Weights under which given choices are optimal: a cone, and its extreme directions.

With V the values, choices a in s are optimal for w exactly if some V has

    V(s) ≥ ⟨w, φ(s, b)⟩ + γ E V(s′) for all pairs (s, b), with equality at the choices,

which is linear in w and V together. Where there is no such choice V may be too large, so that the
cone may be: no weights are missing from it, and some may be too many.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy  # its parts are loaded when they are used
import scipy.sparse as sp
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..mdp.model import MDP

# A habit is what was chosen more often than anything else in its state, by so many standard errors
# of the difference, if there are slips at all: more than this share of choices that are no habit.
CLEARLY, SLIPPING = 3.0, 1e-3
# Weights are sought up to this many times as long as their part along the start: to 87 degrees.
LONGEST = 20.0
# What a solver of linear programs says of some.
INFEASIBLE, UNBOUNDED = 2, 3
# Pairs up to which programs take little time.
MOST_PAIRS = 20_000


# What programs cannot tell from 0, of weights with a part of length 1 along the start.
NOTHING = 1e-7


class OptimalCone:
    """The weights without part in `never` [d, k] under which the choices `tight` (bool array [P])
    are optimal."""

    def __init__(self, mdp: MDP, tight: NDArray[np.bool_], never: Floats) -> None:
        dynamics, k = mdp.dynamics, mdp.n_features
        n_states, n_pairs, states = mdp.n_states, mdp.n_pairs, dynamics.pair_states
        self.k, self.small = k, n_pairs <= MOST_PAIRS and k > 0
        if not self.small:
            return
        tight = tight | (np.diff(dynamics.offsets) == 1)[states]
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
        ends: list[Floats] = []
        for objective in np.vstack([np.eye(self.k), -np.eye(self.k)]):
            found = self._least(objective, start, 1.0, LONGEST)
            end = None if found.status != 0 else _unit(np.asarray(found.x)[: self.k])
            if end is None:
                break
            ends.append(end)
        return ends

    def ends(self, start: Floats) -> tuple[Floats, Floats] | None:
        """Between which each weight lies, of weights of length 1 in the cone, up to the tolerance
        of linear programs; None if that cannot be told.

        With w = start + v, v orthogonal to start [k] of length 1, programs say how far each w_i
        goes. Let α be the angle between start and the axis i, and φ that of w to start in their
        plane: w_i = cos(α − φ)/cos φ, and ‖w‖ ≥ 1/cos φ. So w_i/‖w‖ ≤ cos(α − φ), for the largest φ
        if that is less than α. If w_i < 0 all over, w_i/‖w‖ is at most w_i by the largest ‖w‖.
        """
        if not self.small or self._least(np.zeros(self.k), start, -1.0).status != INFEASIBLE:
            return None
        reach = np.empty((2, self.k))  # of −w and of w, at most
        for side, sign in zip(reach, (-1.0, 1.0), strict=True):
            for i, axis in enumerate(np.eye(self.k)):
                found = self._least(-sign * axis, start, 1.0)
                if found.status not in (0, UNBOUNDED):
                    return None
                side[i] = math.inf if found.status == UNBOUNDED else -found.fun
        longest = float(np.linalg.norm(reach.max(axis=0)))
        lower = [-_end(-s, far, longest) for s, far in zip(start, reach[0], strict=True)]
        upper = [_end(s, far, longest) for s, far in zip(start, reach[1], strict=True)]
        return np.array(lower) + 0.0, np.array(upper) + 0.0

    def _least(self, objective: Floats, start: Floats, along: float, longest: Any = None) -> Any:
        """The program for the least ⟨objective, w⟩ of weights with ⟨start, w⟩ = along."""
        values = self.slack.shape[1] - self.k
        row = sp.csr_array(np.append(start, np.zeros(values))[None])
        limits = [(None if longest is None else -longest, longest)] * self.k
        return scipy.optimize.linprog(
            np.append(objective, np.zeros(values)),
            A_ub=-self.slack,
            b_ub=np.zeros(self.slack.shape[0]),
            A_eq=sp.vstack([self.equal, row], format="csr"),
            b_eq=np.append(np.zeros(self.equal.shape[0]), along),
            bounds=[*limits, *[(None, None)] * values],
            method="highs",
        )


def _end(start: float, far: float, longest: float) -> float:
    """The most of a weight of length 1 that is `start` in the middle and goes as far as that."""
    if abs(far) <= NOTHING:
        return 0.0
    if far < 0.0:
        return min(far / longest, 0.0)
    angle = math.acos(min(max(start, -1.0), 1.0))
    turned = math.pi / 2 if math.isinf(far) else math.atan2(far - start, math.sin(angle))
    return math.cos(max(angle - turned, 0.0))


def habits(mdp: MDP, pairs: Ints) -> NDArray[np.bool_]:
    """What is clearly chosen most often in its state.

    Parameters
    ----------
    mdp : MDP
    pairs : int array [n], the pairs that were chosen

    Returns
    -------
    bool array [P]
    """
    counts = np.bincount(pairs, minlength=mdp.n_pairs).astype(float)
    dynamics, states = mdp.dynamics, mdp.dynamics.pair_states
    order = np.lexsort((-counts, states))
    leaders = order[dynamics.offsets[:-1]]
    rest = np.bincount(states, counts, mdp.n_states) - counts[leaders]
    choices = np.diff(dynamics.offsets) > 1
    second = np.zeros(mdp.n_states)
    second[choices] = counts[order[dynamics.offsets[:-1][choices] + 1]]
    most = counts[leaders]
    need = CLEARLY if rest.sum() > SLIPPING * counts.sum() else 0.0
    found = np.zeros(mdp.n_pairs, dtype=bool)
    found[leaders[(most > 0.0) & (most - second >= need * np.sqrt(most + second))]] = True
    return found


def _unit(vector: Floats) -> Floats | None:
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0.0 else None


__all__ = ["OptimalCone", "habits"]
