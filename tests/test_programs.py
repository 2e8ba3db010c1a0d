import math
from math import prod

import numpy as np
import pytest
from flint import fmpq
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import exact_lp
import teachirl as ti
from exact import exact
from teachirl.guarantees.bounds import WorstCaseStatus, lower_bound
from teachirl.guarantees.solvers.programs import FORMS, solve_program
from teachirl.testing import mdps, policies, weights, worldviews
from teachirl.views.worldview import Worldview

PAPER_WEIGHTS = np.array([-1, -0.5, 0, 0.5, 1]) / np.linalg.norm([-1, -0.5, 0, 0.5, 1])
OPTIMAL = WorstCaseStatus.OPTIMAL


def returns_range(mdp, w):
    """What returns could differ by, rounding included: the scale of all tolerances."""
    rewards = mdp.rewards(w)
    size = np.linalg.norm(w) * mdp.largest_feature
    return max(rewards.max() - rewards.min(), 1e-4 * size, 1e-300) / (1 - mdp.discount)


def draw_problem(data, **limits):
    mdp = data.draw(mdps(**limits))
    view = Worldview(data.draw(worldviews(mdp.n_features)))
    w = data.draw(weights(mdp.n_features))
    return mdp, view, w, data.draw(policies(mdp))


def grid_problem(rows, *, slip=0.0, size=6, seed=0):
    mdp = ti.worlds.gridworld(size, 2, slip=slip)
    rng = np.random.default_rng(seed)
    w, view = rng.normal(size=mdp.n_features), Worldview(rng.normal(size=(rows, mdp.n_features)))
    policy = ti.optimal_policy(mdp, w).policy
    return mdp, view, w, policy


def check_witness(mdp, view, w, mu, found):
    """What is said of the witness holds for the policy itself, in exact arithmetic."""
    real = exact_lp.expectations(mdp, found.witness)
    assert exact_lp.dot(exact_lp.vector(w), real) <= exact(found.upper)
    assert exact(found.lower) <= exact(found.upper)
    off = np.array([float(a - b) for a, b in zip(real, mu, strict=True)])
    size = np.linalg.norm(view.matrix, ord="fro") * mdp.largest_feature / (1 - mdp.discount)
    assert abs(np.linalg.norm(view.matrix @ off) - found.matched) <= 1e-11 * size
    assert np.array_equal(found.occupancy, ti.occupancy(mdp, found.witness))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("gamma", "best", "middle"), [(0.5, -0.3057, -0.1054), (0.9, -3.9240, -1.3242)]
)
def test_the_chain_of_figure_1(form, gamma, best, middle):
    mdp = ti.worlds.chain(5, discount=gamma)
    view = Worldview.select(mdp, ["cell 3"])
    for actions, expected in (([1, 1, 1, 1, 0], best), ([1, 1, 1, 0, 0], middle)):
        mu = ti.feature_expectations(mdp, ti.Policy.deterministic(mdp, actions))
        found = solve_program(mdp, view, PAPER_WEIGHTS, mu, form=form)
        assert round(found.lower, 4) == round(found.upper, 4) == expected
        assert found.status is OPTIMAL and found.matched < 1e-8


@settings(max_examples=40)
@given(st.data())
def test_all_forms_agree_with_the_exact_twin(data):
    mdp, view, w, policy = draw_problem(data, max_states=5)
    mu = exact_lp.expectations(mdp, policy)
    worst, scale = exact_lp.worst_case(mdp, view, w, mu), returns_range(mdp, w)
    known = data.draw(st.booleans(), label="occupancy known")
    shown = ti.feature_expectations(mdp, policy)
    for form in FORMS:
        x = ti.occupancy(mdp, policy) if known else None
        found = solve_program(mdp, view, w, shown, form=form, occupancy=x)
        assert found.status is OPTIMAL
        assert exact(found.lower) <= worst
        assert found.upper - found.lower <= 1e-6 * scale
        assert abs(found.upper - float(worst)) <= 1e-6 * scale
        check_witness(mdp, view, w, mu, found)


@settings(max_examples=40)
@given(st.data())
def test_the_exact_twin_agrees_with_enumeration(data):
    mdp, view, w, policy = draw_problem(data, max_states=4)
    assume(prod(np.diff(mdp.dynamics.offsets).tolist()) <= 32)
    mu = exact_lp.expectations(mdp, policy)
    assert exact_lp.worst_case(mdp, view, w, mu) == exact_lp.worst_mixture(mdp, view, w, mu)


