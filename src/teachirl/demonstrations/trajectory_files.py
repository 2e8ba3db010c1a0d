"""Trajectories in files.

Files are JSON lines, one episode a line::

    {"states": [0, 1, 2], "actions": ["right", "right", "left"], "terminated": false}

or CSV, one step a row, where ``terminated`` may be empty except in an episode's last row::

    episode,step,state,action,terminated
    0,0,0,right,
    0,1,1,right,false

or Parquet, with the columns of the CSV; or the folder of a local Minari dataset (`minari_files`).
"""

from __future__ import annotations

import csv
import io
import json
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from ..arrays import Names, some
from ..errors import FileFormatError, require
from ..files import neutral, replacing
from ..mdp.model import MDP
from .minari_files import read_minari
from .parquet_files import parquet_rows
from .trajectories import Trajectories, check_trajectories
from .trajectory_rows import COLUMNS, Record, short, trajectories_of_rows

# A longer line is refused before it is read whole: it is no episode but another kind of file.
MAX_LINE_BYTES = 64 << 20
WRITTEN = (".csv", ".jsonl", ".ndjson")
READ = ".jsonl, .ndjson (JSON lines), .csv or .parquet"


def read_trajectories(path: str | Path, mdp: MDP, *, skip: str | None = None) -> Trajectories:
    """Read a user's episodes from JSON lines (``.jsonl``, ``.ndjson``) or CSV (``.csv``), in UTF-8,
    from Parquet (``.parquet``), or from a local Minari dataset.

    States and actions are given by number or, where the MDP names them, by name; in CSV, and in
    Parquet, which has the same columns, a name is tried first. In a Minari dataset they are
    numbers. Further fields and columns are ignored.

    Parameters
    ----------
    path : str or Path, a file, or the folder of a Minari dataset
    mdp : MDP in which the episodes were recorded
    skip : str, ``"impossible"`` to leave out steps that the MDP cannot have taken, and what
        follows them; by default they are refused, and counted

    Returns
    -------
    Trajectories, whose `skipped` says what was left out

    Examples
    --------
    >>> import pathlib, tempfile, teachirl as ti
    >>> line = '{"states": [0, "cell 2"], "actions": ["right", 1], "terminated": false}'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "episodes.jsonl"
    ...     _ = path.write_text(line)
    ...     ti.read_trajectories(path, ti.worlds.chain(5))
    Trajectories(1 episodes, 2 steps, 0 terminated)
    """
    path = Path(path)
    if path.is_dir():
        return read_minari(lambda name: path.parent / name, path.name, mdp, skip)
    kind = path.suffix.lower()
    if kind == ".parquet":
        # Lines are counted as in a CSV file, from the header.
        cells = ((row + 1, list(map(_as_csv, each))) for row, each in parquet_rows(path, str(path)))
        return trajectories_of_rows(cells, f"{path}, as CSV", mdp, skip=skip)
    require(
        kind in WRITTEN,
        f"path must end in {READ}, or be the folder of a Minari dataset, got {path.name!r}",
    )
    with path.open("rb") as file:
        reader = _read_csv if kind == ".csv" else _read_json_lines
        return reader(path, file, mdp, skip)


def _as_csv(cell: Any) -> str:
    if cell is None:
        return ""
    return str(cell).lower() if isinstance(cell, bool) else str(cell)


