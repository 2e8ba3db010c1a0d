"""What was proved when a search was cut short is gone on from, and belongs to one problem alone."""

import math
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import teachirl as ti
from problem_files import PROBLEMS
from teachirl.app import cli
from teachirl.app.decisions import Cut, Kept, assess, frontier, plan
from teachirl.app.decisions.kept import Remembering
from teachirl.app.problem import Change, read_problem
from teachirl.guarantees import worst_case as worst_case_module
from teachirl.teachers.set_bounds import set_bounds
from teachirl.teachers.sets import SetBounds
from teachirl.teaching.matching import Matching

FILE = PROBLEMS / "grid.toml"


@pytest.fixture
def problem():
    return read_problem(FILE)


@pytest.fixture
def searched(monkeypatch):
    """The sets that were searched, one after the other; Ctrl-C after as many as it is told."""
    found, original = [], SetBounds.tighten

    def tighten(self, chosen, *arguments):
        if len(found) == searched_until[0]:
            searched_until[0] = math.inf
            raise KeyboardInterrupt
        found.append(chosen)
        original(self, chosen, *arguments)

    searched_until = [math.inf]
    monkeypatch.setattr(SetBounds, "tighten", tighten)
    return SimpleNamespace(sets=found, until=searched_until)


@pytest.mark.parametrize("mismatch", [None, 0.05])
def test_a_frontier_goes_on_where_it_was_stopped(tmp_path, searched, mismatch):
    changes = [] if mismatch is None else [Change.set(f"plan.mismatch={mismatch}")]
    problem = read_problem(FILE, changes=changes)
    whole = frontier(problem)
    alone = list(searched.sets)
    searched.sets.clear()
    searched.until[0] = len(alone) - 1
    first = frontier(problem, kept=Kept(tmp_path))
    assert first.cut is Cut.INTERRUPTED and not first.exact
    before = list(searched.sets)
    searched.sets.clear()
    again = Kept(tmp_path, resume=True)
    found = frontier(problem, kept=again)
    assert again.resumed == 1 and not again.trouble
    assert found.exact
    assert [each.features for each in found.points] == [each.features for each in whole.points]
    rewards = [each.reward for each in whole.points]
    assert [each.reward for each in found.points] == pytest.approx(rewards, abs=1e-5)
    # What was finished is not searched again.
    assert len(before) + len(searched.sets) <= len(alone) + 1
    assert list(tmp_path.iterdir()) == []  # nobody needs it any more


def test_a_plan_goes_on_from_a_frontier(tmp_path, problem, searched):
    searched.until[0] = 5
    frontier(problem, kept=Kept(tmp_path))
    done = set(searched.sets[:-1])
    searched.sets.clear()
    kept = Kept(tmp_path, resume=True)
    found = plan(problem, kept=kept)
    assert kept.resumed == 1
    expected = plan(problem)
    assert [step.name for step in found.taught] == [step.name for step in expected.taught]
    assert found.stakes.reward == pytest.approx(expected.stakes.reward)
    assert 0 in done


def test_another_problem_is_begun_anew(tmp_path, searched):
    """Weights, what is seen, how closely is matched: each makes another problem; costs do not."""
    searched.until[0] = 4
    frontier(read_problem(FILE), kept=Kept(tmp_path))
    for change in ("reward.weights.'cell 0'=2.0", "plan.mismatch=0.1", "world.discount=0.8"):
        kept = Kept(tmp_path, resume=True)
        other = read_problem(FILE, changes=[Change.set(change)])
        frontier(other, kept=kept)
        assert kept.resumed == 0, change
    kept = Kept(tmp_path, resume=True)
    frontier(read_problem(FILE, changes=[Change.set("plan.max_cost=1")]), kept=kept)
    assert kept.resumed == 1


