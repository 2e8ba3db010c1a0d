"""Views that are no combination of the features: tables, buckets, columns of the learner's own."""

import numpy as np
import pytest

import teachirl as ti
from teachirl.app.decisions import assess, frontier, plan
from teachirl.views.tables import with_columns

WEIGHTS = np.array([-2.0, -1, 0, 1, 2])


@pytest.fixture(scope="module")
def chain():
    return ti.worlds.chain(5)


class TestFromTable:
    def test_is_a_view_on_the_same_world_with_columns_beside(self, chain):
        table = np.arange(10.0).reshape(5, 2)
        view = ti.Worldview.from_table(chain, table, ["a", "b"])
        assert view.names == ("a", "b") and view.mdp.n_features == 7
        assert view.mdp.dynamics is chain.dynamics
        assert (view.observe(view.mdp).features == table).all()
        assert (view.mdp.features[:, :5] == chain.features).all()
        assert view.lift(WEIGHTS).tolist() == [*WEIGHTS, 0.0, 0.0]
        assert view.lift(np.eye(5)).shape == (5, 7)
        more = view.extend(view.lift([1, 0, 0, 0, 0]), "cell 1")
        assert more.mdp is view.mdp and more.rank == 3

    def test_over_pairs_and_beside_features_of_pairs(self, chain):
        table = np.arange(chain.n_pairs, dtype=float)[:, None]
        view = ti.Worldview.from_table(chain, table)
        assert view.mdp.features_per_pair and view.names == ("seen 0",)
        best = ti.optimal_policy(chain, WEIGHTS)
        assert ti.optimal_policy(view.mdp, view.lift(WEIGHTS)).value == pytest.approx(best.value)
        again = ti.Worldview.from_table(view.mdp, np.ones((5, 1)), ["time"])
        assert again.mdp.features_per_pair and again.mdp.n_features == 7

    def test_a_table_of_features_is_the_view_of_them(self, chain):
        """The same guarantee; the teaching risk says nothing, the relative one does."""
        plain = ti.Worldview.select(chain, ["cell 1", "cell 3"])
        view = ti.Worldview.from_table(chain, chain.features[:, [0, 2]])
        best, w = ti.optimal_policy(chain, WEIGHTS).policy, view.lift(WEIGHTS)
        expected = ti.certify(chain, plain, WEIGHTS, best)
        found = ti.certify(view.mdp, view, w, best)
        assert found.guaranteed == pytest.approx(expected.guaranteed, abs=1e-6)
        assert ti.teaching_risk(view, w) == 1.0
        # In other coordinates it is another number, but it is one of this view.
        assert 0.0 < ti.relative_risk(view.mdp, view, w) < 1.0
        assert ti.blind_spot(view.mdp, view, w).risk < 1.0

    def test_theorem_1_counts_what_policies_can_change(self, chain):
        """Who sees the reward itself as a column is guaranteed all, though the risk is 1."""
        view = ti.Worldview.from_table(chain, (chain.features @ WEIGHTS)[:, None], ["joy"])
        best, w = ti.optimal_policy(chain, WEIGHTS), view.lift(WEIGHTS)
        found = ti.certify(view.mdp, view, w, best.policy)
        assert found.theorem_1.gap < 1e-6 and found.guaranteed > 1.0 - 1e-6
        assert ti.relative_risk(view.mdp, view, w) == pytest.approx(0.0, abs=1e-9)
        assert "none of it is hidden" in ti.blind_spot(view.mdp, view, w).sentence

    def test_tr_greedy_lowers_the_relative_risk(self, chain):
        view = ti.Worldview.from_table(chain, [[0], [0], [1], [0], [0]], ["middle"])
        teachable = view.lift(np.eye(5))
        task = ti.Task(view.mdp, view.lift(WEIGHTS), view, teachable)
        twin = ti.Task(chain, WEIGHTS, ti.Worldview.select(chain, ["cell 3"]), np.eye(5))
        lessons = [
            ti.teach(
                each,
                ti.teachers.TRGreedy(),
                ti.learners.MinNormPoint(),
                rng=np.random.default_rng(0),
                budget=2,
            )
            for each in (task, twin)
        ]
        risks = [round_.relative_risk for round_ in lessons[0].rounds]
        assert all(np.diff(risks) <= 1e-9) and risks[-1] < risks[0] - 0.1
        # The best single feature by the relative risk, looked for by brute force.
        after = [ti.relative_risk(view.mdp, view.extend(row), task.weights) for row in teachable]
        assert risks[1] == pytest.approx(min(after), abs=1e-9)

    def test_what_is_wrong_is_told(self, chain):
        with pytest.raises(ti.InvalidInputError, match=r"table must have shape \(5, c\)"):
            ti.Worldview.from_table(chain, np.ones((4, 1)))
        with pytest.raises(ti.InvalidInputError, match="other than those of features"):
            ti.Worldview.from_table(chain, np.ones((5, 1)), ["cell 1"])
        with pytest.raises(ti.InvalidInputError, match="finite"):
            ti.Worldview.from_table(chain, np.full((5, 1), np.nan))
        view = ti.Worldview.from_table(chain, np.ones((5, 1)))
        best = ti.optimal_policy(chain, WEIGHTS).policy
        with pytest.raises(ti.InvalidInputError, match=r"take view\.mdp and view\.lift"):
            ti.certify(chain, view, WEIGHTS, best)
        with pytest.raises(ti.InvalidInputError, match="rows must be on at most 6"):
            view.lift(np.ones(7))


