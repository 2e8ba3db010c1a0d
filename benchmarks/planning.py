"""Planning against the peers: single solves, batches, and memory.

    python benchmarks/planning.py [--quick] [--cases grid20,taxi] [--seconds-limit 60] [--csv FILE]

Every contestant reaches a sup-norm error of 1e-8 against a reference whose own error is proved to
be below 1e-10 by its Bellman residual, in numpy; `README.md` beside this file says how to read it.
"""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import peers
import teachirl as ti
from harness import (
    SCORE_HEADER,
    Contestant,
    Prepare,
    Progress,
    Rules,
    Run,
    Score,
    cell,
    in_fresh_process,
    machine,
    parsed,
    race,
    ratio,
    score_row,
    standard_parser,
    table,
    times,
    write_csv,
)
from memory import memory_of_a_million_states

Floats = NDArray[np.float64]

OURS = "teachirl"
PACKAGES = ["teachirl", "numpy", "scipy", "numba", "gymnasium", "quantecon", "mdpsolver", "stormpy"]
BLOCKS = {20: 2, 128: 16, 1000: 100}
GARNET_FEATURES = 20
BATCH = 64


@dataclass(frozen=True)
class Case:
    """One row of a table; `number` seeds its weights and, for a garnet, its transitions."""

    number: int
    world: str
    size: int
    discount: float
    slip: float = 0.0
    batch: int = 0

    @property
    def group(self) -> str:
        """What --cases calls it."""
        if self.batch:
            return "batch"
        return self.world if self.world == "taxi" else f"{self.world}{self.size}"

    @property
    def title(self) -> str:
        text = {"grid": f"grid {self.size}×{self.size}", "garnet": f"garnet {self.size:,}"}
        slip = f", slip {self.slip:g}" if self.world == "grid" else ""
        return f"{text.get(self.world, 'Taxi-v4')}, γ {self.discount:g}{slip}"

    @property
    def expected_seconds(self) -> float:
        """A guess, for the estimate of the time left."""
        return 4.0 + 1e-3 * (self.size**2 if self.world == "grid" else self.size) / 6.0

    def mdp(self) -> ti.MDP:
        if self.world == "grid":
            return ti.worlds.gridworld(self.size, BLOCKS[self.size], self.discount, self.slip)
        if self.world == "garnet":
            rng = np.random.default_rng([1, self.number])
            return ti.worlds.garnet(rng, self.size, 4, 8, GARNET_FEATURES, discount=self.discount)
        return ti.worlds.from_gymnasium("Taxi-v4", discount=self.discount)

    def weights(self, mdp: ti.MDP) -> Floats:
        """array [k], or [batch, k]; Taxi has a reward of its own."""
        if self.world == "taxi":
            return np.asarray(np.eye(mdp.n_features)[mdp.feature_index("reward")])
        rng = np.random.default_rng([0, self.number])
        shape = (self.batch, mdp.n_features) if self.batch else (mdp.n_features,)
        w: Floats = rng.standard_normal(shape)
        w /= np.linalg.norm(w, axis=-1, keepdims=True)
        return w


def all_cases() -> list[Case]:
    settings: list[tuple[str, int, float, float, int]] = [
        ("grid", size, discount, slip, 0)
        for size in BLOCKS
        for slip in (0.0, 0.3)
        for discount in (0.9, 0.99)
    ]
    settings += [
        ("garnet", n, discount, 0.0, 0) for n in (1000, 100_000) for discount in (0.9, 0.99)
    ]
    settings += [("taxi", 501, discount, 0.0, 0) for discount in (0.99, 0.9)]
    settings += [
        ("grid", 20, discount, slip, BATCH) for slip in (0.0, 0.3) for discount in (0.9, 0.99)
    ]
    return [Case(number, *setting) for number, setting in enumerate(settings)]


def range_of_returns(mdp: ti.MDP, weights: Floats) -> float:
    """What our tolerance is a fraction of; the peers' epsilon is absolute."""
    return float(np.ptp(mdp.rewards(weights))) / (1.0 - mdp.discount)


def ours(case: Case) -> Callable[[float], Floats]:
    mdp = case.mdp()
    w = case.weights(mdp)
    width = range_of_returns(mdp, w)
    return lambda epsilon: ti.optimal_policy(mdp, w, tolerance=epsilon / width).values


def peer(prepare: peers.Prepare, case: Case) -> Callable[[float], Any]:
    mdp = case.mdp()
    return prepare(mdp, mdp.rewards(case.weights(mdp)))


