"""Files that are no problem files, no tables, too large, or elsewhere."""

import os
import re
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import teachirl as ti
from problem_files import FILES, TOML, copied, message_of
from teachirl.app.problem import read_problem


@pytest.fixture
def folder(tmp_path):
    return copied(tmp_path)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (TOML["grid"].encode("utf-16"), "expected UTF-8 text, got UTF-16"),
        (b"title = '\xff'", "line 1: expected UTF-8 text, got byte 0xff"),
        (b"# " + b"x" * (1 << 20), "expected at most 1048576 bytes of TOML"),
        (b"\0", "this is not TOML"),
        (b"", "world: expected this key"),
        (b"a." * 400_000 + b"a = 1", "keys of at most 32 parts"),
        (b'"=".' * 100_000 + b"a = 1", "keys of at most 32 parts"),
        (b'x = {y = """a"""", ' + b'"\'" . ' * 100_000 + b"a = 1}", "keys of at most 32 parts"),
        (b"[" * 500_000, "this is not TOML"),
        (b"a = " + b"{a = " * 100_000, "expected a few lists in lists"),
        (b"a = " + b'"\\' * 300_000, "this is not TOML"),
        (b"[%b]\n[%b]" % (b"x" * 400_000, b"x" * 400_000), "this is not TOML: Cannot declare"),
        (b"PK\x03\x04", "this is not TOML"),
    ],
)
def test_other_kinds_of_files(tmp_path, raw, expected):
    path = tmp_path / "problem.toml"
    path.write_bytes(raw)
    assert expected in message_of(path)


def test_what_cannot_be_opened(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_problem(tmp_path / "lost.toml")
    with pytest.raises(IsADirectoryError):
        read_problem(tmp_path)


@pytest.mark.parametrize("target", ["link.csv", "../secret.csv", "/dev/zero"])
def test_links_that_lead_elsewhere(folder, target):
    (folder.parent / "secret.csv").write_bytes(FILES["start.csv"])
    os.symlink(target, folder / "link.csv")
    path = folder / "lake.toml"
    path.write_text(TOML["lake"].replace("start.csv", "link.csv"))
    assert message_of(path).startswith("world.start: ")


def test_devices_and_pipes_are_not_read(folder):
    os.mkfifo(folder / "pipe.csv")
    path = folder / "lake.toml"
    for name in ("/dev/zero", "pipe.csv"):
        path.write_text("allow_outside = true\n" + TOML["lake"].replace("start.csv", name))
        assert "world.start: expected a regular file" in message_of(path)


def test_large_files_are_not_read(folder):
    os.truncate(folder / "start.csv", (256 << 20) + 1)
    assert "expected a file of at most 256 MB" in message_of(folder / "lake.toml")


@pytest.mark.parametrize(
    ("world", "expected"),
    [
        ('name = "chain"\ncells = 100000', "numbers"),
        ('name = "obstacles"\nsize = 1000000', "states"),
        (
            'name = "garnet"\nn_states = 5000\nn_actions = 9\nbranching = 5000\nn_features = 1',
            "num",
        ),
        (
            'name = "garnet"\nn_states = 9\nn_actions = 10\nbranching = 2\nn_features = 100000000',
            "num",
        ),
        (
            'name = "garnet"\nn_states = 9\nn_actions = 1000000000\nbranching = 0\nn_features = 1',
            "num",
        ),
    ],
)
def test_huge_worlds_are_refused_before_they_are_made(tmp_path, world, expected):
    path = tmp_path / "huge.toml"
    path.write_text(f"[world]\n{world}\n[learner]\nsees = []\n")
    assert re.search(f"world: expected a world of at most .*{expected}", message_of(path))


def test_huge_views_are_refused_before_they_are_made(tmp_path):
    path = tmp_path / "huge.toml"
    path.write_text(
        '[world]\nname = "gridworld"\nsize = 70\n[reward.weights]\n"cell 1" = 1\n'
        '[learner]\nsees = []\n[teach]\nfeatures = "all"\n'
        + "".join(
            f'[[teach.feature]]\nname = "{number}"\nweights = {{ "cell 1" = 1 }}\n'
            for number in range(300)
        )
    )
    assert "teach.features: expected at most 25000000 numbers" in message_of(path)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda raw: b"", "expected a .npy array"),
        (lambda raw: raw[:40], "expected a .npy array"),
        (lambda raw: raw[:-1], "expected an array [rows, features]"),
        (lambda raw: raw.replace(b"(2, 4)", b"(9, 9)"), "expected an array [rows, features]"),
        (lambda raw: raw.replace(b"(2, 4)", b"(8,)  "), "expected an array [rows, features]"),
        (lambda raw: raw.replace(b"(2, 4)", b"(4, 2)"), "expected a column for each of 4 features"),
        (lambda raw: raw.replace(b"(2, 4)", b"(-2,-4"), "expected a .npy array"),
        (lambda raw: raw.replace(b"<f8", b"|O "), "expected"),
        (lambda raw: raw.replace(b"<f8", b"<c8"), "expected an array of numbers, got complex64"),
        (lambda raw: raw.replace(np.float64(1).tobytes(), np.float64("nan").tobytes()), "finite"),
        (lambda raw: raw.replace(b"NUMPY\x01", b"NUMPY\x07"), "expected a .npy array"),
    ],
)
def test_matrix_files(folder, change, expected):
    path = folder / "recorded.toml"
    path.write_text(TOML["recorded"].replace("view.csv", "view.npy"))
    np.save(folder / "view.npy", np.eye(4)[:2])
    assert read_problem(path).worldview.rank == 2
    (folder / "view.npy").write_bytes(change((folder / "view.npy").read_bytes()))
    message = message_of(path)
    assert message.startswith("learner.matrix: ")
    assert expected in message


