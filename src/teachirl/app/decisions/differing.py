"""Where two results, as JSON has them, differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from ...figures.digits import percent
from ...precision import INVISIBLE

# What is longer is a sentence, and said in numbers as well.
LONGEST = 80
# Of a result, what follows from the rest, or is not news: whole policies, simulations, proofs.
LEFT_OUT = frozenset(
    {
        *("below", "blind_spot", "guarantees", "learners", "looks", "mismatch", "nearness"),
        *("notes", "optimal", "policy", "relative_risk", "steps", "title", "weights"),
        "worst_policy",
    }
)
# Of the entries of its lists, what others say as well, or their names do.
REPEATED = {"differences": ("weight", "expert"), "goals": ("missing",), "sensitivity": ("share",)}
# What a goal goes by: two that differ in it are two.
GOAL = ("kind", "feature", "at_most")


@dataclass(frozen=True)
class Differing:
    """A value that differs.

    Attributes
    ----------
    path : where it stands, from the outside in
    first, second : the values; None where there is none
    most : whether what is guaranteed there is so much at most; None where nothing is said of it
    scale : the size of numbers beside which others are rounding
    also : other results in which the same differs
    """

    path: tuple[str, ...]
    first: Any
    second: Any
    most: bool | None = field(default=None, compare=False, repr=False)
    scale: float = field(default=0.0, compare=False, repr=False)
    also: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @property
    def what(self) -> str:
        """The path in one line, as JSON has it."""
        return ", ".join(self.path)


def differing(
    first: Any,
    second: Any,
    path: tuple[str, ...] = (),
    scale: float | None = None,
    most: bool | None = None,
) -> Iterator[Differing]:
    """The numbers, short texts and truths in which two results differ, in their order.

    Parameters
    ----------
    first, second : what JSON has: objects, lists and values. Entries of lists go by their ``name``,
        or ``kind`` and ``feature``, if they have one of their own, or by their number
    path : where they stand
    scale : the size of numbers beside which others are rounding; by default the largest of them
    most : as in `Differing`

    Returns
    -------
    iterator of Differing; numbers that differ by rounding are left out

    Examples
    --------
    >>> list(differing({"reward": {"best": 1.0}}, {"reward": {"best": 2.0}}))
    [Differing(path=('reward', 'best'), first=1.0, second=2.0)]
    """
    if scale is None:
        scale = max(_largest(first), _largest(second))
    if isinstance(first, (Mapping, list)) or isinstance(second, (Mapping, list)):
        one, other = _entries(first), _entries(second)
        side = one.get("at_most", other.get("at_most"))
        most = side if isinstance(side, bool) else None  # a goal says so
        for key in [*one, *(key for key in other if key not in one)]:
            if most is not None and key in GOAL:
                continue
            yield from differing(one.get(key), other.get(key), (*path, key), scale, most)
        return
    if not _same(first, second, scale):
        yield Differing(tuple(filter(None, path)), first, second, most, scale)


def news(result: Mapping[str, Any]) -> dict[str, Any]:
    """Of a result, as JSON has it, what one compares.

    Parameters
    ----------
    result : what JSON has of an assessment, a plan or a frontier

    Returns
    -------
    dict, without what follows from the rest; what to teach stands in for all steps, the name of
        what most can be lost through for its numbers, and whether there are doubts about the
        expert for what they are

    Examples
    --------
    >>> news({"cost": 3.0, "stop": 1, "steps": [{"name": ""}, {"name": "ice"}, {"name": "fog"}]})
    {'cost': 3.0, 'stop': 1, 'teach': ['ice']}
    """
    found = {key: value for key, value in result.items() if key not in LEFT_OUT}
    if "doubts" in found:
        found["look at the expert first"] = bool(found.pop("doubts"))
    if "expert_reward" in found and isinstance(found.get("reward"), Mapping):
        found["reward"] = {key: x for key, x in found["reward"].items() if key != "expert"}
    if isinstance(lost := found.get("most_lost"), Mapping):
        found["most_lost"] = lost.get("name")
    for key, repeated in REPEATED.items():
        if isinstance(entries := found.get(key), list):
            found[key] = [_entry(each, repeated) for each in entries if not _is_exact(each)]
    if "steps" in result and "stop" in result:
        taken = result["steps"][1 : result["stop"] + 1]
        found["teach"] = [step.get("name", "") for step in taken] or ["(nothing)"]
    return found


def both_news(
    first: Mapping[str, Any], second: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The `news` of two results, about the same features.

    Of a feature in which the worst policy of one of them does not differ from the expert, it has
    what the expert has; of which only one tells is left out.

    Parameters
    ----------
    first, second : what JSON has of two results

    Returns
    -------
    tuple of dict

    Examples
    --------
    >>> expert, differ = {"name": "ice", "amount": 2.0}, {"name": "ice", "other": 5.0, "lost": 3.0}
    >>> one = {"expert": [expert], "worst_policy": [1], "differences": [differ]}
    >>> both_news(one, {**one, "differences": []})[1]["differences"]
    [{'name': 'ice', 'other': 2.0, 'lost': 0.0}]
    """
    found = news(first), news(second)
    for key in ("differences", "amounts"):
        lists = [each.get(key) for each in found]
        if not all(isinstance(each, list) and all(map(_called, each)) for each in lists):
            continue
        told = [{_called(each): each for each in result[key]} for result in found]
        if key == "differences":
            for known, others, result in zip(told, told[::-1], (first, second), strict=True):
                known |= _as_the_expert(result, others.keys() - known.keys())
        for result, known, others in zip(found, told, told[::-1], strict=True):
            result[key] = [each for name, each in known.items() if name in others]
    return found


