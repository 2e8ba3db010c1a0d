"""The Markov chain of a policy: its rows, and what becomes of them in another order."""

from __future__ import annotations

import numpy as np

from .compiling import compiled

EVEN = 1e-9  # losses that differ by less, in units of the largest value, are even


@compiled
def outflow(offsets, chances, indptr, indices, data):
    """P as (indptr, indices, data), for the chances [P] of a policy and the pairs' transitions.

    Row s lists the states that s leads to, each once, as they come; in those of a pair each is
    once already. What has no chance there, as in worlds that a log allows, is left out.
    """
    n = offsets.size - 1
    most = 0
    for p in range(chances.size):
        if chances[p] > 0.0:
            most += indptr[p + 1] - indptr[p]
    first = np.empty(n + 1, np.int64)
    targets, shares = np.empty(most, np.uint32), np.empty(most)
    place = np.full(n, -1, np.int64)
    end = 0
    for s in range(n):
        first[s] = end
        for p in range(offsets[s], offsets[s + 1]):
            if chances[p] == 1.0:
                for j in range(indptr[p], indptr[p + 1]):
                    if data[j] != 0.0:
                        targets[end], shares[end] = indices[j], data[j]
                        end += 1
            elif chances[p] > 0.0:
                for j in range(indptr[p], indptr[p + 1]):
                    t = indices[j]
                    if data[j] == 0.0:
                        continue
                    if place[t] < first[s]:
                        place[t] = end
                        targets[end], shares[end] = t, 0.0
                        end += 1
                    shares[place[t]] += chances[p] * data[j]
    first[n] = end
    return first, targets[:end], shares[:end]


@compiled
def outflow_from(offsets, chances, indptr, indices, data, starts):
    """The same, only of the states that are reached from some; they are numbered as they are met,
    and last come the states that have these numbers."""
    n = offsets.size - 1
    most = 0
    for p in range(chances.size):
        if chances[p] > 0.0:
            most += indptr[p + 1] - indptr[p]
    number, states, size = np.full(n, -1, np.int64), np.empty(n, np.uint32), 0
    for s in starts:
        if number[s] < 0:
            number[s], states[size] = size, s
            size += 1
    first = np.empty(n + 1, np.int64)
    targets, shares = np.empty(most, np.uint32), np.empty(most)
    place = np.full(n, -1, np.int64)
    end, i = 0, 0
    while i < size:
        s = np.uint64(states[i])
        first[i] = end
        for p in range(offsets[s], offsets[s + np.uint64(1)]):
            if chances[p] == 0.0:
                continue
            for j in range(indptr[p], indptr[p + 1]):
                t = indices[j]
                if data[j] == 0.0:
                    continue
                if number[t] < 0:
                    number[t], states[size] = size, t
                    size += 1
                if place[t] < first[i]:
                    place[t] = end
                    targets[end], shares[end] = number[t], 0.0
                    end += 1
                shares[place[t]] += chances[p] * data[j]
        i += 1
    first[size] = end
    return first[: size + 1], targets[:end], shares[:end], states[:size]


@compiled
def nearly_best(
    offsets, indptr, indices, data, discount, rewards, values, pairs, start, starts, left_out, rare,
    most,
):  # fmt: skip
    """Other pairs than a policy takes, of states where it often is: those that lose least if they
    are taken once, at most so many, the least first. Of what is even but for rounding, what is met
    first comes first.

    The policy takes `pairs` [S] and is worth about `values` [S]; rewards are [S], or [P] a pair; it
    starts in the states `starts`. How often it is in a state is counted the first time round; from
    states that are more rare it is not followed. Pairs that are `left_out` [P] are not looked at.
    """
    n, largest = offsets.size - 1, 0.0
    for value in values:
        largest = max(largest, abs(value))
    even = EVEN * largest
    often, states, size = np.zeros(n), np.empty(n, np.uint32), 0
    for s in starts:
        often[s], states[size] = start[s], s
        size += 1
    found, losses, count = np.empty(most, np.int64), np.empty(most), 0
    i = 0
    while i < size:
        s = np.uint64(states[i])
        i += 1
        if often[s] < rare:
            continue
        mine = np.uint64(pairs[s])
        worth = rewards[s if rewards.size == n else mine]
        for j in range(indptr[mine], indptr[mine + np.uint64(1)]):
            t, share = indices[j], discount * data[j]
            worth += share * values[t]
            if often[t] == 0.0 and often[s] * share > 0.0:
                states[size] = t
                size += 1
            often[t] += often[s] * share
        for p in range(np.uint64(offsets[s]), np.uint64(offsets[s + np.uint64(1)])):
            if p == mine or left_out[p]:
                continue
            loss = worth - rewards[s if rewards.size == n else p]
            for j in range(indptr[p], indptr[p + np.uint64(1)]):
                loss -= discount * data[j] * values[indices[j]]
            if count == most and not loss < losses[most - 1] - even:
                continue
            count = min(count + 1, most)
            k = count - 1
            while k > 0 and loss < losses[k - 1] - even:
                found[k], losses[k] = found[k - 1], losses[k - 1]
                k -= 1
            found[k], losses[k] = p, loss
    return found[:count]


