"""A QR factorisation that columns enter and leave: qᵀ R, for `master`.

Rows q[:m] of length n are orthonormal, R[:m, :m] is upper triangular, and column i of the product
is what was entered i-th of what is left. All of it is read and written along its rows, four numbers
at a time.
"""

from __future__ import annotations

import numpy as np

from .compiling import lent
from .lanes import dot, inner, rotate, take_off

DEPENDENT = 1e-9  # a column adds nothing if less than this share of it sticks out of the others
# If more than this share of a column is left, what was taken off is as good as orthogonal to it.
MUCH = 0.5


@lent
def append(new, q, R, m):
    """Enter the column new [n], and spoil it; whether it is independent of the others.

    Gram–Schmidt, twice where it has to be, keeps the rows of q orthonormal to rounding. R[:m, m] is
    set in any case: by the multiples of the others that the column consists of.
    """
    n, none = np.uint64(new.size), np.uint64(0)
    full = m == new.size
    size = np.sqrt(inner(new, new))
    left = size
    for i in range(m):
        R[i, m] = 0.0
    for _ in range(2):
        before = left
        for i in range(m):
            row = np.uint64(i) * n
            along = dot(q, row, new, none, n)
            R[i, m] += along
            take_off(new, none, along, q, row, n)
        left = np.sqrt(inner(new, new))
        if full or left > MUCH * before:
            break
    if full or not left > DEPENDENT * size:
        return False
    R[m, m] = left
    for x in range(new.size):
        q[m, x] = new[x] / left
    return True


@lent
def drop(q, R, m, gone):
    """Take column `gone` of m out, by rotations."""
    n, width, one = np.uint64(q.shape[1]), np.uint64(R.shape[1]), np.uint64(1)
    for i in range(m):
        for j in range(max(gone, i - 1), m - 1):
            R[i, j] = R[i, j + 1]
    for j in range(gone, m - 1):
        a, b = R[j, j], R[j + 1, j]
        length = np.sqrt(a * a + b * b)
        c, s = (a / length, b / length) if length > 0.0 else (1.0, 0.0)
        R[j, j], R[j + 1, j] = length, 0.0
        upper = np.uint64(j)
        lower = upper + one
        rotate(R, upper * width + lower, lower * width + lower, c, s, np.uint64(m) - one - lower)
        rotate(q, upper * n, lower * n, c, s, n)


@lent
def solve(R, m, x):
    """x[:m] ← R⁻¹ x[:m]"""
    width = np.uint64(R.shape[1])
    for j in range(m - 1, -1, -1):
        first = np.uint64(j + 1)
        rest = dot(R, np.uint64(j) * width + first, x, first, np.uint64(m) - first)
        x[j] = (x[j] - rest) / R[j, j]


@lent
def solve_transposed(R, m, x):
    """x[:m] ← R⁻ᵀ x[:m]"""
    width = np.uint64(R.shape[1])
    for j in range(m):
        x[j] /= R[j, j]
        first = np.uint64(j + 1)
        take_off(x, first, x[j], R, np.uint64(j) * width + first, np.uint64(m) - first)
