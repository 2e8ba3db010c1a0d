"""What is compiled beforehand; and processes that compile at the same time."""

import multiprocessing
import os

import numba
import numpy as np
import pytest

from teachirl.app.cli import app
from teachirl.app.warming import steps, workers
from teachirl.errors import TeachirlError
from teachirl.mdp.kernels.keeping import kept

KINDS = ["f8", "f4", "i8", "i4"]


def total(values):
    """Something to compile."""
    result = values.dtype.type(0)
    for value in values:
        result += value
    return result


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return tmp_path


def compile_for(kind, start, misses):
    compiled = kept()(total)
    start.wait()
    assert compiled(np.ones(3, kind)) == 3
    misses.put(sum(compiled.stats.cache_misses.values()))


@pytest.mark.parametrize("kinds", [KINDS, ["f8"] * 4])
def test_processes_that_compile_at_the_same_time(folder, kinds):
    context = multiprocessing.get_context("fork")
    start, misses = context.Barrier(len(kinds)), context.SimpleQueue()
    children = [context.Process(target=compile_for, args=(kind, start, misses)) for kind in kinds]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0] * len(kinds)
    # Each specialisation is compiled once, and all of them are there for the next.
    assert sum(misses.get() for _ in kinds) == len(set(kinds))
    compiled = kept()(total)
    for kind in kinds:
        assert compiled(np.ones(3, kind)) == 3
    assert not compiled.stats.cache_misses


def spread(values):
    """With parts of Numba's own, memory, and an error."""
    if values.size == 0:
        raise ValueError("nothing to look at")
    return values.max() - values.min() + np.linspace(0.0, 1.0, 3).sum()


def test_what_is_loaded_does_what_was_compiled(folder):
    values = np.array([3.0, -1.0, 2.0])
    for compiled in (kept()(spread), loaded := kept()(spread)):
        assert compiled(values) == spread(values) == 5.5
        with pytest.raises(ValueError, match="nothing to look at"):
            compiled(values[:0])
    assert not loaded.stats.cache_misses

    def twice(values):
        return 2.0 * loaded(values)

    # What is compiled now has it within, from what was loaded; so has what is loaded of that.
    for compiled in (kept()(twice), again := kept()(twice)):
        assert compiled(values) == 11.0
        with pytest.raises(ValueError, match="nothing to look at"):
            compiled(values[:0])
    assert not again.stats.cache_misses


@pytest.mark.parametrize("name", steps.STEPS)
def test_every_step_can_be_taken(name):
    steps.STEPS[name]()


def test_what_is_there_is_not_compiled(monkeypatch, capsys):
    steps.STEPS["worst cases"]()
    monkeypatch.setattr(workers, "STEPS", ["worst cases"])
    with pytest.raises(SystemExit) as stop:
        app(["warm"])
    assert (stop.value.code, *capsys.readouterr()) == (0, "all is compiled already\n", "")


def test_a_worker_that_dies_is_told_of(monkeypatch):
    monkeypatch.setattr(workers, "STEPS", ["no such step"])
    with pytest.raises(TeachirlError, match="has died"):
        app(["warm"])


def test_helpers_come_with_the_first_kernel_and_go_with_the_block(folder, monkeypatch):
    begun = []
    monkeypatch.setattr(workers, "cores", lambda: 2)
    start = workers._worker
    monkeypatch.setattr(workers, "_worker", lambda: begun.append(start()) or begun[-1])
    with workers.helped():
        compiled = kept()(total)
        assert begun == []
        compiled(np.ones(3))
        compiled(np.ones(3, "f4"))
        [helper] = begun
        assert helper.poll() is None
    assert helper.poll() is not None
    with pytest.raises(ProcessLookupError):
        os.kill(helper.pid, 0)
