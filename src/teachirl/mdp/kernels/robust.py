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
from .compiling import compiled, part


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
def still_sorted(order, z):
    """Whether none of the entries of a row has become worth less than the one before it."""
    i = 1
    while i < order.size and z[order[i]] >= z[order[i - 1]]:
        i += 1
    return i >= order.size


@part
def total_of(row, z):
    """Σ row·z."""
    total = 0.0
    for i in range(row.size):
        total += row[i] * z[i]
    return total


@part
def respond(nominal, lower, upper, budget, z, row, order):
    """row ← the one with the largest Σ row·z; whether it stands for whatever sorts its entries so.

    The row depends on the order of its entries only, unless it was cut short by entries that are
    worth the same.
    """
    m = row.size
    for i in range(1, m):
        entry = order[i]
        j = i - 1
        while j >= 0 and z[order[j]] > z[entry]:
            order[j + 1] = order[j]
            j -= 1
        order[j + 1] = entry
    for i in range(m):
        row[i] = nominal[i]
    left, i, j = budget, 0, m - 1
    while left > 0.0 and i < j:
        giver, taker = order[i], order[j]
        if not z[taker] > z[giver]:
            return False
        there = row[giver] - lower[giver]
        room = upper[taker] - row[taker]
        move = min(left, there, room)
        row[giver] -= move
        row[taker] += move
        left -= move
        if there <= room:
            i += 1
        if room <= there:
            j -= 1
    return True


@part
def worth(indices, outcome, first, last, v, discount, sign, z):
    """z ← sign times what each of these successors brings."""
    for i in range(last - first):
        z[i] = sign * discount * v[np.uint64(indices[first + i])]
    if outcome.size:
        for i in range(last - first):
            z[i] += sign * outcome[first + i]


@part
def at_most(nominal, budget, z, sign, reward):
    """More than a pair can bring, before its entries are sorted."""
    total, least, most = 0.0, z[0], z[0]
    for i in range(nominal.size):
        total += nominal[i] * z[i]
        if z[i] < least:
            least = z[i]
        if z[i] > most:
            most = z[i]
    if sign > 0.0:
        total += budget * (most - least)
    size = abs(reward) + max(abs(least), abs(most))
    return reward + sign * total + 1e-12 * size


@part
def all_at_most(indptr, indices, nominal, budget, reward, outcome, v, discount, sign, worths):
    """worths ← more than each pair can bring, before its entries are sorted."""
    share = 1.0 if sign > 0.0 else 0.0
    for p in range(worths.size):
        total, least, most = 0.0, np.inf, -np.inf
        first, last = np.uint64(indptr[p]), np.uint64(indptr[p + 1])
        for i in range(first, last):
            z = discount * v[np.uint64(indices[i])]
            if outcome.size:
                z += outcome[i]
            total += nominal[i] * z
            least = z if z < least else least
            most = z if z > most else most
        total += share * budget[p] * (most - least)
        size = abs(reward[p]) + max(abs(least), abs(most))
        worths[p] = reward[p] + total + 1e-12 * size


@part
def back_up(
    sets, offsets, reward, outcome, v, chances, free, sign, discount, tie, chosen, known, room
):
    """One backup; Tv and T_π v are written into `room`, which `workspace` made."""
    z, hoped, reached = room[0], room[1], room[2]
    before, worths = known
    rows, order, stands = chosen
    indptr, indices, nominal, lower, upper, budget = sets
    # Where no value has risen by more than c, no pair is worth more than γc more than it was; and
    # a few units in the last place, which are lost in these sums.
    rise, largest = 0.0, 0.0
    for s in range(v.size):
        rise, largest = max(rise, v[s] - before[s]), max(largest, abs(v[s]))
        before[s] = v[s]
    rise = discount * rise + 1e-15 * largest
    low, high = np.inf, -np.inf
    first_time = free and worths[0] == np.inf
    if first_time:
        all_at_most(indptr, indices, nominal, budget, reward, outcome, v, discount, sign, worths)
    for s in range(v.size):
        first, last = offsets[s], offsets[s + 1]
        best, mean, old = -np.inf, 0.0, -1
        # The pair of the last backup comes first: most others need no sorting then. In the first
        # backup, it is the one that may be worth most.
        if first_time:
            old = first
            for p in range(first, last):
                if worths[p] > worths[old]:
                    old = p
        elif free:
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
            a, b = indptr[p], indptr[p + 1]
            worth(indices, outcome, a, b, v, discount, sign, z)
            row = rows[a:b]
            if not (stands[p] and still_sorted(order[a:b], z)):
                if free and k > 0:
                    worths[p] = at_most(nominal[a:b], budget[p], z, sign, reward[p])
                    if worths[p] < best - tie:
                        continue
                bounds = nominal[a:b], lower[a:b], upper[a:b], budget[p]
                stands[p] = respond(*bounds, z, row, order[a:b])
            value = reward[p] + sign * total_of(row, z)
            worths[p] = value
            best = max(best, value)
            mean += chances[p] * value
        if free:
            for p in range(first, last):
                chances[p] = 0.0
            # Who changes for nothing may go round in circles.
            p = first if first_time or worths[old] < best - tie else old
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
    indptr, indices = sets.indptr, sets.indices
    n = 0
    for s in range(earned.size):
        earned[s] = 0.0
        for p in range(offsets[s], offsets[s + 1]):
            if chances[p] == 0.0:
                continue
            earned[s] += chances[p] * reward[p]
            for i in range(indptr[p], indptr[p + 1]):
                if rows[i] == 0.0:
                    continue
                if outcome.size:
                    earned[s] += chances[p] * rows[i] * outcome[i]
                targets[n], shares[n] = indices[i], discount * chances[p] * rows[i]
                n += 1
        ends[s + 1] = n


@part
def sweep(chain, v):
    """v ← what the chain earns, state after state; the span of the changes."""
    earned, ends, targets, shares = chain
    low, high = np.inf, -np.inf
    for s in range(v.size):
        value = earned[s]
        for i in range(np.uint64(ends[s]), np.uint64(ends[s + 1])):
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
    free, it keeps its pairs within `tie` of the best, and changes to the first that are. `known`
    are values [S] and more than each pair [P] is worth by them, ∞ at first: pairs that cannot have
    become the best since are passed over. Between two backups the policy is followed in its world
    by sweeps, `sweeps` of them in all at most; v is what was backed up last. Tv; T_π v; the least
    of T_π v − v, and the largest of Tv − v; and how many backups.
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


@compiled
def add_flow(sets, offsets, chances, rows, visits, x, flow):
    """Add to x [P] and flow [n] how often who visits states so often [S] takes each pair, and what
    follows it how often."""
    for s in range(visits.size):
        for p in range(offsets[s], offsets[s + 1]):
            if chances[p] == 0.0:
                continue
            often = max(visits[s], 0.0) * chances[p]
            x[p] += often
            for i in range(sets.indptr[p], sets.indptr[p + 1]):
                flow[i] += often * rows[i]
