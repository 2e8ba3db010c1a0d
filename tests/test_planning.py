import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import teachirl as ti
from exact import exact, exact_optimum, exact_value
from teachirl.mdp import kernels
from teachirl.mdp.kernels.layouts import sparse_layout
from teachirl.mdp.kernels.linear import APART, CHAINS, PAGE, stretch
from teachirl.testing import mdps, weights

PAPER_WEIGHTS = np.array([-1, -0.5, 0, 0.5, 1]) / np.linalg.norm([-1, -0.5, 0, 0.5, 1])


def policy_iteration(mdp, w):
    """The slow twin: Howard's, by dense linear systems, until nothing improves by 1e-13."""
    rewards = mdp.rewards(w)
    if not mdp.features_per_pair:
        rewards = rewards[mdp.dynamics.pair_states]
    rows, offsets = mdp.dynamics.transitions.toarray(), mdp.dynamics.offsets
    chosen = offsets[:-1].copy()
    while True:
        system = np.eye(mdp.n_states) - mdp.discount * rows[chosen]
        v = np.linalg.solve(system, rewards[chosen])
        worth = rewards + mdp.discount * (rows @ v)
        best = [a + np.argmax(worth[a:b]) for a, b in itertools.pairwise(offsets)]
        better = worth[best] > worth[chosen] + 1e-13 * np.abs(v).max()
        if not better.any():
            return v
        chosen = np.where(better, best, chosen)


def as_sparse(mdp):
    """The same MDP, its compact layout forgotten."""
    other = ti.MDP.from_pairs(
        mdp.dynamics.pair_states,
        mdp.dynamics.actions,
        mdp.dynamics.transitions,
        mdp.features,
        discount=mdp.discount,
        start=mdp.start,
    )
    other.dynamics.__dict__["layout"] = sparse_layout(other.dynamics)
    return other


def slip_of(mdp):
    return mdp.dynamics.layout.own


@settings(max_examples=200)
@given(st.data())
def test_bounds_bracket_the_exact_optimum(data):
    mdp = data.draw(mdps())
    w = data.draw(weights(mdp.n_features))
    tolerance = data.draw(st.sampled_from([1e-10, 0.0, 1e-3, 0.5]))
    plan = ti.optimal_policy(mdp, w, tolerance=tolerance)
    optimum, reached = exact_optimum(mdp, w), exact_value(mdp, plan.policy, w)
    assert exact(plan.lower) <= reached <= optimum <= exact(plan.upper)
    assert plan.lower <= plan.value <= plan.upper
    rewards = mdp.rewards(w)
    asked = tolerance * (rewards.max() - rewards.min()) / (1 - mdp.discount)
    if plan.status is ti.PlanStatus.OPTIMAL:
        assert plan.upper - plan.lower <= asked or np.ptp(rewards) == 0
    else:
        assert plan.status is ti.PlanStatus.ROUNDING
        size = np.linalg.norm(w) * mdp.largest_feature / (1 - mdp.discount)
        assert plan.upper - plan.lower <= 1e-13 / (1 - mdp.discount) * size


@pytest.mark.parametrize("slip", [0.0, 0.1, 0.3, 1 / 3, 0.7])
@pytest.mark.parametrize("gamma", [0.5, 0.9, 0.999])
def test_bounds_bracket_the_exact_optimum_of_compact_layouts(gamma, slip):
    mdp = ti.worlds.gridworld(3, 1, gamma, slip)
    assert isinstance(mdp.dynamics.layout, kernels.Table)
    for trial in range(3):
        w = np.random.default_rng([1, trial]).normal(size=9)
        for tolerance in (1e-10, 0.0):
            plan = ti.optimal_policy(mdp, w, tolerance=tolerance)
            optimum, reached = exact_optimum(mdp, w), exact_value(mdp, plan.policy, w)
            assert exact(plan.lower) <= reached <= optimum <= exact(plan.upper)
        assert plan.upper - plan.lower <= 1e-12 / (1 - gamma) ** 2


@settings(max_examples=60)
@given(st.data())
def test_worst_policy_brackets_the_exact_minimum(data):
    mdp = data.draw(mdps())
    w = data.draw(weights(mdp.n_features))
    plan = ti.worst_policy(mdp, w)
    minimum, reached = -exact_optimum(mdp, -w), exact_value(mdp, plan.policy, w)
    assert exact(plan.lower) <= minimum <= reached <= exact(plan.upper)


