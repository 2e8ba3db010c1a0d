"""Features and demonstrations together."""

from __future__ import annotations

import math

import numpy as np
import pytest

import teachirl as ti
from teachirl.showing import best_demonstration
from teachirl.teachers import Situation
from teachirl.teachers.gap_greedy import GapGreedy
from teachirl.teachers.joint_greedy import JointGreedy
from teachirl.testing.teacher import check_teacher


def situation(task: ti.Task, **changes) -> Situation:
    arguments = {
        "task": task,
        "view": task.worldview,
        "demonstration": task.demonstration,
        "policy": ti.Policy.uniform(task.mdp),
        "taught": (),
        "candidates": np.arange(len(task.teachable)),
        "features_left": len(task.teachable),
        "cost_left": math.inf,
        "mismatch": 0.0,
    }
    return Situation(**{**arguments, **changes})


RNG = np.random.default_rng(0)


def grid_task(seed: int = 0, n: int = 8, **options) -> ti.Task:
    mdp = ti.worlds.gridworld(6, 2)
    rng = np.random.default_rng(seed)
    w = rng.standard_normal(mdp.n_features)
    view = ti.Worldview(rng.standard_normal((2, mdp.n_features)))
    return ti.Task(mdp, w, view, np.eye(mdp.n_features)[:n], **options)


def guaranteed(task: ti.Task, feature: int, shown) -> float:
    view = task.worldview.extend(task.teachable[feature])
    return ti.worst_case(task.mdp, view, task.weights, shown).lower


@pytest.mark.parametrize("seed", range(2))
def test_the_pair_guarantees_its_score_and_no_less_than_gap_greedy(seed):
    task = grid_task(seed)
    span = task.best.value - task.worst.value
    choice = JointGreedy(shortlist=2, starts=2).choose(situation(task), RNG)
    assert choice.demonstration is not None and choice.demonstration.error == 0.0
    reached = guaranteed(task, choice.feature, choice.demonstration)
    assert reached == pytest.approx(choice.scores[choice.feature], abs=1e-6 * span)
    alone = GapGreedy().choose(situation(task), RNG)
    assert reached > guaranteed(task, alone.feature, task.demonstration) + 1e-3 * span
    again = JointGreedy(shortlist=2, starts=2).choose(situation(task), RNG)
    assert again.feature == choice.feature
    np.testing.assert_array_equal(again.scores, choice.scores)
    np.testing.assert_array_equal(
        again.demonstration.expectations, choice.demonstration.expectations
    )


def test_with_all_on_the_shortlist_it_is_the_best_of_all_pairs():
    task = grid_task(3, n=4)
    choice = JointGreedy(shortlist=4, starts=8).choose(situation(task), RNG)
    span = task.best.value - task.worst.value
    exact = [
        best_demonstration(
            task.mdp,
            task.worldview.extend(f),
            task.weights,
            starts=8,
            rng=np.random.default_rng(1),
            proof_solves=0,
        ).guaranteed
        for f in task.teachable
    ]
    assert choice.feature == int(np.argmax(exact))
    assert choice.scores == pytest.approx(np.array(exact), abs=1e-3 * span)


def test_the_demonstration_stays_if_no_other_is_better():
    task = grid_task()
    view = task.worldview.extend(task.weights)
    here = situation(task, view=view)
    assert JointGreedy().choose(here, RNG).feature is None  # π* and the reward visible
    must = grid_task(required=[2])
    choice = JointGreedy().choose(situation(must, view=view, candidates=np.array([2])), RNG)
    assert choice.feature == 2 and choice.demonstration is None


def test_costs_and_mismatch():
    task = grid_task(n=4, costs=[1.0, 1.0, 1.0, 1e6])
    cheap = JointGreedy(shortlist=4, starts=2).choose(situation(task, cost_left=1e7), RNG)
    assert cheap.feature != 3
    span = task.best.value - task.worst.value
    here = situation(task, mismatch=0.05)
    choice = JointGreedy(shortlist=2, starts=2, tolerance=1e-4).choose(here, RNG)
    view = task.worldview.extend(task.teachable[choice.feature])
    shown = choice.demonstration or task.demonstration
    reached = ti.worst_case(task.mdp, view, task.weights, shown, 0.05).lower
    assert reached == pytest.approx(choice.scores[choice.feature], abs=1e-4 * span)


def test_the_contract():
    check_teacher(JointGreedy(shortlist=2, starts=2))
