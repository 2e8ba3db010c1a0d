"""Demonstrations against slow twins: walks, sums and bounds computed one step at a time."""

import doctest
import itertools
import json
import math
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

from teachirl import MDP, FileFormatError, InvalidInputError, Policy, Worldview, worlds
from teachirl.demonstrations import error_bounds, trajectory_files
from teachirl.demonstrations.demonstration import (
    Demonstration,
    as_demonstration,
)
from teachirl.demonstrations.error_bounds import (
    bernstein_radius,
    confidence_radius,
    feature_diameter,
    hoeffding_radius,
)
from teachirl.demonstrations.row_errors import mean_at_least
from teachirl.demonstrations.sampling import sample_trajectories
from teachirl.demonstrations.trajectories import Trajectories, check_trajectories
from teachirl.demonstrations.trajectory_files import read_trajectories, write_trajectories
from teachirl.mdp.terminal import terminal_states


def small_world(kind="state", *, sparse=False, discount=0.8, terminal=True, seed=3):
    """Four random states and one more, a sink; states 0 and 3 lack actions."""
    rng = np.random.default_rng(seed)
    available = np.array([[1, 1, 0], [1, 1, 1], [1, 1, 1], [0, 0, 1], [1, 1, 0]], dtype=bool)
    transitions = rng.dirichlet(np.full(5, 0.4), size=(5, 3))
    transitions[transitions < 0.03] = 0.0
    transitions /= transitions.sum(axis=2, keepdims=True)
    transitions[4] = np.eye(5)[4]
    shape = (5, 3) if kind == "state" else (5, 3, 3)
    features = rng.normal(size=shape) * (rng.random(shape) < 0.7)
    features[4] = 0.0 if terminal else 1.0
    start = [0.5, 0.3, 0.0, 0.2, 0.0]
    if kind == "pair":
        features = features.reshape(15, 3)[available.ravel()]
    if sparse:
        features = sp.csr_array(features)
    elif kind == "pair":
        full = np.zeros((15, 3))
        full[available.ravel()] = features
        features = full.reshape(5, 3, 3)
    return MDP.from_arrays(
        transitions, features, discount=discount, start=start, available=available
    )


def random_policy(mdp, seed=5):
    rng = np.random.default_rng(seed)
    matrix = np.zeros((mdp.n_states, mdp.n_actions))
    matrix[mdp.dynamics.pair_states, mdp.dynamics.actions] = rng.random(mdp.n_pairs)
    return Policy.from_matrix(mdp, matrix / matrix.sum(axis=1, keepdims=True))


def pair_features(mdp):
    phi = mdp.features if isinstance(mdp.features, np.ndarray) else mdp.features.toarray()
    return phi if mdp.features_per_pair else phi[mdp.dynamics.pair_states]


def exact_expectations(mdp, policy):
    """μ by one dense linear solve over state-action pairs."""
    dynamics = mdp.dynamics
    choose = np.zeros((mdp.n_states, mdp.n_pairs))
    choose[dynamics.pair_states, np.arange(mdp.n_pairs)] = policy.probabilities
    moves = dynamics.transitions.toarray() @ choose
    occupancy = np.linalg.solve(np.eye(mdp.n_pairs) - mdp.discount * moves.T, choose.T @ mdp.start)
    return occupancy @ pair_features(mdp)


def episode_sums(mdp, seen):
    """The X_i, one step at a time."""
    phi = pair_features(mdp)
    sums = np.zeros((len(seen), mdp.n_features))
    for i in range(len(seen)):
        for t, pair in enumerate(seen.pairs[seen.offsets[i] : seen.offsets[i + 1]]):
            sums[i] += mdp.discount**t * phi[pair]
    return sums


def slow_diameter(mdp):
    phi = pair_features(mdp)
    return max(np.linalg.norm(a - b) for a in phi for b in phi)


def slow_walk(mdp, policy, *, episodes, horizon, rng):
    """`sample_trajectories` without compiling, drawing the same random numbers."""
    dynamics, rows = mdp.dynamics, mdp.dynamics.transitions.toarray()
    features = pair_features(mdp)

    def pick(weights):
        if len(weights) == 1:
            return 0
        u, chosen = rng.random(), 0
        for place in np.flatnonzero(weights):
            chosen = int(place)
            u -= weights[place]
            if u < 0:
                break
        return chosen

    possible = np.flatnonzero(mdp.start)
    edges = np.cumsum(mdp.start[possible])
    firsts = [possible[np.argmax(edges > u * edges[-1])] for u in rng.random(episodes)]
    walks = []
    for state in firsts:
        pairs, ended = [], False
        while len(pairs) < horizon and not ended:
            first, last = dynamics.offsets[state], dynamics.offsets[state + 1]
            if policy.pairs is None:
                pair = int(first) + pick(policy.chances[first:last])
            else:
                pair = int(policy.pairs[state])
            pairs.append(pair)
            targets = np.flatnonzero(rows[pair])
            state = int(targets[pick(rows[pair, targets])])
            own = slice(dynamics.offsets[state], dynamics.offsets[state + 1])
            ended = bool(np.all(rows[own, state] == 1) and not features[own].any())
        walks.append((pairs, ended))
    return walks


