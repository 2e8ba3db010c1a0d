"""How commands print."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import typer

JSON_VERSION = 1  # raised when a field is renamed, removed or given another meaning

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def print_json(name: str, value: Any) -> None:
    """A document with the version of the format, and `value` under its name."""
    document = {"version": JSON_VERSION, name: value}
    typer.echo(json.dumps(document, indent=2, allow_nan=False))


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as their widest entry."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        typer.echo("  ".join(cells).rstrip())
