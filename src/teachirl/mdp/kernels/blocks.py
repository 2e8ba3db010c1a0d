"""What a deterministic policy does from blocks of start states, in deterministic dynamics."""

from __future__ import annotations

import numpy as np

from .compiling import compiled, shared


@shared
def block_features(layout, choice, start, states, bounds, discount, rows, features, work, out):
    """out [G, k] ← the feature expectations of a deterministic policy from each block of states.

    Deterministic dynamics: from block g, states[bounds[g]:bounds[g+1]], the policy sees the block
    and the paths out of it, so that all blocks together cost little more than one pass over the
    states. As in `push`, a state passes on what it has once all who flow into it have done so, and
    what enters a cycle goes round it for ever. rows [S] is each state's row of `features`, (indptr,
    indices, data); empty if that is the state itself. `work` is kept between calls.
    """
    stamp, waiting, target, reached, visits = work
    indptr, indices, data = features
    successors = layout.successors
    out[:] = 0.0
    newest = stamp[stamp.size - 1]
    for g in range(bounds.size - 1):
        newest += 1
        count = 0
        for i in range(bounds[g], bounds[g + 1]):
            s = states[i]
            stamp[s] = newest
            visits[s] = start[s]
            waiting[s] = 0  # how many have yet to flow into it; −1 once it is done
            reached[count] = s
            count += 1
        i = 0
        while i < count:
            s = reached[i]
            t = successors[s, choice[s]]
            target[s] = t
            if stamp[t] != newest:
                stamp[t] = newest
                visits[t] = 0.0
                waiting[t] = 0
                reached[count] = t
                count += 1
            waiting[t] += 1
            i += 1
        for i in range(count):
            s = reached[i]
            while waiting[s] == 0:
                waiting[s] = -1
                t = target[s]
                visits[t] += discount * visits[s]
                waiting[t] -= 1
                s = t
        for i in range(count):
            root = reached[i]
            if waiting[root] < 0:
                continue
            arriving, length = 0.0, 1
            s = target[root]
            while s != root:
                arriving = (arriving + visits[s]) * discount
                length += 1
                s = target[s]
            visits[root] = (visits[root] + arriving) / -np.expm1(length * np.log(discount))
            s = root
            while waiting[s] >= 0:
                waiting[s] = -1
                if target[s] != root:
                    visits[target[s]] += discount * visits[s]
                s = target[s]
        for i in range(count):
            s = reached[i]
            row = rows[s] if rows.size > 0 else np.int64(s)
            for j in range(indptr[row], indptr[row + 1]):
                out[g, indices[j]] += visits[s] * data[j]
    stamp[stamp.size - 1] = newest


@compiled
def share_out(start, states, bounds, shares, out):
    """out[s] ← start[s] · shares[g] for the states of each block g."""
    for g in range(shares.size):
        if shares[g] > 0.0:
            for i in range(bounds[g], bounds[g + 1]):
                out[states[i]] = start[states[i]] * shares[g]


@compiled
def block_sums(start, states, bounds, values, out):
    """out [G, n] ← the sums of start[s] · values[s] over the states of each block, the first n of
    the values [S, m]."""
    for g in range(np.uint64(0), np.uint64(out.shape[0])):
        for lane in range(np.uint64(0), np.uint64(out.shape[1])):
            out[g, lane] = 0.0
        for i in range(bounds[g], bounds[g + np.uint64(1)]):
            s = np.uint64(states[i])
            for lane in range(np.uint64(0), np.uint64(out.shape[1])):
                out[g, lane] += start[s] * values[s, lane]


@compiled
def add_visits(x, pairs, visits):
    """x[pairs] ← x[pairs] + visits"""
    for s in range(pairs.size):
        x[pairs[s]] += visits[s]


@compiled
def add_scaled(total, factor, row):
    for x in range(total.size):
        total[x] += factor * row[x]


@compiled
def product(a, b, out):
    """out ← a b; small matrices, for which threads cost more than they save."""
    out[:] = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] != 0.0:
                add_scaled(out[i], a[i, j], b[j])
