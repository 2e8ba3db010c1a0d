"""The command: ``python -m teachirl`` is ``teachirl``."""

import gc
import os
import signal
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

# What SciPy and Numba import but hardly ever use, a tenth of the time until a first answer.
HARDLY_USED = {
    "numba.experimental",
    "numpy.char",
    "numpy.ctypeslib",
    "numpy.f2py",
    "numpy.ma",
    "numpy.testing",
    "scipy.spatial.transform",
    "yaml",
}


# Exit codes after SIGINT and SIGTERM.
STOPPED = {130, 143}


class Postponing:
    """Finds some modules such that they are loaded once something in them is asked for."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in HARDLY_USED else None
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def main() -> None:
    """Load the command line and run it; whoever presses Ctrl-C while it loads sees no traceback."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    # Between two products the threads of BLAS would keep their processors busy with waiting.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    sys.meta_path.insert(0, Postponing())
    gc.disable()  # until all is loaded, which is no garbage: see `loading` in app/cli/screen.py
    from .app.cli import main as run

    try:
        run()
    finally:
        # All is said by now. While Python takes its modules down, a signal would kill it.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        leave_behind()


def leave_behind() -> None:
    """End at once after a request to stop, or if a thread is still at what there was no more time
    for (`mdp.clock.aside`).

    Modules of C++ that were stopped while they were loaded do not bear to be taken down.
    """
    import threading

    ended = sys.exc_info()[1]
    code = ended.code if isinstance(ended, SystemExit) else ended and 1
    if code in STOPPED or any(thread.name == "teachirl aside" for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    main()
