"""What the commands that take a problem file share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .screen import loading

if TYPE_CHECKING:
    from ...study.progress import Progress
    from ..document.elements import Document
    from ..problem import Problem


@contextmanager
def deciding(file: Path) -> Iterator[tuple[Problem, Progress]]:
    """The problem of a file, and progress on stderr."""
    with loading():
        from ...study.progress import Progress
        from ..problem import read_problem
    with Progress.on_stderr() as progress:
        yield read_problem(file), progress


def write_report(out: Path, document: Document) -> None:
    """The report; where it is goes to stderr."""
    from ..render import html

    typer.echo(f"teachirl: wrote {html.write_report(out, document)}", err=True)


def print_document(document: Document, as_json: bool) -> None:
    """The answer on stdout, as text or as JSON."""
    from ..render import console, json

    (json if as_json else console).print_document(document)
