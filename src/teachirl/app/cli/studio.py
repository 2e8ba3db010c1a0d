"""`teachirl studio`: a teacher's desk in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from .screen import loading, say

Host: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS", help="Where to listen; others than this machine's own need --token."
    ),
]
Port: TypeAlias = Annotated[
    int, typer.Option(min=0, max=65535, metavar="N", help="0 is any that is free.")
]
Token: TypeAlias = Annotated[
    str | None, typer.Option(metavar="TEXT", help="What those must know who open the page.")
]
Browse: TypeAlias = Annotated[bool, typer.Option("--browse", help="Open it in a browser.")]


def studio(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="The problem file; by default all examples."),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", file_okay=False, help="Folder that results are kept in.")
    ] = Path("studio"),
    host: Host = "127.0.0.1",
    port: Port = 8765,
    token: Token = None,
    browse: Browse = False,
) -> None:
    """Open a desk in the browser: switch features, and see at once what is then guaranteed.

    It runs on this machine, and asks for nothing from elsewhere. Ctrl-C ends it; results are kept.
    """
    from ...errors import MissingExtraError, require

    with loading():
        try:
            from ..studio.desk import desk_app
            from ..studio.serving import Address, examples, serve
        except ImportError as error:
            raise MissingExtraError("FastAPI and uvicorn", "studio") from error
    require(file is None or file.is_file(), f"{file}: there is no such file")
    problems = examples() if file is None else {file.stem: file.resolve()}
    address = Address(host, port, token)

    def announce(link: str) -> str:
        say(f"The desk is at {link}", "Ctrl-C ends it.")
        return link

    serve(
        lambda guard: desk_app(problems, out, guard, address.host),
        address,
        browse=browse,
        announce=announce,
    )
