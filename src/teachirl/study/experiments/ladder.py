"""Beyond the paper: the ladder of certificates, Theorem 1, width and the exact worst case.

For learners with ever more random rows: the relative performance that each certificate proves of
whoever matches an optimal policy in such a view, against the teaching risk.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...figures.records import Claim, Curve, Figure, Findings, Panel, Points, Verdict
from ...guarantees.certificate import certify
from ...guarantees.diameter import diameter
from ...mdp.planning import optimal_policy, worst_policy
from ...views.teaching_risk import teaching_risk
from ...worlds import gridworld
from .draws import random_view, unit_weights
from .experiment import Experiment, Result, Results, Unit

RUNGS = ("Theorem 1", "width", "exact")


@dataclass(frozen=True)
class Settings:
    size: int = 20
    block: int = 2
    discount: float = 0.9
    rows: tuple[int, ...] = (5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98)
    draws: int = 5
    seed: int = 7


def units(settings: Settings) -> list[Unit]:
    return [
        {"rows": rows, "draw": draw} for rows in settings.rows for draw in range(settings.draws)
    ]


def run(settings: Settings, rows: int, draw: int) -> Result:
    mdp = gridworld(settings.size, settings.block, discount=settings.discount)
    rng = np.random.default_rng([settings.seed, rows, draw])
    weights = unit_weights(rng, mdp.n_features)
    view = random_view(rng, rows, mdp.n_features)
    best, worst = optimal_policy(mdp, weights), worst_policy(mdp, weights)
    found = certify(mdp, view, weights, best.policy, size=diameter(mdp, starts=1))
    bounds = (found.theorem_1, found.width, found.exact)
    span = best.value - worst.value
    proved = {
        name: 1.0 - bound.gap / span
        for name, bound in zip(RUNGS, bounds, strict=True)
        if bound is not None
    }
    return Result({"risk": teaching_risk(view, weights), **proved})


def analyse(settings: Settings, results: Results) -> Findings:
    risk = results.array("risk")
    proved = {name: results.array(name) for name in RUNGS}
    rows = results.coordinate("rows")
    marks: list[Points | Curve] = []
    for name in RUNGS:
        shown = np.maximum(proved[name], 0.0)
        means = [(risk[rows == each].mean(), shown[rows == each].mean()) for each in settings.rows]
        x, y = np.array(sorted(means)).T
        marks.append(Curve(name, x, y))
    figure = Figure(
        "ladder",
        "Guaranteed relative performance by three certificates, against the teaching risk: means "
        f"over {settings.draws} learners with as many rows. 0 where nothing is proved.",
        (Panel("", "teaching risk", "guaranteed performance", tuple(marks), (0, 1), (0, 1.02)),),
    )
    order = bool(
        (proved["exact"] >= proved["width"] - 1e-9).all()
        and (proved["width"] >= proved["Theorem 1"] - 1e-9).all()
    )
    exact = (risk > 0.05) & (proved["exact"] > 1.0 - 1e-6)
    says = {name: int((proved[name] > 0.0).sum()) for name in RUNGS}
    claims = (
        Claim(
            "beyond the paper",
            "each certificate proves at least as much as the one before",
            f"{len(risk)} learners; each says something about "
            + ", ".join(f"{says[name]} ({name})" for name in RUNGS),
            "comparison, learner by learner",
            Verdict.HOLDS if order else Verdict.FAILS,
        ),
        Claim(
            "beyond the paper",
            "a positive teaching risk can go with no loss at all",
            f"{int(exact.sum())} learners with ρ > .05 are guaranteed to do as well as the expert"
            + (f", up to ρ = {risk[exact].max():.2f}" if exact.any() else ""),
            "exact worst case, up to 1e-6",
            Verdict.HOLDS if exact.any() else Verdict.FAILS,
        ),
    )
    return Findings((figure,), claims)


LADDER = Experiment(
    title="The ladder of certificates: Theorem 1, width, exact",
    full=Settings(),
    quick=Settings(size=10, rows=(2, 5, 10, 15, 20, 22, 23), draws=2),
    units=units,
    run=run,
    analyse=analyse,
    unit_seconds=1.5,
    version=2,
)
