"""What the campaign tries.

A case gets a seed and an empty folder, and raises if a promise is broken; what it compared, it may
return. What is refused with one message is as good as what is answered; a traceback, a hang,
another result or a lost unit is not.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import mutations

import small_experiment
import soundness
from problem_files import copied
from test_problem_mutations import LAKES

TRIALS = 12  # units of the small experiment
OWN = """
from dataclasses import dataclass
from teachirl.figures.records import Curve, Figure, Findings, Panel
from teachirl.study.experiments import Experiment, Result

@dataclass(frozen=True)
class Settings:
    sizes: tuple[int, ...] = tuple(range(20))

panel = Panel("", "x", "y", (Curve("a", range(200), range(200)),))
MINE = Experiment("mine", Settings(), Settings(), lambda s: [{"size": n} for n in s.sizes],
    lambda s, size: Result({"squares": [size**2] * 200}),
    lambda s, results: Findings((Figure("own", "", (panel,)),)))
"""


class SkippedError(Exception):
    """This machine does not allow it."""


def kills(seed: int, folder: Path) -> None:
    """Killed with -9 at some moment, and started again: all units, bit for bit."""
    dice = random.Random(seed)
    command = [sys.executable, small_experiment.__file__, str(folder / "out"), str(TRIALS)]
    for _ in range(2):
        process = subprocess.Popen(command, stderr=subprocess.PIPE)
        time.sleep(dice.uniform(0.2, 4.0))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    settings = small_experiment.Settings(trials=TRIALS)
    found = small_experiment.run_into(folder / "out", settings, workers=2)
    assert len(found) == TRIALS
    calm = small_experiment.run_into(folder / "calm", settings, workers=2)
    assert found == calm, "other results than undisturbed"


def full_disks(seed: int, folder: Path) -> None:
    """A disk of some size that is too small: one message; with room, the same command goes on."""
    size = random.Random(seed).randrange(48, 320)
    disk, mine = folder / "disk", folder / "mine.py"
    disk.mkdir()
    mine.write_text(OWN)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        raise SkippedError("mounting is not allowed")
    try:
        command = [sys.executable, "-m", "teachirl", "reproduce", f"{mine}:MINE", "--out", disk]
        first = _ran(*command, "--workers", "1")
        assert first.returncode in (0, 2), first.stderr
        said = first.stderr.splitlines()
        assert len(said) == (1 if first.returncode else 0), first.stderr
        assert not said or said[0].startswith(f"teachirl: {disk}"), first.stderr
        subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
        again = _ran(*command, "--workers", "1")
        assert (again.returncode, again.stderr) == (0, ""), again.stderr
        assert not list(disk.rglob("*.tmp"))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def interrupts(seed: int, folder: Path) -> None:
    """SIGINT or SIGTERM at some moment, also while modules are loaded: no traceback, no remains."""
    dice = random.Random(seed)
    name = dice.choice([*LAKES, "grid"])
    problems = copied(folder)
    command = [sys.executable, "-m", "teachirl", "certify", f"{name}.toml", "--out", "report"]
    process = subprocess.Popen(
        command, cwd=problems, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    time.sleep(dice.uniform(0.1, 4.0))
    process.send_signal(dice.choice([signal.SIGINT, signal.SIGTERM]))
    _, err = process.communicate()
    # Negative: before Python was up.
    assert process.returncode in (0, 2, 130, 143, -signal.SIGINT, -signal.SIGTERM), err
    assert "Traceback" not in err, err
    assert not list(folder.rglob("*.tmp"))


def bounds(seed: int, folder: Path) -> Iterable[str]:
    """All promises about a tiny MDP, compared with exact rational arithmetic; which they were."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tried, broken = soundness.check(seed)
    assert not broken, "; ".join(broken)
    return tried


def _ran(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(each) for each in command], capture_output=True, text=True)


@dataclass(frozen=True)
class Kind:
    """What is tried.

    Attributes
    ----------
    case : called with a seed and an empty folder
    wanted : how often
    seconds : of processor time, after which a case is killed, and has failed
    """

    case: Callable[[int, Path], object]
    wanted: int
    seconds: float = 60.0

    @property
    def name(self) -> str:
        return self.case.__name__.replace("_", " ")


# Tiny problems are drawn until each promise was made of a thousand MDPs; some are made of every
# tenth alone. A case of `kills` kills twice.
KINDS = (
    Kind(mutations.problem_files, 2000, 20.0),
    Kind(mutations.csv_tables, 2000, 20.0),
    Kind(mutations.parquet_tables, 1500, 20.0),
    Kind(mutations.numpy_views, 500, 20.0),
    Kind(mutations.minari_datasets, 1500, 20.0),
    Kind(mutations.saved_mdps, 1000, 20.0),
    Kind(mutations.saved_lessons, 500, 20.0),
    Kind(mutations.results_stores, 1000, 20.0),
    Kind(kills, 25),
    Kind(full_disks, 25),
    Kind(interrupts, 100),
    Kind(bounds, 11_000),
)


def remains(folder: Path, place: Path) -> None:
    """Keep what a case that failed had in its folder."""
    shutil.copytree(folder, place, dirs_exist_ok=True)
