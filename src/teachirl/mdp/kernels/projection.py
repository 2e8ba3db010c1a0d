"""The projection learner's step, and many of them where the world is deterministic."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats
from ...precision import EPS
from .aims import extremes, length
from .compiling import compiled
from .lanes import inner
from .layouts import Layout, StateReward
from .linear import copy, push
from .sweeps import PLACES, plan

# Not plain numbers, which are types of their own to Numba: it would compile `plan` all over again.
MOST_ROUNDS, NO_PAUSE = np.int64(1000), np.int64(1 << 62)


class World(NamedTuple):
    """Deterministic dynamics, and features [S, ℓ]."""

    layout: Layout
    features: Floats
    start: Floats
    discount: float
    offsets: NDArray[np.int64]


class Aim(NamedTuple):
    """target [ℓ], in units [ℓ] of the features as given; and when to stop: at the goal, where what
    is left to gain is enough, or after so many steps in a row that bring nothing."""

    target: Floats
    units: Floats
    scale: float
    goal: float
    enough: float
    patience: int


class Mixture(NamedTuple):
    """Feature expectations mu [ℓ] and occupancy x [P] of the policies so far as one; the values [S]
    and the choices [S] of the last plan; the weights [ℓ] of the last step, and of the one that
    proved most."""

    mu: Floats
    x: Floats
    values: Floats
    choice: NDArray[np.uint8]
    weights: Floats
    best: Floats


class Standing(NamedTuple):
    """The mismatch; what no policy's is below, up to rounding; the gap between them; how many steps
    in a row have brought nothing; and whether to stop."""

    miss: float
    near: float
    gap: float
    idle: int
    ended: bool


@compiled
def needed(gap, scale):
    """How exactly to plan, as a fraction of the returns' range, for a gap that is to be closed."""
    share = gap / scale if scale > 0.0 else 1.0
    return min(max(0.05 * share, 1e-13), 1e-3)


@compiled
def brings_nothing(before, gap, scale):
    """Whether the gap between the mismatch and what is proved has fallen by rounding only."""
    return gap > before - 8.0 * EPS * scale


@compiled
def best_share(ahead, missing):
    """α ∈ [0, 1] with the least ‖missing − α · ahead‖."""
    miss, reach = length(missing), length(ahead)
    if miss == 0.0 or reach == 0.0:
        return 0.0
    # Divided first, so that no square under- or overflows.
    return min(max(miss / reach * (inner(ahead, missing / miss) / reach), 0.0), 1.0)


@compiled
def advance(aim, mixture, standing, mu, x, near):
    """Mix in the policy with mu [ℓ] and x [P] that is best for `mixture.weights`.

    They prove that no policy's mismatch is below `near`. Gives back what makes the next `Standing`.
    """
    target, weights = aim.target, mixture.weights
    ahead = mu - mixture.mu
    share = best_share(ahead, target - mixture.mu)
    for i in range(ahead.size):
        mixture.mu[i] += share * ahead[i]
    for p in range(x.size):
        mixture.x[p] = mixture.x[p] * (1.0 - share) + share * x[p]
    if near > standing.near:
        copy(weights, mixture.best)
    near = max(near, standing.near)
    miss = length(target - mixture.mu)
    gap = miss - near
    idle = standing.idle + 1 if brings_nothing(standing.gap, gap, aim.scale) else 0
    ended = miss <= aim.goal or gap <= 0.9 * aim.enough or idle == aim.patience
    return miss, near, gap, idle, ended


@compiled
def walk(world, aim, mixture, standing, history):
    """At most as many steps as the history has room for; how many, and what makes the `Standing`
    that they led to.

    Each writes its mismatch, in the features as given, into the history.
    """
    features, discount = world.features, world.discount
    n, width = features.shape
    rewards, x = np.empty(n), np.empty(mixture.x.size)
    state, memory, work = np.empty(PLACES), np.empty((4, n)), np.empty((7, n))
    taken = 0
    while taken < history.size and not standing.ended:
        q = aim.target - mixture.mu
        q /= length(q)
        copy(q, mixture.weights)
        for s in range(n):
            rewards[s] = inner(features[s], q)
        least, most = extremes(rewards)
        v = mixture.values
        for s in range(n):
            v[s] = min(max(v[s], least / (1.0 - discount)), most / (1.0 - discount))
        tolerance = needed(standing.gap, aim.scale)
        goal = 0.5 * tolerance * (most - least) / (1.0 - discount)
        state[:] = 0.0
        values, hoped, high, _, _, _, _, _ = plan(
            world.layout,
            StateReward(rewards),
            world.start,
            v,
            mixture.choice,
            discount,
            goal,
            0.5 * (1.0 - discount) * goal,
            MOST_ROUNDS,
            state,
            memory,
            work,
            NO_PAUSE,
        )
        copy(values, v)
        visits = push(world.layout, mixture.choice, world.start, discount)
        mu = np.zeros(width)
        x[:] = 0.0
        for s in range(n):
            x[world.offsets[s] + mixture.choice[s]] = visits[s]
            for i in range(width):
                mu[i] += visits[s] * features[s, i]
        near = inner(q, aim.target) - hoped - discount / (1.0 - discount) * high
        miss, near, gap, idle, ended = advance(aim, mixture, standing, mu, x, near)
        standing = Standing(miss, near, gap, idle, ended)
        history[taken] = length(aim.units * (aim.target - mixture.mu))
        taken += 1
    return taken, standing.miss, standing.near, standing.gap, standing.idle, standing.ended
