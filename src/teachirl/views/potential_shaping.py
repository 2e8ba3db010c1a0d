"""Directions that cannot tell policies apart: ⟨c, μ⟩ is the same for all feature expectations μ.

They are those for which ⟨c, φ⟩ is potential-shaped, ⟨c, φ(s, a)⟩ = h(s) − γ E h(s′) for some h, on
all pairs that can be reached. For any H [S, k] at all, with D(s, a) = φ(s, a) − H(s) + γ E H(s′),

    ⟨c, μ⟩ = ⟨c, E H(s₀)⟩ + Σ x(s, a)⟨c, D(s, a)⟩,  x the occupancy,

so that ⟨c, μ⟩ varies by at most 2 max|Dc|/(1 − γ). With H the successor features of some policy, D
are its advantage features, and Dc = 0 for all c that are sought: they are the null space of D.
Being computed, it is only nearly one; what |Dc| is for the c that were found bounds what they
neglect.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..arrays import Floats, frozen
from ..mdp import clock
from ..mdp.evaluation import Chain
from ..mdp.model import MDP
from ..precision import DEPENDENT, EPS
from .linear_algebra import without_span

BLOCK = 1 << 21  # numbers in a block of rows or columns


@dataclass(frozen=True, eq=False)
class Indistinct:
    """The directions in feature space that cannot tell an MDP's policies apart.

    Attributes
    ----------
    basis : array [d, k], orthonormal rows N
    slack : float, with |⟨c, μ − μ′⟩| ≤ slack for all unit c in their span and all μ, μ′ of the MDP.
        It is 0 but for what is neglected. So with P = I − NᵀN, ⟨w, μ − μ′⟩ and ⟨Pw, μ − μ′⟩ differ
        by at most ‖Nw‖·slack, and ‖A(μ − μ′)‖ ≤ ε implies ‖AP(μ − μ′)‖ ≤ ε + ‖ANᵀ‖·slack. AP is
        ``view.without(N)``, which decides its rank relative to A
    """

    basis: Floats
    slack: float

    def project(self, vectors: Floats) -> Floats:
        """Vectors without what cannot tell policies apart: P times each.

        Parameters
        ----------
        vectors : array [k] or [n, k]

        Returns
        -------
        array of the same shape
        """
        return without_span(self.basis, vectors)


def indistinct_directions(mdp: MDP) -> Indistinct:
    """The directions c with ⟨c, μ⟩ the same for all policies; of one MDP they are found once.

    Needs memory for one number a state and feature, and some time: of the order of a factorisation
    of the MDP, or 50 products with its transitions, for each feature.

    Parameters
    ----------
    mdp : MDP

    Returns
    -------
    Indistinct

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> from teachirl.views.potential_shaping import indistinct_directions
    >>> never = indistinct_directions(ti.worlds.chain(5))  # all cells, and cells of equal parity
    >>> never.basis.shape, bool(np.abs(never.project(np.ones(5))).max() < 1e-14)
    ((2, 5), True)
    """
    if mdp not in _known:
        _known[mdp] = _found(mdp)
    return _known[mdp]


_known: WeakKeyDictionary[MDP, Indistinct] = WeakKeyDictionary()


def _found(mdp: MDP) -> Indistinct:
    if mdp.n_features == 0:
        return Indistinct(frozen(np.empty((0, 0))), 0.0)
    world = _Reachable(mdp)
    scales = world.largest_features()
    potentials = world.potentials(scales)
    least = max(DEPENDENT, 64 * EPS * math.sqrt(mdp.n_pairs) / (1.0 - mdp.discount))
    candidates = _null_space(world.sketch(scales, potentials), 8.0 * least)
    # All pairs decide among the few directions that are left.
    potentials = potentials @ candidates.T
    chosen = _null_space(world.advantages(candidates.T / scales[:, None], potentials), least)
    if len(chosen) == 0:
        return Indistinct(frozen(chosen @ candidates), 0.0)
    # Back from features of size 1 to those of the MDP: ⟨c, φ⟩ = ⟨ĉ, φ/scales⟩ for c = ĉ/scales.
    basis, mixing = np.linalg.qr(((chosen @ candidates) / scales).T)
    potentials = np.linalg.lstsq(mixing.T, chosen @ potentials.T, rcond=None)[0].T
    kept, slack = world.slack(basis, potentials, scales)
    return Indistinct(frozen(np.ascontiguousarray(basis[:, kept].T)), slack)


def _null_space(matrix: Floats, least: float) -> Floats:
    """The directions [d, k] along which a matrix [n, k] is at most `least`."""
    if len(matrix) > 2 * matrix.shape[1]:
        matrix = np.asarray(np.linalg.qr(matrix, mode="r"))
    if len(matrix) == 0:
        return np.eye(matrix.shape[1])
    _, sizes, directions = np.linalg.svd(matrix, full_matrices=True)
    return np.asarray(directions[np.count_nonzero(sizes > least) :])


class _Reachable:
    """The part of an MDP that some policy reaches: n states and their pairs, numbered anew.

    Attributes
    ----------
    transitions : sparse array [pairs, n]
    states : int array [pairs], the state of each pair
    first : int array [n], each state's first pair; to take those is the policy whose successor
        features are computed
    features : array or sparse array, [n, k] or [pairs, k]
    """

    def __init__(self, mdp: MDP) -> None:
        dynamics = mdp.dynamics
        reached = dynamics.reachable
        numbers = np.full(mdp.n_states, -1)
        numbers[reached] = np.arange(len(reached))
        pairs = np.flatnonzero(numbers[dynamics.pair_states] >= 0)
        self.discount = mdp.discount
        self.states = numbers[dynamics.pair_states[pairs]]
        self.first = np.searchsorted(self.states, np.arange(len(reached)))
        # All that these pairs lead to is among the reached: no column is lost.
        self.transitions = sp.csr_array(dynamics.transitions[pairs][:, reached])
        self.per_pair = mdp.features_per_pair
        self.features = mdp.features[pairs if self.per_pair else reached]
        chain = sp.csr_array(self.transitions[self.first])
        rows = chain.indptr.astype(np.int64), chain.indices.astype(np.uint32), chain.data
        self._chain = Chain(rows, mdp.discount)

    def solve(self, rewards: Floats) -> Floats:
        """(I − γP)⁻¹ of columns [n, m], P the policy's chain. Its errors only show in the slack."""
        return self._chain.values(rewards).x

    def largest_features(self) -> Floats:
        """max |φ_i| of each feature, array [k]; 1 where that is 0."""
        sizes: Any = abs(self.features)
        largest = sizes.max(axis=0)
        scales = largest if isinstance(largest, np.ndarray) else largest.toarray()
        return np.where(scales > 0.0, scales, 1.0).ravel()

    def advantages(self, directions: Floats, potentials: Floats) -> Floats:
        """Dc of all pairs, [pairs, d], for the columns c of `directions` [k, d] and Hc of
        `potentials` [n, d]."""
        along = np.asarray(self.features @ directions)
        along = along if self.per_pair else along[self.states]
        ahead = self.discount * (self.transitions @ potentials)
        return np.asarray(along - potentials[self.states] + ahead)

    def sketch(self, scales: Floats, potentials: Floats) -> Floats:
        """D, for the features divided by `scales`, or a matrix of fewer rows and about its lengths.

        Each row is a sum of rows of D with random signs. What is no direction of D's null space is
        none of the sum's, but by bad luck; what is one of D's is one of the sum's.
        """
        others = np.delete(np.arange(len(self.states)), self.first)  # there D = 0 by construction
        k = len(scales)
        n_rows = min(4 * k, len(others))
        sums = np.zeros((n_rows, k))
        rng = np.random.default_rng(0)  # one sketch is as good as another: what it finds is checked
        length = max(BLOCK // k, n_rows)
        for first in range(0, len(others), length):
            clock.look()
            pairs = others[first : first + length]
            features = self.features[pairs if self.per_pair else self.states[pairs]]
            rows = features if isinstance(features, np.ndarray) else features.toarray()
            rows = rows / scales - potentials[self.states[pairs]]
            rows += self.discount * (self.transitions[pairs] @ potentials)
            if n_rows == len(others):
                return np.asarray(rows)
            signs = rng.choice((-1.0, 1.0), len(pairs))
            places = rng.integers(n_rows, size=len(pairs))
            choose = (signs, (places, np.arange(len(pairs))))
            sums += sp.csr_array(choose, shape=(n_rows, len(pairs))) @ rows
        return sums

    def potentials(self, scales: Floats) -> Floats:
        """The successor features H [n, k] of a policy, for the features divided by `scales`."""
        potentials = np.empty((len(self.first), len(scales)))
        width = max(BLOCK // len(self.first), 1)
        for start in range(0, len(scales), width):
            clock.look()
            part = slice(start, start + width)
            rows = self.features[self.first] if self.per_pair else self.features
            rows = rows[:, part] if isinstance(rows, np.ndarray) else rows[:, part].toarray()
            potentials[:, part] = self.solve(rows / scales[part])
        return potentials

    def slack(
        self, basis: Floats, potentials: Floats, scales: Floats
    ) -> tuple[NDArray[np.bool_], float]:
        """How much ⟨c, μ⟩ can vary for unit c in the span of columns of `basis` [k, d], and which
        columns are meant: those for which it hardly can. Any `potentials` [n, d] would do.

        ⟨c, μ⟩ is a constant plus Σ x(s, a)(Dc(s, a) − m), whatever m, but for rows of probabilities
        that do not sum to 1 exactly: Σ x then differs between policies.
        """
        gamma, (k, _) = self.discount, basis.shape
        middle = potentials.mean(axis=0)
        potentials = potentials - middle  # of larger numbers more would be rounded
        m = (1.0 - gamma) * middle
        potentials += self.solve((self.advantages(basis, potentials) - m)[self.first])
        values = np.abs(self.advantages(basis, potentials) - m)
        sizes = np.asarray(abs(self.features) @ np.abs(basis))
        sizes = sizes if self.per_pair else sizes[self.states]
        swings = np.abs(potentials)
        swings = swings[self.states] + gamma * (self.transitions @ swings)
        longest = int(np.diff(self.transitions.indptr).max())
        values += EPS * ((k + 4) * sizes + (longest + 4) * swings + np.abs(m))
        # A direction is given up if what it neglects is more than this share of Σ |c_i| max |φ_i|.
        kept = values.max(axis=0) <= 1e-6 * (scales @ np.abs(basis))
        spread = float(np.sqrt((values[:, kept] ** 2).sum(axis=1)).max(initial=0.0))
        sums = self.transitions @ np.ones(self.transitions.shape[1])
        off = float(np.abs(sums - 1.0).max()) + (longest - 1) * EPS
        drift = off * float(np.linalg.norm(middle[kept]))
        return kept, (1.0 + 1e-6) * 2.0 * (spread + drift) / (1.0 - gamma)
