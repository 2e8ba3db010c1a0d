"""Planning where the rows of the transitions are known up to sets only.

The row of a pair is any p with low ≤ p ≤ high, Σp = 1 and ‖p − nominal‖₁ ≤ 2·budget. Of these the
one with the largest Σ p·z is found by sorting: mass goes from the successors with the least z to
those with the largest, as long as there is room and budget.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats
from .layouts import compiled, part


class Sets(NamedTuple):
    """indptr [P + 1] and indices [n] of all that may follow each pair; nominal, low and high [n]
    of each; budget [P], how much of the mass of a row may move."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    nominal: Floats
    low: Floats
    high: Floats
    budget: Floats


@part
def respond(sets, p, order, z, rows):
    """rows ← the row of pair p with the largest Σ row·z, z [entries of p]; that sum.

    `order` holds the entries as they were sorted the last time: most often they still are.
    """
    first, last = sets.indptr[p], sets.indptr[p + 1]
    m = last - first
    if m == 1:
        rows[first] = sets.nominal[first]
        return rows[first] * z[0]
    for i in range(1, m):
        entry = order[first + i]
        j = i - 1
        while j >= 0 and z[order[first + j]] > z[entry]:
            order[first + j + 1] = order[first + j]
            j -= 1
        order[first + j + 1] = entry
    for i in range(first, last):
        rows[i] = sets.nominal[i]
    left, i, j = sets.budget[p], 0, m - 1
    while left > 0.0 and i < j:
        giver, taker = order[first + i], order[first + j]
        if not z[taker] > z[giver]:
            break
        there = rows[first + giver] - sets.low[first + giver]
        room = sets.high[first + taker] - rows[first + taker]
        move = min(left, there, room)
        rows[first + giver] -= move
        rows[first + taker] += move
        left -= move
        if there <= room:
            i += 1
        if room <= there:
            j -= 1
    total = 0.0
    for i in range(m):
        total += rows[first + i] * z[i]
    return total


@part
def worth(sets, p, outcome, v, discount, sign, z):
    """z ← sign times what each successor of pair p brings."""
    first, last = sets.indptr[p], sets.indptr[p + 1]
    for i in range(last - first):
        value = discount * v[np.uint64(sets.indices[first + i])]
        if outcome.size:
            value += outcome[first + i]
        z[i] = sign * value


@compiled
def back_up_robustly(
    sets, offsets, reward, outcome, v, chances, free, sign, discount, tie, order, rows
):
    """One backup with the sets, or against them, from v [S].

    Nature chooses the rows that bring most where `sign` is 1, and least where it is −1. Where π is
    free, the first pairs within `tie` of the best become its chances. Tv; T_π v; the least of
    T_π v − v, and the largest of Tv − v.
    """
    n, longest = v.size, 0
    for p in range(reward.size):
        longest = max(longest, sets.indptr[p + 1] - sets.indptr[p])
    z, worths = np.empty(longest), np.zeros(reward.size)
    hoped, reached = np.empty(n), np.empty(n)
    low, high = np.inf, -np.inf
    for s in range(n):
        first, last = offsets[s], offsets[s + 1]
        best, mean = -np.inf, 0.0
        for p in range(first, last):
            if not free and chances[p] == 0.0:
                continue
            worth(sets, p, outcome, v, discount, sign, z)
            value = reward[p] + sign * respond(sets, p, order, z, rows)
            worths[p] = value
            best = max(best, value)
            mean += chances[p] * value
        if free:
            for p in range(first, last):
                chances[p] = 0.0
            p = first
            while worths[p] < best - tie:
                p += 1
            chances[p] = 1.0
            hoped[s], reached[s] = best, worths[p]
        else:
            hoped[s] = reached[s] = mean
        low = min(low, reached[s] - v[s])
        high = max(high, hoped[s] - v[s])
    return hoped, reached, low, high
