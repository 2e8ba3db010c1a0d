"""A world that is known from a log: each row of its transitions lies in a set.

What follows a pair is one of its allowed successors, with probabilities p that have

    lower ≤ p ≤ upper,   Σ p = 1,   ‖p − p̂‖₁ ≤ radius.

The sets of different pairs have nothing to do with each other. So whoever plans with the sets, or
against them, does it state by state, and the feature expectations of all policies in all worlds of
the sets are a convex set.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..arrays import Floats, Ints, Names, as_floats, at, check_finite, frozen
from ..errors import require
from ..figures.cards import card
from ..figures.digits import counted
from ..precision import EPS
from .building import checked_transitions
from .dynamics import Dynamics
from .kernels.robust import Sets
from .model import MDP, check_is_mdp

# By so much, relatively, a row of estimates may miss 1, and a bound its estimate.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class EstimatedMDP:
    """An MDP whose transitions are known up to a set each: made by `estimate_mdp`.

    Planning, `worst_case`, `certify` and `Task` take it where they take an MDP, and what they prove
    holds in every world of the sets. Whatever else wants an MDP can have the `nominal` one, and
    then takes the estimate for the truth.

    Parameters
    ----------
    nominal : MDP, the estimate
    successors : sparse array [P, S], the estimates of all that may follow a pair; a stored 0 is a
        successor that was not seen yet
    lower, upper : arrays [n], bounds on the probability of each stored successor
    radius : array [P], how far each row may be from its estimate, in the 1-norm
    tries : int array [P], how often each pair was tried
    confidence : float in (0, 1], with which all sets hold at the same time
    outcomes : array [n, k], features of each pair and what follows it; None if features are those
        of states or pairs, as the nominal MDP has them

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> counts = np.array([[[6, 4]], [[0, 9]]])  # of states, actions and next states
    >>> ti.estimate_mdp(counts, np.eye(2), discount=0.9)
    EstimatedMDP(2 states, 2 state-action pairs, from 19 steps, confidence 0.95)
    """

    nominal: MDP
    successors: sp.csr_array
    lower: Floats
    upper: Floats
    radius: Floats
    tries: Ints
    confidence: float = 1.0
    outcomes: Floats | None = None

    def __post_init__(self) -> None:
        check_is_mdp(self.nominal)
        rows: sp.csr_array = self.successors
        n, pairs = rows.nnz, self.nominal.n_pairs
        shape = (pairs, self.nominal.n_states)
        require(rows.shape == shape, f"successors must have shape {shape}, got {rows.shape}")
        for name, size in (("lower", n), ("upper", n), ("radius", pairs)):
            array = np.array(as_floats(name, getattr(self, name)))
            require(array.shape == (size,), f"{name} must have shape ({size},), got {array.shape}")
            check_finite(name, array)
            object.__setattr__(self, name, frozen(array))
        tries = np.array(self.tries, dtype=np.int64)
        require(
            tries.shape == (pairs,) and bool((tries >= 0).all()),
            f"tries must be {pairs} numbers, none of them negative",
        )
        object.__setattr__(self, "tries", frozen(tries))
        require(0 < self.confidence <= 1, f"confidence must lie in (0, 1], got {self.confidence!r}")
        estimate = np.asarray(rows.data)
        for name, wrong in (
            (
                "lower must lie between 0 and the estimates",
                (self.lower < 0.0) | (self.lower > estimate * (1.0 + ROUNDING)),
            ),
            (
                "upper must lie between the estimates and 1",
                (self.upper > 1.0) | (self.upper < estimate * (1.0 - ROUNDING)),
            ),
        ):
            bad = np.argwhere(wrong)
            require(len(bad) == 0, f"{name}, got {at(getattr(self, name.split()[0]), bad)}")
        require(bool((self.radius >= 0.0).all()), "radius must not be negative")
        self._check_estimate()
        for part in (rows.data, rows.indices, rows.indptr):
            part.setflags(write=False)
        if self.outcomes is not None:
            phi = np.array(as_floats("outcomes", self.outcomes))
            wanted = (n, self.nominal.n_features)
            require(phi.shape == wanted, f"outcomes must have shape {wanted}, got {phi.shape}")
            check_finite("outcomes", phi)
            object.__setattr__(self, "outcomes", frozen(phi))

    def _check_estimate(self) -> None:
        """The nominal MDP must be the one of the estimates."""
        rows = self.nominal.dynamics.transitions - self.successors
        off = float(abs(rows).max()) if rows.nnz else 0.0
        require(
            off <= ROUNDING, f"nominal must have the transitions of successors, but is off by {off}"
        )

    def __repr__(self) -> str:
        missing = len(self.untried)
        never = f", {missing} of them never tried" if missing else ""
        return (
            f"EstimatedMDP({counted(self.n_states, 'state')}, "
            f"{counted(self.n_pairs, 'state-action pair')}{never}, from "
            f"{counted(self.n_steps, 'step')}, confidence {self.confidence:g})"
        )

    def _repr_html_(self) -> str:
        facts = (
            ("states", f"{self.n_states}"),
            ("state-action pairs", f"{self.n_pairs}"),
            ("never tried", f"{len(self.untried)}"),
            ("steps", f"{self.n_steps}"),
            ("features", f"{self.n_features}"),
            ("discount", f"{self.discount:g}"),
            ("confidence", f"{self.confidence:g}"),
        )
        return card("A world known from a log", facts)

    @property
    def n_states(self) -> int:
        """int S, how many states there are."""
        return self.nominal.n_states

    @property
    def n_pairs(self) -> int:
        """int P, how many pairs of a state and an action there are."""
        return self.nominal.n_pairs

    @property
    def n_features(self) -> int:
        """int k, how many features there are."""
        return self.nominal.n_features

    @property
    def feature_names(self) -> Names | None:
        """tuple of k str, or None where features are numbered."""
        return self.nominal.feature_names

    @property
    def discount(self) -> float:
        """float γ in (0, 1)."""
        return self.nominal.discount

    @property
    def start(self) -> Floats:
        """array [S], the distribution of the first state, which is taken as known."""
        return self.nominal.start

    @property
    def n_steps(self) -> int:
        """int, how many steps of the log the estimates come from."""
        return int(self.tries.sum())

    @cached_property
    def untried(self) -> Ints:
        """int array, the pairs that were never tried though more than one state may follow."""
        open_ = np.diff(self.successors.indptr) > 1
        return frozen(np.flatnonzero((self.tries == 0) & open_))

    @cached_property
    def sets(self) -> Sets:
        """The same for the kernels."""
        rows = self.successors
        # No more can move than there is, nor than there is room for. All of this is rounded, as
        # the radius and the estimates are: a few units in the last place more do no harm.
        there, room = (
            np.add.reduceat(np.maximum(part, 0.0), rows.indptr[:-1])
            for part in (rows.data - self.lower, self.upper - rows.data)
        )
        rounded = np.diff(rows.indptr) * ROUNDING
        most = np.minimum(np.minimum(there, room) + rounded, 0.5 * self.radius)
        return Sets(
            frozen(rows.indptr.astype(np.int64)),
            frozen(rows.indices.astype(np.uint32)),
            rows.data,
            self.lower,
            self.upper,
            frozen(most * (1.0 + 8.0 * EPS)),
        )

    @cached_property
    def longest_row(self) -> int:
        """int, how many states may follow a pair, at most."""
        return int(np.diff(self.successors.indptr).max())

    @cached_property
    def owners(self) -> Ints:
        """int array [n], the pair that each stored successor belongs to."""
        return frozen(np.repeat(np.arange(self.n_pairs), np.diff(self.successors.indptr)))

    @cached_property
    def possible(self) -> MDP:
        """The MDP in which all that may follow a pair is equally likely: what can have happened in
        the world can happen there."""
        lengths = np.diff(self.successors.indptr)
        return self.world(np.repeat(1.0 / lengths, lengths))

    @property
    def numbers(self) -> Floats:
        """array, all that makes the sets, one after the other: for fingerprints."""
        rows = self.successors
        more = [] if self.outcomes is None else [self.outcomes.ravel()]
        parts = (rows.indptr, rows.indices, rows.data, self.lower, self.upper, self.radius)
        return np.concatenate([*map(np.asarray, parts), [self.confidence], *more]).astype(float)

    @cached_property
    def largest_entries(self) -> Floats:
        """max |φ_j| of each feature, array [k]."""
        if self.outcomes is None:
            return self.nominal.largest_entries
        return frozen(np.abs(self.outcomes).max(axis=0, initial=0.0))

    @cached_property
    def largest_feature(self) -> float:
        """max ‖φ‖ over all states, pairs, or pairs and what follows them."""
        if self.outcomes is None:
            return self.nominal.largest_feature
        scale = float(np.abs(self.outcomes).max(initial=0.0))
        if scale == 0.0:
            return 0.0
        return scale * math.sqrt(float(((self.outcomes / scale) ** 2).sum(axis=1).max()))

    def feature_name(self, feature: int) -> str:
        """The name of a feature, in quotes, or its number if features have no names.

        Parameters
        ----------
        feature : int

        Returns
        -------
        str
        """
        return self.nominal.feature_name(feature)

    def pair_name(self, pair: int) -> str:
        """What a pair is called: its state and its action.

        Parameters
        ----------
        pair : int

        Returns
        -------
        str
        """
        dynamics: Dynamics = self.nominal.dynamics
        state = dynamics.state_name(int(dynamics.pair_states[pair]))
        return f"{state}, {dynamics.action_name(int(dynamics.actions[pair]))}"

    def checked_weights(self, weights: ArrayLike) -> Floats:
        """Weights as a float array, or an error that says why not.

        Parameters
        ----------
        weights : array [k] or [m, k]

        Returns
        -------
        array of the same shape
        """
        return self.nominal.checked_weights(weights)

    def rewards(self, weights: ArrayLike) -> Floats:
        """⟨w, φ⟩ for each row of the features.

        Parameters
        ----------
        weights : array [k], or [m, k] for many rewards at once

        Returns
        -------
        array [S], [P] or, of features of what follows, [n]; or [m, …]
        """
        if self.outcomes is None:
            return self.nominal.rewards(weights)
        w = self.checked_weights(weights)
        return np.ascontiguousarray((self.outcomes @ w.T).T)

    def rewards_of_pairs(self, directions: Floats) -> tuple[Floats, Floats]:
        """⟨d, φ⟩ of each pair, and of each successor of it: arrays [P, m] and [n, m], the latter
        [0, m] where features are not those of what follows.

        Parameters
        ----------
        directions : array [m, k]

        Returns
        -------
        tuple of two arrays
        """
        m = len(directions)
        if self.outcomes is not None:
            return np.zeros((self.n_pairs, m)), np.ascontiguousarray(self.outcomes @ directions.T)
        features: Any = self.nominal.features
        along = np.asarray(features @ np.ascontiguousarray(directions.T))
        if not self.nominal.features_per_pair:
            along = along[self.nominal.dynamics.pair_states]
        return np.ascontiguousarray(along), np.empty((0, m))

    def expectations(self, visits: Floats, flow: Floats) -> Floats:
        """Feature expectations of who visits pairs and moves on so often.

        Parameters
        ----------
        visits : array [P], discounted
        flow : array [n], how often each stored successor follows

        Returns
        -------
        array [k]
        """
        if self.outcomes is not None:
            return flow @ self.outcomes
        nominal = self.nominal
        rows = visits
        if not nominal.features_per_pair:
            rows = np.add.reduceat(visits, nominal.dynamics.offsets[:-1])
        return np.asarray(nominal.features_transposed @ rows)

    def world(self, rows: Floats) -> MDP:
        """The MDP of the sets whose transitions are these.

        Parameters
        ----------
        rows : array [n], the probability of each stored successor

        Returns
        -------
        MDP
        """
        nominal, known = self.nominal, self.successors
        transitions = sp.csr_array((np.array(rows), known.indices, known.indptr), shape=known.shape)
        features: Any = nominal.features
        if self.outcomes is not None:
            each = transitions.data[:, None] * self.outcomes
            features = np.add.reduceat(each, known.indptr[:-1], axis=0)
        moves = checked_transitions(transitions, nominal.dynamics, normalize=True)
        return MDP(replace(nominal.dynamics, transitions=moves), features, nominal.feature_names)


AnyMDP: TypeAlias = MDP | EstimatedMDP


def nominal_of(mdp: AnyMDP) -> MDP:
    """The MDP itself, or the estimate of one that is known from a log."""
    if isinstance(mdp, EstimatedMDP):
        return mdp.nominal
    check_is_mdp(mdp)
    return mdp


__all__ = ["AnyMDP", "EstimatedMDP", "nominal_of"]
