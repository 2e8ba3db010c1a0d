"""`teachirl teach`: what to teach, in which order, where to stop, what to demonstrate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .options import AsJson, File, Out, Sees, Set
from .problems import deciding, end_as_missed, print_document, write_report

if TYPE_CHECKING:
    from ...mdp.policy import Policy


def teach(
    file: File, out: Out = None, sees: Sees = None, sets: Set = None, as_json: AsJson = False
) -> None:
    """Plan what to teach: in which order, where to stop, and what to demonstrate.

    The report also says how things stand, as that of `certify` does. A policy to demonstrate that
    is not simply an optimal one is written to DIR/demonstration.csv. Exit code 3 if what the file
    asks for cannot be guaranteed.
    """
    from ..decisions import assess, plan
    from ..document import answer, report

    with deciding(file, sees, sets) as (problem, progress):
        found = plan(problem, progress=progress)
        if out is not None:
            write_report(out, report(problem, assess(problem, progress=progress), found))
            if found.differences and found.policy is not None:
                _write_policy(out / "demonstration.csv", found.policy)
    print_document(answer(problem, found), as_json)
    if found.wanted is not None and not found.reached:
        end_as_missed(found.steps[found.stop].guaranteed, found.wanted)


def _write_policy(path: Path, policy: Policy) -> None:
    """A table that a problem file can name as its policy."""
    import csv
    import io

    from ...files import replacing
    from ..document.tables import policy_rows

    text = io.StringIO()
    table = csv.DictWriter(text, ("state", "action", "probability"), lineterminator="\n")
    table.writeheader()
    table.writerows(policy_rows(policy) or [])
    with replacing(path) as file:
        file.write(text.getvalue().encode())
    typer.echo(f"teachirl: wrote {path}", err=True)
