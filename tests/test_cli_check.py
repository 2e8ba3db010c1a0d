"""`teachirl check` and `teachirl worlds NAME`: what one wants to know before asking for advice."""

import json
import re
import sys
from dataclasses import replace

import numpy as np
import pytest

import teachirl as ti
from problem_files import PROBLEMS, copied
from teachirl.app import cli
from teachirl.app.decisions import Notice, Oddity
from teachirl.app.decisions import check as look
from teachirl.app.decisions.undiscounted import undiscounted
from teachirl.app.document.check import _notice, what_there_is
from teachirl.app.document.stakes import who_earns
from teachirl.app.problem import read_problem


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


@pytest.fixture
def folder(tmp_path):
    return copied(tmp_path)


ODD = """
[world]
transitions = "odd_transitions.csv"
features = "odd_features.csv"
start = "odd_start.csv"
discount = 0.9
[reward.weights]
gold = 1.0
[learner]
sees = ["heat"]
[[teach.feature]]
name = "heat"
cost = 2.0
[[teach.feature]]
name = "gold"
cost = 5.0
[plan]
max_cost = 1.0
"""


def write_odd(folder, text=ODD, start="home,1"):
    rows = ["home,go,mine,1", "home,stay,home,1", "mine,go,home,1", "attic,go,home,1"]
    header = "state,action,next_state,probability"
    (folder / "odd_transitions.csv").write_text("\n".join([header, *rows]))
    features = ["home,0,1,0,0,3", "mine,1,1,1,0,4", "attic,5,1,2,1,5"]
    header = "state,gold,air,shine,ghosts,heat"
    (folder / "odd_features.csv").write_text("\n".join([header, *features]))
    (folder / "odd_start.csv").write_text(f"state,probability\n{start}\n")
    path = folder / "odd.toml"
    path.write_text(text)
    return path


def test_estimates_are_called_so(teachirl, folder):
    """What recordings earn is not what the expert does; nor is what inferred weights say."""
    out = teachirl("check", folder / "recorded.toml")[1]
    assert "the recordings earn, in the mean" in out and "the expert earns" not in out
    assert "Features, and what was recorded" in out and "  recorded" in out
    text = (folder / "recorded.toml").read_text()
    table = '[demonstration]\ntrajectories = "expert.csv"\nconfidence = 0.9\n'
    (folder / "inferred.toml").write_text(text.replace(table, ""))
    inferred = read_problem(folder / "inferred.toml")
    assert who_earns(inferred) == "an optimal policy earns, by the weights' estimate"
    out = teachirl("check", folder / "inferred.toml")[1]
    assert "What was recorded, and what an optimal policy does" in out
    assert "Features, and what an optimal policy for the estimate does" in out
    assert who_earns(read_problem(folder / "lake.toml")) == "the expert earns"


def test_what_looks_odd_is_told(teachirl, folder):
    code, out, err = teachirl("check", write_odd(folder))
    assert (code, err) == (0, "")
    assert "- No mistake was found, but look at 6 things below." in out
    for said in (
        "- 'ghosts' is 0 wherever one can get: no policy has any of it",
        "- 'air' has the same value wherever one can get: no policy can change it",
        "- 'gold', 'shine' are equal wherever one can get",
        # Heat is 3 more than gold wherever one gets.
        "- 'heat', 'gold' could be taught, but what the learner sees already says as much",
        "- 1 state is never reached from the start, whatever one does: 'attic'.",
        "- plan.max_cost buys nothing",
    ):
        assert said in out
    rows = {line.split()[0]: line.split() for line in out.splitlines() if line}
    # The expert goes to and fro: half of 1000 steps at the mine, and γ/(1 − γ²) discounted.
    assert rows["gold"] == ["gold", "1", "5", "0", "1", "50", "%", "4.7368", "500", "4.7368"]


def test_multiples_are_told(teachirl, folder):
    path = write_odd(folder)
    table = folder / "odd_features.csv"
    table.write_text("state,gold,air,heat\nhome,0.1,1,3\nmine,0.3,1,3.6\nattic,0,1,2\n")
    assert "'gold'" not in teachirl("check", path)[1].split("Features, and")[0].split("in vain")[1]
    table.write_text("state,gold,air,heat\nhome,0.1,1,-0.3\nmine,0.3,1,-0.9\nattic,0,1,2\n")
    said = "- 'gold', 'heat' are multiples of each other wherever one can get"
    assert said in teachirl("check", path)[1]


