"""What-if without editing: `--sees`, `--set`, and exit codes for scripts."""

import json
import shlex
import sys

import pytest

from problem_files import PROBLEMS
from teachirl.app import cli
from teachirl.app.problem import Change, read_problem
from teachirl.app.render import markup

GRID = PROBLEMS / "grid.toml"


@pytest.fixture
def teachirl(monkeypatch, capsys):
    """Call the command in this process: its exit code, and what it printed to stdout and stderr."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["teachirl", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        captured = capsys.readouterr()
        return stop.value.code, captured.out, captured.err

    return call


@pytest.mark.parametrize("command", ["certify", "teach", "frontier"])
def test_an_option_stands_in_for_the_file(teachirl, tmp_path, command):
    text = GRID.read_text()
    edited = tmp_path / "grid.toml"
    edited.write_text(f"{text}\n[plan]\nbudget = 1\n".replace('["cell 1"]', '["cell 0"]'))
    options = ["--sees", "cell 0", "--set", "plan.budget=1"]
    assert edited.read_text().count("cell 0") > text.count("cell 0")
    code, out, err = teachirl(command, GRID, *options)
    assert (code, err) == (0, "")
    first, *rest = out.splitlines()
    assert first == "grid (--sees cell 0; --set plan.budget=1)"
    assert rest == teachirl(command, edited)[1].splitlines()[1:]


def test_what_is_seen_is_added_to(teachirl):
    changes = [Change.sees("+cell 2, cell 3")]
    seen = read_problem(GRID).worldview.names
    assert read_problem(GRID, changes=changes).worldview.names == (*seen, "cell 2", "cell 3")
    assert read_problem(GRID, changes=[Change.sees("")]).worldview.n_rows == 0
    assert read_problem(GRID).worldview.names == seen


def test_entries_of_lists_go_by_name_or_by_number():
    lake = PROBLEMS / "lake.toml"
    for key in ("teach.feature.misery.cost", "teach.feature[1].cost"):
        problem = read_problem(lake, changes=[Change.set(f"{key}=7.5")])
        costs = dict(zip(problem.teachables.names, problem.teachables.costs, strict=True))
        assert (costs["misery"], costs["cold"]) == (7.5, 3.0)
    quoted = Change.set('reward.weights."cold" = -4')
    assert read_problem(lake, changes=[quoted]).weights.tolist() == [-4.0, 0.0, 2.0, 0.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--sees nothing", "--sees nothing, learner.sees[0]: there is no feature 'nothing'"),
        ("--sees +nothing", "--sees +nothing: there is no feature 'nothing'"),
        ("--sees a,,b", "--sees a,,b: expected names with commas between"),
        ("--set plan.max_costt=3", "--set plan.max_costt=3: there is no such key; did you mean"),
        ("--set plan.max_cost=abc", "--set plan.max_cost=abc: expected a number, got 'abc'"),
        ("--set plan.max_cost", "--set plan.max_cost: expected KEY=VALUE, such as"),
        ("--set =3", "--set =3: expected KEY=VALUE"),
        (
            "--set 'plan.limits.near people=0.2'",
            """max_cost=5; a name with spaces is quoted, as in 'plan.limits."near people"=0.2'""",
        ),
        ("--set plan.max_cost=", "--set plan.max_cost=: expected a value after =, got none"),
        ("--set 'plan.max_cost=[1'", "--set plan.max_cost=[1: expected a TOML value"),
        ("--set 'seed=1\n[plan]\nbudget=1'", "expected one value, got more"),
        ("--set plan.teacher=TRGredy", "--set plan.teacher=TRGredy: there is no teacher 'TRGr"),
        ("--set world.name=moon", "grid.toml, world (with --set world.name=moon): there is no"),
        ("--set world.size.x=2", "--set world.size.x=2: world.size is 4, in which there is no"),
        ("--set teach.feature[0].cost=1", "teach.feature[0].cost=1: teach.feature is a table of 0"),
    ],
)
def test_mistakes_name_the_option(teachirl, options, message):
    code, out, err = teachirl("certify", GRID, *shlex.split(options))
    assert (code, out) == (2, "")
    assert message in err.replace(str(GRID), "grid.toml")


def test_a_combination_that_is_for_sale_is_no_feature_and_this_is_said(teachirl):
    code, _, err = teachirl("certify", PROBLEMS / "lake.toml", "--sees", "+misery")
    assert code == 2 and err.startswith("teachirl: --sees +misery: there is no feature 'misery'; ")
    assert "it is a combination that could be taught: [[learner.combination]]" in err


def test_what_is_wrong_with_a_baseline_names_the_option(teachirl, tmp_path):
    optimal = read_problem(GRID).task.best.policy
    optimal.save(tmp_path / "best.csv")
    (tmp_path / "grid.toml").write_text(GRID.read_text())
    option = 'plan.baseline={policy="best.csv"}'
    code, _, err = teachirl("certify", tmp_path / "grid.toml", "--set", option)
    assert code == 2
    assert err.startswith(f"teachirl: --set {option}: the baseline must earn less than the best")
    path = tmp_path / "own.toml"
    path.write_text(f'{GRID.read_text()}\n[plan]\nbaseline = {{ policy = "best.csv" }}\n')
    assert f"{path}, plan.baseline: the baseline must earn less" in teachirl("check", path)[2]


def test_the_report_can_be_made_again(teachirl, tmp_path, monkeypatch):
    # What its pictures show is held to elsewhere.
    monkeypatch.setattr(markup, "panel_svg", lambda panel: "<svg/>")
    options = ["--sees", "+cell 2", "--set", "plan.budget=1"]
    assert teachirl("teach", GRID, *options, "--out", tmp_path)[0] == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    again = "teachirl teach grid.toml --sees &#x27;+cell 2&#x27; --set plan.budget=1 --out report"
    assert again in page.replace("&#39;", "&#x27;")


class TestExitCodes:
    def test_certify_at_least(self, teachirl):
        proved = json.loads(teachirl("certify", GRID, "--sees", "cell 0", "--json")[1])
        share = proved["assessment"]["guaranteed"]
        assert 0.5 < share < 0.999
        assert teachirl("certify", GRID, "--sees", "cell 0", "--at-least", share)[0] == 0
        code, out, err = teachirl("certify", GRID, "--sees", "cell 0", "--at-least", 0.999)
        assert code == 3
        assert out.startswith("grid")
        assert err == "teachirl: --at-least asks for 99.9 %, 98.9 % are guaranteed\n"
        own = ["--set", "plan.guarantee=0.5"]
        err = teachirl("certify", GRID, "--sees", "cell 0", "--at-least", 0.999, *own)[2]
        both = "--at-least asks for 99.9 % (the file's plan.guarantee for 50 %)"
        assert err == f"teachirl: {both}, 98.9 % are guaranteed\n"
        assert teachirl("certify", GRID, "--at-least", 2)[0] == 2

    def test_teach(self, teachirl):
        few = ["--set", "plan.budget=1", "--set", "plan.guarantee=0.999"]
        code, out, err = teachirl("teach", GRID, *few)
        assert code == 3 and "not guaranteed: 99.9 % (98.9 % are guaranteed)" in err and out
        assert teachirl("teach", GRID, "--set", "plan.guarantee=0.5")[0] == 0
