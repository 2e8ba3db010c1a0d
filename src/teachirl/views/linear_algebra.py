"""Orthonormal bases of row spaces, extended row by row, and what of a vector lies outside them.

Vectors are rows. Whether a row adds to a basis is decided relative to the row's own length.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import qr
from scipy.linalg.lapack import dgejsv

from ..arrays import Floats
from ..precision import DEPENDENT


def least_singular_value(matrix: Floats) -> float:
    """The smallest singular value of a matrix [ℓ, r] of rank r ≤ ℓ; ∞ if it has no columns.

    It is right to many digits even if the rows have very different lengths, as it is divided by:
    an SVD is right only up to the rounding of the largest singular value.
    """
    if matrix.shape[1] == 0:
        return math.inf
    scale = float(np.abs(matrix).max())
    # Jacobi's method on rows pivoted by length (joba = 2), without the vectors, small ones kept.
    values, _, _, scaling, _, info = dgejsv(
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
    sticking_out = without_span(basis, unit_rows(rows))
    if len(rows) == 1:
        added = sticking_out if np.linalg.norm(sticking_out) > DEPENDENT else sticking_out[:0]
        # To make a short vector a unit vector magnifies what rounding left of the span in it.
        return np.vstack([basis, unit_rows(without_span(basis, unit_rows(added)))])
    # Rows that stick out as far as each other are taken in their order, whatever is rounded.
    # By up to this share an earlier row is preferred to a later one that sticks out a bit further.
    sticking_out *= np.linspace(1.0, 1.0 - 1e-2, len(rows))[:, None]
    # Longest first, so that of nearly dependent rows the best determined directions are kept.
    q, triangle, _ = qr(sticking_out.T, mode="economic", pivoting=True)
    lengths = np.diagonal(triangle)
    rank = int(np.count_nonzero(np.abs(lengths) > DEPENDENT))
    added = np.ascontiguousarray((np.copysign(1.0, lengths) * q)[:, :rank].T, dtype=float)
    if rank == 0 or len(basis) == 0:
        return np.vstack([basis, added])
    orthonormal, triangle = np.linalg.qr(without_span(basis, added).T)
    return np.vstack([basis, (np.copysign(1.0, np.diagonal(triangle)) * orthonormal).T])


def unit_rows(rows: Floats) -> Floats:
    """The rows [n, k] with length 1 each; zero rows stay zero."""
    # By the largest entry first, so that no square under- or overflows.
    largest = np.abs(rows).max(axis=1, initial=0.0, keepdims=True)
    scaled = rows / np.where(largest > 0.0, largest, 1.0)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.asarray(scaled / np.where(lengths > 0.0, lengths, 1.0))


def without_span(basis: Floats, vectors: Floats) -> Floats:
    """The part of `vectors`, [k] or [n, k], that is orthogonal to `basis` [r, k], orthonormal."""
    # Once leaves a part of the span that is small beside the vector; twice leaves rounding.
    for _ in range(2):
        vectors = vectors - (vectors @ basis.T) @ basis
    return vectors


__all__ = ["extended_basis", "least_singular_value", "unit_rows", "without_span"]