def alike(row: Differing, other: Differing | None) -> bool:
    """Whether two rows have the same two values, up to rounding.

    Parameters
    ----------
    row, other : Differing; None is like nothing

    Returns
    -------
    bool
    """
    if other is None:
        return False
    scale = max(row.scale, other.scale)
    return _same(row.first, other.first, scale) and _same(row.second, other.second, scale)


def _as_the_expert(result: Mapping[str, Any], names: Set[str]) -> dict[str, Any]:
    """What a worst policy has of features that count and are not among its differences."""
    entries = result.get("expert") if result.get("worst_policy") else None
    return {
        name: {"name": name, "other": each.get("shown", each.get("amount")), "lost": 0.0}
        for each in (entries if isinstance(entries, list) else ())
        if (name := _called(each)) in names
    }


def _entry(entry: Any, repeated: tuple[str, ...]) -> Any:
    """An entry of a list without what is repeated; a share is what it goes by."""
    if not isinstance(entry, Mapping):
        return entry
    name = {"name": percent(entry["share"])} if isinstance(entry.get("share"), float) else {}
    return name | {key: value for key, value in entry.items() if key not in repeated}


def _is_exact(entry: Any) -> bool:
    """Whether an entry is about learners who miss by nothing, of whom the rest tells."""
    return isinstance(entry, Mapping) and entry.get("share") == 0.0


def _entries(value: Any) -> dict[str, Any]:
    """The entries of an object or a list, by what they are called."""
    if isinstance(value, Mapping):
        return {key: each for key, each in value.items() if key != "name"}
    if not isinstance(value, list):
        return {}
    if value and all(isinstance(each, str) for each in value):
        return {"": ", ".join(value)}
    names = [_called(each) for each in value]
    if not all(names) or len(set(names)) < len(names):
        names = [str(i) for i in range(len(value))]
    return dict(zip(names, value, strict=True))


def _called(entry: Any) -> str:
    """What an entry of a list goes by: its name or, as a goal, its kind and feature."""
    if not isinstance(entry, Mapping):
        return ""
    parts = entry.get("name"), entry.get("kind"), entry.get("feature")
    return " ".join(str(each) for each in parts[: 1 if parts[0] else None] if each)


def _largest(value: Any) -> float:
    if isinstance(value, (Mapping, list)):
        inner = value.values() if isinstance(value, Mapping) else value
        return max(map(_largest, inner), default=0.0)
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return abs(value) if number else 0.0


def _same(first: Any, second: Any, scale: float) -> bool:
    if any(isinstance(each, str) and len(each) > LONGEST for each in (first, second)):
        return True
    for each in (first, second):
        if isinstance(each, bool) or not isinstance(each, (int, float)):
            return bool(first == second)
    return bool(abs(first - second) <= INVISIBLE * scale)


__all__ = ["Differing", "alike", "both_news", "differing", "news"]
