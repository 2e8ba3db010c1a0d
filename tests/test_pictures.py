"""What a report shows, as records: where states lie, who goes where, what differs."""

import base64
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

import teachirl as ti
from problem_files import PROBLEMS
from results import CHAIN, assessment_of, frontier_of, plan_of, written
from teachirl.app.decisions import Difference
from teachirl.app.document.charts import differences_figure, frontier_figure, plan_figure
from teachirl.app.document.elements import Column, Table
from teachirl.app.document.elements import Figure as FigureElement
from teachirl.app.document.pictures import policy_figures, reward_figure, visits_of
from teachirl.app.document.tables import differences_table, policy_table
from teachirl.app.problem import read_problem
from teachirl.app.render.markup import figure
from teachirl.figures.digits import at_least, at_most, percent_at_least
from teachirl.figures.drawing import panel_svg, write_figure
from teachirl.figures.records import Cells, Contrast, Curve, Figure, Panel, Points

LAKE = """
[world]
gymnasium = "{}"
discount = 0.9
[reward.weights]
reward = 1.0
[learner]
sees = ["step"]
"""


TITLES = ("expert", "worst", "lost")


def values(table):
    """The raw values of a table, row by row."""
    return [[column.of(row) for column in table.columns] for row in table.rows]


@pytest.fixture
def chain(tmp_path):
    return written(tmp_path, CHAIN)


class TestMaps:
    def test_a_chain_is_one_row(self, chain):
        around = chain.world.map
        assert around.shape == (1, 5)
        assert around.cells.tolist() == [0, 1, 2, 3, 4]
        assert around.steps.tolist() == [[0, -1], [0, 1]]
        assert around.feature_shape == (1, 5)
        assert around.name(2) == "column 2"

    def test_a_grid_has_walls_between_macrocells(self):
        around = read_problem(PROBLEMS / "grid.toml").world.map
        assert around.shape == (4, 4)
        assert around.walls.tolist() == [[2, 0, 2, 4], [0, 2, 4, 2]]
        assert around.feature_shape == (2, 2)
        assert around.name(7) == "row 1, column 3"

    def test_a_step_on_the_map_is_a_step_in_the_world(self):
        problem = read_problem(PROBLEMS / "grid.toml")
        around, dynamics = problem.world.map, problem.mdp.dynamics
        middle = 5
        for action, (down, right) in enumerate(around.steps):
            row = dynamics.transitions[[dynamics.pair_of(middle, action)]].toarray()[0]
            assert around.cells[row.argmax()] == middle + 4 * down + right

    @pytest.mark.parametrize(
        ("name", "shape", "texts"),
        [
            ("FrozenLake-v1", (4, 4), {0: "start", 5: "hole", 15: "goal", 1: ""}),
            ("CliffWalking-v1", (4, 12), {36: "start", 37: "cliff", 46: "cliff", 47: "goal"}),
            ("Taxi-v4", (5, 5), {0: "red", 4: "green", 20: "yellow", 23: "blue", 1: ""}),
        ],
    )
    def test_gymnasium_worlds_have_their_scenery(self, tmp_path, name, shape, texts):
        around = written(tmp_path, LAKE.format(name)).world.map
        assert around.shape == shape
        assert len(around.texts) == shape[0] * shape[1]
        assert {cell: around.texts[cell] for cell in texts} == texts
        assert around.cells[-1] == -1  # the end
        assert sorted(set(around.cells[:-1].tolist())) == list(range(shape[0] * shape[1]))

    def test_nobody_drives_through_the_walls_of_the_taxi(self, tmp_path):
        problem = written(tmp_path, LAKE.format("Taxi-v4"))
        around, dynamics = problem.world.map, problem.mdp.dynamics
        east = dynamics.action_names.index("east")
        walls = {(int(top), int(left)) for top, left, _, _ in around.walls}
        assert len(walls) == 6
        for state in range(500):
            row, column = divmod(int(around.cells[state]), 5)
            to = dynamics.transitions[[dynamics.pair_of(state, east)]].toarray()[0].argmax()
            stays = around.cells[to] == around.cells[state]
            assert stays == (column == 4 or (row, column + 1) in walls)

    def test_the_road_is_speeds_by_lanes(self):
        problem = read_problem(PROBLEMS / "road.toml")
        around, names = problem.world.map, problem.mdp.dynamics.state_names
        assert around.column_names == ("only lane", "shoulder")
        for state, name in enumerate(names):
            assert name.startswith(f"{around.name(int(around.cells[state]))};")

    def test_cars_are_where_the_names_of_states_say(self):
        problem = read_problem(PROBLEMS / "road.toml")
        road = problem.world.map.surroundings
        assert road.row_names == ("1 ahead", "beside", "behind")
        for state, name in enumerate(problem.mdp.dynamics.state_names):
            lane, where = name.split(",")[0], name.split("cars: only ")[1]
            column = 1 if lane == "only lane" else 0  # from the shoulder it is on the left
            expected = np.zeros((3, 3), dtype=bool)
            if where != "none":
                expected[road.row_names.index(where), column] = True
            assert road.places[state].tolist() == expected.tolist()

    def test_tables_are_drawn_if_their_states_say_where_they_are(self, tmp_path):
        moves = ["state,action,next_state,probability"]
        moves += [
            f'"row {i}, column {j}",right,"row {i}, column 1",1' for i in (0, 1) for j in (0, 1)
        ]
        (tmp_path / "moves.csv").write_text("\n".join(moves))
        states = [f'"row {i}, column {j}",{i},{j}' for i in (0, 1) for j in (0, 1)]
        (tmp_path / "features.csv").write_text("\n".join(["state,low,late", *states]))
        text = """
            [world]
            transitions = "moves.csv"
            features = "features.csv"
            discount = 0.9
            [reward.weights]
            late = 1.0
            [learner]
            sees = ["low"]
        """
        around = written(tmp_path, text).world.map
        assert (around.shape, around.cells.tolist()) == ((2, 2), [0, 1, 2, 3])
        assert around.steps.tolist() == [[0, 1]]

    def test_other_worlds_are_not_drawn(self):
        problem = read_problem(PROBLEMS / "lake.toml")
        visits = {"it": visits_of(problem.mdp, problem.task.demonstration)}
        assert problem.world.map is None
        assert reward_figure(problem) is None
        assert policy_figures(problem, visits, "it") == ()