def test_long_names_are_few_and_whole():
    names = tuple(f"left lane, slow; cars: left 1 ahead, middle behind, {i}" for i in range(32))
    said = _notice(Notice(Oddity.UNREACHED, names))
    assert said.startswith("32 states are never reached from the start, whatever one does: ")
    assert said.endswith(f": {names[0]!r}, {names[1]!r}, … (32 in all; --json lists them).")
    assert _notice(Notice(Oddity.UNREACHED, ("x" * 900,))).endswith(f"{'x' * 900!r}.")


def test_as_json(teachirl, folder):
    found = json.loads(teachirl("check", write_odd(folder), "--json")[1])["check"]
    assert [each["kind"] for each in found["oddities"]] == [
        *("NEVER", "CONSTANT", "SAME", "SEEN", "UNREACHED", "TOO_DEAR")
    ]
    assert len(found["warnings"]) == 6 and found["undiscounted_per"] == "1000 steps"
    heat = found["features"][4]
    assert (heat["name"], heat["seen"], heat["least"], heat["most"]) == ("heat", True, 3.0, 4.0)


def test_amounts_that_are_rounding_are_0(folder):
    problem = read_problem(write_odd(folder))
    found = look(problem)
    tiny = {"expert": 4.276e-17, "undiscounted": 4.276e-14, "earned": -1.7e-16}
    features = (replace(found.features[0], **tiny), *found.features[1:])
    table = what_there_is(problem, replace(found, features=features)).elements[1]
    shown = {
        column.heading: column.cell(features[0])
        for column in table.columns
        if column.heading in ("expert", "per 1000 steps", "earns")
    }
    assert shown == {"expert": "0", "per 1000 steps": "0", "earns": "0"}


def test_combinations_for_sale_are_listed_with_their_prices(teachirl, folder):
    bought = '[[teach.feature]]\nname = "nose"\ncost = 7.5\nweights = { gold = 1, heat = -2 }\n'
    path = write_odd(folder, ODD.replace("[plan]", bought + "[plan]"))
    out = teachirl("check", path)[1].splitlines()
    place = next(i for i, line in enumerate(out) if line.startswith("combination "))
    assert out[place + 1].split() == ["nose", "7.5", "1", "gold,", "−2", "heat"]
    [found] = json.loads(teachirl("check", path, "--json")[1])["check"]["combinations"]
    assert found == {"name": "nose", "price": 7.5, "weights": {"gold": 1.0, "heat": -2.0}}


def test_where_an_environment_s_episodes_end_is_not_taken_for_a_mistake(teachirl, tmp_path):
    """Holes and the goal are never entered, as episodes end before: that is as it should be."""
    pytest.importorskip("gymnasium")
    path = tmp_path / "lake.toml"
    text = '[world]\ngymnasium = "FrozenLake-v1"\ndiscount = 0.9\n[learner]\nsees = []\n'
    path.write_text(text + '[teach]\nfeatures = "all"\n')
    code, out, _ = teachirl("check", path)
    assert code == 0 and "never reached" not in out
    world = read_problem(path).world
    never = np.setdiff1d(np.arange(world.mdp.n_states), world.mdp.dynamics.reachable)
    assert set(world.finals) == set(never.tolist()) == {5, 7, 11, 12, 15}


def test_what_the_expert_earns_is_the_same_wherever_it_stands(teachirl, tmp_path):
    """The goal is reached in the sixth step: 0.9⁵ = 0.59049 would be 0.5904 rounded down, as what
    is guaranteed is, and 0.5905 to the nearest."""
    pytest.importorskip("gymnasium")
    path = tmp_path / "lake.toml"
    path.write_text(
        '[world]\ngymnasium = "FrozenLake-v1"\narguments = { is_slippery = false }\n'
        'discount = 0.9\n[reward.weights]\ngoal = 1.0\n[learner]\nsees = ["goal"]\n'
    )
    for command in ("check", "certify", "teach", "frontier"):
        out = teachirl(command, path)[1]
        assert re.search(r"the expert earns +0\.59049\n", out)
        # Bounds are searched to a millionth: what is guaranteed may be less by the sixth digit.
        assert set(re.findall(r"0\.590\d*", out)) <= {"0.59049", "0.590489"}
    found = json.loads(teachirl("check", path, "--json")[1])["check"]["reward"]
    assert found == pytest.approx(0.9**5, abs=1e-9)


