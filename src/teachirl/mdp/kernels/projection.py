"""One step of the projection learner, where the world is deterministic and its features dense."""

from __future__ import annotations

import numpy as np

from .layouts import StateReward, compiled
from .linear import push
from .master import dot
from .sweeps import extremes, length, plan

# Not a plain number, which is a type of its own to Numba: it would compile `plan` all over again.
MOST_ROUNDS = np.int64(1000)


@compiled
def project(layout, features, start, target, discount, tolerance, v, choice, mu, x, offsets):
    """Plan for the reward (target − mu)/‖target − mu‖ and move mu, x towards the policy found.

    features is [S, ℓ], v [S] the values to start from, choice [S] a workspace; mu [ℓ] and the
    occupancy x [P] of a policy are changed to those of its best mixture with the new one. Gives
    back the values, the reward's weights, what no policy's mismatch is below, up to rounding, and
    the new mixture's mismatch.
    """
    n, width = features.shape
    q = target - mu
    miss = length(q)
    q /= miss
    rewards = np.empty(n)
    for s in range(n):
        rewards[s] = dot(features[s], q)
    least, most = extremes(rewards)
    for s in range(n):
        v[s] = min(max(v[s], least / (1.0 - discount)), most / (1.0 - discount))
    goal = 0.5 * tolerance * (most - least) / (1.0 - discount)
    values, hoped, high, _, _, _, _, _ = plan(
        layout,
        StateReward(rewards),
        start,
        v,
        choice,
        discount,
        goal,
        0.5 * (1.0 - discount) * goal,
        MOST_ROUNDS,
    )
    visits = push(layout, choice, start, discount)
    ahead = -mu
    for s in range(n):
        for i in range(width):
            ahead[i] += visits[s] * features[s, i]
    reach = length(ahead)
    share = miss / reach * (dot(ahead, q) / reach) if reach > 0.0 else 0.0
    share = min(max(share, 0.0), 1.0)
    for i in range(width):
        mu[i] += share * ahead[i]
    for p in range(x.size):
        x[p] *= 1.0 - share
    for s in range(n):
        x[offsets[s] + choice[s]] += share * visits[s]
    near = dot(q, target) - hoped - discount / (1.0 - discount) * high
    return values, q, near, length(target - mu)
