"""`teachirl compare`: two problem files, or two results, side by side."""

import json
import sys
from functools import partial

import pytest

from problem_files import PROBLEMS, copied
from teachirl.app import cli
from teachirl.app.decisions import Differing, both_news, differing, news, told_once
from teachirl.app.document.comparison import _shown, _table, _words, who_is_shown

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


def test_a_file_and_what_if(teachirl):
    code, out, err = teachirl("compare", GRID, "--sees", "+cell 2", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)["comparison"]
    assert found["asked"] == [
        {"what": "learner, sees", "first": "cell 1", "second": "cell 1, cell 2"}
    ]
    values = {each["what"]: (each["first"], each["second"]) for each in found["found"]}
    assert values["plan, cost"] == (2.0, 1.0)
    assert values["plan, teach"] == ("cell 0, cell 2", "cell 0")


def test_two_files_of_which_one_is_edited(teachirl, tmp_path):
    other = tmp_path / "other.toml"
    other.write_text(GRID.read_text().replace('"cell 0" = 1.0', '"cell 0" = 2.0'))
    out = teachirl("compare", GRID, other)[1].splitlines()
    assert out[0] == "grid and other"
    rows = [line.split("  ") for line in out]
    assert ["reward, weights, cell 0", "1     2"] in [
        [row[0], "  ".join(row[1:]).strip()] for row in rows
    ]
    assert any(row[0] == "as things stand: the best policy earns" for row in rows)
    same = tmp_path / "same.toml"
    same.write_text(GRID.read_text())
    assert teachirl("compare", GRID, same)[1].splitlines()[-1] == "Nothing differs."


def test_pages_are_refused_in_plain_words(teachirl, tmp_path):
    page = tmp_path / "report.html"
    page.write_text("<html>")
    code, _, err = teachirl("compare", page, GRID)
    assert code == 2 and "expected a problem file (.toml), or what --json prints (.json)" in err


def test_what_no_longer_differs_is_the_experts_and_rounding_is_0():
    """A worst policy that has as much of a feature as the expert has an amount of it all the same;
    what the expert earns is told once."""
    amounts = [{"name": "ice", "amount": 0.1513}]
    differ = {"name": "ice", "weight": -1.0, "expert": 0.1513, "other": 10.23, "lost": 10.08}
    one = {"expert_reward": 9.5, "reward": {"best": 9.5, "expert": 9.5}, "expert": amounts}
    one |= {"worst_policy": [{}], "differences": [differ], "loss": 10.08}
    aside = {"name": "fog", "weight": 0.0, "expert": 1.0, "other": 2.0, "lost": 0.0}
    two = one | {"expert_reward": 8.5, "reward": {"best": 9.5, "expert": 8.5}, "loss": -6.404e-14}
    two |= {"differences": [aside]}
    found = [(each.path, each.second) for each in differing(*both_news(one, two), ("assessment",))]
    where = ("assessment", "differences", "ice")
    assert [each for each in found if each[0][:2] == where[:2]] == [
        ((*where, "other"), 0.1513),
        ((*where, "lost"), 0.0),
    ]
    assert [path[1:] for path, _ in found if "expert" in path[-1]] == [("expert_reward",)]
    shown = _shown(Differing(("assessment", "loss"), 10.08, -6.404e-14), -6.404e-14)
    assert shown == "0"


def test_what_is_small_beside_the_rest_is_0_and_who_misses_nothing_is_told_once():
    def result(noise, reward):
        worst = {"name": "acid", "expert": 0.0, "worst": noise}
        rows = [{"share": 0.0, "reward": reward}, {"share": 0.01, "reward": reward - 2.0}]
        steps = {"name": "step", "expert": 900.0, "worst": 900.0}
        return {"guaranteed_reward": reward, "amounts": [worst, steps], "sensitivity": rows}

    found = list(differing(*both_news(result(1.328e-8, 5.5), result(0.25, 4.5)), ("assessment",)))
    assert [(each.what, _shown(each, each.first), _shown(each, each.second)) for each in found] == [
        ("assessment, guaranteed_reward", "5.5", "4.5"),
        ("assessment, amounts, acid, worst", "0", "0.25"),
        ("assessment, sensitivity, 1 %, reward", "3.5", "2.5"),
    ]


