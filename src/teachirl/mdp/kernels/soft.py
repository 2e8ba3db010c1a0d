"""The soft Bellman equation v = log Σ_a exp(r + γ E v): its backup, and its fixed point."""

from __future__ import annotations

import numpy as np

from .aims import extremes
from .compiling import compiled, part
from .linear import STEPS, bicgstab, copy, rest_of_flow, sweep_flow

# Policy iteration may take some rounds to get anywhere; after so many, sweeps must do.
PATIENCE, SWEEPS = 25, 100
# Not a plain number, which is a type of its own to Numba: it would compile `bicgstab` once more.
MOST_STEPS, SUMS = np.int64(1000), np.bool_(True)
# How often BiCGSTAB is tried. Where `solve_system` is, behind where what it calls is.
TRIES = 3.0
TRIED, BEFORE, BUSY, SYSTEM = range(3, 7)
# Where `soft_solve` is; what it is at, a backup, a step or sweeps; and how it came back.
ROUND, LEAST, STALLED, GOAL, LOW, HIGH, LARGEST, AT, SWEPT, TOTAL, PLACES = range(11)
BACKUP, STEP, SWEEP = range(3)


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
def solve_system(operator, b, x, goal, work, state, most):
    """x with ‖b − operator · x‖₁ ≤ goal, or as small as rounding allows: BiCGSTAB from x, then
    Gauss–Seidel if that breaks down.

    It takes `most` steps a call, and gives back whether it is done. work is [8, S], and
    state [SYSTEM] is all 0 before the first call.
    """
    rest, kept = work[6], work[7]
    while state[TRIED] < TRIES:
        if state[BUSY] == 0.0:
            state[BEFORE] = rest_of_flow(operator, b, x, rest)
            if state[BEFORE] <= goal:
                return True
            copy(x, kept)
            state[BUSY] = 1.0
        if not bicgstab(operator, x, rest, 0.5 * goal, MOST_STEPS, work, state, most):
            return False
        left = rest_of_flow(operator, b, x, rest)
        if left <= goal:
            return True
        state[TRIED] += 1.0
        if not left < state[BEFORE]:
            copy(kept, x)
            state[TRIED] = TRIES
        state[:TRIED] = 0.0
        state[BUSY] = 0.0
    return sweep_flow(operator, b, x, goal, SUMS, state, most)


@part
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
def soft_solve(
    dynamics, chain, slots, reward, v, discount, rounding, rounds, chances, memory, work, state,
    system, most,
):  # fmt: skip
    """Newton's method for v = Tv, which is soft policy iteration: it converges quadratically.

    T is convex and the policy of a backup is its slope, so the step solves (I − γP_π) δ = Tv − v.
    A constant added to v changes nothing that matters: v is kept centred, where it is rounded less.
    chain is P_π, a `Flow` whose data are put in here, and slots say where each entry of a row is in
    it. Ends when the spread of Tv − v is at most `rounding` times the largest number in it, or gets
    no smaller.

    It takes about `most` backups, sweeps or steps of BiCGSTAB a call, and gives back whether it is
    done. state [PLACES] and system [SYSTEM] are all 0 before the first; memory [3, S] has Tv first,
    work is [8, S]. In the end the state has the least and the largest of Tv − v, and the largest
    |v|, and the chances [P] are those of the policy.
    """
    offsets, indptr, _, data = dynamics
    n, left = v.size, most
    backed_up, rest, step = memory[0], memory[1], memory[2]
    while left > 0:
        if state[AT] == BACKUP:
            left -= 1
            lowest, highest = extremes(v)
            v -= 0.5 * (lowest + highest)
            # What is centred is as far from 0 below as above, but for rounding.
            lowest, highest = extremes(v)
            low, high = soft_backup(dynamics, reward, v, discount, backed_up, chances)
            spread, largest = high - low, max(-lowest, highest)
            lowest, highest = extremes(reward)
            finest = rounding * (largest + max(-lowest, highest) + 1.0)
            least = state[LEAST] if state[ROUND] > 0.0 else np.inf
            state[STALLED] = state[STALLED] + 1.0 if spread > 0.9 * least else 0.0
            state[LEAST] = min(least, spread)
            stuck = state[STALLED] >= 3.0 and spread <= 1e3 * finest
            if spread <= finest or state[ROUND] == rounds or stuck:
                state[LOW], state[HIGH], state[LARGEST] = low, high, largest
                return True
            state[ROUND] += 1.0
            if state[STALLED] >= PATIENCE:
                state[AT], state[SWEPT] = SWEEP, 0.0
                continue
            chain.data[:] = 0.0
            for s in range(n):
                rest[s] = backed_up[s] - v[s] - 0.5 * (low + high)
                for p in range(offsets[s], offsets[s + 1]):
                    for j in range(indptr[p], indptr[p + 1]):
                        chain.data[slots[j]] += chances[p] * data[j]
            step[:] = 0.0
            system[:] = 0.0
            state[AT] = STEP
            # An error in the step may be 1/(1 − γ) of that in its equation, in the worst state.
            state[GOAL] = max(0.1 * (1.0 - discount) * min(spread, 1.0) * spread, 0.1 * finest)
        elif state[AT] == STEP:
            before = system[STEPS]
            if not solve_system(chain, rest, step, state[GOAL], work, system, left):
                return False
            left -= max(np.int64(system[STEPS] - before), 1)
            v += step
            state[AT] = BACKUP
        else:
            left -= 1
            soft_sweep(dynamics, reward, v, discount)
            state[SWEPT] += 1.0
            if state[SWEPT] == SWEEPS:
                state[AT] = BACKUP
    return False


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


@compiled
def soft_likelihood(
    dynamics, chain, slots, reward, scale, v, rounding, rounds, choices, halvings, room, memory,
    work, state, system, most,
):  # fmt: skip
    """state[TOTAL] ← the largest Σ counts log((1 − rate) π + rate · evenly) over rates, for the
    soft policy π of scale · reward.

    choices are (which pairs were chosen, how often, what their chances are if all are alike), and
    room is [2, P]. The others are those of `soft_solve`, and so is what comes back; v is then where
    the next may start.
    """
    seen, counts, evenly = choices
    scaled, chances = room[0], room[1]
    for p in range(reward.size):
        scaled[p] = scale * reward[p]
    if not soft_solve(
        dynamics, chain, slots, scaled, v, chain.discount, rounding, rounds, chances, memory, work,
        state, system, most,
    ):  # fmt: skip
        return False
    copy(memory[0], v)
    base, lift = np.empty(seen.size), np.empty(seen.size)
    for i in range(seen.size):
        base[i] = chances[seen[i]]
        lift[i] = evenly[i] - base[i]
    rate, total = likeliest_rate(counts, base, lift, halvings), 0.0
    for i in range(seen.size):
        total += counts[i] * np.log(base[i] + rate * lift[i])
    state[TOTAL] = total
    return True
