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
        z[i] = sign * discount * v[np.uint64(sets.indices[first + i])]
    if outcome.size:
        for i in range(last - first):
            z[i] += sign * outcome[first + i]


@part
def at_most(sets, p, z, sign, reward):
    """More than pair p can bring, before its entries are sorted."""
    first, last = sets.indptr[p], sets.indptr[p + 1]
    total, least, most = 0.0, z[0], z[0]
    for i in range(last - first):
        total += sets.nominal[first + i] * z[i]
        if z[i] < least:
            least = z[i]
        if z[i] > most:
            most = z[i]
    if sign > 0.0:
        total += sets.budget[p] * (most - least)
    size = abs(reward) + max(abs(least), abs(most))
    return reward + sign * total + 1e-12 * size


@part
def back_up(
    sets, offsets, reward, outcome, v, chances, free, sign, discount, tie, order, rows, known, room
):
    """One backup; Tv and T_π v are written into `room`, which `workspace` made."""
    z, hoped, reached = room
    before, worths = known
    # Where no value has risen by more than c, no pair is worth more than γc more than it was; and
    # a few units in the last place, which are lost in these sums.
    rise, largest = 0.0, 0.0
    for s in range(v.size):
        rise, largest = max(rise, v[s] - before[s]), max(largest, abs(v[s]))
        before[s] = v[s]
    rise = discount * rise + 1e-15 * largest
    low, high = np.inf, -np.inf
    for s in range(v.size):
        first, last = offsets[s], offsets[s + 1]
        best, mean, old = -np.inf, 0.0, first
        if free:
            # The pair of the last backup comes first: most others need no sorting then.
            for p in range(first, last):
                worths[p] += rise + 1e-15 * abs(worths[p])
                if chances[p] == 1.0:
                    old = p
        for k in range(last - first):
            p = first + k
            if free and k == 0:
                p = old
            elif free and p <= old:
                p -= 1
            if not free and chances[p] == 0.0:
                continue
            if free and k > 0 and worths[p] < best - tie:
                continue
            worth(sets, p, outcome, v, discount, sign, z)
            if free and k > 0:
                worths[p] = at_most(sets, p, z, sign, reward[p])
                if worths[p] < best - tie:
                    continue
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
    return low, high


@part
def workspace(sets, n, pairs):
    """Room for the entries of the longest row, and for Tv and T_π v."""
    longest = 0
    for p in range(pairs):
        longest = max(longest, sets.indptr[p + 1] - sets.indptr[p])
    return np.empty(longest), np.empty(n), np.empty(n)


@part
def sweep(sets, offsets, reward, outcome, v, chances, rows, discount):
    """v ← what the policy earns in that world, state after state; the span of the changes."""
    low, high = np.inf, -np.inf
    for s in range(v.size):
        value = 0.0
        for p in range(offsets[s], offsets[s + 1]):
            if chances[p] == 0.0:
                continue
            total = reward[p]
            for i in range(sets.indptr[p], sets.indptr[p + 1]):
                follows = discount * v[np.uint64(sets.indices[i])]
                if outcome.size:
                    follows += outcome[i]
                total += rows[i] * follows
            value += chances[p] * total
        low, high = min(low, value - v[s]), max(high, value - v[s])
        v[s] = value
    return high - low


@compiled
def back_up_robustly(
    sets,
    offsets,
    reward,
    outcome,
    v,
    chances,
    free,
    sign,
    discount,
    tie,
    order,
    rows,
    known,
    span,
    sweeps,
):
    """Backups with the sets, or against them, from v [S], until Tv − v spans at most `span`.

    Nature chooses the rows that bring most where `sign` is 1, and least where it is −1. Where π is
    free, the first pairs within `tie` of the best become its chances. `known` are values [S] and
    more than each pair [P] is worth by them, ∞ at first: pairs that cannot have become the best
    since are passed over. Between two backups the policy is followed in its world by sweeps,
    `sweeps` of them in all at most; v is what was backed up last. Tv; T_π v; the least of
    T_π v − v, and the largest of Tv − v; and how many backups.
    """
    room = workspace(sets, v.size, reward.size)
    rounds = 0
    while True:
        low, high = back_up(
            sets,
            offsets,
            reward,
            outcome,
            v,
            chances,
            free,
            sign,
            discount,
            tie,
            order,
            rows,
            known,
            room,
        )
        rounds += 1
        if high - low <= span or sweeps <= 0:
            return room[1], room[2], low, high, rounds
        v[:] = room[2]
        near = 0.02 * (high - low)
        while sweeps > 0:
            sweeps -= 1
            if sweep(sets, offsets, reward, outcome, v, chances, rows, discount) <= near:
                break
