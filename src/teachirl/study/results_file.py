"""The file behind a results database: two tables in SQLite, and a digest in every row.

SQLite notices when its own structure is damaged, but not when a value is. Every row therefore ends
with a digest of its other columns. All are checked when a file is opened; whatever does not fit is
*damaged*, and `repair` makes a new file of what is whole.
"""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import json
import os
import secrets
import shlex
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias

from ..errors import FileFormatError, InvalidInputError, TeachirlError, require
from ..files import kind_of, made_folder

Row: TypeAlias = tuple[Any, ...]

FILE = "results.sqlite"
LOCK = "results.lock"
VERSION = 2  # of the tables below
APPLICATION = 0x7EAC4192  # tells a results database from SQLite's others

# Word for word as SQLite keeps them. The digest, of all other columns, is the last.
TABLES = {
    "runs": """CREATE TABLE runs (
    id TEXT PRIMARY KEY, experiment TEXT NOT NULL, version INTEGER NOT NULL,
    settings TEXT NOT NULL, units TEXT NOT NULL, packages TEXT NOT NULL, machine TEXT NOT NULL,
    started TEXT NOT NULL, digest TEXT NOT NULL
)""",
    "units": """CREATE TABLE units (
    run TEXT NOT NULL REFERENCES runs (id), unit TEXT NOT NULL, "values" TEXT NOT NULL,
    seconds TEXT NOT NULL, elapsed REAL NOT NULL, finished TEXT NOT NULL, worker TEXT NOT NULL,
    digest TEXT NOT NULL, PRIMARY KEY (run, unit)
)""",
}

# What SQLite finds wrong around a file, or with what is to be added to it; the file may be whole.
SURROUNDINGS = (
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_CONSTRAINT,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
)
# Of these, what it says where it may not write.
FORBIDDEN = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY)


def json_text(document: Any, **options: Any) -> str:
    """JSON in which every number is finite."""
    try:
        return json.dumps(document, allow_nan=False, **options)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"results must be finite numbers and texts: {error}") from error


def sealed(columns: Sequence[Any]) -> Row:
    """A row with its digest.

    >>> len(sealed(["a", 1.5])[-1]), is_whole(sealed(["a", 1.5])), is_whole(("a", 1.5, "0"))
    (64, True, False)
    """
    return (*columns, hashlib.sha256(json_text(list(columns)).encode()).hexdigest())


def is_whole(row: Sequence[Any]) -> bool:
    """Whether a row is what was written."""
    try:
        return sealed(row[:-1]) == tuple(row)
    except InvalidInputError:  # a value of a type that no row has
        return False


def open_to_read(path: Path) -> sqlite3.Connection:
    """A connection that changes nothing, to a file that was checked."""
    require(path.is_file(), f"there are no results in {path.parent}: {path} does not exist")
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with explaining(path):
        try:
            return _checked(_connected(uri), path)
        except sqlite3.OperationalError:
            # To read while somebody writes, or what a run that was killed left beside the file,
            # SQLite itself writes there. Where it may not, nobody does.
            if os.access(path.parent, os.W_OK):
                raise
            return _checked(_in_memory(path), path)


def open_to_write(path: Path) -> tuple[sqlite3.Connection, IO[str]]:
    """A connection to a file that was checked, and made if need be; and the lock on it."""
    made_folder(path.parent)
    lock = take_lock(path.with_name(LOCK))
    try:
        with explaining(path):
            connection = _checked(_connected(path.absolute().as_uri()), path, make=True)
            connection.execute("PRAGMA foreign_keys = ON")
            # Enough in WAL mode: a power cut may cost the last units, but never the database.
            connection.execute("PRAGMA synchronous = NORMAL")
            return connection, lock
    except BaseException:
        lock.close()
        raise


@contextmanager
def explaining(path: Path) -> Iterator[None]:
    """Turn what SQLite says into what the user can do about it."""
    try:
        yield
    except UnicodeDecodeError as error:  # the name of a table or a column is no text
        raise damaged(path, str(error)) from error
    except sqlite3.ProgrammingError:
        raise
    except sqlite3.DatabaseError as error:
        # The low byte is the kind of the error; the rest refines it.
        kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if kind in FORBIDDEN and (locked := _not_writable(path)):
            raise _forbidden(path, locked) from error
        if kind in SURROUNDINGS:
            raise TeachirlError(f"{path}: {error}") from error
        raise damaged(path, str(error)) from error


