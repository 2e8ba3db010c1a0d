"""Weights under which given choices are optimal: a cone, and its extreme directions.

With V the values, choices a in s are optimal for w exactly if some V has

    V(s) ≥ ⟨w, φ(s, b)⟩ + γ E V(s′) for all pairs (s, b), with equality at the choices,

which is linear in w and V together. Where there is no such choice V may be too large, so that the
cone may be: no weights are missing from it, and some may be too many. With one choice in every
state there are not: V is then what these choices earn (`OptimalCone.completed`).

How far the cone goes in a direction c, of weights of length 1, is the most of ⟨c, w⟩ over the cone
and the unit ball, if that is positive: then it is on the sphere. With E (w, V) = 0 and S (w, V) ≥ 0
for the two kinds of conditions above, any y and z ≥ 0 have

    ⟨c, w⟩ ≤ ⟨p, w⟩ + ⟨q, V⟩ ≤ ‖p‖ + ‖q‖₁ max |V|,  where (p, q) = (c, 0) − Eᵀy + Sᵀz,

and max |V| is at most that of the rewards by 1 − γ. A cone program suggests y and z, for which this
is the least that it can be, up to the solver's tolerance; the inequality holds for any.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
import scipy  # its parts are loaded when they are used
import scipy.sparse as sp
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..mdp.model import MDP
from ..mdp.planning import optimal_policy
from ..precision import sum_error, up

# A habit is what was chosen more often than anything else in its state, by so many standard errors
# of the difference, if there are slips at all: more than this share of choices that are no habit.
CLEARLY, SLIPPING = 3.0, 1e-3
# Weights are sought up to this many times as long as their part along the start: to 87 degrees.
LONGEST = 20.0
# How exact a cone program is asked to be.
TOLERANCE = 1e-10
# What a solver of linear programs says of some that have no solution.
INFEASIBLE = 2
# Pairs up to which programs take little time.
MOST_PAIRS = 20_000


# What programs cannot tell from 0, of weights of length 1 or with such a part along the start.
NOTHING = 1e-6


class OptimalCone:
    """The weights without part in `never` [d, k] under which the choices `tight` (bool array [P])
    are optimal."""

    def __init__(self, mdp: MDP, tight: NDArray[np.bool_], never: Floats) -> None:
        dynamics, k = mdp.dynamics, mdp.n_features
        n_states, n_pairs, states = mdp.n_states, mdp.n_pairs, dynamics.pair_states
        self.k, self.small = k, n_pairs <= MOST_PAIRS and k > 0
        self.mdp, self.tight, self.never = mdp, tight, never
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
        largest = math.sqrt(float((phi.multiply(phi) / self.size**2).sum(axis=1).max()))
        self.values_at_most = up(largest / (1.0 - mdp.discount))

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

    def completed(self, w: Floats) -> Floats | None:
        """Weights [k] far inside the part of the cone where what is optimal for w is so as well, in
        states without a choice: under these the choices are optimal indeed; None if there are none.
        """
        if not self.small:
            return None
        dynamics = self.mdp.dynamics
        chosen = np.logical_or.reduceat(self.tight, dynamics.offsets[:-1])[dynamics.pair_states]
        best = optimal_policy(self.mdp, w).policy.probabilities == 1.0
        return OptimalCone(self.mdp, self.tight | (best & ~chosen), self.never).centre()

    def extremes(self, start: Floats) -> list[Floats]:
        """The most and the least that each weight can be; of one whose sign is that of all, the
        end towards 0 is sought beside what lies along `start` [k]."""
        if not self.small:
            return []
        ends: list[Floats] = []
        for axis, most, there in zip(_axes(self.k), *self.reach, strict=True):
            end = _unit(there) if most > NOTHING else None
            if end is None:
                found = self._least(-axis, start, 1.0, LONGEST)
                end = None if found.status != 0 else _unit(np.asarray(found.x)[: self.k])
            ends += [] if end is None else [end]
        return ends

    @cached_property
    def reach(self) -> tuple[Floats, Floats]:
        """How far weights of length 1 in the cone go in the direction of each axis, and then
        against it: array [2k], at most, proved, and from 0 to 1; and array [2k, k], weights that go
        there, zeros if they are not known."""
        most, there = zip(*map(self._furthest, _axes(self.k)), strict=True)
        return np.array(most), np.array(there)

    def ends(self, start: Floats) -> tuple[Floats, Floats] | None:
        """Between which each weight lies, of weights of length 1 in the cone, where what is less
        than a millionth counts as 0; None if the world is too large for programs.

        Away from 0 the ends are those of the cone (`reach`). If no w_i is positive, its end towards
        0 is 0, or below, if all weights lie on the side of `start` [k], of length 1: with
        w_i ≤ −m and ‖w‖ ≤ l for those with ⟨start, w⟩ = 1, w_i ≤ −m/l for those of length 1.
        """
        if not self.small:
            return None
        most = self.reach[0].copy()
        signed = np.flatnonzero(most <= NOTHING)
        most[signed] = 0.0
        if len(signed) and self._least(np.zeros(self.k), start, -1.0).status == INFEASIBLE:
            most[signed] = [min(self._beside(start, _axes(self.k)[side]), 0.0) for side in signed]
        if (most < -NOTHING).any():
            sides = np.array([self._beside(start, axis) for axis in _axes(self.k)])
            longest = float(np.linalg.norm(sides.reshape(2, -1).max(axis=0)))
            most[signed] /= longest
        most[np.abs(most) <= NOTHING] = 0.0
        return -most[self.k :] + 0.0, most[: self.k]

    def _beside(self, start: Floats, axis: Floats) -> float:
        """How far weights with ⟨start, w⟩ = 1 go in a direction; ∞ if that is not known."""
        found = self._least(-axis, start, 1.0)
        return -float(found.fun) if found.status == 0 else math.inf

    def _furthest(self, axis: Floats) -> tuple[float, Floats]:
        """How far weights of length 1 go in a direction [k], and weights that do, as a solver found
        them; multipliers that it found prove the first, and are checked here."""
        import clarabel

        equal, slack, k = self.equal, self.slack, self.k
        columns, (n_equal, n_slack) = slack.shape[1], (equal.shape[0], slack.shape[0])
        objective = np.append(axis, np.zeros(columns - k))
        ball = -sp.eye_array(k, columns, format="csr")
        table = sp.csc_matrix(sp.vstack([equal, -slack, sp.csr_array((1, columns)), ball]))
        right = np.zeros(table.shape[0])
        right[n_equal + n_slack] = 1.0
        cones = [
            clarabel.ZeroConeT(n_equal),
            clarabel.NonnegativeConeT(n_slack),
            clarabel.SecondOrderConeT(k + 1),
        ]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = TOLERANCE
        square = sp.csc_matrix((columns, columns))
        found = clarabel.DefaultSolver(square, -objective, table, right, cones, settings).solve()
        y, z = np.split(np.array(found.z)[: n_equal + n_slack], [n_equal])
        z = np.maximum(z, 0.0)
        left = np.abs(objective - equal.T @ y + slack.T @ z)
        sizes = np.abs(objective) + abs(equal).T @ np.abs(y) + abs(slack).T @ z
        left += sum_error(n_equal + n_slack + 4, 1.0) * sizes
        most = float(np.linalg.norm(left[:k])) + self.values_at_most * float(left[k:].sum())
        there = np.array(found.x)[:k]
        if not (math.isfinite(most) and np.isfinite(there).all()):  # a solver that broke down
            return 1.0, np.zeros(k)
        return min(up(most), 1.0), there

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


def _axes(k: int) -> Floats:
    """array [2k, k]: the directions in which weights grow, and those in which they fall."""
    return np.vstack([np.eye(k), -np.eye(k)])


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
