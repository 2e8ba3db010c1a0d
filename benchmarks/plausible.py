"""Guarantees over several rewards: how many worst cases they take, and how long that is.

    python benchmarks/plausible.py [--trials N]

The first table certifies 200 sampled rewards, in units of the processor time of one reward's
certificate; the second brings the bounds on the gap over an ellipsoid together to a hundredth.
"""

from __future__ import annotations

import argparse
import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import teachirl as ti

SAMPLES = 200


def seconds(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """The least processor time of a few calls, and what the last gave."""
    taken, found = [], None
    for _ in range(repeats):
        began = time.process_time()
        found = work()
        taken.append(time.process_time() - began)
    return min(taken), found


def problem(size: int, block: int, rows: int, trial: int) -> tuple[Any, ...]:
    mdp = ti.worlds.gridworld(size, block)
    rng = np.random.default_rng([size, rows, trial])
    k = mdp.n_features
    w = rng.standard_normal(k)
    view = ti.Worldview(rng.standard_normal((rows, k)))
    return rng, mdp, view, w / np.linalg.norm(w)


def samples(trials: int) -> None:
    print(f"{SAMPLES} sampled rewards; worst cases solved, and time in those of one certificate")
    print(f"{'case':34} {'least':>14} {'10 % quantile':>14} {'tail mean':>14}")
    for size, block, rows in ((10, 2, 5), (20, 2, 5), (20, 2, 20)):
        for spread in (0.1, 0.5, 1.0):
            cells: list[list[tuple[int, float]]] = [[], [], []]
            for trial in range(trials):
                rng, mdp, view, w = problem(size, block, rows, trial)
                k = mdp.n_features
                drawn = w + spread / np.sqrt(k) * rng.standard_normal((SAMPLES, k))
                rewards, shown = ti.Rewards.sampled(drawn), ti.optimal_policy(mdp, w).policy
                asked = [
                    ti.Judgement(),
                    ti.Judgement(tail=0.1),
                    ti.Judgement(tail=0.1, measure="cvar"),
                ]
                alone = functools.partial(ti.certify, mdp, view, demonstration=shown)
                one = np.mean(
                    [
                        seconds(functools.partial(alone, weights=point, theorems=False), 3)[0]
                        for point in drawn[:10]
                    ]
                )
                for cell, judgement in zip(cells, asked, strict=True):
                    every = functools.partial(alone, weights=rewards, judgement=judgement)
                    taken, found = seconds(every, 1)
                    cell.append((found.solved, taken / one))
            told = [
                f"{min(n for n, _ in cell)}–{max(n for n, _ in cell)}: "
                f"{max(t for _, t in cell):.0f}"
                for cell in cells
            ]
            name = f"{size}×{size}, {rows} rows, spread {spread:g}"
            print(f"{name:34} {told[0]:>14} {told[1]:>14} {told[2]:>14}", flush=True)


def ellipsoids(trials: int) -> None:
    print("\ngap over an ellipsoid: worst cases solved, and how far apart the bounds are")
    for rank in (1, 2, 3, 4, 6, 8):
        solved, apart = [], []
        for trial in range(trials):
            rng, mdp, view, w = problem(10, 2, 5, trial)
            root = 0.5 / np.sqrt(len(w)) * rng.standard_normal((len(w), rank))
            shown = ti.optimal_policy(mdp, w).policy
            rewards = ti.Rewards.ellipsoid(w, root)
            found = ti.certify(mdp, view, rewards, shown, judgement=ti.Judgement("gap"))
            solved.append(found.solved)
            apart.append((found.upper - found.lower) / found.upper)
        print(
            f"rank {rank}: {min(solved)}–{max(solved)} worst cases, "
            f"{100 * min(apart):.1f}–{100 * max(apart):.1f} % apart",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=3)
    trials = parser.parse_args().trials
    samples(trials)
    ellipsoids(trials)
