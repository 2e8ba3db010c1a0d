"""`teachirl check`: all mistakes of a problem file at once, and what looks like one."""

from __future__ import annotations

import typer

from .options import AsJson, File, Sees, Set
from .problems import deciding, print_document
from .screen import shortened


def check(file: File, sees: Sees = None, sets: Set = None, as_json: AsJson = False) -> None:
    """Tell all mistakes in a problem file at once, what looks odd, and what the expert does.

    Exit code 2 if there are mistakes.
    """
    from ..decisions import check as look
    from ..document.documents import answer
    from ..problem import ProblemFileError

    try:
        with deciding(file, sees, sets) as (problem, _):
            document = answer(problem, look(problem))
    except ProblemFileError as error:
        for mistake in error.mistakes:
            typer.echo(f"teachirl: {shortened(mistake)}", err=True)
        if error.waiting:
            typer.echo(f"teachirl: {shortened(error.waiting)}", err=True)
        raise typer.Exit(2) from None
    print_document(document, as_json)