def test_mistakes_of_all_kinds_are_told_at_once(teachirl, folder):
    text = ODD.replace('"heat"]', '"hot"]').replace("gold = 1.0", "gould = 1.0")
    text = text.replace("max_cost = 1.0", "max_cost = -1.0\nguarante = 0.5\n[demonstration]\n")
    path = write_odd(folder, text + 'policy = "none.csv"\n', start="home,0.5\ncellar,0.5")
    code, out, err = teachirl("check", path)
    assert (code, out) == (2, "")
    lines = [line.replace(f"teachirl: {path}, ", "") for line in err.splitlines()]
    wanted = (
        "plan.max_cost: expected at least 0",
        "plan.guarante: there is no such key",
        "world.start: odd_start.csv, line 3: there is no state 'cellar'",
        "reward.weights.gould: there is no feature 'gould'; did you mean 'gold'?",
        "learner.sees[0]: there is no feature 'hot'",
        "demonstration.policy: cannot read 'none.csv'",
    )
    assert len(lines) == len(wanted)
    for line, start in zip(lines, wanted, strict=True):
        assert line.startswith(start)
    # Other commands tell the first few, and where to find the others.
    assert teachirl("certify", path)[2].count("\n") == 6


def test_many_rows_can_be_wrong(teachirl, folder):
    path = write_odd(folder)
    table = folder / "odd_transitions.csv"
    table.write_text(table.read_text().replace(",1", ",0.9"))
    assert teachirl("check", path)[2].count("to sum to 1 within 1e-09, got 0.9\n") == 4


def test_mistakes_of_all_kinds_in_a_table_are_told_at_once(teachirl, folder):
    path = write_odd(folder, start="home,0.4\nattic,0.4\ncellar,0.1")
    moves = ["home,go,mine,1", "home,stay,home,1", "home,stay,home,0", "mine,go,home,0.7"]
    header = "state,action,next_state,probability"
    table = folder / "odd_transitions.csv"
    table.write_text("\n".join([header, *moves, "attic,go,home,1"]))
    features = folder / "odd_features.csv"
    features.write_text("state,gold,heat\nmine,0,3\nmine,1,4\n")

    def told():
        lines = teachirl("check", path)[2].splitlines()
        return [line.replace(f"teachirl: {path}, world.", "") for line in lines]

    assert told() == [
        "transitions: odd_transitions.csv, line 4: expected each transition once, got that of line "
        "3 again",
        "transitions: odd_transitions.csv, line 5: expected the probabilities of state 'mine', "
        "action 'go' to sum to 1 within 1e-09, got 0.7",
        "features: odd_features.csv, line 3: expected each state once, got that of line 2 again",
        "features: odd_features.csv: expected a row for state 'home', got none",
        "features: odd_features.csv: expected a row for state 'attic', got none",
        "start: odd_start.csv, line 4: there is no state 'cellar'; there are: home, mine, attic",
        "start: odd_start.csv: expected probabilities that sum to 1 within 1e-09, got 0.9",
    ]
    table.write_text("\n".join([header, "home,go,hoem,1", "home,stay,home,-1"]))
    assert told()[:2] == [
        "transitions: odd_transitions.csv, line 2: next_state 'hoem' has no transitions of its "
        "own; leave it empty where the episode ends; did you mean 'home'?",
        "transitions: odd_transitions.csv, line 3: expected a probability from 0 to 1, got -1",
    ]
    # So are cells that cannot be read, up to a limit.
    table.write_text("\n".join([header, "home,go", "mine,go,home,x", *["a,b,c,?"] * 30]))
    lines = told()
    assert lines[:2] == [
        "transitions: odd_transitions.csv, line 2: expected 4 cells, as in the header, got 2",
        "transitions: odd_transitions.csv, line 3, probability: expected a finite number, got 'x'",
    ]
    assert lines[19] == ("transitions: odd_transitions.csv: what follows line 21 was not looked at")


