"""`teachirl reproduce`: the experiments of the paper, and one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .screen import loading, say, shortened

OUT = Path("reproduction")
TOLD = 5  # texts of failed units that are printed; those of the others are like them


def reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="EXPERIMENT",
            help="Names that --list prints, or FILE.py:NAME; all of the list by default.",
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller settings.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for results and figures.")] = OUT,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes on this machine; one a core by default.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Scheduler of a Dask cluster to use.")
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="Print the experiments.")] = False,
) -> None:
    """Run the experiments of the paper and draw its figures.

    What is finished is kept in the output folder, and is not done again. Exit code 1 if some of the
    work failed.
    """
    if workers is not None and cluster is not None:
        raise typer.BadParameter("give --workers or --cluster, not both")
    if listing:
        with loading():
            from ...study.experiments import BUILT_IN, find
            from ..render.console import print_table
        print_table([(name, find(name).title) for name in BUILT_IN])
        return
    with loading():
        from ...study.experiments.reproduce import reproduce as run
        from ...study.progress import Progress
    try:
        with Progress.on_stderr() as progress:
            report = run(
                experiments or [],
                quick=quick,
                out=out,
                workers=workers,
                cluster=cluster,
                progress=progress,
            )
    except KeyboardInterrupt:
        say("teachirl: stopped; the same command goes on where it stopped", err=True)
        raise typer.Exit(130) from None
    say(*str(report).split("\n"))
    for text in report.failed[:TOLD]:
        say(*f"teachirl: {shortened(text)}".split("\n"), err=True)
    if report.failed[TOLD:]:
        say(f"teachirl: … and {len(report.failed) - TOLD} more failed", err=True)
    if report.failed:
        raise typer.Exit(1)
