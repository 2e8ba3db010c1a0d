"""The bundle method against linear programs written down independently, and what it promises."""

from __future__ import annotations

import math

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import teachirl as ti
from teachirl.errors import InvalidInputError
from teachirl.guarantees.bounds import WorstCaseStatus
from teachirl.guarantees.solvers import blocks as module
from teachirl.guarantees.solvers import plans
from teachirl.guarantees.solvers.blocks import Blocks
from teachirl.guarantees.solvers.bundle import worst_case_by_bundle
from teachirl.guarantees.solvers.master import Master
from teachirl.mdp import evaluation, occupancy
from teachirl.mdp.right_hand_sides import Method
from teachirl.testing import mdps, policies, weights, worldviews
from teachirl.views.worldview import Worldview

shift = Master.shift
CHAIN_WEIGHTS = np.array([-2.0, -1.0, 0.0, 1.0, 2.0]) / math.sqrt(10.0)


def flow_of(mdp: ti.MDP):
    """[S, P]: what leaves a state less what enters it."""
    states = np.arange(mdp.n_states)[:, None] == mdp.dynamics.pair_states
    return states - mdp.discount * mdp.dynamics.transitions.toarray().T


def features_of_pairs(mdp: ti.MDP):
    """[P, k]"""
    features = mdp.features if isinstance(mdp.features, np.ndarray) else mdp.features.toarray()
    return features if mdp.features_per_pair else features[mdp.dynamics.pair_states]


def program(mdp: ti.MDP, view: Worldview, w, policy: ti.Policy) -> float:
    """The worst case by HiGHS, with the variable (1 − γ)(x − x_T), so that 0 is feasible."""
    away = 1.0 - mdp.discount
    phi = features_of_pairs(mdp)
    scale = float(np.abs(w).max()) or 1.0
    found = linprog(
        phi @ w / scale,
        A_eq=np.vstack([flow_of(mdp), view.basis @ phi.T]),
        b_eq=np.zeros(mdp.n_states + view.rank),
        bounds=np.stack([-away * ti.occupancy(mdp, policy), np.full(mdp.n_pairs, np.inf)], axis=1),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.status == 0, found.message
    return float(found.fun * scale / away + w @ ti.feature_expectations(mdp, policy))


def cone_program(mdp: ti.MDP, view: Worldview, w, policy: ti.Policy, mismatch: float) -> float:
    """The worst case by Clarabel, in the same variable, with the ball."""
    away, phi = 1.0 - mdp.discount, features_of_pairs(mdp)
    scale, n = float(np.abs(phi @ w).max()) or 1.0, mdp.n_pairs
    size = max(float(np.abs(view.matrix @ phi.T).max(initial=0.0)), away * mismatch)
    rows = [flow_of(mdp), -np.eye(n), np.zeros((1, n)), -view.matrix @ phi.T / size]
    right = [
        np.zeros(mdp.n_states),
        away * ti.occupancy(mdp, policy),
        [away * mismatch / size],
        np.zeros(view.n_rows),
    ]
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_feas = options.tol_gap_abs = options.tol_gap_rel = 1e-11
    cones = [
        clarabel.ZeroConeT(mdp.n_states),
        clarabel.NonnegativeConeT(n),
        clarabel.SecondOrderConeT(view.n_rows + 1),
    ]
    square, table = sp.csc_matrix((n, n)), sp.csc_matrix(np.vstack(rows))
    solver = clarabel.DefaultSolver(
        square, phi @ w / scale, table, np.concatenate(right), cones, options
    )
    found = solver.solve()
    assert found.status in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved)
    return float(found.obj_val * scale / away + w @ ti.feature_expectations(mdp, policy))


def size_of(mdp: ti.MDP, w) -> float:
    """What returns could be if w and the features were parallel: rounding is relative to it."""
    return float(np.linalg.norm(w)) * mdp.largest_feature / (1.0 - mdp.discount) + 1e-300


def span_of(mdp: ti.MDP, w) -> float:
    return ti.optimal_policy(mdp, w).value - ti.worst_policy(mdp, w).value


