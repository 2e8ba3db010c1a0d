"""`teachirl certify`: how things stand."""

from __future__ import annotations

import typer

from .output import AsJson, print_json, print_table
from .problems import File, Out, deciding, print_differences, print_lines, write_report


def certify(file: File, out: Out = None, as_json: AsJson = False) -> None:
    """Say what is guaranteed of the learner as she is, and what she could get wrong."""
    from ..decisions import assess
    from ..decisions.documents import standing_document
    from ..digits import at_least, at_most, number, percent, percent_at_least, small

    with deciding(file) as (problem, progress):
        standing = assess(problem, progress=progress)
        if out is not None:
            write_report(out, problem, standing=standing)
    if as_json:
        print_json("standing", standing_document(problem, standing))
        return
    print_lines(standing.title, standing.world)
    print_lines(*standing.notes)
    print_lines(
        f"Teaching risk {standing.risk:.3f}; of what policies can change, "
        f"{standing.relative_risk:.3f}.",
        standing.blind_spot.sentence,
    )
    typer.echo(
        f"The best policy earns {number(standing.best)}, the expert {number(standing.expert)}, "
        f"the worst policy {number(standing.worst)}. Of her it is guaranteed:"
    )
    scale = standing.best - standing.worst
    rows = [
        (
            each.name,
            at_least(each.reward, scale),
            percent_at_least(each.performance),
            at_most(each.behind, scale),
        )
        for each in standing.guarantees
    ]
    print_table([("by", "reward at least", "performance", "behind the expert at most"), *rows])
    typer.echo()
    if standing.differences:
        typer.echo("The worst policy that she could mistake for the expert's:")
        print_differences(standing.differences, "expert", "hers")
    elif standing.witness is not None:
        print_lines("The worst policy that she could mistake for the expert's does the same.")
    typer.echo("What learners would do:")
    lines = [
        (
            each.name,
            "" if each.performance is None else percent(each.performance),
            "" if each.mismatch is None else small(each.mismatch),
            each.ended,
        )
        for each in standing.learners
    ]
    print_table([("learner", "performance", "mismatch", "ended"), *lines])
    if standing.below:
        typer.echo(standing.below)
    typer.echo("\nCan the expert's behaviour look optimal to her?")
    for sentence in standing.looks:
        typer.echo(sentence)
