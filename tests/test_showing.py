"""The best demonstration against all policies, exact or traced, and what it promises."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import QhullError

import exact_lp
import teachirl as ti
from teachirl.testing import mdps, weights, worldviews
from teachirl.views.potential_shaping import indistinct_directions
from teachirl.what_to_show import upper_bound as showing_bounds
from teachirl.what_to_show.exposed_policies import LENGTH, Exposer
from teachirl.what_to_show.search import ShownStatus, best_demonstration
from teachirl.what_to_show.upper_bound import FLAT

WEIGHTS = np.array([-1, -0.5, 0, 0.5, 1]) / np.linalg.norm([-1, -0.5, 0, 0.5, 1])


def show(mdp, view, w, *, seed=0, **options):
    return best_demonstration(mdp, view, w, rng=np.random.default_rng(seed), **options)


def span_of(mdp, w):
    return ti.optimal_policy(mdp, w).value - ti.worst_policy(mdp, w).value


@pytest.mark.parametrize(
    ("gamma", "middle", "best"), [(0.5, -0.1054, -0.0843), (0.9, -1.3242, -0.8388)]
)
def test_the_table_of_the_chain(gamma, middle, best):
    mdp = ti.worlds.chain(5, discount=gamma)
    view = ti.Worldview.select(mdp, ["cell 3"])
    shown = show(mdp, view, WEIGHTS)
    assert round(shown.guaranteed, 4) == round(shown.upper, 4) == best
    assert shown.status is ShownStatus.OPTIMAL
    optimum = ti.worst_case(mdp, view, WEIGHTS, ti.optimal_policy(mdp, WEIGHTS).policy)
    assert shown.gain == shown.guaranteed - optimum.lower
    paper = ti.worst_case(mdp, view, WEIGHTS, ti.Policy.deterministic(mdp, [1, 1, 1, 0, 0]))
    assert round(paper.upper, 4) == middle < shown.guaranteed
    # What it returns goes wherever a demonstration does.
    for demonstration in (shown.policy, shown.demonstration):
        again = ti.worst_case(mdp, view, WEIGHTS, demonstration)
        assert again.lower == shown.guaranteed
    assert f"{shown.gain:.4g} more" in str(shown)


def tiny(rng):
    """MDPs that can be solved exactly: integers and fractions, ties, states with fewer actions,
    features per state or pair, one-hot or not; views with zero and dependent rows at any scale."""
    n, k = int(rng.integers(2, 5)), int(rng.integers(2, 5))
    m = 2 if n == 4 else int(rng.integers(2, 4))
    states, actions, rows = [], [], []
    for state in range(n):
        for action in sorted(rng.choice(m, int(rng.integers(1, m + 1)), replace=False).tolist()):
            row = rng.integers(0, 4, n).astype(float)
            row = np.eye(n)[rng.integers(n)] if rng.random() < 0.6 or not row.any() else row
            states.append(state)
            actions.append(action)
            rows.append(row / row.sum())
    count = len(states) if rng.random() < 0.5 else n
    one_hot = rng.random() < 0.3
    phi = np.eye(k)[rng.integers(k, size=count)] if one_hot else rng.integers(-3, 4, (count, k))
    discount = float(rng.choice([0.25, 0.5, 0.9, 0.99]))
    mdp = ti.MDP.from_pairs(states, actions, np.array(rows), phi, discount=discount)
    matrix = rng.integers(-2, 3, (int(rng.integers(1, 4)), k)) * 10.0 ** rng.integers(-9, 9)
    if rng.random() < 0.4:
        matrix = np.eye(k)[rng.choice(k, min(len(matrix), k), replace=False)]
    if rng.random() < 0.3:
        matrix = np.vstack([matrix, np.zeros(k), matrix[0] * 1e-6])
    return mdp, ti.Worldview(matrix), rng.integers(-5, 6, k) * float(rng.choice([1.0, 1e-9, 1e9]))


def check_exactly(mdp, view, w, shown):
    """All that a result says, against exact linear programs for all deterministic policies."""
    best = max(exact_lp.worst_case(mdp, view, w, mu) for mu in exact_lp.vertices(mdp))
    mine = exact_lp.worst_case(mdp, view, w, exact_lp.expectations(mdp, shown.policy))
    best, mine, span = float(best), float(mine), span_of(mdp, w)
    rounding = 1e-13 * np.linalg.norm(w) * mdp.largest_feature / (1 - mdp.discount)
    assert shown.guaranteed <= mine + rounding
    assert mine <= best + rounding <= shown.upper + 2 * rounding
    # The worst case is as exact as a part in a million, and no more exact than rounding allows.
    assert shown.guaranteed >= mine - 1e-6 * span - 1e3 * rounding
    plain = ti.worst_case(mdp, view, w, ti.optimal_policy(mdp, w).policy)
    assert shown.gain == shown.guaranteed - plain.lower >= 0.0
    if shown.status in (ShownStatus.OPTIMAL, ShownStatus.BLIND):
        assert mine >= best - 1e-3 * span - 1e3 * rounding
    return mine >= best - 2e-6 * span - 1e3 * rounding


@pytest.mark.slow
def test_tiny_mdps_against_all_policies():
    gains = 0
    for seed in range(120):
        mdp, view, w = tiny(np.random.default_rng(seed))
        shown = show(mdp, view, w, starts=3)
        assert shown.status in (ShownStatus.OPTIMAL, ShownStatus.BLIND)
        assert check_exactly(mdp, view, w, shown)
        gains += shown.gain > 0.0
    assert gains >= 10


@settings(max_examples=40)
@given(st.data())
def test_any_mdp_and_any_view(data):
    mdp = data.draw(mdps(max_states=5))
    view = ti.Worldview(data.draw(worldviews(mdp.n_features)))
    w = data.draw(weights(mdp.n_features))
    shown = show(mdp, view, w, starts=2, proof_solves=50)
    best = ti.optimal_policy(mdp, w)
    plain = ti.worst_case(mdp, view, w, best.policy)
    assert plain.lower <= shown.guaranteed <= shown.upper <= best.upper
    again = ti.worst_case(mdp, view, w, shown.policy)
    assert shown.guaranteed == again.lower
    assert shown.theta.shape == (view.n_rows,)


@pytest.mark.parametrize("proof_solves", [0, 10, 40])
def test_what_little_work_proves_is_true(proof_solves):
    for seed in range(20):
        mdp, view, w = tiny(np.random.default_rng([99, seed]))
        check_exactly(mdp, view, w, show(mdp, view, w, starts=1, proof_solves=proof_solves))


def problem(seed, rank, *, size=4, slip=0.0, one_hot=False):
    rng = np.random.default_rng([seed, rank])
    mdp = ti.worlds.gridworld(size, slip=slip)
    k = mdp.n_features
    rows = np.eye(k)[rng.choice(k, rank, replace=False)]
    view = ti.Worldview(rows if one_hot else rng.standard_normal((rank, k)))
    w = rng.standard_normal(k)
    return mdp, view, w / np.linalg.norm(w)


def traced(mdp, view, w):
    """The best guarantee of all vertices of AM, for rank 2: each arc of directions whose ends look
    best in different ways is split where both look alike, until nothing looks better there."""
    Q = view.basis

    def vertex(theta):
        policy = ti.optimal_policy(mdp, Q.T @ theta).policy
        return policy, Q @ ti.feature_expectations(mdp, policy)

    first = [vertex(np.array(theta)) for theta in ((1.0, 0.0), (-0.5, 0.8), (-0.5, -0.8))]
    arcs, found = [(0, 1), (1, 2), (2, 0)], list(first)
    while arcs:
        i, j = arcs.pop()
        along = found[j][1] - found[i][1]
        length = np.linalg.norm(along)
        if length < 1e-9:
            continue
        normal = np.array([along[1], -along[0]]) / length
        policy, look = vertex(normal)
        if normal @ (look - found[i][1]) > 1e-9:
            found.append((policy, look))
            arcs += [(i, len(found) - 1), (len(found) - 1, j)]
    best = -np.inf
    for policy, _ in found:
        if w @ ti.feature_expectations(mdp, policy) > best:  # which it guarantees at most
            best = max(best, ti.worst_case(mdp, view, w, policy).lower)
    return best


@pytest.mark.slow
@pytest.mark.parametrize(("size", "slip"), [(4, 0.0), (3, 0.3)])
@pytest.mark.parametrize("one_hot", [False, True])
def test_two_features_against_the_traced_optimum(one_hot, size, slip):
    climbed = 0
    for seed in range(10):
        mdp, view, w = problem(seed, 2, size=size, slip=slip, one_hot=one_hot)
        best, span = traced(mdp, view, w), span_of(mdp, w)
        shown = show(mdp, view, w, starts=1, tolerance=1e-5)
        assert shown.upper >= best - 1e-9 * span
        assert shown.guaranteed >= best - 1e-5 * span
        assert shown.status is ShownStatus.OPTIMAL
        unproved = show(mdp, view, w, starts=4, proof_solves=0)
        assert unproved.guaranteed <= best + 2e-6 * span
        climbed += unproved.guaranteed >= best - 2e-6 * span
    # Climbing alone may miss a vertex that few directions lead to, which slips make likely.
    assert climbed >= (9 if slip == 0.0 else 6)


@pytest.mark.parametrize("slip", [0.0, 0.3])
@pytest.mark.parametrize("per_pair", [False, True])
def test_one_feature_needs_two_policies(slip, per_pair):
    for seed in range(5):
        mdp, view, w = problem(seed, 1, slip=slip)
        if per_pair:
            mdp = mdp.with_features(mdp.features.toarray()[mdp.dynamics.pair_states])
        ends = [ti.optimal_policy(mdp, sign * view.matrix[0]).policy for sign in (1, -1)]
        best = max(ti.worst_case(mdp, view, w, end).lower for end in ends)
        shown, span = show(mdp, view, w), span_of(mdp, w)
        assert shown.status is ShownStatus.OPTIMAL
        assert abs(shown.guaranteed - best) <= 2e-6 * span
        assert best <= shown.upper <= best + 1e-3 * span


@pytest.mark.parametrize("seed", range(3))
def test_three_features_are_settled(seed):
    mdp, view, w = problem(seed, 3)
    shown, span = show(mdp, view, w), span_of(mdp, w)
    assert shown.status is ShownStatus.OPTIMAL
    assert shown.upper - shown.guaranteed <= 1e-3 * span
    # Whatever else is shown guarantees no more.
    rng = np.random.default_rng(seed)
    for theta in rng.standard_normal((30, 3)):
        other = ti.optimal_policy(mdp, view.matrix.T @ theta).policy
        assert ti.worst_case(mdp, view, w, other).lower <= shown.upper


@pytest.mark.parametrize(("seed", "was", "is_now"), [(0, 0.162, 0.80), (4, 0.086, 0.80)])
def test_five_features_of_a_grid_lift_the_guarantee(seed, was, is_now):
    mdp, view, w = problem(seed, 5, size=10)
    best, worst = ti.optimal_policy(mdp, w).value, ti.worst_policy(mdp, w).value
    shown = show(mdp, view, w, proof_solves=0)
    before, after = (
        (reward - worst) / (best - worst)
        for reward in (shown.guaranteed - shown.gain, shown.guaranteed)
    )
    assert before < was
    assert after > is_now
    assert shown.status is ShownStatus.OUT_OF_SOLVES
    assert shown.upper == ti.optimal_policy(mdp, w).upper


@pytest.mark.parametrize("slip", [0.0, 0.3])
@pytest.mark.parametrize("length", [0.1, 10.0, LENGTH])
def test_what_is_exposed_is_its_own_worst_case(length, slip):
    mdp, view, w = problem(4, 3, slip=slip)
    span = span_of(mdp, w)
    exposer = Exposer(mdp, view.without(indistinct_directions(mdp).basis).basis, w, span)
    for theta in np.random.default_rng(0).standard_normal((10, 3)):
        point = exposer.expose(theta, length)
        assert point.reward * span == pytest.approx(
            w @ ti.feature_expectations(mdp, point.policy), abs=1e-9 * span
        )
        case = ti.worst_case(mdp, view, w, point.policy)
        assert case.lower <= point.reward * span + 1e-9 * span
        assert case.upper >= (point.reward - 1e-6) * span


def test_the_exposer_sees_all_directions_alike():
    rng = np.random.default_rng(3)
    mdp = ti.worlds.garnet(rng, 8, 3, 2, n_features=4)
    units = np.array([1e-3, 1.0, 1e3, 1.0])
    mdp, w = mdp.with_features(np.asarray(mdp.features) * units), 1.0 / units
    basis = np.eye(4)[:3]
    exposer = Exposer(mdp, basis, w, span_of(mdp, w))
    for axis in np.eye(3):
        high, low = (exposer.expose(sign * axis).look @ axis for sign in (1.0, -1.0))
        assert 0.1 < high - low < 10.0
    # The same reward, in its features and in the exposer's coordinates, has the same best policy.
    for reward in rng.standard_normal((5, 3)) / units[:3] @ basis:
        theta = exposer.coordinates(reward)
        plan, point = exposer.plan("any", theta, 0.0)
        best = ti.optimal_policy(mdp, reward).value
        assert theta @ point[:-1] == pytest.approx(best, rel=1e-9)
        assert reward @ ti.feature_expectations(mdp, plan.policy) == pytest.approx(best, rel=1e-9)


def test_features_in_other_units_make_no_difference():
    rng = np.random.default_rng(5)
    mdp = ti.worlds.garnet(rng, 8, 2, 2, n_features=4)
    w, units = rng.standard_normal(4), np.array([1e-4, 1.0, 1e4, 1.0])
    view = ti.Worldview(np.eye(4)[[0, 2]])
    shown = show(mdp, view, w)
    other = mdp.with_features(np.asarray(mdp.features) * units)
    again = show(other, ti.Worldview(view.matrix * [[1e-7], [1e9]]), w / units)
    span = span_of(mdp, w)
    assert shown.status is again.status is ShownStatus.OPTIMAL
    assert abs(shown.guaranteed - again.guaranteed) <= 2e-6 * span


def test_the_weights_scale():
    mdp, view, w = problem(2, 2)
    shown = show(mdp, view, w)
    for scale in (1e-12, 1e12):
        again = show(mdp, view, scale * w)
        assert again.guaranteed == pytest.approx(scale * shown.guaranteed, rel=1e-5)
        assert again.upper == pytest.approx(scale * shown.upper, rel=1e-3)


def test_the_same_dice_the_same_demonstration():
    mdp, view, w = problem(0, 5)
    one, same = (show(mdp, view, w, seed=7) for _ in range(2))
    assert np.array_equal(one.policy.pairs, same.policy.pairs)
    assert (one.guaranteed, one.upper, one.solves) == (same.guaranteed, same.upper, same.solves)
    assert np.array_equal(one.theta, same.theta)


@pytest.mark.parametrize("rank", [2, 3, 5, 8])
@pytest.mark.parametrize(("slip", "one_hot"), [(0.0, False), (0.0, True), (0.2, False)])
def test_what_is_rounded_otherwise_finds_the_same(rank, slip, one_hot):
    for seed in range(2):
        mdp, view, w = problem(seed, rank, slip=slip, one_hot=one_hot)
        rounded = np.random.default_rng(seed).uniform(-4e-15, 4e-15, view.matrix.shape)
        other = ti.Worldview(view.matrix * (1.0 + rounded))
        shown, again = (show(mdp, each, w, starts=4, proof_solves=0) for each in (view, other))
        assert abs(shown.guaranteed - again.guaranteed) <= 2e-6 * span_of(mdp, w)


@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize(("slip", "one_hot"), [(0.0, False), (0.0, True), (0.2, False)])
def test_a_proof_spares_climbs_and_finds_no_less(rank, slip, one_hot):
    for seed in range(3):
        mdp, view, w = problem(seed, rank, slip=slip, one_hot=one_hot)
        climbed, proved = show(mdp, view, w, proof_solves=0), show(mdp, view, w)
        span = span_of(mdp, w)
        assert proved.status is ShownStatus.OPTIMAL
        assert proved.solves < 0.5 * climbed.solves
        assert climbed.guaranteed - 5e-4 * span <= proved.guaranteed <= proved.upper
        assert climbed.guaranteed <= proved.upper
        rounded = np.random.default_rng(seed).uniform(-4e-15, 4e-15, view.matrix.shape)
        again = show(mdp, ti.Worldview(view.matrix * (1.0 + rounded)), w)
        assert abs(proved.guaranteed - again.guaranteed) <= 2e-6 * span


def test_where_half_the_solves_prove_nothing_all_climb_and_the_proof_goes_on():
    mdp, view, w = problem(2, 4)
    climbed, cut, proved = (show(mdp, view, w, proof_solves=each) for each in (0, 200, 2000))
    assert cut.status is ShownStatus.OUT_OF_SOLVES
    assert cut.solves > climbed.solves
    assert cut.guaranteed >= climbed.guaranteed
    assert proved.status is ShownStatus.OPTIMAL
    assert proved.upper <= cut.upper


def test_a_search_takes_the_same_from_the_dice_however_it_goes():
    left = []
    for seed in range(3):
        rng = np.random.default_rng(0)
        best_demonstration(*problem(seed, 3), rng=rng, proof_solves=0)
        left.append(rng.random())
    assert left == left[:1] * 3


@pytest.mark.parametrize("rows", [np.empty((0, 16)), np.zeros((2, 16)), np.ones((1, 16))])
def test_who_sees_nothing_that_matters_may_do_anything(rows):
    mdp = ti.worlds.gridworld(4)
    w = np.random.default_rng(0).standard_normal(16)
    shown, worst = show(mdp, ti.Worldview(rows), w), ti.worst_policy(mdp, w)
    assert shown.status is ShownStatus.BLIND
    assert shown.guaranteed == pytest.approx(worst.value, abs=1e-6 * span_of(mdp, w))
    assert shown.upper >= worst.lower
    assert shown.upper == pytest.approx(worst.value, abs=1e-6 * span_of(mdp, w))
    assert shown.gain == 0.0
    assert shown.theta.shape == (len(rows),)


def test_who_sees_everything_is_shown_an_optimal_policy():
    mdp = ti.worlds.gridworld(4)
    w = np.random.default_rng(0).standard_normal(16)
    shown, best = show(mdp, ti.Worldview(np.eye(16)), w), ti.optimal_policy(mdp, w)
    assert shown.status is ShownStatus.OPTIMAL
    assert np.array_equal(shown.policy.pairs, best.policy.pairs)
    assert shown.guaranteed == pytest.approx(best.value, abs=1e-5 * span_of(mdp, w))
    assert shown.gain == 0.0
    assert "optimal policy" in shown.sentence


@pytest.mark.parametrize("w", [[0.0], [3.0]])
def test_one_state_and_one_action(w):
    mdp = ti.MDP.from_pairs([0], [0], [[1.0]], [[1.0]], discount=0.5)
    shown = show(mdp, ti.Worldview([[1.0]]), w)
    assert shown.status is ShownStatus.OPTIMAL
    assert shown.guaranteed == pytest.approx(2 * w[0], abs=1e-9)


def test_more_features_than_can_be_proved():
    mdp, view, w = problem(0, 8, size=10)
    shown = show(mdp, view, w, starts=2)
    assert shown.status is ShownStatus.UNPROVED
    assert shown.upper == ti.optimal_policy(mdp, w).upper


def test_a_hull_that_fails_proves_nothing_and_breaks_nothing(monkeypatch):
    def fails(points):
        raise QhullError("flat")

    mdp, view, w = problem(0, 2)
    monkeypatch.setattr(showing_bounds, "_facets", fails)
    shown = show(mdp, view, w)
    assert shown.status is ShownStatus.UNPROVED
    assert shown.upper == ti.optimal_policy(mdp, w).upper
    assert shown.gain > 0.0


def test_the_lowest_point_of_the_highest_line():
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 10, 50):
        for _ in range(20):
            heights, slopes = rng.standard_normal((2, n))
            slopes[rng.integers(n)] = abs(slopes[0])
            alpha, value = showing_bounds._lowest(heights, slopes)
            assert alpha >= 0.0
            assert value == pytest.approx((heights + alpha * slopes).max(), abs=1e-12)
            # A convex function is least at 0 or where two lines meet.
            meet = [0.0]
            for i, j in itertools.combinations(range(n), 2):
                if abs(slopes[i] - slopes[j]) > FLAT:
                    meet.append((heights[j] - heights[i]) / (slopes[i] - slopes[j]))
            assert value <= min((heights + a * slopes).max() for a in meet if a >= 0) + 1e-9


def test_mistakes_are_named():
    mdp, view, w = problem(0, 1)
    rng = np.random.default_rng(0)
    for options, words in (
        ({"starts": 0}, "starts"),
        ({"proof_solves": -1}, "proof_solves"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"rng": 3}, "Generator"),
    ):
        with pytest.raises(ti.InvalidInputError, match=words):
            best_demonstration(mdp, view, w, **{"rng": rng, **options})
    with pytest.raises(ti.InvalidInputError, match="weights"):
        best_demonstration(mdp, view, w[:-1], rng=rng)
    with pytest.raises(ti.InvalidInputError, match="Worldview"):
        best_demonstration(mdp, view.matrix, w, rng=rng)


def test_what_is_found_can_be_shown_as_it_is():
    mdp, w = ti.worlds.chain(5), [-2, -1, 0, 1, 2]
    view = ti.Worldview.select(mdp, ["cell 3"])
    shown = ti.best_demonstration(mdp, view, w, rng=np.random.default_rng(0))
    assert ti.as_demonstration(mdp, shown) is shown.demonstration
    assert ti.worst_case(mdp, view, w, shown).lower == pytest.approx(shown.guaranteed, abs=1e-6)
    assert shown.expectations is shown.demonstration.expectations
