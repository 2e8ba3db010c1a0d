"""What no demonstration can guarantee: an upper bound, from the shape of what is seen.

With b = Cμ what the learner sees of μ, showing what looks like b guarantees g(b) = min {R(μ) : Cμ =
b}, a convex function on the polytope AM. Let points b_1 … b_n of AM be known with g(b_i) ≤ R_i, and
P ⊂ AM be their convex hull. In P, g ≤ max R_i, as g is convex. Outside, a point b is beyond a facet
⟨n, b⟩ = o of P, and

    g(b) ≤ max {R(μ) : ⟨n, Cμ⟩ ≥ o} ≤ V*(αn, 1) − αo   for any α ≥ 0,

V*(θ, e) being the most that ⟨θ, Cμ⟩ + e R(μ) can be. A facet that nothing is beyond, V*(n, 0) = o,
needs no such bound. The largest of all these numbers bounds what any demonstration can guarantee.
Facets with large bounds get what n exposes as a new point of P, until the largest bound is close to
the best that was found. That may be found here, too: R_i = g(b_i) for all points that n exposes.

The best α of a facet is found with the lines R(μ) + α(⟨n, Cμ⟩ − o) of all policies met so far,
whose maximum is at most V*(αn, 1) − αo.

What is beyond a facet by less than `FLAT` of AM's width is not told apart from it. So the bound is
one for learners who, as all do, match what they see up to that much.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used

from ..arrays import Floats
from ..precision import SEARCH_TIE, ranks
from .exposed_policies import LENGTH, UP, Exposed, Exposer

FLAT = 1e-8
# Points that are added before the facets are computed anew.
BATCH = 8
# MDP solves for the bound of one facet, at most.
STEPS = 6


class Proof(NamedTuple):
    """No demonstration guarantees more than `upper`; `best` is the best one that was met.

    stuck : whether more solves would not help
    """

    upper: float
    best: Exposed
    stuck: bool


class _Facet(NamedTuple):
    """⟨normal, b⟩ ≤ offset in the hull; facets of one key are the same up to rounding."""

    key: tuple[float, ...]
    normal: Floats
    offset: float

    @property
    def place(self) -> tuple[int, ...]:
        """By what facets are put in order, whichever Qhull finds first."""
        return tuple(round(number / SEARCH_TIE) for number in self.key)


class Hull:
    """P, what is known of its facets, and (b, R) of all policies met.

    Parameters
    ----------
    best : the best demonstration that is known
    highest : max R in the exposer's units, as all rewards here; a bound that needs no proof
    enough : how far above the best the bound may stay
    """

    def __init__(self, exposer: Exposer, best: Exposed, highest: float, enough: float) -> None:
        self.exposer, self.best, self.highest, self.enough = exposer, best, highest, enough
        self.looks: list[Floats] = []
        self.tallest = -math.inf  # the largest R_i
        self._met, self._count = np.empty((64, len(best.look) + 1)), 0
        self.bounds: dict[tuple[float, ...], float] = {}
        self.centre = best.look
        self.add(best)
        axes = np.eye(len(best.look))
        for direction in np.vstack([axes, -axes]):
            self.add(exposer.expose(direction))

    def add(self, point: Exposed) -> None:
        """A point of P that is its own worst case."""
        self.add_point(point.look, point.reward)
        if point.reward > self.best.reward + UP:
            self.best = point

    def add_point(self, look: Floats, reward: float) -> None:
        self.looks.append(look - self.centre)
        self.meet(look, reward)
        self.tallest = max(self.tallest, reward)

    def meet(self, look: Floats, reward: float) -> None:
        if self._count == len(self._met):
            self._met = np.vstack([self._met, np.empty_like(self._met)])
        self._met[self._count, :-1], self._met[self._count, -1] = look - self.centre, reward
        self._count += 1

    @property
    def met(self) -> Floats:
        """(b, R) of all policies met, [n, r + 1]"""
        return self._met[: self._count]

    @property
    def goal(self) -> float:
        return self.best.reward + self.enough

    def rise(self, best: Exposed) -> None:
        """Another is the best that is known, if it is better: more is bounded closely enough."""
        if best.reward > self.best.reward + UP:
            self.add(best)
            self.bounds = {key: bound for key, bound in self.bounds.items() if bound <= self.goal}

    def run(self, max_solves: int) -> Proof:
        """An upper bound on what a demonstration can guarantee, and the best demonstration met,
        after about so many MDP solves more; what is proved by then is proved."""
        limit = self.exposer.solves + max_solves
        upper, error = self.highest, float(self.exposer.errors[-1])
        while upper > self.goal:
            try:
                facets = _facets(np.array(self.looks))
            except (
                scipy.spatial.QhullError
            ):  # AM is too flat, or too many of its points lie in one plane
                return Proof(upper, self.best, True)
            for facet in facets:
                if facet.key not in self.bounds:
                    if self.exposer.solves >= limit:
                        return Proof(upper, self.best, False)
                    self.bounds[facet.key] = self.bound(facet)
            bounds = [self.bounds[facet.key] for facet in facets]
            upper = min(upper, max(*bounds, self.tallest + error))
            highest = np.argsort(ranks(bounds, SEARCH_TIE), kind="stable")
            worth = [facets[place] for place in highest if bounds[place] > self.goal][:BATCH]
            changes = [self.refine(facet) for facet in worth]
            if upper > self.goal and not any(changes):
                return Proof(upper, self.best, True)
        return Proof(upper, self.best, False)

    def refine(self, facet: _Facet) -> bool:
        """Add what the facet's normal exposes, or find that nothing is beyond the facet."""
        normal, beyond = facet.normal, facet.offset + FLAT
        for length in (LENGTH, 100.0 * LENGTH):
            point = self.exposer.expose(normal, length)
            if float(normal @ (point.look - self.centre)) > beyond:
                self.add(point)
                return True
        plan, met = self.exposer.plan("flat", normal, 0.0)
        doubt = float(np.abs(normal) @ self.exposer.errors[:-1])
        if plan.upper + doubt - float(normal @ self.centre) <= beyond:
            self.bounds[facet.key] = -math.inf
            return True
        if float(normal @ (met[:-1] - self.centre)) > beyond:
            self.add_point(met[:-1], float(met[-1]))
            return True
        return False

    def bound(self, facet: _Facet) -> float:
        """The least V*(αn, 1) − αo, or one that shows that it is above the goal."""
        normal, offset = facet.normal, facet.offset
        errors = self.exposer.errors
        least = self.highest
        for _ in range(STEPS):
            alpha, model = _lowest(self.met[:, -1], self.met[:, :-1] @ normal - offset)
            plan, point = self.exposer.plan("bound", alpha * normal, 1.0)
            doubt = 2.0 * (alpha * float(np.abs(normal) @ errors[:-1]) + float(errors[-1]))
            value = plan.upper - alpha * (offset + float(normal @ self.centre)) + doubt
            least = min(least, value)
            self.meet(point[:-1], float(point[-1]))
            if least <= self.goal or model > self.goal or value <= model + 0.1 * self.enough:
                break
        return least


