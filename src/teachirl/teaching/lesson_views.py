"""A lesson as people look at it: a table in a terminal or a notebook, a picture, a data frame."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import MissingExtraError
from ..figures.cards import Grid, card
from ..figures.digits import percent, percent_at_least, share_at_least, share_at_most, small
from ..figures.picture import Picture
from ..figures.records import Curve, Figure, Panel
from ..precision import SEARCH_TIE
from .lesson_record import LessonStatus, Round

if TYPE_CHECKING:
    from .lesson import Lesson

HEADS = (
    *("", "taught", "cost", "risk", "mismatch", "performance", "guaranteed"),
    *("at most", "gap", ""),
)
# Columns are at least so wide: tables of different lessons are alike.
LEAST = (3, 6, 8, 5, 9, 11, 10, 7, 6, 1)
ALWAYS = 7
# A learner who is above what is guaranteed by more than this could as well have done worse.
LUCK = 5e-3


def lesson_text(lesson: Lesson) -> str:
    """The rounds as a table, why the lesson ended, and what is to be noted."""
    lines, table = [], _table(lesson.rounds)
    longest = max(len(row[1]) for row in table)
    for row in table:
        cells = [
            f"{cell:<{longest}}" if place == 1 else f"{cell:>{LEAST[place]}}"
            for place, cell in row.items()
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join([*lines, f"ended: {lesson.status}", *_footnotes(lesson)])


def lesson_card(lesson: Lesson) -> str:
    """The same for a notebook."""
    heads, *rows = (tuple(row.values()) for row in _table(lesson.rounds))
    notes = (f"Ended: {lesson.status}.", *_footnotes(lesson))
    return card("Lesson", grid=Grid(heads, rows), notes=notes)


def _table(rounds: Sequence[Round]) -> list[dict[int, str]]:
    """The heads, and then each round: a text a column, by its place, if the column is needed."""
    rows = [dict(enumerate(HEADS))]
    for number, each in enumerate(rounds):
        # That of a plan found to be optimal is above 0 only by rounding.
        short = "< 1e-5" if each.gap < 1e-5 else f"{each.gap:.2g}"
        cells = (
            str(number),
            f"{each.name} (has it)" if each.found else each.name or "(nothing yet)",
            f"{each.cost:.6g}",
            f"{each.risk:.3f}",
            small(each.mismatch),
            share_at_least(each.performance),
            "" if math.isnan(each.guaranteed) else share_at_least(each.guaranteed),
            "" if math.isnan(each.guaranteed_at_most) else share_at_most(each.guaranteed_at_most),
            "" if math.isnan(each.gap) else short,
            "*" if _is_below(each) else "",
        )
        rows.append(dict(enumerate(cells)))
    for place in range(ALWAYS, len(HEADS)):
        if not any(row[place] for row in rows[1:]):
            for row in rows:
                del row[place]
    return rows


def _is_below(each: Round) -> bool:
    """Whether the learner does worse than those do who match: so it does not."""
    return each.performance < each.guaranteed - SEARCH_TIE


def _footnotes(lesson: Lesson) -> list[str]:
    notes, last = [], lesson.rounds[-1]
    below = [each for each in lesson.rounds if _is_below(each)]
    if below:
        notes.append(
            "* guaranteed to whoever matches what is shown; this learner does not, and does worse: "
            f"certify(…, mismatch={below[-1].mismatch:.2g}) says what is guaranteed to whoever "
            "comes as near"
        )
    if lesson.status is LessonStatus.LEARNED and last.guaranteed < last.performance - LUCK:
        notes.append(
            f"that is this learner's luck: to all who match what is shown only "
            f"{share_at_least(last.guaranteed)} is guaranteed; teach(…, until=p) teaches on until "
            "p is, and teach(…, tolerance=-1) as long as something helps"
        )
    return notes


def lesson_picture(lesson: Lesson) -> Picture:
    """Performance and teaching risk, by what was paid or by how many features were taught."""
    task, rounds = lesson.task, lesson.rounds
    paid = bool((task.costs != task.costs[:1]).any())
    x = np.array([each.cost for each in rounds] if paid else range(len(rounds)), dtype=float)
    x_label = "cost so far" if paid else "features taught"
    performance = np.array([each.performance for each in rounds])
    guaranteed = np.array([each.guaranteed for each in rounds])
    curves = [Curve("this learner", x, performance)]
    if not np.isnan(guaranteed).all():
        curves.insert(0, Curve("guaranteed to whoever matches", x, guaranteed))
    risk = np.array([each.risk for each in rounds])
    panels = (
        Panel("Performance", x_label, "relative performance", tuple(curves), y_range=_zoom(curves)),
        Panel("Teaching risk", x_label, "teaching risk", (Curve("", x, risk),), y_range=(0, 1.03)),
    )
    first, last = rounds[0], rounds[-1]
    alts = (
        f"The learner's performance goes from {percent(first.performance)} to "
        f"{percent(last.performance)}, what is guaranteed from "
        f"{percent_at_least(first.guaranteed)} to {percent_at_least(last.guaranteed)}.",
        f"The teaching risk goes from {first.risk:.3f} to {last.risk:.3f}.",
    )
    names = ", ".join(each.name for each in rounds[1:]) or "nothing"
    caption = (
        f"Taught: {names}. Performance is relative: the best policy has 1, the worst 0. Ended: "
        f"{lesson.status}."
    )
    return Picture(Figure("lesson", caption, panels), alts)


def _zoom(curves: Sequence[Curve]) -> tuple[float, float]:
    """The range in which the curves are, with some room around it."""
    values = np.concatenate([curve.y[~np.isnan(curve.y)] for curve in curves])
    low, high = float(values.min()), float(values.max())
    room = 0.06 * max(high - low, 0.1)
    return low - room, high + room


def lesson_frame(lesson: Lesson) -> Any:
    """A row a round, as a data frame of pandas or, if that is not there, of polars."""
    names = [field.name for field in fields(Round) if field.name != "scores"]
    columns = {name: [getattr(each, name) for each in lesson.rounds] for name in names}
    try:
        import pandas
    except ImportError:
        try:
            import polars
        except ImportError as error:
            raise MissingExtraError("pandas or polars", "frame") from error
        return polars.DataFrame({"round": range(len(lesson.rounds)), **columns})
    taught = pandas.array(columns.pop("taught"), dtype="Int64")  # there is none in round 0
    made = pandas.DataFrame({"taught": taught, **columns})
    made.index.name = "round"
    return made


__all__ = ["lesson_card", "lesson_frame", "lesson_picture", "lesson_text"]