def ours_batched(case: Case) -> Callable[[float], Floats]:
    mdp = case.mdp()
    w = case.weights(mdp)
    width = range_of_returns(mdp, w)
    return lambda epsilon: ti.optimal_policies(mdp, w, tolerance=epsilon / width).values


def ours_one_by_one(case: Case) -> Callable[[float], list[Floats]]:
    mdp = case.mdp()
    w = case.weights(mdp)
    width = range_of_returns(mdp, w)
    return lambda epsilon: [
        ti.optimal_policy(mdp, row, tolerance=epsilon / width).values for row in w
    ]


def peer_one_by_one(prepare: peers.Prepare, case: Case) -> Callable[[float], list[Any]]:
    mdp = case.mdp()
    solves = [prepare(mdp, rewards) for rewards in mdp.rewards(case.weights(mdp))]
    return lambda epsilon: [solve(epsilon) for solve in solves]


SINGLE: dict[str, Prepare] = {
    OURS: ours,
    "QuantEcon": functools.partial(peer, peers.quantecon),
    "mdpsolver": functools.partial(peer, peers.mdpsolver),
    "numpy": functools.partial(peer, peers.plain_numpy),
    "Storm": functools.partial(peer, peers.storm),
    "Storm, topological": functools.partial(peer, peers.storm_topological),
}
BATCHED: dict[str, Prepare] = {
    f"{OURS}, batched": ours_batched,
    f"{OURS}, one by one": ours_one_by_one,
    "QuantEcon": functools.partial(peer_one_by_one, peers.quantecon),
}


class UnprovedError(Exception):
    """A reference is not good enough to measure errors against."""


def reference(case: Case, accuracy: float = 1e-10) -> Floats:
    """Optimal values [S], or [batch, S], proved by their Bellman residual to be right to that."""
    mdp = case.mdp()
    w = np.atleast_2d(case.weights(mdp))
    answers = [_proved(mdp, row, accuracy, case.title) for row in w]
    return np.array(answers) if case.batch else answers[0]


def _proved(mdp: ti.MDP, weights: Floats, accuracy: float, title: str) -> Floats:
    """Our values, improved by plain backups if need be; ‖V − V*‖ ≤ ‖TV − V‖/(1 − γ)."""
    rewards = mdp.rewards(weights)
    r = rewards if mdp.features_per_pair else rewards[mdp.dynamics.pair_states]
    first, gamma = mdp.dynamics.offsets[:-1], mdp.discount
    values = np.array(ti.optimal_policy(mdp, weights, tolerance=0.0).values)
    for _ in range(100):
        backed_up = np.maximum.reduceat(r + gamma * (mdp.dynamics.transitions @ values), first)
        proved = float(np.abs(backed_up - values).max()) / (1.0 - gamma)
        if proved <= accuracy:
            return values
        values = backed_up
    raise UnprovedError(
        f"{title}: the reference is only proved to {proved:.1e}, not to {accuracy:g}"
    )


def run_cases(
    cases: list[Case],
    contestants: list[Contestant],
    rules: Rules,
    progress: Progress,
    scores: dict[Case, list[Score]],
) -> None:
    """Add the scores of each case; whoever is over the limit sits out the larger discount."""
    over: dict[tuple[str, float], dict[str, str]] = {}
    for case in cases:
        progress.step(case.title)
        error_of = functools.partial(_distance, reference(case))
        gc.collect()
        skip = over.setdefault((case.group, case.slip), {})
        scores[case] = race(contestants, case, error_of, rules, skip)
        for score in scores[case]:
            if score.over_limit:
                skip[score.contestant] = f"not tried: too slow at γ {case.discount:g}"


def _distance(reference: Floats, answer: Floats) -> float:
    if answer.shape != reference.shape or not np.isfinite(answer).all():
        return float("inf")
    return float(np.abs(answer - reference).max())


def single_report(scores: dict[Case, list[Score]], rules: Rules) -> str:
    rows = [
        [case.title, *(cell(score, line[0], rules) for score in line)]
        for case, line in scores.items()
    ]
    return "\n\n".join(
        [
            "## One solve",
            "Time, how many times ours, sup-norm error.",
            table(["case", *SINGLE], rows),
            "How many times ours, smallest to largest:",
            table(["cases", *list(SINGLE)[1:]], ratios(scores, rules)),
        ]
    )


