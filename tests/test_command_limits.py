"""All of a command's work is within its limit in seconds: what is left out is said, and the rest
holds."""

import math
import signal
import sys
from dataclasses import replace

import numpy as np
import pytest

import teachirl as ti
from teachirl.app import cli
from teachirl.app.decisions import (
    Cut,
    Patience,
    Searched,
    TooLittleTimeError,
    assess,
    expert,
    expert_account,
    frontier,
    plan,
    undiscounted,
)
from teachirl.app.decisions.assessment import _hidden
from teachirl.app.decisions.set_search import SetSearch
from teachirl.app.document.assessment import MISTAKEN
from teachirl.app.document.documents import answer
from teachirl.app.document.elements import Section, Sentence
from teachirl.app.problem import read_problem
from teachirl.app.render import console
from teachirl.app.render.json import contents
from teachirl.demonstrations import demonstration as demonstrations
from teachirl.guarantees import bounds as bounds_module
from teachirl.guarantees import gap_bounds
from teachirl.guarantees.bounds import WorstCaseStatus, unsearched
from teachirl.guarantees.solvers import plans, search
from teachirl.learners import MinNormPoint
from teachirl.mdp import clock, kernels
from teachirl.teachers.set_bounds import set_bounds
from teachirl.teaching.matching import Matching
from teachirl.teaching.rounds import Rounds
from teachirl.teaching.task import Task
from teachirl.views import potential_shaping
from teachirl.views.potential_shaping import indistinct_directions

TEXT = """
[world]
name = "gridworld"
size = 6
block = 2
slip = 0.3
discount = 0.99
[reward.weights]
"cell 0" = -1.0
"cell 8" = 1.0
[learner]
sees = ["cell 2", "cell 8"]
[teach]
[[teach.feature]]
name = "cell 0"
[[teach.feature]]
name = "cell 1"
[[teach.feature]]
name = "cell 6"
"""
REQUIRED = TEXT.replace("[teach]", '[teach]\nrequired = ["cell 1"]')
BLIND = TEXT.replace(', "cell 8"]', "]") + '[[teach.feature]]\nname = "cell 8"\n'
DECISIONS = {"certify": assess, "teach": plan, "frontier": frontier}


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "problem.toml"
    found.write_text(TEXT)
    return found


@pytest.fixture
def ticking(monkeypatch):
    """A clock that goes on by so much whenever somebody looks at it, in pieces as small as can
    be; what it says then."""

    def begin(step):
        ticks = iter(range(10**7))
        monkeypatch.setattr(clock, "seconds", lambda: step * next(ticks))
        monkeypatch.setattr(kernels, "PIECE", 1)

    return begin


class TestPatience:
    def test_what_is_needed_in_time_and_what_is_not(self, monkeypatch):
        now = [0.0]
        monkeypatch.setattr(clock, "seconds", lambda: now[0])
        patience = Patience(5.0)
        now[0] = 5.5  # there is a second more
        with patience.needed("wait"):
            clock.look()
        said = "^5 seconds do not suffice to wait: --seconds gives it more time$"
        now[0] = 6.5
        with pytest.raises(TooLittleTimeError, match=said), patience.needed("wait"):
            clock.look()
        with pytest.raises(clock.OutOfTimeError), clock.limited(6.0), Patience(9.0).needed("wait"):
            clock.look()  # whose limit it is, has to know

    def test_what_is_spared(self, monkeypatch):
        now = [0.0]
        monkeypatch.setattr(clock, "seconds", lambda: now[0])
        patience = Patience(5.0)
        assert patience.spared(lambda: 2 + 2) == 4 and patience.cut is None
        assert patience.spared(lambda: None) is None and patience.cut is None
        now[0] = 7.0
        called = []
        assert patience.spared(lambda: called.append(1)) is None
        assert patience.cut is Cut.OUT_OF_TIME and not called
        patience.renew()
        assert patience.spared(lambda: 2 + 2) == 4

    def test_after_ctrl_c_nothing_more_is_begun(self):
        def interrupted():
            raise KeyboardInterrupt

        patience, called = Patience(), []
        assert patience.spared(interrupted) is None and patience.cut is Cut.INTERRUPTED
        assert patience.spared(lambda: called.append(1)) is None and not called
        assert patience.left() < 0.01 and patience.share(0.5).over()
        assert patience.interrupted and patience.share(0.5).interrupted
        assert not Patience().share(0.5).interrupted

    def test_without_a_limit_nothing_is_late(self, monkeypatch):
        monkeypatch.setattr(clock, "seconds", lambda: 1e11)
        patience = Patience()
        with patience.needed("wait"):
            clock.look()
        assert patience.spared(lambda: 4) == 4 and patience.last == math.inf


