"""Two problems or results side by side, as a document."""

from __future__ import annotations

from typing import Any

from ...figures.digits import NOTHING, number
from ..decisions import Differing
from .elements import Column, Document, Section, Sentence, Table


def comparison(
    names: tuple[str, str], asked: tuple[Differing, ...], found: tuple[Differing, ...]
) -> Document:
    """What two files say differently, and what follows from it.

    Parameters
    ----------
    names : what to call the two
    asked : in what the problem files differ; empty if they are results
    found : in what the results differ

    Returns
    -------
    Document
    """
    said = "" if found else "Nothing differs."
    return Document(
        "comparison",
        f"{names[0]} and {names[1]}",
        (
            Section("What is asked", (_table("asked", names, asked),)),
            Section("What is found", (_table("found", names, found), Sentence(said))),
        ),
    )


def _table(key: str, names: tuple[str, str], rows: tuple[Differing, ...]) -> Table:
    columns = (
        Column("what", "what"),
        Column("first", names[0], _shown),
        Column("second", names[1], _shown),
    )
    return Table("What differs", columns, rows, key)


def _shown(value: Any) -> str:
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, (int, float)) else str(value)


__all__ = ["comparison"]