def test_goals_go_by_what_they_are_and_doubts_are_told():
    def result(share, doubts):
        limit = {"kind": "limit", "feature": "noise", "guaranteed": share}
        return {"goals": [{"kind": "guarantee", "feature": None}, limit], "doubts": doubts}

    one, other = (news(each) for each in (result(0.5, []), result(0.7, ["It never delivers."])))
    assert [(each.what, each.first, each.second) for each in differing(one, other)] == [
        ("goals, limit noise, guaranteed", 0.5, 0.7),
        ("look at the expert first", False, True),
    ]
    twice = {"goals": 2 * result(0.5, [])["goals"]}
    assert "goals, 3, guaranteed" in [each.what for each in differing(twice, {})]


def test_a_goal_that_one_has_says_which_way_it_is_guaranteed(teachirl, tmp_path):
    """A loss is not guaranteed, but so much at most; what a goal is is in its name."""
    goals = (
        {"kind": "max_loss", "feature": None, "at_most": True, "guaranteed": 1.00001},
        {"kind": "limit", "feature": "ice", "at_most": False, "guaranteed": 0.99999},
    )
    for name, has in (("one.json", []), ("other.json", list(goals))):
        text = json.dumps({"version": 2, "plan": {"goals": has}})
        (tmp_path / name).write_text(text)
    lines = teachirl("compare", tmp_path / "one.json", tmp_path / "other.json")[1].splitlines()
    rows = [[part.strip() for part in line.split("  ") if part] for line in lines[-2:]]
    assert rows == [
        ["the plan: max_loss, at most", "–", "1.001"],
        ["the plan: limit ice, at least", "–", "0.9999"],
    ]


def test_what_is_proved_is_rounded_as_elsewhere(teachirl, tmp_path):
    """0.99999 that are guaranteed are not 1, and a loss of 1.00001 is more than 1."""
    names = ("one.json", "other.json")
    for name, share, loss in zip(names, (0.99999, 0.5), (1.00001, 9.0), strict=True):
        found = {"guaranteed": share, "guaranteed_reward": -9.73326, "loss": loss, "risk": share}
        text = json.dumps({"version": 2, "assessment": found})
        (tmp_path / name).write_text(text)
    code, out, _ = teachirl("compare", *(tmp_path / name for name in names))
    rows = {line.split("  ")[0]: line.split("  ", 1)[-1].split("  ") for line in out.splitlines()}
    rows = {name: [each.strip() for each in row if each] for name, row in rows.items()}
    assert code == 0 and rows["as things stand: guaranteed"] == ["99.9 %", "50 %"]
    assert rows["as things stand: behind the expert at most"] == ["1.001", "9"]
    assert rows["as things stand: teaching risk"] == ["1", "0.5"]


def test_results_are_told_in_words_and_paths_are_for_json(teachirl, tmp_path):
    """What a feature is called may have commas in it; what is new is named, not numbered."""

    def result(lost, amount):
        return {
            "most_lost": {"name": lost, "weight": -1.0, "expert": 0.0, "other": 1.0, "lost": 1.0},
            "goals": [{"kind": "limit", "feature": "ice, wet", "guaranteed": amount, "missing": 0}],
            "sensitivity": [{"share": 0.05, "guaranteed": amount, "reward": amount}],
            "differences": [{"name": "ice, wet", "weight": amount, "other": amount}],
            "something_new": amount,
        }

    paths = []
    for number, arguments in enumerate((("ice", 0.25), ("fog", 0.5))):
        paths.append(tmp_path / f"{number}.json")
        paths[-1].write_text(json.dumps({"version": 2, "assessment": result(*arguments)}))
    lines = teachirl("compare", *paths)[1].split("What is found\n")[1].splitlines()[1:]
    assert [[part.strip() for part in line.split("  ") if part] for line in lines] == [
        ["as things stand: most can be lost through", "ice", "fog"],
        ["as things stand: limit ice, wet, guaranteed", "0.25", "0.5"],
        ["as things stand: ice, wet, the worst policy's", "0.25", "0.5"],
        ["as things stand: something new", "0.25", "0.5"],
        ["as things stand: reward guaranteed to learners who miss by 5 %", "0.25", "0.5"],
    ]
    found = json.loads(teachirl("compare", *paths, "--json")[1])["comparison"]["found"]
    assert found[0] == {"what": "assessment, most_lost", "first": "ice", "second": "fog"}
    assert found[-1]["what"] == "assessment, sensitivity, 5 %, reward"


