"""The `teachirl` command: parse, call, print. One file a command.

A command imports what it needs when it runs, so that ``teachirl --help`` is instant. Results go to
stdout, everything else to stderr.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer

from ... import __version__
from ...errors import TeachirlError
from .options import summary
from .screen import filtered, shortened

# In the order in which `--help` lists them; each is in the file of its name.
COMMANDS = (
    "init",
    "check",
    "certify",
    "teach",
    "frontier",
    "compare",
    "probe",
    "diagnose",
    "export",
    "studio",
    "world",
    "worlds",
    "reproduce",
    "warm",
    "runs",
    "lesson",
)
# An error without a file, such as one of stdout, is the user's to mend if it is one of these.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

_commands = typer.Typer(
    help="Teach inverse reinforcement learners: what to show, what to tell, how sure you can be.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"teachirl {__version__}")
        raise typer.Exit


@_commands.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print it."),
    ] = False,
) -> None:
    pass


@cache
def _loaded(name: str) -> Any:
    """A command: its file has a function of its name, or several beneath that."""
    found = getattr(import_module(f".{name}", __name__), name)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False, rich_markup_mode=None)
        alone.command(short_help=summary(found))(found)
        found = alone
    command = typer.main.get_command(found)
    command.name = name
    return command


class _Commands(Mapping[str, Any]):
    """The commands by name; one is loaded when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        return _loaded(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


# Typer would make it anew at every call.
app = typer.main.get_group(_commands)
app.commands = _Commands()  # type: ignore[assignment]  # they are only looked up


def main() -> None:
    """Run what the arguments say, and end the process: 2 says that the user made a mistake."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # not every terminal has a ×
    with filtered(), _stoppable():
        try:
            app(prog_name="teachirl")
        except KeyboardInterrupt:  # before a command has begun
            sys.exit(130)
        except TeachirlError as error:
            _refuse(str(error))
        except OSError as error:
            # Without a file, it is not the user's to mend.
            if error.filename is None and error.errno not in NO_ROOM:
                raise
            place = "" if error.filename is None else f"{error.filename}: "
            _refuse(f"{place}{error.strerror}")
        except Exception as error:
            stopped = _stop_behind(error)
            if stopped is None:
                raise
            sys.exit(stopped)


def _stop_behind(error: BaseException) -> int | None:
    """The exit code, if a request to stop became an error of a module that was being loaded."""
    cause = error.__cause__
    while cause is not None:
        if isinstance(cause, KeyboardInterrupt):
            return 130
        if isinstance(cause, SystemExit) and isinstance(cause.code, int):
            return cause.code
        cause = cause.__cause__
    return None


@contextmanager
def _stoppable() -> Iterator[None]:
    """Ctrl-C and a request to end unwind what is under way, so that nothing half-written stays."""
    # What a script starts with & is told to ignore SIGINT; who sends it to a command means it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    ended = signal.signal(signal.SIGTERM, _end)
    hook, sys.unraisablehook = sys.unraisablehook, _ask_again
    try:
        yield
    finally:
        sys.unraisablehook = hook
        signal.signal(signal.SIGTERM, ended)
        signal.signal(signal.SIGINT, before)


def _end(number: int, _: object) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
    raise SystemExit(128 + number)


def _ask_again(lost: sys.UnraisableHookArgs) -> None:
    """A request to stop that came while Python cleared away an object is lost there: it comes
    again, a moment later."""
    if not isinstance(lost.exc_value, (KeyboardInterrupt, SystemExit)):
        sys.__unraisablehook__(lost)
        return
    term = isinstance(lost.exc_value, SystemExit)
    while True:
        try:
            if term:
                signal.signal(signal.SIGTERM, _end)
            number = signal.SIGTERM if term else signal.SIGINT
            again = threading.Timer(0.01, os.kill, (os.getpid(), number))
            again.daemon = True
            again.start()
            return
        except (KeyboardInterrupt, SystemExit):  # it came before this was done, to be lost here
            continue


def _refuse(message: str) -> None:
    typer.echo(f"teachirl: {shortened(message)}", err=True)
    sys.exit(2)
