"""MiniGrid's environments as worlds: one level each, explored, with features of what a grid holds.

The reward is 1 for success, without MiniGrid's deduction for the steps that it took: that is what
the discount is for. Time limits are ignored.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..arrays import Floats, frozen
from ..errors import InvalidInputError, require
from ..mdp.model import MDP
from .map import Map

FACING = ("east", "south", "west", "north")
DOORS = ("open", "closed", "locked")
# What neither moves nor changes.
FIXED = ("wall", "floor", "goal", "lava")


def is_minigrid(base: Any) -> bool:
    """Whether an environment is one of MiniGrid's; it is not imported for that."""
    return any(
        (kind.__module__, kind.__name__) == ("minigrid.minigrid_env", "MiniGridEnv")
        for kind in type(base).__mro__
    )


@contextmanager
def without_observations(base: Any) -> Iterator[None]:
    """Within the block, steps make no picture of what the agent sees: most of their time."""
    base.gen_obs = dict
    try:
        yield
    finally:
        del base.gen_obs


class MiniGridSimulator:
    """One level of an environment, as it is now.

    Parameters
    ----------
    base : MiniGridEnv, unwrapped and reset
    """

    def __init__(self, base: Any) -> None:
        require(
            not hasattr(base, "instrs"),
            f"{type(base).__name__}: the instructions of BabyAI remember what was done, which is "
            "not supported",
        )
        self.base = base
        self.things = _things(base)
        self.numbers = {id(thing): number for number, thing in enumerate(self.things)}
        self.called = _called(self.things)
        self.names = tuple(base.actions(i).name for i in range(base.action_space.n))
        self.first = self.save()
        self.beginning: Any = self.key()
        self.distance = _distances(base)
        self.told: tuple[Hashable, dict[str, float]] | None = None

    def rng(self, generator: Any) -> None:
        self.base.np_random = generator

    def reset(self) -> None:
        """The level again, not another one."""
        self.load(self.first)

    def save(self) -> tuple[Any, ...]:
        """References to all things, and how they are: copies would not be the same to the level."""
        base = self.base
        return (
            tuple(map(int, base.agent_pos)),
            int(base.agent_dir),
            base.carrying,
            tuple(base.grid.grid),
            tuple(_state(thing) for thing in self.things),
        )

    def load(self, saved: tuple[Any, ...]) -> None:
        base = self.base
        base.agent_pos, base.agent_dir, base.carrying, cells, states = saved
        base.grid.grid[:] = cells
        for thing, state in zip(self.things, states, strict=True):
            _set_state(thing, state)

    def key(self) -> Hashable:
        """Where the agent is and looks, what it carries, and all other things."""
        base, numbers = self.base, self.numbers
        there = []
        for cell, thing in enumerate(base.grid.grid):
            if thing is not None and thing.type not in FIXED:
                number = numbers.get(id(thing))
                if number is None:
                    raise InvalidInputError(f"a {thing.type} came into the level from nowhere")
                there.append((cell, number, _door(thing)))
        held = -1 if base.carrying is None else numbers[id(base.carrying)]
        x, y = base.agent_pos
        return int(x), int(y), int(base.agent_dir), held, tuple(there)

    def actions(self) -> tuple[str, ...]:
        return self.names

    def step(self, action: str) -> tuple[float, bool]:
        # The count of steps is a clock, which is no part of the state: success is always worth 1.
        self.base.step_count = -1
        _, reward, over, _, _ = self.base.step(self.names.index(action))
        return float(reward), bool(over)

    def features(self, action: str) -> dict[str, float]:
        """What the grid holds, as the agent might sense it, and what it does."""
        key = self.key()
        if self.told is None or self.told[0] != key:
            self.told = key, self._of_state()
        return {**self.told[1], f"action {action}": 1.0}

    def _of_state(self) -> dict[str, float]:
        base = self.base
        x, y = map(int, base.agent_pos)
        found = {"step": 1.0, "row": float(y), "column": float(x)}
        for number, name in enumerate(FACING):
            found[f"facing {name}"] = float(base.agent_dir == number)
        found["nothing ahead"] = 0.0
        ahead = base.grid.get(*base.front_pos)
        found[f"{self._kind(ahead)} ahead"] = 1.0
        found["carrying"] = float(base.carrying is not None)
        if base.carrying is not None and len(_kinds(self.things)) > 1:
            found[f"carrying {self._kind(base.carrying)}"] = 1.0
        doors = [thing for thing in self.things if thing.type == "door"]
        if doors:
            found["doors open"] = float(sum(thing.is_open for thing in doors))
            found["doors locked"] = float(sum(thing.is_locked for thing in doors))
        if self.distance is not None:
            found["distance to goal"] = float(self.distance[y, x])
        return found

    def _kind(self, thing: Any) -> str:
        """What it is, with its colour if there are others of its kind, and how a door is."""
        if thing is None:
            return "nothing"
        alike = {other.color for other in self.things if other.type == thing.type}
        colour = f"{thing.color} " if len(alike) > 1 else ""
        door = _door(thing)
        how = "" if door is None else f"{DOORS[door]} "
        return f"{how}{colour}{thing.type}"

    def name(self, key: Any) -> str:
        """What to call a state: where the agent is, and what is not as it was."""
        x, y, facing, held, there = key
        width = self.base.grid.width
        parts = [f"row {y}, column {x}, facing {FACING[facing]}"]
        parts += [f"carrying {self.called[held]}"] if held >= 0 else []
        began = {number: (cell, how) for cell, number, how in self.beginning[4]}
        present = {number for _, number, _ in there}
        for cell, number, how in there:
            if began.get(number) != (cell, how):
                row, column = divmod(cell, width)
                told = "" if how is None else DOORS[how]
                parts.append(f"{self.called[number]} {told or f'at ({row}, {column})'}")
        gone = [number for number in began if number not in present and number != held]
        parts += [f"no {self.called[number]}" for number in gone]
        return "; ".join(parts)

    def map(self, mdp: MDP, keys: Sequence[Any]) -> Map:
        """Where the agent is in each state, and what lay where at the beginning."""
        grid = self.base.grid
        cells = [y * grid.width + x for x, y, *_ in keys]
        self.load(self.first)
        texts = [
            "" if thing is None or thing.type in ("wall", "floor") else thing.type
            for thing in grid.grid
        ]
        solid = np.array([thing is not None and thing.type == "wall" for thing in grid.grid])
        return Map(
            (grid.height, grid.width),
            frozen(np.array([*cells, *[-1] * (mdp.n_states - len(cells))])),
            frozen(np.zeros((mdp.n_actions, 2))),
            tuple(texts),
            _walls(solid.reshape(grid.height, grid.width)),
        )


