"""Work on this machine, in processes of our own.

A process pool of the standard library is given up as a whole when one of its processes is killed.
Here a killed process costs the job that it was doing, which another one then does.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import closing, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import cast

from ...mdp.compilation import tell_compiling
from .jobs import COMPILING, EngineError, Job, Ledger

# A job is given up when this many processes died of it, and all work when as many in a row died
# before they could take a job.
MOST_DEATHS = 3
# There is a process a processor: threads of BLAS would wait for each other.
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMBA_NUM_THREADS",
    ),
    "1",
)


def available_cpus() -> int:
    """How many processors this process may use.

    >>> available_cpus() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_locally(jobs: Sequence[Job], workers: int, ledger: Ledger) -> None:
    """Do `jobs` in so many processes."""
    with closing(_Pool(jobs, workers, ledger)) as pool:
        pool.run()


class _Pool:
    """Processes and the jobs that they have, or will have."""

    def __init__(self, jobs: Sequence[Job], size: int, ledger: Ledger) -> None:
        self.waiting = deque(jobs)
        self.size = size
        self.ledger = ledger
        self.workers: dict[Connection, _Worker] = {}
        self.idle: list[_Worker] = []
        self.busy: dict[_Worker, Job] = {}
        self.deaths: Counter[Job] = Counter()
        self.false_starts = 0

    def run(self) -> None:
        while self.waiting or self.busy:
            while len(self.workers) < min(self.size, len(self.waiting) + len(self.busy)):
                worker = _Worker()
                self.workers[worker.connection] = worker
            while self.waiting and self.idle:
                worker = self.idle.pop()
                self.busy[worker] = self.waiting.popleft()
                worker.give(self.busy[worker])
            for connection in cast("list[Connection]", wait(list(self.workers))):
                worker = self.workers[connection]
                message = worker.receive()
                if message is None:
                    self.bury(worker)
                elif message == COMPILING:
                    tell_compiling()
                else:
                    self.hear(worker, message)

    def hear(self, worker: _Worker, message: bytes) -> None:
        self.false_starts = 0
        self.idle.append(worker)
        if worker in self.busy:
            self.ledger.take(self.busy.pop(worker), message)

    def bury(self, worker: _Worker) -> None:
        """Have the job of a worker that died done by another one, unless it is the job's fault."""
        del self.workers[worker.connection]
        ending = worker.end()
        if worker in self.busy:
            job = self.busy.pop(worker)
            self.deaths[job] += 1
            if self.deaths[job] < MOST_DEATHS:
                self.waiting.appendleft(job)
            else:
                self.ledger.fail(job, f"{MOST_DEATHS} workers died of it; the last {ending}")
            return
        if worker in self.idle:
            self.idle.remove(worker)
        self.false_starts += 1
        if self.false_starts == MOST_DEATHS:
            raise EngineError(
                f"{MOST_DEATHS} worker processes in a row died without a job; the last {ending}"
            )

    def close(self) -> None:
        for worker in self.workers.values():
            worker.end()


class _Worker:
    """A process of ours. It speaks first when it came up, when it compiles, and after each job."""

    def __init__(self) -> None:
        self.connection, theirs = Pipe()
        # The same search path, and nothing from the current folder that is not in it.
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "teachirl.study.engine.worker", str(theirs.fileno())],
                env={**os.environ, **ONE_THREAD, "PYTHONPATH": path},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                # Ctrl-C is for us, and not for the process that is in the middle of a job.
                process_group=0,
            )

    def give(self, job: Job) -> None:
        # If it died, that is found when we listen to it.
        with suppress(OSError):
            self.connection.send_bytes(job.text.encode())

    def receive(self) -> bytes | None:
        """What it says; None if it died."""
        try:
            return self.connection.recv_bytes()
        except (EOFError, OSError):
            return None

    def end(self) -> str:
        """Stop the process, if it still runs; how it ended."""
        self.process.kill()
        code = self.process.wait()
        self.connection.close()
        if code >= 0:
            return f"ended with exit code {code}"
        return f"was killed by {signal.Signals(-code).name}"
