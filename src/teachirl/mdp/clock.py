"""Clocks that stand still while kernels are compiled, and a word to the user when that takes long.

Numba compiles a kernel when it is first called on a machine, which takes seconds, and keeps the
result on disk. That is no part of what a lesson, a search or a unit of work takes.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from functools import cache

from numba.core.event import Event, Listener, register

AGES = 1e12  # more seconds than any limit
PATIENCE = 1.0  # seconds of compiling that need no explanation
MESSAGE = "teachirl: compiling for this machine, up to a minute; it is kept for the next time"


def seconds() -> float:
    """Seconds from some moment on, without those in which this thread compiled.

    >>> before = seconds()
    >>> 0 <= seconds() - before < 1
    True
    """
    return time.perf_counter() - _spent.real + _ahead


def hurry() -> None:
    """Move the clock so far ahead that the time is up for everything that has a limit."""
    global _ahead
    _ahead += AGES


def processor_seconds() -> float:
    """This thread's processor time, without what it spent on compiling."""
    return time.thread_time() - _spent.processor


def attended() -> bool:
    """Whether somebody looks at stderr: it is a terminal, or of a session or a notebook."""
    return sys.stderr.isatty() or hasattr(sys, "ps1")  # which sessions and notebooks have


@cache
def tell_compiling() -> None:
    """Say on stderr that kernels are compiled: once, and only to somebody who looks on."""
    if attended():
        print(MESSAGE, file=sys.stderr, flush=True)


def on_compiling(tell: Callable[[], None]) -> None:
    """Have `tell` called, as often as may be, instead of `tell_compiling`."""
    _watch.tell = tell


class _Spent(threading.local):
    """What this thread has spent on compiling, up to the kernel that it is at, if any."""

    depth = 0
    real = processor = began = began_processor = 0.0


class _Watch(Listener):
    """Hears of each compilation; those of what a kernel calls happen within its own."""

    tell: Callable[[], None] = staticmethod(tell_compiling)

    def on_start(self, event: Event) -> None:
        now = time.perf_counter()
        if _spent.depth == 0:
            _spent.began, _spent.began_processor = now, time.thread_time()
        _spent.depth += 1
        if _spent.real + now - _spent.began > PATIENCE:
            self.tell()

    def on_end(self, event: Event) -> None:
        _spent.depth -= 1
        if _spent.depth == 0:
            _spent.real += time.perf_counter() - _spent.began
            _spent.processor += time.thread_time() - _spent.began_processor


_ahead = 0.0
_spent = _Spent()
_watch = _Watch()
register("numba:compile", _watch)  # type: ignore[no-untyped-call]
