"""Worlds written in Python, and worlds in the files of verification tools."""

import gzip
import io
import itertools
import json
import subprocess
import sys
import tarfile

import numpy as np
import pytest

import teachirl as ti
from teachirl.worlds.umb import read_umb


class Coin:
    """Toss until you stop; tails end it."""

    def start(self):
        return [(1.0, 0)]

    def actions(self, heads):
        return ["toss", "stop"]

    def outcomes(self, heads, action):
        more = [(0.5, min(heads + 1, 3)), (0.5, None)]
        return more if action == "toss" else [(1.0, None)]

    def features(self, heads, action):
        return {"paid": 1.0} if action == "toss" else {"won": heads}


class TestModels:
    def test_a_game_with_a_known_answer(self):
        mdp = ti.worlds.from_model(Coin(), discount=0.9)
        assert mdp.feature_names == ("paid", "won")
        assert [mdp.dynamics.state_name(i) for i in range(5)] == ["0", "1", "2", "3", "the end"]
        # One toss, which costs 1, then stop: to go on for 200 has a chance of .45, and costs 1.
        assert ti.optimal_policy(mdp, [-1.0, 100.0]).value == pytest.approx(0.45 * 100 - 1)

    def test_it_equals_the_table_of_a_chain(self):
        class Chain:
            def start(self):
                return [(0.2, cell) for cell in range(5)]

            def actions(self, cell):
                return [a for a, there in (("left", cell > 0), ("right", cell < 4)) if there]

            def outcomes(self, cell, action):
                return [(1.0, cell + (1 if action == "right" else -1))]

            def features(self, cell, action):
                return {f"cell {cell + 1}": 1.0}

        mdp, chain = ti.worlds.from_model(Chain(), 0.9), ti.worlds.chain(5)
        weights = dict(zip(chain.feature_names, [-2, -1, 0, 1, 2], strict=True))
        found = ti.optimal_policy(mdp, [weights[name] for name in mdp.feature_names])
        assert found.value == pytest.approx(ti.optimal_policy(chain, [-2, -1, 0, 1, 2]).value)
        ti.testing.check_mdp(mdp)

    def test_limits(self):
        class Endless(Coin):
            def outcomes(self, heads, action):
                return [(1.0, heads + 1)]

        with pytest.raises(
            ti.InvalidInputError, match=r"more than 100 states.* the next one is 100"
        ):
            ti.worlds.from_model(Endless(), 0.9, max_states=100)
        with pytest.raises(ti.InvalidInputError, match="took too long: 0 states were explored"):
            ti.worlds.from_model(Endless(), 0.9, max_seconds=-1.0)

    def test_outcomes_without_an_end(self):
        class Same(Coin):
            def outcomes(self, state, action):
                return itertools.repeat((0.5, state))

        with pytest.raises(ti.InvalidInputError, match=r"outcomes\(.* at most 1000000 outcomes"):
            ti.worlds.from_model(Same(), 0.9)

    def test_progress(self):
        seen = []
        ti.worlds.from_model(Coin(), 0.9, progress=lambda *counts: seen.append(counts))
        assert seen == [(0, 1), (4, 4)]

    @pytest.mark.parametrize(
        ("method", "given", "message"),
        [
            ("outcomes", lambda s, a: 1 / 0, r"model.outcomes\(0, 'toss'\) raised ZeroDivisionE"),
            ("features", lambda s, a: {"x": "y"}, r"model.features\(0, 'toss'\) raised TypeError"),
            ("actions", lambda s: [], r"model.actions\(0\) must give at least one action"),
            ("actions", lambda s: [[]], r"model.actions\(0, \[\]\) raised TypeError: unhashable"),
            ("start", list, r"model.start\(\) must give a probability and a state"),
            ("start", lambda: [1], r"model.start\(\) raised TypeError"),
            ("outcomes", lambda s, a: [(0.7, 0)], "sum to 1"),
        ],
    )
    def test_the_model_s_own_mistakes(self, method, given, message):
        model = Coin()
        setattr(model, method, given)
        with pytest.raises(ti.InvalidInputError, match=message):
            ti.worlds.from_model(model, 0.9)

    def test_what_is_no_model(self):
        with pytest.raises(ti.InvalidInputError, match="must have a method start, int has none"):
            ti.worlds.from_model(3, 0.9)


