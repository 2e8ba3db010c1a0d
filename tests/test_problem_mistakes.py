"""Mistakes in the keys and tables of problem files are told in one message, wherever they are."""

import re

import pytest

from problem_files import TOML, copied, message_of
from teachirl.app.problem import ProblemFileError


@pytest.fixture
def folder(tmp_path):
    return copied(tmp_path)


# The problem, (old, new) text in it, and what the message must say.
KEYS = [
    # The file as a whole.
    ("grid", ("[world]", "[world"), r"this is not TOML: .*line 1"),
    ("grid", ("size = 4", "size = 4\nsize = 5"), r"this is not TOML.*overwrite"),
    ("grid", ("size = 4", "size = "), r"this is not TOML.*Invalid value"),
    ("grid", ("size = 4", "size = " + "9" * 5000), r"this is not TOML"),
    ("grid", ("size = 4", "size = " + "[" * 5000), r"expected a few lists in lists"),
    ("grid", ("size = 4", "size" + ".a" * 50 + " = 1"), r"keys of at most 32 parts"),
    ("grid", ("size = 4", "size" + '."a\\"."' * 50 + " = 1"), r"keys of at most 32 parts"),
    ("grid", ("[world]", "titel = 'x'\n[world]"), r"titel: there is no such key; .*'title'"),
    ("grid", ("[world]", "title = 7\n[world]"), r"title: expected a text, got 7"),
    ("grid", ("[world]", f"title = '{'x' * 201}'\n[world]"), r"title: expected at most 200"),
    ("grid", ("[world]", "seed = -1\n[world]"), r"seed: expected at least 0, got -1"),
    ("grid", ("[world]", "seed = 1.5\n[world]"), r"seed: expected a whole number, got 1\.5"),
    ("grid", ("[world]", "seed = true\n[world]"), r"seed: expected a whole number, got true"),
    ("grid", ("[world]", f"seed = {10**30}\n[world]"), r"seed: expected less than"),
    ("grid", ("[world]", "allow_outside = 1\n[world]"), r"allow_outside: expected true or false"),
    ("grid", ("[world]", "world = 3\n[planet]"), r"world: expected a table, got 3"),
    ("grid", ("[world]", "[wurld]"), r"wurld: there is no such key; did you mean 'world'"),
    ("grid", ("[learner]", "[lerner]"), r"learner: expected this key, got nothing"),
    ("grid", ("[learner]", "[lerner]"), r"lerner: there is no such key; .* 'learner'"),
    ("grid", ("[teach]", "[[teach]]"), r"teach: expected a table, got a list of 1 entry"),
    # The world.
    ("grid", ('name = "gridworld"', ""), r"world: expected one of the keys name, gymnasium"),
    ("grid", ('name = "gridworld"', 'nam = "gridworld"'), r"world: .* did you mean 'name'"),
    ("grid", ('"gridworld"', '"gridwrold"'), r"world: there is no world .*'gridworld'\?"),
    ("grid", ('"gridworld"', '"Gridworld"'), r"world: there is no world .*'gridworld'\?"),
    (
        "grid",
        ('"gridworld"', '"moon"'),
        r"world: there is no world 'moon'; there are: .*chain, .*gridworld",
    ),
    ("grid", ('"gridworld"', '"from_gymnasium"'), r"world: there is no world"),
    ("grid", ('"gridworld"', '"__class__"'), r"world: there is no world"),
    ("grid", ('"gridworld"', "3"), r"world: there is no world 3"),
    ("grid", ('"gridworld"', "[]"), r"world: there is no world a list of 0 entries"),
    ("grid", ("size = 4", ""), r"world\.size: expected this key, got nothing"),
    ("grid", ("size = 4", "sise = 4"), r"world\.sise: there is no such key; .*'size'"),
    ("grid", ("size = 4", 'size = "4"'), r"world\.size: expected a whole number, got '4'"),
    ("grid", ("size = 4", "size = 4.0"), r"world\.size: expected a whole number, got 4\.0"),
    ("grid", ("size = 4", "size = 0"), r"world: size must be at least 1, got 0"),
    ("grid", ("size = 4", "size = -100000"), r"world: size must be at least 1"),
    ("grid", ("size = 4", "size = 100000"), r"at most 5000000 states.*got 10000000000 states"),
    ("grid", ("size = 4", f"size = {10**100}"), r"world: expected a world of at most"),
    ("grid", ("block = 2", "block = 3"), r"world: block must divide size 4, got 3"),
    ("grid", ("slip = 0.1", "slip = nan"), r"world\.slip: expected a finite number, got nan"),
    ("grid", ("slip = 0.1", "slip = inf"), r"world\.slip: expected a finite number, got inf"),
    ("grid", ("slip = 0.1", "slip = 1.5"), r"world: slip must lie in \[0, 1\], got 1\.5"),
    ("grid", ("slip = 0.1", "discount = 1"), r"world: discount must lie strictly between"),
    ("grid", ("slip = 0.1", "start = 1"), r"world\.start: expected a list, got 1"),
    ("grid", ("slip = 0.1", "start = [1, 0]"), r"world: start must have shape \(16,\)"),
    ("grid", ("slip = 0.1", "rng = 3"), r"world\.rng: there is no such key"),
    ("grid", ("slip = 0.1", 'file = "x.npz"'), r"world: expected only one of the keys"),
    ("road", ("density = 0.2", "density = 2"), r"world\.traffic\[0\]: density of the only lane"),
    ("road", ("density = 0.2", "densty = 0"), r"world\.traffic\[0\]\.densty: .*'density'"),
    ("road", ("sight = 1", "sight = 99"), r"world: sight must lie in 1 … 6, got 99"),
    ("taxi", ('"Taxi-v4"', '"Taxy-v4"'), r"world\.gymnasium: .*Taxy"),
    ("taxi", ('"Taxi-v4"', '"CartPole-v1"'), r"world\.gymnasium: .*no transition table"),
    ("taxi", ('"Taxi-v4"', '"os:Taxi-v4"'), r"world\.gymnasium: expected an id like"),
    ("taxi", ("discount = 0.95", ""), r"world\.discount: expected this key"),
    ("taxi", ("discount = 0.95", "discount = 1.0"), r"world\.discount: expected less than 1"),
    ("taxi", ("discount = 0.95", "discount = 0"), r"world\.discount: expected more than 0"),
    ("lake", ('start = "start.csv"', "start = 3"), r"world\.start: expected a text, got 3"),
    ("lake", ('"features.csv"', '""'), r"world\.features: expected a text that is not empty"),
    ("lake", ("discount = 0.9", "discount = false"), r"world\.discount: expected a number"),
    # Files.
    ("lake", ("transitions.csv", "lost.csv"), r"world\.transitions: cannot read 'lost\.csv'"),
    ("lake", ("transitions.csv", "../start.csv"), r"world\.transitions: expected a file in the"),
    ("lake", ("transitions.csv", "a/../../b.csv"), r"world\.transitions: expected a file in the"),
    ("lake", ("transitions.csv", "/etc/passwd"), r"world\.transitions: expected a file in the"),
    ("lake", ("transitions.csv", "."), r"world\.transitions: expected a regular file"),
    ("lake", ("transitions.csv", "a\\u0000b"), r"world\.transitions: expected the name of a file"),
    ("lake", ("transitions.csv", "x" * 900), r"world\.transitions: cannot read"),
    (
        "lake",
        ("transitions.csv", "lake.toml"),
        r"world\.transitions: .* ends in \.csv or \.parquet",
    ),
    ("lake", ("transitions.csv", "features.csv"), r"expected a column 'action', got state, cold"),
    ("lake", ("policy.csv", "rewards.csv"), r"demonstration\.policy: .*expected a column 'action'"),
    # The reward.
    ("grid", ("[reward.weights]", "[reward.wheights]"), r"reward\.wheights: .*'weights'"),
    ("grid", ('"cell 0" = 1.0', '"cell 9" = 1.0'), r"reward\.weights\.\'cell 9\': there is no"),
    ("grid", ('"cell 0" = 1.0', '"cell 0" = nan'), r"reward\.weights.*finite number, got nan"),
    ("grid", ('"cell 0" = 1.0', '"cell 0" = "1"'), r"reward\.weights.*expected a number, got '1'"),
    ("grid", ('"cell 0" = 1.0', f'"cell 0" = {10**400}'), r"reward\.weights"),
    ("grid", ('1.0\n"cell 3" = -1.0', "0"), r"reward\.weights: expected a weight that is not 0"),
    ("rewards", ('rewards = "rewards.csv"', ""), r"reward: expected one of the keys weights"),
    ("rewards", ('s.csv"\n\n[learner', 's.csv"\nweights = {cold = 1}\n[learner'), r"only one of"),
    ("recorded", ('"expert.jsonl"', '"start.csv"'), r"reward\.trajectories: .*column 'episode'"),
    ("recorded", ('"expert.jsonl"', '"view.npy"'), r"reward\.trajectories: cannot read"),
    ("recorded", ('"expert.jsonl"', '"lake.toml"'), r"reward\.trajectories: path must end in"),
    ("recorded", ('.jsonl"', '.jsonl"\nmax_residual = 1'), r"reward: max_residual is for rewards"),
    ("rewards", ('s.csv"\n\n[learner', 's.csv"\nmax_residual = 2\n[learner'), r"at most 1, got 2"),
    # What it sees.
    ("grid", ('sees = ["cell 1"]', ""), r"learner: expected one of the keys sees"),
    ("grid", ('["cell 1"]', '"cell 1"'), r"learner\.sees: expected a list, got 'cell 1'"),
    ("grid", ('["cell 1"]', "[1]"), r"learner\.sees\[0\]: expected a text, got 1"),
    ("grid", ('["cell 1"]', '["cel 1"]'), r"learner\.sees\[0\]: .*did you mean 'cell 1'\?"),
    ("grid", ('["cell 1"]', '["cell 1", "cell 1"]'), r"learner\.sees\[1\]: .*'cell 1' twice"),
    ("grid", ('["cell 1"]', '["cell 1"]\ncombination = []\nx = 1'), r"learner\.x: there is no"),
    ("lake", ("wet = -2.0 }", "wet = -2.0, x = 1 }"), r"combination\[0\]\.weights\.x: there is no"),
    ("lake", ("{ home = 1.0, wet = -2.0 }", "{}"), r"combination\[0\]\.weights: .*not empty"),
    ("lake", ("{ home = 1.0, wet = -2.0 }", "{ wet = 0 }"), r"weights: expected a weight that is"),
    (
        "lake",
        ('name = "comfort"', 'name = "step"'),
        r"combination\[0\]\.name: .*got 'step', a feature's",
    ),
    ("lake", ('name = "comfort"', ""), r"learner\.combination\[0\]\.name: expected this key"),
    (
        "recorded",
        ('"view.csv"', '"policy.csv"'),
        r"learner\.matrix: .*line 2, state: expected a fin",
    ),
    ("recorded", ('"view.csv"', '"start.csv"'), r"learner\.matrix: start\.csv, line 2, state"),
    # What could be taught.
    ("grid", ('features = "all"', 'features = "al"'), r"expected listed or all, .* mean 'all'"),
    ("grid", ('features = "all"', 'required = ["cell 0"]'), r"teach\.required\[0\]: .*are none"),
    ("lake", ('required = ["cold"]', 'required = ["could"]'), r"required\[0\]: .*mean 'cold'"),
    ("lake", ('required = ["cold"]', 'required = ["step"]'), r"no feature 'step' to teach"),
    ("lake", ('["cold"]', '["cold", "cold"]'), r"teach\.required\[1\]: .*'cold' twice"),
    ("lake", ('forbidden = ["wet"]', 'forbidden = ["cold"]'), r"'cold' is required as well"),
    ("lake", ("cost = 3.0", "cost = 0"), r"teach\.feature\[0\]\.cost: expected more than 0"),
    ("lake", ("cost = 3.0", "cost = -inf"), r"teach\.feature\[0\]\.cost: expected"),
    ("lake", ("cost = 3.0", "price = 3.0"), r"teach\.feature\[0\]\.price: there is no such key"),
    ("lake", ('name = "cold"', 'name = "colt"'), r"feature\[0\]\.name: .*mean 'cold'"),
    (
        "lake",
        ('name = "misery"', 'name = "cold"'),
        r"feature\[1\]\.name: .*got 'cold', a feature's",
    ),
    ("lake", ("{ cold = 1.0, wet = 1.0 }", "{ cold = 0 }"), r"feature\[1\]\.weights: expected a"),
    # What it is shown.
    ("rewards", ('show = "choose"', 'show = "optimum"'), r"show: expected optimal or choose"),
    ("rewards", ('show = "choose"', 'show = "choose"\npolicy = "policy.csv"'), r"only one of"),
    ("rewards", ('show = "choose"', "confidence = 0.9"), r"confidence is for trajectories only"),
    ("recorded", ("confidence = 0.9", "confidence = 1"), r"confidence: expected less than 1"),
    ("recorded", ("confidence = 0.9", "confidence = nan"), r"confidence: expected a finite"),
    # The plan.
    ("recorded", ('"PerfGreedy"', '"PerfGreddy"'), r"plan\.teacher: .*did you mean 'PerfGreedy'"),
    ("recorded", ('"PerfGreedy"', "{}"), r"plan\.teacher: expected the key name, .*GapGreedy"),
    ("recorded", ('"PerfGreedy"', "3"), r"plan\.teacher: expected the name of a teacher"),
    ("recorded", ('"PerfGreedy"', '"Situation"'), r"plan\.teacher: there is no teacher"),
    ("recorded", ("max_steps = 50", "max_steps = 0"), r"plan\.learner: max_steps must be"),
    ("recorded", ("max_steps = 50", "max_step = 1"), r"learner\.max_step: .*mean 'max_steps'"),
    ("lake", ("shortlist = 2", "shortlist = 0"), r"plan\.teacher: shortlist must be"),
    ("lake", ("shortlist = 2", "shortlist = 2.5"), r"plan\.teacher\.shortlist: expected a whole"),
    ("lake", ('"Projection"', '"Projektion"'), r"plan\.learner: .*did you mean 'Projection'"),
    ("lake", ("budget = 2", "budget = -2"), r"plan\.budget: expected at least 0, got -2"),
    ("lake", ("budget = 2", "budget = 2.0"), r"plan\.budget: expected a whole number"),
    ("lake", ("budget = 2", "budgets = 2"), r"plan\.budgets: .*did you mean 'budget'"),
    ("lake", ("max_cost = 8.0", "max_cost = inf"), r"plan\.max_cost: expected a finite number"),
    ("lake", ("guarantee = 0.9", "guarantee = 90"), r"plan\.guarantee: expected at most 1"),
    ("lake", ("mismatch = 0.0", "mismatch = 1979-05-27"), r"plan\.mismatch: expected a number"),
]