def parquet(folder, **columns):
    pa.parquet.write_table(pa.table(columns), folder / "start.parquet")
    path = folder / "lake.toml"
    path.write_text(TOML["lake"].replace("start.csv", "start.parquet"))
    return path


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"state": ["ice"]}, "expected a column 'probability', got state"),
        ({"state": ["ice"], "probability": [None]}, "expected texts or numbers in column"),
        (
            {"state": ["ice", "hut"], "probability": [1.0, None]},
            "row 2, probability: expected a fin",
        ),
        ({"state": ["ice"], "probability": ["1,0"]}, "row 1, probability: expected a finite"),
        ({"state": [None, "ice"], "probability": [0.0, 1.0]}, "row 1: there is no state ''"),
        ({"state": [1.5], "probability": [1.0]}, "row 1, state: expected a name, got 1.5"),
        ({"state": [["ice"]], "probability": [1.0]}, "expected texts or numbers in column 'state'"),
        ({"state": ["ice"], "probability": [1.0], "x": [1]}, "there is no such column 'x'"),
        ({"state": pa.array([], pa.string()), "probability": []}, "expected texts or numbers"),
    ],
)
def test_parquet(folder, columns, expected):
    assert expected in message_of(parquet(folder, **columns))


def test_broken_parquet(folder):
    path = parquet(folder, state=["ice"], probability=[1.0])
    raw = (folder / "start.parquet").read_bytes()
    assert read_problem(path).mdp.start.tolist() == [0, 1, 0, 0]
    for broken in (b"", b"PAR1", raw[:-9], raw[:200], FILES["start.csv"]):
        (folder / "start.parquet").write_bytes(broken)
        assert "start.parquet: expected a Parquet file" in message_of(path)


def test_a_missing_extra_is_named(folder, monkeypatch):
    path = parquet(folder, state=["ice"], probability=[1.0])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ti.MissingExtraError, match=r"teachirl\[parquet\]"):
        read_problem(path)


def test_episodes_that_say_nothing(folder):
    moves = "state,action,next_state,probability\nshore,walk,ice,1\nice,walk,shore,1\n"
    (folder / "transitions.csv").write_text(moves)
    (folder / "pair_features.csv").write_text("state,home,cold\nshore,1,0\nice,0,1\n")
    (folder / "expert.jsonl").write_text('{"states":[0],"actions":[0],"terminated":false}')
    (folder / "expert.csv").write_text("episode,step,state,action,terminated\n0,0,ice,walk,0\n")
    problem = read_problem(folder / "recorded.toml")
    with pytest.raises(
        ti.FileFormatError, match=r"toml, reward\.trajectories: The episodes say nothing"
    ):
        problem.task  # noqa: B018  # it is what takes the weights
