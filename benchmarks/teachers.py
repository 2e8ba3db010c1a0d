"""Teachers: a round of GapGreedy against an LP a candidate, of PerfGreedy against cold learners.

    python benchmarks/teachers.py [--quick] [--cases gap] [--seconds-limit 60] [--csv FILE]

`gap` races GapGreedy's choice against solving the worst case of every candidate from cold, by our
own method and by HiGHS. `perf` times PerfGreedy against the learner itself, candidate by
candidate. `plan` lets TRGreedy choose 50 of 10⁵ features, against reading them 50 times. `growth`
says how a round of each teacher grows with the number of candidates, of features and states, and of
rows that the learner sees.
"""

from __future__ import annotations

import functools
import math
import os
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
from teachirl.guarantees.worst_case import Method
from teachirl.learners import MinNormPoint, Projection
from teachirl.teachers import Situation
from teachirl.views.teaching_risk import RiskScorer

Floats = NDArray[np.float64]
PACKAGES = ["teachirl", "numpy", "scipy", "numba", "highspy"]
# Of this many candidates the slow contestants do one; the time is scaled up.
SAMPLE = 7


@dataclass(frozen=True)
class Case:
    """A grid in blocks of 2×2, a learner with random rows, features of single blocks to teach."""

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
            features_left=min(10, self.candidates // 2),
            cost_left=math.inf,
        )


def all_cases() -> list[Case]:
    return [Case(20, rows, 70, slip) for slip in (0.0, 0.3) for rows in (5, 20, 40)]


def choosing(name: str, case: Case) -> Callable[[float], list[float]]:
    """The teacher's choice."""
    situation = case.situation()
    who = teacher(name)

    def solve(epsilon: float) -> list[float]:
        chosen = who.choose(replace(situation, notes={}), np.random.default_rng(0)).feature
        assert chosen is not None
        return [float(chosen)]

    return solve


def teacher(name: str) -> ti.teachers.Teacher:
    if name == "PerfGreedy":
        return ti.teachers.PerfGreedy(Projection(1e-2))
    if name == "OptimalSubset":
        return ti.teachers.OptimalSubset(max_nodes=100)
    who: ti.teachers.Teacher = getattr(ti.teachers, name)()
    return who


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


FIELDS: dict[str, tuple[Prepare, int]] = {
    "GapGreedy": (functools.partial(choosing, "GapGreedy"), 1),
    "worst_case of each": (functools.partial(worst_of_each, "auto", 1), 1),
    "HiGHS, lifted, of each": (functools.partial(worst_of_each, "lifted", SAMPLE), SAMPLE),
    "HiGHS, direct, of each": (functools.partial(worst_of_each, "direct", SAMPLE), SAMPLE),
}


def error_against(case: Case) -> Callable[[Floats], float]:
    """How much worse a choice is than the best, or how far the values of the candidates are off."""
    known = np.array(worst_of_each("auto", 1, case)(0.0))
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


# PerfGreedy and the learner whom it simulates.


@dataclass(frozen=True)
class Simulated:
    """A learner with so many rows, after as many steps as its first training takes, or none."""

    learner: Projection | MinNormPoint
    rows: int
    trained: bool

    def situation(self) -> Situation:
        s = Case(20, self.rows, 70).situation()
        if not self.trained:
            return s
        target = s.view.matrix @ s.demonstration.expectations
        learned = self.learner.learn(s.view.observe(s.task.mdp), target, s.policy)
        return replace(s, policy=learned.policy)

    def earned(self, s: Situation, start: ti.Policy) -> tuple[Floats, list[int]]:
        """What the learner earns after each candidate, from that policy on, and its solves."""
        earned, solves = [], []
        for feature in s.task.teachable[s.candidates]:
            view = s.view.extend(feature)
            target = view.matrix @ s.demonstration.expectations
            learned = self.learner.learn(view.observe(s.task.mdp), target, start)
            earned.append(s.task.weights @ ti.feature_expectations(s.task.mdp, learned.policy))
            solves.append(learned.solves)
        return np.array(earned), solves


def all_simulated() -> list[Simulated]:
    learners = [(Projection(1e-2), (5, 20, 40)), (Projection(1e-3), (20, 40))]
    return [
        Simulated(learner, rows, trained)
        for learner, many in [*learners, (MinNormPoint(), (5, 20, 40))]
        for rows in many
        for trained in (False, True)
    ]


def perf_report(cases: list[Simulated], turns: int) -> str:
    rows = [in_fresh_process(perf_row, case, turns) for case in cases]
    header = ["learner", "ℓ", "its policy", "PerfGreedy", "from it", "from the uniform policy"]
    parts = ["## A round by the learner's performance, 20×20, 70 candidates"]
    parts.append("Time of a candidate, how many times PerfGreedy's, MDP solves (mean, most).")
    return "\n\n".join([*parts, table(header, rows)])


