"""The soft Bellman equation v = log Σ_a exp(r + γ E v): its backup, and its fixed point."""

from __future__ import annotations

import numpy as np

from .aims import extremes
from .layouts import compiled, part
from .linear import MOST_SWEEPS, Flow, apply, bicgstab, copy, sweep_flow

# Policy iteration may take some rounds to get anywhere; after so many, sweeps must do.
PATIENCE, SWEEPS = 25, 100
# Not a plain number, which is a type of its own to Numba: it would compile `bicgstab` once more.
STEPS, SUMS = np.int64(1000), np.bool_(True)


@compiled
def soft_backup(dynamics, reward, v, discount, backed_up, chances):
    """backed_up [S] ← Tv, chances [P] ← the policy that attains it; least and largest of Tv − v.

    dynamics is (offsets of the states' pairs, indptr, indices, data of the pairs' rows), reward is
    [P]. The largest exponent is taken out of each sum, so that none overflows.
    """
    offsets, indptr, indices, data = dynamics
    low, high = np.inf, -np.inf
    for s in range(v.size):
        first, last = offsets[s], offsets[s + 1]
        best = -np.inf
        for p in range(first, last):
            ahead = 0.0
            for j in range(indptr[p], indptr[p + 1]):
                ahead += data[j] * v[indices[j]]
            chances[p] = reward[p] + discount * ahead
            best = max(best, chances[p])
        total = 0.0
        for p in range(first, last):
            chances[p] = np.exp(chances[p] - best)
            total += chances[p]
        for p in range(first, last):
            chances[p] /= total
        backed_up[s] = best + np.log(total)
        low = min(low, backed_up[s] - v[s])
        high = max(high, backed_up[s] - v[s])
    return low, high


@compiled
def solve_system(operator, b, x, goal):
    """x with ‖b − operator · x‖₁ ≤ goal, or as small as rounding allows: BiCGSTAB from x, then
    Gauss–Seidel if that breaks down."""
    rest, work, state = np.empty(b.size), np.empty((6, b.size)), np.empty(3)
    for _ in range(3):
        apply(operator, x, rest)
        for s in range(b.size):
            rest[s] = b[s] - rest[s]
        before = np.abs(rest).sum()
        if before <= goal:
            return x
        kept = x.copy()
        state[:] = 0.0
        bicgstab(operator, x, rest, 0.5 * goal, STEPS, work, state, STEPS)
        apply(operator, x, rest)
        left = np.abs(b - rest).sum()
        if left <= goal:
            return x
        if not left < before:
            copy(kept, x)
            break
    state[:] = 0.0
    sweep_flow(operator, b, x, goal, SUMS, state, np.int64(MOST_SWEEPS + 1))
    return x


@compiled
def soft_sweep(dynamics, reward, v, discount):
    """v ← soft backups in place, once forward: slow, but certain to come nearer."""
    offsets, indptr, indices, data = dynamics
    for s in range(v.size):
        best, total = -np.inf, 0.0
        for p in range(offsets[s], offsets[s + 1]):
            ahead = 0.0
            for j in range(indptr[p], indptr[p + 1]):
                ahead += data[j] * v[indices[j]]
            q = reward[p] + discount * ahead
            if q > best:
                total = total * np.exp(best - q) + 1.0
                best = q
            else:
                total += np.exp(q - best)
        v[s] = best + np.log(total)


@compiled
def soft_solve(dynamics, chain, slots, reward, v, discount, rounding, rounds):
    """Newton's method for v = Tv, which is soft policy iteration: it converges quadratically.

    T is convex and the policy of a backup is its slope, so the step solves (I − γP_π) δ = Tv − v.
    A constant added to v changes nothing that matters: v is kept centred, where it is rounded less.
    chain is (indptr, indices) of P_π, and slots say where each entry of a row is in it. Ends when
    the spread of Tv − v is at most `rounding` times the largest number in it, or gets no smaller.
    Gives back Tv, the chances, the least and the largest of Tv − v, and the largest |v|.
    """
    offsets, indptr, _, data = dynamics
    n = v.size
    backed_up, rest, step = np.empty(n), np.empty(n), np.empty(n)
    chances, moved = np.empty(reward.size), np.empty(chain[1].size)
    lowest, highest = extremes(reward)
    largest_reward = max(-lowest, highest)
    least, stalled = np.inf, 0
    for done in range(rounds + 1):
        lowest, highest = extremes(v)
        v -= 0.5 * (lowest + highest)
        # What is centred is as far from 0 below as above, but for rounding.
        lowest, highest = extremes(v)
        low, high = soft_backup(dynamics, reward, v, discount, backed_up, chances)
        spread, largest = high - low, max(-lowest, highest)
        finest = rounding * (largest + largest_reward + 1.0)
        stalled = stalled + 1 if spread > 0.9 * least else 0
        least = min(least, spread)
        if spread <= finest or done == rounds or (stalled >= 3 and spread <= 1e3 * finest):
            break
        if stalled >= PATIENCE:
            for _ in range(SWEEPS):
                soft_sweep(dynamics, reward, v, discount)
            continue
        moved[:] = 0.0
        for s in range(n):
            rest[s] = backed_up[s] - v[s] - 0.5 * (low + high)
            for p in range(offsets[s], offsets[s + 1]):
                for j in range(indptr[p], indptr[p + 1]):
                    moved[slots[j]] += chances[p] * data[j]
        step[:] = 0.0
        # An error in the step may be 1/(1 − γ) of that in its equation, in the worst state.
        goal = max(0.1 * (1.0 - discount) * min(spread, 1.0) * spread, 0.1 * finest)
        v += solve_system(Flow(chain[0], chain[1], moved, discount), rest, step, goal)
    return backed_up, chances, low, high, largest


@part
def rise(counts, base, lift, rate):
    """The slope of Σ counts log(base + rate · lift) in the rate."""
    total = 0.0
    for i in range(counts.size):
        total += counts[i] * lift[i] / (base[i] + rate * lift[i])
    return total


@compiled
def likeliest_rate(counts, base, lift, halvings):
    """The rate in (0, 1] with the largest Σ counts log(base + rate · lift), which is concave: its
    order of magnitude is halved so often."""
    low, high = 1e-15, 1.0
    if rise(counts, base, lift, low) <= 0.0:
        return low
    for _ in range(halvings):
        middle = np.sqrt(low * high)
        if rise(counts, base, lift, middle) > 0.0:
            low = middle
        else:
            high = middle
    return low