class TestBuckets:
    def test_each_reading_is_in_one(self, chain):
        mdp = chain.with_features(np.array([[0.0], [0.2], [0.3], [0.5], [9.0]]), ["x"])
        view = ti.Worldview.from_buckets(mdp, {"x": [0.2, 0.5]})
        seen = view.observe(view.mdp).features
        assert (seen.sum(axis=1) == 1.0).all()
        assert seen.argmax(axis=1).tolist() == [0, 1, 1, 2, 2]
        assert view.names == ("x < 0.2", "0.2 ≤ x < 0.5", "x ≥ 0.5")

    @pytest.mark.parametrize("edges", [{}, {"x": []}, {"x": [1, 1]}, {"x": [2, 1]}, {"y": [1]}])
    def test_what_is_wrong_is_told(self, chain, edges):
        mdp = chain.with_features(np.zeros((5, 1)), ["x"])
        with pytest.raises(ti.InvalidInputError):
            ti.Worldview.from_buckets(mdp, edges)

    def test_after_the_end_nothing_is_seen(self):
        rows = np.zeros((2, 2, 2))
        rows[0, 0, 1] = rows[0, 1, 0] = rows[1, :, 1] = 1.0
        mdp = ti.MDP.from_arrays(
            rows, [[3.0], [0.0]], discount=0.9, first="state", feature_names=["x"]
        )
        view = ti.Worldview.from_buckets(mdp, {"x": [1.0]})
        assert view.observe(view.mdp).features.tolist() == [[0.0, 1.0], [0.0, 0.0]]
        with pytest.raises(ti.InvalidInputError, match="0 in terminal states"):
            with_columns(mdp, [[1.0], [1.0]])


SAME = "state,cell 1\n" + "".join(f"cell {i},1\n" for i in range(1, 6))
FILE = """
[world]
name = "chain"
[reward.weights]
"cell 1" = -2.0
"cell 2" = -1.0
"cell 4" = 1.0
"cell 5" = 2.0
[learner]
{learner}
[teach]
features = "all"
"""


class TestFile:
    def read(self, tmp_path, learner):
        path = tmp_path / "problem.toml"
        path.write_text(FILE.format(learner=learner), encoding="utf-8")
        return ti.read_problem(path)

    def test_a_table_and_what_it_guarantees(self, tmp_path, chain):
        lines = ["state,brightness", *(f"cell {i + 1},{b}" for i, b in enumerate([2, 1, 0, 1, 2]))]
        (tmp_path / "view.csv").write_text("\n".join(lines))
        problem = self.read(tmp_path, 'table = "view.csv"')
        assert problem.own == 1 and problem.view.names == ("brightness",)
        # The learner's own column is not for sale, and earns nothing.
        assert problem.teachables.names == tuple(f"cell {i}" for i in range(1, 6))
        assert problem.weights.tolist() == [*WEIGHTS, 0.0]
        view = ti.Worldview.from_table(chain, [[2], [1], [0], [1], [2]])
        best = ti.optimal_policy(chain, WEIGHTS).policy
        found = ti.certify(view.mdp, view, view.lift(WEIGHTS), best)
        assert assess(problem).guaranteed == pytest.approx(found.guaranteed, abs=1e-6)
        # By brute force over all sets: the cheapest that is enough.
        enough = [
            name
            for name, row in zip(problem.task.names, problem.task.teachable, strict=True)
            if ti.certify(
                problem.mdp, problem.view.extend(row), problem.weights, best, theorems=False
            ).guaranteed
            > 0.999
        ]
        planned = plan(problem)
        assert [step.name for step in planned.taught] == enough[:1]
        assert frontier(problem).points[-1].features == tuple(enough[:1])
        # The risk that leads is the relative one.
        expected = ti.relative_risk(problem.mdp, problem.view, problem.weights)
        assert assess(problem).risk == pytest.approx(expected)

    def test_buckets_beside_features(self, tmp_path):
        problem = self.read(tmp_path, 'sees = ["cell 3"]\nbuckets = { "cell 5" = [0.5] }')
        assert problem.view.names == ("cell 3", "cell 5 < 0.5", "cell 5 ≥ 0.5")
        assert assess(problem).guaranteed > 0.99  # the expert stays in cell 5

    @pytest.mark.parametrize(
        ("learner", "table", "said"),
        [
            ('table = "view.csv"', "state,b\ncell 1,1\n", "a row for state 'cell 2', got none"),
            ('table = "view.csv"', SAME, "other than those"),
            ('table = "view.csv"', "state\ncell 1\n", "a column"),
            ('table = "view.csv"', "state,b\n7,1\n", "view.csv"),
            ('buckets = { "cell 9" = [1.0] }', "", "there is no feature 'cell 9'"),
            ('buckets = { "cell 1" = [2.0, 1.0] }', "", "numbers that rise"),
        ],
    )
    def test_what_is_wrong_is_told(self, tmp_path, learner, table, said):
        (tmp_path / "view.csv").write_text(table)
        with pytest.raises(ti.FileFormatError, match="learner") as caught:
            self.read(tmp_path, learner)
        assert said in str(caught.value)
