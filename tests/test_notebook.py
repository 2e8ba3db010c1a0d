"""What a notebook shows of results: short texts, and HTML in which no name does harm."""

import sys
from html.parser import HTMLParser
from types import ModuleType

import numpy as np
import pytest

import teachirl as ti
from teachirl.figures.digits import at_least, at_most

EVIL = '<script>alert("x")</script> & \x1b[31m'


class Page(HTMLParser):
    """The tags and the text of a page; what is opened is closed."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.open, self.styles, self.text = set(), [], [], ""
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.open.append(tag)
        self.styles += [value for name, value in attributes if name == "style"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def page_of(result):
    """The HTML of a result: tables and texts alone, in the colours of whoever shows it."""
    page = Page(result._repr_html_())
    assert page.tags <= {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"}
    assert not [style for style in page.styles if "color" in style or "background" in style]
    assert "\x1b" not in page.text
    return page.text


@pytest.fixture(scope="module")
def evil():
    """A chain whose names come from someone else's file."""
    chain = ti.worlds.chain(3)
    return ti.MDP.from_pairs(
        chain.dynamics.pair_states,
        chain.dynamics.actions,
        chain.dynamics.transitions,
        chain.features,
        discount=0.9,
        state_names=[EVIL, "b", "c"],
        action_names=["left", EVIL],
        feature_names=["a", "b", EVIL],
    )


@pytest.fixture(scope="module")
def grid():
    return ti.worlds.gridworld(20, block=2)


class TestPlanning:
    def test_an_mdp_says_how_large_it_is_and_what_its_features_are(self, evil, grid):
        text = page_of(evil)
        assert "<script>" in text and "\ufffd[31m" in text  # as text, not as a tag
        assert "3 per state" in text
        text = page_of(grid)
        assert "100 per state" in text and "… and 90 more" in text
        assert "left, right, up, down" in text

    def test_names_may_be_long(self):
        chain = ti.worlds.chain(2)
        long = chain.with_features(chain.features, ["x" * 100_000, "y"])
        assert len(long._repr_html_()) < 3_000

    def test_a_policy_says_what_it_does(self, evil, grid):
        assert EVIL.split()[0] in page_of(ti.optimal_policy(evil, [0, 0, 1]).policy)
        text = page_of(ti.Policy.uniform(grid))
        assert "left (25 %), right (25 %), up (25 %), down (25 %)" in text
        assert "… and 390 more" in text

    def test_plans_are_short(self, grid):
        rng = np.random.default_rng(0)
        plans = ti.optimal_policies(grid, rng.standard_normal((30, 100)))
        assert repr(plans) == "Plans(30 rewards: 30 OPTIMAL)"
        assert len(repr(plans[0])) < 100 and "OPTIMAL" in repr(plans[0])
        assert len(repr(plans[:2])) < 100 and repr(plans[:0]) == "Plans(0 rewards)"
        assert "… and 20 more" in page_of(plans)
        assert str(ti.PlanStatus.OPTIMAL) in page_of(plans[0])

    def test_bounds_are_rounded_to_the_safe_side(self):
        plan = ti.optimal_policy(ti.worlds.chain(5), [-2, -1, 0, 1, 2])  # 12.40863…
        assert repr(plan) == "Plan(value 12.41, bounds 12.4 to 12.41, OPTIMAL)"

    def test_what_moves_is_told_in_a_line(self, grid):
        assert repr(grid.dynamics) == "Dynamics(400 states, 1600 state-action pairs, discount 0.9)"
        assert len(repr(ti.soft_policy(grid, np.ones(100)))) < 60


@pytest.fixture(scope="module")
def case(grid):
    """A learner that sees five mixtures of a hundred features."""
    rng = np.random.default_rng(0)
    weights, view = rng.standard_normal(100), ti.Worldview(rng.standard_normal((5, 100)))
    return grid, view, weights, ti.optimal_policy(grid, weights).policy


@pytest.fixture(scope="module")
def certificate(case):
    return ti.certify(*case)


@pytest.fixture(scope="module")
def picture():
    mdp = ti.worlds.chain(5)
    return ti.plot_policy(mdp, ti.Policy.uniform(mdp))


