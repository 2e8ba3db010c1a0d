"""The worst case at several mismatches, by one bundle: what is found for one serves the others.

With D₀(θ) = ⟨θ, Bμ_T⟩ + min_μ ⟨w − Bᵀθ, μ⟩, the lower bound that θ proves is D₀(θ) − ε‖θ_A‖ for any
ε; and the columns of a plan do not depend on ε at all. So the largest ε is solved first, which is
the easiest, and the next begins with all its plans, at the θ that proves most there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Floats
from ...errors import require
from ...mdp import clock
from ...mdp.model import MDP
from ...mdp.policy import Policy
from ...views.worldview import Worldview
from ..bounds import WorstCaseBounds, check_limits, checked_case
from .blocks import block_count
from .master import Master
from .plans import Case, OwnPlans
from .search import Search
from .view_coordinates import ViewCoordinates

# MDPs that are solved for one mismatch, at most.
SOLVES = 300


def worst_cases_by_bundle(
    mdp: MDP,
    view: Worldview,
    weights: ArrayLike,
    expectations: ArrayLike,
    mismatches: Sequence[float],
    *,
    policy: Policy | None = None,
    tolerance: float = 1e-6,
    max_seconds: float = math.inf,
) -> list[WorstCaseBounds]:
    """The least reward of all who match up to each ε, in the order of `mismatches`, all positive.

    The other arguments are those of `worst_case_by_bundle`; out of time, those that are left are
    what is proved by what was found for the others.
    """
    require(
        len(mismatches) > 0 and all(0.0 < each < math.inf for each in mismatches),
        f"mismatches must be positive and finite, got {list(mismatches)}",
    )
    w, target = checked_case(mdp, view, weights, expectations, max(mismatches))
    check_limits(tolerance, max_seconds)
    deadline = clock.seconds() + max_seconds
    # What binds at the smallest is in the coordinates of all.
    smallest = ViewCoordinates(mdp, view, float(min(mismatches)))
    order = sorted(range(len(mismatches)), key=lambda i: -mismatches[i])
    case = Case(mdp, smallest.at(float(mismatches[order[0]])), w, target, policy)
    plans = OwnPlans(case, block_count(mdp, len(smallest.basis)))
    search = _Looking(case, plans, tolerance)

    def begun() -> bool:
        search.prepare()
        search.begin(smallest.basis @ w)
        return True

    ready, found = clock.in_time(deadline, begun), dict[int, WorstCaseBounds]()
    for i in order:
        if found:
            search = search.moved(smallest.at(float(mismatches[i])))
        climb = partial(search.climb, SOLVES, deadline)
        late = not ready or clock.in_time(deadline, climb) is not False
        found[i] = search.result(partial(search.witness, plans), late)
    return [found[i] for i in range(len(mismatches))]


class _Looking(Search):
    """A search that remembers each θ, and what it proves but for the ball."""

    def __init__(self, case: Case, plans: OwnPlans, tolerance: float) -> None:
        super().__init__(case, plans, tolerance)
        self.own, self.looks = plans, list[tuple[Floats, float]]()

    def look(self, theta: Floats, promised: float = 0.0) -> tuple[float, Floats]:
        value, columns = super().look(theta, promised)
        self.looks.append((theta, value + self.case.sight.penalty(theta)))
        return value, columns

    def moved(self, sight: ViewCoordinates) -> _Looking:
        """The search with another ball, from what this one knows."""
        other = copy(self)
        other.case, other.solves = replace(self.case, sight=sight), 0
        other.master = Master(len(self.theta), self.plans.blocks.count + 1)
        self.own.again(other.master)
        other.put_ball(np.zeros_like(self.theta))
        other.upper = math.inf if self.case.policy is None else 0.0
        other.lower, other.theta = self.lowest - self.case.earned, np.zeros_like(self.theta)
        if not self.looks:
            return other
        values = [value - sight.penalty(theta) for theta, value in self.looks]
        best = int(np.argmax(values))
        other.centre, other.at_centre = self.looks[best][0], values[best]
        if values[best] > other.lower:
            other.lower, other.theta = values[best], self.looks[best][0]
        return other


__all__ = ["worst_cases_by_bundle"]
