"""`teachirl frontier`: what can be guaranteed for how much."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from .options import AsJson, File, Out, Sees, Set
from .problems import deciding, print_document, write_report

Seconds: TypeAlias = Annotated[
    float, typer.Option(min=0.0, metavar="N", help="How long to search for better sets.")
]


def frontier(
    file: File,
    out: Out = None,
    seconds: Seconds = 60.0,
    sees: Sees = None,
    sets: Set = None,
    as_json: AsJson = False,
) -> None:
    """Say what can be guaranteed for how much, so that a budget can be chosen.

    The report also says how things stand, as that of `certify` does.
    """
    from ..decisions import assess
    from ..decisions import frontier as trace
    from ..document import answer, report

    with deciding(file, sees, sets) as (problem, progress):
        found = trace(problem, seconds=seconds, progress=progress)
        if out is not None:
            write_report(out, report(problem, assess(problem, progress=progress), found))
    print_document(answer(problem, found), as_json)
