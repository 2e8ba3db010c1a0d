"""From a problem to a decision: what is said of it is what the library finds."""

import json
import math
import re
from dataclasses import replace
from functools import cache
from importlib import import_module
from itertools import chain, combinations, count, pairwise

import numpy as np
import pytest

import teachirl as ti
from problem_files import PROBLEMS
from results import written
from teachirl.app.decisions import (
    Cut,
    Outcome,
    Patience,
    Searched,
    assess,
    frontier,
    plan,
    simulations,
)
from teachirl.app.decisions.at_once import showing_all, tried_at_once
from teachirl.app.decisions.comparison import differences
from teachirl.app.decisions.doubt import weight_doubt
from teachirl.app.decisions.readings import largest_share, readings
from teachirl.app.decisions.whole_reward import showing
from teachirl.app.document.documents import answer
from teachirl.app.document.elements import Bullets
from teachirl.app.document.inferred import _under_others, other_weights
from teachirl.app.problem import Show, read_problem
from teachirl.app.render.json import contents
from teachirl.figures.digits import at_most, counted, percent_at_least, percent_at_most
from teachirl.guarantees.solvers.search import Search
from teachirl.guarantees.worst_case import worst_case
from teachirl.learners import Adversarial, LearnStatus, MinNormPoint, Projection
from teachirl.mdp import clock
from teachirl.study.progress import Progress
from teachirl.teachers import GapGreedy
from teachirl.teaching.matching import Matching
from teachirl.teaching.rounds import Rounds
from teachirl.teaching.task import Task

SETS = import_module("teachirl.app.decisions.set_search")
CHAIN = """
[world]
name = "chain"
[reward.weights]
"cell 1" = -2.0
"cell 2" = -1.0
"cell 4" = 1.0
"cell 5" = 2.0
[learner]
sees = ["cell 3"]
[teach]
features = "all"
"""
# Prices differ, nothing is enough by itself, and the demonstrated policy is random.
GRID = """
seed = 2
[world]
name = "gridworld"
size = 4
block = 1
slip = 0.25
start = [{}]
[reward.weights]
"cell 0" = 1.0
"cell 3" = -1.0
"cell 9" = 0.5
"cell 15" = 2.0
[learner]
sees = ["cell 5"]
""".format(", ".join(["0.0625"] * 16))
PRICES = {"cell 0": 2.0, "cell 3": 1.0, "cell 9": 0.5, "cell 15": 3.0, "cell 10": 0.25}
GRID += "".join(f'[[teach.feature]]\nname = "{n}"\ncost = {c}\n' for n, c in PRICES.items())

# Where the sum of two cells is all that is seen, one stands for the other; the second alone says
# nothing of the first.
PAIR = """
[world]
name = "gridworld"
size = 4
block = 1
start = [{}]
[reward.weights]
"cell 0" = 1.0
[learner]
sees = []
[[teach.feature]]
name = "either"
weights = {{ "cell 0" = 1.0, "cell 15" = 1.0 }}
[[teach.feature]]
name = "cell 15"
[[teach.feature]]
name = "cell 5"
""".format(", ".join("1.0" if cell == 3 else "0.0" for cell in range(16)))


@pytest.fixture
def problem(tmp_path):
    """The problem of a text."""

    def read(text, **changed):
        path = tmp_path / "problem.toml"
        path.write_text(text)
        return replace(read_problem(path), **changed)

    return read


def stored(name, **changed):
    return replace(read_problem(PROBLEMS / f"{name}.toml"), **changed)


def guaranteed(problem, taught, mismatch=0.0):
    """By one worst case, without anything of what is tested."""
    task = problem.task
    view = task.worldview.extend(task.teachable[list(taught)])
    case = problem.mdp, view, problem.weights, task.demonstration, mismatch
    found = task.relative_at_least(worst_case(*case).lower)
    if found > 1.0 - 1e-5:  # whether that is all of it takes all digits
        closely = task.relative_at_least(worst_case(*case, tolerance=1e-9).lower)
        found = closely if closely > 1.0 - 1e-9 else found
    return found


@pytest.fixture(scope="module")
def brute_force(tmp_path_factory):
    """Cost and guarantee of every set of the features of `GRID`, by a worst case each."""
    path = tmp_path_factory.mktemp("grid") / "problem.toml"
    path.write_text(GRID)
    grid = read_problem(path)

    @cache
    def every(mismatch):
        n = len(grid.task.names)
        sets = chain.from_iterable(combinations(range(n), size) for size in range(n + 1))
        return {
            frozenset(each): (
                grid.task.costs[list(each)].sum(),
                guaranteed(grid, each, mismatch or 0.0),
            )
            for each in sets
        }

    return every


@pytest.fixture
def adversary_alone(monkeypatch):
    """No other learner is simulated, where nothing is asked of them."""
    monkeypatch.setattr(simulations, "LEARNERS", (Adversarial,))


def said(problem, found):
    """What is said of what was found, by its name in JSON."""
    return contents(answer(problem, found))


def assessed(problem):
    """What is said of how things stand."""
    return said(problem, assess(problem))


def watched(folder, episodes, rest, rng):
    """A grid whose expert was watched so often, and the expert."""
    mdp = ti.worlds.gridworld(4, block=2, slip=0.1)
    expert = ti.optimal_policy(mdp, [1.0, 0.0, 0.0, -1.0]).policy
    seen = ti.sample_trajectories(mdp, expert, episodes=episodes, horizon=100, rng=rng)
    ti.write_trajectories(folder / "seen.jsonl", seen, mdp)
    text = (
        '[world]\nname = "gridworld"\nsize = 4\nblock = 2\nslip = 0.1\n'
        f'[reward.weights]\n"cell 0" = 1.0\n"cell 3" = -1.0\n{rest}'
        '[demonstration]\ntrajectories = "seen.jsonl"\n'
    )
    (folder / "problem.toml").write_text(text)
    return read_problem(folder / "problem.toml"), expert


@pytest.fixture(scope="module")
def little_recorded(tmp_path_factory):
    """A problem with too few episodes to match the expert, and the plan for who does."""
    rest = '[learner]\nsees = ["cell 1"]\n[teach]\nfeatures = "all"\n[plan]\nguarantee = 0.9\n'
    task, _ = watched(tmp_path_factory.mktemp("little"), 30, rest, np.random.default_rng(0))
    return task, plan(replace(task, match="expert"))


