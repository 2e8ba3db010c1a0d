"""Learners against each other, against solvers on occupancies, and against the loop on QuantEcon.

    python benchmarks/learners.py [--quick] [--cases grid20,loop] [--imitation] [--csv FILE]

A 20×20 grid, blocks of 2×2, γ = .9; Gaussian worldviews with 5 to 100 rows, Gaussian rewards, and
the view of the optimal policy as the target, five seeds. Whoever answers, it is the policy of the
answer that is evaluated, by `feature_expectations`: its mismatch, as a fraction of
max ‖Aφ‖/(1 − γ), is the error. `--imitation` installs that package, with torch some 6 GB, in a
temporary folder.
"""

from __future__ import annotations

import functools
import math
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import matching_peers as peers
import teachirl as ti
from harness import (
    SCORE_HEADER,
    Contestant,
    Prepare,
    Rules,
    Run,
    Score,
    duration,
    machine,
    parsed,
    race,
    score_row,
    standard_parser,
    table,
    times,
    write_csv,
)
from imitation_peer import imitation_report
from teachirl import learners

Floats = NDArray[np.float64]
Learning = Callable[[float], learners.Learner]  # a tolerance -> who learns to it

PACKAGES = ["teachirl", "numpy", "scipy", "numba", "clarabel", "osqp", "highspy", "quantecon"]
BLOCKS = {6: 2, 20: 2, 128: 16}
ROWS = 5, 20, 50, 100
SEEDS = 5
ACCURACIES = 1e-3, 1e-6, 1e-9
TIGHTENINGS = 3


@dataclass(frozen=True)
class Case:
    """A row of a table, for one of the seeds; `group` is what --cases calls it."""

    group: str
    rows: int
    accuracy: float
    seed: int
    size: int = 20
    slip: float = 0.0

    @property
    def title(self) -> str:
        return f"{self.size}×{self.size}, slip {self.slip:g}, ℓ {self.rows}, to {self.accuracy:g}"

    @property
    def expected_seconds(self) -> float:
        """A guess, for the estimate of the time left."""
        return {5: 3.0, 20: 5.0, 50: 10.0}.get(self.rows, 15.0)

    def problem(self) -> peers.Problem:
        mdp = ti.worlds.gridworld(self.size, BLOCKS[self.size], 0.9, self.slip)
        rng = np.random.default_rng([self.seed, self.rows])
        rows = rng.standard_normal((self.rows, mdp.n_features))
        # Of range 1 each, the units in which learners measure.
        view = ti.Worldview(rows / np.ptp(rows, axis=1, keepdims=True))
        w = rng.standard_normal(mdp.n_features)
        best = ti.optimal_policy(mdp, w / np.linalg.norm(w)).policy
        return peers.Problem(mdp, view, view.observe(mdp), best)


def all_cases(seeds: int, rows: Sequence[int]) -> list[Case]:
    """In the order in which they are run: a seed's accuracies one after the other."""
    cases = [
        Case(group, ell, accuracy, seed, slip=slip)
        for group, slip, accuracies in (("grid20", 0.0, ACCURACIES), ("slip", 0.3, [1e-6]))
        for ell in rows
        for seed in range(seeds)
        for accuracy in accuracies
    ]
    cases += [Case("grid128", 20, accuracy, 0, size=128) for accuracy in ACCURACIES[:2]]
    return cases + [Case("loop", 20, 1e-6, seed) for seed in range(seeds)]


class Answer:
    """The steps taken and the policy's chances, [1 + P]; put together on request, not timed."""

    def __init__(self, steps: float, policy: Callable[[], ti.Policy]) -> None:
        self._steps, self._policy = steps, policy

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        policy = self._policy()
        chances = policy.chances
        if chances is None:
            chances = np.zeros(policy.dynamics.n_pairs)
            chances[policy.pairs] = 1.0
        return np.concatenate([[self._steps], chances]).astype(dtype)