# Sampling


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("kind", ["state", "pair"])
def test_sampling_is_the_slow_walk(kind, deterministic):
    mdp = small_world(kind)
    policy = random_policy(mdp)
    if deterministic:
        policy = Policy.deterministic(mdp, [1, 1, 1, 2, 0])
    seen = sample_trajectories(mdp, policy, episodes=200, horizon=12, rng=np.random.default_rng(1))
    walks = slow_walk(mdp, policy, episodes=200, horizon=12, rng=np.random.default_rng(1))
    assert seen.pairs.tolist() == [pair for pairs, _ in walks for pair in pairs]
    assert seen.lengths.tolist() == [len(pairs) for pairs, _ in walks]
    assert seen.terminated.tolist() == [ended for _, ended in walks]
    assert 0 < np.count_nonzero(seen.terminated) < 200
    np.testing.assert_array_equal(seen.states, mdp.dynamics.pair_states[seen.pairs])
    check_trajectories(mdp, seen)


def test_sampled_episodes_have_the_right_distribution():
    mdp = small_world(terminal=False)
    policy = random_policy(mdp)
    rows = mdp.dynamics.transitions.toarray()
    n = 40_000
    seen = sample_trajectories(mdp, policy, episodes=n, horizon=2, rng=np.random.default_rng(2))
    assert (seen.lengths == 2).all()
    codes = seen.pairs[0::2] * mdp.n_pairs + seen.pairs[1::2]
    observed = np.bincount(codes, minlength=mdp.n_pairs**2)
    chances = np.array(
        [
            mdp.start[mdp.dynamics.pair_states[a]]
            * policy.chances[a]
            * rows[a, mdp.dynamics.pair_states[b]]
            * policy.chances[b]
            for a, b in itertools.product(range(mdp.n_pairs), repeat=2)
        ]
    )
    assert chances.sum() == pytest.approx(1.0, abs=1e-12)
    assert observed[chances == 0].sum() == 0
    common = n * chances >= 5
    rare = (chances > 0) & ~common
    assert common.sum() > 20
    result = stats.chisquare(
        np.append(observed[common], observed[rare].sum()),
        np.append(n * chances[common], n * chances[rare].sum()),
    )
    assert result.pvalue > 0.01


def test_the_seed_decides_the_episodes():
    mdp = small_world()
    policy = random_policy(mdp)

    def draw(seed):
        rng = np.random.default_rng(seed)
        return sample_trajectories(mdp, policy, episodes=50, horizon=9, rng=rng)

    assert draw(1).pairs.tolist() == draw(1).pairs.tolist()
    assert draw(1).pairs.tolist() != draw(2).pairs.tolist()


def corridor(end_feature=0.0, start=(1.0, 0.0, 0.0, 0.0), discount=0.5):
    """0 → 1 → 2 → 3 and stay there, always; `end_feature` is the last state's."""
    move = sp.csr_array((np.ones(4), ([0, 1, 2, 3], [1, 2, 3, 3])), shape=(4, 4))
    features = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [end_feature, 0.0]])
    return MDP.from_arrays([move], features, discount=discount, start=start)


def test_an_episode_terminates_only_in_a_state_without_features():
    policy = Policy.uniform(corridor())

    def draw(mdp, horizon):
        rng = np.random.default_rng(0)
        return sample_trajectories(mdp, policy, episodes=2, horizon=horizon, rng=rng)

    ended = draw(corridor(), 10)
    assert ended.lengths.tolist() == [3, 3] and ended.terminated.all()
    just = draw(corridor(), 3)  # the last allowed step is the one that ends
    assert just.lengths.tolist() == [3, 3] and just.terminated.all()
    cut = draw(corridor(), 2)
    assert cut.lengths.tolist() == [2, 2] and not cut.terminated.any()
    absorbed = draw(corridor(end_feature=1.0), 10)
    assert absorbed.lengths.tolist() == [10, 10] and not absorbed.terminated.any()
    inside = draw(corridor(start=(0.0, 0.0, 0.0, 1.0)), 10)
    assert inside.states.tolist() == [3, 3] and inside.terminated.all()


def test_terminal_states():
    assert terminal_states(small_world()).tolist() == [False] * 4 + [True]
    assert terminal_states(small_world(sparse=True)).tolist() == [False] * 4 + [True]
    assert terminal_states(small_world("pair")).tolist() == [False] * 4 + [True]
    assert not terminal_states(small_world(terminal=False)).any()
    # A state is left by one of its actions, or rewarded in one: neither is the end.
    stay, swap = np.eye(2), np.eye(2)[::-1]
    mdp = MDP.from_arrays(np.stack([stay, swap], axis=1), np.zeros((2, 1)), discount=0.9)
    assert not terminal_states(mdp).any()
    paid = np.zeros((2, 2, 1))
    paid[0, 1] = 1.0
    mdp = MDP.from_arrays([sp.csr_array(stay)] * 2, paid, discount=0.9)
    assert terminal_states(mdp).tolist() == [False, True]
    stored_zeros = sp.csr_array((np.zeros(2), ([0, 1], [0, 0])), shape=(2, 1))
    mdp = MDP.from_arrays([sp.csr_array(stay)] * 2, stored_zeros, discount=0.9)
    assert terminal_states(mdp).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"episodes": 0}, "episodes must be an integer of at least 1, got 0"),
        ({"horizon": 2.5}, r"horizon must be an integer of at least 1, got 2\.5"),
        ({"horizon": True}, "horizon must be an integer of at least 1, got True"),
        ({"rng": 3}, r"rng must be a numpy\.random\.Generator, got int"),
        ({"confidence": 1.0}, r"confidence must lie strictly between 0 and 1, got 1\.0"),
        ({"confidence": math.nan}, "confidence must lie strictly between 0 and 1, got nan"),
        ({"policy": Policy.uniform(worlds.chain(4))}, "policy must belong to the MDP"),
    ],
)
def test_sampling_refuses(change, message):
    mdp = small_world()
    good = {
        "episodes": 2,
        "horizon": 2,
        "rng": np.random.default_rng(0),
        "policy": random_policy(mdp),
    }
    with pytest.raises(InvalidInputError, match=message):
        Demonstration.sample(mdp, **(good | change))