@settings(max_examples=60)
@given(st.data())
def test_stopped_early_the_bounds_still_hold(data):
    mdp = data.draw(mdps())
    w = data.draw(weights(mdp.n_features))
    plan = ti.optimal_policy(mdp, w, max_rounds=data.draw(st.integers(0, 2)))
    reached, optimum = exact_value(mdp, plan.policy, w), exact_optimum(mdp, w)
    assert exact(plan.lower) <= reached <= optimum <= exact(plan.upper)


@settings(max_examples=60)
@given(st.data())
def test_any_guess_leads_to_the_same_bounds(data):
    mdp = data.draw(mdps())
    w = data.draw(weights(mdp.n_features))
    scale = np.abs(mdp.rewards(w)).max() / (1 - mdp.discount) + 1e-3
    guess = scale * np.array(data.draw(st.lists(st.integers(-3, 3), min_size=6, max_size=6)))
    plan = ti.optimal_policy(mdp, w, guess=guess[: mdp.n_states])
    reached, optimum = exact_value(mdp, plan.policy, w), exact_optimum(mdp, w)
    assert exact(plan.lower) <= reached <= optimum <= exact(plan.upper)


def test_a_guess_that_is_right_needs_no_sweep():
    mdp = ti.worlds.gridworld(20, 2, slip=0.3)
    w = np.random.default_rng(0).normal(size=100)
    cold = ti.optimal_policy(mdp, w)
    warm = ti.optimal_policy(mdp, w, guess=cold.values)
    assert cold.rounds > 5 and warm.rounds <= 1
    assert np.array_equal(cold.policy.actions, warm.policy.actions)


@pytest.mark.parametrize(
    ("gamma", "best", "middle"), [(0.5, 0.3057, 0.1054), (0.9, 3.9240, 1.3242)]
)
def test_the_chain_of_figure_1(gamma, best, middle):
    mdp = ti.worlds.chain(5, discount=gamma)
    optimal, worst = ti.optimal_policy(mdp, PAPER_WEIGHTS), ti.worst_policy(mdp, PAPER_WEIGHTS)
    assert round(optimal.value, 4) == best
    assert round(worst.value, 4) == -best
    for actions, expected in (([1, 1, 1, 0, 0], middle), ([1, 1, 0, 0, 0], -middle)):
        policy = ti.Policy.deterministic(mdp, actions)
        assert round(PAPER_WEIGHTS @ ti.feature_expectations(mdp, policy), 4) == expected


def sutton_and_barto_grid(start=None):
    """Example 3.5: five by five; leaving A pays 10, leaving B 5, bumping into a wall −1."""
    targets, rewards = np.zeros((25, 4), dtype=int), np.zeros((25, 4))
    for s in range(25):
        for a, (down, right) in enumerate(((0, -1), (0, 1), (-1, 0), (1, 0))):
            row, column = s // 5 + down, s % 5 + right
            inside = 0 <= row < 5 and 0 <= column < 5
            targets[s, a] = row * 5 + column if inside else s
            rewards[s, a] = 0 if inside else -1
    targets[1], rewards[1] = 21, 10
    targets[3], rewards[3] = 13, 5
    transitions = np.zeros((25, 4, 25))
    transitions[np.arange(25)[:, None], np.arange(4), targets] = 1
    return ti.MDP.from_arrays(transitions, rewards[:, :, None], discount=0.9, start=start)


def test_sutton_and_bartos_grid():
    mdp = sutton_and_barto_grid()
    expected = """22.0 24.4 22.0 19.4 17.5 19.8 22.0 19.8 17.8 16.0 17.8 19.8 17.8 16.0 14.4
                  16.0 17.8 16.0 14.4 13.0 14.4 16.0 14.4 13.0 11.7"""
    values = ti.optimal_policy(mdp, [1.0]).values
    assert [f"{v:.1f}" for v in values] == expected.split()
    random = []
    for start in np.eye(25):
        there = sutton_and_barto_grid(start)
        random.append(ti.feature_expectations(there, ti.Policy.uniform(there))[0])
    expected = """3.3 8.8 4.4 5.3 1.5 1.5 3.0 2.3 1.9 0.5 0.1 0.7 0.7 0.4 -0.4
                  -1.0 -0.4 -0.4 -0.6 -1.2 -1.9 -1.3 -1.2 -1.4 -2.0"""
    assert [f"{v:.1f}" for v in random] == expected.split()


