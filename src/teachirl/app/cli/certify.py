"""`teachirl certify`: how things stand."""

from __future__ import annotations

from .options import AsJson, File, Out
from .problems import deciding, print_document, write_report


def certify(file: File, out: Out = None, as_json: AsJson = False) -> None:
    """Say what is guaranteed of the learner as things stand, and what could go wrong."""
    from ..decisions import assess
    from ..document import answer, report

    with deciding(file) as (problem, progress):
        found = assess(problem, progress=progress)
        if out is not None:
            write_report(out, report(problem, found))
    print_document(answer(problem, found), as_json)
