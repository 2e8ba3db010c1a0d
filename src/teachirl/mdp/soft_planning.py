"""Soft planning: policies that prefer better actions, but not always take the best.

At temperature τ the soft Bellman equation of reward ⟨θ, φ⟩ and its policy are

    V(s) = τ log Σ_a exp(Q(s, a)/τ),  Q(s, a) = ⟨θ, φ(s, a)⟩ + γ E V(s′),  π = exp((Q − V)/τ).

Among all policies, π has the largest ⟨θ, μ(π)⟩ + τ H(π), with H the discounted causal entropy
E Σ γᵗ H(π(· | s_t)), and that is ⟨start, V⟩. Divided by τ it is the same with θ/τ and temperature
1: all is computed so. With Ψ the successor features of π, D(s, a) = φ(s, a) + γ E Ψ(s′) − Ψ(s) its
advantage features, x its occupancy, and τ = 1,

    ∂⟨start, V⟩/∂θ = μ(π),    ∂μ/∂θ = Σ x(s, a) D(s, a) D(s, a)ᵀ,    ∂ log π(a | s)/∂θ = D(s, a).

For any v, with l ≤ Tv − v ≤ h, Tv + γ l/(1 − γ) ≤ V ≤ Tv + γ h/(1 − γ), as T is monotone and
T(v + c) = Tv + γc: that bounds the error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ..arrays import Floats, Ints, frozen
from ..errors import require
from ..figures.digits import number
from ..precision import EPS, RESIDUAL, SQUARED
from . import kernels
from .kernels.layouts import sparse_layout
from .model import MDP, check_is_mdp
from .pieces import likelihood_found, soft_solved, system_solved
from .policy import Policy

# Newton's method needs a handful of rounds, or some more where the policy is nearly deterministic.
ROUNDS = 500


@dataclass(frozen=True, eq=False)
class SoftPlan:
    """The soft-optimal policy of a reward.

    Attributes
    ----------
    policy : Policy, stochastic
    value : float, ⟨weights, μ(π)⟩ + τ H(π), the largest there is
    error : float, bound on the error of `value` and of `values`
    values : array [S]

    Examples
    --------
    >>> import teachirl as ti
    >>> plan = ti.soft_policy(ti.worlds.chain(3), [0, 0, 1])
    >>> f"{plan.value:.3f}", plan.error < 1e-9
    ('6.430', True)
    """

    policy: Policy
    value: float
    error: float
    values: Floats

    def __repr__(self) -> str:
        return f"SoftPlan(value {number(self.value)}, error {self.error:.1g})"


def soft_policy(mdp: MDP, weights: ArrayLike, *, temperature: float = 1.0) -> SoftPlan:
    """The policy with the largest ⟨weights, μ(π)⟩ + temperature · H(π), H the causal entropy.

    Parameters
    ----------
    mdp : MDP
    weights : array [k]
    temperature : float, τ > 0; the smaller, the closer to an optimal policy

    Returns
    -------
    SoftPlan

    Examples
    --------
    >>> import teachirl as ti
    >>> plan = ti.soft_policy(ti.worlds.chain(3), [0, 0, 1])
    >>> plan.policy.matrix().round(3)
    array([[0.   , 1.   ],
           [0.289, 0.711],
           [1.   , 0.   ]])
    """
    check_is_mdp(mdp)
    check_temperature(temperature)
    w = mdp.checked_weights(weights)
    require(w.ndim == 1, f"weights must have shape ({mdp.n_features},), got {w.shape}")
    size = kernels.length(w) * mdp.largest_feature
    require(
        # What values at temperature 1 may be.
        size <= 1e280 * (1.0 - mdp.discount) * min(temperature, 1.0),
        f"temperature is too low for rewards of the order of {size:.3g}, got {temperature!r}",
    )
    point = SoftModel(mdp).at(w / temperature)
    return SoftPlan(
        Policy(mdp.dynamics, chances=point.chances),
        temperature * point.value,
        temperature * point.error,
        frozen(temperature * point.values),
    )


def check_temperature(temperature: float) -> None:
    """Refuse a temperature that is not positive."""
    require(
        isinstance(temperature, (int, float, np.floating)) and 0.0 < temperature < math.inf,
        f"temperature must be positive and finite, got {temperature!r}",
    )


@dataclass(frozen=True, eq=False)
class SoftPoint:
    """The soft plan of weights θ [k] at temperature 1: what `SoftModel.at` finds.

    Attributes
    ----------
    theta : array [k]
    values : array [S]
    value : ⟨start, V⟩
    error : bound on the error of the values
    chances : array [P], the policy
    """

    theta: Floats
    values: Floats
    value: float
    error: float
    chances: Floats


class SoftModel:
    """An MDP laid out for many soft plans of many rewards.

    The chain P_π of every policy has its entries in the same places, `ahead` of a state: `slots`
    says in which of them an entry of the pairs' rows is added up. Its transpose has them in the
    order `by_target`. So nothing but their values is ever computed anew.
    `largest` [k] is max |φ_i|/(1 − γ), which no policy's expectations exceed.
    """

    def __init__(self, mdp: MDP) -> None:
        dynamics, rows = mdp.dynamics, mdp.dynamics.transitions
        # One type of index where it suffices: kernels are compiled anew for each.
        index = np.int32 if rows.nnz < np.iinfo(np.int32).max else np.int64
        indptr: NDArray[Any] = rows.indptr.astype(index, copy=False)
        indices: NDArray[Any] = rows.indices.astype(index, copy=False)
        n = mdp.n_states
        self.mdp, self.states = mdp, dynamics.pair_states
        self.rows = (dynamics.offsets, frozen(indptr), frozen(indices), rows.data)
        self.entry_pairs = np.repeat(np.arange(mdp.n_pairs), np.diff(indptr))
        sources = self.states[self.entry_pairs].astype(np.int64)
        entries, slots = np.unique(sources * n + indices, return_inverse=True)
        self.slots = frozen(slots.astype(index))
        here, there = np.divmod(entries, n)
        # The types of a `Chain`, for which the same kernels are compiled.
        self.ahead = (_starts(here, n), there.astype(np.uint32))
        self.by_target = np.argsort(there, kind="stable")
        self.behind = (_starts(there, n), here[self.by_target].astype(np.uint32))
        self.rounding = kernels.rounding_of(sparse_layout(dynamics))
        sizes: Any = abs(mdp.features)
        most = sizes.max(axis=0)
        most = most if isinstance(most, np.ndarray) else most.toarray().ravel()
        self.largest = np.asarray(most) / (1.0 - mdp.discount)

    def at(self, theta: Floats, guess: Floats | None = None) -> SoftPoint:
        """The soft plan of θ; `guess` [S] are values to start from."""
        mdp, gamma = self.mdp, self.mdp.discount
        r, middle, most = self._centred(theta)
        v = np.zeros(mdp.n_states) if guess is None else np.array(guess)
        chain = kernels.Flow(*self.ahead, np.empty(len(self.by_target)), gamma)
        backed_up, chances, low, high, largest = soft_solved(
            self.rows, chain, self.slots, r, v, self.rounding, ROUNDS
        )
        beyond = gamma / (1.0 - gamma)
        shift = middle / (1.0 - gamma) + beyond * 0.5 * (low + high)
        values = backed_up + shift
        largest += most + abs(middle)
        rounded = (len(theta) + 1) * EPS * float(np.abs(theta) @ self.largest)
        rounded += 2.0 * self.rounding * largest / (1.0 - gamma)
        error = beyond * 0.5 * (high - low) + rounded
        return SoftPoint(theta, values, float(mdp.start @ values), error, chances)

    def _centred(self, theta: Floats) -> tuple[Floats, float, float]:
        """The pairs' rewards [P] without their middle, that middle, and the largest of them: a
        constant reward adds a constant to all values, and less is rounded without it."""
        r = self.mdp.earned(theta)
        low, high = float(np.minimum.reduce(r)), float(np.maximum.reduce(r))
        middle = 0.5 * (low + high)
        if not math.isfinite(middle):
            self.mdp.checked_weights(theta)  # which says what is wrong
        r = r - middle
        r = r if self.mdp.features_per_pair else r[self.states]
        return r, middle, max(middle - low, high - middle)

    def likelihoods(
        self, w: Floats, choices: tuple[Ints, Floats, Floats], halvings: int
    ) -> Callable[[float, Floats], float]:
        """Of a scale β, how likely choices are to the soft policy of βw with the best rate of
        slips, as `soft_likelihood` says, from values v [S] on, which become those of βw."""
        chain = kernels.Flow(*self.ahead, np.empty(len(self.by_target)), self.mdp.discount)
        reward = self._centred(w)[0]

        def found(scale: float, v: Floats) -> float:
            return likelihood_found(
                *(self.rows, chain, self.slots, reward, scale),
                *(v, self.rounding, ROUNDS, choices, halvings),
            )

        return found

    def chain(self, chances: Floats) -> Floats:
        """The entries of P_π."""
        moved: Floats = self.rows[3] * chances[self.entry_pairs]
        return np.bincount(self.slots, moved, len(self.by_target)).astype(float, copy=False)

    def forward(self, chances: Floats) -> kernels.Flow:
        """I − γ P_π, for what is ahead of a state."""
        return kernels.Flow(*self.ahead, self.chain(chances), self.mdp.discount)

    def backward(self, chances: Floats) -> kernels.Flow:
        """I − γ P_πᵀ, for what flows into a state."""
        moved = self.chain(chances)[self.by_target]
        return kernels.Flow(*self.behind, moved, self.mdp.discount)

    def visits(self, chances: Floats, source: Floats | None = None) -> Floats:
        """y [S] with (I − γ P_πᵀ) y = source; by default the start, and y how often π is where."""
        gamma = self.mdp.discount
        b = np.array(self.mdp.start if source is None else source)
        goal = max(1e-13, RESIDUAL / (1.0 - gamma)) * float(np.abs(b).sum())
        y = system_solved(self.backward(chances), b, b / (1.0 - gamma), goal)
        return np.maximum(y, 0.0) if source is None else y

    def log_chances(self, point: SoftPoint) -> Floats:
        """log π [P], also of what is too unlikely to have a chance above 0."""
        mdp = self.mdp
        r = mdp.rewards(point.theta)
        r = r if mdp.features_per_pair else r[self.states]
        ahead = mdp.discount * np.asarray(mdp.dynamics.transitions @ point.values)
        return np.minimum(r + ahead - point.values[self.states], 0.0)

    def expectations(self, chances: Floats, visits: Floats) -> Floats:
        """μ [k] of the policy, given how often it visits each state."""
        per_pair = self.mdp.features_per_pair
        return np.asarray(
            self.mdp.features.T @ (visits[self.states] * chances if per_pair else visits)
        )

    def advantages(self, chances: Floats) -> Floats:
        """D [P, k], the advantage features of the policy."""
        mdp, gamma = self.mdp, self.mdp.discount
        phi: Any = mdp.features
        rows: Any = sp.csr_array(
            (chances, np.arange(mdp.n_pairs), mdp.dynamics.offsets),
            shape=(mdp.n_states, mdp.n_pairs),
        )
        mine = rows @ phi if mdp.features_per_pair else phi
        mine = np.asarray(mine if isinstance(mine, np.ndarray) else mine.toarray())
        operator = self.forward(chances)
        psi = np.empty_like(mine)
        for i in range(mine.shape[1]):
            b = np.ascontiguousarray(mine[:, i])
            goal = 1e-12 * float(np.abs(b).sum())
            psi[:, i] = system_solved(operator, b, b / (1.0 - gamma), goal)
        ahead: Floats = gamma * np.asarray(mdp.dynamics.transitions @ psi)
        if not mdp.features_per_pair:
            return np.asarray(ahead + (mine - psi)[self.states])
        ahead += phi if isinstance(phi, np.ndarray) else phi.toarray()
        return np.asarray(ahead - psi[self.states])

    def root(self, chances: Floats, visits: Floats) -> Floats:
        """R [≤ k, k] with RᵀR = Σ y(s) π(a | s) D(s, a) D(s, a)ᵀ, for visits y [S].

        It is found by QR, in blocks of rows: squares would lose what is small.
        """
        D, shares = self.advantages(chances), np.sqrt(visits[self.states] * chances)
        # Numbers in a block of rows.
        length = max((1 << 21) // max(D.shape[1], 1), 2 * D.shape[1], 1)
        R: Floats = np.empty((0, D.shape[1]))
        for first in range(0, len(D), length):
            part = slice(first, first + length)
            R = np.asarray(np.linalg.qr(np.vstack([R, shares[part, None] * D[part]]), mode="r"))
        return R

    def coordinates(self, R: Floats, total: float) -> Floats:
        """B [k, r] with (RB)ᵀRB = I, R being a root for so many visits in `total`.

        Directions that cannot tell policies apart, up to rounding, are left out; how large a
        feature is makes no difference.
        """
        lengths = np.linalg.norm(R, axis=0)
        seen = lengths > SQUARED * math.sqrt(total) * self.largest
        lengths = np.where(seen, lengths, 1.0)
        _, values, W = np.linalg.svd(R / lengths * seen, full_matrices=False)
        kept = values > SQUARED * values.max(initial=0.0)
        return np.asarray((W[kept] / values[kept, None] / lengths).T)


def _starts(rows: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Where the entries of each of n rows start, given the row of each."""
    counts = np.bincount(rows, minlength=n)
    return np.append(0, np.cumsum(counts))
