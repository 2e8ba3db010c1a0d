"""Tables with named columns, from CSV and Parquet.

Cells of text are stripped of surrounding blanks, and numbers must be finite. A message names the
file, the line (of Parquet, the row) and the column.
"""

from __future__ import annotations

import codecs
import csv
import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np

from ...arrays import Floats, Ints
from ...errors import FileFormatError, MissingExtraError
from .files import MAX_NUMBERS
from .places import KEPT, listed, meant, refuse_all, shown, similar

MAX_NAME = 1000
MAX_ROWS = 20_000_000
BATCH = 1 << 14


@dataclass(frozen=True, eq=False)
class Table:
    """A table's columns.

    Attributes
    ----------
    name : what the file is called in messages
    unit : how a row is counted in messages, ``line`` or ``row``
    lines : n numbers of rows, in this unit
    texts : a list of n texts a column
    columns : names of the columns of numbers
    numbers : array [n, len(columns)]
    """

    name: str
    unit: str
    lines: array[int]
    texts: dict[str, list[str]]
    columns: tuple[str, ...]
    numbers: Floats

    def __len__(self) -> int:
        return len(self.lines)

    def column(self, name: str) -> Floats:
        """array [n], a column of numbers."""
        return np.asarray(self.numbers[:, self.columns.index(name)])

    def where(self, row: int) -> str:
        return f"{self.unit} {self.lines[row]}"

    def refuse(self, row: int, message: str) -> NoReturn:
        raise FileFormatError(f"{self.name}, {self.where(row)}: {message}")

    def refuse_rows(self, rows: Iterable[int], say: Callable[[int], str]) -> None:
        """Refuse the table if there are such rows, the first few with a line each."""
        found = [int(row) for row in rows]
        refuse_all(((f"{self.name}, {self.where(row)}", row) for row in found), say)

    def index(self, names: dict[str, int], column: str) -> Ints:
        """int array [n], the numbers of a column's names, which must all be known."""
        texts = self.texts[column]
        numbers = np.fromiter((names.get(name, -1) for name in texts), np.int64, len(self))
        self.refuse_rows(
            np.flatnonzero(numbers < 0),
            lambda row: f"there is no {column} {shown(texts[row])}{meant(texts[row], names)}",
        )
        return numbers

    def refuse_repeats(self, keys: Ints, what: str) -> None:
        """Refuse the table if two rows have the same key, [n]."""
        order = np.argsort(keys, kind="stable")
        twice = np.flatnonzero(keys[order][1:] == keys[order][:-1])
        if len(twice):
            first, second = order[twice[0] : twice[0] + 2].tolist()
            self.refuse(second, f"expected each {what} once, got that of {self.where(first)} again")

    def probabilities(self) -> Floats:
        """array [n], the column of that name."""
        chances = self.column("probability")
        self.refuse_rows(
            np.flatnonzero((chances < 0.0) | (chances > 1.0)),
            lambda row: f"expected a probability from 0 to 1, got {chances[row]:g}",
        )
        return chances


def read_table(
    path: Path,
    name: str,
    *,
    texts: Sequence[str],
    numbers: Sequence[str] = (),
    optional: Sequence[str] = (),
    further: bool = False,
) -> Table:
    """Read a table.

    Parameters
    ----------
    name : what to call the file in messages; its ending says what it is
    texts, numbers : the columns that it must have, in any order
    optional : those of them that may be missing
    further : whether all other columns are numbers too; if not, there must be none

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "start.csv"
    ...     _ = path.write_text("state,probability\\nhome,0.5\\nwork,0.5\\n")
    ...     table = read_table(path, "start.csv", texts=["state"], numbers=["probability"])
    >>> table.texts["state"], table.column("probability").tolist()
    (['home', 'work'], [0.5, 0.5])
    """
    kind = Path(name).suffix.lower()
    if kind not in (".csv", ".parquet"):
        raise FileFormatError(f"{name}: expected a file that ends in .csv or .parquet")
    unit = "line" if kind == ".csv" else "row"
    rows = (_csv_rows if kind == ".csv" else parquet_rows)(path, name)
    _, header = next(rows, (0, []))
    columns = _columns(name, header, texts, numbers, optional, further)
    found_texts: dict[str, list[str]] = {each: [] for each in texts if each in columns}
    found_numbers = [each for each in columns if each not in found_texts]
    text_places = [(columns[each], cells) for each, cells in found_texts.items()]
    number_places = [columns[each] for each in found_numbers]
    width, lines, flat = len(header), array("q"), array("d")
    known: dict[str, str] = {}  # one copy of each name
    wrong: list[tuple[str, str]] = []
    for line, cells in rows:
        try:
            if len(cells) != width:
                raise ValueError
            for place, column in text_places:
                text = _text(cells[place])
                column.append(known.setdefault(text, text))
            for place in number_places:
                flat.append(_number(cells[place]))
        except ValueError:
            row = f"{name}, {unit} {line}"
            wrong += [(f"{row}{at}", what) for at, what in _wrong(cells, header, found_texts)]
            if len(wrong) >= KEPT:
                wrong[KEPT - 1 :] = [(name, f"what follows {unit} {line} was not looked at")]
                break
        lines.append(line)
        if len(lines) > MAX_ROWS or len(flat) > MAX_NUMBERS:
            raise FileFormatError(
                f"{name}: expected at most {MAX_ROWS} rows and {MAX_NUMBERS} numbers, got more"
            )
    refuse_all(wrong, str)
    if not lines:
        raise FileFormatError(f"{name}: expected rows below the header, got none")
    table = np.array(flat, dtype=float).reshape(len(lines), len(found_numbers))
    return Table(name, unit, lines, found_texts, tuple(found_numbers), table)


