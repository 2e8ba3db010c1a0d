"""The inner loops of the bundle method: block columns, and the active-set master problem."""

from __future__ import annotations

import numpy as np
from numba import njit

from .layouts import compiled

# Sums may be reordered, so that dot products use vector instructions.
summed = njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract"})

DEPENDENT = 1e-9  # a column adds nothing if less than this share of it sticks out of the others


@compiled
def block_features(successors, choice, start, order, bounds, discount, rows, features, out):
    """out [G, k] ← the feature expectations of a deterministic policy from each block of states.

    Deterministic dynamics: from block g, the states order[bounds[g]:bounds[g+1]], the policy sees
    the block and the paths out of it, so all blocks together cost little more than one pass.
    rows [S] is each state's row of `features`, (indptr, indices, data).
    """
    indptr, indices, data = features
    n = start.size
    stamp = np.full(n, -1, np.int32)
    waiting = np.zeros(n, np.int32)  # how many have yet to flow into a state; −1 once it is done
    visits = np.zeros(n)
    reached = np.empty(n, np.int64)
    target = np.empty(n, np.int64)
    for s in range(n):
        target[s] = successors[s, choice[s]]
    for g in range(bounds.size - 1):
        count = 0
        for i in range(bounds[g], bounds[g + 1]):
            s = order[i]
            while stamp[s] != g:
                stamp[s] = g
                waiting[s] = 0
                visits[s] = 0.0
                reached[count] = s
                count += 1
                s = target[s]
            visits[order[i]] += start[order[i]]
        for i in range(count):
            waiting[target[reached[i]]] += 1
        for i in range(count):
            s = reached[i]
            while waiting[s] == 0:
                waiting[s] = -1
                visits[target[s]] += discount * visits[s]
                waiting[target[s]] -= 1
                s = target[s]
        for i in range(count):
            root = reached[i]
            if waiting[root] < 0:
                continue
            # Only cycles are left: see `push`.
            arriving, length = 0.0, 1
            s = target[root]
            while s != root:
                arriving = (arriving + visits[s]) * discount
                length += 1
                s = target[s]
            visits[root] = (visits[root] + arriving) / -np.expm1(length * np.log(discount))
            waiting[root] = -1
            s = root
            while target[s] != root:
                visits[target[s]] += discount * visits[s]
                s = target[s]
                waiting[s] = -1
        out[g, :] = 0.0
        for i in range(count):
            s = reached[i]
            for j in range(indptr[rows[s]], indptr[rows[s] + 1]):
                out[g, indices[j]] += visits[s] * data[j]


@compiled
def evaluate_many(indptr, indices, data, rewards, v, discount, enough, sweeps):
    """v [S, n] ← the values of n rewards [S, n] in one Markov chain, by Gauss–Seidel from v.

    Sweeps until no value changes by more than `enough`; gives back the last change.
    """
    fresh = np.empty(v.shape[1])
    change = np.inf
    for sweep in range(sweeps):
        change = 0.0
        for i in range(v.shape[0]):
            s = i if sweep % 2 == 0 else v.shape[0] - 1 - i
            own = 0.0
            fresh[:] = 0.0
            for j in range(indptr[s], indptr[s + 1]):
                if indices[j] == s:
                    own += data[j]
                else:
                    for x in range(fresh.size):
                        fresh[x] += data[j] * v[indices[j], x]
            for x in range(fresh.size):
                value = (rewards[s, x] + discount * fresh[x]) / (1.0 - discount * own)
                change = max(change, abs(value - v[s, x]))
                v[s, x] = value
        if change <= enough:
            break
    return change


@summed
def dot(a, b):
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@compiled
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
    q[m] = rest / left
    return True


@compiled
def drop(q, R, m, gone):
    """Remove column `gone` of m from the factorisation, by rotations."""
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


@compiled
def back_solve(R, m, x):
    for j in range(m - 1, -1, -1):
        x[j] /= R[j, j]
        for i in range(j):
            x[i] -= R[i, j] * x[j]


@compiled
def forward_solve(R, m, x):
    """x ← R⁻ᵀ x"""
    for j in range(m):
        x[j] /= R[j, j]
        for i in range(j + 1, m):
            x[i] -= R[j, i] * x[j]


@compiled
def forget(pool, master, m, leaving):
    """Take column `leaving` out of the support; gives back the new size of the factorisation."""
    columns, cost, owner = pool
    share, inside, base, free, q, R = master
    share[leaving] = 0.0
    inside[leaving] = False
    block = owner[leaving]
    if base[block] != leaving:
        for i in range(m):
            if free[i] == leaving:
                drop(q, R, m, i)
                free[i : m - 1] = free[i + 1 : m]
                return m - 1
        return m
    # The others of the block are kept as differences to its base: a new base, new differences.
    mine = np.empty(m, np.int64)
    count, best = 0, -1
    i = 0
    while i < m:
        if owner[free[i]] == block:
            mine[count] = free[i]
            count += 1
            if best < 0 or share[free[i]] > share[best]:
                best = free[i]
            drop(q, R, m, i)
            free[i : m - 1] = free[i + 1 : m]
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
def residual_of(pool, master, m, r):
    columns, cost, owner = pool
    share, inside, base, free, q, R = master
    r[:] = 0.0
    for g in range(base.size):
        for x in range(r.size):
            r[x] += share[base[g]] * columns[base[g], x]
    for i in range(m):
        for x in range(r.size):
            r[x] += share[free[i]] * columns[free[i], x]


