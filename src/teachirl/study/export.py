"""A run's results as one long table, for other programs."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import InvalidInputError, MissingExtraError, require
from ..files import neutral, replacing
from .results_database import Store

Rows: TypeAlias = list[dict[str, Any]]


def export(store: Store, run: str, path: str | Path) -> int:
    """Write the finished units of a run to a ``.csv`` or ``.parquet`` file; the number of rows.

    A unit is a row, or a row for each entry of its lists with the entry's ``index``; coordinates
    and single values are then repeated. What a unit does not have stays empty. In CSV, a text that
    a spreadsheet would take for a formula begins with an apostrophe.

    Parameters
    ----------
    run : id, or how it begins
    path : replaced only once the new file is complete

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store.open(folder) as store:
    ...     run = store.begin("mine.py:MINE", 1, {}, [{"trial": 0}])
    ...     store.add(run.id, {"trial": 0}, {"risk": [0.5, None], "solves": 4}, {}, "here")
    ...     n_rows = export(store, run.id, Path(folder, "table.csv"))
    ...     print(Path(folder, "table.csv").read_text())
    trial,index,risk,solves
    0,0,0.5,4
    0,1,,4
    <BLANKLINE>
    """
    path = Path(path)
    require(path.suffix in (".csv", ".parquet"), f"path must end in .csv or .parquet, got {path}")
    rows = _rows(store, store.get(run).id)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    written = _csv(columns, rows) if path.suffix == ".csv" else _parquet(columns, rows)
    with replacing(path) as file:
        file.write(written)
    return len(rows)


def _rows(store: Store, run: str) -> Rows:
    rows: Rows = []
    for text, (values, seconds) in store.finished(run).items():
        unit = json.loads(text)
        lists = [value for value in (values | seconds).values() if isinstance(value, list)]
        index = {"index": None} if lists else {}
        names = [*unit, *index, *values, *seconds]
        twice = sorted({name for name in names if names.count(name) > 1})
        require(not twice, f"unit {text} of run {run} has more than one column {', '.join(twice)}")
        entries: dict[str, Any] = unit | index | values | seconds
        for i in range(len(lists[0]) if lists else 1):
            row = {k: v[i] if isinstance(v, list) else v for k, v in entries.items()}
            rows.append(row | {"index": i} if lists else row)
    return rows


def _csv(columns: list[str], rows: Rows) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(neutral, columns))
    for row in rows:
        cells = (row.get(name) for name in columns)
        writer.writerow(neutral(cell) if isinstance(cell, str) else cell for cell in cells)
    return text.getvalue().encode()


def _parquet(columns: list[str], rows: Rows) -> bytes:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "parquet") from error
    arrays = {}
    for name in columns:
        try:
            arrays[name] = pyarrow.array([row.get(name) for row in rows])
        except (pyarrow.ArrowException, OverflowError) as error:
            raise InvalidInputError(
                f"column {name} does not fit one type of Parquet, export to .csv instead: {error}"
            ) from error
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(arrays), file)
    return file.getvalue()
