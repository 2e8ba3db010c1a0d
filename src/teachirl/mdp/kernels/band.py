"""Cuthill's and McKee's order of a graph, in which neighbours stand close to each other."""

from __future__ import annotations

import numpy as np

from .compiling import compiled


@compiled
def in_breadth(indptr, indices, degrees, seeds):
    """The states of an undirected graph in breadth, those that a state adds by their degrees.

    Each part of the graph is begun with the first of its states in `seeds`, all states in the
    order in which they are wanted there. Of equal degrees the first listed edge comes first.
    """
    n = indptr.size - 1
    order = np.empty(n, np.uint32)
    met = np.zeros(n, np.bool_)
    size, place = 0, 0
    for seed in seeds:
        if met[seed]:
            continue
        met[seed] = True
        order[size] = seed
        size += 1
        while place < size:
            state = np.uint64(order[place])
            place += 1
            first = size
            for j in range(indptr[state], indptr[state + np.uint64(1)]):
                added = indices[j]
                if met[added]:
                    continue
                met[added] = True
                at = size
                while at > first and degrees[order[at - 1]] > degrees[added]:
                    order[at] = order[at - 1]
                    at -= 1
                order[at] = added
                size += 1
    return order
