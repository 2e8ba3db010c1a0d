"""What is known while a search goes on, for a terminal."""

from __future__ import annotations

from ...figures.digits import money
from ...study.progress import Progress
from ..decisions import Known, Watch
from ..problem import Problem
from .rewards import performance

# As many rows as leave room for the bars.
ROWS = 12


def live_table(problem: Problem, progress: Progress) -> Watch | None:
    """Who shows what sets guarantee above the bars; nobody if those are not drawn.

    Parameters
    ----------
    problem : Problem that is searched
    progress : Progress

    Returns
    -------
    Watch, to be called with what is known
    """

    def show(known: tuple[Known, ...]) -> None:
        rows = [
            (money(each.cost), performance(problem, each.guaranteed), ", ".join(each.features))
            for each in known[-ROWS:]
        ]
        progress.show_table(("cost", "guaranteed by now", "teach"), rows)

    return show if progress.drawn else None


__all__ = ["live_table"]