def check_witness(mdp: ti.MDP, view: Worldview, w, target, mismatch: float, found) -> None:
    """The witness is a policy with that occupancy, reward and mismatch."""
    assert found.witness is not None and found.occupancy is not None
    mu = ti.feature_expectations(mdp, found.witness)
    assert found.upper == pytest.approx(float(w @ mu), abs=1e-8 * size_of(mdp, w))
    reach = mdp.largest_feature / (1.0 - mdp.discount)
    room = 1e-9 * np.linalg.norm(view.matrix, axis=1) * reach
    off = np.abs(view.matrix @ (mu - target))
    if mismatch:
        assert np.linalg.norm(off) <= mismatch + np.linalg.norm(room)
    else:
        assert (off <= room).all()
    assert found.matched == pytest.approx(float(np.linalg.norm(off)), abs=np.linalg.norm(room))


@pytest.mark.parametrize(
    ("discount", "of_best", "of_zero"), [(0.5, -0.3057, -0.1054), (0.9, -3.9240, -1.3242)]
)
def test_the_chain_of_figure_1(discount, of_best, of_zero):
    mdp = ti.worlds.chain(5, discount=discount)
    view = Worldview.select(mdp, ["cell 3"])
    best = ti.optimal_policy(mdp, CHAIN_WEIGHTS).policy
    # π₀ of the paper goes right in the middle cell and towards it elsewhere.
    zero = ti.Policy.deterministic(mdp, [1, 1, 1, 0, 0])
    for policy, expected in ((best, of_best), (zero, of_zero)):
        mu = ti.feature_expectations(mdp, policy)
        for given_policy in (policy, None):
            found = worst_case_by_bundle(mdp, view, CHAIN_WEIGHTS, mu, policy=given_policy)
            assert found.lower == pytest.approx(expected, abs=5e-5)
            assert found.upper == pytest.approx(expected, abs=5e-5)
            assert found.status is WorstCaseStatus.OPTIMAL
            check_witness(mdp, view, CHAIN_WEIGHTS, mu, 0.0, found)


@given(st.data())
@settings(max_examples=150)
def test_it_brackets_the_linear_program(data):
    mdp = data.draw(mdps(discounts=(0.5, 0.9, 0.99)))
    view = Worldview(data.draw(worldviews(mdp.n_features)))
    w = data.draw(weights(mdp.n_features))
    policy = data.draw(policies(mdp))
    blocks = data.draw(st.sampled_from((1, 2, 64)))
    mu = ti.feature_expectations(mdp, policy)
    known = data.draw(st.booleans())
    found = worst_case_by_bundle(
        mdp, view, w, mu, policy=policy if known else None, tolerance=1e-6, blocks=blocks
    )
    exact, doubt = program(mdp, view, w, policy), 1e-8 * size_of(mdp, w)
    assert found.status is WorstCaseStatus.OPTIMAL
    assert found.lower - doubt <= exact <= found.upper + doubt
    assert found.upper - found.lower <= 1e-6 * span_of(mdp, w) + doubt
    check_witness(mdp, view, w, mu, 0.0, found)


@given(st.data())
@settings(max_examples=100)
def test_it_brackets_the_cone_program(data):
    mdp = data.draw(mdps(discounts=(0.5, 0.9)))
    view = Worldview(data.draw(worldviews(mdp.n_features)))
    w = data.draw(weights(mdp.n_features))
    policy = data.draw(policies(mdp))
    mismatch = data.draw(st.sampled_from((0.01, 0.3, 2.0, 1e6)))
    mu = ti.feature_expectations(mdp, policy)
    known = data.draw(st.booleans())
    found = worst_case_by_bundle(
        mdp, view, w, mu, mismatch, policy=policy if known else None, tolerance=1e-4
    )
    exact, doubt = cone_program(mdp, view, w, policy, mismatch), 1e-7 * size_of(mdp, w)
    assert found.status is WorstCaseStatus.OPTIMAL
    assert found.lower - doubt <= exact <= found.upper + doubt
    assert found.upper - found.lower <= 1e-4 * span_of(mdp, w) + doubt
    check_witness(mdp, view, w, mu, mismatch, found)


