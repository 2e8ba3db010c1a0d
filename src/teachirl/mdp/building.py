"""What an MDP is built from: its transitions and features, checked and brought into one form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import (
    ROW_SUM_TOLERANCE,
    Floats,
    Ints,
    as_floats,
    check_finite,
    checked_discount,
    checked_indices,
    checked_names,
    checked_start,
    frozen,
    held_elsewhere,
    is_sparse_sequence,
    remedy,
    unshared,
)
from ..errors import InvalidInputError, require
from ..precision import EPS
from .dynamics import Dynamics


def stacked_transitions(
    transitions: Any, first: str | None = None
) -> tuple[sp.csr_array, int, int]:
    """The rows [S · A, S] of all pairs of a state and an action, and how many of each there are.

    Parameters
    ----------
    transitions : dense array [S, A, S] or [A, S, S], or A sparse matrices [S, S]
    first : which axis of a dense array is the first, "state" or "action"; None for the state, if
        an array that would be another the other way round cannot be meant
    """
    require(first in (None, "state", "action"), f'first must be "state" or "action", got {first!r}')
    if not is_sparse_sequence(transitions):
        dense = as_floats("transitions", transitions)
        shape = "[A, S, S], action, state" if first == "action" else "[S, A, S], state, action"
        hint = "" if first else '; of one matrix an action, pass first="action"'
        states = dense.shape[1 if first == "action" else 0] if dense.ndim == 3 else 0
        require(
            dense.ndim == 3 and dense.shape[2] == states and dense.size > 0,
            f"transitions must have shape {shape}, next state, got {dense.shape}{hint}",
        )
        other = dense.swapaxes(0, 1)
        require(
            first is not None or dense.shape != other.shape or bool(np.array_equal(dense, other)),
            f"transitions of shape {dense.shape} may be [S, A, S] or [A, S, S], which differ: say "
            'which axis is the first, by first="state" or first="action"',
        )
        dense = other if first == "action" else dense
        n_states, n_actions = dense.shape[:2]
        return sp.csr_array(dense.reshape(n_states * n_actions, n_states)), n_states, n_actions
    require(first != "state", "transitions are one sparse matrix an action: the action is first")
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


def assembled(
    states: Any,
    actions: Any,
    transitions: Any,
    features: Any,
    *,
    discount: float,
    start: Any,
    n_states: int | None,
    n_actions: int | None,
    state_names: Any,
    action_names: Any,
    normalize: bool,
) -> tuple[Dynamics, Any]:
    """The dynamics of state-action pairs in any order, and the features in theirs; the arguments
    are those of `MDP.from_pairs`."""
    table: Any = transitions if sp.issparse(transitions) else as_floats("transitions", transitions)
    require(table.ndim == 2, f"transitions must have shape [P, S], got {table.shape}")
    rows: sp.csr_array = sp.csr_array(table, dtype=float)
    n_states = rows.shape[1] if n_states is None else n_states
    pair_states = checked_indices("states", states, n_states)
    n_pairs = len(pair_states)
    names = checked_names("action_names", action_names, n_actions)
    n_actions = len(names) if names else n_actions
    limit = np.iinfo(np.int32).max if n_actions is None else n_actions
    pair_actions = checked_indices("actions", actions, limit)
    require(
        len(pair_actions) == n_pairs and rows.shape == (n_pairs, n_states),
        f"states, actions and transitions must agree: got {n_pairs} states, "
        f"{len(pair_actions)} actions and transitions {rows.shape} for {n_states} states",
    )
    if sp.issparse(features):
        given: Any = features
        phi: Any = sp.csr_array(given, dtype=float)
    else:
        phi = as_floats("features", features)
    order = order_of_pairs(pair_states, pair_actions)
    if order is not None:
        if phi.shape[:1] == (n_pairs,) and n_pairs != n_states:
            phi = phi[order]
        pair_states, pair_actions, rows = pair_states[order], pair_actions[order], rows[order]
    counts = np.bincount(pair_states, minlength=n_states)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    dynamics = Dynamics(
        offsets=frozen(offsets),
        actions=frozen(pair_actions),
        n_actions=int(pair_actions.max(initial=0)) + 1 if n_actions is None else n_actions,
        transitions=rows,
        start=checked_start(start, n_states, normalize),
        discount=checked_discount(discount),
        state_names=checked_names("state_names", state_names, n_states),
        action_names=names,
    )
    without = np.flatnonzero(counts == 0)
    require(
        len(without) == 0,
        "every state needs at least one action: state "
        f"{dynamics.state_name(without[0]) if len(without) else ''} has none",
    )
    return replace(dynamics, transitions=checked_transitions(rows, dynamics, normalize)), phi


def checked_transitions(
    rows: sp.csr_array, dynamics: Dynamics, normalize: bool = False
) -> sp.csr_array:
    """The rows with duplicates added up and zeros dropped, or an error that names the pair.

    With `normalize` each is divided by its sum, whatever that is.
    """

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
    with np.errstate(over="ignore"):
        sums = rows @ np.ones(rows.shape[1])
    error = np.abs(sums - 1.0)
    worst = int(error.argmax())
    if normalize:
        no_sum = np.flatnonzero(~((sums > 0.0) & np.isfinite(sums)))
        require(
            len(no_sum) == 0,
            "transitions must have a positive and finite sum in every row to be normalized: those "
            f"of {place(int(no_sum[0])) if len(no_sum) else ''} have none",
        )
    require(
        normalize or bool(error[worst] <= ROW_SUM_TOLERANCE),
        f"transitions must sum to 1 in every row: those of {place(worst)} sum to "
        f"{sums[worst]:.12g}{remedy(float(error[worst]))}",
    )
    # Sums of n probabilities miss 1 by up to n units in the last place; more than that came
    # from a rounded table, and is rescaled so that no bound has to account for it.
    if error[worst] > 8 * EPS:
        lengths = np.diff(rows.indptr)
        rounded = error > np.maximum(8, lengths) * EPS
        rows.data = rows.data / np.repeat(np.where(rounded, sums, 1.0), lengths)
        if not rows.data.all():  # the least chances that there are may vanish
            rows.eliminate_zeros()
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
