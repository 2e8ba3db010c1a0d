"""A worker: it reads names of steps from stdin, and for each writes what it compiled to stdout."""

from __future__ import annotations

import sys
import time

from numba.core.event import Event, Listener, register

from .steps import STEPS


class _Compiled(Listener):
    """How many kernels were compiled, those that they call aside, and in how much time."""

    kernels, seconds, depth, began = 0, 0.0, 0, 0.0

    def on_start(self, event: Event) -> None:
        if self.depth == 0:
            self.began = time.process_time()
        self.depth += 1

    def on_end(self, event: Event) -> None:
        self.depth -= 1
        if self.depth == 0 and event.data is not None:  # not only waited for
            self.kernels += 1
            self.seconds += time.process_time() - self.began


def main() -> None:
    """Work until stdin ends."""
    compiled = _Compiled()
    register("numba:compile", compiled)  # type: ignore[no-untyped-call]
    for line in sys.stdin:
        compiled.kernels, compiled.seconds = 0, 0.0
        STEPS[line.strip()]()
        print(compiled.kernels, compiled.seconds, flush=True)


if __name__ == "__main__":
    main()