def _columns(
    name: str,
    header: Sequence[Any],
    texts: Sequence[str],
    numbers: Sequence[str],
    optional: Sequence[str],
    further: bool,
) -> dict[str, int]:
    """The place of each column by its name."""
    places: dict[str, int] = {}
    for place, cell in enumerate(header):
        column = str(cell).strip()
        if not column or len(column) > MAX_NAME:
            raise FileFormatError(
                f"{name}: expected a name for column {place + 1}, got {shown(column)}"
            )
        if column in places:
            raise FileFormatError(f"{name}: expected distinct columns, got {shown(column)} twice")
        places[column] = place
    known = (*texts, *numbers)
    hint = ""
    if len(places) == 1 and (";" in header[0] or "\t" in header[0]):
        hint = "; cells must be separated by commas"
    for column in known:
        if column not in places and column not in optional:
            got = listed(places) or "an empty file"
            near = similar(column, [each for each in places if each not in known])
            hint = hint if near is None else f"; is it {shown(near)}?"
            raise FileFormatError(f"{name}: expected a column {column!r}, got {got}{hint}")
    for column in places:
        if not further and column not in known:
            near = meant(column, known)
            raise FileFormatError(f"{name}: there is no such column {shown(column)}{near}")
    return places


def _text(cell: Any) -> str:
    if isinstance(cell, str):
        text = cell.strip()
        if len(text) > MAX_NAME:
            raise ValueError(f"expected a name of at most {MAX_NAME} characters, got {len(text)}")
        return text
    if cell is None:
        return ""
    if isinstance(cell, int) and not isinstance(cell, bool):
        return str(cell)
    raise ValueError(f"expected a name, got {shown(cell)}")


def _number(cell: Any) -> float:
    try:
        # float() takes 1_000 for a number; a table that has it means something else.
        value = math.nan if isinstance(cell, str) and "_" in cell else float(cell)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"expected a finite number, got {shown(cell)}")
    return value


def _wrong(
    cells: Sequence[Any], header: Sequence[Any], texts: dict[str, list[str]]
) -> Iterator[tuple[str, str]]:
    """What is wrong with a row: in which column, and how."""
    if len(cells) != len(header):
        yield "", f"expected {len(header)} cells, as in the header, got {len(cells)}"
        return
    for cell, column in zip(cells, map(str.strip, map(str, header)), strict=True):
        try:
            (_text if column in texts else _number)(cell)
        except ValueError as error:
            yield f", {column}", str(error)


def _csv_rows(path: Path, name: str) -> Iterator[tuple[int, Sequence[Any]]]:
    with path.open("rb") as raw:
        reader = csv.reader(_lines(raw, name), strict=True)
        try:
            for row in reader:
                if row:
                    yield reader.line_num, row
        except csv.Error as error:
            raise FileFormatError(
                f"{name}, line {reader.line_num}: expected comma-separated values, got a bad row: "
                f"{error}"
            ) from None


def _lines(raw: BinaryIO, name: str) -> Iterator[str]:
    for number, line in enumerate(raw, start=1):
        if number == 1 and line[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            raise FileFormatError(f"{name}: expected UTF-8 text, got UTF-16; save it as UTF-8")
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise FileFormatError(
                f"{name}, line {number}: expected UTF-8 text, got byte {line[error.start]:#04x}; "
                "save it as UTF-8"
            ) from None


def parquet_rows(path: Path, name: str) -> Iterator[tuple[int, Sequence[Any]]]:
    """The header of a Parquet file, and then its rows, each with its number."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "parquet") from error
    try:
        schema = parquet.read_schema(path)
        texts = [each.name for each in schema if _is_text(pa.types, each.type)]
        # Dictionaries keep one copy of each text, however often it is there.
        with parquet.ParquetFile(path, read_dictionary=texts) as file:
            rows, columns = file.metadata.num_rows, len(schema)
            if rows > MAX_ROWS or rows * columns > MAX_NUMBERS:
                raise FileFormatError(
                    f"{name}: expected at most {MAX_ROWS} rows and {MAX_NUMBERS} cells, got {rows} "
                    f"rows of {columns}"
                )
            for each in file.schema_arrow:
                if not _is_plain(pa.types, each.type):
                    raise FileFormatError(
                        f"{name}: expected texts or numbers in column {shown(each.name)}, got "
                        f"{shown(str(each.type))}"
                    )
            yield 0, schema.names
            row = 0
            for batch in file.iter_batches(batch_size=BATCH):
                for cells in zip(*map(_cells, batch.columns), strict=True):
                    row += 1
                    yield row, cells
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        if isinstance(error, FileFormatError):
            raise
        reason = f"{error}\n".splitlines()[0]
        raise FileFormatError(f"{name}: expected a Parquet file, got {reason}") from None


def _is_plain(types: Any, kind: Any) -> bool:
    if types.is_dictionary(kind):
        kind = kind.value_type
    tests = (types.is_integer, types.is_floating, types.is_boolean)
    return _is_text(types, kind) or any(test(kind) for test in tests)


def _is_text(types: Any, kind: Any) -> bool:
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _cells(column: Any) -> list[Any]:
    if not hasattr(column, "dictionary"):
        return list(column.to_pylist())
    words = column.dictionary.to_pylist()
    return [None if place is None else words[place] for place in column.indices.to_pylist()]


__all__ = ["Table", "parquet_rows", "read_table"]
