"""Figures drawn with matplotlib, for a column of a paper or the width of a page.

The colours are Okabe and Ito's, which most people can tell apart; line styles and markers tell
curves apart without colour. Every figure is written as PDF, SVG and PNG, with a CSV of its numbers.
A web page shows panels one by one, as SVG, so that they stay readable where only one has room.
"""

from __future__ import annotations

import csv
import io
import logging
import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import MissingExtraError
from ..files import made_folder, neutral, replacing
from .records import Bars, Cells, Contrast, Curve, Figure, Mark, Outline, Panel, Points, printable

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
# Blue is good and red is bad, as in the paper; both ends stay apart for the colour-blind.
DIVERGING = "RdBu"
SHADES = "Blues"
# Inches: the width of a page's text, which panels in a row share; that of a panel that is alone,
# with its legend below it; and what the letters around a panel take.
TEXT_WIDTH, ALONE, AROUND = 5.5, 3.6, 0.55
SETTINGS: dict[Any, Any] = {
    "font.size": 7,
    "axes.titlesize": 8,
    "axes.labelsize": 7.5,
    "legend.fontsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "teachirl",
    "pdf.fonttype": 42,
}
# Text stays text: whoever reads the page has the letters that its names need.
PAGE_SETTINGS: dict[Any, Any] = {
    **SETTINGS,
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "legend.fontsize": 9,
    "svg.fonttype": "none",
    "font.family": "sans-serif",
}
# Without a date, equal figures are equal files.
UNDATED: dict[str, Any] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": None}
FORMATS = (*UNDATED, "csv")
# Per inch, of what is no drawing but an image.
DOTS = 200
# With more columns than this, lines between cells would hide them.
MOST_LINES = 40


def write_figure(figure: Figure, folder: Path) -> list[Path]:
    """Draw a figure to folder/name.pdf, .svg and .png, and its numbers to .csv; atomically."""
    contents = figure_contents(figure, FORMATS)
    made_folder(folder)
    paths = [folder / f"{figure.name}.{suffix}" for suffix in contents]
    for path, content in zip(paths, contents.values(), strict=True):
        with replacing(path) as file:
            file.write(content)
    return paths


def figure_contents(figure: Figure, formats: Iterable[str]) -> dict[str, bytes]:
    """What the files of a figure have in them, by their suffixes, some of `FORMATS`."""
    contents = {}
    with drawn(figure) as drawing:
        _lay_out(drawing)
        for suffix in formats:
            if suffix == "csv":
                contents[suffix] = csv_text(figure).encode()
                continue
            # Not to the file: matplotlib does not get over a disk that is full.
            image = io.BytesIO()
            drawing.savefig(image, format=suffix, dpi=DOTS, metadata=UNDATED[suffix])
            contents[suffix] = image.getvalue()
    return contents


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
        return neutral(value)
    return "" if math.isnan(value) else repr(float(value))


def panel_svg(panel: Panel) -> str:
    """A panel without its title as the text of an SVG element, the same each time.

    >>> from teachirl.figures.records import Curve, Panel
    >>> panel_svg(Panel("", "cost", "gain", (Curve("gain", [0, 1], [0, 2]),)))[:4]
    '<svg'
    """
    alone = Figure("", "", (replace(panel, title=""),))
    text = io.StringIO()
    with drawn(alone, PAGE_SETTINGS) as drawing, warnings.catch_warnings():
        # What matplotlib's font lacks, the reader's has.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        from matplotlib.backends.backend_svg import FigureCanvasSVG

        _lay_out(drawing)
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        # Not by `savefig`, which draws twice, the first time for the layout.
        canvas: Any = FigureCanvasSVG(drawing)
        canvas.print_svg(text, metadata=nothing)
    return text.getvalue()[text.getvalue().index("<svg") :]


