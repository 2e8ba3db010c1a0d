"""Rows of Parquet files, from strangers: sizes are looked at before anything is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import FileFormatError, MissingExtraError
from ..files import MAX_NUMBERS, MAX_ROWS, shown

BATCH = 1 << 14


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


__all__ = ["parquet_rows"]
