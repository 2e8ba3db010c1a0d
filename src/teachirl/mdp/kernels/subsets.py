"""A bound on what any set of features can gain, by a relaxation: z_i ∈ [0, 1] of each feature.

Of unit vectors with inner products N [m, m], and c_i = ⟨f_i, r⟩, a set gains at most

    g(S) = max {2⟨c, β⟩ − ⟨β, Nβ⟩ : β zero outside S}.

Split N = H + D with D ≥ 0 diagonal and H positive semidefinite. As H is convex, for any v

    g(S) ≤ ⟨v, Hv⟩ + Σ_{i ∈ S} a_i,   a_i = (c − Hv)_i²/D_ii,

and the largest sum over all sets that are within the budget is a knapsack. The best v is that of
the concave max_z max_β 2⟨c, β⟩ − ⟨β, Hβ⟩ − Σ D_ii β_i²/z_i (the perspective relaxation of best
subset selection). Larger D are better, and of two, what grows where β_i²(1/z_i − 1) is large.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...precision import RESIDUAL
from .compiling import kernel

_compiled: Any = kernel(fastmath={"reassoc", "contract", "nsz"})


@_compiled
def factorise(matrix):
    """The lower half ← L with LLᵀ = matrix; gives back whether it is positive definite."""
    n = len(matrix)
    for j in range(n):
        pivot = matrix[j, j]
        for q in range(j):
            pivot -= matrix[j, q] ** 2
        if not pivot > 0.0:
            return False
        pivot = np.sqrt(pivot)
        matrix[j, j] = pivot
        for i in range(j + 1, n):
            total = matrix[i, j]
            for q in range(j):
                total -= matrix[i, q] * matrix[j, q]
            matrix[i, j] = total / pivot
    return True


@_compiled
def solve(factor, x):
    """x ← (LLᵀ)⁻¹x."""
    n = len(x)
    for i in range(n):
        total = x[i]
        for q in range(i):
            total -= factor[i, q] * x[q]
        x[i] = total / factor[i, i]
    for i in range(n - 1, -1, -1):
        x[i] /= factor[i, i]
        for q in range(i):
            x[q] -= factor[i, q] * x[i]


@_compiled
def positive(N, D):
    """Whether N − D is positive definite by a margin."""
    matrix = N.copy()
    for i in range(len(D)):
        # H stays positive definite by this much, so that rounding in N leaves it so.
        matrix[i, i] -= D[i] + 1e-12
    return factorise(matrix)


@_compiled
def invert(matrix):
    """matrix ← its inverse, if positive definite, by sweeps."""
    n = len(matrix)
    for j in range(n):
        pivot = 1.0 / matrix[j, j]
        for i in range(n):
            if i != j:
                factor = matrix[i, j] * pivot
                for q in range(n):
                    matrix[i, q] -= factor * matrix[j, q]
                matrix[i, j] = -factor
        for q in range(n):
            matrix[j, q] *= pivot
        matrix[j, j] = pivot


@_compiled
def raise_diagonal(N, D, gains, sweeps):
    """A diagonal near the largest Σ gains_i D_ii with N − D positive definite, from such a D.

    Ascent on Σ gains_i D_ii + t log det(N − D), a coordinate at a time while t falls.
    """
    n = len(D)
    K, raised, row = N.copy(), np.empty(n), np.empty(n)
    weight, mean = 0.0, 0.0
    for i in range(n):
        raised[i] = 0.9 * D[i]
        K[i, i] -= raised[i]
        weight += raised[i] / n
        mean += gains[i] / n
    invert(K)
    for _ in range(sweeps):
        for i in range(n):
            room = 1.0 / K[i, i]
            step = max(room - weight / (gains[i] / mean + 0.05), -0.99 * raised[i])
            if step > 0.99 * room:
                continue
            factor = step / (1.0 - step * K[i, i])
            # The lower half of K is enough.
            for q in range(n):
                row[q] = K[i, q] if q <= i else K[q, i]
            for p in range(n):
                along = factor * row[p]
                for q in range(p + 1):
                    K[p, q] += along * row[q]
            raised[i] += step
        weight *= 0.3
    for _ in range(40):
        if positive(N, raised):
            return raised
        for i in range(n):
            raised[i] = 0.5 * (raised[i] + 0.9 * D[i])
    return D


@_compiled
def knapsack(a, costs, budget):
    """The most Σ z_i a_i with z ∈ [0, 1], Σ z_i costs_i ≤ budget, and its two multipliers.

    Any multiplier λ between the two proves it: Σ max(a_i − λ costs_i, 0) + λ budget.
    """
    n = len(a)
    ratios = np.empty(n)
    for i in range(n):
        ratios[i] = a[i] / costs[i]
    total, left, last = 0.0, budget, np.inf
    for i in np.argsort(ratios)[::-1]:
        if costs[i] > left:
            # What is filled exactly leaves the multiplier free between two ratios.
            return total + left * ratios[i], (last if left == 0.0 else ratios[i]), ratios[i]
        total += a[i]
        left -= costs[i]
        last = ratios[i]
    return total, 0.0, 0.0


@_compiled
def share_out(z, v, D, costs, budget):
    """z_i ← min(1, s·|v_i|√(D_ii/costs_i)) with s such that Σ z_i costs_i = budget, or all 1."""
    n = len(z)
    ratios = np.empty(n)
    rest, total = 0.0, 0.0
    for i in range(n):
        ratios[i] = abs(v[i]) * np.sqrt(D[i] / costs[i])
        rest += costs[i] * ratios[i]
        total += costs[i]
        z[i] = 1.0
    if total <= budget:
        return
    left, scale = budget, 1e300
    for i in np.argsort(ratios)[::-1]:
        if left * ratios[i] <= rest:
            scale = left / rest if rest > 0.0 else 0.0
            break
        rest -= costs[i] * ratios[i]
        left -= costs[i]
    for i in range(n):
        # From 0 a feature could not come back.
        z[i] = max(min(1.0, scale * ratios[i]), 1e-9)


@_compiled
def relax(N, c, D, z, costs, budgets, steps, rounds, enough):
    """The bound, improved by `steps` steps on z for each of 1 + `rounds` diagonals.

    Parameters
    ----------
    N, c : arrays [m, m] and [m]
    D, z : arrays [m], where to start; N − D positive definite
    costs, budgets : arrays [2, m] and [2], two budgets that a set has to respect
    enough : a bound that need not be improved

    Returns
    -------
    bound, then what proves it: a [m], the budget that binds and its two multipliers; D, z
    """
    m = len(c)
    best, best_a, best_z, best_D = np.inf, np.zeros(m), z, D
    binding, upper, lower = 0, 0.0, 0.0
    z, D = z.copy(), D.copy()
    factor, v, Hv, a, gains = np.empty((m, m)), np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    for turn in range(rounds + 1):
        largest = 0.0
        for _ in range(steps):
            for i in range(m):
                v[i] = np.sqrt(z[i])
            for i in range(m):
                for j in range(i):
                    factor[i, j] = v[i] * N[i, j] * v[j]
                factor[i, i] = z[i] * (N[i, i] - D[i]) + D[i]
            if not factorise(factor):
                break
            for i in range(m):
                v[i] *= c[i]
            solve(factor, v)
            curved, squares, largest = 0.0, 0.0, 0.0
            for i in range(m):
                v[i] *= np.sqrt(z[i])
                squares += v[i] ** 2
                gains[i] = v[i] ** 2 * (1.0 / z[i] - 1.0)
                largest = max(largest, gains[i])
            for i in range(m):
                Hv[i] = -D[i] * v[i]
                for j in range(m):
                    Hv[i] += N[i, j] * v[j]
                curved += v[i] * Hv[i]
                a[i] = (c[i] - Hv[i]) ** 2 / D[i]
            value, b, high, low = np.inf, 0, 0.0, 0.0
            for which in range(len(budgets)):
                most, over, under = knapsack(a, costs[which], budgets[which])
                if most < value:
                    value, b, high, low = most, which, over, under
            value += curved + RESIDUAL * m * squares
            if value < best:
                best, best_a, best_z, best_D = value, a.copy(), z.copy(), D.copy()
                binding, upper, lower = b, high, low
                if best <= enough:
                    return best, best_a, binding, upper, lower, best_D, best_z
            share_out(z, v, D, costs[b], budgets[b])
        if turn == rounds or not largest > 0.0:
            break
        raised = raise_diagonal(N, D, gains, 4)
        for i in range(m):
            D[i] += 2.0 / (turn + 3.0) * (raised[i] - D[i])
    return best, best_a, binding, upper, lower, best_D, best_z