class TestPolicies:
    def test_both_policies_share_a_scale_and_show_what_is_done(self, chain):
        expert = chain.task.demonstration.policy
        away = ti.Policy.deterministic(chain.mdp, [1, 0, 0, 0, 0])
        visits = {"good": visits_of(chain.mdp, expert), "bad": visits_of(chain.mdp, away)}
        [picture] = policy_figures(chain, visits, "both")
        good, bad = (panel.marks[0] for panel in picture.panels)
        assert good.limit == bad.limit == max(good.values.max(), bad.values.max())
        assert good.values.ravel() == pytest.approx(ti.feature_expectations(chain.mdp, expert))
        assert good.moves.tolist() == [[0, j, 0, 1] for j in range(4)] + [[0, 4, 0, -1]]
        assert bad.moves.tolist() == [[0, 0, 0, 1]] + [[0, j, 0, -1] for j in range(1, 5)]
        assert [panel.title for panel in picture.panels] == ["good", "bad"]
        rows = values(picture.numbers)
        assert rows[0][0] == "column 0"
        assert rows[0][2::2] == ["right", "right"]
        assert rows[3][1] == pytest.approx(good.values[0, 3])
        assert "column 3 (4.57 visits, mostly right)" in picture.alts[0]

    def test_where_it_never_comes_there_is_no_arrow(self, tmp_path):
        problem = written(tmp_path, LAKE.format("CliffWalking-v1"))
        visits = {"it": visits_of(problem.mdp, problem.task.demonstration)}
        [picture] = policy_figures(problem, visits, "it")
        cells = picture.panels[0].marks[0]
        assert len(cells.moves) == 13  # up, eleven to the right, down
        assert cells.moves[:, :2].tolist() == [[2, j] for j in range(12)] + [[3, 0]]
        assert cells.values[cells.values > 0] == pytest.approx(
            np.append(0.9 ** np.arange(1, 13), 1.0)
        )

    def test_traffic_is_a_share_of_the_time(self):
        problem = read_problem(PROBLEMS / "road.toml")
        x = visits_of(problem.mdp, problem.task.demonstration)
        _, picture = policy_figures(problem, {"it": x}, "it")
        share = picture.panels[0].marks[0].values
        mu = problem.task.demonstration.expectations * (1 - problem.mdp.discount)
        names = {"ahead 1": (0, 1), "collision": (1, 1), "behind": (2, 1), "left ahead 1": (0, 0)}
        for name, place in names.items():
            assert share[place] == pytest.approx(mu[problem.mdp.feature_index(name)], abs=1e-12)
        assert picture.panels[0].marks[0].texts[4].startswith("you: ")

    def test_recorded_episodes_count_as_they_are(self):
        problem = read_problem(PROBLEMS / "recorded.toml")
        shown = problem.task.demonstration
        x = visits_of(problem.mdp, shown)
        assert shown.policy is None
        phi = problem.mdp.features
        rows = (
            x
            if problem.mdp.features_per_pair
            else np.bincount(problem.mdp.dynamics.pair_states, x, minlength=problem.mdp.n_states)
        )
        assert phi.T @ rows == pytest.approx(shown.expectations)

    def test_expectations_alone_have_no_visits(self, chain):
        assert visits_of(chain.mdp, ti.Demonstration(np.ones(5))) is None

    def test_large_grids_have_no_arrows_and_a_short_table(self, tmp_path):
        text = CHAIN.replace('name = "chain"', 'name = "gridworld"\nsize = 30\nblock = 6')
        problem = written(tmp_path, text)
        x = visits_of(problem.mdp, problem.task.demonstration)
        [picture] = policy_figures(problem, {"it": x}, "it")
        assert picture.panels[0].marks[0].moves is None
        rows = values(picture.numbers)
        assert len(rows) == 100 and "(800 more rows are left out)" in picture.numbers.caption
        assert "arrow" not in picture.caption
        visits = [row[1] for row in rows]
        assert visits == sorted(visits, reverse=True)

    def test_what_it_sees_is_framed(self, chain):
        picture = reward_figure(chain)
        assert picture.panels[0].marks[0].outlined == ((0, 2),)
        assert picture.panels[0].marks[0].values.tolist() == [[-2, -1, 0, 1, 2]]
        assert values(picture.numbers)[2] == ["cell 3", 0.0, "yes"]
        assert "cell 5 (2)" in picture.alts[0]

    def test_a_policy_can_be_read_state_by_state(self, chain):
        table = policy_table(chain.mdp, ti.Policy.uniform(chain.mdp), "it")
        rows = values(table)
        assert [each.heading for each in table.columns] == ["state", "visits", "what is done"]
        assert rows[0][0] == "cell 2"
        assert rows[0][2] == "left (50 %), right (50 %)"
        assert sum(row[1] for row in rows) == pytest.approx(10.0)


