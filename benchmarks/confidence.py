"""Is what is stated with confidence true as often as it says? `python benchmarks/confidence.py`.

Experts of three kinds (optimal, slipping at one step in ten, soft) with random weights act in small
worlds. For each number of episodes it is counted how often

- the region of plausible weights has the expert's weights in it (`in region`),
- all intervals of single weights hold at once (`intervals`),
- the estimate is no further off than is said (`degrees`), and how far it is said and is in truth,
- a sign that is said to be known is wrong (`wrong signs`, in all).

Then, of recorded episodes, how often the errors of all features hold at once and that of the whole,
and how large they are for one feature. Nothing that is said to hold may be rarer than the
confidence.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

import teachirl as ti
from teachirl.views.potential_shaping import indistinct_directions


def worlds() -> Iterator[tuple[str, ti.MDP]]:
    """Small worlds: tables that mix at random, and a grid in which rooms count."""
    garnet = ti.worlds.garnet(np.random.default_rng(3), 12, 3, 3, n_features=4, per_pair=True)
    yield "garnet", garnet
    yield "grid", ti.worlds.gridworld(6, block=3, slip=0.1)


def experts(mdp: ti.MDP, weights: np.ndarray) -> Iterator[tuple[str, ti.Policy]]:
    """Three who are after the same."""
    best = ti.optimal_policy(mdp, weights).policy.probabilities
    evenly = ti.Policy.uniform(mdp).probabilities
    yield "optimal", ti.Policy(mdp.dynamics, chances=best)
    yield "slipping", ti.Policy(mdp.dynamics, chances=0.9 * best + 0.1 * evenly)
    yield "soft", ti.soft_policy(mdp, 6.0 * weights).policy


def inferred(mdp: ti.MDP, kind: str, episodes: int, seed: int, confidence: float) -> list[float]:
    """What was said of one expert, and what is true: see `HEADINGS`."""
    rng = np.random.default_rng([seed, episodes])
    weights = rng.normal(size=mdp.n_features)
    weights /= np.linalg.norm(weights)
    truth = indistinct_directions(mdp).project(weights)
    truth /= np.linalg.norm(truth)
    policy = dict(experts(mdp, weights))[kind]
    seen = ti.sample_trajectories(mdp, policy, episodes=episodes, horizon=30, rng=rng)
    found = ti.infer_weights(mdp, seen, confidence=confidence).plausible
    off = float(np.degrees(np.arccos(np.clip(truth @ found.weights, -1.0, 1.0))))
    known = found.signs != 0
    return [
        found.contains(weights),
        bool(np.all((found.lower <= truth) & (truth <= found.upper))),
        off <= found.degrees,
        found.degrees,
        off,
        float(known.mean()),
        float(np.sum(found.signs[known] != np.sign(truth[known]))),
    ]


def recorded(mdp: ti.MDP, kind: str, episodes: int, seed: int, confidence: float) -> list[float]:
    """Whether all features' errors hold, and the whole; and both errors, as said and in truth."""
    rng = np.random.default_rng([seed, episodes])
    policy = dict(experts(mdp, rng.normal(size=mdp.n_features)))[kind]
    truth = ti.feature_expectations(mdp, policy)
    rows = np.eye(mdp.n_features)
    seen = ti.sample_trajectories(mdp, policy, episodes=episodes, horizon=60, rng=rng)
    found = ti.Demonstration.from_trajectories(mdp, seen, confidence, rows=rows)
    off, along = found.expectations - truth, found.along
    assert along is not None
    own = along.rows @ truth
    return [
        bool(np.all((along.lower <= own) & (own <= along.upper))),
        float(np.linalg.norm(off)) <= found.error,
        float(found.error_in(ti.Worldview(rows[:1]))),
        found.error,
        float(abs(off[0])),
    ]


HEADINGS = ("in region", "intervals", "degrees", "said", "true", "signs known", "wrong signs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--confidence", type=float, default=0.95)
    parser.add_argument("--episodes", type=int, nargs="+", default=[10, 100])
    options = parser.parse_args()
    print(f"confidence {options.confidence:g}, {options.repetitions} experts a line, 30 steps")
    print(f"{'world':8}{'expert':10}{'episodes':>8}" + "".join(f"{h:>13}" for h in HEADINGS))
    for name, mdp in worlds():
        for kind in ("optimal", "slipping", "soft"):
            for episodes in options.episodes:
                rows = np.array(
                    [
                        inferred(mdp, kind, episodes, seed, options.confidence)
                        for seed in range(options.repetitions)
                    ],
                    dtype=float,
                )
                means = np.append(rows.mean(axis=0)[:-1], rows[:, -1].sum())
                print(
                    f"{name:8}{kind:10}{episodes:8}"
                    + "".join(f"{100 * x:11.0f} %" for x in means[:3])
                    + "".join(f"{x:12.1f}°" for x in means[3:5])
                    + f"{100 * means[5]:11.0f} %{means[6]:13.0f}",
                    flush=True,
                )

    print()
    print(f"recordings: {10 * options.repetitions} samples a line, 60 steps")
    headings = ("each feature", "the whole", "one, said", "whole, said", "one, true")
    print(f"{'world':8}{'expert':10}{'episodes':>8}" + "".join(f"{h:>13}" for h in headings))
    for name, mdp in worlds():
        for kind in ("optimal", "slipping", "soft"):
            for episodes in options.episodes:
                rows = np.array(
                    [
                        recorded(mdp, kind, episodes, seed, options.confidence)
                        for seed in range(10 * options.repetitions)
                    ]
                )
                means = rows.mean(axis=0)
                print(
                    f"{name:8}{kind:10}{episodes:8}"
                    + "".join(f"{100 * x:11.1f} %" for x in means[:2])
                    + "".join(f"{x:13.2f}" for x in means[2:]),
                    flush=True,
                )


if __name__ == "__main__":
    main()
