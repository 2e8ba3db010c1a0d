"""Teachers: a round of GapGreedy against an LP a candidate, of PerfGreedy against cold learners.

    python benchmarks/teachers.py [--quick] [--cases gap] [--seconds-limit 60] [--csv FILE]

`gap` races GapGreedy's choice against solving the worst case of every candidate from cold, by our
own method and by HiGHS. `perf` does the same for PerfGreedy and the learner herself. `plan` lets
TRGreedy choose 50 of 10⁵ features, against reading them 50 times. `growth` says how a round of each
teacher grows with the number of candidates, of features, and of states.
"""

from __future__ import annotations

import functools
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import teachirl as ti
from harness import (
    SCORE_HEADER,
    Contestant,
    Prepare,
    Rules,
    Run,
    Score,
    cell,
    duration,
    in_fresh_process,
    machine,
    parsed,
    race,
    score_row,
    standard_parser,
    table,
    write_csv,
)
from teachirl.polytope import Method
from teachirl.risk import RiskScorer
from teachirl.teachers import Situation

Floats = NDArray[np.float64]
PACKAGES = ["teachirl", "numpy", "scipy", "numba", "highspy"]
# Of this many candidates the slow contestants do one; the time is scaled up.
SAMPLE = 7


@dataclass(frozen=True)
class Case:
    """A grid in blocks of 2×2, a learner with random rows, features of single blocks to teach."""

    group: str
    size: int
    rows: int
    candidates: int
    slip: float = 0.0

    @property
    def title(self) -> str:
        slip = f", slip {self.slip:g}" if self.slip else ""
        return f"{self.size}×{self.size}{slip}, ℓ {self.rows}, {self.candidates} candidates"

    def situation(self) -> Situation:
        mdp = ti.worlds.gridworld(self.size, 2, slip=self.slip)
        rng = np.random.default_rng([0, self.size, self.rows])
        k = mdp.n_features
        weights = rng.standard_normal(k)
        view = ti.Worldview(rng.standard_normal((self.rows, k)))
        features = np.eye(k)[rng.choice(k, self.candidates, replace=False)]
        task = ti.Task(mdp, weights / np.linalg.norm(weights), view, features)
        return Situation(
            task=task,
            view=view,
            demonstration=task.demonstration,
            policy=ti.Policy.uniform(mdp),
            taught=(),
            candidates=np.arange(self.candidates),
            features_left=self.candidates,
            cost_left=math.inf,
            mismatch=0.0,
        )


def all_cases() -> list[Case]:
    gap = [Case("gap", 20, rows, 70, slip) for slip in (0.0, 0.3) for rows in (5, 20, 40)]
    perf = [Case("perf", 20, rows, 70) for rows in (5, 20, 40)]
    return gap + perf


def choosing(name: str, case: Case) -> Callable[[float], list[float]]:
    """The teacher's choice, and how good it is by the case's own measure."""
    situation = case.situation()
    who = teacher(name)

    def solve(epsilon: float) -> list[float]:
        chosen = who.choose(situation, np.random.default_rng(0)).feature
        assert chosen is not None
        return [float(chosen)]

    return solve


def teacher(name: str) -> ti.teachers.Teacher:
    if name == "PerfGreedy":
        return ti.teachers.PerfGreedy(LEARNER)
    who: ti.teachers.Teacher = getattr(ti.teachers, name)()
    return who


LEARNER = ti.learners.Projection(1e-3)


def worst_of_each(method: Method, sample: int, case: Case) -> Callable[[float], list[float]]:
    """What is guaranteed after every so many-th candidate."""
    s = case.situation()

    def solve(epsilon: float) -> list[float]:
        return [
            ti.worst_case(
                s.task.mdp,
                s.view.extend(s.task.teachable[index]),
                s.task.weights,
                s.demonstration,
                method=method,
            ).lower
            for index in s.candidates[::sample]
        ]

    return solve


def cold_learners(sample: int, case: Case) -> Callable[[float], list[float]]:
    s = case.situation()
    w = s.task.weights

    def solve(epsilon: float) -> list[float]:
        earned = []
        for index in s.candidates[::sample]:
            view = s.view.extend(s.task.teachable[index])
            target = view.matrix @ s.demonstration.expectations
            policy = LEARNER.learn(view.observe(s.task.mdp), target, s.policy).policy
            earned.append(float(w @ ti.feature_expectations(s.task.mdp, policy)))
        return earned

    return solve


FIELDS: dict[str, dict[str, tuple[Prepare, int]]] = {
    "gap": {
        "GapGreedy": (functools.partial(choosing, "GapGreedy"), 1),
        "worst_case of each": (functools.partial(worst_of_each, "auto", 1), 1),
        "HiGHS, lifted, of each": (functools.partial(worst_of_each, "lifted", SAMPLE), SAMPLE),
        "HiGHS, direct, of each": (functools.partial(worst_of_each, "direct", SAMPLE), SAMPLE),
    },
    "perf": {
        "PerfGreedy": (functools.partial(choosing, "PerfGreedy"), 1),
        "the learner for each": (functools.partial(cold_learners, 1), 1),
    },
}


def error_against(case: Case) -> Callable[[Floats], float]:
    """How much worse a choice is than the best, or how far the values of the candidates are off."""
    everyone = worst_of_each("auto", 1, case) if case.group == "gap" else cold_learners(1, case)
    known = np.array(everyone(0.0))
    task = case.situation().task
    span = task.best.value - task.worst.value

    def error_of(answer: Floats) -> float:
        if len(answer) == 1:
            return float(known.max() - known[int(answer[0])]) / span
        step = math.ceil(len(known) / len(answer))
        return float(np.abs(known[::step] - answer).max()) / span

    return error_of


