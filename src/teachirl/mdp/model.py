"""Finite Markov decision processes, stored as state-action pairs.

States s = 0 … S−1 may have different actions. The pairs (s, a) are numbered 0 … P−1, sorted by
state and then by action; the pairs of state s are offsets[s] … offsets[s+1]−1. Transitions are one
sparse row T(· | s, a) a pair. The reward is not part of the MDP: it is ⟨w, φ⟩ for weights w given
to whoever plans; the return of a policy is E Σ γᵗ ⟨w, φ(s_t, a_t)⟩ over t = 0, 1, 2, … for ever.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..arrays import Floats, Names, as_floats, check_finite, checked_names, frozen, some
from ..errors import InvalidInputError, require
from ..figures.digits import counted
from .building import (
    assembled,
    available_pairs,
    checked_features,
    features_of_pairs,
    stacked_transitions,
)
from .cards import mdp_card
from .dynamics import Dynamics
from .npz_files import load_mdp, save_mdp

LARGE = 4096  # numbers of features from which on it pays to see which of them count
FEW = 20  # weights that Python adds up faster than NumPy


@dataclass(frozen=True, eq=False)
class MDP:
    """A finite MDP: dynamics, and the features φ that rewards are linear in.

    Parameters
    ----------
    dynamics : Dynamics
    features : array or sparse array, [S, k] per state or [P, k] per pair
    feature_names : sequence of str, k names; ``None`` numbers them

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> chain = ti.worlds.chain(3)
    >>> ti.MDP(chain.dynamics, np.ones((3, 2)), ["one", "another"])
    MDP(3 states, 4 state-action pairs, 2 features per state, discount 0.9)
    """

    dynamics: Dynamics
    features: Floats | sp.csr_array
    feature_names: Names | None = None

    def __post_init__(self) -> None:
        features = checked_features(self.features, self.dynamics)
        names = checked_names("feature_names", self.feature_names, features.shape[1])
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "feature_names", names)

    @classmethod
    def from_arrays(
        cls,
        transitions: ArrayLike | Sequence[sp.sparray | sp.spmatrix],
        features: ArrayLike | sp.sparray | sp.spmatrix,
        *,
        discount: float,
        start: ArrayLike | None = None,
        available: ArrayLike | None = None,
        state_names: Iterable[str] | None = None,
        action_names: Iterable[str] | None = None,
        feature_names: Iterable[str] | None = None,
        first: Literal["state", "action"] | None = None,
        normalize: bool = False,
    ) -> MDP:
        """An MDP from one transition matrix an action.

        Parameters
        ----------
        transitions : array [S, A, S], or [A, S, S] with ``first="action"``; or sequence of A sparse
            arrays [S, S]
        features : array [S, k] per state, or [S, A, k] or sparse [P, k] per pair
        discount : float, γ in (0, 1)
        start : array [S]; uniform by default
        available : bool array [S, A], which actions exist where; all by default
        state_names, action_names, feature_names : sequences of str, distinct; numbers by default
        first : "state" or "action", which axis of a dense array is the first. Needed where there
            are as many states as actions, so that an array can be read in two ways
        normalize : bool, whether to divide each row of the transitions, and the start, by its sum:
            for single precision, few digits, or counts. Without it they must sum to 1

        Returns
        -------
        MDP

        Examples
        --------
        >>> import numpy as np, teachirl as ti
        >>> stay, swap = np.eye(2), np.eye(2)[::-1]
        >>> mdp = ti.MDP.from_arrays(np.stack([stay, swap], axis=1), np.eye(2), discount=0.9)
        >>> mdp
        MDP(2 states, 4 state-action pairs, 2 features per state, discount 0.9)
        """
        rows, n_states, n_actions = stacked_transitions(transitions, first)
        states = np.repeat(np.arange(n_states), n_actions)
        actions = np.tile(np.arange(n_actions), n_states)
        keep = None
        if available is not None:
            keep = available_pairs(available, n_states, n_actions)
            states, actions, rows = states[keep], actions[keep], rows[keep]
        return cls.from_pairs(
            states,
            actions,
            rows,
            features_of_pairs(features, n_states, n_actions, keep),
            discount=discount,
            start=start,
            n_states=n_states,
            n_actions=n_actions,
            state_names=state_names,
            action_names=action_names,
            feature_names=feature_names,
            normalize=normalize,
        )

    @classmethod
    def from_pairs(
        cls,
        states: ArrayLike,
        actions: ArrayLike,
        transitions: ArrayLike | sp.sparray | sp.spmatrix,
        features: ArrayLike | sp.sparray | sp.spmatrix,
        *,
        discount: float,
        start: ArrayLike | None = None,
        n_states: int | None = None,
        n_actions: int | None = None,
        state_names: Iterable[str] | None = None,
        action_names: Iterable[str] | None = None,
        feature_names: Iterable[str] | None = None,
        normalize: bool = False,
    ) -> MDP:
        """An MDP from its state-action pairs, in any order.

        Parameters
        ----------
        states, actions : int arrays [P], what each pair is
        transitions : array or sparse array [P, S]
        features : array or sparse array, [S, k] per state, or [P, k] per pair in the order of
            `states`; if there are as many pairs as states, per state
        discount : float, γ in (0, 1)
        start : array [S]; uniform by default
        n_states, n_actions : ints; by default as many as the transitions have columns, and as are
            named or used
        state_names, action_names, feature_names : sequences of str, distinct; numbers by default
        normalize : bool, whether to divide each row of the transitions, and the start, by its sum:
            for single precision, few digits, or counts. Without it they must sum to 1

        Returns
        -------
        MDP
        """
        dynamics, phi = assembled(
            states,
            actions,
            transitions,
            features,
            discount=discount,
            start=start,
            n_states=n_states,
            n_actions=n_actions,
            state_names=state_names,
            action_names=action_names,
            normalize=normalize,
        )
        return cls(dynamics, phi, feature_names)  # type: ignore[arg-type]  # names are checked there

    def __repr__(self) -> str:
        per = "pair" if self.features_per_pair else "state"
        return (
            f"MDP({counted(self.n_states, 'state')}, {counted(self.n_pairs, 'state-action pair')}, "
            f"{counted(self.n_features, 'feature')} per {per}, discount {self.discount:g})"
        )

    def _repr_html_(self) -> str:
        return mdp_card(self)

    @cached_property
    def n_states(self) -> int:
        """int S, how many states there are."""
        return self.dynamics.n_states

    @cached_property
    def n_pairs(self) -> int:
        """int P, how many pairs of a state and an action there are."""
        return self.dynamics.n_pairs

    @property
    def n_actions(self) -> int:
        """int A, how many actions there are in all; a state may have fewer."""
        return self.dynamics.n_actions

    @cached_property
    def n_features(self) -> int:
        """int k, how many features there are."""
        return int(self.features.shape[1])

    @property
    def discount(self) -> float:
        """float γ in (0, 1)."""
        return self.dynamics.discount

    @property
    def start(self) -> Floats:
        """array [S], the distribution of the first state."""
        return self.dynamics.start

    @cached_property
    def features_per_pair(self) -> bool:
        """Whether a row of the features belongs to a pair, not to a state."""
        return int(self.features.shape[0]) != self.n_states

    @cached_property
    def features_transposed(self) -> Any:
        """Φᵀ, array or sparse array, [k, S] or [k, P]."""
        return self.features.T

    @cached_property
    def largest_feature(self) -> float:
        """max ‖φ‖ over all states or pairs."""
        phi: Any = self.features
        scale = float(abs(phi).max()) if phi.size else 0.0
        if scale == 0.0:
            return 0.0
        scaled = phi / scale  # so that no square under- or overflows
        squares = scaled**2 if isinstance(scaled, np.ndarray) else scaled.power(2)
        return scale * math.sqrt(float(squares.sum(axis=1).max()))

    @cached_property
    def largest_entries(self) -> Floats:
        """max |φ_j| of each feature, array [k]."""
        sizes: Any = abs(self.features)
        largest = sizes.max(axis=0)
        dense = largest if isinstance(largest, np.ndarray) else largest.toarray().ravel()
        return frozen(np.asarray(dense, dtype=float))

    def feature_name(self, feature: int) -> str:
        """The name of a feature, in quotes, or its number if features have no names.

        Parameters
        ----------
        feature : int

        Returns
        -------
        str
        """
        return self.feature_names[feature] if self.feature_names else str(feature)

    def feature_index(self, name: str) -> int:
        """The number of the feature called `name`.

        Parameters
        ----------
        name : str

        Returns
        -------
        int
        """
        names = self.feature_names or tuple(map(str, range(self.n_features)))
        require(name in names, f"there is no feature {name!r}; there are: {some(names)}")
        return names.index(name)

    def rewards(self, weights: ArrayLike) -> Floats:
        """⟨w, φ⟩ for each row of the features.

        Parameters
        ----------
        weights : array [k], or [m, k] for many rewards at once

        Returns
        -------
        array [S] (or [P] for features per pair), or [m, S] (or [m, P])
        """
        return self.earned(self.checked_weights(weights))

    def earned(self, w: Floats) -> Floats:
        """`rewards` of weights that are checked already.

        Parameters
        ----------
        w : array [k] or [m, k], as `checked_weights` returns it

        Returns
        -------
        array, as that of `rewards`
        """
        if w.ndim == 1:
            phi = self.features
            if not isinstance(phi, np.ndarray):
                return np.asarray(phi @ w)
            if phi.size > LARGE and np.count_nonzero(w) == 1:
                only = int(w.nonzero()[0][0])
                return np.asarray(phi[:, only] * w[only])  # the others need not be read
            return np.asarray(phi.dot(w))  # of few numbers @ takes three times as long
        return np.ascontiguousarray((self.features @ w.T).T)

    def checked_weights(self, weights: ArrayLike) -> Floats:
        """Weights as a float array, or an error that says why not.

        Parameters
        ----------
        weights : array [k] or [m, k]

        Returns
        -------
        array of the same shape
        """
        w = as_floats("weights", weights)
        if w.ndim not in (1, 2) or w.shape[-1] != self.n_features:
            raise InvalidInputError(
                f"weights must have shape ({self.n_features},), one a feature, got {w.shape}"
            )
        # Of few numbers Python has the sum first; one that is not finite may only have overflowed.
        if w.size > FEW or w.ndim > 1 or not math.isfinite(sum(w.tolist())):
            check_finite("weights", w)
        return w

    def with_features(
        self, features: ArrayLike | sp.sparray, feature_names: Iterable[str] | None = None
    ) -> MDP:
        """The same dynamics seen through other features.

        Parameters
        ----------
        features : array or sparse array, [S, k] or [P, k]
        feature_names : sequence of str, k names; None numbers them

        Returns
        -------
        MDP
        """
        return MDP(self.dynamics, features, feature_names)  # type: ignore[arg-type]  # checked there

    def save(self, path: str | Path) -> None:
        """Write a compressed ``.npz`` that holds no pickle; an existing file is replaced whole.

        Parameters
        ----------
        path : str or Path
        """
        save_mdp(self, Path(path))

    @staticmethod
    def load(path: str | Path, *, max_bytes: int = 4 << 30) -> MDP:
        """Read what `save` wrote.

        Parameters
        ----------
        path : str or Path
        max_bytes : int, the size of arrays from which on the file is refused

        Returns
        -------
        MDP
        """
        return load_mdp(Path(path), MDP.from_pairs, max_bytes=max_bytes)


def check_is_mdp(mdp: object) -> None:
    """Refuse what is no MDP, such as a world that has one."""
    if not isinstance(mdp, MDP):
        inside = "; pass its .mdp" if isinstance(getattr(mdp, "mdp", None), MDP) else ""
        if isinstance(getattr(mdp, "nominal", None), MDP):
            inside = "; its .nominal takes the estimate for the truth"
        require(False, f"mdp must be an MDP, got {type(mdp).__name__}{inside}")
