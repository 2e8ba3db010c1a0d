"""The active-set method for the bundle's master problem, see `guarantees.solvers.master`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from .compiling import compiled, lent, part
from .lanes import dot, take_off
from .qr import append, drop, solve, solve_transposed

# No column. A plain −1 is a type of its own to Numba, for which it would compile all over again.
NOBODY = np.int64(-1)
NONE = np.uint64(0)
# Gains that differ by less than this share are even: rounding does not decide who enters.
EVEN = 1e-9
# Columns that promise less than this share of the best one's gain wait.
FEW = 0.05


class Pool(NamedTuple):
    """columns [N, n] with their cost [N] and the block [N] that owns them."""

    columns: Floats
    cost: Floats
    owner: Ints


class Support(NamedTuple):
    """The columns in use: the share λ [N] of each column and whether it is inside [N]; the base [G]
    of each block; the others, free[:m], whose differences to their base are q[:m]ᵀ R[:m, :m]."""

    share: Floats
    inside: NDArray[np.bool_]
    base: Ints
    free: Ints
    q: Floats
    R: Floats


class Room(NamedTuple):
    """Where pivots work: a difference [n]; steps and others of the free columns [n + 1]; the steps
    of the bases [G]."""

    new: Floats
    along: Floats
    step: Floats
    mine: Ints
    of_base: Floats


@part
def room_for(n, blocks):
    return Room(
        np.empty(n), np.empty(n + 1), np.empty(n + 1), np.empty(n + 1, np.int64), np.empty(blocks)
    )


@lent
def multipliers(centre, t, r, theta):
    """theta ← centre − t r"""
    for x in range(theta.size):
        theta[x] = centre[x] - t * r[x]


@lent
def enter_difference(columns, j, anchor, q, R, m, new):
    """Append the difference of two columns; whether it is independent of the others."""
    for x in range(new.size):
        new[x] = columns[j, x] - columns[anchor, x]
    return append(new, q, R, m)


@lent
def without(free, m, gone):
    """Take entry `gone` out of free[:m]."""
    for i in range(gone, m - 1):
        free[i] = free[i + 1]


@lent
def forget(pool, support, m, leaving, room):
    """Take column `leaving` out of the support; gives back the new size of the factorisation."""
    columns, owner = pool.columns, pool.owner
    share, inside, base, free, q, R = support
    share[leaving] = 0.0
    inside[leaving] = False
    block = owner[leaving]
    if base[block] != leaving:
        for i in range(m):
            if free[i] == leaving:
                drop(q, R, m, i)
                without(free, m, i)
                return m - 1
        return m
    # The others of the block are kept as differences to its base: a new base, new differences.
    mine, count, best = room.mine, 0, NOBODY
    i = np.int64(0)
    while i < m:
        if owner[free[i]] == block:
            mine[count] = free[i]
            count += 1
            if best < 0 or share[free[i]] > share[best]:
                best = free[i]
            drop(q, R, m, i)
            without(free, m, i)
            m -= 1
        else:
            i += 1
    base[block] = best
    for i in range(count):
        if mine[i] != best:
            if enter_difference(columns, mine[i], best, q, R, m, room.new):
                free[m] = mine[i]
                m += 1
            else:  # cannot be but for rounding; its share goes to the base
                share[best] += share[mine[i]]
                share[mine[i]] = 0.0
                inside[mine[i]] = False
    return m


@compiled
def rebuild(pool, support, count):
    """Factorise the support's free[:count] anew; gives back how many of them are independent."""
    columns, owner = pool.columns, pool.owner
    share, inside, base, free, q, R = support
    new, m = np.empty(columns.shape[1]), 0
    for i in range(count):
        j = free[i]
        anchor = base[owner[j]]
        if enter_difference(columns, j, anchor, q, R, m, new):
            free[m] = j
            m += 1
        else:  # cannot be but for rounding; its share goes to the base
            share[anchor] += share[j]
            share[j] = 0.0
            inside[j] = False
    return m


