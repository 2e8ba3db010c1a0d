"""Worlds known from a log: what is guaranteed by how often each pair was tried, and what it costs.

    OPENBLAS_NUM_THREADS=1 python benchmarks/logs.py [--world Taxi]

Three worlds; an optimal policy is shown to a learner who sees the reward. Taxi needs the extra
`gym`; there alone, whatever can follow a state is allowed to follow each of its actions. What a
worst case costs, with five random rows seen, is in processor time, and in that of the nominal
world's: the least of many, in turns, as machines are noisy. More than one thread for products of
matrices would wait for work all the time, and that counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import teachirl as ti
from teachirl.worlds.gymnasium import gymnasium_world

Floats = NDArray[np.float64]
Steps = NDArray[np.int64]
TURNS = 15


def worlds() -> Iterator[tuple[str, ti.MDP, Floats, bool]]:
    rng = np.random.default_rng(0)
    grid = ti.worlds.gridworld(10, 5, slip=0.2)
    yield "grid, slip .2", grid, rng.normal(size=grid.n_features), False
    taxi = gymnasium_world("Taxi-v4", 0.9)
    assert taxi.weights is not None
    yield "Taxi", taxi.mdp, taxi.weights, True
    road = ti.worlds.driving(sight=1)
    assert road.weights is not None
    yield "driving, sight 1", road.mdp, road.weights, False


def allowed(mdp: ti.MDP, of_state: bool) -> Steps:
    """What may follow each pair; `of_state`, what may follow any pair of its state."""
    dynamics, rows = mdp.dynamics, mdp.dynamics.transitions
    owners = np.repeat(np.arange(mdp.n_pairs), np.diff(rows.indptr))
    if not of_state:
        parts = [dynamics.pair_states[owners], dynamics.actions[owners], rows.indices]
        return np.column_stack(parts).astype(np.int64)
    may = np.unique(np.column_stack([dynamics.pair_states[owners], rows.indices]), axis=0)
    found = []
    for pair, state in enumerate(dynamics.pair_states):
        for follows in may[may[:, 0] == state, 1]:
            found.append((int(state), int(dynamics.actions[pair]), int(follows)))
    return np.array(found, dtype=np.int64)


def estimated(mdp: ti.MDP, tries: int, successors: Steps) -> ti.EstimatedMDP:
    rng, dynamics = np.random.default_rng(tries), mdp.dynamics
    rows = dynamics.transitions
    bounds = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    parts = [rows.data[a:b] / rows.data[a:b].sum() for a, b in bounds]
    counts = np.concatenate([rng.multinomial(tries, part) for part in parts])
    log = ti.TransitionLog(allowed(mdp, False), counts, mdp.n_states, mdp.n_actions)
    phi = mdp.features if isinstance(mdp.features, np.ndarray) else mdp.features.toarray()
    return ti.estimate_mdp(
        log,
        phi,
        discount=mdp.discount,
        successors=successors,
        start=mdp.start,
        fixed_tries=True,
    )


def seconds(weights: Floats, cases: Sequence[tuple[Any, Any]]) -> Floats:
    """Of the worst case of each world and what is shown in it; the first turn, in which kernels are
    loaded, aside."""
    view = ti.Worldview(np.random.default_rng(1).normal(size=(5, len(weights))))
    times = np.empty((TURNS, len(cases)))
    for turn in times:
        for i, (mdp, shown) in enumerate(cases):
            began = time.process_time()
            ti.worst_case(mdp, view, weights, shown)
            turn[i] = time.process_time() - began
    return np.asarray(times[1:].min(axis=0))


def main(only: str) -> None:
    print("| world | tries | recorded | policy | truth |\n|---|---|---|---|---|")
    costs = []
    for name, mdp, weights, of_state in worlds():
        if not name.startswith(only):
            continue
        successors, view = allowed(mdp, of_state), ti.Worldview(weights[None])
        best = ti.optimal_policy(mdp, weights).policy
        shown = ti.Demonstration(ti.feature_expectations(mdp, best))
        truth = ti.certify(mdp, view, weights, best, theorems=False).guaranteed
        for tries in (100, 1000, 10_000):
            model = estimated(mdp, tries, successors)
            policy = ti.Policy(model.nominal.dynamics, pairs=best.pairs)
            found = [ti.certify(model, view, weights, each).guaranteed for each in (shown, policy)]
            print(
                f"| {name} | {tries} | {found[0]:.2f} | {found[1]:.2f} | {truth:.2f} |", flush=True
            )
            if tries != 1000:
                cases = (model.nominal, policy), (model, shown), (model, policy)
                costs.append((name, tries, seconds(weights, cases)))
    print("\n| a worst case | tries | nominal, ms | recorded | policy |\n|---|---|---|---|---|")
    for name, tries, (nominal, *others) in costs:
        ratios = " | ".join(f"×{other / nominal:.1f}" for other in others)
        print(f"| {name} | {tries} | {1000 * nominal:.1f} | {ratios} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--world", default="", help="how its name begins; all by default")
    main(parser.parse_args().world)