class DamagedResultsError(FileFormatError):
    """A results file is not as it was written."""


def damaged(path: Path, problem: str) -> DamagedResultsError:
    """What to say of a file that is not as it was written."""
    mend = f"teachirl runs repair --out {shlex.quote(str(path.parent))}"
    return DamagedResultsError(
        f"{path} is damaged, or no results store: {_on_one_line(problem)}; `{mend}` keeps what "
        "is whole, or move it away: the same `teachirl reproduce` then computes again what is "
        "missing"
    )


def damage(rows: Mapping[str, Iterable[Sequence[Any]]]) -> str:
    """Which rows of the tables are not whole, in words; empty if all are."""
    found: dict[str, list[str]] = {}
    for table, those in rows.items():
        for row in those:
            if not is_whole(row):
                what = "its settings" if table == "runs" else f"unit {_short(row[1])}"
                found.setdefault(_short(row[0]), []).append(what)
    parts = []
    for run, names in found.items():
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        parts.append(f"of run {run}, {', '.join(names[:5])}{more}")
    return "; ".join(parts)


def _short(value: Any) -> str:
    return value if isinstance(value, str) and len(value) <= 60 else kind_of(value)


def _on_one_line(problem: str) -> str:
    return " ".join(problem.removeprefix("*** in database main ***").split())


