"""Worlds and logs of one's own: maps, exports, and steps that cannot have happened."""

import json
import re
import sys

import numpy as np
import pytest

import teachirl as ti
from problem_files import PROBLEMS, copied, message_of
from teachirl.app import cli
from teachirl.app.decisions import assess
from teachirl.app.document.assessment import _of_everyone
from teachirl.app.document.documents import report
from teachirl.app.document.elements import Figure, Section
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


def figures(element):
    if isinstance(element, Figure):
        return [element]
    inner = element.elements if isinstance(element, Section) else ()
    return [each for part in inner for each in figures(part)]


class TestMaps:
    PLACES = "state,x,y,text\nshore,3,7,start\nice,4,7,\nhut,4,8,home\n"

    def test_a_table_of_its_own(self, folder):
        (folder / "map.csv").write_text(self.PLACES)
        path = folder / "lake.toml"
        path.write_text(path.read_text().replace("discount", 'map = "map.csv"\ndiscount'))
        problem = read_problem(path)
        around = problem.world.map
        assert around is not None and around.shape == (2, 2)
        assert around.cells.tolist() == [0, 1, 3, -1]  # the end lies nowhere
        assert around.texts == ("start", "", "", "home")
        assert [around.name(cell) for cell in (0, 3)] == ["x 3, y 7", "x 4, y 8"]
        drawn = [
            each for part in report(problem, assess(problem)).sections for each in figures(part)
        ]
        assert any("visits" in figure.title for figure in drawn)

    def test_columns_of_the_features(self, folder):
        table = folder / "features.csv"
        header, *rows = table.read_text().split()
        where = {"shore": "3,7", "ice": "4,7", "hut": "4,8"}
        places = [where[row.split(",")[0]] for row in rows]
        table.write_text(
            "\n".join([f"{header},x,y", *map(",".join, zip(rows, places, strict=True))])
        )
        problem = read_problem(folder / "lake.toml")
        assert problem.mdp.feature_names == ("cold", "wet", "home", "step")
        assert problem.world.map is not None
        assert problem.world.map.cells.tolist() == [0, 1, 3, -1]
        table.write_text(table.read_text().replace("3,7", "3.5,7"))
        said = message_of(folder / "lake.toml")
        assert (
            "world.features: features.csv, line 3: expected whole numbers in columns x and" in said
        )

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            ("hut,4", "moon,4", "world.map: map.csv, line 4: there is no state 'moon'"),
            ("hut,4", "ice,4", "world.map: map.csv, line 4: expected each state once"),
            ("4,8", "4e6,8", "expected a map of at most 100000 cells, got 2 × 3999998"),
            ("4,8", "1e300,8", "expected whole numbers in columns x and y"),
            ("x,y", "x,z", "world.map: map.csv: expected a column 'y'"),
        ],
    )
    def test_mistakes(self, folder, old, new, message):
        (folder / "map.csv").write_text(self.PLACES.replace(old, new))
        path = folder / "lake.toml"
        path.write_text(path.read_text().replace("discount", 'map = "map.csv"\ndiscount'))
        assert message in message_of(path)


class TestExport:
    def test_is_read_back(self, teachirl, folder):
        options = ["--episodes", 5, "--steps", 30]
        code, out, err = teachirl("export", folder / "grid.toml", "--out", folder, *options)
        assert (code, err) == (0, "")
        assert len(out.splitlines()) == 6
        problem = read_problem(folder / "grid.toml")
        expected = ti.certify(
            problem.mdp, problem.worldview, problem.weights, problem.task.demonstration
        )
        for name, value in (("optimal", problem.task.best.value), ("worst", expected.worst.upper)):
            path = folder / f"again_{name}.toml"
            policy = f'\n[demonstration]\npolicy = "{name}.csv"\n'
            path.write_text((folder / "grid.toml").read_text() + policy)
            shown = read_problem(path).task.demonstration
            assert problem.weights @ shown.expectations == pytest.approx(value, abs=1e-6)
        path.write_text(
            path.read_text().replace("policy", "trajectories").replace(".csv", "_episodes.csv")
        )
        episodes = read_problem(path).task.demonstration.trajectories
        assert episodes is not None and (len(episodes), episodes.n_steps) == (5, 150)

    def test_what_was_recorded_is_there_already(self, teachirl, folder):
        out = teachirl("export", folder / "recorded.toml", "--out", folder / "new")[1]
        assert out.splitlines()[0].endswith("optimal.csv")
        assert "shown" not in out


