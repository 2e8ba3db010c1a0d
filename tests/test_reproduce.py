"""One command, from nothing to figures; killed at any moment, it ends with the same numbers."""

import errno
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import small_experiment
import teachirl as ti
from small_experiment import until
from teachirl.app import cli
from teachirl.errors import TeachirlError
from teachirl.figures.drawing import csv_text, write_figure
from teachirl.figures.records import Bars, Cells, Curve, Figure, Outline, Panel, Points
from teachirl.study.experiments.reproduce import reproduce
from teachirl.study.results_database import Store

COMMAND = [sys.executable, "-m", "teachirl", "reproduce", "--quick"]


def stored(folder):
    """All that is in a store and must repeat: values by run and unit."""
    with Store.open(folder, write=False) as store:
        return {
            (run.experiment, unit): values
            for run in store.runs()
            for unit, (values, _) in store.finished(run.id).items()
        }


def any_stored(folder):
    """What is in a store that may not be whole yet."""
    try:
        return stored(folder)
    except TeachirlError:  # or another process is needed to mend it first
        return {}


def everything():
    """A figure with all marks."""
    x = np.arange(4.0)
    curves = (Curve("a", x, x**2, x**2 - 1, x**2 + 1), Curve("b", x, x + 1))
    cells = Cells("c", np.array([[1.0, -1.0]]), ("p", "q"), np.array([[0, 0, 0, 1]]), ((0, 1),))
    return Figure(
        "all",
        "All marks.",
        (
            Panel("curves", "x", "y", curves, (0, 3), (0.5, 9), log_y=True),
            Panel("points", "x", "y", (Points("d", x, x), Points("e", x[:1], x[:1], big=True))),
            Panel("bars", "x", "y", (Bars("f", ("one", "two"), np.array([1.0, 2.0]), (1,)),)),
            Panel("cells", "", "", (cells,)),
            Panel("outline", "x", "y", (Outline("g", x, x**2, filled=True),), equal=True),
        ),
        columns=2,
    )


def test_figures_are_written_with_their_numbers(tmp_path):
    figure = everything()
    paths = write_figure(figure, tmp_path)
    assert [path.name for path in paths] == ["all.pdf", "all.svg", "all.png", "all.csv"]
    beginnings = [path.read_bytes()[:5] for path in paths[:3]]
    assert beginnings == [b"%PDF-", b"<?xml", b"\x89PNG\r"]
    lines = paths[3].read_text(encoding="utf-8").splitlines()
    columns = "x,y,low,high,category,height,row,column,value,down,right"
    assert lines[0] == f"panel,quantity,label,{columns}"
    assert lines[1] == "curves,y,a,0.0,0.0,-1.0,1.0,,,,,,,"
    assert "bars,y,f,,,,,two,2.0,,,,," in lines
    assert "cells,,c,,,,,,,0.0,0.0,1.0,0.0,1.0" in lines
    assert "cells,,c,,,,,,,0.0,1.0,-1.0,," in lines
    assert len(lines) == 1 + 8 + 5 + 2 + 2 + 4
    before = [path.read_bytes() for path in paths]
    write_figure(figure, tmp_path)
    assert [path.read_bytes() for path in paths] == before


