"""What a user waits for: processor time of the commands, from the start of the process.

    python benchmarks/commands.py [--cases certify,fresh] [--turns 3]

Each command runs in a process of its own, with compiled kernels on disk; that and its bytecode are
what the first, untimed turn of a short one is for. Given are the processor time until what matters
is printed, by all threads of the process, and until its end; the best of a few turns. `fresh` is a
first `certify` in a fresh installation: a copy of the sources with nothing compiled, its helpers
included.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from harness import duration, machine, table, write_csv

ROOT = Path(__file__).parents[1]
PACKAGES = ["teachirl", "numpy", "scipy", "numba"]
GRID = """
world = { name = "gridworld", size = 128, block = 8 }
reward = { weights = { "cell 0" = 1.0, "cell 17" = 0.5, "cell 255" = -1.0 } }
learner = { sees = ["cell 0", "cell 1", "cell 2"] }
teach = { features = "all" }
"""
# A speedometer and a lane camera, and twenty sensors that could be added.
SIGHT_3 = """
world = { name = "driving", sight = 3 }
[learner]
sees = ["slow", "medium", "fast", "left lane", "middle lane", "right lane", "shoulder"]
[teach]
features = "all"
[plan]
guarantee = 0.9
"""
# Runs a command, and says on stderr when a text is printed, and when it ends.
WATCH = """
import sys, time
class Watched:
    def __init__(self, stream, text):
        self.stream, self.text = stream, text
    def write(self, text):
        if self.text and self.text in text:
            self.text = None
            print("printed", time.process_time(), file=sys.__stderr__, flush=True)
        return self.stream.write(text)
    def __getattr__(self, name):
        return getattr(self.stream, name)
sys.stdout, sys.argv = Watched(sys.stdout, sys.argv[1]), ["teachirl", *sys.argv[2:]]
from teachirl.__main__ import main
try:
    main()
finally:
    print("ended", time.process_time(), file=sys.__stderr__, flush=True)
"""


class Command(NamedTuple):
    """What is run, on which file, and how long that may take."""

    name: str
    file: str
    aim: float
    whole: bool = False  # whether the aim is for all of it


COMMANDS = {
    "certify: driving example": Command("certify", "driving.toml", 1.0),
    "certify: Taxi": Command("certify", "taxi.toml", 0.5),
    "certify: 128×128 with 256 features": Command("certify", "grid.toml", 3.0),
    "teach: driving example": Command("teach", "driving.toml", 2.0, True),
    "teach: driving with sight 3 and 20 sensors": Command("teach", "sight_3.toml", 60.0, True),
    "frontier: driving example": Command("frontier", "driving.toml", 3.0, True),
    "frontier: `init`'s problem": Command("frontier", "init.toml", 60.0, True),
}
# What the section is called that has the guarantee.
MATTERS = "In short"
FRESH = 20.0
LONG = 60.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", help="parts of names, by commas; all by default")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--csv", type=Path, help="also write what counts to this file")
    options = parser.parse_args()
    wanted = (options.cases or "").split(",")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_problems(folder)
        rows, lines = [], []
        for title, command in COMMANDS.items():
            if any(part in title for part in wanted):
                printed, ended = best_of(command, folder, options.turns)
                spent = ended if command.whole else printed
                verdict = "met" if spent <= command.aim else "missed"
                aim = f"{command.aim:g} s, {verdict}"
                rows.append([title, duration(printed), duration(ended), aim])
                lines.append([title, spent, command.aim])
        if rows:
            print("## Until a command says what matters, and until it ends\n")
            print(table(["command", "printed", "ended", "aim"], rows) + "\n")
        if any(part in "fresh" for part in wanted):
            print("## A first `certify` of the example in a fresh installation\n")
            wall, spent = fresh(folder)
            verdict = "met" if wall <= FRESH else "missed"
            row = [duration(wall), duration(spent), f"{FRESH:g} s, {verdict}"]
            print(table(["waited", "processor time, with helpers", "aim"], [row]) + "\n")
            lines.append(["a first certify, fresh", wall, FRESH])
    if options.csv is not None:
        write_csv(options.csv, ["command", "seconds", "aim"], lines)
    print(machine(PACKAGES))
    return 0


def write_problems(folder: Path) -> None:
    for example in ("driving", "taxi"):
        shutil.copy(ROOT / "examples" / f"{example}.toml", folder)
    for name, text in (("grid", GRID), ("sight_3", SIGHT_3)):
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    subprocess.run([*teachirl(), "init", "init.toml"], cwd=folder, check=True, env=environment())


def teachirl() -> list[str]:
    return [sys.executable, "-m", "teachirl"]


def environment(source: Path = ROOT / "src") -> dict[str, str]:
    """That of a user: bytecode is kept."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": str(source)}


def best_of(command: Command, folder: Path, turns: int) -> tuple[float, float]:
    """Seconds until it is printed, and until the end; each the least. Long ones have one turn."""
    if command.aim >= LONG:
        return run(command, folder)
    times = [run(command, folder) for _ in range(turns + 1)][1:]
    return min(printed for printed, _ in times), min(ended for _, ended in times)


def run(command: Command, folder: Path) -> tuple[float, float]:
    line = [sys.executable, "-c", WATCH, MATTERS, command.name, command.file]
    done = subprocess.run(line, cwd=folder, env=environment(), capture_output=True, text=True)
    said = dict(each.split() for each in done.stderr.splitlines() if each.count(" ") == 1)
    return float(said["printed"]), float(said["ended"])


def fresh(folder: Path) -> tuple[float, float]:
    """Seconds that pass, and of processor time, for a copy of the sources without what is kept."""
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    own = {**environment(folder / "src"), "NUMBA_CACHE_DIR": str(folder / "kept")}
    line = [*teachirl(), "certify", "driving.toml"]
    subprocess.run(line, cwd=folder, env=own, check=True, stdout=subprocess.DEVNULL)
    waited, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return waited, spent


if __name__ == "__main__":
    sys.exit(main())
