"""Whatever is killed, the results are those of an undisturbed run, and nobody is left behind."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

import small_experiment
import teachirl as ti
from small_experiment import Settings, jobs_of, of_kinds, run_into, until
from teachirl.study.engine import EngineError, local, run_units
from teachirl.study.results_database import Store

TRIALS = 50
PROGRAM = [sys.executable, small_experiment.__file__]


def workers_of(parent):
    """Processes that work for `parent`, also after it died."""
    path = "teachirl.study.engine.worker"
    found = []
    for process in psutil.process_iter(["cmdline", "environ"]):
        environment = process.info["environ"] or {}
        if path in (process.info["cmdline"] or []) and environment.get("PARENT") == parent:
            found.append(process)
    return found


@pytest.fixture
def mine(monkeypatch, request):
    """A mark by which this test's own workers are known; none is left when it ends."""
    mark = f"{request.node.name}-{os.getpid()}"
    monkeypatch.setenv("PARENT", mark)
    yield mark
    until(lambda: not workers_of(mark), 10)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Values of all units of an undisturbed run, as text."""
    return run_into(tmp_path_factory.mktemp("undisturbed"), Settings(trials=TRIALS), workers=1)


def test_all_jobs_are_done_in_order_by_one_worker(mine):
    jobs = jobs_of(Settings(), of_kinds(*["good"] * 6))
    done = []
    failed = run_units(jobs, workers=1, on_done=lambda job, outcome: done.append((job, outcome)))
    assert failed == []
    assert [job for job, _ in done] == jobs
    assert len({outcome.worker for _, outcome in done}) == 1
    for trial, (_, outcome) in enumerate(done):
        assert outcome.values["square"] == trial**2
        assert outcome.values["threads"] == "1"
        assert outcome.elapsed > 0
    assert os.environ.get("NUMBA_NUM_THREADS") is None


def test_no_jobs_need_no_worker(monkeypatch):
    monkeypatch.setattr(local, "_Worker", None)
    assert run_units([], on_done=print) == []
    with pytest.raises(ti.InvalidInputError, match="workers must be at least 1, got 0"):
        run_units([], on_done=print, workers=0)
    with pytest.raises(ti.InvalidInputError, match="workers must be None if there is a cluster"):
        run_units([], on_done=print, workers=1, cluster="tcp://127.0.0.1:1")


def test_a_unit_that_fails_is_named_and_the_rest_go_on(mine, tmp_path, capfd):
    settings = Settings(marks=str(tmp_path))
    kinds = ["good", "deadly", "raising", "leaving", "talking", "good", "good"]
    jobs = jobs_of(settings, of_kinds(*kinds))
    done, told = [], []
    failed = run_units(
        jobs, workers=2, on_done=lambda job, _: done.append(job.name), on_failed=told.append
    )
    assert sorted(done) == ["good 0", "good 5", "good 6", "talking 4"]
    assert told == failed
    reasons = {failure.job.name: failure for failure in failed}
    assert sorted(reasons) == ["deadly 1", "leaving 3", "raising 2"]
    assert str(reasons["raising 2"]) == "raising 2: ValueError: trial 2 went wrong"
    assert "raise ValueError" in reasons["raising 2"].traceback
    assert reasons["leaving 3"].reason == "SystemExit: no more"
    assert reasons["deadly 1"].reason == "3 workers died of it; the last was killed by SIGKILL"
    assert len((tmp_path / "deadly-1").read_text().split()) == 3
    assert len((tmp_path / "raising-2").read_text().split()) == 1
    # What a unit prints is no result of the program's.
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "a unit speaks" in captured.err


def test_a_killed_worker_costs_its_unit_only(mine, tmp_path):
    settings = Settings(marks=str(tmp_path))
    mark = tmp_path / "endless at first-0"
    done, victims = [], []

    def kill_the_other(job, outcome):
        done.append(job.name)
        if not victims:
            victims.append(until(lambda: mark.exists() and mark.read_text().strip()))
            os.kill(int(victims[0]), signal.SIGKILL)

    jobs = jobs_of(settings, of_kinds("endless at first", *["good"] * 5))
    assert run_units(jobs, workers=2, on_done=kill_the_other) == []
    assert sorted(done) == sorted(job.name for job in jobs)
    first, second = mark.read_text().split()
    assert [first] == victims and second != first
    assert all(len(path.read_text().split()) == 1 for path in tmp_path.glob("good*"))


def test_an_error_of_the_caller_ends_the_workers(mine):
    def full(job, outcome):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        run_units(jobs_of(Settings(), of_kinds("good", "endless")), workers=2, on_done=full)
    assert workers_of(mine) == []


def test_a_worker_killed_between_two_units_costs_nothing(mine):
    done = []

    def kill_it(job, outcome):
        done.append(job)
        os.kill(int(outcome.worker.split(":")[1]), signal.SIGKILL)

    jobs = jobs_of(Settings(), of_kinds(*["good"] * 3))
    assert run_units(jobs, workers=1, on_done=kill_it) == []
    assert done == jobs


def test_workers_that_do_not_come_up(mine, monkeypatch, tmp_path):
    jobs = jobs_of(Settings(), of_kinds("good", "good"))
    # Two that fail to start are no reason to give up, and three are.
    python = tmp_path / "python"
    python.write_text(
        f"""#!/bin/sh
        if [ $(wc -l < {tmp_path}/starts) -lt 2 ]; then echo >> {tmp_path}/starts; exit 1; fi
        exec {sys.executable} "$@"
        """
    )
    python.chmod(0o755)
    (tmp_path / "starts").touch()
    monkeypatch.setattr(sys, "executable", str(python))
    done = []
    assert run_units(jobs, workers=1, on_done=lambda job, _: done.append(job)) == []
    assert done == jobs
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(EngineError, match=r"3 worker processes in a row .* ended with exit code 1"):
        run_units(jobs, on_done=print)


def test_a_worker_of_another_version_is_refused(mine, monkeypatch):
    monkeypatch.setattr("teachirl.study.engine.jobs.package_versions", lambda: {"teachirl": "99.0"})
    with pytest.raises(EngineError, match=rf"has teachirl {ti.__version__}, but this is 99\.0"):
        run_units(jobs_of(Settings(), of_kinds("good")), on_done=print)


def test_ctrl_c_keeps_what_is_finished(mine, tmp_path, undisturbed):
    command = [*PROGRAM, str(tmp_path), str(TRIALS)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, process_group=0) as program:
        until(lambda: stored(tmp_path) >= 4)
        # To all processes of the group, as a terminal does.
        os.killpg(program.pid, signal.SIGINT)
        _, errors = program.communicate(timeout=30)
    assert program.returncode == -signal.SIGINT
    assert errors.strip().endswith(b"KeyboardInterrupt")
    assert errors.count(b"Traceback") == 1
    until(lambda: not workers_of(mine), 10)
    kept = stored(tmp_path)
    assert 4 <= kept < TRIALS
    assert run_into(tmp_path, Settings(trials=TRIALS), workers=1) == undisturbed


def stored(folder: Path) -> int:
    """The number of units that are in the store, which may not be there yet."""
    try:
        with Store.open(folder, write=False) as store:
            return sum(run.done for run in store.runs())
    except ti.InvalidInputError:
        return 0


@pytest.mark.slow
def test_killed_again_and_again_it_completes_with_the_same_bits(mine, tmp_path, undisturbed):
    dice = random.Random(3)
    # Moments in its life: after so many more units, or before it comes to any, and so much later.
    for more in (0, 9, 3, 12, 0, 6):
        wanted = stored(tmp_path) + more
        program = subprocess.Popen([*PROGRAM, str(tmp_path), str(TRIALS)])
        until(lambda wanted=wanted: stored(tmp_path) >= wanted)
        time.sleep(dice.uniform(0, 0.03 if more else 0.5))
        program.kill()
        assert program.wait() == -signal.SIGKILL
        # They see that there is nobody to work for, also in the middle of a unit.
        until(lambda: not workers_of(mine), 10)
    assert 30 <= stored(tmp_path) < TRIALS
    assert run_into(tmp_path, Settings(trials=TRIALS), workers=1) == undisturbed
    with Store.open(tmp_path, write=False) as store:
        assert len(store.runs()) == 1


def test_workers_do_not_outlive_a_killed_parent(mine, tmp_path):
    script = """
import sys
from small_experiment import Settings, jobs_of
from teachirl.study.engine import run_units
wanted = [{"trial": trial, "kind": "endless"} for trial in range(2)]
run_units(jobs_of(Settings(marks=sys.argv[1]), wanted), workers=2, on_done=print)
"""
    folder = str(Path(small_experiment.__file__).parent)
    program = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], cwd=folder)
    until(lambda: len(list(tmp_path.iterdir())) == 2)
    assert len(workers_of(mine)) == 2
    program.kill()
    program.wait()
    until(lambda: not workers_of(mine), 10)
