"""From the bytes of a problem file to its checked tables."""

from __future__ import annotations

import codecs
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from ...errors import FileFormatError
from ...files import shown
from .changes import Change, changed
from .goal_schema import FeatureLimit
from .mended import mended
from .mistakes import Mistakes
from .named import NAMED, parameters_model
from .places import Place, meant, refuse_all, shortened
from .schema import KINDS, Plan, ProblemFile

MAX_BYTES = 1 << 20
# tomllib takes quadratic time for keys of many parts.
MAX_PARTS = 32
QUOTED = re.compile(
    r'"""(?:\\.|"(?!"")|[^"\\])*+"{0,5}|'
    r"'''(?:'(?!'')|[^'])*+'{0,5}|"
    r'"(?:\\.|[^"\\\n])*+"?|'
    r"'[^'\n]*+'?|#[^\n]*",
    re.DOTALL,
)
LONG_KEY = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{MAX_PARTS}}}")

EXPECTED = {
    "bool_type": "true or false",
    "dict_type": "a table",
    "finite_number": "a finite number",
    "float_type": "a number",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_type": "a table",
    "string_type": "a text",
}
LIMITS = {
    "greater_than": "more than {gt:g}",
    "greater_than_equal": "at least {ge:g}",
    "less_than": "less than {lt:g}",
    "less_than_equal": "at most {le:g}",
    "string_too_long": "at most {max_length} characters",
    "string_too_short": "a text that is not empty",
    "too_short": "a table that is not empty",
}
# Without these, nothing more can be said about the rest.
NEEDED = frozenset({"allow_outside", "world"})
WAITING = "the files that it names were not looked at, as it must be right first"


def read_text(path: Path) -> str:
    """The text of the file: UTF-8, with or without a mark, of a bounded size."""
    with path.open("rb") as file:
        raw = file.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise FileFormatError(f"{path}: expected at most {MAX_BYTES} bytes of TOML, got more")
    if raw[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise FileFormatError(f"{path}: expected UTF-8 text, got UTF-16; save it as UTF-8")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise FileFormatError(
            f"{path}, line {line}: expected UTF-8 text, got byte {raw[error.start]:#04x}; save it "
            "as UTF-8"
        ) from None


def parse(
    path: Path, text: str, mistakes: Mistakes, changes: Iterable[Change] = ()
) -> tuple[Place, ProblemFile]:
    """The place and the checked tables of a file.

    Something stands in for what is wrong, which is kept, so that the rest can be looked at; if
    nothing can, the whole table is as if it were left out. A file whose world is not right then is
    refused.

    Parameters
    ----------
    path : the file
    text : what is in it
    mistakes : Mistakes, to add to
    changes : Change, what stands in for some of it
    """
    # Without what is quoted, and without comments, dots are those of keys and of numbers.
    if LONG_KEY.search(QUOTED.sub("x", text)):
        raise FileFormatError(f"{path}: expected keys of at most {MAX_PARTS} parts, got more")
    try:
        tables = tomllib.loads(text)
    except RecursionError:
        raise FileFormatError(f"{path}: expected a few lists in lists, got too many") from None
    except ValueError as error:  # also what int() says of too many digits
        raise FileFormatError(f"{path}: this is not TOML: {_of_toml(error, text)}") from None
    return checked(*changed(Place(path), tables, changes), mistakes)


def _of_toml(error: ValueError, text: str) -> str:
    """What is wrong, with the line that it stands in."""
    said, place = shortened(str(error)), re.search(r"at line (\d+), column", str(error))
    lines = text.split("\n")
    if place is None or int(place[1]) > len(lines):
        return said
    line = lines[int(place[1]) - 1].strip()
    bare = re.search(r"=\s*([+-]?)(\.\d+)", line)
    hint = "" if bare is None else f"; write {bare[1]}0{bare[2]}"
    return f"{said}, {shown(line)}{hint}"


def checked(
    place: Place, tables: Mapping[str, Any], mistakes: Mistakes
) -> tuple[Place, ProblemFile]:
    """The same, of what TOML has of a file.

    Parameters
    ----------
    place : the file
    tables : what is in it
    mistakes : Mistakes, to add to
    """
    try:
        return place, ProblemFile.model_validate(tables)
    except ValidationError as error:
        found = list(_mistakes(place, error))
        mistakes.of(partial(refuse_all, found, partial(_message, tables)))
        rest, wrong = mended(tables, [each for _, each in found], partial(_keys, tables))
        if not NEEDED.isdisjoint(wrong) or "world" not in rest:
            here = place / "world" if "world" in tables else place
            mistakes.waiting = f"{here}: {WAITING}"
            mistakes.refuse()
        mistakes.left_out.update(wrong)
        return place, ProblemFile.model_validate(rest)


def _mistakes(place: Place, error: ValidationError) -> Iterator[tuple[Place, Any]]:
    """Where the mistakes are, and Pydantic's account of each."""
    for mistake in error.errors(include_url=False):
        here = place
        for part in mistake["loc"]:
            here = here / part
        yield here, mistake


def _message(tables: Any, mistake: Any) -> str:
    """What was expected there."""
    kind, context, got = mistake["type"], mistake.get("ctx", {}), mistake["input"]
    if kind == "extra_forbidden":
        *outer, key = mistake["loc"]
        return f"there is no such key{meant(key, _keys(tables, outer))}"
    if kind == "missing":
        return "expected this key, got nothing"
    if kind == "value_error":
        return str(context["error"])
    if kind == "literal_error":
        words = re.findall(r"'(\w+)'", context["expected"])
        return f"expected {' or '.join(words)}, got {shown(got)}{meant(got, words, also=False)}"
    if kind in EXPECTED:
        return f"expected {EXPECTED[kind]}, got {shown(got)}"
    if kind in LIMITS:
        return f"expected {LIMITS[kind].format(**context)}, got {shown(got)}"
    return f"{mistake['msg']}, got {shown(got)}"


def _keys(value: Any, parts: Iterable[str | int]) -> list[str]:
    """The keys that the table at this place could have."""
    model: type[BaseModel] = ProblemFile
    for part in parts:
        value = value[part]
        # Below limits are names of features, and no tables below those.
        if isinstance(part, str) and model is not FeatureLimit:
            model = _model(model, part, value)
    return list(model.model_fields)


def _model(outer: type[BaseModel], key: str, value: Any) -> type[BaseModel]:
    """The model of the table `value`, which is that of a key in another."""
    if key == "world" or (outer is Plan and key in NAMED):
        for kind, model in KINDS.items():
            if kind in value:
                return model
        return parameters_model(NAMED[key][value["name"]])
    return next(_models(outer.model_fields[key].annotation))


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)


__all__ = ["checked", "parse", "read_text"]
