"""Problem files whose world is known from a log."""

import csv
import json
import sys

import gymnasium
import minari
import numpy as np
import pyarrow as pa
import pytest
from minari.data_collector.episode_buffer import EpisodeBuffer
from pyarrow import parquet

import teachirl as ti
from problem_files import message_of
from teachirl.app import cli
from teachirl.app.decisions import assess, log_doubt, plan
from teachirl.app.document.documents import answer
from teachirl.app.problem import read_problem
from teachirl.app.render.json import contents
from teachirl.mdp.robust_planning import respond

SUCCESSORS = """state,action,next_state
shore,walk,ice
shore,walk,shore
shore,wait,shore
ice,walk,hut
ice,walk,
ice,wait,ice
ice,jump,hut
ice,jump,shore
hut,wait,
"""
LOG = """state,action,next_state,count
shore,walk,ice,90
shore,walk,shore,30
shore,wait,shore,5
ice,walk,hut,60
ice,walk,,40
ice,wait,ice,7
hut,wait,,3
"""
FEATURES = "state,cold,home,step\nshore,0,0,1\nice,1,0,1\nhut,0,1,1\n"
TOML = """
[world]
log = "log.csv"
successors = "successors.csv"
features = "features.csv"
discount = 0.9
[reward.weights]
home = 10.0
cold = -1.0
[learner]
sees = ["cold"]
[teach]
features = "all"
"""
REWARDS = '[reward]\nplausible = "rewards.csv"\ntail = 0.1\n'
EPISODES = [
    {"states": ["shore", "ice", "hut"], "actions": ["walk", "walk", "wait"], "terminated": True},
    {"states": ["shore", "shore", "ice"], "actions": ["walk"] * 3, "terminated": True},
    {"states": ["ice", "ice"], "actions": ["wait", "walk"], "terminated": False},
]
# As they are numbered: in the order of `successors`; the last is the end.
STATES, ACTIONS = ["shore", "ice", "hut", ""], ["walk", "wait", "jump"]


@pytest.fixture
def folder(tmp_path):
    files = {"log.csv": LOG, "successors.csv": SUCCESSORS, "features.csv": FEATURES}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "episodes.jsonl").write_text("\n".join(map(json.dumps, EPISODES)))
    (tmp_path / "problem.toml").write_text(TOML)
    return tmp_path


def changed(folder, old, new):
    path = folder / "problem.toml"
    assert old in TOML
    path.write_text(TOML.replace(old, new))
    return path


def test_the_model_is_what_the_log_says(folder):
    problem = read_problem(folder / "problem.toml")
    model = problem.world.model
    assert model.n_steps == 235 and model.confidence == 0.95
    assert [model.pair_name(pair) for pair in model.untried] == ["ice, jump"]
    rows = model.nominal.dynamics.transitions.toarray()
    pairs = {model.pair_name(pair): pair for pair in range(model.n_pairs)}
    assert rows[pairs["shore, walk"]] == pytest.approx([0.25, 0.75, 0.0, 0.0])
    assert rows[pairs["ice, walk"]] == pytest.approx([0.0, 0.0, 0.6, 0.4])
    assert problem.task.model is model and problem.mdp is model.nominal
    found = plan(problem)
    assert found.steps[-1].guaranteed > found.steps[0].guaranteed


def test_columns_x_and_y_say_where_states_lie(folder):
    table = folder / "features.csv"
    header, *rows = table.read_text().split()
    places = {"shore": "0,0", "ice": "1,0", "hut": "2,0"}
    assert header.startswith("state,") and [row.split(",")[0] for row in rows] == list(places)
    wanted = read_problem(folder / "problem.toml")
    more = [f"{row},{place}" for row, place in zip(rows, places.values(), strict=True)]
    table.write_text("\n".join([f"{header},x,y", *more]))
    problem = read_problem(folder / "problem.toml")
    assert problem.mdp.feature_names == wanted.mdp.feature_names
    assert wanted.world.map is None and problem.world.map.cells.tolist() == [0, 1, 2, -1]


