"""Episodes in a local Minari dataset."""

import json
import os
import shutil
import sys

import gymnasium
import h5py
import minari
import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pytest
from minari.data_collector.episode_buffer import EpisodeBuffer

import teachirl as ti
from problem_files import message_of
from teachirl.app.problem import read_problem

FORMATS = ("hdf5", "arrow", "parquet")
NAME = "recordings/lake-v0"
TOML = """
[world]
gymnasium = "FrozenLake-v1"
discount = 0.9
[reward]
trajectories = "EXPERT"
[learner]
sees = ["reward"]
[demonstration]
trajectories = "EXPERT"
confidence = 0.9
"""


def recorded(count):
    """Episodes of an optimal policy on the lake; after 30 steps they are cut off."""
    mdp = ti.worlds.from_gymnasium("FrozenLake-v1", discount=0.9)
    weights = np.zeros(mdp.n_features)
    weights[mdp.feature_names.index("reward")] = 1.0
    pairs = ti.optimal_policy(mdp, weights).policy.pairs
    buffers = []
    env = gymnasium.make("FrozenLake-v1", max_episode_steps=30)
    for seed in range(count):
        state, _ = env.reset(seed=seed)
        episode = EpisodeBuffer(observations=[state], actions=[], seed=seed)
        over = False
        while not over:
            action = int(mdp.dynamics.actions[pairs[state]])
            state, reward, terminated, truncated, _ = env.step(action)
            over = terminated or truncated
            episode.observations.append(state)
            episode.actions.append(action)
            episode.rewards.append(float(reward))
            episode.terminations.append(bool(terminated))
            episode.truncations.append(bool(truncated))
        buffers.append(episode)
    env.close()
    return buffers


BUFFERS = recorded(12)
CUT = next(i for i, episode in enumerate(BUFFERS) if not episode.terminations[-1])