# Estimates


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", ["state", "pair"])
def test_the_estimate_is_that_of_the_formulas(kind, sparse, monkeypatch):
    monkeypatch.setattr(error_bounds, "CHUNK_ENTRIES", 20)  # so that several chunks are needed
    mdp = small_world(kind, sparse=sparse)
    rng = np.random.default_rng(4)
    seen = sample_trajectories(mdp, random_policy(mdp), episodes=41, horizon=6, rng=rng)
    demo = Demonstration.from_trajectories(mdp, seen, confidence=0.9)

    sums, gamma = episode_sums(mdp, seen), mdp.discount
    np.testing.assert_allclose(demo.expectations, sums.mean(axis=0), rtol=1e-13, atol=1e-14)
    largest = np.linalg.norm(pair_features(mdp), axis=1).max()
    cut = np.where(seen.terminated, 0.0, gamma**seen.lengths * largest / (1 - gamma))
    assert demo.bias == pytest.approx(cut.mean(), rel=1e-13)

    D, m, n, delta = slow_diameter(mdp) / (1 - gamma), 41, 20, 0.1
    Y = [
        min(D, np.linalg.norm(sums[2 * j] - sums[2 * j + 1]) + cut[2 * j] + cut[2 * j + 1]) ** 2 / 2
        for j in range(n)
    ]
    hoeffding = D / math.sqrt(m) * (1 / math.sqrt(2) + math.sqrt(math.log(2 / delta) / 2))
    slack = D**2 / 2 * math.log(4 / delta) / (2 * n)
    sigma = math.sqrt(np.mean(Y) + slack) + math.sqrt(slack)
    L = math.log(8 / delta)
    bernstein = math.sqrt(2 * sigma**2 * L / m) + D / 3 * L / m
    assert demo.radius == pytest.approx(min(D, hoeffding, bernstein), rel=1e-12)
    assert demo.error == demo.bias + demo.radius
    assert demo.confidence == 0.9 and demo.policy is None and demo.trajectories is seen


def test_sampling_is_estimating_from_what_was_sampled():
    mdp = small_world()
    policy = random_policy(mdp)
    demo = Demonstration.sample(
        mdp, policy, episodes=30, horizon=8, rng=np.random.default_rng(8), confidence=0.8
    )
    again = Demonstration.from_trajectories(mdp, demo.trajectories, confidence=0.8)
    assert demo.policy is policy
    assert demo.expectations.tolist() == again.expectations.tolist()
    assert (demo.bias, demo.radius) == (again.bias, again.radius)


@pytest.mark.parametrize(
    ("episodes", "horizon", "terminal"),
    [(1, 5, True), (7, 1, True), (40, 4, False), (400, 30, True)],
)
def test_the_error_covers_the_truth(episodes, horizon, terminal):
    mdp = small_world("pair", terminal=terminal)
    policy = random_policy(mdp)
    mu = exact_expectations(mdp, policy)
    repetitions, confidence = 300, 0.9
    covered = 0
    for repetition in range(repetitions):
        rng = np.random.default_rng([9, repetition])
        demo = Demonstration.sample(
            mdp, policy, episodes=episodes, horizon=horizon, rng=rng, confidence=confidence
        )
        covered += np.linalg.norm(demo.expectations - mu) <= demo.error
    assert covered >= confidence * repetitions


def test_the_bias_alone_covers_what_the_cut_took_away():
    """In a world without chance the error is the truncation, and the bias bounds it."""
    mdp = corridor(end_feature=0.25, discount=0.7)
    mu = exact_expectations(mdp, Policy.uniform(mdp))
    for horizon in (1, 2, 3, 5, 20):
        demo = Demonstration.sample(
            mdp, Policy.uniform(mdp), episodes=3, horizon=horizon, rng=np.random.default_rng(0)
        )
        missing = np.linalg.norm(demo.expectations - mu)
        assert 0 < missing <= demo.bias
        assert demo.bias == pytest.approx(0.7**horizon * math.sqrt(2) / 0.3, rel=1e-13)


