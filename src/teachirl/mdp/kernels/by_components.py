"""Planning one strong component after another, those that nothing leaves first.

What a component leads to is final when its turn comes, so that errors do not add up. Most worlds
that are not grids fall into many components, and most of these are single states.
"""

from __future__ import annotations

import numpy as np

from .aims import OPTIMAL, OUT_OF_ROUNDS, ROUNDING, TOO_LARGE, UNFINISHED, aims, bracket
from .elimination import eliminate, space_for
from .layouts import Sparse, compiled, part
from .sweeps import mean

FAST = 0.1  # sweeps go on alone while each leaves at most this share of the change before it
FIRST, BETWEEN = 3, 2  # sweeps before the first evaluation of a policy, and between two
SWEEPS = 20  # of a policy that elimination gave up on, between two choices of actions
ATTEMPTS = 2  # at elimination in a component
STALLED = 10  # rounds close to the end without progress: rounding is to blame
CLOSE = 1e3  # how close, in what would be enough
MOST_ROUNDS = 200  # in a component; what needs more is left to `solve`, which knows other means


@part
def improve(layout, rewards, scale, v, choice, discount, first, last):
    """Best backups in place, `first` to `last`, a state's loops solved for; the largest change."""
    change = 0.0
    one = np.uint64(1)
    p = layout.offsets[first]
    for s in range(np.uint64(first), np.uint64(last)):
        mine = v[s]
        best = -np.inf
        start, end = p, layout.offsets[s + one]
        taken = p
        while p < end:
            total = 0.0
            for j in range(layout.indptr[p], layout.indptr[p + one]):
                total += layout.data[j] * v[layout.indices[j]]
            gain = rewards[p] + discount * total - mine
            gain *= scale[p]
            if gain > best:
                best = gain
                taken = p
            p += one
        choice[s] = taken - start
        v[s] = mine + best
        change = max(change, abs(best))
    return change


@part
def follow_in_place(layout, rewards, scale, v, choice, discount, first, last):
    """Backups of the policy `choice` in place; gives back the largest change."""
    change, one = 0.0, np.uint64(1)
    for s in range(np.uint64(first), np.uint64(last)):
        p = layout.offsets[s] + np.uint64(choice[s])
        total = 0.0
        for j in range(layout.indptr[p], layout.indptr[p + one]):
            total += layout.data[j] * v[layout.indices[j]]
        gain = (rewards[p] + discount * total - v[s]) * scale[p]
        v[s] += gain
        change = max(change, abs(gain))
    return change


@part
def solve_component(
    layout, rewards, scale, v, choice, discount, first, last, enough, rounds, space
):
    """Improve and evaluate until no state changes by more than `enough`; the rounds that took."""
    previous, least = np.inf, np.inf
    done, failures, stalled, wait = 0, 0, 0, FIRST
    while done < min(rounds, MOST_ROUNDS):
        done += 1
        change = improve(layout, rewards, scale, v, choice, discount, first, last)
        if change <= enough:
            break
        stalled = stalled + 1 if 0.5 * least <= change <= CLOSE * enough else 0
        if stalled == STALLED:
            break
        slow = change > FAST * previous
        least, previous = min(least, change), change
        wait -= 1
        if wait > 0 or not slow:
            continue
        wait = BETWEEN
        if failures < ATTEMPTS:
            if eliminate(layout, rewards, v, choice, discount, first, last, space):
                continue
            failures += 1
        for _ in range(SWEEPS):
            moved = follow_in_place(layout, rewards, scale, v, choice, discount, first, last)
            if moved <= FAST * change:
                break
    return done


@part
def settle_alone(
    layout, rewards, scale, v, backed_up, reached, choice, worth, discount, tie, first, last
):
    """`improve` and `certify` in one pass, for states that are components of their own."""
    one = np.uint64(1)
    low, high, lowest = np.inf, -np.inf, np.inf
    p = layout.offsets[first]
    for s in range(np.uint64(first), np.uint64(last)):
        begin, n = p, layout.offsets[s + one] - p
        mine, best, loops = v[s], -np.inf, False
        for a in range(np.uint64(0), n):
            total = 0.0
            for j in range(layout.indptr[p], layout.indptr[p + one]):
                total += layout.data[j] * v[layout.indices[j]]
            worth[a] = rewards[p] + discount * total
            if scale[p] == 1.0:
                best = max(best, worth[a])
            else:
                loops = True
                best = max(best, mine + (worth[a] - mine) * scale[p])
            p += one
        v[s] = best
        if loops:  # what a loop is worth has changed with the state's own value
            best, p = -np.inf, begin
            for a in range(np.uint64(0), n):
                total = 0.0
                for j in range(layout.indptr[p], layout.indptr[p + one]):
                    total += layout.data[j] * v[layout.indices[j]]
                worth[a] = rewards[p] + discount * total
                best = max(best, worth[a])
                p += one
            low, high = min(low, best - v[s]), max(high, best - v[s])
        taken = np.uint64(0)
        while worth[taken] < best - tie:
            taken += one
        choice[s], backed_up[s], reached[s] = taken, best, worth[taken]
        lowest = min(lowest, worth[taken] - v[s])
    # Without a loop Tv is v.
    return min(low, 0.0), max(high, 0.0), lowest


