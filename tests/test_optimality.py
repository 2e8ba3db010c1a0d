import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

import teachirl as ti
from teachirl.demonstrations.demonstration import Demonstration
from teachirl.guarantees import apparent_optimality as optimality
from teachirl.guarantees.apparent_optimality import CLOSE, LookStatus, best_look
from teachirl.testing import mdps, policies, worldviews
from teachirl.views.potential_shaping import indistinct_directions


def vertices(mdp):
    """Feature expectations of all deterministic policies: M is their convex hull."""
    offsets = mdp.dynamics.offsets
    choices = itertools.product(*(range(a, b) for a, b in itertools.pairwise(offsets)))
    found = [ti.Policy(mdp.dynamics, pairs=np.array(pairs)) for pairs in choices]
    return np.array([ti.feature_expectations(mdp, policy) for policy in found])


def distinct_basis(corners, matrix):
    """What the rows span of the directions in which the corners differ, by SVDs alone."""
    _, sizes, rows = np.linalg.svd(corners - corners[0])
    differing = rows[: np.count_nonzero(sizes > 1e-9 * sizes[0])]
    _, sizes, rows = np.linalg.svd(matrix @ differing.T)
    return rows[: np.count_nonzero(sizes > 1e-9 * sizes[0])] @ differing


def exact_look(corners, basis, mu):
    """The distance of Bμ from the boundary of BM, from the facets of the hull of all corners."""
    points = (corners - mu) @ basis.T
    if len(basis) == 1:
        return min(points.max(), -points.min())
    return float((-ConvexHull(points).equations[:, -1]).min())


def random_policy(rng, mdp):
    return ti.Policy.from_matrix(mdp, rng.dirichlet(np.ones(mdp.n_actions), mdp.n_states))


def check_against(corners, basis, mu, view, look, truth):
    doubt = 1e-9 * np.abs(corners).max()
    assert look.lower <= truth + doubt
    assert truth <= look.upper + doubt
    # The weights reach what is claimed of them, and are a reward of length 1 that matters.
    reward = view.matrix.T @ look.weights
    assert ((corners - mu) @ reward).max() <= look.upper + doubt
    assert np.linalg.norm(basis @ reward) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("rank", "per_pair"), [(1, False), (2, False), (2, True), (3, True)])
def test_random_mdps_against_all_policies(rank, per_pair, seed):
    rng = np.random.default_rng([seed, rank])
    mdp = ti.worlds.garnet(rng, 5, 2, 2, n_features=4, per_pair=per_pair)
    view = ti.Worldview(rng.standard_normal((rank + 1, rank)) @ rng.standard_normal((rank, 4)))
    corners = vertices(mdp)
    basis = distinct_basis(corners, view.matrix)
    assert len(basis) == rank
    shown = [
        random_policy(rng, mdp),
        ti.optimal_policy(mdp, rng.standard_normal(4)).policy,
        ti.optimal_policy(mdp, view.matrix.T @ rng.standard_normal(rank + 1)).policy,
    ]
    for policy in shown:
        mu = ti.feature_expectations(mdp, policy)
        look = best_look(mdp, view, policy)
        truth = exact_look(corners, basis, mu)
        check_against(corners, basis, mu, view, look, truth)
        assert look.status is LookStatus.CLOSE
        width = np.ptp(corners @ basis.T, axis=0).max()
        assert look.upper - look.lower <= max(CLOSE * look.upper, 1e-6 * width) + 1e-8 * width
    # The last of them is optimal for a reward of its own.
    assert look.lower == 0.0
    assert look.upper <= 1e-6 * width


@pytest.mark.parametrize("seed", range(3))
def test_a_grid_of_rewards(seed):
    rng = np.random.default_rng(seed)
    mdp = ti.worlds.garnet(rng, 5, 2, 3, n_features=3)
    view = ti.Worldview(rng.standard_normal((2, 3)))
    policy = ti.Policy.uniform(mdp)
    corners, mu = vertices(mdp), ti.feature_expectations(mdp, policy)
    basis = distinct_basis(corners, view.matrix)
    angles = np.linspace(0.0, 2.0 * np.pi, 20_001)
    rewards = np.stack([np.cos(angles), np.sin(angles)], axis=1) @ basis
    off = ((corners - mu) @ rewards.T).max(axis=0)
    look = best_look(mdp, view, policy)
    # h changes by at most the largest ‖μ − μ_T‖ times half a step of the grid.
    coarse = np.linalg.norm(corners - mu, axis=1).max() * angles[1] / 2.0
    assert look.lower > 0.0
    assert look.lower <= off.min() <= look.upper + coarse


