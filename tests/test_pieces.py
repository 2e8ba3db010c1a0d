"""What may take long is done in pieces: the same digits, and the clock is looked at in between."""

import math
from functools import cache

import numpy as np
import pytest

import teachirl as ti
from teachirl.arrays import frozen
from teachirl.guarantees.solvers import bundle, mismatches
from teachirl.mdp import clock, kernels
from teachirl.mdp.evaluation import Method
from teachirl.mdp.occupancy import chain_of


@cache
def world(name):
    rng = np.random.default_rng(0)
    if name == "slip":
        return ti.worlds.gridworld(8, block=2, discount=0.999, slip=0.3)
    if name == "sure":
        return ti.worlds.gridworld(8, discount=0.99)
    if name == "mixing":
        return ti.worlds.garnet(rng, 60, 3, 5, 4, discount=0.99)
    if name == "slow":
        return ti.worlds.chain(60, discount=0.9999)
    # Six components of ten states, each of which leads to the next.
    rows = np.zeros((60, 2, 60))
    for s in range(60):
        to = rng.integers(s // 10 * 10, min(s // 10 * 10 + 14, 60), size=(2, 3))
        np.add.at(rows[s], (np.arange(2)[:, None], to), rng.random((2, 3)))
    features = rng.normal(size=(60, 3))
    return ti.MDP.from_arrays(rows, features, discount=0.995, normalize=True)


@pytest.fixture
def looks(monkeypatch):
    """How often the clock was looked at, in pieces that are as small as can be."""
    count = []
    look = clock.look
    monkeypatch.setattr(clock, "look", lambda: (count.append(1), look()))
    monkeypatch.setattr(kernels, "PIECE", 1)
    return count


WORLDS = ["slip", "sure", "mixing", "slow", "components"]


@pytest.mark.parametrize("name", WORLDS)
def test_a_plan_in_pieces(name, monkeypatch, looks):
    mdp = world(name)
    assert (mdp.dynamics.components is not None) == (name == "components")
    w = np.random.default_rng(1).normal(size=mdp.n_features)
    found = ti.optimal_policy(mdp, w)
    # A round of a single piece is the least there is; a component has rounds of its own.
    assert len(looks) >= found.rounds > 1
    looks.clear()
    monkeypatch.setattr(kernels, "PIECE", 1 << 40)
    whole = ti.optimal_policy(mdp, w)
    assert len(looks) == 1
    assert np.array_equal(found.values, whole.values)
    assert np.array_equal(found.policy.pairs, whole.policy.pairs)
    known = [(each.lower, each.upper, each.rounds, each.status) for each in (found, whole)]
    assert known[0] == known[1]


@pytest.mark.parametrize("columns", [1, 4])
@pytest.mark.parametrize("flow", [False, True])
@pytest.mark.parametrize("method", [Method.ITERATION, Method.KRYLOV, Method.SWEEPS])
@pytest.mark.parametrize("name", ["mixing", "slip"])
def test_an_evaluation_in_pieces(name, method, flow, columns, monkeypatch, looks):
    mdp = world(name)
    chain = chain_of(mdp, ti.Policy.uniform(mdp))
    b = frozen(np.random.default_rng(2).random((mdp.n_states, columns)))
    goals = np.full(columns, 1e-9)
    solve = getattr(chain, f"_by_{method.name.lower()}")
    found = solve(b, goals, flow)
    assert len(looks) > 2
    looks.clear()
    monkeypatch.setattr(kernels, "PIECE", 1 << 40)
    whole = solve(b, goals, flow)
    assert len(looks) <= columns
    assert (found is None) == (whole is None) == (method is Method.ITERATION and name == "slip")
    assert found is None or np.array_equal(found, whole)


@pytest.mark.parametrize("name", WORLDS)
def test_time_that_is_up_ends_what_is_done(name, monkeypatch, looks):
    mdp, ticks = world(name), iter(range(10**6))
    w = np.random.default_rng(1).normal(size=mdp.n_features)
    chain, source = chain_of(mdp, ti.Policy.uniform(mdp)), np.eye(mdp.n_states)[:, :1]
    monkeypatch.setattr(clock, "seconds", lambda: float(next(ticks)))
    for work in (lambda: ti.optimal_policy(mdp, w), lambda: chain.visits(source)):
        looks.clear()
        with pytest.raises(clock.OutOfTimeError), clock.limited(clock.seconds()):
            work()
        assert len(looks) == 1
    ti.optimal_policy(mdp, w)  # the limit was the block's alone


def test_limits_within_limits(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(clock, "seconds", lambda: now[0])

    def late():
        now[0] = 5.0
        clock.look()
        return "done"

    assert clock.in_time(4.0, late) is None
    assert clock.in_time(6.0, late) == "done"
    with clock.limited(4.0), pytest.raises(clock.OutOfTimeError):
        clock.in_time(6.0, late)  # whose limit it is, has to know
    with clock.limited(6.0):
        assert clock.in_time(4.0, late) is None
        clock.look()


@pytest.fixture
def case():
    mdp = world("mixing")
    rng = np.random.default_rng(3)
    w, view = rng.normal(size=4), ti.Worldview(rng.normal(size=(2, 4)))
    return mdp, view, w, ti.optimal_policy(mdp, w).policy


@pytest.mark.parametrize("limit", [1, 3, 5, 8, 20, 60, 200])
def test_whenever_a_search_ends_its_bounds_hold(limit, case, monkeypatch, looks):
    exact = ti.worst_case(*case)
    ticks = iter(range(10**6))
    monkeypatch.setattr(clock, "seconds", lambda: float(next(ticks)))
    monkeypatch.setattr(bundle, "GRACE", 2.0)
    looks.clear()
    found = ti.worst_case(*case, max_seconds=limit)
    # Each look is a second: what is left to do takes as long as some steps of the search did.
    assert limit >= 60 or len(looks) < 10 * limit + 20
    assert found.lower <= exact.upper and exact.lower <= found.upper
    assert found.lower > -math.inf
    proof = ti.guarantees.bounds.lower_bound
    mdp, view, w, expert = case
    mu = ti.feature_expectations(mdp, expert)
    assert found.lower <= proof(mdp, view, w, mu, 0.0, found.theta) + 1e-9
    if found.status is not ti.WorstCaseStatus.OPTIMAL:
        assert found.status is ti.WorstCaseStatus.OUT_OF_BUDGET


def test_mismatches_out_of_time(case, monkeypatch, looks):
    mdp, view, w, expert = case
    mu = ti.feature_expectations(mdp, expert)
    exact = [ti.worst_case(mdp, view, w, expert, each) for each in (0.1, 1.0)]
    ticks = iter(range(10**6))
    monkeypatch.setattr(clock, "seconds", lambda: float(next(ticks)))
    monkeypatch.setattr(bundle, "GRACE", 2.0)
    for limit in (1.0, 8.0, 40.0):
        found = mismatches.worst_cases_by_bundle(
            mdp, view, w, mu, [0.1, 1.0], policy=expert, max_seconds=limit
        )
        for each, known in zip(found, exact, strict=True):
            assert each.lower <= known.upper and known.lower <= each.upper
