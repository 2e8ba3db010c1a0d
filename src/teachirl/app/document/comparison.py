"""Two problems or results side by side, as a document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from typing import Any

from ...figures.digits import (
    DIGITS,
    NOTHING,
    ROUNDING,
    SURE,
    at_least,
    at_most,
    number,
    percent_at_least,
    steady,
    steady_loss,
)
from ..decisions import Differing
from .elements import Column, Document, Section, Sentence, Table

EXPERT, OPTIMAL = "the expert", "an optimal policy for the estimate"


def comparison(
    names: tuple[str, str],
    asked: tuple[Differing, ...],
    found: tuple[Differing, ...],
    expert: str = EXPERT,
) -> Document:
    """What two files say differently, and what follows from it.

    Parameters
    ----------
    names : what to call the two
    asked : in what the problem files differ; empty if they are results
    found : in what the results differ
    expert : who stands for the expert in them, see `who_is_shown`

    Returns
    -------
    Document
    """
    told = tuple(each for each in found if len(set(_texts(each))) == 2)
    said, words = "" if told else "Nothing differs.", partial(_words, expert=expert)
    return Document(
        "comparison",
        f"{names[0]} and {names[1]}",
        (
            Section("What is asked", (_table("asked", names, asked, attrgetter("what")),)),
            Section("What is found", (_table("found", names, told, words), Sentence(said))),
        ),
    )


def who_is_shown(*files: Mapping[str, Any]) -> str:
    """Who stands for the expert in results, as JSON has them: nobody saw what one does whose
    weights are inferred, but for the recordings.

    Parameters
    ----------
    files : the results of each problem, by the names of JSON

    Returns
    -------
    str; both, where it differs or cannot be told
    """
    who: dict[str, None] = {}
    for results in files:
        lists = [result.get("expert") for result in results.values()]
        entries = [each for some in lists if isinstance(some, list) for each in some]
        guessed = any(isinstance(each, Mapping) and "recorded" in each for each in entries)
        told = entries or not any(result.get("inferred") for result in results.values())
        who |= {} if guessed else {EXPERT: None}
        who |= {OPTIMAL: None} if guessed or not told else {}
    return " or ".join(who)


def _table(
    key: str,
    names: tuple[str, str],
    rows: tuple[Differing, ...],
    words: Callable[[Differing], str],
) -> Table:
    columns = (
        Column("what", None),
        Column("", "what", value=words),
        Column("", names[0], value=lambda each: _texts(each)[0]),
        Column("", names[1], value=lambda each: _texts(each)[1]),
        Column("first", None),
        Column("second", None),
    )
    return Table("What differs", columns, rows, key)


def _words(row: Differing, expert: str) -> str:
    """What a number of a result is, in the words of the other commands."""
    whose = f"{expert}'s" if expert == EXPERT else f"that of {expert}"
    result, *path = row.path
    about = path[1] if len(path) == 3 else ""
    where = (path[0], path[2]) if len(path) == 3 else tuple(path)
    said = WORDS.get(where)
    if where == ("goals", "guaranteed") and row.most is not None:
        said = f"{{}}, at {'most' if row.most else 'least'}"
    words = (
        said.format(about, expert=expert, whose=whose)
        if said
        else ", ".join(path).replace("_", " ")
    )
    results = ", and ".join(RESULTS.get(each, each) for each in (result, *row.also))
    return f"{results}: {words}"


def _texts(row: Differing) -> tuple[str, str]:
    """Both values, in as many digits as tell them apart, up to what can be told from rounding."""
    for digits in range(DIGITS, SURE + 1):
        texts = _shown(row, row.first, digits), _shown(row, row.second, digits)
        if texts[0] != texts[1]:
            break
    return texts


def _shown(row: Differing, value: Any, digits: int = DIGITS) -> str:
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
    if abs(value) <= ROUNDING * max(*sizes, row.scale):
        value = 0.0
    rounded: Callable[..., str] = ROUNDED.get(name, number)
    if "goals" in above and "guarantee" not in above:  # an amount, guaranteed from either side
        rounded = number
        if name == "guaranteed" and row.most is not None:
            rounded = at_most if row.most else at_least
    if rounded is number and digits == DIGITS and (name in EARNED or above[-1:] == ["reward"]):
        return steady(value)
    if rounded is percent_at_least:
        return percent_at_least(value, digits - DIGITS + 1)
    if name == "loss" and digits == DIGITS:
        return steady_loss(value)
    return rounded(value, digits=digits)


ROUNDED: dict[str, Callable[..., str]] = {
    "guaranteed": percent_at_least,
    **dict.fromkeys(("guaranteed_reward", "reward"), at_least),
    "loss": at_most,
}

# Rewards that are known: written as the other commands do.
EARNED = frozenset({"expert_reward", "shown_reward"})

RESULTS = {"assessment": "as things stand", "plan": "the plan", "frontier": "what can be bought"}

# By where a number stands in JSON; of an entry of a list, by the list and the field.
WORDS = {
    ("guaranteed_reward",): "reward guaranteed",
    ("expert_reward",): "{expert} earns",
    ("loss",): "behind {expert} at most",
    ("most_lost",): "most can be lost through",
    ("risk",): "teaching risk",
    ("stop",): "steps to take",
    ("enough_at_least",): "enough costs at least",
    ("reward", "best"): "the best policy earns",
    ("reward", "worst"): "the worst policy earns",
    ("reward", "expert"): "{expert} earns",
    ("shown_reward",): "what is shown earns",
    ("goals", "wanted"): "{}, asked for",
    ("goals", "guaranteed"): "{}, guaranteed",
    ("goals", "own"): "{}, what is shown has",
    ("goals", "met"): "{}, is it met?",
    ("expert", "weight"): "weight of {}",
    ("expert", "amount"): "{}, {whose}",
    ("expert", "earned"): "{}, what it earns {expert}",
    ("expert", "recorded"): "{}, recorded",
    ("expert", "recorded_earned"): "{}, what it earns in the recordings",
    ("expert", "shown"): "{}, in what is shown",
    ("expert", "shown_earned"): "{}, what it earns in what is shown",
    ("expert", "least"): "{}, the least of all policies",
    ("expert", "most"): "{}, the most of all policies",
    ("differences", "other"): "{}, the worst policy's",
    ("differences", "lost"): "reward lost through {}",
    ("amounts", "expert"): "{}, {whose}, not discounted",
    ("amounts", "worst"): "{}, the worst policy's, not discounted",
    ("sensitivity", "guaranteed"): "guaranteed to learners who miss by {}",
    ("sensitivity", "reward"): "reward guaranteed to learners who miss by {}",
}


__all__ = ["comparison", "who_is_shown"]
