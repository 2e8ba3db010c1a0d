"""How long to go on with a decision: what is proved by then counts."""

from __future__ import annotations

import enum
import math
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ...mdp import clock


class Cut(enum.Enum):
    """What ended a search before it was complete."""

    OUT_OF_TIME = enum.auto()
    INTERRUPTED = enum.auto()

    def __repr__(self) -> str:
        return self.name


class Patience:
    """How long to go on: for some seconds, and until Ctrl-C.

    Parameters
    ----------
    seconds : from now on
    whole : Patience with all of the work, if this is for a part: Ctrl-C ends that as well

    Attributes
    ----------
    cut : Cut, what ended the work before it was done; None if nothing did
    """

    def __init__(self, seconds: float = math.inf, whole: Patience | None = None) -> None:
        self.seconds, self.until = seconds, clock.seconds() + seconds
        self.whole = whole
        self.cut: Cut | None = None

    def left(self) -> float:
        """Seconds, at least a thousandth."""
        return max(self.until - clock.seconds(), 1e-3)

    def share(self, part: float, most: float = math.inf) -> Patience:
        """The patience for a part of the work: a share of the time left, and so much at most."""
        return Patience(min(part * (self.until - clock.seconds()), most), self)

    def over(self) -> bool:
        """Whether to stop; asked only where there is more to do, which then is left."""
        if self.cut is None and clock.seconds() >= self.until:
            self.cut = Cut.OUT_OF_TIME
        return self.cut is not None

    @contextmanager
    def gently(self) -> Iterator[None]:
        """Ctrl-C within the block ends searches that have a limit in time, with what they have
        proved; a second one ends the block."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def hurry(*_: object) -> None:
            signal.signal(signal.SIGINT, before)
            self.cut = Cut.INTERRUPTED
            clock.hurry()

        before = signal.signal(signal.SIGINT, hurry)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextmanager
    def work(self) -> Iterator[None]:
        """Ctrl-C ends what is done within the block, and the work; the rest goes on at once."""
        try:
            yield
        except clock.OutOfTimeError:
            self.cut = self.cut or Cut.OUT_OF_TIME
        except KeyboardInterrupt:
            self.cut = Cut.INTERRUPTED
            if self.whole is not None:
                self.whole.cut = self.cut

    @contextmanager
    def strictly(self) -> Iterator[None]:
        """`work` that has no limits of its own: it ends as well when the time is up."""
        with self.work(), clock.limited(self.until):
            yield


__all__ = ["Cut", "Patience"]
