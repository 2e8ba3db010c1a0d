"""Progress as it is drawn on a terminal: loaded only where there is one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from rich import progress as rich
from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ..errors import legible

if TYPE_CHECKING:
    from .progress import Progress

# How often the bars are drawn, a second.
REFRESHED = 2


class Bars(rich.Progress):
    """Bars below a table, which goes with them.

    Parameters
    ----------
    progress : Progress, what they show
    console : rich.console.Console to draw on
    """

    table: Table | None = None

    def __init__(self, progress: Progress, console: Console) -> None:
        super().__init__(
            rich.TextColumn("{task.description}", markup=False),
            rich.BarColumn(),
            rich.MofNCompleteColumn(),
            _TimeLeft(progress),
            console=console,
            refresh_per_second=REFRESHED,
        )
        self.add_task("in all", total=0, visible=False)

    def get_renderables(self) -> Iterator[RenderableType]:
        """What is drawn, from top to bottom."""
        if self.table is not None and not self.finished:
            yield self.table
        yield from super().get_renderables()

    def show(self, row: int, done: int, total: int) -> None:
        """Bring a row up to date, of which the first is there if there are several others."""
        self.update(rich.TaskID(row), completed=done, total=total)
        self.update(rich.TaskID(0), visible=len(self.task_ids) > 2)

    def show_table(self, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """A table above the bars, instead of the one that is there."""
        table = Table(*map(legible, headings), box=None, pad_edge=False, header_style="")
        for row in rows:
            table.add_row(*(Text(legible(cell)) for cell in row))
        self.table = table

    @contextmanager
    def paused(self) -> Iterator[None]:
        """They make room for what is printed within the block."""
        drawn = self.live.is_started
        if drawn:
            self.live.transient = True
            self.stop()
        try:
            yield
        finally:
            if drawn:
                # The old display would begin by clearing its lines, where others are by now.
                self.live = Live(
                    console=self.console,
                    refresh_per_second=REFRESHED,
                    transient=True,
                    get_renderable=self.get_renderable,
                )
                self.start()


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
