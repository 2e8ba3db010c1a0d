"""Scoring candidates by teaching risk: a greedy round, and whole choices of features.

    python benchmarks/risk.py [--quick] [--cases small,medium,large] [--csv FILE]

A round is: choose the best candidate, teach it, and have the scores of all others up to date. The
slow ways score every candidate of a round on its own; where there are many, they do it for a few
and the time is multiplied. `fastcan` (optional) selects features by orthogonal least squares, which
is the same choice: it centres its data, and so the learner sees a row of ones here.

The large case runs against the memory: 10⁵ candidates of 10⁴ numbers, in single precision, 4 GB.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numba import njit
from numpy.typing import NDArray

from harness import (
    Contestant,
    Rules,
    Run,
    Score,
    duration,
    in_fresh_process,
    machine,
    parsed,
    race,
    standard_parser,
    table,
    write_csv,
)
from teachirl.views.teaching_risk import RiskScorer
from teachirl.views.worldview import Worldview

Floats = NDArray[np.float64]

ROUNDS = 20  # of a whole choice
SEEN = 5  # rows of the first worldview, one of them all ones
FULL = 100  # so many candidates are all scored by the slow ways; of more, a few are
PACKAGES = ["teachirl", "numpy", "scipy", "numba", "fastcan"]


@dataclass(frozen=True)
class Case:
    name: str
    features: int
    candidates: int

    @property
    def title(self) -> str:
        return f"k = {self.features:,}, {self.candidates:,} candidates"

    def part(self, sample: int | None) -> int:
        """How many candidates are scored where a sample is asked for."""
        return self.candidates if sample is None or self.candidates <= FULL else sample

    def problem(self) -> tuple[Floats, Floats, Floats]:
        """The worldview [5, k], the weights [k], the candidates [n, k]."""
        rng = np.random.default_rng([3, self.features, self.candidates])
        view = rng.standard_normal((SEEN, self.features))
        view[0] = 1.0
        return (
            view,
            rng.standard_normal(self.features),
            rng.standard_normal((self.candidates, self.features)),
        )


CASES = [Case("small", 100, 70), Case("medium", 1000, 10_000)]
LARGE = Case("large", 10_000, 100_000)


@dataclass(frozen=True)
class Entry:
    """A contestant's name and preparation, and how many rounds, or candidates of one, a run is."""

    name: str
    prepare: Callable[[Case], Callable[[float], Any]]
    rounds: int = 1
    sample: int | None = None

    def seconds_a_round(self, case: Case, score: Score) -> float | None:
        if score.seconds is None:
            return None
        return score.seconds / self.rounds * case.candidates / case.part(self.sample)


def our_round(case: Case) -> Callable[[float], list[float]]:
    """One round, again and again: putting the scores back is timed as well."""
    view, w, candidates = case.problem()
    scorer = RiskScorer(Worldview(view), w, candidates)
    scores = scorer._scores
    arrays = [scorer._r, scorer._taught, scores.inner, scores.left, scores._exact]
    before = [array.copy() for array in arrays]
    numbers = scorer._rank, scorer._risk, scores.total

    def solve(_: float) -> list[float]:
        best = scorer.best()
        scorer.teach(best)
        risk = scorer.risk
        for array, saved in zip(arrays, before, strict=True):
            np.copyto(array, saved)
        scorer._rank, scorer._risk, scores.total = numbers
        return [best, risk]

    return solve


def our_choice(case: Case) -> Callable[[float], list[int]]:
    view, w, candidates = case.problem()

    def solve(_: float) -> list[int]:
        scorer = RiskScorer(Worldview(view), w, candidates)
        chosen = []
        for _ in range(ROUNDS):
            chosen.append(scorer.best())
            scorer.teach(chosen[-1])
        return chosen

    return solve


