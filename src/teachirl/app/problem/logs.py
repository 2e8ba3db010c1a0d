"""A world that is known from a log of what followed what."""

from __future__ import annotations

import csv
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Floats, Ints
from ...demonstrations.estimation import estimate_mdp
from ...demonstrations.parquet_files import parquet_rows
from ...demonstrations.transition_log import TransitionLog
from ...errors import FileFormatError, require
from ...files import MAX_NUMBERS, shown
from ...mdp.estimated import EstimatedMDP
from ...mdp.model import MDP
from ...worlds.map import Map
from .episodes import read_episodes
from .files import Folder
from .maps import build_map, split_places
from .mistakes import Mistakes
from .moves import Moves, targets_of
from .places import Place
from .schema import LogWorld
from .tables import Table, read_table

STEP = ("state", "action", "next_state")
# What an estimate supposes of steps that were left out of a log.
INDEPENDENT = (
    "The confidence of the model supposes that they are mistakes of the log, which have nothing to "
    "do with what really followed."
)


def estimated_world(
    world: LogWorld, place: Place, folder: Folder
) -> tuple[EstimatedMDP, Map | None, str]:
    """The model that a log allows for, where the table of features says that its states lie, and
    what is to say of steps that were left out.

    What may follow is what the table of successors says, or, of a table of steps, any state.
    """
    table = None
    with (place / "log").locating():
        if _has_steps(folder, world.log):
            file, counts = folder.file(world.log), ("count",)
            table = read_table(file, world.log, texts=STEP, numbers=counts, optional=counts)
            if world.skip is not None:
                raise FileFormatError("skip is for episodes only, and this is a table of steps")
        elif world.successors is None:
            raise FileFormatError(
                "episodes need `successors`, which says what may follow what; without it expected "
                f"a table with columns {', '.join(STEP)}"
            )
    if world.successors is None:
        assert table is not None
        with (place / "log").locating():
            moves = Moves(_evenly(_anything(table)), False).checked()
    else:
        with (place / "successors").locating():
            name = world.successors
            after = read_table(folder.file(name), name, texts=STEP)
            moves = Moves(_evenly(after), False).checked()
    mistakes = Mistakes()
    nothing = np.zeros((moves.n_states, 1)), None, ("",), None
    phi, outcomes, names, where = (
        mistakes.of(lambda: _features(world, place, folder, moves)) or nothing
    )
    possible = moves.mdp(phi, names, np.full(moves.n_states, 1.0 / moves.n_states), world.discount)
    start = mistakes.of(lambda: _start(world, place, folder, moves, possible))
    with mistakes.collecting(), (place / "log").locating():
        log, note = _log(world, folder, table, moves, possible)
    mistakes.tell_any()
    with (place / "log").locating():
        features: Any = possible.features
        if outcomes is not None:
            features = outcomes
        model = estimate_mdp(
            log,
            features,
            discount=world.discount,
            successors=possible,
            confidence=world.confidence,
            start=start,
            feature_names=names,
        )
    with (place / "features").locating():
        return model, None if where is None else build_map(where, model.nominal), note


def _has_steps(folder: Folder, name: str) -> bool:
    """Whether the log is a table of steps, and has none of the columns that only episodes have."""
    if os.path.isdir(folder.path / name):
        return False
    path, kind = folder.file(name), Path(name).suffix.lower()
    if kind == ".parquet":
        header = [str(cell) for cell in next(parquet_rows(path, name))[1]]
    elif kind == ".csv":
        with path.open("rb") as file:
            line = file.readline(1 << 20).decode("utf-8-sig", errors="replace")
        header = [cell.strip() for cell in next(csv.reader([line]), [])]
    else:
        return False
    return "next_state" in header or {"episode", "step", "terminated"}.isdisjoint(header)


def _anything(table: Table) -> Table:
    """Where any state may follow each pair that was tried; and the end, if an episode ended."""
    texts = table.texts
    states = list(dict.fromkeys(texts["state"]))
    ends = [""] if "" in texts["next_state"] else []
    pairs = list(dict.fromkeys(zip(texts["state"], texts["action"], strict=True)))
    known = {"", *states}
    unknown = [row for row, name in enumerate(texts["next_state"]) if name not in known]
    table.refuse_rows(
        unknown,
        lambda row: (
            f"next_state {shown(texts['next_state'][row])} is never left in the log: say in "
            "`successors` what may follow it, or leave it empty where the episode ends"
        ),
    )
    require(
        len(pairs) * (len(states) + 1) <= MAX_NUMBERS // 10,
        f"{table.name}: {len(states)} states that may follow each of {len(pairs)} pairs are too "
        "many; say in `successors` what may follow",
    )
    rows = [(*pair, follows) for pair in pairs for follows in (*states, *ends)]
    columns: dict[str, list[str]] = {name: [row[i] for row in rows] for i, name in enumerate(STEP)}
    lines = type(table.lines)("q", [table.lines[0]] * len(rows))
    return Table(table.name, table.unit, lines, columns, (), np.empty((len(rows), 0)))


