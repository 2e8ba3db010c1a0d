"""The diameter of M = μ(Π), which is all that Theorem 1 of the paper knows of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..arrays import Floats
from ..demonstrations.error_bounds import feature_diameter
from ..errors import require
from ..mdp.kernels import rounding_of
from ..mdp.model import MDP, check_is_mdp
from ..mdp.occupancy import expectation_errors, feature_expectations
from ..mdp.planning import optimal_policies, optimal_policy
from ..mdp.policy import Policy
from ..precision import (
    INVISIBLE,
    ROUNDED_UP,
    down,
    first_largest,
    length_at_least,
    length_at_most,
    ranks,
    sum_error,
    up,
)
from .bounds import check_units


@dataclass(frozen=True, eq=False)
class Diameter:
    """diam M = max ‖μ − μ′‖, between bounds.

    Attributes
    ----------
    lower, upper : floats; `lower` is the distance of the witnesses, `upper` is proved
    witnesses : tuple of two Policy that far apart

    Examples
    --------
    >>> import teachirl as ti
    >>> size = ti.diameter(ti.worlds.chain(3))
    >>> size.lower <= size.upper, len(size.witnesses)
    (True, 2)
    """

    lower: float
    upper: float
    witnesses: tuple[Policy, Policy]


def diameter(mdp: MDP, *, starts: int = 8) -> Diameter:
    """How far apart the feature expectations of two policies can be.

    To maximise a convex function is hard, so this is an interval. From below: alternately take the
    two policies that are farthest apart in a direction, and their difference as the next direction,
    from `starts` directions. From above: boxes around M, and the diameter of the features.

    Parameters
    ----------
    mdp : MDP
    starts : int, how many directions to start from

    Returns
    -------
    Diameter

    Examples
    --------
    >>> import teachirl as ti
    >>> size = ti.diameter(ti.worlds.chain(5))
    >>> print(f"between {size.lower:.4f} and {size.upper:.4f}")
    between 8.2984 and 9.4175
    """
    check_is_mdp(mdp)
    require(starts >= 1, f"starts must be at least 1, got {starts}")
    k = mdp.n_features
    upper, widths = _around(mdp, 1e-10)
    order = np.arange(0, k, max(1, k // starts))
    if widths is not None:
        order = np.argsort(ranks(widths, INVISIBLE * widths.max(initial=0.0)), kind="stable")
    found = [_farthest(mdp, (np.arange(k) == start).astype(float)) for start in order[:starts]]
    longest = max(each[0] for each in found)
    lower, witnesses, along = found[first_largest([each[0] for each in found], INVISIBLE * longest)]
    if widths is not None and lower > 0.0:
        axes = np.eye(k)
        aligned = np.linalg.qr(np.column_stack([along, axes]))[0].T[:k]
        # ‖v‖² is at most Σ⟨u_i, v⟩²/(1 − ‖UUᵀ − I‖): the axes are orthonormal up to rounding only.
        skew = length_at_most(aligned @ aligned.T - axes) + sum_error(k, float(k))
        if skew < 0.5:
            widest = length_at_most(_widths(mdp, aligned, 1e-10))
            upper = min(upper, up(widest / math.sqrt(1.0 - skew)))
    doubt = 2.0 * length_at_most(expectation_errors(mdp))
    return Diameter(max(down(lower - doubt), 0.0), upper, witnesses)


def diameter_at_most(mdp: MDP) -> float:
    """A bound on diam M from above: that of `diameter`, but for policies that are not sought, and
    digits that nobody sees.

    Parameters
    ----------
    mdp : MDP

    Returns
    -------
    float

    Examples
    --------
    >>> import teachirl as ti
    >>> from teachirl.guarantees.diameter import diameter_at_most
    >>> print(f"{diameter_at_most(ti.worlds.chain(5)):.4f}")
    9.4175
    """
    check_is_mdp(mdp)
    return _around(mdp, 1e-8)[0]


def _around(mdp: MDP, tolerance: float) -> tuple[float, Floats | None]:
    """diam M at most, by the features' own and by the widths of the box around M; these [k] as
    well, unless there are too many."""
    check_units(mdp)
    k, gamma = mdp.n_features, mdp.discount
    # From one state on the start is the same for all, and so is what it shows of state features.
    first = 1.0 if mdp.features_per_pair else gamma
    upper = first * feature_diameter(mdp) / (1.0 - gamma) * ROUNDED_UP
    # Rows sum to 1 up to rounding, and so policies may differ in how long they live.
    upper += 2.0 * rounding_of(mdp.dynamics.layout) * mdp.largest_feature / (1.0 - gamma) ** 2
    # Beyond this many numbers the box is not computed: 2k MDP solves.
    if k * max(k, mdp.n_states) > 10_000_000:
        return upper, None
    widths = _widths(mdp, np.eye(k), tolerance)
    return min(upper, length_at_most(widths)), widths


def _widths(mdp: MDP, directions: Floats, tolerance: float) -> Floats:
    """Upper bounds [n] on max ⟨u, μ⟩ − min ⟨u, μ⟩ for the directions u [n, k]."""
    both = np.vstack([directions, -directions])
    most = optimal_policies(mdp, both, tolerance=tolerance).upper
    return np.maximum(np.nextafter(most[: len(directions)] + most[len(directions) :], np.inf), 0.0)


def _farthest(mdp: MDP, direction: Floats) -> tuple[float, tuple[Policy, Policy], Floats]:
    """Two policies far apart, found from a direction; their distance and difference."""
    found: tuple[float, tuple[Policy, Policy], Floats] | None = None
    while True:
        pair = (optimal_policy(mdp, direction).policy, optimal_policy(mdp, -direction).policy)
        step = feature_expectations(mdp, pair[0]) - feature_expectations(mdp, pair[1])
        length = length_at_least(step)
        if found is not None and length <= found[0] * (1.0 + 1e-9):
            return found
        direction = step / length if length > 0.0 else direction
        found = (length, pair, direction)
