"""What MDPs are checked for, with messages that name the argument, the place and the value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from .errors import require

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
    array = array.astype(np.int64)
    outside = np.flatnonzero((array < 0) | (array >= limit))
    if len(outside):
        place = outside[0]
        require(False, f"{name} must lie in 0 … {limit - 1}, got {array[place]} at index {place}")
    return array


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
    return float(discount)


def checked_start(start: ArrayLike | None, n_states: int) -> Floats:
    if start is None:
        return frozen(np.full(n_states, 1.0 / n_states))
    array = np.array(start, dtype=float)
    require(array.shape == (n_states,), f"start must have shape ({n_states},), got {array.shape}")
    bad = np.argwhere(~(array >= 0) | ~np.isfinite(array))
    require(len(bad) == 0, f"start must be non-negative and finite, got {at(array, bad)}")
    total = float(array.sum())
    require(
        abs(total - 1.0) <= ROW_SUM_TOLERANCE,
        f"start must be a distribution: its probabilities sum to {total:.12g}, not 1",
    )
    return frozen(array / total)


def checked_transitions(rows: sp.csr_array, dynamics: Dynamics) -> sp.csr_array:
    """The rows with duplicates added up and zeros dropped, or an error that names the pair."""

    def place(pair: int) -> str:
        state = dynamics.state_name(int(dynamics.pair_states[pair]))
        return f"state {state}, action {dynamics.action_name(int(dynamics.actions[pair]))}"

    rows = sp.csr_array(rows, copy=True)  # what the caller holds stays as it is
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
    rows.sum_duplicates()
    if (rows.data == 0).any():
        rows.eliminate_zeros()
    sums = rows @ np.ones(rows.shape[1])
    error = np.abs(sums - 1.0)
    worst = int(error.argmax())
    require(
        bool(error[worst] <= ROW_SUM_TOLERANCE),
        f"transitions must sum to 1 in every row: those of {place(worst)} sum to "
        f"{sums[worst]:.12g}",
    )
    # Sums of a few probabilities miss 1 by a few units in the last place; more than that came
    # from a rounded table, and is rescaled so that no bound has to account for it.
    if error[worst] > 8 * np.finfo(float).eps:
        rows.data /= np.repeat(sums, np.diff(rows.indptr))
    for array in (rows.data, rows.indices, rows.indptr):
        array.setflags(write=False)
    return rows


def checked_features(features: Any, dynamics: Dynamics) -> Floats | sp.csr_array:
    if sp.issparse(features):
        phi: Any = sp.csr_array(features, dtype=float)
        values = phi.data
    else:
        phi = np.asarray(features, dtype=float)
        if phi.flags.writeable:
            phi = phi.copy()
        values = phi
    allowed = (dynamics.n_states, dynamics.n_pairs)
    require(
        phi.ndim == 2 and phi.shape[0] in allowed,
        f"features must have a row for each of the {allowed[0]} states or of the {allowed[1]} "
        f"state-action pairs, got shape {phi.shape}",
    )
    if not np.isfinite(values).all():
        bad = np.argwhere(~np.isfinite(values))
        require(False, f"features must be finite, got {at(values, bad)}")
    if isinstance(phi, np.ndarray):
        return frozen(phi)
    if not phi.has_canonical_format:
        phi = phi.copy()
        phi.sum_duplicates()
    for array in (phi.data, phi.indices, phi.indptr):
        array.setflags(write=False)
    return phi  # type: ignore[no-any-return]  # scipy's constructors are untyped
