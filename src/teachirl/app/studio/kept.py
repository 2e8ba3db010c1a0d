"""Results of long work, kept in the results store: a reload, or a server that was restarted, has
them again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...errors import InvalidInputError
from ...study.results_database import Store, run_id

UNIT = {"result": 0}
VERSION = 1


class Kept:
    """What was found, by what it is about.

    Parameters
    ----------
    folder : of the results store, which is made if need be
    """

    def __init__(self, folder: Path) -> None:
        self.store = Store.open(folder)

    def get(self, kind: str, about: dict[str, Any]) -> dict[str, Any] | None:
        """The result; None if there is none."""
        run = run_id(f"studio:{kind}", VERSION, about)
        try:
            found = self.store.finished(run)
        except InvalidInputError:
            return None
        return next((values for values, _ in found.values()), None)

    def add(self, kind: str, about: dict[str, Any], result: dict[str, Any], seconds: float) -> None:
        """Keep a result, unless there is one already."""
        if self.get(kind, about) is None:
            run = self.store.begin(f"studio:{kind}", VERSION, about, [UNIT])
            self.store.add(run.id, UNIT, result, {}, "studio", seconds)

    def close(self) -> None:
        """Close the store."""
        self.store.close()


__all__ = ["Kept"]
