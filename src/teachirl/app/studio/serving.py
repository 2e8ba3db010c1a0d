"""A server on an address: announced once it listens, ended by Ctrl-C."""

from __future__ import annotations

import gc
import secrets
import socket
import sys
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from ...errors import InvalidInputError, require
from .security import Guard, Guarded, hosts_of, is_loopback

# Open at the same time; many systems allow a process a thousand files.
CONNECTIONS = 800


@dataclass(frozen=True)
class Address:
    """Where to listen, and who is let in.

    Attributes
    ----------
    host, port : the address; port 0 is any that is free
    token : what others must know; made up if there is none
    """

    host: str = "127.0.0.1"
    port: int = 0
    token: str | None = None

    def __post_init__(self) -> None:
        require(
            self.host not in ("", "0.0.0.0", "::"),
            f"--host {self.host!r} is every address: name the one that others open, as no other "
            "is answered",
        )
        require(
            is_loopback(self.host) or self.token is not None,
            f"--host {self.host} can be reached by others: choose a --token that they must know",
        )
        require(
            self.token is None or (len(self.token) >= 16 and self.token.isascii()),
            "--token must have at least 16 plain characters",
        )


def serve(
    app: Callable[[Guard], Guarded],
    address: Address,
    *,
    browse: bool = False,
    announce: Callable[[str], str],
    own: Callable[[str], str | None] = lambda path: None,
) -> None:
    """Serve until Ctrl-C.

    Parameters
    ----------
    app : makes the application, for a guard
    address : Address
    browse : whether to open a browser
    announce : is told the link, and says which page of it to open
    own : as in `Guard`
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # asyncio sends what is small at once only on sockets that say that they are TCP's.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((address.host, address.port))
    except OSError as error:
        listening.close()
        where = f"{address.host}:{address.port}"
        raise InvalidInputError(f"cannot listen on {where}: {error.strerror}") from None
    port = int(listening.getsockname()[1])
    token = address.token or secrets.token_urlsafe(24)
    guard = Guard(hosts_of(_named(address.host), port), token, is_loopback(address.host), own)
    made = app(guard)
    listening.listen(256)
    link = f"http://{_named(address.host)}:{port}/"
    link += "" if guard.open else f"?token={token}"
    config = uvicorn.Config(
        made,
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=2,
    )
    # What is there by now stays: to look through it for garbage would stop all answers for a while.
    gc.collect()
    gc.freeze()
    first = announce(link)
    sys.stdout.flush()
    if browse:
        webbrowser.open(first)
    with suppress(KeyboardInterrupt):  # which is how to end it
        uvicorn.Server(config).run(sockets=[listening])


def examples() -> dict[str, Path]:
    """The problem files of the gallery, by name."""
    here = Path(__file__).parent / "examples"
    root = here if here.is_dir() else Path(__file__).parents[4] / "examples"
    names = ("driving", "taxi", "frozen_lake", "classroom/classroom", "warehouse/warehouse")
    found = {Path(name).name: root / f"{name}.toml" for name in names}
    return {name: path for name, path in found.items() if path.is_file()}


def _named(host: str) -> str:
    return f"[{host}]" if ":" in host else host


__all__ = ["Address", "examples", "serve"]
