"""Planning one strong component after another, those that nothing leaves first.

What a component leads to is final when its turn comes, so that errors do not add up. Most worlds
that are not grids fall into many components, and most of these are single states.
"""

from __future__ import annotations

import numpy as np

from .aims import (
    OPTIMAL,
    OUT_OF_ROUNDS,
    PAUSED,
    ROUNDING,
    TOO_LARGE,
    UNFINISHED,
    aims,
    bracket,
)
from .compiling import compiled, lent, part
from .elimination import eliminate, space_for
from .layouts import Sparse
from .sweeps import mean

FAST = 0.1  # sweeps go on alone while each leaves at most this share of the change before it
FIRST, BETWEEN = 3, 2  # sweeps before the first evaluation of a policy, and between two
SWEEPS = 20  # of a policy that elimination gave up on, between two choices of actions
ATTEMPTS = 2  # at elimination in a component
STALLED = 10  # rounds close to the end without progress: rounding is to blame
CLOSE = 1e3  # how close, in what would be enough
MOST_ROUNDS = 200  # in a component; what needs more is left to `solve`, which knows other means
# Where a plan is: in which component; there, in which round, and how that goes; what is certified;
# and how many entries may still be passed before it pauses.
BEGUN, COMPONENT, ROUND, FAILURES, STALLED_FOR, WAIT, PREVIOUS, LEAST = range(8)
LOW, HIGH, LOWEST, MOST, ENTRIES_LEFT, PLACES = range(8, 14)
EVALUATING = 10.0  # passes that it takes to evaluate a policy, about


@lent
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


@lent
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


@lent
def solve_component(
    layout, rewards, scale, v, choice, discount, first, last, enough, rounds, space, state
):
    """Improve and evaluate until no state changes by more than `enough`; whether that is done, or
    pauses between two rounds."""
    if state[ROUND] == 0.0:
        state[PREVIOUS] = state[LEAST] = np.inf
        state[FAILURES], state[STALLED_FOR], state[WAIT] = 0.0, 0.0, FIRST
    ends = layout.indptr[layout.offsets[last]], layout.indptr[layout.offsets[first]]
    entries = np.float64(ends[0]) - np.float64(ends[1])
    while state[ROUND] < min(rounds, MOST_ROUNDS):
        if state[ENTRIES_LEFT] <= 0.0:
            return False
        state[ROUND] += 1.0
        state[ENTRIES_LEFT] -= entries
        change = improve(layout, rewards, scale, v, choice, discount, first, last)
        if change <= enough:
            break
        close = 0.5 * state[LEAST] <= change <= CLOSE * enough
        state[STALLED_FOR] = state[STALLED_FOR] + 1.0 if close else 0.0
        if state[STALLED_FOR] == STALLED:
            break
        slow = change > FAST * state[PREVIOUS]
        state[LEAST], state[PREVIOUS] = min(state[LEAST], change), change
        state[WAIT] -= 1.0
        if state[WAIT] > 0.0 or not slow:
            continue
        state[WAIT] = BETWEEN
        state[ENTRIES_LEFT] -= EVALUATING * entries
        if state[FAILURES] < ATTEMPTS:
            if eliminate(layout, rewards, v, choice, discount, first, last, space):
                continue
            state[FAILURES] += 1.0
        for _ in range(SWEEPS):
            moved = follow_in_place(layout, rewards, scale, v, choice, discount, first, last)
            if moved <= FAST * change:
                break
    return True


@lent
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


