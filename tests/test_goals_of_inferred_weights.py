"""Weights that were inferred: what was asked for, and fails under others that are as plausible, is
said in the first lines of every command, whether the file asks about a posterior or not."""

import itertools

import numpy as np
import pytest

import teachirl as ti
from teachirl.app.decisions import assess, frontier, plan
from teachirl.app.document.documents import answer
from teachirl.app.render.json import contents

FILE = """
[world]
name = "gridworld"
size = 4
block = 2
slip = 0.2
[reward]
trajectories = "seen.jsonl"
{reward}
[learner]
sees = ["block 0"]
[teach]
features = "all"
forbidden = {forbidden}
[plan]
{goal}
"""
INFERRED = {}
FAILS = "Under some plausible rewards this fails, which was asked for: "


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path, rng = tmp_path_factory.mktemp("inferred"), np.random.default_rng(0)
    mdp = ti.worlds.gridworld(4, block=2, slip=0.2)
    expert = ti.optimal_policy(mdp, [0.3, -0.2, -1.0, 1.0]).policy
    seen = ti.sample_trajectories(mdp, expert, episodes=20, horizon=30, rng=rng)
    ti.write_trajectories(path / "seen.jsonl", seen, mdp)
    return path


def asking(folder, goal, reward="", forbidden=()):
    path = folder / "problem.toml"
    text = FILE.format(goal=goal, reward=reward, forbidden=list(forbidden))
    names = ti.worlds.gridworld(4, block=2).feature_name
    path.write_text(text.replace("block 0", names(0)))
    problem = ti.read_problem(path)
    if folder not in INFERRED:
        INFERRED[folder] = problem.inferred
    vars(problem)["inferred"] = INFERRED[folder]  # the episodes are always the same
    return problem


def most_lost(problem, weights=None, view=None):
    """What can be lost under one of the plausible weights that were drawn."""
    shown, lost = problem.task.demonstration, []
    for w in problem.inferred.plausible.points if weights is None else weights:
        worst = ti.worst_case(problem.mdp, view or problem.worldview, w, shown)
        lost.append(float(w @ shown.expectations) - worst.lower)
    return max(lost)


@pytest.mark.parametrize("decide", [assess, plan, frontier])
def test_a_loss_that_is_larger_under_others_is_said(folder, decide):
    now = assess(asking(folder, "")).stakes
    problem = asking(folder, f"max_loss = {now.loss + 1e-3}")
    lost = most_lost(problem)
    assert lost > now.loss + 0.01  # else there is nothing to say
    said = contents(answer(problem, decide(problem)))["under_all_rewards"]
    assert said.startswith(f"{FAILS}a loss of at most ")
    amount = float(said.split("(up to ")[1].split(" ")[0])
    assert lost - 1e-6 <= amount <= lost + 0.01  # rounded up, to four digits


def lost_with(problem, taught):
    """What can be lost of who was taught some features, under the worst of the weights drawn."""
    view = problem.worldview
    for feature in taught:
        view = view.extend(problem.task.teachable[feature])
    return most_lost(problem, view=view)


def test_the_cheapest_set_that_holds_under_all_of_them_is_named(folder):
    most = assess(asking(folder, "")).stakes.loss + 1e-3
    problem = asking(folder, f"max_loss = {most}")
    planned, curve = plan(problem), frontier(problem)
    found = planned.enough_for_all
    assert found == curve.enough_for_all
    sets = [s for n in range(4) for s in itertools.combinations(range(3), n)]
    costs = {s: float(problem.task.costs[list(s)].sum()) for s in sets}
    enough = [s for s in sets if costs[s] <= found.cost and lost_with(problem, s) <= most]
    assert min(costs[s] for s in enough) == found.cost > 0.0
    assert tuple(map(problem.task.index, found.features)) in enough
    for each in (planned, curve):
        said = contents(answer(problem, each))["under_all_rewards"]
        assert said.endswith(f"costs {found.cost:g}: {', '.join(found.features)}.")


def test_that_no_set_holds_under_all_of_them_is_said(folder):
    free = asking(folder, "")
    every = [free.task.names[i] for i in range(3)]
    now = assess(free).stakes
    problem = asking(folder, f"max_loss = {now.loss + 1e-3}", forbidden=every)
    said = contents(answer(problem, plan(problem)))["under_all_rewards"]
    assert "No set of features has all of it under all" in said


def test_a_goal_that_holds_under_all_draws_says_how_many(folder):
    problem = asking(folder, "max_loss = 1000.0")
    said = contents(answer(problem, plan(problem)))
    count = len(problem.inferred.plausible.points)
    assert (
        f"Under all {count} plausible rewards that were drawn this holds"
        in (said["under_all_rewards"])
    )
    assert "guaranteed under the weights that it is planned for" in said["reason"]


def test_draws_of_a_posterior_are_not_all_that_is_plausible(folder):
    problem = asking(folder, "max_loss = 1000.0", "posterior = 12")
    said = contents(answer(problem, frontier(problem)))["under_all_rewards"]
    count = 12 + len(problem.inferred.plausible.points)
    assert said.startswith(f"Under all {count} plausible rewards that were drawn this holds")


def test_a_posterior_does_not_hide_what_fails_under_others_as_plausible(folder):
    problem = asking(folder, "", "posterior = 1")
    holds = max(most_lost(problem, problem.rewards.points), assess(problem).stakes.loss) + 1e-3
    assert most_lost(problem) > holds + 0.01  # else there is nothing to say
    problem = asking(folder, f"max_loss = {holds}", "posterior = 1")
    said = contents(answer(problem, assess(problem)))
    assert said["under_all_rewards"].startswith(f"{FAILS}a loss of at most ")
    assert any("But it fails under one of the" in each for each in said["plausible"])
