"""Planning one strong component after another, those that nothing leaves first.

What a component leads to is final when its turn comes, so that errors do not add up. Most worlds
that are not grids fall into many components, and most of these are single states.
"""

from __future__ import annotations

import numpy as np

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
def solve_components(layout, rewards, bounds, scale, v, choice, discount, enough, rounds):
    """`solve_component` for each; the most rounds that one took."""
    largest = 1
    for c in range(bounds.size - 1):
        largest = max(largest, bounds[c + 1] - bounds[c])
    space = space_for(largest if largest > 1 else np.int64(0))
    most = 0
    c, n = 0, bounds.size - 1
    while c < n:
        first = bounds[c]
        while c < n and bounds[c + 1] - bounds[c] == 1:
            c += 1
        if bounds[c] > first and rounds > 0:
            most = max(most, 1)
            improve(layout, rewards, scale, v, choice, discount, first, bounds[c])
        if c < n:
            done = solve_component(
                layout,
                rewards,
                scale,
                v,
                choice,
                discount,
                bounds[c],
                bounds[c + 1],
                enough,
                rounds,
                space,
            )
            most = max(most, done)
            c += 1
    return most


@part
def certify(layout, rewards, v, backed_up, reached, choice, discount, tie):
    """backed_up ← Tv; choice ← the first action within `tie` of the best, reached ← T_π v of it.

    Gives back the least and the largest of Tv − v, and the least of T_π v − v.
    """
    one, most = np.uint64(1), np.uint64(0)
    for s in range(np.uint64(0), np.uint64(v.size)):
        most = max(most, layout.offsets[s + one] - layout.offsets[s])
    worth = np.empty(most)
    low, high, lowest = np.inf, -np.inf, np.inf
    p = np.uint64(0)
    for s in range(np.uint64(0), np.uint64(v.size)):
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


@compiled
def plan_by_components(
    moved, indptr, indices, data, order, bounds, scale, start,
    offsets, rewards, guess, discount, target, tie, rounds,
):  # fmt: skip
    """What `sweeps.plan` does, component by component; moved to start are those of `Components`.

    offsets [S + 1] are those of the pairs of states; rewards are [S], or [P] a pair; guess is [S],
    or [1] for all. Gives back the values and the pairs taken [S]; the start's mean of Tv and the
    largest of Tv − v; the start's mean of T_π v and the least of T_π v − v; the largest |v|; the
    rounds, and whether the bounds are as close as `target` asks.
    """
    layout = Sparse(moved, indptr, indices, data, 0)
    n, n_pairs = order.size, scale.size
    v, r = np.empty(n), np.empty(n_pairs)
    pair = 0
    for i in range(n):
        s = order[i]
        v[i] = guess[s if guess.size == n else 0]
        for p in range(offsets[s], offsets[s + 1]):
            r[pair] = rewards[s if rewards.size == n else p]
            pair += 1
    choice = np.empty(n, np.uint32)
    enough = 0.5 * target * (1.0 - discount) / discount
    done = solve_components(layout, r, bounds, scale, v, choice, discount, enough, rounds)
    backed_up, reached = np.empty(n), np.empty(n)
    low, high, lowest = certify(layout, r, v, backed_up, reached, choice, discount, tie)
    values, pairs = np.empty(n), np.empty(n, np.int64)
    shift = discount / (1.0 - discount) * 0.5 * (low + high)
    largest = 0.0
    for i in range(n):
        s = order[i]
        values[s] = backed_up[i] + shift
        pairs[s] = offsets[s] + choice[i]
        largest = max(largest, abs(v[i]))
    close = (high - low) * discount / (1.0 - discount) <= target
    hoped, earned = mean(start, backed_up), mean(start, reached)
    return values, pairs, hoped, high, earned, lowest, largest, done, close