class TestAssessment:
    def test_of_the_paper_s_first_figure(self, problem):
        asked = problem(CHAIN)
        found = assess(asked)
        assert found.risk == 1.0
        assert found.guaranteed == 0.0
        # R(π*) = 3.9240 √10, and the mirrored policy looks the same to the learner.
        assert found.best == pytest.approx(3.9240 * math.sqrt(10), abs=1e-3)
        assert found.expert == pytest.approx(found.best, abs=1e-9)
        assert found.worst == pytest.approx(-found.best, abs=1e-9)
        assert [each.name for each in found.guarantees] == ["Theorem 1", "width", "exact"]
        exact = found.guarantees[-1]
        assert exact.reward == pytest.approx(-found.best, abs=1e-6)
        assert exact.behind == pytest.approx(2 * found.best, abs=1e-6)
        assert "'cell 5'" in found.blind_spot.sentence
        assert len(said(asked, found)["looks"]) == 2

    @pytest.mark.usefixtures("adversary_alone")
    def test_whether_the_expert_can_look_optimal_is_said_without_rounding(self, problem):
        # In the one cell that is seen the expert does what a reward for it alone would ask for.
        asked = problem(CHAIN.replace('sees = ["cell 3"]', 'sees = ["cell 5"]'))
        assert assessed(asked)["looks"][1] == (
            "There is a reward in the learner's features under which the demonstrated policy is "
            "optimal, up to rounding."
        )
        assert "is within" in assessed(problem(CHAIN))["looks"][1]

    @pytest.mark.parametrize("name", ["lake", "grid", "road", "rewards", "recorded"])
    def test_guarantees_and_differences_add_up(self, name):
        problem = stored(name)
        found = assess(problem)
        by_name = {each.name: each for each in found.guarantees}
        performances = [each.performance for each in found.guarantees]
        assert performances == sorted(performances)
        assert found.guaranteed == by_name["exact"].performance
        for each in found.guarantees:
            assert each.reward >= found.worst - 1e-6
            assert each.performance == problem.task.relative_at_least(each.reward)
        earned = found.weights @ ti.feature_expectations(problem.mdp, found.witness)
        lost = sum(each.lost for each in found.differences)
        assert lost == pytest.approx(found.expert - earned, abs=1e-5)
        assert earned >= by_name["exact"].reward - 1e-9
        costs = [each.lost for each in found.differences]
        assert costs == sorted(costs, reverse=True)

    @pytest.mark.parametrize(("less", "same"), [(1e-13, True), (0.1, False)])
    def test_a_proof_that_is_better_by_rounding_alone_says_what_was_said(self, less, same):
        """The theorems come after the guarantee, and may prove another last digit of it."""
        found = assess(stored("lake"))
        exact, said = found.guarantees[-1], found.stakes.reward - less
        told = replace(found, stakes=replace(found.stakes, reward=said)).guarantees[-1]
        assert told.name == "exact" and said < exact.reward
        assert told.reward == said if same else told.reward >= exact.reward

    def test_every_learner_is_named(self):
        found = {each.name: each for each in assess(stored("grid")).learners}
        assert list(found) == [kind.__name__ for kind in simulations.LEARNERS]
        assert len(found) == 8
        performance = {name: each.performance for name, each in found.items()}
        assert performance["Adversarial"] == min(performance.values())
        assert performance["Benevolent"] == max(performance.values())
        assert found["MinNormPoint"].mismatch < 1e-9
        assert found["MinNormPoint"].status is LearnStatus.MATCHED

    def test_who_stops_early_may_do_less_than_is_guaranteed(self, problem):
        learner = Projection(tolerance=0.02)
        taught = ["cell 5", "cell 0", "cell 3", "cell 10", "cell 15"]
        asked = problem(
            GRID.replace('sees = ["cell 5"]', f"sees = {taught}").split("[[teach")[0],
            learner=learner,
        )
        found = assess(asked)
        own = next(each for each in found.learners if each.name == "Projection")
        assert own.performance < found.guaranteed - 0.01
        proved = guaranteed(asked, [], own.mismatch)
        assert proved <= own.performance
        assert (found.below.name, found.below.mismatch) == ("Projection", own.mismatch)
        below = said(asked, found)["below"]
        reached, promised = (percent_at_least(x) for x in (own.performance, found.guaranteed))
        assert below.startswith(f"Projection reaches {reached}, less than the {promised} that are ")
        assert f"by {at_most(own.mismatch)} in its features" in below
        assert f"{percent_at_least(proved)} are guaranteed." in below
        other = assess(problem(GRID))
        assert other.below is None
        assert said(problem(GRID), other)["below"] == ""

    @pytest.mark.usefixtures("adversary_alone")
    def test_sentences_round_to_the_safe_side(self, problem):
        asked = problem(GRID)
        found = assess(asked)
        theorem_1, width, exact = (each["sentence"] for each in said(asked, found)["guarantees"])
        assert "mismatch" not in theorem_1 + width
        # Theorem 1 fears to lose 30.75, where there is less to lose.
        lost = at_most(found.best - found.worst)
        assert theorem_1.endswith(f"that may cost {lost}, all that there is to lose.")
        assert found.certificate.theorem_1.terms["hidden"] > 30.0 > found.best - found.worst
        least = float(exact.split()[-1].rstrip(".").replace("−", "-"))
        assert least <= found.certificate.worst.lower <= least + 0.01
        missed = assessed(problem(GRID, mismatch=0.5))["guarantees"][0]["sentence"]
        # To what is all that there is to lose a mismatch adds nothing.
        assert missed == theorem_1

    def test_who_takes_too_long_is_named_with_the_reason(self, monkeypatch):
        monkeypatch.setattr(simulations, "PROGRAM", 0)
        monkeypatch.setattr(simulations, "WORK", 0)
        monkeypatch.setattr(simulations, "STEPS", 1)
        found = {each["name"]: each for each in assessed(stored("road"))["learners"]}
        assert found["LinearProgram"]["performance"] is None
        assert found["LinearProgram"]["mismatch"] is None
        assert found["LinearProgram"]["ended"].startswith("not simulated: a linear program of ")
        assert found["MultiplicativeWeights"]["ended"].startswith("stopped after 1 step, ")

    def test_who_has_too_many_features_is_named_with_the_reason(self, monkeypatch):
        monkeypatch.setattr(simulations, "FACTORED", 0)
        problem = stored("road")
        found = {each["name"]: each for each in assessed(problem)["learners"]}
        rows = problem.worldview.n_rows
        for name in ("MaxCausalEntropy", "Benevolent"):
            ended = (
                f"not simulated: {counted(rows, 'feature')} of the learner's would take too long"
            )
            assert found[name]["ended"] == ended

    def test_the_file_s_own_learner_keeps_its_parameters(self, monkeypatch):
        monkeypatch.setattr(simulations, "WORK", 0)
        monkeypatch.setattr(simulations, "STEPS", 1)
        problem = stored("road", learner=Projection(tolerance=1e-6, max_steps=2000))
        found = {each.name: each for each in assess(problem).learners}
        target = problem.worldview.matrix @ problem.task.demonstration.expectations
        start = ti.Policy.uniform(problem.mdp)
        learned = problem.learner.learn(problem.worldview.observe(problem.mdp), target, start)
        assert found["Projection"].mismatch == learned.mismatch
        assert found["Projection"].status is learned.status
        assert found["Projection"].outcome is Outcome.LEARNED

    @pytest.mark.usefixtures("adversary_alone")
    def test_what_it_rests_on_is_said(self):
        task = stored("recorded")
        found = assess(task)
        told = said(task, found)
        [recorded] = told["notes"]
        known, unknown, ends, plausible = told["inferred"]
        assert "the weights are not identified" in known and "confidence 95 %" in known
        assert unknown == "Not identified, as either sign is plausible: cold, wet, home, step."
        assert ends.startswith("The ends in the table are ")
        drawn = len(task.inferred.plausible.points)
        assert f"Under these and {drawn} others that were drawn from all that are" in plausible
        share = percent_at_least(0.05 ** (1.0 / drawn))
        assert f"are guaranteed under at least {share} of all plausible weights, " in plausible
        even = replace(found.doubt, guaranteed=(1.0, 1.0), risk=(0.25, 0.25))
        both = "100 % are guaranteed now, and the teaching risk is 0.250. So 100 % are guaranteed"
        assert both in _under_others(even, "now")
        assert "as plausible, 100 % are guaranteed now." in other_weights(task, even, "now").text
        one = replace(even, drawn=1)
        assert "these and 1 other that is as plausible, " in other_weights(task, one, "now").text
        assert "these and 1 other that was drawn from all " in _under_others(one, "now")
        for weight in told["weights"]:
            assert -1.0 <= weight["lower"] < weight["weight"] < weight["upper"] <= 1.0
        assert "2 recorded episodes" in recorded and "confidence 90 %" in recorded
        # What allows for the error of so few is not to be taken for what the learner lacks.
        off = at_most(task.task.demonstration.error)
        assert f"error of the recordings of {off} in all features" in told["looks"][-1]
        assert told["looks"][-1].endswith("no sign of missing features.")
        assert found.confidence == 0.9
        assert found.mismatch > 0.0
        exact = stored("rewards")
        assert assessed(exact)["notes"] == []
        [residual] = assessed(replace(exact, reward=replace(exact.reward, residual=0.1)))["notes"]
        assert "leave 0.1 of the rewards" in residual and "unexpressed" in residual
        [mismatch] = assessed(stored("grid", mismatch=0.5))["notes"]
        assert "up to 0.5" in mismatch

    @pytest.mark.parametrize("seen", [0, 1])
    def test_the_range_is_that_of_each_of_the_weights_by_itself(self, seen):
        problem = stored("recorded")
        weights, shown = problem.inferred.plausible.points, problem.task.demonstration
        view = problem.worldview.extend(np.eye(4)[:seen])
        doubt = weight_doubt(problem, view, shown, 1.0, Patience())
        assert (doubt.drawn, doubt.confidence) == (len(weights), 0.95)
        assert (1.0 - doubt.beyond) ** doubt.drawn == pytest.approx(0.05)
        alone = [
            Task(problem.model, w, view, np.empty((0, 4)), demonstration=shown).guaranteed(
                view, shown, problem.matching
            )
            for w in weights
        ]
        assert doubt.guaranteed[0] == pytest.approx(min(alone), abs=1e-4)
        assert doubt.guaranteed[1] == 1.0  # that of the estimate is one of them
        doubt = weight_doubt(problem, view, shown, 0.0, Patience())
        assert doubt.guaranteed[0] == 0.0 and max(alone) <= doubt.guaranteed[1] <= 1.0
        assert doubt.risk[0] <= ti.teaching_risk(view, problem.weights) <= doubt.risk[1]
        assert weight_doubt(problem, view, shown, 0.0, Patience(), unfinished=True) is None

    @pytest.mark.usefixtures("adversary_alone")
    def test_that_weights_are_not_certain_is_said_in_short(self):
        """Of a plan nothing was said of other weights, and of how things stand only further on."""
        task = stored("recorded")
        for found, when in ((assess(task), "as things stand"), (plan(task), "by the plan")):
            low, high = found.doubt.guaranteed
            between = f"{percent_at_least(low)} to {percent_at_most(high)} are guaranteed {when}"
            assert low <= found.stakes.performance <= high
            document = answer(task, found)
            short = next(iter(document.sections))
            [told] = [each for each in short.elements if isinstance(each, Bullets)]
            assert sum(between in each.text for each in told.sentences) == 1
            assert sum(between in each for each in said(task, found)["inferred"]) == 1

    def test_both_readings_of_recordings_are_shown(self, tmp_path):
        """30 episodes gave 0 % and no remedy, as learners were taken to match the expert alone."""
        rng = np.random.default_rng(0)
        task, expert = watched(tmp_path, 30, '[learner]\nsees = ["cell 0"]\n', rng)
        mdp = task.mdp
        found = assess(task)
        both = found.readings
        assert both.recordings.guaranteed > 0.8 and both.recordings.confidence == 1.0
        assert found.guaranteed == pytest.approx(both.recordings.guaranteed, abs=1e-3)
        assert both.expert.guaranteed < both.recordings.guaranteed - 0.1
        # The parts of the error, the reward with its doubt, and what would be enough.
        assert both.cut < 0.01 < both.chance < 0.5 * task.shown.error
        truth = float(task.weights @ ti.feature_expectations(mdp, expert))
        assert both.earns[0] <= truth <= both.earns[1] <= task.task.best.upper
        assert 30 < both.enough.episodes < 30_000 and both.enough.steps > 10
        many = ti.sample_trajectories(
            mdp, expert, episodes=both.enough.episodes, horizon=both.enough.steps, rng=rng
        )
        rows = task.task.demonstration.along.rows
        more = ti.Demonstration.from_trajectories(mdp, many, rows=rows)
        assert 0.6 * both.enough.mismatch < more.error_in(task.worldview) < both.enough.mismatch
        told = said(task, found)
        assert [row["guaranteed"] for row in told["readings"]] == [
            both.recordings.guaranteed,
            both.expert.guaranteed,
        ]
        assert any("cut off" in each and "by chance" in each for each in told["recorded"])
        assert "These episodes are enough" not in " ".join(told["recorded"])
        # Losses count from what the expert earns at most, and the sentence says what that is.
        most = task.goals.expert_reward
        assert both.earns[1] == most > found.expert and found.stakes.loss > most - found.best
        assert f"less than the expert, who earns {at_most(most)} at most" in told["in_reward"]
        mean = at_most(found.expert - found.stakes.reward)
        assert f"up to {mean} less than the recordings' mean, and" in told["in_reward"]
        other = assess(replace(task, match="expert"))
        assert other.guaranteed <= both.expert.guaranteed + 1e-3
        assert other.mismatch == both.expert.mismatch

    @pytest.mark.parametrize("sees", ['"cell 0"', '"cell 0", "cell 1"'])
    def test_as_many_episodes_as_are_said_to_be_enough_are_enough(self, tmp_path, sees):
        """Exactly as many as were asked for gave less, and as many were asked for again."""
        rest, rng = (
            f"[learner]\nsees = [{sees}]\n[plan]\nguarantee = 0.8\n",
            np.random.default_rng(0),
        )
        task, _ = watched(tmp_path, 30, rest, rng)
        enough = readings(task, task.worldview, Patience()).enough
        assert enough.wanted == 0.8 and 30 < enough.episodes < 200 and enough.steps == 100
        more = watched(tmp_path, enough.episodes, rest, rng)[0]
        then = readings(more, more.worldview, Patience())
        assert 0.8 <= then.expert.guaranteed < 0.9 and then.enough.episodes == 0
        # With some fewer there is a little less, and more are asked for than there are.
        fewer = watched(tmp_path, enough.episodes * 6 // 10, rest, rng)[0]
        then = readings(fewer, fewer.worldview, Patience())
        assert then.expert.guaranteed < 0.8 and then.enough.episodes > enough.episodes * 6 // 10

    @pytest.mark.parametrize(
        "goal", ["max_loss = 3.0", "at_least = 6.0", "at_least = 6.0\nguarantee = 0.5"]
    )
    def test_episodes_are_counted_for_the_goals_that_are_asked_for(self, tmp_path, goal):
        """Of a goal in reward it was said that these episodes were enough to guarantee 0 %."""
        rest, rng = f'[learner]\nsees = ["cell 0"]\n[plan]\n{goal}\n', np.random.default_rng(0)
        task, _ = watched(tmp_path, 30, rest, rng)
        found = readings(task, task.worldview, Patience()).enough
        assert found.wanted is None and 30 < found.episodes < 1000
        met, missed = (
            task.goals.promise(task.worldview, task.task.demonstration, Matching(each))
            for each in (found.mismatch, 1.1 * found.mismatch)
        )
        assert not task.goals.unmet(met) and task.goals.unmet(missed)
        told = said(task, assess(task))["recorded"][-1]
        assert told.startswith("For the second reading to guarantee what was asked for would take")

    @pytest.mark.parametrize("bend", [0.1, 0.5, 1.0, 2.0, 7.0])
    @pytest.mark.parametrize("most", [0.26, 0.3, 0.6, 0.9999])
    def test_the_share_of_the_error_is_what_halving_finds(self, most, bend):
        def spare(share):
            seen.append(share)
            return (1.0 - share) ** bend - (1.0 - most) ** bend

        low, high, seen = 0.25, 1.0, []
        found = largest_share(spare, (low, spare(low)), (high, spare(high)))
        assert spare(found) >= 0.0 and len(seen) <= (10 if 0.5 <= bend <= 2.0 else 20)
        for _ in range(12):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if spare(middle) >= 0.0 else (low, middle)
        assert found == pytest.approx(low, abs=0.75 / 4096)

    def test_nothing_is_said_of_episodes_where_that_is_not_known(self, tmp_path):
        """A loss counts from what the expert earns at most, which other episodes would lower."""
        rest = '[learner]\nsees = ["cell 1"]\n[plan]\nmax_loss = 0.5\n'
        task, _ = watched(tmp_path, 30, rest, np.random.default_rng(0))
        assert readings(task, task.worldview, Patience()).enough is None
        assert not any("enough" in each for each in said(task, assess(task))["recorded"])

    def test_seeing_more_never_guarantees_less_of_who_matches_the_expert(self, tmp_path):
        """Each feature that is seen has an error of its own: with one ball for all of them less was
        proved of a larger view alone, but not with the box that these errors are."""
        must = '[learner]\nsees = ["cell 0"]\n[teach]\nrequired = ["cell 1", "cell 2"]\n'
        rest = '[[teach.feature]]\nname = "cell 1"\n[[teach.feature]]\nname = "cell 2"\n'
        task, _ = watched(tmp_path, 30, must + rest, np.random.default_rng(0))
        view, shown = task.worldview.extend(task.task.teachable), task.task.demonstration
        fewer, more = (readings(task, each, Patience()).expert for each in (task.worldview, view))
        alone = task.task.guaranteed(view, shown, Matching())
        ball = Matching(more.mismatch)
        assert task.task.guaranteed(view, shown, ball) < fewer.guaranteed - 0.05
        assert more.mismatch > fewer.mismatch
        assert alone == pytest.approx(fewer.guaranteed, abs=1e-4)
        assert more.guaranteed == pytest.approx(fewer.guaranteed, abs=1e-9)
        # So it is, step by step, where all else is about them as well.
        steps = [step.guaranteed for step in plan(replace(task, match="expert")).steps]
        assert len(steps) == 3 and steps == sorted(steps)
        assert steps[0] == pytest.approx(fewer.guaranteed, abs=1e-6)

    def test_too_few_recordings_are_no_reason_to_say_that_no_feature_would_help(self, tmp_path):
        rest = (
            '[learner]\nsees = ["cell 0"]\n[[teach.feature]]\nname = "cell 1"\n'
            "[plan]\nguarantee = 0.9\n"
        )
        task, _ = watched(tmp_path, 30, rest, np.random.default_rng(0))
        task = replace(task, match="expert")
        found = plan(task)
        told = said(task, found)["reason"]
        assert "with so little recorded" in told and "would help" not in told
        assert found.once_recorded.names == () and found.once_recorded.enough.episodes > 30
        assert f"; record about {found.once_recorded.enough.episodes} episodes of 100" in told
        # There may be nothing that more of them would help with.
        blind = replace(task, view=ti.Worldview.select(task.mdp, ["cell 1"]))
        found = plan(blind)
        assert found.once_recorded.enough.steps is None
        told = said(blind, found)["recorded"]
        assert "would guarantee 90 %, whatever is taught: learners who match" in told[-1]

    @pytest.mark.xdist_group("once more is recorded")
    def test_what_to_teach_once_more_is_recorded(self, little_recorded):
        """To record more was said, and that no number of episodes would be enough."""
        task, missed = little_recorded
        met = plan(task)
        once = missed.once_recorded
        assert not missed.reached and met.reached and met.once_recorded is None
        assert met.taught and once.names == tuple(step.name for step in met.taught)
        assert once.cost == met.steps[met.stop].cost
        assert once.enough == met.readings.enough and once.enough.episodes > 30
        told, names = said(missed.problem, missed), ", ".join(once.names)
        advice = f"each {names} ({once.cost:g}), and record about {once.enough.episodes} episodes"
        assert advice in told["reason"] and advice in told["recorded"][-1]
        assert not any("No number" in each for each in told["recorded"])

    @pytest.mark.xdist_group("once more is recorded")
    def test_which_of_two_sets_to_buy_now(self, little_recorded):
        """One plan for these recordings and another for more of them stood side by side."""
        _, missed = little_recorded
        step = missed.steps[0]
        cases = (
            ((), "Until so much is recorded, none of that is proved to help: buy nothing now."),
            (missed.once_recorded.names, ""),
            (("pit",), "instead, as pit is not needed then."),
        )
        for own, words in cases:
            steps = (step, *(replace(step, name=name) for name in own))
            other = replace(missed, steps=steps, stop=len(own))
            vars(other)["once_recorded"] = missed.once_recorded
            reason = said(other.problem, other)["reason"]
            assert ("buy" in reason) == bool(words) and reason.endswith(words)

    def test_of_who_misses_the_expert_no_more_is_promised_than_of_who_matches(self, tmp_path):
        """39 % in short, and 66 % of those who miss by a hundredth."""
        rest = '[learner]\nsees = ["cell 0", "cell 1"]\n'
        task, _ = watched(tmp_path, 30, rest, np.random.default_rng(0))
        found = assess(replace(task, match="expert"))
        told = [row["guaranteed"] for row in said(found.problem, found)["sensitivity"]]
        assert told[0] == pytest.approx(found.guaranteed, abs=1e-9)
        assert told == sorted(told, reverse=True) and told[-1] < told[0] - 0.05

    def test_a_plan_has_both_readings_before_and_after(self, tmp_path):
        rest = '[learner]\nsees = ["cell 1"]\n[teach]\nfeatures = "all"\n'
        task, _ = watched(tmp_path, 300, rest, np.random.default_rng(0))
        found, now = plan(task), readings(task, task.worldview, Patience())
        assert found.taught and found.readings_before == now.both
        told = said(task, found)
        assert [row["name"] for row in told["readings"]] == [each.name for each in now.both]
        for row, before, then in zip(told["readings"], now.both, found.readings.both, strict=True):
            assert (row["guaranteed"], row["mismatch"]) == (before.guaranteed, before.mismatch)
            assert row["guaranteed_by_plan"] == then.guaranteed > before.guaranteed + 0.9
            assert row["mismatch_by_plan"] == then.mismatch > before.mismatch
        assert found.readings.recordings.guaranteed == pytest.approx(found.stakes.performance)
        view = task.worldview.extend(task.task.teachable[[step.feature for step in found.taught]])
        assert found.readings.expert.mismatch == task.task.demonstration.error_in(view)
        # Of so many episodes there are enough.
        assert found.readings.expert.guaranteed > found.readings.enough.wanted
        assert told["recorded"][-1].endswith("these episodes are enough.")
        # If the learner misses: the same question of the plan.
        alone = ti.sensitivity(task.mdp, view, task.weights, task.task.demonstration)
        rows = {row["share"]: row["reward"] for row in told["sensitivity"]}
        assert list(rows) == alone.shares.tolist()
        assert list(rows.values()) == pytest.approx(alone.rewards.tolist(), abs=1e-3)

    @pytest.mark.parametrize("given", [None, 0.0, 0.3])
    def test_recorded_episodes_are_matched_as_closely_as_is_said(self, given):
        """What is guaranteed is so of whoever is within the mismatch of what is shown."""
        task = stored("recorded")
        found = assess(replace(task, mismatch=given))
        worst = worst_case(
            task.mdp, task.worldview, task.weights, found.demonstration, mismatch=found.mismatch
        )
        exact = found.guarantees[-1]
        if worst.status is not ti.WorstCaseStatus.INFEASIBLE:
            assert exact.reward <= worst.upper + 1e-9
            assert exact.reward >= worst.lower - 1e-6
        assert given is None or found.mismatch == given

    def test_a_discount_near_1(self, tmp_path):
        world = '[world]\nname = "chain"\ndiscount = 0.99999999\n'
        rest = '[reward.weights]\n"cell 1" = -1.0\n"cell 5" = 1.0\n[learner]\nsees = []\n'
        found = assess(written(tmp_path, f'{world}{rest}[teach]\nfeatures = "all"\n'))
        assert found.guaranteed == 0.0
        assert [each.name for each in found.learners] == [
            kind.__name__ for kind in simulations.LEARNERS
        ]

    @pytest.mark.usefixtures("adversary_alone")
    def test_with_too_many_features_to_know_what_no_policy_can_change(self, monkeypatch):
        known = assess(stored("road"))
        monkeypatch.setattr("teachirl.app.problem.problem.MANY", 3)
        asked = stored("road")
        found = assess(asked)
        notes = said(asked, found)["notes"]
        assert notes[0].startswith("With so many features it is not known")
        assert found.relative_risk == pytest.approx(found.risk)
        assert found.guaranteed == pytest.approx(known.guaranteed, abs=1e-6)
        for each, tighter in zip(found.guarantees, known.guarantees, strict=True):
            assert each.performance <= tighter.performance + 1e-6

    @pytest.mark.usefixtures("adversary_alone")
    def test_nobody_matches(self):
        asked = stored("recorded", mismatch=0.0)
        found = assess(asked)
        assert found.guaranteed == 0.0
        assert found.witness is None
        assert found.differences == ()
        assert {each.performance for each in found.guarantees} == {0.0}
        assert all(math.isfinite(each.behind) for each in found.guarantees)
        notes = said(asked, found)["notes"]
        assert notes[-1].startswith("No policy matches what is shown")
        adversarial = next(each for each in found.learners if each.name == "Adversarial")
        assert adversarial.status is LearnStatus.NEAREST

    def test_differences_leave_rounding_out(self):
        mdp = ti.worlds.chain(4)
        expert, weights = np.array([4.0, 3.0, 2.0, 1.0]), np.array([1.0, -1.0, 0.0, 0.0])
        other = expert + np.array([1e-9, 1.0, 0.5, -0.75])
        found = differences(mdp, weights, expert, other)
        assert [(each.name, each.lost) for each in found] == [
            ("cell 2", 1.0),
            ("cell 4", 0.0),
            ("cell 3", 0.0),
        ]


class TestPlan:
    @pytest.mark.parametrize("kind", [ti.learners.MaxMargin, ti.learners.MinNormPoint, Projection])
    def test_begins_where_things_stand(self, problem, monkeypatch, kind):
        monkeypatch.setattr(simulations, "LEARNERS", (kind,))
        asked = problem(GRID, learner=kind())
        now, first = assess(asked), plan(asked).steps[0]
        own = next(each for each in now.learners if each.name == kind.__name__)
        assert (first.performance, first.mismatch) == (own.performance, own.mismatch)
        assert first.guaranteed == pytest.approx(now.guaranteed, abs=1e-6)

    @pytest.mark.parametrize("wanted", [0.3, 0.9, 0.99, 1.0])
    @pytest.mark.parametrize("limits", [{}, {"budget": 2}, {"max_cost": 3.5}])
    def test_no_set_that_is_enough_is_cheaper(self, problem, brute_force, wanted, limits):
        asked = problem(GRID, asked=ti.Goals(wanted), **limits)
        found = plan(asked)
        assert found.chosen.searched is Searched.ALL and found.chosen.free == 5
        every = [
            (cost, value)
            for members, (cost, value) in brute_force(None).items()
            if len(members) <= limits.get("budget", 5) and cost <= limits.get("max_cost", 99.0)
        ]
        enough = [cost for cost, value in every if value >= wanted - 1e-9]
        if enough:
            assert found.reached and found.taught[-1].cost == min(enough)
            assert limits or frontier(asked).enough.cost == min(enough)
        else:
            most = max(value for _, value in every)
            cheapest = min(cost for cost, value in every if value >= most - 1e-6)
            assert found.steps[-1].guaranteed == pytest.approx(most, abs=2e-6)
            assert found.steps[-1].cost <= cheapest
        assert "32 sets of 5 features were searched" in said(asked, found)["searched"]

    @pytest.mark.parametrize("wanted", [0.5, 0.7, 2.0])
    def test_no_set_that_keeps_a_limit_is_cheaper(self, problem, brute_force, wanted):
        asked = problem(f'{GRID}[plan]\nguarantee = 0.5\nlimits = {{ "cell 3" = {wanted} }}\n')
        found, task, away = plan(asked), asked.task, -np.eye(16)[3]
        keep = [
            cost
            for members, (cost, value) in brute_force(None).items()
            if value >= 0.5
            and -worst_case(
                asked.mdp,
                task.worldview.extend(task.teachable[list(members)]),
                away,
                task.demonstration,
            ).lower
            <= wanted
        ]
        assert found.reached and found.steps[-1].cost == min(keep)
        assert found.chosen.searched is Searched.ALL
        assert frontier(asked).enough.cost == min(keep)

    @pytest.mark.parametrize("most", [0.75, 2.75])
    @pytest.mark.parametrize("limit", ['"cell 3" = 0.2', '"cell 15" = { at_least = 4.0 }'])
    def test_where_no_set_keeps_a_limit_none_comes_closer(self, problem, brute_force, most, limit):
        plan_table = f"[plan]\nguarantee = 0.9\nmax_cost = {most}\nlimits = {{ {limit} }}\n"
        asked = problem(GRID + plan_table)
        found, task = plan(asked), asked.task
        assert not found.reached and found.chosen.searched is Searched.ALL
        short = {}
        for members, (cost, _) in brute_force(None).items():
            if cost <= most:
                view = task.worldview.extend(task.teachable[list(members)])
                promise = asked.goals.promise(view, task.demonstration)
                short[members] = asked.aims.shortfall(promise)
        mine = short[frozenset(found.chosen.order)]
        assert mine <= min(short.values()) + 1e-3
        near = [each for each in short if short[each] <= min(short.values()) + 4e-4]
        assert found.steps[found.stop].cost <= min(task.costs[list(each)].sum() for each in near)
        told = said(asked, found)
        assert re.search(r"Why not: no (set of features|feature that).* max_cost", told["reason"])
        assert "All 32 sets of 5 features were searched" in told["searched"]

    @pytest.mark.parametrize("worth", [0.02, 0.3])
    @pytest.mark.parametrize("most", [2.0, 3.5])
    def test_a_goal_that_is_missed_is_no_reason_to_buy(self, problem, brute_force, worth, most):
        search = SETS.SetSearch(problem(GRID, asked=ti.Goals(1.0)), Patience(), worth)
        search.tighten(0)
        chosen = search.best(search.cost <= most)
        every = [each for each in brute_force(None).values() if each[0] <= most]
        best = max(value for _, value in every)
        assert best < 1.0 - 1e-6 and search.guaranteed(chosen) >= best - worth - 1e-6
        enough = [cost for cost, value in every if value >= best - 0.5 * worth + 1e-6]
        assert search.cost[chosen] <= min(enough)

    def test_the_time_to_infer_weights_is_not_the_search_s(self, problem, monkeypatch):
        """Before a task is known, there is nothing to search."""
        asked = problem(f'{GRID}[plan]\nlimits = {{ "cell 3" = 0.7 }}\n')
        task, now, late = asked.task, clock.seconds, []

        def slow(_):
            late.append(100.0)
            return task

        monkeypatch.setattr(clock, "seconds", lambda: now() + sum(late[:1]))
        monkeypatch.setattr(type(asked), "task", property(slow))
        assert plan(asked).chosen.searched is Searched.ALL

    def test_a_budget_that_is_in_the_way_is_named(self, problem):
        asked = problem(PAIR, asked=ti.Goals(0.9), max_cost=1.0)
        reason = said(asked, plan(asked))["reason"]
        assert "Why not: no set of features within max_cost guarantees 0.1 % more" in reason

    def test_without_time_to_search_nothing_is_taught_that_is_not_needed(self, problem):
        asked = problem(GRID, asked=ti.Goals(0.9))
        search = SETS.SetSearch(asked, Patience())
        search.tighten(0)
        thin = search.thinned(len(search.order) - 1, search.goal)
        members = search.bounds.members(thin)
        assert guaranteed(asked, members) >= 0.9
        for each in members:
            assert guaranteed(asked, set(members) - {each}) < 0.9

    def test_other_teachers_have_aims_of_their_own(self, problem):
        asked = problem(GRID, asked=ti.Goals(0.9), teacher=ti.teachers.TRGreedy())
        found = plan(asked)
        assert found.chosen.searched is Searched.TEACHER
        assert said(asked, found)["searched"].startswith("The sets that TRGreedy leads through")

    def test_two_are_taught_where_no_one_helps(self, problem):
        found = plan(problem(PAIR, asked=ti.Goals(0.9)))
        assert {step.name for step in found.taught} == {"either", "cell 15"}

    @pytest.mark.parametrize("rounds", [-1, 0, 1])
    def test_interrupted_the_plan_is_what_was_proved(self, problem, monkeypatch, rounds):
        asked = problem(GRID, asked=ti.Goals(1.0))
        whole, calls = plan(asked), iter(range(100))

        def learn(*_):
            if next(calls) > rounds:
                raise KeyboardInterrupt

        real = MinNormPoint.learn
        monkeypatch.setattr(MinNormPoint, "learn", lambda *given: (learn(), real(*given))[1])
        found = plan(asked)
        assert found.cut is Cut.INTERRUPTED and found.chosen.searched is Searched.ALL
        assert len(found.taught) > 1 and found.reached
        for number, (step, same) in enumerate(zip(found.steps, whole.steps, strict=True)):
            assert step.name == same.name
            # Of sets on the way, the search knows as much as it needs.
            known = 1e-6 if step is found.steps[-1] else 2e-3
            assert same.guaranteed - known <= step.guaranteed <= same.guaranteed + 1e-9
            assert math.isnan(step.performance) == (number > rounds)
        assert said(asked, found)["cut_short"].startswith("Cut short by Ctrl-C")

    def test_on_ctrl_c_what_is_proved_of_a_set_stays(self, problem, monkeypatch):
        search = SETS.SetSearch(problem(GRID), Patience())
        # Without the first feature: all of them show the whole reward, which takes one look.
        most, real, calls = len(search.order) - 2, Search.look, count()
        before = search.bounds.lower[most]

        def look(*given):
            if next(calls) == 2:
                raise KeyboardInterrupt
            return real(*given)

        monkeypatch.setattr(Search, "look", look)
        with pytest.raises(KeyboardInterrupt):
            search.tighten(most)
        known = search.bounds.lower[most]
        assert before < known and not search.bounds.done[most]
        assert search.bounds.proved(most) == pytest.approx(known + search.bounds.earned, abs=1e-9)
        assert search.guaranteed(most) <= guaranteed(search.problem, range(1, 5)) + 1e-9

    def test_what_shows_the_whole_reward_is_known_at_once(self, problem, monkeypatch):
        """Ctrl-C after the first look: what is advised shows all that counts, and no more."""
        asked = problem(GRID, asked=ti.Goals(0.9))
        search = SETS.SetSearch(asked, Patience())
        assert search.names(showing(search)) == ("cell 0", "cell 3", "cell 9", "cell 15")

        def interrupted(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(SETS.SetSearch, "follow", interrupted)
        found = plan(asked)
        assert found.cut is Cut.INTERRUPTED and found.chosen.searched is Searched.SOME
        assert {step.name for step in found.taught} == {"cell 0", "cell 3", "cell 9", "cell 15"}
        assert found.stakes.performance == pytest.approx(1.0, abs=1e-9)
        assert found.stakes.performance <= guaranteed(asked, range(5)) + 1e-9
        # Where not all of it can be seen, or bought, there is no such set.
        hidden = GRID.replace('"cell 5"]', '"cell 5"]\n[teach]\nforbidden = ["cell 9"]')
        assert showing(SETS.SetSearch(problem(hidden), Patience())) is None
        poor = problem(GRID, asked=ti.Goals(0.9), max_cost=6.0)
        assert plan(poor).steps[-1].cost <= 6.0

    def test_one_price_for_all(self, problem):
        text = re.sub(r"cost = .*", "cost = 2.0", GRID)
        asked = problem(text)
        gains = [guaranteed(asked, [i]) for i in range(5)]
        assert plan(asked).steps[1].feature == np.argmax(gains)

    def test_says_why_the_simulated_learner_does_less_than_is_guaranteed(self, problem):
        asked = problem(GRID, learner=Projection(tolerance=0.02))
        found = plan(asked)
        step = max(found.steps, key=lambda step: step.guaranteed - step.performance)
        number = found.steps.index(step)
        taught = [each.feature for each in found.steps[1 : number + 1]]
        proved = guaranteed(asked, taught, step.mismatch)
        assert found.below[0] == number and found.below[1].name == "Projection"
        below = said(asked, found)["below"]
        reached, promised = (percent_at_least(x) for x in (step.performance, step.guaranteed))
        start = (
            f"At step {number}, Projection reaches {reached}, less than the {promised} that are "
        )
        assert below.startswith(start)
        assert f"by {at_most(step.mismatch)} in its features" in below
        assert f"{percent_at_least(proved)} are guaranteed." in below
        assert proved <= step.performance < step.guaranteed
        assert plan(problem(GRID)).below is None

    def test_stops_where_what_was_asked_for_is_guaranteed(self, problem):
        wanted = 0.5
        asked = problem(GRID, asked=ti.Goals(wanted))
        found = plan(asked)
        assert found.reached and found.wanted == wanted
        assert found.steps[found.stop].guaranteed >= wanted
        assert all(step.guaranteed < wanted for step in found.steps[: found.stop])
        reason = said(asked, found)["reason"]
        assert reason.endswith("50 % were asked for, and are guaranteed.")

    def test_says_why_it_is_not_reached(self, problem):
        asked = problem(GRID, asked=ti.Goals(1.0), budget=1)
        found = plan(asked)
        assert not found.reached
        reason = said(asked, found)["reason"]
        assert reason.startswith("Stop after 1 step. Asked for, but not guaranteed: 100 % (")
        assert "raise budget" in reason
        assert len(found.steps) == 2

    def test_a_demonstration_that_earns_less_is_named_as_the_reason(self, problem):
        demo = ti.Policy.uniform(problem(GRID).mdp)
        asked = problem(GRID, asked=ti.Goals(0.99), show=Show.POLICY, shown=demo)
        reason = said(asked, plan(asked))["reason"]
        assert "What is shown has a relative performance of" in reason

    def test_without_a_wish_it_stops_where_nothing_more_is_gained(self, problem):
        asked = problem(GRID)
        found = plan(asked)
        best = max(step.guaranteed for step in found.steps)
        assert found.reached and found.wanted is None
        assert found.steps[found.stop].guaranteed >= best - 1e-3
        assert all(step.guaranteed < best - 1e-3 for step in found.steps[: found.stop])
        more = found.stop + 1 < len(found.steps)
        reason = said(asked, found)["reason"]
        assert ("the steps after it add less than 0.1 %" in reason) is more

    def test_a_budget_is_said_to_end_it(self, problem):
        asked = problem(GRID, budget=1)
        found = plan(asked)
        assert len(found.steps) == 2
        reason = said(asked, found)["reason"]
        assert "add less" not in reason and "raise budget" in reason

    def test_all_can_be_asked_for(self, problem):
        asked = problem(GRID, asked=ti.Goals(1.0))
        found = plan(asked)
        reason = said(asked, found)["reason"]
        assert found.reached and "100 % were asked for, and are guaranteed" in reason
        assert frontier(asked).enough is not None

    @pytest.mark.parametrize("teacher", [ti.teachers.GapGreedy(), ti.teachers.TRGreedy()])
    def test_numbers_are_those_of_single_worst_cases(self, problem, teacher):
        asked = problem(GRID, teacher=teacher, max_cost=6.0)
        found, names = plan(asked), asked.task.names
        taught = []
        for step in found.steps:
            if step.feature is not None:
                other = step.alternative
                if other is not None:
                    instead = guaranteed(asked, [*taught, names.index(other.name)])
                    assert other.guaranteed == pytest.approx(instead, abs=1e-9)
                    assert other.price == PRICES[other.name]
                    assert other.name != step.name
                taught.append(step.feature)
                assert step.price == PRICES[step.name]
            assert step.cost == sum(PRICES[names[feature]] for feature in taught)
            assert step.guaranteed == pytest.approx(guaranteed(asked, taught), abs=1e-9)
        assert found.steps[1].alternative is not None
        assert found.steps[-1].cost <= 6.0

    @pytest.mark.parametrize("teacher", [ti.teachers.GapGreedy(), ti.teachers.JointGreedy()])
    def test_second_best_is_the_best_of_the_others(self, problem, teacher):
        even = re.sub(r"(?m)^cost = .*\n", "", GRID)
        asked = problem(even, teacher=teacher, budget=2)
        found, names = plan(asked), asked.task.names
        taught = []
        for step in found.steps[1:]:
            others = set(range(len(names))) - {*taught, step.feature}
            most = max(guaranteed(asked, [*taught, other]) for other in others)
            assert step.alternative is not None
            # Shown what suits it best, a feature may guarantee more still.
            assert step.alternative.guaranteed >= most - 2e-6
            if isinstance(teacher, ti.teachers.GapGreedy):
                assert step.alternative.guaranteed <= most + 2e-6
            assert step.guaranteed >= step.alternative.guaranteed - 2e-6
            taught.append(step.feature)

    def test_what_must_be_taught_comes_first_and_has_no_alternative(self, problem):
        text = GRID.replace(
            "[[teach.feature]]",
            '[teach]\nrequired = ["cell 10"]\nforbidden = ["cell 15"]\n[[teach.feature]]',
            1,
        )
        found = plan(problem(text, asked=ti.Goals(0.0)))
        assert found.stop == 1 and found.steps[1].name == "cell 10"
        assert found.steps[1].alternative is None
        whole = plan(problem(text))
        assert "cell 15" not in [step.name for step in whole.steps]
        assert whole.stop >= 1

    def test_a_budget_that_is_too_small_is_a_mistake_in_the_plan(self, problem):
        text = (
            GRID.replace(
                "[[teach.feature]]", '[teach]\nrequired = ["cell 10"]\n[[teach.feature]]', 1
            )
            + "[plan]\nbudget = 0\n"
        )
        with pytest.raises(ti.FileFormatError, match=r"problem.toml, plan: budget must allow for"):
            plan(problem(text))

    def test_how_far_from_optimal(self, problem):
        asked = problem(GRID, teacher=ti.teachers.TRGreedy(), max_cost=3.0)
        found = plan(asked)
        task, spent = asked.task, found.steps[found.stop].cost
        sets = chain.from_iterable(combinations(range(5), size) for size in range(6))
        least = min(
            ti.teaching_risk(task.worldview.extend(task.teachable[list(each)]), task.weights)
            for each in sets
            if task.costs[list(each)].sum() <= spent
        )
        assert found.gap.lower <= least + 1e-9
        assert found.gap.risk == pytest.approx(found.steps[found.stop].risk)
        assert f"{found.gap.risk:.3f}" in said(asked, found)["nearness"]

    def test_nothing_to_teach(self):
        found = plan(stored("recorded"))
        assert (found.stop, len(found.steps), found.gap) == (0, 1, None)

    def test_how_much_a_chosen_demonstration_would_add(self, problem):
        asked = problem(CHAIN)
        found = plan(asked)
        advice = said(asked, found)["demonstrate"]
        assert advice.startswith("Demonstrate an optimal policy. A policy chosen")
        assert found.show.best.gain > 0.0
        assert found.differences == ()

    def test_a_chosen_demonstration(self, problem):
        asked = problem(CHAIN + '[demonstration]\nshow = "choose"\n')
        found = plan(asked)
        assert found.show.best is asked.chosen
        assert found.policy is asked.chosen.policy
        advice = said(asked, found)["demonstrate"]
        assert advice.startswith("Demonstrate a policy that was chosen for this learner")
        best = ti.feature_expectations(asked.mdp, asked.task.best.policy)
        given_up = asked.weights @ (best - asked.chosen.expectations)
        assert sum(each.lost for each in found.differences) == pytest.approx(given_up)

    def test_a_teacher_who_changes_the_demonstration(self):
        asked = stored("lake")
        found = plan(asked)
        assert [step.new_demonstration for step in found.steps] == [False, True]
        assert said(asked, found)["demonstrate"].startswith(
            "From step 1 on, demonstrate another policy"
        )
        assert found.policy is found.lesson.demonstration.policy
        assert found.steps[1].guaranteed > guaranteed(asked, [found.steps[1].feature])


def interrupted(*_, **__):
    raise KeyboardInterrupt


class TestVeryManyFeatures:
    """More than can be searched: a greedy plan, and what was found before it began."""

    def test_what_helps_at_once_is_proved(self, problem, brute_force):
        asked, every = problem(GRID), brute_force(None)
        found = tried_at_once(asked, Patience())
        assert found[0].taught == ()
        for before, after in pairwise(found):
            assert after.taught[:-1] == before.taught
            assert after.worst_case.lower > before.worst_case.lower
        for each in found:
            reached = asked.task.guaranteed_by(each.worst_case)
            assert reached == pytest.approx(every[frozenset(each.taught)][1], abs=1e-6)
        assert reached > 1.0 - 1e-3

    @pytest.mark.parametrize(
        ("limits", "count"),
        [("budget = 2", 3), ("max_cost = 3.0", 2), ("budget = 1", 2)],
    )
    def test_it_keeps_to_what_the_file_allows(self, problem, limits, count):
        text = GRID.replace(
            "[[teach.feature]]",
            '[teach]\nrequired = ["cell 10"]\nforbidden = ["cell 9"]\n[[teach.feature]]',
            1,
        )
        asked = problem(f"{text}[plan]\n{limits}\n")
        found = tried_at_once(asked, Patience())
        assert [each.taught[0] for each in found] == [4] * len(found)
        assert len(found) <= count and all(2 not in each.taught for each in found)
        for each in found:
            assert asked.budget is None or len(each.taught) <= asked.budget
            assert asked.max_cost is None or asked.task.costs[[*each.taught]].sum() <= 3.0

    @pytest.mark.parametrize(
        ("limits", "whole"),
        [("", True), ("max_cost = 6.5", True), ("max_cost = 6.4", False), ("budget = 3", False)],
    )
    def test_what_the_reward_is_made_of_is_enough(self, problem, limits, whole):
        asked = problem(f"{GRID}[plan]\n{limits}\n")
        found = showing_all(asked, tried_at_once(asked, Patience())[0], Patience())
        assert (found is not None) == whole
        if found is not None:
            assert [asked.task.names[each] for each in found.taught] == [
                "cell 3",
                "cell 9",
                "cell 15",
                "cell 0",
            ]
            assert asked.task.guaranteed_by(found.worst_case) > 1.0 - 1e-6

    def test_ctrl_c_before_sets_are_searched_leaves_what_shows_the_whole_reward(
        self, problem, monkeypatch
    ):
        """Of very many features a greedy plan says which to search: it may take all of the time."""
        monkeypatch.setattr(SETS, "MOST", 4)
        monkeypatch.setattr(import_module("teachirl.app.decisions.frontier"), "MOST", 4)
        monkeypatch.setattr(GapGreedy, "choose", interrupted)
        asked, bars = problem(GRID, asked=ti.Goals(0.9)), Progress()
        found = frontier(asked, progress=bars)
        assert found.cut is Cut.INTERRUPTED and found.enough is not None
        assert set(found.enough.features) == {"cell 0", "cell 3", "cell 9", "cell 15"}
        assert [part.total for part in bars.parts] == [1, 16]

    def test_without_time_to_begin_a_search_there_is_something_to_fall_back_on(
        self, problem, monkeypatch
    ):
        monkeypatch.setattr("teachirl.app.decisions.set_to_teach._begun", lambda *_: None)
        monkeypatch.setattr(GapGreedy, "choose", interrupted)
        found = plan(problem(GRID, asked=ti.Goals(0.9)))
        assert found.cut is Cut.INTERRUPTED and found.stakes.performance > 0.9

    def test_without_time_for_more_that_is_the_plan(self, problem, monkeypatch):
        monkeypatch.setattr("teachirl.app.decisions.set_to_teach.MOST", 2)
        monkeypatch.setattr(GapGreedy, "choose", interrupted)
        monkeypatch.setattr(
            "teachirl.app.decisions.set_to_teach.tried_at_once",
            lambda *_: tried_at_once(*_)[:1],
        )
        found = plan(problem(GRID))
        assert found.cut is Cut.INTERRUPTED and found.stop == 4
        assert found.steps[-1].cost == 6.5 and found.steps[-1].guaranteed > 1.0 - 1e-6

    @pytest.mark.parametrize("cut", [Cut.OUT_OF_TIME, Cut.INTERRUPTED])
    @pytest.mark.parametrize("chosen", [0, 1])
    def test_a_race_that_is_cut_short_does_not_lose_it(
        self, problem, brute_force, monkeypatch, cut, chosen
    ):
        monkeypatch.setattr("teachirl.app.decisions.set_to_teach.MOST", 2)
        monkeypatch.setattr("teachirl.app.document.plan.MOST", 2)
        asked, races = problem(GRID), []
        once = [each.taught for each in tried_at_once(asked, Patience())]
        choose = GapGreedy.choose

        def race(self, situation, rng):
            if len(races) < chosen:
                races.append(choose(self, situation, rng))
                return races[-1]
            raise KeyboardInterrupt if cut is Cut.INTERRUPTED else clock.OutOfTimeError

        monkeypatch.setattr(GapGreedy, "choose", race)
        found = plan(asked, seconds=math.inf)
        assert found.cut is cut and len(races) == chosen
        taught = tuple(asked.task.names.index(each.name) for each in found.steps[1:])
        assert taught == once[-1] and found.stop == len(taught)
        for step in range(len(taught) + 1):
            value = brute_force(None)[frozenset(taught[:step])][1]
            assert found.steps[step].guaranteed == pytest.approx(value, abs=1e-5)
        assert f'"{len(once) + 1} sets of features were tried' in json.dumps(said(asked, found))

    def test_what_a_teacher_ended_with_counts(self, problem, monkeypatch):
        whole = plan(problem(GRID))
        monkeypatch.setattr("teachirl.app.decisions.set_to_teach.MOST", 2)
        found = plan(problem(GRID))
        assert found.cut is None and found.chosen.at_once is not None
        assert found.steps[-1].guaranteed >= whole.steps[-1].guaranteed - 1e-3

    def test_how_near_it_is_to_the_best_set_is_left_out_when_time_is_up(self, problem, monkeypatch):
        asked = problem(GRID)
        monkeypatch.setattr("teachirl.teaching.lesson.greedy_gap", interrupted)
        found = plan(asked)
        assert found.stop > 0 and found.gap is None and found.cut is Cut.INTERRUPTED


class TestFrontier:
    @pytest.mark.parametrize("mismatch", [None, 0.05])
    @pytest.mark.parametrize("worth", [1e-6, 1e-3])
    def test_is_the_best_of_all_sets(self, problem, brute_force, mismatch, worth):
        asked = replace(problem(GRID, asked=ti.Goals(0.5)), mismatch=mismatch)
        found = frontier(asked, worth=worth)
        assert found.exact and found.sets <= 32
        # What the headline says of a set is what its row says.
        stakes = found.stakes
        assert (found.enough.guaranteed, found.enough.reward) == (stakes.performance, stakes.reward)
        every = brute_force(mismatch)
        assert found.points[0].cost == 0.0 and found.points[0].features == ()
        for cost, value in every.values():
            reached = max(point.guaranteed for point in found.points if point.cost <= cost)
            assert value <= reached + worth + 1e-6
        for point, after in pairwise((*found.points, None)):
            members = frozenset(asked.task.names.index(name) for name in point.features)
            # The best that can be had for its cost, and worth a point.
            best = max(value for cost, value in every.values() if cost <= point.cost)
            assert every[members] == (point.cost, pytest.approx(point.guaranteed, abs=1e-6))
            assert point.guaranteed == pytest.approx(best, abs=2e-6)
            assert point.guaranteed <= point.at_most <= best + worth + 1e-6
            assert point.cost == sum(PRICES[name] for name in point.features)
            if after is not None and after is not found.enough:
                assert after.guaranteed > point.guaranteed + 0.9 * worth
        cheapest = min(cost for cost, value in every.values() if value >= 0.5)
        assert found.enough.cost == found.enough_at_least == cheapest

    def test_rises(self, problem, monkeypatch):
        asked = problem(GRID)
        exact = frontier(asked)
        monkeypatch.setattr(SETS, "MOST", 3)
        some = frontier(asked)
        assert (some.exact, some.cut, some.free, some.left_out) == (False, None, 3, 2)
        assert said(asked, some)["method"].startswith(
            "Of 5 features, all sets of the 3 that a greedy"
        )
        for curve in (exact, some):
            costs = [point.cost for point in curve.points]
            values = [point.guaranteed for point in curve.points]
            assert costs == sorted(set(costs)) and values == sorted(set(values))
        for point in some.points:
            reached = max(p.guaranteed for p in exact.points if p.cost <= point.cost + 1e-9)
            assert point.guaranteed <= reached + 2e-6
        assert some.points[-1].guaranteed >= exact.points[-1].guaranteed - 1e-3

    @pytest.mark.parametrize(
        ("cut", "allowed"),
        [*((Cut.OUT_OF_TIME, n) for n in (0, 4, 40, 120)), (Cut.INTERRUPTED, 120)],
    )
    @pytest.mark.parametrize("most", [20, 2])
    def test_what_was_found_until_it_is_cut_short_holds(
        self, problem, brute_force, monkeypatch, cut, allowed, most
    ):
        monkeypatch.setattr(SETS, "MOST", most)
        asked, looks = problem(GRID, asked=ti.Goals(0.99)), iter(range(100_000))
        every = brute_force(None)

        def ticks():
            """After the first few times that one looks at the clock, the time is up."""
            now = next(looks)
            if cut is Cut.INTERRUPTED and now == allowed:
                raise KeyboardInterrupt
            return float(cut is Cut.OUT_OF_TIME and now > allowed)

        monkeypatch.setattr(clock, "seconds", ticks)
        found = frontier(asked, seconds=1.0)
        assert not found.exact and found.cut is cut
        assert said(asked, found)["cut_short"].startswith("Cut short")
        assert found.points[0].features == ()
        for point in found.points:
            members = frozenset(asked.task.names.index(name) for name in point.features)
            assert point.guaranteed <= every[members][1] + 1e-6
            if most == 20:  # else that is of sets of the two that were chosen from
                best = max(value for cost, value in every.values() if cost <= point.cost)
                assert best <= point.at_most + 1e-6
        cheapest = min(cost for cost, value in every.values() if value >= 0.99)
        assert most < 20 or found.enough_at_least <= cheapest
        assert found.enough is None or found.enough.cost >= cheapest

    def test_what_a_greedy_plan_proved_of_very_many_features_is_not_lost(
        self, problem, monkeypatch
    ):
        asked, seen, go_on = problem(GRID, asked=ti.Goals(0.99)), [], Rounds.__next__

        def interrupted(self):
            if len(seen) == 3:
                raise KeyboardInterrupt
            seen.append(go_on(self))
            return seen[-1]

        monkeypatch.setattr(SETS, "MOST", 4)
        monkeypatch.setattr(Rounds, "__next__", interrupted)
        found = frontier(asked)
        # And what shows the whole reward.
        assert found.cut is Cut.INTERRUPTED and found.sets - 1 == len(seen) == 3
        assert found.enough is found.points[-1]
        for each, point in zip(seen, found.points[:-1], strict=True):
            assert set(point.features) == {asked.task.names[i] for i in each.taught}
            assert point.guaranteed == pytest.approx(each.round.guaranteed, abs=1e-6)

    def test_cut_short_it_is_no_worse_than_the_plan(self, problem, monkeypatch):
        monkeypatch.setattr(SETS.SetSearch, "curve", lambda *_: False)
        for goals in (ti.Goals(0.99), ti.Goals()):
            asked = problem(GRID, asked=goals)
            found, last = frontier(asked), plan(asked).steps[-1]
            reached = [each.guaranteed for each in found.points if each.cost <= last.cost]
            assert max(reached) >= last.guaranteed - 1e-3

    def test_two_are_taught_at_once_where_no_one_helps(self, problem):
        asked = problem(PAIR)
        found = frontier(asked)
        assert [point.features for point in found.points] == [(), ("either", "cell 15")]
        search = SETS.SetSearch(asked, Patience())
        search.tighten(0)
        assert search.names(search.follow()) == ("either", "cell 15")

    @pytest.mark.usefixtures("unhurried")
    def test_without_any_time_there_is_what_must_be_taught(self, problem):
        text = GRID.replace(
            "[[teach.feature]]", '[teach]\nrequired = ["cell 10"]\n[[teach.feature]]', 1
        )
        found = frontier(problem(text), seconds=0.0)
        assert [point.features for point in found.points] == [("cell 10",)]
        assert found.sets == 1 and not found.exact

    @pytest.mark.parametrize("most", [20, 2])
    def test_what_must_and_must_not_be_taught(self, problem, monkeypatch, most):
        monkeypatch.setattr(SETS, "MOST", most)
        text = GRID.replace(
            "[[teach.feature]]",
            '[teach]\nrequired = ["cell 10"]\nforbidden = ["cell 15"]\n[[teach.feature]]',
            1,
        )
        found = frontier(problem(text))
        assert found.exact == (most == 20)
        assert found.points[0].features == ("cell 10",) and found.points[0].cost == 0.25
        assert all(point.features[0] == "cell 10" for point in found.points)
        assert all("cell 15" not in point.features for point in found.points)

    def test_of_recorded_episodes_no_set_is_taken_for_granted(self):
        asked = stored("recorded")
        rows = np.eye(asked.mdp.n_features)
        four = replace(asked.teachables, features=rows, costs=np.ones(4), names=tuple("abcd"))
        found = frontier(replace(asked, teachables=four))
        assert found.exact and found.sets == 16
        assert "recorded episodes" in said(asked, frontier(asked))["notes"][-1]

    def test_nothing_to_teach(self, problem):
        found = frontier(problem(CHAIN.split("[teach]")[0], asked=ti.Goals(0.5)))
        assert len(found.points) == 1 and found.enough is None


def test_more_features_of_recorded_episodes_may_be_matched_by_nobody(tmp_path):
    """A coin decides where one goes, and came out otherwise than it does on average."""
    (tmp_path / "t.csv").write_text(
        "state,action,next_state,probability\ns,go,h,0.5\ns,go,t,0.5\n"
        "h,good,,1\nh,bad,,1\nt,good,,1\nt,bad,,1\n"
    )
    (tmp_path / "f.csv").write_text(
        "state,action,step,heads,good\ns,go,1,0,0\nh,good,1,1,1\nh,bad,1,1,0\n"
        "t,good,1,0,1\nt,bad,1,0,0\n"
    )
    (tmp_path / "start.csv").write_text("state,probability\ns,1\n")
    (tmp_path / "rec.csv").write_text(
        "episode,step,state,action,terminated\n"
        + "".join(f"{n},0,s,go,\n{n},1,t,good,true\n" for n in range(50))
    )
    (tmp_path / "coin.toml").write_text(
        '[world]\ntransitions = "t.csv"\nfeatures = "f.csv"\nstart = "start.csv"\n'
        "discount = 0.9\n[reward.weights]\ngood = 1.0\n[learner]\nsees = ['step']\n"
        '[teach]\nfeatures = "all"\n[demonstration]\ntrajectories = "rec.csv"\n'
        "[plan]\nmismatch = 0.0\n"
    )
    curve = frontier(read_problem(tmp_path / "coin.toml"))
    # Nobody matches `heads`, so that with it nothing is guaranteed; with `good` alone, all is.
    assert [point.features for point in curve.points] == [(), ("good",)]
    assert curve.points[-1].guaranteed > 1.0 - 1e-6
