"""A clock that stands still while kernels are compiled, and limits by it.

Numba compiles a kernel when it is first called on a machine, which takes seconds, and keeps the
result on disk. That is no part of what a lesson, a search or a unit of work takes.

What may take long looks at the clock now and then: a kernel that does returns after a piece of its
work, and is called again to go on. There Ctrl-C is obeyed as well. What is not ours and cannot be
cut in pieces is done `aside`.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from numba.core.event import Event, Listener, register

from . import compilation

AGES = 1e12  # more seconds than any limit
BETWEEN = 0.05  # seconds between two looks at the clock while others work
T = TypeVar("T")


def seconds() -> float:
    """Seconds from some moment on, without those in which this thread compiled.

    >>> before = seconds()
    >>> 0 <= seconds() - before < 1
    True
    """
    return time.perf_counter() - compilation.spent.real + _ahead


class OutOfTimeError(Exception):
    """The time of a `limited` block is up; whoever set the limit goes on with what there is."""


@contextmanager
def limited(deadline: float) -> Iterator[None]:
    """Within the block a `look` raises `OutOfTimeError` from that moment on, by `seconds`.

    >>> with limited(seconds() + 60.0):
    ...     look()
    """
    before = _limit.deadline
    _limit.deadline = min(before, deadline)
    try:
        yield
    finally:
        _limit.deadline = before


def in_time(deadline: float, work: Callable[[], T]) -> T | None:
    """What the work comes to, in a `limited` block; None if it does not come to its end, or the
    time is up before it begins.

    >>> in_time(seconds() + 60.0, lambda: 2 + 2)
    4
    """
    try:
        with limited(deadline):
            look()
            return work()
    except OutOfTimeError:
        if seconds() > deadline:
            return None
        raise  # a limit around this one is over


def look() -> None:
    """Raise `OutOfTimeError` if the time of a `limited` block of this thread is up."""
    deadline = _limit.deadline
    if deadline < math.inf and seconds() > deadline:
        raise OutOfTimeError


def aside(work: Callable[[], T], long: bool = True) -> T:
    """What the work comes to; if it may take `long`, done by a thread while this one looks at the
    clock.

    For what cannot look at it, and lets other threads run meanwhile (SuperLU, LAPACK). When the
    time is up, or at Ctrl-C, the thread is left to itself: what it finds is of no use then. Python
    waits for it when it exits, as SuperLU does not bear to be cut off; a command does not.

    >>> aside(lambda: 2 + 2)
    4
    """
    if not long:
        return work()
    found, failed, done = list[T](), list[BaseException](), threading.Event()

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:
            failed.append(error)
        finally:
            done.set()

    look()
    threading.Thread(target=run, name="teachirl aside").start()
    # Of a thread that is joined when Ctrl-C comes, Python 3.11 would believe that it has ended.
    while not done.wait(BETWEEN):
        look()
    if failed:
        raise failed[0]
    return found[0]


def hurry() -> None:
    """Move the clock so far ahead that the time is up for everything that has a limit."""
    global _ahead
    _ahead += AGES


def hurried(deadline: float) -> bool:
    """Whether it is by `hurry` that the time until then is up.

    >>> hurried(seconds() - 1.0)
    False
    """
    return seconds() > deadline + 0.5 * AGES


class _Limit(threading.local):
    """Until when this thread may work."""

    deadline = math.inf


class _Watch(Listener):
    """Hears of each compilation."""

    def on_start(self, event: Event) -> None:
        compilation.spent.begin()

    def on_end(self, event: Event) -> None:
        compilation.spent.end()


_ahead = 0.0
_limit = _Limit()
register("numba:compile", _Watch())  # type: ignore[no-untyped-call]
