"""A problem file with the present choice, as TOML."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...errors import one_line
from ..problem.changes import Change, changed
from ..problem.places import Place
from ..problem.reading import read_text
from .choice import Choice


def with_choice(path: Path, choice: Choice) -> str:
    """The text of a problem file in which what is chosen stands; its comments are left behind.

    Parameters
    ----------
    path : the problem file
    choice : Choice; what is taught becomes what must be taught

    Returns
    -------
    str
    """
    changes = choice.changes(path, required=True)
    _, tables = changed(Place(path), tomllib.loads(read_text(path)), changes)
    lines = [f"# {one_line(path.name)}, with what was chosen at the desk:"]
    lines += [f"# {one_line(change.option)}" for change in changes] or ["# nothing"]
    return "\n".join([*lines, "", *_table((), tables)]) + "\n"


def setting(change: Change) -> str:
    """A change as ``--set`` has it.

    >>> setting(Change("", ("teach", "required"), ["radar", 'a "b"']))
    'teach.required=["radar", "a \\\\"b\\\\""]'
    """
    return f"{'.'.join(_key(str(part)) for part in change.parts)}={_value(change.value)}"


def _table(place: tuple[str, ...], table: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a table: values first, then the tables in it."""
    inner = {key: value for key, value in table.items() if _is_table(value)}
    for key, value in table.items():
        if key not in inner:
            yield f"{_key(key)} = {_value(value)}"
    for key, value in inner.items():
        here = (*place, key)
        name = ".".join(map(_key, here))
        for each in value if isinstance(value, list) else [value]:
            yield ""
            yield f"[[{name}]]" if isinstance(value, list) else f"[{name}]"
            yield from _table(here, each)


def _is_table(value: Any) -> bool:
    several = isinstance(value, list) and bool(value)
    return isinstance(value, dict) or (several and all(isinstance(each, dict) for each in value))


def _key(key: str) -> str:
    bare = key.isascii() and key.replace("-", "").replace("_", "").isalnum()
    return key if bare else _value(key)


def _value(value: Any) -> str:
    """A value in one line.

    >>> _value({"a b": [1, 2.5, True, 'say "x"']})
    '{ "a b" = [1, 2.5, true, "say \\\\"x\\\\""] }'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_key(k)} = {_value(each)}' for k, each in value.items())} }}"
    return repr(value) if isinstance(value, (int, float)) else str(value)


__all__ = ["setting", "with_choice"]
