"""The worlds that can be made by name, each with its map and with how large it will be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..mdp.model import MDP
from .continuous import cart_pole, mountain_car, pendulum
from .driving import driving
from .garnet import garnet
from .grids import chain, chain_map, gridworld, gridworld_map
from .map import Map
from .objectworld import objectworld
from .obstacles import obstacles
from .world import World


@dataclass(frozen=True)
class BuiltIn:
    """A world that can be made by name.

    Attributes
    ----------
    make : the function that makes it, whose signature says which parameters there are
    size : of the same parameters: how many states, and numbers in the largest array, it will have
    map : where the states of what is made lie; a `World` knows it by itself
    """

    make: Callable[..., MDP | World]
    size: Callable[..., tuple[int, int]]
    map: Callable[[MDP], Map | None] = lambda mdp: None

    def world(self, **parameters: Any) -> World:
        """The world of these parameters."""
        made = self.make(**parameters)
        return made if isinstance(made, World) else World(made, map=self.map(made))


def _chain_size(cells: int = 5, **_: Any) -> tuple[int, int]:
    return max(cells, 0), max(cells, 0) ** 2


def _grid_size(size: int = 10, **_: Any) -> tuple[int, int]:
    states = max(size, 0) ** 2
    return states, 16 * states


def _garnet_size(
    n_states: int,
    n_actions: int,
    branching: int,
    n_features: int,
    per_pair: bool = False,
    **_: Any,
) -> tuple[int, int]:
    states, features = max(n_states, 0), max(n_features, 0)
    pairs = states * max(n_actions, 0)
    rows = pairs if per_pair else states
    return states, max(pairs * max(branching, 0), rows * features, pairs)


def _car_size(points: int = 51, **_: Any) -> tuple[int, int]:
    states = max(points, 0) ** 2 + 1
    return states, 18 * states


def _pendulum_size(points: int = 51, **_: Any) -> tuple[int, int]:
    states = max(points, 0) ** 2
    return states, 35 * states


def _pole_size(points: int = 9, **_: Any) -> tuple[int, int]:
    states = max(points, 0) ** 4 + 1
    return states, 32 * states


def _objects_size(size: int = 10, objects: int = 12, colours: int = 2, **_: Any) -> tuple[int, int]:
    states = max(size, 0) ** 2
    return states, states * max(25, 2 + 10 * colours, 2 * objects)


def _checked_by_itself(**_: Any) -> tuple[int, int]:
    return 0, 0


BUILT_IN = {
    "cart_pole": BuiltIn(cart_pole, _pole_size),
    "chain": BuiltIn(chain, _chain_size, chain_map),
    "driving": BuiltIn(driving, _checked_by_itself),
    "garnet": BuiltIn(garnet, _garnet_size),
    "gridworld": BuiltIn(gridworld, _grid_size, gridworld_map),
    "mountain_car": BuiltIn(mountain_car, _car_size),
    "objectworld": BuiltIn(objectworld, _objects_size),
    "obstacles": BuiltIn(obstacles, _grid_size),
    "pendulum": BuiltIn(pendulum, _pendulum_size),
}

__all__ = ["BUILT_IN", "BuiltIn"]