def umb(path, members=None, annotations=None, **changed):
    """A file with two states: in the first, 'stay' and 'go'; the second is for ever."""
    index = {
        "annotations": {
            "aps": {"0x67oal": {"alias": "goal", "applies-to": ["states"]}},
            "rewards": {"cost": {"applies-to": ["choices"]}},
            **(annotations or {}),
        },
        "transition-system": {
            "#states": 2,
            "#choices": 3,
            "#branches": 4,
            "#players": 1,
            "#choice-actions": 3,
            "branch-probability-type": {"type": "double", "size": 64},
            **changed,
        },
        "valuations": {
            "states": {
                "classes": [
                    {
                        "variables": [
                            {"name": "x", "type": {"type": "uint", "size": 3}, "offset": -1},
                            {"name": "up", "type": {"type": "bool", "size": 1}},
                            {"name": "z", "type": {"type": "int", "size": 4}},
                        ]
                    }
                ]
            }
        },
    }
    there = {
        "index.json": json.dumps(index).encode(),
        "state-to-choices.bin": np.array([0, 2, 3], "<u8").tobytes(),
        "state-is-initial.bin": np.array([1], "<u8").tobytes(),
        "choice-to-branches.bin": np.array([0, 1, 3, 4], "<u8").tobytes(),
        "branch-to-target.bin": np.array([0, 0, 1, 1], "<u8").tobytes(),
        "branch-to-probability.bin": np.array([1, 0.25, 0.75, 1], "<f8").tobytes(),
        "actions/choices/values.bin": np.array([1, 2, 0], "<u4").tobytes(),
        "actions/choices/string-mapping.bin": np.array([0, 0, 4, 6], "<u8").tobytes(),
        "actions/choices/strings.bin": b"staygo",
        "annotations/aps/0x67oal/states/values.bin": np.array([2], "<u8").tobytes(),
        "annotations/rewards/cost/choices/values.bin": np.array([1, 2, 0], "<f8").tobytes(),
        # x = 4 − 1, up, z = −2; x = 0 − 1, not up, z = 3
        "valuations/states/valuations.bin": bytes([0b1110_1_100, 0b0011_0_000]),
        **(members or {}),
    }
    with tarfile.open(path, "w:gz") as archive:
        for name, content in there.items():
            if content is not None:
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return path