def fastcan_choice(case: Case) -> Callable[[float], list[int]]:
    from fastcan import FastCan

    view, w, candidates = case.problem()
    x = np.asfortranarray(np.vstack([view[1:], candidates]).T)
    seen = SEEN - 1
    selector = FastCan(seen + ROUNDS, indices_include=list(range(seen)), tol=1e-7, verbose=0)

    def solve(_: float) -> list[int]:
        indices = selector.fit(x, w).indices_
        return [int(i) - seen for i in indices[seen:]]

    return solve


def each(
    risk: Callable[[Floats, Floats], float], sample: int, case: Case
) -> Callable[[float], list[float]]:
    view, w, candidates = case.problem()
    w = w / np.linalg.norm(w)
    few = candidates[: case.part(sample)]
    with contextlib.suppress(ImportError):  # it comes with fastcan
        import threadpoolctl

        threadpoolctl.threadpool_limits(1)  # several threads are slower at matrices this small
    return lambda _: [risk(np.vstack([view, f]), w) for f in few]


def by_svd(matrix: Floats, w: Floats) -> float:
    """The paper's way: the line (ker A ∩ ker w)^⊥ ∩ ker A, and the cosine between it and w."""
    both = scipy.linalg.null_space(np.vstack([matrix, w]))
    line = scipy.linalg.null_space(np.vstack([matrix, both.T]))
    return abs(float(w @ line[:, 0]))


def by_qr(matrix: Floats, w: Floats) -> float:
    q, _ = np.linalg.qr(matrix.T)
    return float(np.linalg.norm(w - q @ (q.T @ w)))


FIELD = [
    Entry("teachirl, a round", our_round),
    Entry("teachirl, from nothing", our_choice, rounds=ROUNDS),
    Entry("fastcan, from nothing", fastcan_choice, rounds=ROUNDS),
    Entry("QR each", functools.partial(each, by_qr, 40), sample=40),
    Entry("the paper's SVD each", functools.partial(each, by_svd, 3), sample=3),
]


def reference(case: Case) -> tuple[list[int], Floats, float]:
    """The choice, the risks in the first round and the risk after it, by explicit deflation."""
    view, w, candidates = case.problem()
    q, _ = np.linalg.qr(view.T)
    r = w / np.linalg.norm(w)
    rows = candidates.copy()
    for _ in range(2):
        r = r - q @ (q.T @ r)
        rows -= (rows @ q) @ q.T
    chosen: list[int] = []
    first = after = np.empty(0)
    for number in range(ROUNDS):
        lengths = np.linalg.norm(rows, axis=1)
        lengths[chosen] = np.inf
        gains = rows @ r / lengths
        risks = np.sqrt(r @ r - gains**2)
        risks[chosen] = np.inf
        best = int(risks.argmin())
        u = rows[best] / lengths[best]
        for _ in range(2):
            rows -= np.outer(rows @ u, u)
            r = r - (r @ u) * u
        chosen.append(best)
        if number == 0:
            first, after = risks, np.linalg.norm(r)
    return chosen, first, float(after)


def error_of(expected: tuple[list[int], Floats, float], answer: Floats) -> float:
    """The error of risks; where features are chosen, ∞ unless they are the right ones."""
    chosen, risks, after = expected
    if len(answer) == ROUNDS:
        return 0.0 if np.array_equal(answer, chosen) else float("inf")
    if len(answer) == 2:
        return abs(float(answer[1]) - after) if answer[0] == chosen[0] else float("inf")
    return float(np.abs(answer - risks[: len(answer)]).max())


def report(case: Case, scores: list[Score], rules: Rules) -> str:
    ours = FIELD[0].seconds_a_round(case, scores[0])
    rows = []
    for entry, score in zip(FIELD, scores, strict=True):
        seconds = entry.seconds_a_round(case, score)
        if seconds is None or score.error is None or score.error > rules.accuracy:
            rows.append([entry.name, "–", "–", score.note or "another answer"])
            continue
        times = f"×{seconds / ours:.3g}" if ours else "–"
        part = case.part(entry.sample)
        note = f"from {part} candidates" if part < case.candidates else ""
        rows.append([entry.name, duration(seconds), times, note])
    return f"## {case.title}\n\n" + table(["", "a round", "times ours", ""], rows)


