"""What stands in for wrong fields of a problem file, so that all others can be looked at.

The file is refused anyway: no stand-in is ever computed with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from .places import similar
from .schema import ProblemFile

# A number that discounts, costs and weights can all be.
NUMBER = 0.5


def mended(
    tables: Mapping[str, Any],
    mistakes: Iterable[Any],
    keys: Callable[[Iterable[str | int]], list[str]],
) -> tuple[dict[str, Any], set[str]]:
    """Tables without the mistakes, and the names of those that had to be left out as a whole.

    A key that does not exist is taken for the one that it is written like, if there is one; a
    number stands in for one that matters to nothing else, and nothing for a key of ``[plan]``,
    which do not depend on each other.

    Parameters
    ----------
    tables : what TOML has of the file
    mistakes : Pydantic's accounts of what is wrong
    keys : which keys the table could have that stands at some place
    """
    rest, wrong, copies = dict(tables), set[str](), dict[int, Any]()
    # What a key was meant for may be missing no more.
    for mistake in sorted(mistakes, key=lambda each: each["type"] != "extra_forbidden"):
        *outer, key = mistake["loc"]
        table = _copied(rest, outer, copies)
        if mistake["type"] == "extra_forbidden" and isinstance(table, dict):
            value, meant = table.pop(key), similar(key, keys(outer))
            if meant is not None:
                table.setdefault(meant, value)
        elif isinstance(table, dict) and (key in ("discount", "cost") or outer[-1:] == ["weights"]):
            table[key] = NUMBER
        elif outer[:1] == ["plan"]:
            rest["plan"].pop((*outer, key)[1], None)
        elif mistake["type"] != "missing" or not isinstance(table, dict) or key not in table:
            wrong.add(str(mistake["loc"][0]))
    while True:
        left = {"learner": {"sees": []}} | {k: v for k, v in rest.items() if k not in wrong}
        try:
            ProblemFile.model_validate(left)
            return left, wrong
        except ValidationError as error:
            also = {str(each["loc"][0]) for each in error.errors()} - wrong
            if not also:
                return left, wrong | {"world"}
            wrong |= also


def _copied(rest: Any, parts: Iterable[str | int], copies: dict[int, Any]) -> Any:
    """What stands at a place, which with all around it is a copy; None if nothing does."""
    inner = rest
    for part in parts:
        there = part in inner if isinstance(inner, dict) else isinstance(inner, list)
        if not there:
            return None
        each = inner[part]
        if isinstance(each, (dict, list)) and id(each) not in copies:
            each = inner[part] = each.copy()
            copies[id(each)] = each
        inner = each
    return inner


__all__ = ["mended"]
