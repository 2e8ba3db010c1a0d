"""What MDPs are checked for, with messages that name the argument, the place and the value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from .errors import InvalidInputError, require
from .precision import EPS

if TYPE_CHECKING:
    from .mdp import Dynamics

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Names: TypeAlias = tuple[str, ...]
A = TypeVar("A", bound="NDArray[Any]")

# A row of probabilities may miss 1 by this much (files print few digits); it is then rescaled.
ROW_SUM_TOLERANCE = 1e-8


def frozen(array: A) -> A:
    array.setflags(write=False)
    return array


def as_floats(name: str, values: Any) -> Floats:
    """`values` as a float array, not necessarily a copy, or an error that names the argument."""
    try:
        array = np.asarray(values)
        if array.dtype.kind in "biuf":
            return np.asarray(array, dtype=float)
    except ValueError as error:  # rows of different lengths
        raise InvalidInputError(f"{name} must be an array of numbers: {error}") from error
    raise InvalidInputError(f"{name} must be an array of real numbers, got {array.dtype}")


def held_elsewhere(array: NDArray[Any]) -> bool:
    """Whether someone else may still write to the array."""
    holder: Any = array
    while isinstance(holder, np.ndarray):
        if holder.flags.writeable:
            return True
        holder = holder.base
    return False


def unshared(array: A) -> A:
    """`array`, or a copy if someone else can still write to it."""
    return array.copy() if held_elsewhere(array) else array


def is_sparse_sequence(transitions: object) -> bool:
    return (
        isinstance(transitions, (list, tuple))
        and len(transitions) > 0
        and all(sp.issparse(matrix) for matrix in transitions)
    )


def some(names: Sequence[str], limit: int = 8) -> str:
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown}, … ({len(names)} in all)"


def at(array: Floats, places: NDArray[np.intp]) -> str:
    """The first offending entry, as ``nan at index 3``; empty if there is none."""
    if len(places) == 0:
        return ""
    place = tuple(int(i) for i in places[0])
    return f"{array[place]} at index {place[0] if len(place) == 1 else place}"


def checked_indices(name: str, values: ArrayLike, limit: int) -> Ints:
    array = np.asarray(values)
    require(
        array.ndim == 1 and (array.size == 0 or array.dtype.kind in "iu"),
        f"{name} must be a one-dimensional array of integers, got {array.dtype} {array.shape}",
    )
    array = array.astype(np.int64, copy=False)
    outside = np.flatnonzero((array < 0) | (array >= limit))
    if len(outside):
        place = outside[0]
        require(False, f"{name} must lie in 0 … {limit - 1}, got {array[place]} at index {place}")
    return unshared(array)


def checked_names(name: str, names: Iterable[str] | None, count: int | None) -> Names | None:
    if names is None:
        return None
    require(not isinstance(names, str), f"{name} must be a sequence of names, got one string")
    result = tuple(names)
    for place, entry in enumerate(result):
        require(isinstance(entry, str), f"{name}[{place}] must be a string, got {entry!r}")
    require(
        count is None or len(result) == count,
        f"{name} must have {count} entries, got {len(result)}",
    )
    if len(set(result)) < len(result):
        seen: set[str] = set()
        for entry in result:
            require(entry not in seen, f"{name} must be distinct, got {entry!r} twice")
            seen.add(entry)
    return result


def checked_discount(discount: float) -> float:
    require(
        isinstance(discount, (int, float, np.floating)) and 0.0 < discount < 1.0,
        f"discount must lie strictly between 0 and 1, got {discount!r}",
    )
    # Closer to 1, rows that miss 1 by rounding would make returns infinite.
    require(discount <= 1.0 - 1e-12, f"discount must be at most 1 - 1e-12, got {discount!r}")
    return float(discount)


def checked_start(start: ArrayLike | None, n_states: int) -> Floats:
    require(n_states > 0, "an MDP needs at least one state, got none")
    if start is None:
        return frozen(np.full(n_states, 1.0 / n_states))
    array = np.array(as_floats("start", start))
    require(array.shape == (n_states,), f"start must have shape ({n_states},), got {array.shape}")
    bad = np.argwhere(~(array >= 0) | ~np.isfinite(array))
    require(len(bad) == 0, f"start must be non-negative and finite, got {at(array, bad)}")
    with np.errstate(over="ignore"):
        total = float(array.sum())
    require(
        abs(total - 1.0) <= ROW_SUM_TOLERANCE,
        f"start must be a distribution: its probabilities sum to {total:.12g}, not 1",
    )
    # Pairwise sums of what was rescaled before miss 1 by less than this, so that it stays as it is.
    return frozen(array if abs(total - 1.0) <= 64 * EPS else array / total)


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
