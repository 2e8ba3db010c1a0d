"""Recorded episodes: what was done, and whether an episode ended or was only cut off.

An episode is a sequence of pairs (s_0, a_0), (s_1, a_1), … It *terminated* if its last step led
into a terminal state: one that every action stays in and whose features are all zero, so that
nothing after it counts. Every other episode was *cut off*: it went on, unseen, and that counts. To
take the second for the first would be to take an estimate for exact. So a file must say which it
is, and no episode is taken as terminated whose last step cannot lead into a terminal state.

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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .checks import Ints, Names, checked_indices, frozen, some
from .errors import FileFormatError, InvalidInputError, TeachirlError, require
from .mdp import MDP
from .storage import replacing

# A longer line is refused before it is read whole: it is no episode but another kind of file.
MAX_LINE_BYTES = 64 << 20
COLUMNS = ("episode", "step", "state", "action", "terminated")
FLAGS = {"true": True, "1": True, "false": False, "0": False}

Place: TypeAlias = Callable[[int, int], str]


@dataclass(frozen=True, eq=False)
class Trajectories:
    """m episodes of one or more steps each, one after the other in flat arrays.

    Made by `from_arrays`, `read_trajectories` or `sample_trajectories`; all arrays are read-only.

    Attributes
    ----------
    states : int array [n], the state of each step
    pairs : int array [n], the state-action pair of each step
    offsets : int array [m + 1], the steps of episode i are ``offsets[i]:offsets[i + 1]``
    terminated : bool array [m], True if the episode ended, False if it was cut off
    """

    states: Ints
    pairs: Ints
    offsets: Ints
    terminated: NDArray[np.bool_]

    def __post_init__(self) -> None:
        n, m = len(self.pairs), len(self.terminated)
        require(len(self.states) == n, f"states must be {n}, one a pair, got {len(self.states)}")
        require(
            m >= 1
            and self.offsets.shape == (m + 1,)
            and self.offsets[0] == 0
            and self.offsets[-1] == n
            and bool((np.diff(self.offsets) >= 1).all()),
            f"offsets must rise from 0 to {n} in {m} steps of at least 1",
        )
        require(self.terminated.dtype == bool, f"terminated must be bool: {self.terminated.dtype}")
        for field in (self.states, self.pairs, self.offsets, self.terminated):
            frozen(field)

    @classmethod
    def from_arrays(
        cls,
        mdp: MDP,
        states: Sequence[ArrayLike],
        actions: Sequence[ArrayLike],
        terminated: ArrayLike,
    ) -> Trajectories:
        """Episodes from one array of states and one of actions an episode.

        Parameters
        ----------
        mdp : MDP in which they were recorded
        states, actions : m int arrays, of the length of each episode
        terminated : m bools, True where the episode ended and False where it was cut off

        Examples
        --------
        >>> import teachirl as ti
        >>> from teachirl.trajectories import Trajectories
        >>> mdp = ti.worlds.chain(5)
        >>> Trajectories.from_arrays(mdp, [[0, 1, 2], [3]], [[1, 1, 0], [0]], [False, False])
        Trajectories(2 episodes, 4 steps, 0 terminated)
        """
        ended = np.asarray(terminated)
        m = len(states)
        require(
            m >= 1 and len(actions) == m and ended.shape == (m,) and ended.dtype == bool,
            "states, actions and terminated must have one entry an episode, terminated of bools: "
            f"got {m}, {len(actions)} and {ended.dtype} {ended.shape}",
        )
        parts: list[tuple[Ints, Ints]] = []
        for i in range(m):
            part_states = checked_indices(f"states[{i}]", states[i], mdp.n_states)
            part_actions = checked_indices(f"actions[{i}]", actions[i], mdp.n_actions)
            require(
                len(part_states) == len(part_actions) >= 1,
                f"states[{i}] and actions[{i}] must have the same length of at least 1, "
                f"got {len(part_states)} and {len(part_actions)}",
            )
            parts.append((part_states, part_actions))
        offsets = np.cumsum([0] + [len(part[0]) for part in parts])
        return _checked(
            mdp,
            np.concatenate([part[0] for part in parts]),
            np.concatenate([part[1] for part in parts]),
            offsets,
            ended.copy(),
            _in_arrays,
            InvalidInputError,
        )

    def __len__(self) -> int:
        return len(self.terminated)

    def __repr__(self) -> str:
        return (
            f"Trajectories({len(self)} episodes, {self.n_steps} steps, "
            f"{np.count_nonzero(self.terminated)} terminated)"
        )

    @property
    def n_steps(self) -> int:
        return len(self.pairs)

    @property
    def lengths(self) -> Ints:
        """int array [m], the number of steps of each episode."""
        return np.diff(self.offsets)


def terminal_states(mdp: MDP) -> NDArray[np.bool_]:
    """bool array [S]: the states that every action stays in and whose features are all zero.

    >>> import teachirl as ti
    >>> from teachirl.trajectories import terminal_states
    >>> terminal_states(ti.worlds.chain(3))
    array([False, False, False])
    """
    dynamics, phi = mdp.dynamics, mdp.features
    rows = dynamics.transitions
    stays = np.diff(rows.indptr) == 1
    stays[stays] = rows.indices[rows.indptr[:-1][stays]] == dynamics.pair_states[stays]
    if isinstance(phi, np.ndarray):
        zero = ~phi.any(axis=1)
    else:
        zero = np.asarray(abs(phi).sum(axis=1)).ravel() == 0
    if mdp.features_per_pair:
        return np.logical_and.reduceat(stays & zero, dynamics.offsets[:-1])
    return np.logical_and.reduceat(stays, dynamics.offsets[:-1]) & zero


def check_trajectories(
    mdp: MDP,
    trajectories: Trajectories,
    place: Place | None = None,
    error: type[TeachirlError] = InvalidInputError,
) -> None:
    """Refuse episodes that cannot have happened in the MDP.

    `place` says where an (episode, step) is, for the message; `error` is what is raised.
    """
    dynamics, place = mdp.dynamics, place or _in_arrays
    states, pairs, offsets = trajectories.states, trajectories.pairs, trajectories.offsets

    def refuse(steps: NDArray[np.intp], message: Callable[[int], str]) -> None:
        if len(steps):
            step = int(steps[0])
            episode = int(np.searchsorted(offsets, step, side="right")) - 1
            raise error(f"{place(episode, step - int(offsets[episode]))}: {message(step)}")

    def did(step: int) -> str:
        action = dynamics.action_name(int(dynamics.actions[pairs[step]]))
        return f"action {action} in state {dynamics.state_name(int(states[step]))}"

    outside = np.flatnonzero((pairs < 0) | (pairs >= mdp.n_pairs))
    refuse(outside, lambda step: f"there is no state-action pair {pairs[step]} in the MDP")
    other = np.flatnonzero(dynamics.pair_states[pairs] != states)
    refuse(other, lambda step: f"pair {pairs[step]} does not belong to state {states[step]}")
    first, last = offsets[:-1], offsets[1:] - 1
    refuse(
        first[dynamics.start[states[first]] == 0],
        lambda step: (
            f"no episode starts in state {dynamics.state_name(int(states[step]))}, whose "
            "probability in the MDP's start is 0"
        ),
    )
    within = np.ones(len(pairs), dtype=bool)
    within[last] = False
    steps = np.flatnonzero(within)
    refuse(
        steps[~_possible(mdp, pairs[steps], states[steps + 1])],
        lambda step: (
            f"{did(step)} never leads to state "
            f"{dynamics.state_name(int(states[step + 1]))}, which comes next"
        ),
    )
    terminal = terminal_states(mdp)
    ends = last[trajectories.terminated]
    chances = dynamics.transitions @ terminal.astype(float) if len(ends) else np.zeros(mdp.n_pairs)
    refuse(
        ends[chances[pairs[ends]] == 0],
        lambda step: (
            "terminated is true, but the episode cannot have ended here: "
            f"{did(step)} never leads to a terminal state (one that all actions stay in and whose "
            "features are all zero); if the recording merely stopped, terminated must be false"
        ),
    )


def _possible(mdp: MDP, pairs: Ints, targets: Ints) -> NDArray[np.bool_]:
    """bool array [n]: whether each of the pairs can lead to its target."""
    visited, places = np.unique(pairs, return_inverse=True)
    rows = mdp.dynamics.transitions[visited]
    owners = np.repeat(np.arange(len(visited)), np.diff(rows.indptr))
    # Rows are sorted by successor, so that these keys ascend.
    keys = owners * mdp.n_states + rows.indices
    wanted = places * mdp.n_states + targets
    possible: NDArray[np.bool_] = np.append(keys, -1)[np.searchsorted(keys, wanted)] == wanted
    return possible


def read_trajectories(path: str | Path, mdp: MDP) -> Trajectories:
    """Read a user's episodes from JSON lines (``.jsonl``, ``.ndjson``) or CSV (``.csv``), in UTF-8.

    States and actions are given by number or, where the MDP names them, by name; in CSV a name is
    tried first. Further fields and columns are ignored.

    Examples
    --------
    >>> import pathlib, tempfile, teachirl as ti
    >>> from teachirl.trajectories import read_trajectories
    >>> line = '{"states": [0, "cell 2"], "actions": ["right", 1], "terminated": false}'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "episodes.jsonl"
    ...     _ = path.write_text(line)
    ...     read_trajectories(path, ti.worlds.chain(5))
    Trajectories(1 episodes, 2 steps, 0 terminated)
    """
    path = Path(path)
    reader = _read_csv if _is_csv(path) else _read_json_lines
    with path.open("rb") as file:
        return reader(path, file, mdp)


def write_trajectories(path: str | Path, trajectories: Trajectories, mdp: MDP) -> None:
    """Write episodes as JSON lines or CSV, by the path's ending; an old file is replaced whole."""
    path = Path(path)
    as_csv = _is_csv(path)
    check_trajectories(mdp, trajectories)
    dynamics, offsets = mdp.dynamics, trajectories.offsets

    def named(numbers: Ints, names: Names | None) -> list[Any]:
        values = numbers.tolist()
        return values if names is None else [names[value] for value in values]

    with replacing(path) as raw:
        file = io.TextIOWrapper(raw, encoding="utf-8", newline="", write_through=True)
        table = csv.writer(file, lineterminator="\n")
        if as_csv:
            table.writerow(COLUMNS)
        for episode, ended in enumerate(trajectories.terminated.tolist()):
            span = slice(offsets[episode], offsets[episode + 1])
            states = named(trajectories.states[span], dynamics.state_names)
            actions = named(dynamics.actions[trajectories.pairs[span]], dynamics.action_names)
            if as_csv:
                for step, (state, action) in enumerate(zip(states, actions, strict=True)):
                    final = step == len(states) - 1
                    table.writerow((episode, step, state, action, str(ended and final).lower()))
            else:
                record = {"states": states, "actions": actions, "terminated": ended}
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
        file.detach()  # so that the file is closed where it was opened


