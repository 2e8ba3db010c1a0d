"""Worldviews: what a learner sees, and the basis of it, in ordinary and in degenerate cases."""

import math

import numpy as np
import pytest
import scipy
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from teachirl import InvalidInputError, worlds
from teachirl.testing import check_mdp, mdps, worldviews
from teachirl.views import linear_algebra
from teachirl.views.linear_algebra import extended_basis, least_singular_value
from teachirl.views.worldview import Worldview

EPS = np.finfo(float).eps


def projection(basis):
    return basis.T @ basis


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (4, 1), (5, 3), (3, 5), (40, 200), (300, 250)])
def test_pivoted_columns_are_those_of_scipy(shape):
    columns = np.random.default_rng(0).normal(size=shape)
    q, triangle, _ = scipy.linalg.qr(columns, mode="economic", pivoting=True)
    found, lengths = linear_algebra._pivoted(columns)
    np.testing.assert_allclose(found, q, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(lengths, np.diagonal(triangle), rtol=1e-10)


def test_rows_that_add_nothing():
    basis = extended_basis(np.empty((0, 3)), np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 0.0]]))
    found = extended_basis(basis, np.array([[3.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))
    np.testing.assert_array_equal(found, basis)


@given(st.integers(1, 6).flatmap(worldviews))
def test_the_basis_is_orthonormal_and_spans_the_rows(matrix):
    view = Worldview(matrix)
    assert np.abs(view.basis @ view.basis.T - np.eye(view.rank)).max(initial=0.0) <= 16 * EPS
    lengths = np.linalg.norm(matrix, axis=1)
    left = np.linalg.norm(matrix - matrix @ projection(view.basis), axis=1)
    assert (left <= 2e-10 * lengths).all()
    assert np.sqrt((left**2).sum()) <= view.neglected * (1 + 1e-12) + 1e-300
    units = matrix[lengths > 0] / lengths[lengths > 0, None]
    assert view.rank == (np.linalg.matrix_rank(units, rtol=1e-10) if len(units) else 0)


@given(st.integers(1, 6).flatmap(worldviews), st.randoms(use_true_random=False))
def test_extending_is_the_same_as_having_seen_it_at_once(matrix, random):
    whole = Worldview(matrix)
    cut = random.randint(0, len(matrix))
    for view in (
        Worldview(matrix[:cut]).extend(matrix[cut:]),
        extended_by_one_each(Worldview(matrix[:0]), matrix),
    ):
        assert np.array_equal(view.matrix, matrix)
        assert view.rank == whole.rank
        assert np.abs(projection(view.basis) - projection(whole.basis)).max() <= 1e-9


def extended_by_one_each(view, rows):
    for row in rows:
        view = view.extend(row)
    return view


def test_extending_keeps_the_basis_there_was():
    rng = np.random.default_rng(0)
    view = Worldview(rng.standard_normal((3, 8)))
    wider = view.extend(rng.standard_normal((2, 8)))
    assert np.array_equal(wider.basis[:3], view.basis)
    assert wider.rank == 5


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e12, 1e300])
def test_a_row_in_other_units_counts_as_much(scale):
    rng = np.random.default_rng(1)
    matrix = rng.standard_normal((4, 7))
    scaled = matrix * np.array([1.0, scale, 1.0, scale])[:, None]
    one, other = Worldview(matrix), Worldview(scaled)
    assert other.rank == 4
    assert np.abs(projection(one.basis) - projection(other.basis)).max() <= 64 * EPS
    assert Worldview(matrix * scale).sigma == pytest.approx(scale * one.sigma, rel=1e-13)
    assert Worldview(matrix * scale).norm == pytest.approx(scale * one.norm, rel=1e-13)


def test_nearly_dependent_rows_keep_the_well_determined_directions():
    # The second row is the first but for 1e-9; only with the third is its own part known well.
    rng = np.random.default_rng(2)
    q = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    view = Worldview([q[0], q[0] + 1e-9 * q[1], q[1]])
    assert view.rank == 2
    assert np.abs(projection(view.basis) - projection(q[:2])).max() <= 64 * EPS


@pytest.mark.parametrize(("left", "rank"), [(1e-6, 2), (1e-9, 2), (1e-11, 1), (1e-14, 1)])
def test_dependence_is_decided_at_the_stated_tolerance(left, rank):
    assert Worldview([[1.0, 0.0], [1.0, left]]).rank == rank
    assert Worldview([[1.0, 0.0]]).extend([-1e-12, 1e-12 * left]).rank == rank


