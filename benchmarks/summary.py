"""One screen of what the benchmarks found: our time, the best peer, the ratio, and the aim.

    python benchmarks/summary.py out/bench

The folder has what `make bench` wrote there (`--csv`): planning.csv, models.csv, worst_case.csv,
teachers.csv, commands.csv. What is not there is left out; a row that lacks a case says how many.
"""

from __future__ import annotations

import csv
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from harness import duration, table, times

SOLVE, LIFTED = "one MDP solve", "HiGHS, lifted"


class Line(NamedTuple):
    """A contestant's time in a case; no seconds if it was too slow or inexact."""

    case: str
    contestant: str
    seconds: float | None


class Race(NamedTuple):
    """A case: our time, and those of the peers that came to an end."""

    case: str
    ours: float
    peers: dict[str, float]

    def best(self, name: str = "") -> tuple[str, float] | None:
        """The fastest peer whose name begins so, and its time."""
        some = {peer: t for peer, t in self.peers.items() if peer.startswith(name)}
        return min(some.items(), key=lambda item: item[1]) if some else None


def races(path: Path) -> list[Race]:
    """The cases of a file, of many rewards at once aside; the first contestant of each is ours."""
    if not path.is_file():
        return []
    found: dict[str, list[Line]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row.get("table") == "batched":
                continue
            usable = row["ratio"] != ""
            seconds = float(row["seconds"]) if usable else None
            line = Line(row["case"], row["contestant"], seconds)
            found.setdefault(line.case, []).append(line)
    return [
        Race(
            first.case,
            first.seconds,
            {peer.contestant: peer.seconds for peer in peers if peer.seconds is not None},
        )
        for first, *peers in found.values()
        if first.seconds is not None
    ]


def against(
    what: str, some: list[Race], name: str, aim: float, middle: bool = False
) -> list[list[str]]:
    """A row: how many times ours the best peer of that name takes, at least or in the median."""
    known = [(race, race.best(name)) for race in some]
    ratios = sorted((peer[1] / race.ours, race, peer) for race, peer in known if peer is not None)
    if not ratios:
        return []
    least, race, (peer, seconds) = ratios[0]
    value = statistics.median(ratio for ratio, _, _ in ratios) if middle else least
    at = f"{len(ratios)} cases" if middle else race.case
    if len(ratios) < len(some):
        at += f", {len(some) - len(ratios)} without"
    ours, theirs = ("", name) if middle else (duration(race.ours), f"{peer}, {duration(seconds)}")
    mark = times(value) + (" in the median" if middle else "" if len(ratios) == 1 else " at least")
    return [[what, at, ours, theirs, mark, f"≥ {times(aim)}", verdict(value >= aim)]]


def in_solves(what: str, some: list[Race], aim: float) -> list[list[str]]:
    """A row: the most MDP solves that a worst case takes the time of."""
    known = [(race.ours / race.peers[SOLVE], race) for race in some if SOLVE in race.peers]
    if not known:
        return []
    value, race = max(known)
    solve = f"{SOLVE}, {duration(race.peers[SOLVE])}"
    most = f"{value:.3g} solves" + ("" if len(known) == 1 else " at most")
    return [
        [what, race.case, duration(race.ours), solve, most, f"≤ {aim:g}", verdict(value <= aim)]
    ]


def verdict(met: bool) -> str:
    return "met" if met else "missed"


def commands(path: Path) -> list[list[str]]:
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [
            [
                row["command"],
                "",
                duration(float(row["seconds"])),
                "",
                "",
                f"≤ {float(row['aim']):g} s",
                verdict(float(row["seconds"]) <= float(row["aim"])),
            ]
            for row in csv.DictReader(file)
        ]


def summary(folder: Path) -> str:
    planning, models = races(folder / "planning.csv"), races(folder / "models.csv")
    worst, teachers = races(folder / "worst_case.csv"), races(folder / "teachers.csv")

    def of(some: list[Race], test: Callable[[str], bool]) -> list[Race]:
        return [race for race in some if test(race.case)]

    slips = of(planning, lambda case: case.endswith("slip 0.3"))
    million = of(worst, lambda case: case.startswith("1000×1000, ℓ 50"))
    others = of(worst, lambda case: case.endswith("ℓ 10"))
    taxi = of(planning, lambda case: case.startswith("Taxi"))
    garnets = of(planning, lambda case: "garnet" in case)
    rows = [
        *against("planning, models", models, "", 1.0),
        *against("planning, Taxi", taxi, "", 1.0),
        *against("planning, garnets", garnets, "", 1.0),
        *against("planning, all of these", models + taxi + garnets, "Storm", 5.0, middle=True),
        *against("planning, slip grids", slips, "Storm", 8.0),
        *against("planning, slip grids", slips, "QuantEcon", 10.0),
    ]
    for race in others:
        rows += in_solves("worst case", [race], 60.0)
    rows += against("worst case", of(others, lambda case: True), LIFTED, 20.0)
    for race in million:
        rows += in_solves("worst case, a million states", [race], 30.0)
    for length, aim in ((5, 100.0), (20, 40.0), (40, 10.0)):
        sure = of(teachers, lambda case, n=length: case.startswith(f"20×20, ℓ {n},"))  # type: ignore[misc]
        rows += against("GapGreedy, a round", sure, LIFTED, aim)
    rows += commands(folder / "commands.csv")
    if not rows:
        return f"There is nothing in {folder} yet."
    met = sum(row[-1] == "met" for row in rows)
    head = ["work", "case", "ours", "best peer", "ratio", "aim", ""]
    return f"## Summary\n\n{table(head, rows)}\n\n{met} of {len(rows)} aims met."


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python benchmarks/summary.py FOLDER")
    print(summary(Path(sys.argv[1])))