def test_episodes_are_counted(folder):
    problem = read_problem(changed(folder, "log.csv", "episodes.jsonl"))
    model = problem.world.model
    # The last step of the third was cut off: what followed is not known.
    assert model.n_steps == 7
    tries = {model.pair_name(pair): int(n) for pair, n in enumerate(model.tries)}
    assert tries["shore, walk"] == 3 and tries["ice, walk"] == 2 and tries["hut, wait"] == 1


def steps_of(episodes):
    """The columns of a table with a step a row."""
    rows = [
        (number, step, state, action, each["terminated"] and step == len(each["states"]) - 1)
        for number, each in enumerate(episodes)
        for step, (state, action) in enumerate(zip(each["states"], each["actions"], strict=True))
    ]
    names = ("episode", "step", "state", "action", "terminated")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def buffer_of(episode):
    """An episode as Minari keeps it, with what was seen last: the end, or where it was cut off."""
    states, count = episode["states"], len(episode["states"])
    ended = [False] * (count - 1) + [episode["terminated"]]
    last = "" if ended[-1] else states[-1]
    return EpisodeBuffer(
        observations=[STATES.index(state) for state in [*states, last]],
        actions=[ACTIONS.index(action) for action in episode["actions"]],
        rewards=[0.0] * count,
        terminations=ended,
        truncations=[False] * (count - 1) + [not ended[-1]],
    )


def as_csv(folder, episodes):
    columns = steps_of(episodes)
    with (folder / "log.csv").open("w", newline="") as file:
        csv.writer(file).writerows([columns, *zip(*columns.values(), strict=True)])
    return "log.csv"


def as_parquet(folder, episodes):
    parquet.write_table(pa.table(steps_of(episodes)), folder / "log.parquet")
    return "log.parquet"


def as_minari(kind):
    def write(folder, episodes):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MINARI_DATASETS_PATH", str(folder / "recordings"))
            minari.create_dataset_from_buffers(
                "walks-v0",
                [buffer_of(each) for each in episodes],
                observation_space=gymnasium.spaces.Discrete(len(STATES)),
                action_space=gymnasium.spaces.Discrete(len(ACTIONS)),
                env="FrozenLake-v1",
                eval_env="FrozenLake-v1",
                algorithm_name="none",
                author="nobody",
                author_email="nobody",
                code_permalink="none",
                description="none",
                data_format=kind,
            )
        return "recordings/walks-v0"

    return write


@pytest.mark.parametrize(
    "write",
    [as_csv, as_parquet, *map(as_minari, ("hdf5", "arrow", "parquet"))],
    ids=["csv", "parquet", "minari in hdf5", "minari in arrow", "minari in parquet"],
)
def test_a_log_says_the_same_in_every_format(folder, write):
    """As the same episodes in JSON lines do, to the last bit: in a problem file, and without."""
    wanted = read_problem(changed(folder, "log.csv", "episodes.jsonl"))
    name = write(folder, EPISODES)
    problem = read_problem(changed(folder, "log.csv", name))
    model, expected = problem.world.model, wanted.world.model
    possible = expected.nominal
    seen = ti.read_trajectories(folder / name, possible)
    log = ti.TransitionLog.from_trajectories(possible, seen)
    again = ti.estimate_mdp(
        log, possible.features, discount=0.9, successors=possible, start=possible.start
    )
    for found in (model, again):
        assert found.n_steps == 7
        assert [found.pair_name(pair) for pair in found.untried] == ["ice, jump"]
        for field in ("lower", "upper", "radius", "tries"):
            np.testing.assert_array_equal(getattr(found, field), getattr(expected, field))
        rows = found.successors, expected.successors
        assert (rows[0] != rows[1]).nnz == 0
        np.testing.assert_array_equal(rows[0].indices, rows[1].indices)
    least = [
        ti.certify(each, problem.view, problem.weights, problem.task.demonstration).least_reward
        for each in (model, again, expected)
    ]
    assert least[0] == least[1] == least[2]


