"""Variants of plans, against the same policies evaluated one by one, and what they are good for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import teachirl as ti
from teachirl.guarantees.solvers import blocks as module
from teachirl.guarantees.solvers import variants
from teachirl.guarantees.solvers.blocks import Blocks
from teachirl.guarantees.solvers.variants import Variant, made
from teachirl.mdp import occupancy
from teachirl.mdp.kernels.chains import nearly_best
from teachirl.testing import mdps, weights
from teachirl.views.worldview import Worldview


def slippery(rng: np.random.Generator, states: int = 60, start: int = 1) -> ti.MDP:
    """Three actions a state, to three successors each, from a few states on."""
    mdp = ti.worlds.garnet(rng, states, 3, 3, 4)
    first = np.zeros(states)
    first[:start] = rng.random(start)
    return with_start(mdp, first / first.sum())


def with_start(mdp: ti.MDP, start: np.ndarray) -> ti.MDP:
    dynamics = mdp.dynamics
    rows = dynamics.pair_states, dynamics.actions, dynamics.transitions
    return ti.MDP.from_pairs(*rows, mdp.features, discount=mdp.discount, start=start)


@settings(max_examples=60)
@given(st.data())
def test_pairs_that_lose_least_are_those_of_a_table(data):
    mdp = data.draw(mdps())
    rows, gamma = mdp.dynamics.transitions, mdp.discount
    w = data.draw(weights(mdp.n_features))
    rewards = mdp.rewards(w)
    plan = ti.optimal_policy(mdp, w, tolerance=0.1)
    left_out = np.array(
        data.draw(st.lists(st.booleans(), min_size=mdp.n_pairs, max_size=mdp.n_pairs))
    )
    starts, most = np.flatnonzero(mdp.start).astype(np.uint32), data.draw(st.integers(1, 6))
    world = mdp.dynamics.offsets, rows.indptr, rows.indices, rows.data, gamma
    about = plan.values, plan.policy.pairs, mdp.start, starts, left_out, 0.0, most
    found = nearly_best(*world, rewards, *about)
    # Slowly: what each pair is worth, in all states that the policy gets to.
    states = mdp.dynamics.pair_states
    worth = (rewards if mdp.features_per_pair else rewards[states]) + gamma * (rows @ plan.values)
    there = mdp.start > 0.0
    for _ in range(mdp.n_states):
        there = there | ((rows[plan.policy.pairs].toarray() > 0.0)[there]).any(axis=0)
    loss = worth[plan.policy.pairs][states] - worth
    others = np.flatnonzero(there[states] & ~left_out & (plan.policy.probabilities == 0.0))
    assert len(found) == min(most, len(others)) == len(set(found.tolist()))
    assert set(found.tolist()) <= set(others.tolist())
    np.testing.assert_allclose(loss[found], np.sort(loss[others])[:most], atol=1e-9)


def test_pairs_that_lose_the_same_come_in_one_order_whatever_the_last_bit():
    mdp = with_start(ti.worlds.gridworld(10, 2, slip=0.1), np.eye(100)[0])
    rows, plan = mdp.dynamics.transitions, ti.optimal_policy(mdp, np.ones(25))
    rng, w = np.random.default_rng(3), np.round(np.random.default_rng(0).normal(size=25), 1)
    orders = set()
    for _ in range(8):
        rewards = mdp.rewards(w) * (1.0 + 2.2e-16 * rng.integers(-1, 2, 100))
        values = plan.values * (1.0 + 2.2e-16 * rng.integers(-1, 2, 100))
        world = mdp.dynamics.offsets, rows.indptr, rows.indices, rows.data, mdp.discount
        starts, left_out = np.zeros(1, np.uint32), np.zeros(mdp.n_pairs, bool)
        about = plan.policy.pairs, mdp.start, starts, left_out, 0.0, 14
        orders.add(tuple(nearly_best(*world, rewards, values, *about).tolist()))
    assert len(orders) == 1


@pytest.mark.parametrize("many_states", [0, 1000])  # those alone that are reached, and all
@pytest.mark.parametrize("kind", ["of states", "of pairs", "sparse", "many"])
@pytest.mark.parametrize("count", [1, 2])
def test_variants_do_what_the_same_policies_do(count, kind, many_states, monkeypatch):
    monkeypatch.setattr(occupancy, "MANY_STATES", many_states)
    monkeypatch.setattr(module, "FAR", 0)
    if kind == "many":
        monkeypatch.setattr(module, "WIDE", 0)
        monkeypatch.setattr(module, "KEPT", 0)
    rng = np.random.default_rng([8, count])
    mdp = slippery(rng, start=4)
    if kind == "sparse":
        mdp = mdp.with_features(np.eye(mdp.n_pairs)[:, :30])
    elif kind != "of states":
        mdp = mdp.with_features(rng.standard_normal((mdp.n_pairs, 4)))
    directions = rng.standard_normal((9, mdp.n_features))
    w = rng.standard_normal(mdp.n_features)
    blocks = Blocks(mdp, directions, count)
    policies, columns = blocks.around(ti.optimal_policy(mdp, w, tolerance=1e-3), w)
    assert len(policies) == len(columns) > 5
    assert sum(isinstance(each, Variant) for each in policies) == len(policies) - 1
    slow = Blocks(mdp, directions, count)
    for policy, found in zip(policies, columns, strict=True):
        np.testing.assert_allclose(found, slow.columns(made(policy)), atol=1e-9)
        shares = rng.random(count)
        theirs, ours = (
            slow.blend({0: made(policy)}, {0: shares}),
            blocks.blend({0: policy}, {0: shares}),
        )
        np.testing.assert_allclose(ours, theirs, atol=1e-11)


def test_variants_that_differ_in_nothing_are_left_out_from_then_on(monkeypatch):
    monkeypatch.setattr(module, "FAR", 0)
    mdp = slippery(np.random.default_rng(2))
    alike = mdp.with_features(np.ones((mdp.n_states, 3)))
    blocks = Blocks(alike, np.eye(3).repeat(3, axis=0), 1)
    plan = ti.optimal_policy(alike, [1.0, 0.0, 0.0])
    assert blocks.around(plan, np.ones(3))[0] == [plan.policy]
    idle = blocks._idle.sum()
    assert idle > 0
    assert blocks.around(plan, np.ones(3))[0] == [plan.policy]
    assert blocks._idle.sum() > idle  # others are looked at


@pytest.mark.parametrize("rows", [3, 6])
@pytest.mark.parametrize("mismatch", [0.0, 0.05])
@pytest.mark.parametrize("start", [1, 3])
def test_the_worst_case_is_the_same_with_fewer_plans(start, mismatch, rows, monkeypatch):
    solves = []
    for seed in range(3):
        rng = np.random.default_rng([9, seed, rows])
        mdp = slippery(rng, 200, start)
        mdp = mdp.with_features(rng.standard_normal((mdp.n_states, 12)))
        view = Worldview(rng.standard_normal((rows, 12)))
        w = rng.standard_normal(12)
        shown = ti.optimal_policy(mdp, w).policy
        found = []
        for far in (variants.FAR, 10_000):  # without, in the end
            monkeypatch.setattr(module, "FAR", far)
            case = ti.worst_case(mdp, view, w, shown, mismatch, method="bundle")
            assert case.status.name == "OPTIMAL"
            assert case.matched <= mismatch + 1e-8
            found.append(case)
        fast, slow = found
        assert fast.lower <= slow.upper
        assert slow.lower <= fast.upper
        solves.append([fast.solves, slow.solves])
    fewer, more = np.sum(solves, axis=0)
    assert fewer <= more