class TestGuarantees:
    def test_a_worst_case_is_short(self, case):
        found = ti.worst_case(*case)
        assert len(repr(found)) < 80 and "OPTIMAL" in repr(found)
        text = page_of(found)
        assert "Policy(" in text and str(found.status) in text

    def test_a_certificate_has_its_bounds(self, certificate):
        assert len(repr(certificate)) < 80
        text = page_of(certificate)
        for bound in certificate.bounds:
            assert bound.name in text and certificate.in_words(bound) in text
            assert len(repr(bound)) < 80
        assert len(repr(certificate.look)) < 80
        assert len(repr(certificate.theorem_2)) < 400

    def test_no_bound_is_below_what_anybody_earns(self, certificate):
        """The gap was capped, and neither the reward nor the words beside it."""
        assert certificate.theorem_1.least < certificate.floor
        gap, least = certificate.capped(certificate.theorem_1)
        assert (gap, least) == (certificate.at_stake, certificate.floor)
        text = page_of(certificate)
        assert at_least(certificate.theorem_1.least) not in text
        assert at_most(certificate.theorem_1.gap) not in text
        assert f"may cost {at_most(gap)}, all that there is to lose." in text

    def test_a_certificate_that_speaks_of_nobody_says_so(self):
        mdp = ti.worlds.chain(5)
        far = ti.Demonstration(np.full(5, 40.0))
        found = ti.certify(mdp, ti.Worldview(np.eye(5)), [0, 0, 0, 0, 1], far)
        assert "nothing is guaranteed" in page_of(found)
        with pytest.raises(ti.InvalidInputError, match="no policy matches"):
            found.plot()

    def test_a_certificate_is_drawn(self, certificate):
        picture = certificate.plot()
        [bars] = picture.figure.panels[0].marks
        most = certificate.at_stake  # no loss exceeds what there is to lose
        assert certificate.theorem_1.gap > most
        assert bars.heights.tolist() == [min(bound.gap, most) for bound in certificate.bounds]
        assert bars.marked == (2,)
        assert "exact: at most" in picture.alts[0]

    def test_what_to_show_is_short(self, case):
        mdp, view, weights, _ = case
        rng = np.random.default_rng(0)
        shown = ti.best_demonstration(mdp, view, weights, starts=1, proof_solves=0, rng=rng)
        assert len(repr(shown)) < 80
        assert shown.sentence in page_of(shown)

    def test_what_names_the_features_is_a_sentence(self, case):
        mdp, view, weights, _ = case
        assert len(repr(ti.blind_spot(mdp, view, weights))) < 400
        assert len(repr(ti.greedy_plan(view, weights, np.eye(100), size=2))) < 80


