"""Recorded episodes: what is known of each feature is a box, and ellipsoids around it prove what
that guarantees."""

from functools import cache

import numpy as np
import pytest
from scipy.optimize import linprog

import teachirl as ti
from teachirl.teaching.closeness import worst_in_order
from teachirl.teaching.matching import Matching

TIGHT = {"tolerance": 1e-7, "max_seconds": np.inf}


def recorded(seed, episodes=200, n_seen=3):
    """A random world, what a learner sees, and episodes of an optimal expert."""
    rng = np.random.default_rng(seed)
    mdp = ti.worlds.garnet(rng, 9, 3, 3, n_features=5, per_pair=True)
    weights = rng.normal(size=5)
    expert = ti.optimal_policy(mdp, weights).policy
    seen = ti.sample_trajectories(mdp, expert, episodes=episodes, horizon=80, rng=rng)
    rows = np.eye(5)[rng.permutation(5)[:n_seen]] * rng.uniform(0.2, 5.0, size=(n_seen, 1))
    shown = ti.Demonstration.from_trajectories(mdp, seen, rows=np.vstack([rows, weights]))
    return mdp, weights, ti.Worldview(rows), shown, expert


def by_program(mdp, weights, view, shown, off):
    """The least reward of all policies within so much of what is shown, in each row."""
    dynamics = mdp.dynamics
    flow = np.zeros((mdp.n_states, mdp.n_pairs))
    flow[dynamics.pair_states, np.arange(mdp.n_pairs)] = 1.0
    flow -= mdp.discount * dynamics.transitions.toarray().T
    phi = np.asarray(mdp.features)
    seen, target = view.matrix @ phi.T, view.matrix @ shown.expectations
    found = linprog(
        phi @ weights,
        A_ub=np.vstack([seen, -seen]),
        b_ub=np.concatenate([target + off, off - target]),
        A_eq=flow,
        b_eq=dynamics.start,
    )
    assert found.status == 0
    return found.fun


@cache
def in_box_and_ball(seed):
    """The worst cases of a recording: in the box that is known, and in the ball around it."""
    mdp, weights, view, shown, _ = recorded(seed)
    found = worst_in_order(mdp, view, weights, shown, Matching(), **TIGHT)
    return found, ti.worst_case(mdp, view, weights, shown, shown.error_in(view), tolerance=1e-7)


@pytest.mark.xdist_group("box and ball")
@pytest.mark.parametrize("seed", range(12))
def test_no_more_is_proved_than_the_box_has_and_no_less_than_the_ball(seed):
    mdp, weights, view, shown, _ = recorded(seed)
    off = shown.errors_of(view)
    found, ball = in_box_and_ball(seed)
    box = by_program(mdp, weights, view, shown, off)
    size = 1e-6 * (ti.optimal_policy(mdp, weights).value - ti.worst_policy(mdp, weights).value)
    assert ball.lower <= found.lower <= box + size
    # Of what lies between them, by far the most.
    assert found.lower >= box - 0.2 * (box - ball.lower) - size


@pytest.mark.xdist_group("box and ball")
def test_it_pays():
    gains = []
    for seed in range(12):
        found, ball = in_box_and_ball(seed)
        gains.append(found.lower - ball.lower)
    assert min(gains) >= 0.0 and np.median(gains) > 0.0


def test_what_is_guaranteed_of_the_expert_holds_as_often_as_it_says():
    """Of who matches the expert itself; at a confidence of 95 %, 40 of 40 are to be expected."""
    held = []
    for seed in range(40):
        mdp, weights, view, shown, expert = recorded(seed, episodes=30 if seed % 2 else 300)
        found = worst_in_order(
            mdp, view, weights, shown, Matching(), tolerance=1e-5, max_seconds=np.inf
        )
        truth = ti.worst_case(mdp, view, weights, expert)
        own = view.matrix @ (ti.feature_expectations(mdp, expert) - shown.expectations)
        held.append(found.lower <= truth.upper and np.all(np.abs(own) <= shown.errors_of(view)))
    assert np.mean(held) >= 0.95


def test_multipliers_prove_as_much_as_is_said_up_to_the_ball():
    mdp, weights, view, shown, _ = recorded(3)
    found = worst_in_order(mdp, view, weights, shown, Matching(), **TIGHT)
    left = ti.worst_policy(mdp, weights - view.matrix.T @ found.theta).value
    at = left + found.theta @ (view.matrix @ shown.expectations)
    assert found.lower <= at - np.abs(found.theta) @ shown.errors_of(view) + 1e-6
    off = view.matrix @ (ti.feature_expectations(mdp, found.witness) - shown.expectations)
    assert found.matched == pytest.approx(np.linalg.norm(off), rel=1e-6)


def test_a_mismatch_that_is_given_is_a_ball():
    mdp, weights, view, shown, _ = recorded(1)
    found = worst_in_order(mdp, view, weights, shown, Matching(0.3), **TIGHT)
    assert found.lower == ti.worst_case(mdp, view, weights, shown, 0.3, tolerance=1e-7).lower
    assert Matching(0.3).singly(view, shown) is None
    assert Matching().singly(ti.Worldview(np.eye(5)[:1] + 0.5), shown) is None


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("most", [True, False])
def test_limits_on_single_features_use_the_box_as_well(seed, most):
    """Against the same linear program, for a feature that nobody sees."""
    mdp, weights, view, shown, _ = recorded(seed)
    off = shown.errors_of(view)
    (feature, *_) = np.flatnonzero(~view.matrix.any(axis=0))
    limit = ti.Limit(int(feature), **{"at_most" if most else "at_least": 0.5})
    task = ti.Task(mdp, weights, view, np.eye(5), demonstration=shown)
    asked = ti.Goals(limits=(limit,)).of(task)
    (amount,) = asked.promise(view, shown).amounts
    sign, alone = -1.0 if most else 1.0, np.eye(5)[feature]
    box = by_program(mdp, sign * alone, view, shown, off)
    search = ti.best_case if most else ti.worst_case
    found = search(mdp, view, alone, shown, shown.error_in(view), tolerance=1e-9)
    ball = sign * (found.upper if most else found.lower)
    assert ball - 1e-9 <= sign * amount <= box + 1e-6
    # As for the reward, most of what lies between them is gained, or some of it at least.
    assert sign * amount >= box - 0.7 * (box - ball) - 1e-6
