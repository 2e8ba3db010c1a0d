"""`teachirl init`, `certify`, `teach` and `frontier`, as they are called."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from problem_files import PROBLEMS, copied
from teachirl.app import cli, decisions
from teachirl.app.decisions import demonstration
from teachirl.app.problem import example_text, read_problem
from teachirl.app.render import html, markup
from teachirl.guarantees.solvers import search
from teachirl.learners import MaxMargin
from teachirl.mdp import clock

OF_GRID = pytest.StashKey[dict]()
COMMANDS = {"certify": "assessment", "teach": "plan", "frontier": "frontier"}
PAGE = (Path(__file__).parents[1] / "docs" / "decisions.md").read_text(encoding="utf-8")


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
def of_grid(teachirl, request):
    """What a command says of grid.toml, found once."""

    def call(command, *options):
        known = request.config.stash.setdefault(OF_GRID, {})
        if (command, *options) not in known:
            known[command, *options] = teachirl(command, PROBLEMS / "grid.toml", *options)
        return known[command, *options]

    return call


@pytest.fixture
def undrawn(monkeypatch):
    """Reports have empty pictures: `test_report` draws those of the same problems."""
    monkeypatch.setattr(markup, "panel_svg", lambda panel: "<svg/>")


def fields(value):
    """All keys of a document, at any depth."""
    if isinstance(value, dict):
        return set(value) | {key for each in value.values() for key in fields(each)}
    return {key for each in value for key in fields(each)} if isinstance(value, list) else set()


class TestInit:
    def test_writes_the_example(self, teachirl, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        code, out, err = teachirl("init")
        assert (code, err) == (0, "")
        assert "teachirl certify problem.toml" in out
        assert Path("problem.toml").read_text(encoding="utf-8") == example_text()
        read_problem("problem.toml")

    def test_leaves_what_is_there(self, teachirl, tmp_path):
        path = tmp_path / "mine.toml"
        path.write_text("mine")
        code, out, err = teachirl("init", path)
        assert (code, out) == (2, "")
        assert err == f"teachirl: {path} is there already; name another file\n"
        assert path.read_text() == "mine"

    def test_where_nothing_can_be_written(self, teachirl, tmp_path):
        code, out, err = teachirl("init", tmp_path / "no" / "problem.toml")
        assert (code, out) == (2, "") and err.startswith("teachirl: ")
        assert list(tmp_path.iterdir()) == []


class TestTables:
    def test_certify(self, of_grid):
        code, out, err = of_grid("certify")
        assert (code, err) == (0, "")
        lines = out.splitlines()
        assert lines[0] == "grid"
        risks = [line.split()[-1] for line in lines if line.startswith("teaching risk ")]
        assert risks == ["1.000", "1.000"]
        for name in ("Theorem 1", "width", "exact"):
            assert any(line.startswith(name) and "0 %" in line for line in lines)
        does, lost, _ = [line.split() for line in lines if line.startswith("cell 0")]
        assert does == ["cell", "0", "1", "8.426", "8.426", "0.3417", "…", "8.426"]
        assert lost == ["cell", "0", "1", "8.426", "0.348", "8.078"]
        for learner in ("Projection", "LinearProgram", "Adversarial", "Benevolent"):
            assert any(line.startswith(learner) for line in lines)

    def test_a_risk_that_nobody_runs_is_no_headline(self, teachirl, tmp_path):
        """Smoke is where gold is: who sees gold earns all of it, at whatever teaching risk."""
        (tmp_path / "moves.csv").write_text(
            "state,action,next_state,probability\na,go,b,1\na,stay,a,1\nb,go,a,1\nb,stay,b,1\n"
        )
        (tmp_path / "features.csv").write_text("state,gold,smoke\na,0,1\nb,1,2\n")
        path = tmp_path / "smoke.toml"
        path.write_text(
            '[world]\ntransitions = "moves.csv"\nfeatures = "features.csv"\ndiscount = 0.9\n'
            "[reward.weights]\ngold = 1.0\nsmoke = -0.5\n[learner]\nsees = ['gold']\n"
        )
        short, rest = teachirl("certify", path)[1].split("How things stand")
        assert "guaranteed as things stand         100 %" in short
        assert "\nteaching risk  " not in short and "\nteaching risk  " in rest
        assert "teaching risk" not in short

    def test_a_risk_that_says_nothing_is_no_headline(self, of_grid):
        """Of 0 % that are guaranteed a risk of 1 tells nothing; where it tells, it is there."""
        for sees, tells in (("cell 1", False), ("cell 0,cell 2", True)):
            short, rest = of_grid("certify", "--sees", sees)[1].split("How things stand")
            assert ("guaranteed as things stand         0 %" in short) is not tells
            assert short.count("- The learner cannot ") == 1
            assert ("(teaching risk " in short) is tells
            assert ("\nteaching risk  " in short) is tells is not ("\nteaching risk  " in rest)

    def test_certify_of_what_was_recorded(self, teachirl):
        out = teachirl("certify", PROBLEMS / "recorded.toml")[1]
        assert "What the expert is after\n" in out and "not known" in out
        assert "confidence 90 %" in out
        # A mismatch that no policy comes near is not one of 0 %.
        rows = [line.split() for line in out.splitlines()]
        assert ["guaranteed", "nobody", "nobody"] in [row[:3] for row in rows]
        assert "Where it says nobody, no policy comes so near" in out

    def test_weights_that_change_nothing_are_not_called_unknown(self, teachirl, tmp_path):
        """There is as much air for all policies, so that no choice tells what it is worth."""
        rows = ["a,go,b,1", "a,stay,a,1", "b,go,a,1", "b,stay,b,1"]
        table = "\n".join(["state,action,next_state,probability", *rows])
        (tmp_path / "t.csv").write_text(table)
        (tmp_path / "f.csv").write_text("state,gold,air\na,0,1\nb,1,1\n")
        episode = {"states": ["a"] + 30 * ["b"], "actions": ["go"] + 30 * ["stay"]}
        line = json.dumps({**episode, "terminated": False})
        (tmp_path / "e.jsonl").write_text("\n".join(20 * [line]))
        path = tmp_path / "air.toml"
        path.write_text(
            '[world]\ntransitions = "t.csv"\nfeatures = "f.csv"\ndiscount = 0.9\n'
            '[reward]\ntrajectories = "e.jsonl"\n[learner]\nsees = []\n'
        )
        out = teachirl("certify", path)[1]
        assert "- The sign of every weight is known. All policies have as much of air," in out
        rows = [line.split() for line in out.splitlines()]
        assert ["air", "0.00", "0.00", "0.00", "earns", "all", "alike"] in rows
        assert any(row[:1] == ["gold"] and row[-1] == "+" for row in rows)
        assert "not known" not in out

    def test_teach(self, of_grid):
        code, out, err = of_grid("teach")
        assert (code, err) == (0, "")
        rows = [line.split() for line in out.splitlines()]
        # 98.95 % are guaranteed, and not 99 %.
        first = next(row for row in rows if row[:1] == ["1"])
        assert first[:9] == ["1", "cell", "0", "1", "0.707", "98.9", "%", "7.908", "99.2"]
        assert "Stop after 2 steps." in out
        assert "Demonstrate an optimal policy." in out

    def test_frontier(self, of_grid):
        code, out, err = of_grid("frontier")
        assert (code, err) == (0, "")
        assert "1     98.9 %      7.908    0.707  cell 0" in out.splitlines()
        assert (
            "Exact: shown the same, no set of features guarantees 0.1 % more for its cost." in out
        )

    @pytest.mark.parametrize("command", COMMANDS)
    def test_the_page_shows_what_is_printed(self, of_grid, command):
        out = of_grid(command)[1]
        shown = PAGE.split(f"$ teachirl {command} grid.toml\n")[1].split("```")[0]
        lines = shown.removesuffix("…\n")
        assert lines and out.startswith(lines)
        assert out == lines or command == "certify"

    def test_frontier_says_what_a_wish_costs(self, teachirl, tmp_path):
        path = copied(tmp_path) / "grid.toml"
        path.write_text(path.read_text() + "\n[plan]\nguarantee = 0.9\n")
        out = teachirl("frontier", path)[1]
        said = "- The cheapest set that guarantees 90 % costs 1: cell 0."
        assert said in out.splitlines()

    @pytest.mark.usefixtures("unhurried")
    def test_frontier_stops_when_the_time_is_up(self, teachirl):
        code, out, err = teachirl("frontier", PROBLEMS / "grid.toml", "--seconds", "0")
        assert (code, err) == (0, "")
        said = "--seconds gives it more time, and --resume goes on from here."
        assert f"- Cut short after 0 seconds: {said}" in out.splitlines()
        assert "1 of 8 sets of features was tried." in out
        assert teachirl("frontier", PROBLEMS / "grid.toml", "--seconds", "-1")[0] == 2


class TestJson:
    @pytest.mark.parametrize("command", COMMANDS)
    @pytest.mark.parametrize("name", ["grid", "lake", "rewards", "recorded"])
    def test_every_field_is_documented(self, teachirl, of_grid, command, name):
        path = PROBLEMS / f"{name}.toml"
        of_it = partial(teachirl, command, path) if name != "grid" else partial(of_grid, command)
        code, out, err = of_it("--json")
        assert (code, err) == (0, "")
        document = json.loads(out)
        assert list(document) == ["version", COMMANDS[command]]
        assert document["version"] == 2
        section = PAGE.split(f"### `{COMMANDS[command]}`")[1].split("\n## ")[0]
        missing = {key for key in fields(document) - {"version"} if f"`{key}`" not in section}
        assert missing - {COMMANDS[command]} == set()

    def test_is_what_the_library_finds(self, of_grid):
        standing = json.loads(of_grid("certify", "--json")[1])["assessment"]
        advice = json.loads(of_grid("teach", "--json")[1])["plan"]
        curve = json.loads(of_grid("frontier", "--json")[1])["frontier"]
        problem = read_problem(PROBLEMS / "grid.toml")
        assert standing["guaranteed"] == decisions.assess(problem).guaranteed
        plan = decisions.plan(problem)
        assert [step["name"] for step in advice["steps"]] == [step.name for step in plan.steps]
        assert advice["steps"][1]["alternative"]["name"] == plan.steps[1].alternative.name
        points = decisions.frontier(problem).points
        assert [point["guaranteed"] for point in curve["points"]] == [p.guaranteed for p in points]
        assert sum(row["probability"] for row in standing["worst_policy"]) == pytest.approx(16)


class TestOut:
    @pytest.mark.parametrize("command", COMMANDS)
    def test_writes_a_report_of_how_things_stand(self, teachirl, tmp_path, request, command):
        if command != "certify":  # one is drawn
            request.getfixturevalue("undrawn")
        out = tmp_path / "deep" / "report"
        code, text, err = teachirl(command, PROBLEMS / "grid.toml", "--out", out)
        assert (code, err) == (0, f"teachirl: wrote {out / 'report.html'}\n")
        assert text.startswith("grid\n")
        assert [path.name for path in out.iterdir()] == ["report.html"]
        page = (out / "report.html").read_text(encoding="utf-8")
        assert "<h2>How things stand</h2>" in page
        assert "The worst that looks the same to the learner" in page
        assert ("<h2>What to teach</h2>" in page) == (command == "teach")
        assert ("<h2>What a budget buys</h2>" in page) == (command == "frontier")
        again = page.split("<h2>To do it again</h2>")[1]
        assert f"<pre>\nteachirl {command} grid.toml --out report</pre>" in again

    def test_a_chosen_demonstration_can_be_read_again(self, teachirl, tmp_path, undrawn):
        folder = copied(tmp_path)
        path = folder / "grid.toml"
        plain = path.read_text()
        path.write_text(plain + '\n[demonstration]\nshow = "choose"\n')
        assert teachirl("teach", path, "--out", folder)[0] == 0
        chosen = read_problem(path).chosen
        path.write_text(plain + '\n[demonstration]\npolicy = "demonstration.csv"\n')
        assert (read_problem(path).shown.actions == chosen.policy.actions).all()

    def test_a_file_in_its_place(self, teachirl, tmp_path):
        path = tmp_path / "file"
        path.write_text("mine")
        code, out, err = teachirl("certify", PROBLEMS / "grid.toml", "--out", path)
        assert (code, out) == (2, "") and "is a file" in err
        assert path.read_text() == "mine"


class TestMistakes:
    @pytest.mark.parametrize("command", COMMANDS)
    def test_in_the_file(self, teachirl, tmp_path, command):
        path = tmp_path / "problem.toml"
        path.write_text('[world]\nname = "chian"\n[learner]\nsees = []\n')
        code, out, err = teachirl(command, path, "--out", tmp_path / "out")
        assert (code, out) == (2, "")
        assert err == f"teachirl: {path}, world: there is no world 'chian'; did you mean 'chain'?\n"
        assert not (tmp_path / "out").exists()

    def test_no_file(self, teachirl, tmp_path):
        code, out, err = teachirl("certify", tmp_path / "none.toml")
        assert (code, out) == (2, "") and err.count("\n") == 1


class TestInterrupts:
    @pytest.mark.parametrize("command", COMMANDS)
    def test_end_at_once(self, teachirl, tmp_path, monkeypatch, command):
        def interrupted(problem, **_):
            signal.raise_signal(signal.SIGINT)

        name = {"certify": "assess", "teach": "plan", "frontier": "frontier"}[command]
        monkeypatch.setattr(decisions, name, interrupted)
        before = signal.getsignal(signal.SIGINT)
        result = teachirl(command, PROBLEMS / "grid.toml", "--out", tmp_path / "out")
        said = "teachirl: stopped by Ctrl-C before anything was proved\n"
        assert result == (130, "", said)
        assert not (tmp_path / "out").exists()
        assert signal.getsignal(signal.SIGINT) is before

    def test_while_writing(self, teachirl, tmp_path, monkeypatch):
        def interrupted(*_, **found):
            signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(html, "page", interrupted)
        code, out, err = teachirl("frontier", PROBLEMS / "grid.toml", "--out", tmp_path / "out")
        assert (code, err) == (130, "")
        assert "Exact: shown the same" in out  # what was printed before stays
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize("as_json", [False, True])
    def test_keep_what_is_proved(self, teachirl, tmp_path, monkeypatch, undrawn, as_json):
        """The guarantee is there, and the learners before; those after it are not."""

        def interrupted(*_):
            signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(MaxMargin, "learn", interrupted)
        given = ("certify", PROBLEMS / "grid.toml", "--out", tmp_path / "out")
        code, out, err = teachirl(*given, *(("--json",) if as_json else ()))
        assert code == 130 and "wrote" in err
        assert (tmp_path / "out" / "report.html").exists()
        if as_json:
            ended = [each["ended"] for each in json.loads(out)["assessment"]["learners"]]
            left_out = [text == "not simulated, as it was interrupted" for text in ended]
            assert left_out == [False] + [True] * 7
        else:
            assert "guaranteed as things stand" in out and out.count("as it was interrupted") == 7

    def test_a_long_search_ends_with_what_it_has(self, teachirl, monkeypatch):
        """Ctrl-C in the midst of the worst case: its bounds hold, and are printed."""
        real, calls = search.Search.look, iter(range(10_000))

        def look(*given):
            if next(calls) == 1:
                signal.raise_signal(signal.SIGINT)
            return real(*given)

        monkeypatch.setattr(search.Search, "look", look)
        monkeypatch.setattr(clock, "_ahead", 0.0)
        code, out, _ = teachirl("certify", PROBLEMS / "lake.toml")
        said = "what was proved by then is shown, and --resume goes on from here."
        assert code == 130 and f"- Cut short by Ctrl-C: {said}" in out.splitlines()

    def test_a_plan_is_not_lost_while_another_policy_is_sought(self, teachirl, monkeypatch):
        def interrupted(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(demonstration, "best_demonstration", interrupted)
        code, out, _ = teachirl("teach", PROBLEMS / "grid.toml")
        lines = out.splitlines()
        assert code == 130 and "- Teach, in this order: cell 0, cell 2." in lines
        assert (
            "- Demonstrate an optimal policy. No other was sought, as this was cut short." in lines
        )
        said = "what was proved by then is shown, and --resume goes on from here."
        assert f"- Cut short by Ctrl-C: {said}" in lines

    @pytest.mark.parametrize("command", COMMANDS)
    @pytest.mark.usefixtures("unhurried")
    def test_seconds(self, teachirl, command):
        code, out, err = teachirl(command, PROBLEMS / "lake.toml", "--seconds", "0")
        assert (code, err) == (0, "") and "guarantee" in out

    @pytest.mark.slow
    @pytest.mark.parametrize("seconds", [0.0, 1.0, 2.0])
    def test_by_a_signal(self, tmp_path, seconds):
        path = tmp_path / "problem.toml"
        os.mkfifo(path)
        command = [sys.executable, "-m", "teachirl", "teach", path, "--out", tmp_path / "out"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        # If it should crash, it says where.
        process = subprocess.Popen(command, **pipes, env={**os.environ, "PYTHONFAULTHANDLER": "1"})
        try:
            with path.open("w") as file:  # once it is read, the command has begun
                file.write(example_text())
            time.sleep(seconds)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
        assert process.returncode == 130 and b"Traceback" not in err, err.decode()
        # Either nothing was proved, or what was is printed, and the report whole.
        wrote = (tmp_path / "out" / "report.html").exists()
        assert wrote == (b"Cut short by Ctrl-C" in out)
        assert wrote or out == b""
