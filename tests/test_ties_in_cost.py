"""Of sets of features that cost the same, and have all that is asked for, the one that guarantees
most is advised: nobody would buy another."""

from itertools import combinations

import numpy as np
import pytest

import teachirl as ti
from teachirl.app.decisions import frontier, plan
from teachirl.app.problem import read_problem

WORLD = """
seed = {seed}
[world]
name = "garnet"
n_states = 12
n_actions = 3
branching = 3
n_features = 5
discount = 0.9
[reward.weights]
{weights}
[learner]
sees = []
[teach]
features = "all"
[plan]
"""


def asking(folder, seed, goal):
    """A random world in which every feature costs 1."""
    weights = np.random.default_rng(seed).normal(size=5).round(2)
    named = "\n".join(f"{i} = {weight}" for i, weight in enumerate(weights))
    path = folder / "problem.toml"
    path.write_text(WORLD.format(seed=seed, weights=named) + goal)
    return read_problem(path)


def least_rewards(problem):
    """What each set of features guarantees, one worst case each."""
    task, names = problem.task, problem.task.names
    found = {}
    for count in range(len(names) + 1):
        for taught in combinations(range(len(names)), count):
            view = ti.Worldview(task.teachable[list(taught)])
            case = ti.worst_case(problem.mdp, view, problem.weights, task.demonstration)
            found[frozenset(names[i] for i in taught)] = case.lower
    return found


@pytest.mark.parametrize("seed", range(6))
def test_of_sets_that_cost_the_same_the_one_that_guarantees_most(tmp_path, seed):
    least = least_rewards(asking(tmp_path, seed, ""))
    # The first of the sets of two is enough, and others are better.
    pairs = sorted(value for each, value in least.items() if len(each) == 2)
    problem = asking(tmp_path, seed, f"at_least = {pairs[2] - 1e-3}\n")
    enough = [each for each, value in least.items() if value >= pairs[2] - 1e-3]
    cost = min(map(len, enough))
    most = max(least[each] for each in enough if len(each) == cost)
    room = 2e-3 * (problem.task.best.value - problem.task.worst.value)
    found, curve = plan(problem), frontier(problem)
    assert curve.enough is not None
    assert curve.enough.cost == found.steps[found.stop].cost == cost
    assert curve.enough.reward >= most - room
    assert found.stakes.reward >= most - room
    costs = [point.cost for point in curve.points]
    assert len(set(costs)) == len(costs)  # a budget has one answer
