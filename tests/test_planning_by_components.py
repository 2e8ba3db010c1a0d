"""Planning by components: forced on worlds of every kind, and compared with slow twins."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import teachirl as ti
from exact import exact, exact_optimum, exact_value
from teachirl.mdp.kernels import Components, Table, by_components
from teachirl.mdp.kernels.compiling import compiled
from teachirl.mdp.kernels.components import arranged, strong_components
from teachirl.mdp.kernels.elimination import eliminate, space_for
from teachirl.mdp.kernels.layouts import sparse_layout
from teachirl.testing import mdps, weights
from test_planning import policy_iteration


def in_order(dynamics):
    """The dynamics by components, whether that pays or not."""
    rows = sparse_layout(dynamics)
    order, bounds = strong_components(rows.indptr[dynamics.offsets], rows.indices)
    *arrays, scale = arranged(rows, order, dynamics.discount)
    return Components(*arrays, order, bounds, scale, dynamics.start[order])


def forced(mdp):
    mdp.dynamics.__dict__["components"] = in_order(mdp.dynamics)
    return mdp


def never(mdp):
    """The same MDP, planned for as a whole."""
    d = mdp.dynamics
    other = ti.MDP.from_pairs(
        d.pair_states, d.actions, d.transitions, mdp.features, discount=d.discount, start=d.start
    )
    other.dynamics.__dict__["components"] = None
    return other


def assert_brackets(mdp, w, **options):
    plan = ti.optimal_policy(mdp, w, **options)
    optimum, reached = exact_optimum(mdp, w), exact_value(mdp, plan.policy, w)
    assert exact(plan.lower) <= reached <= optimum <= exact(plan.upper)
    return plan


def nearly_acyclic(rng, n, discount, back=0.05, loops=0.2, per_pair=False):
    """A random world whose moves lead ahead, but for a few; states have one to three actions."""
    states, rows = [], []
    for s in range(n):
        for _ in range(rng.integers(1, 4)):
            targets = rng.integers(min(s + 1, n - 1), min(s + 6, n), size=2)
            if rng.random() < back:
                targets[0] = rng.integers(max(0, s - 20), s + 1)
            row = np.zeros(n)
            np.add.at(row, targets, rng.dirichlet(np.ones(2)))
            if rng.random() < loops:
                row = 0.5 * row
                row[s] += 0.5
            states.append(s)
            rows.append(row)
    starts = np.searchsorted(states, np.arange(n))
    actions = np.arange(len(states)) - starts[states]
    phi = rng.normal(size=(len(states) if per_pair else n, 3))
    return ti.MDP.from_pairs(states, actions, sp.csr_array(np.array(rows)), phi, discount=discount)


@settings(max_examples=150)
@given(st.data())
def test_bounds_bracket_the_exact_optimum(data):
    mdp = forced(data.draw(mdps()))
    w = data.draw(weights(mdp.n_features))
    tolerance = data.draw(st.sampled_from([1e-10, 0.0, 1e-3]))
    rounds = data.draw(st.sampled_from([None, None, 0, 1, 2]))
    plan = assert_brackets(mdp, w, tolerance=tolerance, max_rounds=rounds)
    if rounds is None:
        whole = ti.optimal_policy(never(mdp), w, tolerance=tolerance)
        assert plan.status is not ti.PlanStatus.OUT_OF_ROUNDS
        assert abs(plan.value - whole.value) <= whole.upper - whole.lower + plan.upper - plan.lower
    else:
        assert plan.rounds <= rounds


@pytest.mark.parametrize("gamma", [0.5, 0.9, 0.99, 0.999])
@pytest.mark.parametrize("per_pair", [False, True])
def test_nearly_acyclic_worlds_agree_with_policy_iteration(gamma, per_pair):
    for trial in range(4):
        rng = np.random.default_rng([3, trial])
        mdp = nearly_acyclic(rng, 120, gamma, back=(0.0, 0.02, 0.1, 0.5)[trial], per_pair=per_pair)
        w = rng.normal(size=3)
        assert mdp.dynamics.components is not None
        plan, slow = ti.optimal_policy(mdp, w), policy_iteration(mdp, w)
        size = np.abs(slow).max()
        assert plan.status is ti.PlanStatus.OPTIMAL
        assert np.abs(plan.values - slow).max() <= 2e-10 * size
        assert plan.lower - 1e-12 * size <= mdp.start @ slow <= plan.upper + 1e-12 * size
        whole = ti.optimal_policy(never(mdp), w)
        assert np.array_equal(plan.policy.pairs, whole.policy.pairs)
        worst = ti.worst_policy(mdp, w)
        slow = policy_iteration(mdp, -w)
        assert np.abs(worst.values + slow).max() <= 2e-10 * np.abs(slow).max()


@pytest.mark.parametrize("gamma", [0.9, 0.999])
def test_components_in_which_elimination_gives_up(gamma):
    """Two garnets, the first of which leads to the second: their policies fill in."""
    parts = [ti.worlds.garnet(np.random.default_rng(i), 60, 3, 6, 2) for i in (0, 1)]
    first, second = (part.dynamics.transitions.toarray() for part in parts)
    rows = np.block([[0.9 * first, np.full((180, 60), 0.1 / 60)], [np.zeros((180, 60)), second]])
    states = np.repeat(np.arange(120), 3)
    phi = np.random.default_rng(2).normal(size=(120, 2))
    mdp = ti.MDP.from_pairs(states, np.tile([0, 1, 2], 120), rows, phi, discount=gamma)
    assert mdp.dynamics.components is None
    w = np.array([1.0, -0.5])
    plan, slow = ti.optimal_policy(forced(mdp), w), policy_iteration(mdp, w)
    assert plan.status is ti.PlanStatus.OPTIMAL
    assert np.abs(plan.values - slow).max() <= 2e-10 * np.abs(slow).max()


@compiled
def eliminated(layout, rewards, v, choice, discount):
    """Whether elimination succeeds, all states taken for one component."""
    n = v.size
    return eliminate(layout, rewards, v, choice, discount, 0, n, space_for(n))


@pytest.mark.parametrize("gamma", [5e-324, 0.5, 0.99, 1 - 1e-6])
def test_elimination_solves_what_a_dense_system_does(gamma):
    for trial in range(20):
        rng = np.random.default_rng([8, trial])
        n = int(rng.integers(1, 25))
        mdp = nearly_acyclic(rng, n, gamma, back=rng.random())
        layout = sparse_layout(mdp.dynamics)
        counts = np.diff(mdp.dynamics.offsets)
        choice = rng.integers(0, counts).astype(np.uint32)
        chosen = mdp.dynamics.offsets[:-1] + choice
        rewards, v = rng.normal(size=mdp.n_pairs), np.zeros(n)
        assert eliminated(layout, rewards, v, choice, gamma)
        system = np.eye(n) - gamma * mdp.dynamics.transitions.toarray()[chosen]
        assert np.abs(system @ v - rewards[chosen]).max() <= 1e-14 * n * np.abs(v).max()
        expected = np.linalg.solve(system, rewards[chosen])
        assert np.abs(v - expected).max() <= 1e-14 * n / (1 - gamma) * np.abs(v).max()


def test_elimination_gives_up_on_a_mixing_policy():
    mdp = ti.worlds.garnet(np.random.default_rng(0), 300, 2, 8, 1)
    v, rewards = np.zeros(300), np.ones(600)
    choice = np.zeros(300, np.uint32)
    assert not eliminated(sparse_layout(mdp.dynamics), rewards, v, choice, 0.9)


def test_which_worlds_are_planned_for_by_components():
    rng = np.random.default_rng(0)
    assert nearly_acyclic(rng, 50, 0.9).dynamics.components is not None
    assert ti.worlds.garnet(rng, 200, 4, 8, 2).dynamics.components is None
    for slip in (0.0, 0.3):
        assert ti.worlds.gridworld(8, 1, slip=slip).dynamics.components is None


def line(n, discount):
    """From each state on to the next, for sure or by half; the last stays."""
    s = np.arange(n)
    ahead = np.minimum(s + 1, n - 1)
    pairs = np.repeat(s, 2)
    rows = sp.csr_array(
        (
            np.column_stack([np.ones(n), np.zeros(n), 0.5 * np.ones(n), 0.5 * np.ones(n)]).ravel(),
            np.column_stack([ahead, s, ahead, s]).ravel(),
            np.arange(0, 4 * n + 1, 2),
        ),
        shape=(2 * n, n),
    )
    phi = np.zeros((n, 1))
    phi[-1] = 1.0
    return ti.MDP.from_pairs(pairs, np.tile([0, 1], n), rows, phi, discount=discount)


def test_a_long_line_of_single_states():
    n = 100_000
    mdp = line(n, 1 - 1e-4)
    components = mdp.dynamics.components
    assert components is not None and len(components.bounds) == n + 1
    plan = ti.optimal_policy(mdp, [1.0])
    assert plan.rounds == 1 and (plan.policy.pairs == 2 * np.arange(n)).all()
    expected = 1e4 * (1 - 1e-4) ** np.arange(n)[::-1]
    assert np.abs(plan.values - expected).max() <= 1e-7
    assert plan.status is ti.PlanStatus.OPTIMAL


def test_one_long_ring_is_one_component():
    n, gamma = 100_000, 1 - 1e-5
    s = np.arange(n)
    jumps = sp.csr_array((np.ones(2 * n), ((np.arange(2 * n)), np.repeat((s + 1) % n, 2))))
    phi = np.zeros((n, 1))
    phi[0] = 1.0
    mdp = ti.MDP.from_pairs(np.repeat(s, 2), np.tile([0, 1], n), jumps, phi, discount=gamma)
    plan = ti.optimal_policy(forced(mdp), [1.0])
    expected = gamma ** ((n - s) % n) / -np.expm1(n * np.log(gamma))
    assert np.abs(plan.values - expected).max() <= 1e-9 * expected.max()
    assert plan.lower <= expected.mean() * (1 + 1e-12)
    assert plan.upper >= expected.mean() * (1 - 1e-12)


@pytest.mark.parametrize("gamma", [5e-324, 1e-300, 0.5, 0.999, 1 - 1e-12])
def test_small_worlds_at_the_edges(gamma):
    """One state; a sink; states that nothing leads to; loops; all of them exact."""
    one = ti.MDP.from_arrays(np.ones((1, 2, 1)), [[2.0]], discount=gamma)
    rows = np.zeros((5, 2, 5))
    rows[0, 0, [0, 1]] = 0.5
    rows[0, 1, 2] = rows[1, 0, 0] = rows[1, 1, 2] = rows[2, :, 2] = 1
    rows[3, 0, [3, 4]] = [0.25, 0.75]
    rows[3, 1, 0] = rows[4, 0, 3] = rows[4, 1, 4] = 1
    phi = np.array([[0.3], [-0.7], [0.1], [1.0], [0.9]])
    five = ti.MDP.from_arrays(rows, phi, discount=gamma, start=[0.5, 0.5, 0, 0, 0])
    for mdp in (forced(one), forced(five)):
        for w in ([1.0], [-1.0], [0.0], [1e-200], [5e-324]):
            for tolerance in (1e-10, 0.0):
                plan = assert_brackets(mdp, w, tolerance=tolerance)
                assert plan.rounds <= by_components.MOST_ROUNDS


def test_ties_go_to_the_first_action():
    rng = np.random.default_rng(1)
    mdp = nearly_acyclic(rng, 40, 0.9)
    for w in (np.zeros(3), 5e-324 * np.ones(3)):
        plan = ti.optimal_policy(mdp, w)
        assert (plan.policy.pairs == mdp.dynamics.offsets[:-1]).all()
    rows = np.zeros((4, 3, 4))
    rows[0, 0, 1] = rows[0, 1, 2] = rows[0, 2, 1] = 1
    rows[1:3, :, 3] = rows[3, :, 3] = 1
    twins = ti.MDP.from_arrays(rows, [[0.0], [0.1], [0.1 + 1e-16], [1.0]], discount=0.9)
    assert ti.optimal_policy(forced(twins), [1.0]).policy.actions.tolist() == [0, 0, 0, 0]


def test_a_guess_is_a_head_start():
    mdp = nearly_acyclic(np.random.default_rng(4), 200, 0.99, back=0.3)
    w = np.array([1.0, 0.3, -0.4])
    cold = ti.optimal_policy(mdp, w)
    warm = ti.optimal_policy(mdp, w, guess=cold.values)
    assert warm.rounds < cold.rounds
    assert np.array_equal(cold.policy.pairs, warm.policy.pairs)
    wild = ti.optimal_policy(mdp, w, guess=np.where(np.arange(200) % 2, 1e308, -1e308))
    assert np.array_equal(cold.policy.pairs, wild.policy.pairs)
    plans = ti.optimal_policies(mdp, np.stack([w, -w]))
    assert np.array_equal(plans[0].policy.pairs, cold.policy.pairs)


def test_a_table_of_small_components_is_planned_for_by_them():
    n = 64
    targets = np.minimum(np.arange(n)[:, None] + [1, 2, 3, 4], n - 1)
    rows = np.zeros((n, 4, n))
    rows[np.arange(n)[:, None], np.arange(4), targets] = 1
    mdp = ti.MDP.from_arrays(rows, np.random.default_rng(0).normal(size=(n, 2)), discount=0.99)
    assert isinstance(mdp.dynamics.layout, Table) and mdp.dynamics.components is not None
    w = np.array([1.0, 2.0])
    slow = policy_iteration(mdp, w)
    plan = ti.optimal_policy(mdp, w)
    assert plan.rounds == 1
    assert np.abs(plan.values - slow).max() <= 1e-12 * np.abs(slow).max()


@pytest.mark.parametrize("gamma", [0.5, 0.99])
def test_what_is_certified_on_the_way_is_what_one_pass_certifies(gamma):
    # States on their own, some of which may stay where they are: each leads to earlier ones.
    rng = np.random.default_rng(3)
    n = 60
    rows = np.zeros((2 * n, n))
    for pair in range(2, 2 * n):
        ends = rng.integers(0, pair // 2 + pair % 2, size=3)
        np.add.at(rows[pair], np.minimum(ends, pair // 2), [0.5, 0.3, 0.2])
    rows[:2, 0] = 1.0
    states, actions = np.divmod(np.arange(2 * n), 2)
    mdp = ti.MDP.from_pairs(states, actions, rows, rng.standard_normal((n, 2)), discount=gamma)
    assert np.diff(mdp.dynamics.components.bounds).max() == 1
    w = rng.standard_normal(2)
    plan = ti.optimal_policy(mdp, w)
    again = ti.optimal_policy(mdp, w, guess=plan.values, max_rounds=0)
    assert again.policy.actions.tolist() == plan.policy.actions.tolist()
    assert np.abs(again.values - plan.values).max() < 1e-9
    assert abs(again.lower - plan.lower) < 1e-9 and abs(again.upper - plan.upper) < 1e-9