@pytest.mark.parametrize(("problem", "change", "expected"), KEYS)
def test_keys(folder, problem, change, expected):
    assert TOML[problem].count(change[0]) == 1
    path = folder / f"{problem}.toml"
    path.write_text(TOML[problem].replace(*change))
    assert re.search(expected, message_of(path), re.DOTALL)


# The table, (old, new) bytes in it, and what the message must say.
TABLES = [
    (
        "transitions.csv",
        b"",
        b"",
        r"transitions\.csv: expected a column 'state', got an empty file",
    ),
    ("transitions.csv", b"state,", b"State,", r"expected a column 'state', got State, action"),
    ("transitions.csv", b"probability", b"p", r"expected a column 'probability'"),
    ("transitions.csv", b"action,next_state", b"action,action", r"got 'action' twice"),
    ("transitions.csv", b"probability", b"probability,", r"a name for column 5, got ''"),
    ("transitions.csv", b"probability", b"probability,x", r"there is no such column 'x'"),
    ("transitions.csv", b"ice,0.75", b"ice", r"line 2: expected 4 cells, as in the header, got 3"),
    ("transitions.csv", b"ice,0.75", b"ice,0.75,1", r"line 2: expected 4 cells.* got 5"),
    (
        "transitions.csv",
        b"0.75",
        b"nan",
        r"line 2, probability: expected a finite number, got 'nan'",
    ),
    ("transitions.csv", b"0.75", b"1e999", r"line 2, probability: expected a finite number"),
    ("transitions.csv", b"0.75", b"7_5", r"line 2, probability: expected a finite number"),
    ("transitions.csv", b"0.75", b"", r"line 2, probability: expected a finite number, got ''"),
    ("transitions.csv", b"0.75", b"three", r"line 2, probability: .* got 'three'"),
    (
        "transitions.csv",
        b"0.75",
        b"-0.75",
        r"line 2: expected a probability from 0 to 1, got -0\.75",
    ),
    ("transitions.csv", b"0.75", b"1.75", r"line 2: expected a probability from 0 to 1, got 1\.75"),
    (
        "transitions.csv",
        b"0.75",
        b"0.74",
        r"line 2: .* state 'shore', action 'walk' to sum to 1 .*0\.99",
    ),
    (
        "transitions.csv",
        b"walk,ice",
        b"walk,shore",
        r"line 3: expected each transition once.* line 2",
    ),
    (
        "transitions.csv",
        b"walk,ice",
        b"walk,icy",
        r"line 2: next_state 'icy' has no tr.*mean 'ice'",
    ),
    ("transitions.csv", b"hut,wait,,1\n", b"", r"line 5: next_state 'hut' has no transitions"),
    (
        "transitions.csv",
        b"shore,walk,ice",
        b",walk,ice",
        r"line 2: expected a name in column 'state'",
    ),
    (
        "transitions.csv",
        b"shore,walk,ice",
        b"shore,,ice",
        r"line 2: expected a name in column 'action'",
    ),
    ("transitions.csv", b"walk,ice", b'walk,"ice', r"expected comma-separated values, got a bad"),
    ("transitions.csv", b"walk,ice", b"walk," + b"x" * 2000, r"a name of at most 1000 characters"),
    ("transitions.csv", b"walk,ice", b"walk," + b"x" * 200_000, r"field larger than field limit"),
    (
        "transitions.csv",
        b"shore,walk,ice",
        b"sh\xf6re,walk,ice",
        r"line 2: expected UTF-8 text, got byte 0xf6",
    ),
    ("transitions.csv", b"state,", b"\xff\xfestate,", r"got UTF-16; save it as UTF-8"),
    ("features.csv", b"state,cold,wet,home,step", b"state;cold;wet", r"separated by commas"),
    ("features.csv", b"hut,0", b"hat,0", r"line 2: there is no state 'hat'; did you mean 'hut'"),
    ("features.csv", b"hut,0,0,1,1\n", b"", r"expected a row for state 'hut', got none"),
    ("features.csv", b"hut,0", b"ice,0", r"line 4: expected each state once, .*line 2 again"),
    ("features.csv", b"0.5", b"inf", r"line 4, wet: expected a finite number, got 'inf'"),
    ("features.csv", b"hut,0,0,1,1\nshore,0,0,0,1\nice,1,0.5,0,1\n", b"", r"expected rows below"),
    ("features.csv", b"cold,wet", b"cold,cold", r"expected distinct columns, got 'cold' twice"),
    ("start.csv", b"0.9", b"0.8", r"start\.csv: expected probabilities that sum to 1 .*0\.9"),
    ("start.csv", b"ice", b"shore", r"line 3: expected each state once"),
    ("start.csv", b"ice", b"end", r"line 3: there is no state 'end'"),
    ("policy.csv", b"shore,walk,0.5\n", b"", r"line 2: .* of state 'shore' to sum to 1, got 0\.5"),
    ("policy.csv", b"ice,walk,1\nice,wait,0\n", b"", r"'ice' to sum to 1, got no row of it"),
    (
        "policy.csv",
        b"ice,walk",
        b"hut,walk",
        r"line 4: action 'walk' does not exist in state 'hut'",
    ),
    ("policy.csv", b"ice,walk", b"ice,wark", r"line 4: there is no action 'wark'; .*'walk'"),
    ("policy.csv", b"ice,wait,0", b"ice,walk,0", r"line 5: expected each state and action once"),
    ("rewards.csv", b"ice,-1\n", b"", r"rewards\.csv: expected a row for state 'ice', got none"),
    ("rewards.csv", b"ice,-1", b"end,1\nice,-1", r"is left over; add features"),
    ("rewards.csv", b"-1", b"1e-", r"line 3, reward: expected a finite number, got '1e-'"),
    ("rewards.csv", b"ice,-1\nhut,2", b"ice,0\nhut,0", r"expected a reward that is not 0"),
    (
        "expert.jsonl",
        b'["ice"]',
        b'["lake"]',
        r"reward\.trajectories: expert\.jsonl, line 3, states\[0\]",
    ),
    ("expert.jsonl", b"false", b"no", r"reward\.trajectories: .*line 3: .*bad JSON"),
    ("expert.jsonl", b'{"states": ["shore", "ice"', b"", r"reward\.trajectories: .*line 1"),
    ("expert.csv", b"0,1,ice", b"0,2,ice", r"demonstration\.trajectories: .*line 3, step"),
    ("expert.csv", b"wait,true", b"wait,", r"demonstration\.trajectories: .*line 4, terminated"),
    (
        "pair_features.csv",
        b"hut,wait",
        b"hut,walk",
        r"line 2: state 'hut', action 'walk' has no tr",
    ),
    ("pair_features.csv", b"hut,wait,0,0,1,1\n", b"", r"a row for state 'hut', action 'wait'"),
    ("view.csv", b"home,cold", b"home,colt", r"learner\.matrix: .*no feature 'colt'; .*'cold'"),
    ("view.csv", b"nice", b"frost", r"learner\.matrix: expected distinct names, got 'frost' twice"),
    ("view.csv", b"1,-1", b"1,nan", r"learner\.matrix: view\.csv, line 2, cold: expected a finite"),
]
USERS = {"rewards": ("rewards.csv",), "recorded": ("expert", "pair", "view")}


