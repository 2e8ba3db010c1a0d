"""A small part of `make campaign`, and that what fails there is told."""

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "campaign"
# Those that take long have their turn in `make campaign` alone.
KINDS = [
    "problem_files",
    "csv_tables",
    "parquet_tables",
    "numpy_views",
    "minari_datasets",
    "saved_mdps",
    "saved_lessons",
    "results_stores",
    "full_disks",
    "interrupts",
]


@pytest.mark.slow
def test_a_part_of_the_campaign(tmp_path):
    result = subprocess.run(
        [sys.executable, FOLDER, *KINDS, "--share", "0.004", "--workers", "1", "--out", tmp_path],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (result.returncode, result.stderr) == (0, "")
    rows = [line.split(" | ") for line in result.stdout.splitlines() if line.startswith("| ")]
    assert [row[0][2:].replace(" ", "_") for row in rows[1:]] == KINDS
    assert all("skipped" in row[1] or (int(row[1]) > 0 and row[2] == "0") for row in rows[1:])


@pytest.fixture
def campaign(monkeypatch):
    """The program, as a module."""
    monkeypatch.syspath_prepend(FOLDER)
    spec = importlib.util.spec_from_file_location("campaign_program", FOLDER / "__main__.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def test_what_fails_is_told_and_kept(campaign, tmp_path, monkeypatch, capsys):
    def wrong(seed, folder):
        (folder / "input").write_text("bad")
        raise ValueError("a bug")

    def endless(seed, folder):
        while True:
            pass

    def greedy(seed, folder):
        bytearray(8 << 30)

    def forbidden(seed, folder):
        raise campaign.cases.SkippedError("not here")

    def ending(seed, folder):
        os._exit(7)

    def fine(seed, folder):
        return ["this", "that", "this"][: 3 - seed]

    kinds = [campaign.cases.Kind(wrong, 3), campaign.cases.Kind(endless, 1, 1.0)]
    kinds += [campaign.cases.Kind(each, 2) for each in (greedy, forbidden, ending, fine)]
    found = campaign.run(1.0, kinds, tmp_path)
    assert found.failed == {"wrong": 3, "endless": 1, "greedy": 2, "ending": 2}
    assert found.tried == found.failed | {"fine": 2}
    assert found.compared == {"this": 2, "that": 2}
    assert found.skipped == {"forbidden": "not here"}
    [first, *_] = sorted(tmp_path.glob("wrong-*"))
    assert (first / "input").read_text() == "bad"
    assert "ValueError: a bug" in (first / "problem.txt").read_text()
    err = capsys.readouterr().err
    assert (
        "no answer in 1 s of processor time" in err
        and "MemoryError" in err
        and "ended with 7" in err
    )
    assert "| forbidden | skipped: not here | | |" in found.table()
    assert "There was no time" not in found.table()


def test_who_waits_for_ever_is_killed(campaign, tmp_path, monkeypatch, capsys):
    def waiting(seed, folder):
        signal.pause()

    monkeypatch.setattr(campaign, "WAITING", 1.0)
    found = campaign.run(1.0, [campaign.cases.Kind(waiting, 1, 0.5)], tmp_path)
    assert found.failed == {"waiting": 1}
    assert "no answer in 0.5 s" in capsys.readouterr().err


def test_what_there_was_no_time_for_is_told(campaign, tmp_path, monkeypatch, capsys):
    def quick(seed, folder):
        time.sleep(0.01)

    def other(seed, folder):
        raise campaign.cases.SkippedError("not here")

    monkeypatch.setattr(campaign, "BETWEEN", 0.0)
    monkeypatch.setattr(campaign, "TURN", 0.5)
    kinds = [campaign.cases.Kind(quick, 10**6), campaign.cases.Kind(other, 1)]
    found = campaign.run(0.02, kinds, tmp_path)
    tried = found.tried["quick"]
    assert 0 < tried < 10**6
    assert f"There was no time for {10**6 - tried} of quick" in found.table()
    assert f"{tried} of 1000000 cases, 0 failed" in found.progress()
    assert "of 1000000 cases, 0 failed" in capsys.readouterr().out
    assert found.seconds["quick"] > 0.0
