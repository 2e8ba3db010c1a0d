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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np

from ...arrays import Floats, Ints
from ...demonstrations.parquet_files import parquet_rows
from ...errors import FileFormatError
from ...files import MAX_NUMBERS, MAX_ROWS, plain, shown
from .places import KEPT, listed, meant, refuse_all, similar

MAX_NAME = 1000


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
    numbers : array [n, len(columns)]; NaN for a cell that is no number, if those are kept
    wrong : where cells are wrong, and how, if such rows are kept
    whole : whether all rows are here, and none is left out for its names
    """

    name: str
    unit: str
    lines: array[int]
    texts: dict[str, list[str]]
    columns: tuple[str, ...]
    numbers: Floats
    wrong: tuple[tuple[str, str], ...] = ()
    whole: bool = True

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

    def refuse_wrong(self) -> None:
        """Refuse the table if it has cells that cannot be read."""
        refuse_all(self.wrong, str)

    def without(self, rows: Ints) -> Table:
        """The table without some rows, which it then misses."""
        if not len(rows):
            return self
        kept = np.setdiff1d(np.arange(len(self)), rows)
        return replace(
            self,
            lines=array("q", [self.lines[row] for row in kept]),
            texts={name: [cells[row] for row in kept] for name, cells in self.texts.items()},
            numbers=self.numbers[kept],
            whole=False,
        )

    def numbers_of(self, names: dict[str, int], column: str) -> Ints:
        """int array [n], the numbers of a column's names; -1 where that is not known."""
        texts = self.texts[column]
        numbers = (names.get(name, names.get(plain(name), -1)) for name in texts)
        return np.fromiter(numbers, np.int64, len(self))

    def refuse_unknown(self, numbers: Ints, names: dict[str, int], column: str) -> None:
        """Refuse the table if a column has names without a number, [n]."""
        texts = self.texts[column]
        self.refuse_rows(
            np.flatnonzero(numbers < 0),
            lambda row: f"there is no {column} {shown(texts[row])}{meant(texts[row], names)}",
        )

    def index(self, names: dict[str, int], column: str) -> Ints:
        """int array [n], the numbers of a column's names, which must all be known."""
        numbers = self.numbers_of(names, column)
        self.refuse_unknown(numbers, names, column)
        return numbers

    def repeats(self, keys: Ints) -> dict[int, int]:
        """Rows whose key, [n], an earlier row has, which comes with it; keys below 0 are none."""
        _, first, places = np.unique(keys, return_index=True, return_inverse=True)
        rows = np.flatnonzero((first[places] != np.arange(len(keys))) & (keys >= 0))
        return dict(zip(rows.tolist(), first[places[rows]].tolist(), strict=True))

    def refuse_repeats(self, keys: Ints, what: str) -> None:
        """Refuse the table if two rows have the same key, [n]."""
        again = self.repeats(keys)
        self.refuse_rows(
            again,
            lambda row: f"expected each {what} once, got that of {self.where(again[row])} again",
        )

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
    partly: bool = False,
) -> Table:
    """Read a table.

    Parameters
    ----------
    name : what to call the file in messages; its ending says what it is
    texts, numbers : the columns that it must have, in any order
    optional : those of them that may be missing
    further : whether all other columns are numbers too; if not, there must be none
    partly : whether a table with cells that cannot be read is kept, so that what else is wrong
        with it can be told; its numbers are NaN there, and rows without their names left out

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
    unit, rows = _opened(path, name)
    _, header = next(rows, (0, []))
    columns = _columns(name, header, texts, numbers, optional, further)
    found_texts: dict[str, list[str]] = {each: [] for each in texts if each in columns}
    found_numbers = [each for each in columns if each not in found_texts]
    text_places = [(columns[each], cells) for each, cells in found_texts.items()]
    number_places = [columns[each] for each in found_numbers]
    width, lines, flat = len(header), array("q"), array("d")
    known: dict[str, str] = {}  # one copy of each name
    wrong: list[tuple[str, str]] = []
    whole = True
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
            for _, column in text_places:
                del column[len(lines) :]
            del flat[len(lines) * len(number_places) :]
            at, found = f"{name}, {unit} {line}", dict(_wrong(cells, header, found_texts))
            wrong += [(f"{at}, {each}" if each else at, what) for each, what in found.items()]
            if len(wrong) >= KEPT:
                wrong[KEPT - 1 :] = [(name, f"what follows {unit} {line} was not looked at")]
                whole = False
                break
            if not {"", *found_texts}.isdisjoint(found):
                whole = False
                continue
            for place, column in text_places:
                column.append(_text(cells[place]))
            flat.extend(math.nan if c in found else float(cells[columns[c]]) for c in found_numbers)
        lines.append(line)
        if len(lines) > MAX_ROWS or len(flat) > MAX_NUMBERS:
            raise FileFormatError(
                f"{name}: expected at most {MAX_ROWS} rows and {MAX_NUMBERS} numbers, got more"
            )
    if not partly or not lines:
        refuse_all(wrong, str)
    if not lines:
        raise FileFormatError(f"{name}: expected rows below the header, got none")
    table = np.array(flat, dtype=float).reshape(len(lines), len(found_numbers))
    names = tuple(found_numbers)
    return Table(name, unit, lines, found_texts, names, table, tuple(wrong), whole)


def _opened(path: Path, name: str) -> tuple[str, Iterator[tuple[int, Sequence[Any]]]]:
    """How rows are counted, and the rows, the header first, each with its number."""
    kind = Path(name).suffix.lower()
    if kind not in (".csv", ".parquet"):
        raise FileFormatError(f"{name}: expected a file that ends in .csv or .parquet")
    csv_file = kind == ".csv"
    return "line" if csv_file else "row", (_csv_rows if csv_file else parquet_rows)(path, name)


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
            yield column, str(error)


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


__all__ = ["Table", "read_table"]
