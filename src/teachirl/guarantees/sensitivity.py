"""What is left of a guarantee if the learner misses what is shown by a little.

Who matches exactly may be guaranteed much that nobody else is: where episodes end, any feature that
is there all along tells to the last digit when they do. So a mismatch is counted in units in which
it means the same in every world, the learner's features each divided by how much of it policies can
change:

    Σ_i ((a_i(μ_L − μ_T))/d_i)² ≤ s²,   d_i = max_μ ⟨a_i, μ⟩ − min_μ ⟨a_i, μ⟩.

A share s = 0.05 of a single feature is a twentieth of all that can be done about it. Features with
d_i = 0 are matched by everyone. Where what is shown was recorded, μ_T is what was recorded; or what
the expert has whose sample that is, and then the error of the recordings, in the same units, is
added to s.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Floats, frozen
from ..demonstrations.demonstration import Demonstration, as_demonstration
from ..errors import require
from ..mdp import clock
from ..mdp.estimated import AnyMDP, EstimatedMDP, nominal_of
from ..mdp.model import MDP
from ..mdp.performance import performance_at_least
from ..mdp.planning import optimal_policies, optimal_policy, worst_policy
from ..mdp.policy import Policy
from ..precision import INVISIBLE
from ..views.worldview import Worldview, check_worldview
from .bounds import WorstCaseBounds, WorstCaseStatus
from .solvers.in_doubt import worst_case_in_doubt
from .solvers.mismatches import worst_cases_by_bundle

# Shares that are told unless others are asked for.
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2)
# Seconds that a search may take though the time is over.
LEAST = 1e-3


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """What is guaranteed of learners who miss what is shown by some share of what can be changed.

    Attributes
    ----------
    shares : array [n], s
    rewards : array [n], what such learners earn at least; the least that policies do where nobody
        comes so near
    guaranteed : array [n], the same as relative performances
    at_most : array [n], rewards of policies that come so near; NaN where none was found
    attainable : bool array [n], False where it is proved that nobody comes so near
    view : Worldview, the learner's features in units of what policies can change: s is a mismatch
        in it

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp, weights = ti.worlds.chain(5), [-2, -1, 0, 1, 2]
    >>> best = ti.optimal_policy(mdp, weights).policy
    >>> view = ti.Worldview.select(mdp, ["cell 5"])
    >>> found = ti.sensitivity(mdp, view, weights, best, [0.01, 0.1])
    >>> print(found.guaranteed.round(2))
    [0.99 0.89]
    """

    shares: Floats
    rewards: Floats
    guaranteed: Floats
    at_most: Floats
    attainable: NDArray[np.bool_]
    view: Worldview


def sensitivity(
    mdp: AnyMDP,
    view: Worldview,
    weights: ArrayLike,
    demonstration: Demonstration | Policy,
    shares: Sequence[float] = SHARES,
    *,
    tolerance: float = 1e-4,
    max_seconds: float = math.inf,
    from_expert: bool = False,
) -> Sensitivity:
    """What is guaranteed at a few mismatches, relative to what policies can change.

    Parameters
    ----------
    mdp : MDP; or EstimatedMDP, and then it holds in every world that its log allows, in units of
        what policies can change in the nominal one
    view : Worldview
    weights : array [k]
    demonstration : Demonstration or Policy that the learner is shown
    shares : sequence of positive float, s
    tolerance : float, how far apart bounds may be, as a fraction of max R − min R
    max_seconds : float, how long to search; out of time, what is proved is returned
    from_expert : bool, whether it is the expert that learners miss by so much, not what was
        recorded: the error of the demonstration is added then, with its confidence

    Returns
    -------
    Sensitivity

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp, weights = ti.worlds.chain(5), [-2, -1, 0, 1, 2]
    >>> best = ti.optimal_policy(mdp, weights).policy
    >>> ti.sensitivity(mdp, ti.Worldview.select(mdp, []), weights, best, [0.1]).guaranteed
    array([0.])
    """
    check_worldview(view, mdp)
    shown, w = as_demonstration(mdp, demonstration), np.asarray(mdp.checked_weights(weights))
    sizes = np.array([float(each) for each in shares])
    require(
        bool(len(sizes)) and bool(((sizes > 0.0) & np.isfinite(sizes)).all()),
        f"shares must be positive, got {list(shares)}",
    )
    units = unit_of(nominal_of(mdp), view.matrix)
    even = Worldview(view.matrix * units[:, None], view.names, view.mdp)
    off = shown.error_in(view, units) if from_expert else 0.0
    found = _worst_cases(mdp, even, w, shown, (sizes + off).tolist(), tolerance, max_seconds)
    best, worst = optimal_policy(mdp, w), worst_policy(mdp, w)
    matched = np.array([each.status is not WorstCaseStatus.INFEASIBLE for each in found])
    rewards = np.where(matched, [each.lower for each in found], worst.lower)
    # What is proved of who comes less near is proved of who comes nearer.
    order = np.argsort(sizes)
    proved = np.where(matched[order], rewards[order], -math.inf)
    proved = np.maximum.accumulate(proved[::-1])[::-1]
    rewards[order] = np.where(matched[order], np.maximum(proved, worst.lower), worst.lower)
    upper = np.array([each.upper for each in found])
    return Sensitivity(
        frozen(sizes),
        frozen(rewards),
        frozen(np.array([performance_at_least(mdp, w, each, best, worst) for each in rewards])),
        frozen(np.where(np.isfinite(upper), upper, np.nan)),
        frozen(matched),
        even,
    )


def _worst_cases(
    mdp: AnyMDP,
    view: Worldview,
    w: Floats,
    shown: Demonstration,
    mismatches: list[float],
    tolerance: float,
    max_seconds: float,
) -> list[WorstCaseBounds]:
    """One for each mismatch."""
    policy, mu = shown.policy if shown.error == 0.0 else None, shown.expectations
    limits: dict[str, Any] = {"tolerance": tolerance, "max_seconds": max_seconds}
    if not isinstance(mdp, EstimatedMDP):
        return worst_cases_by_bundle(mdp, view, w, mu, mismatches, policy=policy, **limits)
    deadline, found = clock.seconds() + max_seconds, list[WorstCaseBounds]()
    for place, mismatch in enumerate(mismatches):
        left = (deadline - clock.seconds()) / (len(mismatches) - place)
        limits["max_seconds"] = max(left, LEAST)
        found.append(worst_case_in_doubt(mdp, view, w, mu, mismatch, policy=policy, **limits))
    return found


def in_units_of_ranges(mdp: MDP, view: Worldview) -> Worldview:
    """The view with its rows in units of what policies can change of each; 0 where that is nothing.

    Parameters
    ----------
    mdp : MDP
    view : Worldview

    Returns
    -------
    Worldview with the same names
    """
    return Worldview(view.matrix * unit_of(mdp, view.matrix)[:, None], view.names, view.mdp)


def unit_of(mdp: MDP, rows: Floats) -> Floats:
    """1/d [ℓ] of each of the rows [ℓ, k]; 0 where policies can change nothing of it."""
    if len(rows) == 0:
        return np.empty(0)
    plans = optimal_policies(mdp, np.vstack([rows, -rows]))
    values = np.array([plan.value for plan in plans])
    spread = values[: len(rows)] + values[len(rows) :]
    size = np.abs(rows) @ mdp.largest_entries / (1.0 - mdp.discount)
    changes = spread > INVISIBLE * size
    return np.where(changes, 1.0 / np.where(changes, spread, 1.0), 0.0)


__all__ = ["SHARES", "Sensitivity", "in_units_of_ranges", "sensitivity", "unit_of"]