@settings(max_examples=40)
@given(st.data())
def test_the_best_case_is_the_worst_of_the_opposite(data):
    mdp, view, w, policy = draw_problem(data, max_states=4)
    mu, shown = exact_lp.expectations(mdp, policy), ti.feature_expectations(mdp, policy)
    best = -exact_lp.worst_case(mdp, view, -w, mu)
    for form in FORMS:
        found = solve_program(mdp, view, w, shown, form=form, maximise=True)
        assert found.status is OPTIMAL and best <= exact(found.upper)
        assert found.upper - found.lower <= 1e-6 * returns_range(mdp, w)
        earned = exact_lp.dot(exact_lp.vector(w), exact_lp.expectations(mdp, found.witness))
        assert exact(found.lower) <= earned


@settings(max_examples=40)
@given(st.data())
def test_bounds_with_a_mismatch_hold_and_fall_with_it(data):
    mdp, view, w, policy = draw_problem(data, max_states=4)
    mu, shown = exact_lp.expectations(mdp, policy), ti.feature_expectations(mdp, policy)
    scale = returns_range(mdp, w)
    size = max(view.norm, 1e-12) * mdp.largest_feature / (1 - mdp.discount)
    exactly = exact_lp.worst_case(mdp, view, w, mu)
    above = math.inf
    for share in (1e-6, 1e-3, 0.1, 3.0):
        found = solve_program(mdp, view, w, shown, max(share * size, 1e-300), form="cone")
        assert found.status is OPTIMAL
        assert exact(found.lower) <= exactly
        assert found.lower <= above
        assert found.matched <= share * size * (1 + 1e-9) + 1e-9 * size
        check_witness(mdp, view, w, mu, found)
        above = found.upper + 1e-6 * scale
    least = ti.worst_policy(mdp, w)
    assert least.lower - 1e-6 * scale <= found.lower <= found.upper <= least.upper + 1e-6 * scale


@settings(max_examples=60)
@given(st.data())
def test_any_theta_gives_a_lower_bound(data):
    mdp, view, w, policy = draw_problem(data, max_states=4)
    mu, shown = exact_lp.expectations(mdp, policy), ti.feature_expectations(mdp, policy)
    size = data.draw(st.sampled_from((1e-9, 1.0, 1e9)))
    theta = size * np.array(
        data.draw(st.lists(st.integers(-3, 3), min_size=view.n_rows, max_size=view.n_rows)),
        dtype=float,
    )
    assert exact(lower_bound(mdp, view, w, shown, 0.0, theta)) <= exact_lp.worst_case(
        mdp, view, w, mu
    )
    # The demonstrator and any other policy that matches within ε earn at least the bound.
    other = exact_lp.expectations(mdp, data.draw(policies(mdp)))
    off = np.array([float(a - b) for a, b in zip(other, mu, strict=True)])
    ε = float(np.linalg.norm(view.matrix @ off)) * (1 + 1e-12)
    earned = exact_lp.dot(exact_lp.vector(w), other)
    assert exact(lower_bound(mdp, view, w, shown, ε, theta)) <= earned


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("slip", [0.0, 0.3])
def test_one_who_sees_nothing_may_do_anything(form, slip):
    mdp, _, w, policy = grid_problem(1, slip=slip)
    mu, least = ti.feature_expectations(mdp, policy), ti.worst_policy(mdp, w)
    for matrix in (np.empty((0, 9)), np.zeros((2, 9))):
        found = solve_program(mdp, Worldview(matrix), w, mu, form=form)
        assert found.status is OPTIMAL and found.matched == 0.0
        assert found.lower == pytest.approx(least.value, rel=1e-8)
        assert found.upper == pytest.approx(least.value, rel=1e-8)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("slip", [0.0, 0.3])
def test_one_who_sees_all_does_as_well(form, slip):
    mdp, _, w, policy = grid_problem(1, slip=slip)
    mu = ti.feature_expectations(mdp, policy)
    found = solve_program(mdp, Worldview(np.eye(9)), w, mu, form=form)
    assert found.status is OPTIMAL
    assert found.lower == pytest.approx(float(w @ mu), rel=1e-7)
    assert found.upper == pytest.approx(float(w @ mu), rel=1e-7)


@pytest.mark.parametrize("form", FORMS)
def test_scales_do_not_matter(form):
    mdp, view, w, policy = grid_problem(4)
    mu = ti.feature_expectations(mdp, policy)
    plain = solve_program(mdp, view, w, mu, form=form)
    rng = np.random.default_rng(1)
    for scale in (1e-12, 1e-3, 1e12):
        scaled = solve_program(mdp, view, scale * w, mu, form=form)
        assert scaled.lower / scale == pytest.approx(plain.lower, rel=1e-6)
        assert scaled.upper / scale == pytest.approx(plain.upper, rel=1e-6)
        rows = scale ** rng.uniform(size=(4, 1)) * view.matrix
        scaled = solve_program(mdp, Worldview(rows), w, mu, form=form)
        assert scaled.status is OPTIMAL
        assert scaled.lower == pytest.approx(plain.lower, rel=1e-6)
        assert scaled.upper == pytest.approx(plain.upper, rel=1e-6)


