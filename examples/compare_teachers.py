"""How well do the teachers do? Guaranteed and simulated performance against features taught.

    python examples/compare_teachers.py [SETTING] [--trials N] [--out FOLDER]

SETTING is `small` (10×10 cells, 40 teachable features) or `large` (20×20 in blocks of 2×2, 70
teachable features). Each trial draws the reward, a learner with five random features, and what can
be taught. It prints a table, and writes FOLDER/teachers_SETTING.csv and .png (FOLDER is `out`
unless given). `docs/teaching.md` shows what comes out.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import teachirl as ti

TEACHERS = ("Random", "TRGreedy", "PerfGreedy", "GapGreedy", "JointGreedy")


@dataclass(frozen=True)
class Setting:
    size: int
    block: int
    teachable: int
    rounds: int
    trials: int


SETTINGS = {"small": Setting(10, 1, 40, 14, 6), "large": Setting(20, 2, 70, 14, 6)}


@dataclass(frozen=True)
class Curve:
    """One teacher in one trial, after 0, 1, … features.

    Attributes
    ----------
    performance, guaranteed : tuples, relative performances
    """

    teacher: str
    trial: int
    performance: tuple[float, ...]
    guaranteed: tuple[float, ...]


def problem(setting: Setting, trial: int) -> ti.Task:
    rng = np.random.default_rng([0, trial])
    mdp = ti.worlds.gridworld(setting.size, setting.block, discount=0.9)
    k = mdp.n_features
    weights = rng.standard_normal(k)
    view = ti.Worldview(rng.standard_normal((5, k)))
    chosen = rng.choice(k, setting.teachable, replace=False)
    return ti.Task(mdp, weights / np.linalg.norm(weights), view, np.eye(k)[chosen])


def run(setting: Setting, teacher: str, trial: int) -> Curve:
    task, rng = problem(setting, trial), np.random.default_rng([1, trial])
    learner = ti.learners.MinNormPoint()
    who: ti.teachers.Teacher
    if teacher == "PerfGreedy":
        who = ti.teachers.PerfGreedy(learner)
    else:
        who = getattr(ti.teachers, teacher)()
    if teacher == "JointGreedy":
        shown = ti.best_demonstration(task.mdp, task.worldview, task.weights, rng=rng)
        task = ti.Task(
            task.mdp,
            task.weights,
            task.worldview,
            task.teachable,
            demonstration=shown.demonstration,
        )
    # The learner may learn what the expert does by luck; the lesson goes on all the same.
    lesson = ti.teach(task, who, learner, rng=rng, budget=setting.rounds, tolerance=-1.0)
    performance = [each.performance for each in lesson.rounds]
    guaranteed = [each.guaranteed for each in lesson.rounds]
    # A teacher whom nothing helps any more stops; what was reached stays.
    missing = setting.rounds + 1 - len(performance)
    return Curve(
        teacher,
        trial,
        (*performance, *[performance[-1]] * missing),
        (*guaranteed, *[guaranteed[-1]] * missing),
    )


def run_all(setting: Setting) -> list[Curve]:
    jobs = [(teacher, trial) for trial in range(setting.trials) for teacher in TEACHERS]
    curves: list[Curve] = []
    began, shows = time.monotonic(), sys.stderr.isatty()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for done in as_completed([pool.submit(run, setting, *job) for job in jobs]):
            curves.append(done.result())
            if shows:
                left = (time.monotonic() - began) * (len(jobs) / len(curves) - 1)
                print(f"\r{len(curves)}/{len(jobs)}, {left:.0f} s left ", end="", file=sys.stderr)
    if shows:
        print(file=sys.stderr)
    return sorted(curves, key=lambda curve: (TEACHERS.index(curve.teacher), curve.trial))


def means(curves: list[Curve], teacher: str, what: str) -> NDArray[np.float64]:
    """Mean over the trials, [rounds + 1]."""
    return np.mean([getattr(curve, what) for curve in curves if curve.teacher == teacher], axis=0)


def report(curves: list[Curve]) -> str:
    marks = [number for number in (0, 2, 4, 8, 14) if number < len(curves[0].performance)]
    lines = []
    for what in ("guaranteed", "performance"):
        lines += [f"| {what}, after features | {' | '.join(map(str, marks))} |"]
        lines += ["|---" * (len(marks) + 1) + "|"]
        for teacher in TEACHERS:
            row = means(curves, teacher, what)[marks]
            lines.append(f"| {teacher} | {' | '.join(f'{value:.2f}' for value in row)} |")
        lines.append("")
    return "\n".join(lines)


def write_csv(curves: list[Curve], path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["teacher", "trial", "features", "performance", "guaranteed"])
        for curve in curves:
            for number, pair in enumerate(zip(curve.performance, curve.guaranteed, strict=True)):
                writer.writerow([curve.teacher, curve.trial, number, *map(repr, pair)])


def draw(curves: list[Curve], path: Path) -> None:
    try:
        import matplotlib
    except ImportError as error:
        raise ti.MissingExtraError("matplotlib", "plot") from error
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    # Okabe and Ito's colours, with markers for those who see none.
    style: dict[str, dict[str, Any]] = {
        "Random": {"color": "#999999", "marker": "x"},
        "TRGreedy": {"color": "#E69F00", "marker": "o"},
        "PerfGreedy": {"color": "#56B4E9", "marker": "s"},
        "GapGreedy": {"color": "#009E73", "marker": "^"},
        "JointGreedy": {"color": "#CC3311", "marker": "D"},
    }
    figure, panels = plt.subplots(1, 2, figsize=(8.4, 3.4), sharey=True, layout="constrained")
    titles = {
        "guaranteed": "guaranteed, to whoever matches",
        "performance": "of one learner (MinNormPoint)",
    }
    for panel, (what, title) in zip(panels, titles.items(), strict=True):
        for teacher in TEACHERS:
            values = np.array([getattr(c, what) for c in curves if c.teacher == teacher])
            mean, error = values.mean(axis=0), values.std(axis=0) / np.sqrt(len(values))
            numbers = np.arange(len(mean))
            panel.plot(numbers, mean, markersize=4, linewidth=1.4, label=teacher, **style[teacher])
            panel.fill_between(
                numbers, mean - error, mean + error, color=style[teacher]["color"], alpha=0.15
            )
        panel.set_title(title, fontsize=10)
        panel.set_xlabel("features taught")
        panel.set_ylim(-0.02, 1.02)
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("relative performance")
    panels[1].legend(fontsize=8, loc="lower right")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> list[Curve]:
    parser = argparse.ArgumentParser(description="Compare the teachers.")
    parser.add_argument("setting", nargs="?", choices=SETTINGS, default="small")
    parser.add_argument("--trials", type=int, help="how many problems to draw (6)")
    parser.add_argument("--rounds", type=int, help="how many features to teach (14)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder (out)")
    options = parser.parse_args(arguments)
    setting = SETTINGS[options.setting]
    setting = Setting(
        setting.size,
        setting.block,
        setting.teachable,
        options.rounds or setting.rounds,
        options.trials or setting.trials,
    )
    curves = run_all(setting)
    options.out.mkdir(parents=True, exist_ok=True)
    write_csv(curves, options.out / f"teachers_{options.setting}.csv")
    draw(curves, options.out / f"teachers_{options.setting}.png")
    print(report(curves))
    return curves


if __name__ == "__main__":
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    main()