@pytest.mark.parametrize(("name", "old", "new", "expected"), TABLES)
def test_tables(folder, name, old, new, expected):
    path = folder / name
    path.write_bytes(path.read_bytes().replace(old, new, 1) if old else b"")
    users = [user for user, starts in USERS.items() if name.startswith(starts)]
    assert re.search(expected, message_of(folder / f"{(*users, 'lake')[0]}.toml"), re.DOTALL)


def test_several_mistakes_are_told_at_once(folder):
    path = folder / "grid.toml"
    path.write_text(
        TOML["grid"].replace("size = 4", 'size = "4"').replace("slip", "slib")
        + "\n[plan]\nbudget = 1.5\nmax_cost = -1\nguarantee = 2\nteecher = 1\nmismatch = nan\n"
    )
    lines = message_of(path).splitlines()
    assert lines[0] == "world.size: expected a whole number, got '4'"
    assert lines[1] == "world.slib: there is no such key; did you mean 'slip'?"
    assert lines[2] == "plan.budget: expected a whole number, got 1.5"
    assert lines[-1] == "… and 2 more mistakes; teachirl check tells all of them"
    path.write_text(TOML["grid"].replace('"cell 0"', "ab").replace('"cell 3"', "cd"))
    assert len(message_of(path).splitlines()) == 2


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"cell 0" = 1.0', '"cell 0" = "1"', "reward.weights.'cell 0': expected a number, got '1'"),
        ("[reward.weights]", "[reward]\nwithin = -1\n[reward.weights]", "reward.within: expected"),
    ],
)
def test_a_mistake_in_the_reward_is_told_once(folder, old, new, told):
    """Nothing is said of a reward that is missing: it is there, and wrong."""
    path = folder / "grid.toml"
    path.write_text(TOML["grid"].replace(old, new))
    (line,) = message_of(path).splitlines()
    assert line.startswith(told)