def _in_arrays(episode: int, step: int) -> str:
    return f"episode {episode}, step {step}"


def _checked(
    mdp: MDP,
    states: Ints,
    actions: Ints,
    offsets: Ints,
    terminated: NDArray[np.bool_],
    place: Place,
    error: type[TeachirlError],
) -> Trajectories:
    """The trajectories of these states and actions, or an error that says where they are wrong."""
    dynamics = mdp.dynamics
    key = dynamics.pair_states.astype(np.int64) * dynamics.n_actions + dynamics.actions
    wanted = states * dynamics.n_actions + actions
    pairs = np.minimum(np.searchsorted(key, wanted), mdp.n_pairs - 1)
    absent = np.flatnonzero(key[pairs] != wanted)
    if len(absent):
        step = int(absent[0])
        state, episode = int(states[step]), int(np.searchsorted(offsets, step, side="right")) - 1
        there = dynamics.actions[dynamics.offsets[state] : dynamics.offsets[state + 1]].tolist()
        raise error(
            f"{place(episode, step - int(offsets[episode]))}: action "
            f"{dynamics.action_name(int(actions[step]))} does not exist in state "
            f"{dynamics.state_name(state)}; expected one of: "
            f"{some([dynamics.action_name(action) for action in there])}"
        )
    trajectories = Trajectories(states, pairs.astype(np.int64), offsets, terminated)
    check_trajectories(mdp, trajectories, place, error)
    return trajectories


