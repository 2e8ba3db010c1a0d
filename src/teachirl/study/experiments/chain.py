"""Figures 1 and 2: on a row of five cells, the best policy is not the best demonstration.

The learner sees the central cell alone. All deterministic policies are few, so what looks alike is
found by looking at each of them; what randomising policies can do, by the exact worst case.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...figures.records import Cells, Claim, Figure, Findings, Panel, Verdict
from ...guarantees.diameter import diameter
from ...guarantees.worst_case import worst_case
from ...mdp.model import MDP
from ...mdp.occupancy import feature_expectations
from ...mdp.policy import Policy
from ...views.worldview import Worldview
from ...what_to_show.search import best_demonstration
from ...worlds import chain
from .experiment import Experiment, Result, Results, Unit

# The row of the paper's Figure 1: its cells, the one that the learner sees, and the reward.
CELLS = 5
MIDDLE = CELLS // 2
WEIGHTS = np.array([-1.0, -0.5, 0.0, 0.5, 1.0]) / np.sqrt(2.5)
# The action of each cell: 0 is left, 1 is right.
NAMED = {
    "π*": (1, 1, 1, 1, 0),
    "π₀": (1, 1, 1, 0, 0),
    "π̃₀": (1, 1, 0, 0, 0),
    "π̃*": (1, 0, 0, 0, 0),
}


@dataclass(frozen=True)
class Settings:
    discounts: tuple[float, ...] = (0.5, 0.9)
    seed: int = 1


def units(settings: Settings) -> list[Unit]:
    return [{"discount": gamma} for gamma in settings.discounts]


def run(settings: Settings, discount: float) -> Result:
    mdp = chain(CELLS, discount=discount)
    view = Worldview.select(mdp, [MIDDLE])
    everyone = _deterministic(mdp)
    mu = [feature_expectations(mdp, Policy.deterministic(mdp, actions)) for actions in everyone]
    worst = {
        name: worst_case(mdp, view, WEIGHTS, Policy.deterministic(mdp, NAMED[name]))
        for name in ("π*", "π₀")
    }
    rng = np.random.default_rng(settings.seed)
    shown = best_demonstration(mdp, view, WEIGHTS, rng=rng)
    assert shown.demonstration.policy is not None
    to_right = shown.demonstration.policy.matrix()[:, 1]
    size = diameter(mdp)
    return Result(
        {
            "actions": ["".join(map(str, actions)) for actions in everyone],
            "reward": [float(WEIGHTS @ each) for each in mu],
            "looks": [float(each[MIDDLE]) for each in mu],
            "worst of π*": worst["π*"].lower,
            "worst of π₀": worst["π₀"].lower,
            "worst of the best": shown.guaranteed,
            "proved the best": shown.status.name,
            **{f"best goes right in {cell + 1}": float(to_right[cell]) for cell in range(CELLS)},
            "best earns": float(WEIGHTS @ shown.demonstration.expectations),
            "diameter from": size.lower,
            "diameter to": size.upper,
        }
    )


def _deterministic(mdp: MDP) -> list[tuple[int, ...]]:
    """All policies that take one action in each cell."""
    dynamics = mdp.dynamics
    choices = [
        dynamics.actions[dynamics.offsets[s] : dynamics.offsets[s + 1]].tolist()
        for s in range(mdp.n_states)
    ]
    return [tuple(actions) for actions in itertools.product(*choices)]


def analyse(settings: Settings, results: Results) -> Findings:
    claims: list[Claim] = []
    rows = []
    for unit, result in results.pairs:
        gamma, values = float(unit["discount"]), result.values
        known = _named(values)
        claims += _claims(gamma, values, known)
        rows.append(
            f"| {gamma:g} | "
            + " | ".join(f"{known[name][0]:.4f}, {known[name][1]:.4f}" for name in NAMED)
            + f" | {values['worst of π*']:.4f} | {values['worst of π₀']:.4f} "
            f"| {values['worst of the best']:.4f} |"
        )
    header = " | ".join(f"R({name}), central cell" for name in NAMED)
    table = "\n".join(
        [
            f"| γ | {header} | worst case of showing π* | of π₀ | of the best demonstration |",
            "|---" * 8 + "|",
            *rows,
        ]
    )
    last, values = results.pairs[-1][0], results.pairs[-1][1].values
    known = _named(values)
    first = Figure(
        "figure_1",
        f"γ = {last['discount']:g}. The learner sees the dashed cell alone. What looks alike "
        "stands in one column; the last panel is the demonstration that guarantees most.",
        (*(_drawn(name, name, known) for name in ("π₀", "π*", "π̃₀", "π̃*")), _best(values)),
        columns=2,
    )
    second = Figure(
        "figure_2",
        "Two policies that look the same to the learner, and the best one if the dashed cell is "
        "taken to be good.",
        (_drawn("π₀", "π₀", known), _drawn("π₁", "π̃₀", known)),
    )
    return Findings((first, second), tuple(claims), (table,))


def _named(values: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Reward and look of the policies that have a name."""
    places = {name: values["actions"].index("".join(map(str, a))) for name, a in NAMED.items()}
    return {name: (values["reward"][i], values["looks"][i]) for name, i in places.items()}


