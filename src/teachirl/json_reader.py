"""JSON that may come from anyone, taken apart with errors that say where something is wrong."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

import numpy as np

from .checks import Floats
from .errors import FileFormatError


class JsonReader:
    """A JSON object, its source and its place in it.

    >>> from teachirl.json_reader import JsonReader
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
            return JsonReader(source, "", json.loads(text))
        except (json.JSONDecodeError, RecursionError) as error:
            raise FileFormatError(f"{source} is no JSON: {error}") from error

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

    def number(self, field: str, *, missing: bool = False) -> float:
        """A number; null is NaN if it may be missing."""
        kinds: tuple[type, ...] = (int, float)
        if missing:
            kinds += (type(None),)
        value = self.get(field, kinds, "a number")
        if value is None:
            return math.nan
        if not math.isfinite(value):
            self.fail(field, f"must be finite, got {value!r}")
        return float(value)

    def numbers(self, field: str) -> Floats:
        """A list of numbers; null is NaN."""
        entries = self.get(field, (list,), "a list of numbers")
        for place, entry in enumerate(entries):
            if isinstance(entry, bool) or not isinstance(entry, (int, float, type(None))):
                self.fail(f"{field}[{place}]", f"must be a number, got {kind_of(entry)}")
        return np.array([math.nan if entry is None else entry for entry in entries], dtype=float)

    def inside(self, field: str) -> JsonReader:
        where = ".".join(part for part in (self.place, field) if part)
        return JsonReader(self.source, where, self.get(field, (dict,), "an object"))


def kind_of(value: object) -> str:
    """A value as an error shows it, cut short."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}…"


__all__ = ["JsonReader"]
