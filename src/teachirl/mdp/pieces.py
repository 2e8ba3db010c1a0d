"""Kernels that may take long, called a piece at a time: the clock is looked at in between.

Whatever the size of the pieces, what they come to is the same, digit by digit.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats
from . import clock, kernels
from .kernels import Flow, linear
from .kernels.krylov import solve_lanes
from .kernels.linear import solve_flow, sweep_flow
from .kernels.mixing import LOOK, iterate

# How often a step of BiCGSTAB passes all entries; and a sweep, forward, backward and for a look.
STEP, SWEEP = 6, 3


def iterated(
    operator: Flow, b: Floats, x: Floats, goals: Floats, flow: bool, probe: int, steps: int
) -> bool:
    """Whether `iterate` takes x [S, m] to its goals [m] in so many steps."""
    state, most, took = np.zeros(2), _count(operator, b.shape[1], LOOK), -1
    while took < 0:
        clock.look()
        took = iterate(operator, b, x, goals, flow, probe, steps, state, most)
    return took > 0


def flow_solved(
    operator: Flow, source: Floats, goal: float, steps: int
) -> tuple[Floats, float, int]:
    """What `solve_flow` makes of a source [S]: y, the 1-norm that is left over, and the steps."""
    state, most = np.zeros(7), _count(operator, 1, STEP)
    y, work = source / (1.0 - operator.discount), np.empty((8, len(source)))
    clock.look()
    while not solve_flow(operator, source, y, goal, steps, work, state, most):
        clock.look()
    return y, float(state[linear.TRUE_LEFT]), int(state[linear.DONE])


def lanes_solved(
    operator: Flow, source: Floats, goals: Floats, flow: bool, steps: int
) -> Floats | None:
    """What `solve_lanes` makes of sources [S, m]; None if that takes so many steps."""
    x, work, rho = np.empty_like(source), np.empty((7, *source.shape)), np.empty(len(goals))
    done, over, most = 0, False, _count(operator, source.shape[1], STEP)
    while not over and done < steps:
        clock.look()
        until = min(done + most, steps)
        done, over = solve_lanes(operator, source, x, goals, flow, work, rho, done, until)
    return x if done < steps else None


def swept(operator: Flow, source: Floats, goal: float, flow: bool) -> Floats:
    """What `sweep_flow` makes of a source [S]."""
    state, most = np.zeros(3), _count(operator, 1, SWEEP)
    y: Floats = source / (1.0 - operator.discount)
    clock.look()
    while not sweep_flow(operator, source, y, goal, flow, state, most):
        clock.look()
    return y


def _count(operator: Flow, lanes: int, passes: int) -> int:
    """How many steps of so many passes over states and entries a piece has, one at least."""
    size = len(operator.indptr) + len(operator.data)
    return kernels.PIECE // (size * lanes * passes) + 1
