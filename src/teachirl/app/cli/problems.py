"""What the commands that take a problem file share."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeAlias

import typer

from .output import print_table

if TYPE_CHECKING:
    from ...study.progress import Progress
    from ..decisions import Difference
    from ..problem import Problem

# So many features are printed; JSON has all of them.
PRINTED = 8

File: TypeAlias = Annotated[Path, typer.Argument(metavar="FILE", help="The problem file, TOML.")]
Out: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="DIR", file_okay=False, help="Folder to write report.html to."),
]


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


def write_report(out: Path, problem: Problem, **found: Any) -> None:
    """The report; where it is goes to stderr."""
    from ..report.html import write_report as write

    typer.echo(f"teachirl: wrote {write(out, problem, **found)}", err=True)


def print_lines(*sentences: str) -> None:
    """Sentences, and an empty line if there are any."""
    for sentence in sentences:
        typer.echo(sentence)
    if sentences:
        typer.echo()


def print_differences(differences: tuple[Difference, ...], expert: str, other: str) -> None:
    """A table of features, what costs most first."""
    rows = [
        (each.name, *(f"{x:.4g}" for x in (each.weight, each.expert, each.other, each.lost)))
        for each in differences[:PRINTED]
    ]
    print_table([("feature", "weight", expert, other, "reward lost"), *rows])
    if len(differences) > PRINTED:
        typer.echo(f"… and {len(differences) - PRINTED} more, see --json")
    typer.echo()
