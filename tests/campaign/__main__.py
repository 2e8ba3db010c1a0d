"""`make campaign`: everything that may go wrong, tried as often as some minutes allow.

Every case runs in a process of its own, with limits on time and memory. Prints a table of what was
tried and what failed, keeps the folders of cases that failed, and exits with 1 if any did.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
import cases

# Of each case: seconds until it is killed, and bytes of memory beyond what it starts with.
SECONDS, MEMORY = 120, 2 << 30
FORK = multiprocessing.get_context("fork")


@dataclass
class Campaign:
    """What was tried so far, and how long each kind of case took."""

    out: Path
    tried: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    skipped: dict[str, str] = field(default_factory=dict)

    def next(self, kinds: list[Callable[..., None]]) -> Callable[..., None] | None:
        """The kind that had the least time."""
        left = [kind for kind in kinds if kind.__name__ not in self.skipped]
        return min(left, key=lambda kind: self.seconds[kind.__name__], default=None)

    def note(self, running: Running) -> None:
        """Take down what came of a case."""
        name = running.kind.__name__
        self.seconds[name] += time.monotonic() - running.began
        problem = running.problem()
        if problem.startswith("Skipped: "):
            self.skipped[name] = problem.removeprefix("Skipped: ")
        else:
            self.tried[name] += 1
            if problem:
                self.failed[name] += 1
                place = self.out / f"{name}-{running.seed}"
                cases.remains(Path(running.folder.name), place)
                (place / "problem.txt").write_text(problem)
                last = problem.strip().splitlines()[-1]
                print(f"{name} (seed {running.seed}): {last}", file=sys.stderr, flush=True)
        running.folder.cleanup()

    def table(self) -> str:
        lines = ["| tried | cases | failed |", "|---|---|---|"]
        for name in (kind.__name__ for kind in cases.CASES):
            if name in self.skipped:
                lines.append(f"| {name.replace('_', ' ')} | skipped: {self.skipped[name]} | |")
            elif self.tried[name]:
                lines.append(
                    f"| {name.replace('_', ' ')} | {self.tried[name]} | {self.failed[name]} |"
                )
        return "\n".join(lines)


class Running:
    """A case in its process."""

    def __init__(self, kind: Callable[..., None], seed: int) -> None:
        self.kind, self.seed, self.began = kind, seed, time.monotonic()
        self.folder = tempfile.TemporaryDirectory(prefix="campaign-", ignore_cleanup_errors=True)
        self.ours, theirs = FORK.Pipe(duplex=False)
        self.process = FORK.Process(target=_attempt, args=(kind, seed, self.folder.name, theirs))
        self.process.start()
        theirs.close()

    def late(self) -> bool:
        return time.monotonic() - self.began > SECONDS

    def problem(self) -> str:
        """Empty if all went well."""
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
            return f"no answer in {SECONDS} s"
        self.process.join()
        said = self.ours.recv() if self.ours.poll() else None
        self.ours.close()
        return f"ended with {self.process.exitcode}" if said is None else str(said)


def _attempt(kind: Callable[..., None], seed: int, folder: str, answer: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        kind(seed, Path(folder))
    except cases.SkippedError as reason:
        answer.send(f"Skipped: {reason}")
    except BaseException:
        answer.send(traceback.format_exc())
    else:
        answer.send("")


def run(
    minutes: float, kinds: list[Callable[..., None]], out: Path, first: int = 0, workers: int = 2
) -> Campaign:
    """Try cases of these kinds, with seeds from `first` on, until the time is over."""
    campaign, running, seed = Campaign(out), [], first
    until = time.monotonic() + 60 * minutes
    while True:
        while len(running) < workers and time.monotonic() < until:
            kind = campaign.next(kinds)
            if kind is None:
                break
            # What is under way counts, so that all workers do not try the same.
            campaign.seconds[kind.__name__] += 1e-3
            running.append(Running(kind, seed))
            seed += 1
        if not running:
            return campaign
        wait([each.process.sentinel for each in running], timeout=1.0)
        for each in [one for one in running if not one.process.is_alive() or one.late()]:
            running.remove(each)
            campaign.note(each)


def main() -> int:
    names = {kind.__name__: kind for kind in cases.CASES}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", help=f"some of {', '.join(names)}; all by default")
    parser.add_argument("--minutes", type=float, default=25.0)
    parser.add_argument("--first", type=int, default=0, help="seed of the first case")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("out", "campaign"))
    options = parser.parse_args()
    unknown = [name for name in options.kinds if name not in names]
    if unknown:
        parser.error(f"there is no {unknown[0]}; there are {', '.join(names)}")
    kinds = [names[name] for name in options.kinds] or list(cases.CASES)
    campaign = run(options.minutes, kinds, options.out, options.first, options.workers)
    print(campaign.table())
    print(f"\n{campaign.tried.total()} cases, {campaign.failed.total()} failed")
    if campaign.failed:
        print(f"what failed is in {options.out}", file=sys.stderr)
    return 1 if campaign.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
