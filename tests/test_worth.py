"""What is worth its cost is measured by what is at stake for the expert, and plans can be followed
in part."""

from dataclasses import replace

import pytest

import teachirl as ti
from results import written
from teachirl.app.decisions import Cut, assess, expert_account, frontier, plan
from teachirl.app.decisions.worth import at_stake, risk_misleads, stretched, whole_range, worth_of
from teachirl.app.document.charts import plan_figure
from teachirl.app.document.documents import answer
from teachirl.app.problem import Show
from teachirl.app.problem.goals import doing_nothing
from teachirl.app.render.console import print_document
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
DETECTORS_OF_TWO = {"acid": 5, "glass": 4}
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


def text(document, capsys):
    print_document(document)
    return capsys.readouterr().out


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


class TestTerribleWeights:
    """What a weight that the expert never meets makes of all other numbers."""

    def test_a_second_best_has_its_reward(self, courier, capsys):
        problem = courier(SPILLS, SPILT, DETECTORS)
        found = plan(problem)
        step = next(step for step in found.taught if step.alternative is not None)
        assert step.name == "acid" and step.alternative.name == "glass"
        assert step.alternative.reward == pytest.approx(-19990.0, abs=0.1)
        assert step.alternative.reward == pytest.approx(
            problem.task.zero + step.alternative.guaranteed * whole_range(problem.task), abs=0.1
        )
        document = text(answer(problem, found), capsys)
        assert "second best  instead  its reward" in document
        assert said(problem, found)["steps"][1]["alternative"].reward == step.alternative.reward

    def test_bounds_are_as_close_as_what_is_at_stake_needs(self, courier):
        stretched_by = courier(SPILLS, SPILT, DETECTORS).task.tolerance
        assert stretched_by == pytest.approx(1e-6 * 20.0 / 20000.0)
        plain = courier(SPILLS, {"acid": -12.0, "glass": -3.0}, {"acid": 5, "glass": 4})
        assert plain.task.tolerance == 1e-6

    def test_the_risk_that_it_stretches_is_no_headline(self, courier, capsys):
        harm = {"acid": -1.0, "glass": -3.0, "wet": -1.0}
        for weights, told in ((harm, True), (SPILT, False)):
            problem = courier(SPILLS, weights, DETECTORS)
            found = assess(problem)
            assert stretched(problem) != told
            first = text(answer(problem, found), capsys).split("How things stand")[0]
            assert ("teaching risk" in first) == told
            assert said(problem, found)["risk"] == pytest.approx(found.risk)
            curve = text(answer(problem, frontier(problem)), capsys)
            assert ("risk" in curve) == told
            panels = plan_figure(plan(problem), "the worst policy").panels
            assert len(panels) == 1 + told
            # Whoever has 0 %, the weights are what they are.
            based = replace(problem, baseline=doing_nothing(problem.mdp))
            assert risk_misleads(based) != told and not stretched(based)

    def test_less_than_doing_nothing_is_called_so(self, courier):
        problem = courier(SPILLS, {"acid": -20000.0, "glass": -30.0}, DETECTORS_OF_TWO)
        words = "and less than doing nothing (wait) earns (0)"
        poor = replace(problem, max_cost=5.0)
        found = plan(poor)
        assert [step.name for step in found.taught] == ["acid"]
        assert found.stakes.worse_than_nothing and words in said(poor, found)["in_reward"]
        assert words in said(problem, assess(problem))["in_reward"]
        whole = frontier(problem)
        assert whole.stakes.reward == pytest.approx(10.0, abs=0.02)
        assert not whole.stakes.worse_than_nothing
        assert words not in said(problem, whole)["in_reward"]

    def test_a_chosen_demonstration_that_earns_little_is_told(self, courier):
        """What looks like nothing else earns 0.8, where the expert earns 10."""
        ways = {"clean": {}, "spill": {"acid": 1}, "small": {"delivery": -1, "tip": 1}}
        also = '[demonstration]\nshow = "choose"'
        problem = courier(ways, {"acid": -100.0, "tip": 10.8}, {"acid": 5}, also)
        found = assess(problem)
        instead = found.account.instead
        assert instead.reward == pytest.approx(0.8) and instead.expert == pytest.approx(10.0)
        assert instead.far and not instead.hardly_better
        doubt = said(problem, found)["doubts"][0]
        assert doubt.startswith("Look at what is shown first: the policy that was chosen")
        assert "earns 0.8, where the expert earns 10;" in doubt
        near = courier(ways, {"acid": -100.0, "tip": 17.0}, {"acid": 5}, also)
        assert near.task.weights @ near.task.demonstration.expectations == pytest.approx(7.0)
        assert not expert_account(near).instead.far