@pytest.mark.parametrize(
    "write",
    [as_csv, as_parquet, as_minari("hdf5")],
    ids=["csv", "parquet", "minari"],
)
def test_steps_that_cannot_follow_are_refused_or_left_out(folder, write):
    """What led to them is not counted, as if the episode had been cut off there."""
    wrong = {"states": ["shore", "ice", "shore"], "actions": ["walk"] * 3, "terminated": False}
    name = write(folder, [*EPISODES, wrong])
    path = changed(folder, "log.csv", name)
    wanted = '1 of 11 steps, in 1 of 4 episodes, are impossible; skip = "impossible" leaves them'
    assert wanted in message_of(path)
    path.write_text(path.read_text().replace("[reward", 'skip = "impossible"\n[reward'))
    problem = read_problem(path)
    model = problem.world.model
    assert model.n_steps == 8
    tries = {model.pair_name(pair): int(n) for pair, n in enumerate(model.tries)}
    assert tries["shore, walk"] == 4 and tries["ice, walk"] == 2
    note = problem.world.note
    assert note.startswith("Of 4 recorded episodes, 1 has impossible steps, 1 in all. ")
    assert "1 step is left out. The confidence of the model supposes" in note


def test_of_a_table_of_steps_nothing_is_left_out(folder):
    path = changed(folder, "[reward.weights]", 'skip = "impossible"\n[reward.weights]')
    assert "skip is for episodes only" in message_of(path)


def test_a_table_in_parquet(folder):
    header, *lines = [line.split(",") for line in LOG.split()]
    columns = dict(zip(header, zip(*lines, strict=True), strict=True))
    columns["count"] = [int(count) for count in columns["count"]]
    parquet.write_table(pa.table(columns), folder / "log.parquet")
    problem = read_problem(changed(folder, "log.csv", "log.parquet"))
    assert problem.world.model.n_steps == 235


@pytest.mark.parametrize("name", ["log.csv", "successors.csv"])
def test_a_column_that_is_misspelt_is_named(folder, name):
    text = (folder / name).read_text()
    (folder / name).write_text(text.replace("next_state", "next_sate", 1))
    got = text.splitlines()[0].replace("next_state", "next_sate").replace(",", ", ")
    wanted = f"{name}: expected a column 'next_state', got {got}; is it 'next_sate'?"
    assert message_of(folder / "problem.toml").endswith(wanted)


def test_without_successors_any_state_may_follow(folder):
    model = read_problem(changed(folder, 'successors = "successors.csv"\n', "")).world.model
    assert (np.diff(model.successors.indptr)[:-1] == 4).all()
    assert len(model.untried) == 0


def test_features_of_what_follows(folder):
    rows = [line.split(",") for line in SUCCESSORS.split("\n")[1:] if line]
    lines = [f"{s},{a},{t},{int(s == 'ice')},{int(t == 'hut')},1" for s, a, t in rows]
    (folder / "features.csv").write_text(
        "state,action,next_state,cold,home,step\n" + "\n".join(reversed(lines))
    )
    problem = read_problem(folder / "problem.toml")
    model = problem.world.model
    home = model.outcomes[:, 1]
    assert home.sum() == 2 and (model.sets.indices[home == 1] == 2).all()
    # What walking on the ice brings depends on how often it holds.
    plan = ti.optimal_policy(model, problem.weights)
    assert plan.lower < ti.optimal_policy(model.nominal, problem.weights).value < plan.upper
    (folder / "features.csv").write_text(
        "state,action,next_state,cold,home,step\n" + "\n".join(lines[1:])
    )
    wanted = "expected a row for state 'shore', action 'walk' and next_state 'ice', got none"
    assert wanted in message_of(folder / "problem.toml")


