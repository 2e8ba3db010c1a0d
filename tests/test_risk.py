"""Teaching risk, of a view and after each candidate, against the paper's way to compute it."""

import doctest
import itertools
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.linalg import null_space

import teachirl as ti
from teachirl import InvalidInputError, Policy, feature_expectations, worlds
from teachirl.mdp import evaluation
from teachirl.mdp.evaluation import Chain
from teachirl.mdp.right_hand_sides import Method
from teachirl.precision import DEPENDENT
from teachirl.precision import RISK_TIE as TIE
from teachirl.selection import best_subset as best_subset_module
from teachirl.selection.relaxation import unlike
from teachirl.testing import mdps, policies, weights, worldviews
from teachirl.views import linear_algebra
from teachirl.views.linear_algebra import unit_rows, units_beside, without_span
from teachirl.views.potential_shaping import Indistinct, indistinct_directions
from teachirl.views.scorer import SHARED_FROM
from teachirl.views.teaching_risk import (
    RiskScorer,
    blind_spot,
    relative_risk,
    risk_after,
    teaching_risk,
)
from teachirl.views.worldview import Worldview

CHAIN_WEIGHTS = np.array([-1, -0.5, 0, 0.5, 1])


def risk_by_svd(matrix, w):
    """The paper's way: λ = (ker A ∩ ker w)^⊥ ∩ ker A is a line, and ρ = ⟨w, v⟩ for the v on it."""
    k = len(w)
    rows, w = unit_rows(np.reshape(matrix, (-1, k))), unit_rows(w[None, :])[0]
    both = null_space(np.vstack([rows, w]), rcond=DEPENDENT)
    line = null_space(np.vstack([rows, both.T]), rcond=DEPENDENT)
    return float(np.linalg.norm(w @ line))


def exact_risk(matrix, w):
    """ρ of the very floats, in rational arithmetic but for the last root."""
    basis = []
    r = [Fraction(float(x)) for x in w]
    total = dot(r, r)
    for row in np.reshape(matrix, (-1, len(w))):
        u = [Fraction(float(x)) for x in row]
        for q in basis:
            u = minus(u, dot(u, q) / dot(q, q), q)
        if dot(u, u):
            basis.append(u)
            r = minus(r, dot(r, u) / dot(u, u), u)
    return math.sqrt(dot(r, r) / total)


def dot(x, y):
    return sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0))


def minus(x, factor, y):
    return [a - factor * b for a, b in zip(x, y, strict=True)]


@st.composite
def problems(draw, max_features=6):
    """A worldview [ℓ, k] and weights [k] that are not all zero."""
    k = draw(st.integers(1, max_features))
    w = draw(weights(k))
    assume(w.any())
    return draw(worldviews(k)), w


@st.composite
def scoring_problems(draw):
    """A worldview, weights and candidates [n, k], some of them zero, some equal up to scale."""
    matrix, w = draw(problems(5))
    candidates = draw(worldviews(len(w), max_rows=7))
    again = draw(st.lists(st.integers(0, 6), max_size=3))
    copies = [candidates[i % len(candidates)] * -3.0 for i in again] if len(candidates) else []
    return matrix, w, np.array([*candidates, *copies]).reshape(-1, len(w))


@given(problems())
def test_risk_is_what_the_paper_computes(problem):
    matrix, w = problem
    risk = teaching_risk(Worldview(matrix), w)
    assert 0.0 <= risk <= 1.0
    assert risk == pytest.approx(risk_by_svd(matrix, w), rel=1e-12, abs=1e-9)


@given(problems(), st.sampled_from([-1.0, 1e-12, 1e12, -3e100, 7e-200]), st.data())
def test_risk_is_free_of_scale(problem, scale, data):
    matrix, w = problem
    risk = teaching_risk(Worldview(matrix), w)
    assert teaching_risk(Worldview(matrix), scale * w) == pytest.approx(risk, rel=1e-14, abs=1e-15)
    assert teaching_risk(Worldview(scale * matrix), w) == pytest.approx(risk, rel=1e-9, abs=1e-12)
    scales = st.sampled_from([1.0, -1.0, 1e-12, 1e12, 0.3])
    by_row = data.draw(st.lists(scales, min_size=len(matrix), max_size=len(matrix)))
    scaled = Worldview(np.array(by_row).reshape(-1, 1) * matrix)
    assert teaching_risk(scaled, w) == pytest.approx(risk, rel=1e-9, abs=1e-12)