def steps_of(answer: NDArray[Any]) -> int | None:
    return int(answer[0]) if math.isfinite(answer[0]) else None


def mismatch_in(case: Case) -> Callable[[NDArray[Any]], float]:
    p = case.problem()

    def mismatch(answer: NDArray[Any]) -> float:
        if not np.isfinite(answer[1:]).all():
            return math.inf
        return p.mismatch(ti.Policy(p.seen.dynamics, chances=answer[1:]))

    return mismatch


def learner(learning: Learning, case: Case) -> Callable[[float], Answer]:
    p = case.problem()
    small = Case(case.group, 3, 1e-3, 0, size=6, slip=case.slip).problem()
    learning(1e-3).learn(small.seen, small.target)  # compiles

    def solve(epsilon: float) -> Answer:
        learned = learning(epsilon).learn(p.seen, p.target)
        return Answer(learned.solves, lambda: learned.policy)

    return solve


def solver(
    prepare: Callable[[peers.Problem], Callable[[float], Floats]], case: Case
) -> Callable[[float], Answer]:
    p = case.problem()
    solve = prepare(p)

    def answer(epsilon: float) -> Answer:
        x = solve(epsilon)
        return Answer(math.nan, lambda: ti.policy_from_occupancy(p.seen, x))

    return answer


def quantecon_loop(method: str, case: Case) -> Callable[[float], Answer]:
    p = case.problem()
    solve = peers.quantecon_loop(method, p)

    def answer(epsilon: float) -> Answer:
        x, steps = solve(epsilon)
        return Answer(steps, lambda: ti.policy_from_occupancy(p.seen, x))

    return answer


OURS, PROJECTION = "MinNormPoint", "Projection"
LEARNINGS: dict[str, Learning] = {
    OURS: learners.MinNormPoint,
    PROJECTION: functools.partial(learners.Projection, max_steps=50_000),
    "MaxMargin": functools.partial(learners.MaxMargin, max_steps=2_000),
    "MaxCausalEntropy": learners.MaxCausalEntropy,
    "MultiplicativeWeights": learners.MultiplicativeWeights,
    "LinearProgram": learners.LinearProgram,
}
LEARNERS: dict[str, Prepare] = {
    name: functools.partial(learner, learning) for name, learning in LEARNINGS.items()
}
SOLVERS: dict[str, Prepare] = {
    "Clarabel": functools.partial(solver, peers.clarabel),
    "OSQP": functools.partial(solver, peers.osqp),
    "HiGHS, simplex": functools.partial(solver, functools.partial(peers.highs, "simplex")),
    "HiGHS, interior point": functools.partial(solver, functools.partial(peers.highs, "ipx")),
}
LOOPS: dict[str, Prepare] = {
    "QuantEcon, value iteration": functools.partial(quantecon_loop, "value_iteration"),
    "QuantEcon, modified policy iteration": functools.partial(
        quantecon_loop, "modified_policy_iteration"
    ),
}
Scores = dict[Case, list[Score]]


def field_of(group: str) -> list[Contestant]:
    """Who takes part; a learner's tolerance is the mismatch itself, a solver's is made smaller."""
    names = list(LEARNERS)
    if group == "grid128":
        names = [OURS, PROJECTION]
    elif group == "loop":
        names = [PROJECTION]
    ours = [Contestant(name, LEARNERS[name], tightenings=0) for name in names]
    theirs = {"grid128": {}, "loop": LOOPS}.get(group, SOLVERS)
    return ours + [
        Contestant(*entry, tightenings=0 if group == "loop" else None) for entry in theirs.items()
    ]


