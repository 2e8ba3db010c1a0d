"""Episodes drawn from a policy, by a compiled walk along the sparse transitions."""

from __future__ import annotations

import numpy as np

from ..errors import require
from ..mdp.kernels.walks import walk
from ..mdp.model import MDP
from ..mdp.policy import Policy, check_policy
from ..mdp.terminal import terminal_states
from .trajectories import Trajectories


def sample_trajectories(
    mdp: MDP, policy: Policy, *, episodes: int, horizon: int, rng: np.random.Generator
) -> Trajectories:
    """Follow a policy for a number of independent episodes.

    An episode terminates when a step leads into a terminal state (`terminal_states`), and is cut
    off after `horizon` steps otherwise. Even one that starts in a terminal state has a step. The
    same state of the generator gives the same episodes.

    Parameters
    ----------
    mdp : MDP
    policy : Policy
    episodes : int, how many
    horizon : int, the most steps of an episode
    rng : numpy.random.Generator

    Returns
    -------
    Trajectories

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> rng = np.random.default_rng(0)
    >>> ti.sample_trajectories(mdp, ti.Policy.uniform(mdp), episodes=3, horizon=10, rng=rng)
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
    pairs, offsets, terminated = walk(
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
