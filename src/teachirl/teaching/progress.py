"""How far a lesson has come: told to a function, or in a line on stderr for who looks on."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from ..errors import one_line, require
from ..figures.digits import share_at_least
from ..mdp import clock
from ..mdp.compilation import attended
from .lesson_record import Round

Progress: TypeAlias = bool | Callable[[Round], object]
WIDTH = 20


class Line:
    """A line on stderr that is written anew after each round.

    Parameters
    ----------
    taught : int, how many features have been taught when the first round ends
    most : int, how many may be taught in all
    """

    def __init__(self, taught: int, most: int) -> None:
        self.taught, self.most, self.longest = taught, most, 0
        self.began = clock.seconds()

    def __call__(self, latest: Round) -> None:
        text = self.text(latest)
        self.taught += 1
        # What the line before had more is written over.
        print(f"\r{text:<{self.longest}}", end="", file=sys.stderr, flush=True)
        self.longest = max(self.longest, len(text))

    def text(self, latest: Round) -> str:
        """What is told after a round.

        Parameters
        ----------
        latest : Round

        Returns
        -------
        str
        """
        done = round(WIDTH * self.taught / max(self.most, 1))
        known = not math.isnan(latest.guaranteed)
        proved = f", guaranteed {share_at_least(latest.guaranteed)}" if known else ""
        return (
            f"teaching [{'#' * done}{'.' * (WIDTH - done)}] {self.taught} of at most {self.most}: "
            f"{one_line(latest.name) or 'nothing yet'}, performance "
            f"{share_at_least(latest.performance)}{proved}, {clock.seconds() - self.began:.0f} s"
        )

    def close(self) -> None:
        """Leave the line as it is; what is printed next has one of its own."""
        if self.longest:
            print(file=sys.stderr, flush=True)


@contextmanager
def telling(progress: Progress, taught: int, most: int) -> Iterator[Callable[[Round], object]]:
    """The function that hears of each round; one that does nothing if nobody wants to know."""
    require(
        isinstance(progress, bool) or callable(progress),
        f"progress must be True, False or a function of a round, got {progress!r}",
    )
    if callable(progress):
        yield progress
    elif progress and attended():
        line = Line(taught, most)
        try:
            yield line
        finally:
            line.close()
    else:
        yield lambda latest: None


__all__ = ["Line", "Progress", "telling"]