@pytest.mark.parametrize("slip", [0.0, 0.3])
@pytest.mark.parametrize("rows", [3, 12])
def test_a_grid_against_the_linear_program(rows, slip):
    mdp = ti.worlds.gridworld(8, 2, slip=slip)
    rng = np.random.default_rng([rows, int(10 * slip)])
    view = Worldview(rng.standard_normal((rows, mdp.n_features)))
    w = rng.standard_normal(mdp.n_features)
    for policy in (ti.optimal_policy(mdp, w).policy, ti.Policy.uniform(mdp)):
        mu = ti.feature_expectations(mdp, policy)
        found = worst_case_by_bundle(mdp, view, w, mu, policy=policy, tolerance=1e-5)
        exact = program(mdp, view, w, policy)
        assert found.status is WorstCaseStatus.OPTIMAL
        assert found.lower - 1e-9 <= exact <= found.upper + 1e-9
        assert found.upper - found.lower <= 1e-5 * span_of(mdp, w)
        check_witness(mdp, view, w, mu, 0.0, found)


def problem(rows: int = 6):
    mdp = ti.worlds.gridworld(8, 2)
    rng = np.random.default_rng(rows)
    view = Worldview(rng.standard_normal((rows, mdp.n_features)))
    w = rng.standard_normal(mdp.n_features)
    policy = ti.optimal_policy(mdp, w).policy
    return mdp, view, w, policy, ti.feature_expectations(mdp, policy)


def test_out_of_solves_the_bounds_still_hold():
    mdp, view, w, policy, mu = problem()
    exact = program(mdp, view, w, policy)
    widths = []
    for max_solves in (1, 5, 8, 100):
        found = worst_case_by_bundle(mdp, view, w, mu, policy=policy, max_solves=max_solves)
        assert found.lower <= exact + 1e-9 and exact <= found.upper + 1e-9
        check_witness(mdp, view, w, mu, 0.0, found)
        widths.append(found.upper - found.lower)
        optimal = found.status is WorstCaseStatus.OPTIMAL
        assert optimal == (widths[-1] <= 1e-6 * span_of(mdp, w))
    assert not widths[0] <= 1e-6 * span_of(mdp, w)
    assert widths[3] <= 1e-6 * span_of(mdp, w)
    assert widths == sorted(widths, reverse=True)


def test_theta_proves_the_lower_bound():
    mdp, view, w, policy, mu = problem()
    for mismatch in (0.0, 0.1):
        found = worst_case_by_bundle(mdp, view, w, mu, mismatch, policy=policy)
        least = ti.worst_policy(mdp, w - view.matrix.T @ found.theta).lower
        proved = least + found.theta @ (view.matrix @ mu) - mismatch * np.linalg.norm(found.theta)
        assert proved == pytest.approx(found.lower, abs=1e-8)


def test_the_best_case_is_the_worst_of_the_opposite():
    mdp, view, w, policy, mu = problem()
    worst = worst_case_by_bundle(mdp, view, w, mu, policy=policy)
    best = worst_case_by_bundle(mdp, view, -w, mu, policy=policy, maximise=True)
    assert (best.lower, best.upper) == (-worst.upper, -worst.lower)
    assert worst_case_by_bundle(
        mdp, view, w, mu, policy=policy, maximise=True
    ).upper == pytest.approx(float(w @ mu), abs=1e-5)  # nothing beats an optimal policy


def test_a_target_that_no_policy_has_is_proved_infeasible():
    mdp, view, w, _, mu = problem()
    for far in (1.5 * mu, mu + 1.0):
        found = worst_case_by_bundle(mdp, view, w, far)
        assert found.status is WorstCaseStatus.INFEASIBLE
        assert found.lower == found.upper == math.inf
        # (★) exceeds what any policy can earn: that is the proof.
        least = ti.worst_policy(mdp, w - view.matrix.T @ found.theta).lower
        assert least + found.theta @ (view.matrix @ far) > ti.optimal_policy(mdp, w).upper
    near = worst_case_by_bundle(mdp, view, w, mu + 1e-3, mismatch=0.1)
    assert near.status is WorstCaseStatus.OPTIMAL


def test_seeing_everything_leaves_nothing_to_fear_and_nothing_everything():
    mdp, _, w, policy, mu = problem()
    everything = Worldview(np.eye(mdp.n_features))
    found = worst_case_by_bundle(mdp, everything, w, mu, policy=policy)
    assert found.lower == pytest.approx(float(w @ mu), abs=1e-6 * span_of(mdp, w))
    nothing = Worldview(np.zeros((2, mdp.n_features)))
    for mismatch in (0.0, 1.0):
        found = worst_case_by_bundle(mdp, nothing, w, mu, mismatch, policy=policy)
        least = ti.worst_policy(mdp, w)
        assert found.lower == pytest.approx(least.value, abs=1e-8)
        assert found.upper == pytest.approx(least.value, abs=1e-8)
        assert found.theta.shape == (2,)