@given(scoring_problems())
def test_risk_after_is_the_risk_of_the_extended_view_and_never_higher(problem):
    matrix, w, candidates = problem
    view = Worldview(matrix)
    before, after = teaching_risk(view, w), risk_after(view, w, candidates)
    assert after.shape == (len(candidates),)
    assert (after <= before).all() and (after >= 0.0).all()
    for candidate, risk in zip(candidates, after, strict=True):
        wider = view.extend(candidate)
        assert teaching_risk(wider, w) <= before + 1e-15
        assert risk == pytest.approx(teaching_risk(wider, w), rel=1e-9, abs=1e-12)


@given(problems())
def test_extreme_views(problem):
    matrix, w = problem
    k = len(w)
    assert teaching_risk(Worldview(np.empty((0, k))), w) == pytest.approx(1.0, abs=1e-15)
    assert teaching_risk(Worldview(np.zeros((3, k))), w) == pytest.approx(1.0, abs=1e-15)
    assert teaching_risk(Worldview(np.eye(k)), w) == 0.0
    assert teaching_risk(Worldview(matrix).extend(w), w) <= 1e-14
    assert teaching_risk(Worldview(matrix).extend(-1e-12 * w), w) <= 1e-14


def test_the_paper_example():
    view = Worldview([[0, 0, 1, 0, 0]])
    assert teaching_risk(view, CHAIN_WEIGHTS) == pytest.approx(1.0, abs=1e-15)
    view = view.extend([0, 0, 0, 0, 1])
    assert teaching_risk(view, CHAIN_WEIGHTS) == pytest.approx(math.sqrt(1.5 / 2.5), rel=1e-15)


@pytest.mark.parametrize("size", [1e-2, 1e-4, 1e-6, 1e-8, 1e-10])
def test_risks_near_zero_are_right_to_many_digits(size):
    rng = np.random.default_rng(5)
    matrix = rng.standard_normal((4, 9))
    out = rng.standard_normal(9)
    out -= matrix.T @ np.linalg.lstsq(matrix.T, out, rcond=None)[0]
    w = rng.standard_normal(4) @ matrix + size * out
    accuracy = 1e-15 / size
    true = exact_risk(matrix, w)
    assert teaching_risk(Worldview(matrix), w) == pytest.approx(true, rel=10 * accuracy)
    after = risk_after(Worldview(matrix[:3]), w, matrix[3:])[0]
    assert after == pytest.approx(true, rel=50 * accuracy)


@pytest.mark.parametrize("size", [1e-2, 1e-4, 1e-6, 1e-8])
def test_nearly_dependent_candidates_are_scored_as_well_as_their_digits_allow(size):
    rng = np.random.default_rng(6)
    matrix = rng.standard_normal((4, 9))
    w = rng.standard_normal(9)
    candidates = rng.standard_normal((6, 4)) @ matrix + size * rng.standard_normal((6, 9))
    after = risk_after(Worldview(matrix), w, candidates)
    for candidate, risk in zip(candidates, after, strict=True):
        true = exact_risk(np.vstack([matrix, candidate]), w)
        assert risk == pytest.approx(true, abs=1e-14 / size)


@pytest.mark.parametrize("size", [1e-11, 1e-13, 1e-16, 0.0])
def test_candidates_below_the_tolerance_are_dependent(size):
    rng = np.random.default_rng(7)
    matrix = rng.standard_normal((4, 9))
    w = rng.standard_normal(9)
    candidates = rng.standard_normal((6, 4)) @ matrix + size * rng.standard_normal((6, 9))
    view = Worldview(matrix)
    assert (risk_after(view, w, candidates) == teaching_risk(view, w)).all()


def test_candidates_of_any_scale():
    rng = np.random.default_rng(8)
    view, w = Worldview(rng.standard_normal((2, 6))), rng.standard_normal(6)
    candidates = rng.standard_normal((8, 6))
    true = risk_after(view, w, candidates)
    scales = np.array([1e-300, 1e-200, 1e-120, 1e-12, 1.0, 1e12, 1e150, 1e300])
    scaled = candidates * scales[:, None]
    assert risk_after(view, w, scaled) == pytest.approx(true, rel=1e-14)
    assert np.array_equal(scaled, candidates * scales[:, None])  # what is given stays as it is
    single = candidates.astype(np.float32)
    expected = risk_after(view, w, single.astype(float))
    assert risk_after(view, w, single) == pytest.approx(expected, rel=1e-15)


