"""Abbeel & Ng's own experiment (2004, section 5.1): their grid, their learners, their questions.

A grid of 128 × 128 cells in 64 macrocells of 16 × 16; moves are random 30 % of the time, γ = .99.
The reward is what a macrocell is worth: nothing with probability .9, and else U[0, 1]. How near to
the expert is the learner after so many iterations, and what does it earn if it has seen only so
many of his trajectories?

Run it with `python examples/abbeel_ng.py [--quick] [--trials N] [--seed N] [--workers N]
[--out FOLDER]`. Both answers are drawn to FOLDER (`out` unless given), and what is drawn is written
there as CSV. `docs/learners.md` shows them.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import teachirl as ti
from teachirl.files import replacing
from teachirl.learners import MaxMargin, MinNormPoint, Projection

Floats = NDArray[np.float64]

LEAST_LOST = 1e-5  # a smaller loss is drawn as this
NEVER = 1e-12  # a tolerance that is not reached within the steps
MATCHERS = {"projection": Projection, "max-margin": MaxMargin, "min-norm point": MinNormPoint}
STYLES = {  # colour-blind-safe, and different without any colour
    "projection": ("#0060a8", "o", "-"),
    "max-margin": ("#d55e00", "s", "--"),
    "min-norm point": ("#000000", "^", "-."),
    "projection, told which features matter": ("#56b4e9", "D", "--"),
    "mimics the expert": ("#d55e00", "s", ":"),
}


@dataclass(frozen=True)
class Setting:
    """The size of the experiment.

    Attributes
    ----------
    steps : iterations of each learner in the first figure, and of the projection in the second
    few : iterations of the min-norm point in the second, which needs fewer
    seen : how many trajectories it has seen
    horizon : of a trajectory; what is missing after it is γ^horizon of the whole
    """

    size: int = 128
    block: int = 16
    steps: int = 30
    few: int = 12
    seen: tuple[int, ...] = (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)
    horizon: int = 700


QUICK = Setting(size=16, block=4, steps=12, few=6, seen=(1, 10, 300))


@dataclass(frozen=True, eq=False)
class Trial:
    """One reward's results.

    Attributes
    ----------
    distances : for each learner an array [steps + 1], the distance to the expert's expectations
    performance : for each way to learn an array [len(seen)], what it earns over the expert
    blind : what the uniformly random policy earns over what he does
    """

    distances: dict[str, Floats]
    performance: dict[str, Floats]
    blind: float


def sparse_weights(rng: np.random.Generator, k: int) -> Floats:
    """Non-negative weights [k] that sum to 1, about nine in ten of them 0."""
    weights = np.zeros(k)
    while not weights.any():
        weights = np.where(rng.random(k) < 0.9, 0.0, rng.random(k))
    return weights / weights.sum()


def run(setting: Setting, seed: int, trial: int) -> Trial:
    rng = np.random.default_rng([seed, trial])
    mdp = ti.worlds.gridworld(setting.size, setting.block, discount=0.99, slip=0.3)
    weights = sparse_weights(rng, mdp.n_features)
    expert = ti.optimal_policy(mdp, weights).policy
    mu = ti.feature_expectations(mdp, expert)
    earned = float(weights @ mu)
    distances = {
        name: padded(learner(NEVER, setting.steps).learn(mdp, mu).history, setting.steps)
        for name, learner in MATCHERS.items()
    }
    told = np.flatnonzero(weights)
    told_alone = ti.Worldview.select(mdp, told.tolist()).observe(mdp)
    walks = ti.sample_trajectories(
        mdp, expert, episodes=setting.seen[-1], horizon=setting.horizon, rng=rng
    )
    rows = []
    for m in setting.seen:
        part = first(walks, m)
        target = ti.Demonstration.from_trajectories(mdp, part).expectations
        rows.append(
            (
                weights @ Projection(NEVER, setting.steps).learn(mdp, target).expectations,
                weights @ MinNormPoint(NEVER, setting.few).learn(mdp, target).expectations,
                weights[told]
                @ Projection(NEVER, setting.steps).learn(told_alone, target[told]).expectations,
                weights @ ti.feature_expectations(mdp, mimic(mdp, part)),
            )
        )
    names = (
        "projection",
        "min-norm point",
        "projection, told which features matter",
        "mimics the expert",
    )
    performance = dict(zip(names, np.array(rows).T / earned, strict=True))
    blind = float(weights @ ti.feature_expectations(mdp, ti.Policy.uniform(mdp))) / earned
    return Trial(distances, performance, blind)


def padded(history: Floats, steps: int) -> Floats:
    """history [steps + 1]; who stopped before stays where it is."""
    return np.append(history, np.full(steps + 1 - len(history), history[-1]))


def first(walks: ti.Trajectories, m: int) -> ti.Trajectories:
    """The first m episodes."""
    n = walks.offsets[m]
    return ti.Trajectories(
        walks.states[:n], walks.pairs[:n], walks.offsets[: m + 1], walks.terminated[:m]
    )


def mimic(mdp: ti.MDP, walks: ti.Trajectories) -> ti.Policy:
    """Do what the expert, who is deterministic, did where he was seen, and anything elsewhere."""
    chances = ti.Policy.uniform(mdp).matrix()
    chances[walks.states] = 0.0
    chances[walks.states, mdp.dynamics.actions[walks.pairs]] = 1.0
    return ti.Policy.from_matrix(mdp, chances)


def run_all(setting: Setting, seed: int, trials: int, workers: int) -> list[Trial]:
    job = partial(run, setting, seed)
    if workers == 1:
        return list(counted(map(job, range(trials)), trials))
    with ProcessPoolExecutor(workers) as pool:
        return list(counted(pool.map(job, range(trials)), trials))


def counted(results: Iterator[Trial], total: int) -> Iterator[Trial]:
    """The same, telling someone who looks how long it will take."""
    watched, start = sys.stderr.isatty(), time.monotonic()
    for done, result in enumerate(results, 1):
        if watched:
            left = (time.monotonic() - start) / done * (total - done)
            end = "\n" if done == total else ""
            print(
                f"\rtrial {done} of {total}, {left:4.0f} s left",
                end=end,
                file=sys.stderr,
                flush=True,
            )
        yield result


def write(path: Path, header: tuple[str, ...], rows: Iterator[tuple[Any, ...]]) -> None:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(header)
    table.writerows(rows)
    with replacing(path) as file:
        file.write(text.getvalue().encode())


def write_all(setting: Setting, trials: list[Trial], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write(
        folder / "abbeel_ng_distance.csv",
        ("trial", "learner", "iteration", "distance"),
        (
            (i, name, step, f"{distance:.9g}")
            for i, trial in enumerate(trials)
            for name, distances in trial.distances.items()
            for step, distance in enumerate(distances)
        ),
    )
    write(
        folder / "abbeel_ng_performance.csv",
        ("trial", "learner", "trajectories", "performance"),
        (
            (i, name, m, f"{value:.9g}")
            for i, trial in enumerate(trials)
            for name, values in trial.performance.items()
            for m, value in zip(setting.seen, values, strict=True)
        ),
    )


def draw(setting: Setting, trials: list[Trial], folder: Path) -> list[Path]:
    try:
        import matplotlib
    except ImportError as error:
        raise ti.MissingExtraError("matplotlib", "plot") from error
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "teachirl"
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    steps = np.arange(setting.steps + 1)
    for name in MATCHERS:
        _band(axis, name, steps, np.array([trial.distances[name] for trial in trials]), 5)
    axis.set_yscale("log")
    axis.set_xlabel("iteration (one MDP solve each)")
    axis.set_ylabel("distance to the expert's\nfeature expectations")
    axis.set_title(f"Distance to the expert (median and quartiles of {len(trials)} rewards)")
    axis.legend(frameon=False)
    drawn = _save(figure, folder, "abbeel_ng_distance")
    plt.close(figure)

    figure, (axis, lost) = plt.subplots(1, 2, figsize=(10.2, 4.2), layout="constrained")
    for name in trials[0].performance:
        values = np.array([trial.performance[name] for trial in trials])
        _band(axis, name, setting.seen, values, 1)
        _band(lost, name, setting.seen, np.maximum(1.0 - values, LEAST_LOST), 1)
    axis.axhline(1.0, color="#555555", lw=1)
    axis.text(setting.seen[0], 1.01, "the expert", va="bottom", color="#333333")
    blind = float(np.median([trial.blind for trial in trials]))
    axis.axhline(blind, color="#999999", lw=1)
    axis.text(setting.seen[-1], blind - 0.01, "random moves", va="top", ha="right", color="#333333")
    axis.set_ylim(0.0, 1.1)
    axis.set_ylabel("return, as a share of the expert's")
    lost.set_yscale("log")
    lost.set_ylabel("what is missing to 1 on the left")
    for side in (axis, lost):
        side.set_xscale("log")
        side.set_xlabel("trajectories seen")
    lost.legend(frameon=False, loc="lower left")
    figure.suptitle(f"What the learner earns (median and quartiles of {len(trials)} rewards)")
    drawn += _save(figure, folder, "abbeel_ng_performance")
    plt.close(figure)
    return drawn


def _band(axis: Any, name: str, x: Any, values: Floats, every: int) -> None:
    """The median over the trials, values [trials, len(x)], and a band between the quartiles."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
    colour, marker, line = STYLES[name]
    axis.fill_between(x, low, high, color=colour, alpha=0.15, lw=0)
    axis.plot(
        x, middle, color=colour, marker=marker, ls=line, markevery=every, ms=5, lw=1.8, label=name
    )


