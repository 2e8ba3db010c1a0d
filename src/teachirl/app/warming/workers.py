"""Processes that compile, one kernel at a time each.

Of two that need the same kernel one waits for the other (`mdp/kernels/keeping.py`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TypeAlias

from numba.core.event import Event, Listener, install_listener

from ...errors import TeachirlError
from ...mdp.kernels.keeping import KEPT
from ...study.progress import Progress
from .steps import LATER, STEPS

Worker: TypeAlias = "subprocess.Popen[str]"
MOST_HELPERS = 2


@dataclass(frozen=True)
class Warmed:
    """What was compiled.

    Attributes
    ----------
    kernels : how many, those that they call aside
    seconds : of processor time
    """

    kernels: int
    seconds: float


def cores() -> int:
    """How many this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def warm(progress: Progress) -> Warmed:
    """Compile what is not on disk yet, on all cores.

    Parameters
    ----------
    progress : Progress, which is told of each step

    Returns
    -------
    Warmed
    """
    names: SimpleQueue[str] = SimpleQueue()
    for name in STEPS:
        names.put(name)
    told: SimpleQueue[Warmed | None] = SimpleQueue()
    kernels, seconds, part = 0, 0.0, progress.part("compiling", len(STEPS))
    with _workers(min(cores(), len(STEPS))) as workers:
        for worker in workers:
            threading.Thread(target=_feed, args=[worker, names, told], daemon=True).start()
        for _ in STEPS:
            done = told.get()
            if done is None:
                raise TeachirlError("a process that compiles has died; is there enough memory?")
            kernels, seconds = kernels + done.kernels, seconds + done.seconds
            part.advance()
    return Warmed(kernels, seconds)


def _feed(worker: Worker, names: SimpleQueue[str], told: SimpleQueue[Warmed | None]) -> None:
    """Have the worker do one step after another, and tell of each; None if it has died."""
    assert worker.stdin is not None and worker.stdout is not None
    try:
        while True:
            print(names.get_nowait(), file=worker.stdin, flush=True)
            kernels, seconds = worker.stdout.readline().split()
            told.put(Warmed(int(kernels), float(seconds)))
    except Empty:
        return
    except (OSError, ValueError):
        told.put(None)


@contextmanager
def helped() -> Iterator[None]:
    """As soon as something is compiled, others compile what most commands need later.

    It begins with the first kernel that is not on disk, and ends with the block.
    """
    n = min(cores() - 1, MOST_HELPERS) if KEPT else 0
    with _workers(0) as workers, install_listener("numba:compile", _Help(workers, n)):
        yield


class _Help(Listener):
    """Starts so many workers, once."""

    def __init__(self, workers: list[Worker], n: int) -> None:
        self.workers, self.n = workers, n

    def on_start(self, event: Event) -> None:
        n, self.n = self.n, 0
        for i in range(n):
            worker = _worker()
            self.workers.append(worker)
            assert worker.stdin is not None
            # Each begins with another step, and finds done what the others did meanwhile.
            print(*LATER[i:], *LATER[:i], sep="\n", file=worker.stdin, flush=True)

    def on_end(self, event: Event) -> None:
        pass


@contextmanager
def _workers(n: int) -> Iterator[list[Worker]]:
    """So many, which end with the block."""
    workers: list[Worker] = []
    try:
        workers.extend(_worker() for _ in range(n))
        yield workers
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()


def _worker() -> Worker:
    return subprocess.Popen(
        [sys.executable, "-m", __package__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