class TestCharts:
    def test_a_plan_goes_from_cost_to_performance(self, chain):
        picture = plan_figure(plan_of(chain), "the worst policy")
        guaranteed, simulated, stop, asked = picture.panels[0].marks
        assert guaranteed.x.tolist() == [0, 1, 2, 3]
        assert guaranteed.y == pytest.approx([10, 45, 89.999, 97])
        assert simulated.label == "simulated (MinNormPoint)"
        assert (stop.x.tolist(), stop.y.tolist()) == ([2.0], [89.999])
        assert asked.y == pytest.approx([89.96, 89.96])

    def test_no_plan_has_no_picture(self, chain):
        plan = plan_of(chain)
        assert plan_figure(replace(plan, steps=plan.steps[:1]), "the worst policy") is None

    def test_a_frontier_stays_level_between_points(self, chain):
        picture = frontier_figure(chain, frontier_of(chain))
        curve, asked, enough = picture.panels[0].marks
        assert curve.stepped
        assert curve.x[:-1].tolist() == [0, 1, 3] and curve.x[-1] > 3
        assert curve.y[-1] == curve.y[-2]
        assert asked.y == pytest.approx([90, 90])
        assert isinstance(enough, Points) and enough.x.tolist() == [3.0]

    def test_what_differs_is_shown_twice(self, chain):
        found = assessment_of(chain)
        picture = differences_figure(found.differences, ("expert", "worst"))
        mark = picture.panels[0].marks[0]
        assert mark.categories[0] == found.differences[0].name
        assert mark.first[0] == found.differences[0].expert
        assert mark.second[0] == found.differences[0].other
        assert mark.label == "expert and worst"
        assert all(each.weight for each in found.differences)
        assert "The other features" not in picture.caption
        total = sum(
            row[-1] for row in values(differences_table("", found.differences, TITLES, str))
        )
        assert total == pytest.approx(found.certificate.exact.gap, abs=1e-6)

    def test_what_counts_for_nothing_is_in_the_table_only(self):
        counts = Difference("heat", 2.0, 1.0, 0.5, 1.0)
        idle = Difference("score", 0.0, 0.0, -200.0, 0.0)
        picture = differences_figure((counts, idle), ("e", "w"))
        assert picture.panels[0].marks[0].categories == ("heat",)
        table = differences_table("", (counts, idle), TITLES, str)
        assert [row[0] for row in values(table)] == ["heat", "score"]
        assert "The other features are in the table." in picture.caption
        alone = differences_figure((idle,), ("e", "w"))
        assert alone.panels[0].marks[0].categories == ("score",)


