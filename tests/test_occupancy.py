import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import teachirl as ti
from exact import exact_expectations
from teachirl.mdp.occupancy import policy_transitions
from teachirl.testing import mdps, policies


def dense_occupancy(mdp, policy):
    """The slow twin: a dense solve."""
    chain = policy_transitions(mdp, policy).toarray()
    visits = np.linalg.solve(np.eye(mdp.n_states) - mdp.discount * chain.T, mdp.start)
    return visits[mdp.dynamics.pair_states] * policy.probabilities


def magnitudes(mdp, policy):
    """Σ x |φ|: what feature expectations would be if nothing cancelled."""
    x = ti.occupancy(mdp, policy)
    rows = x if mdp.features_per_pair else np.add.reduceat(x, mdp.dynamics.offsets[:-1])
    return abs(mdp.features).T @ rows


@settings(max_examples=200)
@given(st.data())
def test_feature_expectations_are_exact(data):
    mdp = data.draw(mdps())
    policy = data.draw(policies(mdp))
    exact = np.array([float(mu) for mu in exact_expectations(mdp, policy)])
    error = np.abs(ti.feature_expectations(mdp, policy) - exact)
    assert np.all(error <= 1e-10 * magnitudes(mdp, policy))


@pytest.mark.parametrize("slip", [0.0, 0.3])
@pytest.mark.parametrize("gamma", [0.5, 0.9, 0.999])
def test_on_grids(gamma, slip):
    mdp = ti.worlds.gridworld(10, 2, gamma, slip)
    rng = np.random.default_rng(5)
    chosen = ti.Policy.deterministic(mdp, rng.integers(0, 4, size=100))
    mixed = ti.Policy.from_matrix(mdp, rng.dirichlet(np.full(4, 0.3), size=100))
    for policy in (chosen, mixed, ti.Policy.uniform(mdp)):
        x = ti.occupancy(mdp, policy)
        assert np.abs(x - dense_occupancy(mdp, policy)).sum() <= 1e-10 / (1 - gamma)
        assert x.sum() == pytest.approx(1 / (1 - gamma), rel=1e-11)


@settings(max_examples=100)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_walks_of_any_shape(seed, n_states):
    """Trees, cycles and what hangs on them, against the dense solve."""
    rng = np.random.default_rng(seed)
    rows = np.eye(n_states)[rng.integers(0, n_states, size=(n_states, 2))]
    start = rng.dirichlet(np.full(n_states, 0.5))
    mdp = ti.MDP.from_arrays(rows, np.eye(n_states), discount=0.95, start=start, first="state")
    policy = ti.Policy.deterministic(mdp, rng.integers(0, 2, size=n_states))
    expected = dense_occupancy(mdp, policy)
    assert np.abs(ti.occupancy(mdp, policy) - expected).max() <= 1e-12 * expected.sum()


@settings(max_examples=60)
@given(st.data())
def test_there_and_back(data):
    mdp = data.draw(mdps())
    policy = data.draw(policies(mdp))
    x = ti.occupancy(mdp, policy)
    again = ti.policy_from_occupancy(mdp, x)
    assert np.abs(ti.occupancy(mdp, again) - x).sum() <= 1e-10 / (1 - mdp.discount)


@settings(max_examples=60)
@given(st.data())
def test_a_mixture_is_one_policy(data):
    mdp = data.draw(mdps())
    parts = [data.draw(policies(mdp)) for _ in range(3)]
    shares = np.array([0.5, 0.0, 0.5])
    whole = ti.mixture(mdp, parts, shares)
    expected = sum(s * ti.occupancy(mdp, p) for s, p in zip(shares, parts, strict=True))
    assert np.abs(ti.occupancy(mdp, whole) - expected).sum() <= 1e-10 / (1 - mdp.discount)


def test_states_never_visited_get_the_uniform_policy():
    mdp = ti.worlds.chain(4)
    x = np.zeros(mdp.n_pairs)
    x[1:3] = [1.0, 3.0]  # only the second cell
    assert ti.policy_from_occupancy(mdp, x).matrix()[1].tolist() == [0.25, 0.75]
    assert ti.policy_from_occupancy(mdp, x).matrix()[2].tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("occupancy", "message"),
    [
        (np.ones(3), r"occupancy must have shape \(8,\)"),
        ([1, 1, -1, 1, 1, 1, 1, 1], "got -1.0 at pair 2"),
        ([1, 1, 1, np.nan, 1, 1, 1, 1], "got nan at pair 3"),
    ],
)
def test_wrong_occupancies(occupancy, message):
    with pytest.raises(ti.InvalidInputError, match=message):
        ti.policy_from_occupancy(ti.worlds.chain(5), occupancy)


def test_wrong_mixtures_and_policies():
    mdp, other = ti.worlds.chain(5), ti.worlds.chain(6)
    policy = ti.Policy.uniform(mdp)
    with pytest.raises(ti.InvalidInputError, match="one entry for each of 2 policies"):
        ti.mixture(mdp, [policy, policy], [1.0])
    with pytest.raises(ti.InvalidInputError, match=r"must be a distribution, got a sum of 1\.5"):
        ti.mixture(mdp, [policy], [1.5])
    with pytest.raises(ti.InvalidInputError, match="policy must belong to the MDP"):
        ti.feature_expectations(other, policy)