def test_scaling_rows_changes_nothing_without_mismatch():
    mdp, view, w, policy, mu = problem()
    scales = 10.0 ** np.arange(-12, 12, 4)
    scaled = Worldview(view.matrix * scales[:, None])
    one = worst_case_by_bundle(mdp, view, w, mu, policy=policy)
    other = worst_case_by_bundle(mdp, scaled, w, mu, policy=policy)
    width = 1e-6 * span_of(mdp, w)
    assert other.status is WorstCaseStatus.OPTIMAL
    assert other.lower <= one.upper + width and one.lower <= other.upper + width


@pytest.mark.parametrize("wide", [module.WIDE, 0])  # by visits, where there are few blocks
@pytest.mark.parametrize("slip", [0.0, 0.3])
@pytest.mark.parametrize("count", [1, 5, 1000])
def test_block_columns_are_parts_of_the_feature_expectations(count, slip, wide, monkeypatch):
    monkeypatch.setattr("teachirl.guarantees.solvers.blocks.WIDE", wide)
    rng = np.random.default_rng(3)
    start = rng.random(36) * (rng.random(36) < 0.5)
    mdp = ti.worlds.gridworld(6, 2, slip=slip, start=start / start.sum())
    dense = mdp.with_features(rng.standard_normal((mdp.n_pairs, 4)))
    for world in (mdp, dense):
        directions = rng.standard_normal((3, world.n_features))
        blocks = Blocks(world, directions, count)
        assert blocks.count == min(count, np.count_nonzero(start))
        assert blocks.masses.sum() == pytest.approx(1.0)
        plan = ti.optimal_policy(world, rng.standard_normal(world.n_features))
        for policy in (plan.policy, ti.Policy.uniform(world)):
            columns = blocks.columns(policy)
            mu = ti.feature_expectations(world, policy)
            np.testing.assert_allclose(columns.sum(axis=0), directions @ mu, atol=1e-11)
            # One block alone, through its visits.
            shares = np.zeros(blocks.count)
            shares[-1] = 1.0
            visits = blocks.visits(policy, shares)
            if world.features_per_pair:
                visits = visits[world.dynamics.pair_states] * policy.probabilities
            np.testing.assert_allclose(
                columns[-1], directions @ (world.features.T @ visits), atol=1e-11
            )


@pytest.mark.parametrize("count", [1, 2])
def test_visits_of_few_blocks_give_what_values_give(count, monkeypatch):
    rng = np.random.default_rng(4)
    start = rng.random(36) * (rng.random(36) < 0.5)
    mdp = ti.worlds.gridworld(6, 2, slip=0.3, start=start / start.sum())
    shares = rng.random(count)
    for world in (mdp, mdp.with_features(rng.standard_normal((mdp.n_pairs, 4)))):
        directions = rng.standard_normal((9, world.n_features))
        plan = ti.optimal_policy(world, rng.standard_normal(world.n_features))
        for policy in (plan.policy, ti.Policy.uniform(world)):
            found = []
            for many in (1, 100):  # by visits, then by values
                monkeypatch.setattr(module, "MANY", many)
                blocks = Blocks(world, directions, count)
                columns = blocks.columns(policy)
                found.append((columns, blocks.blend({0: policy}, {0: shares})))
            np.testing.assert_allclose(found[0][0], found[1][0], atol=1e-11)
            np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-12)


@pytest.mark.parametrize("many_states", [0, 1000])  # those alone that are reached, and all
@pytest.mark.parametrize("per_pair", [False, True])
def test_visits_of_few_states_are_summed_by_what_directions_give_them(
    per_pair, many_states, monkeypatch
):
    monkeypatch.setattr(occupancy, "MANY_STATES", many_states)
    rng = np.random.default_rng(5)
    mdp = ti.worlds.gridworld(6, 2, slip=0.3, start=np.eye(36)[:2].mean(axis=0))
    rows = mdp.n_pairs if per_pair else mdp.n_states
    world = mdp.with_features(rng.standard_normal((rows, 12)))
    directions, w = rng.standard_normal((9, 12)), rng.standard_normal(12)
    best = ti.optimal_policy(world, w).policy
    for policy in (best, ti.Policy.uniform(world)):
        quick, slow = Blocks(world, directions, 2), Blocks(world, directions, 2)
        assert quick._tabled
        slow._tabled = False
        np.testing.assert_allclose(quick.columns(policy), slow.columns(policy), atol=1e-11)
        mu = ti.feature_expectations(world, policy)
        np.testing.assert_allclose(quick.columns(policy).sum(axis=0), directions @ mu, atol=1e-11)
        whole = occupancy.state_occupancy(world, policy)
        np.testing.assert_allclose(quick.visits(policy, np.ones(2)), whole, atol=1e-11)


