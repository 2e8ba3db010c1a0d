"""Interleaved timing of contestants, and plain tables of what came out.

Machines are noisy, so only ratios from one run mean anything, and only if the contestants take
turns: whatever slows the machine down for a while then slows all of them down. Each contestant
lives in a process of its own for the whole run. It can print, crash or loop for ever without harm
to the rest, and is stopped after a time limit. Building its model is not timed.
"""

from __future__ import annotations

import argparse
import csv
import gc
import importlib.metadata
import io
import math
import multiprocessing
import os
import platform
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Solve = Callable[[float], Any]  # a stopping epsilon -> an answer, as an array or a list of numbers
Prepare = Callable[[Any], Solve]  # a case -> Solve; must be importable, it runs in another process
ErrorOf = Callable[[NDArray[Any]], float]  # an answer -> its distance to the reference
StepsOf = Callable[[NDArray[Any]], int | None]  # an answer -> the steps it took, if it says so

_SPAWN = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Rules:
    """How a race is run.

    Attributes
    ----------
    accuracy : an answer counts if its error is at most this; a contestant's epsilon starts here and
        is divided by 10 until its answer counts
    tightenings : how often at most
    seconds_limit : what one run may take, and building the model four times that
    rounds : how many turns each contestant gets
    turn : seconds that a turn of a fast contestant fills with runs
    budget : seconds after which a contestant gets no more turns; a slow one has one turn beside its
        tuning run if that took less than three times this, and otherwise only the tuning run
    """

    accuracy: float = 1e-8
    tightenings: int = 5
    seconds_limit: float = 60.0
    rounds: int = 12
    turn: float = 0.05
    budget: float = 4.0


@dataclass(frozen=True)
class Score:
    """What a contestant did in one case: its best time, or a note that says why there is none."""

    contestant: str
    seconds: float | None = None
    error: float | None = None
    epsilon: float | None = None
    runs: int = 0
    note: str = ""
    over_limit: bool = False
    steps: int | None = None

    def reached(self, accuracy: float) -> bool:
        """Whether there is an answer that counts."""
        return self.seconds is not None and self.error is not None and self.error <= accuracy


class NoAnswerError(Exception):
    """A contestant gave no answer; the text says why."""


class TimeLimitError(NoAnswerError):
    """It took too long and was stopped."""


class Contestant:
    """A name, and a process that prepares and solves cases on request.

    `tightenings` is how often its epsilon is divided by 10 at most, if not as the rules say.
    """

    def __init__(self, name: str, prepare: Prepare, tightenings: int | None = None) -> None:
        self.name, self.tightenings = name, tightenings
        self._prepare = prepare
        self._process: Any = None
        self._pipe: Connection | None = None

    def prepare(self, case: Any, seconds_limit: float) -> None:
        try:
            self._ask(("prepare", case), seconds_limit)
        except TimeLimitError as error:
            raise TimeLimitError(f"building its model took over {seconds_limit:g} s") from error

    def solve(
        self, epsilon: float, seconds: float, seconds_limit: float
    ) -> tuple[float, int, NDArray[Any]]:
        """The best time of the runs that fit into `seconds`, how many (1 or more), the answer."""
        try:
            best, runs, answer = self._ask(("solve", epsilon, seconds), seconds_limit + seconds)
        except TimeLimitError as error:
            raise TimeLimitError(f"over {seconds_limit:g} s") from error
        return best, runs, answer

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None

    def _ask(self, message: tuple[Any, ...], seconds_limit: float) -> Any:
        if self._process is None:
            self._pipe, theirs = _SPAWN.Pipe()
            self._process = _SPAWN.Process(
                target=_serve, args=(theirs, self._prepare), name=self.name, daemon=True
            )
            self._process.start()
            theirs.close()
            seconds_limit += 60.0  # the first request waits for the imports as well
        assert self._pipe is not None
        try:
            self._pipe.send(message)
            if not self._pipe.poll(seconds_limit):
                self.stop()
                raise TimeLimitError
            done, reply = self._pipe.recv()
        except (EOFError, ConnectionError) as error:
            self._process.join()
            code = self._process.exitcode
            self._process = None
            raise NoAnswerError(f"its process died with exit code {code}") from error
        if not done:
            raise NoAnswerError(reply)
        return reply


