"""The mistakes of a problem file, collected, so that they are told at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn, TypeVar

from ...errors import FileFormatError
from .places import KEPT, TOLD, UNTOLD

T = TypeVar("T")


class ProblemFileError(FileFormatError):
    """A problem file has mistakes; the message tells the first few.

    Attributes
    ----------
    mistakes : str, a line each; all that could be found at once
    waiting : str, what could not be looked at for these mistakes; empty if that is nothing
    """

    def __init__(self, mistakes: tuple[str, ...], waiting: str = "") -> None:
        self.mistakes, self.waiting = mistakes, waiting
        # Of many of a kind the last line only counts.
        counted = [int(found[1]) - 1 for each in mistakes if (found := UNTOLD.fullmatch(each))]
        more = len(mistakes) + sum(counted) - TOLD
        told = list(mistakes[:TOLD])
        if more == 1:
            told = list(mistakes)
        elif more > 1:
            which = "more" if counted else "all"
            told.append(f"… and {more} more mistakes; teachirl check tells {which} of them")
        super().__init__("\n".join(told))


class Mistakes:
    """Mistakes that were found so far: one does not keep others from being found.

    Attributes
    ----------
    found : list of str, a line each
    left_out : set of str, tables of the file that are not looked at further, for mistakes in them
    waiting : str, what could not be looked at for these mistakes; empty if that is nothing

    Examples
    --------
    >>> mistakes = Mistakes()
    >>> mistakes.of(lambda: 1)
    1
    >>> def wrong():
    ...     raise FileFormatError("car.toml, seed: expected a number, got 'x'")
    >>> mistakes.of(wrong)
    >>> mistakes.found
    ["car.toml, seed: expected a number, got 'x'"]
    """

    def __init__(self) -> None:
        self.found: list[str] = []
        self.left_out: set[str] = set()
        self.waiting = ""

    def of(self, make: Callable[[], T]) -> T | None:
        """What `make` makes; None if that is a mistake, which is kept."""
        with self.collecting():
            return make()
        return None

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """A mistake within this block is kept, and ends the block."""
        try:
            yield
        except FileFormatError as error:
            self.add(error)

    def add(self, error: FileFormatError) -> None:
        """Keep the mistakes that an error tells, a line each."""
        lines = error.mistakes if isinstance(error, ProblemFileError) else str(error).splitlines()
        self.found += [line for line in lines if line not in self.found]

    def refuse(self) -> NoReturn:
        """Refuse the file for what was found."""
        raise ProblemFileError(tuple(self.found), self.waiting)

    def refuse_any(self) -> None:
        """Refuse the file if something was found."""
        if self.found:
            self.refuse()

    def tell_many(self) -> None:
        """If as many were found as are looked at, hand them on, as more would take a while."""
        if len(self.found) >= KEPT:
            self.tell_any()

    def tell_any(self) -> None:
        """If something was found, hand all of it to those who collect mistakes further out."""
        if self.found:
            raise FileFormatError("\n".join(self.found))


__all__ = ["Mistakes", "ProblemFileError"]
