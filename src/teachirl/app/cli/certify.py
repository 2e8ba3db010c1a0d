"""`teachirl certify`: how things stand."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from .options import AsJson, File, Out, Resume, Seconds, Sees, Set
from .problems import (
    deciding,
    end_as_missed,
    end_if_interrupted,
    keeping,
    print_document,
    unlimited,
    write_report,
)

AtLeast: TypeAlias = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=1.0,
        metavar="SHARE",
        help="Exit code 3 if less of the best performance is guaranteed.",
    ),
]


def certify(
    file: File,
    out: Out = None,
    at_least: AtLeast = None,
    seconds: Seconds = None,
    resume: Resume = False,
    sees: Sees = None,
    sets: Set = None,
    as_json: AsJson = False,
) -> None:
    """Say what is guaranteed of the learner as things stand, and what could go wrong.

    Exit code 3 if less is guaranteed than --at-least asks for.
    """
    from ...figures.digits import asked
    from ...teaching.goals import Goals
    from ..decisions import assess
    from ..document.documents import answer, report
    from ..document.goals import amount_of

    with deciding(file, sees, sets) as (problem, progress):
        with keeping(resume) as kept:
            limit = unlimited(seconds)
            found = assess(problem, seconds=limit, progress=progress, kept=kept)
        print_document(answer(problem, found), as_json, progress)
        if out is not None:
            write_report(out, report(problem, found))
    end_if_interrupted(found.patience.cut)
    # As a goal of the file's is: up to rounding of the reward, whatever counts as 0.
    (goal,) = Goals(guarantee=at_least).of(problem.task) if at_least is not None else (None,)
    if goal is not None and goal.missing_at(found.guaranteed):
        have, wanted = amount_of(goal, found.guaranteed), asked(goal.wanted)
        own = problem.asked.guarantee
        other = "" if own in (None, at_least) else f" (the file's plan.guarantee for {asked(own)})"
        end_as_missed(f"--at-least asks for {wanted}{other}, {have} are guaranteed")
