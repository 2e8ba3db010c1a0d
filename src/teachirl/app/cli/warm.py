"""`teachirl warm`: compile beforehand."""

from __future__ import annotations

import time

import typer

from .screen import loading, say


def warm() -> None:
    """Compile beforehand what the other commands need, on all cores, and keep it.

    What was kept before is not compiled again. Exit code 2 if nothing can be kept.
    """
    began = time.monotonic()
    with loading():
        from ...mdp.kernels.keeping import KEPT
        from ...study.progress import Progress
        from .. import warming
    if not KEPT:  # of which the user has been told
        raise typer.Exit(2)
    with Progress.on_stderr() as progress:
        done = warming.warm(progress)
    if done.kernels == 0:
        say("all is compiled already")
        return
    took = time.monotonic() - began
    say(f"compiled {done.kernels} kernels in {took:.0f} s, {done.seconds:.0f} s of processor time")