def test_mdptoolboxs_forest():
    wait = [[0.1, 0.9, 0], [0.1, 0, 0.9], [0.1, 0, 0.9]]
    cut = [[1, 0, 0]] * 3
    rewards = np.array([[0, 0], [0, 1], [4, 2]])[:, :, None]
    mdp = ti.MDP.from_arrays(np.stack([wait, cut], axis=1), rewards, discount=0.9)
    plan = ti.optimal_policy(mdp, [1.0])
    assert plan.values.round(3).tolist() == [26.244, 29.484, 33.484]
    assert plan.policy.actions.tolist() == [0, 0, 0]


WORLDS = {
    "sure": ti.worlds.gridworld(12, 2, 0.9),
    "slip": ti.worlds.gridworld(12, 2, 0.9, slip=0.3),
    "all slip": ti.worlds.gridworld(6, 2, 0.9, slip=1.0),
    "patient": ti.worlds.gridworld(12, 2, 0.99, slip=0.3),
    "very patient": ti.worlds.gridworld(8, 2, 0.999, slip=0.2),
    "very patient and sure": ti.worlds.gridworld(8, 2, 0.999),
    "chain": ti.worlds.chain(9),
    "forking chain": ti.worlds.chain(3, discount=0.999),
}


@pytest.mark.parametrize("name", WORLDS)
def test_every_layout_agrees_with_policy_iteration(name):
    mdp = WORLDS[name]
    for trial in range(5):
        w = np.random.default_rng([7, trial]).normal(size=mdp.n_features)
        plan, general = ti.optimal_policy(mdp, w), ti.optimal_policy(as_sparse(mdp), w)
        slow = policy_iteration(mdp, w)
        size = np.abs(slow).max()
        assert np.abs(plan.values - slow).max() <= 2e-10 * size
        assert np.abs(general.values - slow).max() <= 2e-10 * size
        assert plan.lower <= mdp.start @ slow + 1e-12 * size
        assert plan.upper >= mdp.start @ slow - 1e-12 * size


@pytest.mark.parametrize("branching", [3, 8])
@pytest.mark.parametrize("gamma", [0.9, 0.99, 0.999])
def test_in_a_world_that_mixes_fast_few_looks_at_all_actions_suffice(gamma, branching):
    mdp = ti.worlds.garnet(np.random.default_rng(7), 300, 4, branching, 10, discount=gamma)
    w = np.random.default_rng(8).normal(size=10)
    plan, slow = ti.optimal_policy(mdp, w), policy_iteration(mdp, w)
    assert plan.rounds <= 15  # without following a policy in between, 30 and more
    assert np.abs(plan.values - slow).max() <= 2e-10 * np.abs(slow).max()


def test_pair_rewards_on_every_layout():
    rng = np.random.default_rng(3)
    for world in ("sure", "slip", "chain"):
        base = WORLDS[world]
        mdp = base.with_features(rng.normal(size=(base.n_pairs, 3)))
        w = rng.normal(size=3)
        slow = policy_iteration(mdp, w)
        for candidate in (mdp, as_sparse(mdp)):
            values = ti.optimal_policy(candidate, w).values
            assert np.abs(values - slow).max() <= 1e-9 * np.abs(slow).max()


def test_the_structure_is_found():
    assert slip_of(WORLDS["sure"]) == 1.0
    assert slip_of(WORLDS["slip"]) == pytest.approx(0.7, abs=1e-14)
    assert slip_of(ti.worlds.chain(5)) == 1.0
    garnet = ti.worlds.garnet(np.random.default_rng(0), 50, 4, 3, 2)
    assert isinstance(garnet.dynamics.layout, kernels.Sparse)


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.sampled_from([0.1, 0.5, 0.999]))
def test_any_slip_mixture_is_found(seed, n_states, slip):
    rng = np.random.default_rng(seed)
    targets = rng.integers(0, n_states, size=(n_states, 4))
    rows = np.zeros((n_states, 4, n_states))
    for s in range(n_states):
        for a in range(4):
            rows[s, a, targets[s, a]] += 1 - slip
            for b in range(4):
                rows[s, a, targets[s, b]] += slip / 4
    # The first state must show how large the slip is; nothing else is asked of the world.
    mdp = ti.MDP.from_arrays(rows, np.ones((n_states, 1)), discount=0.9, first="state")
    layout = mdp.dynamics.layout
    if isinstance(layout, kernels.Table):
        assert np.array_equal(layout.successors, targets)
    else:
        assert len(set(targets[0])) == 1
    nearly = rows.copy()
    nearly[-1, 0] = 0.0
    nearly[-1, 0, targets[-1, 0]] = 1.0
    other = ti.MDP.from_arrays(nearly, np.ones((n_states, 1)), discount=0.9, first="state")
    if len(set(targets[-1])) > 1:
        assert isinstance(other.dynamics.layout, kernels.Sparse)


