"""Orthonormal bases of row spaces, extended row by row, and what of a vector lies outside them.

Vectors are rows. Whether a row adds to a basis is decided relative to the row's own length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, overload

import numpy as np
import scipy  # its parts are loaded when they are used
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ..arrays import AnyRows, Floats, Ints, SparseRows, as_floats
from ..precision import DEPENDENT

# Rows that are made orthogonal at once: of thousands that depend on each other, such as copies of
# one, most are found to add nothing before anything is factorised.
BLOCK = 256
# Numbers that are worked on at once; what a step takes of memory is a few times that.
PART = 1 << 21
# Of more numbers than that, only those that are not 0 are held if they are at most such a share.
SPARSE = 0.05


def as_rows(name: str, values: ArrayLike) -> AnyRows:
    """`values` as a float array, not necessarily a copy; many that are nearly all 0 as sparse rows;
    or an error that names the argument."""
    if isinstance(values, SparseRows):
        return values
    array = as_floats(name, values)
    if array.ndim != 2 or array.size <= PART or np.count_nonzero(array) > SPARSE * array.size:
        return array
    return gathered((array[part] for part in parts_of(array)), array.shape)


def axes(columns: ArrayLike, k: int) -> AnyRows:
    """A row [k] with one 1, in that column, for each of the columns [n]."""
    places = np.asarray(columns, dtype=np.int64)
    n = len(places)
    one_each = sp.csr_array((np.ones(n), places, np.arange(n + 1)), shape=(n, k))
    return gathered([SparseRows(one_each)], (n, k))


def gathered(parts: Iterable[AnyRows], shape: tuple[int, ...]) -> AnyRows:
    """The rows [n, k] that come in parts; sparse if they are many numbers that are nearly all 0."""
    size, coming, sparse, numbers = shape[0] * shape[1], iter(parts), list[Any](), 0
    if size > PART:
        for part in coming:
            held = part.matrix if isinstance(part, SparseRows) else sp.csr_array(part)
            sparse.append(held)
            numbers += held.nnz
            if numbers > SPARSE * size:
                break
        else:
            return SparseRows(sp.csr_array(sp.vstack(sparse, format="csr")))
    made, first = np.empty(shape), 0
    for each in chain((held.toarray() for held in sparse), coming):
        made[first : first + len(each)] = each
        first += len(each)
    return made


def least_singular_value(matrix: Floats) -> float:
    """The smallest singular value of a matrix [ℓ, r] of rank r ≤ ℓ; ∞ if it has no columns.

    It is right to many digits even if the rows have very different lengths, as it is divided by:
    an SVD is right only up to the rounding of the largest singular value.
    """
    if matrix.shape[1] == 0:
        return math.inf
    scale = float(np.abs(matrix).max())
    if np.count_nonzero(matrix, axis=1).max() == 1:  # columns are orthogonal, as in a selection
        rows, columns = matrix.nonzero()
        squares = np.bincount(columns, (matrix[rows, columns] / scale) ** 2, matrix.shape[1])
        return scale * math.sqrt(float(squares.min()))
    # Jacobi's method on rows pivoted by length (joba = 2), without the vectors, small ones kept.
    values, _, _, scaling, _, info = scipy.linalg.lapack.dgejsv(
        matrix / scale, joba=2, jobu=3, jobv=3, jobr=0, jobt=0, jobp=0
    )
    if info != 0:
        return float(np.linalg.svd(matrix, compute_uv=False).min())
    return scale * float(values.min()) * float(scaling[0] / scaling[1])


def extended_basis(basis: Floats, rows: Floats) -> Floats:
    """An orthonormal basis [r′, k] of the span of `basis` [r, k], orthonormal, and `rows` [n, k].

    It starts with `basis` itself. Each direction that is added points to where the row lies that
    brings it, so that the basis is determined by the rows, up to rounding.
    """
    if len(rows) == 0:
        return basis
    if len(basis) == 0 and len(rows) > 1:
        entries, columns = rows.nonzero()
        if len(entries) == len(np.unique(entries)):  # one in each row, at most: nothing to rotate
            new = np.sort(entries[np.unique(columns, return_index=True)[1]])
            return np.sign(those(rows, new))
    if len(rows) > BLOCK:
        for first in range(0, len(rows), BLOCK):
            basis = extended_basis(basis, rows[first : first + BLOCK])
        return basis
    sticking_out = without_span(basis, unit_rows(rows))
    if len(rows) == 1:
        added = sticking_out if np.linalg.norm(sticking_out) > DEPENDENT else sticking_out[:0]
        # To make a short vector a unit vector magnifies what rounding left of the span in it.
        return np.vstack([basis, unit_rows(without_span(basis, unit_rows(added)))])
    # Rows that stick out as far as each other are taken in their order, whatever is rounded.
    # By up to this share an earlier row is preferred to a later one that sticks out a bit further.
    sticking_out *= np.linspace(1.0, 1.0 - 1e-2, len(rows))[:, None]
    sticking_out = sticking_out[np.linalg.norm(sticking_out, axis=1) > DEPENDENT]
    if len(sticking_out) == 0:
        return basis
    # Longest first, so that of nearly dependent rows the best determined directions are kept.
    q, lengths = _pivoted(sticking_out.T)
    rank = int(np.count_nonzero(np.abs(lengths) > DEPENDENT))
    added = np.ascontiguousarray((np.copysign(1.0, lengths) * q)[:, :rank].T, dtype=float)
    if rank == 0 or len(basis) == 0:
        return np.vstack([basis, added])
    orthonormal, triangle = np.linalg.qr(without_span(basis, added).T)
    return np.vstack([basis, (np.copysign(1.0, np.diagonal(triangle)) * orthonormal).T])


def _pivoted(columns: Floats) -> tuple[Floats, Floats]:
    """Q [k, r] of a QR decomposition of columns [k, n], the longest that is left first, r being the
    smaller of k and n; and the diagonal [r] of R. SciPy's `qr` of a few takes six times as long."""
    n = columns.shape[1]
    # With so much room they work on blocks of 32 or 64 columns.
    packed, _, factors, *_ = scipy.linalg.lapack.dgeqp3(columns, lwork=2 * n + 64 * (n + 1))
    lengths = np.array(np.diagonal(packed))
    return scipy.linalg.lapack.dorgqr(packed[:, : len(lengths)], factors, lwork=64 * n)[0], lengths