def test_no_candidates():
    assert risk_after(Worldview(np.eye(3)[:1]), [1, 2, 3], np.empty((0, 3))).shape == (0,)


# The scorer, against brute force.


def by_brute_force(view, w, candidates, taught):
    """What TRGreedy chooses by the paper's computation, ties by the stated rule."""
    left = [i for i in range(len(candidates)) if i not in taught]
    before = risk_by_svd(view.matrix, w)
    risks = [risk_by_svd(np.vstack([view.matrix, candidates[i]]), w) for i in left]
    bar = min(min(risks), before) + TIE * before + 1e-14
    return next(i for i, risk in zip(left, risks, strict=True) if risk <= bar)


@settings(max_examples=60)
@given(scoring_problems(), st.booleans())
def test_rounds_are_those_of_brute_force(problem, screen):
    matrix, w, candidates = problem
    view, taught = Worldview(matrix), []
    scorer = RiskScorer(view, w, candidates, screen=screen)
    for _ in candidates:
        expected = [teaching_risk(view.extend(f), w) for f in candidates]
        assert scorer.risks() == pytest.approx(expected, rel=1e-9, abs=1e-12)
        chosen = scorer.best()
        if scorer.risk > 1e-12:
            assert chosen == by_brute_force(view, w, candidates, taught)
        taught.append(chosen)
        scorer.teach(chosen)
        view = view.extend(candidates[chosen])
        assert scorer.risk == pytest.approx(teaching_risk(view, w), rel=1e-9, abs=1e-13)
    with pytest.raises(InvalidInputError, match="all candidates are taught"):
        scorer.best()


