"""Where the states of a problem's world lie, if it can be drawn: on a grid, or on a road.

The built-in worlds are known by their names. All others are drawn if their states are called
``row 2, column 5``, as those of FrozenLake, CliffWalking and Taxi are; several states may share a
cell, and one, the end, may lie nowhere.
"""

from __future__ import annotations

import inspect
import math
import re
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Floats, Ints, frozen
from ...mdp.model import MDP
from ...worlds.driving import BESIDE, SPEEDS
from ..problem import Problem
from ..problem.named import Called, find
from ..problem.reading import parse
from ..problem.schema import GymnasiumWorld

NAMED = re.compile(r"\brow (\d{1,4}), column (\d{1,4})\b")
# What is larger would be a blur on a page.
MOST_CELLS = 100_000
UP, DOWN, LEFT, RIGHT = (-1, 0), (1, 0), (0, -1), (0, 1)
STEPS = {"up": UP, "down": DOWN, "left": LEFT, "right": RIGHT}
STEPS |= {"north": UP, "south": DOWN, "west": LEFT, "east": RIGHT}
STEPS |= {"accelerate": UP, "brake": DOWN, "steer left": LEFT, "steer right": RIGHT}
TILES = {"S": "start", "H": "hole", "G": "goal"}
LANDMARKS = {"R": "red", "G": "green", "Y": "yellow", "B": "blue"}


@dataclass(frozen=True, eq=False)
class Map:
    """The cells in which states lie, numbered row by row.

    Attributes
    ----------
    shape : rows and columns
    cells : int array [S], the cell of each state, −1 for nowhere
    steps : array [A, 2], how far down and right each action leads; zeros if it stays
    texts : a text a cell; empty for none
    walls : array [n, 4], as in `Cells`; None for none
    row_names, column_names : empty if they are numbered
    rewards : array [rows, columns] of another grid, the reward of being in each macrocell; or None
    """

    shape: tuple[int, int]
    cells: Ints
    steps: Floats
    texts: tuple[str, ...] = ()
    walls: Floats | None = None
    row_names: tuple[str, ...] = ()
    column_names: tuple[str, ...] = ()
    rewards: Floats | None = None

    def name(self, cell: int) -> str:
        """What to call a cell; rows and columns are counted as states are, from 0."""
        row, column = divmod(cell, self.shape[1])
        if self.row_names:
            return f"{self.column_names[column]}, {self.row_names[row]}"
        return f"column {column}" if self.shape[0] == 1 else f"row {row}, column {column}"


@dataclass(frozen=True, eq=False)
class Road:
    """Who drives where around you.

    Attributes
    ----------
    places : bool array [S, rows, 3], whether a car is there: from far ahead to right behind; in the
        lane on your left, in yours, in that on your right
    row_names : what the rows are
    """

    places: Any
    row_names: tuple[str, ...]


def map_of(problem: Problem) -> Map | None:
    """Where the states lie, or None if nobody knows.

    >>> import pathlib
    >>> from teachirl.app.problem import example_text, read_problem
    >>> from teachirl.app.report.maps import map_of
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "road.toml"
    ...     _ = path.write_text(example_text())
    ...     map_of(read_problem(path)).column_names
    ('left lane', 'middle lane', 'right lane', 'shoulder')
    """
    world, mdp = parse(problem.path, problem.source).world, problem.mdp
    name = world.name if isinstance(world, Called) else ""
    if name == "chain":
        rewards = np.asarray(problem.weights)[None, :]
        return Map((1, mdp.n_states), np.arange(mdp.n_states), _steps(mdp), rewards=rewards)
    if name in ("gridworld", "obstacles"):
        return _grid(mdp, problem.weights)
    if name == "driving":
        lanes, sight = _traffic(world)
        lane, speed, *_ = _road_states(len(lanes), sight, mdp.n_states)
        columns = (*(f"{each} lane" for each in lanes), "shoulder")
        cells = (len(SPEEDS) - 1 - speed) * len(columns) + lane
        return Map(
            (len(SPEEDS), len(columns)),
            frozen(cells),
            _steps(mdp),
            row_names=SPEEDS[::-1],
            column_names=columns,
        )
    return _named(mdp, world.gymnasium if isinstance(world, GymnasiumWorld) else None)


