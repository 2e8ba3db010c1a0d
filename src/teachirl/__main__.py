"""The command: ``python -m teachirl`` is ``teachirl``."""

import os
import signal


def main() -> None:
    """Load the command line and run it; whoever presses Ctrl-C while it loads sees no traceback."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from .app.cli import main as run

    try:
        run()
    finally:
        # All is said by now. While Python takes its modules down, a signal would kill it.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)


if __name__ == "__main__":
    main()
