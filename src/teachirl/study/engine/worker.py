"""The other end: what does a unit of work, in a process of its own or on a cluster.

As a program, ``python -m teachirl.study.engine.worker N`` takes jobs from the socket with file
descriptor N, which it inherits, and answers there until the other side is gone.
"""

from __future__ import annotations

import json
import os
import queue
import socket
import sys
import threading
import traceback
from functools import cache
from multiprocessing.connection import Connection

from ...mdp.compilation import on_compiling, processor_seconds
from ..experiments.experiment import perform
from ..provenance import package_versions
from .jobs import COMPILING

PACKAGES = package_versions()


def attempt(text: str) -> str:
    """Do a job; JSON of what it gave, or of the error that it raised.

    >>> print(json.loads(attempt("no job"))["error"])
    JSONDecodeError: Expecting value: line 1 column 1 (char 0)
    """
    started = processor_seconds()
    try:
        said = json.loads(perform(text))
    except (Exception, SystemExit) as error:
        line = " ".join(str(error).split())
        said = {"error": f"{type(error).__name__}: {line}", "traceback": traceback.format_exc()}
    said["elapsed"] = processor_seconds() - started
    said["worker"] = f"{socket.gethostname()}:{os.getpid()}"
    said["packages"] = PACKAGES
    return json.dumps(said)


def main() -> None:
    """Serve the process that started this one."""
    descriptor = int(sys.argv[1])
    os.set_inheritable(descriptor, False)
    # What a unit prints must not mix with what the program prints as its result.
    os.dup2(2, 1)
    connection = Connection(descriptor)
    jobs: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, jobs), daemon=True).start()
    on_compiling(cache(lambda: connection.send_bytes(COMPILING)))
    try:
        connection.send_bytes(b"ready")
        while True:
            connection.send_bytes(attempt(jobs.get().decode()).encode())
    except OSError:
        os._exit(1)


def _listen(connection: Connection, jobs: queue.SimpleQueue[bytes]) -> None:
    """Take in jobs; end this process, whatever it is doing, when the other side is gone."""
    try:
        while True:
            jobs.put(connection.recv_bytes())
    except (EOFError, OSError):
        os._exit(1)


if __name__ == "__main__":
    main()
