"""The paper's small gridworlds with high reward states and obstacles (Figure 4)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Ints, checked_indices
from ..errors import require
from .grids import gridworld, gridworld_map
from .world import World


def obstacles(
    rng: np.random.Generator,
    size: int = 10,
    block: int = 2,
    *,
    goals: Iterable[int] = (4, 9),
    obstacles: Iterable[int] = (18, 23),
    noise: float = 0.05,
    discount: float = 0.9,
    slip: float = 0.0,
    start: ArrayLike | None = None,
) -> World:
    """A gridworld with a few rewarding macrocells, a few obstacles, and the rest close to zero.

    Goals have weight 1, obstacles −1, every other macrocell a draw from N(0, noise²); the weights
    are then scaled to norm 1. The defaults are the grid of the paper's Figure 4, whose macrocells
    are numbered row by row like the features of `gridworld`.

    Parameters
    ----------
    rng : numpy.random.Generator, draws the weights that are close to zero
    size, block, discount, slip, start : ints, floats and an array, as in `gridworld`
    goals, obstacles : sequences of int, numbers of macrocells; no macrocell can be both
    noise : float, standard deviation of the other weights, before scaling

    Returns
    -------
    World with weights [(size / block)²] of length 1

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> world = ti.worlds.obstacles(np.random.default_rng(0))
    >>> world.mdp
    MDP(100 states, 400 state-action pairs, 25 features per state, discount 0.9)
    >>> [world.mdp.feature_name(i) for i in np.flatnonzero(world.weights > 0.4)]
    ['cell 4', 'cell 9']
    """
    mdp = gridworld(size, block, discount, slip, start)
    k = mdp.n_features
    good, bad = _macrocells("goals", goals, k), _macrocells("obstacles", obstacles, k)
    both = np.intersect1d(good, bad).tolist()
    require(not both, f"goals and obstacles must not share a macrocell, got {both} in both")
    require(noise >= 0 and np.isfinite(noise), f"noise must be at least 0, got {noise}")
    weights = rng.normal(0.0, noise, k)
    weights[good] = 1.0
    weights[bad] = -1.0
    norm = float(np.linalg.norm(weights))
    require(norm > 0, "all weights are zero: give goals, obstacles or noise > 0")
    return World(mdp, weights / norm, map=gridworld_map(mdp))


def _macrocells(name: str, cells: Iterable[int], count: int) -> Ints:
    return checked_indices(name, np.array(list(cells)), count)
