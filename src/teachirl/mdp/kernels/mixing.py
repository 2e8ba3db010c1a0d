"""Plain iteration x ← b + γPx for many right hand sides, and what an x is off by."""

from __future__ import annotations

import numpy as np

from ...precision import EPS
from .compiling import compiled, part
from .lanes import (
    WIDTH,
    back_up,
    filled,
    greater,
    lesser,
    load,
    magnitude,
    minus,
    plus,
    store,
    zero,
)

FOUR, ONE = np.uint64(WIDTH), np.uint64(1)
LOOK, FARTHEST = 5, 15  # steps between two looks at the residual, at first and at most


@part
def change(x, out, sums):
    """For each lane the 1-norm of out − x if `sums`, otherwise half of the range of its entries."""
    n, m = np.uint64(x.shape[0]), np.uint64(x.shape[1])
    found, lane = np.empty(m), np.uint64(0)
    while lane + FOUR <= m:
        low, high, total = filled(np.inf), filled(-np.inf), zero()
        for s in range(np.uint64(0), n):
            off = minus(load(out, s * m + lane), load(x, s * m + lane))
            total = plus(total, 1.0, magnitude(off))
            low, high = lesser(low, off), greater(high, off)
        store(found, lane, total if sums else plus(zero(), 0.5, minus(high, low)))
        lane += FOUR
    while lane < m:
        least, most, sum_of = np.inf, -np.inf, 0.0
        for s in range(np.uint64(0), n):
            apart = out[s, lane] - x[s, lane]
            sum_of += abs(apart)
            least, most = min(least, apart), max(most, apart)
        found[lane] = sum_of if sums else 0.5 * (most - least)
        lane += ONE
    return found


@compiled
def iterate(operator, b, x, goals, sums, probe, steps, state, most):
    """Iterate x [S, m] until no lane's `change` is above its goal [m]; gives back how many steps
    that took, 0 if it takes too many, or −1 if it is to be called again, after `most` looks.

    The change of all lanes shrinks by the same rate in the end: it tells how many steps there will
    be, where to look next, and after `probe` steps whether there are more than `steps`, which are
    too many. state [3] is all 0 before the first call.
    """
    now, before = x, np.empty_like(x)
    done, worst, ahead = np.int64(state[0]), state[1], np.int64(state[2])
    swapped, looks, found = False, 0, np.int64(-1)
    while looks < most and found < 0:
        ahead = LOOK if done == 0 else ahead
        for _ in range(ahead):
            back_up(operator, operator.discount, b, now, before, False)
            now, before, swapped = before, now, not swapped
        done += ahead
        looks += 1
        off, last, worst = change(before, now, sums), worst, 0.0
        for lane in range(off.size):
            worst = max(worst, off[lane] / goals[lane] if goals[lane] > 0.0 else 0.0)
        left = np.float64(LOOK)
        if done > ahead:
            rate = (worst / last) ** (1.0 / ahead)
            left = np.log(worst) / -np.log(rate) if rate < 1.0 and worst > 0.0 else np.inf
        if worst <= 1.0:
            found = done
        elif done >= steps or (done >= probe and not done + left <= steps):
            found = np.int64(0)
        ahead = np.int64(min(np.ceil(left), FARTHEST, max(steps - done, 1)))
    state[0], state[1], state[2] = done, worst, ahead
    if swapped:
        for s in range(x.shape[0]):
            for lane in range(x.shape[1]):
                x[s, lane] = now[s, lane]
    return found


@compiled
def values_left(operator, b, x, out):
    """out ← b − (I − γP)x, all [S, m], given the rows of P.

    Gives back for each lane the least and the largest entry of it, and the largest |x|.
    """
    back_up(operator, operator.discount, b, x, out, False)
    n, m, lane = np.uint64(x.shape[0]), np.uint64(x.shape[1]), np.uint64(0)
    low, high, most = np.full(m, np.inf), np.full(m, -np.inf), np.zeros(m)
    while lane + FOUR <= m:
        lows, highs, sizes_of = load(low, lane), load(high, lane), zero()
        for s in range(np.uint64(0), n):
            size = load(x, s * m + lane)
            off = minus(load(out, s * m + lane), size)
            store(out, s * m + lane, off)
            lows, highs = lesser(lows, off), greater(highs, off)
            sizes_of = greater(sizes_of, magnitude(size))
        store(low, lane, lows)
        store(high, lane, highs)
        store(most, lane, sizes_of)
        lane += FOUR
    while lane < m:
        for s in range(np.uint64(0), n):
            out[s, lane] -= x[s, lane]
            low[lane] = min(low[lane], out[s, lane])
            high[lane] = max(high[lane], out[s, lane])
            most[lane] = max(most[lane], abs(x[s, lane]))
        lane += ONE
    return low, high, most


