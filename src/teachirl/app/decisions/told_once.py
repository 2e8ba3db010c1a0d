"""Of all in which two results differ, each difference once, what matters most first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .differing import Differing, alike

# What one would decide by, before all else; then what it comes from. Names that are not here come
# between these and those of `LAST`.
FIRST = (
    *("look at the expert first", "guaranteed", "guaranteed_reward", "loss", "most_lost"),
    *("teach", "cost", "goals"),
)
THEN = ("expert_reward", "shown_reward", "reward", "expert", "differences")
LAST = ("sensitivity", "amounts", "risk")

# Of an entry of a list, what follows from another field of it or of its namesake in another list.
FOLLOWS = {
    ("expert", "earned"): ("expert", "amount"),
    ("expert", "shown_earned"): ("expert", "shown"),
    ("expert", "recorded_earned"): ("expert", "recorded"),
    ("differences", "lost"): ("differences", "other"),
    ("amounts", "expert"): ("expert", "amount"),
    ("amounts", "worst"): ("differences", "other"),
    ("sensitivity", "guaranteed"): ("sensitivity", "reward"),
}
# Goals that are about what the whole result says first.
HEADLINES = ("guaranteed", "guaranteed_reward", "loss")


def told_once(found: Sequence[Differing], asked: Sequence[Differing] = ()) -> list[Differing]:
    """What is found, without what is told by another row, and in the order of its weight.

    A row is told by another where that is the same number: a goal that is the headline, a goal or a
    weight that the file asks for. Or where it follows from it: an amount and what it earns,
    discounted or not; a reward and its share. What differs alike in two results is one row.

    Parameters
    ----------
    found : in what results differ, those of a problem as things stand before those of its plan
    asked : in what the problem files differ

    Returns
    -------
    list of Differing

    Examples
    --------
    >>> amount = Differing(("plan", "expert", "ice", "amount"), 1.0, 2.0)
    >>> earned = Differing(("plan", "expert", "ice", "earned"), -3.0, -6.0)
    >>> told_once([earned, amount]) == [amount]
    True
    """
    rows = {each.path: each for each in found}
    left: dict[tuple[str, ...], Differing] = {}
    told: list[Differing] = []
    for row in found:
        twin = next((each for each in left.values() if _is_twin(row, each)), None)
        if twin is not None:
            left[twin.path] = replace(twin, also=(*twin.also, row.path[0]))
        elif _is_told(row, rows, asked) or any(_is_twin(row, each) for each in told):
            told.append(row)
        else:
            left[row.path] = row
    return sorted(left.values(), key=_place)


def _is_twin(row: Differing, other: Differing) -> bool:
    """Whether two results have the same there."""
    return row.path[1:] == other.path[1:] and alike(row, other)


def _is_told(
    row: Differing, rows: dict[tuple[str, ...], Differing], asked: Sequence[Differing]
) -> bool:
    result, *path = row.path
    if len(path) != 3:
        return False
    kind, name, value = path
    if (kind, value) == ("goals", "guaranteed"):
        return any(alike(row, rows.get((result, each))) for each in HEADLINES)
    if (kind, value) in (("goals", "wanted"), ("expert", "weight")):
        return any(name.endswith(each.path[-1]) and alike(row, each) for each in asked)
    source = FOLLOWS.get((kind, value))
    return source is not None and (result, source[0], name, source[1]) in rows


def _place(row: Differing) -> int:
    kind = row.path[1] if len(row.path) > 1 else ""
    if kind in FIRST:
        return -2
    if kind in THEN:
        return -1
    return 1 + LAST.index(kind) if kind in LAST else 0


__all__ = ["told_once"]