def perf_row(case: Simulated, turns: int) -> list[str]:
    s, who = case.situation(), ti.teachers.PerfGreedy(case.learner)
    known, solves = case.earned(s, s.policy)
    span = s.task.best.value - s.task.worst.value

    def simulated() -> Floats:
        return who.simulate(replace(s, notes={}))  # or it would know them from the turn before

    assert np.abs(simulated() - known).max() <= 1e-6 * span
    uniform = ti.Policy.uniform(s.task.mdp)
    ways: dict[str, Callable[[], object]] = {
        "teacher": simulated,
        "same": lambda: case.earned(s, s.policy),
        "cold": lambda: case.earned(s, uniform),
    }
    best = dict.fromkeys(ways, math.inf)
    for _ in range(turns):
        for name, way in ways.items():
            begin = time.perf_counter()
            way()
            best[name] = min(best[name], time.perf_counter() - begin)
    mine = best["teacher"]

    def shown(name: str, solves: list[int]) -> str:
        each, times = duration(best[name] / len(known)), best[name] / mine
        return f"{each}, ×{times:.3g}, {np.mean(solves):.0f} and {max(solves)}"

    return [
        repr(case.learner).split("(")[0] + f" to {case.learner.tolerance:g}",
        str(case.rows),
        "trained" if case.trained else "uniform",
        duration(mine / len(known)),
        shown("same", solves),
        shown("cold", case.earned(s, uniform)[1]) if case.trained else "the same",
    ]


# TRGreedy where the candidates fill the memory.


def plan_report(features: int, candidates: int, rounds: int) -> str:
    ready, chosen, reading = in_fresh_process(plan_times, features, candidates, rounds)
    rows = [
        ["TRGreedy, what is set up once", duration(ready), f"{ready / reading:.2f}"],
        [f"TRGreedy, {rounds} rounds", duration(chosen), f"{chosen / reading:.2f}"],
        [f"reading the candidates {rounds} times", duration(reading), "1"],
    ]
    title = f"## k = {features:,}, {candidates:,} candidates, single precision"
    return title + "\n\n" + table(["", "time", "times reading"], rows)


def plan_times(features: int, candidates: int, rounds: int) -> tuple[float, float, float]:
    rng = np.random.default_rng(4)
    rows = np.empty((candidates, features), dtype=np.float32)
    for first in range(0, candidates, 1000):
        rng.standard_normal(out=rows[first : first + 1000], dtype=np.float32)
    view = ti.Worldview(rng.standard_normal((5, features)))
    small = RiskScorer(view, rng.standard_normal(features), rows[:1000])
    small.teach(small.best())  # compiles
    x = np.ones(features, dtype=np.float32)
    rows @ x
    begin = time.perf_counter()
    scorer = RiskScorer(view, rng.standard_normal(features), rows)
    ready, chosen, reading = time.perf_counter() - begin, 0.0, 0.0
    for _ in range(rounds):  # in turns, so that both meet the same load
        begin = time.perf_counter()
        scorer.teach(scorer.best())
        between = time.perf_counter()
        rows @ x
        chosen, reading = chosen + between - begin, reading + time.perf_counter() - between
    return ready, chosen, reading


# How a round grows.

GROWTH: dict[str, list[Case]] = {
    "candidates": [Case(20, 5, n) for n in (10, 30, 90)],
    "states and features": [Case(size, 5, 25) for size in (10, 20, 40)],
    "rows it sees": [Case(20, rows, 30) for rows in (5, 15, 45)],
}
TEACHERS = ("TRGreedy", "PerfGreedy", "GapGreedy", "JointGreedy", "OptimalSubset")


def growth_report(turns: int) -> str:
    parts = [
        "## A round, as problems grow",
        "Best of a few, in one process, taking turns. PerfGreedy has Projection to 0.01; "
        "OptimalSubset plans up to ten features with at most 100 nodes.",
    ]
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


def race_report(scores: dict[Case, list[Score]], rules: Rules) -> str:
    rows = [
        [case.title, *(cell(score, line[0], rules) for score in line)]
        for case, line in scores.items()
    ]
    return "\n\n".join(
        [
            "## A round by the guarantee",
            "Time of all candidates, how many times the teacher's, error.",
            table(["case", *FIELDS], rows),
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
    cases = all_cases() if "gap" in options.chosen else []
    cases = cases[:1] if options.quick else cases
    extra = [name for name in groups[1:] if name in options.chosen]
    reports: list[str] = []
    scores: dict[Case, list[Score]] = {}
    lines: list[list[object]] = []
    with Run([20.0] * len(cases) + [60.0] * len(extra), options.minutes) as run:
        if "plan" in extra:
            run.progress.step("plan")
            reports.append(plan_report(10_000, 100_000, 50))
        # Processes from here on: at matrices this small, threads of BLAS wait for each other.
        for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ.setdefault(variable, "1")
        field = run.field(Contestant(name, entry[0]) for name, entry in FIELDS.items())
        for case in cases:
            run.progress.step(case.title)
            raced = race(field, case, error_against(case), rules)
            samples = [entry[1] for entry in FIELDS.values()]
            scores[case] = [scaled(*pair) for pair in zip(raced, samples, strict=True)]
            lines += [[case.title, *score_row(s, scores[case][0], rules)] for s in scores[case]]
        run.stop()
        if "perf" in extra:
            run.progress.step("perf")
            reports.append(perf_report(all_simulated(), 3))
        if "growth" in extra:
            run.progress.step("growth")
            reports.append(growth_report(3))
    if scores:
        reports.insert(0, race_report(scores, rules))
    print("\n\n".join([*reports, machine(PACKAGES)]))
    if options.csv is not None:
        write_csv(options.csv, ["case", *SCORE_HEADER], lines)
    return run.status


if __name__ == "__main__":
    sys.exit(main())