def test_rare_long_episodes_are_not_forgotten():
    """All recorded episodes ended, so the bias is 0, and yet the error covers those that do not."""
    moves = np.zeros((3, 1, 3))
    moves[0, 0] = [0.0, 0.05, 0.95]
    moves[1, 0, 1] = moves[2, 0, 2] = 1.0
    mdp = MDP.from_arrays(moves, [[1.0], [3.0], [0.0]], discount=0.9, start=[1, 0, 0])
    policy = Policy.uniform(mdp)
    mu = exact_expectations(mdp, policy)
    unseen = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        demo = Demonstration.sample(mdp, policy, episodes=12, horizon=3, rng=rng)
        assert np.linalg.norm(demo.expectations - mu) <= demo.error
        unseen += demo.bias == 0
    assert unseen >= 10


def test_lengths_may_differ():
    mdp = corridor()
    seen = Trajectories.from_arrays(
        mdp, [[0], [0, 1], [0, 1, 2]], [[0], [0, 0], [0, 0, 0]], [False, False, True]
    )
    demo = Demonstration.from_trajectories(mdp, seen)
    np.testing.assert_allclose(demo.expectations, [1 + 0.25 / 3, (0.5 + 0.5 + 0.25) / 3])
    # Cut after 1 and 2 steps: (1/2 + 1/4) √2 / (1 − 1/2), and nothing for the one that ended.
    assert demo.bias == pytest.approx(0.75 * math.sqrt(2) * 2 / 3)


def test_one_episode_says_no_more_than_the_diameter():
    mdp = small_world()
    rng = np.random.default_rng(0)
    demo = Demonstration.sample(mdp, random_policy(mdp), episodes=1, horizon=5, rng=rng)
    assert demo.radius == pytest.approx(slow_diameter(mdp) / (1 - mdp.discount), rel=1e-12)


def test_without_chance_many_episodes_make_the_radius_tiny():
    mdp = corridor(discount=0.9)
    policy, D = Policy.uniform(mdp), math.sqrt(2) / 0.1
    radii = []
    for episodes in (100, 10_000, 100_000):
        rng = np.random.default_rng(0)
        demo = Demonstration.sample(mdp, policy, episodes=episodes, horizon=50, rng=rng)
        assert demo.bias == 0
        assert demo.radius < hoeffding_radius(D, episodes, 0.025)
        radii.append(demo.radius)
    # Bernstein without variance falls like 1/m, Hoeffding like 1/√m.
    assert radii[1] == pytest.approx(radii[0] / 100, rel=1e-9)
    assert radii[2] < 2e-4 * D


def test_each_bound_wins_somewhere():
    D, delta = 2.0, 0.05
    most = np.full(50, D**2 / 2)  # as much variance as there can be
    assert confidence_radius(D, 100, most, delta) == hoeffding_radius(D, 100, delta / 2)
    none = np.zeros(5_000)
    assert confidence_radius(D, 10_000, none, delta) == bernstein_radius(D, 10_000, none, delta / 2)
    some = np.full(5_000, 0.01 * D**2)
    assert bernstein_radius(D, 10_000, some, delta) < 0.5 * hoeffding_radius(D, 10_000, delta)
    assert confidence_radius(D, 2, most[:1], delta) == D
    assert confidence_radius(0.0, 10, np.zeros(5), delta) == 0.0


def test_hoeffding_fails_rarely_enough_exactly():
    """Two-point episodes, 0 or D: the probability of failure is a binomial sum."""
    D = 3.0
    for m, p, delta in itertools.product((1, 5, 40, 300), (0.02, 0.3, 0.5), (0.3, 0.05, 0.001)):
        counts = np.arange(m + 1)
        wrong = D * np.abs(counts / m - p) > hoeffding_radius(D, m, delta)
        assert stats.binom.pmf(counts[wrong], m, p).sum() <= delta


def test_bernstein_fails_rarely_enough_exactly():
    """The same with the pairs' differences: three outcomes a pair, so two counts say everything."""
    D, p, delta = 2.0, 0.1, 0.2
    for n in (1, 6, 60):
        differ, both = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
        chance = stats.multinomial.pmf(
            np.stack([differ, both, n - differ - both], axis=-1),
            n,
            [2 * p * (1 - p), p * p, (1 - p) ** 2],
        )
        radius = np.array(
            [
                bernstein_radius(D, 2 * n, np.r_[np.full(k, D**2 / 2), np.zeros(n - k)], delta)
                for k in range(n + 1)
            ]
        )
        error = D * np.abs((differ + 2 * both) / (2 * n) - p)
        assert np.nansum(chance) == pytest.approx(1.0)
        assert chance[error > radius[:, None]].sum() <= delta


def test_the_inverse_of_bennett_is_an_inverse():
    """2 exp(−(nσ²/D²) h(rD/σ²)) ≤ δ at r = √(2σ²L/n) + DL/(3n)."""
    D = 1.7
    for n, sigma, delta in itertools.product((1, 10, 1_000), (1e-3, 0.1, 1.0), (0.5, 1e-2, 1e-6)):
        L = math.log(2 / delta)
        r = math.sqrt(2 * sigma**2 * L / n) + D * L / (3 * n)
        u = r * D / sigma**2
        h = (1 + u) * math.log1p(u) - u
        assert 2 * math.exp(-n * sigma**2 / D**2 * h) <= delta * (1 + 1e-12)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", ["state", "pair"])
