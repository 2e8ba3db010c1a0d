"""Types of arrays, and checks of arguments that are some: messages name argument, place, value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar, overload

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import ArrayLike, NDArray

from .errors import InvalidInputError, require
from .precision import EPS

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Names: TypeAlias = tuple[str, ...]
A = TypeVar("A", bound="NDArray[Any]")
FLOAT = np.dtype(float)

# A row of probabilities may miss 1 by this much (files print few digits); it is then rescaled.
ROW_SUM_TOLERANCE = 1e-8
# What misses 1 by no more than this may have been rounded to single precision, or to few digits.
ROUNDED_SUM = 1e-4


class SparseRows:
    """Rows [n, k] of which nearly all numbers are 0: only the others are held, so that the unit
    vectors of thousands of features are no matrix.

    One of them is an array, several are sparse again; `numpy.asarray` makes one array of all.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array [n, k] that holds no zeros; not to be changed any more

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from teachirl.arrays import SparseRows
    >>> rows = SparseRows(sp.eye_array(4, format="csr"))
    >>> rows[1], len(rows[[0, 2]]), rows @ np.arange(4.0)
    (array([0., 1., 0., 0.]), 2, array([0., 1., 2., 3.]))
    """

    ndim, dtype = 2, np.dtype(float)

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        for part in (matrix.data, matrix.indices, matrix.indptr):
            frozen(part)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, k)."""
        n, k = self.matrix.shape
        return int(n), int(k)

    @property
    def size(self) -> int:
        """int, how many numbers there are, with all zeros."""
        return self.shape[0] * self.shape[1]

    @property
    def counts(self) -> Ints:
        """array [n], how many numbers of each row are not 0."""
        return np.asarray(np.diff(self.matrix.indptr), dtype=np.int64)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Floats]:
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, places: int | np.integer[Any]) -> Floats: ...
    @overload
    def __getitem__(self, places: slice | list[int] | NDArray[Any]) -> SparseRows: ...
    def __getitem__(self, places: Any) -> Floats | SparseRows:
        if not isinstance(places, int | np.integer):
            some = np.array(places, dtype=np.int64) if isinstance(places, list) else places
            return SparseRows(self.matrix[some])
        row, mine = np.zeros(self.shape[1]), slice(*self.matrix.indptr[places : places + 2])
        row[self.matrix.indices[mine]] = self.matrix.data[mine]
        return row

    def __matmul__(self, other: Floats) -> Floats:
        return np.asarray(self.matrix @ other)

    def __truediv__(self, column: Floats) -> SparseRows:
        """Each row divided by its number in a column [n, 1]."""
        divided = self.matrix.copy()
        divided.data = self.matrix.data / np.repeat(column[:, 0], self.counts)
        return SparseRows(divided)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self.matrix.toarray(), dtype=dtype)


AnyRows: TypeAlias = Floats | SparseRows


def frozen(array: A) -> A:
    array.setflags(write=False)
    return array


def as_floats(name: str, values: Any) -> Floats:
    """`values` as a float array, not necessarily a copy, or an error that names the argument."""
    if type(values) is np.ndarray and values.dtype is FLOAT:  # those who plan often are in a hurry
        return values
    try:
        array = np.asarray(values)
        if array.dtype.kind in "biuf":
            return np.asarray(array, dtype=float)
    except ValueError as error:  # rows of different lengths
        raise InvalidInputError(f"{name} must be an array of numbers: {error}") from error
    raise InvalidInputError(f"{name} must be an array of real numbers, got {array.dtype}")


def check_finite(name: str, array: AnyRows) -> None:
    """Refuse an array with a number that is infinite or none."""
    numbers = array.matrix.data if isinstance(array, SparseRows) else array
    if math.isfinite(np.vdot(numbers, numbers)):
        return  # all are; otherwise the sum may only have overflowed
    array = np.asarray(array)
    finite = np.isfinite(array)
    if not finite.all():
        raise InvalidInputError(f"{name} must be finite, got {at(array, np.argwhere(~finite))}")


def checked_positive(name: str, values: Any, n: int) -> Floats:
    """A copy of `values`, [n], all of them positive and finite, or an error that says why not."""
    array = np.array(as_floats(name, values))
    require(array.shape == (n,), f"{name} must have shape ({n},), got {array.shape}")
    bad = np.argwhere(~(array > 0.0) | ~np.isfinite(array))
    require(len(bad) == 0, f"{name} must be positive and finite, got {at(array, bad)}")
    return array


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
        and all(scipy.sparse.issparse(matrix) for matrix in transitions)
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


def remedy(error: float) -> str:
    """What to do about probabilities whose sum misses 1 by so much."""
    if error > ROUNDED_SUM:
        return ""
    return "; if that is rounding, as of single precision, normalize=True divides by the sums"


def checked_start(start: ArrayLike | None, n_states: int, normalize: bool = False) -> Floats:
    require(n_states > 0, "an MDP needs at least one state, got none")
    if start is None:
        return frozen(np.full(n_states, 1.0 / n_states))
    array = np.array(as_floats("start", start))
    require(array.shape == (n_states,), f"start must have shape ({n_states},), got {array.shape}")
    bad = np.argwhere(~(array >= 0) | ~np.isfinite(array))
    require(len(bad) == 0, f"start must be non-negative and finite, got {at(array, bad)}")
    with np.errstate(over="ignore"):
        total = float(array.sum())
    normalize = normalize and 0.0 < total < math.inf
    require(
        normalize or abs(total - 1.0) <= ROW_SUM_TOLERANCE,
        f"start must be a distribution: its probabilities sum to {total:.12g}, not 1"
        f"{remedy(abs(total - 1.0))}",
    )
    # Pairwise sums of what was rescaled before miss 1 by less than this, so that it stays as it is.
    return frozen(array if abs(total - 1.0) <= 64 * EPS else array / total)