class TestUmb:
    def test_all_of_it(self, tmp_path):
        path = umb(tmp_path / "small.umb")
        model = read_umb(path)
        assert {name: values.tolist() for name, values in model.variables.items()} == {
            "x": [3, -1],
            "up": [1, 0],
            "z": [-2, 3],
        }
        mdp = ti.worlds.from_model_file(path, 0.9, variables=["x"])
        assert mdp.feature_names == ("goal", "cost", "action stay", "action go", "x=-1", "x=3")
        assert mdp.dynamics.action_names == ("choice", "stay", "go")
        dense = mdp.dynamics.transitions.toarray()
        assert dense.tolist() == [[1, 0], [0.25, 0.75], [0, 1]]
        assert mdp.start.tolist() == [1, 0]
        # At once to the goal, and for ever there: 1 of 4 steps fails.
        weights = [1.0, 0, 0, 0, 0, 0]
        best = ti.optimal_policy(mdp, weights).value
        assert best == pytest.approx(0.9 * 0.75 / (1 - 0.9 * 0.25) * 10)

    def test_choices_of_one_name_are_numbered(self, tmp_path):
        values = np.array([1, 1, 0], "<u4").tobytes()
        path = umb(tmp_path / "same.umb", {"actions/choices/values.bin": values})
        mdp = ti.worlds.from_model_file(path, 0.9)
        assert mdp.dynamics.action_names == ("choice", "stay", "stay (2)")

    @pytest.mark.parametrize(
        ("members", "changed", "message"),
        [
            ({"branch-to-target.bin": b""}, {}, "branch-to-target.bin: expected 32 bytes, got 0"),
            ({"index.json": None}, {}, "expected a member index.json, got none"),
            ({"index.json": b"{"}, {}, "is no JSON"),
            ({"index.json": b"\xff"}, {}, "expected UTF-8 text"),
            ({}, {"#states": 10**9}, r"#states must lie in 1 … 50000000, got 1000000000"),
            ({}, {"#states": "2"}, "#states must be a whole number"),
            ({}, {"#branches": 10**8}, "expected rising numbers from 0 to 100000000"),
            ({}, {"#players": 2}, "one player, got a game"),
            ({}, {"branch-probability-type": {"type": "rational"}}, "got 'rational'"),
            (
                {"branch-to-target.bin": np.array([0, 0, 1, 2], "<u8").tobytes()},
                {},
                "expected states below 2",
            ),
            (
                {"state-to-choices.bin": np.array([0, 3, 3], "<u8").tobytes()},
                {},
                "state-to-choices.bin: expected rising numbers from 0 to 3",
            ),
            (
                {"state-is-initial.bin": np.array([0], "<u8").tobytes()},
                {},
                "expected a state to begin in",
            ),
            (
                {"branch-to-probability.bin": np.array([1, 0.5, 0.75, 1], "<f8").tobytes()},
                {},
                "sum to 1",
            ),
        ],
    )
    def test_hostile_files(self, tmp_path, members, changed, message):
        path = umb(tmp_path / "bad.umb", members, **changed)
        with pytest.raises((ti.FileFormatError, ti.InvalidInputError), match=message):
            ti.worlds.from_model_file(path, 0.9)

    def test_cut_off_and_no_archive_at_all(self, tmp_path):
        whole = umb(tmp_path / "whole.umb").read_bytes()
        path = tmp_path / "part.umb"
        for length in (0, 10, len(whole) // 2, len(whole) - 60):
            path.write_bytes(whole[:length])
            with pytest.raises(ti.FileFormatError, match=r"no UMB file|expected a member"):
                ti.worlds.from_model_file(path, 0.9)

    @pytest.mark.parametrize("name", ["../evil", "/evil", "a/../../evil"])
    def test_members_that_lead_elsewhere_are_refused(self, tmp_path, name):
        path = umb(tmp_path / "m.umb", {name: b"x"})
        with pytest.raises(ti.FileFormatError, match=f"in the archive itself, got '{name}'"):
            ti.worlds.from_model_file(path, 0.9)

    @pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
    def test_links_are_refused(self, tmp_path, kind):
        path = tmp_path / "links.umb"
        with tarfile.open(umb(tmp_path / "m.umb")) as whole, tarfile.open(path, "w") as archive:
            for member in whole:
                archive.addfile(member, whole.extractfile(member))
            info = tarfile.TarInfo("x")
            info.type, info.linkname = kind, "index.json"
            archive.addfile(info)
        with pytest.raises(ti.FileFormatError, match="got a link or device 'x'"):
            ti.worlds.from_model_file(path, 0.9)

    def test_other_mistakes(self, tmp_path):
        path = umb(tmp_path / "m.umb")
        with pytest.raises(
            ti.InvalidInputError, match="there is no variable 'y'; there are: x, up"
        ):
            ti.worlds.from_model_file(path, 0.9, variables=["y"])
        with pytest.raises(ti.InvalidInputError, match="constants are for PRISM and JANI"):
            ti.worlds.from_model_file(path, 0.9, constants={"N": 3})
        with pytest.raises(ti.InvalidInputError, match=r"path must end in \.umb"):
            ti.worlds.from_model_file(tmp_path / "m.txt", 0.9)
        with pytest.raises(FileNotFoundError):
            ti.worlds.from_model_file(tmp_path / "missing.umb", 0.9)

    def test_labels_and_rewards_of_one_name_are_two_features(self, tmp_path):
        values = np.array([1, 2, 0], "<f8").tobytes()
        members = {"annotations/rewards/r/choices/values.bin": values}
        index = {"rewards": {"r": {"alias": "goal", "applies-to": ["choices"]}}}
        path = umb(tmp_path / "same.umb", members, annotations=index)
        mdp = ti.worlds.from_model_file(path, 0.9)
        assert mdp.feature_names[:2] == ("goal", "reward goal")
        assert mdp.features.toarray()[:, :2].T.tolist() == [[0, 0, 1], [1, 2, 0]]

    def test_a_problem_file_reads_it(self, tmp_path):
        umb(tmp_path / "m.umb")
        path = tmp_path / "problem.toml"
        text = """
            [world]
            model = "m.umb"
            variables = ["x"]
            discount = 0.9
            [reward.weights]
            goal = 1.0
            [learner]
            sees = ["cost"]
            [teach]
            features = "all"
        """
        path.write_text(text)
        problem = ti.read_problem(path)
        assert problem.mdp.n_states == 2
        assert [name for name, _ in problem.files] == ["m.umb"]
        assert "x=3" in problem.teachables.names
        for old, new, message in (
            ('["x"]', '["y"]', "world.model: m.umb: there is no variable 'y'"),
            ('"m.umb"', '"../m.umb"', "world.model: expected a file in the folder"),
            ("discount = 0.9", "discount = 0.9\nconstants = { N = 3 }", "constants are for PRISM"),
            (
                "discount = 0.9",
                'discount = 0.9\nconstants = { N = "x" }',
                "world.constants.N: expected a finite number, or true or false, got 'x'",
            ),
            ("variables", "variable", "world.variable: there is no such key"),
        ):
            path.write_text(text.replace(old, new))
            with pytest.raises(ti.FileFormatError) as refused:
                ti.read_problem(path)
            assert message in str(refused.value)

    def test_hostile_files_take_no_memory(self, tmp_path):
        """Each ends with one message and exit code 2, and all of them within a gigabyte."""
        hostile(tmp_path)
        done = subprocess.run(
            [sys.executable, "-c", REFUSING, str(tmp_path)],
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        *told, memory = done.stdout.splitlines()
        assert len(told) == len(list(tmp_path.glob("*.umb")))
        for line in told:
            # The exit code, how many mistakes were told, and whether all else waits for them.
            assert line.startswith("2 1 True "), line
        assert int(memory) < 1 << 20, memory  # kilobytes


# Calls the command for each file of a folder, in this one process, and tells what that took: by
# Linux's own account where there is one, as getrusage begins with the size of who started it.
REFUSING = """
import contextlib, io, pathlib, resource, sys
from teachirl.app import cli
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.umb")):
    problem = path.with_suffix(".toml")
    sys.argv[1:] = ["check", str(problem)]
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            cli.main()
            code = 0
        except SystemExit as stop:
            code = stop.code
    *lines, last = said.getvalue().strip().splitlines()
    waits = f"{problem}: not looked at, as the world must be right first: names of features"
    print(code, len(lines), last == f"teachirl: {waits}", lines[:1])
account = pathlib.Path("/proc/self/status")
if account.exists():
    print(next(line.split()[1] for line in account.open() if line.startswith("VmHWM:")))
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def hostile(folder):
    """Files that are not what they claim to be, each with a problem file that names it."""
    whole = umb(folder / "links.umb").read_bytes()
    with tarfile.open(folder / "links.umb", "w") as archive:
        for name, target in (("index.json", "/etc/passwd"), ("../x", "../../x")):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            archive.addfile(info)
    (folder / "cut.umb").write_bytes(whole[: len(whole) // 2])
    (folder / "empty.umb").write_bytes(b"")
    umb(folder / "many.umb", **{"#states": 10**9})
    umb(folder / "lying.umb", **{"#states": 10**7, "#choices": 10**7, "#branches": 10**8})
    umb(folder / "nested.umb", {"index.json": b"[" * 10**6})
    umb(folder / "offset.umb", {"index.json": b'{"transition-system": {"#states": 1e400}}'})
    # A header that says there are 3 GB, and nothing behind it.
    info = tarfile.TarInfo("state-to-choices.bin")
    info.size = 3 << 30
    (folder / "header.umb").write_bytes(info.tobuf() + b"\0" * 1024)
    # A name of 3 GB, of which a tar would read all at once.
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 3 << 30
    (folder / "name.umb").write_bytes(info.tobuf() + b"\0" * 1024)
    # 100 MB of zeros in 100 kB: a bomb.
    with gzip.open(folder / "bomb.umb", "wb", compresslevel=6) as file:
        info = tarfile.TarInfo("state-to-choices.bin")
        info.size = 100 << 20
        file.write(info.tobuf())
        for _ in range(100):
            file.write(bytes(1 << 20))
    for path in folder.glob("*.umb"):
        path.with_suffix(".toml").write_text(
            f'[world]\nmodel = "{path.name}"\ndiscount = 0.9\n[reward.weights]\ngoal = 1.0\n'
            "[learner]\nsees = []\n"
        )
