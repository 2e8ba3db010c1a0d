"""Figure 4: which features TRGreedy teaches first, where a few cells matter and the rest do not.

A grid with two goals and two obstacles. In each trial a learner with a random worldview comes, and
TRGreedy chooses the first and the second feature to teach.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...figures.records import Bars, Cells, Claim, Figure, Findings, Panel
from ...selection.greedy import greedy_plan
from ...worlds import World, obstacles
from .draws import random_view
from .experiment import Experiment, Result, Results, Unit
from .statistics import mostly


@dataclass(frozen=True)
class Settings:
    size: int = 10
    block: int = 2
    goals: tuple[int, ...] = (4, 9)
    obstacles: tuple[int, ...] = (18, 23)
    rows: int = 5
    trials: int = 100
    trials_a_unit: int = 10
    seed: int = 4


def world(settings: Settings) -> World:
    """The grid of all trials: its small weights are drawn once."""
    return obstacles(
        np.random.default_rng([settings.seed, 0]),
        settings.size,
        settings.block,
        goals=settings.goals,
        obstacles=settings.obstacles,
    )


def units(settings: Settings) -> list[Unit]:
    return [{"from_trial": each} for each in range(0, settings.trials, settings.trials_a_unit)]


def run(settings: Settings, from_trial: int) -> Result:
    made = world(settings)
    assert made.weights is not None
    k = made.mdp.n_features
    picks = []
    for trial in range(from_trial, min(from_trial + settings.trials_a_unit, settings.trials)):
        rng = np.random.default_rng([settings.seed, 1, trial])  # not the world's
        view = random_view(rng, settings.rows, k)
        picks.append(greedy_plan(view, made.weights, np.eye(k), size=2).chosen)
    return Result({"first": [pick[0] for pick in picks], "second": [pick[1] for pick in picks]})


def analyse(settings: Settings, results: Results) -> Findings:
    made = world(settings)
    assert made.weights is not None
    k, side = made.mdp.n_features, settings.size // settings.block
    special = (*settings.goals, *settings.obstacles)
    panels = [
        Panel(
            "the grid",
            "",
            "",
            (
                Cells(
                    "reward of a macrocell",
                    made.weights.reshape(side, side),
                    tuple(str(number) for number in range(k)),
                ),
            ),
        )
    ]
    claims = []
    for place in ("first", "second"):
        picks = np.concatenate([np.array(result.values[place], int) for _, result in results.pairs])
        counts = np.bincount(picks, minlength=k).astype(float)
        names = tuple(str(number) for number in range(k))
        bars = Bars("goals and obstacles are dark", names, counts, special)
        panels.append(Panel(f"the {place} feature taught", "feature", "times chosen", (bars,)))
        among = int(counts[list(special)].sum())
        evidence = mostly(among, len(picks))
        claims.append(
            Claim(
                "Figure 4" if place == "first" else "beyond the paper",
                f"in most cases the {place} feature taught is a goal (4, 9) or an obstacle "
                "(18, 23)",
                f"{among} of {len(picks)}; {_shares(counts, special)}",
                str(evidence),
                evidence.verdict,
            )
        )
    figure = Figure(
        "figure_4",
        f"Which features TRGreedy teaches first and second, in {settings.trials} trials with "
        f"random {settings.rows}-dimensional worldviews. Blue cells are good, red ones bad.",
        tuple(panels),
    )
    return Findings((figure,), tuple(claims))


def _shares(counts: np.ndarray, special: tuple[int, ...]) -> str:
    return ", ".join(f"{counts[number]:.0f} × {number}" for number in special)


FIGURE_4 = Experiment(
    title="Figure 4: features taught first in a grid with goals and obstacles",
    full=Settings(),
    quick=Settings(trials=50),
    units=units,
    run=run,
    analyse=analyse,
    unit_seconds=0.1,
    version=3,
)
