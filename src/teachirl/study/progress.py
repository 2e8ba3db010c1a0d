"""How far long work has come and how long it will still take, on the terminal.

Work has parts, such as the figures of a paper, and a part has units. The time between two finished
units counts for the part of the second: parts are done one after another, and the units of a part
take about the same time. A part of which no unit is finished yet is judged by its weight. Units
that an earlier run did tell nothing about the speed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from rich import progress as rich
from rich.console import Console

from ..errors import legible


@dataclass(eq=False)
class Part:
    """Units of one kind.

    Attributes
    ----------
    done : units finished, of `total`
    fresh : those of them that were finished in this run, in `seconds`
    weight : what a unit costs, compared to a unit of the other parts
    """

    progress: Progress
    row: rich.TaskID
    total: int
    done: int
    weight: float
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
        self.bars = rich.Progress(
            rich.TextColumn("{task.description}", markup=False),
            rich.BarColumn(),
            rich.MofNCompleteColumn(),
            rich.TextColumn("{task.fields[left]}"),
            console=console,
            disable=console is None,
            refresh_per_second=2,
        )
        self.in_all = self.bars.add_task("in all", total=0, left="", visible=False)

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

    def part(self, name: str, total: int, *, done: int = 0, weight: float = 1.0) -> Part:
        """A part of `total` units, `done` of them earlier; name all before the work begins."""
        row = self.bars.add_task(legible(name), total=total, left="")
        self.parts.append(Part(self, row, total, done, weight))
        self.show()
        return self.parts[-1]

    def seconds_left(self, *parts: Part) -> float | None:
        """For these parts, or for all of them; None as long as no unit is finished."""
        weight = sum(part.fresh * part.weight for part in self.parts)
        if weight == 0:
            return None
        pace = sum(part.seconds for part in self.parts) / weight
        left = 0.0
        for part in parts or self.parts:
            per_unit = part.seconds / part.fresh if part.fresh else pace * part.weight
            left += per_unit * (part.total - part.done)
        return left

    def lap(self) -> float:
        """Seconds since the last call."""
        before, self.latest = self.latest, self.clock()
        return self.latest - before

    def show(self) -> None:
        """Bring the bars up to date."""
        rows = {part.row: [part] for part in self.parts} | {self.in_all: self.parts}
        for row, parts in rows.items():
            done, total = sum(part.done for part in parts), sum(part.total for part in parts)
            left = self.seconds_left(*parts) if done < total else None
            text = "" if left is None else f"{timedelta(seconds=round(left))} left"
            self.bars.update(row, completed=done, total=total, left=text)
        self.bars.update(self.in_all, visible=len(self.parts) > 1)
