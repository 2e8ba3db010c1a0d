"""`teachirl frontier`: what can be guaranteed for how much."""

from __future__ import annotations

from .options import AsJson, File, Out, Resume, Seconds, Sees, Set
from .problems import (
    deciding,
    end_if_interrupted,
    keeping,
    print_document,
    standing,
    write_report,
)


def frontier(
    file: File,
    out: Out = None,
    seconds: Seconds = None,
    resume: Resume = False,
    sees: Sees = None,
    sets: Set = None,
    as_json: AsJson = False,
) -> None:
    """Say what can be guaranteed for how much, so that a budget can be chosen.

    Without --seconds it searches for 60. The report also says how things stand, as that of
    `certify` does.
    """
    from ..decisions import frontier as trace
    from ..document.documents import answer, report
    from ..document.live import live_table

    with deciding(file, sees, sets) as (problem, progress):
        with keeping(resume) as kept:
            found = trace(
                problem,
                seconds=seconds,
                progress=progress,
                kept=kept,
                watch=live_table(problem, progress),
            )
        print_document(answer(problem, found), as_json, progress)
        if out is not None:
            write_report(out, report(problem, standing(problem, found, seconds, progress), found))
    end_if_interrupted(found.cut)