@pytest.mark.parametrize("seed", range(8))
def test_the_diameter_of_the_features(kind, sparse, seed, monkeypatch):
    mdp = small_world(kind, sparse=sparse, seed=seed)
    true = slow_diameter(mdp)
    assert true <= feature_diameter(mdp) <= true * (1 + 1e-12)
    monkeypatch.setattr(error_bounds, "PAIRWISE_ROWS", 0)
    assert true <= feature_diameter(mdp) <= 2 * true


def test_the_diameter_of_features_far_from_zero(monkeypatch):
    offset = 1e6 + small_world().features
    for features in (offset, sp.csr_array(offset)):
        mdp = small_world().with_features(features)
        true = slow_diameter(mdp)
        assert true <= feature_diameter(mdp) <= true * (1 + 1e-9)
    same = small_world().with_features(np.full((5, 2), 0.1))
    assert feature_diameter(same) <= 1e-12
    assert feature_diameter(small_world().with_features(np.empty((5, 0)))) == 0.0
    monkeypatch.setattr(error_bounds, "PAIRWISE_ROWS", 0)
    for features in (offset, sp.csr_array(offset)):
        mdp = small_world().with_features(features)
        true = slow_diameter(mdp)
        assert true <= feature_diameter(mdp) <= 2 * true * (1 + 0.02)


