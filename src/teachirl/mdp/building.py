"""What an MDP is built from: its transitions and features, checked and brought into one form."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import (
    ROW_SUM_TOLERANCE,
    Floats,
    Ints,
    as_floats,
    check_finite,
    frozen,
    held_elsewhere,
    is_sparse_sequence,
    unshared,
)
from ..errors import InvalidInputError, require
from ..precision import EPS
from .dynamics import Dynamics


def stacked_transitions(transitions: Any) -> tuple[sp.csr_array, int, int]:
    """The rows [S · A, S] of all pairs of a state and an action, and how many of each there are.

    Parameters
    ----------
    transitions : dense array [S, A, S], or A sparse matrices [S, S]
    """
    if not is_sparse_sequence(transitions):
        dense = as_floats("transitions", transitions)
        require(
            dense.ndim == 3 and dense.shape[0] == dense.shape[2] and dense.size > 0,
            f"transitions must have shape [S, A, S], state, action, next state, got "
            f"{dense.shape}; of one matrix an action, np.stack(matrices, axis=1) makes that",
        )
        n_states, n_actions = dense.shape[:2]
        return sp.csr_array(dense.reshape(n_states * n_actions, n_states)), n_states, n_actions
    stacks = [sp.csr_array(matrix) for matrix in transitions]
    n_actions, n_states = len(stacks), int(stacks[0].shape[0])
    for action, matrix in enumerate(stacks):
        require(
            matrix.shape == (n_states, n_states),
            f"transitions[{action}] must have shape ({n_states}, {n_states}), got {matrix.shape}",
        )
    by_action: Any = sp.csr_array(sp.vstack(stacks, format="csr"))
    order = np.arange(n_states * n_actions).reshape(n_actions, n_states).T.ravel()
    return by_action[order], n_states, n_actions


def available_pairs(available: Any, n_states: int, n_actions: int) -> Ints:
    """Which of the S · A pairs, sorted by state and action, a bool array [S, A] says there are."""
    mask = np.asarray(available)
    require(
        mask.shape == (n_states, n_actions) and mask.dtype == bool,
        f"available must be a bool array of shape ({n_states}, {n_actions}), "
        f"got {mask.dtype} {mask.shape}",
    )
    return np.flatnonzero(mask)


def features_of_pairs(features: Any, n_states: int, n_actions: int, keep: Ints | None) -> Any:
    """Features [S, A, k] as [P, k], those of the pairs `keep`; others as they are."""
    if sp.issparse(features):
        return features
    phi = as_floats("features", features)
    if phi.ndim != 3:
        return features
    require(
        phi.shape[:2] == (n_states, n_actions),
        f"features must have shape ({n_states}, {n_actions}, k), got {phi.shape}",
    )
    flat = phi.reshape(n_states * n_actions, -1)
    return flat if keep is None else flat[keep]


def order_of_pairs(states: Ints, actions: Ints) -> Ints | None:
    """What sorts the pairs [P] by state and then by action; None if they are sorted."""
    later = states[1:] > states[:-1]
    if np.all(later | (states[1:] == states[:-1]) & (np.diff(actions) > 0)):
        return None
    key = states * (int(actions.max(initial=0)) + 1) + actions
    order = np.argsort(key, kind="stable")
    twice = np.flatnonzero(key[order][1:] == key[order][:-1])
    if len(twice):
        pair = order[twice[0]]
        raise InvalidInputError(
            f"the pair of state {states[pair]} and action {actions[pair]} is given twice"
        )
    return order


def checked_transitions(rows: sp.csr_array, dynamics: Dynamics) -> sp.csr_array:
    """The rows with duplicates added up and zeros dropped, or an error that names the pair."""

    def place(pair: int) -> str:
        state = dynamics.state_name(int(dynamics.pair_states[pair]))
        return f"state {state}, action {dynamics.action_name(int(dynamics.actions[pair]))}"

    check_columns("transitions", rows)
    data = rows.data
    bad = np.flatnonzero(~(data >= 0) | ~np.isfinite(data))
    if len(bad):
        pair = int(np.searchsorted(rows.indptr, bad[0], side="right")) - 1
        target = dynamics.state_name(int(rows.indices[bad[0]]))
        require(
            False,
            f"transitions must be non-negative and finite: {place(pair)} goes to state {target} "
            f"with probability {data[bad[0]]}",
        )
    # What the caller holds stays as it is; who hands over frozen arrays saves the copy.
    parts = (rows.data, rows.indices, rows.indptr)
    if not rows.has_canonical_format or (data == 0).any() or any(map(held_elsewhere, parts)):
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    sums = rows @ np.ones(rows.shape[1])
    error = np.abs(sums - 1.0)
    worst = int(error.argmax())
    require(
        bool(error[worst] <= ROW_SUM_TOLERANCE),
        f"transitions must sum to 1 in every row: those of {place(worst)} sum to "
        f"{sums[worst]:.12g}",
    )
    # Sums of n probabilities miss 1 by up to n units in the last place; more than that came
    # from a rounded table, and is rescaled so that no bound has to account for it.
    if error[worst] > 8 * EPS:
        lengths = np.diff(rows.indptr)
        rounded = error > np.maximum(8, lengths) * EPS
        rows.data = rows.data / np.repeat(np.where(rounded, sums, 1.0), lengths)
    # Of one type wherever it suffices: kernels are compiled for each type that they meet.
    if max(rows.nnz, *rows.shape) <= np.iinfo(np.int32).max:
        rows.indices = rows.indices.astype(np.int32, copy=False)
        rows.indptr = rows.indptr.astype(np.int32, copy=False)
    for array in (rows.data, rows.indices, rows.indptr):
        array.setflags(write=False)
    return rows


def check_columns(name: str, rows: sp.csr_array) -> None:
    """Refuse what scipy does not look at: columns that do not exist, read from beyond the array."""
    bad = np.flatnonzero((rows.indices < 0) | (rows.indices >= rows.shape[1]))
    if len(bad):
        require(
            False,
            f"{name} must have columns in 0 … {rows.shape[1] - 1}, got {rows.indices[bad[0]]} at "
            f"index {bad[0]} of its indices",
        )


def checked_features(features: Any, dynamics: Dynamics) -> Floats | sp.csr_array:
    sparse = bool(sp.issparse(features))
    phi: Any = sp.csr_array(features, dtype=float) if sparse else as_floats("features", features)
    allowed = (dynamics.n_states, dynamics.n_pairs)
    require(
        phi.ndim == 2 and phi.shape[0] in allowed,
        f"features must have a row for each of the {allowed[0]} states or of the {allowed[1]} "
        f"state-action pairs, got shape {phi.shape}",
    )
    if isinstance(phi, np.ndarray):
        check_finite("features", phi)
        return frozen(unshared(phi))
    check_columns("features", phi)
    if not phi.has_canonical_format:
        phi = phi.copy()
        phi.sum_duplicates()
    if not np.isfinite(phi.data).all():
        place = int(np.flatnonzero(~np.isfinite(phi.data))[0])
        row = int(np.searchsorted(phi.indptr, place, side="right")) - 1
        require(
            False,
            f"features must be finite, got {phi.data[place]} at index "
            f"{(row, int(phi.indices[place]))}",
        )
    phi.data, phi.indices, phi.indptr = map(unshared, (phi.data, phi.indices, phi.indptr))
    for array in (phi.data, phi.indices, phi.indptr):
        array.setflags(write=False)
    return phi  # type: ignore[no-any-return]  # scipy's constructors are untyped
