"""Documents, and other results, as JSON; `docs/decisions.md` says what each field means."""

from __future__ import annotations

import enum
import json
import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from ..document.elements import (
    Bullets,
    Data,
    Document,
    Element,
    Facts,
    Section,
    Sentence,
    Table,
)

VERSION = 2  # raised when a field is renamed, removed or given another meaning


def print_json(name: str, value: Any) -> None:
    """An object with the version of the format, and `value` under its name."""
    import typer  # only commands print: the studio's processes start without it

    document = {"version": VERSION, name: plain(value)}
    text = json.dumps(document, indent=2, allow_nan=False)
    typer.echo(text.replace("\x7f", "\\u007f"))  # the one that JSON does not escape itself


def print_document(document: Document) -> None:
    """All of a document that has a key, under the document's name.

    Parameters
    ----------
    document : Document
    """
    print_json(document.name, contents(document))


def contents(document: Document) -> dict[str, Any]:
    """All of a document that has a key, by its key.

    Parameters
    ----------
    document : Document

    Returns
    -------
    dict of raw values
    """
    pairs = (pair for section in document.sections for pair in _pairs(section))
    return {"title": document.title, **dict(pairs)}


def _pairs(element: Element) -> Iterator[tuple[str, Any]]:
    """Names and values of what an element, and what is in it, has for programs."""
    match element:
        case Section():
            for each in element.elements:
                yield from _pairs(each)
        case Bullets() if not element.key:
            for sentence in element.sentences:
                yield from _pairs(sentence)
        case Facts():
            yield from ((fact.key, fact.value) for fact in element.facts if fact.key)
        case Sentence() | Bullets() | Table() | Data() if element.key:
            yield element.key, _value(element)


def _value(element: Sentence | Bullets | Table | Data) -> Any:
    match element:
        case Sentence():
            return element.text
        case Bullets():
            return [sentence.text for sentence in element.sentences]
        case Table():
            columns = [column for column in element.columns if column.key]
            return [{column.key: column.of(row) for column in columns} for row in element.rows]
        case Data():
            return element.compute()


def plain(value: Any) -> Any:
    """A value as JSON has it: records as objects, and null for infinities and NaN.

    >>> plain({"a": (1.0, float("inf"))})
    {'a': [1.0, None]}
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, enum.Enum):
        return value.name
    return None if isinstance(value, float) and not math.isfinite(value) else value


__all__ = ["VERSION", "contents", "plain", "print_document", "print_json"]