LOG = """\
{"states": ["shore", "ice", "hut"], "actions": ["walk", "walk", "wait"], "terminated": true}
{"states": ["shore", "hut", "hut", "ice"], "actions": ["walk", "wait", "walk", "walk"], \
"terminated": true}
{"states": ["hut"], "actions": ["wait"], "terminated": true}
{"states": ["shore", "shore"], "actions": ["walk", "wait"], "terminated": true}
"""


class TestImpossibleSteps:
    def test_are_told_with_counts(self, folder):
        (folder / "log.jsonl").write_text(LOG)
        mdp = read_problem(folder / "lake.toml").mdp
        with pytest.raises(ti.FileFormatError) as caught:
            ti.read_trajectories(folder / "log.jsonl", mdp)
        message = str(caught.value)
        assert "line 2, step 2: action walk does not exist in state hut" in message
        # To the hut past the ice, in the hut for longer than one can be, and a start that is none.
        counted = "(3 of 10 steps, in 2 of 4 episodes, are impossible; skip"
        assert counted in message
        # All three, a line each, and none twice.
        first, *others = (line.split("log.jsonl, ")[1] for line in message.splitlines())
        assert first.startswith("line 2, step 2: action walk does not exist in state hut")
        assert others == [
            "line 2, step 0: action walk in state shore never leads to state hut, which comes next",
            "line 3, step 0: no episode starts in state hut, whose probability in the MDP's start "
            "is 0",
        ]

    @pytest.mark.parametrize("kind", ["jsonl", "csv"])
    def test_of_many_five_are_named(self, teachirl, folder, kind):
        """What there is not comes first, then what cannot be; the others are only counted."""
        log, path = folder / f"log.{kind}", folder / "logged.toml"
        if kind == "jsonl":
            sea = '{"states": ["shore", "sea"], "actions": ["walk", "walk"], "terminated": false}\n'
            hut = '{"states": ["hut"], "actions": ["wait"], "terminated": false}\n'
            log.write_text(2 * sea + 5 * hut)
            unknown, starts = ["line 1, states[1]", "line 2, states[1]"], [3, 4, 5]
        else:
            rows = [f"{i},0,shore,walk,\n{i},1,sea,walk,false" for i in range(2)]
            rows += [f"{i},0,hut,wait,false" for i in range(2, 7)]
            log.write_text("\n".join(["episode,step,state,action,terminated", *rows]))
            unknown, starts = ["line 3, state", "line 5, state"], [6, 7, 8]
        text = (folder / "lake.toml").read_text()
        path.write_text(text.replace('policy = "policy.csv"', f'trajectories = "{log.name}"'))
        code, out, err = teachirl("check", path)
        assert (code, out) == (2, "")
        lines = [line.split(f"{log.name}, ")[1] for line in err.splitlines()]
        assert len(lines) == 5 and "(7 of 9 steps, in 7 of 7 episodes, are impossible" in lines[0]
        for line, where in zip(lines[:2], unknown, strict=True):
            assert line.startswith(f"{where}: expected the number of a state in 0 … ")
        for line, number in zip(lines[2:], starts, strict=True):
            assert re.match(rf"line {number}\b.*: no episode starts in state hut", line)

    @pytest.mark.parametrize("kind", ["jsonl", "csv"])
    def test_what_the_world_does_not_have(self, folder, kind):
        """An action that no state has, and a state that there is not: counted, or left out."""
        mdp, log = read_problem(folder / "lake.toml").mdp, folder / f"log.{kind}"
        if kind == "jsonl":
            text = LOG.splitlines()[0] + "\n" + LOG.splitlines()[0]
            log.write_text(text.replace('"wait"', '"fly"', 1).replace('"ice"', '"sea"', 1))
            where = "line 1, states[1]"
        else:
            rows = "a,0,shore,walk,\na,1,sea,walk,\na,2,hut,fly,true\n"
            rows += "b,0,shore,walk,\nb,1,ice,walk,\nb,2,hut,wait,true"
            log.write_text(f"episode,step,state,action,terminated\n{rows}")
            where = "line 3, state"
        with pytest.raises(ti.FileFormatError) as caught:
            ti.read_trajectories(log, mdp)
        assert f"{where}: expected the number of a state in 0 … " in str(caught.value)
        assert "got 'sea' (2 of 6 steps, in 1 of 2 episodes, are impossible; skip" in str(
            caught.value
        )
        left = ti.read_trajectories(log, mdp, skip="impossible")
        assert left.lengths.tolist() == [1, 3] and left.terminated.tolist() == [False, True]
        assert (left.skipped.impossible, left.skipped.steps, left.skipped.lost) == (2, 2, 0)
        assert left.left_out == (
            "Of 2 recorded episodes, 1 has impossible steps, 2 in all. It counts as cut off before "
            "the first: 2 steps are left out."
        )

    def test_can_be_left_out(self, folder):
        (folder / "log.jsonl").write_text(LOG)
        mdp = read_problem(folder / "lake.toml").mdp
        left = ti.read_trajectories(folder / "log.jsonl", mdp, skip="impossible")
        assert left.lengths.tolist() == [3, 1, 2]
        # An episode whose last step cannot end it was cut off, as one is before a gap.
        assert left.terminated.tolist() == [True, False, False]
        skipped = left.skipped
        assert skipped is not None
        assert (skipped.impossible, skipped.episodes, skipped.steps, skipped.lost) == (3, 2, 4, 1)
        same = ti.sample_trajectories(
            mdp, ti.Policy.uniform(mdp), episodes=3, horizon=5, rng=np.random.default_rng(0)
        )
        ti.write_trajectories(folder / "same.csv", same, mdp)
        read = ti.read_trajectories(folder / "same.csv", mdp, skip="impossible")
        assert read.skipped is None and read.left_out == ""
        assert read.pairs.tolist() == same.pairs.tolist()

    def test_in_a_problem_file(self, teachirl, folder):
        (folder / "log.jsonl").write_text(LOG)
        path = folder / "logged.toml"
        text = (folder / "lake.toml").read_text()
        path.write_text(text.replace('policy = "policy.csv"', 'trajectories = "log.jsonl"'))
        assert 'skip = "impossible" leaves them and what follows them out' in message_of(path)
        code, out, _ = teachirl("check", path, "--set", "demonstration.skip=impossible")
        assert code == 0
        said = "- Of 4 recorded episodes, 2 have impossible steps, 3 in all."
        assert said in out
        out = teachirl("certify", path, "--set", "demonstration.skip=impossible", "--json")[1]
        assert json.loads(out)["assessment"]["notes"][0].startswith(said[2:])
        path.write_text(text.replace('policy = "policy.csv"', 'skip = "impossible"'))
        assert "skip is for trajectories only" in message_of(path)

    def test_nothing_is_left(self, folder):
        (folder / "log.jsonl").write_text(LOG.splitlines()[2])
        mdp = read_problem(folder / "lake.toml").mdp
        with pytest.raises(ti.FileFormatError, match="expected an episode that can have happened"):
            ti.read_trajectories(folder / "log.jsonl", mdp, skip="impossible")


def test_problems_are_as_they_were():
    assert read_problem(PROBLEMS / "lake.toml").world.map is None


@pytest.mark.parametrize("match", ["recordings", "expert"])
@pytest.mark.parametrize("mismatch", ["", "mismatch = 100.0"])
def test_the_headline_has_the_confidence_of_its_reading(folder, match, mismatch):
    """Who is to match the recordings themselves matches something that is known for certain."""
    text = (folder / "lake.toml").read_text().replace("mismatch = 0.0", mismatch)
    shown = f'trajectories = "expert.csv"\nmatch = "{match}"\nconfidence = 0.9'
    (folder / "match.toml").write_text(text.replace('policy = "policy.csv"', shown))
    found = assess(read_problem(folder / "match.toml"))
    taken = found.readings.both[match == "expert" and not mismatch]
    said = _of_everyone(found)
    assert (taken.confidence < 1.0) == ("with confidence 90 %" in said) == ("confidence" in said)