@compiled
def longest_step(pool, master, m, step, entering):
    """How far the shares can move along `step` [m] (and the entering one up), and who stops it."""
    columns, cost, owner = pool
    share, inside, base, free, q, R = master
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


@compiled
def move(master, m, step, of_base, length):
    share, inside, base, free, q, R = master
    for i in range(m):
        share[free[i]] = max(share[free[i]] + length * step[i], 0.0)
    for g in range(base.size):
        share[base[g]] = max(share[base[g]] + length * of_base[g], 0.0)


@compiled
def settle(pool, master, m, centre, t, r, theta):
    """Minimise over the support; columns whose share falls to 0 leave it."""
    columns, cost, owner = pool
    share, inside, base, free, q, R = master
    step = np.empty(r.size)
    while True:
        residual_of(pool, master, m, r)
        for x in range(r.size):
            theta[x] = centre[x] - t * r[x]
        if m == 0:
            return m
        for i in range(m):
            j, b = free[i], base[owner[free[i]]]
            step[i] = (
                (cost[b] - dot(theta, columns[b])) - (cost[j] - dot(theta, columns[j]))
            ) / t
        forward_solve(R, m, step)
        back_solve(R, m, step)
        longest, who, of_base = longest_step(pool, master, m, step, -1)
        move(master, m, step, of_base, min(longest, 1.0))
        if longest >= 1.0:
            residual_of(pool, master, m, r)
            for x in range(r.size):
                theta[x] = centre[x] - t * r[x]
            return m
        m = forget(pool, master, m, who)


@compiled
def enter(pool, master, m, entering):
    """Bring a column into the support; if it depends on the others, one of them makes room."""
    columns, cost, owner = pool
    share, inside, base, free, q, R = master
    block = owner[entering]
    inside[entering] = True
    if append(columns[entering] - columns[base[block]], q, R, m):
        free[m] = entering
        return m + 1
    step = -R[:m, m].copy()
    back_solve(R, m, step)
    longest, who, of_base = longest_step(pool, master, m, step, entering)
    move(master, m, step, of_base, longest)
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
    m = forget(pool, master, m, who)
    if append(columns[entering] - columns[base[block]], q, R, m):
        free[m] = entering
        return m + 1
    share[base[block]] += share[entering]
    share[entering] = 0.0
    inside[entering] = False
    return m


@summed
def price(columns, cost, theta, n, reduced):
    for j in range(n):
        total = cost[j]
        for x in range(theta.size):
            total -= columns[j, x] * theta[x]
        reduced[j] = total


@compiled
def minimise(pool, n, master, m, centre, t, enough, pivots, r, theta, reduced):
    """Solve min c·λ − ⟨centre, r⟩ + t/2 ‖r‖², r = Σ λ_j a_j, over λ in a product of simplices.

    Stops when the duality gap is at most `enough`. Gives back the size of the factorisation, the
    gap, the model's value at theta = centre − t r, and the pivots used.
    """
    columns, cost, owner = pool
    share, inside, base, free, q, R = master
    blocks = base.size
    best = np.empty(blocks, np.int64)
    m = settle(pool, master, m, centre, t, r, theta)
    done = 0
    while True:
        price(columns, cost, theta, n, reduced)
        best[:] = base
        for j in range(n):
            if reduced[j] < reduced[best[owner[j]]]:
                best[owner[j]] = j
        gap, value, worst = 0.0, 0.0, 0.0
        for g in range(blocks):
            value += reduced[best[g]]
            gap += reduced[base[g]] - reduced[best[g]]
            worst = max(worst, reduced[base[g]] - reduced[best[g]])
        if gap <= enough or done >= pivots:
            return m, gap, value, done
        # The worst offenders of the blocks, as long as they still are.
        before = done
        for g in np.argsort(np.array([reduced[best[g]] - reduced[base[g]] for g in range(blocks)])):
            j, b = best[g], base[g]
            if inside[j]:
                continue
            gain = (cost[b] - dot(theta, columns[b])) - (cost[j] - dot(theta, columns[j]))
            if gain < 0.3 * worst or gain * blocks < 0.5 * enough:
                continue
            m = enter(pool, master, m, j)
            m = settle(pool, master, m, centre, t, r, theta)
            done += 1
            if done >= pivots:
                break
        if done == before:
            return m, gap, value, done