def run_cases(
    cases: Iterable[Case], run: Run, rules: Callable[[Case], Rules], scores: Scores
) -> None:
    """Add the scores of each case; who misses an accuracy is not asked for a higher one."""
    group, field = "", list[Contestant]()
    missed: dict[tuple[str, int, int], dict[str, str]] = {}
    for case in cases:
        if case.group != group:
            group, field = case.group, run.field(field_of(case.group))
        run.progress.step(f"{case.title}, seed {case.seed}")
        skip = missed.setdefault((case.group, case.rows, case.seed), {})
        scores[case] = race(field, case, mismatch_in(case), rules(case), skip, steps_of)
        for score in scores[case]:
            if not score.reached(case.accuracy):
                skip.setdefault(score.contestant, f"missed {case.accuracy:g}")


@dataclass(frozen=True)
class Results:
    """A contestant in all seeds of a case; the lists are of those in which it got there.

    Attributes
    ----------
    scores : with those in which it did not
    times_ours, … : to the first contestant's, where that got there as well
    """

    scores: list[Score]
    seconds: list[float]
    steps: list[float]
    per_step: list[float]
    times_ours: list[float]
    steps_times_ours: list[float]
    per_step_times_ours: list[float]

    def cell(self, first: bool) -> str:
        if not self.seconds:
            errors = [score.error for score in self.scores if score.error is not None]
            return f"– (only {min(errors):.0e})" if errors else f"– ({self.scores[0].note})"
        parts = [f"{statistics.median(self.steps):.0f} solves"] if self.steps else []
        parts.append(duration(statistics.median(self.seconds)))
        if not first and self.times_ours:
            parts.append(times(statistics.median(self.times_ours)))
        asked, reached = len(self.scores), len(self.seconds)
        return ", ".join(parts) + (f" ({reached} of {asked} seeds)" if reached < asked else "")


Table = dict[tuple[int, float], dict[str, Results]]  # by rows and accuracy, by contestant


def results(scores: Scores, group: str) -> Table:
    lines: dict[tuple[int, float], list[list[Score]]] = {}
    for case, line in scores.items():
        if case.group == group:
            lines.setdefault((case.rows, case.accuracy), []).append(line)
    found: Table = {}
    for key, seeds in lines.items():
        ours, *others = ([*column] for column in zip(*seeds, strict=True))
        found[key] = {
            scores[0].contestant: _results(key[1], scores, ours) for scores in [ours, *others]
        }
    return found


def _results(accuracy: float, scores: list[Score], ours: list[Score]) -> Results:
    def of(value: Callable[[Score], float | None]) -> list[float]:
        found = [value(score) for score in scores if score.reached(accuracy)]
        return [one for one in found if one is not None]

    def times_ours(value: Callable[[Score], float | None]) -> list[float]:
        both = [
            (value(score), value(our))
            for score, our in zip(scores, ours, strict=True)
            if score.reached(accuracy) and our.reached(accuracy)
        ]
        return [a / b for a, b in both if a and b]

    quantities = (lambda score: score.seconds), (lambda score: score.steps), seconds_a_step
    return Results(scores, *map(of, quantities), *map(times_ours, quantities))


def seconds_a_step(score: Score) -> float | None:
    return score.seconds / score.steps if score.seconds and score.steps else None


def grid_report(found: Table, title: str) -> str:
    """A table an accuracy: a row a contestant, a column a number of rows."""
    parts = [f"## {title}", f"MDP solves, time, how many times {OURS}'s; medians over the seeds."]
    for accuracy in dict.fromkeys(accuracy for _, accuracy in found):
        columns = {rows: line for (rows, other), line in found.items() if other == accuracy}
        names = list(next(iter(columns.values())))
        body = [
            [name, *(line[name].cell(name == OURS) for line in columns.values())] for name in names
        ]
        parts.append(table([f"to {accuracy:g}", *(f"ℓ {rows}" for rows in columns)], body))
    return "\n\n".join(parts)


def spread(values: list[float], show: Callable[[float], str]) -> str:
    """The median, and in brackets the smallest and the largest."""
    if not values:
        return "–"
    middle, ends = show(statistics.median(values)), [show(f(values)) for f in (min, max)]
    return middle if len(values) == 1 else f"{middle} ({' – '.join(ends)})"


