"""Advice that agrees with itself: no plan pays for what it does not need, no number is written in
two ways, and no warning contradicts what is advised."""

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import teachirl as ti
from results import written
from teachirl.app.decisions import (
    Difference,
    Differing,
    Ending,
    assess,
    check,
    expert_account,
    frontier,
    plan,
)
from teachirl.app.document.comparison import comparison
from teachirl.app.document.documents import answer
from teachirl.app.document.expert import warnings
from teachirl.app.document.frontier import what_a_budget_buys
from teachirl.app.document.rewards import earned
from teachirl.app.document.tables import differences_table
from teachirl.app.problem import read_problem
from teachirl.app.problem.example import example_text
from teachirl.app.render.json import contents
from teachirl.figures import digits

ROOT = Path(__file__).parents[1]


def said(problem, found):
    """All that an answer says, by its key."""
    return contents(answer(problem, found))


def garnet(folder, seed, teacher, more=""):
    """A random world with six features at prices of their own, nine tenths to be guaranteed."""
    rng = np.random.default_rng(seed)
    weights, prices = rng.normal(size=6).round(2), rng.integers(1, 6, size=6)
    text = f"""
seed = {seed}
[world]
name = "garnet"
n_states = 14
n_actions = 3
branching = 3
n_features = 6
discount = 0.9
[reward.weights]
"""
    text += "".join(f"{i} = {weight}\n" for i, weight in enumerate(weights))
    text += "[learner]\nsees = []\n[teach]\n" + more
    text += "".join(
        f'[[teach.feature]]\nname = "{i}"\ncost = {price}\n' for i, price in enumerate(prices)
    )
    return written(folder, f'{text}[plan]\nteacher = "{teacher}"\nguarantee = 0.9\n')


class TestNoTeacherPaysForMore:
    TEACHERS = ("JointGreedy", "TRGreedy", "PerfGreedy", "OptimalSubset", "Random")

    @pytest.mark.parametrize(("seed", "teacher"), [(0, "JointGreedy"), *enumerate(TEACHERS)])
    def test_nothing_can_be_left_out(self, tmp_path, seed, teacher):
        problem = garnet(tmp_path, seed, teacher)
        found = plan(problem)
        assert found.ending is Ending.REACHED
        task, taught = problem.task, [step.feature for step in found.taught]
        for each in taught:
            rest = [other for other in taught if other != each]
            view = task.worldview.extend(task.teachable[rest]) if rest else task.worldview
            least = ti.worst_case(problem.mdp, view, problem.weights, found.demonstration)
            assert task.relative(least.upper) < 0.9

    @pytest.mark.parametrize(("seed", "cost", "own"), [(0, 4.0, 8.0), (13, 4.0, 5.0)])
    def test_what_was_second_best_may_be_enough(self, tmp_path, seed, cost, own):
        problem = garnet(tmp_path, seed, "JointGreedy")
        found = plan(problem)
        last, led = found.steps[found.stop], found.chosen.led
        assert (last.cost, led.cost) == (cost, own) and last.guaranteed >= 0.9
        for before, step in zip(found.steps, found.taught, strict=False):
            other = step.alternative
            assert other is None or before.cost + other.price >= cost or other.guaranteed < 0.9
        searched = said(problem, found)["searched"]
        assert f"JointGreedy itself ends with {', '.join(led.features)}, for {own:g}:" in searched

    def test_what_is_required_stays(self, tmp_path):
        problem = garnet(tmp_path, 2, "JointGreedy", 'required = ["1"]\n')
        found = plan(problem)
        assert [step.name for step in found.taught] == ["1", "4"] and found.reached
        assert found.chosen.led is None
        assert "itself ends" not in said(problem, found)["searched"]


