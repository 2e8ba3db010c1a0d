"""What the campaign tries.

A case gets a seed and an empty folder, and raises if a promise is broken.
What is refused with one message is as good as what is answered; a traceback, a hang, another
result or a lost unit is not.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import small_experiment
import soundness
import teachirl as ti
from problem_files import FILES, TOML, copied
from teachirl.study.results_file import FILE
from test_problem_mutations import LAKES, SCRAPS, check_refused_or_right
from test_store import exported, flipped, repair, small

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


def bit_flips(seed: int, folder: Path) -> None:
    """A bit of a results store flips: the same results, or a refusal; repaired, the same again."""
    content, table = small(folder)
    spoiled = flipped(content, random.Random(seed).randrange(8 * len(content)))
    (folder / FILE).write_bytes(spoiled)
    with _refusing(folder / FILE):
        assert exported(folder) == (table, 12.0, {"size": 3}, 12)
    (folder / FILE).write_bytes(spoiled)
    with _refusing(folder / FILE):
        repair(folder)
        assert small(folder)[1] == table, "repaired, it has other results"


def mutated_problems(seed: int, folder: Path) -> None:
    """A problem file, or a table beside it, with parts deleted, repeated, moved or replaced."""
    dice = random.Random(seed)
    names = [f"{name}.toml" for name in (*LAKES, "grid")]
    name = dice.choice([*names, *(each for each in FILES if not each.endswith(".toml"))])
    problems = copied(folder)
    (problems / name).write_bytes(_mutated(dice, FILES[name]))
    for user in names:
        if user == name or name in TOML[user[:-5]]:
            check_refused_or_right(problems, problems / user)


def mutated_models(seed: int, folder: Path) -> None:
    """An MDP in its own format: loaded, or refused."""
    dice, path = random.Random(seed), folder / "model.npz"
    ti.worlds.chain(4).save(path)
    path.write_bytes(_mutated(dice, path.read_bytes()))
    with _refusing(path):
        assert ti.MDP.load(path).n_states < 1000


def mutated_lessons(seed: int, folder: Path) -> None:
    """A lesson that was saved: loaded, or refused."""
    dice, path = random.Random(seed), folder / "lesson.json"
    mdp = ti.worlds.chain(4)
    task = ti.Task(mdp, [-1, 0, 1, 2], ti.Worldview.select(mdp, [1]), np.eye(4))
    rng = np.random.default_rng(0)
    ti.teach(task, ti.teachers.TRGreedy(), ti.learners.MinNormPoint(), rng=rng).save(path)
    path.write_bytes(_mutated(dice, path.read_bytes()))
    with _refusing(path):
        assert ti.Lesson.load(path, task).rounds


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


def bounds(seed: int, folder: Path) -> None:
    """All promises about a tiny MDP, compared with exact rational arithmetic."""
    _, broken = soundness.check(seed)
    assert not broken, "; ".join(broken)


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """The block may be refused, with one message that names the file."""
    try:
        yield
    except ti.TeachirlError as error:
        message = str(error)
    else:
        return
    assert str(path) in message and len(message) < 3000, message


def _ran(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(each) for each in command], capture_output=True, text=True)


def _mutated(dice: random.Random, raw: bytes) -> bytes:
    for _ in range(dice.randint(1, 3)):
        first = dice.randint(0, len(raw))
        last = min(len(raw), first + dice.choice([0, 1, 4, 20, 1000]))
        part = raw[first:last]
        scrap = dice.choice([dice.choice(SCRAPS) or b"", dice.randbytes(dice.randint(1, 3))])
        raw = raw[:first] + dice.choice([b"", scrap, part * 2, part[::-1]]) + raw[last:]
        raw = raw[: dice.choice([len(raw), len(raw), len(raw), first])]
    return raw


CASES = (
    bit_flips,
    mutated_problems,
    mutated_models,
    mutated_lessons,
    kills,
    full_disks,
    interrupts,
    bounds,
)


def remains(folder: Path, place: Path) -> None:
    """Keep what a case that failed had in its folder."""
    shutil.copytree(folder, place, dirs_exist_ok=True)
