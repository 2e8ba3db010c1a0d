"""`teachirl frontier`: what can be guaranteed for how much."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from .output import AsJson, print_json, print_table
from .problems import File, Out, deciding, print_lines, write_report

Seconds: TypeAlias = Annotated[
    float, typer.Option(min=0.0, metavar="N", help="How long to search for better sets.")
]


def frontier(file: File, out: Out = None, seconds: Seconds = 60.0, as_json: AsJson = False) -> None:
    """Say what can be guaranteed for how much, so that a budget can be chosen.

    The report also says how things stand, as that of `certify` does.
    """
    from ..decisions import assess
    from ..decisions import frontier as trace
    from ..decisions.documents import frontier_document
    from ..digits import asked, money, percent_at_least

    with deciding(file) as (problem, progress):
        curve = trace(problem, seconds=seconds, progress=progress)
        if out is not None:
            standing = assess(problem, progress=progress)
            write_report(out, problem, standing=standing, frontier=curve)
    if as_json:
        print_json("frontier", frontier_document(curve))
        return
    print_lines(curve.title)
    print_lines(*curve.notes)
    rows = [
        (
            money(point.cost),
            percent_at_least(point.guaranteed),
            f"{point.risk:.3f}",
            ", ".join(point.features) or "(nothing)",
        )
        for point in curve.points
    ]
    print_table([("cost", "guaranteed", "risk", "teach"), *rows])
    typer.echo(f"\n{curve.method}")
    if curve.wanted is not None:
        found = "no set that was tried guarantees them"
        if curve.enough is not None:
            found = f"that takes a cost of {money(curve.enough.cost)}"
        typer.echo(f"{asked(curve.wanted)} are wanted: {found}.")
