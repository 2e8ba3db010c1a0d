"""How commands print."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import typer

# A name from a file must not break a line, or move the cursor.
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
JSON_VERSION = 1  # raised when a field is renamed, removed or given another meaning

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def print_json(name: str, value: Any) -> None:
    """A document with the version of the format, and `value` under its name."""
    document = {"version": JSON_VERSION, name: value}
    typer.echo(json.dumps(document, indent=2, allow_nan=False))


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as their widest entry."""
    rows = [[CONTROL.sub("\ufffd", cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        typer.echo("  ".join(cells).rstrip())