class TestOneQuantityIsWrittenInOneWay:
    def test_a_guarantee_of_all_reads_as_the_whole(self):
        """44.497 is 44.5 to the nearest digit, and 44.49 rounded down."""
        assert (digits.number(44.497), digits.at_least(44.497)) == ("44.5", "44.49")
        for value in (44.497, 0.59049, 14.95966, 7.41695, -17.83333, 20.0, 3.1):
            known = digits.steady(value, 50.0)
            assert digits.promised_of(value, [value], 50.0) == known
            assert float(known.replace("−", "-")) == pytest.approx(value, rel=1e-4)

    @pytest.mark.parametrize("seed", range(200))
    def test_what_is_guaranteed_never_grows(self, seed):
        rng = np.random.default_rng(seed)
        value = rng.normal() * 10.0 ** rng.integers(-2, 4)
        least = value - abs(value) * 10.0 ** rng.uniform(-9, -1)
        scale = abs(value) * 3.0
        shown = float(digits.promised_of(least, [value], scale).replace("−", "-"))
        assert shown <= least + 1e-9 * scale

    def test_a_row_of_a_curve_reads_as_the_headline(self, tmp_path):
        """The charger's expert earns 19.6498: with all that counts seen, so much is guaranteed."""
        misled = ROOT / "examples" / "warehouse" / "misled.toml"
        problem = read_problem(misled)
        table = what_a_budget_buys(problem, frontier(problem))
        [points] = [each for each in table.elements if getattr(each, "key", "") == "points"]
        [reward] = [each for each in points.columns if each.key == "reward"]
        texts = [reward.cell(row) for row in points.rows]
        assert texts[-1] == earned(problem, points.rows[-1].reward) == "19.6498"
        lost = said(problem, assess(problem))["in_reward"]
        [whole], [part] = (
            re.findall(each, lost) for each in (r"up to (\S+) less", r"costs (\S+)\.")
        )
        assert whole == part and 3.0303 < float(whole) <= 3.031

    def test_differences_are_visible_or_not_called_so(self):
        seen = Difference("near", -1.0, 0.1513, 10.23, 10.08)
        hardly = Difference("moving", -0.05, 18.5553, 18.5609, 0.00028)
        dear = Difference("acid", -1000.0, 44.4912, 44.4938, 2.6)
        table = differences_table("", (seen, hardly, dear), ("expert", "worst", "lost"), str)
        rows = [[column.cell(row) for column in table.columns] for row in table.rows]
        assert [row[0] for row in rows] == ["near", "acid"]
        assert rows[0][2:4] == ["0.1513", "10.23"] and rows[1][2:4] == ["44.491", "44.494"]

    def test_two_results_that_read_the_same_do_not_differ(self):
        close = Differing(("assessment", "expert_reward"), 44.49123, 44.49138, scale=50.0)
        noise = Differing(("assessment", "expert_reward"), 44.491230, 44.491231, scale=50.0)
        found = contents(comparison(("a", "b"), (), (close, noise)))["found"]
        assert [row["first"] for row in found] == [44.49123]
        table = comparison(("a", "b"), (), (close, noise)).sections[1].elements[0]
        assert [column.cell(close) for column in table.columns[2:4]] == ["44.4912", "44.4914"]


@pytest.fixture
def ways(tmp_path):
    """A problem of one choice among ways that have features, and more of a file."""

    def made(table, weights, also="", ends=False):
        names = list(weights)
        moves, rows = "state,action,next_state,probability\n", f"state,action,{','.join(names)}\n"
        for way, has in {"wait": {}, **table}.items():
            moves += f"here,{way},here,1\n"
            rows += f"here,{way},{','.join(str(has.get(name, 0)) for name in names)}\n"
        if ends:
            nothing = ",".join("0" for _ in names)
            moves += "here,leave,end,1\nend,stay,end,1\n"
            rows += f"here,leave,{nothing}\nend,stay,{nothing}\n"
            (tmp_path / "s.csv").write_text("state,probability\nhere,1\n")
        (tmp_path / "t.csv").write_text(moves)
        (tmp_path / "f.csv").write_text(rows)
        text = '[world]\ntransitions = "t.csv"\nfeatures = "f.csv"\ndiscount = 0.9\n'
        text += 'start = "s.csv"\n' if ends else ""
        text += "[reward.weights]\n" + "".join(f"{n} = {w}\n" for n, w in weights.items())
        return written(tmp_path, text + also)

    return made


WAYS = {"go": {"goods": 1}, "crawl": {"goods": 0.001}, "crash": {"harm": 1}}
WEIGHTS = {"goods": 1.0, "harm": -5.0}
SPILLS = {
    "clean": {"goods": 1},
    "spill": {"goods": 1, "acid": 1},
    "splash": {"goods": 1, "wet": 1},
}


