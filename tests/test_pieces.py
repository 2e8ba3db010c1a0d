"""What may take long is done in pieces: the same digits, and the clock is looked at in between."""

import importlib
import math
import signal
import threading
import time
from functools import cache

import numpy as np
import pytest
import scipy.sparse

import teachirl as ti
from teachirl.__main__ import leave_behind
from teachirl.arrays import frozen
from teachirl.guarantees.solvers import mismatches, search
from teachirl.mdp import clock, evaluation, kernels
from teachirl.mdp.occupancy import chain_of
from teachirl.mdp.right_hand_sides import Method
from teachirl.mdp.soft_planning import SoftModel

worst_cases = importlib.import_module("teachirl.guarantees.worst_case")


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


@pytest.mark.parametrize("method", [Method.ELIMINATION, Method.BAND])
@pytest.mark.parametrize("name", ["slip", "slow", "components"])
def test_an_elimination_in_pieces(name, method, monkeypatch, looks):
    mdp = world(name)
    b = frozen(np.random.default_rng(2).random((mdp.n_states, 4)))
    found = []
    for piece in (1, 1 << 40):
        monkeypatch.setattr(kernels, "PIECE", piece)
        chain = chain_of(mdp, ti.Policy.uniform(mdp))
        assert method is Method.ELIMINATION or chain.usual.order is not None
        looks.clear()
        solve = getattr(chain, f"_by_{method.name.lower()}")
        found.append([solve(b, np.full(4, 1e-9), flow) for flow in (False, True)])
        # What is found once serves for values and for visits.
        assert len(looks) == 1 if piece > 1 else len(looks) > 10
    assert all(np.array_equal(*pair) for pair in zip(*found, strict=True))


@pytest.mark.parametrize("name", ["slip", "sure", "mixing", "slow"])
def test_a_soft_plan_in_pieces(name, monkeypatch, looks):
    model = SoftModel(world(name))
    w = np.random.default_rng(1).normal(size=model.mdp.n_features)
    found = []
    for piece in (1, 1 << 40):
        monkeypatch.setattr(kernels, "PIECE", piece)
        looks.clear()
        point = model.at(10.0 * w)
        assert len(looks) == 1 if piece > 1 else len(looks) > 5
        looks.clear()
        found.append((point.values, point.chances, model.visits(point.chances)))
        assert len(looks) == 1 if piece > 1 else len(looks) > 2
    assert all(np.array_equal(*pair) for pair in zip(*found, strict=True))


@pytest.mark.parametrize("name", ["slip", "mixing"])
def test_how_likely_choices_are_in_pieces(name, monkeypatch, looks):
    model = SoftModel(world(name))
    w = np.random.default_rng(1).normal(size=model.mdp.n_features)
    seen = np.arange(0, model.mdp.n_pairs, 5)
    choices = seen, np.ones(len(seen)), np.full(len(seen), 0.25)
    found = []
    for piece in (1, 1 << 40):
        monkeypatch.setattr(kernels, "PIECE", piece)
        looks.clear()
        v = np.zeros(model.mdp.n_states)
        found.append((model.likelihoods(w, choices, 24)(10.0, v), v))
        assert len(looks) == 1 if piece > 1 else len(looks) > 5
    assert found[0][0] == found[1][0] < 0.0 and np.array_equal(found[0][1], found[1][1])


def test_a_soft_plan_out_of_time(looks):
    model = SoftModel(world("slip"))
    for work in (lambda: model.at(np.ones(16)), lambda: model.visits(np.full(256, 0.25))):
        with pytest.raises(clock.OutOfTimeError), clock.limited(clock.seconds() - 1.0):
            work()