def _connected(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    # What is no text any more is still to be named.
    connection.text_factory = lambda raw: raw.decode(errors="replace")
    return connection


def _in_memory(path: Path) -> sqlite3.Connection:
    """A connection to a copy, with what SQLite has beside the file."""
    with tempfile.TemporaryDirectory() as folder:
        for end in ("", "-wal"):
            with suppress(FileNotFoundError):
                shutil.copyfile(f"{path}{end}", Path(folder, f"{FILE}{end}"))
        memory = _connected("file::memory:")
        try:
            with closing(_connected(Path(folder, FILE).as_uri())) as copied:
                copied.backup(memory)
        except BaseException:
            memory.close()
            raise
    return memory


def _forbidden(path: Path, locked: Path) -> TeachirlError:
    return TeachirlError(
        f"{path} cannot be written to, as this user may not write to {locked}: have its owner "
        "allow it (`chmod u+w`, `chown`), or copy the folder to one of your own and use that "
        "(`--out`); all that is finished is kept"
    )


def _not_writable(path: Path) -> Path | None:
    """What a file's user may not write to: the file, what SQLite has beside it, or the folder."""
    files = (Path(f"{path}{end}") for end in ("", "-wal", "-shm"))
    needed = [path.parent, *(each for each in files if each.exists())]
    return next((each for each in needed if not os.access(each, os.W_OK)), None)


def _checked(connection: sqlite3.Connection, path: Path, make: bool = False) -> sqlite3.Connection:
    """`connection`, once it was found to be one to results; made if it is new."""
    try:
        connection.execute("BEGIN")  # of one moment, should another process just be making it
        [[application]] = connection.execute("PRAGMA application_id")
        [[version]] = connection.execute("PRAGMA user_version")
        tables = dict(connection.execute("SELECT name, sql FROM sqlite_master"))
        connection.execute("COMMIT")
        # A process that is killed while it makes the store leaves a database without anything.
        if application == 0 and not tables:
            require(make, f"there are no results in {path} yet")
            _make(connection)
            return connection
        if application != APPLICATION and all(tables.get(n) == sql for n, sql in TABLES.items()):
            raise damaged(path, "its application id is not as it was written")
        if application != APPLICATION:
            raise FileFormatError(
                f"{path} is an SQLite database, but not one with results of teachirl; "
                "use another folder"
            )
        if version != VERSION:
            raise FileFormatError(
                f"{path} has version {version} of the format, but this teachirl reads version "
                f"{VERSION}; use {'a newer teachirl, or ' if version > VERSION else ''}another "
                "folder"
            )
        problem = _problem(connection, tables)
        if problem:
            raise damaged(path, problem)
        return connection
    except BaseException:
        connection.close()
        raise


def _make(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(
        f"BEGIN; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; "
        f"{';'.join(TABLES.values())}; COMMIT;"
    )


def _problem(connection: sqlite3.Connection, tables: dict[str, str]) -> str:
    """What is wrong with a database; empty if nothing is."""
    other = [name for name, text in TABLES.items() if tables.get(name) != text]
    if other:
        return f"its table {other[0]} is not as it was made"
    # An index that differs from its table would hide rows.
    [[problem]] = connection.execute("PRAGMA integrity_check(1)")
    rows = {name: connection.execute(f"SELECT * FROM {name} NOT INDEXED") for name in TABLES}
    return damage(rows) or ("" if problem == "ok" else str(problem))


def take_lock(path: Path) -> IO[str]:
    """The lock file, open and locked; its text says which process holds it."""
    try:
        file = path.open("a+", encoding="utf-8", errors="replace")
    except PermissionError as error:
        locked = path if path.exists() else path.parent
        raise _forbidden(path.with_name(FILE), locked) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.seek(0)
        holder = file.read(20).strip() or "unknown"
        file.close()
        raise TeachirlError(
            f"{path.parent} is in use by another run (process {holder}); wait for it, or use "
            "another folder"
        ) from error
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file


@dataclass(frozen=True)
class Repair:
    """What came of mending a file.

    Attributes
    ----------
    lost : what was not whole, in words; empty if all was
    aside : a copy of the file as it was; None if nothing was to be done
    kept : how many finished units the file has
    """

    lost: str
    aside: Path | None
    kept: int


def repair(folder: Path) -> Repair:
    """Make a new results file of what is whole in a damaged one, and keep a copy of that.

    Parameters
    ----------
    folder : Path, where ``results.sqlite`` is
    """
    path = Path(folder) / FILE
    require(path.is_file(), f"there are no results in {folder}: {path} does not exist")
    with take_lock(path.with_name(LOCK)):
        with suppress(DamagedResultsError), closing(open_to_read(path)) as connection:
            [[kept]] = connection.execute("SELECT count(*) FROM units")
            return Repair("", None, kept)
        rows, problem = _readable(path)
        lost = damage(rows) or problem
        whole = {name: [row for row in those if is_whole(row)] for name, those in rows.items()}
        require(
            any(whole.values()),
            f"nothing in {path} can be kept: {_on_one_line(lost)}; move it away, and its results "
            "are computed anew",
        )
        aside = _copied_aside(path)
        _replace(path, whole)
    return Repair(lost, aside, len(whole["units"]))


def _readable(path: Path) -> tuple[dict[str, list[Row]], str]:
    """The rows of each table that SQLite can read, from both ends; and what it said."""
    rows: dict[str, dict[Any, Row]] = {name: {} for name in TABLES}
    problem = "it is not as it was made"
    with closing(_connected(f"{path.absolute().as_uri()}?mode=ro")) as connection:
        for name, order in itertools.product(TABLES, ("ASC", "DESC")):
            try:
                query = f"SELECT rowid, * FROM {name} NOT INDEXED ORDER BY rowid {order}"
                for key, *row in connection.execute(query):
                    rows[name][key] = tuple(row)
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
                problem = str(error)
    return {name: list(those.values()) for name, those in rows.items()}, problem


def _copied_aside(path: Path) -> Path:
    """A copy under a name that is free, with what SQLite has beside it."""
    names = (f"results.damaged-{number}.sqlite" for number in itertools.count(1))
    aside = next(each for each in map(path.with_name, names) if not each.exists())
    for end in ("", "-wal"):
        with suppress(FileNotFoundError):
            shutil.copyfile(f"{path}{end}", f"{aside}{end}")
    return aside


def _replace(path: Path, rows: Mapping[str, Sequence[Row]]) -> None:
    """Put a new file with these rows in the place of one that is there."""
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with explaining(path), closing(_connected(temporary.absolute().as_uri())) as connection:
            _make(connection)
            connection.execute("BEGIN")
            for name, those in rows.items():
                for row in those:
                    marks = ", ".join("?" * len(row))
                    connection.execute(f"INSERT OR IGNORE INTO {name} VALUES ({marks})", row)
            connection.execute("COMMIT")
        # What SQLite had beside the old file would spoil the new one.
        for end in ("-wal", "-shm"):
            Path(f"{path}{end}").unlink(missing_ok=True)
        os.replace(temporary, path)
    finally:
        for end in ("", "-wal", "-shm"):
            Path(f"{temporary}{end}").unlink(missing_ok=True)
