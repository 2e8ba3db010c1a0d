"""Thousands of features: of rows that are nearly all 0, the others are held and worked on alone."""

from __future__ import annotations

import dataclasses
import pickle
import tracemalloc
from importlib import import_module

import numpy as np
import pytest
import scipy.sparse as sp

import teachirl as ti
from situations import situation
from teachirl.app.decisions import plan
from teachirl.app.problem import read_problem
from teachirl.arrays import SparseRows
from teachirl.errors import InvalidInputError
from teachirl.mdp.documents import digest
from teachirl.selection.best_subset import best_subset
from teachirl.selection.distance_from_optimal import greedy_gap
from teachirl.selection.relaxation import Open, unlike
from teachirl.views import linear_algebra
from teachirl.views.linear_algebra import (
    as_rows,
    axes,
    cleared,
    cosines,
    gathered,
    in_own_coordinates,
    lengths_of,
    on_axes,
    unit_rows,
    units_beside,
    without_span,
    zero_rows,
)
from teachirl.views.scorer import RiskScorer

BEST = import_module("teachirl.selection.best_subset")
NOTHING = np.empty((0, 7))
BASES = {
    "nothing": NOTHING,
    "an axis": np.eye(7)[[2]],
    "a mixture of three": np.array([[0.6, 0.0, 0.64, 0.48, 0.0, 0.0, 0.0]]),
}


@pytest.fixture
def few_are_many(monkeypatch):
    monkeypatch.setattr(linear_algebra, "PART", 20)
    monkeypatch.setattr(linear_algebra, "SPARSE", 0.4)


def some_rows():
    rows = np.diag([2.0, 1.0, -1.0, 1e-9, 1.0, 3.0, 1.0])
    rows[5, 1] = 4.0
    return np.vstack([rows, np.zeros(7)])


def same(found, expected):
    np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.usefixtures("few_are_many")
class TestSparseRows:
    def test_are_what_was_given(self):
        rows = some_rows()
        sparse = as_rows("rows", rows)
        assert isinstance(sparse, SparseRows) and as_rows("rows", sparse) is sparse
        assert (sparse.shape, sparse.size, len(sparse), sparse.ndim) == ((8, 7), 56, 8, 2)
        same(sparse, rows)
        for some in (slice(2, 5), [0, 6], np.array([3, 3]), rows[:, 1] != 0.0):
            assert isinstance(sparse[some], SparseRows)
            same(sparse[some], rows[some])
        same(sparse[[]], rows[:0])
        same(list(sparse), rows)
        same(sparse[np.int64(5)], rows[5])
        same(sparse @ np.arange(7.0), rows @ np.arange(7.0))
        same(sparse / np.full((8, 1), 4.0), rows / 4.0)
        same(pickle.loads(pickle.dumps(sparse)), rows)
        with pytest.raises(ValueError, match="read-only"):
            sparse.matrix.data[0] = 1.0

    def test_what_is_not_nearly_all_0_is_an_array_as_it_is(self):
        rows = np.ones((4, 7))
        assert as_rows("rows", rows) is rows
        parts = [some_rows()[:4], np.ones((4, 7))]
        for order in (parts, parts[::-1]):
            found = gathered(iter(order), (8, 7))
            assert isinstance(found, np.ndarray)
            same(found, np.vstack(order))

    @pytest.mark.parametrize("basis", BASES.values(), ids=BASES)
    def test_are_worked_on_as_arrays_are(self, basis):
        rows = some_rows()
        sparse = as_rows("rows", rows)
        same(unit_rows(sparse), unit_rows(rows))
        same(without_span(basis, sparse), without_span(basis, rows))
        for found, expected in zip(
            units_beside(basis, sparse), units_beside(basis, rows), strict=True
        ):
            np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-15, atol=1e-16)
        same(zero_rows(sparse), zero_rows(rows))
        np.testing.assert_allclose(lengths_of(sparse), lengths_of(rows), rtol=1e-15)
        which = np.arange(8) % 3 == 0
        same(cleared(sparse, which), cleared(rows, which))
        assert cleared(sparse, which).counts[0] == 0
        same(cosines(sparse, slice(2, 6)), cosines(rows, slice(2, 6)))
        same(unlike(unit_rows(sparse), np.ones(8)), unlike(unit_rows(rows), np.ones(8)))

    def test_on_axes(self):
        rows = some_rows()[[4, 0, 2, 3, 6]]
        sparse, r = as_rows("rows", rows), np.arange(1.0, 8.0)
        assert on_axes(sparse) and not on_axes(as_rows("rows", some_rows()))
        for found, expected in zip(
            in_own_coordinates(sparse, r), in_own_coordinates(rows, r), strict=True
        ):
            same(found, expected)
        same(axes([4, 1, 1], 7), np.eye(7)[[4, 1, 1]])
        assert isinstance(axes(range(7), 7), SparseRows)
        assert isinstance(axes([3], 7), np.ndarray)

    def test_have_the_fingerprint_of_the_array(self):
        mdp = ti.worlds.chain(7)
        assert digest(mdp, [as_rows("rows", some_rows())]) == digest(mdp, [some_rows()])

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_with_what_is_no_number_are_refused(self, bad):
        rows = some_rows()
        rows[2, 1] = bad
        with pytest.raises(InvalidInputError, match=rf"teachable must be finite, got {bad} at ind"):
            ti.Task(ti.worlds.chain(7), np.ones(7), ti.Worldview(NOTHING), rows)
        with pytest.raises(InvalidInputError, match=r"candidates must be finite, got .*\(2, 1\)"):
            ti.risk_after(ti.Worldview(NOTHING), np.ones(7), rows)


