"""What nearness costs: MDP solves and time of every learner, from rough to exact.

On the 20 × 20 grid (γ = .9, macrocells of 2 × 2) the learner sees 20 random combinations of its 100
features, and is asked to come within 3 %, 1 %, 0.3 %, … of max ‖Aφ‖/(1 − γ) of the target. What
that costs depends on where the target is:

- inside of what the learner can reach: the expert is after something that it cannot see;
- at a corner of it: the expert is optimal for a reward that it can express;
- outside of it: such an expert, known from 20 episodes. What counts is then by how much it is
  farther from the target than the nearest policy.

Run it with `python examples/convergence.py [--quick] [--trials N] [--seed N] [--out FOLDER]`. It is
drawn to FOLDER (`out` unless given), with the numbers as CSV. `docs/learners.md` shows it.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
import time
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import teachirl as ti
from teachirl.files import replacing
from teachirl.learners import (
    Assignment,
    Learned,
    Learner,
    LinearProgram,
    MaxCausalEntropy,
    MaxMargin,
    MinNormPoint,
    MultiplicativeWeights,
    Projection,
)

TARGETS = ("inside", "corner", "outside")
TITLES = {
    "inside": "target inside of\nwhat can be reached",
    "corner": "target at a corner\n(an optimal expert)",
    "outside": "target out of reach\n(20 sampled episodes)",
}
LEARNERS: dict[str, Any] = {
    "Projection": Projection,
    "MultiplicativeWeights": MultiplicativeWeights,
    "MaxMargin": MaxMargin,
    "MinNormPoint": MinNormPoint,
    "MaxCausalEntropy": MaxCausalEntropy,
    "LinearProgram": LinearProgram,
}
STYLES = {  # colour-blind-safe, and different without any colour
    "Projection": ("#0060a8", "o", "-"),
    "MultiplicativeWeights": ("#cc79a7", "v", ":"),
    "MaxMargin": ("#d55e00", "s", "--"),
    "MinNormPoint": ("#000000", "^", "-"),
    "MaxCausalEntropy": ("#009e73", "D", "-."),
    "LinearProgram": ("#56b4e9", "P", "--"),
}
DECADES = tuple(np.arange(1.5, 9.1, 0.5))
BRIEF = 0.3  # seconds; shorter runs are timed three times, and the shortest counts


@dataclass(frozen=True)
class Run:
    """One learner on one target, asked for one tolerance.

    `seconds` are of processor time, so that other programs do not count; `excess` is its mismatch
    over the least there is, as a share of max ‖Aφ‖/(1 − γ).
    """

    target: str
    learner: str
    trial: int
    tolerance: float
    excess: float
    solves: int
    seconds: float

    @property
    def reached(self) -> bool:
        return self.excess <= self.tolerance


@dataclass(frozen=True, eq=False)
class Problem:
    """What the learner sees, what it is to match [ℓ], and how near a policy can come to it."""

    seen: ti.MDP
    target: NDArray[np.float64]
    least: float

    def excess(self, learned: Learned) -> float:
        scale = Assignment(self.seen, self.target, None).scale
        return max(learned.mismatch - self.least, 0.0) / scale


def problem(target: str, rng: np.random.Generator, size: int, n_seen: int) -> Problem:
    mdp = ti.worlds.gridworld(size, block=2, discount=0.9)
    rows = rng.standard_normal((n_seen, mdp.n_features))
    # Of range 1 each, the units in which learners measure.
    view = ti.Worldview(rows / np.ptp(rows, axis=1, keepdims=True))
    weights = rng.standard_normal(mdp.n_features)
    if target != "inside":
        weights = view.matrix.T @ rng.standard_normal(n_seen)
    expert = ti.optimal_policy(mdp, weights).policy
    seen = view.observe(mdp)
    if target != "outside":
        return Problem(seen, ti.feature_expectations(seen, expert), 0.0)
    shown = ti.Demonstration.sample(seen, expert, episodes=20, horizon=100, rng=rng).expectations
    return Problem(seen, shown, MinNormPoint(tolerance=1e-12).learn(seen, shown).nearest)


def timed(learner: Learner, task: Problem) -> tuple[Learned, float]:
    best = np.inf
    for _ in range(3):
        start = time.process_time()
        learned = learner.learn(task.seen, task.target)
        seconds = time.process_time() - start
        best = min(best, seconds)
        if seconds > BRIEF:
            break
    return learned, best


def runs(
    size: int, n_seen: int, tolerances: NDArray[np.float64], seed: int, trials: int
) -> Iterator[Run]:
    """All runs; a learner who misses a tolerance is not asked for smaller ones."""
    for trial in range(trials):
        for place, target in enumerate(TARGETS):
            task = problem(target, np.random.default_rng([seed, trial, place]), size, n_seen)
            for name, kind in LEARNERS.items():
                if trial == 0:
                    kind(tolerance=0.1).learn(task.seen, task.target)  # compiled code is loaded
                for tolerance in tolerances:
                    learned, seconds = timed(kind(tolerance=tolerance), task)
                    excess = task.excess(learned)
                    run = Run(
                        target, name, trial, float(tolerance), excess, learned.solves, seconds
                    )
                    yield run
                    if not run.reached:
                        break


def costs(record: list[Run], target: str, name: str, what: str) -> NDArray[np.float64]:
    """Tolerance and median cost, [n, 2], as far as all trials reached it."""
    mine = [run for run in record if (run.target, run.learner) == (target, name)]
    trials = {run.trial for run in mine}
    rows = []
    for tolerance in sorted({run.tolerance for run in mine}, reverse=True):
        there = [run for run in mine if run.tolerance == tolerance and run.reached]
        if len(there) == len(trials):
            rows.append((tolerance, float(np.median([getattr(run, what) for run in there]))))
    return np.array(rows).reshape(-1, 2)


def write(record: list[Run], path: Path) -> None:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(field.name for field in fields(Run))
    table.writerows(astuple(run) for run in record)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(text.getvalue().encode())


def draw(record: list[Run], folder: Path) -> list[Path]:
    try:
        import matplotlib
    except ImportError as error:
        raise ti.MissingExtraError("matplotlib", "plot") from error
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "teachirl"
    import matplotlib.pyplot as plt
    from PIL import Image  # matplotlib brings it

    shape = {"sharex": "row", "sharey": True, "layout": "constrained"}
    figure, axes = plt.subplots(2, 3, figsize=(9.6, 6.8), **shape)
    for column, target in enumerate(TARGETS):
        for row, what in enumerate(("solves", "seconds")):
            axis = axes[row, column]
            for name in LEARNERS:
                points = costs(record, target, name, what)
                if name == "LinearProgram" and what == "solves":
                    points = points[:0]  # it solves no MDPs
                colour, marker, line = STYLES[name]
                axis.plot(
                    points[:, 1],
                    points[:, 0],
                    color=colour,
                    marker=marker,
                    ls=line,
                    ms=5,
                    markevery=2,
                    label=name,
                )
            axis.set_xscale("log")
            axis.set_yscale("log")
            axis.grid(alpha=0.25)
            axis.spines[["top", "right"]].set_visible(False)
            axis.set_xlabel("MDP solves" if what == "solves" else "seconds of processor time")
        axes[0, column].set_title(TITLES[target], fontsize=11)
    for axis in axes[:, 0]:
        axis.set_ylabel("mismatch above the least possible,\nas a share of max ‖Aφ‖/(1 − γ)")
    handles, names = axes[1, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, frameon=False)
    paths = [folder / f"convergence.{suffix}" for suffix in ("png", "svg")]
    for path in paths:
        figure.savefig(path, dpi=110)
        figure.set_layout_engine("none")  # all is in its place
    # A palette of 128 colours makes the file a third of the size.
    Image.open(paths[0]).convert("RGB").quantize(128, dither=0).save(paths[0], optimize=True)
    plt.close(figure)
    return paths


def tell(record: list[Run]) -> None:
    print(f"{'target':<10}{'learner':<24}{'reaches':>9}{'solves':>9}{'ms':>9}")
    for target in TARGETS:
        for name in LEARNERS:
            solves = costs(record, target, name, "solves")
            seconds = costs(record, target, name, "seconds")
            if len(solves):
                (tolerance, count), ms = solves[-1], 1e3 * seconds[-1, 1]
                print(f"{target:<10}{name:<24}{tolerance:>9.0e}{count:>9.0f}{ms:>9.1f}")
            else:
                print(f"{target:<10}{name:<24}{'–':>9}")


def main(arguments: list[str] | None = None) -> list[Run]:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a small grid, in seconds")
    parser.add_argument("--trials", type=int, help="problems of each kind (5; 1 if quick)")
    parser.add_argument("--seed", type=int, default=0, help="of the experiment (0)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for results (out)")
    given = parser.parse_args(arguments)
    size, n_seen, decades, trials = (8, 5, (1, 2, 3), 1) if given.quick else (20, 20, DECADES, 5)
    tolerances = 10.0 ** -np.array(decades)
    trials = given.trials or trials
    record: list[Run] = []
    start = time.monotonic()
    for run in runs(size, n_seen, tolerances, given.seed, trials):
        if sys.stderr.isatty() and record and run.trial > record[-1].trial:
            left = (time.monotonic() - start) / run.trial * (trials - run.trial)
            print(
                f"\rtrial {run.trial + 1} of {trials}, {left:4.0f} s left", end="", file=sys.stderr
            )
        record.append(run)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    write(record, given.out / "convergence.csv")
    tell(record)
    print("\nDrawn: " + ", ".join(str(path) for path in draw(record, given.out)))
    return record


if __name__ == "__main__":
    main()
