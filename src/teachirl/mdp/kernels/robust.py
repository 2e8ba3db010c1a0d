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


class Chosen(NamedTuple):
    """The rows [n] that nature chose last; the order [n] of the entries of each pair, counted from
    0, from the least to the best; and which rows stand [P], see `respond`."""

    rows: Floats
    order: NDArray[Any]
    stands: NDArray[Any]


@part
def still_sorted(sets, p, order, z):
    """Whether no entry of pair p has become worth less than the one before it."""
    for i in range(sets.indptr[p] + 1, sets.indptr[p + 1]):
        if z[order[i]] < z[order[i - 1]]:
            return False
    return True


@part
def total_of(sets, p, rows, z):
    """Σ row·z of the row of pair p."""
    first, total = sets.indptr[p], 0.0
    for i in range(sets.indptr[p + 1] - first):
        total += rows[first + i] * z[i]
    return total


@part
def respond(sets, p, z, chosen):
    """chosen ← the row of pair p with the largest Σ row·z, z [entries of p]; that sum.

    The row depends on the order of its entries only: it stands for whatever sorts them so, unless
    it was cut short by entries that are worth the same.
    """
    rows, order, stands = chosen
    first, last = sets.indptr[p], sets.indptr[p + 1]
    m, stands[p] = last - first, False
    for i in range(1, m):
        entry = order[first + i]
        j = i - 1
        while j >= 0 and z[order[first + j]] > z[entry]:
            order[first + j + 1] = order[first + j]
            j -= 1
        order[first + j + 1] = entry
    for i in range(first, last):
        rows[i] = sets.nominal[i]
    left, i, j, tied = sets.budget[p], 0, m - 1, False
    while left > 0.0 and i < j:
        giver, taker = order[first + i], order[first + j]
        if not z[taker] > z[giver]:
            tied = True
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
    stands[p] = not tied
    return total_of(sets, p, rows, z)


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
    sets, offsets, reward, outcome, v, chances, free, sign, discount, tie, chosen, known, room
):
    """One backup; Tv and T_π v are written into `room`, which `workspace` made."""
    z, hoped, reached = room[0], room[1], room[2]
    before, worths = known
    rows, order, stands = chosen
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
        best, mean, old = -np.inf, 0.0, -1
        if free:
            # The pair of the last backup comes first: most others need no sorting then. In the
            # first backup, it is the one that may be worth most.
            for p in range(first, last):
                worths[p] += rise + 1e-15 * abs(worths[p])
                if chances[p] == 1.0:
                    old = p
            if old < 0:
                old = first
                for p in range(first, last):
                    worth(sets, p, outcome, v, discount, sign, z)
                    worths[p] = at_most(sets, p, z, sign, reward[p])
                    if worths[p] > worths[old]:
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
            if stands[p] and still_sorted(sets, p, order, z):
                value = reward[p] + sign * total_of(sets, p, rows, z)
            else:
                if free and k > 0:
                    worths[p] = at_most(sets, p, z, sign, reward[p])
                    if worths[p] < best - tie:
                        continue
                value = reward[p] + sign * respond(sets, p, z, chosen)
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
    """Room for the entries of the longest row; for Tv and T_π v; and for a chain."""
    longest = 0
    for p in range(pairs):
        longest = max(longest, sets.indptr[p + 1] - sets.indptr[p])
    entries = sets.indices.size
    chain = np.empty(n), np.zeros(n + 1, np.int64), np.empty(entries, np.uint32), np.empty(entries)
    return np.empty(longest), np.empty(n), np.empty(n), chain


@part
def follow(sets, offsets, reward, outcome, chances, rows, discount, chain):
    """chain ← what the policy earns in each state of that world, and where it goes from there."""
    earned, ends, targets, shares = chain
    n = 0
    for s in range(earned.size):
        earned[s] = 0.0
        for p in range(offsets[s], offsets[s + 1]):
            if chances[p] == 0.0:
                continue
            earned[s] += chances[p] * reward[p]
            for i in range(sets.indptr[p], sets.indptr[p + 1]):
                if rows[i] == 0.0:
                    continue
                if outcome.size:
                    earned[s] += chances[p] * rows[i] * outcome[i]
                targets[n], shares[n] = sets.indices[i], discount * chances[p] * rows[i]
                n += 1
        ends[s + 1] = n


@part
def sweep(chain, v):
    """v ← what the chain earns, state after state; the span of the changes."""
    earned, ends, targets, shares = chain
    low, high = np.inf, -np.inf
    for s in range(v.size):
        value = earned[s]
        for i in range(ends[s], ends[s + 1]):
            value += shares[i] * v[np.uint64(targets[i])]
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
    chosen,
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
            chosen,
            known,
            room,
        )
        rounds += 1
        if high - low <= span or sweeps <= 0:
            return room[1], room[2], low, high, rounds
        v[:] = room[2]
        near = 0.02 * (high - low)
        follow(sets, offsets, reward, outcome, chances, chosen.rows, discount, room[3])
        while sweeps > 0:
            sweeps -= 1
            if sweep(room[3], v) <= near:
                break


@compiled
def earned(sets, offsets, chances, rows, rewards, outcomes):
    """What a policy earns in each state, [S, m], where these are the rows: given the rewards [P, m]
    of pairs, and [n, m] of what follows, if there are such."""
    out = np.zeros((offsets.size - 1, rewards.shape[1]))
    for s in range(out.shape[0]):
        for p in range(offsets[s], offsets[s + 1]):
            if chances[p] == 0.0:
                continue
            for j in range(out.shape[1]):
                out[s, j] += chances[p] * rewards[p, j]
            if outcomes.shape[0]:
                for i in range(sets.indptr[p], sets.indptr[p + 1]):
                    for j in range(out.shape[1]):
                        out[s, j] += chances[p] * rows[i] * outcomes[i, j]
    return out
