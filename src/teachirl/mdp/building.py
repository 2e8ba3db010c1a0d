"""What an MDP is built from: its transitions and features, checked and brought into one form."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import ROW_SUM_TOLERANCE, Floats, as_floats, at, frozen, held_elsewhere, unshared
from ..errors import require
from ..precision import EPS
from .dynamics import Dynamics


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
        if not np.isfinite(phi).all():
            bad = np.argwhere(~np.isfinite(phi))
            require(False, f"features must be finite, got {at(phi, bad)}")
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