def test_of_tied_actions_the_first_wins():
    mdp = ti.worlds.gridworld(6, slip=0.3)
    for w in (np.zeros(36), np.ones(36)):
        plan = ti.optimal_policy(mdp, w)
        assert plan.policy.actions.tolist() == [0] * 36
    symmetric = np.zeros(9)
    symmetric[4] = 1.0  # the middle: from a corner, two moves are equally good
    actions = ti.optimal_policy(ti.worlds.gridworld(3), symmetric).policy.actions
    assert actions[[0, 2, 6, 8]].tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize("gamma", [0.5, 0.999, 1 - 1e-6])
def test_one_state(gamma):
    for n_actions in (1, 3):
        mdp = ti.MDP.from_arrays(np.ones((1, n_actions, 1)), [[2.0]], discount=gamma)
        plan = ti.optimal_policy(mdp, [1.5])
        assert plan.lower <= 3 / (1 - gamma) <= plan.upper
        assert plan.value == pytest.approx(3 / (1 - gamma), rel=1e-8)


@pytest.mark.parametrize("n_actions", [5, 16, 17, 300])
def test_many_actions(n_actions):
    rng = np.random.default_rng(n_actions)
    targets = rng.integers(0, 7, size=7 * n_actions)
    pairs = np.arange(7 * n_actions)
    mdp = ti.MDP.from_pairs(
        pairs // n_actions,
        pairs % n_actions,
        sp.csr_array((np.ones(len(pairs)), (pairs, targets)), shape=(len(pairs), 7)),
        rng.normal(size=(len(pairs), 2)),
        discount=0.9,
    )
    w = rng.normal(size=2)
    slow = policy_iteration(mdp, w)
    assert np.abs(ti.optimal_policy(mdp, w).values - slow).max() <= 1e-9 * np.abs(slow).max()


@pytest.mark.parametrize("world", ["sure", "slip", "patient", "chain"])
def test_many_rewards_at_once(world):
    mdp = WORLDS[world]
    rows = np.random.default_rng(11).normal(size=(70, mdp.n_features))
    rows[3], rows[5] = 0.0, rows[4]
    plans = ti.optimal_policies(mdp, rows)
    assert len(plans) == 70 and len(plans[2:5]) == 3
    for w, plan in zip(rows, plans, strict=True):
        single = ti.optimal_policy(mdp, w)
        width = single.upper - single.lower + plan.upper - plan.lower
        assert abs(single.value - plan.value) <= width
        assert plan.status is single.status
    assert plans.values.shape == (70, mdp.n_states)
    assert np.all(plans.lower <= plans.upper)
    assert len(ti.optimal_policies(mdp, np.empty((0, mdp.n_features)))) == 0


def test_relative_performance():
    mdp = ti.worlds.chain(5)
    best, worst = ti.optimal_policy(mdp, PAPER_WEIGHTS), ti.worst_policy(mdp, PAPER_WEIGHTS)
    assert ti.relative_performance(mdp, PAPER_WEIGHTS, best.policy) == pytest.approx(1, abs=1e-9)
    assert ti.relative_performance(mdp, PAPER_WEIGHTS, worst.policy) == pytest.approx(0, abs=1e-9)
    middle = ti.Policy.deterministic(mdp, [1, 1, 1, 0, 0])
    expected = (1.324162161278928 + 3.9239538435365153) / (2 * 3.9239538435365153)
    found = ti.relative_performance(mdp, 1e6 * PAPER_WEIGHTS, middle)
    assert found == pytest.approx(expected, rel=1e-9)
    assert ti.relative_performance(mdp, np.ones(5), middle) == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights": [1, 2]}, r"weights must have shape \(5,\)"),
        ({"weights": np.ones((2, 5))}, r"weights must have shape \(5,\)"),
        ({"weights": [1, 2, np.nan, 4, 5]}, "weights must be finite, got nan at index 2"),
        ({"weights": [1e308] * 5}, "too large to plan with"),
        ({"weights": np.ones(5), "tolerance": -1}, "tolerance is a fraction"),
        ({"weights": np.ones(5), "guess": np.ones(4)}, r"guess must have shape \(5,\), got \(4,\)"),
        ({"weights": np.ones(5), "guess": [0, 0, np.inf, 0, 0]}, "got inf at index 2"),
        ({"weights": ["a"] * 5}, "weights must be an array of real numbers"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ti.InvalidInputError, match=message):
        ti.optimal_policy(ti.worlds.chain(5), **arguments)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "slip"), [(1000, 0.0), (300, 0.3)])
