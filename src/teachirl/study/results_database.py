"""Results on disk: one row a finished unit of work, committed at once.

The store is an SQLite database in WAL mode, ``results.sqlite`` in the output folder, which must be
on a local disk. A process killed at any moment loses the unit that it was adding and nothing else.
A *run* is an experiment with its settings; its id is a digest of both, of the experiment's code and
of the versions of all packages that have a say in the numbers, so that results of other settings
or versions never mix. One process writes, held apart from others by a lock that
the system releases when the process ends, however it ends; any number may read meanwhile.

Values are JSON, in which every finite float comes back bit for bit. None stands for a number that
there is not; NaN and infinities are refused. What is read is what was written: rows have digests,
see `results_file`.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from ..errors import InvalidInputError, require
from .provenance import machine, package_versions
from .results_file import (
    FILE,
    damage,
    damaged,
    explaining,
    json_text,
    open_to_read,
    open_to_write,
    sealed,
)

ID_LENGTH = 12  # digits: two runs of a thousand share an id in less than one of 10⁸ stores
RECORDS = """
SELECT runs.*, count(units.unit), total(units.elapsed), max(runs.started, max(units.finished))
FROM runs LEFT JOIN units ON units.run = runs.id GROUP BY runs.id ORDER BY runs.started, runs.rowid
"""


@dataclass(frozen=True, eq=False)
class RunRecord:
    """An experiment with its settings, and how far it is.

    Attributes
    ----------
    id : 12 hexadecimal digits
    experiment, version : the experiment's reference, and the version of its code
    settings : as JSON has them
    units : all units that belong to it, in order
    packages, machine : versions of packages, and the machine, where it was begun
    started, updated : when it was begun and when the last unit was added, UTC in ISO form
    done : the number of units that are finished
    elapsed : seconds that these took, added up
    """

    id: str
    experiment: str
    version: int
    settings: dict[str, Any]
    units: tuple[dict[str, Any], ...]
    packages: dict[str, str]
    machine: dict[str, Any]
    started: str
    updated: str
    done: int
    elapsed: float


def canonical(document: Any) -> str:
    """The JSON text that equal documents share.

    >>> canonical({"trial": 3, "teacher": "Random"})
    '{"teacher":"Random","trial":3}'
    """
    return json_text(document, sort_keys=True, separators=(",", ":"))


def run_id(experiment: str, version: int, settings: Mapping[str, Any], source: str = "") -> str:
    """What a run is called: a digest of all that its results depend on, packages included."""
    identity = [experiment, version, settings, source, package_versions()]
    return hashlib.sha256(canonical(identity).encode()).hexdigest()[:ID_LENGTH]


class Store:
    """The results in a folder; a context manager.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store.open(folder) as store:
    ...     run = store.begin("mine.py:MINE", 1, {"size": 8}, [{"trial": 0}, {"trial": 1}])
    ...     store.add(run.id, {"trial": 0}, {"risk": 0.1}, {"learning": 2.5}, "here")
    ...     print(store.get(run.id[:4]).done, store.finished(run.id))
    1 {'{"trial":0}': ({'risk': 0.1}, {'learning': 2.5})}
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: IO[str] | None) -> None:
        self.path = path
        self._connection = connection
        self._lock = lock

    @classmethod
    def open(cls, folder: str | Path, *, write: bool = True) -> Store:
        """The store in `folder`; to write, it is made if need be and nobody else may write."""
        path = Path(folder) / FILE
        if write:
            return cls(path, *open_to_write(path))
        return cls(path, open_to_read(path), None)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and let others write."""
        self._connection.close()
        if self._lock is not None:
            self._lock.close()

    def begin(
        self,
        experiment: str,
        version: int,
        settings: Mapping[str, Any],
        units: Sequence[Mapping[str, Any]],
        source: str = "",
    ) -> RunRecord:
        """Start a run, or go on with it if the same was started before.

        Parameters
        ----------
        source : the code of an experiment that does not come with teachirl; with another text it is
            another run
        """
        run, texts = run_id(experiment, version, settings, source), json_text(list(units))
        rows = self._whole("runs", "SELECT * FROM runs WHERE id = ?", (run,))
        origin = (canonical(package_versions()), canonical(machine()), _now())
        row = [run, experiment, version, canonical(settings), texts, *origin]
        if rows:
            row = [*rows[0][:4], texts, *rows[0][5:-1]]
        marks = ", ".join("?" * (len(row) + 1))
        self._execute(
            f"INSERT INTO runs VALUES ({marks}) ON CONFLICT (id) DO UPDATE "
            "SET units = excluded.units, digest = excluded.digest",
            sealed(row),
        )
        return self.get(run)

    def add(
        self,
        run: str,
        unit: Mapping[str, Any],
        values: Mapping[str, Any],
        seconds: Mapping[str, Any],
        worker: str,
        elapsed: float = 0.0,
    ) -> None:
        """Keep what a unit gave.

        Parameters
        ----------
        run : id
        values : what it gives whenever it is done; if it was done before and gave something else,
            that is an error
        seconds : times that were measured in it
        worker : who did it
        elapsed : seconds that it took in all
        """
        key, text = canonical(unit), json_text(values)
        row = (run, key, text, json_text(seconds), float(elapsed), _now(), worker)
        added = self._execute(
            "INSERT INTO units VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run, unit) DO NOTHING",
            sealed(row),
        )
        if added.rowcount == 0:
            query = 'SELECT "values" FROM units WHERE run = ? AND unit = ?'
            [(before,)] = self._execute(query, (run, key)).fetchall()
            require(
                before == text,
                f"unit {key} of run {run} gave {text}, but {before} before; what it gives must "
                "depend on its settings and its coordinates alone",
            )

    def finished(self, run: str) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
        """Values and seconds of each finished unit, by its `canonical` text, in the run's order."""
        rows = self._whole("units", "SELECT * FROM units WHERE run = ?", (run,))
        texts = {row[1]: row[2:4] for row in rows}
        wanted = (canonical(unit) for unit in self.get(run).units)
        return {
            unit: (json.loads(texts[unit][0]), json.loads(texts[unit][1]))
            for unit in wanted
            if unit in texts
        }

    def runs(self) -> list[RunRecord]:
        """All runs, the oldest first."""
        self._whole("runs", "SELECT * FROM runs")
        return [_record(row) for row in self._execute(RECORDS).fetchall()]

    def get(self, prefix: str) -> RunRecord:
        """The run whose id begins with `prefix`."""
        runs = self.runs()
        found = [run for run in runs if run.id.startswith(prefix)]
        if len(found) == 1:
            return found[0]
        ids = ", ".join(run.id for run in found or runs) or "none"
        problem = f"{len(found)} runs begin" if found else "no run begins"
        raise InvalidInputError(f"{self.path}: {problem} with {prefix!r}; there are {ids}")

    def _execute(self, query: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        with explaining(self.path):
            return self._connection.execute(query, values)

    def _whole(self, table: str, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Rows of a table, none of them damaged."""
        rows = self._execute(query, values).fetchall()
        problem = damage({table: rows})
        if problem:
            raise damaged(self.path, problem)
        return rows


def _record(row: Sequence[Any]) -> RunRecord:
    run, experiment, version, settings, units, packages, origin, started, _, *progress = row
    done, elapsed, updated = progress
    return RunRecord(
        id=run,
        experiment=experiment,
        version=version,
        settings=json.loads(settings),
        units=tuple(json.loads(units)),
        packages=json.loads(packages),
        machine=json.loads(origin),
        started=started,
        updated=updated or started,
        done=done,
        elapsed=elapsed,
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
