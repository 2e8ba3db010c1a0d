"""Two problems or results side by side, as a document."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from ...figures.digits import NOTHING, ROUNDING, at_least, at_most, number, percent_at_least
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
        Column("what", None),
        Column("", "what", value=_words if key == "found" else attrgetter("what")),
        Column("", names[0], value=lambda each: _shown(each, each.first)),
        Column("", names[1], value=lambda each: _shown(each, each.second)),
        Column("first", None),
        Column("second", None),
    )
    return Table("What differs", columns, rows, key)


def _words(row: Differing) -> str:
    """What a number of a result is, in the words of the other commands."""
    result, *path = row.path
    about = path[1] if len(path) == 3 else ""
    where = (path[0], path[2]) if len(path) == 3 else tuple(path)
    said = WORDS.get(where)
    words = said.format(about) if said else ", ".join(path).replace("_", " ")
    return f"{RESULTS.get(result, result)}: {words}"


def _shown(row: Differing, value: Any) -> str:
    """A value; what is guaranteed is rounded as all commands do, towards the safe side, and what is
    rounding beside the other is 0."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, (int, float)):
        return str(value)
    *above, name = row.path
    sizes = [abs(x) for x in (row.first, row.second) if isinstance(x, (int, float))]
    if abs(value) <= ROUNDING * max(sizes):
        value = 0.0
    rounded = ROUNDED.get(name, number)
    if "goals" in above and "guarantee" not in above:  # an amount, guaranteed from either side
        rounded = number
        if name == "guaranteed" and row.most is not None:
            rounded = at_most if row.most else at_least
    return rounded(value)


ROUNDED: dict[str, Callable[[float], str]] = {
    "guaranteed": percent_at_least,
    **dict.fromkeys(("guaranteed_reward", "reward"), at_least),
    "loss": at_most,
}

RESULTS = {"assessment": "as things stand", "plan": "the plan", "frontier": "what can be bought"}

# By where a number stands in JSON; of an entry of a list, by the list and the field.
WORDS = {
    ("guaranteed_reward",): "reward guaranteed",
    ("expert_reward",): "the expert earns",
    ("loss",): "behind the expert at most",
    ("most_lost",): "most can be lost through",
    ("risk",): "teaching risk",
    ("stop",): "steps to take",
    ("enough_at_least",): "enough costs at least",
    ("reward", "best"): "the best policy earns",
    ("reward", "worst"): "the worst policy earns",
    ("reward", "expert"): "the expert earns",
    ("goals", "wanted"): "{}, asked for",
    ("goals", "guaranteed"): "{}, guaranteed",
    ("goals", "own"): "{}, what is shown has",
    ("goals", "met"): "{}, is it met?",
    ("expert", "weight"): "weight of {}",
    ("expert", "amount"): "{}, the expert's",
    ("expert", "earned"): "{}, what it earns the expert",
    ("expert", "least"): "{}, the least of all policies",
    ("expert", "most"): "{}, the most of all policies",
    ("differences", "other"): "{}, the worst policy's",
    ("differences", "lost"): "reward lost through {}",
    ("amounts", "expert"): "{}, the expert's, not discounted",
    ("amounts", "worst"): "{}, the worst policy's, not discounted",
    ("sensitivity", "guaranteed"): "guaranteed to learners who miss by {}",
    ("sensitivity", "reward"): "reward guaranteed to learners who miss by {}",
}


__all__ = ["comparison"]