def _lowest(heights: Floats, slopes: Floats) -> tuple[float, float]:
    """The α ≥ 0 at which max (heights + α slopes) is least, and that maximum.

    Some slope is not negative, or negative by rounding only.
    """
    falling, rising = int(heights.argmax()), int(slopes.argmax())
    if slopes[falling] >= 0.0:
        return 0.0, float(heights[falling])
    # Where the two lines meet, the highest line replaces the one that it resembles.
    for _ in range(len(heights)):
        gap = heights[falling] - heights[rising]
        alpha = max(float(gap / max(slopes[rising] - slopes[falling], FLAT)), 0.0)
        values = heights + alpha * slopes
        highest = int(values.argmax())
        if highest in (falling, rising):
            break
        if slopes[highest] >= 0.0:
            rising = highest
        else:
            falling = highest
    return alpha, float(values.max())


def _facets(points: Floats) -> list[_Facet]:
    """The facets of the convex hull of points [n, r], those in one plane being one."""
    if points.shape[1] == 1:
        ends = [(1.0, float(points.max())), (-1.0, float(-points.min()))]
        return [_Facet((sign, end), np.array([sign]), end) for sign, end in ends]
    found: dict[tuple[float, ...], _Facet] = {}
    for row in scipy.spatial.ConvexHull(points).equations:
        key = tuple(np.round(row, 9).tolist())
        found.setdefault(key, _Facet(key, row[:-1], -float(row[-1])))
    return sorted(found.values(), key=lambda facet: facet.place)
