"""What the commands that take a problem file share."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

if TYPE_CHECKING:
    from ...study.progress import Progress
    from ..document.elements import Document
    from ..problem import Problem


@contextmanager
def deciding(file: Path) -> Iterator[tuple[Problem, Progress]]:
    """The problem of a file, and progress on stderr; Ctrl-C ends it at once, with exit code 130.

    A search that is interrupted would otherwise return what it has, and the command go on.
    """
    before = signal.signal(signal.SIGINT, _stop)
    try:
        from ...study.progress import Progress
        from ..problem import read_problem

        with Progress.on_stderr() as progress:
            yield read_problem(file), progress
    except SystemError as error:
        # Of what was raised within compiled functions only the first cause says what it was.
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        if isinstance(cause, SystemExit):
            raise cause from None
        raise
    finally:
        signal.signal(signal.SIGINT, before)


def _stop(*_: Any) -> NoReturn:
    raise SystemExit(130)


def write_report(out: Path, document: Document) -> None:
    """The report; where it is goes to stderr."""
    from ..render import html

    typer.echo(f"teachirl: wrote {html.write_report(out, document)}", err=True)


def print_document(document: Document, as_json: bool) -> None:
    """The answer on stdout, as text or as JSON."""
    from ..render import console, json

    (json if as_json else console).print_document(document)
