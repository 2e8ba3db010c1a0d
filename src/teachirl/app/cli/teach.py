"""`teachirl teach`: what to teach, in which order, where to stop, what to demonstrate."""

from __future__ import annotations

import typer

from .options import AsJson, File, Out, Resume, Seconds, Sees, Set
from .problems import (
    deciding,
    end_as_missed,
    end_if_interrupted,
    keeping,
    print_document,
    standing,
    unlimited,
    write_report,
)


def teach(
    file: File,
    out: Out = None,
    seconds: Seconds = None,
    resume: Resume = False,
    sees: Sees = None,
    sets: Set = None,
    as_json: AsJson = False,
) -> None:
    """Plan what to teach: in which order, where to stop, and what to demonstrate.

    The report also says how things stand, as that of `certify` does. A policy to demonstrate that
    is not simply an optimal one is written to DIR/demonstration.csv. Exit code 3 if what the file
    asks for cannot be guaranteed.
    """
    from ..decisions import plan
    from ..document.documents import answer, report
    from ..document.live import live_table
    from ..document.stakes import missed

    with deciding(file, sees, sets) as (problem, progress):
        with keeping(resume) as kept:
            found = plan(
                problem,
                seconds=unlimited(seconds),
                progress=progress,
                kept=kept,
                watch=live_table(problem, progress),
            )
        print_document(answer(problem, found), as_json, progress)
        if out is not None:
            write_report(out, report(problem, standing(problem, found, seconds, progress), found))
            if found.differences and found.policy is not None:
                found.policy.save(out / "demonstration.csv")
                typer.echo(f"teachirl: wrote {out / 'demonstration.csv'}", err=True)
    end_if_interrupted(found.cut)
    if not found.reached:
        end_as_missed(missed(found.stakes.goals))
