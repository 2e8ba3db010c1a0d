"""Figure 6: the feature expectations M of all policies, what of M is seen, and what looks optimal.

The world has two features and A is the projection on the first. M is a polygon; its corners are
found by planning for the outward normal of what is known, until nothing new appears.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...arrays import Floats
from ...figures.records import Claim, Figure, Findings, Outline, Panel, Points, Verdict
from ...mdp.model import MDP
from ...mdp.occupancy import feature_expectations
from ...mdp.planning import optimal_policy
from ...worlds import garnet
from .experiment import Experiment, Result, Results, Unit


@dataclass(frozen=True)
class Settings:
    states: int = 40
    actions: int = 4
    branching: int = 3
    discount: float = 0.9
    seed: int = 6


def units(settings: Settings) -> list[Unit]:
    return [{"seed": settings.seed}]


def run(settings: Settings, seed: int) -> Result:
    rng = np.random.default_rng(seed)
    mdp = garnet(
        rng,
        settings.states,
        settings.actions,
        branching=settings.branching,
        n_features=2,
        discount=settings.discount,
    )
    corners = polygon(mdp)
    return Result({"x": corners[:, 0], "y": corners[:, 1]})


def polygon(mdp: MDP) -> Floats:
    """The corners [n, 2] of M for a world with two features, counterclockwise.

    >>> import numpy as np, teachirl as ti
    >>> mdp = ti.worlds.garnet(np.random.default_rng(0), 5, 2, branching=2, n_features=2)
    >>> corners = polygon(mdp)
    >>> plan = ti.optimal_policy(mdp, [1, 2])
    >>> abs(float((corners @ [1, 2]).max()) - plan.value) < 1e-8
    True
    """

    def farthest(direction: Floats) -> Floats:
        return feature_expectations(mdp, optimal_policy(mdp, direction).policy)

    def between(a: Floats, b: Floats) -> list[Floats]:
        """The corners after a and before b."""
        normal = np.array([b[1] - a[1], a[0] - b[0]])
        size = float(np.linalg.norm(normal))
        if size <= close:
            return []
        new = farthest(normal / size)
        if float((new - a) @ normal) / size <= close:
            return []
        return [*between(a, new), new, *between(new, b)]

    close = 1e-8 * mdp.largest_feature / (1.0 - mdp.discount)
    ends = [farthest(np.array(d)) for d in ([0.0, -1.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0])]
    corners: list[Floats] = []
    for a, b in zip(ends, [*ends[1:], ends[0]], strict=True):
        corners += [a, *between(a, b)]
    kept = [
        corner
        for corner, before in zip(corners, [corners[-1], *corners[:-1]], strict=True)
        if np.linalg.norm(corner - before) > close
    ]
    return np.array(kept)


def analyse(settings: Settings, results: Results) -> Findings:
    values = results.pairs[0][1].values
    corners = np.column_stack([values["x"], values["y"]])
    x, y = corners.T
    floor = y.min() - 0.15 * (y.max() - y.min())
    ends = np.array([np.argmin(x), np.argmax(x)])
    marks = (
        Outline("M, all policies", x, y, filled=True),
        Points("optimal for some reward", x, y),
        Outline("AM, what the learner sees", x[ends], np.full(2, floor)),
        Points("looks optimal to the learner", x[ends], y[ends], big=True),
    )
    share = sum(_normal_cone(corners, int(end)) for end in ends) / (2.0 * math.pi)
    claims = (
        Claim(
            "Figure 6",
            "of all policies that are optimal for some reward, those over the ends of AM look "
            "optimal to the learner, and no others",
            f"{len(ends)} of {len(corners)} corners of M",
            "all corners of M are known",
            _only_the_ends(x),
        ),
        Claim(
            "beyond the paper",
            "Proposition 1 (if ρ > 0, a policy that is optimal for w* is suboptimal for any reward "
            "in the learner's features; proved for M with a smooth boundary) carries over to "
            "finite MDPs",
            f"this M is a polygon: for {100 * share:.1f} % of all rewards, almost all of which "
            "have ρ > 0, the optimal policy looks optimal to the learner",
            "angles of the normal cones at the ends",
            Verdict.FAILS if share > 0.0 else Verdict.HOLDS,
        ),
    )
    figure = Figure(
        "figure_6",
        "Feature expectations of all policies of a world with two features. The learner sees the "
        "horizontal one.",
        (Panel("", "first feature (seen by the learner)", "second feature", marks),),
    )
    return Findings((figure,), claims)


def _only_the_ends(x: Floats) -> Verdict:
    """Whether one corner is leftmost and one rightmost, so that the others lie over the inside."""
    width = x.max() - x.min()
    edge = (x < x.min() + 1e-9 * width) | (x > x.max() - 1e-9 * width)
    return Verdict.HOLDS if edge.sum() == 2 else Verdict.FAILS


def _normal_cone(corners: Floats, place: int) -> float:
    """The angle between the outward normals of the two edges that meet in a corner."""
    n = len(corners)
    into = corners[place] - corners[place - 1]
    out = corners[(place + 1) % n] - corners[place]
    turn = math.atan2(into[0] * out[1] - into[1] * out[0], float(into @ out))
    return abs(turn)


FIGURE_6 = Experiment(
    title="Figure 6: the polytope of feature expectations and what looks optimal",
    full=Settings(),
    quick=Settings(),
    units=units,
    run=run,
    analyse=analyse,
    unit_seconds=0.5,
    version=2,
)
