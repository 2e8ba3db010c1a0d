"""Gaussian elimination for I − γP, component by component, while it stays sparse.

The states are numbered so that what a component's edges lead to is in it or in an earlier one (see
`components`). Inside of a component each state is written as an affine function of later states,

    v_i = c_i + Σ_{k > i} u_ik v_k,   c_i = (b_i + Σ_{j < i} l_ij c_j) d_i,

by putting in what is known of the earlier ones; what it owes to earlier components is known by
then. All coefficients are sums and products of numbers that are not negative, and no pivots are
needed: I − γP is an M-matrix. It is (D − L)(I − U) on the diagonal blocks, with D = 1/d, and that
solves for occupancies, by the transpose, as well.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats
from .compiling import compiled, part

# Where `eliminate_some` is: a row, its component, entries of L and of U, products; and how it
# came back.
ROW, COMPONENT, N_L, N_U, USED, PLACES = range(6)
PAUSED, ELIMINATED, TOO_MUCH = range(3)


class Factors(NamedTuple):
    """L and U by rows, inside of components, and d [S]; `first` [S] is where a state's component
    begins."""

    l_ptr: NDArray[Any]
    l_indices: NDArray[Any]
    l_data: Floats
    u_ptr: NDArray[Any]
    u_indices: NDArray[Any]
    u_data: Floats
    inverse: Floats
    first: NDArray[Any]


@part
def push_heap(heap, size, item):
    """Add an item to a heap with the least on top; gives back its new size."""
    i = size
    while i > 0 and heap[(i - 1) // 2] > item:
        heap[i] = heap[(i - 1) // 2]
        i = (i - 1) // 2
    heap[i] = item
    return size + 1


@part
def pop_heap(heap, size):
    """Take the least from a heap of this size, the caller having looked at it already."""
    last, i = heap[size - 1], 0
    size -= 1
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= last:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = last
    return size


@part
def room_for(n, room):
    """Factors [S = n] with room for so many entries each, and the space that finding them takes."""
    l_ptr, u_ptr = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    l_indices, l_data = np.empty(room, np.uint32), np.empty(room)
    u_indices, u_data = np.empty(room, np.uint32), np.empty(room)
    inverse, first = np.empty(n), np.empty(n, np.uint32)
    space = np.zeros(n), np.full(n, -1, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    return Factors(l_ptr, l_indices, l_data, u_ptr, u_indices, u_data, inverse, first), space


@compiled
def eliminate_some(rows, bounds, factors, space, work, state, most):
    """Find more of the factors of I − γP, row by row: about `most` products a call.

    Component c of the rows, a `Flow`, is bounds[c] … bounds[c + 1] − 1; state [PLACES] is all 0
    before the first call. Gives back whether it is done, or the room for entries, or `work`
    products, are not enough, or it is to be called again.
    """
    indptr, indices, data, discount = rows.indptr, rows.indices, rows.data, rows.discount
    l_ptr, l_indices, l_data, u_ptr, u_indices, u_data, inverse, first = factors
    entry, seen, heap, later = space
    room, n_l, n_u, used = l_data.size, state[N_L], state[N_U], state[USED]
    done, c = True, state[COMPONENT]
    for i in range(state[ROW], inverse.size):
        if used - state[USED] > most:
            state[ROW], state[COMPONENT], state[N_L], state[N_U], state[USED] = i, c, n_l, n_u, used
            return PAUSED
        if i == bounds[c + 1]:
            c += 1
        begin = bounds[c]
        first[i] = begin
        own, n_heap, n_later = 0.0, np.int64(0), 0
        for e in range(indptr[i], indptr[i + 1]):
            k = np.int64(indices[e])
            if k == i:
                own += discount * data[e]
            elif k >= begin:
                if seen[k] != i:
                    seen[k] = i
                    entry[k] = 0.0
                    if k < i:
                        n_heap = push_heap(heap, n_heap, k)
                    else:
                        later[n_later] = k
                        n_later += 1
                entry[k] += discount * data[e]
        while n_heap > 0:
            j = heap[0]
            n_heap = pop_heap(heap, n_heap)
            share = entry[j]
            if n_l == room or used > work:
                done = False
                break
            l_indices[n_l], l_data[n_l] = j, share
            n_l += 1
            used += u_ptr[j + 1] - u_ptr[j]
            for e in range(u_ptr[j], u_ptr[j + 1]):
                k = np.int64(u_indices[e])
                if k == i:
                    own += share * u_data[e]
                    continue
                if seen[k] != i:
                    seen[k] = i
                    entry[k] = 0.0
                    if k < i:
                        n_heap = push_heap(heap, n_heap, k)
                    else:
                        later[n_later] = k
                        n_later += 1
                entry[k] += share * u_data[e]
        if not done or n_u + n_later > room or not own < 1.0:
            return TOO_MUCH
        inverse[i] = 1.0 / (1.0 - own)
        for e in range(n_later):
            u_indices[n_u], u_data[n_u] = later[e], entry[later[e]] * inverse[i]
            n_u += 1
        l_ptr[i + 1], u_ptr[i + 1] = n_l, n_u
    return ELIMINATED


@part
def eliminate(rows, bounds, room, work):
    """The factors of I − γP at once, and whether `room` entries and `work` products suffice."""
    factors, space = room_for(rows.indptr.size - 1, room)
    state = np.zeros(PLACES, np.int64)
    ended = eliminate_some(rows, bounds, factors, space, work, state, np.iinfo(np.int64).max)
    return factors, ended == ELIMINATED


@part
def add_row(x, target, share, source):
    """x[target] ← x[target] + share x[source]"""
    for lane in range(np.uint64(0), np.uint64(x.shape[1])):
        x[target, lane] += share * x[source, lane]


@part
def scale_row(x, target, share):
    for lane in range(np.uint64(0), np.uint64(x.shape[1])):
        x[target, lane] *= share


@compiled
def substitute(indptr, indices, data, discount, bounds, factors, x):
    """x [S, m] ← (I − γP)⁻¹ x"""
    for c in range(bounds.size - 1):
        begin, end = np.uint64(bounds[c]), np.uint64(bounds[c + 1])
        for i in range(begin, end):
            for e in range(indptr[i], indptr[i + np.uint64(1)]):
                if indices[e] < begin:
                    add_row(x, i, discount * data[e], np.uint64(indices[e]))
            for e in range(factors.l_ptr[i], factors.l_ptr[i + np.uint64(1)]):
                add_row(x, i, factors.l_data[e], np.uint64(factors.l_indices[e]))
            scale_row(x, i, factors.inverse[i])
        if end - begin == np.uint64(1):
            continue
        for back in range(begin, end):
            i = end - np.uint64(1) - (back - begin)
            for e in range(factors.u_ptr[i], factors.u_ptr[i + np.uint64(1)]):
                add_row(x, i, factors.u_data[e], np.uint64(factors.u_indices[e]))


@compiled
def substitute_transposed(indptr, indices, data, discount, bounds, factors, x):
    """x [S, m] ← (I − γPᵀ)⁻¹ x"""
    for c in range(bounds.size - 2, -1, -1):
        begin, end = np.uint64(bounds[c]), np.uint64(bounds[c + 1])
        if end - begin > np.uint64(1):
            for i in range(begin, end):
                for e in range(factors.u_ptr[i], factors.u_ptr[i + np.uint64(1)]):
                    add_row(x, np.uint64(factors.u_indices[e]), factors.u_data[e], i)
        for back in range(begin, end):
            i = end - np.uint64(1) - (back - begin)
            scale_row(x, i, factors.inverse[i])
            for e in range(factors.l_ptr[i], factors.l_ptr[i + np.uint64(1)]):
                add_row(x, np.uint64(factors.l_indices[e]), factors.l_data[e], i)
            for e in range(indptr[i], indptr[i + np.uint64(1)]):
                if indices[e] < begin:
                    add_row(x, np.uint64(indices[e]), discount * data[e], i)