def test_what_policies_were_worth_is_a_guess_at_the_next_plan(monkeypatch):
    """It is the best of their own values, below the optimal ones, and changes no result."""
    monkeypatch.setattr(plans, "NEAR", 3)
    monkeypatch.setattr(module, "EASY", ())
    mdp = ti.worlds.garnet(np.random.default_rng(6), 60, 3, 4, 12)
    rng = np.random.default_rng(7)
    view, w = Worldview(rng.standard_normal((3, 12))), rng.standard_normal(12)
    blocks, past = Blocks(mdp, np.vstack([view.basis, w]), 60), plans.Past()
    assert past.best(np.ones(3)) is None
    policies = [ti.optimal_policy(mdp, rng.standard_normal(12)).policy for _ in range(5)]
    for policy in policies:
        blocks.columns(policy)
        assert blocks.values is not None
        past.add(blocks.values)
    theta = rng.standard_normal(3)
    reward = mdp.rewards(view.basis.T @ theta - w)
    worth = [
        np.linalg.solve(
            np.eye(60) - mdp.discount * occupancy.policy_transitions(mdp, policy).toarray(), reward
        )
        for policy in policies[-3:]
    ]
    np.testing.assert_allclose(past.best(theta), np.max(worth, axis=0), atol=1e-9)
    best = ti.optimal_policy(mdp, view.basis.T @ theta - w).values
    assert np.all(past.best(theta) <= best + 1e-6)
    shown = ti.optimal_policy(mdp, w).policy
    mu = ti.feature_expectations(mdp, shown)
    with_them = worst_case_by_bundle(mdp, view, w, mu, policy=shown)
    monkeypatch.setattr(module, "EASY", tuple(Method))
    without = worst_case_by_bundle(mdp, view, w, mu, policy=shown)
    assert with_them.status is without.status is WorstCaseStatus.OPTIMAL
    width = 1e-6 * span_of(mdp, w)
    assert abs(with_them.lower - without.lower) <= width
    assert abs(with_them.upper - without.upper) <= width


@pytest.mark.parametrize("rough", [0.0, 0.005, 5.0])
@pytest.mark.parametrize("mismatch", [0.0, 0.1])
@pytest.mark.parametrize("name", ["garnet", "slip"])
def test_columns_that_are_known_roughly_give_the_same_worst_case(
    name, mismatch, rough, monkeypatch
):
    """What they miss is corrected: the witness matches to rounding, as with exact columns."""
    monkeypatch.setattr(plans, "ROUGH", rough)
    monkeypatch.setattr(evaluation, "SMALL", 0)
    corrected = []
    monkeypatch.setattr(Master, "shift", lambda *given: corrected.append(shift(*given)))
    rng = np.random.default_rng(5)
    mdp = ti.worlds.garnet(rng, 300, 3, 8, 12)
    if name == "slip":
        mdp = ti.worlds.gridworld(16, 4, slip=0.3)
    w, view = rng.standard_normal(mdp.n_features), Worldview(rng.random((4, mdp.n_features)))
    best, worst = ti.optimal_policy(mdp, w), ti.worst_policy(mdp, w)
    mu, tolerance = ti.feature_expectations(mdp, best.policy), 1e-4
    terms = mdp, view, w, mu, mismatch
    found = worst_case_by_bundle(*terms, policy=best.policy, tolerance=tolerance)
    exact = ti.worst_case(mdp, view, w, best.policy, mismatch, method="cone", tolerance=1e-6)
    span = best.value - worst.value
    assert found.status is WorstCaseStatus.OPTIMAL
    assert found.lower - 1e-6 * span <= exact.upper and exact.lower <= found.upper + 1e-6 * span
    assert found.upper - found.lower <= tolerance * span
    mine = ti.feature_expectations(mdp, found.witness)
    off = float(np.linalg.norm(view.matrix @ (mine - mu)))
    assert off <= mismatch + 1e-8 * np.linalg.norm(view.matrix) / (1.0 - mdp.discount)
    assert w @ mine <= found.upper + 1e-9
    if name == "garnet" and mismatch == 0.0 and rough in (0.0, 5.0):
        assert bool(corrected) == (rough == 5.0)