def _lay_out(drawing: Any) -> None:
    """Find the places of everything, once for all files that are written."""
    drawing.dpi = DOTS
    drawing.get_layout_engine().execute(drawing)
    drawing.set_layout_engine("none")


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what matplotlib tells its users of its fonts and folders: they are ours."""
    log = logging.getLogger("matplotlib")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


@contextmanager
def drawn(figure: Figure, settings: dict[Any, Any] = SETTINGS) -> Iterator[Any]:
    """A figure as matplotlib has it, within a block in which its settings are ours."""
    with _quiet():
        yield from _canvas(figure, settings)


def _canvas(figure: Figure, settings: dict[Any, Any]) -> Iterator[Any]:
    try:
        import matplotlib
        from matplotlib.figure import Figure as Canvas
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot") from error
    columns = figure.columns or len(figure.panels)
    rows = math.ceil(len(figure.panels) / columns)
    width = TEXT_WIDTH if columns > 1 else ALONE
    heights = [
        max(
            _height(panel, width / columns)
            for panel in figure.panels[row * columns : (row + 1) * columns]
        )
        for row in range(rows)
    ]
    with matplotlib.rc_context(settings):
        canvas = Canvas(figsize=(width, sum(heights)), layout="constrained")
        axes = canvas.subplots(rows, columns, squeeze=False, height_ratios=heights)
        places = [axis for row in axes for axis in row]
        for axis in places[len(figure.panels) :]:
            axis.set_axis_off()
        for axis, panel in zip(places, figure.panels, strict=False):
            _draw_panel(axis, panel)
        _legend(canvas, places[: len(figure.panels)], width)
        yield canvas


def _height(panel: Panel, width: float) -> float:
    """Inches, for a panel of that width; a row of cells needs less than a curve."""
    mark = panel.marks[0]
    if isinstance(mark, Cells):
        rows, columns = mark.values.shape
        names = 0.25 if mark.column_names else 0.0
        return names + min(0.4 + 0.95 * width * float(rows / columns), ALONE)
    if isinstance(mark, Contrast):
        return 0.9 + 0.36 * len(mark.categories)
    legend = 0.18 * len(panel.marks) if width == ALONE else 0.0
    return AROUND + 0.62 * width + legend


def _legend(canvas: Any, axes: list[Any], width: float) -> None:
    """One legend for all panels if they show the same things, otherwise one in each."""
    entries = [axis.get_legend_handles_labels() for axis in axes]
    labels = [tuple(label) for _, label in entries if label]
    if not labels:
        return
    if len(set(labels)) == 1:
        handles, texts = next(entry for entry in entries if entry[1])
        if len(texts) > 1 or len(axes) == 1:
            # A letter is about .06 inches wide, and a line with its marker as long as ten.
            across = sum(len(text) + 10 for text in texts) * 0.06
            columns = 1 if len(axes) == 1 else math.ceil(len(texts) / math.ceil(across / width))
            canvas.legend(handles, texts, loc="outside lower center", ncols=columns, frameon=False)
        return
    for axis, (_, texts) in zip(axes, entries, strict=True):
        if texts:
            axis.legend(frameon=False)


def _draw_panel(axis: Any, panel: Panel) -> None:
    bare = not panel.x_label and not panel.y_label
    if bare:
        axis.set_xticks([])
        axis.set_yticks([])
    for place, mark in enumerate(panel.marks):
        _DRAW[type(mark)](axis, mark, place)
    axis.set_title(panel.title)
    if bare:
        for spine in axis.spines.values():
            spine.set_visible(False)
        return
    axis.set_xlabel(panel.x_label)
    axis.set_ylabel(panel.y_label)
    if all(isinstance(mark, Curve) and not (mark.x % 1.0).any() for mark in panel.marks):
        axis.locator_params("x", integer=True)  # there is no half a feature
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
        drawstyle="steps-post" if mark.stepped else "default",
        linewidth=1.3,
        label=mark.label,
    )
    if mark.low is not None and mark.high is not None:
        axis.fill_between(mark.x, mark.low, mark.high, color=colour, alpha=0.15, linewidth=0)


def _points(axis: Any, mark: Points, place: int) -> None:
    if mark.big:
        look = {"marker": "D", "s": 42, "color": COLOURS[1], "zorder": 4}
    else:
        look = {"marker": "o", "s": 5, "color": COLOURS[0], "alpha": 0.4, "linewidths": 0}
    axis.scatter(mark.x, mark.y, label=mark.label, **look)


def _bars(axis: Any, mark: Bars, place: int) -> None:
    colours = ["#9ecae1"] * len(mark.heights)
    for index in mark.marked:
        colours[index] = COLOURS[0]
    x = np.arange(len(mark.heights))
    axis.bar(x, mark.heights, color=colours, edgecolor="black", linewidth=0.3)
    if not (mark.heights % 1.0).any():
        axis.locator_params("y", integer=True)
    every = max(1, math.ceil(len(x) / 6))
    crowded = _crowded(mark.marked, x[::every]) if every > 1 else set()
    shown = sorted({*x[::every].tolist(), *mark.marked} - crowded)
    size = {"fontsize": 7} if every > 1 else {}  # few have room enough
    axis.set_xticks(shown, [mark.categories[index] for index in shown], **size)


def _crowded(marked: tuple[int, ...], regular: Any) -> set[int]:
    """Regular ticks that would touch those of the marked bars."""
    return {int(x) for x in regular if any(0 < abs(x - each) < 3 for each in marked)} - set(marked)


def _cells(axis: Any, mark: Cells, place: int) -> None:
    limit = mark.limit or float(np.abs(mark.values).max()) or 1.0
    if mark.shaded:
        # Roots, as one cell is often visited more than all others together.
        shades = np.sqrt(np.clip(mark.values / limit, 0.0, 1.0))
        axis.imshow(shades, cmap=SHADES, vmin=0.0, vmax=1.6, aspect="equal")
    else:
        axis.imshow(mark.values, cmap=DIVERGING, vmin=-2 * limit, vmax=2 * limit, aspect="equal")
    rows, columns = mark.values.shape
    if columns <= MOST_LINES and rows <= MOST_LINES:
        for line in range(columns + 1):
            axis.axvline(line - 0.5, color="black", linewidth=0.5, clip_on=False)
        for line in range(rows + 1):
            axis.axhline(line - 0.5, color="black", linewidth=0.5, clip_on=False)
    # An arrow makes room for a text in the same cell.
    lift = 0.22 * np.array([bool(text) for text in mark.texts or [""] * mark.values.size])
    below = lift if mark.moves is not None else 0.0 * lift
    for place_, text in enumerate(mark.texts):
        i, j = divmod(place_, columns)
        axis.text(j, i + below[place_], plain(text), ha="center", va="center", fontsize=7)
    if mark.moves is not None and len(mark.moves):
        i, j, down, right = mark.moves.T
        up = lift[(i * columns + j).astype(int)]
        length = 0.6 - 0.7 * up
        axis.quiver(
            *(j, i - up, length * right, length * down),
            pivot="mid",
            angles="xy",
            scale_units="xy",
            scale=1.0,
            units="xy",
            width=0.06,
            minlength=2.5,
            headwidth=4,
            headlength=4,
            headaxislength=3.6,
            zorder=3,
        )
    for top, left, bottom, right in () if mark.walls is None else mark.walls:
        ends = (left - 0.5, right - 0.5), (top - 0.5, bottom - 0.5)
        axis.plot(*ends, color="black", linewidth=2.0, clip_on=False)
    _ticks(axis.set_xticks, mark.column_names)
    _ticks(axis.set_yticks, mark.row_names)
    axis.tick_params(length=0)
    for i, j in mark.outlined:
        axis.plot(
            [j - 0.5, j + 0.5, j + 0.5, j - 0.5, j - 0.5],
            [i - 0.5, i - 0.5, i + 0.5, i + 0.5, i - 0.5],
            color="black",
            linewidth=2.2,
            linestyle="--",
            clip_on=False,
        )


def _ticks(put: Callable[..., Any], names: tuple[str, ...]) -> None:
    """Names beside rows or columns: all up to twenty, else about eight with even spaces."""
    last, step = len(names) - 1, 1
    if len(names) > 20:
        # The last one is named, too, if that is possible.
        fitting = range(math.ceil(last / 8), last // 3 + 1)
        step = next((each for each in fitting if last % each == 0), fitting[0])
    put(range(0, len(names), step), [plain(name) for name in names[::step]])


def _contrast(axis: Any, mark: Contrast, place: int) -> None:
    y = np.arange(len(mark.categories))
    for series, (label, widths) in enumerate(
        zip(mark.labels, (mark.first, mark.second), strict=True)
    ):
        axis.barh(
            y + 0.19 * (2 * series - 1),
            widths,
            height=0.36,
            color=COLOURS[series],
            hatch=("", "////")[series],
            edgecolor="white",
            linewidth=0.0,
            label=label,
        )
    axis.axvline(0.0, color="black", linewidth=0.8)
    axis.set_yticks(y, [plain(name) for name in mark.categories])
    axis.set_ylim(len(y) - 0.4, -0.6)


def plain(text: str, longest: int = 26) -> str:
    """A name from a file as matplotlib takes it: no mathematics, no line breaks, not too long."""
    words = " ".join(printable(text).split())
    short = words if len(words) <= longest else f"{words[: longest - 1]}…"
    return short.replace("$", r"\$")


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
    Contrast: _contrast,
    Outline: _outline,
}