class TestDrawing:
    PANELS = (
        Panel(
            "", "x", "y", (Curve("a", [0, 1], [1, 2], stepped=True), Points("b", [0], [1], True))
        ),
        Panel(
            "", "", "", (Cells("c", np.eye(2), ("a", "", "", "b"), [[0, 0, 0, 1], [1, 1, 0, 0]]),)
        ),
        Panel("", "amount", "", (Contrast(("e", "w"), ("one", "two"), [1, 2], [0, -1]),)),
        Panel(
            "",
            "",
            "",
            (
                Cells(
                    "d",
                    np.ones((1, 2)),
                    shaded=True,
                    walls=[[0, 1, 1, 1]],
                    row_names=("row",),
                    column_names=("left", "right"),
                ),
            ),
        ),
    )

    @pytest.mark.parametrize("panel", PANELS)
    def test_a_panel_is_one_svg_that_asks_for_nothing(self, panel):
        svg = panel_svg(panel)
        root = ElementTree.fromstring(svg)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        for element in root.iter():
            for name, value in element.attrib.items():
                if name.endswith("href"):
                    assert value.startswith(("#", "data:"))
        assert "url(http" not in svg and "matplotlib.org" not in svg
        assert panel_svg(panel) == svg

    @pytest.mark.parametrize(
        "name",
        ["<b>", "a & b", "$x^2$", "50 $", "火", "_hidden", "\x1b[31m", "a\nb", "", "x" * 900],
    )
    def test_any_name_can_be_drawn(self, name):
        panel = Panel("", "x", "", (Contrast(("e", "w"), (name, "other"), [1, 2], [0, 1]),))
        texts = [e.text for e in ElementTree.fromstring(panel_svg(panel)).iter() if e.text]
        shown = " ".join(name.replace("\x1b", "\ufffd").split())
        shown = shown if len(shown) <= 26 else f"{shown[:25]}…"
        assert not shown or shown in texts
        assert max(map(len, filter(lambda text: "{" not in text, texts))) < 40

    def test_figures_with_the_new_marks_are_files_too(self, tmp_path):
        paths = write_figure(Figure("all", "", self.PANELS, columns=2), tmp_path)
        assert [path.suffix for path in paths] == [".pdf", ".svg", ".png", ".csv"]
        assert ",one," in paths[-1].read_text()

    def test_pictures_are_in_the_page(self):
        columns = (Column("", "x", value=lambda row: f"{row}"),)
        numbers = Table("the numbers", columns, (1.5,))
        picture = FigureElement("it", "a caption", self.PANELS[:1], ('say "this"',), numbers)
        page = figure(picture)
        assert "<summary>Numbers: it</summary>" in page and ">1.5</th>" in page
        [data] = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
        assert base64.b64decode(data).decode() == panel_svg(self.PANELS[0])
        assert 'alt="say &quot;this&quot;"' in page


@pytest.mark.parametrize("seed", range(20))
def test_rounding_never_promises_more(seed):
    rng = np.random.default_rng(seed)
    for value in rng.normal(size=50) * 10.0 ** rng.integers(-6, 6, 50):
        scale = 10.0 ** rng.integers(-3, 4)
        low, high = (float(f(value, scale).replace("−", "-")) for f in (at_least, at_most))
        assert low <= value <= high
        assert high - low <= 2e-3 * max(abs(value), scale)
    for value in rng.random(50):
        shown = float(percent_at_least(value).removesuffix(" %")) / 100
        assert shown <= value + 1e-8
        assert value - shown < 1e-3 + 1e-8