def test_a_bad_row_of_transitions_hides_nothing_else(folder):
    """What can be told without them is told: of the start, and of names of features."""
    path, table = folder / "lake.toml", folder / "transitions.csv"
    path.write_text(TOML["lake"].replace("cold = -1.0", "could = -1.0"))
    (folder / "start.csv").write_text("state,probability\nshore,0.5\n")
    header, first, *rest = table.read_text().splitlines()
    for bad in (first.rsplit(",", 1)[0] + ",0.3", first.rsplit(",", 1)[0] + ",much"):
        table.write_text("\n".join([header, bad, *rest]))
        message = message_of(path)
        assert "world.transitions: transitions.csv, line 2" in message
        assert "world.start: start.csv: expected probabilities that sum to 1" in message
        assert "reward.weights.could: there is no feature 'could'; did you mean 'cold'?" in message
        assert len(message.splitlines()) == 3


def test_mistakes_that_are_only_counted_are_counted_everywhere():
    lines = [f"lake.toml, world.start: start.csv, line {i}: wrong" for i in range(20)]
    few = ProblemFileError(tuple(lines))
    assert str(few).splitlines()[-1] == "… and 15 more mistakes; teachirl check tells all of them"
    many = ProblemFileError((*lines, "lake.toml, world.start: … and 42 more mistakes"))
    assert str(many).splitlines()[-1] == "… and 57 more mistakes; teachirl check tells more of them"
