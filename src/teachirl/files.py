"""Files: JSON that may come from anyone, with errors that say where something is wrong; and files
that are written whole or not at all."""

from __future__ import annotations

import json
import math
import os
import secrets
from collections.abc import Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np

from .arrays import Floats
from .errors import FileFormatError, InvalidInputError, require

# A table of more rows is refused; so many numbers in one array are 0.8 GB.
MAX_ROWS, MAX_NUMBERS = 20_000_000, 100_000_000


def shown(value: object) -> str:
    """A value as a message shows it: never long, never deep."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (dict, list)):
        kind, what = ("a table", "key") if isinstance(value, dict) else ("a list", "entry")
        plural = {"key": "keys", "entry": "entries"}[what]
        return f"{kind} of {len(value)} {what if len(value) == 1 else plural}"
    if isinstance(value, int) and value.bit_length() > 200:
        return "a number of more than 60 digits"
    if isinstance(value, str):
        return repr(value) if len(value) <= 60 else f"{value[:57]!r}…"
    return str(value)[:60]


class JsonReader:
    """A JSON object, its source and its place in it.

    >>> from teachirl.files import JsonReader
    >>> JsonReader.of_text('{"risk": "high"}', "lesson.json").number("risk")
    Traceback (most recent call last):
        ...
    teachirl.errors.FileFormatError: lesson.json: risk must be a number, got 'high'
    """

    def __init__(self, source: str, place: str, value: object) -> None:
        self.source, self.place = source, place
        if not isinstance(value, dict):
            self.fail("", f"must be an object, got {kind_of(value)}")
        self.value: dict[str, Any] = value

    @staticmethod
    def of_text(text: str, source: str) -> JsonReader:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError) as error:  # numbers may have too many digits
            raise FileFormatError(f"{source} is no JSON: {error}") from error
        return JsonReader(source, "", value)

    def fail(self, field: str, problem: str) -> NoReturn:
        where = ".".join(part for part in (self.place, field) if part)
        raise FileFormatError(f"{self.source}: {where or 'the document'} {problem}")

    def get(self, field: str, kinds: tuple[type, ...], expected: str) -> Any:
        if field not in self.value:
            self.fail(field, "is missing")
        value = self.value[field]
        wrong = isinstance(value, bool) and bool not in kinds
        if wrong or not isinstance(value, kinds):
            self.fail(field, f"must be {expected}, got {kind_of(value)}")
        return value

    def number(self, field: str, *, missing: bool = False, least: float = -math.inf) -> float:
        """A finite number, at least as large as `least`; null is NaN if it may be missing."""
        kinds: tuple[type, ...] = (int, float)
        if missing:
            kinds += (type(None),)
        value = self.get(field, kinds, "a number")
        if value is None:
            return math.nan
        number = self._finite(field, value)
        if number < least:
            self.fail(field, f"must be at least {least:g}, got {number!r}")
        return number

    def numbers(self, field: str) -> Floats:
        """A list of finite numbers; null is NaN."""
        entries = self.get(field, (list,), "a list of numbers")
        numbers = np.full(len(entries), math.nan)
        for place, entry in enumerate(entries):
            if isinstance(entry, bool) or not isinstance(entry, (int, float, type(None))):
                self.fail(f"{field}[{place}]", f"must be a number, got {kind_of(entry)}")
            if entry is not None:
                numbers[place] = self._finite(f"{field}[{place}]", entry)
        return numbers

    def _finite(self, field: str, value: float) -> float:
        try:
            number = float(value)
        except OverflowError:  # a whole number of some hundred digits
            number = math.inf
        if not math.isfinite(number):
            self.fail(field, f"must be finite, got {kind_of(value)}")
        return number

    def inside(self, field: str) -> JsonReader:
        where = ".".join(part for part in (self.place, field) if part)
        return JsonReader(self.source, where, self.get(field, (dict,), "an object"))


def kind_of(value: object) -> str:
    """A value as an error shows it, cut short."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}…"


def neutral(name: str, others: Container[str] = ()) -> str:
    """A name as a cell of CSV: a spreadsheet takes what begins like a formula for one. If one of
    the others is called that, it stays as it is, so that `plain` tells them apart.

    >>> neutral("=1+1"), neutral("risk"), neutral("=1+1", ["'=1+1"])
    ("'=1+1", 'risk', '=1+1')
    """
    made = f"'{name}" if name.startswith(("=", "+", "-", "@", "\t", "\r")) else name
    return name if made in others else made


def plain(cell: str) -> str:
    """The name that `neutral` made a cell of.

    >>> plain("'=1+1"), plain("'tis")
    ('=1+1', "'tis")
    """
    return cell[1:] if cell[:1] == "'" and neutral(cell[1:]) == cell else cell


def made_folder(path: Path) -> Path:
    """A folder, made if it is not there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        there = next(each for each in (path, *path.parents) if each.exists())
        raise InvalidInputError(f"{there} must be a folder") from None
    return path


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to that becomes `path` when the block ends well, and vanishes when not.

    An error of writing, such as a full disk, names `path`.
    """
    require(path.parent.is_dir(), f"path must be in a folder that exists, got {path}")
    require(not path.is_dir(), f"path must be a file, but {path} is a folder")
    # Not tempfile, which would give the result permissions that only suit a temporary file.
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        if error.filename not in (None, str(temporary)) or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


__all__ = [
    "MAX_NUMBERS",
    "MAX_ROWS",
    "JsonReader",
    "kind_of",
    "made_folder",
    "neutral",
    "plain",
    "replacing",
    "shown",
]