def road_of(problem: Problem) -> Road | None:
    """Who drives where around you, if the world is the highway; otherwise None."""
    world = parse(problem.path, problem.source).world
    if not isinstance(world, Called) or world.name != "driving":
        return None
    lanes, sight = _traffic(world)
    lane, _, *gaps = _road_states(len(lanes), sight, problem.mdp.n_states)
    # Beyond the road, on both sides, there is never a car.
    nobody = np.full(len(lane), -1)
    around = np.stack([nobody, *gaps, nobody, nobody])
    beside = np.stack([around[lane + side, np.arange(len(lane))] for side in range(3)], axis=1)
    rows = np.arange(BESIDE + sight, -1, -1)
    ahead = [f"{row - BESIDE} ahead" for row in rows if row > BESIDE]
    return Road(beside[:, None, :] == rows[None, :, None], (*ahead, "beside", "behind"))


def _traffic(world: Called) -> tuple[list[str], int]:
    """The names of the lanes, and how far one sees."""
    defaults = inspect.signature(find("world", "driving")).parameters
    given = {name: each.default for name, each in defaults.items()} | world.parameters
    return [cars.lane for cars in given["traffic"]], int(given["sight"])


def _road_states(lanes: int, sight: int, n_states: int) -> tuple[Ints, ...]:
    """int arrays [S]: the lane, the speed, and the gap of each lane's car."""
    shape = (lanes + 1, len(SPEEDS), *(sight + 3,) * lanes)
    return tuple(np.unravel_index(np.arange(n_states), shape))


def _steps(mdp: MDP) -> Floats:
    names = [mdp.dynamics.action_name(action) for action in range(mdp.n_actions)]
    return frozen(np.array([STEPS.get(name, (0, 0)) for name in names], dtype=float))


def _grid(mdp: MDP, weights: Floats) -> Map | None:
    size, side = math.isqrt(mdp.n_states), math.isqrt(mdp.n_features)
    if size**2 > MOST_CELLS:
        return None
    lines = np.arange(size // side, size, size // side) if side < size else np.zeros(0)
    across = [(line, 0, line, size) for line in lines] + [(0, line, size, line) for line in lines]
    return Map(
        (size, size),
        np.arange(mdp.n_states),
        _steps(mdp),
        walls=np.array(across, dtype=float).reshape(-1, 4),
        rewards=np.asarray(weights).reshape(side, side),
    )


def _named(mdp: MDP, gymnasium_id: str | None) -> Map | None:
    found = [NAMED.search(name) for name in mdp.dynamics.state_names or ()]
    if len(found) - sum(match is not None for match in found) > 1 or len(found) < 2:
        return None
    places = np.array(
        [(-1, -1) if each is None else tuple(map(int, each.groups())) for each in found]
    )
    rows, columns = (int(count) for count in places.max(axis=0) + 1)
    if rows * columns > MOST_CELLS:
        return None
    cells = np.where(places[:, 0] < 0, -1, places[:, 0] * columns + places[:, 1])
    texts, walls = ((), None) if gymnasium_id is None else _scenery(gymnasium_id, rows, columns)
    return Map((rows, columns), frozen(cells), _steps(mdp), texts, walls)


def _scenery(gymnasium_id: str, rows: int, columns: int) -> tuple[tuple[str, ...], Floats | None]:
    """What lies in the cells of a known environment, and its walls."""
    import gymnasium

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        env = gymnasium.make(gymnasium_id)
    base: Any = env.unwrapped
    env.close()
    kind = type(base).__name__
    if kind == "FrozenLakeEnv":
        return tuple(TILES.get(tile, "") for tile in np.asarray(base.desc).astype(str).flat), None
    if kind == "CliffWalkingEnv":
        flat = [""] * ((rows - 1) * columns)
        return (*flat, "start", *["cliff"] * (columns - 2), "goal"), None
    if kind == "TaxiEnv":
        town = np.asarray(base.desc).astype(str)[1:-1, 1:-1]
        walls = [
            (row, column + 1, row + 1, column + 1)
            for row, column in np.argwhere(town[:, 1::2] == "|")
        ]
        texts = tuple(LANDMARKS.get(letter, "") for letter in town[:, ::2].flat)
        return texts, np.array(walls, dtype=float).reshape(-1, 4)
    return (), None


__all__ = ["Map", "Road", "map_of", "road_of"]
