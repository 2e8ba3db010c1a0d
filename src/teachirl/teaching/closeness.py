"""One number for one set of features: worst cases close enough for what is at stake, and the same
in whatever order the features were taught.

From the worst policy to the best is what is at stake, unless one terrible policy stretches that:
beside what nobody would do, all that an expert earns is nothing. An expert who earns and pays T in
all is 2T above who pays what the expert earns: no more than that is at stake.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arrays import Floats, frozen
from ..demonstrations.demonstration import Demonstration
from ..guarantees.bounds import WorstCaseBounds, WorstCaseStatus
from ..guarantees.worst_case import worst_case
from ..mdp import clock
from ..mdp.estimated import AnyMDP, nominal_of
from ..mdp.model import MDP
from ..mdp.occupancy import expectations_of
from ..precision import ROUNDED, ROUNDED_UP, SEARCH_TIE, length_at_most
from ..views.worldview import Worldview
from .matching import Matching

# No bounds are brought closer than this share of max R − min R: planning has few more digits.
CLOSEST = 1e-9
# Transitions up to which it takes a moment to tell to all digits whether anything is lost.
ALL_DIGITS = 50_000
# Numbers of a view up to which its rows are put in order.
ORDERED = 1_000_000
# Ellipsoids around a box that are tried at most, the gain below which there are enough of them, and
# the least of a multiplier and of an error beside the largest: no row is lost, nor all that counts.
ELLIPSOIDS, ENOUGH, SMALLEST = 8, 1e-4, 1e-6


def at_stake(width: float, weights: Floats, amounts: Floats) -> float:
    """What is at stake for an expert, in reward.

    Parameters
    ----------
    width : float, the reward between the worst policy and the best
    weights : array [k]
    amounts : array [k], the expert's feature expectations

    Returns
    -------
    float, the width; or twice all that the expert earns and pays, if that is less and not 0

    Examples
    --------
    >>> import numpy as np
    >>> at_stake(1000.0, np.array([1.0, -1000.0]), np.array([3.0, 0.0]))
    6.0
    """
    return min(width, 2.0 * float(np.abs(weights * amounts).sum()) or np.inf)


def close_enough(width: float, weights: Floats, amounts: Floats) -> float:
    """How far apart the bounds on a worst case may be.

    Parameters
    ----------
    width, weights, amounts : as in `at_stake`

    Returns
    -------
    float, a fraction of the width: a millionth of what is at stake

    Examples
    --------
    >>> import numpy as np
    >>> close_enough(1000.0, np.array([1.0, -1000.0]), np.array([50.0, 0.0]))
    1e-07
    """
    if width <= 0.0:
        return SEARCH_TIE
    return max(SEARCH_TIE * (at_stake(width, weights, amounts) / width), CLOSEST)


def worst_in_order(
    model: AnyMDP,
    view: Worldview,
    weights: Floats,
    shown: Demonstration,
    matching: Matching,
    *,
    tolerance: float,
    max_seconds: float,
    start: Floats | None = None,
) -> WorstCaseBounds:
    """The worst case of all who match, the same to the last bit in whatever order rows are seen.

    Parameters
    ----------
    model : MDP or EstimatedMDP
    view : Worldview, what they see
    weights : array [k]
    shown : Demonstration
    matching : Matching, how closely they match
    tolerance, max_seconds, start : as in `worst_case`

    Returns
    -------
    WorstCaseBounds, with the multipliers in the order of the view's rows
    """
    order = _order(view)
    if order is not None:
        view = Worldview(view.matrix[order], mdp=view.mdp)
        start = None if start is None else start[order]
    until = clock.seconds() + max_seconds
    found = worst_case(
        model,
        view,
        weights,
        shown,
        matching.within(view, shown),
        tolerance=tolerance,
        max_seconds=max_seconds,
        start=start,
    )
    known = isinstance(model, MDP) and not shown.error
    small = nominal_of(model).dynamics.transitions.nnz <= ALL_DIGITS
    if known and small and _may_lose_nothing(found, weights * shown.expectations):
        found = _closest(found, model, view, weights, shown, matching, until)
    singly = matching.singly(view, shown)
    if singly is not None and found.status is not WorstCaseStatus.INFEASIBLE:
        found = _in_a_box(model, view, weights, shown, singly, found, tolerance, until)
    if order is None:
        return found
    theta = np.empty_like(found.theta)
    theta[order] = found.theta
    return replace(found, theta=frozen(theta))


def _may_lose_nothing(found: WorstCaseBounds, earned: Floats) -> bool:
    """Whether bounds leave open if those who match earn what is shown, feature by feature [k]: no
    more is known to be lost than is not proved, and that is more than rounding."""
    shown = float(earned.sum())
    unproved = found.upper - found.lower
    rounding = ROUNDED * float(np.abs(earned).sum())
    optimal = found.status is WorstCaseStatus.OPTIMAL
    return optimal and shown - found.upper <= unproved and shown - found.lower > rounding


def _closest(
    found: WorstCaseBounds,
    model: AnyMDP,
    view: Worldview,
    weights: Floats,
    shown: Demonstration,
    matching: Matching,
    until: float,
) -> WorstCaseBounds:
    """The same, as closely as there are digits: nothing is lost only if that is proved to all of
    them."""
    left = until - clock.seconds()
    if left <= 0.0:
        return found
    mismatch = matching.within(view, shown)
    other = worst_case(
        model,
        view,
        weights,
        shown,
        mismatch,
        tolerance=CLOSEST,
        max_seconds=left,
        start=found.theta,
    )
    solves = found.solves + other.solves
    better = other.status is WorstCaseStatus.OPTIMAL and other.lower > found.lower
    return replace(other if better else found, solves=solves)


def _in_a_box(
    model: AnyMDP,
    view: Worldview,
    weights: Floats,
    shown: Demonstration,
    singly: Floats,
    found: WorstCaseBounds,
    tolerance: float,
    until: float,
) -> WorstCaseBounds:
    """The worst case of who is within rᵢ of what is shown in each row i that is seen, as closely
    as ellipsoids around that box tell.

    Whatever the units u, the box lies in the ellipsoid ‖u · A(μ − μ_T)‖ ≤ ‖u · r‖, so that each
    search proves what it says. Of multipliers θ, that with uᵢ² = |θᵢ| / rᵢ costs no more than the
    box does, Σ |θᵢ| rᵢ; and so units follow multipliers, and these the units.
    """
    largest = float(singly.max(initial=0.0))
    if len(singly) < 2 or largest == 0.0:
        return found
    for _ in range(ELLIPSOIDS):
        theta = np.abs(found.theta)
        left = until - clock.seconds()
        if not theta.any() or left <= 0.0:
            break
        units = np.sqrt(
            np.maximum(theta / theta.max(), SMALLEST) / np.maximum(singly / largest, SMALLEST)
        )
        other = worst_case(
            model,
            Worldview(view.matrix * units[:, None], mdp=view.mdp),
            weights,
            shown,
            length_at_most(units * singly) * ROUNDED_UP,
            tolerance=tolerance,
            max_seconds=left,
            start=found.theta / units,
        )
        solves = found.solves + other.solves
        gained = other.lower - found.lower
        if other.status is WorstCaseStatus.INFEASIBLE or gained <= 0.0:
            return replace(found, solves=solves)
        size = max(abs(found.lower), abs(other.lower))
        matched = other.matched
        if other.occupancy is not None:
            there = expectations_of(other.world or nominal_of(model), other.occupancy)
            matched = length_at_most(view.matrix @ (there - shown.expectations))
        theta = frozen(units * other.theta)
        found = replace(other, theta=theta, matched=matched, solves=solves)
        if gained <= ENOUGH * size:
            break
    return found


def _order(view: Worldview) -> list[int] | None:
    """The rows by what is in them; None if they are in order, or too many to look."""
    if view.matrix.size > ORDERED:
        return None
    rows = [row.tobytes() for row in np.ascontiguousarray(view.matrix)]
    order = sorted(range(len(rows)), key=rows.__getitem__)
    return None if order == list(range(len(rows))) else order


__all__ = ["at_stake", "close_enough", "worst_in_order"]