class _Numbers:
    """The numbers of the states, or of the actions, that a file gives by number or by name."""

    def __init__(self, what: str, names: Names | None, count: int) -> None:
        self.numbers = {name: number for number, name in enumerate(names or ())}
        self.count = count
        name = ", or a name such as " + repr(names[0]) if names else ""
        self.expected = f"expected the number of {what} in 0 … {count - 1}{name}"

    def of_value(self, value: object) -> int:
        """What a JSON value stands for; a ValueError says what was expected."""
        if type(value) is int and 0 <= value < self.count:
            return value
        if isinstance(value, str) and value in self.numbers:
            return self.numbers[value]
        raise ValueError(f"{self.expected}, got {_shown(value)}")

    def of_text(self, text: str) -> int:
        """What a CSV cell stands for; a ValueError says what was expected."""
        for name in (text, text.strip()):
            if name in self.numbers:
                return self.numbers[name]
        number = _number(text)
        if number is None or number >= self.count:
            raise ValueError(f"{self.expected}, got {_shown(text)}")
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

    def __init__(self, path: Path, mdp: MDP) -> None:
        dynamics = mdp.dynamics
        self.path, self.mdp = path, mdp
        self.numbers = {
            "state": _Numbers("a state", dynamics.state_names, dynamics.n_states),
            "action": _Numbers("an action", dynamics.action_names, dynamics.n_actions),
        }
        self.steps = {"state": array("q"), "action": array("q")}
        self.offsets = array("q", [0])
        self.terminated: list[bool] = []

    def refuse(self, line: int, message: str) -> NoReturn:
        raise FileFormatError(f"{self.path}, line {line}{message}")

    def close(self, terminated: bool) -> None:
        """End the episode whose states and actions were added last."""
        self.terminated.append(terminated)
        self.offsets.append(len(self.steps["state"]))

    def trajectories(self, place: Place) -> Trajectories:
        states, actions, offsets = (
            np.array(part, dtype=np.int64) for part in (*self.steps.values(), self.offsets)
        )
        ended = np.array(self.terminated, dtype=bool)
        return _checked(self.mdp, states, actions, offsets, ended, place, FileFormatError)


