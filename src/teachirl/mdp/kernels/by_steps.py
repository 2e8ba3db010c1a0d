"""Planning in a world that mixes fast, by steps of one policy between looks at all actions.

Errors soon differ by little between states there, and what they have in common does not matter to
the bounds: plain value iteration is best. Whether it is such a world shows after a few rounds.
"""

from __future__ import annotations

import numpy as np
from numba.extending import overload

from .aims import PAUSED
from .compiling import lent, part
from .layouts import Table, bellman, is_a, pair_reward

# A world does not mix if so many rounds in a row leave more than this share of the spread. One such
# round is where actions change, as they do from a guess that is nearly right.
SLOW_ROUNDS, MIXED = 3.0, 0.6
# Shares of states whose action has changed, on which depends how long a policy is followed; and the
# rate at which it is taken to settle at the slowest.
SOME_CHANGE, FEW_CHANGE, SLOWEST = 0.05, 0.001, 0.95
# Where `mix` is, behind where `bicgstab` is; and how it came back.
ROUND, SLOW, PREVIOUS, MIXING, AHEAD = range(3, 8)
CUT_SHORT, ENDED, UNMIXED = range(3)


@lent
def residual_and_rows(layout, reward, v, backed_up, choice, discount, ends, kept, data, indices):
    """`residual`, and in how many states the choice is another than it was.

    The rows of the choices, which lie scattered among those of all actions, are put beside each
    other while they are at hand: to row s belong the entries of data and indices from ends[s − 1]
    to ends[s], and the reward kept[s].
    """
    low, high, changed, one = np.inf, -np.inf, 0, np.uint64(1)
    i = np.uint64(0)
    for s in range(np.uint64(0), np.uint64(v.size)):
        best, a = bellman(layout, reward, v, s, discount)
        p = layout.offsets[s] + np.uint64(a)
        for j in range(layout.indptr[p], layout.indptr[p + one]):
            data[i], indices[i] = layout.data[j], layout.indices[j]
            i += one
        ends[s], kept[s] = i, pair_reward(layout, reward, s, a)
        changed += choice[s] != a
        backed_up[s] = best
        choice[s] = a
        change = best - v[s]
        low = change if change < low else low
        high = change if change > high else high
    return low, high, changed


@lent
def follow(v, backed_up, discount, steps, ends, kept, data, indices):
    """v ← T_π^m backed_up, m = steps being an odd number and π what `residual_and_rows` kept."""
    for step in range(steps):
        source, target = (backed_up, v) if step % 2 == 0 else (v, backed_up)
        i = np.uint64(0)
        for s in range(np.uint64(0), np.uint64(v.size)):
            total = 0.0
            while i < ends[s]:
                total += data[i] * source[indices[i]]
                i += np.uint64(1)
            target[s] = kept[s] + discount * total


@lent
def most_kept(layout):
    """How many entries the rows of a policy may have."""
    most, one = np.uint64(0), np.uint64(1)
    for s in range(np.uint64(0), np.uint64(layout.offsets.size - 1)):
        longest = np.uint64(0)
        for p in range(layout.offsets[s], layout.offsets[s + one]):
            longest = max(longest, np.uint64(layout.indptr[p + one] - layout.indptr[p]))
        most += longest
    return most


@part
def steps_ahead(spread, before, taken, goal, changed):
    """How often to follow the greedy policy, an odd number: as often as it takes to the goal, at
    the rate of the round before, which took so many steps and a backup; but the more actions have
    `changed`, as a share, the sooner they will again."""
    if not taken:
        return 1
    rate = min((spread / before) ** (1.0 / (taken + 1.0)), SLOWEST)
    needed = np.log(goal / spread) / np.log(rate) - 1.0 if goal > 0.0 else np.inf
    most = 3.0 if changed > SOME_CHANGE else 7.0 if changed > FEW_CHANGE else 31.0
    return 2 * int(min(max(needed, 1.0), most) / 2.0) + 1


@part
def mix(layout, reward, v, backed_up, choice, discount, target, rounds, state, passes):
    """What `sweeps.solve` does, and how many passes are left; UNMIXED if it is no such world."""
    size, goal = most_kept(layout), target * (1.0 - discount) / discount
    ends, kept = np.empty(v.size, np.uint64), np.empty(v.size)
    data, indices = np.empty(size), np.empty(size, layout.indices.dtype)
    low, high, left = 0.0, 0.0, passes
    while left > 0:
        low, high, changed = residual_and_rows(
            layout, reward, v, backed_up, choice, discount, ends, kept, data, indices
        )
        spread = high - low
        if spread * discount / (1.0 - discount) <= target:
            return low, high, left, ENDED
        if state[ROUND] >= rounds:
            return low, high, left, CUT_SHORT
        state[SLOW] = state[SLOW] + 1.0 if spread > MIXED * state[PREVIOUS] else 0.0
        if state[SLOW] == SLOW_ROUNDS:
            state[MIXING], state[SLOW], state[PREVIOUS] = 0.0, 0.0, np.inf
            return low, high, left, UNMIXED
        ahead = steps_ahead(spread, state[PREVIOUS], state[AHEAD], goal, changed / v.size)
        follow(v, backed_up, discount, ahead, ends, kept, data, indices)
        left -= 2 + ahead * np.int64(size) // layout.data.size  # what keeping takes, too
        state[AHEAD], state[PREVIOUS] = ahead, spread
        state[ROUND] += 1.0
    return low, high, left, PAUSED


def mix_if_sparse(layout, reward, v, backed_up, choice, discount, target, rounds, state, passes):
    """`mix` where the layout has rows; nothing otherwise."""


@overload(mix_if_sparse)
def _mix_if_sparse(layout, reward, v, backed_up, choice, discount, target, rounds, state, passes):
    if is_a(layout, Table):

        def table(layout, reward, v, backed_up, choice, discount, target, rounds, state, passes):
            return 0.0, 0.0, passes, UNMIXED

        return table

    def sparse(layout, reward, v, backed_up, choice, discount, target, rounds, state, passes):
        return mix(layout, reward, v, backed_up, choice, discount, target, rounds, state, passes)

    return sparse