@part
def add_exactly(total, lost, s, lane, term):
    """total[s, lane] ← total[s, lane] + term, and what is rounded away is added to `lost`."""
    before = total[s, lane]
    after = before + term
    back = after - before
    lost[s, lane] += (before - (after - back)) + (term - back)
    total[s, lane] = after


@compiled
def flow_left(operator, b, x, out):
    """out ← b − (I − γPᵀ)x, all [S, m], given the rows of P.

    Who flows into a state may be many: the sums are compensated. Gives back for each lane the
    1-norm of it, and that of x.
    """
    lost = np.zeros_like(x)
    n, m = np.uint64(x.shape[0]), np.uint64(x.shape[1])
    left, most = np.zeros(m), np.zeros(m)
    fours = m - m % FOUR
    for s in range(np.uint64(0), n):
        for lane in range(np.uint64(0), m):
            out[s, lane] = b[s, lane] - x[s, lane]
    for s in range(np.uint64(0), n):
        for j in range(operator.indptr[s], operator.indptr[s + ONE]):
            share, t = operator.discount * operator.data[j], np.uint64(operator.indices[j])
            lane = np.uint64(0)
            while lane < fours:
                i = t * m + lane
                before, term = load(out, i), plus(zero(), share, load(x, s * m + lane))
                after = plus(before, 1.0, term)
                back = minus(after, before)
                missed = plus(minus(before, minus(after, back)), 1.0, minus(term, back))
                store(lost, i, plus(load(lost, i), 1.0, missed))
                store(out, i, after)
                lane += FOUR
            while lane < m:
                add_exactly(out, lost, t, lane, share * x[s, lane])
                lane += ONE
    for s in range(np.uint64(0), n):
        for lane in range(np.uint64(0), m):
            out[s, lane] += lost[s, lane]
            left[lane] += abs(out[s, lane])
            most[lane] += abs(x[s, lane])
    return left, most


@compiled
def settle_values(operator, x, off, low, high, reach, most):
    """x ← x + D + γ/(1 − γ)·mid(D), for values x [S, m] that leave D = `off` of rewards over.

    low, high and reach [m] are what `values_left` gives back, most [m] the largest rewards. Gives
    back what any entry may then be off by, [m]: γ/(1 − γ)·(high − low)/2, and rounding.
    """
    away = 1.0 - operator.discount
    beyond = operator.discount / away
    longest, error = 0, np.empty(low.size)
    for s in range(x.shape[0]):
        longest = max(longest, operator.indptr[s + 1] - operator.indptr[s])
    for lane in range(low.size):
        # One backup is rounded, and rows sum to 1 up to rounding only: so does what is added.
        rounded = reach[lane] + most[lane] + beyond * max(abs(low[lane]), abs(high[lane]))
        rounding = (longest + 8) * EPS * rounded / away
        error[lane] = beyond * 0.5 * (high[lane] - low[lane]) + rounding
    for s in range(np.uint64(0), np.uint64(x.shape[0])):
        for lane in range(np.uint64(0), np.uint64(x.shape[1])):
            x[s, lane] += off[s, lane] + beyond * 0.5 * (low[lane] + high[lane])
    return error


@compiled
def flow_error(operator, left, reach, most):
    """What the 1-norm of visits may be off by, [m], given what `flow_left` gives back, and that of
    their sources."""
    error = np.empty(left.size)
    for lane in range(left.size):
        rounding = 8 * EPS * (reach[lane] + most[lane])
        error[lane] = (left[lane] + rounding) / (1.0 - operator.discount)
    return error


@compiled
def sizes(x):
    """For each lane of x [S, m] the largest |x|, and the sum of all."""
    n, m, lane = np.uint64(x.shape[0]), np.uint64(x.shape[1]), np.uint64(0)
    most, total = np.zeros(m), np.zeros(m)
    while lane + FOUR <= m:
        largest, sum_of = zero(), zero()
        for s in range(np.uint64(0), n):
            size = magnitude(load(x, s * m + lane))
            largest, sum_of = greater(largest, size), plus(sum_of, 1.0, size)
        store(most, lane, largest)
        store(total, lane, sum_of)
        lane += FOUR
    while lane < m:
        for s in range(np.uint64(0), n):
            most[lane] = max(most[lane], abs(x[s, lane]))
            total[lane] += abs(x[s, lane])
        lane += ONE
    return most, total


@compiled
def rows_in(x, order):
    """x[order]"""
    out = np.empty_like(x)
    for i in range(np.uint64(0), np.uint64(order.size)):
        for lane in range(np.uint64(0), np.uint64(x.shape[1])):
            out[i, lane] = x[order[i], lane]
    return out


@compiled
def rows_back(x, order):
    """What x is, given x[order]."""
    out = np.empty_like(x)
    for i in range(np.uint64(0), np.uint64(order.size)):
        for lane in range(np.uint64(0), np.uint64(x.shape[1])):
            out[order[i], lane] = x[i, lane]
    return out