class TestOneNumber:
    """What a set guarantees is the same number in all commands."""

    WORLD = """
[world]
name = "garnet"
n_states = 30
n_actions = 3
branching = 3
n_features = 6
discount = 0.9
[reward.weights]
"0" = {terrible}
"1" = 2.0
"2" = -3.0
"3" = 1.0
[learner]
sees = {sees}
[[teach.feature]]
name = "3"
[[teach.feature]]
name = "2"
[[teach.feature]]
name = "0"
[[teach.feature]]
name = "1"
cost = 2
"""

    @pytest.mark.parametrize("terrible", [-1.0, -3000.0])
    def test_in_plans_curves_and_as_things_stand(self, terrible, tmp_path):
        problem = written(tmp_path, self.WORLD.format(terrible=terrible, sees=["5"]))
        followed, curve = plan(problem), frontier(problem)
        rows = {frozenset(point.features): point for point in curve.points}
        names = [step.name for step in followed.steps[1:]]
        shared = 0
        for count, step in enumerate(followed.steps):
            point = rows.get(frozenset(names[:count]))
            if point is not None:
                assert (point.reward, point.guaranteed) == (step.reward, step.guaranteed)
                shared += 1
        assert shared >= 2
        last = names[: followed.stop]
        seen = written(tmp_path, self.WORLD.format(terrible=terrible, sees=[*last, "5"]))
        reward = assess(seen).stakes.reward
        assert reward == followed.stakes.reward == rows[frozenset(last)].reward

    def test_ctrl_c_meanwhile_leaves_what_the_search_has_proved(self, tmp_path, monkeypatch):
        problem = written(tmp_path, self.WORLD.format(terrible=-1.0, sees=["5"]))
        whole, worst_case, calls = frontier(problem), ti.Task.worst_case, []

        def interrupted(*args, **options):
            calls.append(1)
            if len(calls) == 2:
                raise KeyboardInterrupt
            return worst_case(*args, **options)

        monkeypatch.setattr(ti.Task, "worst_case", interrupted)
        found = frontier(problem)
        assert found.cut is Cut.INTERRUPTED and whole.cut is None and len(whole.points) > 2
        assert found.points[0].reward == whole.points[0].reward
        assert [point.features for point in found.points] == [
            point.features for point in whole.points
        ]
        for point, other in zip(found.points, whole.points, strict=True):
            assert point.reward == pytest.approx(other.reward, abs=1e-3 * at_stake(problem))
            assert point.at_most >= other.guaranteed - 1e-9

    def test_in_whatever_order_things_are_seen(self, tmp_path):
        problem = written(tmp_path, self.WORLD.format(terrible=-3000.0, sees=["5"]))
        task, mdp = problem.task, problem.mdp
        rows = problem.task.teachable[:3]
        one, other = ti.Worldview(rows), ti.Worldview(rows[[2, 0, 1]])
        first = task.worst_case(one, task.demonstration, problem.matching)
        second = task.worst_case(other, task.demonstration, problem.matching)
        assert first.lower == second.lower and first.solves > 3
        assert first.theta[[2, 0, 1]].tolist() == second.theta.tolist()
        assert second.theta.any()
        # The multipliers of the other's rows prove the bound: it is where a search may go on.
        again = task.worst_case(other, task.demonstration, problem.matching, start=second.theta)
        assert again.lower == pytest.approx(first.lower, abs=1e-5) and again.solves < first.solves
        slow = ti.worst_case(mdp, other, task.weights, task.demonstration, method="lifted")
        room = 2e-6 * (task.best.value - task.worst.value)
        assert slow.lower - room <= second.lower <= slow.upper + room


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


