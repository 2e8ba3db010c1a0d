"""Whether what is compiled can be kept on disk, for the next time."""

from __future__ import annotations

import os
import sys

from numba import njit

# Set once the user was told, so that the processes which this one starts say nothing.
TOLD = "TEACHIRL_TOLD_NOTHING_IS_KEPT"
MESSAGE = (
    "teachirl: what is compiled cannot be kept here, so that every start compiles anew; set "
    "NUMBA_CACHE_DIR to a folder that can be written to"
)


def _can_keep() -> bool:
    """Numba looks for a folder when a function is declared, and compiles when it is called."""
    try:
        njit(cache=True)(_nothing)
    except RuntimeError:
        return False
    return True


def _nothing() -> None:
    pass


KEPT = _can_keep()
if not KEPT and TOLD not in os.environ:
    os.environ[TOLD] = "1"
    print(MESSAGE, file=sys.stderr, flush=True)
