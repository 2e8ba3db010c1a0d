"""Worlds from simulators, of one's own and of Gymnasium's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .environments import explored_environment, made
from .exploration import Progress
from .map import map_from_names
from .simulation import REWARD, Simulator, explore
from .world import World


def from_simulator(
    simulator: Simulator | Any,
    discount: float,
    *,
    max_states: int = 1_000_000,
    max_seconds: float = math.inf,
    max_branches: int = 10_000,
    episodes: int = 20,
    seed: int = 0,
    progress: Progress = False,
) -> World:
    """The world of a simulator, explored from where its episodes begin.

    Parameters
    ----------
    simulator : Simulator. Of its generator it can use `integers`, `choice`, `permutation`,
        `shuffle`, and `random` and `uniform` if they are compared with numbers or rounded down;
        draws from a continuum, such as `normal`, are refused. Or an environment of MiniGrid (extra
        `minigrid`), as it is now, or of Gymnasium's toy text (extra `gym`), or the id of one
    discount : float, γ in (0, 1)
    max_states : int, a simulator with more states is refused once so many were met
    max_seconds : float, one that takes longer likewise
    max_branches : int, one whose step has more ways to come out, or draws more often, likewise
    episodes : int, how many real ones are then compared with what was explored: nothing may happen
        in them that was not, with the same rewards and ends
    seed : int, of an environment that was not reset yet: that of its level
    progress : bool or Callable, as in `from_model`

    Returns
    -------
    World with features per pair: ``reward``, which is what is expected of `step`, and those of the
    simulator. Its weights are 1 for ``reward``, unless it is known what the reward is made
    of. If states are called like ``row 2, column 5`` it has a map

    Examples
    --------
    >>> import teachirl as ti
    >>> class Coin:
    ...     def rng(self, generator):
    ...         self.generator = generator
    ...     def reset(self):
    ...         self.heads = 0
    ...     def save(self):
    ...         return self.heads
    ...     load = lambda self, saved: setattr(self, "heads", saved)
    ...     key = save
    ...     actions = lambda self: ["toss", "stop"]
    ...     def step(self, action):
    ...         if action == "stop" or self.generator.integers(2) == 0:
    ...             return (self.heads if action == "stop" else 0), True
    ...         self.heads = min(self.heads + 1, 3)
    ...         return 0, False
    ...     features = lambda self, action: {"heads": self.heads}
    >>> ti.worlds.from_simulator(Coin(), discount=0.9).mdp.feature_names
    ('reward', 'heads')
    """
    limits: Any = {
        "max_states": max_states,
        "max_seconds": max_seconds,
        "max_branches": max_branches,
        "episodes": episodes,
        "progress": progress,
    }
    if isinstance(simulator, str):
        with made(simulator) as env:
            return explored_environment(env, discount, seed, limits)
    if hasattr(simulator, "unwrapped"):
        return explored_environment(simulator, discount, seed, limits)
    mdp = explore(simulator, **limits).mdp(discount)
    weights = np.eye(1, mdp.n_features)[0]
    return World(mdp, weights, map=map_from_names(mdp), reward_feature=REWARD)


__all__ = ["from_simulator"]
