"""Work on a Dask cluster: the same jobs, on as many machines as it has.

Few more jobs than the cluster has threads are on their way at any time, so that neither the
scheduler nor we hold much, and the window follows the cluster as it grows and shrinks.

Dask does a job again when its worker dies, and gives it up with `KilledWorker` after some deaths
(``distributed.scheduler.allowed-failures``). It counts these for all jobs that the worker had,
running or not, so a job given up is only a suspect: suspects are done once more at the end, one at
a time, and those that are given up then are to blame themselves.
"""

# mypy: untyped-calls-exclude="distributed"

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress

from ...errors import InvalidInputError, MissingExtraError
from .jobs import EngineError, Job, Ledger

try:
    import distributed
    from distributed.comm.addressing import resolve_address
except ImportError as error:
    raise MissingExtraError("distributed", "cluster") from error

# Seconds to reach the scheduler, to wait for workers while there are none, and between two looks at
# how many there are.
CONNECT = 10
PATIENCE = 60
LOOK = 1


def run_on_cluster(jobs: Sequence[Job], address: str, ledger: Ledger) -> None:
    """Do `jobs` on the cluster of the scheduler at `address`.

    Certificates for TLS are those of Dask's own configuration.
    """
    # What it says of a scheduler that is gone, we say ourselves, in a line.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    try:
        # First, since a client does not get over an address that makes no sense.
        resolve_address(address)
        client = distributed.Client(address, timeout=CONNECT)
    except (OSError, ValueError, TypeError) as error:
        raise InvalidInputError(f"no Dask scheduler answers at {address}: {error}") from error
    with client:
        work = _Work(client, ledger)
        for suspect in work.do(jobs):
            for culprit in work.do([suspect]):
                ledger.fail(culprit, "the workers that did it died, again and again")


class _Work:
    """Jobs on their way, by their futures."""

    def __init__(self, client: distributed.Client, ledger: Ledger) -> None:
        self.client = client
        self.ledger = ledger
        self.attempt = _attempt()
        self.on_their_way: dict[distributed.Future[str], Job] = {}
        self.last_seen = time.monotonic()

    def do(self, jobs: Sequence[Job]) -> list[Job]:
        """Do all; those that were given up because workers died."""
        waiting = deque(jobs)
        suspects = []
        while waiting or self.on_their_way:
            window = 2 * self.threads() + 2
            while waiting and len(self.on_their_way) < window:
                job = waiting.popleft()
                # Not pure: what another client asked for under the same key is not ours to take.
                self.on_their_way[self.client.submit(self.attempt, job.text, pure=False)] = job
            for future in self.finished():
                try:
                    message = self.message(future)
                except TimeoutError:
                    continue  # the worker that had it died, and it is done again
                except distributed.KilledWorker:
                    suspects.append(self.on_their_way.pop(future))
                else:
                    self.ledger.take(self.on_their_way.pop(future), message)
        return suspects

    def threads(self) -> int:
        """How many jobs the cluster can do at a time; an error if it has been none for long."""
        with _reaching():
            threads = int(sum(self.client.nthreads().values()))
        now = time.monotonic()
        if threads:
            self.last_seen = now
        elif now - self.last_seen > PATIENCE:
            raise EngineError(f"the cluster has had no workers for {PATIENCE} s; start some")
        return threads

    def finished(self) -> list[distributed.Future[str]]:
        """Those that are finished; waits for the first of them, but not long."""
        with _reaching(), suppress(TimeoutError):
            distributed.wait(list(self.on_their_way), LOOK, return_when="FIRST_COMPLETED")
        return [future for future in self.on_their_way if future.done()]

    def message(self, future: distributed.Future[str]) -> str:
        """What a worker said."""
        try:
            with _reaching():
                return str(future.result(LOOK))
        except ImportError as error:
            raise EngineError(
                f"a worker of the cluster cannot work: {error}; install teachirl "
                f"{self.ledger.packages['teachirl']} there"
            ) from error


def _attempt() -> Callable[[str], str]:
    """`worker.attempt`, in a function that travels as code instead of by its name.

    A Dask worker that cannot import what it is sent dies; this way, it answers with the error.
    """

    def attempt(text: str) -> str:
        import numba

        from teachirl.study.engine import worker

        numba.set_num_threads(1)  # as those of this machine have it by their environment
        return worker.attempt(text)

    return attempt


@contextmanager
def _reaching() -> Iterator[None]:
    """Say it plainly when the connection is lost; Dask then also cancels what was on its way."""
    try:
        yield
    except TimeoutError:
        raise
    except (OSError, CancelledError) as error:
        raise EngineError("the cluster's scheduler is gone; start it anew and run again") from error