def test_one_round_tells_the_mistakes_of_the_file_and_of_its_tables(teachirl, folder):
    """A cell, a name, a sum and a row that comes twice, beside keys that are wrong; and none of
    these makes another look wrong."""
    text = ODD.replace("discount = 0.9", "discount = 1.0\ncolour = 3\nmap = 'map.csv'")
    text = text.replace("gold = 1.0", 'gould = "x"').replace("cost = 2.0", "cost = -2.0")
    text = text.replace("max_cost = 1.0", 'teacher = "GapGredy"\nlimits = { people = 1 }')
    path = write_odd(folder, text, start="home,0.5\nattick,0.5")
    moves = ["home,go,mine,1", "home,stay,home,0.5", "home,stay,mine,many", "mine,go,home,0.7"]
    moves += ["mine,dig,hoem,1", "attic,go,home,0.5", "attic,go,home,0.5"]
    header = "state,action,next_state,probability"
    (folder / "odd_transitions.csv").write_text("\n".join([header, *moves]))
    features = ["home,0,1", "mien,1,4", "home,1,", "attic,none,5"]
    (folder / "odd_features.csv").write_text("\n".join(["state,gold,heat", *features]))
    code, out, err = teachirl("check", path)
    assert (code, out) == (2, "")
    lines = [line.removeprefix(f"teachirl: {path}, ") for line in err.splitlines()]
    table = "world.transitions: odd_transitions.csv, line"
    assert [line.split("; ")[0] for line in lines[:-1]] == [
        "world.discount: expected less than 1, got 1.0",
        "world.colour: there is no such key",
        "reward.weights.gould: expected a number, got 'x'",
        "teach.feature[0].cost: expected more than 0, got -2.0",
        "plan.teacher: there is no teacher 'GapGredy'",
        f"{table} 4, probability: expected a finite number, got 'many'",
        f"{table} 6: next_state 'hoem' has no transitions of its own",
        f"{table} 8: expected each transition once, got that of line 7 again",
        f"{table} 5: expected the probabilities of state 'mine', action 'go' to sum to 1 within "
        "1e-09, got 0.7",
        "world.features: odd_features.csv, line 4, heat: expected a finite number, got ''",
        "world.features: odd_features.csv, line 5, gold: expected a finite number, got 'none'",
        "world.features: odd_features.csv, line 3: there is no state 'mien'",
        "world.features: odd_features.csv, line 4: expected each state once, got that of line 2 "
        "again",
        "world.start: odd_start.csv, line 3: there is no state 'attick'",
        "reward.weights.gould: there is no feature 'gould'",
        "plan.limits.people: there is no feature 'people'",
    ]
    waiting = f"teachirl: {path}: not looked at, as the world must be right first: world.map"
    assert lines[-1] == waiting


def test_rows_that_are_left_out_make_nothing_else_look_wrong(teachirl, folder):
    """A row without its cells may be any: what it would say is not missed elsewhere."""
    path = write_odd(folder, start="home,0.5\nmine")
    rows = ["home,go,mine,0.5", "home,go", "mine,go,attic,1", "mine,,home,1", "mine,dig,home,2"]
    header = "state,action,next_state,probability"
    (folder / "odd_transitions.csv").write_text("\n".join([header, *rows]))
    (folder / "odd_features.csv").write_text("state,gold,heat\nhome,0,3\nattic,1,2\nx,y,0,0\n")
    lines = teachirl("check", path)[2].splitlines()
    assert [line.removeprefix(f"teachirl: {path}, world.") for line in lines] == [
        "transitions: odd_transitions.csv, line 5: expected a name in column 'action', got an "
        "empty cell",
        "transitions: odd_transitions.csv, line 3: expected 4 cells, as in the header, got 2",
        "transitions: odd_transitions.csv, line 6: expected a probability from 0 to 1, got 2",
        "features: odd_features.csv, line 4: expected 3 cells, as in the header, got 4",
        "start: odd_start.csv, line 3: expected 2 cells, as in the header, got 1",
    ]


def test_keys_that_are_misspelt_hide_nothing_of_what_they_say(teachirl, folder):
    text = ODD.replace("[learner]", "[lerner]").replace('"heat"]', '"hot"]')
    path = write_odd(folder, text.replace("max_cost", "max_cots"), start="home,0.999")
    path.write_text(path.read_text().replace("discount = 0.9", "discount = 0.9\nnormalise = true"))
    lines = teachirl("check", path)[2].splitlines()
    assert sorted(line.removeprefix(f"teachirl: {path}, ") for line in lines) == [
        "learner.sees[0]: there is no feature 'hot'; did you mean 'ghosts'?",
        "learner: expected this key, got nothing",
        "lerner: there is no such key; did you mean 'learner'?",
        "plan.max_cots: there is no such key; did you mean 'max_cost'?",
        "world.normalise: there is no such key; did you mean 'normalize'?",
    ]
    # Of a world that nobody can guess nothing is looked at, and this is said.
    path.write_text(ODD.replace('features = "odd_features.csv"', "features = 3"))
    assert teachirl("check", path)[2].splitlines() == [
        f"teachirl: {path}, world.features: expected a text, got 3",
        f"teachirl: {path}, world: the files that it names were not looked at, as it must be right "
        "first",
    ]