def _read_json_lines(path: Path, file: BinaryIO, mdp: MDP) -> Trajectories:
    record = _Record(path, mdp)
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
                try:
                    record.steps[name].append(numbers.of_value(value))
                except ValueError as error:
                    record.refuse(line, f", {name}s[{step}]: {error}")
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


def _read_csv(path: Path, file: BinaryIO, mdp: MDP) -> Trajectories:
    record = _Record(path, mdp)
    table = csv.reader(_lines(path, file), strict=True)
    try:
        lines = _read_rows(record, table)
    except csv.Error as error:
        record.refuse(table.line_num, f": expected comma-separated values, got a bad row: {error}")
    return record.trajectories(
        lambda episode, step: f"{path}, line {lines[record.offsets[episode] + step]}"
    )


def _read_rows(record: _Record, table: Any) -> Sequence[int]:
    """Add all rows to the record; returns the line of each step."""
    header = [name.strip() for name in next(table, [])]
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

    for row in table:
        line = table.line_num
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
            try:
                record.steps[name].append(numbers.of_text(text))
            except ValueError as error:
                record.refuse(line, f", {name}: {error}")
        ended = FLAGS.get(word.strip().lower())
        if ended is None and word.strip():
            record.refuse(line, f", terminated: expected true, false, 1 or 0, got {_shown(word)}")
        lines.append(line)
    if current is None:
        raise FileFormatError(f"{record.path}: expected one step a row, got no rows")
    close()
    return lines
