"""What the commands that take a problem file share."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from .screen import loading

if TYPE_CHECKING:
    from ...study.progress import Progress
    from ..decisions import Assessment, Cut, Frontier, Kept, TeachingPlan
    from ..document.elements import Document
    from ..problem import Change, Problem


@contextmanager
def deciding(
    file: Path, sees: str | None, sets: list[str] | None
) -> Iterator[tuple[Problem, Progress]]:
    """The problem of a file, changed as the options say, and progress on stderr."""
    with loading():
        from ...study.progress import Progress
        from ..problem import read_problem
        from ..warming import helped
    with Progress.on_stderr() as progress, helped():
        with saying_so():
            problem = read_problem(file, changes=changes_of(sees, sets))
        yield problem, progress


@contextmanager
def saying_so() -> Iterator[None]:
    """If Ctrl-C comes before there is an answer, stderr says that there is none."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("teachirl: stopped by Ctrl-C before anything was proved", err=True)
        raise


@contextmanager
def keeping(resume: bool) -> Iterator[Kept]:
    """Where what is proved is kept, or gone on from; what is to be known of that is on stderr."""
    from ..decisions import Cut, Kept

    kept = Kept.of_user(resume=resume)
    try:
        with saying_so():
            yield kept
    except (KeyboardInterrupt, SystemExit):  # before there was anything to print
        kept.end(Cut.INTERRUPTED)
        raise
    if resume and not kept.resumed:
        typer.echo("teachirl: nothing was kept of this problem, so that it began anew", err=True)
    for text in kept.trouble:
        typer.echo(f"teachirl: {text}", err=True)


def changes_of(sees: str | None, sets: list[str] | None) -> list[Change]:
    """What the options ask to change."""
    from ..problem import Change

    seen = [] if sees is None else [Change.sees(sees)]
    return [*seen, *(Change.set(text) for text in sets or [])]


# Seconds for the rest of a report, once Ctrl-C or the time has ended what it is about.
HURRY = 5.0
# The exit code of a command that has its answer: what was asked for is not guaranteed.
NOT_GUARANTEED = 3


def end_as_missed(text: str) -> NoReturn:
    """End with a code of its own, as less is guaranteed than was asked for."""
    typer.echo(f"teachirl: {text}", err=True)
    raise typer.Exit(NOT_GUARANTEED)


def write_report(out: Path, document: Document) -> None:
    """The report; where it is goes to stderr."""
    from ..render import html

    typer.echo(f"teachirl: wrote {html.write_report(out, document)}", err=True)


def print_document(document: Document, as_json: bool, progress: Progress | None = None) -> None:
    """The answer on stdout, as JSON, or as text that comes as it is found."""
    from ..render import console, json

    if as_json:
        json.print_document(document)
    elif progress is None:
        console.print_document(document)
    else:
        console.print_document(document, progress.paused)


def unlimited(seconds: float | None) -> float:
    """Seconds that an option gives, or as many as it takes."""
    return math.inf if seconds is None else seconds


def standing(
    problem: Problem, found: TeachingPlan | Frontier, seconds: float | None, progress: Progress
) -> Assessment:
    """How things stand, for a report, in the time that is left of what an option gives; in a hurry
    if what it is about was cut short."""
    from ..decisions import assess

    left = math.inf if seconds is None else max(found.patience.left(), HURRY)
    return assess(problem, seconds=left if found.cut is None else HURRY, progress=progress)


def end_if_interrupted(cut: Cut | None) -> None:
    """After Ctrl-C what was proved is printed and written; the exit code says that it was."""
    from ..decisions import Cut

    if cut is Cut.INTERRUPTED:
        raise typer.Exit(130)