@compiled
def add_exchanges(indptr, indices, data, taken, others, place, sources, first):
    """sources[place, first + i] ← row others[i] less row taken[i], for each i."""
    for i in range(others.size):
        column = first + i
        for j in range(indptr[others[i]], indptr[others[i] + 1]):
            sources[place[indices[j]], column] += data[j]
        for j in range(indptr[taken[i]], indptr[taken[i] + 1]):
            sources[place[indices[j]], column] -= data[j]


@compiled
def transposed(indptr, indices, data):
    """The rows of Pᵀ, given those of P."""
    n = indptr.size - 1
    first = np.zeros(n + 1, np.int64)
    for j in range(indices.size):
        first[indices[j] + np.uint64(1)] += 1
    for t in range(n):
        first[t + 1] += first[t]
    end = first[:n].copy()
    sources, shares = np.empty(indices.size, np.uint32), np.empty(indices.size)
    for s in range(n):
        for j in range(indptr[s], indptr[s + 1]):
            t = np.uint64(indices[j])
            sources[end[t]], shares[end[t]] = s, data[j]
            end[t] += 1
    return first, sources, shares


@compiled
def reordered(indptr, indices, data, order):
    """The rows of P with the states numbered as they come in `order`."""
    n = order.size
    place = np.empty(n, np.uint32)
    for i in range(n):
        place[order[i]] = i
    first = np.empty(n + 1, np.int64)
    targets, shares = np.empty(indices.size, np.uint32), np.empty(indices.size)
    end = 0
    for i in range(n):
        first[i] = end
        s = np.uint64(order[i])
        for j in range(indptr[s], indptr[s + np.uint64(1)]):
            targets[end], shares[end] = place[indices[j]], data[j]
            end += 1
    first[n] = end
    return first, targets, shares


@compiled
def without_loops(indptr, indices, data, discount):
    """The rows of P, each divided by 1 − γ P(s, s) and without P(s, s), and those divisors [S]."""
    n = indptr.size - 1
    first = np.empty(n + 1, np.int64)
    targets, shares = np.empty(indices.size, np.uint32), np.empty(indices.size)
    leaving = np.ones(n)
    end = 0
    for s in range(n):
        first[s] = end
        for j in range(indptr[s], indptr[s + 1]):
            if indices[j] == s:
                leaving[s] -= discount * data[j]
        for j in range(indptr[s], indptr[s + 1]):
            if indices[j] != s:
                targets[end], shares[end] = indices[j], data[j] / leaving[s]
                end += 1
    first[n] = end
    return first, targets[:end], shares[:end], leaving


@compiled
def without_flow(indptr, indices, data, discount):
    """I − γP as (indptr, indices, data), given the rows of P, each in order."""
    n = indptr.size - 1
    first = np.empty(n + 1, np.int32)
    columns, entries = np.empty(indices.size + n, np.int32), np.empty(indices.size + n)
    end = 0
    for t in range(n):
        first[t] = end
        before = True  # the diagonal
        for j in range(indptr[t], indptr[t + 1]):
            if before and indices[j] >= t:
                columns[end], entries[end] = t, 1.0
                end += 1
                before = False
            if indices[j] == t:
                entries[end - 1] -= discount * data[j]
            else:
                columns[end], entries[end] = indices[j], -discount * data[j]
                end += 1
        if before:
            columns[end], entries[end] = t, 1.0
            end += 1
    first[n] = end
    return first, columns[:end], entries[:end]


@compiled
def conditional(x, offsets, out):
    """out[p] ← x[p] over the sum of x in p's state, or uniform where that is 0.

    Gives back the first pair whose x is negative or not finite, and x.size if there is none.
    """
    for s in range(offsets.size - 1):
        first, last = offsets[s], offsets[s + 1]
        total = 0.0
        for p in range(first, last):
            if not (x[p] >= 0.0 and x[p] < np.inf):
                return p
            total += x[p]
        for p in range(first, last):
            out[p] = x[p] / total if total > 0.0 else 1.0 / (last - first)
    return x.size
