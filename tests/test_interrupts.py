"""Ctrl-C in Python code: it is raised at once, and as what it is; nothing weakened is returned."""

import ast
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import teachirl as ti
from teachirl.__main__ import leave_behind
from teachirl.app import cli
from teachirl.mdp import kernels
from teachirl.mdp.kernels.compiling import Kernel, signals_deferred

# A child is interrupted while it does each thing again and again, and says what came of it.
CHILD = """
import os, signal, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's & has it ignored
import numpy as np
import teachirl as ti
mdp = ti.worlds.gridworld(20, block=2, discount=0.9, slip=0.3)
rng = np.random.default_rng(0)
w = rng.normal(size=mdp.n_features)
view = ti.Worldview(rng.normal(size=(5, mdp.n_features)))
task = ti.Task(mdp, w, view, np.eye(mdp.n_features)[:20])
works = {
    "plan": lambda: ti.optimal_policy(mdp, w),
    "search": lambda: ti.best_demonstration(mdp, view, w, rng=rng),
    "teach": lambda: ti.teach(
        task, ti.teachers.GapGreedy(), ti.learners.MinNormPoint(), rng=rng, budget=20
    ),
}
works["plan"]()  # compiles
for name, work in works.items():
    interrupter = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    try:
        interrupter.start()
        while True:
            work()
    except KeyboardInterrupt:
        print(name, "interrupted")
"""


def test_a_real_one_is_raised_as_what_it_is():
    child = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True)
    said = "".join(f"{work} interrupted\n" for work in ("plan", "search", "teach"))
    assert (child.returncode, child.stdout, child.stderr) == (0, said, "")


def test_no_kernel_gives_back_a_named_tuple():
    """Numba makes it by a call of its class; of a signal at that moment the process would die."""
    files = [ast.parse(path.read_text()) for path in Path(kernels.__file__).parent.glob("*.py")]
    bodies = [each for file in files for each in file.body]
    named = {
        each.name
        for each in bodies
        if isinstance(each, ast.ClassDef) and "NamedTuple" in map(ast.unparse, each.bases)
    }
    entries = [
        each
        for each in bodies
        if isinstance(each, ast.FunctionDef)
        and {"compiled", "shared"} & set(map(ast.unparse, each.decorator_list))
    ]
    assert len(named) > 5 and len(entries) > 20
    for entry in entries:
        calls = [ast.unparse(each) for each in ast.walk(entry) if isinstance(each, ast.Return)]
        assert not [text for text in calls if re.search(rf"\b({'|'.join(named)})\(", text)]


@pytest.mark.parametrize("times", [1, 3])  # while what is given is looked at, more than once
@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_within_a_compiled_function(stop, times):
    def disguised(*_):
        error = stop()
        for _ in range(times):
            outer = SystemError("returned a result with an exception set")
            outer.__cause__ = error
            error = outer
        raise error

    kernel = Kernel(kernels.length._call)
    kernel._call = disguised
    with pytest.raises(stop):
        kernel(np.ones(3))


def test_other_errors_of_the_system_stay_what_they_are():
    def broken(*_):
        raise SystemError("unknown opcode") from ValueError()

    kernel = Kernel(kernels.length._call)
    kernel._call = broken
    with pytest.raises(SystemError, match="unknown opcode"):
        kernel(np.ones(3))


@pytest.mark.parametrize("calls", [0, 3])
@pytest.mark.parametrize("work", ["teach", "best_demonstration", "certify"])
def test_nothing_weakened_is_returned(calls, work, monkeypatch):
    mdp = ti.worlds.chain(5)
    w, view = [-2, -1, 0, 1, 2], ti.Worldview.select(mdp, ["cell 3"])
    expert = ti.optimal_policy(mdp, w).policy
    rng = np.random.default_rng(0)
    task = ti.Task(mdp, w, view, np.eye(5))
    doing = {
        "teach": lambda: ti.teach(
            task, ti.teachers.GapGreedy(), ti.learners.MinNormPoint(), rng=rng
        ),
        "best_demonstration": lambda: ti.best_demonstration(mdp, view, w, rng=rng),
        "certify": lambda: ti.certify(mdp, view, w, expert),
    }[work]
    plan, left = kernels.plan_by_sweeps, iter(range(calls))

    def interrupted(*arguments):
        if next(left, None) is None:
            signal.raise_signal(signal.SIGINT)
        return plan(*arguments)

    monkeypatch.setattr(kernels, "plan_by_sweeps", interrupted)
    with pytest.raises(KeyboardInterrupt):
        doing()


def test_while_a_kernel_is_compiled_an_interrupt_waits():
    def interrupted():
        with signals_deferred():
            signal.raise_signal(signal.SIGINT)
            steps.append("went on")

    steps = []
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert steps == ["went on"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_is_being_compiled_is_finished_first():
    def compiling(*_, **__):
        signal.raise_signal(signal.SIGINT)
        done.append(True)

    done = []
    parts = {"_numba_type_": None, "_compile_for_args": compiling, "py_func": compiling}
    kernel = Kernel(SimpleNamespace(**parts))
    with pytest.raises(KeyboardInterrupt):
        kernel._call._compile_for_args()
    assert done == [True]


# Modules are torn down once the answer is there, without Python's handlers of signals.
LATE = """
import os, signal, sys
from teachirl.__main__ import main

class Last:
    def __del__(self, kill=os.kill, me=os.getpid(), number=signal.{name}):
        kill(me, number)

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's & has it ignored
sys.last = Last()
sys.argv = ["teachirl", "--version"]
main()
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_after_the_answer_comes_too_late(name):
    child = subprocess.run(
        [sys.executable, "-c", LATE.format(name=name)], capture_output=True, text=True
    )
    assert (child.returncode, child.stderr) == (0, "")
    assert child.stdout == f"teachirl {ti.__version__}\n"


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_one_that_comes_while_an_object_is_cleared_away_is_not_lost(name, code, monkeypatch, capfd):
    class Cleared:
        def __del__(self):
            signal.raise_signal(getattr(signal, name))

    def app(prog_name):
        one = Cleared()
        del one
        time.sleep(20.0)

    monkeypatch.setattr(cli, "app", app)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == code and capfd.readouterr().err == ""


@pytest.mark.parametrize(("code", "left"), [(130, [130]), (143, [143]), (0, []), (2, [])])
def test_after_a_request_to_stop_modules_are_not_taken_down(code, left, monkeypatch):
    codes = []
    for thread in threading.enumerate():  # of the tests before
        if thread.name == "teachirl aside":
            thread.join()
    monkeypatch.setattr("os._exit", codes.append)
    try:
        raise SystemExit(code)
    except SystemExit:
        leave_behind()
    assert codes == left


def test_nothing_is_loaded_before_the_command_hears_of_it():
    """Until `__main__` is there, Ctrl-C ends in a traceback: the package itself loads nothing."""
    said = "import sys; before = set(sys.modules); import teachirl; print({*sys.modules} - before)"
    ended = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, timeout=60)
    assert (ended.stdout, ended.stderr) == ("{'teachirl'}\n", "")
    assert set(ti.__all__) <= set(dir(ti)) and "worst_case" in ti.__all__
    with pytest.raises(AttributeError, match="has no attribute 'wurst_case'"):
        _ = ti.wurst_case
