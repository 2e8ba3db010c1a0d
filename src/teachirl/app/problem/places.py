"""Where in a problem file something is wrong, and how that is said."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar

from ...errors import FileFormatError, InvalidInputError
from ...files import shown

# Of so many mistakes each is told; of further ones, how many there are.
TOLD = 5
UNTOLD = re.compile(r"(?:.*: )?… and (\d+) more mistakes")
# So many of a kind are looked at.
KEPT = 20
# What the reader of a file format says may quote the file; so many characters are enough.
LONGEST = 600
# Among more names than this no similar one is sought, as that takes a while.
SOUGHT = 20_000

T = TypeVar("T")


@dataclass(frozen=True)
class Place:
    """A field of a problem file: ``Place(path) / "world" / "size"``.

    >>> from pathlib import Path
    >>> str(Place(Path("car.toml")) / "teach" / "feature" / 2 / "cost")
    'car.toml, teach.feature[2].cost'

    Attributes
    ----------
    path : the file
    parts : names and numbers that lead to the field
    options : parts that an option of a command changed, each with that option
    """

    path: Path
    parts: tuple[str | int, ...] = ()
    options: tuple[tuple[tuple[str | int, ...], str], ...] = ()

    def __truediv__(self, part: str | int) -> Place:
        return Place(self.path, (*self.parts, part), self.options)

    def told_by(self, option: str, *parts: str | int) -> Place:
        """The same place, of a file whose field `parts` an option changed."""
        return Place(self.path, self.parts, (*self.options, (parts, option)))

    def __str__(self) -> str:
        for parts, option in reversed(self.options):
            if self.parts[: len(parts)] == parts:
                return option if self.parts == parts else f"{option}, {dotted(self.parts)}"
        # What is wrong with a table may be what was changed in it.
        within = [each for parts, each in self.options if self.parts == parts[: len(self.parts)]]
        changed = f" (with {'; '.join(within)})" if self.parts and within else ""
        return f"{self.path}, {dotted(self.parts)}{changed}" if self.parts else str(self.path)

    def refuse(self, message: str) -> NoReturn:
        raise FileFormatError(f"{self}: {message}")

    @contextmanager
    def locating(self, *within: tuple[type[Exception], Place]) -> Iterator[None]:
        """What the user did wrong within this block, was done wrong here; errors of some types,
        at a place within."""
        try:
            yield
        except (InvalidInputError, FileFormatError) as error:
            here = next((place for kind, place in within if isinstance(error, kind)), self)
            lines = "\n".join(f"{here}: {shortened(line)}" for line in str(error).splitlines())
            raise FileFormatError(lines) from error
        except OSError as error:
            raise FileFormatError(f"{self}: cannot read it: {error.strerror or error}") from error


@contextmanager
def called_by_name(path: Path, name: str) -> Iterator[None]:
    """Readers call a file by its full path; a message calls it as the problem file does."""
    try:
        yield
    except (FileFormatError, InvalidInputError) as error:
        raise FileFormatError(str(error).replace(str(path), name)) from error


def refuse_all(mistakes: Iterable[tuple[Place | str, T]], say: Callable[[T], str]) -> None:
    """Refuse the file if there are mistakes, the first few with a line each: what is to say of it.

    The others are only counted, as a search for similar names takes a while.
    """
    found = list(mistakes)
    lines = [f"{place}: {say(what)}" for place, what in found[:KEPT]]
    if len(found) > KEPT:
        lines.append(f"… and {len(found) - KEPT} more mistakes")
    if lines:
        raise FileFormatError("\n".join(lines))


def dotted(parts: Iterable[str | int]) -> str:
    """The path of a field, as TOML would write it."""
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            bare = re.fullmatch(r"[\w-]{1,60}", part, re.ASCII)
            text += ("." if text else "") + (part if bare else shown(part))
    return text


def shortened(text: str) -> str:
    """What an error says, unless that is endless."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def listed(names: Iterable[str], limit: int = 12) -> str:
    """The names, or the first few of them."""
    names = list(names)
    more = f", … ({len(names)} in all)" if len(names) > limit else ""
    return ", ".join(name if len(name) <= 60 else shown(name) for name in names[:limit]) + more


def meant(name: object, names: Collection[str], *, also: bool = True) -> str:
    """``; did you mean 'ice'?`` if a name is similar; if none is, and `also`, which there are.

    >>> meant("gridwrold", ["chain", "gridworld"])
    "; did you mean 'gridworld'?"
    >>> meant("moon", ["chain", "gridworld"])
    '; there are: chain, gridworld'
    """
    if not names:
        return "; there are none"
    near = similar(name, names)
    if near is not None:
        return f"; did you mean {shown(near)}?"
    return f"; there are: {listed(names)}" if also else ""


def similar(name: object, names: Collection[str]) -> str | None:
    """Which of some names is written much like this one.

    >>> similar("next_state", ["state", "action", "next_sate"]), similar("moon", ["chain"])
    ('next_sate', None)
    """
    if not isinstance(name, str) or len(names) > SOUGHT:
        return None
    by_lower = {each.lower(): each for each in names}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return by_lower[near[0]] if near else None


__all__ = [
    "Place",
    "called_by_name",
    "dotted",
    "listed",
    "meant",
    "refuse_all",
    "shortened",
    "similar",
]
