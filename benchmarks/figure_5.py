"""What makes Figure 5 quick: PerfGreedy's rounds with and without each idea, in one run.

    python benchmarks/figure_5.py [--rounds 5] [--trials 3] [--turns 3]

The setting is that of `teachirl reproduce fig5`. All variants choose for the very same situations:
those of a lesson by PerfGreedy. They take turns, and the best turn of each counts.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import teachirl as ti
from harness import duration, machine, table
from teachirl.study.experiments import find
from teachirl.study.experiments.draws import random_task
from teachirl.teachers import Choice, Situation


class Uncompiled(ti.learners.Projection):
    """Projection, which PerfGreedy does not recognise: its own `learn` for each candidate."""


@dataclass(frozen=True)
class Cold:
    """A learner who forgets what it does by now."""

    learner: ti.learners.Learner

    def learn(self, seen, target, start=None):
        return self.learner.learn(seen, target)


@dataclass(frozen=True)
class Watched:
    """A teacher whose situations are kept."""

    teacher: ti.teachers.Teacher
    seen: list[Situation]

    def choose(self, situation: Situation, rng: np.random.Generator) -> Choice:
        self.seen.append(situation)
        return self.teacher.choose(situation, rng)


def situations(trials: int, rounds: int) -> list[Situation]:
    settings = find("fig5").full
    learner = ti.learners.Projection(settings.tolerance)
    found: list[Situation] = []
    for trial in range(trials):
        mdp = ti.worlds.gridworld(settings.size, settings.block, discount=settings.discount)
        rng = np.random.default_rng([settings.seed, trial])
        task = random_task(rng, mdp, settings.rows, settings.teachable)
        watched = Watched(ti.teachers.PerfGreedy(learner), [])
        budget = settings.teachable
        ti.teach(task, watched, learner, rng=rng, budget=budget, tolerance=-1.0, certified=False)
        found += watched.seen[:: max(1, len(watched.seen) // rounds)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("rounds", 5), ("trials", 3), ("turns", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    settings = find("fig5").full
    paper = ti.learners.Projection(settings.tolerance)
    plain = Uncompiled(settings.tolerance)
    point = ti.learners.MinNormPoint(settings.tolerance)
    teachers: dict[str, ti.teachers.Teacher] = {
        "as it is": ti.teachers.PerfGreedy(paper),
        "its own learn for each candidate": ti.teachers.PerfGreedy(plain),
        "the same, always from the uniform policy": ti.teachers.PerfGreedy(Cold(plain)),
        "MinNormPoint instead of Projection": ti.teachers.PerfGreedy(point),
        "GapGreedy instead": ti.teachers.GapGreedy(),
        "TRGreedy instead": ti.teachers.TRGreedy(),
    }
    some = situations(options.trials, options.rounds)
    best = dict.fromkeys(teachers, math.inf)
    for _ in range(options.turns):
        for name, teacher in teachers.items():
            best[name] = min(best[name], seconds_of(lambda t=teacher: choose_all(t, some)))
    ours = best["as it is"]
    rows = [
        [name, duration(seconds / len(some)), f"×{seconds / ours:.2g}"]
        for name, seconds in best.items()
    ]
    print(f"## A round of PerfGreedy in Figure 5, mean of {len(some)} rounds\n")
    print(table(["", "a round", "of PerfGreedy's"], rows))
    print()
    print(machine(["teachirl", "numpy", "numba"]))


def choose_all(teacher: ti.teachers.Teacher, some: list[Situation]) -> None:
    for situation in some:
        situation.notes.clear()
        teacher.choose(situation, np.random.default_rng(0))


def seconds_of(work: Callable[[], None]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