def damaged(path: Path):
    """Among its numbers: not all that stands between them in such a file means something."""
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as file:
        numbers = file.getinfo("lower.npy")
    end = data.index(b"PK", numbers.header_offset + 4)
    data[end - numbers.compress_size // 2] ^= 0x55
    path.write_bytes(bytes(data))


def replaced(path: Path):
    with np.load(path) as file:
        arrays = dict(file)
    np.savez_compressed(path, **arrays | {"lower": np.full_like(arrays["lower"], np.nan)})


@pytest.mark.parametrize(
    "spoil", [damaged, replaced, lambda path: path.write_bytes(b""), lambda path: path.mkdir()]
)
def test_what_cannot_be_read_is_left_aside(tmp_path, problem, searched, spoil):
    searched.until[0] = 4
    frontier(problem, kept=Kept(tmp_path))
    (path,) = tmp_path.iterdir()
    if spoil not in (damaged, replaced):
        path.unlink()
    spoil(path)
    kept = Kept(tmp_path, resume=True)
    searched.sets.clear()
    searched.until[0] = 4
    frontier(problem, kept=kept)
    assert kept.resumed == 0 and str(path) in kept.trouble[0]


def test_where_nothing_can_be_kept_the_answer_is_the_same(tmp_path, problem, searched):
    (tmp_path / "file").write_text("")
    kept = Kept(tmp_path / "file" / "folder")
    searched.until[0] = 4
    assert frontier(problem, kept=kept).points
    assert "cannot be kept" in kept.trouble[0]


def test_bounds_that_go_on_prove_what_they_did():
    mdp = ti.worlds.gridworld(6, block=2, slip=0.2)
    weights = np.random.default_rng(3).normal(size=mdp.n_features)
    task = ti.Task(mdp, weights, ti.Worldview.select(mdp, [0]), np.eye(mdp.n_features)[1:5])
    for matching in (Matching(), Matching(0.3)):
        first, second, fresh = (set_bounds(task, matching, range(4)) for _ in range(3))
        assert first.fingerprint == second.fingerprint
        for chosen in (0, 5, 15):
            first.tighten(chosen, -math.inf)
        second.resume(first.record())
        assert (second.lower == first.lower).all() and (second.upper == first.upper).all()
        proved = [first.proved(chosen) for chosen in range(16)]
        assert [second.proved(chosen) for chosen in range(16)] == proved
        for chosen in range(16):
            fresh.tighten(chosen, -math.inf)
            second.tighten(chosen, -math.inf)
            room = 2.0 * fresh.asked
            assert second.lower[chosen] == pytest.approx(fresh.lower[chosen], abs=room)
    assert first.fingerprint != set_bounds(task, Matching(), range(4)).fingerprint


def test_a_teacher_knows_what_it_chose(tmp_path, monkeypatch):
    calls = []
    original = ti.teachers.TRGreedy.choose

    def choose(self, situation, rng):
        calls.append(situation.taught)
        return original(self, situation, rng)

    monkeypatch.setattr(ti.teachers.TRGreedy, "choose", choose)
    changes = [Change.set("plan.teacher=TRGreedy")]
    problem = read_problem(FILE, changes=changes)
    kept, teacher = Kept(tmp_path), Remembering(problem.teacher, problem)
    kept.follow(teacher)
    whole = plan(problem)
    count = len(calls)
    calls.clear()
    monkeypatch.setattr(Kept, "end", lambda self, cut: self._write())
    plan(problem, kept=Kept(tmp_path))
    assert len(calls) == count
    calls.clear()
    again = Kept(tmp_path, resume=True)
    found = plan(problem, kept=again)
    assert again.resumed == 1
    assert [(s.name, s.guaranteed) for s in found.steps] == [
        (s.name, s.guaranteed) for s in whole.steps
    ]
    assert [s.alternative for s in found.steps] == [s.alternative for s in whole.steps]
    # Only where nothing was chosen is it asked again.
    assert len(calls) < count


def test_chance_is_not_remembered(problem):
    teacher = Remembering(ti.teachers.Random(), problem)
    rounds = ti.teach(
        problem.task, teacher, ti.learners.MinNormPoint(), rng=np.random.default_rng(0), budget=2
    )
    assert len(rounds.rounds) == 3
    assert len(teacher.record()["chosen"]) == 0


class TestCertify:
    def test_goes_on_from_what_proved_most(self, tmp_path, problem, monkeypatch):
        starts = []
        original = worst_case_module.worst_case_by_bundle

        def watched(*arguments, **options):
            starts.append(options.get("start"))
            return original(*arguments, **(options | limits))

        monkeypatch.setattr(worst_case_module, "worst_case_by_bundle", watched)
        limits = {"max_solves": 1}
        found = assess(problem, seconds=1e6, kept=Kept(tmp_path))
        limits = {}
        if not found.unfinished:
            pytest.fail("one MDP was enough: take a harder problem")
        kept = Kept(tmp_path, resume=True)
        starts.clear()
        again = assess(problem, kept=kept)
        assert kept.resumed == 1 and starts[0] is not None
        assert again.guaranteed == pytest.approx(assess(problem).guaranteed, abs=1e-6)
        assert again.proved.least_reward >= found.proved.least_reward - 1e-6
        assert list(tmp_path.iterdir()) == []

    def test_a_start_is_only_a_suggestion(self):
        mdp = ti.worlds.gridworld(4, block=2, slip=0.1)
        weights = [1.0, 0.5, -0.5, -1.0]
        view, best = ti.Worldview.select(mdp, [0]), ti.optimal_policy(mdp, weights).policy
        known = ti.worst_case(mdp, view, weights, best)
        for start in (known.theta, [1e3], [0.0]):
            found = ti.worst_case(mdp, view, weights, best, start=start)
            assert found.lower == pytest.approx(known.lower, abs=3e-5)
            assert found.lower <= known.upper
        for start in ([1.0, 2.0], [math.nan]):
            with pytest.raises(ti.InvalidInputError, match="start"):
                ti.worst_case(mdp, view, weights, best, start=start)


@pytest.mark.usefixtures("unhurried")
def test_from_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TEACHIRL_CACHE", str(tmp_path))

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["teachirl", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return stop.value.code, *capsys.readouterr()

    code, out, err = call("frontier", FILE, "--seconds", "0")
    assert code == 0 and err == ""
    assert "--resume goes on from here" in out
    assert len(list(tmp_path.iterdir())) == 1
    code, out, err = call("frontier", FILE, "--resume")
    assert (code, err) == (0, "") and "Cut short" not in out
    assert list(tmp_path.iterdir()) == []
    code, _, err = call("teach", FILE, "--resume")
    assert err == "teachirl: nothing was kept of this problem, so that it began anew\n"
