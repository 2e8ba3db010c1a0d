"""What compiles kernels, and how Python calls them."""

from __future__ import annotations

import functools
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .keeping import kept, on_disk


@contextmanager
def signals_deferred() -> Iterator[None]:
    """Let Ctrl-C, and a request to end, wait until the end of the block."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    came: list[int] = []
    usual = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    usual = {number: handler for number, handler in usual.items() if callable(handler)}
    for number in usual:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
        for late in came:
            signal.raise_signal(late)


class Kernel:
    """A compiled function as Python calls it; kernels may call it as well.

    Of an interrupt that arrives while it runs, Numba tells by a SystemError whose cause it is: here
    it is raised as what it is. While it is compiled or loaded, LLVM calls back and forgets what is
    raised there: an interrupt then waits until that is done. What it gives back must not be a
    NamedTuple, nor hold one: Numba calls its class, and a signal at that moment ends the process.
    """

    def __init__(self, dispatcher: Any) -> None:
        self._call = dispatcher
        self._numba_type_ = dispatcher._numba_type_  # how other kernels know what they call
        compiling = dispatcher._compile_for_args

        def compiling_first(*arguments: Any, **options: Any) -> Any:
            with signals_deferred():
                return compiling(*arguments, **options)

        dispatcher._compile_for_args = compiling_first
        functools.update_wrapper(self, dispatcher.py_func)

    _wanted = 0

    def pays(self, times: int) -> bool:
        """Whether to call it rather than a slow twin: if it is on disk, or was wanted more often
        than so many times, so that to compile it pays."""
        self._wanted += 1
        return self._wanted > times or on_disk(self._call)

    def __call__(self, *arguments: Any) -> Any:
        try:
            return self._call(*arguments)
        except SystemError as error:
            cause = error.__cause__
            while isinstance(cause, SystemError):  # it came while what is given was looked at
                cause = cause.__cause__
            if cause is None or isinstance(cause, Exception):
                raise
            raise cause from None


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Kernel]:
    """What compiles a function for Python to call, with these options of Numba's beside ours."""
    compile_it = kept(no_cfunc_wrapper=True, **options)
    return lambda function: Kernel(compile_it(function))


compiled: Any = kernel()
# For loops that threads may share the work of.
shared: Any = kernel(nogil=True)
# For what only other kernels call: an entry from Python takes as long to compile as a short loop.
PART: Any = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
part: Any = kept(**PART)
# For what is called so often that to count references to its arrays takes a good part of the time:
# it makes no arrays and gives none back.
lent: Any = kept(**PART, _nrt=False)
