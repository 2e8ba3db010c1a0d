"""What a document is made of: typed elements that hold raw values and say how to show them.

Three renderers print them: `render/console.py`, `render/json.py` and `render/html.py`. What has a
`key` is in the JSON; `Data` is there alone, `Figure`, `Explanation`, `Folded` and `Code` are on the
page alone, and everything else is on the page and on the console.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeAlias

from ...figures.records import Panel


@dataclass(frozen=True)
class Sentence:
    """A sentence, or a few; empty if there is nothing to say."""

    text: str
    key: str = ""


@dataclass(frozen=True)
class Bullets:
    """Sentences one below the other; with a key, JSON has them as a list of that name."""

    sentences: tuple[Sentence, ...]
    key: str = ""


@dataclass(frozen=True)
class Fact:
    """A number that matters: its label, its value, and how to show it."""

    label: str
    value: Any
    show: Callable[[Any], str]
    key: str = ""


@dataclass(frozen=True)
class Facts:
    """Numbers that matter."""

    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    key : its name in JSON; empty if it is not there
    heading : what stands above it; None if it is in the JSON alone
    show : what to print of a value
    value : the value of a row; by default its attribute of the name `key`
    """

    key: str
    heading: str | None
    show: Callable[[Any], str] = str
    value: Callable[[Any], Any] | None = None

    def of(self, row: Any) -> Any:
        """The raw value of a row."""
        return attrgetter(self.key)(row) if self.value is None else self.value(row)

    def cell(self, row: Any) -> str:
        """What to print of a row."""
        return self.show(self.of(row))


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of any kind, with columns that know how to read and to show them.

    Attributes
    ----------
    caption : what it is a table of
    columns : Column; the first that is shown names the rows
    rows : records
    key : its name in JSON; empty if it is not there
    brief : how many rows are enough on a console; None for all of them
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Any, ...]
    key: str = ""
    brief: int | None = None

    @property
    def shown(self) -> tuple[Column, ...]:
        """The columns that are printed."""
        return tuple(column for column in self.columns if column.heading is not None)


@dataclass(frozen=True, eq=False)
class Figure:
    """Panels that are shown side by side where there is room.

    Attributes
    ----------
    title : what its numbers are called
    caption : what one sees in all of them
    panels : Panel, each drawn by itself below its title
    alts : for each panel, what it shows to those who do not see it
    numbers : Table of its numbers; None if they are in a table beside it
    """

    title: str
    caption: str
    panels: tuple[Panel, ...]
    alts: tuple[str, ...]
    numbers: Table | None = None


@dataclass(frozen=True)
class Explanation:
    """What a term means, for those who read at leisure; an `aside` says what it is here."""

    text: str
    aside: bool = False


@dataclass(frozen=True)
class Code:
    """A text to be copied as it is."""

    text: str


@dataclass(frozen=True, eq=False)
class Folded:
    """A table that is unfolded on demand."""

    title: str
    table: Table


@dataclass(frozen=True, eq=False)
class Data:
    """What only programs read; computed when it is asked for."""

    key: str
    compute: Callable[[], Any]


@dataclass(frozen=True, eq=False)
class Section:
    """A heading, and what stands below it: elements and further sections."""

    title: str
    elements: tuple[Element, ...]


# The numbers and the sentences that matter most.
Headline: TypeAlias = tuple[tuple[Fact, ...], tuple[Sentence, ...]]
Element: TypeAlias = (
    Sentence | Bullets | Facts | Table | Figure | Explanation | Code | Folded | Data | Section
)


@dataclass(frozen=True, eq=False)
class Document:
    """A title, and sections that may come one after the other.

    Attributes
    ----------
    name : what the JSON calls it
    title : of the problem
    sections : Section, in the order in which they are printed
    """

    name: str
    title: str
    sections: Iterable[Section]


__all__ = [
    "Bullets",
    "Code",
    "Column",
    "Data",
    "Document",
    "Element",
    "Explanation",
    "Fact",
    "Facts",
    "Figure",
    "Folded",
    "Headline",
    "Section",
    "Sentence",
    "Table",
]
