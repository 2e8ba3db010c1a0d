"""What is left of a guarantee where the learner misses a little."""

import json
import sys

import numpy as np
import pytest

import teachirl as ti
from problem_files import PROBLEMS
from teachirl.app import cli
from teachirl.app.decisions import assess, plan
from teachirl.app.decisions.misses import if_missed
from teachirl.app.decisions.patience import Patience
from teachirl.app.document.elements import Sentence
from teachirl.app.document.sensitivity import if_the_learner_misses
from teachirl.app.problem import Change, read_problem
from teachirl.figures.digits import at_most
from teachirl.guarantees.sensitivity import in_units_of_ranges
from teachirl.guarantees.solvers.mismatches import worst_cases_by_bundle

SHARES = [0.2, 0.01, 0.5, 0.05]


def worlds():
    rng = np.random.default_rng(0)
    garnet = ti.worlds.garnet(rng, n_states=30, n_actions=3, branching=3, n_features=6)
    return [ti.worlds.chain(5), ti.worlds.gridworld(4, block=2, slip=0.2), garnet]


@pytest.mark.parametrize("mdp", worlds(), ids=["chain", "grid", "garnet"])
def test_as_one_worst_case_after_the_other(mdp):
    weights = np.random.default_rng(1).normal(size=mdp.n_features)
    best, view = ti.optimal_policy(mdp, weights), ti.Worldview.select(mdp, [0, 2])
    found = ti.sensitivity(mdp, view, weights, best.policy, SHARES, tolerance=1e-5)
    room = 3e-5 * (best.value - ti.worst_policy(mdp, weights).value)
    even = in_units_of_ranges(mdp, view)
    for i, share in enumerate(SHARES):
        alone = ti.worst_case(mdp, even, weights, best.policy, share)
        assert found.rewards[i] == pytest.approx(alone.lower, abs=room)
        # Proved, and reached.
        assert found.rewards[i] <= alone.upper + 1e-9
        assert found.at_most[i] >= alone.lower - 1e-9
    order = np.argsort(SHARES)
    assert (np.diff(found.rewards[order]) <= 0.0).all()
    assert (np.diff(found.guaranteed[order]) <= 0.0).all()


def test_units_do_not_matter_and_what_nobody_can_change_is_matched():
    mdp, weights = ti.worlds.chain(5), [-2, -1, 0, 1, 2]
    best = ti.optimal_policy(mdp, weights).policy
    plain = ti.Worldview([[0, 0, 0, 0, 1.0]])
    expected = ti.sensitivity(mdp, plain, weights, best, [0.1]).guaranteed
    for view in (
        ti.Worldview([[0, 0, 0, 0, 1e6]]),
        ti.Worldview([[0, 0, 0, 0, -1e-6]]),
        ti.Worldview([[0, 0, 0, 0, 1.0], [1, 1, 1, 1, 1]]),  # time, which all spend alike
        ti.Worldview([[0, 0, 0, 0, 1.0], [0, 0, 0, 0, 0]]),
    ):
        found = ti.sensitivity(mdp, view, weights, best, [0.1])
        assert found.guaranteed == pytest.approx(expected, abs=1e-4)
    assert in_units_of_ranges(mdp, view).matrix[1].tolist() == [0.0] * 5


def test_from_the_expert_the_error_of_the_recordings_is_added():
    """What the recordings leave open was no part of it, and the table promised too much."""
    mdp, weights = ti.worlds.gridworld(4, block=2, slip=0.2), [1.0, 0.0, 0.5, -1.0]
    best, rng = ti.optimal_policy(mdp, weights).policy, np.random.default_rng(0)
    view = ti.Worldview([[1.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]])
    seen = ti.sample_trajectories(mdp, best, episodes=200, horizon=100, rng=rng)
    shown = ti.Demonstration.from_trajectories(mdp, seen, rows=[*view.matrix, weights])
    units = 1.0 / np.array([np.ptp(each) for each in _ends(mdp, view.matrix)])
    alone = [shown.error_in(ti.Worldview([row])) for row in view.matrix]
    off = shown.error_in(view, units)
    assert off == pytest.approx(np.linalg.norm(units * alone), rel=1e-9)
    found = ti.sensitivity(mdp, view, weights, shown, [0.01, 0.1], from_expert=True)
    same = ti.sensitivity(mdp, view, weights, shown, [0.01 + off, 0.1 + off])
    assert found.rewards == pytest.approx(same.rewards, abs=1e-3)
    assert (found.rewards < ti.sensitivity(mdp, view, weights, shown, [0.01, 0.1]).rewards).all()
    assert found.shares.tolist() == [0.01, 0.1]
    exact = ti.as_demonstration(mdp, best)
    assert exact.error_in(view, units) == 0.0
    # Rows whose error is not known by itself have their part of the whole.
    other = ti.Worldview([[0.0, 0.0, 1.0, 0.0]])
    assert shown.error_in(other, np.array([0.5])) == pytest.approx(0.5 * shown.error)


def _ends(mdp, rows):
    return [[ti.optimal_policy(mdp, row).value, ti.worst_policy(mdp, row).value] for row in rows]


def test_where_nobody_comes_so_near_nothing_is_guaranteed():
    mdp, weights = ti.worlds.chain(5), [-2, -1, 0, 1, 2]
    shown = ti.Demonstration(np.array([0.0, 0.0, 0.0, 0.0, 10.0]))
    view = ti.Worldview.select(mdp, ["cell 5"])
    found = ti.sensitivity(mdp, view, weights, shown, [0.01, 3.0])
    assert found.guaranteed.tolist() == [0.0, 0.0]
    assert np.isnan(found.at_most[0]) and found.at_most[1] < -12.0
    assert found.attainable.tolist() == [False, True]


