"""Episodes: who goes where, drawn at random."""

from __future__ import annotations

import numpy as np

from .compiling import compiled, part


@part
def pick(rng, weights, first, last):
    """A place in first … last−1, drawn in proportion to the weights, which sum to 1."""
    if last - first == 1:
        return first
    left = rng.random()
    chosen = first
    for place in range(first, last):
        if weights[place] > 0.0:
            chosen = place  # stays the last possible place if rounding leaves a rest
            left -= weights[place]
            if left < 0.0:
                break
    return chosen


@compiled
def walk(
    rng,
    firsts,
    horizon,
    offsets,
    choice,
    weights,
    indptr,
    indices,
    data,
    terminal,
):
    """The pairs of all steps [n], the episodes' offsets [m + 1], and who terminated [m].

    `choice` [S] is a deterministic policy; where it is empty, `weights` [P] is a stochastic one.
    """
    m = len(firsts)
    ends = np.zeros(m + 1, dtype=np.int64)
    terminated = np.zeros(m, dtype=np.bool_)
    pairs = np.empty(max(1024, m), dtype=np.int64)
    n = 0
    for episode in range(m):
        state = firsts[episode]
        for _ in range(horizon):
            if len(choice) > 0:
                pair = choice[state]
            else:
                pair = pick(rng, weights, offsets[state], offsets[state + 1])
            if n == len(pairs):
                longer = np.empty(2 * n, dtype=np.int64)
                for i in range(n):  # a slice would compile what tells of shapes that differ
                    longer[i] = pairs[i]
                pairs = longer
            pairs[n] = pair
            n += 1
            state = np.int64(indices[pick(rng, data, indptr[pair], indptr[pair + 1])])
            if terminal[state]:
                terminated[episode] = True
                break
        ends[episode + 1] = n
    return pairs[:n].copy(), ends, terminated
