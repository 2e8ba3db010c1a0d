"""Trajectories in files.

Files are JSON lines, one episode a line::

    {"states": [0, 1, 2], "actions": ["right", "right", "left"], "terminated": false}

or CSV, one step a row, where ``terminated`` may be empty except in an episode's last row::

    episode,step,state,action,terminated
    0,0,0,right,
    0,1,1,right,false
"""

from __future__ import annotations

import csv
import io
import json
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np

from ..arrays import Names, some
from ..errors import FileFormatError, require
from ..files import neutral, plain, replacing
from ..mdp.model import MDP
from .impossible_steps import NAMED, UNKNOWN, Place
from .trajectories import Trajectories, check_trajectories, checked_trajectories

# A longer line is refused before it is read whole: it is no episode but another kind of file.
MAX_LINE_BYTES = 64 << 20
COLUMNS = ("episode", "step", "state", "action", "terminated")
FLAGS = {"true": True, "1": True, "false": False, "0": False}


def read_trajectories(path: str | Path, mdp: MDP, *, skip: str | None = None) -> Trajectories:
    """Read a user's episodes from JSON lines (``.jsonl``, ``.ndjson``) or CSV (``.csv``), in UTF-8.

    States and actions are given by number or, where the MDP names them, by name; in CSV a name is
    tried first. Further fields and columns are ignored.

    Parameters
    ----------
    path : str or Path
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
    reader = _read_csv if _is_csv(path) else _read_json_lines
    with path.open("rb") as file:
        return reader(path, file, mdp, skip)


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
    as_csv = _is_csv(path)
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


class _Numbers:
    """The numbers of the states, or of the actions, that a file gives by number or by name."""

    def __init__(self, what: str, names: Names | None, count: int) -> None:
        self.numbers = {name: number for number, name in enumerate(names or ())}
        self.count = count
        name = ", or a name such as " + repr(names[0]) if names else ""
        self.expected = f"expected the number of {what} in 0 … {count - 1}{name}"

    def of_value(self, value: object) -> int:
        """What a JSON value stands for; a ValueError says what was expected, and a LookupError of
        a value that could name something, and does not."""
        if type(value) is int and 0 <= value < self.count:
            return value
        if isinstance(value, str) and value in self.numbers:
            return self.numbers[value]
        names = type(value) is int or (isinstance(value, str) and value)
        raise (LookupError if names else ValueError)(f"{self.expected}, got {_shown(value)}")

    def of_text(self, text: str) -> int:
        """What a CSV cell stands for; errors are those of a JSON value."""
        for name in (text, text.strip(), plain(text), plain(text.strip())):
            if name in self.numbers:
                return self.numbers[name]
        number = _number(text)
        if number is None or number >= self.count:
            kind = LookupError if text.strip() else ValueError
            raise kind(f"{self.expected}, got {_shown(text)}")
        return number


def _number(text: str) -> int | None:
    """A plain decimal number that fits 64 bits, or None."""
    return int(text) if re.fullmatch(r"\s*[0-9]{1,18}\s*", text, re.ASCII) else None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _is_csv(path: Path) -> bool:
    kind = path.suffix.lower()
    require(
        kind in (".csv", ".jsonl", ".ndjson"),
        f"path must end in .jsonl, .ndjson (JSON lines) or .csv, got {path.name!r}",
    )
    return kind == ".csv"


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


class _Record:
    """The episodes of a file while it is read."""

    def __init__(self, source: Path | str, mdp: MDP, skip: str | None) -> None:
        dynamics = mdp.dynamics
        self.source, self.mdp, self.skip = source, mdp, skip
        self.numbers = {
            "state": _Numbers("a state", dynamics.state_names, dynamics.n_states),
            "action": _Numbers("an action", dynamics.action_names, dynamics.n_actions),
        }
        self.steps = {"state": array("q"), "action": array("q")}
        self.offsets = array("q", [0])
        self.terminated: list[bool] = []
        self.unknown: list[str] = []

    def add(
        self, name: str, number: Callable[[Any], int], value: object, line: int, where: str
    ) -> None:
        """The next state, or action; what the MDP does not have is `UNKNOWN`, and told later."""
        try:
            found = number(value)
        except ValueError as error:
            self.refuse(line, f"{where}: {error}")
        except LookupError as error:
            found = UNKNOWN
            if len(self.unknown) < NAMED:
                self.unknown.append(f"{self.source}, line {line}{where}: {error}")
        self.steps[name].append(found)

    def refuse(self, line: int, message: str) -> NoReturn:
        raise FileFormatError(f"{self.source}, line {line}{message}")

    def close(self, terminated: bool) -> None:
        """End the episode whose states and actions were added last."""
        self.terminated.append(terminated)
        self.offsets.append(len(self.steps["state"]))

    def trajectories(self, place: Place) -> Trajectories:
        states, actions, offsets = (
            np.array(part, dtype=np.int64) for part in (*self.steps.values(), self.offsets)
        )
        ended = np.array(self.terminated, dtype=bool)
        return checked_trajectories(
            self.mdp,
            states,
            actions,
            offsets,
            ended,
            place,
            FileFormatError,
            self.skip,
            self.unknown,
        )


def _read_json_lines(path: Path, file: BinaryIO, mdp: MDP, skip: str | None) -> Trajectories:
    record = _Record(path, mdp, skip)
    lines = array("q")
    for line, text in enumerate(_lines(path, file), start=1):
        if not text.strip():
            continue
        try:
            episode = json.loads(text, object_pairs_hook=_without_repeats)
        except (ValueError, RecursionError) as error:
            record.refuse(line, f": expected one episode as a JSON object, got bad JSON: {error}")
        if not isinstance(episode, dict):
            record.refuse(line, f": expected a JSON object, got {_shown(episode)}")
        for field in ("states", "actions", "terminated"):
            if field not in episode:
                record.refuse(line, f": expected the field {field!r}, got {some(list(episode))}")
        for name, numbers in record.numbers.items():
            values = episode[f"{name}s"]
            if not isinstance(values, list) or not values:
                record.refuse(line, f", {name}s: expected one entry a step, got {_shown(values)}")
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
            record.refuse(line, f", terminated: expected true or false, got {_shown(ended)}")
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


def trajectories_of_rows(
    rows: Iterable[tuple[int, Sequence[str]]], source: str, mdp: MDP, *, skip: str | None = None
) -> Trajectories:
    """Episodes from the rows of a table, a step a row, as those of a CSV file.

    Parameters
    ----------
    rows : pairs of a line's number and its cells, the header first; a row without cells is skipped
    source : str, what messages call the table
    mdp : MDP in which the episodes were recorded
    skip : as in `read_trajectories`

    Returns
    -------
    Trajectories

    Examples
    --------
    >>> import teachirl as ti
    >>> from teachirl.demonstrations.trajectory_files import trajectories_of_rows
    >>> header = (1, ["episode", "step", "state", "action", "terminated"])
    >>> row = (2, ["a", "0", "cell 1", "right", "false"])
    >>> trajectories_of_rows([header, row], "walks", ti.worlds.chain(5))
    Trajectories(1 episodes, 1 steps, 0 terminated)
    """
    record = _Record(source, mdp, skip)
    lines = _read_rows(record, iter(rows))
    return record.trajectories(
        lambda episode, step: f"{source}, line {lines[record.offsets[episode] + step]}"
    )


def _read_rows(record: _Record, rows: Iterator[tuple[int, Sequence[str]]]) -> Sequence[int]:
    """Add all rows to the record; returns the line of each step."""
    header = [name.strip() for name in next(rows, (1, []))[1]]
    for name in COLUMNS:
        if header.count(name) != 1:
            record.refuse(1, f": expected a header with one column {name!r}, got {some(header)}")
    columns = [header.index(name) for name in COLUMNS]
    lines = array("q")
    seen: set[str] = set()
    current: str | None = None
    ended: bool | None = None

    def close() -> None:
        if ended is None:
            record.refuse(
                lines[-1],
                f", terminated: expected true or false in the last row of episode "
                f"{_shown(current)}, got nothing",
            )
        record.close(ended)

    for line, row in rows:
        if not row:
            continue
        if len(row) != len(header):
            record.refuse(line, f": expected {len(header)} cells, as in the header, got {len(row)}")
        episode, step, *texts, word = (row[column] for column in columns)
        if episode != current:
            if current is not None:
                close()
            if episode in seen:
                record.refuse(
                    line,
                    f", episode: expected an episode's rows together, got {_shown(episode)} again",
                )
            seen.add(episode)
            current = episode
        elif ended:
            record.refuse(
                line,
                ", episode: expected another episode, for the row above ended this one, got "
                + _shown(episode),
            )
        count = len(lines) - record.offsets[-1]
        if _number(step) != count:
            record.refuse(
                line, f", step: expected {count}, as steps count up from 0, got {_shown(step)}"
            )
        for (name, numbers), text in zip(record.numbers.items(), texts, strict=True):
            record.add(name, numbers.of_text, text, line, f", {name}")
        ended = FLAGS.get(word.strip().lower())
        if ended is None and word.strip():
            record.refuse(line, f", terminated: expected true, false, 1 or 0, got {_shown(word)}")
        lines.append(line)
    if current is None:
        raise FileFormatError(f"{record.source}: expected one step a row, got no rows")
    close()
    return lines
