"""Problem files that were never seen before, and what is true of them in exact arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from flint import fmpq

import exact_lp
from teachirl.app.problem import Problem, read_problem


def write_random(folder: Path, rng: np.random.Generator) -> Problem:
    """A problem of a few states in tables, all of whose numbers are simple fractions."""
    n_states, n_features = int(rng.integers(3, 5)), int(rng.integers(2, 6))
    states, features = [f"s{i}" for i in range(n_states)], [f"f{i}" for i in range(n_features)]
    moves, policy = ["state,action,next_state,probability"], ["state,action,probability"]
    for state in states:
        n_actions = int(rng.integers(1, 4))
        for action in range(n_actions):
            counts = np.bincount(rng.integers(n_states, size=4), minlength=n_states)
            moves += [
                f"{state},a{action},{target},{count / 4}"
                for target, count in zip(states, counts, strict=True)
                if count
            ]
        chances = np.bincount(rng.integers(n_actions, size=4), minlength=n_actions) / 4
        policy += [f"{state},a{action},{chance}" for action, chance in enumerate(chances)]
    values = rng.integers(-2, 3, size=(n_states, n_features))
    table = [",".join(["state", *features])]
    table += [",".join([state, *map(str, row)]) for state, row in zip(states, values, strict=True)]
    for name, lines in (("transitions", moves), ("features", table), ("policy", policy)):
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    weights = rng.integers(-3, 4, size=n_features)
    weights[rng.integers(n_features)] = 2
    mixture = rng.integers(-2, 3)
    demonstration = rng.choice(['show = "optimal"', 'show = "choose"', 'policy = "policy.csv"'])
    lines = [f"{name} = {float(w)}" for name, w in zip(features, weights, strict=True)]
    sees = 'sees = ["f0"]' if rng.random() < 0.5 else "sees = []"
    if rng.random() < 0.5:
        sees += '\n[[learner.combination]]\nname = "mixture"\n'
        sees += f"weights = {{ f0 = 1.0, f1 = {float(mixture)} }}"
    path = folder / "problem.toml"
    path.write_text(
        f"""
seed = {rng.integers(1000)}
[world]
transitions = "transitions.csv"
features = "features.csv"
discount = {rng.choice([0.5, 0.8, 0.9])}
[reward.weights]
{chr(10).join(lines)}
[learner]
{sees}
[teach]
features = "all"
[demonstration]
{demonstration}
"""
    )
    return read_problem(path)


def least_performance(problem: Problem, taught: Sequence[int]) -> fmpq:
    """What the worst learner gets who sees this and matches, as an exact relative performance."""
    task, mdp = problem.task, problem.mdp
    view = task.worldview.extend(task.teachable[list(taught)])
    mu = exact_lp.expectations(mdp, task.demonstration.policy)
    worst = exact_lp.worst_mixture(mdp, view, problem.weights, mu)
    assert worst is not None  # what is shown matches itself
    rewards = [exact_lp.dot(exact_lp.vector(problem.weights), v) for v in exact_lp.vertices(mdp)]
    low, high = min(rewards), max(rewards)
    return fmpq(1) if high == low else (worst - low) / (high - low)
