"""Where the states of a world lie, so that it can be drawn."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints, frozen
from ..mdp.model import MDP

# As the states of FrozenLake, CliffWalking and Taxi are called.
CELL_NAME = re.compile(r"\brow (\d{1,4}), column (\d{1,4})\b")
# What is larger would be a blur on a page.
MOST_CELLS = 100_000
# What can be written below a row of cells.
MOST_LETTERS = 60
# How far down and right an action of this name leads.
STEPS = {
    **dict.fromkeys(("up", "north", "accelerate"), (-1, 0)),
    **dict.fromkeys(("down", "south", "brake"), (1, 0)),
    **dict.fromkeys(("left", "west", "steer left"), (0, -1)),
    **dict.fromkeys(("right", "east", "steer right"), (0, 1)),
}


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What is around the one who acts, in each state.

    Attributes
    ----------
    places : bool array [S, rows, columns], whether something is there
    row_names, column_names : what the rows and the columns are
    own : (row, column) of the one who acts
    """

    places: NDArray[np.bool_]
    row_names: tuple[str, ...]
    column_names: tuple[str, ...]
    own: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Map:
    """The cells in which states lie, numbered row by row.

    Several states may share a cell, and some, such as the end of an episode, may lie nowhere.

    Attributes
    ----------
    shape : rows and columns
    cells : int array [S], the cell of each state, −1 for nowhere
    steps : array [A, 2], how far down and right each action leads; zeros if it stays
    texts : a text a cell; empty for none
    walls : array [n, 4]: row and column where a wall begins and where it ends, in corners of cells;
        None for none
    row_names, column_names : empty if they are numbered
    row_label, column_label : what rows and columns are, such as ``velocity``; empty for no more
        than their names
    feature_shape : rows and columns of the macrocells that the features are, numbered row by row;
        None if features are something else
    surroundings : what is around the one who acts; None if that is not known
    """

    shape: tuple[int, int]
    cells: Ints
    steps: Floats
    texts: tuple[str, ...] = ()
    walls: Floats | None = None
    row_names: tuple[str, ...] = ()
    column_names: tuple[str, ...] = ()
    row_label: str = ""
    column_label: str = ""
    feature_shape: tuple[int, int] | None = None
    surroundings: Surroundings | None = None

    def name(self, cell: int) -> str:
        """What to call a cell; rows and columns are counted as states are, from 0."""
        row, column = divmod(cell, self.shape[1])
        if self.shape[0] == 1 and self.column_names:
            return self.column_names[column]
        if self.row_names:
            across = f"{self.column_label} {self.column_names[column]}".strip()
            return f"{across}, {f'{self.row_label} {self.row_names[row]}'.strip()}"
        return f"column {column}" if self.shape[0] == 1 else f"row {row}, column {column}"


def steps_of(mdp: MDP) -> Floats:
    """array [A, 2], how far down and right each action leads, by its name.

    >>> import teachirl as ti
    >>> steps_of(ti.worlds.chain(5)).tolist()
    [[0.0, -1.0], [0.0, 1.0]]
    """
    names = [mdp.dynamics.action_name(action) for action in range(mdp.n_actions)]
    return frozen(np.array([STEPS.get(name, (0, 0)) for name in names], dtype=float))


def map_from_names(
    mdp: MDP, texts: tuple[str, ...] = (), walls: Floats | None = None
) -> Map | None:
    """Where states called ``row 2, column 5`` lie; None if they are called otherwise.

    Parameters
    ----------
    mdp : MDP; all its states but one, the end, must have such a name
    texts, walls : what lies in the cells, as in `Map`
    """
    found = [CELL_NAME.search(name) for name in mdp.dynamics.state_names or ()]
    if len(found) - sum(match is not None for match in found) > 1 or len(found) < 2:
        return None
    places = np.array(
        [(-1, -1) if each is None else tuple(map(int, each.groups())) for each in found]
    )
    rows, columns = (int(count) for count in places.max(axis=0) + 1)
    if rows * columns > MOST_CELLS:
        return None
    cells = np.where(places[:, 0] < 0, -1, places[:, 0] * columns + places[:, 1])
    return Map((rows, columns), frozen(cells), steps_of(mdp), texts, walls)


def map_of(mdp: MDP) -> Map | None:
    """Where the states lie, if their names or their moves say so; None otherwise.

    Moves say so if actions lead to where their names say, in a grid numbered row by row: up to its
    edges, to walls, and to chance.

    >>> import teachirl as ti
    >>> map_of(ti.worlds.gridworld(6, slip=0.3)).shape, map_of(ti.worlds.chain(5)).shape
    ((6, 6), (1, 5))
    """
    named = map_from_names(mdp)
    if named is not None or mdp.n_states > MOST_CELLS:
        return named
    dynamics, steps = mdp.dynamics, steps_of(mdp)
    rows, states = dynamics.transitions, dynamics.pair_states
    # Where each pair leads most likely; rows are sorted, and of equal chances the first counts.
    order = np.lexsort(
        (np.arange(rows.nnz), -rows.data, np.repeat(np.arange(len(states)), np.diff(rows.indptr)))
    )
    leads = rows.indices[order[rows.indptr[:-1]]] - states
    down, right = steps[dynamics.actions].T
    moved = leads != 0
    columns = np.unique(leads[moved & (down != 0)] * down[moved & (down != 0)])
    if not moved.any() or len(columns) > 1:
        return None
    width = int(columns[0]) if len(columns) else mdp.n_states
    if width < 1 or mdp.n_states % width:
        return None
    inside = (states % width + right >= 0) & (states % width + right < width)
    if (moved & (~inside | (leads != down * width + right))).any():
        return None
    shape = (mdp.n_states // width, width)
    names = dynamics.state_names or ()
    # In one row, states can be called by their names, if there is room for them.
    short = shape[0] == 1 and sum(map(len, names)) <= MOST_LETTERS
    here = frozen(np.arange(mdp.n_states))
    return Map(shape, here, steps, column_names=names if short else ())


__all__ = ["MOST_CELLS", "Map", "Surroundings", "map_from_names", "map_of", "steps_of"]
