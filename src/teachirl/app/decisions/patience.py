"""How long to go on with a decision: what is proved by then counts."""

from __future__ import annotations

import enum
import math
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from ...errors import TeachirlError
from ...mdp import clock

# Seconds beyond the limit, for what there is no answer without; and, once there is one that came
# late, for what goes with it.
GRACE, BRIEFLY = 1.0, 0.25
T = TypeVar("T")


class Cut(enum.Enum):
    """What ended a search before it was complete."""

    OUT_OF_TIME = enum.auto()
    INTERRUPTED = enum.auto()

    def __repr__(self) -> str:
        return self.name


class TooLittleTimeError(TeachirlError):
    """The seconds that were given do not suffice for an answer; the message says for what."""


class Patience:
    """How long to go on: for some seconds, and until Ctrl-C.

    All of the work is in one of three kinds of blocks. What there is no answer without is `needed`.
    A search, which comes to something whenever it ends, has the time that is `left`, or a `share`.
    The rest is `spared`, or done `strictly`: it is left out, and said to be, if time is up.

    Parameters
    ----------
    seconds : from now on
    whole : Patience with all of the work, if this is for a part: Ctrl-C ends that as well

    Attributes
    ----------
    cut : Cut, what ended the work before it was done; None if nothing did
    last : when what is needed, or spared, has to be done, by `clock.seconds`
    """

    def __init__(self, seconds: float = math.inf, whole: Patience | None = None) -> None:
        self.seconds, self.until = seconds, clock.seconds() + seconds
        self.whole, self.last = whole, self.until + GRACE
        self.cut: Cut | None = None

    def left(self) -> float:
        """Seconds, at least a thousandth; no more than that after Ctrl-C."""
        return max(self._remaining, 1e-3)

    @property
    def _remaining(self) -> float:
        return 0.0 if self.cut is Cut.INTERRUPTED else self.until - clock.seconds()

    @property
    def latest(self) -> float:
        """When what goes with the answer has to be done: `last`, or at once after Ctrl-C."""
        return -math.inf if self.cut is Cut.INTERRUPTED else self.last

    def share(self, part: float, most: float = math.inf) -> Patience:
        """The patience for a part of the work: a share of the time left, and so much at most."""
        return Patience(min(part * self._remaining, most), self)

    @property
    def interrupted(self) -> bool:
        """Whether it was Ctrl-C that ended the work, or that which this is a part of."""
        whole = None if self.whole is None else self.whole.cut
        return Cut.INTERRUPTED in (self.cut, whole)

    def over(self) -> bool:
        """Whether to stop; asked only where there is more to do, which then is left."""
        if self.cut is None and clock.seconds() >= self.until:
            self.cut = Cut.OUT_OF_TIME
        return self.cut is not None

    def renew(self) -> None:
        """Once there is an answer, what goes with it has a moment in any case."""
        self.last = max(self.last, clock.seconds() + BRIEFLY)

    @contextmanager
    def needed(self, what: str) -> Iterator[None]:
        """Work without which there is no answer: an error says that time did not suffice for it.

        Parameters
        ----------
        what : what is done, as in "find a policy"
        """
        try:
            with clock.limited(self.last):
                yield
        except clock.OutOfTimeError:
            if clock.seconds() <= self.last:
                raise  # a limit around this one is over
            raise TooLittleTimeError(
                f"{self.seconds:g} seconds do not suffice to {what}: --seconds gives it more time"
            ) from None

    def spared(self, work: Callable[[], T]) -> T | None:
        """What the work comes to; None if there was no time for it, or on Ctrl-C and after it, and
        `cut` says so."""
        if self.cut is Cut.INTERRUPTED:
            return None
        try:
            found = clock.in_time(self.last, work)
        except KeyboardInterrupt:
            self.cut, found = Cut.INTERRUPTED, None
        if found is None and clock.seconds() > self.last:
            self.cut = self.cut or Cut.OUT_OF_TIME
        return found

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


__all__ = ["BRIEFLY", "GRACE", "Cut", "Patience", "TooLittleTimeError"]
