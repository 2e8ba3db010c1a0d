"""The exact worst case: ours against HiGHS and Clarabel, and against the time of one MDP solve.

    python benchmarks/worst_case.py [--quick] [--cases grid20,garnet] [--folder DIR] [--csv FILE]

The cases are grids, garnets, driving, some of stormpy's models, and those (`*.umb`) of a folder, if
one is given.
Every contestant returns certified bounds; the error in the tables is how far apart they are, as a
fraction of max R − min R, or how far they miss the bounds that we find at 1e-6, if
that is more. An answer counts at 1e-4.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

import teachirl as ti
import umb
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
MODEL_FEATURES = 20
MODELS = ("csma2-2", "firewire3-0.5", "coin2")  # that come with stormpy


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

    @property
    def reference(self) -> float:
        """To which gap the bounds are found that answers are compared with."""
        return 1e-6 if self.size < 1000 else 1e-5

    def problem(self) -> Problem:
        mdp = ti.worlds.gridworld(self.size, BLOCKS[self.size], self.discount, self.slip)
        return posed(mdp, self.rows, np.random.default_rng([0, self.size, self.rows]))


@dataclass(frozen=True)
class WorldCase:
    """A world that is no grid: a garnet of 4 actions and 8 successors, driving, or a model."""

    group: str
    size: int
    rows: int
    model: Path | str | None = None  # a file, or the name of one of stormpy's
    expected_seconds = 30.0
    reference = 1e-5

    @property
    def title(self) -> str:
        if self.model is not None:
            name = self.model.name if isinstance(self.model, Path) else self.model
            return f"{name.removesuffix('.umb')}, ℓ {self.rows}"
        what = f"sight {self.size}" if self.group == "driving" else f"{self.size:,}"
        return f"{self.group}, {what}, ℓ {self.rows}"

    def problem(self) -> Problem:
        rng = np.random.default_rng([0, self.size, self.rows])
        if self.model is not None:
            by_name = isinstance(self.model, str)
            model = umb.example(self.model) if by_name else umb.read(self.model)
            n = len(model.offsets) - 1
            states = np.repeat(np.arange(n), np.diff(model.offsets))
            actions = np.arange(len(states)) - model.offsets[states]
            features = rng.standard_normal((n, MODEL_FEATURES))
            # The first state is where it starts, which Storm numbers first.
            start = (np.arange(n) == 0).astype(float)
            mdp = ti.MDP.from_pairs(
                states, actions, model.transitions, features, discount=0.9, start=start
            )
        elif self.group == "driving":
            mdp = ti.worlds.driving(sight=self.size).mdp
        else:
            mdp = ti.worlds.garnet(rng, self.size, 4, 8, 30)
        return posed(mdp, self.rows, rng)


def posed(mdp: ti.MDP, rows: int, rng: np.random.Generator) -> Problem:
    """The paper's optimal demonstration of Gaussian weights, seen in Gaussian rows."""
    w = rng.standard_normal(mdp.n_features)
    w /= np.linalg.norm(w)
    view = Worldview(rng.standard_normal((rows, mdp.n_features)))
    best, worst = ti.optimal_policy(mdp, w), ti.worst_policy(mdp, w)
    return Problem(mdp, view, w, best.policy, best.value - worst.value)


@dataclass(frozen=True, eq=False)
class Problem:
    mdp: ti.MDP
    view: Worldview
    weights: Floats
    policy: ti.Policy
    span: float


AnyCase: TypeAlias = Case | WorldCase
Scores: TypeAlias = dict[AnyCase, list[Score]]
Report: TypeAlias = Callable[[Scores, Rules], str]


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


def other_worlds(folder: Path | None) -> list[WorldCase]:
    cases = [WorldCase("garnet", 1000, rows) for rows in (5, 10, 20)]
    cases += [WorldCase("garnet", 2000, 10), WorldCase("garnet", 10_000, 10)]
    cases += [WorldCase("garnet", 100_000, 10)]
    cases += [WorldCase("driving", sight, 10) for sight in (1, 3)]
    paths = [] if folder is None else sorted(folder.glob("*.umb"))
    return cases + [WorldCase("models", 0, 10, model) for model in (*MODELS, *paths)]


