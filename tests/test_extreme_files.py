"""Files at the edges of what floats and memory can do: an answer or one message, and nothing else."""

import sys
import warnings

import pytest

from teachirl.app import cli
from teachirl.app.problem import places, read_problem
from teachirl.errors import FileFormatError

CHAIN = """
[world]
name = "chain"
cells = 5
discount = {discount}

[reward.weights]
"cell 1" = -1.0
"cell 5" = 1.0

[learner]
sees = {sees}

[teach]
features = "all"
"""


@pytest.fixture
def teachirl(monkeypatch, capsys):
    """Call the command in this process: its exit code, and what it printed to stderr."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["teachirl", *map(str, arguments)])
        with warnings.catch_warnings(), pytest.raises(SystemExit) as stop:
            warnings.simplefilter("error")
            cli.main()
        return stop.value.code, capsys.readouterr().err

    return call


class TestDiscounts:
    @pytest.mark.parametrize("discount", ["5e-324", "1e-320", "1e-300", "1e-16", repr(1 - 1e-12)])
    @pytest.mark.parametrize("command", ["certify", "teach", "frontier"])
    def test_an_answer(self, teachirl, tmp_path, discount, command):
        path = tmp_path / "chain.toml"
        blind = discount != repr(1 - 1e-12) or command == "certify"
        sees = "[]" if blind else '["cell 1", "cell 2", "cell 5"]'
        path.write_text(CHAIN.format(discount=discount, sees=sees))
        assert teachirl(command, path) == (0, "")

    def test_one_message(self, teachirl, tmp_path):
        path = tmp_path / "chain.toml"
        path.write_text(CHAIN.format(discount=repr(1 - 2**-53), sees="[]"))
        said = "world: discount must be at most 1 - 1e-12, got 0.9999999999999999"
        assert teachirl("certify", path) == (2, f"teachirl: {path}, {said}\n")


class TestMistakes:
    def test_similar_names_are_sought_for_what_is_told_only(self, tmp_path, monkeypatch):
        sought = []
        monkeypatch.setattr(places.difflib, "get_close_matches", lambda *a, **k: sought.append(a))
        wrong = str([f"sell {number}" for number in range(300)]).replace("'", '"')
        path = tmp_path / "chain.toml"
        path.write_text(CHAIN.format(discount=0.5, sees=wrong))
        with pytest.raises(FileFormatError, match="… and 295 more mistakes"):
            read_problem(path)
        assert len(sought) == places.TOLD