def test_a_start_that_was_rounded_can_be_normalized(teachirl, folder):
    path = write_odd(folder, start="home,0.333\nmine,0.333\nattic,0.333")
    err = teachirl("check", path)[2]
    assert "got 0.999; if that is rounding, world.normalize = true divides by the sum" in err
    code, out, _ = teachirl("check", path, "--set", "world.normalize=true")
    assert code == 0 and "never reached" not in out
    rounded = path.read_text().replace("discount = 0.9", "discount = 0.9\nnormalize = true")
    path.write_text(rounded)
    np.testing.assert_allclose(read_problem(path).mdp.start, 1 / 3, rtol=1e-15)
    # What misses 1 by more is a mistake, and nothing is offered.
    write_odd(folder, rounded, start="home,0.5\nmine,0.4")
    err = teachirl("check", path)[2]
    assert "sum to 1 within 0.001, got 0.9\n" in err


@pytest.mark.parametrize("dense", [0, 4])
def test_amounts_of_whole_episodes(monkeypatch, dense):
    monkeypatch.setitem(undiscounted.__globals__, "DENSE", dense)
    lake = read_problem(PROBLEMS / "lake.toml").mdp
    found = undiscounted(lake, ti.Policy.deterministic(lake, [0, 0, 1, 0]))
    assert found is not None and found.per == "episode"
    # Nine of ten begin at the shore, where one takes 4/3 steps; half of all get to the hut.
    np.testing.assert_allclose(found.amounts[:3], [1.0, 0.5, 0.5], atol=1e-8)
    np.testing.assert_allclose(found.amounts[3], 0.9 * 4 / 3 + 1.5, atol=1e-8)
    assert undiscounted(lake, None) is None


class TestWorlds:
    def test_names_the_features_of_one(self, teachirl):
        code, out, err = teachirl("worlds", "driving", "--set", "sight=1")
        assert (code, err) == (0, "")
        rows = [line.split("  ")[0] for line in out.splitlines()[2:]]
        assert rows == list(ti.worlds.driving(sight=1).mdp.feature_names)
        assert out.splitlines()[1].split() == ["feature", "weight", "price"]

    def test_of_gymnasium(self, teachirl):
        found = json.loads(teachirl("worlds", "Taxi-v4", "--json")[1])["world"]
        weights = {each["name"]: each["weight"] for each in found["features"]}
        assert weights["delivery"] == 21.0 and weights["reward"] == 0.0

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["moon"], "moon, world: there is no world 'moon'"),
            (["gridworld"], "gridworld needs size: say it, as in --set size=4"),
            (["gridworld", "--set", "sise=4"], "--set sise=4: there is no such key; did you mean"),
            (["chain", "--set", "cell=3"], "--set cell=3: there is no such key; did you mean"),
            (["chain", "--set", "cells=x"], "--set cells=x: expected a whole number"),
        ],
    )
    def test_mistakes(self, teachirl, arguments, message):
        code, out, err = teachirl("worlds", *arguments)
        assert (code, out) == (2, "") and message in err


@pytest.mark.parametrize("command", [[], ["runs"]])
def test_help_cuts_no_summary(teachirl, command):
    code, out, _ = teachirl(*command, "--help")
    assert code == 0 and "..." not in out.split("Commands:")[1]


def test_certify_has_plain_amounts_beside_discounted_ones(teachirl):
    found = json.loads(teachirl("certify", PROBLEMS / "lake.toml", "--json")[1])["assessment"]
    assert found["amounts_per"] == {"expert": "episode", "worst": "episode"}
    amounts = {each["name"]: each for each in found["amounts"]}
    assert amounts["cold"]["expert"] == pytest.approx(1.0, abs=1e-8)
    discounted = {each["name"]: each["expert"] for each in found["differences"]}
    assert discounted.get("cold", 0.79) < 1.0
    out = teachirl("certify", PROBLEMS / "grid.toml")[1]
    assert "expert, per 1000 steps  worst if discounted, per 1000 steps" in out
    assert "in plain amounts another may be worse" in " ".join(out.split())


def test_a_weight_that_no_policy_can_earn_is_noticed(teachirl, folder):
    """Gold lies where one may start and nobody comes back to."""
    path = write_odd(folder, start="home,0.5\nattic,0.5")
    text = (folder / "odd_features.csv").read_text()
    (folder / "odd_features.csv").write_text(text.replace("mine,1,", "mine,0,"))
    out = teachirl("check", path)[1]
    assert "- All policies have the same amount of 'gold', so that the weight says nothing" in out
