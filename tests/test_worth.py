"""What is worth its cost is measured by what is at stake for the expert, and plans can be followed
in part."""

import pytest

from results import written
from teachirl.app.decisions import frontier, plan
from teachirl.app.decisions.worth import at_stake, whole_range, worth_of
from teachirl.app.document.documents import answer
from teachirl.app.render.json import contents
from teachirl.teachers import GapGreedy

# One choice: each way delivers, all but the first with something that costs; or nothing at all.
SPILLS = {
    "clean": {},
    "spill": {"acid": 1},
    "break": {"glass": 1},
    "splash": {"wet": 1},
}
SPILT = {"acid": -20000.0, "glass": -3.0, "wet": -1.0}
DETECTORS = {"acid": 5, "glass": 4, "wet": 3}
# Acid is where patients are or where it is wet; glass may break there as well, or elsewhere.
WARDS = {
    "clean": {},
    "ward": {"acid": 1, "patients": 1},
    "bath": {"acid": 1, "wet": 1},
    "ward glass": {"acid": 1, "patients": 1, "glass": 1},
    "bath glass": {"acid": 1, "wet": 1, "glass": 1},
    "crowd": {"patients": 1},
    "puddle": {"wet": 1},
    "break": {"glass": 1},
}
HARM = {"acid": -40.0, "patients": -1.0, "wet": -1.0, "glass": -3.0}
SENSORS = {"acid": 6, "patients": 2, "wet": 2, "glass": 1}


@pytest.fixture
def courier(tmp_path):
    """A problem with these ways, weights beside a delivery's, prices, and more of a file."""

    def made(ways, weights, prices, also="", delivery=10.0):
        names = ["delivery", *weights]
        moves, rows = "state,action,next_state,probability\n", f"state,action,{','.join(names)}\n"
        for way, has in {**ways, "wait": {}}.items():
            moves += f"here,{way},end,1\n"
            amounts = {"delivery": int(way != "wait"), **has}
            rows += f"here,{way},{','.join(str(amounts.get(name, 0)) for name in names)}\n"
        moves += "end,stay,end,1\n"
        rows += f"end,stay,{','.join('0' for _ in names)}\n"
        (tmp_path / "t.csv").write_text(moves)
        (tmp_path / "f.csv").write_text(rows)
        (tmp_path / "start.csv").write_text("state,probability\nhere,1\n")
        lines = ['[world]\ntransitions = "t.csv"\nfeatures = "f.csv"\nstart = "start.csv"']
        lines += [f"discount = 0.9\n[reward.weights]\ndelivery = {delivery}"]
        lines += [f"{name} = {weight}" for name, weight in weights.items()]
        lines += ['[learner]\nsees = ["delivery"]']
        lines += [f'[[teach.feature]]\nname = "{n}"\ncost = {c}' for n, c in prices.items()]
        return written(tmp_path, "\n".join([*lines, also]))

    return made


def said(problem, found):
    return contents(answer(problem, found))


class TestWhatIsAtStake:
    """One terrible policy hides nothing: what is told apart is a share of what the expert earns."""

    def test_all_that_an_expert_earns_is_more_than_nothing(self, courier):
        problem = courier(SPILLS, SPILT, DETECTORS)
        assert whole_range(problem.task) == pytest.approx(20000.0)
        # The expert earns 10, and pays nothing.
        assert at_stake(problem) == pytest.approx(20.0)
        assert worth_of(problem) == pytest.approx(1e-3 * 20.0 / 20000.0)
        found = plan(problem)
        assert {step.name for step in found.taught} == {"acid", "glass", "wet"}
        assert found.taught[0].name == "acid"
        assert found.stakes.reward == pytest.approx(10.0, abs=0.02)
        assert "none guarantees 0.02 of reward more" in said(problem, found)["searched"]

    @pytest.mark.parametrize("also", ["", "[plan]\nmax_loss = 1.5"])
    def test_the_curve_has_all_rows(self, courier, also):
        problem = courier(SPILLS, SPILT, DETECTORS, also)
        found = frontier(problem)
        assert found.exact
        # Wet or glass alone leave the acid; who sees acid breaks glass, or else makes it wet.
        assert [point.cost for point in found.points] == [0.0, 5.0, 9.0, 12.0]
        rewards = [point.reward for point in found.points]
        assert rewards == pytest.approx([-19990.0, 7.0, 9.0, 10.0], abs=0.02)
        method = said(problem, found)["method"]
        assert "no set of features guarantees 0.02 of reward more for its cost" in method
        if also:
            assert found.enough.cost == found.enough_at_least == 9.0

    def test_where_nothing_is_stretched_it_is_a_share_of_the_range(self, courier):
        problem = courier(SPILLS, {"acid": -12.0, "glass": -3.0, "wet": -0.001}, DETECTORS)
        assert worth_of(problem) == 1e-3 and at_stake(problem) == whole_range(problem.task)
        found = frontier(problem)
        # To see the wet as well would add a ten-thousandth.
        assert [point.cost for point in found.points] == [0.0, 5.0, 9.0]
        assert "guarantees 0.1 % more for its cost" in said(problem, found)["method"]

    def test_an_expert_who_earns_and_pays_nothing(self, courier):
        ways = {"clean": {}, "spill": {"acid": 1}}
        problem = courier(ways, {"acid": -20.0}, {"acid": 5}, delivery=0.0)
        assert at_stake(problem) == whole_range(problem.task) == pytest.approx(20.0)


