"""Scoring candidates by teaching risk: one pass over them a round.

For candidate i with length 1 these arrays hold, relative to the span of the rows taught so far,
inner[i] = ⟨r, f⟩ and left[i] = ‖f⊥‖². Candidates may be stored in single precision; what is done
with them is done in double.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compiling import kernel

# A sum may be reordered, so that it can be done in parallel lanes. NaN and ∞ keep their meaning.
# Without the lock of the interpreter, threads can share a pass.
_summing: Any = kernel(nogil=True, fastmath={"reassoc", "contract", "nsz"})

RECOMPUTE = 1e-3  # below this share of its last exact value, rounding shows in what is left


@_summing
def squares(rows, out, first, last):
    """out[i] ← ‖row i‖², for i = first … last − 1."""
    for i in range(first, last):
        total = 0.0
        for j in range(rows.shape[1]):
            x = np.float64(rows[i, j])
            total += x * x
        out[i] = total


@_summing
def products(rows, scales, r, out, first, last):
    """out[i] ← scales[i]·⟨row i, r⟩, for i = first … last − 1."""
    for i in range(first, last):
        total = 0.0
        for j in range(r.size):
            total += rows[i, j] * r[j]
        out[i] = scales[i] * total


@_summing
def round_to_single(rows, factors, single, first, last):
    """single ← factors[i]·row i, for i = first … last − 1; gives back whether that rounded any."""
    changed = 0
    for i in range(first, last):
        for j in range(rows.shape[1]):
            x = factors[i] * rows[i, j]
            single[i, j] = x
            changed += np.float64(single[i, j]) != x
    return changed > 0


@_summing
def remove(basis, rank, x):
    """x ← x without its part in the span of the first `rank` rows of `basis`, orthonormal."""
    for q in range(rank):
        along = 0.0
        for j in range(x.size):
            along += basis[q, j] * x[j]
        for j in range(x.size):
            x[j] -= along * basis[q, j]


@_summing
def add_direction(basis, rank, row, least, r):
    """Add what sticks out of `row`, scaled to length 1, to the basis, and take it out of r.

    basis [≥ rank + 1, k] gets its row `rank`; r [k] ⟂ basis is updated. Nothing happens if at most
    `least` sticks out. Gives back whether it did, ⟨r, u⟩ for the new direction u, and ‖r‖² after.
    """
    u = basis[rank]
    squares = 0.0
    for j in range(r.size):
        u[j] = row[j]
        squares += u[j] * u[j]
    if squares == 0.0:
        return False, 0.0, 0.0
    u /= np.sqrt(squares)
    remove(basis, rank, u)
    remove(basis, rank, u)
    length = np.sqrt(np.dot(u, u))
    if length <= least:
        return False, 0.0, 0.0
    # To make a short vector a unit vector magnifies what rounding left of the span in it.
    u /= length
    remove(basis, rank, u)
    again = np.sqrt(np.dot(u, u))
    along = 0.0
    for j in range(u.size):
        u[j] /= again
        along += u[j] * r[j]
    for j in range(r.size):
        r[j] -= along * u[j]
    remove(basis, rank + 1, r)
    return True, along, np.dot(r, r)


@_summing
def deflate(candidates, scales, u, along, inner, left, exact, fallen, first, last):
    """Account for the new direction u, with ⟨r, u⟩ = along, in candidates first … last − 1.

    Candidates [n, k] times scales [n] are unit vectors. Those of which little is left compared to
    the last exact value are listed in fallen[first:]; gives back how many they are.
    """
    count = 0
    i = first
    d = np.empty(4)
    while i < last:
        rows = min(4, last - i)
        if rows == 4:  # four at a time, so that u is read a quarter as often
            d0, d1, d2, d3 = 0.0, 0.0, 0.0, 0.0
            for j in range(u.size):
                x = u[j]
                d0 += candidates[i, j] * x
                d1 += candidates[i + 1, j] * x
                d2 += candidates[i + 2, j] * x
                d3 += candidates[i + 3, j] * x
            d[0], d[1], d[2], d[3] = d0, d1, d2, d3
        else:
            for row in range(rows):
                total = 0.0
                for j in range(u.size):
                    total += candidates[i + row, j] * u[j]
                d[row] = total
        for row in range(rows):
            c = i + row
            share = d[row] * scales[c]
            inner[c] -= share * along
            left[c] -= share * share
            if left[c] < RECOMPUTE * exact[c]:
                fallen[first + count] = c
                count += 1
        i += rows
    return count


@_summing
def gain(inner, left, total):
    """The squared cosine of r, ‖r‖² = total, and f⊥: what share of ‖r‖² goes with the candidate."""
    if left <= 0.0 or total <= 0.0:
        return 0.0
    return min(inner * inner / (left * total), 1.0)


@_summing
def choose(inner, left, total, excluded, nothing, tie):
    """The first candidate whose risk is within tie·√total of the lowest, and the largest gain.

    −1 if all are excluded. Candidates with left ≤ 0 are dependent, and gain nothing; no one gains
    if total ≤ nothing.
    """
    total = total if total > nothing else 0.0
    most, first = -1.0, -1
    for i in range(inner.size):
        if not excluded[i]:
            if first < 0:
                first = i
            most = max(most, gain(inner[i], left[i], total))
    if first < 0 or most <= tie:  # no risk falls by more than the tie
        return first, most
    enough = np.sqrt(1.0 - most) + tie
    for i in range(first, inner.size):
        if not excluded[i] and 1.0 - gain(inner[i], left[i], total) <= enough * enough:
            return i, most
    return first, most
