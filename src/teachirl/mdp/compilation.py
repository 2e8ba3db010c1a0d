"""What is spent on compiling kernels, and a word to the user when that takes long.

Nothing is loaded for it, so that processes which have no use for kernels can tell as well; `clock`
has Numba report here.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from functools import cache

PATIENCE = 1.0  # seconds of compiling that need no explanation
MESSAGE = "teachirl: compiling for this machine, up to a minute; it is kept for the next time"


def processor_seconds() -> float:
    """This thread's processor time, without what it spent on compiling."""
    return time.thread_time() - spent.processor


def attended() -> bool:
    """Whether somebody looks at stderr: it is a terminal, or of a session or a notebook."""
    return sys.stderr.isatty() or hasattr(sys, "ps1")  # which sessions and notebooks have


@cache
def tell_compiling() -> None:
    """Say on stderr that kernels are compiled: once, and only to somebody who looks on."""
    if attended():
        print(MESSAGE, file=sys.stderr, flush=True)


class Spent(threading.local):
    """What this thread has spent on compiling, up to the kernel that it is at, if any.

    What a kernel calls is compiled within its own time.
    """

    tell: Callable[[], None] = staticmethod(tell_compiling)
    depth = 0
    real = processor = began = began_processor = 0.0

    def begin(self) -> None:
        """Compiling begins."""
        now = time.perf_counter()
        if self.depth == 0:
            self.began, self.began_processor = now, time.thread_time()
        self.depth += 1
        if self.real + now - self.began > PATIENCE:
            self.tell()

    def end(self) -> None:
        """Compiling ends, be it that it has failed."""
        self.depth -= 1
        if self.depth == 0:
            self.real += time.perf_counter() - self.began
            self.processor += time.thread_time() - self.began_processor


def on_compiling(tell: Callable[[], None]) -> None:
    """Have `tell` called, as often as may be, instead of `tell_compiling`."""
    Spent.tell = staticmethod(tell)


spent = Spent()
