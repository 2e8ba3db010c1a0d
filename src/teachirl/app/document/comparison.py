"""Two problems or results side by side, as a document."""

from __future__ import annotations

from typing import Any

from ...figures.digits import NOTHING, at_least, at_most, number
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
        Column("", names[0], value=lambda each: _shown(each.what, each.first)),
        Column("", names[1], value=lambda each: _shown(each.what, each.second)),
        Column("first", None),
        Column("second", None),
    )
    return Table("What differs", columns, rows, key)


def _shown(what: str, value: Any) -> str:
    """A value; what is guaranteed is rounded as all commands do, towards the safe side."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, (int, float)):
        return str(value)
    *above, name = what.split(", ")
    rounded = {} if "goals" in above else ROUNDED  # a limit is guaranteed from either side
    return rounded.get(name, number)(value)


ROUNDED = {
    **dict.fromkeys(("guaranteed", "guaranteed_reward", "reward"), at_least),
    **dict.fromkeys(("loss", "behind"), at_most),
}


__all__ = ["comparison"]