def written(folder, kind, buffers=BUFFERS, **spaces):
    """A dataset that Minari wrote, beside a problem file that names it; the latter's path."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINARI_DATASETS_PATH", str(folder / "recordings"))
        minari.create_dataset_from_buffers(
            "lake-v0",
            buffers,
            **spaces,
            env="FrozenLake-v1",
            eval_env="FrozenLake-v1",
            algorithm_name="optimal",
            author="nobody",
            author_email="nobody",
            code_permalink="none",
            description="none",
            data_format=kind,
        )
    path = folder / "lake.toml"
    path.write_text(TOML.replace("EXPERT", NAME))
    return path


@pytest.fixture(scope="module")
def lakes(tmp_path_factory):
    return {kind: written(tmp_path_factory.mktemp(kind), kind) for kind in FORMATS}


@pytest.fixture(params=FORMATS)
def dataset(request, lakes):
    return lakes[request.param]


@pytest.fixture
def lake(lakes, tmp_path):
    """A problem file with an HDF5 dataset, to break."""
    return shutil.copytree(lakes["hdf5"].parent, tmp_path / "lake") / "lake.toml"


def test_it_is_read_as_the_same_episodes_in_json_lines(dataset):
    lines = [
        {"states": e.observations[:-1], "actions": e.actions, "terminated": e.terminations[-1]}
        for e in BUFFERS
    ]
    (dataset.parent / "expert.jsonl").write_text("\n".join(map(json.dumps, lines)))
    other = dataset.with_name("lines.toml")
    other.write_text(TOML.replace("EXPERT", "expert.jsonl"))
    problem, expected = read_problem(dataset), read_problem(other)
    for found, wanted in (
        (problem.shown.trajectories, expected.shown.trajectories),
        (problem.reward.expert, expected.reward.expert),
    ):
        for field in ("states", "pairs", "offsets", "terminated"):
            np.testing.assert_array_equal(getattr(found, field), getattr(wanted, field))
        assert 0 < np.count_nonzero(found.terminated) < len(found) == len(BUFFERS)
    np.testing.assert_array_equal(problem.shown.expectations, expected.shown.expectations)
    assert problem.shown.error == expected.shown.error


def test_it_is_read_without_minari(dataset, monkeypatch):
    monkeypatch.setitem(sys.modules, "minari", None)
    assert len(read_problem(dataset).reward.expert) == len(BUFFERS)


def test_a_recording_that_says_neither_was_cut_off(lake):
    with h5py.File(lake.parent / NAME / "data/main_data.hdf5", "r+") as file:
        file[f"episode_{CUT}/truncations"][-1] = False
    assert not read_problem(lake).reward.expert.terminated[CUT]


def replaced(group, key, **given):
    del group[key]
    group.create_dataset(key, **given)


def linked(group, key, link):
    del group[key]
    group[key] = link


def virtual(group):
    layout = h5py.VirtualLayout(group["actions"].shape, "i8")
    layout[:] = h5py.VirtualSource("other.hdf5", "actions", group["actions"].shape)
    del group["actions"]
    group.create_virtual_dataset("actions", layout)


def put(key, step, value):
    return lambda group: group[key].__setitem__(step, value)


# Each change of one episode, and what is then said of it.
EPISODES = [
    (put("observations", 1, 17), "step 1, observations: expected the number of a state in 0 … 16"),
    (put("observations", -1, -1), "observations: expected the number of a state in 0 … 16, got -1"),
    (put("observations", -1, 1 << 40), "expected the number of a state"),
    (put("actions", 2, 4), "step 2, actions: expected the number of an action in 0 … 3, got 4"),
    (put("observations", 0, 3), "step 0: no episode starts in state"),
    (put("observations", 1, 9), "which comes next"),
    (put("terminations", 1, True), "step 1: expected terminations and truncations to be true in"),
    (put("truncations", 0, True), "step 0: expected terminations and truncations to be true in"),
    (lambda g: g["observations"].resize((30,)), "one observation more, got 30, 30, 30 and 30"),
    (lambda g: g["terminations"].resize((8,)), "one observation more, got 30, 8, 30 and 31"),
    (lambda g: g["truncations"].resize((0,)), "one observation more, got 30, 30, 0 and 31"),
    (lambda g: [g[key].resize((0,)) for key in g if key != "infos"], "got 0, 0, 0 and 0"),
    (lambda g: g.pop("actions"), "expected Dataset 'actions', got nothing"),
    (lambda g: [g.pop("actions"), g.create_group("actions")], "'actions', got Group"),
    (lambda g: replaced(g, "actions", data=np.zeros(30)), "actions: expected a list of whole num"),
    (lambda g: replaced(g, "actions", data=np.zeros((30, 1), int)), "got int64 of shape (30, 1)"),
    (lambda g: replaced(g, "actions", data=3), "got int64 of shape ()"),
    (lambda g: replaced(g, "actions", data=h5py.Empty("i8")), "got int64 of shape ()"),
    (lambda g: replaced(g, "actions", data=["up"] * 30), "got object of shape (30,)"),
    (lambda g: replaced(g, "terminations", data=np.zeros(30, int)), "a list of true and false"),
    (
        lambda g: replaced(g, "actions", shape=(1 << 40,), dtype="i8", chunks=(8,)),
        "actions: expected at most 20000000 entries",
    ),
    (
        lambda g: replaced(
            g, "actions", shape=(30,), maxshape=(None,), dtype="i8", chunks=(1 << 28,)
        ),
        "actions: expected at most 20000000 entries",
    ),
    (
        lambda g: replaced(g, "actions", shape=(30,), dtype="i8", external=[("other", 0, 240)]),
        "actions: expected numbers in this file, got those of another",
    ),
    (virtual, "actions: expected numbers in this file, got those of another"),
    (lambda g: linked(g, "actions", h5py.ExternalLink("other.hdf5", "actions")), "ExternalLink"),
    (lambda g: linked(g, "actions", h5py.SoftLink("/actions")), "got SoftLink"),
]


@pytest.mark.parametrize(("change", "expected"), EPISODES)
def test_broken_episodes(lake, change, expected):
    with h5py.File(lake.parent / NAME / "data/main_data.hdf5", "r+") as file:
        change(file[f"episode_{CUT}"])
    message = message_of(lake)
    assert message.startswith(f"reward.trajectories: {NAME}, episode {CUT}")
    assert expected in message


def test_an_action_that_is_not_there_is_counted_or_left_out(lake):
    with h5py.File(lake.parent / NAME / "data/main_data.hdf5", "r+") as file:
        put("actions", 2, 4)(file[f"episode_{CUT}"])
    assert "are impossible; skip" in message_of(lake)
    skip = 'EXPERT"\nskip = "impossible"'
    lake.write_text(TOML.replace('EXPERT"', skip).replace("EXPERT", NAME))
    read = read_problem(lake).reward.expert
    assert read.lengths[CUT] == 2 and not read.terminated[CUT]
    assert (read.skipped.impossible, read.skipped.steps, read.skipped.lost) == (1, 28, 0)


def test_an_episode_cannot_terminate_anywhere(lake):
    with h5py.File(lake.parent / NAME / "data/main_data.hdf5", "r+") as file:
        group = file[f"episode_{CUT}"]
        for key in ("actions", "terminations", "truncations"):
            group[key].resize((1,))
        group["observations"].resize((2,))
        group["terminations"][0] = True
    message = message_of(lake)
    assert f"{NAME}, episode {CUT}, step 0: terminated is true, but the episode cannot" in message


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"total_episodes": 0}, "total_episodes must be at least 1, got 0"),
        ({"total_episodes": True}, "total_episodes must be a whole number"),
        ({"total_episodes": 10**30}, "episode 12: expected Group 'episode_12', got nothing"),
        ({"data_format": "pickle"}, "data_format must be hdf5, arrow or parquet, got 'pickle'"),
        ({"data_format": None}, "data_format must be a text, got None"),
        ({"data_format": "arrow"}, f"cannot read '{NAME}/data/0/metadata.json'"),
        ({"observation_space": "{"}, "observation_space is no JSON"),
        ({"observation_space": "[" * 100_000}, "observation_space is no JSON"),
        ({"observation_space": '{"type": "Box"}'}, "starts at 0, got 'Box'"),
        (
            {"action_space": '{"type": "Discrete", "n": 4, "start": 1}'},
            "action_space must be a Discrete space that starts at 0, got one that starts at 1",
        ),
        ({"action_space": {"type": "Discrete"}}, "action_space must be the JSON of a space"),
    ],
)
def test_broken_metadata(lake, changes, expected):
    path = lake.parent / NAME / "data/metadata.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    message = message_of(lake)
    assert message.startswith("reward.trajectories: ")
    assert expected in message


def test_nothing_that_the_metadata_name_is_called(lake):
    path = lake.parent / NAME / "data/metadata.json"
    metadata = json.loads(path.read_text())
    spec = json.loads(metadata["env_spec"])
    made = lake.parent / "made"
    spec |= {"id": "Other-v0", "entry_point": "os:mkdir", "kwargs": {"path": str(made)}}
    metadata["env_spec"] = json.dumps(spec)
    path.write_text(json.dumps(metadata))
    assert len(read_problem(lake).reward.expert) == len(BUFFERS)
    del metadata["observation_space"]
    path.write_text(json.dumps(metadata))
    assert f"{NAME}/data/metadata.json: observation_space is missing" in message_of(lake)
    assert not made.exists()


BOX = gymnasium.spaces.Box(0, 1, (2,))


@pytest.mark.parametrize(
    ("space", "observations"),
    [
        (BOX, [np.zeros(2, np.float32)] * 3),
        (gymnasium.spaces.Dict(seen=BOX), {"seen": [np.zeros(2, np.float32)] * 3}),
        (gymnasium.spaces.MultiDiscrete([2, 2]), [np.zeros(2, int)] * 3),
    ],
)
def test_other_spaces_that_minari_writes(tmp_path, space, observations):
    buffer = EpisodeBuffer(
        observations=observations,
        actions=[0, 1],
        rewards=[0.0, 0.0],
        terminations=[False, False],
        truncations=[False, True],
    )
    lake = written(
        tmp_path,
        "hdf5",
        [buffer],
        observation_space=space,
        action_space=gymnasium.spaces.Discrete(4),
    )
    found = f"starts at 0, got {type(space).__name__!r}"
    assert f"observation_space must be a Discrete space that {found}" in message_of(lake)


def test_files_of_another_kind(lake):
    data = lake.parent / NAME / "data"
    raw = (data / "main_data.hdf5").read_bytes()
    for broken in (b"", b"\x89HDF\r\n\x1a\n", raw[:1000], b"a,b\n" * 99):
        (data / "main_data.hdf5").write_bytes(broken)
        assert "main_data.hdf5: expected an HDF5 file that Minari wrote" in message_of(lake)
    (data / "main_data.hdf5").unlink()
    assert "cannot read 'recordings/lake-v0/data/main_data.hdf5'" in message_of(lake)
    for broken, expected in ((b"", "is no JSON"), (b"[]", "must be an obj"), (b"\xff", "UTF-8")):
        (data / "metadata.json").write_bytes(broken)
        assert expected in message_of(lake)
    shutil.rmtree(data)
    assert "cannot read 'recordings/lake-v0/data/metadata.json'" in message_of(lake)


def test_datasets_elsewhere(lake):
    outside = lake.parent.parent / "outside"
    shutil.move(lake.parent / NAME, outside)
    os.symlink(outside, lake.parent / NAME)
    assert "a link to elsewhere" in message_of(lake)
    assert len(read_problem(lake, allow_outside=True).reward.expert) == len(BUFFERS)
    for name in ("../outside", str(outside)):
        lake.write_text(TOML.replace("EXPERT", name))
        assert "expected a file in the folder of the problem file" in message_of(lake)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda t: t.slice(1), "expected a row for each of 30 steps, and one for the last"),
        (lambda t: t.drop_columns("actions"), "expected a column 'actions', got none"),
        (lambda t: cast(t, "actions", pa.float64()), "actions: expected a list of whole numbers"),
        (lambda t: cast(t, "observations", pa.string()), "observations: expected a list of whole"),
        (lambda t: cast(t, "truncations", pa.int8()), "truncations: expected a list of true"),
        (lambda t: column(t, "actions", [None] * 31), "actions: expected a value a row, got none"),
        (lambda t: column(t, "actions", [9] * 31), "step 0, actions: expected the number of an"),
    ],
)
@pytest.mark.parametrize("kind", FORMATS[1:])
def test_broken_tables(lakes, tmp_path, kind, change, expected):
    lake = shutil.copytree(lakes[kind].parent, tmp_path / "lake") / "lake.toml"
    folder = lake.parent / NAME / "data" / str(CUT)
    path = folder / f"part-0.{kind}"
    table = change(pa.dataset.dataset(path, format=kind).to_table())
    pa.dataset.write_dataset(
        table, folder, format=kind, existing_data_behavior="overwrite_or_ignore"
    )
    message = message_of(lake)
    assert message.startswith(f"reward.trajectories: {NAME}, episode {CUT}")
    assert expected in message
    for broken in (b"", path.read_bytes()[:-9], b"ARROW1"):
        path.write_bytes(broken)
        assert f"episode {CUT}: expected a file of format {kind} that Minari" in message_of(lake)


def column(table, name, values):
    kind = table.schema.field(name).type
    return table.set_column(table.schema.names.index(name), name, pa.array(values, kind))


def cast(table, name, kind):
    place = table.schema.names.index(name)
    return table.set_column(place, name, table[name].cast(kind))


def test_a_missing_extra_is_named(dataset, monkeypatch):
    for package in ("h5py", "pyarrow"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ti.MissingExtraError, match=r"teachirl\[minari\]"):
        read_problem(dataset)
