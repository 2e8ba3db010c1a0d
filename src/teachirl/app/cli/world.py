"""`teachirl world`: what was read of a world."""

from __future__ import annotations

from .options import AsJson, File, Set
from .problems import changes_of, print_document
from .screen import loading


def world(file: File, sets: Set = None, as_json: AsJson = False) -> None:
    """Describe the world of a problem file: its size, its features and how much of them policies
    have, what it takes to plan in it. The other tables of the file may be missing."""
    with loading():
        from ..decisions import world_account
        from ..document.world_account import described
        from ..problem import read_world
    found = read_world(file, changes=changes_of(None, sets))
    print_document(described(file.stem, world_account(found)), as_json)