@given(st.integers(2, 6).flatmap(worldviews), st.integers(1, 3), st.integers(0, 99))
def test_without_directions_nothing_of_them_is_seen(matrix, count, seed):
    k = matrix.shape[1]
    directions = np.linalg.qr(np.random.default_rng(seed).standard_normal((k, min(count, k))))[0].T
    view, less = Worldview(matrix), Worldview(matrix).without(directions)
    assert np.abs(less.basis @ directions.T).max(initial=0.0) <= 1e-14
    assert np.abs(less.basis @ less.basis.T - np.eye(less.rank)).max(initial=0.0) <= 1e-14
    # Together they see what the directions and the view see.
    both = Worldview(directions).extend(matrix)
    assert both.rank == less.rank + len(directions)
    mine = projection(less.basis) + projection(directions)
    assert np.abs(mine - projection(both.basis)).max() <= 1e-9
    assert less.rank <= view.rank
    assert less.names == view.names and less.matrix.shape == matrix.shape


@pytest.mark.parametrize("left", [0.0, 1e-12, 1e-7])
def test_what_little_is_left_of_rows_is_no_further_direction(left):
    # Both rows are the direction to be removed, but for the same little; rounding differs.
    rng = np.random.default_rng(5)
    q = np.linalg.qr(rng.standard_normal((7, 7)))[0]
    rows = np.array([[3.0, 3.0 * left], [0.7, 0.7 * left]]) @ q[:2]
    less = Worldview(rows).without(q[:1])
    assert less.rank == (1 if left > 1e-10 else 0)
    if less.rank:
        assert less.sigma == pytest.approx(math.hypot(3.0, 0.7) * left, rel=1e-7)
        assert abs(less.basis[0] @ q[1]) == pytest.approx(1.0, abs=1e-12)


def test_seeing_nothing():
    for view in (Worldview(np.empty((0, 3))), Worldview(np.zeros((2, 3)))):
        assert view.rank == 0
        assert view.basis.shape == (0, 3)
        assert view.sigma == math.inf
        assert view.norm == 0.0
        assert view.neglected == 0.0
        assert view.extend([0, 0, 2]).rank == 1


def test_sigma_and_norm_of_a_known_matrix():
    view = Worldview([[3, 0, 0], [3, 0, 0], [0, 0.5, 0]])
    assert view.sigma == pytest.approx(0.5, rel=1e-14)
    assert view.norm == pytest.approx(3 * math.sqrt(2), rel=1e-14)


def test_sigma_is_right_beside_much_longer_rows():
    # Orthogonal rows have their lengths as singular values, however far apart these are.
    rows = np.linalg.qr(np.random.default_rng(3).standard_normal((5, 5)))[0][:3]
    for lengths in ([1.0, 1e-12, 1e-20], [1e-25, 1e5, 3.0], [1e100, 1e-100, 1.0]):
        view = Worldview(rows * np.array(lengths)[:, None])
        assert view.sigma == pytest.approx(min(lengths), rel=1e-9)


@given(st.integers(1, 5).flatmap(worldviews))
def test_sigma_is_the_smallest_singular_value_that_is_not_zero(matrix):
    view = Worldview(matrix)
    values = np.linalg.svd(matrix, compute_uv=False)
    if view.rank:
        assert view.sigma == pytest.approx(values[view.rank - 1], rel=1e-4, abs=EPS * values[0])
        assert view.norm == pytest.approx(values[0], rel=1e-14)


def test_least_singular_value_of_no_columns():
    assert least_singular_value(np.empty((3, 0))) == math.inf


@settings(max_examples=25)
@given(mdps())
def test_a_learner_sees_its_own_features_and_nothing_else(mdp):
    rng = np.random.default_rng(4)
    for matrix in (rng.standard_normal((2, mdp.n_features)), np.eye(mdp.n_features)[:1]):
        seen = Worldview(matrix).observe(mdp)
        check_mdp(seen)
        assert seen.dynamics is mdp.dynamics
        assert seen.features_per_pair == mdp.features_per_pair
        dense = [
            f if isinstance(f, np.ndarray) else f.toarray() for f in (mdp.features, seen.features)
        ]
        assert np.allclose(dense[1], dense[0] @ matrix.T, rtol=0, atol=1e-13)


def test_selected_sparse_features_stay_sparse():
    mdp = worlds.gridworld(20, 1)
    seen = Worldview.select(mdp, ["cell 3", 7]).observe(mdp)
    assert sp.issparse(seen.features)
    assert seen.feature_names == ("cell 3", "cell 7")
    assert seen.features.toarray()[[3, 7]].tolist() == [[1, 0], [0, 1]]
    assert isinstance(Worldview(np.ones((1, 400))).observe(mdp).features, np.ndarray)


def test_the_blind_see_an_mdp_without_features():
    seen = Worldview.select(worlds.chain(5), []).observe(worlds.chain(5))
    assert seen.features.shape == (5, 0)