def _evenly(table: Table) -> Table:
    """The table with a probability in each row, the same for all that may follow a pair."""
    pairs = list(zip(table.texts["state"], table.texts["action"], strict=True))
    numbers = {pair: number for number, pair in enumerate(dict.fromkeys(pairs))}
    which = np.array([numbers[pair] for pair in pairs])
    chances = 1.0 / np.bincount(which)[which]
    return replace(table, columns=("probability",), numbers=chances[:, None])


def _features(
    world: LogWorld, place: Place, folder: Folder, moves: Moves
) -> tuple[Floats, Floats | None, tuple[str, ...], Table | None]:
    """Those of states or pairs without the end's; of what follows, with the end's; their names; and
    where states lie."""
    with (place / "features").locating():
        table = read_table(
            folder.file(world.features), world.features, texts=STEP, optional=STEP[1:], further=True
        )
        if "next_state" not in table.texts:
            features, where = (table, None) if world.map is not None else split_places(table)
            return moves.features(features), None, features.columns, where
        if "action" not in table.texts or not table.columns:
            raise FileFormatError(
                f"{table.name}: expected columns {', '.join(STEP)} and one a feature"
            )
        width = moves.n_states + 1
        pairs = np.searchsorted(moves.pairs, moves.keys(table))
        keys = np.minimum(pairs, len(moves.pairs) - 1) * width + targets_of(table, moves.states)
        table.refuse_repeats(keys, "state, action and next state")
        rows = moves.rows
        owners = np.repeat(np.arange(len(moves.pairs)), np.diff(rows.indptr))
        wanted: Ints = owners * width + rows.indices
        table.refuse_rows(
            np.flatnonzero(~np.isin(keys, wanted) | ~np.isin(moves.keys(table), moves.pairs)),
            lambda row: "expected only what may follow, as `successors` says",
        )
        missing = np.flatnonzero(~np.isin(wanted, keys))
        if len(missing):
            pair = moves.name_of(int(moves.pairs[owners[missing[0]]]))
            follows = int(rows.indices[missing[0]])
            name = shown([*moves.states, ""][follows])
            raise FileFormatError(
                f"{table.name}: expected a row for {pair} and next_state {name}, got none"
            )
        outcomes = np.asarray(table.numbers[np.argsort(keys)])
        mean = np.add.reduceat(rows.data[:, None] * outcomes, rows.indptr[:-1], axis=0)
        if moves.ends:  # which only leads to itself
            outcomes = np.vstack([outcomes, np.zeros(len(table.columns))])
        return np.asarray(mean), outcomes, table.columns, None


def _start(world: LogWorld, place: Place, folder: Folder, moves: Moves, possible: MDP) -> Floats:
    start = np.full(moves.n_states, 1.0 / moves.n_states)
    if world.start is not None:
        with (place / "start").locating():
            start = moves.start(
                read_table(
                    folder.file(world.start),
                    world.start,
                    texts=("state",),
                    numbers=("probability",),
                )
            )
    return np.append(start, np.zeros(possible.n_states - moves.n_states))


def _log(
    world: LogWorld, folder: Folder, table: Table | None, moves: Moves, possible: MDP
) -> tuple[TransitionLog, str]:
    if table is None:
        # A log may begin anywhere, and so may the world of what is possible, but for the end.
        seen = read_episodes(folder, world.log, possible, world.skip)
        note = f"{seen.left_out} {INDEPENDENT}" if seen.left_out else ""
        return TransitionLog.from_trajectories(possible, seen), note
    keys = moves.keys(table)
    unknown = np.flatnonzero(~np.isin(keys, moves.pairs))
    table.refuse_rows(
        unknown, lambda row: f"{moves.name_of(int(keys[row]))} is not in `successors`"
    )
    counts = np.ones(len(table)) if not table.columns else table.column("count")
    table.refuse_rows(
        np.flatnonzero((counts < 0) | (counts != np.round(counts)) | (counts > 2**53)),
        lambda row: f"expected a whole number of times, got {counts[row]:g}",
    )
    states, actions = np.divmod(keys, len(moves.actions))
    steps = np.column_stack([states, actions, targets_of(table, moves.states)])
    dynamics = possible.dynamics
    log = TransitionLog(
        steps.astype(np.int64),
        counts.astype(np.int64),
        possible.n_states,
        possible.n_actions,
        dynamics.state_names,
        dynamics.action_names,
    )
    return log, ""


__all__ = ["STEP", "estimated_world"]