@lent
def residual_of(pool, support, m, r):
    columns, n = pool.columns, np.uint64(r.size)
    share, base, free = support.share, support.base, support.free
    for x in range(r.size):
        r[x] = 0.0
    for g in range(base.size):
        take_off(r, NONE, -share[base[g]], columns, np.uint64(base[g]) * n, n)
    for i in range(m):
        take_off(r, NONE, -share[free[i]], columns, np.uint64(free[i]) * n, n)


@lent
def longest_step(pool, support, m, step, entering, of_base):
    """How far the shares can move along `step` [m] (and the entering one up), and who stops it;
    of_base [G] is how the bases move with them."""
    owner = pool.owner
    share, base, free = support.share, support.base, support.free
    for g in range(base.size):
        of_base[g] = 0.0
    for i in range(m):
        of_base[owner[free[i]]] -= step[i]
    if entering >= 0:
        of_base[owner[entering]] -= 1.0
    longest, who = np.inf, NOBODY
    for i in range(m):
        if step[i] < 0.0 and share[free[i]] < -step[i] * longest:
            longest, who = share[free[i]] / -step[i], free[i]
    for g in range(base.size):
        if of_base[g] < 0.0 and share[base[g]] < -of_base[g] * longest:
            longest, who = share[base[g]] / -of_base[g], base[g]
    return longest, who


@lent
def move(support, m, step, of_base, length):
    share, base, free = support.share, support.base, support.free
    for i in range(m):
        share[free[i]] = max(share[free[i]] + length * step[i], 0.0)
    for g in range(base.size):
        share[base[g]] = max(share[base[g]] + length * of_base[g], 0.0)


@lent
def settle(pool, support, m, t, r, reduced, room):
    """Minimise over the support; columns whose share falls to 0 leave it.

    Of the support's `reduced` costs only differences to the base matter; they and r are kept up.
    """
    owner, n = pool.owner, np.uint64(r.size)
    base, free, q, R = support.base, support.free, support.q, support.R
    along, step, of_base = room.along, room.step, room.of_base
    while m > 0:
        for i in range(m):
            along[i] = (reduced[base[owner[free[i]]]] - reduced[free[i]]) / t
        solve_transposed(R, m, along)
        for i in range(m):
            step[i] = along[i]
        solve(R, m, step)
        longest, who = longest_step(pool, support, m, step, NOBODY, of_base)
        length = min(longest, 1.0)
        move(support, m, step, of_base, length)
        for i in range(m):
            take_off(r, NONE, -length * along[i], q, np.uint64(i) * n, n)
            floor = reduced[base[owner[free[i]]]]
            reduced[free[i]] = floor + (1.0 - length) * (reduced[free[i]] - floor)
        if longest >= 1.0:
            break
        m = forget(pool, support, m, who, room)
    return m


@lent
def enter(pool, support, m, entering, room):
    """Bring a column into the support; if it depends on the others, one of them makes room."""
    columns, owner = pool.columns, pool.owner
    share, inside, base, free, q, R = support
    block = owner[entering]
    inside[entering] = True
    if enter_difference(columns, entering, base[block], q, R, m, room.new):
        free[m] = entering
        return m + 1
    step, of_base = room.step, room.of_base
    for i in range(m):
        step[i] = -R[i, m]
    solve(R, m, step)
    longest, who = longest_step(pool, support, m, step, entering, of_base)
    move(support, m, step, of_base, longest)
    share[entering] = longest
    if who == base[block]:
        # The entering column may be all that is left of its block.
        alone = True
        for i in range(m):
            if owner[free[i]] == block:
                alone = False
        if alone:
            share[who] = 0.0
            inside[who] = False
            base[block] = entering
            return m
    m = forget(pool, support, m, who, room)
    if enter_difference(columns, entering, base[block], q, R, m, room.new):
        free[m] = entering
        return m + 1
    share[base[block]] += share[entering]
    share[entering] = 0.0
    inside[entering] = False
    return m