class TestWhoDoesNothing:
    """The measure of what is worth little: by an action's name, or as the file says."""

    @pytest.mark.parametrize("name", ["hold", "Stay", "no_op", "rest"])
    def test_an_action_has_a_name_for_it(self, tmp_path, name):
        moves = f"state,action,next_state,probability\nhere,{name},here,1\nhere,go,here,1\n"
        (tmp_path / "t.csv").write_text(moves)
        (tmp_path / "f.csv").write_text(f"state,action,goods\nhere,{name},0\nhere,go,1\n")
        world = '[world]\ntransitions = "t.csv"\nfeatures = "f.csv"\ndiscount = 0.9\n'
        rest = '[reward.weights]\ngoods = 1.0\n[learner]\nsees = ["goods"]\n'
        problem = written(tmp_path, world + rest + '[plan]\nbaseline = "nothing"\n')
        assert (problem.idle.kind, problem.idle.name) == ("nothing", name)
        assert problem.baseline.name == name

    def test_the_file_may_say_it(self, tmp_path):
        """Beside who acts at random, and crashes, one that coasts for ever does well."""
        ways = {"coast": "0,0", "go": "1,0", "crash": "0,1"}
        moves = "".join(f"here,{way},here,1\n" for way in ways)
        (tmp_path / "t.csv").write_text("state,action,next_state,probability\n" + moves)
        rows = "".join(f"here,{way},{has}\n" for way, has in ways.items())
        (tmp_path / "f.csv").write_text("state,action,goods,harm\n" + rows)
        (tmp_path / "shown.csv").write_text("state,action\nhere,coast\n")
        world = '[world]\ntransitions = "t.csv"\nfeatures = "f.csv"\ndiscount = 0.9\n'
        rest = "[reward.weights]\ngoods = 1.0\nharm = -1000.0\n[learner]\nsees = []\n"
        shown = '[demonstration]\npolicy = "shown.csv"\n'
        for said_so, kind in (('{ action = "coast" }', "action"), ('"uniform"', "uniform")):
            text = f"{world}{rest}[plan]\nbaseline = {said_so}\n"
            account = expert_account(written(tmp_path, text + shown))
            assert account.idle.kind == kind and account.hardly_better == (kind == "action")
            least = "always coast earns (0)" if kind == "action" else "acting at random earns ("
            problem = written(tmp_path, text)
            assert f"and less than {least}" in said(problem, assess(problem))["in_reward"]


class TestWhatElseToShow:
    """A policy that is chosen for the learner as it is caps what teaching can do."""

    TEXT = """
[world]
name = "chain"
[reward.weights]
"cell 1" = -2.0
"cell 2" = -1.0
"cell 4" = 1.0
"cell 5" = 2.0
[learner]
sees = ["cell 3"]
"""
    MIX = '[[teach.feature]]\nname = "mix"\nweights = { "cell 1" = 1.0, "cell 4" = 1.0 }\n'

    def test_who_chooses_again_is_named(self, tmp_path):
        problem = written(tmp_path, f'{self.TEXT}{self.MIX}[demonstration]\nshow = "choose"\n')
        found = plan(problem)
        reason = said(problem, found)["reason"]
        assert found.cap is not None and "unless something else is shown. It was chosen" in reason
        assert reason.endswith('teacher = "JointGreedy" in [plan] chooses anew after each feature.')

    def test_a_curve_is_about_what_the_file_shows(self, tmp_path):
        problem = written(tmp_path, f'{self.TEXT}{self.MIX}[plan]\nteacher = "JointGreedy"\n')
        found = plan(problem)
        assert found.steps[1].new_demonstration and found.steps[1].guaranteed > 0.6
        searched = said(problem, found)["searched"]
        assert searched.endswith("buys, where the file's demonstration is shown all along.")

    def test_what_is_offered_is_what_would_be_chosen(self, tmp_path):
        """Not what a shorter search finds, which proves nothing and may find less."""
        problem = written(tmp_path, self.TEXT + self.MIX)
        offered = plan(problem).show.best
        chosen = replace(problem, show=Show.CHOSEN).chosen
        assert repr(offered.status) == repr(chosen.status) == "OPTIMAL"
        assert offered.guaranteed == chosen.guaranteed

    def test_plans_for_other_rewards_that_buy_otherwise(self, courier):
        problem = courier(SPILLS, SPILT, DETECTORS, "[reward]\nwithin = 0.1")
        found = plan(problem)
        one = found.worth_buying[0]
        for always, why in (("acid", False), ("delivery", True)):
            found.__dict__["worth_buying"] = (replace(one, name=always, share=1.0),)
            [told] = [each for each in said(problem, found)["plausible"] if "Worth" in each]
            assert told.startswith(f"Worth buying whatever the reward: {always};")
            assert "For each of them all sets of features were searched." in told
            assert told.endswith("for the weights in the file, does without delivery.") == why
