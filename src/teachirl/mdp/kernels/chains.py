"""The Markov chain of a policy, seen from where it leads: the rows of Pᵀ."""

from __future__ import annotations

import numpy as np

from .layouts import compiled


@compiled
def inflow(offsets, chances, indptr, indices, data):
    """Pᵀ as (indptr, indices, data), for the chances [P] of a policy and the pairs' transitions.

    Row t lists the states that lead to t, in order and each once.
    """
    n = offsets.size - 1
    first = np.zeros(n + 1, indices.dtype)
    latest = np.full(n, -1, np.int64)  # the last state that was seen to lead there
    for s in range(n):
        for p in range(offsets[s], offsets[s + 1]):
            if chances[p] > 0.0:
                for j in range(indptr[p], indptr[p + 1]):
                    t = indices[j]
                    if latest[t] != s:
                        latest[t] = s
                        first[t + 1] += 1
    for t in range(n):
        first[t + 1] += first[t]
    sources, shares = np.empty(first[n], indices.dtype), np.zeros(first[n])
    end = first[:n].copy()
    latest[:] = -1
    for s in range(n):
        for p in range(offsets[s], offsets[s + 1]):
            if chances[p] > 0.0:
                for j in range(indptr[p], indptr[p + 1]):
                    t = indices[j]
                    if latest[t] != s:
                        latest[t] = s
                        sources[end[t]] = s
                        end[t] += 1
                    shares[end[t] - 1] += chances[p] * data[j]
    return first, sources, shares


@compiled
def without_flow(indptr, indices, data, discount):
    """I − γ Pᵀ as (indptr, indices, data), given the rows of Pᵀ."""
    n = indptr.size - 1
    first = np.empty(n + 1, indices.dtype)
    columns, entries = np.empty(indices.size + n, indices.dtype), np.empty(indices.size + n)
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