@pytest.mark.parametrize("screen", [False, True])
@pytest.mark.parametrize("kind", ["gaussian", "one-hot", "near-dependent", "duplicates"])
def test_many_rounds_stay_exact(kind, screen):
    rng = np.random.default_rng([9, screen])
    n, k = 36, 18
    candidates = {
        "gaussian": rng.standard_normal((n, k)),
        "one-hot": np.eye(k)[rng.integers(k, size=n)],
        "near-dependent": rng.standard_normal((n, 8)) @ rng.standard_normal((8, k))
        + 1e-5 * rng.standard_normal((n, k)),
        "duplicates": rng.standard_normal((n // 3, k))[rng.integers(n // 3, size=n)]
        * 10.0 ** rng.integers(-9, 9, size=(n, 1)),
    }[kind]
    view, w, taught = Worldview(rng.standard_normal((3, k))), rng.standard_normal(k), []
    scorer = RiskScorer(view, w, candidates, screen=screen)
    for _ in range(n):
        if scorer.risk > 1e-7:
            assert scorer.best() == by_brute_force(view, w, candidates, taught)
        expected = [teaching_risk(view.extend(f), w) for f in candidates]
        assert scorer.risks() == pytest.approx(expected, rel=1e-7, abs=1e-10)
        taught.append(scorer.best())
        scorer.teach(taught[-1])
        view = view.extend(candidates[taught[-1]])
        assert scorer.risk == pytest.approx(expected[taught[-1]], rel=1e-7, abs=1e-10)
    assert sorted(taught) == list(range(n))


def test_screening_sees_what_single_precision_cannot():
    # Equal in single precision; the last is the reward itself, the others nearly.
    rng = np.random.default_rng(10)
    k = 50
    w = rng.standard_normal(k)
    candidates = np.vstack([w + 1e-9 * rng.standard_normal((8, k)), 3.0 * w])
    scorer = RiskScorer(Worldview(np.empty((0, k))), w, candidates, screen=True)
    assert scorer.best() == 8
    scorer.teach(8)
    assert scorer.risk <= 1e-15
    assert scorer.best() == 0  # nothing is left to gain, so the first


def test_a_large_pass_is_shared_and_the_same():
    rng = np.random.default_rng(11)
    k = 256
    n = SHARED_FROM // k + 7
    candidates = rng.standard_normal((n, k))
    view, w = Worldview(rng.standard_normal((2, k))), rng.standard_normal(k)
    scorers = [
        RiskScorer(view, w, candidates, screen=False),
        RiskScorer(view, w, candidates, screen=True),
        RiskScorer(view, w, candidates.astype(np.float32)),
    ]
    for _ in range(4):
        chosen = [scorer.best() for scorer in scorers]
        assert chosen[0] == chosen[1] == chosen[2] == risk_after(view, w, candidates).argmin()
        for scorer in scorers:
            scorer.teach(chosen[0])
        view = view.extend(candidates[chosen[0]])
    expected = risk_after(view, w, candidates)
    assert scorers[0].risks() == pytest.approx(expected, rel=1e-13)
    assert scorers[1].risks() == pytest.approx(expected, rel=1e-13)
    assert scorers[2].risks() == pytest.approx(expected, rel=1e-7)


def test_ties_go_to_the_first_and_the_taught_are_not_chosen_again():
    scorer = RiskScorer(Worldview(np.empty((0, 4))), [1, -1, 1, 1], np.eye(4)[[3, 2, 2, 0]])
    taught = []
    for _ in range(4):
        taught.append(scorer.best())
        scorer.teach(taught[-1])
    assert taught == [0, 1, 3, 2]
    assert scorer.risk == pytest.approx(0.5, rel=1e-15)


# Directions that cannot tell policies apart.


def exact_span(mdp):
    """The span of μ(π) − μ(π₀) over deterministic policies, as an orthonormal basis [d, k]."""
    counts = np.diff(mdp.dynamics.offsets)
    choices = itertools.product(*(range(count) for count in counts))
    mus = np.array(
        [
            feature_expectations(
                mdp, Policy(mdp.dynamics, pairs=mdp.dynamics.offsets[:-1] + choice)
            )
            for choice in choices
        ]
    )
    differences = (mus - mus[0]) * (1 - mdp.discount)
    _, sizes, directions = np.linalg.svd(differences, full_matrices=False)
    return directions[sizes > 1e-9]


@settings(max_examples=50)
@given(mdps(max_states=4, max_actions=2), st.data())
def test_indistinct_directions_are_those_that_no_policy_changes(mdp, data):
    assume(np.prod(np.diff(mdp.dynamics.offsets)) <= 64)
    found = indistinct_directions(mdp)
    span = exact_span(mdp)
    assert len(found.basis) + len(span) == mdp.n_features
    assert np.abs(found.basis @ span.T).max(initial=0.0) <= 1e-8
    orthonormal = found.basis @ found.basis.T
    assert np.abs(orthonormal - np.eye(len(orthonormal))).max(initial=0.0) <= 1e-14
    one, other = (feature_expectations(mdp, data.draw(policies(mdp))) for _ in range(2))
    # Feature expectations are exact to 1e-12 of their sum of sizes.
    doubt = 1e-11 * mdp.largest_feature / (1 - mdp.discount)
    assert np.linalg.norm(found.basis @ (one - other)) <= found.slack + doubt
    assert found.slack <= 1e-7 * mdp.largest_feature / (1 - mdp.discount)


@pytest.mark.parametrize("discount", [0.5, 0.9, 0.999])
def test_the_chain_has_the_constant_and_its_parity(discount):
    found = indistinct_directions(worlds.chain(5, discount=discount))
    assert found.basis.shape == (2, 5)
    # From an even cell one always comes to an odd cell, and back: nobody has a choice about that.
    for c in (np.ones(5), np.array([1, 0, 1, 0, 1]), np.array([0, 1, 0, 1, 0])):
        assert np.abs(found.project(c)).max() <= 1e-13
    assert np.abs(found.project(np.eye(5)[2])).max() > 0.1
    assert found.slack <= 1e-13 / (1 - discount)


def test_a_grid_with_walls_has_the_constant_only():
    for slip in (0.0, 0.3):
        found = indistinct_directions(worlds.gridworld(6, 2, 0.9, slip))
        assert found.basis.shape == (1, 9)
        assert np.abs(np.abs(found.basis) - 1 / 3).max() <= 1e-13


def test_without_a_choice_all_directions_are_indistinct():
    found = indistinct_directions(worlds.chain(2))
    assert found.basis.shape == (2, 2)
    assert np.abs(found.project(np.array([3.0, -1.0]))).max() <= 1e-15


def test_what_cannot_be_reached_does_not_matter():
    chain = worlds.chain(5)
    start = [0, 0, 1, 0, 0]
    # Two more states, with a choice between two features, that nothing leads to.
    rows = sp.block_diag([chain.dynamics.transitions, np.array([[1, 0], [0, 1], [0, 1]])])
    mdp = type(chain).from_pairs(
        np.append(chain.dynamics.pair_states, [5, 5, 6]),
        np.append(chain.dynamics.actions, [0, 1, 0]),
        sp.csr_array(rows),
        sp.block_diag([np.eye(5), np.eye(2)]),
        discount=0.9,
        start=[*start, 0, 0],
    )
    found = indistinct_directions(mdp)
    assert found.basis.shape == (4, 7)
    assert np.abs(found.project(np.eye(7)[5:])).max() <= 1e-14


def test_features_in_other_units_are_the_same_directions():
    mdp = worlds.chain(5)
    for scale in (1e-9, 1e9):
        units = np.array([1.0, scale, 1.0, 1.0, scale])
        found = indistinct_directions(mdp.with_features(mdp.features * units))
        assert len(found.basis) == 2
        # ⟨c, φ⟩ for the constant, in the new units.
        c = 1 / units
        assert np.linalg.norm(found.project(c)) <= 1e-9 * np.linalg.norm(c)


@pytest.mark.parametrize("way", [Method.ITERATION, Method.KRYLOV, Method.FACTORS])
def test_all_ways_to_find_potentials_agree(way, monkeypatch):
    mdp = worlds.garnet(np.random.default_rng(12), 60, 3, 4, 5, discount=0.95)
    one_more = np.hstack([mdp.features, np.ones((60, 1)), mdp.features[:, :1] + 2.0])
    mdp = mdp.with_features(one_more)
    expected = indistinct_directions(mdp)
    assert expected.basis.shape == (2, 7)
    monkeypatch.setattr(evaluation, "SMALL", 0)
    monkeypatch.setattr(Chain, "_ways", lambda self, columns: iter([way, Method.SWEEPS]))
    found = indistinct_directions(mdp.with_features(one_more))  # of which nothing is known yet
    assert np.abs(found.basis.T @ found.basis - expected.basis.T @ expected.basis).max() <= 1e-10
    assert found.slack <= 1e-9


@settings(max_examples=50)
@given(mdps(), st.data())
def test_relative_risk_is_the_risk_of_the_projected_problem(mdp, data):
    matrix = data.draw(worldviews(mdp.n_features))
    w = data.draw(weights(mdp.n_features))
    assume(w.any())
    view, found = Worldview(matrix), indistinct_directions(mdp)
    risk = relative_risk(mdp, view, w)
    assert 0.0 <= risk <= 1.0
    assert risk == relative_risk(mdp, view, w, indistinct=found)
    distinct = found.project(w / np.abs(w).max())
    size = np.linalg.norm(distinct) / np.linalg.norm(w / np.abs(w).max())
    if size <= 1e-10:
        assert risk == 0.0
        return
    # In the units of the weights it is never more than the plain risk.
    assert risk * size <= teaching_risk(view, w) + 1e-12
    rows = found.project(unit_rows(matrix))
    rows[np.linalg.norm(rows, axis=1) <= 1e-8] = 0.0
    assert risk == pytest.approx(risk_by_svd(rows, distinct), abs=1e-6)


def test_relative_risk_of_the_chain():
    mdp = worlds.chain(5)
    view = Worldview.select(mdp, ["cell 3"])
    assert relative_risk(mdp, view, np.ones(5)) == 0.0
    # The reward's part that matters is orthogonal to the constant and the parity already.
    w = np.array([-1, -0.5, 0, 0.5, 1])
    assert relative_risk(mdp, view, w) == pytest.approx(1.0, abs=1e-14)
    # Counting cell 3 or cells 1 and 5 is the same: together they are every second step.
    assert relative_risk(mdp, view, [1, 0, 0, 0, 1]) <= 1e-14
    assert teaching_risk(view, [1, 0, 0, 0, 1]) == pytest.approx(1.0, abs=1e-15)


# In words.


def test_blind_spot_of_the_chain():
    mdp = worlds.chain(5)
    spot = blind_spot(mdp, Worldview.select(mdp, ["cell 3"]), 7 * CHAIN_WEIGHTS)
    assert spot.direction == pytest.approx(CHAIN_WEIGHTS / np.linalg.norm(CHAIN_WEIGHTS), abs=1e-15)
    assert not spot.direction.flags.writeable
    assert str(spot) == (
        "The learner cannot tell more of 'cell 5' and 'cell 4' from more of 'cell 1' and 'cell 2': "
        "it looks the same, and the first is better (teaching risk 1.00)."
    )


@given(problems())
def test_blind_spot_is_a_direction_it_cannot_see(problem):
    matrix, w = problem
    mdp = worlds.chain(max(len(w), 2))
    mdp = mdp.with_features(np.zeros((mdp.n_states, len(w))))
    view = Worldview(matrix)
    spot = blind_spot(mdp, view, w)
    v = spot.direction
    assert spot.risk == teaching_risk(view, w)
    if not v.any():
        assert spot.risk <= 1e-13
        assert spot.sentence.startswith("The learner can express the reward")
        return
    assert np.linalg.norm(v) == pytest.approx(1.0, abs=1e-14)
    seen = unit_rows(matrix) @ v
    assert np.abs(seen).max(initial=0.0) <= max(1e-14 / spot.risk, 1e-10)
    unit = unit_rows(w[None, :])[0]
    assert unit @ v == pytest.approx(spot.risk, rel=1e-9, abs=1e-14 / spot.risk)


def test_blind_spots_on_one_side_and_of_many_features():
    mdp = worlds.gridworld(4, 1)
    nothing = Worldview(np.empty((0, 16)))
    w = np.zeros(16)
    w[[2, 5]] = 1.0, 0.1
    assert blind_spot(mdp, nothing, w).sentence == (
        "The learner cannot see how much there is of 'cell 2': it looks the same, and more is "
        "better (teaching risk 1.00)."
    )
    assert "'cell 2': it looks the same, and less is better" in str(blind_spot(mdp, nothing, -w))
    w = np.repeat([1.0, -1.0], 8)
    assert (
        "more of 'cell 0', 'cell 1', 'cell 2' and 5 others from more of 'cell 8', 'cell 9', "
        "'cell 10' and 5 others:" in str(blind_spot(mdp, nothing, w))
    )
    w = np.repeat([1.0, 0.0], [4, 12])
    assert "'cell 2' and 1 other: it looks" in str(blind_spot(mdp, nothing, w))
    almost = Worldview(np.eye(16)).extend(w)
    assert blind_spot(mdp, almost, w).sentence.endswith("none of it is hidden.")


def test_what_is_said_to_look_the_same_does():
    mdp = worlds.chain(5).with_features(np.eye(5)[:, :3], ("speed", "ice", "fuel"))
    spot = blind_spot(mdp, Worldview([[1, -5, 0]]), [1, 0, 0])
    assert spot.sentence == (
        "The learner cannot see how much there is of 'speed', with a little of 'ice' to make up "
        "for it: it looks the same, and more is better (teaching risk 0.98)."
    )


# What users get wrong.


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda v: teaching_risk(v, [0, 0, 0]), "weights must not all be zero"),
        (lambda v: teaching_risk(v, [1, 2]), r"weights must have shape \(3,\), .* got \(2,\)"),
        (lambda v: teaching_risk(v, [1, np.nan, 2]), "weights must be finite, got nan at index 1"),
        (lambda v: risk_after(v, [0, 0, 0], np.eye(3)), "weights must not all be zero"),
        (lambda v: risk_after(v, [1, 1, 1], [1, 1, 1]), r"candidates must have shape \(n, 3\)"),
        (lambda v: risk_after(v, [1, 1, 1], np.eye(2)), r"candidates must have .* got \(2, 2\)"),
        (
            lambda v: risk_after(v, [1, 1, 1], [[1, 1, 1], [1, np.inf, 1]]),
            r"candidates must be finite, got inf at index \(1, 1\)",
        ),
        (lambda v: risk_after(v, [1, 1, 1], sp.eye_array(3)), "candidates must be a dense array"),
        (lambda v: RiskScorer(v, [1, 1, 1], np.eye(3)).teach(3), "index must lie in 0 … 2, got 3"),
        (lambda v: RiskScorer(v, [1, 1, 1], np.eye(3)).teach(-1), "index must lie in 0 … 2"),
        (lambda v: relative_risk(worlds.chain(5), v, [1, 1, 1]), "the MDP has 5"),
        (lambda v: blind_spot(worlds.chain(3), v, [0, 0, 0]), "weights must not all be zero"),
    ],
)
def test_mistakes_are_named(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make(Worldview(np.eye(3)[:1]))


def test_known_directions_can_be_given():
    mdp = worlds.chain(5)
    none = Indistinct(np.empty((0, 5)), 0.0)
    view = Worldview.select(mdp, ["cell 3"])
    w = [1, 0, 0, 0, 1]
    assert relative_risk(mdp, view, w, indistinct=none) == pytest.approx(1.0, abs=1e-15)


def test_the_page_about_risk_shows_what_happens():
    page = Path(__file__).parents[1] / "docs" / "risk.md"
    text = page.read_text(encoding="utf-8").replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, page.name, 0)
    report = []
    result = doctest.DocTestRunner().run(test, out=report.append)
    assert result.attempted > 10
    assert result.failed == 0, "".join(report)


