"""Where work runs: this machine's processors, or a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...errors import require
from .jobs import EngineError, Failure, Job, Ledger, Outcome
from .local import available_cpus, run_locally

__all__ = ["EngineError", "Failure", "Job", "Outcome", "available_cpus", "run_units"]


def run_units(
    jobs: Sequence[Job],
    *,
    on_done: Callable[[Job, Outcome], None],
    on_failed: Callable[[Failure], None] = lambda failure: None,
    workers: int | None = None,
    cluster: str | None = None,
) -> list[Failure]:
    """Do all jobs, in their order as far as several at a time allow.

    What a job gives is handed to `on_done` as it comes, in this process and this thread. A job that
    raises, or whose worker is killed time and again, fails; the others go on.

    Parameters
    ----------
    on_done, on_failed : called once a job, one of them
    workers : how many processes on this machine; one a processor by default
    cluster : the address of a Dask scheduler, to run there instead

    Returns
    -------
    the jobs that failed

    >>> job = Job("a unit", '{"experiment": "fig0", "settings": {}, "unit": {}}')
    >>> [failure] = run_units([job], workers=1, on_done=print)
    >>> failure.reason.split(";")[0]
    "InvalidInputError: there is no experiment 'fig0'"
    """
    require(workers is None or workers >= 1, f"workers must be at least 1, got {workers}")
    ledger = Ledger(on_done, on_failed)
    if cluster is None:
        run_locally(jobs, workers or available_cpus(), ledger)
    else:
        require(workers is None, "workers must be None if there is a cluster, which has its own")
        # Not above: it needs an optional dependency.
        from .cluster import run_on_cluster

        run_on_cluster(jobs, cluster, ledger)
    return ledger.failures
