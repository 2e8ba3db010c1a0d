"""What participants did, in SQLite: a row an event, on the disk before it is acknowledged.

To wait for the disk at each step would keep all waiting; so the events of all who act at the same
time are written together, in a thread of their own, and each waits for `Ledger.kept`. What is not
written yet was told to nobody. Rows are only ever added, each with a digest of its columns, as in a
results store.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ...errors import FileFormatError, TeachirlError, require
from ...files import made_folder
from ...study.results_file import explaining, is_whole, sealed, take_lock

FILE, LOCK = "lesson.sqlite", "lesson.lock"
TABLES = """
CREATE TABLE IF NOT EXISTS study (about TEXT PRIMARY KEY, digest TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS participants (
    number INTEGER PRIMARY KEY, secret TEXT NOT NULL UNIQUE, condition TEXT NOT NULL,
    digest TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS events (
    participant INTEGER NOT NULL REFERENCES participants (number), place INTEGER NOT NULL,
    at REAL NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (participant, place));
"""


@dataclass(frozen=True)
class Participant:
    """Somebody of whom nothing is known but a number.

    Attributes
    ----------
    number : from 0
    secret : the end of the link
    condition : its name
    """

    number: int
    secret: str
    condition: str

    @property
    def name(self) -> str:
        """As files call the participant."""
        return f"p{self.number + 1:03d}"


class Ledger:
    """The events of a study, in a folder.

    Where people are is known from what one server wrote: another that writes is refused.

    Parameters
    ----------
    folder : made if need be, unless it is only read
    write : whether to write
    """

    def __init__(self, folder: Path, *, write: bool = True) -> None:
        self.path = folder / FILE
        self._lock: IO[str] | None = None
        if write:
            made_folder(folder)
            self._lock = take_lock(folder / LOCK)
        require(write or self.path.is_file(), f"{folder}: there is no lesson, as {FILE} is missing")
        mode = "rwc" if write else "ro"
        with explaining(self.path):
            uri = f"{self.path.absolute().as_uri()}?mode={mode}"
            # Used by one thread at a time: whoever opens it, and then those that write.
            self._connection = sqlite3.connect(
                uri, uri=True, isolation_level=None, check_same_thread=False
            )
            try:
                if write:
                    self._set_up()
            except BaseException:
                self._connection.close()
                raise
        self._new: list[tuple[Any, ...]] = []
        self._added = self._safe = 0
        self._writing: asyncio.Task[None] | None = None

    def _set_up(self) -> None:
        self._connection.execute("PRAGMA journal_mode = WAL")
        # What is committed is on the disk, whatever happens to the power.
        self._connection.execute("PRAGMA synchronous = FULL")
        # To move the log into the database takes a while, and all wait for it: seldom, and else
        # when the file is closed or opened.
        self._connection.execute("PRAGMA wal_autocheckpoint = 20000")
        self._connection.executescript(TABLES)

    def close(self) -> None:
        """Write what is left, and close the file."""
        if self._new:
            self._write(self._new)
        self._connection.close()
        if self._lock is not None:
            self._lock.close()

    def begin(self, about: str, conditions: list[str]) -> list[Participant]:
        """The participants of a study: made the first time, and found again after.

        Parameters
        ----------
        about : what tells the study from others
        conditions : the condition of each participant
        """
        [*known] = self._rows("study")
        require(
            not known or known[0][0] == about,
            f"{self.path.parent} has a lesson of another problem, study or version: choose --out",
        )
        if not known:
            self._add("study", about)
        there = self.participants()
        for number in range(len(there), len(conditions)):
            self._add("participants", number, secrets.token_urlsafe(16), conditions[number])
        return self.participants()

    def participants(self) -> list[Participant]:
        """All of them, by number."""
        return [Participant(*row[:3]) for row in self._rows("participants")]

    def add(self, participant: int, place: int, kind: str, body: dict[str, Any]) -> None:
        """Take an event; it is safe once `kept` has returned."""
        row = (participant, place, time.time(), kind, json.dumps(body))
        self._new.append(sealed(row))
        self._added += 1

    async def kept(self) -> None:
        """Wait until all that was added by now is on the disk.

        Where it cannot be written, all who wait are told, and it is tried again for the next.
        """
        wanted = self._added
        while self._safe < wanted:
            if self._writing is None:
                self._writing = asyncio.create_task(self._write_new())
            # Who goes away while others wait does not stop the writing.
            await asyncio.shield(self._writing)

    async def _write_new(self) -> None:
        rows, self._new = self._new, []
        try:
            await asyncio.to_thread(self._write, rows)
            self._safe += len(rows)
        except TeachirlError:
            self._new = rows + self._new
            raise
        finally:
            self._writing = None

    def _write(self, rows: list[tuple[Any, ...]]) -> None:
        marks = ", ".join("?" * len(rows[0]))
        with explaining(self.path), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(f"INSERT INTO events VALUES ({marks})", rows)

    def events(self) -> list[tuple[int, float, str, dict[str, Any]]]:
        """Participant, time, kind and body of all events, in their order."""
        rows = self._rows("events", "ORDER BY participant, place")
        return [(row[0], row[2], row[3], json.loads(row[4])) for row in rows]

    def _add(self, table: str, *columns: Any) -> None:
        row = sealed(columns)
        with explaining(self.path):
            marks = ", ".join("?" * len(row))
            self._connection.execute(f"INSERT INTO {table} VALUES ({marks})", row)

    def _rows(self, table: str, order: str = "ORDER BY 1") -> list[tuple[Any, ...]]:
        with explaining(self.path):
            rows = self._connection.execute(f"SELECT * FROM {table} {order}").fetchall()
        for row in rows:
            if not is_whole(row):
                raise FileFormatError(f"{self.path}: a row of {table} is not as it was written")
        return rows


__all__ = ["Ledger", "Participant"]