class TestPartOfAPlan:
    """What is listed first is worth most for its price, and nothing beside a step is better."""

    def test_features_that_help_together_come_together(self, courier):
        problem = courier(WARDS, HARM, SENSORS)
        found = plan(problem)
        # With all three nothing can go wrong, for 5; glass alone would gain 3 of the 44.
        assert [step.name for step in found.taught] == ["patients", "wet", "glass"]
        rewards = [step.reward for step in found.steps]
        assert rewards == pytest.approx([-34.0, -34.0, 7.0, 10.0], abs=1e-4)

    def test_what_to_buy_who_stops_part_way(self, courier):
        problem = courier(WARDS, HARM, {**SENSORS, "acid": 1, "glass": 4})
        found = plan(problem)
        assert [step.name for step in found.taught] == ["patients", "wet", "glass"]
        other, step = found.part_way
        assert (other.features, other.cost, step.name) == (("acid",), 1.0, "patients")
        assert other.reward == pytest.approx(7.0, abs=1e-4)
        assert step.reward == pytest.approx(-34.0, abs=1e-4)
        words = said(problem, found)["part_way"]
        assert "stop part-way does better with another set: acid, for 1, guarantees" in words
        assert "this plan after step 1, for 2, " in words

    def test_no_second_best_is_better(self, courier):
        problem = courier(WARDS, HARM, {**SENSORS, "acid": 3, "glass": 4})
        found = plan(problem)
        assert isinstance(problem.teacher, GapGreedy)
        assert [step.name for step in found.taught] == ["patients", "wet", "glass"]
        # Instead of the patients one would begin with acid; but no step costs as much and has less.
        assert found.taught[0].alternative is None and found.part_way is None
        others = [step for step in found.taught if step.alternative is not None]
        assert others
        for step in others:
            assert step.alternative.guaranteed <= step.guaranteed + 1e-6

    def test_who_follows_the_curve_is_told_of_nothing_else(self, courier):
        problem = courier(SPILLS, {"acid": -9.0, "glass": -3.0}, {"acid": 2, "glass": 2})
        found = plan(problem)
        assert [step.name for step in found.taught] == ["acid", "glass"]
        assert found.part_way is None and said(problem, found)["part_way"] == ""


def test_of_sets_that_cost_the_same_the_better_one_is_enough(courier):
    """A limit says nothing of the reward: of two that keep it for the same, one saves the glass."""
    ways = {"clean": {}, "ward": {"acid": 1, "patients": 1}, "break": {"glass": 1, "patients": 1}}
    harm = {"acid": -2.0, "glass": -8.0, "patients": -1.0}
    limited = "[plan]\nlimits = { acid = 0.1 }"
    for prices in ({"acid": 4, "patients": 4}, {"patients": 4, "acid": 4}):
        problem = courier(ways, harm, prices, limited)
        found = plan(problem)
        assert [step.name for step in found.taught] == ["patients"]
        assert found.steps[-1].cost == 4.0 and found.reached
        assert frontier(problem).enough.features == ("patients",)
