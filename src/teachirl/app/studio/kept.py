"""Results of long work, kept in the results store: a reload, or a server that was restarted, has
them again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from ...errors import InvalidInputError, TeachirlError
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
        """The result; None if there is none, or if the store cannot be read."""
        run = run_id(f"studio:{kind}", VERSION, about)
        try:
            found = self.store.finished(run)
        except TeachirlError as error:
            if not isinstance(error, InvalidInputError):  # which says that there is no such run
                _complain(error)
            return None
        return next((values for values, _ in found.values()), None)

    def add(self, kind: str, about: dict[str, Any], result: dict[str, Any], seconds: float) -> None:
        """Keep a result, unless there is one already, or the store cannot be written."""
        if self.get(kind, about) is not None:
            return
        try:
            run = self.store.begin(f"studio:{kind}", VERSION, about, [UNIT])
            self.store.add(run.id, UNIT, result, {}, "studio", seconds)
        except TeachirlError as error:
            _complain(error)

    def close(self) -> None:
        """Close the store."""
        self.store.close()


def _complain(error: TeachirlError) -> None:
    """What is wrong with the store is told where the server runs, and in no page."""
    print(f"teachirl: {error}", file=sys.stderr, flush=True)


__all__ = ["Kept"]
