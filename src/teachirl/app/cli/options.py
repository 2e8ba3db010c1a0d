"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
File: TypeAlias = Annotated[Path, typer.Argument(metavar="FILE", help="The problem file, TOML.")]
Out: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="DIR", file_okay=False, help="Folder to write report.html to."),
]
