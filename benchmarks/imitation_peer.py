"""Tabular MCE-IRL of the package imitation beside ours.

imitation pins old packages, and so lives in an environment of its own, made in a temporary folder
and removed afterwards, unless a Python that has it is named.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import teachirl as ti
from harness import duration, table, times
from matching_peers import Problem

REQUIREMENT = "imitation==1.0.1"
ACCURACY = 1e-3
RATES = 0.01, 0.1  # of Adam; the first is its default there
TURNS = 3  # of ours, before and after each of its runs


class NotInstalledError(Exception):
    """imitation cannot be had; the text is pip's last word."""


def installed(folder: Path) -> Path:
    """A Python in `folder` that has imitation."""
    python = folder / "bin" / "python"
    for command in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", REQUIREMENT],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            raise NotInstalledError((lines or ["no message"])[-1])
    return python


@dataclass(frozen=True)
class Training:
    """One run of imitation's: its own seconds and steps, the error of its policy, or a note."""

    seconds: float = math.nan
    steps: int = 0
    error: float = math.inf
    note: str = ""


def trained(python: Path, problem: Problem, rate: float, seconds_limit: float) -> Training:
    mdp, n = problem.mdp, problem.mdp.n_states
    transitions = mdp.dynamics.transitions.toarray().reshape(n, -1, n)  # as many actions in each
    features: Any = problem.seen.features
    with tempfile.TemporaryDirectory() as name:
        question, answer = Path(name, "question.npz"), Path(name, "answer.npz")
        np.savez(
            question,
            transitions=transitions,
            features=np.asarray(features),
            start=mdp.start,
            visits=ti.occupancy(mdp, problem.policy).reshape(n, -1).sum(axis=1),
            discount=mdp.discount,
            # What lies beyond is a tenth of the mismatch that is asked for.
            horizon=math.ceil(math.log(0.1 * ACCURACY) / math.log(mdp.discount)),
            goal=ACCURACY * problem.scale,
            rate=rate,
            seconds=seconds_limit,
        )
        script = Path(__file__).with_name("imitation_mce.py")
        command = [str(python), str(script), str(question), str(answer)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return Training(note=(done.stderr.strip().splitlines() or ["no message"])[-1])
        with np.load(answer) as found:
            policy = ti.policy_from_occupancy(problem.seen, found["occupancy"])
            return Training(float(found["seconds"]), int(found["steps"]), problem.mismatch(policy))


def imitation_report(
    problems: Mapping[int, Problem],
    ours: Callable[[float], ti.learners.Learner],
    python: Path | None,
    seconds_limit: float,
) -> str:
    """Ours and imitation's on one problem for each number of rows."""
    title = f"## MaxCausalEntropy and imitation's MCE-IRL, 20×20, to {ACCURACY:g}"
    try:
        with tempfile.TemporaryDirectory() as folder:
            chosen = installed(Path(folder)) if python is None else python
            rows = [
                row
                for ell, problem in problems.items()
                for row in _rows(ell, problem, ours(ACCURACY), chosen, seconds_limit)
            ]
    except NotInstalledError as error:
        return f"{title}\n\n{REQUIREMENT} could not be installed: {error}"
    header = ["", "steps", "time", "a step", "times ours", "mismatch"]
    return f"{title}\n\n" + table(header, rows)


def _rows(
    ell: int, problem: Problem, ours: ti.learners.Learner, python: Path, seconds_limit: float
) -> list[list[str]]:
    best, theirs = math.inf, {}
    for rate in RATES:
        learned, seconds = _best_of_turns(problem, ours)
        theirs[rate] = trained(python, problem, rate, seconds_limit)
        best = min(best, seconds, _best_of_turns(problem, ours)[1])
    steps, error = learned.solves, problem.mismatch(learned.policy)
    name = f"ℓ {ell}, MaxCausalEntropy"
    rows = [[name, f"{steps}", duration(best), duration(best / steps), "", f"{error:.0e}"]]
    for rate, training in theirs.items():
        name = f"ℓ {ell}, imitation, rate {rate:g}"
        if training.note:
            rows.append([name, "–", "–", "–", "–", training.note])
            continue
        reached = training.error <= ACCURACY
        rows.append(
            [
                name,
                f"{training.steps}",
                duration(training.seconds),
                duration(training.seconds / training.steps),
                times(training.seconds / best) if reached else "–",
                f"{training.error:.0e}" + ("" if reached else " not reached in time"),
            ]
        )
    return rows


def _best_of_turns(
    problem: Problem, learner: ti.learners.Learner
) -> tuple[ti.learners.Learned, float]:
    best = math.inf
    for _ in range(TURNS):
        begin = time.perf_counter()
        learned = learner.learn(problem.seen, problem.target)
        best = min(best, time.perf_counter() - begin)
    return learned, best