def _things(base: Any) -> list[Any]:
    """All things of a level that move or change, also those inside of others, in reading order."""
    found: list[Any] = []
    waiting = [*base.grid.grid, base.carrying]
    for thing in waiting:
        if thing is not None and thing.type not in FIXED and not any(thing is x for x in found):
            found.append(thing)
            if thing.contains is not None:
                waiting.append(thing.contains)
    return found


def _kinds(things: Sequence[Any]) -> set[tuple[str, str]]:
    return {(each.type, each.color) for each in things if each.type != "door"}


def _called(things: Sequence[Any]) -> list[str]:
    """A name for each, with a number if there are several of them."""
    names: list[str] = []
    for thing in things:
        name = f"{thing.color} {thing.type}"
        alike = sum(each == name or each.startswith(f"{name} ") for each in names)
        names.append(f"{name} {alike + 1}" if alike else name)
    return names


def _door(thing: Any) -> int | None:
    """0 if it is open, 1 closed, 2 locked; None if it is no door."""
    if thing.type != "door":
        return None
    return 0 if thing.is_open else 2 if thing.is_locked else 1


def _state(thing: Any) -> tuple[Any, ...]:
    where = thing.cur_pos
    if thing.type == "door":
        return where, thing.is_open, thing.is_locked
    return (where,)


def _set_state(thing: Any, state: tuple[Any, ...]) -> None:
    thing.cur_pos = state[0]
    if thing.type == "door":
        thing.is_open, thing.is_locked = state[1:]


def _distances(base: Any) -> Floats | None:
    """[rows, columns], how many moves it is to the nearest goal, around walls and lava alone; where
    there is no way, as many as there are cells; None if there is no goal."""
    grid = base.grid
    free = np.array([thing is None or thing.type not in ("wall", "lava") for thing in grid.grid])
    free = free.reshape(grid.height, grid.width)
    found = np.full(free.shape, float(free.size))
    queue = deque(
        divmod(cell, grid.width)
        for cell, thing in enumerate(grid.grid)
        if thing is not None and thing.type == "goal"
    )
    if not queue:
        return None
    for place in queue:
        found[place] = 0.0
    while queue:
        row, column = queue.popleft()
        for down, right in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            place = row + down, column + right
            inside = 0 <= place[0] < grid.height and 0 <= place[1] < grid.width
            if inside and free[place] and found[place] == free.size:
                found[place] = found[row, column] + 1.0
                queue.append(place)
    return found


def _walls(solid: Any) -> Floats:
    """Lines between cells that are walls and cells that are not, as in `Map`."""
    lines = []
    for row, column in np.argwhere(solid[:, 1:] != solid[:, :-1]):
        lines.append((row, column + 1, row + 1, column + 1))
    for row, column in np.argwhere(solid[1:] != solid[:-1]):
        lines.append((row + 1, column, row + 1, column + 1))
    return frozen(np.array(lines, dtype=float).reshape(-1, 4))


__all__ = ["MiniGridSimulator", "is_minigrid", "without_observations"]
