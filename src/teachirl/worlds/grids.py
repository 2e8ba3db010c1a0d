"""The paper's worlds: the five-cell chain of Figure 1 and the gridworlds of the experiments."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..arrays import frozen
from ..errors import require
from ..mdp.model import MDP
from .map import MOST_CELLS, Map, steps_of

DENSE = 1_000  # cells of a chain, up to which its features are no sparse array
MOVES = ("left", "right", "up", "down")


def chain(cells: int = 5, *, discount: float = 0.9) -> MDP:
    """Cells in a row, moves left and right, one feature a cell: the world of the paper's Figure 1.

    The edge actions do not exist: the first cell has no ``left``, the last no ``right``.

    Parameters
    ----------
    cells : int, how many, at least 2
    discount : float in (0, 1)

    Returns
    -------
    MDP with features [cells, cells], the identity; sparse if there are more than 1000 cells

    Examples
    --------
    >>> import teachirl as ti
    >>> ti.worlds.chain(5)
    MDP(5 states, 8 state-action pairs, 5 features per state, discount 0.9)
    """
    require(cells >= 2, f"cells must be at least 2, got {cells}")
    states = np.repeat(np.arange(cells), 2)[1:-1]
    actions = np.tile([0, 1], cells)[1:-1]
    targets = states + 2 * actions - 1
    pairs = len(states)
    names = [f"cell {i + 1}" for i in range(cells)]
    return MDP.from_pairs(
        states,
        actions,
        sp.csr_array((np.ones(pairs), (np.arange(pairs), targets)), shape=(pairs, cells)),
        np.eye(cells) if cells <= DENSE else sp.eye_array(cells, format="csr"),
        discount=discount,
        state_names=names,
        action_names=("left", "right"),
        feature_names=names,
    )


def chain_map(mdp: MDP) -> Map:
    """Where the states of a `chain` lie: in one row."""
    n = mdp.n_states
    return Map((1, n), frozen(np.arange(n)), steps_of(mdp), feature_shape=(1, n))


def gridworld(
    size: int,
    block: int = 1,
    discount: float = 0.9,
    slip: float = 0.0,
    start: ArrayLike | None = None,
) -> MDP:
    """A size × size grid whose features say in which block × block macrocell one is.

    States are numbered row by row. A move into a wall stays put. With probability `slip` the move
    is one of the four, uniformly, the chosen one included. The features are one-hot, sparse and
    numbered row by row like the macrocells, ``cell 0``, ``cell 1``, … as in the paper's Figure 4.

    Parameters
    ----------
    size, block : int, cells and cells of a macrocell along a side; block must divide size
    discount : float in (0, 1)
    slip : float in [0, 1], the probability of a random move
    start : array [size²], the probability of each state at the start; uniform by default

    Returns
    -------
    MDP with sparse features [size², (size / block)²]

    Examples
    --------
    >>> import teachirl as ti
    >>> ti.worlds.gridworld(20, block=2, slip=0.3)
    MDP(400 states, 1600 state-action pairs, 100 features per state, discount 0.9)
    """
    require(size >= 1, f"size must be at least 1, got {size}")
    require(block >= 1 and size % block == 0, f"block must divide size {size}, got {block}")
    require(0.0 <= slip <= 1.0, f"slip must lie in [0, 1], got {slip}")
    n_states, n_moves = size * size, len(MOVES)
    column, row = np.tile(np.arange(size), size), np.repeat(np.arange(size), size)
    targets = np.empty((n_states, n_moves), dtype=np.int32)
    for move, (right, down) in enumerate(((-1, 0), (1, 0), (0, -1), (0, 1))):
        x = np.clip(column + right, 0, size - 1)
        targets[:, move] = np.clip(row + down, 0, size - 1) * size + x
    n_pairs = n_states * n_moves
    if slip == 0.0:
        indices, data, width = targets.ravel(), np.ones(n_pairs), 1
    else:
        indices, width = np.repeat(targets, n_moves, axis=0).ravel(), n_moves
        data = np.full((n_pairs, n_moves), slip / n_moves)
        data[np.arange(n_pairs), np.tile(np.arange(n_moves), n_states)] += 1.0 - slip
        data = data.ravel()
    rows = sp.csr_array(
        (data, indices, np.arange(n_pairs + 1, dtype=np.int32) * width), shape=(n_pairs, n_states)
    )
    rows.sum_duplicates()
    for array in (data, data.base, indices, indices.base, rows.data, rows.indices, rows.indptr):
        if array is not None:
            frozen(array)  # handed over, and so not copied
    per_side = size // block
    macrocell = (row // block * per_side + column // block).astype(np.int32)
    features = sp.csr_array(
        (np.ones(n_states), macrocell, np.arange(n_states + 1, dtype=np.int32)),
        shape=(n_states, per_side**2),
    )
    return MDP.from_pairs(
        np.repeat(np.arange(n_states), n_moves),
        np.tile(np.arange(n_moves), n_states),
        rows,
        features,
        discount=discount,
        start=start,
        action_names=MOVES,
        feature_names=[f"cell {i}" for i in range(per_side**2)],
    )


def gridworld_map(mdp: MDP) -> Map | None:
    """Where the states of a `gridworld` lie, with walls between macrocells; None if it is huge."""
    size, side = math.isqrt(mdp.n_states), math.isqrt(mdp.n_features)
    if mdp.n_states > MOST_CELLS:
        return None
    lines = np.arange(size // side, size, size // side) if side < size else np.zeros(0)
    across = [(line, 0, line, size) for line in lines] + [(0, line, size, line) for line in lines]
    return Map(
        (size, size),
        frozen(np.arange(mdp.n_states)),
        steps_of(mdp),
        walls=np.array(across, dtype=float).reshape(-1, 4),
        feature_shape=(side, side),
    )
