"""Figures drawn with matplotlib, for a column of a paper or the width of a page.

The colours are Okabe and Ito's, which most people can tell apart; line styles and markers tell
curves apart without colour. Every figure is written as PDF, SVG and PNG, with a CSV of its numbers.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import MissingExtraError
from ..storage import replacing
from .records import Bars, Cells, Curve, Figure, Mark, Outline, Panel, Points

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
# Blue is good and red is bad, as in the paper; both ends stay apart for the colour-blind.
DIVERGING = "RdBu"
# Inches; a panel that is alone is wider, and has its legend below it.
PANEL_WIDTH, PANEL_HEIGHT, ALONE = 2.9, 2.3, 3.6
SETTINGS: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "teachirl",
    "pdf.fonttype": 42,
}
SUFFIXES = ("pdf", "svg", "png")


def write_figure(figure: Figure, folder: Path) -> list[Path]:
    """Draw a figure to folder/name.pdf, .svg and .png, and its numbers to .csv; atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    with _drawn(figure) as drawing:
        for suffix in SUFFIXES:
            path = folder / f"{figure.name}.{suffix}"
            # Without a date, equal figures are equal files.
            undated = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(suffix)
            with replacing(path) as file:
                drawing.savefig(file, format=suffix, dpi=200, metadata=undated)
            paths.append(path)
    path = folder / f"{figure.name}.csv"
    with replacing(path) as file:
        file.write(csv_text(figure).encode())
    return [*paths, path]


def csv_text(figure: Figure) -> str:
    """Everything that is drawn, as CSV."""
    header, rows = figure.table()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([_entry(value) for value in row])
    return text.getvalue()