def test_mismatch_is_measured_in_the_worldview_itself():
    mdp, view, w, policy = grid_problem(4)
    mu = ti.feature_expectations(mdp, policy)
    plain = solve_program(mdp, view, w, mu, 0.1, form="cone")
    tenfold = solve_program(mdp, Worldview(10 * view.matrix), w, mu, 1.0, form="cone")
    assert tenfold.lower == pytest.approx(plain.lower, rel=1e-6)
    assert tenfold.matched == pytest.approx(10 * plain.matched, rel=1e-5)
    repeated = Worldview(np.vstack([view.matrix, view.matrix]) / math.sqrt(2))
    twice = solve_program(mdp, repeated, w, mu, 0.1, form="cone")
    assert twice.lower == pytest.approx(plain.lower, rel=1e-6)


@pytest.mark.parametrize("slip", [0.0, 0.3])
@pytest.mark.parametrize("rows", [1, 5, 8, 12])
def test_forms_agree_on_grids(rows, slip):
    mdp, view, w, policy = grid_problem(rows, slip=slip, seed=rows)
    mu, x = ti.feature_expectations(mdp, policy), ti.occupancy(mdp, policy)
    found = [solve_program(mdp, view, w, mu, form=form, occupancy=x) for form in FORMS]
    found += [solve_program(mdp, view, w, mu, form=form) for form in FORMS]
    scale = 1e-6 * returns_range(mdp, w)
    for each in found:
        assert each.status is OPTIMAL and each.upper - each.lower <= scale
        assert abs(each.upper - found[0].upper) <= scale
        mu_witness = ti.feature_expectations(mdp, each.witness)
        assert each.upper == pytest.approx(float(w @ mu_witness), rel=1e-9)
        assert each.matched == pytest.approx(np.linalg.norm(view.matrix @ (mu_witness - mu)))