def scored(view, w, rows):
    """What a scorer says, round after round."""
    scorer, said = RiskScorer(view, w, rows), []
    for _ in range(4):
        said.append((scorer.risk, scorer.risks().tolist(), scorer.best()))
        scorer.teach(scorer.best())
    return said


@pytest.mark.parametrize("basis", BASES.values(), ids=BASES)
@pytest.mark.parametrize("rows", [some_rows(), np.eye(7), 1e-200 * np.eye(7)])
def test_selections_are_those_from_arrays(monkeypatch, basis, rows):
    view, w = ti.Worldview(basis), np.array([3.0, -1.0, 0.5, 0.0, 0.0, 2.0, 1.0])

    def found():
        sets = [best_subset(view, w, rows, size=size, max_nodes=20) for size in (1, 2, 4)]
        sets.append(best_subset(view, w, rows, max_cost=3.0, costs=np.arange(len(rows)) + 0.5))
        sets.append(greedy_gap(view, w, rows, [0, 1], size=3))
        return scored(view, w, rows), [dataclasses.astuple(each) for each in sets]

    scores, sets = found()
    monkeypatch.setattr(linear_algebra, "PART", 20)
    monkeypatch.setattr(linear_algebra, "SPARSE", 0.4)
    sparse_scores, sparse_sets = found()
    for one, other in zip(scores, sparse_scores, strict=True):
        assert one[2] == other[2]
        np.testing.assert_allclose(one[1], other[1], atol=1e-15)
    for one, other in zip(sets, sparse_sets, strict=True):
        assert one[0] == other[0] or one[0] == pytest.approx(other[0], abs=1e-14)
        assert one[1:4] == pytest.approx(other[1:4], abs=1e-14)


@pytest.mark.parametrize("count", [3, 9])
def test_pairs_in_parts_are_those_of_all(monkeypatch, count):
    rng = np.random.default_rng(count)
    rows = rng.standard_normal((count, 5))
    rows[-1] = rows[0]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    costs = np.stack([np.ones(count), rng.uniform(0.5, 2.0, count)])
    every = Open(rows, rng.standard_normal(5), costs, np.array([2.0, 2.5]))
    whole = every.best_few(2, 0.0)
    assert [0, count - 1] in whole[1:] or costs[1, [0, -1]].sum() > 2.5
    gains = {(i, j): every.gain([i, j]) for i in range(count - 1) for j in range(i + 1, count - 1)}
    fits = {pair: gain for pair, gain in gains.items() if costs[1, list(pair)].sum() <= 2.5}
    if fits:
        assert tuple(whole[1]) in (best := max(fits, key=fits.__getitem__), (best[0], count - 1))
    monkeypatch.setattr("teachirl.selection.relaxation.PART", 2 * count)
    assert every.best_few(2, 0.0) == whole


