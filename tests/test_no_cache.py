"""Where nothing can be written, as in a container: kernels are compiled at each start."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import teachirl as ti
from teachirl.mdp.kernels.keeping import KEPT, MESSAGE

SCRIPT = """
import subprocess, sys
import numpy as np
import teachirl
from teachirl.mdp.kernels import length
print(teachirl.__file__)
print(length(np.array([3.0, 4.0])))  # any kernel: all are kept in the same way
subprocess.run([sys.executable, "-c", "import teachirl.mdp.kernels"], check=True)
"""


def test_here_they_are_kept():
    assert KEPT


@pytest.fixture
def read_only(tmp_path):
    """A copy of the package beside which nothing can be kept, not even by root; and the environment
    of a process that has no home."""
    package = tmp_path / "teachirl"
    shutil.copytree(Path(ti.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in (package, *(each for each in package.rglob("*") if each.is_dir())):
        (folder / "__pycache__").touch()
    nowhere = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"), "/dev/null/home")
    given = {name: text for name, text in os.environ.items() if not name.startswith("NUMBA_")}
    return {**given, **nowhere, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.mark.slow
def test_without_a_place_to_keep_them_it_works_and_says_so_once(read_only, tmp_path):
    # In the second folder nothing can be written either.
    for folder in (None, "/dev/null/cache"):
        environment = read_only if folder is None else {**read_only, "NUMBA_CACHE_DIR": folder}
        result = subprocess.run(
            [sys.executable, *(["-c", SCRIPT] if folder is None else ["-m", "teachirl", "warm"])],
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        # There is nothing to do beforehand.
        assert (result.returncode, result.stderr) == (0 if folder is None else 2, f"{MESSAGE}\n")
        if folder is None:
            place, value = result.stdout.split()
            assert Path(place).parent == tmp_path / "teachirl"
            assert float(value) == 5.0


def test_with_a_place_nothing_is_said(read_only, tmp_path):
    result = subprocess.run(
        [sys.executable, "-c", "import teachirl.mdp.kernels"],
        env={**read_only, "NUMBA_CACHE_DIR": str(tmp_path / "kept")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (result.returncode, result.stderr) == (0, "")


def test_figures_are_drawn_without_a_word(read_only, tmp_path):
    code = (
        "import sys; from pathlib import Path; from teachirl.figures.records import *\n"
        "from teachirl.figures.drawing import write_figure\n"
        "panel = Panel('', 'x', 'y', (Curve('a', [0, 1], [0, 1]),))\n"
        "write_figure(Figure('own', '', (panel,)), Path(sys.argv[1]))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "figures")],
        env=read_only,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert (tmp_path / "figures" / "own.png").exists()