def test_what_was_recorded_is_exact_and_confidences_add_up(folder):
    path = folder / "problem.toml"
    path.write_text(TOML + '[demonstration]\ntrajectories = "episodes.jsonl"\nconfidence = 0.9\n')
    problem = read_problem(path)
    shown = problem.task.demonstration
    found = ti.certify(problem.model, problem.view, problem.weights, shown, 5.0)
    assert found.confidence == pytest.approx(1.0 - 0.1 - 0.05)


def test_doubt_costs_what_knowing_a_pair_brings(folder):
    problem = read_problem(folder / "problem.toml")
    found = log_doubt(problem)
    assert found.steps == 235 and found.untried == ("ice, jump",)
    costly = {(each.state, each.action): each.cost for each in found.costly}
    assert costly["ice", "jump"] > costly["shore", "walk"] > 0.0
    assert sum(each.share for each in found.costly) == pytest.approx(1.0)
    before = problem.task.worst_case(problem.view, problem.task.demonstration, problem.matching)
    # Ten times as many steps in the costliest pair that was tried, and the guarantee rises.
    costliest = next(each for each in found.costly if each.tries)
    lines = [
        f"{line}0" if line.startswith(f"{costliest.state},{costliest.action},") else line
        for line in LOG.strip().split("\n")
    ]
    (folder / "log.csv").write_text("\n".join(lines))
    again = read_problem(folder / "problem.toml")
    after = again.task.worst_case(again.view, again.task.demonstration, again.matching)
    assert after.lower > before.lower + 0.1 * costliest.cost


def test_the_answer_says_what_it_rests_on(folder, monkeypatch, capsys):
    def teachirl(*arguments):
        monkeypatch.setattr(sys, "argv", ["teachirl", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return ended.value.code or 0, *capsys.readouterr()

    code, printed, _ = teachirl("certify", folder / "problem.toml", "--json")
    answer = json.loads(printed)["assessment"]
    assert code == 0
    assert answer["untried"] == ["ice, jump"]
    left = [each["guaranteed"] for each in answer["sensitivity"]]
    assert left == sorted(left, reverse=True)
    assert answer["log"][0].startswith("The model is known from 235 steps")
    assert answer["log"][1].startswith("1 pair of 7 was never tried (ice, jump)")
    assert answer["costly_pairs"][0]["tries"] >= 0
    code, _, told = teachirl("frontier", folder / "problem.toml")
    assert code == 2 and "frontier needs a world that is known" in told


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("log.csv", "ice,walk,hut,60", "ice,walk,ice,60", "ice, action walk led to state ice, 60"),
        ("log.csv", "ice,walk,hut,60", "ice,fly,hut,60", "there is no action 'fly'"),
        ("log.csv", "ice,walk,hut,60", "ice,walk,hut,6.5", "a whole number of times, got 6.5"),
        ("log.csv", "ice,walk,hut,60", "ice,walk,hut,-1", "a whole number of times, got -1"),
        ("features.csv", "hut,0,1,1", "", "expected a row for state 'hut', got none"),
        ("successors.csv", "hut,wait,\n", "", "next_state 'hut' has no transitions of its own"),
    ],
)
def test_mistakes_in_tables(folder, name, old, new, message):
    path = folder / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    assert message in message_of(folder / "problem.toml")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('[plan]\nbaseline = "uniform"\n', "a baseline needs a world that is known"),
        ('[plan]\nteacher = "JointGreedy"\n', "JointGreedy needs a world that is known"),
    ],
)
def test_what_needs_a_known_world_is_refused(folder, more, message):
    path = folder / "problem.toml"
    path.write_text(TOML + more)
    assert message in message_of(path)


def test_what_to_show_may_be_chosen(folder):
    """It guarantees at least what the policy does that is best in the worst world."""
    path = folder / "problem.toml"
    path.write_text(TOML + '[demonstration]\nshow = "choose"\n')
    problem = read_problem(path)
    chosen, task = problem.chosen, problem.task
    assert task.demonstration.policy is chosen.policy
    safe = ti.worst_case(problem.model, problem.worldview, problem.weights, task.best.policy).lower
    assert chosen.guaranteed == pytest.approx(safe + chosen.gain, abs=1e-6)
    said = contents(answer(problem, assess(problem)))
    assert any("The model is known from 235 steps" in each for each in said["log"])


