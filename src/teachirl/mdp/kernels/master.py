"""The active-set method for the bundle's master problem, see `guarantees.solvers.master`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from .blocks import add_scaled
from .keeping import kept
from .layouts import PART, compiled, part

# Sums may be reordered, so that dot products use vector instructions.
summed: Any = kept(fastmath={"reassoc", "contract"}, **PART)

# No column. A plain −1 is a type of its own to Numba, for which it would compile all over again.
NOBODY = np.int64(-1)
DEPENDENT = 1e-9  # a column adds nothing if less than this share of it sticks out of the others


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


@summed
def dot(a, b):
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@part
def append(difference, q, R, m):
    """Add a column to the factorisation q[:m]ᵀ R[:m, :m]; whether it is independent of the others.

    Gram–Schmidt twice keeps the rows of q orthonormal to rounding. R[:m, m] is set in any case.
    """
    size = np.sqrt(dot(difference, difference))
    rest = difference.copy()
    R[:m, m] = 0.0
    for _ in range(2):
        for i in range(m):
            along = dot(q[i], rest)
            R[i, m] += along
            for x in range(rest.size):
                rest[x] -= along * q[i, x]
    left = np.sqrt(dot(rest, rest))
    if m == rest.size or not left > DEPENDENT * size:
        return False
    R[m, m] = left
    for x in range(rest.size):
        q[m, x] = rest[x] / left
    return True


@part
def multipliers(centre, t, r, theta):
    """theta ← centre − t r"""
    for x in range(theta.size):
        theta[x] = centre[x] - t * r[x]


@part
def drop(free, q, R, m, gone):
    """Remove column `gone` of m from the factorisation, by rotations, and from free[:m]."""
    for i in range(gone, m - 1):
        free[i] = free[i + 1]
    for j in range(gone, m - 1):
        for i in range(j + 2):
            R[i, j] = R[i, j + 1]
        a, b = R[j, j], R[j + 1, j]
        length = np.hypot(a, b)
        c, s = (a / length, b / length) if length > 0.0 else (1.0, 0.0)
        R[j, j], R[j + 1, j] = length, 0.0
        for i in range(j + 2, m):
            upper, lower = R[j, i], R[j + 1, i]
            R[j, i], R[j + 1, i] = c * upper + s * lower, c * lower - s * upper
        for x in range(q.shape[1]):
            upper, lower = q[j, x], q[j + 1, x]
            q[j, x], q[j + 1, x] = c * upper + s * lower, c * lower - s * upper


@part
def back_solve(R, m, x):
    for j in range(m - 1, -1, -1):
        x[j] /= R[j, j]
        for i in range(j):
            x[i] -= R[i, j] * x[j]


@part
def forward_solve(R, m, x):
    """x ← R⁻ᵀ x"""
    for j in range(m):
        x[j] /= R[j, j]
        for i in range(j + 1, m):
            x[i] -= R[j, i] * x[j]


@part
def forget(pool, support, m, leaving):
    """Take column `leaving` out of the support; gives back the new size of the factorisation."""
    columns, owner = pool.columns, pool.owner
    share, inside, base, free, q, R = support
    share[leaving] = 0.0
    inside[leaving] = False
    block = owner[leaving]
    if base[block] != leaving:
        for i in range(m):
            if free[i] == leaving:
                drop(free, q, R, m, i)
                return m - 1
        return m
    # The others of the block are kept as differences to its base: a new base, new differences.
    mine = np.empty(m, np.int64)
    count, best = 0, -1
    i = np.int64(0)
    while i < m:
        if owner[free[i]] == block:
            mine[count] = free[i]
            count += 1
            if best < 0 or share[free[i]] > share[best]:
                best = free[i]
            drop(free, q, R, m, i)
            m -= 1
        else:
            i += 1
    base[block] = best
    for i in range(count):
        if mine[i] != best:
            if append(columns[mine[i]] - columns[best], q, R, m):
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
    m = 0
    for i in range(count):
        j = free[i]
        anchor = base[owner[j]]
        if append(columns[j] - columns[anchor], q, R, m):
            free[m] = j
            m += 1
        else:  # cannot be but for rounding; its share goes to the base
            share[anchor] += share[j]
            share[j] = 0.0
            inside[j] = False
    return m


@part
def residual_of(pool, support, m, r):
    columns = pool.columns
    share, base, free = support.share, support.base, support.free
    r[:] = 0.0
    for g in range(base.size):
        for x in range(r.size):
            r[x] += share[base[g]] * columns[base[g], x]
    for i in range(m):
        for x in range(r.size):
            r[x] += share[free[i]] * columns[free[i], x]


@part
def longest_step(pool, support, m, step, entering):
    """How far the shares can move along `step` [m] (and the entering one up), and who stops it."""
    owner = pool.owner
    share, base, free = support.share, support.base, support.free
    of_base = np.zeros(base.size)
    for i in range(m):
        of_base[owner[free[i]]] -= step[i]
    if entering >= 0:
        of_base[owner[entering]] -= 1.0
    longest, who = np.inf, -1
    for i in range(m):
        if step[i] < 0.0 and share[free[i]] < -step[i] * longest:
            longest, who = share[free[i]] / -step[i], free[i]
    for g in range(base.size):
        if of_base[g] < 0.0 and share[base[g]] < -of_base[g] * longest:
            longest, who = share[base[g]] / -of_base[g], base[g]
    return longest, who, of_base


@part
def move(support, m, step, of_base, length):
    share, base, free = support.share, support.base, support.free
    for i in range(m):
        share[free[i]] = max(share[free[i]] + length * step[i], 0.0)
    for g in range(base.size):
        share[base[g]] = max(share[base[g]] + length * of_base[g], 0.0)


@part
def settle(pool, support, m, t, r, reduced):
    """Minimise over the support; columns whose share falls to 0 leave it.

    Of the support's `reduced` costs only differences to the base matter; they and r are kept up.
    """
    owner = pool.owner
    base, free, q, R = support.base, support.free, support.q, support.R
    along, step = np.empty(m), np.empty(m)
    while m > 0:
        for i in range(m):
            along[i] = (reduced[base[owner[free[i]]]] - reduced[free[i]]) / t
        forward_solve(R, m, along)
        for i in range(m):
            step[i] = along[i]
        back_solve(R, m, step)
        longest, who, of_base = longest_step(pool, support, m, step, NOBODY)
        length = min(longest, 1.0)
        move(support, m, step, of_base, length)
        for i in range(m):
            add_scaled(r, length * along[i], q[i])
            floor = reduced[base[owner[free[i]]]]
            reduced[free[i]] = floor + (1.0 - length) * (reduced[free[i]] - floor)
        if longest >= 1.0:
            break
        m = forget(pool, support, m, who)
    return m


@part
def enter(pool, support, m, entering):
    """Bring a column into the support; if it depends on the others, one of them makes room."""
    columns, owner = pool.columns, pool.owner
    share, inside, base, free, q, R = support
    block = owner[entering]
    inside[entering] = True
    if append(columns[entering] - columns[base[block]], q, R, m):
        free[m] = entering
        return m + 1
    step = -R[:m, m].copy()
    back_solve(R, m, step)
    longest, who, of_base = longest_step(pool, support, m, step, entering)
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
    m = forget(pool, support, m, who)
    if append(columns[entering] - columns[base[block]], q, R, m):
        free[m] = entering
        return m + 1
    share[base[block]] += share[entering]
    share[entering] = 0.0
    inside[entering] = False
    return m


@summed
def price(columns, cost, theta, chosen, reduced):
    """reduced[j] ← c_j − ⟨theta, a_j⟩ for the chosen columns j."""
    for j in chosen:
        total = cost[j]
        for x in range(theta.size):
            total -= columns[j, x] * theta[x]
        reduced[j] = total


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
    best = np.empty(blocks, np.int64)
    everyone = np.arange(n)
    candidates = np.empty(n, np.int64)
    done = 0
    while True:
        # From scratch, as the pivots keep r and the reduced costs up only to rounding.
        for _ in range(2):
            residual_of(pool, support, m, r)
            multipliers(centre, t, r, theta)
            price(columns, cost, theta, free[:m], reduced)
            price(columns, cost, theta, base, reduced)
            m = settle(pool, support, m, t, r, reduced)
        residual_of(pool, support, m, r)
        multipliers(centre, t, r, theta)
        price(columns, cost, theta, everyone, reduced)
        for g in range(blocks):
            best[g] = base[g]
        count = 0
        for j in range(n):
            if reduced[j] < reduced[base[owner[j]]] and not inside[j]:
                candidates[count] = j
                count += 1
            if reduced[j] < reduced[best[owner[j]]]:
                best[owner[j]] = j
        gap, value, noise = 0.0, 0.0, 0.0
        for g in range(blocks):
            value += reduced[best[g]]
            gap += reduced[base[g]] - reduced[best[g]]
            terms = abs(cost[base[g]])
            for x in range(theta.size):
                entry = columns[base[g], x]
                terms += abs(entry * theta[x]) + t * entry * entry
            noise = max(noise, terms)
        # Reduced costs that differ by less than their rounding, theta's included, are equal: to
        # pivot for such a gain can go on for ever.
        noise *= floor
        if not gap > max(enough, blocks * noise) or done >= pivots or count == 0:
            return m, gap, value, done
        # Those who could improve matters, until none of them can; then look at all again.
        before = done
        while done < pivots:
            gain, entering = max(0.25 * enough / blocks, noise), NOBODY
            for i in range(count):
                j = candidates[i]
                if not inside[j] and reduced[base[owner[j]]] - reduced[j] > gain:
                    gain, entering = reduced[base[owner[j]]] - reduced[j], j
            if entering < 0:
                break
            m = enter(pool, support, m, entering)
            m = settle(pool, support, m, t, r, reduced)
            done += 1
            multipliers(centre, t, r, theta)
            price(columns, cost, theta, candidates[:count], reduced)
            price(columns, cost, theta, base, reduced)
            for i in range(m):
                reduced[free[i]] = reduced[base[owner[free[i]]]]
        if done == before:
            return m, gap, value, done
