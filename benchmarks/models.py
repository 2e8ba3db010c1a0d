"""Planning on models of protocols and puzzles, against the peers and all of Storm's methods.

    python benchmarks/models.py [--quick] [--folder DIR] [--cases csma2-2,leader4] [--csv FILE]
    python benchmarks/models.py --peers Storm         # its methods alone

The models are those that come with stormpy, and the `*.umb` files of a folder. Each state has a
random reward. Everyone reaches a sup-norm error of 1e-8; `README.md` says how to read the tables.
"""

from __future__ import annotations

import functools
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import peers
import teachirl as ti
import umb
from harness import (
    SCORE_HEADER,
    Contestant,
    Prepare,
    Rules,
    Run,
    Score,
    cell,
    machine,
    parsed,
    ratio,
    score_row,
    standard_parser,
    table,
    times,
    write_csv,
)
from planning import OURS, PACKAGES, UnprovedError, ours, peer, run_cases

Floats = NDArray[np.float64]
QUICK = ["two_dice", "leader3", "csma2-2", "leader4"]


@dataclass(frozen=True)
class ModelCase:
    """A model, one of stormpy's or a file, and a discount."""

    name: str
    discount: float
    path: Path | None = None
    slip: float = 0.0
    batch: int = 0

    @property
    def group(self) -> str:
        """What --cases calls it."""
        return self.name

    @property
    def title(self) -> str:
        return f"{self.name}, γ {self.discount:g}"

    def model(self) -> umb.Model:
        return umb.example(self.name) if self.path is None else umb.read(self.path)

    def mdp(self) -> ti.MDP:
        model = self.model()
        n = len(model.offsets) - 1
        states = np.repeat(np.arange(n), np.diff(model.offsets))
        actions = np.arange(len(states)) - model.offsets[states]
        rewards = np.random.default_rng([0, n]).standard_normal((n, 1))
        return ti.MDP.from_pairs(
            states, actions, model.transitions, rewards, discount=self.discount
        )

    def weights(self, mdp: ti.MDP) -> Floats:
        return np.ones(mdp.n_features)


STORM = {
    "Storm": peers.storm,
    "Storm, topological": peers.storm_topological,
    "Storm, policy iteration": peers.storm_policy_iteration,
    "Storm, optimistic": peers.storm_optimistic,
}
FIELD: dict[str, Prepare] = {
    OURS: ours,  # type: ignore[dict-item]  # of a case it needs what a `ModelCase` has
    "QuantEcon": functools.partial(peer, peers.quantecon),
    "numpy": functools.partial(peer, peers.plain_numpy),
    **{name: functools.partial(peer, prepare) for name, prepare in STORM.items()},
}


def report(
    scores: dict[ModelCase, list[Score]], sizes: dict[str, str], rules: Rules, names: list[str]
) -> str:
    rows = [
        [case.title, sizes[case.name], *(cell(score, line[0], rules) for score in line)]
        for case, line in scores.items()
    ]
    return "\n\n".join(
        [
            "## Models",
            "Time, how many times ours, sup-norm error.",
            table(["model", "states, choices", *names], rows),
            "How many times ours, each row's best of Storm's methods, and each peer:",
            table(["peer", "least", "median", "most", "behind us"], summary(scores, rules, names)),
        ]
    )


def summary(
    scores: dict[ModelCase, list[Score]], rules: Rules, names: list[str]
) -> list[list[str]]:
    kinds = {
        "Storm, its best method": [names.index(name) for name in STORM if name in names],
        **{name: [names.index(name)] for name in names[1:]},
    }
    rows = []
    for kind, columns in kinds.items():
        found = []
        for line in scores.values():
            tried = [ratio(line[i], line[0], rules) for i in columns]
            known = [value for value in tried if value is not None]
            found += [min(known)] if known else []
        if found:
            behind = f"{sum(value > 1.0 for value in found)} of {len(found)}"
            ends = (min(found), statistics.median(found), max(found))
            rows.append([kind, *map(times, ends), behind])
    return rows


def main(arguments: list[str] | None = None) -> int:
    folder = argument(arguments)
    files = (
        {} if folder is None else {p.name.split(".")[0]: p for p in sorted(folder.glob("*.umb"))}
    )
    groups = [*umb.EXAMPLES, *files]
    parser = standard_parser("Planning on models, against all of Storm's methods.", groups)
    parser.add_argument("--folder", type=Path, help="with *.umb files, beside stormpy's examples")
    parser.add_argument("--peers", default="", help="only those whose names begin so")
    options = parsed(parser, groups, [*QUICK, *files], arguments)
    names = [name for name in FIELD if name == OURS or name.startswith(options.peers)]
    about_machine = machine(PACKAGES)
    rules = Rules(seconds_limit=options.seconds_limit, rounds=5 if options.quick else 8, budget=2.0)
    cases = [
        ModelCase(name, discount, files.get(name))
        for name in groups
        if name in options.chosen
        for discount in (0.9, 0.99)
    ]
    scores: dict[ModelCase, list[Score]] = {}
    with Run([6.0] * len(cases), options.minutes) as run:
        try:
            field = run.field(Contestant(name, FIELD[name]) for name in names)
            run_cases(cases, field, rules, run.progress, scores)  # type: ignore[arg-type]
            run.stop()
        except UnprovedError as error:
            run.status = 1
            print(error, file=sys.stderr)
    models = {case.name: case.model() for case in scores}
    sizes = {
        name: f"{len(model.offsets) - 1:,}, {model.offsets[-1]:,}" for name, model in models.items()
    }
    if options.csv is not None:
        rows = [
            [case.title, *score_row(score, line[0], rules)]
            for case, line in scores.items()
            for score in line
        ]
        write_csv(options.csv, ["case", *SCORE_HEADER], rows)
    print("\n\n".join([*([report(scores, sizes, rules, names)] if scores else []), about_machine]))
    return run.status


def argument(arguments: list[str] | None) -> Path | None:
    """The folder that is asked for: which cases there are depends on it."""
    given = sys.argv[1:] if arguments is None else arguments
    for i, word in enumerate(given):
        if word == "--folder" and i + 1 < len(given):
            return Path(given[i + 1])
        if word.startswith("--folder="):
            return Path(word.removeprefix("--folder="))
    return None


if __name__ == "__main__":
    sys.exit(main())