def _save(figure: Any, folder: Path, name: str) -> list[Path]:
    from PIL import Image  # matplotlib brings it

    for axis in figure.axes:
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    paths = [folder / f"{name}.{suffix}" for suffix in ("png", "svg")]
    for path in paths:
        figure.savefig(path, dpi=130)
        figure.set_layout_engine("none")  # all is in its place
    # A palette of 128 colours makes the file a third of the size.
    Image.open(paths[0]).convert("RGB").quantize(128, dither=0).save(paths[0], optimize=True)
    return paths


def tell(setting: Setting, trials: list[Trial]) -> None:
    """The medians of both figures, as text."""
    print(f"{'distance to the expert after':<40}{'start':>9}{'5':>9}{setting.steps:>9}  iterations")
    for name in MATCHERS:
        middle = np.median([trial.distances[name] for trial in trials], axis=0)
        print(f"{name:<40}" + "".join(f"{middle[i]:>9.3g}" for i in (0, 5, setting.steps)))
    shown = [0, len(setting.seen) // 2, len(setting.seen) - 1]
    heads = "".join(f"{setting.seen[i]:>9}" for i in shown)
    print(f"\n{'share of his return after':<40}{heads}  trajectories")
    for name in trials[0].performance:
        middle = np.median([trial.performance[name] for trial in trials], axis=0)
        print(f"{name:<40}" + "".join(f"{middle[i]:>9.3f}" for i in shown))


def main(arguments: list[str] | None = None) -> list[Trial]:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a small grid, in seconds")
    parser.add_argument("--trials", type=int, help="rewards that are drawn (8; 3 if quick)")
    parser.add_argument("--seed", type=int, default=0, help="of the experiment (0)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for results (out)")
    parser.add_argument("--workers", type=int, help="processes (one a core; 1 if quick)")
    given = parser.parse_args(arguments)
    setting, count, workers = (QUICK, 3, 1) if given.quick else (Setting(), 8, os.cpu_count() or 1)
    trials = run_all(setting, given.seed, given.trials or count, given.workers or workers)
    write_all(setting, trials, given.out)
    tell(setting, trials)
    drawn = draw(setting, trials, given.out)
    print("\nDrawn: " + ", ".join(str(path) for path in drawn))
    return trials


if __name__ == "__main__":
    main()