def scaled(score: Score, sample: int) -> Score:
    return score if score.seconds is None else replace(score, seconds=score.seconds * sample)


# TRGreedy where the candidates fill the memory.


def plan_report(features: int, candidates: int, rounds: int) -> str:
    chosen, reading = in_fresh_process(plan_times, features, candidates, rounds)
    rows = [
        [f"TRGreedy, {rounds} rounds", duration(chosen), f"{chosen / reading:.2f}"],
        [f"reading the candidates {rounds} times", duration(reading), "1"],
    ]
    title = f"## k = {features:,}, {candidates:,} candidates, single precision"
    return title + "\n\n" + table(["", "time", "times reading"], rows)


def plan_times(features: int, candidates: int, rounds: int) -> tuple[float, float]:
    rng = np.random.default_rng(4)
    rows = np.empty((candidates, features), dtype=np.float32)
    for first in range(0, candidates, 1000):
        rng.standard_normal(out=rows[first : first + 1000], dtype=np.float32)
    view = ti.Worldview(rng.standard_normal((5, features)))
    small = RiskScorer(view, rng.standard_normal(features), rows[:1000])
    small.teach(small.best())  # compiles
    x = np.ones(features, dtype=np.float32)
    begin = time.perf_counter()
    scorer = RiskScorer(view, rng.standard_normal(features), rows)
    for _ in range(rounds):
        scorer.teach(scorer.best())
    chosen = time.perf_counter() - begin
    begin = time.perf_counter()
    for _ in range(rounds):
        rows @ x
    return chosen, time.perf_counter() - begin


# How a round grows.

GROWTH: dict[str, list[Case]] = {
    "candidates": [Case("", 20, 5, n) for n in (10, 30, 100)],
    "features": [Case("", 20, 5, 25), Case("", 40, 5, 25), Case("", 80, 5, 25)],
    "rows she sees": [Case("", 20, rows, 30) for rows in (5, 15, 45)],
}
TEACHERS = ("TRGreedy", "GapGreedy", "PerfGreedy", "OptimalSubset")


def growth_report(turns: int) -> str:
    parts = ["## A round, as problems grow", "Best of a few, in one process, taking turns."]
    for what, cases in GROWTH.items():
        times = in_fresh_process(growth_times, cases, turns)
        rows = [[case.title, *(duration(times[case, name]) for name in TEACHERS)] for case in cases]
        parts.append(table([f"by {what}", *TEACHERS], rows))
    return "\n\n".join(parts)


def growth_times(cases: list[Case], turns: int) -> dict[tuple[Case, str], float]:
    solves = {(case, name): choosing(name, case) for case in cases for name in TEACHERS}
    best = dict.fromkeys(solves, math.inf)
    for turn in range(turns + 1):
        for key, solve in solves.items():
            begin = time.perf_counter()
            solve(0.0)
            if turn:  # the first one may compile
                best[key] = min(best[key], time.perf_counter() - begin)
    return best


def race_report(group: str, scores: dict[Case, list[Score]], rules: Rules) -> str:
    titles = {
        "gap": "## A round by the guarantee",
        "perf": "## A round by the learner's performance",
    }
    rows = [
        [case.title, *(cell(score, line[0], rules) for score in line)]
        for case, line in scores.items()
    ]
    header = ["case", *FIELDS[group]]
    return "\n\n".join(
        [
            titles[group],
            "Time of all candidates, how many times the teacher's, error.",
            table(header, rows),
        ]
    )


def main(arguments: list[str] | None = None) -> int:
    groups = ["gap", "perf", "plan", "growth"]
    options = parsed(standard_parser("Teachers.", groups), groups, ["gap"], arguments)
    rules = Rules(
        accuracy=3e-6,
        tightenings=0,
        seconds_limit=options.seconds_limit,
        rounds=2 if options.quick else 4,
        budget=2.0,
    )
    cases = [case for case in all_cases() if case.group in options.chosen]
    cases = cases[:1] if options.quick else cases
    extra = [name for name in ("plan", "growth") if name in options.chosen]
    reports: list[str] = []
    lines: list[list[object]] = []
    with Run([20.0] * len(cases) + [60.0] * len(extra)) as run:
        for group, entries in FIELDS.items():
            mine = [case for case in cases if case.group == group]
            if not mine:
                continue
            field = run.field(Contestant(name, entry[0]) for name, entry in entries.items())
            scores: dict[Case, list[Score]] = {}
            for case in mine:
                run.progress.step(case.title)
                raced = race(field, case, error_against(case), rules)
                samples = [entry[1] for entry in entries.values()]
                scores[case] = [scaled(*pair) for pair in zip(raced, samples, strict=True)]
                lines += [[case.title, *score_row(s, scores[case][0], rules)] for s in scores[case]]
            reports.append(race_report(group, scores, rules))
        run.stop()
        if "plan" in extra:
            run.progress.step("plan")
            reports.append(plan_report(10_000, 100_000, 50))
        if "growth" in extra:
            run.progress.step("growth")
            reports.append(growth_report(3))
    print("\n\n".join([*reports, machine(PACKAGES)]))
    if options.csv is not None:
        write_csv(options.csv, ["case", *SCORE_HEADER], lines)
    return run.status


if __name__ == "__main__":
    sys.exit(main())
