"""Strong components of a graph: states from which each can be reached from each."""

from __future__ import annotations

import numpy as np

from .layouts import compiled

DONE = np.uint32(2**32 - 1)


@compiled
def strong_components(indptr, indices):
    """The components of a graph, those that nothing leaves first, as `order` and `bounds`.

    State s has edges to ``indices[indptr[s] : indptr[s + 1]]``, some of which may be the same.
    Component c is ``order[bounds[c] : bounds[c + 1]]``, and what its edges lead to is in it or in
    an earlier one. Inside of a component a state stands behind those that a search in depth has
    left before it, so that most edges lead back.

    This is Tarjan's algorithm in Pearce's form (A space-efficient algorithm for finding strongly
    connected components, 2016), which keeps the states in the order in which they are left; with a
    stack of its own, as paths may be as long as there are states.
    """
    n = indptr.size - 1
    one = np.uint32(1)
    # The least number of a state on the path that a state is known to reach; 0 before it is met.
    least = np.zeros(n, np.uint32)
    path, number = np.empty(n, np.uint32), np.empty(n, np.uint32)
    edge = np.empty(n, indptr.dtype)
    waiting = np.empty(n, np.uint32)  # left, their component not yet complete
    order = np.empty(n, np.uint32)
    bounds = np.zeros(n + 1, np.int64)
    n_waiting, n_ordered, n_components, met = 0, 0, 0, np.uint32(0)
    for root in range(n):
        if least[root] != 0:
            continue
        met += one
        path[0], number[0], edge[0], least[root] = root, met, indptr[root], met
        depth = 0
        while depth >= 0:
            s = np.uint64(path[depth])
            reached, j, last = least[s], edge[depth], indptr[s + np.uint64(1)]
            deeper = False
            while j < last and not deeper:
                t = np.uint64(indices[j])
                j += indptr.dtype.type(1)
                if least[t] == 0:
                    met += one
                    least[t] = met
                    edge[depth] = j
                    path[depth + 1], number[depth + 1], edge[depth + 1] = t, met, indptr[t]
                    deeper = True
                elif least[t] < reached:
                    reached = least[t]
            least[s] = reached
            if deeper:
                depth += 1
                continue
            if reached < number[depth]:
                waiting[n_waiting] = s
                n_waiting += 1
            else:
                first = n_waiting
                while first > 0 and least[waiting[first - 1]] >= reached:
                    first -= 1
                for i in range(first, n_waiting):
                    order[n_ordered] = waiting[i]
                    least[waiting[i]] = DONE
                    n_ordered += 1
                n_waiting = first
                order[n_ordered] = s
                least[s] = DONE
                n_ordered += 1
                n_components += 1
                bounds[n_components] = n_ordered
            depth -= 1
            if depth >= 0:
                above = path[depth]
                least[above] = min(least[above], least[s])
    return order, bounds[: n_components + 1].copy()