def test_a_blend_is_linear_in_its_shares():
    rng = np.random.default_rng(6)
    mdp = ti.worlds.garnet(rng, 100, 3, 6, 5)
    blocks = Blocks(mdp, np.eye(5), 4)
    used = {i: ti.optimal_policy(mdp, rng.standard_normal(5)).policy for i in range(3)}
    first = dict(enumerate(rng.dirichlet(np.ones(3), 4).T))
    second = dict(enumerate(rng.dirichlet(np.ones(3), 4).T))
    change = {i: second[i] - first[i] for i in used}
    found = blocks.blend(used, first) + blocks.blend(used, change, 1e-13)
    np.testing.assert_allclose(found, blocks.blend(used, second), atol=1e-11)


@pytest.mark.parametrize("limit", [10_000, 64])
@pytest.mark.parametrize("seed", range(6))
def test_the_master_problem_satisfies_its_optimality_conditions(seed, limit):
    rng = np.random.default_rng(seed)
    size, blocks = 5, 4
    master = Master(size, blocks, limit)
    held: list[tuple[np.ndarray, np.ndarray]] = []
    for source in range(30):
        columns, cost = rng.integers(-3, 4, (blocks, size)) * 1.0, rng.standard_normal(blocks)
        if source % 3 == 2:  # the same again
            columns, cost = held[-1]
        held.append((columns, cost))
        master.add(columns, cost, np.arange(blocks), source)
        centre, t = rng.standard_normal(size), float(10.0 ** rng.integers(-3, 4))
        value = master.solve(centre, t, 1e-10)
        sources, owners, shares = master.shares()
        assert (shares > 0).all()
        np.testing.assert_allclose(np.bincount(owners, shares, blocks), 1.0, atol=1e-12)
        r = sum(share * held[i][0][g] for i, g, share in zip(sources, owners, shares, strict=True))
        np.testing.assert_allclose(master.residual, r, atol=1e-12)
        np.testing.assert_allclose(master.theta, centre - t * r, atol=1e-9 * max(t, 1.0))
        # Those in use are the cheapest of their block at theta, of all that were not dropped.
        reduced = np.array([cost - columns @ master.theta for columns, cost in held])
        room = 1e-8 * max(t, 1.0)
        for g in range(blocks):
            assert reduced[sources[owners == g], g] == pytest.approx(master.least(g), abs=room)
        if limit == 10_000:
            assert value == pytest.approx(float(reduced.min(axis=0).sum()), abs=room)
    assert master.count <= limit
    assert (master.count == 4 * 30) == (limit == 10_000)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": np.ones((2, 16))}, "weights must have shape"),
        ({"expectations": np.ones((2, 16))}, "expectations must have shape"),
        ({"mismatch": -1.0}, "mismatch must be non-negative, got -1.0"),
        ({"mismatch": math.nan}, "mismatch must be non-negative, got nan"),
        ({"tolerance": 0.0}, "tolerance must be positive, got 0.0"),
        ({"max_solves": 0}, "max_solves must be at least 1, got 0"),
        ({"blocks": 0}, "blocks must be at least 1, got 0"),
        ({"view": Worldview(np.eye(3))}, "the worldview is on 3 features"),
        ({"policy": ti.Policy.uniform(ti.worlds.chain(5))}, "policy must belong to the MDP"),
    ],
)
def test_mistakes_are_named(change, message):
    mdp, view, w, policy, mu = problem()
    arguments = {
        "mdp": mdp,
        "view": view,
        "weights": w,
        "expectations": mu,
        "policy": policy,
        **change,
    }
    with pytest.raises(InvalidInputError, match=message):
        worst_case_by_bundle(**arguments)