@settings(max_examples=40)
@given(st.data())
def test_every_mdp(data):
    mdp = data.draw(mdps(max_states=4, max_actions=2, discounts=(0.5, 0.9)))
    view = ti.Worldview(data.draw(worldviews(mdp.n_features)))
    policy = data.draw(policies(mdp))
    look = best_look(mdp, view, policy, max_solves=60)
    corners, mu = vertices(mdp), ti.feature_expectations(mdp, policy)
    doubt = 1e-9 * max(1.0, mdp.largest_feature / (1.0 - mdp.discount))
    assert 0.0 <= look.lower <= look.upper
    never = indistinct_directions(mdp).basis
    basis = view.without(never).basis
    assert look.vacuous == (len(basis) == 0)
    if look.vacuous:
        spread = np.ptp(corners @ view.matrix.T, axis=0).max(initial=0.0)
        assert spread <= 10 * doubt * (1.0 + view.norm)
        return
    betas = np.random.default_rng(0).standard_normal((50, len(basis)))
    betas /= np.linalg.norm(betas, axis=1, keepdims=True)
    assert ((corners - mu) @ (betas @ basis).T).max(axis=0).min() >= look.lower - doubt
    reward = view.without(never).matrix.T @ look.weights
    assert ((corners - mu) @ reward).max() <= look.upper + doubt


def test_the_chain():
    """The expert walks to the right through the middle, and back to it never."""
    mdp = ti.worlds.chain(5)
    expert = ti.optimal_policy(mdp, [-2, -1, 0, 1, 2]).policy
    view = ti.Worldview.select(mdp, ["cell 3"])
    corners, mu = vertices(mdp), ti.feature_expectations(mdp, expert)
    # Those who start to the left of the middle must pass it, and could keep away from it.
    middle = corners[:, 2] - mu[2]
    basis = distinct_basis(corners, view.matrix)
    visible = np.linalg.norm(basis @ view.matrix[0])
    assert middle.min() == pytest.approx(-(0.9 + 0.9**2) / 5, rel=1e-12)
    look = best_look(mdp, view, expert)
    assert look.upper == pytest.approx(-middle.min() / visible, rel=1e-6)
    assert look.lower == pytest.approx(-middle.min() / visible, rel=1e-6)
    assert look.weights == pytest.approx([-1.0 / visible], rel=1e-9)
    # Who keeps away from the middle on either side of it is optimal for a reward of its own.
    away = ti.optimal_policy(mdp, [0, 0, -1, 0, 0]).policy
    assert best_look(mdp, view, away).upper <= 1e-6
    assert str(look) == (
        "There is a reward in the learner's features under which the demonstrated policy is within "
        "0.4189 of "
        "optimal, 7.7 % of that reward's range; under none that tells policies apart as much is it "
        "closer than 0.4189."
    )


def test_it_sees_everything():
    rng = np.random.default_rng(3)
    mdp = ti.worlds.garnet(rng, 12, 3, 3, n_features=4)
    expert = ti.optimal_policy(mdp, rng.standard_normal(4)).policy
    look = best_look(mdp, ti.Worldview(np.eye(4)), expert)
    assert look.lower == 0.0
    plan = ti.optimal_policy(mdp, look.weights)
    reward = float(look.weights @ ti.feature_expectations(mdp, expert))
    assert plan.upper - reward <= look.upper + 1e-9 <= 1e-6 * plan.upper + 1e-6


def test_the_uniform_policy_is_optimal_for_nothing():
    mdp = ti.worlds.garnet(np.random.default_rng(0), 12, 3, 3, n_features=4)
    look = best_look(mdp, ti.Worldview(np.eye(4)), ti.Policy.uniform(mdp))
    assert 0.0 < look.lower <= look.upper <= look.lower / (1.0 - 1.1 * CLOSE)
    assert look.status is LookStatus.CLOSE


def test_what_it_sees_matters_and_not_how():
    rng = np.random.default_rng(5)
    mdp = ti.worlds.garnet(rng, 10, 3, 3, n_features=4)
    policy, rows = random_policy(rng, mdp), rng.standard_normal((2, 4))
    first = best_look(mdp, ti.Worldview(rows), policy)
    mixed = [[1e-9, 0.0], [3.0, 2.0], [0.0, 0.0], [-1e6, 1e6]] @ rows
    for matrix in (1e-8 * rows, mixed):
        other = best_look(mdp, ti.Worldview(matrix), policy)
        assert max(first.lower, other.lower) <= min(first.upper, other.upper) * (1.0 + 1e-8)
        assert other.upper - other.lower <= 1.1 * CLOSE * other.upper
    larger = best_look(mdp.with_features(1e5 * mdp.features), ti.Worldview(rows), policy)
    assert larger.lower == pytest.approx(1e5 * first.lower, rel=2 * CLOSE)
    # More features are more rewards to choose from.
    more = best_look(mdp, ti.Worldview(rows).extend(rng.standard_normal(4)), policy)
    assert more.lower <= first.upper


