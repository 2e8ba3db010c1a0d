"""Models of verification tools in the UMB format: a tar of index.json and little-endian arrays.

States have choices, choices have branches: `state-to-choices`, `choice-to-branches`, then a target
and a probability for each branch. Beside them are labels (bits) and rewards of states and choices,
names of actions, and the values of the model's variables, packed bit by bit.

A file is a stranger's (`archives.py`): what a member declares is compared with what `index.json`
says there is before anything is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats, Ints
from ..files import JsonReader
from .archives import Archive, opened

MAX_INDEX = 16 << 20  # bytes of index.json
MAX_STATES, MAX_BRANCHES = 50_000_000, 200_000_000
# Of all labels, rewards and variables together.
MAX_VALUES = 60_000_000
SIZES = {"bool": 1, "double": 64, "int": 32, "uint": 32}


@dataclass(frozen=True, eq=False)
class UmbModel:
    """What a file holds.

    Attributes
    ----------
    offsets : int array [S + 1], the choices of each state
    indptr, targets, chances : arrays, the branches of each choice, as in a sparse matrix
    start : array [S], the states where it begins, with even chances
    labels : bool arrays [S], by name
    state_rewards, choice_rewards : arrays [S] and [P], by name
    actions : int array [P] into `action_names`; None if choices have no names
    action_names : tuple of str
    variables : int arrays [S], the values of the model's variables, by name
    """

    offsets: Ints
    indptr: Ints
    targets: Ints
    chances: Floats
    start: Floats
    labels: dict[str, NDArray[np.bool_]]
    state_rewards: dict[str, Floats]
    choice_rewards: dict[str, Floats]
    actions: Ints | None
    action_names: tuple[str, ...]
    variables: dict[str, NDArray[Any]]


def read_umb(path: Path) -> UmbModel:
    """Read a model; a file that is not what it claims to be is a `FileFormatError`."""
    with opened(path, "UMB") as archive:
        return _Reader(archive).model()


class _Reader:
    """The members of an archive, each read only if it is as large as it should be."""

    def __init__(self, archive: Archive) -> None:
        self.archive, self.source, self.fail = archive, archive.source, archive.fail
        self.index = self._read_index()
        system = self.index.inside("transition-system")
        self.n_states = self._count(system, "#states", MAX_STATES)
        self.n_choices = self._count(system, "#choices", MAX_BRANCHES)
        self.n_branches = self._count(system, "#branches", MAX_BRANCHES)
        self.system = system
        self.values = 0

    def model(self) -> UmbModel:
        """All that is known of the model."""
        if self.system.get("#players", (int,), "a whole number") > 1:
            self.fail("expected a model with one player, got a game")
        time = self.system.get("time", (str,), "text") if "time" in self.system.value else ""
        if time not in ("", "discrete"):
            self.fail(f"expected a model in discrete time, got {time!r}")
        kind = self.system.inside("branch-probability-type").get("type", (str,), "text")
        if kind != "double":
            self.fail(f"expected probabilities that are double, got {kind!r}")
        # Of a chain, where every state has one choice, that need not be said.
        if "state-to-choices.bin" not in self.archive.members and self.n_choices == self.n_states:
            offsets = np.arange(self.n_states + 1)
        else:
            offsets = self._offsets("state-to-choices.bin", self.n_states, self.n_choices)
        indptr = self._offsets("choice-to-branches.bin", self.n_choices, self.n_branches)
        targets = self._numbers("branch-to-target.bin", "<u8", self.n_branches)
        if len(targets) and int(targets.max()) >= self.n_states:
            self.fail(f"branch-to-target.bin: expected states below {self.n_states}")
        initial = self._bits("state-is-initial.bin", self.n_states)
        if not initial.any():
            self.fail("state-is-initial.bin: expected a state to begin in, got none")
        labels, of_states, of_choices = self._annotations()
        actions, names = self._actions()
        return UmbModel(
            offsets,
            indptr,
            targets.astype(np.int64),
            self._numbers("branch-to-probability.bin", "<f8", self.n_branches).astype(float),
            initial / np.count_nonzero(initial),
            labels,
            of_states,
            of_choices,
            actions,
            names,
            self._variables(),
        )

    def _read_index(self) -> JsonReader:
        raw = self.archive.read("index.json", None, MAX_INDEX)
        try:
            return JsonReader.of_text(raw.decode(), f"{self.source}, index.json")
        except UnicodeDecodeError as error:
            self.fail(f"index.json: expected UTF-8 text: {error}")

    def _count(self, reader: JsonReader, field: str, most: int) -> int:
        count = reader.get(field, (int,), "a whole number")
        if isinstance(count, bool) or not 0 < count <= most:
            reader.fail(field, f"must lie in 1 … {most}, got {count!r}")
        return int(count)

    def _numbers(self, name: str, kind: str, count: int) -> NDArray[Any]:
        return np.frombuffer(self.archive.read(name, count * np.dtype(kind).itemsize), kind)

    def _offsets(self, name: str, count: int, last: int) -> Ints:
        """Where the parts of each of `count` things begin, and where the last one ends."""
        found = self._numbers(name, "<u8", count + 1)
        if int(found[0]) != 0 or int(found[-1]) != last or (found[1:] <= found[:-1]).any():
            self.fail(f"{name}: expected rising numbers from 0 to {last}")
        return found.astype(np.int64)

    def _bits(self, name: str, count: int) -> NDArray[np.bool_]:
        """One bit each, in words of 64."""
        raw = np.frombuffer(self.archive.read(name, 8 * -(-count // 64)), np.uint8)
        return np.unpackbits(raw, count=count, bitorder="little").astype(bool)

    def _allow(self, count: int) -> None:
        """Refuse a model once there are too many values of labels, rewards and variables."""
        self.values += count
        if self.values > MAX_VALUES:
            self.fail(
                f"expected at most {MAX_VALUES} values of labels, rewards and variables, got more"
            )

    def _annotations(
        self,
    ) -> tuple[dict[str, NDArray[np.bool_]], dict[str, Floats], dict[str, Floats]]:
        there = "annotations" in self.index.value
        given = self.index.get("annotations", (dict,), "an object") if there else {}
        labels: dict[str, NDArray[np.bool_]] = {}
        of_states: dict[str, Floats] = {}
        of_choices: dict[str, Floats] = {}
        for key, about in self._entries(given, "aps"):
            if "states" in about.get("applies-to", ()):
                self._allow(self.n_states)
                labels[_called(key, about)] = self._bits(
                    f"annotations/aps/{key}/states/values.bin", self.n_states
                )
        for key, about in self._entries(given, "rewards"):
            for where, count, found in (
                ("states", self.n_states, of_states),
                ("choices", self.n_choices, of_choices),
            ):
                if where in about.get("applies-to", ()):
                    self._allow(count)
                    name = f"annotations/rewards/{key}/{where}/values.bin"
                    found[_called(key, about)] = self._numbers(name, "<f8", count).astype(float)
        return labels, of_states, of_choices

    def _entries(self, given: Any, group: str) -> list[tuple[str, Mapping[str, Any]]]:
        entries = given.get(group, {}) if isinstance(given, dict) else {}
        if not isinstance(entries, dict) or not all(
            isinstance(each, dict) for each in entries.values()
        ):
            self.fail(f"index.json: annotations.{group} must be an object of objects")
        return [(key, each) for key, each in entries.items() if _plain(key)]

    def _actions(self) -> tuple[Ints | None, tuple[str, ...]]:
        if "actions/choices/values.bin" not in self.archive.members:
            return None, ()
        values = self._numbers("actions/choices/values.bin", "<u4", self.n_choices)
        count = self._count(self.system, "#choice-actions", MAX_BRANCHES)
        ends = np.frombuffer(
            self.archive.read("actions/choices/string-mapping.bin", 8 * (count + 1)), "<u8"
        )
        text = self.archive.read("actions/choices/strings.bin", int(ends[-1]))
        if (ends[1:] < ends[:-1]).any() or (len(values) and int(values.max()) >= count):
            self.fail("actions/choices: expected the numbers of names, got others")
        names = [text[a:b].decode(errors="replace") for a, b in pairwise(ends)]
        return values.astype(np.int64), tuple(names)

    def _variables(self) -> dict[str, NDArray[Any]]:
        """Values of whole-number and true-or-false variables, unpacked."""
        name = "valuations/states/valuations.bin"
        if name not in self.archive.members:
            return {}
        try:
            [only] = self.index.value["valuations"]["states"]["classes"]
            fields = [dict(each) for each in only["variables"]]
            widths = [_width(each) for each in fields]
        except (KeyError, TypeError, ValueError):
            self.fail("index.json: expected one class of variables, each with a type")
        bits = sum(widths)
        if bits % 8 or bits == 0 or max(widths) > 64:
            self.fail(f"index.json: expected variables in whole bytes, got {bits} bits")
        raw = np.frombuffer(self.archive.read(name, self.n_states * bits // 8), np.uint8)
        rows = raw.reshape(self.n_states, bits // 8)
        found: dict[str, NDArray[Any]] = {}
        first = 0
        for field, width in zip(fields, widths, strict=True):
            if "padding" not in field and field["type"].get("type") in ("bool", "int", "uint"):
                self._allow(self.n_states)
                found[str(field.get("name", ""))] = _unpacked(rows, first, width, field)
            first += width
        return found


def _width(field: Mapping[str, Any]) -> int:
    """How many bits a variable, or the padding, takes."""
    width = field["padding"] if "padding" in field else field["type"].get("size")
    if width is None:
        width = SIZES[field["type"]["type"]]
    if not isinstance(width, int) or isinstance(width, bool) or width < 0:
        raise ValueError
    return width


def _unpacked(rows: NDArray[np.uint8], first: int, width: int, field: Mapping[str, Any]) -> Ints:
    """The bits first … first + width of each row, lowest first, as numbers."""
    values = np.zeros(len(rows), dtype=np.int64)
    for place in range(width):
        byte, bit = divmod(first + place, 8)
        values |= ((rows[:, byte] >> np.uint8(bit)) & np.uint8(1)).astype(np.int64) << place
    if field["type"]["type"] == "int" and 0 < width < 64:
        values -= (values >> (width - 1)) << width
    offset = field.get("offset", 0)
    small = isinstance(offset, int) and abs(offset) < 1 << 53
    return values + (offset if small else 0)


def _called(key: str, about: Mapping[str, Any]) -> str:
    """The name that the model's author gave; the key is escaped for a file system."""
    return str(about.get("alias", key))


def _plain(key: str) -> bool:
    return "/" not in key and key not in (".", "..")


__all__ = ["UmbModel", "read_umb"]
