"""Problem files of each kind become the objects that they describe."""

import hashlib
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import teachirl as ti
from problem_files import PROBLEMS, copied, message_of
from teachirl.app.problem import example_text, read_problem, reference
from teachirl.app.problem.named import NAMED

PAGE = Path(__file__).parents[1] / "docs" / "problem_file.md"


@pytest.fixture
def folder(tmp_path):
    return copied(tmp_path)


def changed(folder, name, *changes):
    """The problem `name` with each (old, new) text replaced, which must be there once."""
    text = (folder / name).read_text()
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path = folder / f"changed_{name}"
    path.write_text(text)
    return read_problem(path)


def test_a_world_from_tables():
    problem = read_problem(PROBLEMS / "lake.toml")
    mdp = problem.mdp
    assert mdp.dynamics.state_names == ("shore", "ice", "hut", "end")
    assert mdp.dynamics.action_names == ("walk", "wait")
    assert mdp.feature_names == ("cold", "wet", "home", "step")
    assert mdp.start.tolist() == [0.9, 0.1, 0, 0]
    assert mdp.discount == 0.9
    assert mdp.features.tolist() == [[0, 0, 0, 1], [1, 0.5, 0, 1], [0, 0, 1, 1], [0, 0, 0, 0]]
    # shore walk, shore wait, ice walk, ice wait, hut wait, end
    assert mdp.dynamics.transitions.toarray().tolist() == [
        [0.25, 0.75, 0, 0],
        [1, 0, 0, 0],
        [0, 0, 0.5, 0.5],
        [0, 1, 0, 0],
        [0, 0, 0, 1],
        [0, 0, 0, 1],
    ]
    assert ti.relative_performance(mdp, problem.weights, ti.Policy.uniform(mdp)) > 0


def test_what_else_the_lake_says():
    problem = read_problem(PROBLEMS / "lake.toml")
    assert problem.title == "Across the lake"
    assert problem.source == (PROBLEMS / "lake.toml").read_text()
    assert problem.seed == 3
    assert problem.weights.tolist() == [-1, 0, 2, 0]
    assert problem.reward.origin == "weights"
    assert problem.worldview.names == ("step", "comfort")
    assert problem.worldview.matrix.tolist() == [[0, 0, 0, 1], [0, -2, 1, 0]]
    lessons = problem.teachables
    assert lessons.names == ("cold", "misery", "wet", "home")
    assert lessons.costs.tolist() == [3, 2, 1, 1]
    assert lessons.features[1].tolist() == [1, 1, 0, 0]
    assert (lessons.required, lessons.forbidden) == ((0,), (2,))
    assert problem.show == "policy"
    assert problem.shown.matrix().tolist() == [[0.5, 0.5], [1, 0], [0, 1], [1, 0]]
    assert problem.teacher == ti.teachers.JointGreedy(shortlist=2)
    assert problem.learner == ti.learners.Projection()
    assert (problem.budget, problem.max_cost, problem.until) == (2, 8.0, 0.9)
    assert problem.mismatch == 0.0


def test_the_task_of_the_lake_can_be_taught():
    problem = read_problem(PROBLEMS / "lake.toml")
    task = problem.task
    assert task.names == problem.teachables.names
    assert task.required == (0,)
    expected = ti.feature_expectations(problem.mdp, problem.shown)
    assert task.demonstration.expectations == pytest.approx(expected, abs=1e-12)
    rng = np.random.default_rng(problem.seed)
    lesson = ti.teach(task, problem.teacher, problem.learner, rng=rng, budget=1)
    assert lesson.rounds[1].name == "cold"


def test_a_built_in_world_with_defaults():
    problem = read_problem(PROBLEMS / "grid.toml")
    expected = ti.worlds.gridworld(4, block=2, slip=0.1)
    assert (problem.mdp.dynamics.transitions != expected.dynamics.transitions).nnz == 0
    assert problem.title == "grid"
    assert problem.weights.tolist() == [1, 0, 0, -1]
    assert problem.teachables.names == ("cell 0", "cell 2", "cell 3")
    assert problem.teachables.costs.tolist() == [1, 1, 1]
    assert problem.teacher == ti.teachers.GapGreedy()
    assert problem.learner == ti.learners.MinNormPoint()
    assert (problem.show, problem.shown, problem.chosen) == ("optimal", None, None)
    assert (problem.budget, problem.max_cost, problem.until, problem.mismatch) == (None,) * 4
    assert math.isclose(problem.task.best.value, ti.optimal_policy(expected, [1, 0, 0, -1]).value)