@part
def certify(layout, rewards, v, backed_up, reached, choice, worth, discount, tie, first, last):
    """backed_up ← Tv; choice ← the first action within `tie` of the best, reached ← T_π v of it.

    Gives back the least and the largest of Tv − v, and the least of T_π v − v.
    """
    one = np.uint64(1)
    low, high, lowest = np.inf, -np.inf, np.inf
    p = layout.offsets[first]
    for s in range(np.uint64(first), np.uint64(last)):
        n = layout.offsets[s + one] - p
        best = -np.inf
        for a in range(np.uint64(0), n):
            total = 0.0
            for j in range(layout.indptr[p], layout.indptr[p + one]):
                total += layout.data[j] * v[layout.indices[j]]
            worth[a] = rewards[p] + discount * total
            best = max(best, worth[a])
            p += one
        taken = np.uint64(0)
        while worth[taken] < best - tie:
            taken += one
        choice[s], backed_up[s], reached[s] = taken, best, worth[taken]
        low, high = min(low, best - v[s]), max(high, best - v[s])
        lowest = min(lowest, worth[taken] - v[s])
    return low, high, lowest


@part
def solve_components(
    layout, rewards, bounds, scale, v, backed_up, reached, choice, discount, enough, tie, rounds
):
    """Solve and certify each; the least and the largest of Tv − v, the least of T_π v − v, and the
    most rounds that one took."""
    largest, n = np.int64(1), bounds.size - 1
    for c in range(n):
        largest = max(largest, bounds[c + 1] - bounds[c])
    space = space_for(largest if largest > 1 else np.int64(0))
    most = np.uint64(0)
    for s in range(v.size):
        most = max(most, layout.offsets[s + 1] - layout.offsets[s])
    worth = np.empty(most)
    if rounds == 0:
        low, high, lowest = certify(
            layout, rewards, v, backed_up, reached, choice, worth, discount, tie, 0, v.size
        )
        return low, high, lowest, 0
    low, high, lowest, done = np.inf, -np.inf, np.inf, 1
    c = 0
    while c < n:
        first = bounds[c]
        while c < n and bounds[c + 1] - bounds[c] == 1:
            c += 1
        if bounds[c] > first:
            mine = settle_alone(
                layout, rewards, scale, v, backed_up, reached, choice, worth, discount, tie,
                first, bounds[c],
            )  # fmt: skip
            low, high, lowest = min(low, mine[0]), max(high, mine[1]), min(lowest, mine[2])
        if c < n:
            first, last = bounds[c], bounds[c + 1]
            took = solve_component(
                layout, rewards, scale, v, choice, discount, first, last, enough, rounds, space
            )
            mine = certify(
                layout, rewards, v, backed_up, reached, choice, worth, discount, tie, first, last
            )
            low, high, lowest = min(low, mine[0]), max(high, mine[1]), min(lowest, mine[2])
            done = max(done, took)
            c += 1
    return low, high, lowest, done


@compiled
def plan_by_components(
    moved, indptr, indices, data, order, bounds, scale, start, offsets, rewards, guess,
    weights, entries, longest, relative, discount, tolerance, rounds,
):  # fmt: skip
    """All that `planning` does, component by component; moved to start are those of `Components`.

    offsets [S + 1] are those of the pairs of states; rewards are [S], or [P] a pair; guess is [S],
    or empty; the rest is as for `aims`. Gives back the values and the pairs taken [S]; the bounds;
    the rounds; and how it ended.
    """
    layout = Sparse(moved, indptr, indices, data, 0)
    n, n_pairs = order.size, scale.size
    values, pairs = np.empty(n), np.empty(n, np.int64)
    least, most, asked, target, tie, limit, slack, per_value, largest = aims(
        rewards, weights, entries, longest, n, relative, discount, tolerance, rounds
    )
    if asked == np.inf:
        return values, pairs, -np.inf, np.inf, 0, TOO_LARGE
    lowest, highest = least / (1.0 - discount), most / (1.0 - discount)  # all values are there
    v, r = np.full(n, 0.5 * (lowest + highest)), np.empty(n_pairs)
    pair = 0
    for i in range(n):
        s = order[i]
        if guess.size == n:
            v[i] = min(max(guess[s], lowest), highest)
        for p in range(offsets[s], offsets[s + 1]):
            r[pair] = rewards[s if rewards.size == n else p]
            pair += 1
    choice, backed_up, reached = np.empty(n, np.uint32), np.empty(n), np.empty(n)
    enough = 0.5 * target * (1.0 - discount) / discount
    low, high, low_reached, done = solve_components(
        layout, r, bounds, scale, v, backed_up, reached, choice, discount, enough, tie, limit
    )
    shift = discount / (1.0 - discount) * 0.5 * (low + high)
    reach = 0.0
    for i in range(n):
        s = order[i]
        values[s] = backed_up[i] + shift
        pairs[s] = offsets[s] + choice[i]
        reach = max(reach, abs(v[i]))
    close = (high - low) * discount / (1.0 - discount) <= target
    lower, upper = bracket(
        mean(start, backed_up), high, mean(start, reached), low_reached, reach,
        slack, per_value, largest, discount,
    )  # fmt: skip
    ended = OPTIMAL
    if not close and done < limit:
        ended = UNFINISHED
    elif upper - lower > asked and least != most:
        ended = ROUNDING if close else OUT_OF_ROUNDS
    return values, pairs, lower, upper, done, ended