def _serve(pipe: Connection, prepare: Prepare) -> None:
    """The life of a contestant's process: do what is asked until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)  # the peers' C++ prints past sys.stdout
    os.dup2(silence, 2)
    warnings.simplefilter("ignore")
    solve: Solve | None = None
    while True:
        try:
            message = pipe.recv()
        except EOFError:
            return
        try:
            if message[0] == "prepare":
                solve = None
                gc.collect()
                solve = prepare(message[1])
                reply: Any = None
            else:
                assert solve is not None
                reply = _timed(solve, *message[1:])
        except ModuleNotFoundError as error:
            pipe.send((False, f"{error.name} is not installed"))
        except BaseException as error:  # a peer's sys.exit() as well
            pipe.send((False, f"{type(error).__name__}: {error}".strip().splitlines()[0]))
        else:
            pipe.send((True, reply))


def _timed(solve: Solve, epsilon: float, seconds: float) -> tuple[float, int, NDArray[Any]]:
    gc.collect()
    gc.disable()
    try:
        best, runs, end = float("inf"), 0, time.perf_counter() + seconds
        while True:
            begin = time.perf_counter()
            answer = solve(epsilon)
            now = time.perf_counter()
            best, runs = min(best, now - begin), runs + 1
            if now >= end:
                return best, runs, np.asarray(answer, dtype=float)
    finally:
        gc.enable()


def race(
    contestants: Sequence[Contestant],
    case: Any,
    error_of: ErrorOf,
    rules: Rules,
    skip: Mapping[str, str] | None = None,
    steps_of: StepsOf | None = None,
) -> list[Score]:
    """Tune each contestant to the accuracy, then let those that run take turns.

    Parameters
    ----------
    case : what their `prepare` gets
    skip : why a contestant of that name is not tried at all
    steps_of : where an answer says how many steps it took
    """
    scores: dict[str, Score] = {}
    for contestant in contestants:
        reason = (skip or {}).get(contestant.name)
        if reason is not None:
            scores[contestant.name] = Score(contestant.name, note=reason)
            continue
        try:
            contestant.prepare(case, 4 * rules.seconds_limit)
            scores[contestant.name] = _tune(contestant, error_of, rules, steps_of)
        except NoAnswerError as error:
            scores[contestant.name] = _without_time(contestant.name, error)
    spent = {name: score.seconds or 0.0 for name, score in scores.items()}
    for turn in range(rules.rounds):
        for contestant in contestants:
            score = scores[contestant.name]
            if score.seconds is None or score.epsilon is None:
                continue
            allowed = rules.budget if turn else 3 * rules.budget
            if spent[contestant.name] > allowed:
                continue
            begin = time.perf_counter()
            try:
                scores[contestant.name] = _turn(contestant, score, error_of, rules)
            except NoAnswerError as error:
                scores[contestant.name] = _without_time(contestant.name, error)
            spent[contestant.name] += time.perf_counter() - begin
    return [scores[contestant.name] for contestant in contestants]


def _tune(
    contestant: Contestant, error_of: ErrorOf, rules: Rules, steps_of: StepsOf | None
) -> Score:
    epsilon, own = rules.accuracy, contestant.tightenings
    for _ in range((rules.tightenings if own is None else own) + 1):
        seconds, runs, answer = contestant.solve(epsilon, 0.0, rules.seconds_limit)
        steps = None if steps_of is None else steps_of(answer)
        score = Score(contestant.name, seconds, error_of(answer), epsilon, runs, steps=steps)
        if score.reached(rules.accuracy):
            break
        epsilon /= 10.0
    return score


def _turn(contestant: Contestant, score: Score, error_of: ErrorOf, rules: Rules) -> Score:
    assert score.seconds is not None and score.epsilon is not None and score.error is not None
    seconds, runs, answer = contestant.solve(score.epsilon, rules.turn, rules.seconds_limit)
    return replace(
        score,
        seconds=min(score.seconds, seconds),
        error=max(score.error, error_of(answer)),
        runs=score.runs + runs,
    )


def _without_time(name: str, error: NoAnswerError) -> Score:
    return Score(name, note=str(error), over_limit=isinstance(error, TimeLimitError))


def in_fresh_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of an importable function, called in a process that did nothing before."""
    with ProcessPoolExecutor(max_workers=1, mp_context=_SPAWN) as pool:
        return pool.submit(function, *arguments).result()


def duration(seconds: float) -> str:
    """
    >>> duration(4.2e-5), duration(0.0123), duration(31.04)
    ('0.042 ms', '12.3 ms', '31 s')
    """
    value, unit = (seconds, "s") if seconds >= 1.0 else (1e3 * seconds, "ms")
    return f"{value:.0f} {unit}" if value >= 100.0 else f"{value:.3g} {unit}"


def ratio(score: Score, ours: Score, rules: Rules) -> float | None:
    """How many times ours; none unless both are accurate."""
    if not (score.reached(rules.accuracy) and ours.reached(rules.accuracy)):
        return None
    return score.seconds / ours.seconds  # type: ignore[operator]  # neither is None here


def times(ratio: float) -> str:
    """
    >>> times(0.2345), times(1004.2)
    ('×0.234', '×1004')
    """
    return f"×{ratio:.0f}" if ratio >= 100.0 else f"×{ratio:.3g}"