@pytest.mark.parametrize("form", FORMS)
def test_rounding_does_not_make_a_demonstration_infeasible(form):
    mdp, view, w, policy = grid_problem(8)
    mu = ti.feature_expectations(mdp, policy)
    plain = solve_program(mdp, view, w, mu, form=form)
    for size in (1e-15, 1e-14, 1e-13):
        noise = size * np.abs(mu) * np.random.default_rng(2).uniform(-1, 1, len(mu))
        found = solve_program(mdp, view, w, mu + noise, form=form)
        assert found.status is OPTIMAL
        assert found.lower == pytest.approx(plain.lower, rel=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_what_no_policy_matches_is_proved_infeasible(form):
    mdp, view, w, policy = grid_problem(5)
    mu = ti.feature_expectations(mdp, policy)
    # A vertex of what the learner sees, pushed out along the direction that it is extreme in.
    theta = np.random.default_rng(3).normal(size=5)
    best = ti.optimal_policy(mdp, view.matrix.T @ theta)
    corner = ti.feature_expectations(mdp, best.policy)
    outward = view.basis.T @ (view.basis @ (view.matrix.T @ theta))
    for distance in (1.0, 1e-2, 1e-5):
        target = corner + distance * outward / np.linalg.norm(outward)
        found = solve_program(mdp, view, w, target, form=form)
        assert found.status is WorstCaseStatus.INFEASIBLE
        assert found.lower == found.upper == math.inf
        seen = view.matrix.T @ found.theta
        assert seen @ target > ti.optimal_policy(mdp, seen).upper
        assert found.matched > 0
        top = solve_program(mdp, view, w, target, form=form, maximise=True)
        assert top.status is WorstCaseStatus.INFEASIBLE and top.upper == -math.inf
    assert solve_program(mdp, view, w, corner, form=form).status is OPTIMAL
    assert solve_program(mdp, view, w, mu, form=form).status is OPTIMAL


def test_a_sampled_demonstration_outside_needs_a_mismatch():
    mdp, view, w, policy = grid_problem(5)
    demo = ti.Demonstration.sample(
        mdp, policy, episodes=50, horizon=40, rng=np.random.default_rng(4)
    )
    refused = solve_program(mdp, view, w, demo.expectations, form="cone")
    assert refused.status is WorstCaseStatus.INFEASIBLE
    # The nearest policy misses by what is reported; with that and a little more there is one.
    misses = np.linalg.norm(
        view.matrix @ (ti.feature_expectations(mdp, refused.witness) - demo.expectations)
    )
    assert refused.matched == pytest.approx(misses)
    found = solve_program(mdp, view, w, demo.expectations, 1.01 * refused.matched, form="cone")
    assert found.status is OPTIMAL and found.matched <= 1.01 * refused.matched
    tight_mismatch = 0.01 * refused.matched
    tight = solve_program(mdp, view, w, demo.expectations, tight_mismatch, form="cone")
    assert tight.status is WorstCaseStatus.INFEASIBLE
    seen = view.matrix.T @ tight.theta
    most = ti.optimal_policy(mdp, seen).upper + tight_mismatch * np.linalg.norm(tight.theta)
    assert seen @ demo.expectations > most


@pytest.mark.parametrize("form", FORMS)
def test_features_that_are_never_there(form):
    features = np.array([[1.0, 0.0], [3.0, 0.0]])
    stay, swap = np.eye(2), np.eye(2)[::-1]
    mdp = ti.MDP.from_arrays(np.stack([stay, swap], axis=1), features, discount=0.5)
    view, w = Worldview([[0.0, 1.0]]), [1.0, 1.0]
    mu = ti.feature_expectations(mdp, ti.Policy.uniform(mdp))
    found = solve_program(mdp, view, w, mu, form=form)
    assert found.status is OPTIMAL
    assert found.lower == pytest.approx(ti.worst_policy(mdp, w).value)
    impossible = solve_program(mdp, view, w, mu + np.array([0.0, 1.0]), form=form)
    assert impossible.status is WorstCaseStatus.INFEASIBLE
    assert impossible.matched == pytest.approx(1.0)


@pytest.mark.parametrize("form", FORMS)
def test_out_of_time_the_bounds_still_hold(form):
    mdp, view, w, policy = grid_problem(20, size=20)
    view = Worldview(np.random.default_rng(5).normal(size=(20, 100)))
    mu, x = ti.feature_expectations(mdp, policy), ti.occupancy(mdp, policy)
    value = solve_program(mdp, view, w, mu, form="cone").upper
    for known in (x, None):
        found = solve_program(mdp, view, w, mu, form=form, occupancy=known, max_seconds=1e-9)
        assert found.status is WorstCaseStatus.OUT_OF_BUDGET
        assert -math.inf < found.lower <= value + 1e-6
        if known is not None:
            assert found.upper == pytest.approx(float(w @ mu))


def test_bad_arguments_are_named():
    mdp, view, w, policy = grid_problem(2)
    mu = ti.feature_expectations(mdp, policy)
    cases = [
        ({"form": "simplex"}, "form must be one of direct, lifted, cone, got 'simplex'"),
        ({"mismatch": 0.1}, "mismatch 0.1 needs the form 'cone'"),
        ({"mismatch": -1.0, "form": "cone"}, "mismatch must be non-negative, got -1.0"),
        ({"tolerance": 0.0}, "tolerance must be positive, got 0.0"),
        ({"max_seconds": 0.0}, "max_seconds must be positive, got 0.0"),
        ({"occupancy": np.ones(3)}, r"occupancy must have shape \(144,\), got \(3,\)"),
        ({"occupancy": -np.ones(144)}, "occupancy must be non-negative and finite, got -1.0"),
        ({"occupancy": np.ones(144)}, "occupancy must be of a policy that matches"),
    ]
    for options, message in cases:
        with pytest.raises(ti.InvalidInputError, match=message):
            solve_program(mdp, view, w, mu, **options)
    with pytest.raises(ti.InvalidInputError, match="worldview is on 3 features, the MDP has 9"):
        solve_program(mdp, Worldview(np.eye(3)), w, mu)
    with pytest.raises(ti.InvalidInputError, match=r"expectations must have shape \(9,\)"):
        solve_program(mdp, view, w, np.ones((2, 9)))


def test_the_exact_linear_program_itself():
    one, half = fmpq(1), fmpq(1, 2)
    # min −x − 2y such that x + y + s = 1, x + 3y + t = 2: at x = y = 1/2.
    matrix = [[one, one, one, 0 * one], [one, 3 * one, 0 * one, one]]
    found = exact_lp.minimum([-one, -2 * one, 0 * one, 0 * one], matrix, [one, 2 * one])
    assert found == -3 * half
    # Redundant rows do no harm, contradictory ones are found, and so are negative right hand sides.
    twice = [[one, one], [-one, -one]]
    assert exact_lp.minimum([one, 2 * one], twice, [one, -one]) == 1
    assert exact_lp.minimum([one, 2 * one], twice, [one, -half]) is None
    assert exact_lp.minimum([one, 2 * one], [[one, one]], [-one]) is None
