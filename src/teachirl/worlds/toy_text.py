"""What can be told about Gymnasium's FrozenLake, CliffWalking and Taxi: names and features.

In each of them the reward is a linear combination of the named features, so that a learner who has
them all needs no access to the reward, and one who lacks some of them can go wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Floats
from .outcomes import Outcomes

LANDMARKS = ("red", "green", "yellow", "blue")
TILES = {"S": "start", "H": "hole", "G": "goal"}


@dataclass(frozen=True, eq=False)
class About:
    """What is known about an environment.

    Attributes
    ----------
    features : columns [P] by name, of the outcomes
    reward : of the outcomes, what the reward is made of: the weight of each feature, by name; None
        if that is not known
    state_names, action_names : None if they are numbered
    texts, walls : what lies in the cells of its map, as in `Map`
    """

    features: Callable[[Outcomes], dict[str, Floats]]
    reward: Callable[[Outcomes], dict[str, float]] | None = None
    state_names: list[str] | None = None
    action_names: tuple[str, ...] | None = None
    texts: tuple[str, ...] = ()
    walls: Floats | None = None


def about(base: Any) -> About:
    """What is known about this unwrapped environment, perhaps nothing."""
    known = {
        "FrozenLakeEnv": _frozen_lake,
        "CliffWalkingEnv": _cliff_walking,
        "TaxiEnv": _taxi,
    }
    for ancestor in type(base).__mro__:
        if ancestor.__module__.startswith("gymnasium.") and ancestor.__name__ in known:
            return known[ancestor.__name__](base)
    return About(lambda _: {})


def _frozen_lake(base: Any) -> About:
    """reward = ⟨its reward_schedule, (goal, hole, ice)⟩."""
    tiles = np.asarray(base.desc).astype(str)
    flat = tiles.ravel()
    playing = ~np.isin(flat, ["G", "H"])
    moves = {"left": (0, -1), "down": (1, 0), "right": (0, 1), "up": (-1, 0)}

    def features(table: Outcomes) -> dict[str, Floats]:
        goes_on, entered = playing[table.sources], flat[table.targets]
        aimed = np.where(playing[table.states], _aimed(tiles, moves, table), "over")
        holes = sum((_neighbours(tiles, move) == "H").astype(float) for move in moves.values())
        return {
            "goal": table.expected(goes_on & (entered == "G")),
            "hole": table.expected(goes_on & (entered == "H")),
            "ice": table.expected(goes_on & ~np.isin(entered, ["G", "H"])),
            "step": playing[table.states].astype(float),
            "goal ahead": (aimed == "G").astype(float),
            "hole ahead": (aimed == "H").astype(float),
            "edge ahead": (aimed == "").astype(float),
            "holes near": np.where(playing, np.ravel(holes), 0.0)[table.states],
        }

    def reward(table: Outcomes) -> dict[str, float]:
        goes_on, entered = playing[table.sources], flat[table.targets]
        ice = ~np.isin(entered, ["G", "H"])
        what = {"goal": entered == "G", "hole": entered == "H", "ice": ice}
        # A kind of tile has one reward, wherever it lies.
        paid = {name: table.rewards[goes_on & there] for name, there in what.items()}
        return {name: float(each[0]) for name, each in paid.items() if len(each)}

    texts = tuple(TILES.get(tile, "") for tile in tiles.flat)
    return About(features, reward, _cells(tiles.shape), tuple(moves), texts)


def _cliff_walking(base: Any) -> About:
    """reward = −step − 99 fall."""
    tiles = np.full(base.shape, "ground", dtype="<U6")
    tiles[-1, 1:-1] = "cliff"
    tiles[-1, -1] = "goal"
    moves = {"up": (-1, 0), "right": (0, 1), "down": (1, 0), "left": (0, -1)}

    def features(table: Outcomes) -> dict[str, Floats]:
        aimed = _aimed(tiles, moves, table)
        return {
            "step": np.ones(len(table.states)),
            # A fall leads back to the start, as some steps do; only its reward tells.
            "fall": table.expected(table.rewards == -100),
            "goal": table.expected(table.ended),
            "cliff ahead": (aimed == "cliff").astype(float),
            "edge ahead": (aimed == "").astype(float),
        }

    texts = ["" if tile == "ground" else str(tile) for tile in tiles.flat]
    texts[-tiles.shape[1]] = "start"
    parts = {"step": -1.0, "fall": -99.0}
    return About(features, lambda _: parts, _cells(tiles.shape), tuple(moves), tuple(texts))


def _taxi(base: Any) -> About:
    """reward = −step + 21 delivery − 9 illegal pickup − 9 illegal dropoff."""
    row, column, passenger, destination = np.unravel_index(np.arange(500), (5, 5, 5, 4))
    place = row * 5 + column
    landmarks = np.array([r * 5 + c for r, c in base.locs])
    aboard = passenger == 4
    at_passenger = ~aboard & (place == landmarks[np.minimum(passenger, 3)])
    at_destination = place == landmarks[destination]
    moves = ("south", "north", "east", "west", "pickup", "dropoff")

    def features(table: Outcomes) -> dict[str, Floats]:
        state, action = table.states, table.actions
        dropoff = (action == 5) & aboard[state]
        stopped = dropoff & np.isin(place, landmarks)[state]
        events = {
            "step": np.ones(len(state), dtype=bool),
            "delivery": dropoff & at_destination[state],
            "wrong stop": stopped & ~at_destination[state],
            "illegal pickup": (action == 4) & ~at_passenger[state],
            "illegal dropoff": (action == 5) & ~stopped,
            "passenger aboard": aboard[state],
            "at passenger": at_passenger[state],
            "at destination": at_destination[state],
        }
        for number, colour in enumerate(LANDMARKS):
            events[f"passenger at {colour}"] = (passenger == number)[state]
        for number, colour in enumerate(LANDMARKS):
            events[f"destination {colour}"] = (destination == number)[state]
        bump = table.expected(table.targets == table.sources) * (action < 4)
        return {**{name: event.astype(float) for name, event in events.items()}, "bump": bump}

    where = [*(f"at {colour}" for colour in LANDMARKS), "aboard"]
    names = [
        f"taxi at row {r}, column {c}; passenger {where[p]}; to {LANDMARKS[d]}"
        for r, c, p, d in zip(row, column, passenger, destination, strict=True)
    ]
    town = np.asarray(base.desc).astype(str)[1:-1, 1:-1]
    walls = [(r, c + 1, r + 1, c + 1) for r, c in np.argwhere(town[:, 1::2] == "|")]
    texts = [""] * 25
    for cell, colour in zip(landmarks, LANDMARKS, strict=True):
        texts[cell] = colour
    parts = {"step": -1.0, "delivery": 21.0, "illegal pickup": -9.0, "illegal dropoff": -9.0}
    between = np.array(walls, dtype=float).reshape(-1, 4)
    return About(features, lambda _: parts, names, moves, tuple(texts), between)


def _cells(shape: tuple[int, ...]) -> list[str]:
    return [f"row {row}, column {column}" for row, column in np.ndindex(*shape)]


def _neighbours(tiles: Any, move: tuple[int, int]) -> Any:
    """The tile that `move` aims at from each cell, "" beyond the edge."""
    down, right = move
    rows, columns = tiles.shape
    padded = np.pad(tiles, 1, constant_values="")
    return padded[1 + down : 1 + down + rows, 1 + right : 1 + right + columns]


def _aimed(tiles: Any, moves: dict[str, tuple[int, int]], table: Outcomes) -> Any:
    """[P], the tile that each pair's action aims at, whatever may come of it."""
    ahead = np.stack([_neighbours(tiles, move).ravel() for move in moves.values()])
    return ahead[table.actions, table.states]
