"""Compiling counts for nothing, and who looks on is told of it, once."""

import io
import shutil
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from numba.core.event import trigger_event

import teachirl as ti
from small_experiment import Settings, compiling, jobs_of, of_kinds
from teachirl.mdp import clock, compilation
from teachirl.study.engine import run_units


class Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def screen(monkeypatch):
    """A terminal for stderr, in a process that has told of nothing yet."""
    shown = Screen()
    monkeypatch.setattr(compilation, "sys", SimpleNamespace(stderr=shown))
    monkeypatch.setattr(compilation, "spent", compilation.Spent())
    compilation.tell_compiling.cache_clear()
    yield shown
    compilation.tell_compiling.cache_clear()


def test_clocks_stand_still(screen, monkeypatch):
    monkeypatch.setattr(compilation, "PATIENCE", 600.0)  # also on a busy machine
    truly, busy = time.perf_counter(), time.thread_time()
    real, processor = clock.seconds(), compilation.processor_seconds()
    compiling(0.2)
    compiling(0.2)
    assert time.perf_counter() - truly >= 0.4
    assert clock.seconds() - real <= time.perf_counter() - truly - 0.4
    assert compilation.processor_seconds() - processor <= time.thread_time() - busy - 0.2
    assert screen.getvalue() == ""


def test_clocks_stand_still_also_where_compiling_fails(screen):
    truly, before = time.perf_counter(), clock.seconds()
    with suppress(KeyboardInterrupt), trigger_event("numba:compile"):
        time.sleep(0.1)
        raise KeyboardInterrupt
    time.sleep(0.1)
    assert 0.1 <= clock.seconds() - before <= time.perf_counter() - truly - 0.1


def test_the_clock_of_another_thread_goes_on(screen):
    before = clock.seconds()
    other = threading.Thread(target=compiling, args=[0.1])
    other.start()
    other.join()
    assert clock.seconds() - before >= 0.1


def test_a_long_compilation_is_told_of_once(screen, monkeypatch):
    monkeypatch.setattr(compilation, "PATIENCE", 600.0)
    compiling(0.06)
    assert screen.getvalue() == ""
    monkeypatch.setattr(compilation, "PATIENCE", 0.05)
    compiling(0.01)  # together they take long
    assert screen.getvalue() == compilation.MESSAGE + "\n"
    compiling(0.2)
    assert screen.getvalue() == compilation.MESSAGE + "\n"


@pytest.mark.parametrize("session", [False, True])
def test_only_who_looks_on_is_told(screen, monkeypatch, session):
    monkeypatch.setattr(compilation, "PATIENCE", 0.0)
    monkeypatch.setattr(screen, "isatty", lambda: False)
    if session:
        compilation.sys.ps1 = ">>> "
    compiling(0.01)
    assert screen.getvalue() == (compilation.MESSAGE + "\n" if session else "")


def test_workers_tell_the_process_that_started_them(screen):
    elapsed = []
    failed = run_units(
        jobs_of(Settings(), of_kinds("compiling", "compiling", "good")),
        workers=2,
        on_done=lambda _, outcome: elapsed.append(outcome.elapsed),
    )
    assert failed == []
    assert screen.getvalue() == compilation.MESSAGE + "\n"
    assert len(elapsed) == 3 and 0.0 < max(elapsed) < 0.5


def test_what_is_cached_is_not_compiled(tmp_path):
    code = """
import sys
import numpy as np
from teachirl.mdp import compilation
compilation.PATIENCE, sys.ps1 = -1.0, ">>> "
from teachirl.mdp.kernels import length
length(np.ones(5))
"""
    package = tmp_path / "teachirl"
    shutil.copytree(Path(ti.__file__).parent, package, ignore=shutil.ignore_patterns("*.nb?"))

    def said():
        return subprocess.run(
            [sys.executable, "-c", code],
            env={
                "NUMBA_CACHE_DIR": str(tmp_path),
                "PYTHONPATH": ":".join([str(tmp_path), *sys.path]),
            },
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stderr

    assert [said(), said()] == [compilation.MESSAGE + "\n", ""]
    # What a kernel calls is compiled into it: another one's file may be what has changed.
    with (package / "mdp" / "kernels" / "walks.py").open("a") as file:
        file.write("# Changed.\n")
    assert said() == compilation.MESSAGE + "\n"