@pytest.mark.parametrize(
    "teacher",
    [
        ti.teachers.GapGreedy(),
        ti.teachers.TRGreedy(),
        ti.teachers.OptimalSubset(),
        ti.teachers.JointGreedy(),
        ti.teachers.PerfGreedy(ti.learners.Projection()),
    ],
    ids=lambda teacher: type(teacher).__name__,
)
def test_lessons_are_those_from_arrays(monkeypatch, teacher):
    mdp = ti.worlds.gridworld(4)
    w = np.random.default_rng(3).standard_normal(16)
    view = ti.Worldview.select(mdp, [3])

    def taught():
        task = ti.Task(mdp, w, view, np.eye(16))
        lesson = ti.teach(
            task, teacher, ti.learners.MinNormPoint(), budget=3, rng=np.random.default_rng(0)
        )
        return type(task.teachable), lesson

    kind, dense = taught()
    monkeypatch.setattr(linear_algebra, "PART", 60)
    monkeypatch.setattr(linear_algebra, "SPARSE", 0.1)
    other_kind, sparse = taught()
    assert (kind, other_kind) == (np.ndarray, SparseRows)
    assert sparse.taught == dense.taught
    for one, other in zip(sparse.rounds, dense.rounds, strict=True):
        assert one.risk == pytest.approx(other.risk, abs=1e-14)
        assert one.guaranteed == pytest.approx(other.guaranteed, abs=1e-5)
    assert sparse.to_json().split('"digest"')[1][:70] == dense.to_json().split('"digest"')[1][:70]


def test_simulated_learners_see_one_sparse_row_at_a_time(monkeypatch):
    monkeypatch.setattr(linear_algebra, "PART", 60)
    monkeypatch.setattr(linear_algebra, "SPARSE", 0.1)
    mdp, w = ti.worlds.gridworld(4), np.random.default_rng(3).standard_normal(16)
    task = ti.Task(mdp, w, ti.Worldview.select(mdp, [3]), np.eye(16)[[*range(16), 5]])
    now = situation(task)
    assert isinstance(task.teachable, SparseRows)
    monkeypatch.setattr(SparseRows, "__array__", pytest.fail)
    learner, asked = ti.learners.MinNormPoint(), []  # whom nobody rehearses
    observe = ti.Worldview.observe
    monkeypatch.setattr(
        ti.Worldview, "observe", lambda self, mdp: asked.append(self) or observe(self, mdp)
    )
    scores = ti.teachers.PerfGreedy(learner).choose(now, np.random.default_rng(0)).scores
    assert scores[5] == scores[16] and len(asked) == 16  # of equal rows one


PROBLEM = """
[world]
name = "chain"
cells = {cells}
[reward.weights]
"cell 1" = -1.0
"cell {cells}" = 1.0
[learner]
sees = ["cell 3"]
[teach]
features = "all"
[plan]
budget = 2
"""


@pytest.mark.parametrize(
    ("teacher", "matrices"), [("TRGreedy", 0.5), ("OptimalSubset", 0.5), ("GapGreedy", 2.0)]
)
def test_of_thousands_of_features_no_identity_is_made(tmp_path, teacher, matrices):
    """What a plan takes, counted in matrices with a row and a column a feature; what policies do
    from some blocks of states, which GapGreedy holds, is not quadratic."""
    cells, path = 3000, tmp_path / "long.toml"
    path.write_text(PROBLEM.format(cells=cells) + f'teacher = "{teacher}"\n')

    def most():
        tracemalloc.start()
        try:
            problem = read_problem(path)
            found = plan(problem)
            assert sp.issparse(problem.task.teachable.matrix)
            assert found.steps[-1].name == f"cell {cells}"
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    # The first may compile, the second does not.
    assert any(most() < matrices * 8 * cells**2 for _ in range(2))


def test_nearly_equal_rows_are_compared_a_few_at_a_time(monkeypatch):
    """Of n rows that are alike, n² / 2 differences are not held at once."""
    rows = np.column_stack([np.ones(40), np.linspace(0.0, 0.5, 40)])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    norm, most = np.linalg.norm, []
    monkeypatch.setattr(np.linalg, "norm", lambda x, **k: most.append(np.size(x)) or norm(x, **k))
    whole = BEST._least_sine(rows)
    every = [norm(a - b) for i, a in enumerate(rows) for b in rows[:i]]
    assert whole == pytest.approx(min(every), rel=1e-12) and max(most) == 40 * 39
    most.clear()
    monkeypatch.setattr(BEST, "PART", 100)
    assert BEST._least_sine(rows) == whole
    assert max(most) <= 100
