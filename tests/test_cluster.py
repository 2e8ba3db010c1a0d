"""The same results from a real Dask cluster on loopback, whatever is killed there."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

import small_experiment
import teachirl as ti
from small_experiment import Settings, jobs_of, of_kinds, run_into, until
from teachirl.study.engine import EngineError, cluster, run_units

DOCS = Path(__file__).parents[1] / "docs" / "cluster.md"
# Dask listens for its dashboard on all interfaces if it is not told otherwise.
LOOPBACK = ["--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0", "--no-dashboard"]


@contextmanager
def process(folder, *command, **environment):
    """A part of a cluster; ended with all that it started."""
    variables = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", **environment}
    with (folder / "log.txt").open("ab") as log:
        started = subprocess.Popen(
            [sys.executable, "-m", "dask", *command],
            cwd=folder,
            env={**os.environ, **variables},
            stdout=log,
            stderr=log,
            process_group=0,
        )
    try:
        yield started
    finally:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()


@contextmanager
def scheduler(folder, *options, **environment):
    """Its process and its address."""
    file = folder / "scheduler.json"
    command = ["scheduler", *LOOPBACK, "--port", "0", "--scheduler-file", str(file), *options]
    with process(folder, *command, **environment) as started:
        until(lambda: file.exists() and file.read_text().endswith("}"))
        yield started, json.loads(file.read_text())["address"]


def worker(folder, address, *options, **environment):
    """One process; with a nanny, which starts others in the place of those that die, it has two."""
    command = ["worker", address, *LOOPBACK, "--nthreads", "1", *(options or ["--no-nanny"])]
    return process(folder, *command, **environment)


@pytest.mark.slow
def test_a_killed_worker_changes_no_result(tmp_path, monkeypatch):
    expected = run_into(tmp_path / "local", Settings(trials=30), workers=1)
    held = []
    finished = cluster._Work.finished

    def watched(work):
        held.append(len(work.on_their_way))
        return finished(work)

    monkeypatch.setattr(cluster._Work, "finished", watched)
    marks = tmp_path / "marks"
    marks.mkdir()
    mark = marks / "endless at first-0"
    settings = Settings(trials=30, first="endless at first", marks=str(marks))
    done_by = []
    with (
        scheduler(tmp_path) as (_, address),
        worker(tmp_path, address) as first,
        worker(tmp_path, address) as second,
    ):

        def kill_the_other(outcome):
            done_by.append(outcome.worker)
            if len(done_by) == 5:
                victim = until(lambda: mark.exists() and mark.read_text().strip())
                os.kill(int(victim), signal.SIGKILL)

        found = run_into(tmp_path / "cluster", settings, kill_the_other, cluster=address)
    assert found == expected
    host = socket.gethostname()
    victim, other = mark.read_text().split()
    assert {int(victim), int(other)} == {first.pid, second.pid}
    assert done_by[5:] == [f"{host}:{other}"] * 25
    # A bounded window: two jobs a thread and two more.
    assert max(held) == 6


@pytest.mark.slow
def test_a_unit_that_keeps_killing_workers_is_named_and_the_rest_go_on(tmp_path):
    kinds = ["good", "good", "deadly", "raising", *["good"] * 8]
    jobs = jobs_of(Settings(), of_kinds(*kinds))
    done, told = [], []
    with (
        # One death until Dask gives up, since each takes a second.
        scheduler(tmp_path, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0") as (_, address),
        worker(tmp_path, address, "--nanny", "--nworkers", "2"),
    ):
        failed = run_units(
            jobs,
            on_done=lambda job, _: done.append(job.name),
            on_failed=told.append,
            cluster=address,
        )
    assert sorted(done) == sorted(job.name for job in jobs if job.name.startswith("good"))
    assert told == failed
    assert {str(failure) for failure in failed} == {
        "deadly 2: the workers that did it died, again and again",
        "raising 3: ValueError: trial 3 went wrong",
    }


@pytest.mark.slow
def test_a_cluster_that_goes_away(tmp_path, monkeypatch):
    jobs = jobs_of(Settings(), of_kinds(*["good"] * 200))
    with scheduler(tmp_path) as (head, address):
        monkeypatch.setattr(cluster, "PATIENCE", 0.2)
        with pytest.raises(EngineError, match=r"has had no workers for 0\.2 s"):
            run_units(jobs, on_done=print, cluster=address)
        monkeypatch.setattr(cluster, "PATIENCE", 20)
        (tmp_path / "other" / "teachirl").mkdir(parents=True)
        (tmp_path / "other" / "teachirl" / "__init__.py").touch()
        with (
            worker(tmp_path, address, PYTHONPATH=str(tmp_path / "other")),
            pytest.raises(
                EngineError, match=f"'teachirl.study'; install teachirl {ti.__version__}"
            ),
        ):
            run_units(jobs, on_done=print, cluster=address)
        with worker(tmp_path, address):
            monkeypatch.setattr(
                "teachirl.study.engine.jobs.package_versions", lambda: {"teachirl": "9"}
            )
            with pytest.raises(EngineError, match=f"has teachirl {ti.__version__}, but this is 9"):
                run_units(jobs, on_done=print, cluster=address)
            monkeypatch.undo()
            done = []

            def kill_the_scheduler(job, outcome):
                done.append(job)
                if len(done) == 5:
                    head.kill()

            with pytest.raises(EngineError, match="scheduler is gone"):
                run_units(jobs, on_done=kill_the_scheduler, cluster=address)
            assert 5 <= len(done) < 200


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("tcp://127.0.0.1:1", "Timed out"),
        ("nowhere", "missing port"),
        ("tcp://127.0.0.1:x", "invalid literal"),
        ("strange://127.0.0.1:1", "unknown address scheme"),
    ],
)
def test_an_address_without_a_scheduler(monkeypatch, address, reason):
    monkeypatch.setattr(cluster, "CONNECT", 0.5)
    with pytest.raises(
        ti.InvalidInputError, match=f"no Dask scheduler answers at {address}: .*{reason}"
    ):
        run_units([], on_done=print, cluster=address)


def test_without_dask(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "teachirl.study.engine.cluster")
    with pytest.raises(ti.MissingExtraError, match=r"distributed.*teachirl\[cluster\]"):
        run_units([], on_done=print, cluster="tcp://127.0.0.1:1")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="the page makes certificates with it")
def test_tls_as_the_page_shows_it(tmp_path):
    pages = DOCS.read_text(encoding="utf-8").split("```")
    [commands] = [block for block in pages if block.startswith("sh\nopenssl")]
    [settings] = [block for block in pages if block.startswith("yaml\n")]
    subprocess.run(
        ["sh", "-ec", commands.removeprefix("sh\n")], cwd=tmp_path, check=True, capture_output=True
    )
    text = settings.removeprefix("yaml\n").replace("/path/to", str(tmp_path))
    (tmp_path / "tls.yaml").write_text(text)
    mine = {"DASK_CONFIG": str(tmp_path / "tls.yaml")}
    program = [sys.executable, small_experiment.__file__, tmp_path / "tls", "4"]
    with (
        scheduler(tmp_path, "--protocol", "tls", **mine) as (_, address),
        worker(tmp_path, address, **mine),
    ):
        assert address.startswith("tls://127.0.0.1:")
        with pytest.raises(ti.InvalidInputError, match="no Dask scheduler answers at tls://"):
            run_units([], on_done=print, cluster=address)
        subprocess.run([*program, address], env={**os.environ, **mine}, check=True, timeout=60)
    # All is there, so nothing is left for a worker of this machine.
    found = run_into(tmp_path / "tls", Settings(trials=4), workers=1)
    assert found == run_into(tmp_path / "local", Settings(trials=4), workers=1)
