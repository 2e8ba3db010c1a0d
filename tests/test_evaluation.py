"""Policies evaluated in every way that there is, against dense and exact solutions."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from flint import fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st

import teachirl as ti
from exact import exact
from teachirl.mdp import evaluation, occupancy, right_hand_sides
from teachirl.mdp.evaluation import Chain, Usual
from teachirl.mdp.kernels.band import in_breadth
from teachirl.mdp.kernels.chains import transposed, without_loops
from teachirl.mdp.kernels.mixing import flow_left, iterate, sizes, values_left
from teachirl.mdp.occupancy import Reached, chain_of, policy_transitions, state_occupancy
from teachirl.mdp.right_hand_sides import Method
from teachirl.testing import mdps, policies


class Forced(Chain):
    """A chain that is solved in one way, or by sweeps if that gives up."""

    way = Method.SWEEPS

    def _ways(self, columns):
        yield self.way
        yield Method.SWEEPS


def forced(method: Method, chain: Chain) -> Forced:
    n = len(chain.rows.indptr) - 1
    usual = Usual(False, 1, n**3, np.arange(n, dtype=np.uint32))
    other = Forced(chain.rows[:3], chain.discount, lambda: usual)
    other.way, other.small = method, False
    return other


def rows_of(kind: str, n: int, rng: np.random.Generator) -> sp.csr_array:
    """Chains of many shapes, [n, n]."""
    if kind == "dense":
        matrix = rng.dirichlet(np.ones(n), size=n)
    elif kind == "cycle":
        matrix = np.roll(np.eye(n), 1, axis=1)
    elif kind == "loops":
        matrix = 0.999 * np.eye(n) + 0.001 * np.roll(np.eye(n), 1, axis=1)
    elif kind == "absorbing":
        matrix = np.eye(n)
    elif kind == "functional":
        matrix = np.eye(n)[rng.integers(0, n, size=n)]
    elif kind == "steps":  # leads to the next or the one after, with a sink at the end
        matrix = np.zeros((n, n))
        for s in range(n):
            matrix[s, min(s + 1, n - 1)] += 0.75
            matrix[s, min(s + 2, n - 1)] += 0.25
    else:  # a few successors each
        matrix = np.zeros((n, n))
        for s in range(n):
            targets = rng.choice(n, size=min(3, n), replace=False)
            matrix[s, targets] = rng.dirichlet(np.ones(len(targets)))
    return sp.csr_array(matrix)


KINDS = ("dense", "cycle", "loops", "absorbing", "functional", "steps", "sparse")


def chain_from(rows: sp.csr_array, discount: float) -> Chain:
    return Chain(
        (rows.indptr.astype(np.int64), rows.indices.astype(np.uint32), rows.data), discount
    )


@pytest.mark.parametrize("discount", [0.3, 0.9, 0.999])
@pytest.mark.parametrize("kind", KINDS)
def test_every_way_agrees_with_a_dense_solve(kind, discount):
    rng = np.random.default_rng(len(kind))
    for n in (1, 2, 23):
        rows = rows_of(kind, n, rng)
        dense = np.eye(n) - discount * rows.toarray()
        rewards = rng.standard_normal((n, 5))
        rewards[:, 3] = 0.0
        sources = np.abs(rewards)
        values, visits = np.linalg.solve(dense, rewards), np.linalg.solve(dense.T, sources)
        for method in Method:
            for columns in (1, 5):
                found = forced(method, chain_from(rows, discount)).values(rewards[:, :columns])
                off = np.abs(found.x - values[:, :columns]).max(axis=0)
                assert np.all(off <= found.error + 1e-13 / (1.0 - discount)), (method, n)
                assert found.error.max() <= 1e-11 / (1.0 - discount) ** 1.5
                found = forced(method, chain_from(rows, discount)).visits(sources[:, :columns])
                off = np.abs(found.x - visits[:, :columns]).sum(axis=0)
                assert np.all(off <= found.error + 1e-13 * n / (1.0 - discount)), (method, n)
                assert found.error.max() <= 1e-11 * n / (1.0 - discount) ** 1.5


@pytest.mark.parametrize("kind", KINDS)
def test_small_chains_are_solved_as_large_ones_are(kind, monkeypatch):
    """In one call, or in many: to the last bit, however it ends."""
    monkeypatch.setattr(evaluation, "OFTEN", 0)
    rng, ways = np.random.default_rng(len(kind)), set()
    for n, discount in itertools.product((1, 2, 23, 40), (0.3, 0.999)):
        rows = rows_of(kind, n, rng)
        for columns in (1, 3, 5):
            small, large = chain_from(rows, discount), chain_from(rows, discount)
            assert small.small
            large.small = False
            b = rng.standard_normal((n, columns))
            for one, other in (
                (small.values(b), large.values(b)),
                (small.visits(np.abs(b)), large.visits(np.abs(b))),
                (small.visits(np.ones((n, columns))), large.visits(np.ones((n, columns)))),
            ):
                assert np.array_equal(one.x, other.x)
                assert np.array_equal(one.error, other.error)
                assert one.method is other.method
                ways.add(one.method)
    assert Method.ELIMINATION in ways


@pytest.mark.parametrize("columns", [1, 3, 4, 6, 8, 13])
def test_what_is_left_over_is_what_a_dense_product_leaves(columns):
    """Four lanes at a time, and those beside them; what is no number, as `min` and `max` do."""
    rng = np.random.default_rng(columns)
    rows = rows_of("sparse", 17, rng)
    dense, operator = 0.9 * rows.toarray(), chain_from(rows, 0.9).rows
    b, x = rng.standard_normal((2, 17, columns))
    x[0, -1] = -0.0
    off, out = b - x + dense @ x, np.empty_like(x)
    for found, wanted in zip(
        (*values_left(operator, b, x, out), out),
        (off.min(axis=0), off.max(axis=0), np.abs(x).max(axis=0), off),
        strict=True,
    ):
        np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-14)
    off = b - x + dense.T @ x
    for found, wanted in zip(
        (*flow_left(operator, b, x, out), out),
        (np.abs(off).sum(axis=0), np.abs(x).sum(axis=0), off),
        strict=True,
    ):
        np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-13)
    most, total = sizes(x)
    assert np.array_equal(most, np.abs(x).max(axis=0))
    np.testing.assert_allclose(total, np.abs(x).sum(axis=0), rtol=1e-14)
    # What broke down in one column is not taken for good, nor does it matter to the others.
    for lane in range(columns):
        broken = x.copy()
        broken[:, lane] = np.nan
        low, high, _ = values_left(operator, b, broken, out)
        missed = 0.5 * (high - low)
        assert (missed >= 0.0).tolist() == [other != lane for other in range(columns)]
        left, _ = flow_left(operator, b, broken, out)
        assert np.isnan(left).tolist() == [other == lane for other in range(columns)]
        assert np.isnan(sizes(broken)[1]).tolist() == [other == lane for other in range(columns)]
        broken[:, lane] = x[:, lane]
        broken[3, lane] = np.nan
        assert np.isnan(flow_left(operator, b, broken, out)[0][lane])


@pytest.mark.parametrize("sums", [False, True])
@pytest.mark.parametrize("columns", [1, 4, 6, 8])
def test_iteration_stops_where_no_lane_changes_more_than_it_may(columns, sums):
    rng = np.random.default_rng(columns)
    rows = rows_of("dense", 11, rng)
    dense, operator = 0.9 * rows.toarray(), chain_from(rows, 0.9).rows
    b, goals = rng.standard_normal((11, columns)), np.full(columns, 1e-6)
    b[:, -1] *= 1e3  # it decides
    x = b.copy()
    took = iterate(operator, b, x, goals, sums, 25, 1000, np.zeros(3), 1000)
    assert 0 < took < 1000
    steps = [b]
    for _ in range(took):
        steps.append(b + dense @ steps[-1])
    np.testing.assert_allclose(x, steps[-1], rtol=1e-12, atol=1e-12)
    change = steps[-1] - steps[-2]
    size = np.abs(change).sum(axis=0) if sums else 0.5 * np.ptp(change, axis=0)
    assert np.all(size <= goals)


@settings(max_examples=60)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 7),
    st.sampled_from(KINDS),
    st.sampled_from([1e-300, 0.5, 0.9, 0.999, 1.0 - 1e-9, 1.0 - 1e-12]),
    st.sampled_from(list(Method)),
)
def test_errors_are_bounds(seed, n, kind, discount, method):
    """Against exact rational arithmetic, on the floats that the chain holds."""
    rng = np.random.default_rng(seed)
    rows = rows_of(kind, n, rng)
    rewards = rng.standard_normal((n, 2)) * [1.0, 1e-6] + [0.0, 1.0]
    gamma = exact(discount)
    system = fmpq_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])
    for i in range(n):
        for j in range(n):
            system[i, j] -= gamma * exact(rows.toarray()[i, j])
    flipped = fmpq_mat(n, n, [system[j, i] for i in range(n) for j in range(n)])
    chain = forced(method, chain_from(rows, discount))
    values, visits = chain.values(rewards), chain.visits(np.abs(rewards))
    for i in range(2):
        true = system.solve(fmpq_mat(n, 1, [exact(r) for r in rewards[:, i]]))
        worst = max(abs(exact(values.x[s, i]) - true[s, 0]) for s in range(n))
        assert worst <= exact(values.error[i])
        true = flipped.solve(fmpq_mat(n, 1, [exact(abs(r)) for r in rewards[:, i]]))
        total = sum((abs(exact(visits.x[s, i]) - true[s, 0]) for s in range(n)), fmpq(0))
        assert total <= exact(visits.error[i])


def one_way(n: int) -> ti.MDP:
    """Two actions, neither of which leads back."""
    steps = rows_of("steps", n, np.random.default_rng(0)).toarray()
    return ti.MDP.from_arrays(np.stack([steps, steps @ steps], axis=1), np.eye(n, 4), discount=0.99)


@pytest.mark.parametrize(
    ("world", "method"),
    [
        (lambda rng: ti.worlds.garnet(rng, 300, 3, 6, 4), Method.ITERATION),
        (lambda rng: ti.worlds.gridworld(20, 2, 0.99, slip=0.3), Method.BAND),
        (lambda rng: ti.worlds.gridworld(64, 8, 0.99, slip=0.3), Method.FACTORS),
        (lambda rng: ti.worlds.garnet(rng, 800, 3, 2, 4, discount=0.99), Method.KRYLOV),
        (lambda rng: one_way(60), Method.ELIMINATION),
    ],
    ids=["garnet", "grid with slip", "larger grid", "sparse garnet", "one way"],
)
def test_worlds_and_what_suits_them(world, method):
    """The rule is one of counts: it must not move without being noticed."""
    rng = np.random.default_rng(1)
    mdp = world(rng)
    chosen = ti.optimal_policy(mdp, rng.standard_normal(mdp.n_features)).policy
    found = chain_of(mdp, chosen).values(rng.standard_normal((mdp.n_states, 11)))
    assert found.method is method


def test_chains_that_alternate():
    """Two halves that lead to one another, at random: plain iteration never settles."""
    rng = np.random.default_rng(13)
    n = 200
    targets = (1 - np.arange(n) // (n // 2))[:, None] * (n // 2) + rng.integers(n // 2, size=(n, 8))
    rows = sp.coo_array(
        (np.full(8 * n, 1 / 8), (np.repeat(np.arange(n), 8), targets.ravel())), shape=(n, n)
    ).tocsr()
    chain = chain_from(rows, 0.999)
    assert not chain.usual.mixes
    rewards = rng.standard_normal((n, 5))
    found = chain.values(rewards)
    assert np.abs(found.x - 0.999 * (rows @ found.x) - rewards).max() <= 1e-11
    assert found.error.max() <= 1e-7


def test_the_band_of_a_grid_is_about_as_wide_as_it_is():
    mdp = ti.worlds.gridworld(30, 1, 0.9, 0.3)
    usual = mdp.dynamics.usual
    assert not usual.mixes and usual.band <= 900 * (2 * 30) ** 2
    assert np.array_equal(np.sort(usual.order), np.arange(900))


@pytest.mark.parametrize("seed", range(4))
def test_states_in_breadth_as_by_a_queue(seed):
    rng = np.random.default_rng(seed)
    edges = rng.random((40, 40)) < 0.04  # in several parts, some of one state
    graph = sp.csr_array(edges | edges.T)
    degrees = np.diff(graph.indptr)
    seeds = np.argsort(degrees, kind="stable")
    order = []
    for state in seeds.tolist():
        queue = [state] if state not in order else []
        while queue:
            order.append(queue.pop(0))
            near = graph.indices[graph.indptr[order[-1]] : graph.indptr[order[-1] + 1]].tolist()
            new = [each for each in near if each not in order and each not in queue]
            queue += sorted(new, key=degrees.__getitem__)
    assert in_breadth(graph.indptr, graph.indices, degrees, seeds).tolist() == order


@settings(max_examples=30)
@given(mdps())
def test_states_that_are_reached(mdp):
    table = mdp.dynamics.transitions.toarray()
    seen = mdp.start > 0.0
    for _ in range(mdp.n_states):
        seen = seen | (table[seen[mdp.dynamics.pair_states]] > 0.0).any(axis=0)
    assert mdp.dynamics.reachable.tolist() == np.flatnonzero(seen).tolist()


@settings(max_examples=30)
@given(st.data())
def test_visits_among_the_states_that_are_reached(data):
    mdp = data.draw(mdps())
    policy = data.draw(policies(mdp))
    first = data.draw(st.integers(0, mdp.n_states - 1))
    starts = np.unique([first, data.draw(st.integers(0, mdp.n_states - 1))])
    sources = np.zeros((mdp.n_states, 2))
    sources[starts, 0], sources[first, 1] = 0.5, -1.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(occupancy, "FEW_STARTS", 1)
        patch.setattr(occupancy, "MANY_STATES", 1)
        chain = occupancy.chain_from(mdp, policy, starts)
    assert isinstance(chain, Reached)
    slow = chain_of(mdp, policy)
    found, whole = chain.visits(sources), slow.visits(sources)
    off = np.abs(found.x - whole.x).sum(axis=0)
    assert np.all(off <= found.error + whole.error)
    # One row each, of the states that some path leads to.
    near = policy_transitions(mdp, policy).toarray() > 0.0
    seen = np.isin(np.arange(mdp.n_states), starts)
    for _ in range(mdp.n_states):
        seen = seen | near[seen].any(axis=0)
    assert sorted(chain.states.tolist()) == np.flatnonzero(seen).tolist()
    order = chain.chain.usual.order
    assert order is None or np.array_equal(np.sort(order), np.arange(len(chain.states)))


def test_many_starts_and_few_states_are_solved_with_all_states():
    def chain(cells, starts):
        mdp = ti.worlds.chain(cells)
        return occupancy.chain_from(mdp, ti.Policy.uniform(mdp), np.arange(starts))

    assert isinstance(chain(1000, 250), Reached)
    assert isinstance(chain(1000, 251), Chain)
    assert isinstance(chain(1000, 0), Chain)
    assert isinstance(chain(999, 1), Chain)


def test_ways_that_give_up_are_followed_by_others(monkeypatch):
    mdp = ti.worlds.gridworld(6, 2, 0.95, slip=0.2)
    policy = ti.Policy.uniform(mdp)
    dense = np.eye(36) - 0.95 * policy_transitions(mdp, policy).toarray()
    start = np.arange(36) / 630.0
    expected = np.linalg.solve(dense.T, start)
    rows = chain_of(mdp, policy).rows[:3]
    monkeypatch.setattr(evaluation, "SMALL", 0)
    monkeypatch.setattr(Chain, "_by_elimination", lambda *_: None)
    monkeypatch.setattr(Chain, "_by_iteration", lambda *_: None)
    monkeypatch.setattr(Chain, "_by_krylov", lambda self, b, goals, flow: b.copy())  # wrong
    monkeypatch.setattr(evaluation, "PASSES", 0)  # so that BiCGSTAB has the first turn
    monkeypatch.setattr(evaluation, "BANDED", math.inf)
    for band, method in ((1e3, Method.FACTORS), (math.inf, Method.SWEEPS)):
        usual = Usual(mixes=True, steps=1, band=band)
        found = Chain(rows, 0.95, lambda usual=usual: usual).visits(start[:, None])
        assert found.method is method
        assert np.abs(found.x[:, 0] - expected).sum() <= found.error[0] <= 1e-9


def test_many_columns_in_parts(monkeypatch):
    mdp = ti.worlds.garnet(np.random.default_rng(0), 50, 3, 4, 2)
    chain, rewards = chain_of(mdp, ti.Policy.uniform(mdp)), np.eye(50)[:, :21]
    whole = chain.values(rewards)
    monkeypatch.setattr(right_hand_sides, "BLOCK", 8 * 50)
    parts = chain.values(rewards)
    assert parts.x.shape == whole.x.shape == (50, 21) and parts.error.shape == (21,)
    assert np.abs(parts.x - whole.x).max() <= whole.error.max() + parts.error.max()


@pytest.mark.parametrize("share", [0.0, 1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("method", [Method.ITERATION, Method.KRYLOV])
def test_what_is_known_roughly_is_off_by_what_it_says(method, share, monkeypatch):
    """Also from values of another policy, all at once or in parts."""
    rng = np.random.default_rng(3)
    mdp = ti.worlds.garnet(rng, 80, 3, 6, 2)
    chain, rewards = chain_of(mdp, ti.Policy.uniform(mdp)), rng.standard_normal((80, 12))
    exact = np.linalg.solve(np.eye(80) - chain.discount * _dense(chain), rewards)
    other = chain_of(mdp, ti.optimal_policy(mdp, [1.0, -1.0]).policy).values(rewards).x
    for block in (1 << 23, 4 * 80):
        monkeypatch.setattr(right_hand_sides, "BLOCK", block)
        for guess in (None, other):
            found = forced(method, chain).values(rewards, share, guess)
            assert found.method is method
            assert np.all(np.abs(found.x - exact).max(axis=0) <= found.error)
            most = max(share, chain.goal) * np.abs(rewards).max(axis=0) / (1.0 - chain.discount)
            assert np.all(found.error <= most + 1e-11)
    sources = rng.standard_normal((80, 3))
    exact = np.linalg.solve(np.eye(80) - chain.discount * _dense(chain).T, sources)
    found = forced(method, chain).visits(sources, share)
    assert np.all(np.abs(found.x - exact).sum(axis=0) <= found.error)
    most = max(share, chain.goal) * np.abs(sources).sum(axis=0) / (1.0 - chain.discount)
    assert np.all(found.error <= most + 1e-11)


def _dense(chain: Chain) -> np.ndarray:
    rows, n = chain.rows, len(chain.rows.indptr) - 1
    return sp.csr_array((rows.data, rows.indices, rows.indptr), shape=(n, n)).toarray()


@settings(max_examples=60)
@given(st.data())
def test_the_chain_of_a_policy(data):
    mdp = data.draw(mdps())
    policy = data.draw(policies(mdp))
    n, rows = mdp.n_states, chain_of(mdp, policy).rows
    dense = policy_transitions(mdp, policy).toarray()

    def matrix(indptr, indices, data):
        return sp.csr_array((data, indices.astype(np.int64), indptr), shape=(n, n)).toarray()

    assert np.abs(matrix(*rows[:3]) - dense).max() <= 1e-15
    assert np.abs(matrix(*transposed(*rows[:3])) - dense.T).max() <= 1e-15
    *others, leaving = without_loops(*rows)
    loops = np.diag(dense)
    np.testing.assert_allclose(leaving, 1.0 - mdp.discount * loops, rtol=1e-12)
    expected = (dense - np.diag(loops)) / leaving[:, None]
    np.testing.assert_allclose(matrix(*others), expected, rtol=1e-9, atol=1e-15)
    start = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), dtype=float)
    visits = state_occupancy(mdp, policy, start)
    expected = np.linalg.solve(np.eye(n) - mdp.discount * dense.T, start)
    assert np.abs(visits - expected).sum() <= 1e-10 * max(expected.sum(), 1.0)


@pytest.mark.parametrize("name", ["elimination", "krylov"])
def test_what_breaks_down_is_not_taken_for_a_solution(monkeypatch, name):
    mdp = ti.worlds.driving(sight=1).mdp
    chain = chain_of(mdp, ti.Policy.uniform(mdp))
    rewards = np.random.default_rng(0).normal(size=(mdp.n_states, 3))
    right = chain.values(rewards)
    monkeypatch.setattr(evaluation, "SMALL", 0)
    monkeypatch.setattr(Chain, f"_by_{name}", lambda self, b, goals, flow: np.full_like(b, np.nan))
    again = chain_of(mdp, ti.Policy.uniform(mdp))
    for solved in (again.values(rewards), again.visits(np.abs(rewards))):
        assert np.isfinite(solved.x).all() and (solved.error >= 0.0).all()
        assert solved.method.name.lower() != name
    assert again.values(rewards).x == pytest.approx(right.x, abs=1e-8)


@pytest.mark.parametrize("m", [1, 3, 4, 12, 17])
def test_lanes_are_what_each_is_alone(m):
    rng = np.random.default_rng(m)
    rows = sp.csr_array(rows_of("few", 30, rng))
    operator = evaluation.Flow(rows.indptr, rows.indices, rows.data, 0.9)
    b, x = rng.standard_normal((2, 30, m))
    out = np.empty((30, m))
    evaluation.values_left(operator, b, x, out)
    assert np.abs(out - (b + 0.9 * (rows @ x) - x)).max() < 1e-14
    wide = np.empty((30, 16))
    evaluation.values_left(operator, *(np.repeat(y[:, :1], 16, axis=1) for y in (b, x)), wide)
    assert (wide == wide[:, :1]).all()  # whatever register it is in
    if m >= 4:
        assert (out[:, 0] == wide[:, 0]).all()
