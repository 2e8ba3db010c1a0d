"""The polytope M = μ(Π) of feature expectations: its width, and the fibre over a demonstration.

A learner with worldview A who matches a demonstrated μ_T up to ε may have any policy of the fibre
{μ ∈ M : ‖A(μ − μ_T)‖ ≤ ε}. The worst of them is what a teacher must reckon with, the best is the
luck there is; either is one linear or cone program. Theorem 1 of the paper knows M's diameter only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats, as_floats, check_finite
from ..demonstrations.demonstration import Demonstration, as_demonstration
from ..demonstrations.error_bounds import feature_diameter
from ..errors import require
from ..mdp.estimated import AnyMDP, EstimatedMDP
from ..mdp.kernels import rounding_of
from ..mdp.model import MDP, check_is_mdp
from ..mdp.occupancy import expectation_errors, feature_expectations, occupancy
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
from ..views.worldview import Worldview, check_worldview
from .bounds import WorstCaseBounds, WorstCaseStatus, check_units
from .solvers.bundle import worst_case_by_bundle
from .solvers.in_doubt import worst_case_in_doubt
from .solvers.programs import FORMS, solve_program

Method: TypeAlias = Literal["auto", "bundle", "direct", "lifted", "cone"]
METHODS: tuple[Method, ...] = ("auto", "bundle", *FORMS)

# Up to this many states a cone program takes seconds at most.
SMALL = 1000


def worst_case(
    mdp: AnyMDP,
    view: Worldview,
    weights: ArrayLike,
    demonstration: Demonstration | Policy,
    mismatch: float = 0.0,
    *,
    method: Method = "auto",
    tolerance: float = 1e-6,
    max_seconds: float = math.inf,
    start: ArrayLike | None = None,
) -> WorstCaseBounds:
    """The least reward of all policies that match the demonstration in the learner's view.

    Where the world is known from a log, in every world that the log allows: exactly, if what is
    shown was recorded there. If a policy is shown, what it shows depends on the world; the bound
    then lets demonstration and learner live in different ones, and the witness as well.

    Parameters
    ----------
    mdp : MDP or EstimatedMDP
    view : Worldview
    weights : array [k]
    demonstration : Demonstration or Policy that the learner is shown
    mismatch : float, ε, how far ‖A(μ − μ_T)‖ may be from 0, μ_T being what the demonstration says
    method : "bundle", or the programs "direct", "lifted", "cone"; "auto" chooses. An EstimatedMDP
        takes the bundle only
    tolerance : float, how far apart the bounds may be, as a fraction of max R − min R
    max_seconds : float, how long to search; out of time, it returns what it has proved
    start : array [ℓ], the `theta` of an earlier search, to go on from; of the bundle alone

    Returns
    -------
    WorstCaseBounds, with ``lower`` proved and ``upper`` reached by ``witness``

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> view = ti.Worldview.select(mdp, ["cell 3"])
    >>> weights = [-2, -1, 0, 1, 2]
    >>> best = ti.optimal_policy(mdp, weights)
    >>> worst = ti.worst_case(mdp, view, weights, best.policy)
    >>> print(f"{best.value:.4f}; a match may earn {worst.lower:.4f}")
    12.4086; a match may earn -12.4086
    >>> worst.witness.actions  # left, left, and for ever between the first two cells
    array([1, 0, 0, 0, 0])
    """
    limits: dict[str, Any] = {"tolerance": tolerance, "max_seconds": max_seconds}
    limits["maximise"] = False
    check_worldview(view, mdp)
    if start is not None:
        limits["start"] = _checked_start(start, view.n_rows)
    return _extreme(mdp, view, weights, demonstration, mismatch, method, limits)


def best_case(
    mdp: AnyMDP,
    view: Worldview,
    weights: ArrayLike,
    demonstration: Demonstration | Policy,
    mismatch: float = 0.0,
    *,
    method: Method = "auto",
    tolerance: float = 1e-6,
    max_seconds: float = math.inf,
) -> WorstCaseBounds:
    """The most that a policy earns which matches the demonstration: as `worst_case`, with luck.

    Parameters
    ----------
    mdp : MDP or EstimatedMDP
    view : Worldview
    weights : array [k]
    demonstration : Demonstration or Policy that the learner is shown
    mismatch, method, tolerance, max_seconds : float, str, float, float, as for `worst_case`

    Returns
    -------
    WorstCaseBounds, with ``upper`` proved and ``lower`` reached by ``witness``

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp, weights = ti.worlds.chain(5), [-2, -1, 0, 1, 2]
    >>> view = ti.Worldview.select(mdp, ["cell 3"])
    >>> worst = ti.worst_policy(mdp, weights).policy
    >>> print(f"{ti.best_case(mdp, view, weights, worst).upper:.4f}")
    12.4086
    """
    limits = {"tolerance": tolerance, "max_seconds": max_seconds, "maximise": True}
    return _extreme(mdp, view, weights, demonstration, mismatch, method, limits)


def _extreme(
    mdp: AnyMDP,
    view: Worldview,
    weights: ArrayLike,
    demonstration: Demonstration | Policy,
    mismatch: float,
    method: Method,
    limits: dict[str, Any],
) -> WorstCaseBounds:
    shown = as_demonstration(mdp, demonstration)
    require(method in METHODS, f"method must be one of {', '.join(METHODS)}, got {method!r}")
    require(
        not mismatch or method not in ("direct", "lifted"),
        f"method {method!r} matches exactly; with a mismatch use 'bundle' or 'cone'",
    )
    check_worldview(view, mdp)
    # The policy is one that matches only if what is shown is exactly what it does.
    policy = shown.policy if shown.error == 0.0 else None
    if isinstance(mdp, EstimatedMDP):
        require(
            method in ("auto", "bundle"),
            f"method {method!r} needs an MDP that is known; of an EstimatedMDP use 'bundle'",
        )
        return worst_case_in_doubt(
            mdp, view, weights, shown.expectations, mismatch, policy=policy, **limits
        )
    chosen = _fastest(mdp, view) if method == "auto" else method
    found: WorstCaseBounds | None = None
    if chosen == "bundle":
        found = worst_case_by_bundle(
            mdp, view, weights, shown.expectations, mismatch, policy=policy, **limits
        )
        stuck = found.status is WorstCaseStatus.INACCURATE or (
            found.status is WorstCaseStatus.OUT_OF_BUDGET and limits["max_seconds"] == math.inf
        )
        if method != "auto" or not stuck or mdp.n_states > SMALL:
            return found
        chosen = "cone"  # where rounding stops the one, the other may still get there
    limits.pop("start", None)
    other = solve_program(
        mdp,
        view,
        weights,
        shown.expectations,
        mismatch,
        form=chosen,
        occupancy=None if policy is None else occupancy(mdp, policy),
        **limits,
    )
    settled = other.status in (WorstCaseStatus.OPTIMAL, WorstCaseStatus.INFEASIBLE)
    return other if found is None or settled else found


def _checked_start(start: ArrayLike, rows: int) -> Floats:
    theta = as_floats("start", start)
    require(theta.shape == (rows,), f"start must have shape ({rows},), got {theta.shape}")
    check_finite("start", theta)
    return theta


def _fastest(mdp: MDP, view: Worldview) -> Literal["bundle", "cone"]:
    """The bundle, but for few states that move at random, seen in many ways: the cone program.

    The bundle's factorisations and its master problem then cost most. Found by measuring.
    """
    sure = mdp.dynamics.deterministic
    many = 60 if mdp.discount < 0.95 else 30
    return "cone" if not sure and mdp.n_states <= SMALL and view.rank >= many else "bundle"


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
    >>> from teachirl.guarantees.worst_case import diameter_at_most
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
