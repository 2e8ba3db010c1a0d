"""`teachirl world`: what was read, before anything is asked."""

import json
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import teachirl as ti
from problem_files import PROBLEMS
from teachirl.app import cli
from teachirl.app.decisions import world_account


@pytest.fixture
def teachirl(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["teachirl", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return stop.value.code, *capsys.readouterr()

    return call


def test_counts_and_ranges():
    """The chain's are known: who stays between two cells has all that can be had of them."""
    mdp = ti.worlds.chain(5)
    found = world_account(ti.worlds.World(mdp, weights=[0, 0, 0, 0, 1], prices=[1, 2, 3, 4, 5]))
    assert (found.states, found.reachable, found.pairs, found.transitions) == (5, 5, 8, 8)
    assert (found.ends, found.chance, found.components, found.largest) == (False, False, 1, 5)
    for i, each in enumerate(found.features):
        axis = np.eye(5)[i]
        assert each.most == pytest.approx(ti.optimal_policy(mdp, axis).value)
        assert each.least == pytest.approx(ti.worst_policy(mdp, axis).value)
        assert (each.low, each.high, each.price) == (0.0, 1.0, i + 1.0)
    assert found.features[4].weight == 1.0


def test_parts_that_cannot_be_reached_or_left():
    rows = np.zeros((4, 1, 4))
    rows[0, 0, 1] = rows[1, 0, 0] = rows[2, 0, 2] = rows[3, 0, 0] = 1.0
    features = sp.csr_array(np.array([[1.0], [2.0], [0.0], [5.0]]))
    mdp = ti.MDP.from_arrays(rows, features, discount=0.5, start=[0.5, 0, 0.5, 0])
    found = world_account(ti.worlds.World(mdp))
    assert (found.components, found.largest, found.reachable) == (3, 2, 3)
    assert found.ends and not found.chance
    assert (found.features[0].low, found.features[0].high) == (0.0, 5.0)
    assert found.features[0].least == pytest.approx(found.features[0].most)


def test_of_a_file_whose_other_tables_are_missing_or_wrong(teachirl, tmp_path):
    path = tmp_path / "world.toml"
    path.write_text('[world]\nname = "chain"\ncells = 3\n[reward.weights]\nnonsense = 1.0\n')
    code, out, err = teachirl("world", path)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "world" and "states                 3" in lines
    assert "cell 1   0 … 1      0.3333 … 4.754" in lines
    code, out, _ = teachirl("world", path, "--set", "world.cells=4", "--json")
    found = json.loads(out)["world"]
    assert code == 0 and found["states"] == 4 and len(found["features"]) == 4
    assert {"name", "low", "high", "least", "most"} <= set(found["features"][0])


def test_a_world_that_is_wrong_is_refused(teachirl, tmp_path):
    path = tmp_path / "world.toml"
    path.write_text('[world]\nname = "chian"\n')
    code, out, err = teachirl("world", path)
    assert (code, out) == (2, "") and "world" in err


def test_of_tables(teachirl):
    code, out, _ = teachirl("world", PROBLEMS / "lake.toml")
    assert code == 0 and "episodes               end" in out.splitlines()