@pytest.mark.parametrize("command", DECISIONS)
def test_whenever_the_time_is_up(command, path, ticking, monkeypatch):
    """Either there is an answer, all of whose numbers hold, or one message."""
    decide, whole = DECISIONS[command], DECISIONS[command](read_problem(path))
    best = max(each.guaranteed for each in frontier(read_problem(path)).points)
    stands = assess(read_problem(path)).guaranteed
    most = {"certify": stands, "teach": best, "frontier": best}[command]
    monkeypatch.setattr(search, "GRACE", 0.5)
    ends = set()
    for limit in (0.0, 1.0, 3.0, 10.0, 40.0):
        problem = read_problem(path)
        ticking(0.02)
        try:
            found = decide(problem, seconds=limit)
            contents(answer(problem, found))  # what is computed when it is asked for
        except TooLittleTimeError as error:
            ends.add(str(error).replace(f"{limit:g} seconds", "they"))
        else:
            assert guaranteed_by(found) <= most + 1e-6
            assert found.cut is not None or guaranteed_by(found) >= guaranteed_by(whole) - 1e-3
            ends.add(found.cut)
        assert clock.seconds() <= limit + 3.5
    assert Cut.OUT_OF_TIME in ends
    (error,) = ends - {None, Cut.OUT_OF_TIME}
    assert error.startswith("they do not suffice to find the best and the worst policy")


def test_what_is_proved_of_sets_is_advised(path, ticking):
    """Whenever the time is up."""
    path.write_text(BLIND)
    some = 0
    for limit in (6.0, 12.0, 16.0, 20.0, 40.0):
        for goals in (ti.Goals(), ti.Goals(0.9)):
            told = []
            problem = replace(read_problem(path), asked=goals)
            ticking(0.02)
            try:
                found = plan(problem, seconds=limit, watch=told.extend)
            except TooLittleTimeError:
                continue
            proved = max((each.guaranteed for each in told), default=0.0)
            assert guaranteed_by(found) >= min(proved, 0.9 if goals else 1.0) - 2e-3
            some += found.chosen.searched is Searched.SOME and bool(found.taught)
    assert some