# The large case, against the memory.


@njit(nogil=True, fastmath=True)
def _sum(numbers: Any, first: int, last: int) -> float:
    total = np.float32(0.0)
    for number in numbers[first:last]:
        total += number
    return total


def large_report(case: Case, rounds: int) -> str:
    seconds = in_fresh_process(large_times, case, rounds)
    size = 4.0 * case.features * case.candidates
    fastest = min(seconds["a sum"], seconds["BLAS product"])
    rows = [
        [name, duration(value), f"{size / value / 1e9:.1f} GB/s", f"{fastest / value:.0%}"]
        for name, value in seconds.items()
    ]
    return f"## {case.title}, single precision\n\n" + table(
        ["one pass", "time", "read", "of the fastest way to read"], rows
    )


def large_times(case: Case, rounds: int) -> dict[str, float]:
    """Best times of a round, and of two ways to read the candidates once, taking turns."""
    rng = np.random.default_rng(4)
    candidates = np.empty((case.candidates, case.features), dtype=np.float32)
    for first in range(0, case.candidates, 1000):
        part = candidates[first : first + 1000]
        rng.standard_normal(out=part, dtype=np.float32)
    view = Worldview(rng.standard_normal((SEEN, case.features)))
    scorer = RiskScorer(view, rng.standard_normal(case.features), candidates)
    flat = candidates.reshape(-1)
    cores = os.cpu_count() or 1
    ends = np.linspace(0, len(flat), 4 * cores + 1).astype(int).tolist()
    x = np.ones(case.features, dtype=np.float32)

    def read() -> None:
        with ThreadPoolExecutor(cores) as threads:
            list(threads.map(lambda i: _sum(flat, ends[i], ends[i + 1]), range(4 * cores)))

    def one_round() -> None:
        scorer.teach(scorer.best())

    ways: dict[str, Callable[[], Any]] = {
        "teachirl, a round": one_round,
        "BLAS product": lambda: candidates @ x,
        "a sum": read,
    }
    best = dict.fromkeys(ways, float("inf"))
    for turn in range(rounds + 1):
        for name, way in ways.items():
            begin = time.perf_counter()
            way()
            if turn:  # the first one may compile
                best[name] = min(best[name], time.perf_counter() - begin)
    return best


def main(arguments: list[str] | None = None) -> int:
    names = [case.name for case in [*CASES, LARGE]]
    parser = standard_parser("Scoring candidates by teaching risk.", names)
    options = parsed(parser, names, names[:1], arguments)
    rules = Rules(
        accuracy=1e-10,
        tightenings=0,
        seconds_limit=options.seconds_limit,
        rounds=5 if options.quick else 15,
    )
    cases = [case for case in CASES if case.name in options.chosen]
    with_large = LARGE.name in options.chosen
    reports: list[str] = []
    lines: list[list[object]] = []
    with Run([30.0] * len(cases) + [120.0] * with_large, options.minutes) as run:
        contestants = run.field(Contestant(entry.name, entry.prepare) for entry in FIELD)
        for case in cases:
            run.progress.step(case.title)
            scores = race(contestants, case, functools.partial(error_of, reference(case)), rules)
            reports.append(report(case, scores, rules))
            lines += [
                [case.title, e.name, e.seconds_a_round(case, s), s.error, s.runs, s.note]
                for e, s in zip(FIELD, scores, strict=True)
            ]
        run.stop()
        if with_large:
            run.progress.step(LARGE.title)
            reports.append(large_report(LARGE, rules.rounds))
    print("\n\n".join([*reports, machine(PACKAGES)]))
    if options.csv is not None:
        header = "case", "contestant", "seconds a round", "error", "runs", "note"
        write_csv(options.csv, header, lines)
    return run.status


if __name__ == "__main__":
    sys.exit(main())
