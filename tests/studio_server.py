"""A studio in a process of its own, for tests."""

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager

DESK = """\
title = "Which cells must the learner know?"

[world]
name = "chain"

[reward.weights]
"cell 1" = -2.0
"cell 2" = -1.0
"cell 4" = 1.0
"cell 5" = 2.0

[learner]
sees = ["cell 3"]

[[teach.feature]]
name = "cell 1"
cost = 3.0

[[teach.feature]]
name = "cell 5"
cost = 2.5

[plan]
guarantee = 0.9
"""


def begun(*arguments, cwd):
    """A server, and the link that it announces."""
    process = subprocess.Popen(
        [sys.executable, "-m", "teachirl", *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    for line in process.stdout:
        link = re.search(r"http://\S+", line)
        if link:
            return process, link[0]
    raise AssertionError(f"it ended with {process.wait()}")


def ended(process, how=signal.SIGINT):
    process.send_signal(how)
    process.wait(timeout=300)
    process.stdout.close()
    return process.returncode


@contextmanager
def serving(*arguments, cwd):
    process, link = begun(*arguments, "--port", "0", cwd=cwd)
    try:
        yield process, link
    finally:
        if process.poll() is None:
            ended(process)
