"""Write the tables of the warehouse: transitions.csv, features.csv, start.csv and map.csv.

    python examples/warehouse/build.py

A robot carries boxes from the shelves to the dock, on a floor of 8 × 7 cells. It may drive where
people work, but should not. A state is a cell and whether the robot has a box: 112 states.
"""

import csv
from pathlib import Path

FOLDER = Path(__file__).parent
FLOOR = (
    "SS....CC",
    "........",
    "..PPPP..",
    "..PPPP..",
    "..PPPP..",
    "........",
    "....DD..",
)
TEXTS = {"S": "shelf", "C": "charger", "P": "people", "D": "dock", ".": ""}
MOVES = {"north": (0, -1), "east": (1, 0), "south": (0, 1), "west": (-1, 0)}
SKID = 0.02  # the probability with which a move goes to the left instead, and to the right
LOADS = ("empty", "loaded")
FEATURES = ("delivered", "charging", "near people", "bump", "moving", "carrying", "waiting", "lane")


def name(x, y, load):
    return f"x {x}, y {y}, {load}"


def moved(x, y, move):
    """Where a move ends: against a wall, where it began."""
    there = x + move[0], y + move[1]
    inside = 0 <= there[0] < len(FLOOR[0]) and 0 <= there[1] < len(FLOOR)
    return there if inside else (x, y)


def outcomes(x, y, load, action):
    """Next states with their probabilities."""
    cell = FLOOR[y][x]
    if action == "handle" and (cell, load) in (("S", "empty"), ("D", "loaded")):
        return {name(x, y, LOADS[cell == "S"]): 1.0}
    if action not in MOVES:
        return {name(x, y, load): 1.0}
    order = list(MOVES)
    ahead = order.index(action)
    found = {}
    for turn, chance in ((0, 1.0 - 2 * SKID), (-1, SKID), (1, SKID)):
        to = name(*moved(x, y, MOVES[order[(ahead + turn) % 4]]), load)
        found[to] = found.get(to, 0.0) + chance
    return found


def features(x, y, load, action):
    """What there is of each feature, in the order of FEATURES."""
    cell, moves = FLOOR[y][x], action in MOVES
    return (
        action == "handle" and cell == "D" and load == "loaded",
        action == "wait" and cell == "C",
        cell == "P",
        moves and moved(x, y, MOVES[action]) == (x, y),
        moves,
        load == "loaded",
        action == "wait",
        cell == "." and (x in (0, 1, 6, 7) or y in (1, 5)),
    )


def write(table, header, rows):
    with (FOLDER / f"{table}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def main():
    states = [
        (x, y, load) for load in LOADS for y in range(len(FLOOR)) for x in range(len(FLOOR[0]))
    ]
    pairs = [(*state, action) for state in states for action in (*MOVES, "handle", "wait")]
    write(
        "transitions",
        ("state", "action", "next_state", "probability"),
        [
            (name(*state), action, to, f"{chance:g}")
            for *state, action in pairs
            for to, chance in outcomes(*state, action).items()
        ],
    )
    write(
        "features",
        ("state", "action", *FEATURES),
        [(name(*pair[:3]), pair[3], *map(int, features(*pair))) for pair in pairs],
    )
    docks = [name(x, 6, "empty") for x in range(8) if FLOOR[6][x] == "D"]
    write("start", ("state", "probability"), [(dock, 1 / len(docks)) for dock in docks])
    write(
        "map",
        ("state", "x", "y", "text"),
        [(name(x, y, load), x, y, TEXTS[FLOOR[y][x]]) for x, y, load in states],
    )


if __name__ == "__main__":
    main()
