"""What stands in for something in a problem file, for once: ``--set plan.max_cost=5``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...errors import InvalidInputError, require
from ...files import shown
from .places import Place, dotted, meant

# A part of a key: bare or quoted, with numbers of list entries behind it.
PART = re.compile(r"""([\w-]+|"(?:\\.|[^"\\])*"|'[^']*')((?:\[[0-9]{1,6}\])*)""", re.ASCII)
# What can only be meant as a text, though TOML wants quotes around it, which shells take away.
WORDS = re.compile(r"""[^\s"'\[\]{}=#][^"'\[\]{}=#\n]*""")

Changed: TypeAlias = "tuple[Place, dict[str, Any]]"


@dataclass(frozen=True)
class Change:
    """A value that stands in for that of a problem file.

    Attributes
    ----------
    option : how it was asked for, which is what messages say
    parts : the key's
    value : what TOML has as values
    added : whether `value`, a list, is added to the list that is there
    """

    option: str
    parts: tuple[str | int, ...]
    value: Any
    added: bool = False

    @classmethod
    def set(cls, text: str) -> Change:
        """The change that ``KEY=VALUE`` asks for, with the file's own way to write both.

        Entries of a list are called by their number, or by their ``name``.

        >>> Change.set("plan.max_cost=5")
        Change(option='--set plan.max_cost=5', parts=('plan', 'max_cost'), value=5, added=False)
        >>> Change.set("teach.feature.radar.cost=5").parts
        ('teach', 'feature', 'radar', 'cost')
        >>> Change.set("plan.teacher=TRGreedy").value
        'TRGreedy'
        """
        option = f"--set {text}"
        parts: list[str | int] = []
        place = 0
        while match := PART.match(text, place):
            name, numbers = match.groups()
            parts.append(tomllib.loads(f"value = {name}")["value"] if name[0] in "\"'" else name)
            parts += [int(number) for number in re.findall(r"[0-9]+", numbers)]
            place = match.end()
            if text[place : place + 1] != ".":
                break
            place += 1
        rest = text[place:].lstrip()
        spaced = " " in text.partition("=")[0].strip()
        hint = """; a name with spaces is quoted, as in 'plan.limits."near people"=0.2'"""
        require(
            bool(parts) and rest.startswith("="),
            f"{option}: expected KEY=VALUE, such as plan.max_cost=5{hint if spaced else ''}",
        )
        return cls(option, tuple(parts), _value(rest[1:].strip(), option))

    @classmethod
    def sees(cls, text: str) -> Change:
        """The change that ``NAME,NAME`` asks for: what the learner sees; ``+NAME`` adds to it.

        >>> Change.sees("+radar, lidar").value
        ['radar', 'lidar']
        """
        added = text.startswith("+")
        names = [name.strip() for name in text.removeprefix("+").split(",")]
        names = [] if names == [""] and not added else names
        require("" not in names, f"--sees {text}: expected names with commas between, got none")
        return cls(f"--sees {text}", ("learner", "sees"), names, added)


def _value(text: str, option: str) -> Any:
    """A TOML value; words that are none are a text."""
    require(bool(text), f"{option}: expected a value after =, got none")
    text = re.sub(r"^([+-]?)(\.[0-9]+)$", r"\g<1>0\2", text)  # .5, as shells and people write it
    try:
        found = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError) as error:
        if WORDS.fullmatch(text):
            return text
        raise InvalidInputError(f"{option}: expected a TOML value: {error}") from None
    require(list(found) == ["value"], f"{option}: expected one value, got more")
    return found["value"]


def changed(place: Place, tables: Mapping[str, Any], changes: Iterable[Change]) -> Changed:
    """The tables of a file with these changes, one after the other.

    Parameters
    ----------
    place : Place, the file
    tables : what TOML has of it
    changes : Change, each of which needs the tables and entries that it goes through; a table that
        is not there is made

    Returns
    -------
    pair of a Place that knows which fields were changed and by which option, and of a dict, of
    which only what changes is a copy

    Examples
    --------
    >>> from pathlib import Path
    >>> changes = [Change.set("plan.max_cost=5"), Change.sees("+ice")]
    >>> place, tables = changed(Place(Path("car.toml")), {"plan": {"budget": 3}}, changes)
    >>> tables
    {'plan': {'budget': 3, 'max_cost': 5}, 'learner': {'sees': ['ice']}}
    >>> str(place / "plan" / "max_cost")
    '--set plan.max_cost=5'
    """
    result: Any = dict(tables)
    for change in changes:
        inner: Any = result
        parts: list[str | int] = []
        for depth, part in enumerate(change.parts[:-1]):
            parts.append(key := _key(inner, part, change, depth))
            there = inner[key] if isinstance(inner, list) else inner.get(key, {})
            inner[key] = list(there) if isinstance(there, list) else there
            if isinstance(there, dict):
                inner[key] = dict(there)
            inner = inner[key]
        key = _key(inner, change.parts[-1], change, len(change.parts) - 1)
        parts.append(key)
        if not change.added:
            inner[key] = change.value
            place = place.told_by(change.option, *parts)
            continue
        before = inner.get(key, [])
        require(isinstance(before, list), f"{change.option}: {dotted(parts)} is no list")
        inner[key] = [*before, *change.value]
        for number in range(len(before), len(inner[key])):
            place = place.told_by(change.option, *parts, number)
    return place, result


def _key(inner: Any, part: str | int, change: Change, depth: int) -> Any:
    """The key, or the number, of what a part of a key names."""
    here = dotted(change.parts[:depth])
    if isinstance(inner, list):
        if isinstance(part, int):
            entries = f"{len(inner)} {'entry' if len(inner) == 1 else 'entries'}, counted from 0"
            require(part < len(inner), f"{change.option}: {here} has {entries}")
            return part
        names = [each.get("name") if isinstance(each, dict) else None for each in inner]
        known = [name for name in names if isinstance(name, str)]
        require(
            part in known, f"{change.option}: {here} has no entry {shown(part)}{meant(part, known)}"
        )
        return names.index(part)
    require(
        isinstance(inner, dict) and isinstance(part, str),
        f"{change.option}: {here} is {shown(inner)}, in which there is no {shown(part)}",
    )
    return part


__all__ = ["Change", "changed"]