def summary(scores: Scores) -> str:
    """What the numbers were meant to be, and are."""
    rows: list[list[str]] = []
    for group, size, aims in (("grid20", 20, ("≤ 35", "≥ ×15")), ("grid128", 128, ("", ""))):
        line = results(scores, group).get((20, 1e-6))
        if line is not None:
            steps, other = line[OURS].steps, line[PROJECTION]
            where = f"{size}×{size}, ℓ 20, to 1e-06"
            rows += [
                [f"{where}: MDP solves of {OURS}", spread(steps, "{:.0f}".format), aims[0]],
                [f"{where}: {PROJECTION}'s time to that", spread(other.times_ours, times), aims[1]],
                [f"{where}: {PROJECTION}'s solves", spread(other.steps_times_ours, times), ""],
            ]
    for line in results(scores, "loop").values():
        ours, *others = line.items()
        rows += [[f"one iteration of {ours[0]}", spread(ours[1].per_step, duration), "≤ 0.06 ms"]]
        for name, other in others:
            shown = spread(other.per_step, duration) if other.per_step else other.cell(False)
            rows += [
                [f"one iteration on {name}", shown, ""],
                ["how many times ours", spread(other.per_step_times_ours, times), "≥ ×50"],
            ]
    header = ["", "median (smallest – largest)", "aim"]
    return "## Summary\n\n" + table(header, rows) if rows else ""


def main(arguments: list[str] | None = None) -> int:
    groups = ["grid20", "slip", "grid128", "loop"]
    parser = standard_parser("Learners against solvers and QuantEcon.", groups, limit=20.0)
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"how many ({SEEDS})")
    parser.add_argument(
        "--imitation",
        nargs="?",
        const="",
        metavar="PYTHON",
        help="time imitation as well: that of PYTHON, or else one installed for it (6 GB)",
    )
    options = parsed(parser, groups, ["grid20", "grid128", "loop"], arguments)
    if options.seeds < 1:
        parser.error(f"--seeds must be at least 1, got {options.seeds}")
    about_machine = machine(PACKAGES)

    def rules(case: Case) -> Rules:
        return Rules(
            accuracy=case.accuracy,
            tightenings=TIGHTENINGS,
            seconds_limit=options.seconds_limit,
            rounds=2 if options.quick else 5,
            budget=0.5 if options.quick else 1.0,
        )

    every = all_cases(1 if options.quick else options.seeds, ROWS[: 2 if options.quick else None])
    cases = [case for case in every if case.group in options.chosen]
    scores: Scores = {}
    reports: list[str] = []
    with Run([case.expected_seconds for case in cases], options.minutes) as run:
        run_cases(cases, run, rules, scores)
        run.stop()
        if options.imitation is not None:
            problems = {rows: Case("grid20", rows, 1e-3, 0).problem() for rows in ROWS[:2]}
            python = Path(options.imitation) if options.imitation else None
            limit = 3.0 * options.seconds_limit
            reports = [imitation_report(problems, learners.MaxCausalEntropy, python, limit)]
    titles = {"grid20": "20×20, slip 0", "slip": "20×20, slip 0.3", "grid128": "128×128, slip 0"}
    tables = {title: results(scores, group) for group, title in titles.items()}
    reports = [grid_report(found, title) for title, found in tables.items() if found] + reports
    print("\n\n".join([*reports, *filter(None, [summary(scores)]), about_machine]))
    if options.csv is not None:
        header = ["table", "rows", "accuracy", "seed", "solves", *SCORE_HEADER]
        lines = [
            [case.group, case.rows, case.accuracy, case.seed, score.steps, *row]
            for case, line in scores.items()
            for score in line
            for row in [score_row(score, line[0], rules(case))]
        ]
        write_csv(options.csv, header, lines)
    return run.status


if __name__ == "__main__":
    sys.exit(main())