@lent
def price(pool, theta, chosen, count, reduced):
    """reduced[j] ← c_j − ⟨theta, a_j⟩ for the columns j in chosen[:count]."""
    columns, cost, n = pool.columns, pool.cost, np.uint64(theta.size)
    for i in range(count):
        j = chosen[i]
        reduced[j] = cost[j] - dot(columns, np.uint64(j) * n, theta, NONE, n)


@lent
def first_to_enter(pool, support, chosen, count, reduced, least):
    """Who of chosen[:count] has the lowest reduced cost below its block's base, by more than
    `least`, and of ties the first; NOBODY if none has."""
    owner, inside, base = pool.owner, support.inside, support.base
    bar, entering = least, NOBODY
    for i in range(count):
        j = chosen[i]
        mine = reduced[base[owner[j]]] - reduced[j]
        if mine > bar and not inside[j]:
            bar, entering = (1.0 + EVEN) * mine, j
    return entering


@compiled
def minimise(pool, n, support, m, centre, t, enough, floor, pivots, r, theta, reduced):
    """Solve min c·λ − ⟨centre, r⟩ + t/2 ‖r‖², r = Σ λ_j a_j, over λ in a product of simplices.

    Stops when the duality gap is at most `enough`, or is rounding, `floor` of its terms. Gives back
    the size of the factorisation, the gap, the model's value at theta = centre − t r, and the
    pivots used.
    """
    columns, cost, owner = pool.columns, pool.cost, pool.owner
    inside, base, free = support.inside, support.base, support.free
    blocks = base.size
    room = room_for(theta.size, blocks)
    best = np.empty(blocks, np.int64)
    everyone = np.arange(n)
    candidates = np.empty(n, np.int64)
    done = 0
    while True:
        # From scratch, as the pivots keep r and the reduced costs up only to rounding.
        for _ in range(2):
            residual_of(pool, support, m, r)
            multipliers(centre, t, r, theta)
            price(pool, theta, free, m, reduced)
            price(pool, theta, base, blocks, reduced)
            m = settle(pool, support, m, t, r, reduced, room)
        residual_of(pool, support, m, r)
        multipliers(centre, t, r, theta)
        price(pool, theta, everyone, n, reduced)
        for g in range(blocks):
            best[g] = base[g]
        for j in range(n):
            if reduced[j] < reduced[best[owner[j]]]:
                best[owner[j]] = j
        gap, most, value, noise = 0.0, 0.0, 0.0, 0.0
        for g in range(blocks):
            value += reduced[best[g]]
            gain = reduced[base[g]] - reduced[best[g]]
            gap += gain
            most = max(most, gain)
            terms = abs(cost[base[g]])
            for x in range(theta.size):
                entry = columns[base[g], x]
                terms += abs(entry * theta[x]) + t * entry * entry
            noise = max(noise, terms)
        # Reduced costs that differ by less than their rounding, theta's included, are equal: to
        # pivot for such a gain can go on for ever.
        noise *= floor
        if not gap > max(enough, blocks * noise) or done >= pivots:
            return m, gap, value, done
        # Those who promise most, until none of them can improve matters; then look at all again.
        before, least, count = done, max(0.25 * enough / blocks, noise), 0
        for j in range(n):
            gain = reduced[base[owner[j]]] - reduced[j]
            if gain > least and gain >= FEW * most and not inside[j]:
                candidates[count] = j
                count += 1
        while done < pivots:
            entering = first_to_enter(pool, support, candidates, count, reduced, least)
            if entering < 0:
                break
            m = enter(pool, support, m, entering, room)
            m = settle(pool, support, m, t, r, reduced, room)
            done += 1
            multipliers(centre, t, r, theta)
            price(pool, theta, candidates, count, reduced)
            price(pool, theta, base, blocks, reduced)
            for i in range(m):
                reduced[free[i]] = reduced[base[owner[free[i]]]]
        if done == before:
            return m, gap, value, done