def cell(score: Score, ours: Score, rules: Rules, per: int = 1) -> str:
    """Time, ratio to ours and error of a score, for a table; times are divided by `per`."""
    if score.seconds is None or score.error is None:
        return f"– ({score.note})"
    parts = [duration(score.seconds / per)]
    relative = ratio(score, ours, rules)
    if score is not ours and relative is not None:
        parts.append(times(relative))
    flag = "" if score.error <= rules.accuracy else " INACCURATE"
    return ", ".join([*parts, f"{score.error:.0e}{flag}"])


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A markdown table whose columns line up."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]

    def text(line: Sequence[str]) -> str:
        return "| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |"

    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([text(lines[0]), rule, *map(text, lines[1:])])


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write all rows or nothing."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(header)
    writer.writerows(rows)
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(buffer.getvalue(), encoding="utf-8")
    os.replace(temporary, path)


SCORE_HEADER = "contestant", "seconds", "ratio", "error", "epsilon", "runs", "note"


def score_row(score: Score, ours: Score, rules: Rules, per: int = 1) -> list[object]:
    """A score for `write_csv`, under SCORE_HEADER; times are divided by `per`."""
    return [
        score.contestant,
        None if score.seconds is None else score.seconds / per,
        ratio(score, ours, rules),
        score.error,
        score.epsilon,
        score.runs,
        score.note,
    ]


def standard_parser(
    description: str, groups: Sequence[str], limit: float = 60.0
) -> argparse.ArgumentParser:
    """What every benchmark can be told on the command line; for `parsed`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="small cases, fewer turns")
    parser.add_argument("--cases", help=f"comma-separated, of: {', '.join(groups)}")
    parser.add_argument(
        "--seconds-limit", type=float, default=limit, help=f"for one run ({limit:g})"
    )
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="begin no case after so many (no limit)"
    )
    parser.add_argument("--csv", type=Path, help="also write all scores to this file")
    return parser


def parsed(
    parser: argparse.ArgumentParser,
    groups: Sequence[str],
    quick: Sequence[str],
    arguments: Sequence[str] | None,
) -> argparse.Namespace:
    """The checked options; `chosen` are the groups of --cases, or `quick`, or all."""
    options = parser.parse_args(arguments)
    options.chosen = (
        options.cases.split(",") if options.cases else list(quick if options.quick else groups)
    )
    unknown = sorted(set(options.chosen) - set(groups))
    if unknown:
        parser.error(f"--cases: there is no {', '.join(unknown)}; there are {', '.join(groups)}")
    for option in ("seconds_limit", "minutes"):
        value = getattr(options, option)
        if not value > 0:
            parser.error(f"--{option.replace('_', '-')} must be positive, got {value:g}")
    if options.csv is not None and not options.csv.parent.is_dir():
        parser.error(f"--csv: there is no folder {options.csv.parent}")
    return options


def machine(packages: Sequence[str]) -> str:
    """Lines about the machine, how busy it is now, and the versions that are measured."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    load = f", load {os.getloadavg()[0]:.1f} before the run" if hasattr(os, "getloadavg") else ""
    versions = []
    for package in packages:
        try:
            versions.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"{package} not installed")
    return (
        f"{os.cpu_count()} cores, {model}, {platform.system()}{load}\n"
        f"Python {platform.python_version()}, {', '.join(versions)}"
    )


class TimeUpError(Exception):
    """No further step is begun."""


class Progress:
    """What is being done and about how long the rest takes; silent unless stderr is a terminal."""

    def __init__(self, expected: Sequence[float], minutes: float = math.inf) -> None:
        """`expected`: about how many seconds each step takes; only their proportions matter. After
        so many `minutes` no further step is begun."""
        self._expected, self._minutes = list(expected), minutes
        self._begin = time.perf_counter()
        self._done = 0
        self._shown = sys.stderr.isatty()

    def step(self, what: str) -> None:
        elapsed = time.perf_counter() - self._begin
        if elapsed > 60.0 * self._minutes:
            left_out = len(self._expected) - self._done
            raise TimeUpError(f"{self._minutes:g} minutes are over: {left_out} cases are left out")
        past, left = sum(self._expected[: self._done]), sum(self._expected[self._done :])
        self._done += 1
        if not self._shown:
            return
        seconds = elapsed / past * left if past else left
        sys.stderr.write(
            f"\r\033[K[{self._done}/{len(self._expected)}] {what}, "
            f"about {max(1, round(seconds / 60))} min left"
        )
        sys.stderr.flush()

    def close(self) -> None:
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


class Run:
    """A whole run: stops its contestants at the end, and keeps what was measured if it is
    interrupted or its time is up.

    Attributes
    ----------
    progress : Progress
    status : what the script exits with
    """

    def __init__(self, expected: Sequence[float], minutes: float = math.inf) -> None:
        self.progress, self.status = Progress(expected, minutes), 0
        self._field: list[Contestant] = []

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> bool:
        self.stop()
        self.progress.close()
        if kind is KeyboardInterrupt:
            self.status = 130
        if kind is TimeUpError:
            print(error, file=sys.stderr)
        return kind in (KeyboardInterrupt, TimeUpError)

    def field(self, contestants: Iterable[Contestant]) -> list[Contestant]:
        """The contestants from now on; those before are stopped."""
        self.stop()
        self._field = list(contestants)
        return self._field

    def stop(self) -> None:
        for contestant in self._field:
            contestant.stop()
