"""`teachirl diagnose`: what is known of a learner whose worldview is unknown."""

from __future__ import annotations

from .options import AsJson, File, Set
from .problems import deciding, print_document


def diagnose(file: File, sets: Set = None, as_json: AsJson = False) -> None:
    """Say what a learner has, lacks and may have that nobody knows, and what to show it next."""
    from ..decisions import acquaint
    from ..document.documents import answer

    with deciding(file, None, sets) as (problem, _):
        document = answer(problem, acquaint(problem))
    print_document(document, as_json)