def ratios(scores: dict[Case, list[Score]], rules: Rules) -> list[list[str]]:
    kinds: dict[str, Callable[[Case], bool]] = {
        "grids, slip 0": lambda case: case.world == "grid" and case.slip == 0.0,
        "grids, slip 0.3": lambda case: case.world == "grid" and case.slip > 0.0,
        "garnets": lambda case: case.world == "garnet",
        "Taxi": lambda case: case.world == "taxi",
    }
    rows = []
    for kind, belongs in kinds.items():
        lines = [line for case, line in scores.items() if belongs(case)]
        if lines:
            columns = [
                [ratio(line[i], line[0], rules) for line in lines] for i in range(len(SINGLE))
            ]
            rows.append([kind, *map(_smallest_to_largest, columns[1:])])
    return rows


def _smallest_to_largest(ratios: list[float | None]) -> str:
    found = [value for value in ratios if value is not None]
    without = f" ({len(ratios) - len(found)} without)" if len(found) < len(ratios) else ""
    if not found:
        return "–"
    ends = dict.fromkeys(times(value) for value in (min(found), max(found)))
    return " – ".join(ends) + without


def batched_report(scores: dict[Case, list[Score]], rules: Rules) -> str:
    rows = [
        [case.title, *(cell(score, line[0], rules, per=BATCH) for score in line)]
        for case, line in scores.items()
    ]
    return "\n\n".join(
        [
            f"## {BATCH} rewards on one grid, per solve",
            "Time, how many times ours batched, sup-norm error.",
            table(["case", *BATCHED], rows),
        ]
    )


def memory_report(memory: dict[str, int]) -> str:
    arrays = memory["arrays of the MDP"]
    rows = [
        [name, f"{size / 2**20:,.0f} MB", f"{size / arrays:.2f}"] for name, size in memory.items()
    ]
    return "\n\n".join(
        [
            "## Memory at 1,000,000 states, slip 0.3, 2,500 features",
            "A fresh process, less what it holds after imports and one tiny solve.",
            table(["what", "size", "of the arrays"], rows),
        ]
    )


def csv_rows(scores: dict[Case, list[Score]], rules: Rules) -> list[list[object]]:
    return [
        [
            "batched" if case.batch else "single",
            case.title,
            *score_row(score, line[0], rules, per=max(case.batch, 1)),
        ]
        for case, line in scores.items()
        for score in line
    ]


def main(arguments: list[str] | None = None) -> int:
    groups = [*dict.fromkeys(case.group for case in all_cases()), "memory"]
    parser = standard_parser("Planning against QuantEcon, mdpsolver, numpy, Storm.", groups)
    options = parsed(parser, groups, ["grid20", "garnet1000", "taxi", "batch"], arguments)
    about_machine = machine(PACKAGES)
    rules = Rules(seconds_limit=options.seconds_limit, rounds=5 if options.quick else 12)
    # The long ones last: they are what is left out when the time is up.
    cases = sorted(all_cases(), key=lambda case: case.expected_seconds)
    cases = [case for case in cases if case.group in options.chosen]
    with_memory = "memory" in options.chosen
    single: dict[Case, list[Score]] = {}
    batched: dict[Case, list[Score]] = {}
    memory: dict[str, int] | None = None
    expected = [case.expected_seconds for case in cases] + [15.0] * with_memory
    with Run(expected, options.minutes) as run:
        try:
            for prepares, scores in ((BATCHED, batched), (SINGLE, single)):
                chosen = [case for case in cases if bool(case.batch) == (scores is batched)]
                field = run.field(Contestant(*entry) for entry in prepares.items())
                run_cases(chosen, field, rules, run.progress, scores)
            run.stop()
            if with_memory:
                run.progress.step("memory")
                memory = in_fresh_process(memory_of_a_million_states)
        except UnprovedError as error:
            run.status = 1
            print(error, file=sys.stderr)
        except OSError as error:
            run.status = 1
            print(f"memory could not be measured: {error}", file=sys.stderr)
    reports = [single_report(single, rules)] if single else []
    reports += [batched_report(batched, rules)] if batched else []
    reports += [memory_report(memory)] if memory else []
    if options.csv is not None:
        header = ["table", "case", *SCORE_HEADER]
        write_csv(options.csv, header, csv_rows(single | batched, rules))
    print("\n\n".join([*reports, about_machine]))
    return run.status


if __name__ == "__main__":
    sys.exit(main())