def _drawn(label: str, name: str, known: dict[str, tuple[float, float]]) -> Panel:
    moves = [(0, cell, 0, 1 if action else -1) for cell, action in enumerate(NAMED[name])]
    return _panel(f"{label}: earns {known[name][0]:+.2f}", moves)


def _best(values: dict[str, Any]) -> Panel:
    chances = [values[f"best goes right in {cell + 1}"] for cell in range(CELLS)]
    moves = [(0, cell, 0, 1 if chance > 0.5 else -1) for cell, chance in enumerate(chances)]
    title = (
        f"the best demonstration: earns {values['best earns']:+.2f},\n"
        f"and guarantees {values['worst of the best']:+.2f}"
    )
    return _panel(title, moves)


def _panel(title: str, moves: list[tuple[int, int, int, int]]) -> Panel:
    texts = tuple(f"{weight:+.2f}" for weight in WEIGHTS)
    cells = Cells("reward of a cell", WEIGHTS[None, :], texts, np.array(moves), ((0, MIDDLE),))
    return Panel(title, "", "", (cells,))


def _claims(
    gamma: float, values: dict[str, Any], known: dict[str, tuple[float, float]]
) -> list[Claim]:
    better, best = _showing_claims(gamma, values)
    return [
        *(_twin_claim(gamma, values, known, *pair) for pair in (("π*", "π̃*"), ("π₀", "π̃₀"))),
        _order_claim(gamma, values, known),
        better,
        _central_claim(gamma, values, known),
        best,
    ]


def _twin_claim(
    gamma: float,
    values: dict[str, Any],
    known: dict[str, tuple[float, float]],
    name: str,
    twin: str,
) -> Claim:
    looks = np.array(values["looks"])
    same = np.flatnonzero(np.abs(looks - known[name][1]) <= 1e-9 / (1 - gamma))
    alike = {values["actions"][i] for i in same}
    return Claim(
        "Figure 1",
        f"γ = {gamma:g}: {twin} is the only other deterministic policy that looks like {name}",
        f"{len(alike)} of {len(looks)} policies look alike",
        "enumeration",
        _verdict(alike == {"".join(map(str, NAMED[each])) for each in (name, twin)}),
    )


def _order_claim(
    gamma: float, values: dict[str, Any], known: dict[str, tuple[float, float]]
) -> Claim:
    order = [known[name][0] for name in NAMED]
    falling = all(a > b for a, b in itertools.pairwise(order))
    return Claim(
        "Figure 1",
        f"γ = {gamma:g}: R(π*) > R(π₀) > R(π̃₀) > R(π̃*), and π* is optimal",
        " > ".join(f"{each:.4f}" for each in order),
        "enumeration",
        _verdict(falling and order[0] >= max(values["reward"]) - 1e-9),
    )


def _central_claim(
    gamma: float, values: dict[str, Any], known: dict[str, tuple[float, float]]
) -> Claim:
    most, close = max(values["looks"]), 1e-9 / (1 - gamma)
    (first, look), (second, other) = known["π₀"], known["π̃₀"]
    return Claim(
        "Figure 2",
        f"γ = {gamma:g}: π₀ and π₁ look the same, and the best if the central cell is good, "
        "but one earns more than 0 and the other less",
        f"{look:.4f} and {other:.4f} visits to the central cell, {most:.4f} at most; they earn "
        f"{first:+.4f} and {second:+.4f}",
        "enumeration",
        _verdict(abs(look - other) <= close and look >= most - close and first > 0.0 > second),
    )


def _showing_claims(gamma: float, values: dict[str, Any]) -> list[Claim]:
    best, middle, chosen = (values[f"worst of {each}"] for each in ("π*", "π₀", "the best"))
    proved = values["proved the best"]
    return [
        Claim(
            "Figure 1",
            f"γ = {gamma:g}: π₀ is a better demonstration than π* in the worst case",
            f"guarantees {middle:.4f} instead of {best:.4f}, over all policies",
            "exact worst cases",
            _verdict(middle > best),
        ),
        Claim(
            "beyond the paper",
            f"γ = {gamma:g}: another demonstration is better than π₀",
            f"guarantees {chosen:.4f}, and no more is possible: {proved}",
            "branch and bound",
            _verdict(chosen > middle + 1e-9 and proved == "OPTIMAL"),
        ),
    ]


def _verdict(holds: bool) -> Verdict:
    return Verdict.HOLDS if holds else Verdict.FAILS


CHAIN = Experiment(
    title="Figures 1 and 2: a row of five cells, and what to demonstrate there",
    full=Settings(),
    quick=Settings(),
    units=units,
    run=run,
    analyse=analyse,
    unit_seconds=0.2,
    version=2,
)
