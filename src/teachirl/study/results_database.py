"""Results on disk: one row a finished unit of work, committed at once.

The store is an SQLite database in WAL mode, ``results.sqlite`` in the output folder, which must be
on a local disk. A process killed at any moment loses the unit that it was adding and nothing else.
A *run* is an experiment with its settings; its id is a digest of both, of the experiment's code and
of the versions of all packages that have a say in the numbers, so that results of other settings
or versions never mix. One process writes, held apart from others by a lock that
the system releases when the process ends, however it ends; any number may read meanwhile.

Values are JSON, in which every finite float comes back bit for bit. None stands for a number that
there is not; NaN and infinities are refused.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from ..errors import FileFormatError, InvalidInputError, TeachirlError, require
from .provenance import machine, package_versions

FILE = "results.sqlite"
LOCK = "results.lock"
VERSION = 1
APPLICATION = 0x7EAC4192
ID_LENGTH = 12

SCHEMA = """
CREATE TABLE runs (
    id TEXT PRIMARY KEY, experiment TEXT NOT NULL, version INTEGER NOT NULL,
    settings TEXT NOT NULL, units TEXT NOT NULL, packages TEXT NOT NULL, machine TEXT NOT NULL,
    started TEXT NOT NULL
);
CREATE TABLE units (
    run TEXT NOT NULL REFERENCES runs (id), unit TEXT NOT NULL, "values" TEXT NOT NULL,
    seconds TEXT NOT NULL, elapsed REAL NOT NULL, finished TEXT NOT NULL, worker TEXT NOT NULL,
    PRIMARY KEY (run, unit)
);
"""
RECORDS = """
SELECT runs.*, count(units.unit), total(units.elapsed), max(runs.started, max(units.finished))
FROM runs LEFT JOIN units ON units.run = runs.id GROUP BY runs.id ORDER BY runs.started, runs.id
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
    return _json(document, sort_keys=True, separators=(",", ":"))


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
        folder = Path(folder)
        path = folder / FILE
        if not write:
            require(path.is_file(), f"there are no results in {folder}: {path} does not exist")
            with _explaining(path):
                uri = f"{path.absolute().as_uri()}?mode=ro"
                try:
                    return _checked(cls(path, _connected(uri), None))
                except sqlite3.OperationalError:
                    # To read while somebody writes, SQLite itself writes beside the file. Where it
                    # may not, nobody does.
                    if os.access(folder, os.W_OK):
                        raise
                    return _checked(cls(path, _connected(f"{uri}&immutable=1"), None))
        require(folder.is_dir() or not folder.exists(), f"{folder} must be a folder")
        folder.mkdir(parents=True, exist_ok=True)
        lock = _take_lock(folder / LOCK)
        try:
            with _explaining(path):
                return _checked(cls(path, sqlite3.connect(path, isolation_level=None), lock))
        except BaseException:
            lock.close()
            raise

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
        packages = package_versions()
        run = run_id(experiment, version, settings, source)
        values = (run, experiment, version, canonical(settings), _json(list(units)))
        origin = (canonical(packages), canonical(machine()), _now())
        self._execute(
            "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET units = excluded.units",
            (*values, *origin),
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
        key, text = canonical(unit), _json(values)
        added = self._execute(
            "INSERT INTO units VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run, unit) DO NOTHING",
            (run, key, text, _json(seconds), elapsed, _now(), worker),
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
        query = 'SELECT unit, "values", seconds FROM units WHERE run = ?'
        rows = {unit: texts for unit, *texts in self._execute(query, (run,))}
        wanted = (canonical(unit) for unit in self.get(run).units)
        found = ((unit, rows[unit]) for unit in wanted if unit in rows)
        return {
            unit: (json.loads(values), json.loads(seconds)) for unit, (values, seconds) in found
        }

    def runs(self) -> list[RunRecord]:
        """All runs, the oldest first."""
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
        with _explaining(self.path):
            return self._connection.execute(query, values)


def _connected(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(uri, uri=True, isolation_level=None)


def _checked(store: Store) -> Store:
    """`store`, once it was found to be one, and made if it is new."""
    connection, path = store._connection, store.path
    try:
        [[application]] = connection.execute("PRAGMA application_id")
        [[version]] = connection.execute("PRAGMA user_version")
        [[tables]] = connection.execute("SELECT count(*) FROM sqlite_master")
        if store._lock is not None:
            connection.execute("PRAGMA foreign_keys = ON")
            # Enough in WAL mode: a power cut may cost the last units, but never the database.
            connection.execute("PRAGMA synchronous = NORMAL")
        # A process that is killed while it makes the store leaves a database without anything.
        if application == 0 and tables == 0:
            require(store._lock is not None, f"there are no results in {path} yet")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(
                f"BEGIN; PRAGMA application_id = {APPLICATION}; "
                f"PRAGMA user_version = {VERSION}; {SCHEMA} COMMIT;"
            )
            return store
        if application != APPLICATION:
            raise FileFormatError(
                f"{path} is an SQLite database, but not one with results of teachirl; "
                "use another folder"
            )
        if version > VERSION:
            raise FileFormatError(
                f"{path} has version {version} of the format, but this teachirl reads version "
                f"{VERSION}; use a newer teachirl, or another folder"
            )
        [problem] = connection.execute("PRAGMA quick_check(1)").fetchone()
        if problem != "ok":
            raise _damaged(path, problem)
        return store
    except BaseException:
        connection.close()
        raise


@contextmanager
def _explaining(path: Path) -> Iterator[None]:
    """Turn what SQLite says into what the user can do about it."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        # The low byte is the kind of the error; the rest refines it.
        kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if kind in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise _damaged(path, str(error)) from error
        raise TeachirlError(f"{path}: {error}") from error


def _damaged(path: Path, problem: str) -> FileFormatError:
    return FileFormatError(
        f"{path} is damaged, or no results store: {problem.splitlines()[-1]}; move it away, and "
        "its results are computed anew"
    )


def _take_lock(path: Path) -> IO[str]:
    """The lock file, open and locked; its text says which process holds it."""
    file = path.open("a+", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.seek(0)
        holder = file.read().strip() or "unknown"
        file.close()
        raise TeachirlError(
            f"{path.parent} is in use by another run (process {holder}); wait for it, or use "
            "another folder"
        ) from error
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file


def _record(row: Sequence[Any]) -> RunRecord:
    run, experiment, version, settings, units, packages, origin, started, *progress = row
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


def _json(document: Any, **options: Any) -> str:
    try:
        return json.dumps(document, allow_nan=False, **options)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"results must be finite numbers and texts: {error}") from error


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
