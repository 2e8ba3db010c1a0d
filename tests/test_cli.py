import csv
import errno
import json
import signal
import subprocess
import sys
import types
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import teachirl as ti
from teachirl.app import cli
from teachirl.files import replacing
from teachirl.study.experiments import BUILT_IN, find
from teachirl.study.results_database import FILE, Store
from teachirl.worlds.built_in import BUILT_IN as BUILT_IN_WORLDS

COMMANDS = (
    "check",
    "init",
    "certify",
    "compare",
    "diagnose",
    "export",
    "teach",
    "frontier",
    "probe",
    "reproduce",
    "lesson",
    "runs",
    "studio",
    "warm",
    "world",
    "worlds",
)


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


def in_process(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "teachirl", *map(str, arguments)],
        **{"capture_output": True, "text": True, "timeout": 120, **options},
    )


def refusal(result):
    """The one line that says what the user did wrong."""
    code, out, err = result
    assert (code, out) == (2, "")
    assert err.startswith("teachirl: ") and err.count("\n") == 1
    return err.removeprefix("teachirl: ").rstrip("\n")


@pytest.fixture
def failing(monkeypatch):
    """Let `teachirl reproduce` raise an error."""

    def install(error):
        def reproduce(references, **options):
            raise error

        module = types.SimpleNamespace(reproduce=reproduce)
        monkeypatch.setitem(sys.modules, "teachirl.study.experiments.reproduce", module)

    return install


