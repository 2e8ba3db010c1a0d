"""Episodes drawn from a policy, by a compiled walk along the sparse transitions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from ..errors import require
from ..mdp.kernels.keeping import KEPT
from ..mdp.model import MDP
from ..mdp.policy import Policy, check_policy
from .trajectories import Trajectories, terminal_states


def sample_trajectories(
    mdp: MDP, policy: Policy, *, episodes: int, horizon: int, rng: np.random.Generator
) -> Trajectories:
    """Follow `policy` for a number of independent episodes.

    An episode terminates when a step leads into a terminal state (`terminal_states`), and is cut
    off after `horizon` steps otherwise. Even one that starts in a terminal state has a step. The
    same state of the generator gives the same episodes.

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> from teachirl.demonstrations.sampling import sample_trajectories
    >>> mdp = ti.worlds.chain(5)
    >>> rng = np.random.default_rng(0)
    >>> sample_trajectories(mdp, ti.Policy.uniform(mdp), episodes=3, horizon=10, rng=rng)
    Trajectories(3 episodes, 30 steps, 0 terminated)
    """
    check_policy(mdp, policy)
    for name, value in (("episodes", episodes), ("horizon", horizon)):
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        require(whole and value >= 1, f"{name} must be an integer of at least 1, got {value!r}")
    require(
        isinstance(rng, np.random.Generator),
        f"rng must be a numpy.random.Generator, got {type(rng).__name__}",
    )
    dynamics = mdp.dynamics
    rows = dynamics.transitions
    # Only states that can start an episode are candidates: rounding then never picks another.
    candidates = np.flatnonzero(dynamics.start)
    cumulative = np.cumsum(dynamics.start[candidates])
    places = np.searchsorted(cumulative, rng.random(episodes) * cumulative[-1], side="right")
    firsts = candidates[np.minimum(places, len(candidates) - 1)]
    empty = np.empty(0)
    pairs, offsets, terminated = _walk(
        rng,
        firsts,
        horizon,
        dynamics.offsets,
        empty.astype(np.int64) if policy.pairs is None else policy.pairs,
        empty if policy.chances is None else policy.chances,
        rows.indptr,
        rows.indices,
        rows.data,
        terminal_states(mdp),
    )
    return Trajectories(dynamics.pair_states[pairs].astype(np.int64), pairs, offsets, terminated)


@njit(cache=KEPT, error_model="numpy")
def _pick(rng: Any, weights: Any, first: int, last: int) -> int:
    """A place in first … last−1, drawn in proportion to the weights, which sum to 1."""
    if last - first == 1:
        return first
    left = rng.random()
    chosen = first
    for place in range(first, last):
        if weights[place] > 0.0:
            chosen = place  # stays the last possible place if rounding leaves a rest
            left -= weights[place]
            if left < 0.0:
                break
    return chosen


@njit(cache=KEPT, error_model="numpy")
def _walk(
    rng: Any,
    firsts: Any,
    horizon: int,
    offsets: Any,
    choice: Any,
    weights: Any,
    indptr: Any,
    indices: Any,
    data: Any,
    terminal: Any,
) -> Any:
    """The pairs of all steps [n], the episodes' offsets [m + 1], and who terminated [m].

    `choice` [S] is a deterministic policy; where it is empty, `weights` [P] is a stochastic one.
    """
    m = len(firsts)
    ends = np.zeros(m + 1, dtype=np.int64)
    terminated = np.zeros(m, dtype=np.bool_)
    pairs = np.empty(max(1024, m), dtype=np.int64)
    n = 0
    for episode in range(m):
        state = firsts[episode]
        for _ in range(horizon):
            if len(choice) > 0:
                pair = choice[state]
            else:
                pair = _pick(rng, weights, offsets[state], offsets[state + 1])
            if n == len(pairs):
                longer = np.empty(2 * n, dtype=np.int64)
                longer[:n] = pairs
                pairs = longer
            pairs[n] = pair
            n += 1
            state = np.int64(indices[_pick(rng, data, indptr[pair], indptr[pair + 1])])
            if terminal[state]:
                terminated[episode] = True
                break
        ends[episode + 1] = n
    return pairs[:n].copy(), ends, terminated