def write_trajectories(path: str | Path, trajectories: Trajectories, mdp: MDP) -> None:
    """Write episodes as JSON lines or CSV, by the path's ending; an old file is replaced whole.

    Parameters
    ----------
    path : str or Path
    trajectories : Trajectories
    mdp : MDP, whose names are written where it has some

    Examples
    --------
    >>> import pathlib, tempfile, teachirl as ti
    >>> mdp = ti.worlds.chain(3)
    >>> seen = ti.Trajectories.from_arrays(mdp, [[0, 1]], [[1, 1]], [False])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "episodes.csv"
    ...     ti.write_trajectories(path, seen, mdp)
    ...     path.read_text().splitlines()[1]
    '0,0,cell 1,right,false'
    """
    path = Path(path)
    kind = path.suffix.lower()
    require(
        kind in WRITTEN,
        f"path must end in .jsonl, .ndjson (JSON lines) or .csv, got {path.name!r}",
    )
    as_csv = kind == ".csv"
    check_trajectories(mdp, trajectories)
    dynamics, offsets = mdp.dynamics, trajectories.offsets

    def written(names: Names | None) -> Sequence[Any]:
        every = set(names or ())
        cells = [neutral(name, every) for name in names or ()] if as_csv else names
        return cells or range(max(dynamics.n_states, dynamics.n_actions))

    state_names, action_names = written(dynamics.state_names), written(dynamics.action_names)

    with replacing(path) as raw:
        file = io.TextIOWrapper(raw, encoding="utf-8", newline="", write_through=True)
        table = csv.writer(file, lineterminator="\n")
        if as_csv:
            table.writerow(COLUMNS)
        for episode, ended in enumerate(trajectories.terminated.tolist()):
            span = slice(offsets[episode], offsets[episode + 1])
            states = [state_names[each] for each in trajectories.states[span].tolist()]
            pairs = trajectories.pairs[span]
            actions = [action_names[each] for each in dynamics.actions[pairs].tolist()]
            if as_csv:
                for step, (state, action) in enumerate(zip(states, actions, strict=True)):
                    final = step == len(states) - 1
                    table.writerow((episode, step, state, action, str(ended and final).lower()))
            else:
                record = {"states": states, "actions": actions, "terminated": ended}
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
        file.detach()  # so that the file is closed where it was opened


def _lines(path: Path, file: BinaryIO) -> Iterator[str]:
    """The lines of a UTF-8 file with their ends, none longer than the limit."""
    number = 0
    while raw := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(raw) > MAX_LINE_BYTES:
            raise FileFormatError(
                f"{path}, line {number}: expected at most {MAX_LINE_BYTES} bytes in a line, "
                "got more"
            )
        try:
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise FileFormatError(
                f"{path}, line {number}: expected UTF-8 text, got byte {raw[error.start]:#04x} "
                f"at position {error.start} of the line"
            ) from None
        yield text


def _without_repeats(items: list[tuple[str, object]]) -> dict[str, object]:
    record = dict(items)
    if len(record) < len(items):
        keys = [key for key, _ in items]
        raise ValueError(f"field {next(k for k in keys if keys.count(k) > 1)!r} is given twice")
    return record


def _read_json_lines(path: Path, file: BinaryIO, mdp: MDP, skip: str | None) -> Trajectories:
    record = Record(path, mdp, skip)
    lines = array("q")
    for line, text in enumerate(_lines(path, file), start=1):
        if not text.strip():
            continue
        try:
            episode = json.loads(text, object_pairs_hook=_without_repeats)
        except (ValueError, RecursionError) as error:
            record.refuse(line, f": expected one episode as a JSON object, got bad JSON: {error}")
        if not isinstance(episode, dict):
            record.refuse(line, f": expected a JSON object, got {short(episode)}")
        for field in ("states", "actions", "terminated"):
            if field not in episode:
                record.refuse(line, f": expected the field {field!r}, got {some(list(episode))}")
        for name, numbers in record.numbers.items():
            values = episode[f"{name}s"]
            if not isinstance(values, list) or not values:
                record.refuse(line, f", {name}s: expected one entry a step, got {short(values)}")
            for step, value in enumerate(values):
                record.add(name, numbers.of_value, value, line, f", {name}s[{step}]")
        n_states, n_actions, ended = (
            len(episode["states"]),
            len(episode["actions"]),
            episode["terminated"],
        )
        if n_states != n_actions:
            record.refuse(
                line, f": expected as many states as actions, got {n_states} and {n_actions}"
            )
        if not isinstance(ended, bool):
            record.refuse(line, f", terminated: expected true or false, got {short(ended)}")
        record.close(ended)
        lines.append(line)
    if not lines:
        raise FileFormatError(f"{path}: expected one episode a line, got an empty file")
    return record.trajectories(lambda episode, step: f"{path}, line {lines[episode]}, step {step}")


def _read_csv(path: Path, file: BinaryIO, mdp: MDP, skip: str | None) -> Trajectories:
    table = csv.reader(_lines(path, file), strict=True)
    try:
        rows = ((table.line_num, row) for row in table)
        return trajectories_of_rows(rows, str(path), mdp, skip=skip)
    except csv.Error as error:
        raise FileFormatError(
            f"{path}, line {table.line_num}: expected comma-separated values, got a bad row: "
            f"{error}"
        ) from error
