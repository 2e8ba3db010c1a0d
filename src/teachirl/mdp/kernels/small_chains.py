"""Small chains solved in one call: each step takes less time than Python needs to ask for it.

What is called here, and in which order, is what `Chain` does step by step for larger ones.
"""

from __future__ import annotations

import numpy as np

from .block_elimination import eliminate, substitute, substitute_transposed
from .chains import reordered
from .compiling import compiled, part
from .components import strong_components
from .linear import Flow
from .mixing import flow_error, flow_left, rows_back, rows_in, settle_values, sizes, values_left

# How it ended: elimination takes too much, or is not near enough; it was, or nothing was to do.
GAVE_UP, TOO_FAR, ELIMINATED, BALANCED = 0, 1, 2, 3


@part
def eliminated(rows, indices, room, work):
    """The states in the order of elimination, the rows in it, its factors, and whether room and
    work sufficed.

    `indices` are those of the rows, read-only, as components of other graphs are compiled for.
    """
    order, bounds = strong_components(rows.indptr, indices)
    first, targets, shares = reordered(rows.indptr, rows.indices, rows.data, order)
    factors, done = eliminate(Flow(first, targets, shares, rows.discount), bounds, room, work)
    return order, bounds, first, targets, shares, factors, done


@part
def leaks(rows, b):
    """Whether the first state with a source in the first lane leads to one without: the sources are
    then not in balance, which is sooner seen than by what flows everywhere."""
    for s in range(b.shape[0]):
        if b[s, 0] != 0.0:
            for j in range(rows.indptr[s], rows.indptr[s + 1]):
                if b[rows.indices[j], 0] == 0.0:
                    return True
            return False
    return False


@part
def all_near(missed, goal, most):
    """Whether what is missed [m] is at most this share of what there is; what is no number, never
    is."""
    for lane in range(missed.size):
        if not (missed[lane] >= 0.0 and missed[lane] <= goal * most[lane]):
            return False
    return True


@compiled
def small_values(rows, indices, b, goal, room, work):
    """Values [S, m] of rewards b, what they may be off by [m], and how it ended."""
    order, bounds, first, targets, shares, factors, done = eliminated(rows, indices, room, work)
    x = rows_in(b, order)
    if done:
        substitute(first, targets, shares, rows.discount, bounds, factors, x)
    x = rows_back(x, order)
    most, off = sizes(b)[0], np.empty_like(x)
    low, high, reach = values_left(rows, b, x, off)
    how = TOO_FAR if done else GAVE_UP
    if done and all_near(0.5 * (high - low), goal, most):
        how = ELIMINATED
    return x, settle_values(rows, x, off, low, high, reach, most), how


@compiled
def small_visits(rows, indices, b, goal, room, work):
    """Visits [S, m] from sources b, what their 1-norms may be off by [m], and how it ended."""
    most, how = sizes(b)[1], BALANCED
    y, off = np.empty_like(b), np.empty_like(b)
    left, reach, balanced = most, most, False
    if not leaks(rows, b):
        y = b / (1.0 - rows.discount)
        left, reach = flow_left(rows, b, y, off)
        balanced = not np.any(left > goal * most)
    if not balanced:
        order, bounds, first, targets, shares, factors, done = eliminated(rows, indices, room, work)
        y = rows_in(b, order)
        if done:
            substitute_transposed(first, targets, shares, rows.discount, bounds, factors, y)
        y = rows_back(y, order)
        left, reach = flow_left(rows, b, y, off)
        how = TOO_FAR if done else GAVE_UP
        if done and all_near(left, goal, most):
            how = ELIMINATED
    return y, flow_error(rows, left, reach, most), how