def _entry(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return "" if math.isnan(value) else repr(float(value))


@contextmanager
def _drawn(figure: Figure) -> Iterator[Any]:
    try:
        import matplotlib
        from matplotlib.figure import Figure as Canvas
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot") from error
    columns = figure.columns or len(figure.panels)
    rows = math.ceil(len(figure.panels) / columns)
    heights = [
        max(
            _height(panel, columns == 1)
            for panel in figure.panels[row * columns : (row + 1) * columns]
        )
        for row in range(rows)
    ]
    with matplotlib.rc_context(SETTINGS):
        width = PANEL_WIDTH * columns if columns > 1 else ALONE
        canvas = Canvas(figsize=(width, sum(heights)), layout="constrained")
        axes = canvas.subplots(rows, columns, squeeze=False, height_ratios=heights)
        places = [axis for row in axes for axis in row]
        for axis in places[len(figure.panels) :]:
            axis.set_axis_off()
        for axis, panel in zip(places, figure.panels, strict=False):
            _draw_panel(axis, panel)
        _legend(canvas, places[: len(figure.panels)])
        yield canvas


def _height(panel: Panel, alone: bool) -> float:
    """Inches; a row of cells needs less than a curve."""
    mark = panel.marks[0]
    if isinstance(mark, Cells):
        rows, columns = mark.values.shape
        return 0.45 + 0.9 * PANEL_WIDTH * float(rows / columns)
    return PANEL_HEIGHT if not alone else PANEL_HEIGHT + 0.18 * len(panel.marks)


def _legend(canvas: Any, axes: list[Any]) -> None:
    """One legend for all panels if they show the same things, otherwise one in each."""
    entries = [axis.get_legend_handles_labels() for axis in axes]
    labels = [tuple(label) for _, label in entries if label]
    if not labels:
        return
    if len(set(labels)) == 1:
        handles, texts = next(entry for entry in entries if entry[1])
        if len(texts) > 1 or len(axes) == 1:
            columns = 1 if len(axes) == 1 else len(texts)
            canvas.legend(handles, texts, loc="outside lower center", ncols=columns, frameon=False)
        return
    for axis, (_, texts) in zip(axes, entries, strict=True):
        if texts:
            axis.legend(frameon=False)


def _draw_panel(axis: Any, panel: Panel) -> None:
    for place, mark in enumerate(panel.marks):
        _DRAW[type(mark)](axis, mark, place)
    axis.set_title(panel.title)
    if not panel.x_label and not panel.y_label:
        axis.set_xticks([])
        axis.set_yticks([])
        for spine in axis.spines.values():
            spine.set_visible(False)
        return
    axis.set_xlabel(panel.x_label)
    axis.set_ylabel(panel.y_label)
    if panel.log_x:
        axis.set_xscale("log")
    if panel.log_y:
        axis.set_yscale("log")
    if panel.x_range is not None:
        axis.set_xlim(*panel.x_range)
    if panel.y_range is not None:
        axis.set_ylim(*panel.y_range)
    if panel.equal:
        axis.set_aspect("equal")


def _curve(axis: Any, mark: Curve, place: int) -> None:
    colour = COLOURS[place % len(COLOURS)]
    every = max(1, len(mark.x) // 7)
    axis.plot(
        mark.x,
        mark.y,
        color=colour,
        linestyle=STYLES[place % len(STYLES)],
        marker=MARKERS[place % len(MARKERS)],
        markevery=(place % every, every),
        markersize=3.5,
        linewidth=1.3,
        label=mark.label,
    )
    if mark.low is not None and mark.high is not None:
        axis.fill_between(mark.x, mark.low, mark.high, color=colour, alpha=0.13, linewidth=0)


def _points(axis: Any, mark: Points, place: int) -> None:
    if mark.big:
        look = {"marker": "D", "s": 42, "color": COLOURS[1], "zorder": 4}
    else:
        look = {"marker": "o", "s": 8, "color": COLOURS[0], "alpha": 0.5, "linewidths": 0}
    axis.scatter(mark.x, mark.y, label=mark.label, **look)


def _bars(axis: Any, mark: Bars, place: int) -> None:
    colours = ["#9ecae1"] * len(mark.heights)
    for index in mark.marked:
        colours[index] = COLOURS[0]
    x = np.arange(len(mark.heights))
    axis.bar(x, mark.heights, color=colours, edgecolor="black", linewidth=0.3)
    every = max(1, math.ceil(len(x) / 6))
    shown = sorted({*x[::every].tolist(), *mark.marked} - _crowded(mark.marked, x[::every]))
    axis.set_xticks(shown, [mark.categories[index] for index in shown], fontsize=7)


def _crowded(marked: tuple[int, ...], regular: Any) -> set[int]:
    """Regular ticks that would touch those of the marked bars."""
    return {int(x) for x in regular if any(0 < abs(x - each) < 2 for each in marked)} - set(marked)


def _cells(axis: Any, mark: Cells, place: int) -> None:
    limit = float(np.abs(mark.values).max()) or 1.0
    axis.imshow(mark.values, cmap=DIVERGING, vmin=-2 * limit, vmax=2 * limit, aspect="equal")
    rows, columns = mark.values.shape
    for line in range(columns + 1):
        axis.axvline(line - 0.5, color="black", linewidth=0.5)
    for line in range(rows + 1):
        axis.axhline(line - 0.5, color="black", linewidth=0.5)
    lift = 0.22 if mark.moves is not None else 0.0
    for place_, text in enumerate(mark.texts):
        i, j = divmod(place_, columns)
        axis.text(j, i + lift, text, ha="center", va="center", fontsize=7)
    if mark.moves is not None:
        for i, j, down, right in mark.moves:
            axis.annotate(
                "",
                xy=(j + 0.3 * right, i - lift + 0.3 * down),
                xytext=(j - 0.3 * right, i - lift - 0.3 * down),
                arrowprops={"arrowstyle": "-|>", "lw": 1.2, "color": "black"},
            )
    for i, j in mark.outlined:
        axis.plot(
            [j - 0.5, j + 0.5, j + 0.5, j - 0.5, j - 0.5],
            [i - 0.5, i - 0.5, i + 0.5, i + 0.5, i - 0.5],
            color="black",
            linewidth=2.2,
            linestyle="--",
            clip_on=False,
        )


def _outline(axis: Any, mark: Outline, place: int) -> None:
    colour = COLOURS[0] if mark.filled else COLOURS[2]
    x, y = np.append(mark.x, mark.x[0]), np.append(mark.y, mark.y[0])
    if mark.filled:
        axis.fill(x, y, color=colour, alpha=0.12)
    axis.plot(x, y, color=colour, linewidth=1.0 if mark.filled else 3.0, label=mark.label)


_DRAW: dict[type[Mark], Callable[[Any, Any, int], None]] = {
    Curve: _curve,
    Points: _points,
    Bars: _bars,
    Cells: _cells,
    Outline: _outline,
}