@pytest.mark.parametrize(
    "ask",
    [
        lambda A, w, mdp: ti.teaching_risk(A, w),
        lambda A, w, mdp: ti.risk_after(A, w, np.eye(5)),
        lambda A, w, mdp: ti.relative_risk(mdp, A, w),
        lambda A, w, mdp: ti.blind_spot(mdp, A, w),
        lambda A, w, mdp: ti.greedy_plan(A, w, np.eye(5), size=1),
        lambda A, w, mdp: ti.best_subset(A, w, np.eye(5), size=1),
        lambda A, w, mdp: ti.certify(mdp, A, w, ti.Policy.uniform(mdp)),
        lambda A, w, mdp: ti.worst_case(mdp, A, w, ti.Policy.uniform(mdp)),
        lambda A, w, mdp: ti.best_demonstration(mdp, A, w, rng=np.random.default_rng(0)),
        lambda A, w, mdp: ti.best_look(mdp, A, ti.Policy.uniform(mdp)),
        lambda A, w, mdp: ti.Task(mdp, w, A, np.eye(5)),
    ],
)
def test_a_matrix_is_no_worldview_and_that_is_told(ask):
    told = r"view must be a Worldview, got ndarray; Worldview\(matrix\) makes one"
    with pytest.raises(ti.InvalidInputError, match=told):
        ask(np.eye(5)[:2], np.arange(5.0), ti.worlds.chain(5))