def test_recorded_episodes():
    problem = read_problem(PROBLEMS / "recorded.toml")
    assert problem.mdp.features_per_pair
    assert problem.mdp.features[:5].tolist() == [
        [0, 0, 0, 2],
        [0, 0, 0, 1],
        [1, 0.5, 0, 1],
        [1, 0.5, 0, 0],
        [0, 0, 1, 1],
    ]
    assert problem.worldview.names == ("nice", "frost")
    assert problem.worldview.matrix.tolist() == [[-1, 0, 1, 0], [1, 0, 0, 0]]
    assert problem.show == "trajectories"
    assert problem.shown.confidence == 0.9
    assert len(problem.shown.trajectories) == 2
    assert problem.reward.origin == "trajectories"
    assert len(problem.reward.expert) == 3
    learner = ti.learners.MaxCausalEntropy(max_steps=50)
    assert problem.teacher == ti.teachers.PerfGreedy(learner)
    assert problem.teachables.features.shape == (0, 4)


def test_weights_are_inferred_from_episodes():
    problem = read_problem(PROBLEMS / "recorded.toml")
    found = ti.infer_weights(problem.mdp, problem.reward.expert)
    assert problem.weights.tolist() == found.plausible.weights.tolist()
    assert problem.inferred.spread.tolist() == found.spread.tolist()
    assert problem.task.demonstration is problem.shown


def test_rewards_are_projected_on_the_features():
    problem = read_problem(PROBLEMS / "rewards.toml")
    assert problem.reward.origin == "rewards"
    assert problem.reward.residual < 1e-14
    rewards = problem.mdp.rewards(problem.weights)
    assert rewards == pytest.approx([0, -1, 2, 0], abs=1e-12)


def test_a_reward_that_the_features_do_not_express_must_be_accepted(folder):
    (folder / "features.csv").write_text("state,cold,warm\nshore,0,1\nice,1,0\nhut,0,1\n")
    with pytest.raises(ti.FileFormatError, match=r"reward\.rewards: .* 0\.632 of rewards\.csv"):
        read_problem(folder / "rewards.toml")
    accepted = ('rewards = "rewards.csv"', 'rewards = "rewards.csv"\nmax_residual = 0.7')
    problem = changed(folder, "rewards.toml", accepted)
    # The shore's 0 and the hut's 2 are both taken for 1; of length √5, √2 is left over.
    assert problem.weights == pytest.approx([-1, 1], abs=1e-12)
    assert problem.reward.residual == pytest.approx(math.sqrt(2 / 5), abs=1e-12)


def test_rewards_by_state_and_action(folder):
    rows = "shore,walk,4\nshore,wait,2\nice,walk,1\nice,wait,-1\nhut,wait,5\n"
    (folder / "rewards.csv").write_text(f"state,action,reward\n{rows}")
    problem = changed(folder, "rewards.toml", ("features.csv", "pair_features.csv"))
    expected = [4, 2, 1, -1, 5, 0]
    assert problem.mdp.rewards(problem.weights) == pytest.approx(expected, abs=1e-12)


def test_sparse_features_are_projected_on(folder):
    rows = "".join(f"{state},{state % 4 // 2 + 2 * (state // 8)}\n" for state in range(16))
    (folder / "rewards.csv").write_text(f"state,reward\n{rows}")
    old = '[reward.weights]\n"cell 0" = 1.0\n"cell 3" = -1.0\n'
    problem = changed(folder, "grid.toml", (old, '[reward]\nrewards = "rewards.csv"\n'))
    assert problem.weights == pytest.approx([0, 1, 2, 3], abs=1e-9)


def test_the_demonstration_that_guarantees_most_is_chosen():
    problem = read_problem(PROBLEMS / "rewards.toml")
    assert problem.show == "choose"
    assert problem.task.demonstration is problem.chosen.demonstration