def test_several_rewards_beside_a_log(folder):
    """A share of each weight, and a list: what is said is what `certify` says of the model."""
    path = changed(folder, "[reward.weights]", "[reward]\nwithin = 0.2\n[reward.weights]")
    problem = read_problem(path)
    found = plan(problem)
    assert found.over_rewards.certificate.confidence == 0.95
    assert {(each.tried, each.exact) for each in found.worth_buying} == {(12, 0)}
    told = contents(answer(problem, found))["plausible"]
    assert any("not all sets of features were searched." in each for each in told)
    (folder / "rewards.csv").write_text("home,cold,chance\n10,-1,0.6\n5,-1,0.3\n1,-3,0.1\n")
    changed(folder, "[reward.weights]\nhome = 10.0\ncold = -1.0\n", REWARDS)
    problem = read_problem(path)
    said = contents(answer(problem, assess(problem)))
    alone = ti.certify(
        problem.model,
        problem.view,
        ti.Rewards.listed([[-1, 10, 0], [-1, 5, 0], [-3, 1, 0]], [0.6, 0.3, 0.1]),
        problem.task.demonstration,
        judgement=ti.Judgement(tail=0.1),
    )
    assert said["over_rewards"]["guaranteed"] == alone.lower < alone.upper
    assert any("The model is known from 235 steps" in each for each in said["log"])
    assert any("with confidence 95 %" in each for each in said["plausible"])


def test_weights_are_not_inferred_beside_a_log(folder):
    text = '[reward]\ntrajectories = "episodes.jsonl"\nposterior = 20\n'
    path = changed(folder, "[reward.weights]\nhome = 10.0\ncold = -1.0\n", text)
    assert "to infer weights needs a world that is known" in message_of(path)


def test_a_loss_is_counted_in_the_world_where_the_learner_is(folder):
    """In each that the log allows: there the expert does not earn what it would in the best."""
    asked = 'sees = ["home"]\n[plan]\nmax_loss = 1.0'
    problem = read_problem(changed(folder, 'sees = ["cold"]', asked))
    model, shown = problem.model, problem.task.demonstration
    promise = problem.goals.promise(problem.view, shown)
    found = ti.certify(model, problem.view, problem.weights, shown, theorems=False)
    assert promise.loss == promise.amounts[0] == pytest.approx(found.against_expert, rel=1e-6)
    assert promise.loss < problem.goals.expert_reward - promise.reward - 0.1
    rng = np.random.default_rng(0)
    for _ in range(20):  # worlds of the sets, in which the learner is shown the same policy
        share = rng.random()
        response = respond(model, rng.normal(size=3), nature=1)
        rows = share * response.rows + (1.0 - share) * model.successors.data
        world = model.world(rows)
        policy = ti.Policy(world.dynamics, pairs=shown.policy.pairs)
        there = ti.certify(world, problem.view, problem.weights, policy, theorems=False)
        assert there.against_expert <= promise.loss + 1e-6
    everything = ti.Worldview(np.eye(model.n_features))
    assert problem.goals.promise(everything, shown).loss <= 1e-9
    assert problem.goals.own(shown).loss == 0.0
    assert "in the same world" in json.dumps(contents(answer(problem, assess(problem))))


def test_more_steps_help_the_guarantee_of_the_plan(folder):
    problem = read_problem(folder / "problem.toml")
    planned = plan(problem)
    told = contents(answer(problem, planned))
    assert "after the plan" in told["log"][-1]
    after = log_doubt(problem, after=planned)
    assert [each["cost"] for each in told["costly_pairs"]] == [each.cost for each in after.costly]
    assert after.costly[0].cost != log_doubt(problem).costly[0].cost