class TestAside:
    """What cannot be cut in pieces: a thread does it."""

    def test_what_it_comes_to(self):
        assert clock.aside(threading.get_ident) != threading.get_ident()
        with pytest.raises(ZeroDivisionError):
            clock.aside(lambda: 1 // 0)

    def test_time_that_is_up(self):
        release, began = threading.Event(), time.perf_counter()
        work = lambda: clock.aside(lambda: release.wait(60.0))  # noqa: E731
        assert clock.in_time(clock.seconds() + 0.05, work) is None
        release.set()
        assert time.perf_counter() - began < 30.0

    def test_ctrl_c(self):
        release = threading.Event()
        threading.Timer(0.05, signal.raise_signal, [signal.SIGINT]).start()
        with pytest.raises(KeyboardInterrupt):
            clock.aside(lambda: release.wait(60.0))
        release.set()

    def test_a_command_does_not_wait_for_it(self, monkeypatch):
        codes, release = [], threading.Event()
        for thread in threading.enumerate():  # of the tests before
            if thread.name == "teachirl aside":
                thread.join()
        monkeypatch.setattr("os._exit", codes.append)
        leave_behind()
        assert codes == []
        work = lambda: clock.aside(lambda: release.wait(60.0))  # noqa: E731
        assert clock.in_time(clock.seconds() + 0.05, work) is None
        leave_behind()
        for code in (3, None):
            try:
                raise SystemExit(code)
            except SystemExit:
                leave_behind()
        release.set()
        assert codes == [0, 3, 0]

    def test_superlu_if_it_is_long(self, monkeypatch):
        mdp, release = world("slow"), threading.Event()
        b = frozen(np.random.default_rng(2).random((mdp.n_states, 4)))
        chains = [chain_of(mdp, ti.Policy.uniform(mdp)) for _ in range(3)]
        assert chains[0].usual.band < math.inf
        here = chains[0]._by_factors(b, np.zeros(4), True)
        monkeypatch.setattr(evaluation, "LONG", 0.0)
        assert np.array_equal(here, chains[1]._by_factors(b, np.zeros(4), True))
        monkeypatch.setattr(scipy.sparse.linalg, "splu", lambda *_, **__: release.wait(60.0))
        with pytest.raises(clock.OutOfTimeError), clock.limited(clock.seconds() + 0.05):
            chains[2]._by_factors(b, np.zeros(4), True)
        release.set()


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
    monkeypatch.setattr(search, "GRACE", 2.0)
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
    monkeypatch.setattr(search, "GRACE", 2.0)
    for limit in (1.0, 8.0, 40.0):
        found = mismatches.worst_cases_by_bundle(
            mdp, view, w, mu, [0.1, 1.0], policy=expert, max_seconds=limit
        )
        for each, known in zip(found, exact, strict=True):
            assert each.lower <= known.upper and known.lower <= each.upper


def test_no_time_to_evaluate_what_is_shown(case, monkeypatch, looks):
    mdp, view, w, expert = case
    exact, ticks = ti.worst_case(*case), iter(range(10**6))
    lucky = ti.best_case(*case)
    monkeypatch.setattr(clock, "seconds", lambda: float(next(ticks)))
    monkeypatch.setattr(worst_cases, "GRACE", 0.0)
    looks.clear()
    found = ti.worst_case(*case, max_seconds=0.5)
    assert len(looks) == 1
    assert found.status is ti.WorstCaseStatus.OUT_OF_BUDGET
    assert -math.inf < found.lower <= exact.lower and found.upper == math.inf
    assert found.witness is None and not found.theta.any()
    # The θ proves that much, and more: it is what every policy earns.
    proof = ti.guarantees.bounds.lower_bound
    mu = ti.feature_expectations(mdp, expert)
    assert found.lower <= proof(mdp, view, w, mu, 0.0, found.theta)
    found = ti.best_case(*case, max_seconds=0.5)
    assert lucky.upper <= found.upper < math.inf and found.lower == -math.inf
    with pytest.raises(ti.InvalidInputError, match="weights must have shape"):
        ti.worst_case(mdp, view, w[1:], expert, max_seconds=0.5)
    rewards = ti.Rewards.listed([w, -w])
    with pytest.raises(ti.InvalidInputError, match="max_seconds must suffice"):
        ti.worst_case(mdp, view, rewards, expert, max_seconds=0.5)


def test_what_is_shown_is_evaluated_once(case, monkeypatch):
    mdp, _, _, expert = case
    shown = ti.Demonstration.of_policy(mdp, expert)
    module, count = importlib.import_module("teachirl.demonstrations.demonstration"), []
    evaluate = module.feature_expectations
    monkeypatch.setattr(
        module, "feature_expectations", lambda *each: (count.append(1), evaluate(*each))[1]
    )
    assert ti.as_demonstration(mdp, shown) is shown and not count
    # In another world, even one that is the same, it has to be seen whether it is right.
    again = mdp.with_features(mdp.features)
    assert ti.as_demonstration(again, shown) is shown and len(count) == 1


@pytest.mark.parametrize("limit", [80, 300, 700])
def test_a_search_for_what_to_show_out_of_time(limit, case, monkeypatch, looks):
    mdp, view, w, _ = case
    made = {"starts": 2, "proof_solves": 40}
    whole = ti.best_demonstration(mdp, view, w, rng=np.random.default_rng(0), **made)
    ticks = iter(range(10**6))
    monkeypatch.setattr(clock, "seconds", lambda: float(next(ticks)))
    monkeypatch.setattr(search, "GRACE", 2.0)
    looks.clear()
    shown = ti.best_demonstration(
        mdp, view, w, rng=np.random.default_rng(0), max_seconds=limit, **made
    )
    assert len(looks) < limit + 60
    assert shown.status is ti.ShownStatus.OUT_OF_TIME
    assert shown.upper >= whole.guaranteed and shown.gain >= 0.0
    monkeypatch.undo()
    # What is guaranteed is: of that policy, by that θ.
    mu = ti.feature_expectations(mdp, shown.policy)
    assert shown.guaranteed <= ti.worst_case(mdp, view, w, shown.policy).upper
    proof = ti.guarantees.bounds.lower_bound(mdp, view, w, mu, 0.0, shown.theta)
    assert shown.guaranteed <= proof + 1e-9


def test_no_time_for_a_plan(case, monkeypatch, looks):
    mdp, view, w, _ = case
    ticks = iter(range(10**6))
    monkeypatch.setattr(clock, "seconds", lambda: float(next(ticks)))
    monkeypatch.setattr(worst_cases, "GRACE", 0.0)
    with pytest.raises(ti.InvalidInputError, match="max_seconds must suffice"):
        ti.best_demonstration(mdp, view, w, rng=np.random.default_rng(0), max_seconds=1.5)


def test_what_to_show_for_several_rewards_out_of_time(case, monkeypatch, looks):
    mdp, view, w, _ = case
    rewards = ti.Rewards.listed([w, w[::-1]])
    rng = np.random.default_rng(0)
    whole = ti.best_demonstration(mdp, view, rewards, rng=rng, starts=2)
    assert whole.finished
    ticks = iter(range(10**6))
    monkeypatch.setattr(clock, "seconds", lambda: float(next(ticks)))
    monkeypatch.setattr(search, "GRACE", 2.0)
    shown = ti.best_demonstration(mdp, view, rewards, rng=rng, starts=2, max_seconds=1000.0)
    assert not shown.finished
    monkeypatch.undo()
    assert shown.guaranteed <= whole.upper
    proved = ti.certify(mdp, view, rewards, shown.policy)
    assert shown.guaranteed <= proved.guaranteed + 1e-3