def test_a_world_with_weights_and_prices_of_its_own():
    problem = read_problem(PROBLEMS / "road.toml")
    traffic = [ti.worlds.Traffic("only", 0.2, slow=0.5, medium=0.5, fast=0)]
    world = ti.worlds.driving(traffic, sight=1)
    assert problem.mdp.n_states == world.mdp.n_states
    assert problem.reward.origin == "world"
    assert problem.weights.tolist() == world.weights.tolist()
    prices = dict(zip(world.mdp.feature_names, world.prices, strict=True))
    assert "slow" not in problem.teachables.names
    assert problem.teachables.costs.tolist() == [prices[name] for name in problem.teachables.names]


@pytest.mark.parametrize(
    "parameters",
    [
        'name = "garnet"\nn_states = 6\nn_actions = 2\nbranching = 2\nn_features = 4',
        'name = "chain"\ncells = 4',
        'name = "obstacles"\nsize = 4\ngoals = [0]\nobstacles = [1]',
    ],
)
def test_other_built_in_worlds(folder, parameters):
    np.save(folder / "view.npy", np.eye(4)[:2])
    path = folder / "world.toml"
    names = {"garnet": "1", "chain": "cell 2", "obstacles": "cell 2"}
    name = names[parameters.split('"')[1]]
    path.write_text(
        f'seed = 5\n[world]\n{parameters}\n[reward.weights]\n"{name}" = 2\n'
        '[learner]\nmatrix = "view.npy"\n'
    )
    problem, again = read_problem(path), read_problem(path)
    assert problem.mdp.n_features == 4
    assert problem.worldview.matrix.tolist() == np.eye(4)[:2].tolist()
    assert problem.worldview.names == ("row 1", "row 2")
    same = problem.mdp.features != again.mdp.features
    assert not np.any(same) if isinstance(same, np.ndarray) else same.nnz == 0


def test_gymnasium():
    problem = read_problem(PROBLEMS / "taxi.toml")
    assert problem.mdp.n_states == 501
    assert problem.mdp.discount == 0.95
    assert problem.weights[0] == 1.0


LAKE = """
[world]
gymnasium = "FrozenLake-v1"
arguments = {{ {} }}
discount = 0.9
[learner]
sees = ["edge ahead"]
[teach]
features = "all"
"""


def test_gymnasium_worlds_have_arguments_and_a_reward_made_of_features(folder):
    path = folder / "lake_of_gymnasium.toml"
    path.write_text(LAKE.format("is_slippery = false, reward_schedule = [2.0, -1.0, 0.0]"))
    problem = read_problem(path)
    assert (np.asarray(problem.mdp.dynamics.transitions.data) == 1.0).all()  # nobody slips
    names = problem.mdp.feature_names
    made_of = {names[i]: problem.weights[i] for i in np.flatnonzero(problem.weights)}
    assert made_of == {"goal": 2.0, "hole": -1.0}
    column = problem.mdp.feature_index("reward")
    rewards = np.asarray(problem.mdp.features)[:, column]
    np.testing.assert_allclose(problem.mdp.rewards(problem.weights), rewards, atol=1e-12)
    # Nobody can be given the reward itself; what it is made of can be.
    assert "reward" not in problem.teachables.names
    assert {"goal", "hole"} <= set(problem.teachables.names)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("foo = 3", r"world\.arguments: gymnasium cannot make 'FrozenLake-v1', foo = 3: .*'foo'"),
        ('render_mode = "human"', r"world\.arguments\.render_mode: nothing is rendered"),
        ("desc = { a = 1 }", r"world\.arguments\.desc: expected a text, .* got a table of 1 key"),
        ("success_rate = inf", r"world\.arguments\.success_rate: expected .*, got inf"),
    ],
)
def test_arguments_that_an_environment_does_not_take(folder, arguments, message):
    path = folder / "lake_of_gymnasium.toml"
    path.write_text(LAKE.format(arguments))
    assert re.match(message, message_of(path))


# As often as there are files; without an error of Python's, each ends with a line for its code.
EACH = """
import sys, warnings
from teachirl.app.cli import main
for path in sys.argv[1:]:
    warnings.resetwarnings()  # nothing is left out as known from the file before
    sys.argv = ["teachirl", "certify", path]
    try:
        main()
    except SystemExit as stop:
        print("ended with", stop.code, file=sys.stderr)
"""