def alike(dice, n, k):
    """Rows of length 1, some of which others repeat, up to their sign or hardly more."""
    rows = unit_rows(dice.normal(size=(n, k)))
    source, target = dice.permutation(n)[: n // 2].reshape(2, -1)
    rows[target] = dice.choice([-1.0, 1.0], size=(len(target), 1)) * rows[source]
    off = dice.choice([0.0, 0.5, 2.0, 100.0], size=(len(target), 1)) * DEPENDENT
    rows[target] += off * unit_rows(dice.normal(size=(len(target), k)))
    return rows


@pytest.mark.parametrize("k", [1, 3, 40])
def test_rows_that_are_the_same_are_found_as_by_comparing_all(k):
    for seed in range(20):
        dice = np.random.default_rng([seed, k])
        rows, costs = alike(dice, 24, k), dice.integers(1, 4, size=24).astype(float)
        kept = []
        for i in np.lexsort((np.arange(24), costs)):
            apart = [
                min(np.linalg.norm(rows[j] - rows[i]), np.linalg.norm(rows[j] + rows[i]))
                for j in kept
            ]
            if not min(apart, default=1.0) <= DEPENDENT:
                kept.append(i)
        assert unlike(rows, costs).tolist() == sorted(kept)


def test_what_is_beside_a_basis_in_parts(monkeypatch):
    dice = np.random.default_rng(0)
    rows = dice.normal(size=(30, 8)) * 10.0 ** dice.integers(-9, 9, size=(30, 1))
    basis = np.linalg.qr(dice.normal(size=(8, 3)))[0].T
    left = without_span(basis, unit_rows(rows))
    monkeypatch.setattr(linear_algebra, "PART", 50)
    units, lengths = units_beside(basis, rows)
    assert np.allclose(lengths, np.linalg.norm(left, axis=1), rtol=1e-12)
    assert np.allclose(units, unit_rows(left), rtol=0.0, atol=1e-12)
    assert np.abs(units @ basis.T).max() < 1e-15


def test_the_least_sine_in_parts(monkeypatch):
    rows = alike(np.random.default_rng(1), 40, 5)
    whole = best_subset_module._least_sine(rows)
    monkeypatch.setattr(best_subset_module, "PART", 100)
    assert best_subset_module._least_sine(rows) == pytest.approx(whole, rel=1e-5)
    assert DEPENDENT < whole < 1.0
