"""Files at the edges of what floats and memory can do: an answer or one message, no more."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from teachirl.app import cli
from teachirl.app.decisions import assess
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
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(SystemExit) as stop:
                cli.main()
        return stop.value.code, capsys.readouterr().err

    return call


class TestDiscounts:
    @pytest.mark.parametrize("discount", ["5e-324", "1e-320", "1e-300", "1e-16", repr(1 - 1e-12)])
    @pytest.mark.parametrize("command", ["certify", "teach", "frontier"])
    def test_an_answer(self, teachirl, tmp_path, discount, command):
        path = tmp_path / "chain.toml"
        path.write_text(CHAIN.format(discount=discount, sees="[]"))
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
        assert len(sought) == places.KEPT  # which teachirl check tells


SIZES = """
[world]
name = "chain"
cells = 5

[reward.weights]
"cell 1" = -1.0
"cell 5" = 1.0

[[learner.combination]]
name = "mix"
weights = {{ "cell 2" = {seen} }}

[[teach.feature]]
name = "odd"
weights = {{ "cell 5" = {taught} }}
cost = {cost}

[[teach.feature]]
name = "cell 4"
cost = {cost}

[plan]
learner = "MaxCausalEntropy"
"""


class TestSizes:
    @pytest.mark.parametrize("command", ["certify", "teach", "frontier"])
    @pytest.mark.parametrize("size", ["1e-320", "1e-200", "1e200", "1e308"])
    @pytest.mark.parametrize("part", ["seen", "taught", "cost"])
    def test_numbers_that_would_overflow_are_refused(self, teachirl, tmp_path, part, size, command):
        path = tmp_path / "sizes.toml"
        path.write_text(SIZES.format(**{"seen": 1.0, "taught": 1.0, "cost": 1.0, part: size}))
        what, *places = {
            "seen": ("rows", "learner"),
            "taught": ("the largest", "teach.feature[0].weights"),
            "cost": ("it", "teach.feature[0].cost", "teach.feature[1].cost"),
        }[part]
        said = f"{what} must be 0 or between 1e-45 and 1e+45 in size, got {float(size):.3g}"
        lines = [f"{path}, {place}: {said}; choose other units\n" for place in places]
        assert teachirl(command, path) == (2, f"teachirl: {''.join(lines)}")

    @pytest.mark.parametrize("command", ["certify", "teach", "frontier"])
    @pytest.mark.parametrize("size", ["1e-45", "1e45"])
    @pytest.mark.parametrize("part", ["seen", "taught", "cost"])
    def test_others_are_answered(self, teachirl, tmp_path, part, size, command):
        path = tmp_path / "sizes.toml"
        path.write_text(SIZES.format(**{"seen": 1.0, "taught": 1.0, "cost": 1.0, part: size}))
        assert teachirl(command, path) == (0, "")

    @pytest.mark.parametrize("command", ["certify", "teach", "frontier"])
    @pytest.mark.parametrize("weight", ["1e-320", "1e-200", "1e200", "1e308"])
    def test_rewards(self, teachirl, tmp_path, weight, command):
        path = tmp_path / "sizes.toml"
        text = SIZES.format(seen=1.0, taught=1.0, cost=1.0)
        path.write_text(text.replace('"cell 1" = -1.0', f'"cell 1" = {weight}'))
        code, err = teachirl(command, path)
        assert code in (0, 2) and len(err.splitlines()) == code // 2


class TestManyRows:
    def test_equal_rows_are_certified(self, teachirl, tmp_path):
        """With all learners simulated: none is left out as too large."""
        path = tmp_path / "rows.toml"
        text = CHAIN.format(discount=0.9, sees="[]")
        path.write_text(text.replace("sees = []", 'matrix = "rows.csv"'))
        (tmp_path / "rows.csv").write_text("cell 1,cell 2\n" + "1,0\n" * 5000)
        assert teachirl("certify", path) == (0, "")
        found = assess(read_problem(path))
        assert [each.name for each in found.learners if each.performance is None] == []


LIMITED = """
import resource, sys
import teachirl.app.decisions
from teachirl.app import cli
from teachirl.app.decisions import assess
with open("/proc/self/statm") as file:
    pages = int(file.read().split()[0])
limit = pages * resource.getpagesize() + (256 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for path in sys.argv[1:]:
    sys.argv = ["teachirl", "certify", path]
    try:
        cli.main()
    except SystemExit as stop:
        print("ended with", stop.code, file=sys.stderr)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="asks Linux for its memory")
class TestMemory:
    def long(self, folder):
        path = folder / "long.toml"
        text = CHAIN.format(discount=0.9, sees="[]")
        path.write_text(text.replace("cells = 5", "cells = 10000"))
        return path, "world: expected at most 5000 features, got 10000"

    def wide(self, folder):
        (folder / "moves.csv").write_text(
            "state,action,next_state,probability\n"
            + "".join(f"s{i},go,s{(i + 1) % 4},1\n" for i in range(4))
        )
        columns = ",".join(f"f{i}" for i in range(8000))
        rows = "".join(f"s{i}," + ",".join(["1"] * 8000) + "\n" for i in range(4))
        (folder / "features.csv").write_text(f"state,{columns}\n{rows}")
        path = folder / "wide.toml"
        path.write_text(
            '[world]\ntransitions = "moves.csv"\nfeatures = "features.csv"\ndiscount = 0.9\n'
            "[reward.weights]\nf1 = 1.0\n[learner]\nsees = []\n"
        )
        return path, "world: expected at most 5000 features, got 8000"

    def many(self, folder):
        path = folder / "many.toml"
        text = CHAIN.format(discount=0.9, sees="[]").replace("cells = 5", "cells = 4000")
        each = '[[teach.feature]]\nname = "{}"\nweights = {{ "cell 1" = 1 }}\n'
        path.write_text(text + "".join(each.format(i) for i in range(9000)))
        said = "teach.feature: expected at most 25000000 numbers, got 9000 rows on 4000 features"
        return path, said

    def test_a_long_chain_a_wide_table_and_many_features_to_teach(self, tmp_path):
        files = [self.long(tmp_path), self.wide(tmp_path), self.many(tmp_path)]
        ended = subprocess.run(
            [sys.executable, "-c", LIMITED, *(path for path, _ in files)],
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        lines = [(f"teachirl: {path}, {said}", "ended with 2") for path, said in files]
        assert ended.stderr.splitlines() == [line for pair in lines for line in pair]