class TestUselessExperts:
    @pytest.mark.parametrize("way", ["wait", "crash"])
    def test_a_policy_of_a_file_that_is_warned_of_is_not_advised(self, ways, tmp_path, way):
        (tmp_path / "shown.csv").write_text(f"state,action\nhere,{way}\n")
        rest = '[learner]\nsees = ["goods"]\n[demonstration]\npolicy = "shown.csv"\n'
        problem = ways(WAYS, WEIGHTS, rest)
        told = said(problem, plan(problem))
        assert any("hardly better" in each or "less than" in each for each in told["doubts"])
        assert told["demonstrate"].startswith("Do not demonstrate the policy of the file as it is:")
        assert told["demonstrate"].endswith(
            'the best policy 10. show = "optimal" in [demonstration] shows the latter.'
        )

    def test_one_that_collects_nothing_is_looked_at_first(self, ways, tmp_path):
        (tmp_path / "shown.csv").write_text("state,action\nhere,crawl\n")
        rest = '[learner]\nsees = ["goods"]\n[demonstration]\npolicy = "shown.csv"\n'
        problem = ways(WAYS, WEIGHTS, rest)
        told = said(problem, plan(problem))
        assert "it never collects goods" in told["doubts"][0]
        assert told["demonstrate"].startswith("Once you have looked at the expert: demonstrate")

    def test_one_that_does_its_work_is_advised(self, ways, tmp_path):
        (tmp_path / "shown.csv").write_text("state,action\nhere,go\n")
        rest = '[learner]\nsees = ["goods"]\n[demonstration]\npolicy = "shown.csv"\n'
        problem = ways(WAYS, WEIGHTS, rest)
        told = said(problem, plan(problem))
        assert told["doubts"] == []
        assert told["demonstrate"].startswith("Demonstrate the policy of the file.")

    def test_what_is_odd_comes_first(self):
        problem = read_problem(ROOT / "examples" / "warehouse" / "misled.toml")
        advice = said(problem, plan(problem))["demonstrate"]
        assert advice.startswith("Once you have looked at the expert: demonstrate an optimal")


class TestFalseAlarms:
    def test_what_excludes_something_better_is_no_oddity(self, ways):
        """One goes slowly, or fast, or stands: who goes fast is not asked about going slowly. But
        deliveries and sitting about are two things, as one can also do neither."""
        rest = "[learner]\nsees = []\n"
        speeds = {"crawl": {"slow": 1}, "race": {"fast": 1}, "wait": {"still": 1}}
        for names, odd in ((("crawl", "race", "wait"), []), (("crawl", "race"), ["slow"])):
            kept = {name: speeds[name] for name in names}
            weights = {"slow": 0.6, "fast": 1.0, "still": 0.0}
            account = expert_account(ways({"wait": {}, **kept}, weights, rest))
            assert [each.name for each in account.never_collected] == odd
        charger = {"deliver": {"done": 1}, "sit": {"charged": 1}}
        account = expert_account(ways(charger, {"done": 20.0, "charged": 30.0}, rest))
        assert [each.name for each in account.passed_over] == ["done"]

    def test_no_alarm_about_a_weight_whose_sign_is_not_known(self, ways):
        rest = "[learner]\nsees = []\n"
        problem = ways({"a": {"x": 1}, "b": {"y": 9}}, {"x": 1.0, "y": 0.5, "z": -1.0}, rest)
        account = expert_account(problem)
        assert [each.name for each in account.never_collected] == ["x"]
        plausible = SimpleNamespace(weights=problem.weights, signs=np.array([0, 1, 0]))
        guessed = replace(problem)
        guessed.__dict__["inferred"] = SimpleNamespace(plausible=plausible)
        assert expert_account(guessed).never_collected == ()

    def test_the_example_to_start_from_is_free_of_remarks(self, tmp_path):
        problem = written(tmp_path, example_text())
        found = check(problem)
        assert found.notices == () and not found.account.doubtful
        assert not found.account.tell_left_lying and warnings(found.account) == ()


