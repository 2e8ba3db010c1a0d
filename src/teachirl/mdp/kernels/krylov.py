"""BiCGSTAB for many right hand sides at once, preconditioned by a Gauss–Seidel sweep.

All lanes share each pass over the entries of the operator I − γM, which take most of the time for
one lane already. Arrays are [S, m], a lane a column; each lane has its own steps.
"""

from __future__ import annotations

import numpy as np

from .compiling import compiled, part
from .lanes import back_up


@part
def relax_lanes(operator, b, x, backwards):
    """x ← what a Gauss–Seidel sweep makes of operator · x = b, from x = 0."""
    x[:] = 0.0
    back_up(operator, operator.discount, b, x, x, backwards)


@part
def apply_lanes(operator, x, out):
    """out ← operator · x"""
    back_up(operator, -operator.discount, x, x, out, False)


@part
def dots(a, b, out):
    """out [m] ← ⟨a, b⟩, lane by lane."""
    for lane in range(np.uint64(0), np.uint64(out.size)):
        out[lane] = 0.0
    for s in range(np.uint64(0), np.uint64(a.shape[0])):
        for lane in range(np.uint64(0), np.uint64(a.shape[1])):
            out[lane] += a[s, lane] * b[s, lane]


@part
def quotient(a, b):
    return a / b if b != 0.0 else 0.0


@part
def combine(x, eased, eased_rest, rest, other, shadow, alpha, omega, fresh, left):
    """The end of a step: x and rest go on, fresh ← ⟨rest, shadow⟩ and left ← ‖rest‖₁."""
    fresh[:] = 0.0
    left[:] = 0.0
    for s in range(np.uint64(0), np.uint64(x.shape[0])):
        for lane in range(np.uint64(0), np.uint64(x.shape[1])):
            x[s, lane] += alpha[lane] * eased[s, lane] + omega[lane] * eased_rest[s, lane]
            rest[s, lane] -= omega[lane] * other[s, lane]
            left[lane] += abs(rest[s, lane])
            fresh[lane] += rest[s, lane] * shadow[s, lane]


@compiled
def solve_lanes(operator, b, x, goals, backwards, work, rho, done, steps):
    """x ← (I − γM)⁻¹ b until ‖b − (I − γM)x‖₁ is within each lane's goal [m], to all appearance;
    gives back how many steps that took, and whether it is over.

    It goes on after `done` steps, 0 at first, up to so many steps; work [7, S, m] and rho [m] keep
    where it is. Who breaks down stands still: the caller must look at the true residual.
    """
    n, m = b.shape
    rest, shadow, direction, image = work[0], work[1], work[2], work[3]
    other, eased, eased_rest = work[4], work[5], work[6]
    fresh, down, norm, left = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    alpha, omega, beta = np.empty(m), np.empty(m), np.empty(m)
    if done == 0:
        rest[:] = b
        shadow[:] = b
        direction[:] = b
        x[:] = 0.0
        dots(rest, shadow, rho)
    while done < steps:
        done += 1
        relax_lanes(operator, direction, eased, backwards)
        apply_lanes(operator, eased, image)
        dots(shadow, image, down)
        for lane in range(m):
            alpha[lane] = quotient(rho[lane], down[lane])
        for s in range(np.uint64(0), np.uint64(n)):
            for lane in range(np.uint64(0), np.uint64(m)):
                rest[s, lane] -= alpha[lane] * image[s, lane]
        relax_lanes(operator, rest, eased_rest, backwards)
        apply_lanes(operator, eased_rest, other)
        dots(other, other, norm)
        dots(other, rest, omega)
        for lane in range(m):
            omega[lane] = quotient(omega[lane], norm[lane])
        combine(x, eased, eased_rest, rest, other, shadow, alpha, omega, fresh, left)
        going = False
        for lane in range(m):
            beta[lane] = quotient(fresh[lane], rho[lane]) * quotient(alpha[lane], omega[lane])
            rho[lane] = fresh[lane]
            # One that has broken down makes no progress any more.
            going |= left[lane] > goals[lane] and alpha[lane] != 0.0 and np.isfinite(left[lane])
        if not going:
            return done, True
        for s in range(np.uint64(0), np.uint64(n)):
            for lane in range(np.uint64(0), np.uint64(m)):
                turned = direction[s, lane] - omega[lane] * image[s, lane]
                direction[s, lane] = rest[s, lane] + beta[lane] * turned
    return done, False
