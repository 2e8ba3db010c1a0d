"""How far long work has come and how long it will still take, on the terminal.

Work has parts, such as the figures of a paper, and a part has units. The time between two finished
units counts for the part of the second: parts are done one after another, and the units of a part
take about the same time. A part of which no unit is finished yet is judged by its weight. Units
that an earlier run did tell nothing about the speed. A part that has a limit in time takes no
longer than that, whatever its units seem to take.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from rich import progress as rich
from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ..errors import legible

# How often the bars are drawn, a second.
REFRESHED = 2


@dataclass(eq=False)
class Part:
    """Units of one kind.

    Attributes
    ----------
    done : units finished, of `total`
    fresh : those of them that were finished in this run, in `seconds`
    weight : what a unit costs, compared to a unit of the other parts
    until : by the progress's clock, when it ends in any case
    """

    progress: Progress
    row: rich.TaskID
    total: int
    done: int
    weight: float
    until: float = math.inf
    fresh: int = 0
    seconds: float = 0.0

    def advance(self, units: int = 1) -> None:
        """Some more units are finished."""
        self.seconds += self.progress.lap()
        self.fresh += units
        self.done += units
        self.progress.show()


class Progress:
    """The parts and their bars, within a ``with`` block; nothing is shown without a console.

    >>> with Progress() as progress:
    ...     figure = progress.part("fig5", total=400, done=120)
    ...     figure.advance()
    >>> figure.done
    121
    """

    def __init__(
        self, console: Console | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.clock, self.latest = clock, clock()
        self.parts: list[Part] = []
        self.bars = _Bars(
            rich.TextColumn("{task.description}", markup=False),
            rich.BarColumn(),
            rich.MofNCompleteColumn(),
            _TimeLeft(self),
            console=console,
            disable=console is None,
            refresh_per_second=REFRESHED,
        )
        self.in_all = self.bars.add_task("in all", total=0, visible=False)

    def __reduce__(self) -> tuple[type[Progress], tuple[()]]:
        """Copies, also in other processes, have no terminal: they are silent."""
        return Progress, ()

    @classmethod
    def on_stderr(cls) -> Progress:
        """On the terminal that stderr is; silent if it is none."""
        # A command filters what it prints; bars are drawn with what it filters.
        stream = getattr(sys.stderr, "unfiltered", sys.stderr)
        return cls(Console(file=stream) if stream.isatty() else None)

    def __enter__(self) -> Progress:
        self.lap()
        self.bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.bars.stop()

    def part(
        self,
        name: str,
        total: int,
        *,
        done: int = 0,
        weight: float = 1.0,
        within: float = math.inf,
    ) -> Part:
        """A part of `total` units, `done` of them earlier, which ends within some seconds from now
        in any case; name all before the work begins."""
        row = self.bars.add_task(legible(name), total=total)
        self.parts.append(Part(self, row, total, done, weight, self.clock() + within))
        self.show()
        return self.parts[-1]

    def seconds_left(self, *parts: Part) -> float | None:
        """For these parts, or for all of them; None as long as no unit is finished and nothing
        limits them.

        What the unit at hand has taken counts: the time goes down with it, and up once it takes
        longer than those before.
        """
        weight = sum(part.fresh * part.weight for part in self.parts)
        pace = math.inf if weight == 0 else sum(part.seconds for part in self.parts) / weight
        begun, spent = self._at_hand(), self.clock() - self.latest
        left, ends = 0.0, -math.inf
        for part in parts or self.parts:
            units = part.total - part.done
            if units <= 0:
                continue
            per_unit = part.seconds / part.fresh if part.fresh else pace * part.weight
            if part is begun and math.isfinite(per_unit):
                left += max(per_unit - spent, 0.0) + max(per_unit, spent) * (units - 1)
            else:
                left += per_unit * units
            ends = max(ends, part.until)
        left = min(left, max(ends - self.clock(), 0.0))
        return left if math.isfinite(left) else None

    def _at_hand(self) -> Part | None:
        """The part that is worked on: the first that is not finished."""
        return next((part for part in self.parts if part.done < part.total), None)

    @property
    def drawn(self) -> bool:
        """Whether anybody sees it."""
        return not self.bars.disable

    def show_table(self, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """A table above the bars, instead of the one that is there."""
        table = Table(*map(legible, headings), box=None, pad_edge=False, header_style="")
        for row in rows:
            table.add_row(*(Text(legible(cell)) for cell in row))
        self.bars.table = table

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The bars make room for what is printed within the block, which is then the last that is
        left on the screen."""
        drawn = self.bars.live.is_started
        if drawn:
            self.bars.live.transient = True
            self.bars.stop()
        try:
            yield
        finally:
            if drawn:
                # The old display would begin by clearing its lines, where others are by now.
                self.bars.live = Live(
                    console=self.bars.console,
                    refresh_per_second=REFRESHED,
                    transient=True,
                    get_renderable=self.bars.get_renderable,
                )
                self.bars.start()

    def lap(self) -> float:
        """Seconds since the last call."""
        before, self.latest = self.latest, self.clock()
        return self.latest - before

    def show(self) -> None:
        """Bring the bars up to date."""
        for row, parts in self.rows.items():
            done, total = sum(part.done for part in parts), sum(part.total for part in parts)
            self.bars.update(row, completed=done, total=total)
        self.bars.update(self.in_all, visible=len(self.parts) > 1)

    @property
    def rows(self) -> dict[rich.TaskID, list[Part]]:
        """What each row of the bars is about."""
        return {self.in_all: self.parts} | {part.row: [part] for part in self.parts}


class _Bars(rich.Progress):
    """Bars below a table, which goes with them."""

    table: Table | None = None

    def get_renderables(self) -> Iterator[RenderableType]:
        if self.table is not None and not self.finished:
            yield self.table
        yield from super().get_renderables()


class _TimeLeft(rich.ProgressColumn):
    """The time left, anew whenever the bars are drawn."""

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self.progress = progress

    def render(self, task: rich.Task) -> Text:
        parts = self.progress.rows.get(task.id, [])  # which is drawn as soon as it is there
        going = any(part.done < part.total for part in parts)
        left = self.progress.seconds_left(*parts) if going else None
        return Text("" if left is None else f"{timedelta(seconds=round(left))} left")
