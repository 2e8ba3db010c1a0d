"""What is known while a search goes on, for a terminal."""

from __future__ import annotations

from ...figures.digits import money, percent_at_least
from ...study.progress import Progress
from ..decisions import Known, Watch

# As many rows as leave room for the bars.
ROWS = 12


def live_table(progress: Progress) -> Watch | None:
    """Who shows what sets guarantee above the bars; nobody if those are not drawn.

    Parameters
    ----------
    progress : Progress

    Returns
    -------
    Watch, to be called with what is known
    """

    def show(known: tuple[Known, ...]) -> None:
        rows = [
            (money(each.cost), percent_at_least(each.guaranteed), ", ".join(each.features))
            for each in known[-ROWS:]
        ]
        progress.show_table(("cost", "guaranteed by now", "teach"), rows)

    return show if progress.drawn else None


__all__ = ["live_table"]
