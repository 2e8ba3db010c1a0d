"""What is compiled is kept on disk for the next time, if there is a place for it.

Numba keeps a function with the digest of its own file; but what it calls is compiled into it, so
that here the digest is that of all sources of kernels. And Numba does not expect that two processes
compile the same function at a time: one may then take the other's result for its own. Here the
second waits for the first, and finds on disk what that one has compiled. What is there is loaded
without what only a compiler needs to know of it. Of what only other kernels call there is no
machine code, as it is compiled into them.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

from llvmlite import binding
from numba import njit
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import Environment, lookup_environment
from numba.core.event import trigger_event
from numba.core.registry import cpu_target
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
            with _alone(dispatcher._cache.cache_path, name), _parts_without_code():
                return compile_it(signature)

    dispatcher.compile = compile_alone
    return dispatcher


@cache
def on_disk(dispatcher: Any) -> bool:
    """Whether some specialisation of a function is kept when it is first asked for."""
    return KEPT and bool(_Kept(dispatcher.py_func)._cache_file._load_index())


@contextmanager
def _parts_without_code() -> Iterator[None]:
    """What is compiled within the block is a `_Library`; nobody else compiles meanwhile."""
    codegen = cpu_target.target_context.codegen()
    before, codegen._library_class = codegen._library_class, _Library
    try:
        yield
    finally:
        codegen._library_class = before


class _Library(JITCodeLibrary):
    """A compiled function that becomes machine code only if Python can enter it.

    What only other functions call is compiled into each of them: code of its own would never run.
    """

    NO_CODE = b""
    _compiled_object: bytes | None = None

    def _finalize_final_module(self) -> None:
        entered = any(each.name.startswith("_ZN7cpython") for each in self._final_module.functions)
        # What is not from Python, such as Numba's memory, is not kept, and called by its address.
        if self._object_caching_enabled and self._compiled_object is None and not entered:
            self._compiled_object = self.NO_CODE
        if self.is_part:
            self._finalize_dynamic_globals()
            self._finalized = True
        else:
            super()._finalize_final_module()

    def _finalize_specific(self) -> None:
        super()._finalize_specific()
        for each in self._final_module.global_variables:
            environment = lookup_environment(each.name)
            if environment is not None:  # of a part, which had no place for it
                self.codegen.set_env(each.name, environment)

    @property
    def is_part(self) -> bool:
        """Whether there is no machine code of it."""
        return self._compiled_object == self.NO_CODE

    @property
    def codegen(self) -> Any:
        """Who compiles; a part is asked to set what has no place in it, and need not."""
        return self if self.is_part else self._codegen

    def set_env(self, name: str, environment: Any) -> None:
        """See `_finalize_specific`."""


class _Ready(CompileResultCacheImpl):
    """A compiled kernel as it is kept: machine code, the names in it, and what inlines it.

    Numba would parse the last of these for the names, and import every module that a part of the
    kernel is from; both take longer than the rest. Nothing compiled by `njit` asks for a module.
    """

    def reduce(self, compiled: Any) -> Any:
        (name, kind, (code, inlined)), *rest, environments = super().reduce(compiled)
        module = compiled.library._get_module_for_linking()
        defined = {
            each.name
            for each in (*module.functions, *module.global_variables)
            if not each.is_declaration
        }
        used = [(each.globals["__name__"], each.consts, each.env_name) for each in environments]
        return (name, kind, (code, _nothing_inlined())), rest, inlined, defined, used

    def rebuild(self, target_context: Any, kept: Any) -> Any:
        library, rest, inlined, defined, used = kept
        if library[-1][0] != _Library.NO_CODE:
            target_context.codegen()._engine._defined_symbols |= defined
        environments = tuple(_environment(*each) for each in used)
        compiled = super().rebuild(target_context, (library, *rest, environments))
        compiled.library._get_module_for_linking = cache(partial(binding.parse_bitcode, inlined))
        return compiled


@cache
def _nothing_inlined() -> bytes:
    return bytes(binding.parse_assembly("").as_bitcode())


def _environment(module: str, constants: list[Any], name: str) -> Any:
    """What a part of a kernel has of Python's, once for all that share it."""
    found = lookup_environment(name)
    if found is None:
        found = Environment({"__name__": module})
        found.consts[:] = constants
        found.env_name = name
        Environment._memo[name] = found
    return found


class _Kept(FunctionCache):
    """Numba's folder of what is compiled, for kernels that call each other."""

    _impl_class = _Ready

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
