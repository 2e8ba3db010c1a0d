"""Linear systems with I − γP and I − γPᵀ: what policies are worth, and where they go."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from ...arrays import Floats
from .compiling import compiled, part, shared
from .layouts import Layout, drift, is_a

MOST_SWEEPS = 20_000  # more take too long, and rounding has the last word
CHAINS = 8  # independent chains of updates in a sweep, to hide the latency of each
PAGE, APART = 512, 8  # values in 4096 bytes, and how far apart those of two chains are in one
# Where `bicgstab` is, `sweep_flow`, and `solve_flow`, which has one of the former's as well.
RHO, LEFT, STEPS = range(3)
LEAST, STALLED, SWEEPS = range(3)
TRUE_LEFT, BEFORE, DONE, BUSY = range(3, 7)


class Following(NamedTuple):
    """I − γ P_π for the policy `choice` [S], positions among each state's actions."""

    layout: Layout
    choice: NDArray[Any]
    discount: float


class Flow(NamedTuple):
    """I − γ Pᵀ, given the rows of Pᵀ: who flows into a state."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    data: Floats
    discount: float


def passed_on(operator, x, s):
    """Entry s of γPx, the operator being I − γP."""


@overload(passed_on)
def _passed_on(operator, x, s):
    if is_a(operator, Following):
        return lambda operator, x, s: (
            operator.discount * drift(operator.layout, x, s, operator.choice[s])
        )

    def flow(operator, x, s):
        inflow = 0.0
        for j in range(operator.indptr[s], operator.indptr[s + np.uint64(1)]):
            inflow += operator.data[j] * x[operator.indices[j]]
        return operator.discount * inflow

    return flow


@part
def copy(source, target):
    """target[:] ← source, without the code that would tell of shapes that differ."""
    for i in range(np.uint64(0), np.uint64(target.size)):
        target[i] = source[i]


@part
def dot(a, b):
    """⟨a, b⟩, in an order that does not depend on BLAS or on how many threads it would take."""
    n = np.uint64(a.size)
    sums = np.zeros(8)
    whole = n - n % np.uint64(8)
    for i in range(np.uint64(0), whole, np.uint64(8)):
        for lane in range(np.uint64(0), np.uint64(8)):
            sums[lane] += a[i + lane] * b[i + lane]
    for i in range(whole, n):
        sums[0] += a[i] * b[i]
    return sums.sum()


@part
def apply(operator, x, out):
    """out ← operator · x"""
    for s in range(np.uint64(0), np.uint64(x.size)):
        out[s] = x[s] - passed_on(operator, x, s)


@part
def stretch(n):
    """How long a chain of n states is, a little less than n/CHAINS: a processor takes what it reads
    for what it is about to write if their addresses agree in the lowest 12 bits, and waits."""
    chains, page, apart = np.uint64(CHAINS), np.uint64(PAGE), np.uint64(APART)
    length, tries = n // chains, np.uint64(0)
    while n >= chains * page and tries < page:
        nearest = page
        for d in range(np.uint64(1), chains):
            off = d * length % page
            nearest = min(nearest, off, page - off)
        if nearest >= apart:
            break
        length -= np.uint64(1)
        tries += np.uint64(1)
    return length


@part
def relax(operator, b, x):
    """x ← what a forward and a backward Gauss–Seidel sweep make of operator · x = b, from x = 0."""
    n, chains, one, zero = np.uint64(x.size), np.uint64(CHAINS), np.uint64(1), np.uint64(0)
    length = stretch(n)
    x[:] = 0.0
    for i in range(zero, length):
        for chain in range(zero, chains):
            s = chain * length + i
            x[s] = b[s] + passed_on(operator, x, s)
    for s in range(chains * length, n):
        x[s] = b[s] + passed_on(operator, x, s)
    for i in range(zero, n - chains * length):
        s = n - one - i
        x[s] = b[s] + passed_on(operator, x, s)
    for j in range(zero, length):
        i = length - one - j
        for chain in range(zero, chains):
            s = chain * length + i
            x[s] = b[s] + passed_on(operator, x, s)


@part
def bicgstab(operator, x, rest, goal, steps, work, state, most):
    """Improve x towards operator · x = b until ‖b − operator · x‖₁ ≤ goal; `relax` preconditions.

    rest [S] holds b − operator · x and is kept up by recurrence, work is [6, S]. BiCGSTAB may break
    down or drift: the caller must look at the true residual. It takes `most` steps a call, one at
    least, and gives back whether it is done: all 0 before the first, `state` has the norm that it
    believes in and how many steps it took.
    """
    shadow, direction, image, other = work[0], work[1], work[2], work[3]
    eased, eased_rest = work[4], work[5]
    n = x.size
    if state[STEPS] == 0.0:
        copy(rest, shadow)
        copy(rest, direction)
        state[RHO], state[LEFT] = dot(rest, shadow), np.inf
    rho, taken = state[RHO], 0
    while state[STEPS] < steps:
        if taken == most:
            state[RHO] = rho
            return False
        taken += 1
        relax(operator, direction, eased)
        apply(operator, eased, image)
        down = dot(shadow, image)
        if down == 0.0 or rho == 0.0:
            break
        state[STEPS] += 1.0
        alpha = rho / down
        for s in range(n):
            rest[s] -= alpha * image[s]
        relax(operator, rest, eased_rest)
        apply(operator, eased_rest, other)
        norm = dot(other, other)
        omega = dot(other, rest) / norm if norm > 0.0 else 0.0
        left, fresh = 0.0, 0.0
        for s in range(n):
            x[s] += alpha * eased[s] + omega * eased_rest[s]
            rest[s] -= omega * other[s]
            left += abs(rest[s])
            fresh += rest[s] * shadow[s]
        state[LEFT] = left
        if left <= goal or omega == 0.0 or not np.isfinite(left):
            break
        beta = fresh / rho * (alpha / omega)
        rho = fresh
        for s in range(n):
            direction[s] = rest[s] + beta * (direction[s] - omega * image[s])
    return True


@shared
def push(layout, choice, start, discount):
    """The visits y [S] of a deterministic policy in deterministic dynamics, in O(S).

    States off the cycles pass on what they have once all who flow into them have done so; what
    enters a cycle then goes round it for ever, a geometric series.
    """
    n = start.size
    y = start.copy()
    waiting = np.zeros(n, np.int32)  # how many have yet to flow into a state; −1 once it is done
    target = np.empty(n, np.int64)
    for s in range(n):
        target[s] = layout.successors[s, choice[s]]
        waiting[target[s]] += 1
    for root in range(n):
        s = root
        while waiting[s] == 0:
            waiting[s] = -1
            y[target[s]] += discount * y[s]
            waiting[target[s]] -= 1
            if target[s] > root:  # its turn comes
                break
            s = target[s]
    for root in range(n):
        if waiting[root] < 0:
            continue
        # Only cycles are left. Horner's rule discounts what each state holds by its way to root.
        arriving, length = 0.0, 1
        s = target[root]
        while s != root:
            arriving = (arriving + y[s]) * discount
            length += 1
            s = target[s]
        y[root] = (y[root] + arriving) / -np.expm1(length * np.log(discount))
        waiting[root] = -1
        s = root
        while target[s] != root:
            y[target[s]] += discount * y[s]
            s = target[s]
            waiting[s] = -1
    return y


@part
def rest_of_flow(operator, start, y, rest):
    """rest ← start − operator · y; gives back its 1-norm."""
    apply(operator, y, rest)
    for s in range(start.size):
        rest[s] = start[s] - rest[s]
    return np.abs(rest).sum()


@compiled
def solve_flow(operator, start, y, error, steps, work, state, most):
    """y ← what solves operator · y = start, by BiCGSTAB from y on, restarted from the true residual
    while that helps, in so many steps at most.

    It takes `most` steps a call, and gives back whether it is done. work is [8, S]; all 0 before
    the first call, state [7] has the 1-norm of the true residual, which the caller compares with
    `error`, and how many steps there were.
    """
    rest, kept = work[6], work[7]
    if state[BUSY] == 0.0:
        state[TRUE_LEFT] = rest_of_flow(operator, start, y, rest)
    while state[BUSY] == 1.0 or (state[TRUE_LEFT] > error and state[DONE] < steps):
        if state[BUSY] == 0.0:
            copy(y, kept)
            state[BEFORE], state[STEPS], state[BUSY] = state[TRUE_LEFT], 0.0, 1.0
        allowed = steps - np.int64(state[DONE])
        if not bicgstab(operator, y, rest, 0.5 * error, allowed, work, state, most):
            return False
        state[DONE] += state[STEPS]
        state[BUSY] = 0.0
        state[TRUE_LEFT] = rest_of_flow(operator, start, y, rest)
        if not state[TRUE_LEFT] < 0.5 * state[BEFORE]:
            if not state[TRUE_LEFT] < state[BEFORE]:
                copy(kept, y)
                state[TRUE_LEFT] = state[BEFORE]
            break
    return True


@compiled
def sweep_flow(operator, start, y, error, sums, state, most):
    """Gauss–Seidel on y = start + γ My, the operator being I − γM: slow, but the error contracts by
    γ, in the 1-norm if M's columns have a sum of 1 (`sums`), in the largest entry if its rows do.

    It sweeps `most` times a call, and gives back whether it is done; state [3] is all 0 before.
    """
    n, gamma = start.size, operator.discount
    rest = np.empty(n)
    if state[SWEEPS] == 0.0:
        state[LEAST] = np.inf
    # It is the error that contracts, what is left over may rise for a while.
    patience = 20.0 + 2.0 / (1.0 - gamma)
    wanted = int(min(np.log(error * (1.0 - gamma)) / np.log(gamma), MOST_SWEEPS)) + 1
    for swept in range(wanted - np.int64(state[SWEEPS])):
        if swept == most:
            return False
        state[SWEEPS] += 1.0
        for i in range(2 * n):
            s = i if i < n else 2 * n - 1 - i
            inflow, own = start[s], 0.0
            for j in range(operator.indptr[s], operator.indptr[s + 1]):
                if operator.indices[j] == s:
                    own = operator.data[j]
                else:
                    inflow += gamma * operator.data[j] * y[operator.indices[j]]
            y[s] = inflow / (1.0 - gamma * own)
        left = rest_of_flow(operator, start, y, rest)
        if not sums:
            left = 0.0
            for entry in rest:
                left = max(left, abs(entry))
        state[STALLED] = state[STALLED] + 1.0 if left > 0.999 * state[LEAST] else 0.0
        state[LEAST] = min(state[LEAST], left)
        if left <= error or state[STALLED] > patience:
            break
    return True