def test_sparse_features_stay_sparse():
    mdp = worlds.gridworld(150, block=3, slip=0.2)
    policy = Policy.uniform(mdp)
    sample_trajectories(mdp, policy, episodes=1, horizon=1, rng=np.random.default_rng(0))
    tracemalloc.start()
    demo = Demonstration.sample(mdp, policy, episodes=400, horizon=60, rng=np.random.default_rng(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < mdp.n_states * mdp.n_features * 8 / 20
    assert demo.expectations.sum() == pytest.approx((1 - 0.9**60) / 0.1)
    assert demo.bias == pytest.approx(0.9**60 / 0.1)


def test_errors_of_single_features_cover_the_truth():
    """All rows at once; the full table is that of `benchmarks/confidence.py`."""
    mdp = small_world("pair")
    policy = random_policy(mdp)
    mu = exact_expectations(mdp, policy)
    rows = np.vstack([np.eye(mdp.n_features), np.ones(mdp.n_features)])
    held, tighter = 0, 0
    for repetition in range(60):
        rng = np.random.default_rng([11, repetition])
        seen = sample_trajectories(mdp, policy, episodes=25, horizon=6, rng=rng)
        demo = Demonstration.from_trajectories(mdp, seen, confidence=0.8, rows=rows)
        along, truth = demo.along, demo.along.rows @ mu
        held += bool(np.all((along.lower <= truth) & (truth <= along.upper)))
        off = np.abs(along.rows @ demo.expectations - truth)
        assert np.all(
            (off <= along.cut + along.chance) | (along.lower > truth) | (truth > along.upper)
        )
        view = Worldview(rows[:1])
        tighter += demo.error_in(view) < view.norm * demo.error
        assert demo.error_in(Worldview(3.0 * rows[:1])) == 3.0 * view.norm * demo.error
    assert held >= 0.8 * 60 and tighter >= 50


def test_a_mean_is_at_least_what_is_said_exactly():
    """Values that are 0 or 1: the probability of failure is a binomial sum."""
    for m, p, delta in itertools.product((1, 10, 60), (0.05, 0.5, 0.9), (0.2, 0.01)):
        counts = np.arange(m + 1)
        low = [mean_at_least(np.r_[np.ones(c), np.zeros(m - c)], 0.0, 1.0, delta) for c in counts]
        assert stats.binom.pmf(counts, m, p)[np.array(low) > p].sum() <= delta


def test_a_bet_on_a_mean_pays_what_it_says_and_is_near_the_best_for_who_never_errs():
    x, delta = np.random.default_rng(0).beta(9, 2, size=40), 0.01
    low, shares = mean_at_least(x, 0.0, 1.0, delta), 0.5 ** np.arange(14)
    weights = 1.0 / np.arange(1, 15)
    wealth = [np.prod([1 - s + s * each / low for each in x]) for s in shares]
    assert weights @ wealth / weights.sum() == pytest.approx(1.0 / delta, rel=1e-6)
    for m in (30, 60, 300):
        best = 1.0 - delta ** (1.0 / m)
        assert best < 1.0 - mean_at_least(np.ones(m), 0.0, 1.0, delta) < 1.3 * best
    assert mean_at_least(np.zeros(5), 0.0, 1.0, delta) == 0.0


# Demonstrations as such


def test_an_exact_demonstration():
    mdp = small_world("pair")
    policy = random_policy(mdp)
    for demo in (Demonstration.of_policy(mdp, policy), as_demonstration(mdp, policy)):
        np.testing.assert_allclose(
            demo.expectations, exact_expectations(mdp, policy), rtol=1e-9, atol=1e-12
        )
        assert (demo.bias, demo.radius, demo.error, demo.confidence) == (0, 0, 0, 1)
        assert demo.policy is policy and demo.trajectories is None
        assert repr(demo) == "Demonstration(3 features, exact)"
    assert as_demonstration(mdp, demo) is demo


def test_a_demonstration_is_read_only_and_checked():
    given = np.array([1.0, 2.0])
    demo = Demonstration(given)
    given[0] = 5.0
    assert demo.expectations.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        demo.expectations[0] = 3.0
    with pytest.raises(InvalidInputError, match="expectations must be finite, got nan at index 1"):
        Demonstration(np.array([0.0, np.nan]))
    with pytest.raises(InvalidInputError, match="radius must be non-negative and finite, got -1"):
        Demonstration(given, radius=-1.0)
    with pytest.raises(InvalidInputError, match="bias must be non-negative and finite, got nan"):
        Demonstration(given, bias=math.nan)
    with pytest.raises(InvalidInputError, match=r"confidence must lie in \(0, 1\], got 0\.0"):
        Demonstration(given, confidence=0.0)
    with pytest.raises(InvalidInputError, match="must have 5 expectations, one a feature, got 2"):
        as_demonstration(worlds.chain(5), demo)
    with pytest.raises(InvalidInputError, match=r"a Demonstration or a Policy .*, got list"):
        as_demonstration(worlds.chain(5), [1.0])
    with pytest.raises(InvalidInputError, match="policy must belong to the MDP"):
        Demonstration.of_policy(worlds.chain(4), Policy.uniform(worlds.chain(5)))


# Recorded trajectories


def test_trajectories_from_arrays():
    mdp = worlds.chain(5)
    seen = Trajectories.from_arrays(
        mdp, [[0, 1, 2], np.array([4, 3])], [[1, 1, 0], np.array([0, 0])], [False, False]
    )
    assert len(seen) == 2 and seen.n_steps == 5
    assert seen.lengths.tolist() == [3, 2]
    assert seen.pairs.tolist() == [0, 2, 3, 7, 5]
    with pytest.raises(ValueError, match="read-only"):
        seen.states[0] = 1


@pytest.mark.parametrize(
    ("states", "actions", "terminated", "message"),
    [
        ([[0, 1]], [[1]], [False], r"states\[0\] and actions\[0\] must have the same length"),
        ([[]], [[]], [False], "length of at least 1, got 0 and 0"),
        ([], [], [], "one entry an episode"),
        ([[0]], [[1]], [0], "terminated of bools: got 1, 1 and int64"),
        ([[0]], [[1]], [False, True], r"got 1, 1 and bool \(2,\)"),
        ([[0], [9]], [[1], [0]], [False] * 2, r"states\[1\] must lie in 0 … 4, got 9 at index 0"),
        ([[0.5]], [[1]], [False], r"states\[0\] must be a one-dimensional array of integers"),
        (
            [[1, 0, 1]],
            [[0, 0, 1]],
            [False],
            "episode 0, step 1: action left does not exist in state cell 1; expected one of: right",
        ),
        (
            [[1], [0, 2]],
            [[0], [1, 1]],
            [False] * 2,
            "episode 1, step 0: action right in state cell 1 never leads to state cell 3",
        ),
        (
            [[1, 2]],
            [[1, 1]],
            [True],
            "episode 0, step 1: terminated is true, but the episode cannot",
        ),
    ],
)
def test_wrong_arrays_are_refused(states, actions, terminated, message):
    with pytest.raises(InvalidInputError, match=message):
        Trajectories.from_arrays(worlds.chain(5), states, actions, terminated)


def test_trajectories_of_another_world_are_refused():
    mdp = corridor()
    seen = Trajectories.from_arrays(mdp, [[0, 1, 2]], [[0, 0, 0]], [True])
    with pytest.raises(InvalidInputError, match="terminated is true, but the episode cannot"):
        Demonstration.from_trajectories(corridor(end_feature=1.0), seen)
    with pytest.raises(InvalidInputError, match="no episode starts in state 0"):
        Demonstration.from_trajectories(corridor(start=(0.0, 1.0, 0.0, 0.0)), seen)
    with pytest.raises(InvalidInputError, match="pair 2 does not belong to state 2"):
        Demonstration.from_trajectories(worlds.chain(5), seen)
    with pytest.raises(InvalidInputError, match="there is no state-action pair 2 in the MDP"):
        Demonstration.from_trajectories(worlds.chain(2), seen)


# Files


def named_world():
    plain = corridor()
    return MDP.from_arrays(
        [plain.dynamics.transitions],
        plain.features,
        discount=0.5,
        start=plain.start,
        state_names=('a, "quoted"', "two\nlines", " padded ", "2"),
        action_names=("ἐμπρός",),
    )


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson", ".csv"])
@pytest.mark.parametrize("world", [small_world, named_world])
def test_files_round_trip(tmp_path, world, suffix):
    mdp = world()
    path = tmp_path / f"episodes{suffix}"
    path.write_text("what was here before")
    rng = np.random.default_rng(0)
    seen = sample_trajectories(mdp, Policy.uniform(mdp), episodes=25, horizon=3, rng=rng)
    write_trajectories(path, seen, mdp)
    again = read_trajectories(path, mdp)
    for field in ("states", "pairs", "offsets", "terminated"):
        assert getattr(again, field).tolist() == getattr(seen, field).tolist()
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "episodes.jsonl"
    path.write_text("old")
    seen = Trajectories.from_arrays(corridor(), [[0]], [[0]], [False])
    with pytest.raises(InvalidInputError):
        write_trajectories(path, seen, corridor(start=(0.0, 1.0, 0.0, 0.0)))
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_numbers_and_names_may_be_mixed(tmp_path):
    mdp = worlds.chain(5)
    lines = tmp_path / "a.jsonl"
    lines.write_text(
        '\ufeff{"states": [0, "cell 2"], "actions": ["right", 1], "terminated": false, "by": 1}\r\n'
        "\n"
        '{"terminated": false, "actions": [0], "states": [4]}',
        encoding="utf-8",
    )
    table = tmp_path / "a.csv"
    table.write_text(
        "\ufeffaction,terminated,state, episode,step,by\r\n"
        "right,,0,first,0,me\r\n"
        "1, False , cell 2 ,first, 1,me\r\n"
        "\r\n"
        "left,0,4,second,0,me",
        encoding="utf-8",
    )
    for path in (lines, table):
        seen = read_trajectories(path, mdp)
        assert seen.states.tolist() == [0, 1, 4]
        assert seen.pairs.tolist() == [0, 2, 7]
        assert seen.offsets.tolist() == [0, 2, 3]


def test_termination_is_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "episode,step,state,action,terminated\n0,0,0,0,0\n0,1,1,0,\n0,2,2,0,1\n1,0,0,0,FALSE\n"
    )
    assert read_trajectories(path, corridor()).terminated.tolist() == [True, False]


GOOD = '{"states": [0], "actions": ["right"], "terminated": false}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected one episode a line, got an empty file"),
        ("\n \n", "expected one episode a line, got an empty file"),
        (GOOD + "{", "line 2: expected one episode as a JSON object, got bad JSON"),
        (GOOD + "[" * 100_000, "line 2: expected one episode as a JSON object, got bad JSON"),
        ("[1]", r"line 1: expected a JSON object, got \[1\]"),
        ('{"a": 1, "a": 2}', "line 1: .* field 'a' is given twice"),
        (
            '{"states": [0], "actions": [1]}',
            "line 1: expected the field 'terminated', got states, actions",
        ),
        (GOOD.replace("false", "0"), "line 1, terminated: expected true or false, got 0"),
        (GOOD.replace("[0]", "0"), "line 1, states: expected one entry a step, got 0"),
        (GOOD.replace("[0]", "[]"), r"line 1, states: expected one entry a step, got \[\]"),
        (
            GOOD.replace("[0]", "[5]"),
            r"line 1, states\[0\]: expected the number of a state in 0 … 4, or a name such as "
            "'cell 1', got 5",
        ),
        (GOOD.replace("[0]", "[-1]"), r"line 1, states\[0\]: expected .* got -1"),
        (GOOD.replace("[0]", "[true]"), r"line 1, states\[0\]: expected .* got True"),
        (GOOD.replace("[0]", "[0.0]"), r"line 1, states\[0\]: expected .* got 0\.0"),
        (GOOD.replace("[0]", "[NaN]"), r"line 1, states\[0\]: expected .* got nan"),
        (GOOD.replace("[0]", "[null]"), r"line 1, states\[0\]: expected .* got None"),
        (GOOD.replace("[0]", f"[{10**30}]"), r"line 1, states\[0\]: expected .* got 1000"),
        (GOOD.replace("[0]", f"[{'9' * 5000}]"), "line 1: .* bad JSON"),
        (GOOD.replace("[0]", '["0"]'), r"line 1, states\[0\]: expected .* got '0'"),
        (
            GOOD.replace("right", "up"),
            r"line 1, actions\[0\]: expected the number of an action in 0 … 1",
        ),
        (
            GOOD.replace("right", "left"),
            "line 1, step 0: action left does not exist in state cell 1",
        ),
        (GOOD.replace("[0]", "[0, 1]"), "line 1: expected as many states as actions, got 2 and 1"),
        (
            GOOD + "\n" + GOOD.replace("[0]", "[1, 3]").replace('"right"', "1, 1"),
            "line 3, step 0: action right in state cell 2 never leads to state cell 4",
        ),
        (GOOD.replace("false", "true"), "line 1, step 0: terminated is true, but"),
    ],
)
def test_wrong_json_lines_are_refused(tmp_path, text, message):
    path = tmp_path / "bad.jsonl"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=message) as caught:
        read_trajectories(path, worlds.chain(5))
    assert str(caught.value).startswith(str(path))
    assert len(str(caught.value)) < len(str(path)) + 400