def test_a_ball_far_from_the_only_policy_does_not_stall():
    """Pivots for gains below rounding used to go on to their limit in every master problem."""
    mdp = ti.MDP.from_arrays(
        np.ones((1, 1, 1)), [[-111.28550157550994, -0.032168675521965166]], discount=0.999
    )
    view = Worldview([[0.0, -2.0], [5309.896774750453, -1424.6757181420307], [0.0, 1.0]])
    target, w = [-141394.45557675045, 45571.36193842837], [-0.5544991803177468, 0.8398538303253182]
    pivots = []
    solve = Master.solve

    def counted(self, *arguments):
        before = self.pivots
        value = solve(self, *arguments)
        pivots.append(self.pivots - before)
        return value

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Master, "solve", counted)
        found = worst_case_by_bundle(mdp, view, w, target, 224845703.59320006)
    assert max(pivots) < 100
    truth = float(np.array(w) @ ti.feature_expectations(mdp, ti.Policy.uniform(mdp)))
    assert found.lower <= truth
    auto = ti.worst_case(mdp, view, w, ti.Demonstration(target), 224845703.59320006)
    assert auto.status is ti.WorstCaseStatus.OPTIMAL
    assert auto.lower <= truth <= auto.upper


def test_a_master_that_rounding_leads_off_is_left(monkeypatch):
    mdp = ti.worlds.chain(5)
    shown = ti.feature_expectations(mdp, ti.optimal_policy(mdp, CHAIN_WEIGHTS).policy)
    view = ti.Worldview.select(mdp, ["cell 5"])
    exact = worst_case_by_bundle(mdp, view, CHAIN_WEIGHTS, shown)

    def lost(self, *_):
        self.theta[:] = self.residual[:] = np.nan
        return np.nan

    monkeypatch.setattr(Master, "solve", lost)
    found = worst_case_by_bundle(mdp, view, CHAIN_WEIGHTS, shown)
    assert found.status is WorstCaseStatus.INACCURATE
    assert found.lower <= exact.upper and found.upper == np.inf


@pytest.mark.parametrize("digits", [8, 10, 12])
@pytest.mark.parametrize("rows", [[0], [1], [0, 1], [1, 2]])
def test_where_rounding_is_in_the_way_it_ends_soon(digits, rows):
    """Near γ = 1 rounding is more than what is asked for, and no number of solves helps."""
    mdp, w = ti.worlds.chain(5, discount=1.0 - 10.0**-digits), np.array([-1.0, 0, 0, 0, 1])
    right = ti.Policy.deterministic(mdp, [1, 1, 1, 1, 0])
    mu = ti.feature_expectations(mdp, right)
    found = worst_case_by_bundle(mdp, ti.Worldview.select(mdp, rows), w, mu, policy=right)
    assert found.lower <= found.upper
    assert found.solves < 50


def test_what_is_enough_is_proved_with_fewer_plans_and_no_witness():
    rng = np.random.default_rng(3)
    mdp = ti.worlds.gridworld(10, 2)
    w, view = rng.normal(size=25), ti.Worldview(rng.normal(size=(8, 25)))
    policy = ti.optimal_policy(mdp, w).policy
    mu = ti.feature_expectations(mdp, policy)
    whole = worst_case_by_bundle(mdp, view, w, mu, policy=policy)
    bar = whole.lower - 0.05 * (w @ mu - whole.lower)
    found = worst_case_by_bundle(mdp, view, w, mu, policy=policy, enough=bar)
    assert bar - 1e-9 <= found.lower <= whole.upper
    assert found.solves < whole.solves and found.witness is None
    out_of_reach = worst_case_by_bundle(mdp, view, w, mu, policy=policy, enough=w @ mu)
    assert (out_of_reach.lower, out_of_reach.upper) == (whole.lower, whole.upper)


def test_features_that_add_up_to_a_constant_can_be_matched():
    """A car is slow, medium or fast. What all policies have the same of is known exactly, although
    plans on the way are evaluated only roughly; else no mixture of them would match."""
    world = ti.worlds.driving(sight=1)
    mdp, weights = world.mdp, world.weights
    best = ti.optimal_policy(mdp, weights)
    mu = ti.feature_expectations(mdp, best.policy)
    found = [
        worst_case_by_bundle(mdp, Worldview.select(mdp, sees), weights, mu, policy=best.policy)
        for sees in (["slow", "medium", "fast"], ["slow", "medium"])
    ]
    assert [each.status for each in found] == [WorstCaseStatus.OPTIMAL] * 2
    assert found[0].lower == pytest.approx(found[1].lower, rel=1e-5)
    assert found[0].witness is not best.policy
