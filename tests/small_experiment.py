"""An experiment for the tests of the store and the engine: small units, some of which misbehave.

As a program, it runs its experiment into a folder as often as it is started, until it is complete.
"""

import json
import os
import signal
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from teachirl.figures.records import Findings
from teachirl.study.engine import Job, run_units
from teachirl.study.experiments import Experiment, Result
from teachirl.study.experiments.experiment import job_text
from teachirl.study.results_database import Store, canonical

REFERENCE = f"{Path(__file__).resolve()}:SMALL"


@dataclass(frozen=True)
class Settings:
    """What kind of unit comes first, and a folder for marks.

    A unit that begins leaves a file there with the id of its process.
    """

    trials: int = 12
    first: str = "good"
    marks: str = ""


def of_kinds(*kinds):
    return [{"trial": trial, "kind": kind} for trial, kind in enumerate(kinds)]


def units(settings):
    return of_kinds(settings.first, *["good"] * (settings.trials - 1))


def compiling(seconds):
    """Seem to compile a function that calls another, for so long, half of it busily."""
    from numba.core.event import trigger_event  # most units need no Numba

    from teachirl.mdp import clock  # noqa: F401, it listens

    with trigger_event("numba:compile"):
        begun, busy = time.perf_counter(), time.thread_time()  # what comes before is not compiling
        while time.thread_time() - busy < 0.5 * seconds:
            pass
        time.sleep(max(begun + seconds - time.perf_counter(), 0.0))
        with trigger_event("numba:compile"):
            pass


def run(settings, trial, kind):
    begun = ""
    if settings.marks:
        mark = Path(settings.marks, f"{kind}-{trial}")
        begun = mark.read_text() if mark.exists() else ""
        mark.write_text(f"{begun}{os.getpid()}\n")
    if kind == "deadly":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "raising":
        raise ValueError(f"trial {trial}\nwent wrong")
    if kind == "leaving":
        sys.exit("no more")
    if kind == "endless" or (kind == "endless at first" and not begun):
        time.sleep(600)
    if kind == "compiling":
        compiling(1.2)
    if kind == "talking":
        print("a unit speaks")
    time.sleep(0.02)
    matrix = np.random.default_rng([7, trial]).standard_normal((60, 60))
    values = {
        "eigenvalues": np.linalg.eigvalsh(matrix @ matrix.T)[:5],
        "nothing": float("nan"),
        "square": trial**2,
        "threads": os.environ.get("OMP_NUM_THREADS", ""),
    }
    return Result(values, {"clock": time.perf_counter()})


SMALL = Experiment("small", Settings(), Settings(3), units, run, lambda *_: Findings(()))


def jobs_of(settings, wanted):
    return [
        Job(f"{unit['kind']} {unit['trial']}", job_text(REFERENCE, settings, unit))
        for unit in wanted
    ]


def run_into(folder, settings, after=lambda outcome: None, **where):
    """Do the units that the store in `folder` lacks; the values in it then, as text, in order."""
    wanted = units(settings)
    with Store.open(folder) as store:
        run = store.begin(REFERENCE, SMALL.version, asdict(settings), wanted)
        finished = store.finished(run.id)
        missing = [unit for unit in wanted if canonical(unit) not in finished]
        jobs = dict(zip(jobs_of(settings, missing), missing, strict=True))

        def keep(job, outcome):
            store.add(run.id, jobs[job], outcome.values, outcome.seconds, outcome.worker)
            after(outcome)

        assert run_units(list(jobs), on_done=keep, **where) == []
        return [json.dumps(values) for values, _ in store.finished(run.id).values()]


def until(condition, seconds=60):
    """Wait until something is so; what it is."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.005)
    raise AssertionError(f"still waiting after {seconds} s")


if __name__ == "__main__":
    output, n_trials, *scheduler = sys.argv[1:]
    place = {"cluster": scheduler[0]} if scheduler else {"workers": 2}
    run_into(output, Settings(trials=int(n_trials)), **place)
