"""A clock that stands still while kernels are compiled.

Numba compiles a kernel when it is first called on a machine, which takes seconds, and keeps the
result on disk. That is no part of what a lesson, a search or a unit of work takes.
"""

from __future__ import annotations

import time

from numba.core.event import Event, Listener, register

from . import compilation

AGES = 1e12  # more seconds than any limit


def seconds() -> float:
    """Seconds from some moment on, without those in which this thread compiled.

    >>> before = seconds()
    >>> 0 <= seconds() - before < 1
    True
    """
    return time.perf_counter() - compilation.spent.real + _ahead


def hurry() -> None:
    """Move the clock so far ahead that the time is up for everything that has a limit."""
    global _ahead
    _ahead += AGES


class _Watch(Listener):
    """Hears of each compilation."""

    def on_start(self, event: Event) -> None:
        compilation.spent.begin()

    def on_end(self, event: Event) -> None:
        compilation.spent.end()


_ahead = 0.0
register("numba:compile", _Watch())  # type: ignore[no-untyped-call]
