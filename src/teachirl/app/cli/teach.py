"""`teachirl teach`: what to teach, in which order, where to stop, what to demonstrate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .output import AsJson, print_json, print_table
from .problems import File, Out, deciding, print_differences, print_lines, write_report

if TYPE_CHECKING:
    from ..decisions import Advice, Step


def teach(file: File, out: Out = None, as_json: AsJson = False) -> None:
    """Plan what to teach: in which order, where to stop, and what to demonstrate.

    The report also says how things stand, as that of `certify` does. A policy to demonstrate that
    is not simply an optimal one is written to DIR/demonstration.csv.
    """
    from ..decisions import advise, assess
    from ..decisions.documents import advice_document

    with deciding(file) as (problem, progress):
        advice = advise(problem, progress=progress)
        if out is not None:
            standing = assess(problem, progress=progress)
            write_report(out, problem, standing=standing, advice=advice)
            if advice.differences:
                _write_policy(out / "demonstration.csv", advice)
    if as_json:
        print_json("advice", advice_document(advice))
        return
    print_lines(advice.title, f"{advice.teacher} plans, {advice.learner} is simulated.")
    print_lines(*advice.notes)
    header = ("step", "teach", "cost", "risk", "guaranteed", "simulated", "second best", "instead")
    print_table([header, *(_row(i, step, advice.stop) for i, step in enumerate(advice.steps))])
    steps = f"{advice.stop} step{'' if advice.stop == 1 else 's'}"
    typer.echo(f"\nStop after {steps}. {advice.reason}")
    if advice.below:
        typer.echo(advice.below)
    typer.echo(advice.nearness)
    typer.echo(advice.demonstrate)
    if advice.differences:
        typer.echo("\nWhat the policy to demonstrate does differently:")
        print_differences(advice.differences, "optimal", "to show")


def _row(number: int, step: Step, stop: int) -> tuple[str, ...]:
    from ..digits import money, percent, percent_at_least

    other = step.alternative
    return (
        f"{number}{' *' if number == stop else ''}",
        step.name or "(as she is)",
        money(step.cost),
        f"{step.risk:.3f}",
        percent_at_least(step.guaranteed),
        percent(step.performance),
        "" if other is None else f"{other.name} ({money(other.price)})",
        "" if other is None else percent_at_least(other.guaranteed),
    )


def _write_policy(path: Path, advice: Advice) -> None:
    """A table that a problem file can name as its policy."""
    import csv
    import io

    from ...files import replacing
    from ..decisions.documents import policy_rows

    text = io.StringIO()
    table = csv.DictWriter(text, ("state", "action", "probability"), lineterminator="\n")
    table.writeheader()
    table.writerows(policy_rows(advice.policy) or [])
    with replacing(path) as file:
        file.write(text.getvalue().encode())
    typer.echo(f"teachirl: wrote {path}", err=True)