def combined(features: Any, matrix: Floats) -> Any:
    """What the rows of a matrix [ℓ, k] see of features [n, k], an array or sparse: [n, ℓ]."""
    if isinstance(features, np.ndarray):
        return features @ matrix.T
    # A selection of sparse features stays sparse; dense combinations of them do not.
    few = np.count_nonzero(matrix) <= 0.1 * matrix.size
    return features @ (sp.csr_array(matrix.T) if few else matrix.T)


def directions(features: Any, target: Floats) -> Floats | None:
    """V [ℓ, r], orthonormal columns whose span has the target [ℓ] and the rows of the features
    [n, ℓ], an array or sparse; None if that is all there is, r = ℓ."""
    count = features.shape[1]
    basis = extended_basis(np.empty((0, count)), target[None])
    block = max(64, (1 << 22) // max(count, 1) ** 2)
    for first in range(0, features.shape[0], block):
        if len(basis) >= count:
            return None
        rows: Any = features[first : first + block]
        rows = rows if isinstance(rows, np.ndarray) else rows.toarray()
        basis = extended_basis(basis, rows[rows.any(axis=1)])
    return None if len(basis) >= count else np.ascontiguousarray(basis.T)


@overload
def unit_rows(rows: Floats) -> Floats: ...
@overload
def unit_rows(rows: AnyRows) -> AnyRows: ...
def unit_rows(rows: AnyRows) -> AnyRows:
    """The rows [n, k] with length 1 each; zero rows stay zero."""
    if not isinstance(rows, SparseRows):
        return in_parts(_unit_rows, rows)
    largest = abs(rows.matrix).max(axis=1).toarray()
    scaled = rows / np.where(largest > 0.0, largest, 1.0)[:, None]
    lengths = lengths_of(scaled)
    return scaled / np.where(lengths > 0.0, lengths, 1.0)[:, None]


def _unit_rows(rows: Floats) -> Floats:
    # By the largest entry first, so that no square under- or overflows.
    largest = np.maximum.reduce(np.abs(rows), axis=1, initial=0.0, keepdims=True)
    largest[largest == 0.0] = 1.0
    scaled = rows / largest
    lengths = np.sqrt(np.add.reduce(scaled * scaled, axis=1, keepdims=True))
    lengths[lengths == 0.0] = 1.0
    return np.asarray(scaled / lengths)


@overload
def without_span(basis: Floats, vectors: Floats) -> Floats: ...
@overload
def without_span(basis: Floats, vectors: AnyRows) -> AnyRows: ...
def without_span(basis: Floats, vectors: AnyRows) -> AnyRows:
    """The part of `vectors`, [k] or [n, k], that is orthogonal to `basis` [r, k], orthonormal."""

    def without(vectors: Floats) -> Floats:
        # Once leaves a part of the span that is small beside the vector; twice leaves rounding.
        for _ in range(2):
            vectors = vectors - (vectors @ basis.T) @ basis
        return vectors

    if isinstance(vectors, SparseRows):
        if len(basis) == 0:
            return vectors
        # Most are orthogonal to the basis as they are.
        parts = (vectors[part] for part in parts_of(vectors))
        made = (_changed(without, part, np.any(part @ basis.T, axis=1)) for part in parts)
        return gathered(made, vectors.shape)
    if len(basis) == 0:
        return np.array(vectors)
    return without(vectors) if vectors.ndim == 1 else in_parts(without, vectors)


def _changed(
    work: Callable[[Floats], Floats], rows: SparseRows, which: NDArray[np.bool_]
) -> SparseRows:
    """The rows, with the work done on some of them."""
    places = np.flatnonzero(which)
    if len(places) == 0:
        return rows
    n = len(places)
    into = sp.csr_array((np.ones(n), (places, np.arange(n))), (len(rows), n))
    done = sp.csr_array(work(np.asarray(rows[places])))
    return SparseRows(sp.csr_array(cleared(rows, which).matrix + into @ done))


def units_beside(basis: Floats, rows: AnyRows) -> tuple[AnyRows, Floats]:
    """What of the rows [n, k], of length 1 each, is orthogonal to `basis` [r, k], orthonormal, with
    length 1; and how long that was, [n]. Of what is short, only rounding may be left."""
    if isinstance(rows, SparseRows):
        left = without_span(basis, unit_rows(rows))
        return unit_rows(without_span(basis, unit_rows(left))), lengths_of(left)
    lengths = list[Floats]()

    def beside(part: Floats) -> Floats:
        left = without_span(basis, _unit_rows(part))
        lengths.append(np.linalg.norm(left, axis=1))
        # To make it longer makes what is left of the span longer as well.
        return _unit_rows(without_span(basis, _unit_rows(left)))

    made = in_parts(beside, rows)
    return made, np.concatenate(lengths)


def lengths_of(rows: AnyRows) -> Floats:
    """The length of each of the rows [n, k]."""
    if isinstance(rows, SparseRows):
        return np.asarray(np.sqrt((rows.matrix**2).sum(axis=1)))
    found = np.empty(len(rows))
    for part in parts_of(rows):
        found[part] = np.linalg.norm(rows[part], axis=1)
    return found


@overload
def cleared(rows: Floats, which: NDArray[np.bool_]) -> Floats: ...
@overload
def cleared(rows: SparseRows, which: NDArray[np.bool_]) -> SparseRows: ...
@overload
def cleared(rows: AnyRows, which: NDArray[np.bool_]) -> AnyRows: ...
def cleared(rows: AnyRows, which: NDArray[np.bool_]) -> AnyRows:
    """The rows [n, k] with zeros in those of them."""
    if not isinstance(rows, SparseRows):
        return np.where(which[:, None], 0.0, rows)
    kept = sp.csr_array(sp.diags_array(np.where(which, 0.0, 1.0)) @ rows.matrix)
    kept.eliminate_zeros()
    return SparseRows(kept)


def zero_rows(rows: AnyRows) -> NDArray[np.bool_]:
    """Which of the rows [n, k] have nothing but zeros."""
    return np.asarray(rows.counts == 0 if isinstance(rows, SparseRows) else ~rows.any(axis=1))


@overload
def those(rows: Floats, places: NDArray[np.int64]) -> Floats: ...
@overload
def those(rows: AnyRows, places: NDArray[np.int64]) -> AnyRows: ...
def those(rows: AnyRows, places: NDArray[np.int64]) -> AnyRows:
    """The rows [n, k] at places in ascending order; all of them are not copied."""
    return rows if len(places) == len(rows) else rows[places]


def on_axes(rows: AnyRows) -> bool:
    """Whether each of the rows [n, k] has one number that is not 0, in a column of its own."""
    numbers, taken = 0, np.zeros(rows.shape[1], dtype=bool)
    for part in parts_of(rows):
        places, columns, _ = _entries(rows[part])
        numbers += len(places)
        if len(places) != len(np.unique(places)) or taken[columns].any():
            return False
        if len(places) != len(np.unique(columns)):
            return False
        taken[columns] = True
    return numbers == len(rows)


def _entries(rows: AnyRows) -> tuple[Ints, Ints, Floats]:
    """The numbers that are not 0, by rows: in which row each is, in which column, and which."""
    if isinstance(rows, SparseRows):
        places = np.repeat(np.arange(len(rows)), rows.counts)
        return places, rows.matrix.indices, rows.matrix.data
    places, columns = rows.nonzero()
    return places, columns, rows[places, columns]


def cosines(rows: AnyRows, part: slice) -> Floats:
    """The products of some of the rows [n, k], of length 1, with all of them."""
    if isinstance(rows, SparseRows):
        return np.asarray((rows.matrix[part] @ rows.matrix.T).toarray())
    return np.asarray(rows[part] @ rows.T)


def in_own_coordinates(rows: AnyRows, vector: Floats) -> tuple[AnyRows, Floats]:
    """The rows [n, k] and a vector [k] in coordinates in the rows' span, of which row i has the
    first i + 1 only: [n, min(n, k)] and [min(n, k)]."""
    if on_axes(rows):
        _, columns, entries = _entries(rows)
        own = sp.csr_array(sp.diags_array(np.abs(entries), format="csr"))
        return gathered([SparseRows(own)], own.shape), np.sign(entries) * vector[columns]
    q, triangle = np.linalg.qr(np.asarray(rows).T)
    return triangle.T, q.T @ vector


def in_parts(work: Callable[[Floats], Floats], rows: Floats) -> Floats:
    """The work on all rows [n, k]; of many, on some after the other, in little memory."""
    if rows.size <= PART:
        return work(rows)
    made = np.empty(rows.shape)
    for part in parts_of(rows):
        made[part] = work(rows[part])
    return made


def parts_of(rows: AnyRows) -> Iterator[slice]:
    """So many of the rows [n, k] at a time as `PART` numbers are."""
    step = max(PART // max(rows.shape[1], 1), 1)
    for first in range(0, len(rows), step):
        yield slice(first, first + step)


def shortest_multipliers(A: Floats, Q: Floats, coordinates: Floats) -> Floats:
    """The shortest θ [ℓ] with Aᵀθ = Qᵀ · coordinates, Q [r, k] being a basis of A's rows."""
    powers = np.frexp(np.abs(A).max(axis=1, initial=0.0))[1]
    even = np.ldexp(A, -powers[:, None])  # by powers of two: nothing is rounded
    theta = np.ldexp(np.linalg.lstsq(Q @ even.T, coordinates, rcond=None)[0], -powers)
    if len(Q) == len(A) or len(Q) == 0:
        return np.asarray(theta)
    # What is orthogonal to all columns of A changes nothing but the length. Where the rows
    # differ so much in length that removing it costs digits, it stays.
    across, _ = np.linalg.qr(A @ Q.T)
    shorter = across @ (across.T @ theta)
    wanted = float(np.linalg.norm(coordinates))
    off = float(np.linalg.norm(A.T @ shorter - Q.T @ coordinates))
    return np.asarray(shorter if off <= 1e-13 * wanted else theta)


__all__ = [
    "as_rows",
    "axes",
    "combined",
    "directions",
    "extended_basis",
    "gathered",
    "least_singular_value",
    "shortest_multipliers",
    "unit_rows",
    "without_span",
]
