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
from typing import TYPE_CHECKING

from ..errors import legible

if TYPE_CHECKING:
    from rich.console import Console

    from .bars import Bars


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
    row: int
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
        self.bars: Bars | None = None
        if console is not None:
            from .bars import Bars

            self.bars = Bars(self, console)

    def __reduce__(self) -> tuple[type[Progress], tuple[()]]:
        """Copies, also in other processes, have no terminal: they are silent."""
        return Progress, ()

    @classmethod
    def on_stderr(cls) -> Progress:
        """On the terminal that stderr is; silent if it is none."""
        # A command filters what it prints; bars are drawn with what it filters.
        stream = getattr(sys.stderr, "unfiltered", sys.stderr)
        if not stream.isatty():
            return cls()
        from rich.console import Console

        return cls(Console(file=stream))

    def __enter__(self) -> Progress:
        self.lap()
        if self.bars is not None:
            self.bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self.bars is not None:
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
        if self.bars is not None:
            self.bars.add_task(legible(name), total=total)
        row = len(self.parts) + 1  # the first is that of all
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
        return self.bars is not None

    def show_table(self, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """A table above the bars, instead of the one that is there."""
        if self.bars is not None:
            self.bars.show_table(headings, rows)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The bars make room for what is printed within the block, which is then the last that is
        left on the screen."""
        if self.bars is None:
            yield
            return
        with self.bars.paused():
            yield

    def lap(self) -> float:
        """Seconds since the last call."""
        before, self.latest = self.latest, self.clock()
        return self.latest - before

    def show(self) -> None:
        """Bring the bars up to date."""
        if self.bars is not None:
            for row, parts in self.rows.items():
                done, total = sum(part.done for part in parts), sum(part.total for part in parts)
                self.bars.show(row, done, total)

    @property
    def rows(self) -> dict[int, list[Part]]:
        """What each row of the bars is about."""
        return {0: self.parts} | {part.row: [part] for part in self.parts}
