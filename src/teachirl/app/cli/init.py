"""`teachirl init`: a problem file to start from."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from .screen import say


def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it.")] = Path(
        "problem.toml"
    ),
) -> None:
    """Write a commented problem file to start from; a file that is there is left as it is."""
    from ...errors import require
    from ...files import replacing
    from ..problem import example_text

    require(not file.exists(), f"{file} is there already; name another file")
    with replacing(file) as new:
        new.write(example_text().encode())
    say(f"{file}: change it, then try `{shlex.join(['teachirl', 'certify', str(file)])}`")
