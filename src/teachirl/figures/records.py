"""What is drawn, as plain records: computed once, drawn by any front end, asserted by tests.

A `Figure` has panels, a panel has marks: `Curve`, `Points`, `Bars`, `Cells`, `Contrast`, `Outline`.
Each mark lists its numbers in `rows`, which become the CSV beside a figure.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

import numpy as np

from ..arrays import Floats, frozen

Row: TypeAlias = tuple[str | float, ...]


# What XML, and so SVG, has no way to write.
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    """A text from a file with a mark in the place of what cannot be printed."""
    return UNPRINTABLE.sub("\ufffd", text)


def _held(mark: object, *names: str) -> None:
    """Keep arrays of a frozen record as read-only floats."""
    for name in names:
        value = getattr(mark, name)
        if value is not None:
            object.__setattr__(mark, name, frozen(np.array(value, dtype=float)))


@dataclass(frozen=True, eq=False)
class Curve:
    """A line through points.

    Attributes
    ----------
    x, y : arrays [n]
    low, high : arrays [n], a band around it; None for none
    stepped : whether it stays as it is until the next point
    """

    header: ClassVar = ("x", "y", "low", "high")
    label: str
    x: Floats
    y: Floats
    low: Floats | None = None
    high: Floats | None = None
    stepped: bool = False

    def __post_init__(self) -> None:
        _held(self, "x", "y", "low", "high")

    def rows(self) -> list[Row]:
        none = np.full(len(self.x), np.nan)
        low = none if self.low is None else self.low
        high = none if self.high is None else self.high
        return list(zip(self.x, self.y, low, high, strict=True))


@dataclass(frozen=True, eq=False)
class Points:
    """Single points; `big` for the few that matter."""

    header: ClassVar = ("x", "y")
    label: str
    x: Floats
    y: Floats
    big: bool = False

    def __post_init__(self) -> None:
        _held(self, "x", "y")

    def rows(self) -> list[Row]:
        return list(zip(self.x, self.y, strict=True))


@dataclass(frozen=True, eq=False)
class Bars:
    """A bar for each category.

    Attributes
    ----------
    categories : n texts
    heights : array [n]
    marked : indices of bars that stand out
    """

    header: ClassVar = ("category", "height")
    label: str
    categories: tuple[str, ...]
    heights: Floats
    marked: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _held(self, "heights")

    def rows(self) -> list[Row]:
        return list(zip(self.categories, self.heights, strict=True))


@dataclass(frozen=True, eq=False)
class Cells:
    """A grid of cells, coloured by value, with texts and arrows in them.

    Attributes
    ----------
    values : array [rows, columns]
    texts : a text a cell, row by row; empty for none
    moves : arrays [n, 4]: row and column of a cell, and of the step from it. None for no arrows
    outlined : cells (row, column) with a dashed frame
    colour_label : what the colours mean
    shaded : whether values are amounts, from white to dark, and not good and bad
    limit : the value of the strongest colour; None for the largest there is
    walls : array [n, 4]: row and column where a wall begins and where it ends, in corners of cells
    row_names, column_names : what to write beside rows and below columns; empty for nothing
    """

    header: ClassVar = ("row", "column", "value", "down", "right")
    label: str
    values: Floats
    texts: tuple[str, ...] = ()
    moves: Floats | None = None
    outlined: tuple[tuple[int, int], ...] = ()
    colour_label: str = "reward"
    shaded: bool = False
    limit: float | None = None
    walls: Floats | None = None
    row_names: tuple[str, ...] = ()
    column_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _held(self, "values", "moves", "walls")

    def rows(self) -> list[Row]:
        moves = {} if self.moves is None else {(i, j): step for i, j, *step in self.moves}
        return [
            (i, j, value, *moves.get((i, j), (np.nan, np.nan)))
            for (i, j), value in np.ndenumerate(self.values)
        ]


@dataclass(frozen=True, eq=False)
class Contrast:
    """Two bars for each category, one above the other, lying.

    Attributes
    ----------
    labels : what the two are
    categories : n texts, from top to bottom
    first, second : arrays [n]
    """

    header: ClassVar = ("category", "first", "second")
    labels: tuple[str, str]
    categories: tuple[str, ...]
    first: Floats
    second: Floats

    def __post_init__(self) -> None:
        _held(self, "first", "second")

    @property
    def label(self) -> str:
        return " and ".join(self.labels)

    def rows(self) -> list[Row]:
        return list(zip(self.categories, self.first, self.second, strict=True))


@dataclass(frozen=True, eq=False)
class Outline:
    """A closed polygon; with one more corner than two it has an inside."""

    header: ClassVar = ("x", "y")
    label: str
    x: Floats
    y: Floats
    filled: bool = False

    def __post_init__(self) -> None:
        _held(self, "x", "y")

    def rows(self) -> list[Row]:
        return list(zip(self.x, self.y, strict=True))


Mark: TypeAlias = Curve | Points | Bars | Cells | Contrast | Outline


@dataclass(frozen=True, eq=False)
class Panel:
    """One system of axes.

    Attributes
    ----------
    title, x_label, y_label : texts; no axes are drawn if both labels are empty
    marks : what is in it
    x_range, y_range : None to fit the marks
    log_x, log_y : whether an axis is logarithmic
    equal : whether both axes have the same scale
    """

    title: str
    x_label: str
    y_label: str
    marks: tuple[Mark, ...]
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    log_x: bool = False
    log_y: bool = False
    equal: bool = False


@dataclass(frozen=True, eq=False)
class Figure:
    """Panels in a row, or in `columns` columns.

    Attributes
    ----------
    name : of the files
    caption : what one sees
    """

    name: str
    caption: str
    panels: tuple[Panel, ...]
    columns: int | None = None

    def table(self) -> tuple[Sequence[str], list[Row]]:
        """Header and rows of everything drawn; a column that a mark does not have stays empty."""
        columns: list[str] = []
        for panel in self.panels:
            for mark in panel.marks:
                columns += [name for name in mark.header if name not in columns]
        rows: list[Row] = []
        for panel in self.panels:
            for mark in panel.marks:
                for row in mark.rows():
                    entries = dict(zip(mark.header, row, strict=True))
                    plain = (entries.get(name, "") for name in columns)
                    rows.append((panel.title, panel.y_label, mark.label, *plain))
        return ("panel", "quantity", "label", *columns), rows


class Verdict(enum.Enum):
    """What came of a claim; it is not judged by results of smaller sizes than it speaks of."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"
    UNJUDGED = "needs the full sizes"

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Claim:
    """A sentence about an experiment, and what was measured.

    Attributes
    ----------
    source : who says it, such as "paper, Figure 3"
    text : the claim
    measured : the numbers
    test : the statistical test, or how it was checked
    verdict : Verdict
    """

    source: str
    text: str
    measured: str
    test: str
    verdict: Verdict


@dataclass(frozen=True, eq=False)
class Findings:
    """What an experiment gives: figures, claims, and tables to be printed (markdown)."""

    figures: tuple[Figure, ...]
    claims: tuple[Claim, ...] = ()
    tables: tuple[str, ...] = field(default=())
