"""Arguments and options that several commands have, and what `--help` says of a command."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeAlias

import typer


def summary(command: Callable[..., None]) -> str:
    """The first sentence of what a command says of itself, whole, for the list of commands.

    >>> def greet() -> None:
    ...     \"\"\"Say hello,
    ...     and how are you.
    ...
    ...     Not more.
    ...     \"\"\"
    >>> summary(greet)
    'Say hello, and how are you.'
    """
    return " ".join((inspect.getdoc(command) or "").partition("\n\n")[0].split())


AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
File: TypeAlias = Annotated[Path, typer.Argument(metavar="FILE", help="The problem file, TOML.")]
Seconds: TypeAlias = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        metavar="N",
        help="How long it may take; what is proved by then is printed, and that it was cut short.",
    ),
]
Resume: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--resume", help="Go on from what was proved when it was cut short the last time."
    ),
]
Sees: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="What if the learner saw these features, as in a,b? +a,b adds to the file's.",
    ),
]
Set: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="What if the file said this, as in plan.max_cost=5? May be given several times.",
    ),
]
Out: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="DIR", file_okay=False, help="Folder to write report.html to."),
]
