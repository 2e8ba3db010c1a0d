"""Documents as plain text on stdout, one section after the other."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

import typer

from ...errors import one_line
from ..document.elements import Bullets, Document, Element, Facts, Section, Sentence, Table


def print_document(
    document: Document, making_room: Callable[[], AbstractContextManager[None]] = nullcontext
) -> None:
    """Print the title, and each section as soon as it is there.

    Parameters
    ----------
    document : Document
    making_room : what is entered while something is printed
    """
    lines = [one_line(document.title)]
    for section in document.sections:
        lines += _section_lines(section)
        with making_room():
            for line in lines:
                typer.echo(line)
            sys.stdout.flush()
        lines = []


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as their widest entry; the first row is the header."""
    for line in table_lines(rows):
        typer.echo(line)


def table_lines(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a table, its columns as wide as their widest entry.

    >>> list(table_lines([("name", "n"), ("a", "10")]))
    ['name  n', 'a     10']
    """
    rows = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def _section_lines(section: Section) -> Iterator[str]:
    """An empty line, the heading and what is below it; nothing if that is nothing."""
    parts = [(element, list(_lines(element))) for element in section.elements]
    parts = [(element, lines) for element, lines in parts if lines]
    if parts:
        yield from ("", one_line(section.title))
    for number, (element, lines) in enumerate(parts):
        # A section brings an empty line of its own.
        if number and isinstance(parts[number - 1][0], Table) and not isinstance(element, Section):
            yield ""
        yield from lines


def _lines(element: Element) -> Iterator[str]:
    match element:
        case Sentence() if element.text:
            yield one_line(element.text)
        case Bullets():
            yield from (f"- {one_line(each.text)}" for each in element.sentences if each.text)
        case Facts() if element.facts:
            yield from table_lines([(each.label, each.show(each.value)) for each in element.facts])
        case Table() if element.rows and element.shown:
            header = [column.heading or "" for column in element.shown]
            rows = element.rows[: element.brief]
            cells = [[column.cell(row) for column in element.shown] for row in rows]
            yield from table_lines([header, *cells])
            if len(rows) < len(element.rows):
                yield f"… and {len(element.rows) - len(rows)} more, see --json"
        case Section():
            yield from _section_lines(element)


__all__ = ["print_document", "print_table"]