def test_records_cannot_be_changed():
    x = np.arange(3.0)
    curve = Curve("a", x, x)
    x[0] = 7.0
    assert curve.x[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        curve.y[0] = 1.0
    assert csv_text(everything()).count("\n") == 22


def commanded(monkeypatch, capsys, *arguments):
    """Call the command: its exit code, and what it printed to stdout and to stderr."""
    monkeypatch.setattr(sys, "argv", ["teachirl", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return ended.value.code, *capsys.readouterr()


def test_only_what_is_asked_for_and_nothing_twice(tmp_path, monkeypatch, capsys):
    folder = tmp_path
    command = ["reproduce", "--quick", "fig4", "fig6", "--out", folder, "--workers", "2"]
    code, printed, err = commanded(monkeypatch, capsys, *command)
    assert (code, err) == (0, "")  # quiet when piped
    figures = {path.name for path in (folder / "quick" / "figures").iterdir()}
    assert figures == {
        f"{name}.{suffix}"
        for name in ("figure_4", "figure_6")
        for suffix in ("pdf", "svg", "png", "csv")
    }
    claims = (folder / "quick" / "claims.md").read_text(encoding="utf-8")
    assert claims.count("| **needs the full sizes** |") == 2  # of Figure 4, whose trials are fewer
    assert claims.count("| **holds** |") == 1
    assert claims.count("| **fails** |") == 1  # Proposition 1, on a polygon
    said = " ".join(printed.split())
    assert "Of the 2 claims judged, 1 hold. fails: Proposition 1 " in said
    assert "2 claims are about larger sizes than these" in said
    assert "Made: 2 figures, " in said and str(folder / "quick" / "figures") in said
    assert f"Look first at {folder / 'quick' / 'reproduction.md'}" in said
    page = (folder / "quick" / "reproduction.md").read_text(encoding="utf-8")
    assert "![Which features TRGreedy teaches" in page
    before = stored(folder)

    def refuse(jobs, **options):
        assert list(jobs) == []
        return []

    monkeypatch.setattr("teachirl.study.experiments.reproduce.run_units", refuse)
    again = reproduce(["fig6", "fig6"], quick=True, out=folder)
    # What an earlier run completed stays on the pages.
    assert [chapter.record.experiment for chapter in again.chapters] == ["fig4", "fig6"]
    assert stored(folder) == before
    assert (folder / "quick" / "claims.md").read_text(encoding="utf-8") == claims
    # Its settings are the same in full; of the other one, nothing is begun.
    reproduce(["fig6"], quick=False, out=folder)
    with Store.open(folder, write=False) as store:
        assert [run.experiment for run in store.runs()] == ["fig4", "fig6"]


def test_the_page_s_own_experiment(tmp_path):
    page = Path(__file__).parents[1] / "docs" / "experiments.md"
    (tmp_path / "mine.py").write_text(page.read_text(encoding="utf-8").split("```")[1][7:])
    own = f"{tmp_path / 'mine.py'}:MINE"
    report = reproduce([own], quick=True, out=tmp_path / "out", workers=1)
    assert report.failed == ()
    [chapter] = report.chapters
    [curve] = chapter.findings.figures[0].panels[0].marks
    assert curve.x.tolist() == [1, 2, 4, 8]
    assert (np.diff(curve.y) < 0).all()
    assert (tmp_path / "out" / "quick" / "figures" / "mine.png").exists()


def own_experiment(path, square="size**2", analysis="Findings(())", sizes=(2,)):
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        "from dataclasses import dataclass\n"
        "from teachirl.study.experiments import Experiment, Result\n"
        "from teachirl.figures.records import Curve, Figure, Findings, Panel\n"
        "@dataclass(frozen=True)\n"
        "class Settings:\n"
        "    sizes: tuple[int, ...] = (2, 3)\n"
        f"MINE = Experiment('mine', Settings(), Settings({(*sizes,)}),\n"
        "    lambda s: [{'size': size} for size in s.sizes],\n"
        f"    lambda s, size: Result({{'square': {square}}}),\n"
        f"    lambda s, results: {analysis})\n"
    )
    return f"{path}:MINE"


def test_files_of_one_name_and_changed_files_do_not_share_results(tmp_path, monkeypatch):
    here = own_experiment(tmp_path / "here" / "mine.py")
    there = own_experiment(tmp_path / "there" / "mine.py", "-size")
    for folder in ("here", "there"):
        monkeypatch.chdir(tmp_path / folder)
        reproduce(["mine.py:MINE"], quick=True, out=tmp_path / "out", workers=1)
    assert [values["square"] for values in stored(tmp_path / "out").values()] == [4, -2]
    assert {name for name, _ in stored(tmp_path / "out")} == {here, there}
    own_experiment(tmp_path / "there" / "mine.py", "7")
    reproduce([there], quick=True, out=tmp_path / "out", workers=1)
    with Store.open(tmp_path / "out", write=False) as store:
        assert len(store.runs()) == 3


def test_an_analysis_that_fails_stops_no_other(tmp_path):
    bad = own_experiment(tmp_path / "bad" / "mine.py", analysis="1 / 0")
    good = own_experiment(tmp_path / "good" / "mine.py")
    report = reproduce([bad, good], quick=True, out=tmp_path / "out", workers=1)
    assert [chapter.record.experiment for chapter in report.chapters] == [good]
    [failed] = report.failed
    assert failed.startswith(f"{bad}: its analysis failed")
    assert "ZeroDivisionError" in failed


DRAWN = "Findings((Figure('own', '', (Panel('', 'x', 'y', (Curve('a', [0], [1]),)),)),))"


@pytest.mark.parametrize("problem", ["full", "file"])
def test_figures_that_cannot_be_written(tmp_path, monkeypatch, capsys, problem):
    own, folder = own_experiment(tmp_path / "own" / "mine.py", analysis=DRAWN), tmp_path / "out"
    command = ["reproduce", own, "--quick", "--out", folder, "--workers", "1"]
    if problem == "file":
        (folder / "quick").mkdir(parents=True)
        (folder / "quick" / "figures").touch()
        said = f"teachirl: {folder / 'quick' / 'figures'} must be a folder\n"
    else:

        def full(descriptor):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        said = f"teachirl: {folder / 'quick' / 'figures' / 'own.pdf'}: No space left on device\n"
    assert commanded(monkeypatch, capsys, *command) == (2, "", said)
    assert [values["square"] for values in stored(folder).values()] == [4]
    assert not list(folder.rglob("*.tmp"))
    monkeypatch.undo()
    if problem == "file":
        (folder / "quick" / "figures").unlink()
    # Nothing is left to be computed: nobody is asked to.
    monkeypatch.setattr(
        "teachirl.study.experiments.reproduce.run_units", lambda jobs, **options: list(jobs)
    )
    code, _, err = commanded(monkeypatch, capsys, *command)
    assert (code, err) == (0, "")
    assert (folder / "quick" / "figures" / "own.pdf").exists()


def test_a_disk_that_is_full_at_any_byte(tmp_path):
    """Files may not be larger than so much: what was there stays, and nothing else does."""
    limits = (0, 1, 4096, 10_000)
    code = (
        "import resource, sys; from pathlib import Path; from teachirl.figures.records import *\n"
        "from teachirl.figures import drawing\n"
        "figure = Figure('all', '', (Panel('', 'x', 'y', (Curve('a', [0, 1], [0, 1]),)),))\n"
        "contents = dict.fromkeys(drawing.FORMATS, bytes(20_000))\n"  # whatever is drawn
        "drawing.figure_contents = lambda figure, formats: contents\n"
        "most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]\n"
        f"for limit in {limits}:\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))\n"
        "    try: drawing.write_figure(figure, Path(sys.argv[1]) / str(limit))\n"
        "    except OSError as error: sys.stderr.write(error.filename + chr(10))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, tmp_path],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    folders = [tmp_path / str(limit) for limit in limits]
    assert result.stderr.split() == [str(folder / "all.pdf") for folder in folders]
    assert [list(folder.iterdir()) for folder in folders] == [[]] * len(limits)


def test_a_drawing_that_fails_stops_no_other(tmp_path):
    bad = own_experiment(tmp_path / "bad" / "mine.py", analysis=DRAWN.replace("[0], [1]", "[0], 1"))
    report = reproduce([bad], quick=True, out=tmp_path / "out", workers=1)
    [failed] = report.failed
    assert failed.startswith(f"{bad}: drawing failed\nTraceback")


def test_a_wrong_name_leaves_nothing(tmp_path):
    with pytest.raises(ti.InvalidInputError, match="no experiment 'fig77'"):
        reproduce(["fig77"], quick=True, out=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_unit_that_fails_is_named_and_the_rest_is_kept(tmp_path):
    bad = tmp_path / "bad.py"
    text = Path(small_experiment.__file__).read_text(encoding="utf-8")
    bad.write_text(text.replace('first: str = "good"', 'first: str = "raising"'))
    own, good = f"{bad}:SMALL", own_experiment(tmp_path / "good" / "mine.py")
    report = reproduce([own, good], quick=True, out=tmp_path / "out", workers=2)
    assert [chapter.record.experiment for chapter in report.chapters] == [good]
    [failed] = report.failed
    assert f"{own}, trial 0, kind raising: ValueError" in failed
    assert "Traceback" in failed
    assert len([key for key in stored(tmp_path / "out") if key[0] == own]) == 2


@pytest.mark.slow
def test_killed_at_all_stages_it_ends_with_the_same_bits(tmp_path):
    small = own_experiment(tmp_path / "own" / "mine.py", sizes=range(12), analysis=DRAWN)
    names = [small, small_experiment.REFERENCE]  # the second one's numbers have many digits
    undisturbed, folder = tmp_path / "undisturbed", tmp_path / "killed"
    reproduce(names, quick=True, out=undisturbed, workers=2)

    def started():
        command = [*COMMAND, *names, "--out", folder, "--workers", "1"]  # not two, as above
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    dice, killed = random.Random(6), 0
    # When there is a store, when a unit is in it, when several are, and when something is drawn;
    # and somewhat later.
    for stage in (
        folder.exists,
        lambda: len(any_stored(folder)) > 0,
        lambda: len(any_stored(folder)) > 6,
        lambda: list(folder.glob("quick/figures/*")),
    ):
        process = started()
        until(lambda stage=stage, process=process: stage() or process.poll() is not None)
        time.sleep(dice.uniform(0.0, 0.2))
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
    assert killed > 0
    assert started().wait(timeout=300) == 0
    assert stored(folder) == stored(undisturbed)
    for path in sorted((undisturbed / "quick").rglob("*.*")):
        if path.name != "reproduction.md":  # says how long it took
            again = folder / path.relative_to(undisturbed)
            assert again.read_bytes() == path.read_bytes(), path.name
