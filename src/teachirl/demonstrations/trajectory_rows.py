"""Episodes as they are read from a file: names become numbers, and what is wrong has its line."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ..arrays import Names, some
from ..errors import FileFormatError
from ..files import plain
from ..mdp.model import MDP
from .impossible_steps import NAMED, UNKNOWN, Place
from .trajectories import Trajectories, checked_trajectories

COLUMNS = ("episode", "step", "state", "action", "terminated")
FLAGS = {"true": True, "1": True, "false": False, "0": False}


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
        raise (LookupError if names else ValueError)(f"{self.expected}, got {short(value)}")

    def of_text(self, text: str) -> int:
        """What a CSV cell stands for; errors are those of a JSON value."""
        for name in (text, text.strip(), plain(text), plain(text.strip())):
            if name in self.numbers:
                return self.numbers[name]
        number = _number(text)
        if number is None or number >= self.count:
            kind = LookupError if text.strip() else ValueError
            raise kind(f"{self.expected}, got {short(text)}")
        return number


def _number(text: str) -> int | None:
    """A plain decimal number that fits 64 bits, or None."""
    return int(text) if re.fullmatch(r"\s*[0-9]{1,18}\s*", text, re.ASCII) else None


def short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


class Record:
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
    >>> from teachirl.demonstrations.trajectory_rows import trajectories_of_rows
    >>> header = (1, ["episode", "step", "state", "action", "terminated"])
    >>> row = (2, ["a", "0", "cell 1", "right", "false"])
    >>> trajectories_of_rows([header, row], "walks", ti.worlds.chain(5))
    Trajectories(1 episodes, 1 steps, 0 terminated)
    """
    record = Record(source, mdp, skip)
    lines = _read_rows(record, iter(rows))
    return record.trajectories(
        lambda episode, step: f"{source}, line {lines[record.offsets[episode] + step]}"
    )


def _read_rows(record: Record, rows: Iterator[tuple[int, Sequence[str]]]) -> Sequence[int]:
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
                f"{short(current)}, got nothing",
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
                    f", episode: expected an episode's rows together, got {short(episode)} again",
                )
            seen.add(episode)
            current = episode
        elif ended:
            record.refuse(
                line,
                ", episode: expected another episode, for the row above ended this one, got "
                + short(episode),
            )
        count = len(lines) - record.offsets[-1]
        if _number(step) != count:
            record.refuse(
                line, f", step: expected {count}, as steps count up from 0, got {short(step)}"
            )
        for (name, numbers), text in zip(record.numbers.items(), texts, strict=True):
            record.add(name, numbers.of_text, text, line, f", {name}")
        ended = FLAGS.get(word.strip().lower())
        if ended is None and word.strip():
            record.refuse(line, f", terminated: expected true, false, 1 or 0, got {short(word)}")
        lines.append(line)
    if current is None:
        raise FileFormatError(f"{record.source}: expected one step a row, got no rows")
    close()
    return lines


__all__ = ["COLUMNS", "Record", "short", "trajectories_of_rows"]
