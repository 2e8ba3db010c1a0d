"""`make campaign`: everything that may go wrong, tried a given number of times.

Cases run in processes of their own, many of a kind after each other, with limits on the processor
time and the memory of each, so that it makes no difference what else the machine has to do. Tells
every half minute how far it is. Prints a table of what was tried and what failed, keeps the folders
of cases that failed, and exits with 1 if any did. Where the minutes do not suffice, all kinds have
had the same share of what is wanted, and it says what was not tried.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
import cases
import mutations

# Bytes of memory that a case may take beyond what its process starts with.
MEMORY = 2 << 30
# Seconds after which a process ends that had several cases, and the next begins; between two words
# about how far it is.
TURN, BETWEEN = 10.0, 30.0
# Who waits for something, and so takes no processor time, has so many times its limit by the clock.
WAITING = 60.0
FORK = multiprocessing.get_context("fork")


@dataclass
class Campaign:
    """What was tried so far."""

    out: Path
    kinds: Sequence[cases.Kind]
    tried: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    compared: Counter[str] = field(default_factory=Counter)
    skipped: dict[str, str] = field(default_factory=dict)
    # Processor time, in seconds.
    seconds: Counter[str] = field(default_factory=Counter)
    # Seeds that wait, by kind.
    waiting: dict[str, deque[int]] = field(default_factory=dict)

    def next(self) -> Turn | None:
        """Some cases of the kind of which most is left; None if nothing is."""

        def share(kind: cases.Kind) -> float:
            return 0.0 if kind.name in self.skipped else len(self.waiting[kind.name]) / kind.wanted

        kind = max(self.kinds, key=share)
        seeds = self.waiting[kind.name]
        if not share(kind):
            return None
        # A twentieth, so that all kinds advance alike; or as many as are worth a process.
        count = min(max(kind.wanted // 20, 10), len(seeds))
        return Turn(kind, [seeds.popleft() for _ in range(count)])

    def note(self, name: str, seed: int, folder: Path, said: Any) -> None:
        """Take down what came of a case: an error's text, or the names of what it compared."""
        if isinstance(said, cases.SkippedError):
            self.skipped[name] = str(said)
            return
        self.tried[name] += 1
        if not isinstance(said, str):
            self.compared.update(set(said or ()))
            return
        self.failed[name] += 1
        place = self.out / f"{name.replace(' ', '_')}-{seed}"
        cases.remains(folder, place)
        (place / "problem.txt").write_text(said)
        print(f"{name} (seed {seed}): {said.strip().splitlines()[-1]}", file=sys.stderr, flush=True)

    def progress(self) -> str:
        """How far it is."""
        wanted = sum(kind.wanted for kind in self.kinds if kind.name not in self.skipped)
        return f"{self.tried.total()} of {wanted} cases, {self.failed.total()} failed"

    def table(self) -> str:
        lines = ["| tried | cases | failed | processor seconds |", "|---|---|---|---|"]
        untried = []
        for kind in self.kinds:
            name, tried = kind.name, self.tried[kind.name]
            if name in self.skipped:
                lines.append(f"| {name} | skipped: {self.skipped[name]} | | |")
                continue
            if tried:
                cells = f"{tried} | {self.failed[name]} | {self.seconds[name]:.0f}"
                lines.append(f"| {name} | {cells} |")
            if tried < kind.wanted:
                untried.append(f"{kind.wanted - tried} of {name}")
        lines.append(f"\n{self.tried.total()} cases, {self.failed.total()} failed")
        if untried:
            lines.append(f"There was no time for {', '.join(untried)}")
        if self.compared:
            [(rarest, count)] = self.compared.most_common()[-1:]
            lines.append(
                f"{len(self.compared)} promises, each of at least {count} MDPs ({rarest} of the "
                "fewest)"
            )
        return "\n".join(lines)


