"""The polytope M = μ(Π) of feature expectations, and the fibre over a demonstration.

A learner with worldview A who matches a demonstrated μ_T up to ε may have any policy of the fibre
{μ ∈ M : ‖A(μ − μ_T)‖ ≤ ε}. The worst of them is what a teacher must reckon with, the best is the
luck there is; either is one linear or cone program.
"""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats, as_floats, check_finite
from ..demonstrations.demonstration import Demonstration, as_demonstration
from ..errors import InvalidInputError, require
from ..mdp import clock
from ..mdp.estimated import AnyMDP, EstimatedMDP
from ..mdp.model import MDP
from ..mdp.occupancy import occupancy
from ..mdp.policy import Policy
from ..mdp.rewards.rewards import Rewards, refuse_rewards
from ..views.worldview import Worldview, check_worldview
from .bounds import (
    WorstCaseBounds,
    WorstCaseStatus,
    check_limits,
    checked_case,
    mirrored,
    unsearched,
)
from .plausible.certificate import RewardsCertificate, over_rewards
from .plausible.judgement import Criterion, Judgement
from .plausible.race import Posed
from .solvers.bundle import worst_case_by_bundle
from .solvers.in_doubt import worst_case_in_doubt
from .solvers.programs import FORMS, solve_program

Method: TypeAlias = Literal["auto", "bundle", "direct", "lifted", "cone"]
METHODS: tuple[Method, ...] = ("auto", "bundle", *FORMS)

# Up to this many states a cone program takes seconds at most.
SMALL = 1000
# Seconds that stand for none left, as a limit is more than 0; and to evaluate what is shown, beyond
# the limit.
LEAST, GRACE = 1e-9, 1.0
TOO_SHORT = "max_seconds must suffice to evaluate one policy: without that, nothing is known"


@overload
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
) -> WorstCaseBounds: ...
@overload
def worst_case(
    mdp: AnyMDP,
    view: Worldview,
    weights: Rewards,
    demonstration: Demonstration | Policy,
    mismatch: float = 0.0,
    *,
    method: Method = "auto",
    tolerance: float = 1e-6,
    max_seconds: float = math.inf,
    start: ArrayLike | None = None,
) -> RewardsCertificate: ...
def worst_case(
    mdp: AnyMDP,
    view: Worldview,
    weights: ArrayLike | Rewards,
    demonstration: Demonstration | Policy,
    mismatch: float = 0.0,
    *,
    method: Method = "auto",
    tolerance: float = 1e-6,
    max_seconds: float = math.inf,
    start: ArrayLike | None = None,
) -> WorstCaseBounds | RewardsCertificate:
    """The least reward of all policies that match the demonstration in the learner's view.

    Where the world is known from a log, in every world that the log allows: exactly, if what is
    shown was recorded there. If a policy is shown, what it shows depends on the world; the bound
    then lets demonstration and learner live in different ones, and the witness as well.

    Parameters
    ----------
    mdp : MDP or EstimatedMDP
    view : Worldview
    weights : array [k], or Rewards if several are plausible: then the least over all of them
    demonstration : Demonstration or Policy that the learner is shown
    mismatch : float, ε, how far ‖A(μ − μ_T)‖ may be from 0, μ_T being what the demonstration says
    method : "bundle", or the programs "direct", "lifted", "cone"; "auto" chooses. An EstimatedMDP
        takes the bundle only
    tolerance : float, how far apart the bounds may be, as a fraction of max R − min R
    max_seconds : float, how long to search; out of time, it returns what it has proved
    start : array [ℓ], the `theta` of an earlier search, to go on from; of the bundle alone

    Returns
    -------
    WorstCaseBounds, with ``lower`` proved and ``upper`` reached by ``witness``; of several rewards
    RewardsCertificate, with the ``weights`` under which it is worst

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
        refuse_rewards(weights, "a search starts from the theta of one")
        limits["start"] = _checked_start(start, view.n_rows)
    if not isinstance(weights, Rewards):
        return _extreme(mdp, view, weights, demonstration, mismatch, method, limits)
    return over_rewards(
        posed(mdp, view, demonstration, mismatch, method, tolerance, max_seconds),
        weights,
        Judgement(Criterion.REWARD),
        tolerance=tolerance,
        max_seconds=max_seconds,
    )


def posed(
    mdp: AnyMDP,
    view: Worldview,
    demonstration: Demonstration | Policy,
    mismatch: float,
    method: Method,
    tolerance: float,
    max_seconds: float,
) -> Posed:
    """A learner and a demonstration, and how the worst case of any reward is found."""
    deadline = clock.seconds() + max_seconds
    shown = clock.in_time(deadline + GRACE, lambda: as_demonstration(mdp, demonstration))
    if shown is None:
        raise InvalidInputError(TOO_SHORT)
    checked_case(mdp, view, np.zeros(mdp.n_features), shown.expectations, mismatch)

    def solve(w: Floats, start: Floats | None, roughly: float, enough: float) -> WorstCaseBounds:
        left, near = max(deadline - clock.seconds(), LEAST), max(tolerance, roughly)
        limits = {"tolerance": near, "max_seconds": left, "maximise": False, "start": start}
        limits["enough"] = enough
        return _extreme(mdp, view, w, shown, mismatch, method, limits)

    return Posed(mdp, view, shown, float(mismatch), solve)


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
    refuse_rewards(weights, "the most that luck brings is of one reward")
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
    check_limits(limits["tolerance"], limits["max_seconds"])
    require(method in METHODS, f"method must be one of {', '.join(METHODS)}, got {method!r}")
    require(
        not mismatch or method not in ("direct", "lifted"),
        f"method {method!r} matches exactly; with a mismatch use 'bundle' or 'cone'",
    )
    check_worldview(view, mdp)
    deadline = clock.seconds() + limits["max_seconds"]
    # To evaluate a policy takes time as well, and without it there is nothing to search.
    shown = clock.in_time(deadline + GRACE, lambda: as_demonstration(mdp, demonstration))
    if shown is None:
        w, _ = checked_case(mdp, view, weights, np.zeros(mdp.n_features), mismatch)
        if limits["maximise"]:
            return mirrored(unsearched(mdp, view, -w))
        return unsearched(mdp, view, w)
    limits = limits | {"max_seconds": max(deadline - clock.seconds(), LEAST)}
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
        proved = found.lower >= limits.get("enough", math.inf)
        if method != "auto" or not stuck or proved or mdp.n_states > SMALL:
            return found
        chosen = "cone"  # where rounding stops the one, the other may still get there
    limits = {key: limit for key, limit in limits.items() if key not in ("start", "enough")}
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
