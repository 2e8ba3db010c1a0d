"""`teachirl compare`: two problem files, or two results, side by side."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from .options import AsJson, Sees, Set
from .problems import changes_of, deciding, print_document

FIRST = "A problem file, TOML, or what a command printed with --json."
SECOND = "Another; by default the first again, changed by --sees and --set."


def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help=FIRST)],
    second: Annotated[Path | None, typer.Argument(metavar="B", help=SECOND)] = None,
    sees: Sees = None,
    sets: Set = None,
    as_json: AsJson = False,
) -> None:
    """Say in what two problem files, or two results, differ: what is asked, and what is found.

    Of a problem file, that is what `certify` and `teach` find. --sees and --set change the second.
    """
    from ...errors import require
    from ..decisions import both_news, differing, told_once
    from ..document.comparison import comparison, who_is_shown

    changed = sees is not None or bool(sets)
    require(second is not None or changed, "expected a second file, or --sees or --set, got none")
    said, one = _read(first, None, None)
    then, other = _read(second or first, sees, sets)
    shared = [key for key in one if key in other]
    require(
        bool(shared),
        f"expected results of the same command, got {', '.join(one)} in {first} and "
        f"{', '.join(other)} in {second}",
    )
    asked = () if said is None or then is None else tuple(differing(said, then))
    found = [each for key in shared for each in differing(*both_news(one[key], other[key]), (key,))]
    who, told = who_is_shown(one, other), tuple(told_once(found, asked))
    print_document(comparison(_names(first, second), asked, told, who), as_json)


def _names(first: Path, second: Path | None) -> tuple[str, str]:
    if second is None:
        return first.stem, "changed"
    names = first.stem, second.stem
    return names if names[0] != names[1] else (str(first), str(second))


def _read(
    file: Path, sees: str | None, sets: list[str] | None
) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """What a problem file says, if it is one, and what was found, by the names of JSON."""
    from ...errors import FileFormatError, require
    from ...files import JsonReader
    from ..render.json import VERSION, contents, plain

    kind = file.suffix.lower()
    page = f"{file}: expected a problem file (.toml), or what --json prints (.json), got a page"
    require(kind not in (".html", ".htm"), page)
    if kind == ".json":
        require(sees is None and not sets, f"{file}: --sees and --set are for problem files")
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise FileFormatError(f"{file}: expected UTF-8 text, got {error.reason}") from None
        value = JsonReader.of_text(text, str(file)).value
        version = value.pop("version", None)
        require(version == VERSION, f"{file}: version must be {VERSION}, got {version!r}")
        for key, each in value.items():
            require(isinstance(each, dict), f"{file}: {key} must be an object, got {each!r:.60}")
        return None, value
    from ..decisions import assess, plan
    from ..document.documents import answer
    from ..problem.changes import changed

    with deciding(file, sees, sets) as (problem, progress):
        results: dict[str, Any] = {}
        for each in (assess(problem, progress=progress), plan(problem, progress=progress)):
            document = answer(problem, each)
            results[document.name] = plain(contents(document))
    said = tomllib.loads(problem.source)
    return changed(problem.place, said, changes_of(sees, sets))[1], results
