"""What is compiled is kept on disk for the next time, if there is a place for it.

Numba keeps a function with the digest of its own file; but what it calls is compiled into it, so
that here the digest is that of all sources of kernels. And Numba does not expect that two processes
compile the same function at a time: one may then take the other's result for its own. Here the
second waits for the first, and finds on disk what that one has compiled.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.event import trigger_event
from numba.core.runtime.nrt import rtsys

if sys.platform != "win32":
    import fcntl

# Set once the user was told, so that the processes which this one starts say nothing.
TOLD = "TEACHIRL_TOLD_NOTHING_IS_KEPT"
MESSAGE = (
    "teachirl: what is compiled cannot be kept here, so that every start compiles anew; set "
    "NUMBA_CACHE_DIR to a folder that can be written to"
)


def kept(**options: Any) -> Any:
    """What compiles a function with these options of Numba's, and keeps it if that is possible."""
    return lambda function: _keeping(njit(error_model="numpy", **options)(function))


def _keeping(dispatcher: Any) -> Any:
    if not KEPT:
        return dispatcher
    function, compile_it = dispatcher.py_func, dispatcher.compile

    def compile_alone(signature: Any) -> Any:
        # One thread at a time, as a lock is its process's; also what it has is found quickly.
        with global_compiler_lock:
            if signature in dispatcher.overloads:
                return compile_it(signature)
            if not isinstance(dispatcher._cache, _Kept):  # most kernels are never called
                dispatcher._cache = _Kept(function)
            name = f"{function.__module__} {function.__qualname__} {signature}"
            with _alone(dispatcher._cache.cache_path, name):
                return compile_it(signature)

    dispatcher.compile = compile_alone
    return dispatcher


class _Kept(FunctionCache):
    """Numba's folder of what is compiled, for kernels that call each other."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_file._source_stamp = _digest()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """As Numba's, but for all that it learns about Python and NumPy first, to compile."""
        rtsys.initialize(target_context)  # what kernels allocate with
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        with _alone(self.cache_path, self._cache_file._index_name):
            super().save_overload(sig, data)


@cache
def _digest() -> str:
    """Of the sources that kernels are made of, their constants included."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for path in (*sorted(here.glob("*.py")), here.parents[1] / "precision.py"):
        if path.is_file():  # not in an archive, which has a digest of its own
            digest.update(path.read_bytes())
    return digest.hexdigest()


@contextmanager
def _alone(folder: str, name: str) -> Iterator[None]:
    """No other process does what has this name, as long as the folder's file system has locks.

    A kernel waits for those that it calls, which do not wait for it: so nobody waits for ever.
    """
    file, held = _lock_file(folder), False
    place = int.from_bytes(hashlib.sha256(name.encode()).digest()[:6], "big")
    if file is not None and not (held := _locked(file, place, wait=False)):
        with trigger_event("numba:compile"):  # to wait for it takes as long as to compile it
            held = _locked(file, place, wait=True)
    try:
        yield
    finally:
        if file is not None and held:
            fcntl.lockf(file, fcntl.LOCK_UN, 1, place)


def _locked(file: int, place: int, *, wait: bool) -> bool:
    """Lock a byte of the file, be it there or not; whether that was possible."""
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB), 1, place)
    except OSError:
        return False
    return True


@cache
def _lock_file(folder: str) -> int | None:
    """Open as long as the process lasts: who closes it loses all locks. Windows has none."""
    if sys.platform == "win32":
        return None
    try:
        return os.open(os.path.join(folder, "teachirl.lock"), os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        return None


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