HEADER = "episode,step,state,action,terminated\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: expected a header with one column 'episode', got "),
        (HEADER, "expected one step a row, got no rows"),
        ("episode,step,state,action\n", "line 1: expected a header with one column 'terminated'"),
        ("episode,step,state,state,action,terminated\n", "one column 'state', got episode, step"),
        (HEADER + "0,0,0,1\n", "line 2: expected 5 cells, as in the header, got 4"),
        (
            HEADER + "0,0,0,1,\n",
            "line 2, terminated: .* in the last row of episode '0', got nothing",
        ),
        (HEADER + "0,0,0,1,\n1,0,0,1,0\n", "line 2, terminated: expected true or false in"),
        (HEADER + "0,0,0,1,yes\n", "line 2, terminated: expected true, false, 1 or 0, got 'yes'"),
        (HEADER + "0,1,0,1,0\n", "line 2, step: expected 0, as steps count up from 0, got '1'"),
        (HEADER + "0,0,0,1,\n0,2,1,1,0\n", "line 3, step: expected 1, .* got '2'"),
        (HEADER + "0,0,0,1,\n0,0,1,1,0\n", "line 3, step: expected 1, .* got '0'"),
        (HEADER + "0,x,0,1,0\n", "line 2, step: expected 0, .* got 'x'"),
        (HEADER + "0,0,0,1,0\n1,0,0,1,0\n0,0,0,1,0\n", "line 4, episode: .* got '0' again"),
        (HEADER + "0,0,0,1,1\n0,1,1,1,0\n", "line 3, episode: expected another episode"),
        (HEADER + "0,0,9,1,0\n", "line 2, state: .* number of a state in 0 … 4, .* got '9'"),
        (HEADER + "0,0,-1,1,0\n", "line 2, state: expected .* got '-1'"),
        (HEADER + "0,0,0.0,1,0\n", r"line 2, state: expected .* got '0\.0'"),
        (HEADER + "0,0,,1,0\n", "line 2, state: expected .* got ''"),
        (HEADER + f"0,0,{'1' * 40},1,0\n", "line 2, state: expected .* got '1111"),
        (HEADER + "0,0,٣,1,0\n", "line 2, state: expected .* got '٣'"),
        (HEADER + "0,0,0,up,0\n", "line 2, action: expected the number of an action in 0 … 1"),
        (HEADER + "0,0,0,left,0\n", "line 2: action left does not exist in state cell 1"),
        (HEADER + "0,0,0,1,\n0,1,2,1,0\n", "line 2: action right in .* 1 never leads to .* 3"),
        (HEADER + '0,0,"0"x,1,0\n', "line 2: expected comma-separated values, got a bad row"),
        (HEADER + '0,0,"0\n' + "x\n" * 100_000, "expected comma-separated values, got a bad row"),
        (HEADER + "0,0,0,1,0\n\n1,0,1,1,true\n", "line 4: terminated is true, but"),
    ],
)
def test_wrong_csv_is_refused(tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileFormatError, match=message) as caught:
        read_trajectories(path, worlds.chain(5))
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_bytes_that_are_no_text_are_refused(tmp_path, suffix):
    path = tmp_path / f"bad{suffix}"
    path.write_bytes((HEADER if suffix == ".csv" else GOOD).encode() + b'{"states": "\xe9"}')
    with pytest.raises(FileFormatError, match="line 2: expected UTF-8 text, got byte 0xe9 at posi"):
        read_trajectories(path, worlds.chain(5))
    path.write_text(GOOD, encoding="utf-16")
    with pytest.raises(FileFormatError, match="line 1: expected UTF-8 text, got byte 0xff"):
        read_trajectories(path, worlds.chain(5))


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_endless_lines_are_refused(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr(trajectory_files, "MAX_LINE_BYTES", 100)
    path = tmp_path / f"bad{suffix}"
    path.write_text("\n" * 3 + "x" * 101)
    if suffix == ".csv":
        path.write_text(HEADER + "x" * 101)
    with pytest.raises(FileFormatError, match=r"line \d: expected at most 100 bytes in a line"):
        read_trajectories(path, worlds.chain(5))


def test_other_kinds_of_file_are_refused(tmp_path):
    with pytest.raises(
        InvalidInputError, match=r"path must end in .jsonl, .ndjson .* got 'a.json'"
    ):
        read_trajectories(tmp_path / "a.json", worlds.chain(5))


def test_the_documentation_says_what_happens(tmp_path):
    page = Path(__file__).parent.parent / "docs" / "demonstrations.md"
    assert doctest.testfile(str(page), module_relative=False, encoding="utf-8").failed == 0
    blocks = page.read_text(encoding="utf-8").split("```")
    for kind, suffix in (("json", ".jsonl"), ("csv", ".csv")):
        (block,) = (block for block in blocks if block.startswith(f"{kind}\n"))
        path = tmp_path / f"episodes{suffix}"
        path.write_text(block.removeprefix(f"{kind}\n"), encoding="utf-8")
        seen = read_trajectories(path, worlds.chain(5))
        assert seen.states.tolist() == [0, 1, 2, 3, 4]
        assert seen.lengths.tolist() == [3, 2]


def test_what_is_written_is_plain(tmp_path):
    mdp = worlds.chain(5)
    seen = Trajectories.from_arrays(mdp, [[0, 1]], [[1, 0]], [False])
    write_trajectories(tmp_path / "a.jsonl", seen, mdp)
    assert json.loads((tmp_path / "a.jsonl").read_text()) == {
        "states": ["cell 1", "cell 2"],
        "actions": ["right", "left"],
        "terminated": False,
    }
    write_trajectories(tmp_path / "a.csv", seen, mdp)
    assert (tmp_path / "a.csv").read_text() == (
        HEADER + "0,0,cell 1,right,false\n0,1,cell 2,left,false\n"
    )