def by(method: Method, case: AnyCase) -> Solve:
    p = case.problem()

    def solve(epsilon: float) -> Floats:
        found = ti.worst_case(p.mdp, p.view, p.weights, p.policy, method=method, tolerance=epsilon)
        return np.array([found.lower, found.upper])

    return solve


def one_plan(case: AnyCase) -> Solve:
    """A unit: one optimal policy, from cold; its bounds are another's."""
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
LIFTED = "HiGHS, lifted, interior point"
OTHERS: dict[str, Prepare] = {**PLANS, LIFTED: PROGRAMS[LIFTED]}


def error_against(case: AnyCase) -> Callable[[Floats], float]:
    p = case.problem()
    known = ti.worst_case(p.mdp, p.view, p.weights, p.policy, tolerance=case.reference)

    def error_of(answer: Floats) -> float:
        if len(answer) == 0:
            return 0.0
        lower, upper = answer
        missed = max(upper - lower, known.lower - upper, lower - known.upper)
        return float(missed / p.span) if math.isfinite(missed) else math.inf

    return error_of


def run_cases(
    cases: Sequence[AnyCase],
    contestants: list[Contestant],
    rules: Rules,
    progress: Progress,
    scores: Scores,
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


def programs_report(scores: Scores, rules: Rules) -> str:
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


def plans_report(title: str, names: Iterable[str], scores: Scores, rules: Rules) -> str:
    rows = []
    for case, (ours, plan, *peers) in scores.items():
        times = ratio(ours, plan, rules)
        shown = "–" if times is None else f"{times:.3g}"
        others = [cell(peer, ours, rules) for peer in peers]
        rows.append([case.title, cell(ours, ours, rules), cell(plan, plan, rules), *others, shown])
    return "\n\n".join([title, table(["case", *names, "the worst case in MDP solves"], rows)])


def largest_report(scores: Scores, rules: Rules) -> str:
    return plans_report("## A million states, in MDP solves", PLANS, scores, rules)


def others_report(scores: Scores, rules: Rules) -> str:
    return plans_report("## Worlds that are no grids, in MDP solves", OTHERS, scores, rules)


def csv_rows(scores: Scores, rules: Rules) -> list[list[object]]:
    return [
        [case.title, *score_row(score, line[0], rules)]
        for case, line in scores.items()
        for score in line
    ]


def main(arguments: list[str] | None = None) -> int:
    groups = list(dict.fromkeys(case.group for case in [*all_cases(), *other_worlds(None)]))
    parser = standard_parser("The exact worst case against HiGHS.", groups)
    parser.add_argument("--folder", type=Path, help="with models (*.umb)")
    options = parsed(parser, groups, groups[:1], arguments)
    if options.folder is not None and not options.folder.is_dir():
        parser.error(f"--folder: there is no folder {options.folder}")
    rules = Rules(
        accuracy=ACCURACY,
        tightenings=1,
        seconds_limit=options.seconds_limit,
        rounds=2 if options.quick else 4,
        budget=2.0,
    )
    grids = [case for case in all_cases() if case.group in options.chosen]
    others = [case for case in other_worlds(options.folder) if case.group in options.chosen]
    parts: list[tuple[Sequence[AnyCase], dict[str, Prepare], Report, Scores]] = [
        (others, OTHERS, others_report, {}),
        ([case for case in grids if case.size == 1000], PLANS, largest_report, {}),
        ([case for case in grids if case.size < 1000], PROGRAMS, programs_report, {}),
    ]
    expected = [case.expected_seconds for part in parts for case in part[0]]
    with Run(expected, options.minutes) as run:
        for cases, prepares, _, scores in parts:
            field = run.field(Contestant(*entry) for entry in prepares.items())
            run_cases(cases, field, rules, run.progress, scores)
    reports = [report(scores, rules) for _, _, report, scores in parts if scores]
    print("\n\n".join([*reports, machine(PACKAGES)]))
    if options.csv is not None:
        rows = [row for part in parts for row in csv_rows(part[3], rules)]
        write_csv(options.csv, ["case", *SCORE_HEADER], rows)
    return run.status


if __name__ == "__main__":
    sys.exit(main())
