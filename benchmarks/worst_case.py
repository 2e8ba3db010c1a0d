"""The exact worst case: ours against HiGHS and Clarabel, and against the time of one MDP solve.

    python benchmarks/worst_case.py [--quick] [--cases grid20] [--seconds-limit 60] [--csv FILE]

Every contestant returns certified bounds; the error in the tables is how far apart they are, as a
fraction of max R − min R, or how far they miss the bounds that we find at 1e-6, if
that is more. An answer counts at 1e-4.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import teachirl as ti
from harness import (
    SCORE_HEADER,
    Contestant,
    Prepare,
    Progress,
    Rules,
    Run,
    Score,
    cell,
    machine,
    parsed,
    race,
    ratio,
    score_row,
    standard_parser,
    table,
    write_csv,
)
from teachirl.guarantees.worst_case import Method
from teachirl.views.worldview import Worldview

Floats = NDArray[np.float64]
Solve = Callable[[float], Floats]

ACCURACY = 1e-4
PACKAGES = ["teachirl", "numpy", "scipy", "numba", "highspy", "clarabel"]
BLOCKS = {20: 2, 128: 16, 1000: 100}


@dataclass(frozen=True)
class Case:
    """One row of a table: a grid, the paper's optimal demonstration, Gaussian weights and rows."""

    size: int
    rows: int
    discount: float
    slip: float

    @property
    def group(self) -> str:
        """What --cases calls it."""
        return f"grid{self.size}"

    @property
    def title(self) -> str:
        return f"{self.size}×{self.size}, ℓ {self.rows}, γ {self.discount:g}, slip {self.slip:g}"

    @property
    def expected_seconds(self) -> float:
        """A guess, for the estimate of the time left."""
        return {20: 6.0, 128: 70.0, 1000: 30.0}[self.size]

    def problem(self) -> Problem:
        mdp = ti.worlds.gridworld(self.size, BLOCKS[self.size], self.discount, self.slip)
        rng = np.random.default_rng([0, self.size, self.rows])
        w = rng.standard_normal(mdp.n_features)
        w /= np.linalg.norm(w)
        view = Worldview(rng.standard_normal((self.rows, mdp.n_features)))
        best, worst = ti.optimal_policy(mdp, w), ti.worst_policy(mdp, w)
        return Problem(mdp, view, w, best.policy, best.value - worst.value)


@dataclass(frozen=True, eq=False)
class Problem:
    mdp: ti.MDP
    view: Worldview
    weights: Floats
    policy: ti.Policy
    span: float


def all_cases() -> list[Case]:
    small = [
        Case(20, rows, discount, slip)
        for slip in (0.0, 0.3)
        for discount in (0.9, 0.99)
        for rows in (5, 20, 50, 80)
    ]
    medium = [Case(128, rows, 0.9, slip) for slip in (0.0, 0.3) for rows in (20, 50)]
    large = [Case(1000, rows, 0.9, 0.0) for rows in (20, 50, 80)] + [Case(1000, 50, 0.99, 0.0)]
    return small + medium + large


def by(method: Method, case: Case) -> Solve:
    p = case.problem()

    def solve(epsilon: float) -> Floats:
        found = ti.worst_case(p.mdp, p.view, p.weights, p.policy, method=method, tolerance=epsilon)
        return np.array([found.lower, found.upper])

    return solve


def one_plan(case: Case) -> Solve:
    """The unit of the largest grids: one optimal policy, from cold; its bounds are another's."""
    p = case.problem()

    def solve(epsilon: float) -> Floats:
        ti.optimal_policy(p.mdp, p.weights)
        return np.zeros(0)

    return solve


OURS = "worst_case"
PROGRAMS: dict[str, Prepare] = {
    OURS: functools.partial(by, "auto"),
    "bundle": functools.partial(by, "bundle"),
    "HiGHS, lifted, interior point": functools.partial(by, "lifted"),
    "HiGHS, direct, dual simplex": functools.partial(by, "direct"),
    "Clarabel, cone program": functools.partial(by, "cone"),
}
PLANS: dict[str, Prepare] = {OURS: functools.partial(by, "auto"), "one MDP solve": one_plan}