def test_up_to_a_million_states(size, slip):
    mdp = ti.worlds.gridworld(size, 20, 0.9, slip)
    w = np.random.default_rng(0).normal(size=mdp.n_features)
    plan = ti.optimal_policy(mdp, w)
    mu = ti.feature_expectations(mdp, plan.policy)
    assert plan.lower <= w @ mu <= plan.upper
    assert abs(mu.sum() * 0.1 - 1) <= 1e-10
    hopes = (mdp.dynamics.transitions @ plan.values).reshape(-1, 4)
    backed_up = mdp.rewards(w) + 0.9 * hopes.max(axis=1)
    assert np.abs(backed_up - plan.values).max() <= 1e-9 * np.abs(plan.values).max()


def brackets(mdp, w, **options):
    plan = ti.optimal_policy(mdp, w, **options)
    optimum, reached = exact_optimum(mdp, w), exact_value(mdp, plan.policy, w)
    return exact(plan.lower) <= reached <= optimum <= exact(plan.upper)


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9])
def test_ties_made_by_rounding_do_not_keep_it_busy(gap):
    """Staying earns so much that r + γv rounds to v: a tie that exact arithmetic does not have."""
    rows = np.zeros((2, 3, 2))
    rows[0, 0, 0] = rows[0, 1, 1] = rows[0, 2, 0] = 1
    rows[1, :, 0] = 1
    rewards = np.array([[[0.38], [0.58], [-0.2]], [[0.72], [-0.42], [-0.42]]])
    mdp = ti.MDP.from_arrays(rows, rewards, discount=1 - gap)
    for tolerance in (1e-3, 0.0):
        plan = ti.optimal_policy(mdp, [1.0], tolerance=tolerance)
        assert plan.rounds < 500
        assert plan.status is not ti.PlanStatus.OUT_OF_ROUNDS
        assert brackets(mdp, [1.0], tolerance=tolerance)
    assert ti.optimal_policy(mdp, [1.0], tolerance=1e-3).policy.actions.tolist() == [1, 0]


def test_a_cycle_too_long_for_its_tolerance_ends_as_rounding():
    n = 20_000
    rows = sp.csr_array((np.ones(n), (np.arange(n), (np.arange(n) + 1) % n)), shape=(n, n))
    phi = np.full((n, 1), 0.1)
    phi[0] = 0.2
    mdp = ti.MDP.from_pairs(np.arange(n), np.zeros(n, int), rows, phi, discount=1 - 1 / n)
    plan = ti.optimal_policy(mdp, [1.0], tolerance=0.0)
    assert plan.status is ti.PlanStatus.ROUNDING
    # Σ over starts of the geometric series: 0.1/(1 − γ), and a tenth more once a turn.
    gamma = 1 - 1 / n
    expected = 0.1 / (1 - gamma) + 0.1 / (n * (1 - gamma))
    assert plan.lower <= expected * (1 + 1e-12)
    assert plan.upper >= expected * (1 - 1e-12)


def test_rows_that_are_nearly_a_slip_are_taken_as_they_are():
    own = 1e-5
    wrong = 0.9e-15 / own * np.array([1, 1, -1, -1])
    rows = np.zeros((5, 4, 5))
    for s in range(5):
        for a in range(4):
            rows[s, a, :4] = (1 - own) * (0.25 + (wrong if s else 0))
            rows[s, a, a] += own
    phi = [[1.0], [1.0], [-1.0], [-1.0], [0.0]]
    start = [0, 0.25, 0.25, 0.25, 0.25]
    mdp = ti.MDP.from_arrays(rows, phi, discount=0.9, start=start)
    assert brackets(mdp, [1.0]) and brackets(mdp, [1.0], tolerance=0.0)