@pytest.mark.parametrize("matrix", [np.empty((0, 5)), np.zeros((2, 5)), np.ones((1, 5))])
def test_nothing_that_tells_policies_apart(matrix):
    mdp = ti.worlds.chain(5)
    look = best_look(mdp, ti.Worldview(matrix), ti.Policy.uniform(mdp))
    assert look.vacuous
    assert (look.lower, look.upper, look.solves) == (0.0, 0.0, 0)
    assert look.weights.tolist() == [0.0] * len(matrix)
    assert "tells policies apart" in look.sentence


def test_few_solves_leave_valid_bounds():
    rng = np.random.default_rng(8)
    mdp = ti.worlds.garnet(rng, 5, 2, 2, n_features=4, per_pair=True)
    view, policy = ti.Worldview(np.eye(4)), ti.Policy.uniform(mdp)
    corners, mu = vertices(mdp), ti.feature_expectations(mdp, policy)
    basis = distinct_basis(corners, view.matrix)
    truth = exact_look(corners, basis, mu)
    gaps = []
    for max_solves in (4, 12, 30):
        look = best_look(mdp, view, policy, max_solves=max_solves)
        assert look.status is LookStatus.OUT_OF_SOLVES
        assert look.solves <= max_solves
        check_against(corners, basis, mu, view, look, truth)
        gaps.append(look.upper - look.lower)
    assert gaps == sorted(gaps, reverse=True)
    check_against(corners, basis, mu, view, best_look(mdp, view, policy), truth)


@pytest.mark.parametrize("fault", ["no answer", "wrong duals"])
def test_the_bounds_do_not_trust_the_linear_programs(monkeypatch, fault):
    rng = np.random.default_rng(9)
    mdp = ti.worlds.garnet(rng, 5, 2, 2, n_features=2, per_pair=True)
    view, policy = ti.Worldview(np.eye(2)), ti.Policy.uniform(mdp)
    corners, mu = vertices(mdp), ti.feature_expectations(mdp, policy)
    real = optimality.scipy.optimize.linprog

    def faulty(*args, **options):
        found = real(*args, **options)
        if fault == "no answer":
            found.status, found.x = 4, None
        else:
            found.ineqlin.marginals = rng.standard_normal(len(found.ineqlin.marginals))
        return found

    monkeypatch.setattr(optimality.scipy.optimize, "linprog", faulty)
    look = best_look(mdp, view, policy, max_solves=40)
    basis = distinct_basis(corners, view.matrix)
    check_against(corners, basis, mu, view, look, exact_look(corners, basis, mu))


def test_a_demonstration_with_an_error_widens_the_bounds_by_it():
    rng = np.random.default_rng(10)
    mdp = ti.worlds.garnet(rng, 10, 3, 3, n_features=3)
    view, policy = ti.Worldview(rng.standard_normal((1, 3))), ti.Policy.uniform(mdp)
    exact = best_look(mdp, view, policy)
    mu, outward = ti.feature_expectations(mdp, policy), view.matrix.T @ exact.weights
    for off in (0.01, -0.01, 100.0, -100.0):
        radius = abs(off) * np.linalg.norm(outward) * 1.1
        look = best_look(mdp, view, Demonstration(mu + off * outward, radius=radius))
        # What is said holds for the expert, who is not where the demonstration has him.
        assert look.lower <= exact.lower * (1.0 + 1e-9)
        assert look.upper >= exact.upper * (1.0 - 1e-9)
        assert look.upper - look.lower <= 2.2 * radius + 1.1 * CLOSE * look.upper
    assert look.lower == 0.0


def test_bad_arguments():
    mdp = ti.worlds.chain(5)
    view, policy = ti.Worldview(np.eye(5)), ti.Policy.uniform(mdp)
    with pytest.raises(ti.InvalidInputError, match="max_solves must be at least 4, got 3"):
        best_look(mdp, view, policy, max_solves=3)
    with pytest.raises(ti.InvalidInputError, match="tolerance must be positive, got 0"):
        best_look(mdp, view, policy, tolerance=0)
    with pytest.raises(ti.InvalidInputError, match="on 3 features, the MDP has 5"):
        best_look(mdp, ti.Worldview(np.eye(3)), policy)