class Turn:
    """Some cases of one kind, in a process that has a few seconds for them."""

    def __init__(self, kind: cases.Kind, seeds: list[int]) -> None:
        self.kind, self.seeds = kind, deque(seeds)
        self.folder = tempfile.TemporaryDirectory(prefix="campaign-", ignore_cleanup_errors=True)
        self.ours, theirs = FORK.Pipe(duplex=False)
        self.process = FORK.Process(target=_attempt, args=(kind, seeds, self.folder.name, theirs))
        self.process.start()
        theirs.close()
        self.began = time.monotonic()

    def answers(self, campaign: Campaign) -> bool:
        """Note what has come; whether there may be more."""
        try:
            while self.ours.poll():
                said = self.ours.recv()
                if isinstance(said, float):
                    campaign.seconds[self.kind.name] += said
                    return False
                self._note(campaign, said)
        except EOFError:
            self.process.join()
            how, limit = f"ended with {self.process.exitcode}", self.kind.seconds
            if self.process.exitcode == -signal.SIGXCPU:
                how = f"no answer in {limit:g} s of processor time"
            self._note(campaign, how)
            return False
        if time.monotonic() - self.began > WAITING * self.kind.seconds:
            self.process.kill()
            self._note(campaign, f"no answer in {WAITING * self.kind.seconds:g} s")
            return False
        return True

    def _note(self, campaign: Campaign, said: Any) -> None:
        seed = self.seeds.popleft()
        campaign.note(self.kind.name, seed, Path(self.folder.name, str(seed)), said)
        self.began = time.monotonic()

    def end(self, campaign: Campaign) -> None:
        """What there was no time for waits for another turn."""
        campaign.waiting[self.kind.name].extendleft(reversed(self.seeds))
        self.process.join()
        self.ours.close()
        self.folder.cleanup()


def _attempt(kind: cases.Kind, seeds: list[int], folder: str, answer: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    until = time.monotonic() + TURN
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    for seed in seeds:
        place = Path(folder, str(seed))
        place.mkdir()
        allowed = math.ceil(time.process_time() + kind.seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (allowed, most))
        try:
            compared = kind.case(seed, place)
        except cases.SkippedError as reason:
            answer.send(reason)
        except BaseException:
            answer.send(traceback.format_exc())
        else:
            shutil.rmtree(place, ignore_errors=True)
            answer.send(tuple(compared) if compared else ())
        if time.monotonic() > until:
            break
    answer.send(sum(os.times()[:4]))  # its own, and of those that it started


def run(
    minutes: float, kinds: Sequence[cases.Kind], out: Path, first: int = 0, workers: int = 2
) -> Campaign:
    """Try cases of these kinds, with seeds from `first` on, until all is done or time is over."""
    campaign, turns = Campaign(out, kinds), list[Turn]()
    for kind in kinds:
        campaign.waiting[kind.name] = deque(range(first, first + kind.wanted))
    until, told = time.monotonic() + 60 * minutes, time.monotonic()
    while True:
        if time.monotonic() > told + BETWEEN:
            told = time.monotonic()
            print(f"{(until - told) / 60.0:.1f} min left: {campaign.progress()}", flush=True)
        while len(turns) < workers and time.monotonic() < until:
            turn = campaign.next()
            if turn is None:
                break
            turns.append(turn)
        if not turns:
            return campaign
        wait([each.ours for each in turns], timeout=0.5)
        for turn in [each for each in turns if not each.answers(campaign)]:
            turns.remove(turn)
            turn.end(campaign)


def main() -> int:
    names = {kind.case.__name__: kind for kind in cases.KINDS}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", help=f"some of {', '.join(names)}; all by default")
    parser.add_argument("--minutes", type=float, default=25.0)
    parser.add_argument("--share", type=float, default=1.0, help="of the cases that are wanted")
    parser.add_argument("--first", type=int, default=0, help="seed of the first case")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("out", "campaign"))
    options = parser.parse_args()
    unknown = [name for name in options.kinds if name not in names]
    if unknown:
        parser.error(f"there is no {unknown[0]}; there are {', '.join(names)}")
    kinds = [
        replace(kind, wanted=math.ceil(options.share * kind.wanted))
        for kind in [names[name] for name in options.kinds] or cases.KINDS
    ]
    mutations.prepare()
    campaign = run(options.minutes, kinds, options.out, options.first, options.workers)
    print(campaign.table())
    if campaign.failed:
        print(f"what failed is in {options.out}", file=sys.stderr)
    return 1 if campaign.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
