"""Kernels that may take long, called a piece at a time: the clock is looked at in between.

Whatever the size of the pieces, what they come to is the same, digit by digit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from . import clock, kernels
from .kernels import Flow, block_elimination, linear, soft
from .kernels.block_elimination import Factors, eliminate_some, room_for
from .kernels.krylov import solve_lanes
from .kernels.linear import solve_flow, sweep_flow
from .kernels.mixing import FARTHEST, iterate
from .kernels.soft import soft_likelihood, soft_solve, solve_system

# How often a step of BiCGSTAB passes all entries; and a sweep, forward, backward and for a look.
STEP, SWEEP = 6, 3


def iterated(
    operator: Flow, b: Floats, x: Floats, goals: Floats, flow: bool, probe: int, steps: int
) -> bool:
    """Whether `iterate` takes x [S, m] to its goals [m] in so many steps."""
    state, most, took = np.zeros(3), _count(operator, b.shape[1], FARTHEST), -1
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


def eliminated(rows: Flow, bounds: NDArray[np.int64], room: int, work: int) -> Factors | None:
    """The factors that `eliminate_some` finds; None if so much room or work is not enough."""
    # Its Python twin: a kernel that gives back a named tuple does not bear a signal.
    factors, space = room_for.py_func(len(rows.indptr) - 1, room)
    state, ended = np.zeros(block_elimination.PLACES, np.int64), block_elimination.PAUSED
    while ended == block_elimination.PAUSED:
        clock.look()
        ended = eliminate_some(rows, bounds, factors, space, work, state, kernels.PIECE)
    return factors if ended == block_elimination.ELIMINATED else None


def system_solved(operator: Flow, b: Floats, x: Floats, goal: float) -> Floats:
    """What `solve_system` makes of b [S], from x [S] on."""
    work, state = np.empty((8, len(b))), np.zeros(soft.SYSTEM)
    most = _count(operator, 1, STEP)
    clock.look()
    while not solve_system(operator, b, x, goal, work, state, most):
        clock.look()
    return x


def soft_solved(
    dynamics: tuple[Any, ...],
    chain: Flow,
    slots: NDArray[Any],
    reward: Floats,
    v: Floats,
    rounding: float,
    rounds: int,
) -> tuple[Floats, Floats, float, float, float]:
    """What `soft_solve` makes of values v [S]: Tv, the chances [P], the least and the largest of
    Tv − v, and the largest |v|."""
    memory, work, chances = np.empty((3, len(v))), np.empty((8, len(v))), np.empty(len(reward))
    state, system, most = np.zeros(soft.PLACES), np.zeros(soft.SYSTEM), _count(chain, 1, STEP)
    arguments = dynamics, chain, slots, reward, v, chain.discount, rounding, rounds
    clock.look()
    while not soft_solve(*arguments, chances, memory, work, state, system, most):
        clock.look()
    low, high, largest = state[[soft.LOW, soft.HIGH, soft.LARGEST]].tolist()
    return memory[0], chances, low, high, largest


def likelihood_found(
    dynamics: tuple[Any, ...],
    chain: Flow,
    slots: NDArray[Any],
    reward: Floats,
    scale: float,
    v: Floats,
    rounding: float,
    rounds: int,
    choices: tuple[Any, ...],
    halvings: int,
) -> float:
    """What `soft_likelihood` finds, from values v [S] on, which it leaves for the next."""
    memory, work, room = np.empty((3, len(v))), np.empty((8, len(v))), np.empty((2, len(reward)))
    state, system, most = np.zeros(soft.PLACES), np.zeros(soft.SYSTEM), _count(chain, 1, STEP)
    arguments = dynamics, chain, slots, reward, scale, v, rounding, rounds, choices, halvings
    clock.look()
    while not soft_likelihood(*arguments, room, memory, work, state, system, most):
        clock.look()
    return float(state[soft.TOTAL])


def _count(operator: Flow, lanes: int, passes: int) -> int:
    """How many steps of so many passes over states and entries a piece has, one at least."""
    size = len(operator.indptr) + len(operator.data)
    return kernels.PIECE // (size * lanes * passes) + 1