def test_names():
    mdp = worlds.chain(5)
    view = Worldview.select(mdp, ["cell 3"])
    assert view.names == ("cell 3",)
    wider = view.extend(np.eye(5)[:2], ["cell 1", "cell 3"]).extend(np.eye(5)[4])
    assert wider.names == ("cell 3", "cell 1", "cell 3 (2)", "3")
    assert [wider.row_name(i) for i in range(4)] == list(wider.names)
    unnamed = Worldview(np.eye(2))
    assert unnamed.names is None and unnamed.row_name(1) == "1"
    assert unnamed.extend([1, 1]).names is None
    assert unnamed.extend([1, 1], "1").names == ("0", "1", "1 (2)")
    assert wider.observe(mdp).feature_names == wider.names


def test_arrays_are_read_only_and_its_own():
    matrix = np.eye(3)
    view = Worldview(matrix)
    matrix[0, 0] = 5.0
    assert view.matrix[0, 0] == 1.0
    for array in (
        view.matrix,
        view.basis,
        view.extend([1, 1, 1]).matrix,
        view.extend([1, 1, 1]).basis,
    ):
        assert not array.flags.writeable


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Worldview([1, 2]), r"matrix must have shape \(rows, features\), got \(2,\)"),
        (lambda: Worldview(np.empty((2, 0))), r"matrix must have shape .* got \(2, 0\)"),
        (lambda: Worldview([[1, np.nan]]), r"matrix must be finite, got nan at index \(0, 1\)"),
        (lambda: Worldview(sp.eye_array(2)), "matrix must be a dense array"),
        (lambda: Worldview(np.eye(2), ["a"]), "names must have 2 entries, got 1"),
        (lambda: Worldview(np.eye(2), ["a", "a"]), "names must be distinct, got 'a' twice"),
        (lambda: Worldview(np.eye(2)).extend([1, 2, 3]), r"features must have shape \(2,\) or"),
        (lambda: Worldview(np.eye(2)).extend([1, np.inf]), "features must be finite, got inf"),
        (lambda: Worldview(np.eye(2)).extend([[1, 2]], ["a", "b"]), "names must have 1 entries"),
        (lambda: Worldview.select(worlds.chain(5), "cell 3"), "features must be a sequence"),
        (lambda: Worldview.select(worlds.chain(5), ["ice"]), "there is no feature 'ice'"),
        (lambda: Worldview.select(worlds.chain(5), [5]), r"features\[0\] must lie in 0 … 4, got 5"),
        (lambda: Worldview.select(worlds.chain(5), [1.0]), r"features\[0\] must be a name or"),
        (lambda: Worldview.select(worlds.chain(5), [1, "cell 2"]), "got 'cell 2' twice"),
        (lambda: Worldview(np.eye(4)).observe(worlds.chain(5)), "on 4 features, the MDP has 5"),
    ],
)
def test_mistakes_are_named(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()


def test_no_rows_leave_a_basis_as_it_is():
    basis = np.eye(3)[:2]
    assert extended_basis(basis, np.empty((0, 3))) is basis


@pytest.mark.parametrize("rows", [np.eye(6)[[4, 1, 2]], np.ones((3, 6)) + np.eye(6)[:3], None])
def test_rounding_does_not_choose_the_basis(rows):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((4, 6)) if rows is None else rows
    never = np.linalg.qr(rng.standard_normal((6, 2)))[0].T
    turned = np.array([[0.6, 0.8], [0.8, -0.6]]) @ never  # the same directions, in another basis
    known = Worldview(rows)
    for _ in range(5):
        other = Worldview(rows * (1.0 + rng.uniform(-4e-15, 4e-15, rows.shape)))
        np.testing.assert_allclose(other.basis, known.basis, atol=1e-12)
        left = other.without(turned).basis
        np.testing.assert_allclose(left, known.without(never).basis, atol=1e-12)
    assert (np.einsum("ij,ij->i", known.basis[:1], rows[:1]) > 0.0).all()


class TestManyRows:
    @pytest.mark.parametrize("rows", [np.tile([[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]], (2000, 1))])
    def test_copies_are_no_further_directions(self, rows):
        view = Worldview(rows)
        assert view.rank == 2
        assert view.norm == pytest.approx(np.linalg.norm(rows, 2), rel=1e-12)
        assert view.sigma == pytest.approx(np.linalg.svd(rows, compute_uv=False)[1], rel=1e-12)

    def test_combinations_are_found_to_depend_on_each_other(self):
        rng = np.random.default_rng(0)
        parts = rng.standard_normal((4, 30))
        view = Worldview(rng.standard_normal((1000, 4)) @ parts)
        assert view.rank == 4
        assert np.abs(parts - parts @ view.basis.T @ view.basis).max() < 1e-12

    def test_a_selection_of_thousands_needs_no_factorisation(self, monkeypatch):
        monkeypatch.setattr(linear_algebra, "_pivoted", None)
        matrix = np.eye(600)[::-1] * np.linspace(-1.0, 1.0, 600)[:, None]
        view = Worldview(np.vstack([matrix, matrix]))
        assert np.array_equal(view.basis, np.sign(matrix))