def test_each_difference_is_told_once_and_what_matters_most_first(teachirl, tmp_path):
    """Not as a share and as an amount, as what it earns, as a goal, or of the plan once more."""

    def result(share, reward, amount):
        shared = {
            "amounts": [{"name": "ice", "expert": amount, "worst": 50.0 * amount}],
            "sensitivity": [{"share": 0.05, "guaranteed": share / 2, "reward": reward - 2.0}],
            "goals": [{"kind": "guarantee", "at_most": False, "guaranteed": share}],
            "risk": share,
            "guaranteed": share,
            "guaranteed_reward": reward,
        }
        has = [{"name": "ice", "amount": amount, "earned": -3.0 * amount}]
        lost = [{"name": "ice", "other": 9.0 * amount, "lost": 24.0 * amount}]
        now = {**shared, "expert": has, "differences": lost}
        return {"version": 2, "assessment": now, "plan": {**shared, "cost": reward}}

    paths = []
    for number, arguments in enumerate(((0.25, 3.0, 1.0), (0.5, 4.0, 2.0))):
        paths.append(tmp_path / f"{number}.json")
        paths[-1].write_text(json.dumps(result(*arguments)))
    lines = teachirl("compare", *paths)[1].split("What is found\n")[1].splitlines()[1:]
    both = "as things stand, and the plan"
    assert [[part.strip() for part in line.split("  ") if part] for line in lines] == [
        [f"{both}: guaranteed", "25 %", "50 %"],
        [f"{both}: reward guaranteed", "3", "4"],
        ["the plan: cost", "3", "4"],
        ["as things stand: ice, the expert's", "1", "2"],
        ["as things stand: ice, the worst policy's", "9", "18"],
        [f"{both}: reward guaranteed to learners who miss by 5 %", "1", "2"],
        [f"{both}: teaching risk", "0.25", "0.5"],
    ]


def test_what_is_asked_is_not_found_again():
    """A weight and a goal that the file has; one that is another's is told all the same."""
    asked = [Differing(("plan", "limits", "ice"), 1.0, 2.0), Differing(("w", "fog"), 3.0, 4.0)]
    wanted = Differing(("plan", "goals", "limit ice", "wanted"), 1.0, 2.0)
    other = Differing(("plan", "goals", "limit fog", "wanted"), 1.0, 2.0)
    weight = Differing(("plan", "expert", "fog", "weight"), 3.0, 4.0)
    assert told_once([wanted, other, weight], asked) == [other]
    assert told_once([wanted, weight]) == [wanted, weight]


def test_who_is_optimal_for_inferred_weights_is_not_called_the_expert(teachirl, tmp_path):
    """Nobody saw the expert but in the recordings that the weights were inferred from."""
    folder = copied(tmp_path)
    text = (folder / "recorded.toml").read_text()
    table = '[demonstration]\ntrajectories = "expert.csv"\nconfidence = 0.9\n'
    path = folder / "inferred.toml"
    path.write_text(text.replace(table, ""))
    out = teachirl("certify", path)[1]
    assert "Can an optimal policy for the estimate look optimal to the learner?" in out
    assert "the expert's behaviour" not in out
    out = teachirl("compare", path, "--set", "world.discount=0.9")[1]
    assert "as things stand, and the plan: an optimal policy for the estimate earns" in out
    assert "as things stand: step, recorded" in out
    assert "expert, step" not in out
    assert ", that of an optimal policy for the estimate" in out
    assert "the expert earns" not in out and "the expert's" not in out
    assert "the expert at most" not in out