def test_ctrl_c_is_told_whenever_it_comes(path, monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    whole, problem = assess(read_problem(path)), read_problem(path)
    found = assess(problem)
    monkeypatch.setattr(MinNormPoint, "learn", interrupted)  # after the first lines were made
    assert found.cut is None
    console.print_document(answer(problem, found))
    assert "Cut short by Ctrl-C" in capsys.readouterr().out
    monkeypatch.setattr(expert, "_ranges", interrupted)
    problem = read_problem(path)
    found = assess(problem)
    assert found.cut is Cut.INTERRUPTED and found.guaranteed == whole.guaranteed
    assert found.account.reward == whole.account.reward
    said = contents(answer(problem, found))
    assert said["cut_short"].startswith("Cut short by Ctrl-C") and said["guaranteed"]


def test_only_a_policy_that_does_not_differ_is_said_not_to(path):
    equal = "It has as much of each feature as the expert."
    problem = read_problem(path)
    found = assess(problem)
    there = ti.feature_expectations(problem.mdp, found.witness)
    told = {each.name: each.other for each in found.differences}
    names = [problem.mdp.feature_name(i) for i in range(problem.mdp.n_features)]
    assert told and told == pytest.approx({name: there[names.index(name)] for name in told})
    same = replace(found, differences=())
    [section] = [each for each in _sections(answer(problem, same)) if each.title == MISTAKEN]
    assert [each.text for each in section.elements if isinstance(each, Sentence)] == [equal]


def _sections(part):
    """All sections of a document, however deep."""
    for each in getattr(part, "sections", None) or getattr(part, "elements", ()):
        if isinstance(each, Section):
            yield each
            yield from _sections(each)


def test_after_ctrl_c_no_worst_policy_is_put_together(path, monkeypatch, capsys):
    monkeypatch.setattr(clock, "_ahead", 0.0)  # as it was before, when this is over
    looked, look = [], search.Search.look

    def interrupted(*arguments):
        looked.append(1)
        if len(looked) == 3:
            signal.raise_signal(signal.SIGINT)
        return look(*arguments)

    path.write_text(BLIND)
    problem = read_problem(path)
    whole = assess(problem)
    assert whole.witness is not None
    monkeypatch.setattr(search.Search, "look", interrupted)
    monkeypatch.setattr(plans.OwnPlans, "witness", None)
    problem = read_problem(path)
    found = assess(problem)
    assert len(looked) == 3 and found.cut is Cut.INTERRUPTED and found.witness is None
    assert found.guaranteed <= whole.guaranteed and found.proved.worst.upper == math.inf
    assert found.proved.worst.status is WorstCaseStatus.OUT_OF_BUDGET
    console.print_document(answer(problem, found))
    out = capsys.readouterr().out
    assert "Cut short by Ctrl-C" in out and "as much of each feature" not in out


def guaranteed_by(found):
    """The most that an answer says is guaranteed."""
    if hasattr(found, "points"):
        return found.points[-1].guaranteed
    return found.stakes.performance


@pytest.mark.parametrize("command", DECISIONS)
def test_one_message_and_exit_code_2(command, path, ticking, monkeypatch, capsys):
    ticking(2.0)
    monkeypatch.setattr(sys, "argv", ["teachirl", command, str(path), "--seconds", "3"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    out, err = capsys.readouterr()
    assert stop.value.code == 2 and out == ""
    assert err.startswith("teachirl: 3 seconds do not suffice to find the best and the worst")
    assert err.endswith("--seconds gives it more time\n") and err.count("\n") == 1


def test_nothing_is_planned_or_evaluated_twice(path, monkeypatch):
    counts = {"plans": 0, "shown": 0}

    def counting(module, name, kind):
        real = getattr(module, name)

        def call(*arguments, **named):
            counts[kind] += 1
            return real(*arguments, **named)

        monkeypatch.setattr(module, name, call)

    counting(gap_bounds, "optimal_policy", "plans")
    counting(gap_bounds, "worst_policy", "plans")
    counting(demonstrations, "feature_expectations", "shown")
    problem = read_problem(path)
    found = assess(problem)
    assert found.certificate.theorem_1 is not None
    assert problem.expert is problem.task.demonstration
    assert counts == {"plans": 0, "shown": 1}


def test_what_is_known_already_changes_no_digit(path):
    problem = read_problem(path)
    task, view, shown = problem.task, problem.worldview, problem.task.demonstration
    case = problem.mdp, view, problem.weights, shown
    once = ti.certify(*case)
    rough = ti.certify(*case, theorems=False, worst=once.worst)
    again = ti.certify(*case, worst=once.worst, width=rough.width, plans=(task.best, task.worst))
    for name in ("guaranteed", "against_expert", "least_reward"):
        assert getattr(once, name) == getattr(again, name)
    for one, other in zip(once.bounds, again.bounds, strict=True):
        assert (one.gap, one.least, one.sentence) == (other.gap, other.least, other.sentence)
    rewards = ti.Rewards.listed([problem.weights, -problem.weights])
    with pytest.raises(ti.InvalidInputError, match="plans and size are of one reward"):
        ti.certify(problem.mdp, view, rewards, shown, plans=(task.best, task.worst))


def test_what_is_left_out_is_said(path):
    problem = read_problem(path)
    whole = contents(answer(problem, assess(problem)))
    problem = read_problem(path)
    found = assess(problem)
    found.patience.last = found.patience.until = clock.seconds() - 1.0
    short = contents(answer(problem, found))
    assert whole["relative_risk"] > 0.0 and math.isnan(short["relative_risk"])
    assert short["guaranteed"] == whole["guaranteed"]
    patience = Patience(0.0)
    patience.last = clock.seconds() - 1.0
    risk, spot = _hidden(problem, patience)  # which take no time
    assert (risk, spot.sentence) == (found.risk, found.blind_spot.sentence)
    account = expert_account(problem, clock.seconds() - 1.0)
    assert math.isnan(account.idle_reward) and not account.hardly_better
    assert account.turnover == sum(abs(each.earned) for each in account.collected)


class TestRounds:
    @pytest.fixture
    def rounds(self, path):
        def make(until):
            task = read_problem(path).task
            teacher, learner = ti.teachers.TRGreedy(), ti.learners.MinNormPoint()
            rng = np.random.default_rng(0)
            return Rounds(task, teacher, learner, rng=rng, budget=1, until=until)

        return make

    def test_in_time_it_is_the_same_round(self, rounds):
        whole, within = (next(rounds(until)).round for until in (math.inf, clock.seconds() + 60.0))
        for name in ("risk", "relative_risk", "mismatch", "performance", "guaranteed", "solves"):
            assert getattr(whole, name) == getattr(within, name)

    def test_out_of_time_its_guarantee_holds_and_the_rest_is_unknown(self, rounds):
        whole, late = (next(rounds(until)) for until in (math.inf, clock.seconds() - 1.0))
        assert late.worst_case.status is WorstCaseStatus.OUT_OF_BUDGET
        assert late.round.guaranteed <= whole.round.guaranteed
        assert late.round.risk == whole.round.risk
        for name in ("relative_risk", "mismatch", "performance"):
            assert math.isnan(getattr(late.round, name))

    def test_what_is_proved_by_other_means_has_to_do(self, rounds, monkeypatch):
        """A round that must be there searches for nothing once the time is up."""
        late = rounds(clock.seconds() - 1.0)
        reward = 0.5 * (late.task.worst.lower + late.task.best.value)
        late.proved = lambda taught: reward + len(taught)
        monkeypatch.setattr(Task, "worst_case", None)
        assert [each.promise.reward for each in late] == [reward, reward + 1.0]

    def test_more_features_never_guarantee_less(self, rounds, monkeypatch):
        """Whatever the search for what the larger view guarantees comes to."""
        every = rounds(math.inf)
        first = next(every)
        assert first.promise.reward > every.task.worst.lower

        def nothing(task, view, *_, **limits):
            return unsearched(task.model, view, task.weights)

        monkeypatch.setattr(Task, "worst_case", nothing)
        assert next(every).promise.reward == first.promise.reward


class TestProofs:
    @pytest.fixture
    def task(self, path):
        path.write_text(BLIND)
        return read_problem(path).task

    def test_of_sets_that_were_searched_take_no_plan(self, task, monkeypatch):
        bounds = set_bounds(task, Matching(), range(4))
        for chosen in (3, 8, 9):
            bounds.tighten(chosen, -math.inf)
        exact = [bounds.proved(chosen) for chosen in range(16)]
        solves = bounds.solves
        with monkeypatch.context() as patch:
            patch.setattr(bounds_module, "optimal_policy", None)
            known = [bounds.proved(chosen, -math.inf) for chosen in range(16)]
        assert bounds.solves == solves
        assert known == pytest.approx(exact, abs=2.0 * bounds.asked)
        for chosen in range(16):
            found = task.worst_case(bounds.view_of(chosen), task.demonstration, Matching())
            assert known[chosen] <= found.upper

    def test_a_record_is_none(self, task):
        first, second = (set_bounds(task, Matching(), range(4)) for _ in range(2))
        first.tighten(9, -math.inf)
        record = first.record()
        record["at"] = record["at"] + 1.0  # it says more than is true
        second.resume(record)
        assert second.proved(9, -math.inf) == pytest.approx(first.proved(9))

    def test_of_records_take_a_moment_for_all_sets(self, task, monkeypatch):
        first, second = (set_bounds(task, Matching(), range(4)) for _ in range(2))
        for chosen in (3, 8, 9):
            first.tighten(chosen, -math.inf)
        second.resume(first.record())
        exact, solves, now = [first.proved(chosen) for chosen in range(16)], second.solves, [0.0]
        monkeypatch.setattr(clock, "seconds", lambda: now[0])
        assert second.proved(9, -math.inf) == pytest.approx(exact[9])
        assert second.proved(9, -math.inf) == pytest.approx(exact[9])  # it is known by now
        assert second.solves == solves + 1
        now[0] = 1.5
        monkeypatch.setattr(bounds_module, "optimal_policy", None)
        late = [second.proved(chosen, -math.inf) for chosen in range(16)]
        assert second.solves == solves + 1
        assert all(task.worst.lower <= a <= b + 1e-9 for a, b in zip(late, exact, strict=True))
        assert late[9] == late[11] == pytest.approx(exact[9])  # of more features as much is true
        assert late[3] < exact[3] - 1e-3

    def test_a_frontier_searches_no_more_after_ctrl_c(self, path, monkeypatch):
        def interrupted(*_):
            raise KeyboardInterrupt

        path.write_text(BLIND)
        whole = frontier(read_problem(path))
        monkeypatch.setattr(SetSearch, "curve", interrupted)
        monkeypatch.setattr(Task, "worst_case", None)
        found = frontier(read_problem(path))
        assert found.cut is Cut.INTERRUPTED
        assert guaranteed_by(found) == pytest.approx(guaranteed_by(whole), abs=1e-6)

    @pytest.mark.parametrize("limit", ["at_most = 1.5", "at_least = 0.1"])
    def test_nor_for_limits_on_features(self, path, monkeypatch, limit):
        """What the sets are proved to have of them by then is said, without a search."""

        def interrupted(*_):
            monkeypatch.setattr(Task, "worst_case", None)
            raise KeyboardInterrupt

        path.write_text(f'{BLIND}[plan]\nlimits = {{ "cell 8" = {{ {limit} }} }}\n')
        whole = frontier(read_problem(path)).stakes.goals
        monkeypatch.setattr(SetSearch, "curve", interrupted)
        found = frontier(read_problem(path))
        assert found.cut is Cut.INTERRUPTED
        [one], [other] = found.stakes.goals, whole
        assert one.amount == pytest.approx(other.amount, abs=1e-4)
        assert (
            one.amount >= one.own if one.goal.most else one.amount <= one.own
        )  # who does just that


def test_what_looks_the_same_is_sought_column_by_column(monkeypatch):
    """In a large world a column takes a tenth of a second."""
    mdp, looks = ti.worlds.gridworld(6, block=2), []
    whole = indistinct_directions(mdp)
    monkeypatch.setattr(potential_shaping, "BLOCK", 1)
    monkeypatch.setattr(potential_shaping.clock, "look", lambda: looks.append(1))
    again = indistinct_directions(ti.worlds.gridworld(6, block=2))
    assert len(looks) > mdp.n_features
    assert again.basis.shape == whole.basis.shape


def test_plain_amounts_take_no_longer_than_a_moment(path, ticking):
    problem = read_problem(path)
    found = assess(problem)
    with pytest.raises(clock.OutOfTimeError), clock.limited(clock.seconds() - 1.0):
        undiscounted(problem.mdp, found.witness)
    assert "amounts" in contents(answer(problem, found))
    ticking(0.02)
    found.patience.last = 0.0
    assert "amounts" not in contents(answer(problem, found))


def test_what_is_required_is_taught_or_there_is_no_plan(path, ticking):
    path.write_text(REQUIRED)
    whole, seen = plan(read_problem(path)), set()
    assert whole.steps[1].name == "cell 1"
    for limit in (0.5, 4.0, 12.0, 30.0):
        problem = read_problem(path)
        ticking(0.02)
        try:
            found = plan(problem, seconds=limit)
        except TooLittleTimeError as error:
            seen.add(str(error).partition(":")[0].partition(" seconds ")[2])
        else:
            assert found.steps[1].name == "cell 1" and found.stop >= 1
    assert seen <= {
        "do not suffice to find the best and the worst policy, and what is shown",
        "do not suffice to teach what is required",
    }
    assert seen
