"""What a policy is worth in one component of the world, by elimination along its own paths.

A search in depth follows the policy's moves, and states are taken in the order in which it leaves
them: the successors of a state then come before it, or are on the path to it. With those before it
written as affine functions of states behind them, the state itself becomes

    v_i = c + Σ_k e_k v_k,    k on the path to i,

and its own share e_i, be it of a loop or of a longer cycle, is solved for: there are no pivots, as
I − γP is an M-matrix. A state that depends on none behind it closes a component of the policy's own
graph: it is known, and so are those that wait for it. A policy has far fewer cycles than its world,
so that such sums are short; where they are not, the elimination gives up at a limit on its work.

Inside of the loops over states little is called that takes arrays: Numba counts references to each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats
from .compiling import lent, part

# What stands for the turn of a state that has none yet, or needs none any more.
UNMET, ON_PATH, KNOWN = np.uint32(2**32 - 1), np.uint32(2**32 - 2), np.uint32(2**32 - 3)
WORK = 64  # operations a state after which elimination gives up
FILL = 8  # entries a state that it may store
SMALL = 1024  # entries, and operations, that are always allowed


class Space(NamedTuple):
    """Where `eliminate` works, for components of at most m states: `space_for` makes it."""

    turn: NDArray[np.uint32]  # [m], when a state is left, and the states by their turn
    order: NDArray[np.uint32]
    below: NDArray[np.uint32]  # [m], by turn: how many had been left when the state was met
    path: NDArray[np.uint32]  # [m], states on the path, later turns of those that wait
    edge: NDArray[np.uint64]  # [m], where each of the states on the path is in its row
    constant: Floats  # [m], by turn
    ends: NDArray[np.uint64]  # [m + 1], by turn: where the entries of a state are
    others: NDArray[np.uint32]  # the entries: who it depends on, and how much
    shares: Floats
    share: Floats  # [m], a sum that is being put together; 0 between two
    touched: NDArray[np.uint32]  # [m], who is in it


@part
def space_for(m):
    """A `Space` for components of at most m states."""
    size = FILL * m + SMALL
    return Space(
        np.empty(m, np.uint32),
        np.empty(m, np.uint32),
        np.empty(m, np.uint32),
        np.empty(m, np.uint32),
        np.empty(m, np.uint64),
        np.empty(m),
        np.zeros(m + 1, np.uint64),
        np.empty(size, np.uint32),
        np.empty(size),
        np.zeros(m),
        np.empty(m, np.uint32),
    )


@lent
def in_depth(layout, choice, begin, end, space):
    """The turns of the states from `begin` to `end` in a search that follows `choice`."""
    one = np.uint64(1)
    turn, order, below = space.turn, space.order, space.below
    path, edge = space.path, space.edge
    for x in range(np.uint64(0), end - begin):
        turn[x] = UNMET
    left = np.uint64(0)
    for root in range(begin, end):
        if turn[root - begin] != UNMET:
            continue
        depth = np.uint64(0)
        s = root
        p = layout.offsets[s] + np.uint64(choice[s])
        j, stop = np.uint64(layout.indptr[p]), np.uint64(layout.indptr[p + one])
        turn[s - begin] = ON_PATH
        path[0], below[s - begin] = s, left
        while True:
            while j < stop:
                t = np.uint64(layout.indices[j])
                j += one
                if t >= begin and turn[t - begin] == UNMET:
                    edge[depth] = j
                    depth += one
                    s = t
                    p = layout.offsets[s] + np.uint64(choice[s])
                    j, stop = np.uint64(layout.indptr[p]), np.uint64(layout.indptr[p + one])
                    turn[s - begin] = ON_PATH
                    path[depth], below[s - begin] = s, left
            turn[s - begin] = left
            order[left] = s - begin
            left += one
            if depth == 0:
                break
            depth -= one
            s = np.uint64(path[depth])
            p = layout.offsets[s] + np.uint64(choice[s])
            j, stop = edge[depth], np.uint64(layout.indptr[p + one])


@lent
def eliminate(layout, rewards, v, choice, discount, first, last, space):
    """v[first:last] ← the value of the policy `choice` there, what it leads to being known.

    Gives back whether it came to its end; values that it did not come to are as they were.
    """
    one, begin, end = np.uint64(1), np.uint64(first), np.uint64(last)
    in_depth(layout, choice, begin, end, space)
    turn, order, below, touched = space.turn, space.order, space.below, space.touched
    constant, ends, others = space.constant, space.ends, space.others
    shares, share, stack = space.shares, space.share, space.path
    height = np.uint64(0)
    work = WORK * (last - first) + SMALL
    ends[0] = 0
    for now in range(np.uint64(0), end - begin):
        x = np.uint64(order[now])
        s = begin + x
        p = layout.offsets[s] + np.uint64(choice[s])
        n, waiting = np.uint64(0), 0
        total = 0.0
        for j in range(np.uint64(layout.indptr[p]), np.uint64(layout.indptr[p + one])):
            t = np.uint64(layout.indices[j])
            if t < begin or turn[t - begin] == KNOWN:
                total += layout.data[j] * v[t]
                continue
            y, more = t - begin, discount * layout.data[j]
            if share[y] == 0.0 and more > 0.0:  # what underflows would be taken for new again
                touched[n] = y
                n += one
                waiting += turn[y] < now
            share[y] += more
        total = rewards[p] + discount * total
        while waiting > 0:
            # Of those that were left before, the earliest: it may add to the others.
            earliest, place = now, np.uint64(0)
            for k in range(np.uint64(0), n):
                if turn[touched[k]] < earliest:
                    earliest, place = np.uint64(turn[touched[k]]), k
            y = np.uint64(touched[place])
            factor = share[y]
            share[y] = 0.0
            n -= one
            waiting -= 1
            touched[place] = touched[n]
            total += factor * constant[earliest]
            work -= np.int64(n + ends[earliest + one] - ends[earliest])
            for k in range(ends[earliest], ends[earliest + one]):
                y, more = np.uint64(others[k]), factor * shares[k]
                if share[y] == 0.0 and more > 0.0:
                    touched[n] = y
                    n += one
                    waiting += turn[y] < now
                share[y] += more
        scale = 1.0 / (1.0 - share[x])
        share[x] = 0.0
        used = ends[now]
        if work < 0 or used + n > np.uint64(others.size):
            for k in range(n):
                share[touched[k]] = 0.0
            return False
        for k in range(n):
            y = np.uint64(touched[k])
            if y != x:
                others[used], shares[used] = y, share[y] * scale
                share[y] = 0.0
                used += one
        ends[now + one] = used
        constant[now] = total * scale
        if used > ends[now]:
            stack[height] = now
            height += one
            continue
        v[s] = constant[now]
        turn[x] = KNOWN
        # What waits since this state was met depends on it alone.
        if height > 0 and stack[height - one] >= below[x]:
            height = settle(v, begin, height, np.uint64(below[x]), space)
            ends[now + one] = ends[stack[height]]
    return True


@lent
def settle(v, begin, height, since, space):
    """Those who wait from turn `since` on become known, the last first; how many wait before."""
    one = np.uint64(1)
    while height > 0 and space.path[height - one] >= since:
        height -= one
        turn = np.uint64(space.path[height])
        total = space.constant[turn]
        for k in range(space.ends[turn], space.ends[turn + one]):
            total += space.shares[k] * v[begin + np.uint64(space.others[k])]
        x = np.uint64(space.order[turn])
        v[begin + x] = total
        space.turn[x] = KNOWN
    return height
