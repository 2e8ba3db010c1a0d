"""Levine, Popović and Koltun's objectworld: a reward that is no linear function of distances."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..arrays import Floats, Ints, frozen
from ..errors import require
from ..mdp.model import MDP
from .map import MOST_CELLS, Map, steps_of
from .world import World

COLOURS = ("red", "blue", "green", "yellow", "white", "black", "orange", "purple")
PARTS = ("outer", "inner")
ACTIONS = ("left", "right", "up", "down", "stay")
# What the expert likes: near the first outer colour, and nearer to the second.
NEAR, NEARER = 3.0, 2.0


def objectworld(
    rng: np.random.Generator,
    size: int = 10,
    *,
    objects: int = 12,
    colours: int = 2,
    slip: float = 0.3,
    discount: float = 0.9,
) -> World:
    """A grid with coloured objects: how near which of them are is the reward (Levine et al. 2011).

    Each object has an outer and an inner colour. The expert likes cells within 3 of the outer
    colour red and within 2 of the outer colour blue (1), and dislikes those within 3 of red alone
    (−1); inner colours and other outer colours do not matter. The reward is linear in the features
    ``red and blue`` and ``red alone``; of those that a learner might have instead, colours and
    distances, it is no linear function. One moves in four directions, or stays.

    Parameters
    ----------
    rng : numpy.random.Generator, draws where the objects lie, and their colours
    size : int, the cells of a side
    objects : int, how many objects there are
    colours : int from 2 to 8, how many colours
    slip : float in [0, 1], how often an action is drawn at random, from all five
    discount : float in (0, 1)

    Returns
    -------
    World with weights for ``red and blue`` and ``red alone``. Its features are these, and for each
    colour of either part whether such an object lies there (``outer red here``), how far away the
    nearest is (``distance to outer red``), and whether it is within 1, 2 and 3 (``outer red within
    2``). If there is none, the distance is that between opposite corners

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> world = ti.worlds.objectworld(np.random.default_rng(0), 6, objects=4)
    >>> world.mdp
    MDP(36 states, 180 state-action pairs, 22 features per state, discount 0.9)
    """
    require(2 <= colours <= len(COLOURS), f"colours must lie in 2 … {len(COLOURS)}, got {colours}")
    require(size >= 1, f"size must be at least 1, got {size}")
    require(0 <= objects <= size * size, f"objects must lie in 0 … {size * size}, got {objects}")
    places = rng.permutation(size * size)[:objects]
    painted = rng.integers(colours, size=(objects, 2))
    columns = _columns(size, places, painted, colours)
    names = tuple(columns)
    mdp = MDP.from_pairs(
        np.repeat(np.arange(size * size), len(ACTIONS)),
        np.tile(np.arange(len(ACTIONS)), size * size),
        _transitions(size, slip),
        np.column_stack(list(columns.values())),
        discount=discount,
        action_names=ACTIONS,
        feature_names=names,
    )
    weights = np.array([{"red and blue": 1.0, "red alone": -1.0}.get(name, 0.0) for name in names])
    texts = [""] * (size * size)
    for place, outer in zip(places, painted[:, 0], strict=True):
        texts[place] = COLOURS[outer]
    around = None
    if size * size <= MOST_CELLS:
        around = Map((size, size), frozen(np.arange(size * size)), steps_of(mdp), tuple(texts))
    return World(mdp, weights, map=around)


def _transitions(size: int, slip: float) -> sp.csr_array:
    """[P, S], the actions of a cell one after the other."""
    require(0.0 <= slip <= 1.0, f"slip must lie in [0, 1], got {slip}")
    row, column = np.divmod(np.arange(size * size), size)
    targets = np.stack(
        [
            np.clip(row + down, 0, size - 1) * size + np.clip(column + right, 0, size - 1)
            for down, right in ((0, -1), (0, 1), (-1, 0), (1, 0), (0, 0))
        ],
        axis=1,
    )
    count = len(ACTIONS)
    chances = np.full((size * size, count, count), slip / count) + (1.0 - slip) * np.eye(count)
    pairs = size * size * count
    entries = chances.ravel(), np.repeat(targets, count, axis=0).ravel()
    rows = sp.csr_array((*entries, np.arange(pairs + 1) * count), shape=(pairs, size * size))
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows


def _columns(size: int, places: Ints, painted: Ints, colours: int) -> dict[str, Floats]:
    """The features [S] of each cell, by name."""
    cells = np.stack(np.divmod(np.arange(size * size), size), axis=1).astype(float)
    far = np.hypot(size - 1.0, size - 1.0)
    distances: dict[str, Floats] = {}
    for number, part in enumerate(PARTS):
        for colour in range(colours):
            there = cells[places[painted[:, number] == colour]]
            apart = np.hypot(*(cells[:, None] - there[None]).transpose(2, 0, 1))
            distances[f"{part} {COLOURS[colour]}"] = apart.min(axis=1, initial=far)
    red = distances["outer red"] <= NEAR
    blue = distances["outer blue"] <= NEARER
    columns = {
        "red and blue": (red & blue).astype(float),
        "red alone": (red & ~blue).astype(float),
    }
    for name, distance in distances.items():
        columns[f"{name} here"] = (distance == 0.0).astype(float)
        columns[f"distance to {name}"] = distance
        for within in (1, 2, 3):
            columns[f"{name} within {within}"] = (distance <= within).astype(float)
    return columns


__all__ = ["objectworld"]
