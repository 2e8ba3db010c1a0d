"""Where the states of one's own world lie, so that it can be drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...arrays import frozen
from ...mdp.model import MDP
from ...worlds.map import MOST_CELLS, Map, steps_of
from .files import Folder
from .pairs import state_numbers
from .places import Place
from .tables import Table, read_table

PLACES = ("x", "y")
# More names beside a picture would cover each other.
MOST_NAMES = 40
FURTHEST = 1e9


def split_places(table: Table) -> tuple[Table, Table | None]:
    """A table of features without its columns x and y, and these; None if it has no such columns.

    A table with a row for each action says nothing of where states lie.
    """
    if "action" in table.texts or not set(PLACES) <= set(table.columns):
        return table, None
    places = [table.columns.index(name) for name in PLACES]
    rest = [i for i in range(len(table.columns)) if i not in places]
    names = tuple(table.columns[i] for i in rest)
    features = replace(table, columns=names, numbers=table.numbers[:, rest])
    return features, replace(table, columns=PLACES, numbers=table.numbers[:, places])


def read_map(name: str, place: Place, folder: Folder, mdp: MDP) -> Map:
    """The map that a table describes: columns state, x, y and, if it likes, text."""
    with place.locating():
        table = read_table(
            folder.file(name), name, texts=("state", "text"), numbers=PLACES, optional=("text",)
        )
        return build_map(table, mdp)


def build_map(table: Table, mdp: MDP) -> Map:
    """Where states lie: x counts to the right and y downwards; states without a row lie nowhere."""
    states = state_numbers(table, mdp)
    table.refuse_repeats(states, "state")
    given = np.column_stack([table.column(name) for name in PLACES])
    table.refuse_rows(
        np.flatnonzero(((given != given.round()) | (np.abs(given) > FURTHEST)).any(axis=1)),
        lambda row: (
            "expected whole numbers in columns x and y, which say where a state lies, got "
            f"{given[row, 0]:g} and {given[row, 1]:g}; features must be called otherwise"
        ),
    )
    first = given.min(axis=0)
    columns, rows = (int(count) for count in given.max(axis=0) - first + 1)
    if rows * columns > MOST_CELLS:
        table.refuse(0, f"expected a map of at most {MOST_CELLS} cells, got {rows} × {columns}")
    offsets = (given - first).astype(np.int64)
    cells = np.full(mdp.n_states, -1, dtype=np.int64)
    cells[states] = offsets[:, 1] * columns + offsets[:, 0]
    texts = [""] * (rows * columns)
    for state, text in zip(states, table.texts.get("text", []), strict=False):
        texts[cells[state]] = texts[cells[state]] or text
    named = max(rows, columns) <= MOST_NAMES
    return Map(
        (rows, columns),
        frozen(cells),
        steps_of(mdp),
        tuple(texts) if any(texts) else (),
        row_names=tuple(f"y {int(first[1]) + i}" for i in range(rows)) if named else (),
        column_names=tuple(f"x {int(first[0]) + i}" for i in range(columns)) if named else (),
    )


__all__ = ["build_map", "read_map", "split_places"]
