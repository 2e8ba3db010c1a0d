"""What there is in a world, as a document."""

from __future__ import annotations

import math
from dataclasses import asdict

from ...figures.digits import NOTHING, counted, money, number
from ..decisions import FeatureRange, WorldAccount
from .elements import Column, Data, Document, Fact, Facts, Section, Sentence, Table


def described(title: str, found: WorldAccount) -> Document:
    """A world, before anything is asked about it.

    Parameters
    ----------
    title : what to call it
    found : WorldAccount

    Returns
    -------
    Document
    """
    unreachable = found.states - found.reachable
    facts = (
        Fact("states", found.states, str, "states"),
        Fact("of them never reached", unreachable, str, "never_reached"),
        Fact("state-action pairs", found.pairs, str, "pairs"),
        Fact("transitions", found.transitions, str, "transitions"),
        Fact("discount", found.discount, lambda x: f"{x:g}", "discount"),
        Fact("episodes", found.ends, lambda x: "end" if x else "go on for ever", "ends"),
        Fact("actions lead", found.chance, _where, "chance"),
        Fact("components", found.components, lambda _: _components(found), "components"),
        Fact("a plan takes about", found.seconds, _seconds, "seconds"),
    )
    said = (
        "A worst case takes some 20 to 150 plans, a frontier of n features that of a few of its "
        "2ⁿ sets."
    )
    there = found.features
    weighed = any(each.weight is not None for each in there)
    priced = any(each.price is not None for each in there)
    table = Table(
        "Features",
        (
            Column("name", "feature"),
            Column("weight", "weight" if weighed else None, _or_nothing),
            Column("price", "price" if priced else None, lambda x: "" if x is None else money(x)),
            Column("low", None),
            Column("high", None),
            Column("", "in a step", value=lambda each: _range(each.low, each.high)),
            Column("least", None),
            Column("most", None),
            Column("", "policies have", value=lambda each: _range(each.least, each.most)),
        ),
        there,
        "features",
        brief=40,
    )
    sections = (
        Section("The world", (Facts(facts), Sentence(found.note, "note"), Sentence(said))),
        Section(
            counted(len(there), "feature"),
            (table, Sentence(_idle(there)), Data("largest", lambda: asdict(found)["largest"])),
        ),
    )
    return Document("world", title, sections)


def _where(chance: bool) -> str:
    return "where chance has it, somewhere" if chance else "to one state each"


def _components(found: WorldAccount) -> str:
    if found.components == 1:
        return "1: every state can be reached from every other"
    return f"{found.components}, the largest of {counted(found.largest, 'state')}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds >= 0.001 else "less than a millisecond"


def _or_nothing(value: float | None) -> str:
    return "" if value is None else number(value)


def _range(low: float, high: float) -> str:
    if not math.isfinite(low):
        return NOTHING
    return number(low) if low == high else f"{number(low)} … {number(high)}"


def _idle(features: tuple[FeatureRange, ...]) -> str:
    """Those that are the same whatever one does."""
    names = [each.name for each in features if each.most - each.least <= 1e-9 * abs(each.most)]
    if not names:
        return ""
    few = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return f"The same whatever one does: {few}."


__all__ = ["described"]