class TestNearlyAsGood:
    REST = '[learner]\nsees = ["goods"]\n[teach]\nfeatures = "all"\n'

    def test_it_is_told_where_nothing_is_asked_for(self, ways):
        problem = ways(SPILLS, {"goods": 10.0, "acid": -9.0, "wet": -0.2}, self.REST)
        found = plan(problem)
        assert [step.name for step in found.taught] == ["acid", "wet"]
        assert found.chosen.nearly.features == ("acid",) and found.chosen.nearly.cost == 1.0
        told = said(problem, found)["nearly"]
        assert told.startswith("Nearly as good for less: acid, for 1 instead of 2, guarantees 9")
        assert "(98 of reward instead of 100)" in told
        assert found.chosen.nearly.reward == found.steps[1].reward  # one number for one set

    @pytest.mark.parametrize("also", ["", "[plan]\nguarantee = 0.999\n"])
    def test_but_not_what_is_clearly_less_or_not_enough(self, ways, also):
        wet = -0.2 if also else -5.0
        problem = ways(SPILLS, {"goods": 10.0, "acid": -9.0, "wet": wet}, self.REST + also)
        found = plan(problem)
        assert found.stop == 2 and found.chosen.nearly is None
        assert said(problem, found)["nearly"] == ""


class TestPlainAmounts:
    @pytest.mark.parametrize("ended", [True, False])
    @pytest.mark.parametrize("where", ["demonstration", "reward"])
    def test_recordings_have_a_column(self, ways, tmp_path, ended, where):
        """Two episodes: three and five steps, of which one and two deliver."""
        last = "leave" if ended else "wait"
        actions = [["go", "wait", last], ["go", "go", "crash", "wait", last]]
        lines = [
            json.dumps({"states": ["here"] * len(each), "actions": each, "terminated": ended})
            for each in actions
        ]
        (tmp_path / "e.jsonl").write_text("\n".join(lines))
        rest = '[learner]\nsees = ["goods"]\n[demonstration]\ntrajectories = "e.jsonl"\n'
        problem = ways(WAYS, WEIGHTS, rest, ends=True)
        if where == "reward":
            text = problem.path.read_text().split("[reward.weights]")[0]
            text += '[reward]\ntrajectories = "e.jsonl"\n[learner]\nsees = ["goods"]\n'
            problem = written(tmp_path, text)
        told = said(problem, assess(problem))
        rows = {row["name"]: row["recorded"] for row in told["amounts"]}
        per, goods, harm = (
            ("episode", 1.5, 0.5) if ended else ("1000 steps", 1000 * 3 / 8, 1000 / 8)
        )
        assert told["amounts_per"]["recorded"] == per
        assert rows["goods"] == pytest.approx(goods) and rows["harm"] == pytest.approx(harm)
        assert {row["name"] for row in said(problem, plan(problem))["amounts"]} >= {"goods"}

    def test_check_has_them_too(self, ways, tmp_path):
        line = {"states": ["here"] * 4, "actions": ["go"] * 3 + ["wait"], "terminated": False}
        (tmp_path / "e.jsonl").write_text(json.dumps(line))
        rest = '[learner]\nsees = []\n[demonstration]\ntrajectories = "e.jsonl"\n'
        found = check(ways(WAYS, WEIGHTS, rest))
        assert found.undiscounted.per == "1000 steps" and found.undiscounted.amounts[0] == 750.0


class TestWhatAWalkFound:
    def test_what_is_lost_reads_as_what_it_was(self, ways):
        """46.1527 was 46.16 as a loss, rounded up, and 46.15 as what a feature earns."""
        assert digits.steady_loss(46.1527) == "46.153"
        for seed in range(200):
            loss = float(np.random.default_rng(seed).uniform(0.1, 100))
            assert float(digits.steady_loss(loss)) >= loss - 1e-9

    def test_rounding_is_no_loss(self):
        assert digits.promised_of(-1e-7, [0.0], scale=937.0) == "0"
        assert digits.promised_of(-1e-4, [0.0], scale=937.0) != "0"

    def test_nearly_is_by_what_is_at_stake(self, ways):
        """Where one terrible weight stretches all, most of what is gained is not nearly all."""
        weights = {"goods": 10.0, "acid": -5000.0, "wet": -4.0}
        problem = ways(SPILLS, weights, TestNearlyAsGood.REST)
        found = plan(problem)
        assert found.stop == 2 and found.chosen.nearly is None

    def test_what_is_not_seen_may_not_matter(self, ways):
        table = {"go": {"goods": 1}, "crash": {"harm": 1}}
        rest = '[learner]\nsees = ["goods"]\n'
        problem = ways(table, {"goods": 1.0, "harm": -5.0}, rest)
        told = said(problem, assess(problem))
        assert told["blind_spot"].endswith("whoever matches what is shown does as well.")
