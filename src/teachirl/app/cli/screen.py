"""The screen as commands see it: nothing reaches it but through `legible`."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

import typer

from ...errors import legible, one_line

LONGEST = 2000  # characters of a message; who wrote the file needs no more to find the place


class Screen:
    """A stream that shows names from files as they are, and lets none of them steer it.

    Parameters
    ----------
    unfiltered : the stream to write to, for what may draw there
    """

    def __init__(self, unfiltered: TextIO) -> None:
        self.unfiltered = unfiltered

    def write(self, text: str) -> int:
        return self.unfiltered.write(legible(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unfiltered, name)


@contextmanager
def filtered() -> Iterator[None]:
    """Whatever is printed within the block, by whomever, is legible."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast("TextIO", Screen(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


@contextmanager
def loading() -> Iterator[None]:
    """Modules are imported: Ctrl-C ends the process at once, as nothing is there to be kept.

    Compiled modules would turn it into errors of their own. From then on garbage is looked for, in
    a process of the command's own only among what comes later.
    """
    before = signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if not gc.isenabled():
            gc.freeze()
            gc.enable()


def say(*lines: str, err: bool = False) -> None:
    """Print lines; a name that has line breaks stays on its line."""
    for line in lines:
        typer.echo(one_line(line), err=err)


def shortened(message: str) -> str:
    """A message of a bearable length, with a count of what was left out.

    >>> shortened("x" * 2100)[-30:]
    'xxxxxx … (100 characters more)'
    """
    more = len(message) - LONGEST
    return message if more <= 0 else f"{message[:LONGEST]} … ({more} characters more)"