@lent
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
    layout, rewards, bounds, scale, v, backed_up, reached, choice, discount, enough, tie, rounds,
    state,
):  # fmt: skip
    """Solve and certify each; the state then has the least and the largest of Tv − v, the least of
    T_π v − v, and the most rounds that one took. Gives back whether it is done, or pauses."""
    largest, n = np.int64(1), bounds.size - 1
    for c in range(n):
        largest = max(largest, bounds[c + 1] - bounds[c])
    space = space_for(largest if largest > 1 else np.int64(0))
    most = np.uint64(0)
    for s in range(v.size):
        most = max(most, layout.offsets[s + 1] - layout.offsets[s])
    worth = np.empty(most)
    if rounds == 0:
        state[LOW], state[HIGH], state[LOWEST] = certify(
            layout, rewards, v, backed_up, reached, choice, worth, discount, tie, 0, v.size
        )
        return True
    if state[BEGUN] == 0.0:
        state[BEGUN], state[MOST] = 1.0, 1.0
        state[LOW], state[HIGH], state[LOWEST] = np.inf, -np.inf, np.inf
    c = np.int64(state[COMPONENT])
    while c < n:
        first = bounds[c]
        while c < n and bounds[c + 1] - bounds[c] == 1:
            c += 1
        if bounds[c] > first:
            mine = settle_alone(
                layout, rewards, scale, v, backed_up, reached, choice, worth, discount, tie,
                first, bounds[c],
            )  # fmt: skip
            note(state, mine)
        if c < n:
            first, last, state[COMPONENT] = bounds[c], bounds[c + 1], c
            if not solve_component(
                layout, rewards, scale, v, choice, discount, first, last, enough, rounds, space,
                state,
            ):  # fmt: skip
                return False
            mine = certify(
                layout, rewards, v, backed_up, reached, choice, worth, discount, tie, first, last
            )
            note(state, mine)
            state[MOST], state[ROUND] = max(state[MOST], state[ROUND]), 0.0
            c += 1
    return True


@lent
def note(state, mine):
    """Take down the least and the largest of Tv − v, and the least of T_π v − v, of some states."""
    state[LOW] = min(state[LOW], mine[0])
    state[HIGH] = max(state[HIGH], mine[1])
    state[LOWEST] = min(state[LOWEST], mine[2])


@compiled
def plan_by_components(
    moved, indptr, indices, data, order, bounds, scale, start, offsets, rewards, guess,
    weights, entries, longest, relative, discount, tolerance, rounds,
    kept, choice, piece,
):  # fmt: skip
    """All that `planning` does, component by component; moved to start are those of `Components`.

    offsets [S + 1] are those of the pairs of states; rewards are [S], or [P] a pair; guess is [S],
    or empty; the rest is as for `aims`. Gives back the values and the pairs taken [S]; the bounds;
    the rounds; and how it ended: after `piece` entries it pauses, and goes on when it is called
    with the same again. `kept` [PLACES + 3 S + P], all 0 before the first call, and choice [S] have
    what it knows until then.
    """
    layout = Sparse(moved, indptr, indices, data, 0)
    n = order.size
    state, r = kept[:PLACES], kept[PLACES + 3 * n :]
    memory = kept[PLACES : PLACES + 3 * n].reshape((3, n))
    v, backed_up, reached = memory[0], memory[1], memory[2]
    values, pairs = np.empty(n), np.empty(n, np.int64)
    least, most, asked, target, tie, limit, slack, per_value, largest = aims(
        rewards, weights, entries, longest, n, relative, discount, tolerance, rounds
    )
    if asked == np.inf:
        return values, pairs, -np.inf, np.inf, 0, TOO_LARGE
    lowest, highest = least / (1.0 - discount), most / (1.0 - discount)  # all values are there
    pair = 0
    for i in range(n if state[BEGUN] == 0.0 else 0):
        s = order[i]
        v[i] = 0.5 * (lowest + highest)
        if guess.size == n:
            v[i] = min(max(guess[s], lowest), highest)
        for p in range(offsets[s], offsets[s + 1]):
            r[pair] = rewards[s if rewards.size == n else p]
            pair += 1
    enough = 0.5 * target * (1.0 - discount) / discount
    state[ENTRIES_LEFT] = piece
    if not solve_components(
        layout, r, bounds, scale, v, backed_up, reached, choice, discount, enough, tie, limit, state
    ):
        return values, pairs, -np.inf, np.inf, 0, PAUSED
    low, high, low_reached, done = state[LOW], state[HIGH], state[LOWEST], np.int64(state[MOST])
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