def test_what_gymnasium_refuses_is_one_message_and_no_warning(folder):
    names = ["Blackjack-v1", "CartPole-v0", "Taxi-v3"]
    for name in names:
        (folder / f"{name}.toml").write_text(LAKE.replace("FrozenLake-v1", name).format(""))
    command = [sys.executable, "-c", EACH, *(folder / f"{name}.toml" for name in names)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = done.stderr.splitlines()
    assert len(lines) == 2 * len(names) and lines[1::2] == ["ended with 2"] * len(names)
    for name, line in zip(names, lines[::2], strict=True):
        assert f"{name}.toml" in line
        assert "env_or_id" not in line and "unwrapped" not in line


def test_a_saved_world(folder):
    ti.worlds.chain(5).save(folder / "chain.npz")
    path = folder / "saved.toml"
    path.write_text(
        '[world]\nfile = "chain.npz"\n[reward.weights]\n"cell 1" = 1\n[learner]\nsees = []\n'
    )
    problem = read_problem(path)
    assert problem.mdp.n_states == 5
    assert problem.worldview.n_rows == 0


def test_parquet_is_read_like_csv(folder):
    for name in ("transitions", "features", "start", "policy"):
        options = pa.csv.ConvertOptions(strings_can_be_null=True)
        table = pa.csv.read_csv(folder / f"{name}.csv", convert_options=options)
        pa.parquet.write_table(table, folder / f"{name}.parquet")
    text = (folder / "lake.toml").read_text().replace(".csv", ".parquet")
    (folder / "columns.toml").write_text(text)
    read, expected = read_problem(folder / "columns.toml"), read_problem(folder / "lake.toml")
    assert read.mdp.dynamics.state_names == expected.mdp.dynamics.state_names
    assert read.mdp.features.tolist() == expected.mdp.features.tolist()
    rows, expected_rows = (each.mdp.dynamics.transitions for each in (read, expected))
    assert (rows != expected_rows).nnz == 0
    assert read.shown.matrix().tolist() == expected.shown.matrix().tolist()


def test_parquet_of_numbered_states_and_large_texts(folder):
    moves = {"state": [0, 1], "action": ["go"] * 2, "next_state": [1, None], "probability": [1, 1]}
    types = {"state": pa.int32(), "action": pa.large_string(), "next_state": pa.int64()}
    columns = {name: pa.array(cells, types.get(name)) for name, cells in moves.items()}
    pa.parquet.write_table(pa.table(columns), folder / "moves.parquet")
    (folder / "marks.csv").write_text("state,mark\n1,1\n0,0\n")
    problem = changed(
        folder,
        "rewards.toml",
        ("transitions.csv", "moves.parquet"),
        ("features.csv", "marks.csv"),
        ('[reward]\nrewards = "rewards.csv"', "[reward.weights]\nmark = 1"),
    )
    assert problem.mdp.dynamics.state_names == ("0", "1", "end")
    assert problem.mdp.features.ravel().tolist() == [0, 1, 0]


def test_parquet_of_episodes(folder):
    table = pa.csv.read_csv(folder / "expert.csv")
    pa.parquet.write_table(table, folder / "expert.parquet")
    problem = changed(folder, "recorded.toml", ("expert.csv", "expert.parquet"))
    expected = read_problem(folder / "recorded.toml")
    assert problem.shown.expectations.tolist() == expected.shown.expectations.tolist()
    table = table.set_column(3, "action", pa.array(["walk", "walk", "weit", "wait"]))
    pa.parquet.write_table(table, folder / "expert.parquet")
    with pytest.raises(ti.FileFormatError, match=r"expert\.parquet, as CSV, line 4.*'weit'"):
        changed(folder, "recorded.toml", ("expert.csv", "expert.parquet"))


def test_parquet_of_episodes_has_the_messages_of_csv(folder):
    good = {"episode": [0, 0], "step": [0, 1], "state": ["shore", "ice"], "action": ["walk"] * 2}
    for change, message in (
        ({"terminated": [None, True], "step": [0, 2]}, "line 3, step: expected 1"),
        ({"terminated": pa.array([True, None])}, "line 3, episode: expected another episode"),
        ({"terminated": pa.array([None, None], pa.bool_())}, "line 3, terminated: expected true"),
        ({"terminated": [0.5, 1.0]}, "line 2, terminated: .* got '0.5'"),
        ({}, "line 1: expected a header with one column 'terminated'"),
    ):
        pa.parquet.write_table(pa.table(good | change), folder / "expert.parquet")
        with pytest.raises(ti.FileFormatError, match=rf"expert\.parquet, as CSV, {message}"):
            changed(folder, "recorded.toml", ("expert.csv", "expert.parquet"))


def test_a_state_may_be_called_end(folder):
    for name in ("transitions", "features", "rewards"):
        path = folder / f"{name}.csv"
        path.write_text(path.read_text().replace("hut", "end"))
    names = read_problem(folder / "rewards.toml").mdp.dynamics.state_names
    assert names == ("shore", "ice", "end", "end (2)")


def test_a_policy_without_probabilities(folder):
    (folder / "policy.csv").write_text("state,action\nice,walk\nshore,wait\n")
    problem = read_problem(folder / "lake.toml")
    assert problem.shown.is_deterministic
    assert problem.shown.actions.tolist() == [1, 0, 1, 0]


def test_what_spreadsheets_write_is_read(folder):
    text = (folder / "features.csv").read_text()
    (folder / "features.csv").write_bytes(
        b"\xef\xbb\xbf" + text.replace("\n", "\r\n").replace("hut", '"hut"').encode()
    )
    toml = folder / "lake.toml"
    toml.write_bytes(b"\xef\xbb\xbf" + toml.read_bytes().replace(b"\n", b"\r\n"))
    read, expected = read_problem(toml).mdp, read_problem(PROBLEMS / "lake.toml").mdp
    assert read.features.tolist() == expected.features.tolist()


def test_files_outside_of_the_folder_need_a_permission(folder):
    inner = folder / "inner"
    inner.mkdir()
    text = (folder / "lake.toml").read_text()
    for name in ("transitions", "features", "start", "policy"):
        text = text.replace(f'"{name}.csv"', f'"../{name}.csv"')
    path = inner / "lake.toml"
    path.write_text(text)
    with pytest.raises(ti.FileFormatError, match=r"world\.transitions: .*allow_outside"):
        read_problem(path)
    assert read_problem(path, allow_outside=True).mdp.n_states == 4
    path.write_text(f"allow_outside = true\n{text}")
    assert read_problem(path).mdp.n_states == 4


def test_a_view_may_be_wider_than_the_world(folder):
    rows = "".join(f"{i},{i * i}\n" for i in range(9))
    (folder / "view.csv").write_text(f"cold,home\n{rows}")
    view = read_problem(folder / "recorded.toml").worldview
    assert (view.n_rows, view.rank) == (9, 2)
    assert view.names[0] == "row 1"


def test_the_example_can_be_read(tmp_path):
    path = tmp_path / "problem.toml"
    path.write_text(example_text())
    problem = read_problem(path)
    assert problem.title == "Which sensors does the car need?"
    prices = dict(zip(problem.teachables.names, problem.teachables.costs.tolist(), strict=True))
    assert prices["collision"] == 3.0
    assert prices["tailgating"] == 6.0


def test_all_strategies_can_be_named():
    def strategies(module, verb):
        found = {name: getattr(module, name) for name in module.__all__}
        return tuple(
            name
            for name, each in found.items()
            if hasattr(each, verb) and not getattr(each, "_is_protocol", False)
        )

    assert strategies(ti.teachers, "choose") == tuple(NAMED["teacher"])
    learners = (*strategies(ti.learners, "learn"), *strategies(ti.learners, "informed"))
    assert tuple(sorted(learners)) == tuple(NAMED["learner"])
    functions = {name for name in ti.worlds.__all__ if name.islower()}
    # These make a world of what a user has.
    theirs = {"from_gymnasium", "from_model", "from_model_file", "from_simulator", "on_grid"}
    assert functions - theirs == set(NAMED["world"])


def test_the_page_is_up_to_date():
    text = PAGE.read_text(encoding="utf-8")
    assert text.endswith(reference()), "replace its last section by app.problem.reference()"


def test_files_are_remembered_with_their_digests():
    """As they were when they were read, whatever becomes of them."""
    problem = read_problem(PROBLEMS / "lake.toml")
    digests = {
        name: hashlib.sha256((PROBLEMS / name).read_bytes()).hexdigest()
        for name in ("transitions.csv", "features.csv", "start.csv", "policy.csv")
    }
    assert dict(problem.files) == digests
    assert read_problem(PROBLEMS / "grid.toml").files == ()
