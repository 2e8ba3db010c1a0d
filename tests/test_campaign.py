"""A small part of `make campaign`, and that what fails there is told."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "campaign"
KINDS = [
    "bit_flips",
    "mutated_problems",
    "mutated_models",
    "mutated_lessons",
    "full_disks",
    "interrupts",
]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_part_of_the_campaign(tmp_path, kind):
    result = subprocess.run(
        [sys.executable, FOLDER, kind, "--minutes", "0.1", "--workers", "1", "--out", tmp_path],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (result.returncode, result.stderr) == (0, "")
    [row] = [line for line in result.stdout.splitlines() if line.startswith("| " + kind[:3])]
    if "skipped" in row:
        pytest.skip(row)
    assert row.endswith("| 0 |")


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

    kinds = [wrong, endless, greedy, forbidden]
    monkeypatch.setattr(campaign.cases, "CASES", kinds)
    monkeypatch.setattr(campaign, "SECONDS", 2)
    found = campaign.run(0.05, kinds, tmp_path)
    assert found.failed == found.tried and set(found.failed) == {"wrong", "endless", "greedy"}
    assert found.skipped == {"forbidden": "not here"}
    [first, *_] = sorted(tmp_path.glob("wrong-*"))
    assert (first / "input").read_text() == "bad"
    assert "ValueError: a bug" in (first / "problem.txt").read_text()
    err = capsys.readouterr().err
    assert "no answer in 2 s" in err and "MemoryError" in err
    assert "| forbidden | skipped: not here | |" in found.table()