class TestPolicies:
    def test_visits_and_arrows(self):
        mdp = ti.worlds.gridworld(3, discount=0.5, slip=0.2)
        picture = ti.plot_policy(mdp, ti.optimal_policy(mdp, np.eye(9)[0]).policy)
        [cells] = picture.figure.panels[0].marks
        assert cells.values.sum() == pytest.approx(2.0)
        assert {tuple(step) for step in cells.moves[:, 2:]} == {(0.0, -1.0), (-1.0, 0.0)}
        assert (cells.row_names, cells.column_names) == (("0", "1", "2"), ("0", "1", "2"))

    def test_worlds_bring_their_own_map(self):
        road = ti.worlds.driving()
        picture = ti.plot_policy(road, ti.Policy.uniform(road.mdp))
        assert picture.figure.panels[0].marks[0].row_names == road.map.row_names

    @pytest.mark.parametrize("shape", [(2, 3), (3, 2), (1, 4), (4, 1)])
    def test_grids_of_ones_own_are_recognised(self, shape):
        rows, columns = shape
        cells = np.arange(rows * columns)
        moves = {"up": (-1, 0), "wait": (0, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
        tables = []
        for down, right in moves.values():
            row = np.clip(cells // columns + down, 0, rows - 1)
            column = np.clip(cells % columns + right, 0, columns - 1)
            tables.append(np.eye(len(cells))[row * columns + column])
        mdp = ti.MDP.from_arrays(
            np.stack(tables), np.eye(len(cells)), discount=0.9, first="action", action_names=moves
        )
        picture = ti.plot_policy(mdp, ti.Policy.uniform(mdp))
        assert picture.figure.panels[0].marks[0].values.shape == shape

    def test_what_lies_nowhere_is_told(self):
        mdp = ti.worlds.garnet(np.random.default_rng(0), 6, 2, 2, 3)
        with pytest.raises(ti.InvalidInputError, match="call them like 'row 2, column 5'"):
            ti.plot_policy(mdp, ti.Policy.uniform(mdp))
        # Actions with the right names that lead elsewhere are no grid.
        ring = np.stack([np.roll(np.eye(5), 1, axis=1), np.roll(np.eye(5), -1, axis=1)])
        names = ["right", "left"]
        mdp = ti.MDP.from_arrays(ring, np.eye(5), discount=0.9, first="action", action_names=names)
        with pytest.raises(ti.InvalidInputError, match="where the states lie"):
            ti.plot_policy(mdp, ti.Policy.uniform(mdp))


class TestPictures:
    def test_a_notebook_shows_it_with_words_for_who_cannot_see_it(self, picture):
        page = picture._repr_html_()
        assert page.count("data:image/svg+xml;base64,") == 1
        assert 'alt="a grid of 1 × 5 cells' in page

    def test_it_is_a_file(self, picture, tmp_path):
        for suffix, magic in (("png", b"\x89PNG"), ("pdf", b"%PDF"), ("csv", b"panel,")):
            picture.save(tmp_path / f"it.{suffix}")
            assert (tmp_path / f"it.{suffix}").read_bytes().startswith(magic)
        with pytest.raises(ti.InvalidInputError, match=r"path must end with .*, got it\.doc"):
            picture.save(tmp_path / "it.doc")

    def test_it_is_a_figure_of_matplotlib(self, picture):
        [axis] = picture.matplotlib().axes
        names = [f"cell {place}" for place in range(1, 6)]
        assert [text.get_text() for text in axis.get_xticklabels()] == names

    def test_without_matplotlib_the_extra_is_named(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        mdp = ti.worlds.chain(5)
        with pytest.raises(ti.MissingExtraError, match=r"teachirl\[plot\]"):
            ti.plot_policy(mdp, ti.Policy.uniform(mdp))


@pytest.fixture(scope="module")
def lesson():
    """Someone who stops early is taught three features, and does not match."""
    mdp, rng = ti.worlds.gridworld(10, block=2), np.random.default_rng(0)
    weights, view = rng.standard_normal(25), ti.Worldview(rng.standard_normal((5, 25)))
    names = [EVIL, *map(str, range(24))]
    task = ti.Task(mdp, weights, view, np.eye(25), names=names, required=[0])
    learner = ti.learners.Projection(2e-2)
    return ti.teach(task, ti.teachers.TRGreedy(), learner, rng=rng, budget=5, tolerance=-1)


class TestLessons:
    def test_a_lesson_is_a_sequence_of_its_rounds(self, lesson):
        assert len(lesson) == len(lesson.rounds) == 6
        assert lesson[0] is lesson.rounds[0] and list(lesson[-2:]) == list(lesson.rounds[-2:])
        assert [each.name for each in lesson][:2] == ["", EVIL]

    def test_its_texts_are_short(self, lesson):
        assert repr(lesson).startswith("Lesson(5 features taught, performance 0.")
        assert repr(lesson).endswith(", OUT_OF_BUDGET)") and len(repr(lesson)) < 100
        assert all(len(repr(each)) < 150 for each in lesson)
        text = page_of(lesson)
        assert "<script>" in text and str(lesson.status) in text

    def test_who_is_below_what_is_guaranteed_did_not_match(self, lesson):
        below = [each.performance < each.guaranteed - 1e-6 for each in lesson]
        assert any(below) and not all(below)
        lines = str(lesson).splitlines()
        assert [line.endswith("  *") for line in lines[1:7]] == below
        far = [each for each, low in zip(lesson, below, strict=True) if low][-1].mismatch
        assert lines[-1].startswith("* guaranteed to whoever matches what is shown")
        assert f"mismatch={far:.2g}" in lines[-1]
        assert lines[-1] in page_of(lesson)

    def test_who_matches_has_no_footnote(self, lesson):
        task, rng = lesson.task, np.random.default_rng(0)
        matched = ti.teach(task, ti.teachers.TRGreedy(), ti.learners.MinNormPoint(), rng=rng)
        assert "*" not in str(matched)

    def test_it_is_drawn(self, lesson):
        picture = lesson.plot()
        performance, risk = picture.figure.panels
        proved, simulated = performance.marks
        assert performance.x_label == "features taught"
        assert proved.y.tolist() == [each.guaranteed for each in lesson]
        assert simulated.y.tolist() == [each.performance for each in lesson]
        assert risk.marks[0].y.tolist() == [each.risk for each in lesson]
        low, high = performance.y_range
        assert low < min(proved.y.min(), simulated.y.min())
        assert high - low < 1.2 * (max(proved.y.max(), simulated.y.max()) - low)
        assert "<script" not in picture._repr_html_()

    def test_it_is_drawn_by_cost_and_without_guarantees(self):
        mdp, rng = ti.worlds.chain(3), np.random.default_rng(0)
        task = ti.Task(mdp, [0, 0, 1], ti.Worldview.select(mdp, []), np.eye(3), costs=[1, 2, 5])
        learner = ti.learners.MinNormPoint()
        dear = ti.teach(task, ti.teachers.TRGreedy(), learner, rng=rng, certified=False)
        panel = dear.plot().figure.panels[0]
        assert panel.x_label == "cost so far" and panel.marks[0].x.tolist() == [0.0, 5.0]
        assert [mark.label for mark in panel.marks] == ["this learner"]
        assert "guaranteed" not in repr(dear)

    def test_it_is_a_data_frame(self, lesson):
        pandas = pytest.importorskip("pandas")
        frame = lesson.to_frame()
        assert isinstance(frame, pandas.DataFrame) and len(frame) == 6
        assert frame["guaranteed"].tolist() == [each.guaranteed for each in lesson]
        assert frame["taught"].tolist()[1:] == list(lesson.taught)
        assert "scores" not in frame.columns

    def test_it_is_one_of_polars_where_pandas_is_not(self, lesson, monkeypatch):
        polars = ModuleType("polars")
        polars.DataFrame = dict
        monkeypatch.setitem(sys.modules, "pandas", None)
        monkeypatch.setitem(sys.modules, "polars", polars)
        frame = lesson.to_frame()
        assert list(frame["round"]) == list(range(6))
        assert frame["taught"] == [None, *lesson.taught]
        monkeypatch.setitem(sys.modules, "polars", None)
        with pytest.raises(ti.MissingExtraError, match=r"pandas or polars: .*teachirl\[frame\]"):
            lesson.to_frame()