def test_help_names_each_command_and_loads_nothing_heavy():
    code = (
        "import sys; from teachirl.app.cli import app; app(['--help'], standalone_mode=False); "
        "print({'numpy', 'scipy', 'numba', 'highspy', 'pydantic', 'rich'} & set(sys.modules))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    *text, heavy = result.stdout.splitlines()
    assert heavy == "set()"
    listed = [
        line.split()[0]
        for line in text[text.index("Commands:") + 1 :]
        if not line.startswith("   ")
    ]
    assert sorted(listed) == sorted(COMMANDS)


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS), ["runs", "export"]])
def test_every_command_explains_itself(teachirl, command):
    code, out, err = teachirl(*command, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(" ".join(["Usage: teachirl", *command]))
    assert "\x1b" not in out


def test_version(teachirl):
    assert teachirl("--version") == (0, f"teachirl {ti.__version__}\n", "")


def test_the_script_and_the_module_are_the_same_command():
    assert in_process("--version").stdout == f"teachirl {ti.__version__}\n"
    text = Path(__file__).parents[1].joinpath("pyproject.toml").read_text(encoding="utf-8")
    assert '\nteachirl = "teachirl.__main__:main"\n' in text


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing"],
        ["worlds", "--nothing"],
        ["worlds", "chain", "extra"],
        ["runs", "show"],
        ["runs", "export", "ab", "table.csv", "--csv", "--parquet"],
        ["runs", "export", "ab", "table.csv", "--parquet"],
        ["reproduce", "--workers", "0"],
        ["reproduce", "--workers", "two"],
        ["reproduce", "--workers", "2", "--cluster", "tcp://127.0.0.1:8786"],
    ],
)
def test_usage_errors(teachirl, arguments):
    code, out, err = teachirl(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("Usage: teachirl") and "Error: " in err


class TestWorlds:
    def test_text(self, teachirl):
        code, out, err = teachirl("worlds")
        assert (code, err) == (0, "")
        lines = out.splitlines()
        start = lines.index(
            "gridworld: A size × size grid whose features say in which block × block macrocell "
            "one is."
        )
        assert lines[start + 1 : start + 6] == [
            "    size: int, required",
            "    block: int = 1",
            "    discount: float = 0.9",
            "    slip: float = 0.0",
            "    start: list of float, optional",
        ]
        assert "\x1b" not in out

    def test_json(self, teachirl):
        code, out, err = teachirl("worlds", "--json")
        assert (code, err) == (0, "")
        document = json.loads(out)
        assert document["version"] == 2
        found = {world["name"]: world for world in document["worlds"]}
        assert set(found) == set(BUILT_IN_WORLDS)
        assert found["chain"]["parameters"] == [
            {"name": "cells", "type": "int", "required": False, "default": 5},
            {"name": "discount", "type": "float", "required": False, "default": 0.9},
        ]
        traffic = found["driving"]["parameters"][0]
        assert (traffic["name"], traffic["type"]) == ("traffic", "list of tables")
        assert [lane["lane"] for lane in traffic["default"]] == ["left", "middle", "right"]
        # A generator cannot stand in a file.
        assert found["garnet"]["parameters"][0] == {
            "name": "n_states",
            "type": "int",
            "required": True,
            "default": None,
        }

    def test_a_terminal_without_the_character(self, monkeypatch):
        monkeypatch.setenv("PYTHONIOENCODING", "cp437")
        result = in_process("worlds")
        assert result.returncode == 0
        assert "A size \\xd7 size grid" in result.stdout


class TestRuns:
    @pytest.fixture
    def folder(self, tmp_path):
        """A store with a run of which one of two units is done, and one that is just begun."""
        with Store.open(tmp_path / "out") as store:
            run = store.begin("fig5", 1, {"trials": 2}, [{"trial": 0}, {"trial": 1}])
            store.add(run.id, {"trial": 1}, {"risk": [0.1, 0.2]}, {"step": 3.5}, "here", 75.2)
            store.begin("mine.py:MINE", 2, {}, [{"trial": 0}])
        return tmp_path / "out"

    @pytest.fixture
    def run(self, folder):
        with Store.open(folder, write=False) as store:
            return store.runs()[0]

    def test_list(self, teachirl, folder, run):
        code, out, err = teachirl("runs", "list", "--out", folder)
        assert (code, err) == (0, "")
        head, first, second = (line.split() for line in out.splitlines())
        assert head == ["id", "experiment", "units", "time", "updated"]
        assert first == [run.id, "fig5", "1/2", "0:01:15", run.updated]
        assert second[1:4] == ["mine.py:MINE", "0/1", "0:00:00"]

    def test_list_as_json(self, teachirl, folder, run):
        code, out, err = teachirl("runs", "list", "--json", "--out", folder)
        assert (code, err) == (0, "")
        document = json.loads(out)
        assert document["version"] == 2
        first, second = document["runs"]
        assert first["id"] == run.id
        assert (first["units"], first["done"], first["elapsed"]) == (2, 1, 75.2)
        assert second["experiment"] == "mine.py:MINE"

    def test_show(self, teachirl, folder, run):
        code, out, err = teachirl("runs", "show", run.id[:6], "--out", folder)
        assert (code, err) == (0, "")
        facts = dict(line.split(maxsplit=1) for line in out.splitlines())
        assert facts["id"] == run.id
        assert facts["units"] == "1/2"
        assert facts["settings.trials"] == "2"
        assert facts["packages.teachirl"] == ti.__version__

    def test_show_as_json(self, teachirl, folder, run):
        code, out, err = teachirl("runs", "show", run.id, "--out", folder, "--json")
        assert (code, err) == (0, "")
        shown = json.loads(out)["run"]
        assert shown["settings"] == {"trials": 2}
        assert shown["machine"] == run.machine

    def test_export_by_suffix(self, teachirl, folder, run, tmp_path):
        file = tmp_path / "table.csv"
        assert teachirl("runs", "export", run.id, file, "--out", folder) == (
            0,
            f"{file}: 2 rows\n",
            "",
        )
        with file.open(encoding="utf-8", newline="") as table:
            rows = list(csv.DictReader(table))
        assert [row["risk"] for row in rows] == ["0.1", "0.2"]

    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_export_by_flag(self, teachirl, folder, run, tmp_path, monkeypatch, kind):
        monkeypatch.chdir(tmp_path)
        code, out, err = teachirl("runs", "export", run.id[:6], f"--{kind}", "--out", folder)
        assert (code, out, err) == (0, f"{run.id}.{kind}: 2 rows\n", "")
        start = {"csv": b"trial,", "parquet": b"PAR1"}[kind]
        assert Path(f"{run.id}.{kind}").read_bytes().startswith(start)

    def test_export_to_another_kind_of_file(self, teachirl, folder, run, tmp_path):
        result = teachirl("runs", "export", run.id, tmp_path / "table.txt", "--out", folder)
        assert "must end in .csv or .parquet" in refusal(result)

    def test_export_to_nowhere(self, teachirl, folder, run, tmp_path):
        result = teachirl("runs", "export", run.id, tmp_path / "no" / "t.csv", "--out", folder)
        assert "must be in a folder that exists" in refusal(result)

    def test_no_such_run(self, teachirl, folder, run):
        message = refusal(teachirl("runs", "show", "xyz", "--out", folder))
        assert "no run begins with 'xyz'" in message and run.id in message

    @pytest.mark.parametrize("command", [["list"], ["show", "ab"], ["export", "ab"]])
    def test_no_store(self, teachirl, tmp_path, command):
        message = refusal(teachirl("runs", *command, "--out", tmp_path))
        assert str(tmp_path / FILE) in message and "does not exist" in message
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("command", [["list"], ["show", "ab"], ["export", "ab"]])
    @pytest.mark.parametrize("content", [b"", b"no database at all" * 9, "torn"])
    def test_a_damaged_store(self, teachirl, folder, command, content):
        path = folder / FILE
        if content == "torn":
            content = path.read_bytes()[:5000]
        path.write_bytes(content)
        assert str(path) in refusal(teachirl("runs", *command, "--out", folder))

    @pytest.mark.parametrize("command", [["list"], ["show", "f"], ["export", "f"]])
    def test_a_damaged_unit_and_its_repair(self, teachirl, folder, run, command):
        path = folder / FILE
        path.write_bytes(path.read_bytes().replace(b"[0.1, 0.2]", b"[0.1, 0.3]"))
        message = refusal(teachirl("runs", *command, "--out", folder))
        assert f'{path} is damaged, or no results store: of run {run.id}, unit {{"trial":1}}' in (
            message
        )
        assert f"`teachirl runs repair --out {folder}` keeps what is whole" in message
        code, out, err = teachirl("runs", "repair", "--out", folder)
        assert (code, err) == (0, "")
        assert out.splitlines() == [
            f'{folder}: 0 units are whole; lost: of run {run.id}, unit {{"trial":1}}',
            f"The file as it was is {folder / 'results.damaged-1.sqlite'}.",
            f"To compute again what is missing: teachirl reproduce fig5 --out {folder}",
            f"To compute again what is missing: teachirl reproduce mine.py:MINE --out {folder}",
        ]
        assert "0/2" in teachirl("runs", "list", "--out", folder)[1]
        assert teachirl("runs", "repair", "--out", folder) == (
            0,
            f"{folder}: nothing is damaged\n",
            "",
        )

    def test_names_that_would_steer_the_terminal(self, teachirl, tmp_path):
        title = "a\x1b[31m\u202e\x9b2J\nb"
        with Store.open(tmp_path) as store:
            run = store.begin(title, 1, {title: title}, [])
        for command in (["list"], ["show", run.id]):
            code, out, err = teachirl("runs", *command, "--out", tmp_path)
            assert (code, err) == (0, "")
            assert not {"\x1b", "\u202e", "\x9b"} & set(out)
            assert "a\ufffd[31m\ufffd\ufffd2J\ufffdb" in out
        code, out, err = teachirl("runs", "list", "--out", tmp_path, "--json")
        assert json.loads(out)["runs"][0]["experiment"] == title
        assert out.isascii() and "\x1b" not in out

    def test_a_store_without_runs(self, teachirl, tmp_path):
        Store.open(tmp_path).close()
        code, out, err = teachirl("runs", "list", "--out", tmp_path)
        assert (code, err) == (0, "")
        assert len(out.splitlines()) == 1


@dataclass
class Report:
    failed: list[str] = field(default_factory=list)

    def __str__(self):
        return "fig5: 400 units"


class TestReproduce:
    @pytest.fixture
    def calls(self, monkeypatch):
        """What `reproduce` was called with, instead of doing it; and what it returns."""
        calls = types.SimpleNamespace(options=None, report=Report())

        def reproduce(references, *, progress, **options):
            progress.part("fig5", total=1).advance()
            calls.options = {"references": list(references), **options}
            return calls.report

        module = types.SimpleNamespace(reproduce=reproduce)
        monkeypatch.setitem(sys.modules, "teachirl.study.experiments.reproduce", module)
        return calls

    def test_defaults(self, teachirl, calls):
        # stderr is empty: it is no terminal here.
        assert teachirl("reproduce") == (0, "fig5: 400 units\n", "")
        assert calls.options == {
            "references": [],
            "quick": False,
            "out": Path("reproduction"),
            "workers": None,
            "cluster": None,
        }

    def test_options(self, teachirl, calls):
        teachirl("reproduce", "fig5", "my.py:MINE", "--quick", "--out", "x", "--workers", "3")
        assert calls.options == {
            "references": ["fig5", "my.py:MINE"],
            "quick": True,
            "out": Path("x"),
            "workers": 3,
            "cluster": None,
        }

    def test_list(self, teachirl):
        code, out, err = teachirl("reproduce", "--list")
        assert (code, err) == (0, "")
        assert {line.split()[0]: line.split(maxsplit=1)[1] for line in out.splitlines()} == {
            name: find(name).title for name in BUILT_IN
        }

    def test_failed_units(self, teachirl, calls):
        calls.report.failed.append("fig5 trial 3: no memory")
        assert teachirl("reproduce") == (
            1,
            "fig5: 400 units\n",
            "teachirl: fig5 trial 3: no memory\n",
        )

    def test_what_is_said_of_failed_units_is_cut(self, teachirl, calls):
        calls.report.failed += [f"trial {number}: {'x' * 100_000}" for number in range(1000)]
        code, _, err = teachirl("reproduce")
        assert code == 1
        *told, last = err.splitlines()
        assert [line[:18] for line in told] == [f"teachirl: trial {i}:" for i in range(5)]
        assert all(line.endswith("x … (98009 characters more)") for line in told)
        assert last == "teachirl: … and 995 more failed"

    def test_interrupted(self, teachirl, failing):
        failing(KeyboardInterrupt())
        assert teachirl("reproduce") == (
            130,
            "",
            "teachirl: stopped; the same command goes on where it stopped\n",
        )

    def test_interrupted_where_a_shell_has_it_ignore_interrupts(self, teachirl, monkeypatch):
        def interrupted(references, **options):
            signal.raise_signal(signal.SIGINT)

        module = types.SimpleNamespace(reproduce=interrupted)
        monkeypatch.setitem(sys.modules, "teachirl.study.experiments.reproduce", module)
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            assert teachirl("reproduce")[0] == 130
        finally:
            signal.signal(signal.SIGINT, before)


class TestErrors:
    def test_a_mistake_of_the_user(self, teachirl, failing):
        failing(ti.InvalidInputError("fig7 is not an experiment"))
        assert refusal(teachirl("reproduce")) == "fig7 is not an experiment"

    def test_what_a_file_says_does_not_steer_the_terminal(self, teachirl, failing):
        failing(ti.InvalidInputError("a.toml: no column \x1b]0;owned\x07\u2066 火 é"))
        assert refusal(teachirl("reproduce")) == (
            "a.toml: no column \ufffd]0;owned\ufffd\ufffd 火 é"
        )
        code, _, err = teachirl("nothing\x1b[2J")
        assert code == 2 and "\x1b" not in err

    def test_a_long_message_is_cut(self, teachirl, failing):
        failing(ti.InvalidInputError("no column " + "x" * 100_000))
        message = refusal(teachirl("reproduce"))
        assert message.startswith("no column xxx") and len(message) < 2100
        assert message.endswith("x … (98010 characters more)")

    def test_a_missing_extra(self, teachirl, failing):
        failing(ti.MissingExtraError("distributed", "cluster"))
        assert "teachirl[cluster]" in refusal(teachirl("reproduce"))

    @pytest.mark.parametrize("error", [FileNotFoundError, PermissionError])
    def test_a_file_that_cannot_be_used(self, teachirl, failing, error):
        failing(error(errno.EACCES, "Reason", "some/file"))
        assert refusal(teachirl("reproduce")) == "some/file: Reason"

    def test_a_full_disk(self, teachirl, failing):
        failing(OSError(errno.ENOSPC, "No space left on device"))
        assert refusal(teachirl("reproduce")) == "No space left on device"

    @pytest.mark.parametrize("error", [RuntimeError("a bug"), OSError(errno.EBADF, "a bug")])
    def test_a_bug_is_not_hidden(self, monkeypatch, failing, error):
        failing(error)
        monkeypatch.setattr(sys, "argv", ["teachirl", "reproduce"])
        with pytest.raises(type(error), match="a bug"):
            cli.main()

    def test_a_bug_has_its_traceback(self):
        code = (
            "import sys, teachirl.study.results_database as results; from teachirl.app import cli; "
            "results.Store = 'a bug'; sys.argv = ['teachirl', 'runs', 'list']; cli.main()"
        )
        result = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=120
        )
        assert result.returncode == 1
        assert result.stderr.startswith("Traceback") and "AttributeError" in result.stderr

    def test_interrupted_elsewhere(self, teachirl, monkeypatch):
        def interrupted(*_, **options):
            raise KeyboardInterrupt

        monkeypatch.setattr(Store, "open", interrupted)
        assert teachirl("runs", "list") == (130, "", "")

    def test_interrupted_before_a_command_begins(self, teachirl, monkeypatch):
        def interrupted(**options):
            raise KeyboardInterrupt

        monkeypatch.setattr(cli, "app", interrupted)
        assert teachirl("worlds") == (130, "", "")

    @pytest.mark.parametrize("stop", [KeyboardInterrupt(), SystemExit(143)])
    def test_a_stop_that_became_an_error_of_a_class_being_made(self, teachirl, failing, stop):
        error = RuntimeError("Error calling __set_name__")
        error.__cause__ = stop
        failing(error)
        code = 143 if isinstance(stop, SystemExit) else 130
        assert teachirl("reproduce") == (code, "", "")

    def test_terminated_it_leaves_nothing_half_written(self, teachirl, monkeypatch, tmp_path):
        def terminated(references, **options):
            with replacing(tmp_path / "figure.pdf") as file:
                file.write(b"half")
                assert len(list(tmp_path.iterdir())) == 1
                signal.raise_signal(signal.SIGTERM)

        module = types.SimpleNamespace(reproduce=terminated)
        monkeypatch.setitem(sys.modules, "teachirl.study.experiments.reproduce", module)
        before = signal.getsignal(signal.SIGTERM)
        assert teachirl("reproduce")[0] == 128 + signal.SIGTERM
        assert list(tmp_path.iterdir()) == []
        assert signal.getsignal(signal.SIGTERM) is before

    @pytest.mark.slow
    @pytest.mark.parametrize("arguments", [["runs", "list"], ["reproduce", "--list"]])
    def test_interrupted_while_it_loads(self, tmp_path, arguments):
        """Say when Python itself is up, interrupt it some time later: there is no traceback."""
        code = (
            "import sys; sys.argv[0] = 'teachirl'; from teachirl.__main__ import main; "
            "import builtins; load = builtins.__import__; left = [int(sys.argv.pop(1))]\n"
            "def counted(*all):\n"
            "    left[0] -= 1\n"
            "    if left[0] == 0: signal.raise_signal(signal.SIGINT)\n"
            "    return load(*all)\n"
            "import signal; builtins.__import__ = counted; main()\n"
        )
        for after in (2, 30, 300, 900):
            result = subprocess.run(
                [sys.executable, "-c", code, str(after), *arguments],
                capture_output=True,
                text=True,
                timeout=120,
                cwd=tmp_path,
            )
            assert result.stderr == "" or "no results" in result.stderr, result.stderr
            assert result.returncode in (0, 2, 130)
            assert after > 30 or result.returncode == 130

    def test_a_reader_that_leaves_is_no_error_to_speak_of(self, tmp_path):
        Store.open(tmp_path).close()
        process = subprocess.Popen(
            [sys.executable, "-m", "teachirl", "runs", "list", "--out", str(tmp_path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        process.stdout.close()
        assert process.stderr.read() == b""
        process.stderr.close()
        assert process.wait(timeout=120) == 1

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    def test_no_room_for_the_result(self, tmp_path):
        Store.open(tmp_path).close()
        with open("/dev/full", "w") as full:
            result = in_process(
                *("runs", "list", "--out", tmp_path),
                capture_output=False,
                stdout=full,
                stderr=subprocess.PIPE,
            )
        assert result.returncode == 2
        assert result.stderr == "teachirl: No space left on device\n"


def test_output_is_plain_where_it_is_no_terminal(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    for arguments in (["--help"], ["runs", "list", "--out", "nowhere"], ["nothing"]):
        result = in_process(*arguments)
        assert "\x1b" not in result.stdout + result.stderr