def test_a_nonsense_share_is_refused():
    mdp, weights = ti.worlds.chain(3), [0, 0, 1]
    best, view = ti.optimal_policy(mdp, weights).policy, ti.Worldview.select(mdp, [0])
    for shares in ([], [0.0], [-0.1], [np.nan]):
        with pytest.raises(ti.InvalidInputError, match="shares must be positive"):
            ti.sensitivity(mdp, view, weights, best, shares)
    with pytest.raises(ti.InvalidInputError, match="mismatches must be positive"):
        worst_cases_by_bundle(mdp, view, weights, [1.0, 1.0, 1.0], [0.0])


def test_a_guarantee_can_be_asked_for_at_a_share():
    """What `certify` shows at 5 % is what it and `teach` guarantee with mismatch = "5 %"."""
    changes = [Change.set('plan.mismatch="5 %"'), Change.set("learner.sees=['cell 1', 'cell 0']")]
    problem = read_problem(PROBLEMS / "grid.toml", changes=changes)
    exact = assess(read_problem(PROBLEMS / "grid.toml", changes=changes[1:]))
    row = exact.sensitivity
    expected = row.guaranteed[list(row.shares).index(0.05)]
    assert 0.0 < expected < exact.guaranteed - 0.01
    assert assess(problem).guaranteed == pytest.approx(expected, abs=2e-4)
    found = plan(problem)
    assert found.steps[0].guaranteed == pytest.approx(expected, abs=2e-4)
    assert found.steps[-1].guaranteed >= found.steps[0].guaranteed


@pytest.mark.parametrize("said", ['"5"', '"x %"', "-1", '"-5 %"'])
def test_a_mismatch_that_is_none_is_refused(said):
    with pytest.raises(ti.FileFormatError, match="expected a number from 0 on"):
        read_problem(PROBLEMS / "grid.toml", changes=[Change.set(f"plan.mismatch={said}")])


def test_what_is_asked_for_at_a_share_is_what_the_row_says_there():
    """2.699 of reward stood in the headline, and 2.696 in the row."""
    path = PROBLEMS.parents[1] / "examples" / "warehouse" / "warehouse.toml"
    asking = read_problem(path, changes=[Change.set('plan.mismatch="1 %"')])
    task, view = asking.task, asking.worldview
    alone = task.worst_case(view, task.demonstration, asking.matching)
    plain = read_problem(path)
    row = if_missed(plain, plain.worldview, plain.task.demonstration, Patience())
    apart = 2.0 * task.tolerance * (task.best.value - task.worst.value)
    assert row.rewards[0] == pytest.approx(alone.lower, abs=apart)


def printed(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["teachirl", *map(str, arguments)])
    with pytest.raises(SystemExit):
        cli.main()
    return capsys.readouterr().out


def test_certify_shows_a_row_and_says_where_it_flatters(monkeypatch, capsys):
    out = printed(monkeypatch, capsys, "certify", PROBLEMS / "lake.toml", "--json")
    found = json.loads(out)["assessment"]
    assert [each["share"] for each in found["sensitivity"]] == [0, 0.01, 0.02, 0.05, 0.1, 0.2]
    performances = [each["guaranteed"] for each in found["sensitivity"]]
    assert performances == sorted(performances, reverse=True)
    assert performances[0] == found["guaranteed"]
    assert found["flattered"].startswith("Episodes end here")
    out = printed(monkeypatch, capsys, "certify", PROBLEMS / "grid.toml")
    assert "Episodes end here" not in out
    lines = out.splitlines()
    row = lines.index("If the learner misses what is shown") + 1
    assert lines[row].split("  ")[0] == "missed by" and lines[row].split()[2] == "exact"
    # What is proved at once is printed first.
    assert row > lines.index("How things stand")


@pytest.mark.parametrize(
    ("shown", "asked", "told"),
    [
        ('trajectories = "seen.jsonl"', "", True),
        ('trajectories = "seen.jsonl"', 'mismatch = "5 %"', False),
        ('trajectories = "seen.jsonl"\nmatch = "expert"', "", False),
        ('show = "optimal"', "", False),
    ],
)
def test_where_recordings_are_matched_it_says_from_where_misses_count(tmp_path, shown, asked, told):
    """The headline's miss is no share of a range: the row beside it may say more, or nobody."""
    mdp, rng = ti.worlds.chain(5), np.random.default_rng(0)
    policy = ti.optimal_policy(mdp, [-1, 0, 0, 0, 2]).policy
    seen = ti.sample_trajectories(mdp, policy, episodes=4, horizon=20, rng=rng)
    ti.write_trajectories(tmp_path / "seen.jsonl", seen, mdp)
    path = tmp_path / "problem.toml"
    path.write_text(
        '[world]\nname = "chain"\n[reward.weights]\n"cell 1" = -1.0\n"cell 5" = 2.0\n'
        f'[learner]\nsees = ["cell 3", "cell 5"]\n[demonstration]\n{shown}\n[plan]\n{asked}\n'
    )
    found = assess(ti.read_problem(path))
    section = if_the_learner_misses(found.problem, found)
    said = [each.text for each in section.elements if isinstance(each, Sentence)]
    start = "What is guaranteed above is for learners who miss the recordings by up to "
    told_of = [each for each in said if each.startswith(start)]
    assert bool(told_of) == told
    assert not told or f"{start}{at_most(found.mismatch)} in" in told_of[0]
