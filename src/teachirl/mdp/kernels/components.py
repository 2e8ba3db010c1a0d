"""Strong components of a graph: states from which each can be reached from each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats
from .compiling import compiled
from .elimination import eliminate, space_for
from .layouts import Layout, Sparse, Table, sparse_layout

if TYPE_CHECKING:
    from ..dynamics import Dynamics

DONE = np.uint32(2**32 - 1)
TABLE_SHARE = 16  # a table is planned for by components if the largest is at most 1/16 of it


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


class Components(NamedTuple):
    """A world in the order of its components; position i has the state ``order[i]``.

    offsets to data are those of a `Sparse` layout of the positions; bounds are those of the
    components among them, scale [P] is 1/(1 − γp) for a pair that stays where it is with
    probability p, start [S] is the start.
    """

    offsets: NDArray[np.uint64]
    indptr: NDArray[Any]
    indices: NDArray[Any]
    data: Floats
    order: NDArray[np.uint32]
    bounds: NDArray[np.int64]
    scale: Floats
    start: Floats


@compiled
def arranged(layout, order, discount):
    """The layout in another order of the states, and 1/(1 − γp) for pairs that stay with p."""
    n, n_pairs = order.size, layout.indptr.size - 1
    place = np.empty(n, np.uint32)
    for i in range(n):
        place[order[i]] = i
    offsets, indptr = np.empty_like(layout.offsets), np.empty_like(layout.indptr)
    indices, data = np.empty_like(layout.indices), np.empty_like(layout.data)
    scale = np.empty(n_pairs)
    pair, entry = 0, 0
    for i in range(n):
        s = np.uint64(order[i])
        offsets[i] = pair
        for p in range(layout.offsets[s], layout.offsets[s + np.uint64(1)]):
            indptr[pair] = entry
            stays = 0.0
            for j in range(layout.indptr[p], layout.indptr[p + np.uint64(1)]):
                if layout.indices[j] == s:
                    stays += layout.data[j]
                indices[entry], data[entry] = place[layout.indices[j]], layout.data[j]
                entry += 1
            scale[pair] = 1.0 / (1.0 - discount * stays)
            pair += 1
    offsets[n], indptr[n_pairs] = pair, entry
    return offsets, indptr, indices, data, scale


@compiled
def cyclic_states(layout, bounds, discount):
    """How many states are in components in which elimination gives up on a policy.

    The policy is arbitrary: it takes actions by a multiplicative hash of their states.
    """
    n = layout.offsets.size - 1
    largest = np.int64(0)
    for c in range(bounds.size - 1):
        largest = max(largest, bounds[c + 1] - bounds[c])
    choice = np.empty(n, np.uint32)
    for s in range(n):
        count = layout.offsets[s + 1] - layout.offsets[s]
        choice[s] = ((np.uint64(s) * np.uint64(2654435761)) >> np.uint64(16)) % count
    rewards, v = np.zeros(layout.indptr.size - 1), np.zeros(n)
    space = space_for(largest)
    found = 0
    for c in range(bounds.size - 1):
        first, last = bounds[c], bounds[c + 1]
        if last - first > 1 and not eliminate(
            layout, rewards, v, choice, discount, first, last, space
        ):
            found += last - first
    return found


def components_of(dynamics: Dynamics, layout: Layout) -> Components | None:
    """The dynamics in the order of their components, where planning is faster by components.

    That is where they are small beside the world, or elimination evaluates policies in them. A
    table's sweeps are fast, so that its components have to be smaller still.
    """
    if isinstance(layout, Table):
        n, width = layout.successors.shape
        ends = np.arange(0, n * width + 1, width)
        bounds = strong_components(ends, layout.successors.ravel())[1]
        if int(np.diff(bounds).max()) * TABLE_SHARE > n:
            return None
    rows = sparse_layout(dynamics)
    ends = rows.indptr[dynamics.offsets].astype(np.int64)  # as chains have them
    order, bounds = strong_components(ends, rows.indices)
    offsets, indptr, indices, data, scale = arranged(rows, order, dynamics.discount)
    moved = Sparse(offsets, indptr, indices, data, rows.longest)
    if cyclic_states(moved, bounds, dynamics.discount) * 2 > dynamics.n_states:
        return None
    start = dynamics.start[order]
    return Components(offsets, indptr, indices, data, order, bounds, scale, start)