@pytest.mark.parametrize("scale", [1e-320, 1e-310, 1e-200, 1e-170, 1e100])
def test_rewards_of_any_size(scale):
    rows = np.full((2, 2, 2), 0.5)
    for phi in ([[0.3, 0.1], [0.3, 0.1]], [[0.3, 0.1], [0.1, 0.2]]):
        mdp = ti.MDP.from_arrays(rows, phi, discount=0.9)
        assert brackets(mdp, [0.1 * scale, -0.3 * scale])
        mdp = ti.MDP.from_arrays(rows, np.array(phi) * scale, discount=0.9)
        assert brackets(mdp, [0.1, -0.3])
        assert mdp.largest_feature == pytest.approx(scale * np.linalg.norm(phi, axis=1).max())


def test_rewards_that_cancel():
    mdp = ti.MDP.from_arrays(
        np.full((2, 2, 2), 0.5), [[1e8 + 0.3, 1e8 - 0.7], [1e8 - 0.1, 1e8 + 0.9]], discount=0.9
    )
    assert brackets(mdp, [0.1, -0.1])


@pytest.mark.parametrize("units", [60, -60])
def test_a_start_and_rows_that_miss_one_by_rounding(units):
    start = np.full(2, 0.5) * (1 + units * 2**-52)
    mdp = ti.MDP.from_arrays(np.full((2, 17, 2), 0.5), [[1.0], [1.0]], discount=0.5, start=start)
    for guess in ([-2.0, -2.0], [2.0, 2.0], [9.0, -9.0]):
        assert brackets(mdp, [1.0], guess=guess)


def test_wild_guesses_do_no_harm():
    mdp = ti.worlds.gridworld(4, slip=0.3)
    w = np.random.default_rng(0).normal(size=16)
    plain = ti.optimal_policy(mdp, w)
    for guess in (np.full(16, 1e300), np.where(np.arange(16) % 2, 1e308, -1e308)):
        plan = ti.optimal_policy(mdp, w, guess=guess)
        assert plan.status is ti.PlanStatus.OPTIMAL
        assert abs(plan.value - plain.value) <= 1e-9
    worst = ti.worst_policy(mdp, w)
    assert ti.worst_policy(mdp, w, guess=worst.values).rounds <= 1
    rows = np.stack([w, -w])
    values = np.stack([plain.values, -worst.values])
    assert all(plan.rounds <= 1 for plan in ti.optimal_policies(mdp, rows, guess=values))


def test_a_constant_reward_is_optimal_at_once():
    plan = ti.optimal_policy(ti.worlds.gridworld(4, slip=0.3), np.ones(16))
    assert plan.status is ti.PlanStatus.OPTIMAL
    assert plan.lower <= 10.0 <= plan.upper


@pytest.mark.parametrize("rounds", [-1, 1.5, "many"])
def test_wrong_rounds(rounds):
    with pytest.raises(ti.InvalidInputError, match="max_rounds must be a whole number"):
        ti.optimal_policy(ti.worlds.chain(5), np.ones(5), max_rounds=rounds)


def test_a_world_is_no_mdp():
    world = ti.worlds.driving()
    with pytest.raises(
        ti.InvalidInputError, match=r"mdp must be an MDP, got World; pass its \.mdp"
    ):
        ti.optimal_policy(world, world.weights)
    with pytest.raises(ti.InvalidInputError, match="policy must be a Policy, got list"):
        ti.feature_expectations(world.mdp, [0, 1])


@pytest.mark.parametrize("discount", [5e-324, 1e-320, 1e-300, 1 - 1e-12])
def test_discounts_at_the_edges(discount):
    mdp = ti.worlds.chain(3, discount=discount)
    for last in (1.0, 5e-324, 1e-300):
        plan = ti.optimal_policy(mdp, [0, 0, last])
        assert plan.lower <= plan.value <= plan.upper
    if discount < 0.5:
        assert abs(ti.optimal_policy(mdp, [0, 0, 1.0]).value - 1 / 3) < 1e-12


@pytest.mark.parametrize("n", [*range(0, 200, 7), 4095, 4096, 128**2, 256**2, 1000**2, 512 * 3000])
def test_chains_of_a_sweep_do_not_get_in_each_others_way(n):
    length = int(stretch.py_func(np.uint64(n)))
    assert 0 <= n // CHAINS - length <= 16 and (length == n // CHAINS or n >= CHAINS * PAGE)
    for d in range(1, CHAINS if n >= CHAINS * PAGE else 0):
        assert APART <= d * length % PAGE <= PAGE - APART
