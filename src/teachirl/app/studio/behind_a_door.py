"""A lesson that a desk has opened, as a process that ends with the desk, however that ends."""

from __future__ import annotations

import os
import runpy
import signal
import sys
from threading import Thread


def _with_the_desk() -> None:
    # The desk never writes: what is read is its end.
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    Thread(target=_with_the_desk, daemon=True).start()
    sys.argv[1:1] = ["lesson"]
    runpy.run_module("teachirl", run_name="__main__")