def error_against(case: Case) -> Callable[[Floats], float]:
    p = case.problem()
    tolerance = 1e-6 if case.size < 1000 else 1e-5
    known = ti.worst_case(p.mdp, p.view, p.weights, p.policy, tolerance=tolerance)

    def error_of(answer: Floats) -> float:
        if len(answer) == 0:
            return 0.0
        lower, upper = answer
        missed = max(upper - lower, known.lower - upper, lower - known.upper)
        return float(missed / p.span) if math.isfinite(missed) else math.inf

    return error_of


def run_cases(
    cases: list[Case],
    contestants: list[Contestant],
    rules: Rules,
    progress: Progress,
    scores: dict[Case, list[Score]],
) -> None:
    """Add the scores of each case; whoever is over the limit sits out what is harder."""
    over: dict[str, dict[str, str]] = {}
    for case in cases:
        progress.step(case.title)
        skip = over.setdefault(case.group, {})
        scores[case] = race(contestants, case, error_against(case), rules, skip)
        for score in scores[case]:
            if score.over_limit:
                skip[score.contestant] = f"not tried: too slow at ℓ {case.rows}"


def programs_report(scores: dict[Case, list[Score]], rules: Rules) -> str:
    rows = [
        [case.title, *(cell(score, line[0], rules) for score in line)]
        for case, line in scores.items()
    ]
    return "\n\n".join(
        [
            f"## The worst case to a certified gap of {ACCURACY:g}",
            "Time, how many times that of `worst_case` as it comes, gap.",
            table(["case", *PROGRAMS], rows),
        ]
    )


def plans_report(scores: dict[Case, list[Score]], rules: Rules) -> str:
    rows = []
    for case, (ours, plan) in scores.items():
        times = ratio(ours, plan, rules)
        shown = "–" if times is None else f"{times:.3g}"
        rows.append([case.title, cell(ours, ours, rules), cell(plan, plan, rules), shown])
    return "\n\n".join(
        [
            "## A million states, in MDP solves",
            table(["case", *PLANS, "the worst case in MDP solves"], rows),
        ]
    )


def csv_rows(scores: dict[Case, list[Score]], rules: Rules) -> list[list[object]]:
    return [
        [case.title, *score_row(score, line[0], rules)]
        for case, line in scores.items()
        for score in line
    ]


def main(arguments: list[str] | None = None) -> int:
    groups = list(dict.fromkeys(case.group for case in all_cases()))
    parser = standard_parser("The exact worst case against HiGHS.", groups)
    options = parsed(parser, groups, groups[:1], arguments)
    rules = Rules(
        accuracy=ACCURACY,
        tightenings=1,
        seconds_limit=options.seconds_limit,
        rounds=2 if options.quick else 4,
        budget=2.0,
    )
    cases = [case for case in all_cases() if case.group in options.chosen]
    programs: dict[Case, list[Score]] = {}
    plans: dict[Case, list[Score]] = {}
    with Run([case.expected_seconds for case in cases]) as run:
        for prepares, scores in ((PROGRAMS, programs), (PLANS, plans)):
            chosen = [case for case in cases if (case.size == 1000) == (scores is plans)]
            field = run.field(Contestant(*entry) for entry in prepares.items())
            run_cases(chosen, field, rules, run.progress, scores)
    reports = [
        report(scores, rules)
        for report, scores in ((programs_report, programs), (plans_report, plans))
        if scores
    ]
    print("\n\n".join([*reports, machine(PACKAGES)]))
    if options.csv is not None:
        rows = csv_rows(programs, rules) + csv_rows(plans, rules)
        write_csv(options.csv, ["case", *SCORE_HEADER], rows)
    return run.status


if __name__ == "__main__":
    sys.exit(main())