def test_who_stands_for_the_expert_is_told_from_results():
    given = {"expert": [{"name": "ice", "amount": 1.0}]}
    guessed = {"expert": [{"name": "ice", "amount": 1.0, "recorded": 0.5}], "inferred": ["so"]}
    optimal = "an optimal policy for the estimate"
    for files, who in (
        (({"assessment": given}, {"assessment": given}), "the expert"),
        (({"assessment": guessed, "plan": {}}, {"assessment": guessed}), optimal),
        (({"assessment": given}, {"assessment": guessed}), f"the expert or {optimal}"),
        # A plan alone does not tell whether something else is shown.
        (({"plan": {"inferred": ["so"]}},), f"the expert or {optimal}"),
        (({"plan": {"expert": 3}}, {"frontier": {}}), "the expert"),
    ):
        assert who_is_shown(*files) == who
    rows = tuple(differing({"loss": 1.0}, {"loss": 2.0}, ("plan",)))
    for who in ("the expert", optimal):
        [what, *_] = _table("found", ("a", "b"), rows, partial(_words, expert=who)).columns[1:]
        assert what.value(rows[0]) == f"the plan: behind {who} at most"


def test_results_of_unexpected_shape_are_compared_as_they_are():
    odd = {"most_lost": 3, "goals": {"a": 1}, "sensitivity": [{"share": "much"}, 2], "steps": []}
    assert news(odd) == {
        "most_lost": 3,
        "goals": {"a": 1},
        "sensitivity": [{}, 2],
    }


def test_results(teachirl, tmp_path):
    paths = []
    for number, options in enumerate(([], ["--sees", "cell 0"])):
        path = tmp_path / f"{number}.json"
        path.write_text(teachirl("certify", GRID, *options, "--json")[1])
        paths.append(path)
    out = teachirl("compare", *paths)[1]
    assert "What is asked" not in out
    assert "as things stand: guaranteed" in out
    # A result and a problem file have the assessment in common.
    assert "as things stand: guaranteed" in teachirl("compare", paths[1], GRID)[1]
    (tmp_path / "plan.json").write_text(teachirl("teach", GRID, "--json")[1])
    for arguments, message in (
        ([paths[0]], "expected a second file, or --sees or --set, got none"),
        ([paths[0], tmp_path / "plan.json"], "expected results of the same command, got asses"),
        ([paths[0], "--sees", "cell 0"], "--sees and --set are for problem files"),
        ([paths[0], tmp_path / "none.json"], "No such file"),
    ):
        code, out, err = teachirl("compare", *arguments)
        assert (code, out) == (2, "") and message in err
    for text, message in (
        ('{"version": 1}', "version must be 2, got 1"),
        ("[1]", "must be an object"),
        ("{", "JSON"),
        ('{"version": 2, "assessment": 3}', "assessment must be an object, got"),
    ):
        paths[1].write_text(text)
        code, out, err = teachirl("compare", *paths)
        assert (code, out) == (2, "") and message in err


@pytest.mark.parametrize(
    ("kind", "most", "value", "shown"),
    [
        ("max_loss", True, 3.38211, "3.383"),
        ("limit", True, 1.05441, "1.055"),
        ("limit", False, 1.05449, "1.054"),
        ("at_least", False, 9.17089, "9.17"),
    ],
)
def test_what_is_guaranteed_of_a_goal_is_on_its_safe_side(kind, most, value, shown):
    """As `certify` says it: 3.38211 of loss are 3.383 at most, not 3.382."""
    goals = [
        {"goals": [{"kind": kind, "feature": None, "at_most": most, "guaranteed": each}]}
        for each in (value, 2.0 * value)
    ]
    [row] = differing(*both_news(*goals), ("plan",))
    assert (row.path, row.most) == (("plan", "goals", kind, "guaranteed"), most)
    assert _shown(row, row.first) == shown
