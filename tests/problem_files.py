"""Problem files to read, and to break."""

import shutil
from pathlib import Path

import pytest

import teachirl as ti
from teachirl.app.problem import read_problem

PROBLEMS = Path(__file__).parent / "problems"
TOML = {path.stem: path.read_text() for path in PROBLEMS.glob("*.toml")}
FILES = {path.name: path.read_bytes() for path in PROBLEMS.iterdir()}


def copied(folder):
    """A copy of all problems in a folder, to change."""
    return Path(shutil.copytree(PROBLEMS, folder / "problems"))


def message_of(path):
    """The one message of a file that must be refused."""
    with pytest.raises(ti.FileFormatError) as caught:
        read_problem(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert all(len(line) < 700 + len(str(path)) for line in message.splitlines())
    assert len(message.splitlines()) <= 6
    return message.replace(f"{path}, ", "").replace(f"{path}: ", "")
