"""The suite on other processors, Pythons and versions, as far as one machine can have them.

``python tests/everywhere.py`` runs it under each setting and prints a table in Markdown, which
docs/reliability.md shows. Other processors may change numbers, so NO_NUMBERS is left out there; a
busy machine changes when things happen, so that PROCESSES is run. Names of settings as arguments
run those alone.
"""

from __future__ import annotations

import glob
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from teachirl.study.provenance import machine

ROOT = Path(__file__).resolve().parents[1]
# About files, pages and processes: what they compare is computed in a few lines, or by others.
NO_NUMBERS = [
    "cl*",
    "demonstrations",
    "engine",
    "experiments",
    "imports",
    "lesson*",
    "mdp",
    "pages*",
    "pictures",
    "policy",
    "problem*",
    "progress",
    "rep*",
    "sto*",
    "stu*",
    "testing",
    "worlds",
]
# Those that start processes, wait, interrupt or kill.
PROCESSES = [
    "cli*",
    "clock",
    "cluster",
    "engine",
    "interrupts",
    "lesson*",
    "progress",
    "rep*",
    "stu*",
]
RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True)
class Setting:
    """What is different.

    Attributes
    ----------
    name : for the table, and for the folder .venv-NAME
    environment : variables
    python : the version to run under, such as "3.12"; empty for the one that runs this
    versions : of the dependencies: "pinned" by constraints.txt, "oldest" that are allowed, "newest"
    busy : how many processes keep the processors busy
    needs : a feature that the processor must have
    """

    name: str
    environment: dict[str, str] = field(default_factory=dict)
    python: str = ""
    versions: str = "pinned"
    busy: int = 0
    needs: str = ""

    @property
    def folder(self) -> Path:
        """For results, and for what the setting needs of its own."""
        return ROOT / f".venv-{self.name.replace(' ', '-')}"

    @property
    def other_packages(self) -> bool:
        """Whether it needs packages of its own."""
        return self.versions != "pinned" or self.python not in ("", RUNNING)

    @property
    def selected(self) -> list[str]:
        """The tests that may come out differently, as arguments of pytest."""
        if self.python or self.versions != "pinned":
            return []
        if self.busy:
            return sorted(str(each) for n in PROCESSES for each in ROOT.glob(f"tests/test_{n}.py"))
        return ["tests", *(f"--ignore-glob=tests/test_{names}.py" for names in NO_NUMBERS)]


SETTINGS = [
    Setting("Haswell", {"OPENBLAS_CORETYPE": "Haswell"}, needs="avx2"),
    Setting("Zen", {"OPENBLAS_CORETYPE": "Zen"}, needs="avx2"),
    Setting("SkylakeX", {"OPENBLAS_CORETYPE": "SkylakeX"}, needs="avx512f"),
    Setting("Nehalem", {"OPENBLAS_CORETYPE": "Nehalem"}, needs="sse4_2"),
    Setting("generic", {"NUMBA_CPU_NAME": "generic"}),
    Setting("one thread", {"OMP_NUM_THREADS": "1"}),
    Setting("two threads", {"OMP_NUM_THREADS": "2"}),
    Setting("busy", busy=8),
    Setting("3.11", python="3.11"),
    Setting("3.12", python="3.12"),
    Setting("3.13", python="3.13"),
    Setting("oldest", python="3.11", versions="oldest"),
    Setting("newest", versions="newest"),
]


def interpreter(version: str) -> str | None:
    """Where Python of that version is, on the path or among pyenv's; None if nowhere."""
    if version in ("", RUNNING):
        return sys.executable
    shelf = Path.home() / ".pyenv" / "versions" / f"{version}.*" / "bin" / "python"
    for python in filter(None, [shutil.which(f"python{version}"), *sorted(glob.glob(str(shelf)))]):
        # A shim may be there for a version that is not.
        if subprocess.run([python, "-c", ""], capture_output=True).returncode == 0:
            return python
    return None


def oldest() -> list[str]:
    """The least versions that pyproject.toml allows of what the package needs to run."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    ours = [extras[name] for name in ("cluster", "frame", "gym", "minari", "parquet", "plot")]
    needed = {each for group in (project["dependencies"], *ours) for each in group}
    # The tests call Gymnasium's worlds by the names that they have since 1.3.
    needed = needed - {"gymnasium>=0.29"} | {"gymnasium>=1.3"}
    return sorted(each.replace(">=", "==") for each in needed)


def installed(setting: Setting, python: str) -> Path:
    """The Python of an environment with the packages that the setting wants."""
    if not setting.other_packages:
        return Path(sys.executable)
    folder = setting.folder
    if not (folder / "bin" / "python").exists():
        subprocess.run([python, "-m", "venv", folder], check=True)
    limits = {"pinned": ["--constraint", "constraints.txt"], "newest": ["--upgrade"]}
    if setting.versions == "oldest":
        (folder / "oldest.txt").write_text("\n".join(oldest()) + "\n", encoding="utf-8")
        limits["oldest"] = ["--constraint", str(folder / "oldest.txt")]
    ours = folder / "bin" / "python"
    command = [ours, "-m", "pip", "install", "--quiet", *limits[setting.versions]]
    subprocess.run([*command, "--editable", ".[dev]"], cwd=ROOT, check=True)
    return ours


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep the processors busy with so many processes."""
    idlers = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for idler in idlers:
            idler.kill()
            idler.wait()


def run(setting: Setting) -> list[str]:
    """A row of the table: the name, tests passed, failed and skipped, and seconds."""
    features = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    if setting.needs and setting.needs not in features.split():
        return [setting.name, "not run: the processor is another", "", "", ""]
    python = interpreter(setting.python)
    if python is None:
        return [setting.name, f"not run: there is no Python {setting.python}", "", "", ""]
    mine = installed(setting, python)
    setting.folder.mkdir(exist_ok=True)
    environment = {**os.environ, **setting.environment}
    if setting.other_packages or "NUMBA_CPU_NAME" in setting.environment:
        environment["NUMBA_CACHE_DIR"] = str(setting.folder / "numba")
    report, began = setting.folder / "results.xml", time.monotonic()
    report.unlink(missing_ok=True)
    with busy(setting.busy):
        command = [mine, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup"]
        command += [f"--junitxml={report}", *setting.selected]
        ended = subprocess.run(command, cwd=ROOT, env=environment).returncode
    if ended not in (0, 1) or not report.exists():
        return [setting.name, "", f"pytest ended with {ended}", "", ""]
    [suite] = ElementTree.parse(report).getroot().iter("testsuite")
    count = {key: int(suite.get(key, "0")) for key in ("tests", "failures", "errors", "skipped")}
    failed = count["failures"] + count["errors"]
    passed = count["tests"] - failed - count["skipped"]
    seconds = f"{time.monotonic() - began:.0f}"
    return [setting.name, str(passed), str(failed), str(count["skipped"]), seconds]


def main(names: list[str]) -> int:
    rows = []
    for setting in SETTINGS:
        if not names or setting.name in names:
            print(f"== {setting.name}", flush=True)
            rows.append(run(setting))
    here = machine()
    print(f"\nOn {here['cpus']} processors ({here['cpu_model']}), Python {RUNNING}:\n")
    print("| setting | passed | failed | skipped | seconds |\n|---|---|---|---|---|")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    return int(any(row[2] not in ("", "0") for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
