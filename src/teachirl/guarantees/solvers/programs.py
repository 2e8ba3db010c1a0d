"""The exact worst case as one linear or cone program, with bounds that do not trust the solver.

Occupancy measures are the x ≥ 0 [P] with Σ_a x(s, a) − γ Σ T(s | s′, a′) x(s′, a′) = start(s). With
the demonstrated μ_T, the worst that a learner with worldview A can do is

    g = min ⟨w, Φᵀx⟩  such that  ‖A(Φᵀx − μ_T)‖ ≤ ε.

At ε = 0 it is a linear program, in two forms: *direct*, with the constraint QΦᵀx = Qμ_T on the
pairs (Q an orthonormal basis of A's rows), for the dual simplex; *lifted*, with variables μ = Φᵀx
that Q acts on, which keeps the constraints sparse, for an interior point method. For any ε it is a
second-order *cone* program, lifted likewise.

What a solver returns is a suggestion. Its multipliers θ of the constraint give a lower bound by

    g ≥ ⟨θ, Aμ_T⟩ − ε‖θ‖ + min_{μ ∈ M} ⟨w − Aᵀθ, μ⟩,                                          (★)

whatever θ is; the minimum is planned with certified bounds, and all rounding is subtracted. Its x
becomes a policy, the *witness*, and what that is worth is computed anew. With w = 0, a positive
right hand side of (★) proves that no policy matches the demonstration; nothing is declared
infeasible without such a proof.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ...arrays import Floats, at, frozen
from ...errors import require
from ...mdp import clock
from ...mdp.model import MDP
from ...mdp.occupancy import expectation_error, expectations_of, policy_from_occupancy
from ...mdp.occupancy import occupancy as occupancy_of
from ...mdp.planning import optimal_policy, worst_policy
from ...mdp.policy import Policy
from ...precision import FINEST, SOLVED, up
from ...views.worldview import Worldview
from ..bounds import (
    WorstCaseBounds,
    WorstCaseStatus,
    check_limits,
    checked_case,
    lower_bound,
    matching_room,
    mirrored,
)
from .program_forms import Answer, Problem, solve_cone, solve_linear

Form: TypeAlias = Literal["direct", "lifted", "cone"]
FORMS: tuple[Form, ...] = ("direct", "lifted", "cone")


def solve_program(
    mdp: MDP,
    view: Worldview,
    weights: ArrayLike,
    expectations: ArrayLike,
    mismatch: float = 0.0,
    *,
    form: Form = "lifted",
    occupancy: ArrayLike | None = None,
    maximise: bool = False,
    tolerance: float = 1e-6,
    max_seconds: float = math.inf,
) -> WorstCaseBounds:
    """The least reward ⟨weights, μ⟩ of all policies that match the demonstration in the learner's
    view.

    Parameters
    ----------
    weights : array [k]
    expectations : array [k], μ_T, what is demonstrated; it need not be that of a policy
    mismatch : ε, how far ‖A(μ − μ_T)‖ may be from 0; only the cone program takes one above 0
    form : ``"direct"``, ``"lifted"`` or ``"cone"``
    occupancy : array [P] of a policy that matches, if one is known, such as the demonstrated one.
        It makes the program feasible exactly, and not only up to rounding
    maximise : the most instead of the least
    tolerance : how far apart the bounds may be, as a fraction of max R − min R
    max_seconds : how long the solvers may run in all; certifying comes on top

    Examples
    --------
    >>> import teachirl as ti
    >>> from teachirl.guarantees.solvers.programs import solve_program
    >>> from teachirl.views.worldview import Worldview
    >>> mdp = ti.worlds.chain(5)
    >>> right = ti.Policy.deterministic(mdp, [1, 1, 1, 1, 0])
    >>> view, w = Worldview.select(mdp, ["cell 3"]), [-2, -1, 0, 1, 2]
    >>> found = solve_program(mdp, view, w, ti.feature_expectations(mdp, right))
    >>> round(found.lower, 4), round(found.upper, 4), found.status
    (-12.4086, -12.4086, OPTIMAL)
    """
    w, target = checked_case(mdp, view, weights, expectations, mismatch)
    check_limits(tolerance, max_seconds)
    require(form in FORMS, f"form must be one of {', '.join(FORMS)}, got {form!r}")
    require(
        mismatch == 0.0 or form == "cone",
        f"mismatch {mismatch!r} needs the form 'cone'; linear programs match exactly",
    )
    deadline = clock.seconds() + max_seconds
    problem = Problem(mdp, view, -w if maximise else w, target, float(mismatch), deadline)
    x = None if occupancy is None else _checked_occupancy(problem, occupancy)
    found = _solve(problem, form, x, tolerance)
    return mirrored(found) if maximise else found


@dataclass(frozen=True, eq=False)
class _Witness:
    policy: Policy
    x: Floats
    value: float
    matched: float
    fits: bool


def _witness(problem: Problem, x: Floats) -> _Witness:
    """The policy of an occupancy that may be slightly wrong, and what it really does."""
    mdp, view = problem.mdp, problem.view
    policy = policy_from_occupancy(mdp, np.maximum(x, 0.0))
    x = occupancy_of(mdp, policy)
    mu = expectations_of(mdp, x)
    off = mu - problem.target
    matched = float(np.linalg.norm(view.matrix @ off))
    if problem.mismatch:
        room = matching_room(mdp) * float(np.linalg.norm(view.matrix * problem.largest))
        fits = matched <= problem.mismatch + room / (1.0 - mdp.discount)
    else:
        rooms = matching_room(mdp) * problem.most + 10.0 * SOLVED * problem.terms
        fits = bool((np.abs(view.basis @ off) <= rooms / (1.0 - mdp.discount)).all())
    # The policy itself earns at most this, whatever rounding did.
    value = up(float(problem.w @ mu) + expectation_error(mdp, problem.w))
    return _Witness(policy, x, value, matched, fits)


class _Findings:
    """What is known so far: witnesses, and the θ that proves most."""

    def __init__(self, problem: Problem, x: Floats | None) -> None:
        self.problem = problem
        self.witnesses = [] if x is None else [_witness(problem, x)]
        self.theta, self.lower = np.zeros(problem.view.n_rows), -math.inf
        self.solves, self.late = 0, False

    def add(self, answer: Answer) -> None:
        self.late |= answer.late
        if answer.x is not None:
            self.witnesses.append(_witness(self.problem, answer.x))
        if answer.theta is not None:
            self.prove(answer.theta)

    def prove(self, theta: Floats) -> None:
        self.solves += 1
        case = self.problem
        bound = lower_bound(case.mdp, case.view, case.w, case.target, case.mismatch, theta)
        if bound > self.lower:
            self.lower, self.theta = bound, theta

    @property
    def fitting(self) -> list[_Witness]:
        return [witness for witness in self.witnesses if witness.fits]

    def best(self) -> _Witness | None:
        """The worst of those that match, and of those that do once they are mixed with another."""
        allowed = self.problem.mismatch
        if not self.fitting:
            return min(self.witnesses, key=lambda witness: witness.matched, default=None)
        if not allowed:
            return min(self.fitting, key=lambda witness: witness.value)
        # The mismatch of a mixture is at most the mixture of theirs; aim a little inside.
        aim = allowed * (1.0 - 1e-9)
        matching = [witness for witness in self.witnesses if witness.matched <= allowed]
        for one, other in itertools.product(self.witnesses, tuple(matching)):
            if one.matched > allowed and other.matched < aim and one.value < other.value:
                share = (one.matched - aim) / (one.matched - other.matched)
                matching.append(_witness(self.problem, (1.0 - share) * one.x + share * other.x))
        return min(matching or self.fitting, key=lambda witness: witness.value)

    def result(self, status: WorstCaseStatus) -> WorstCaseBounds:
        best = self.best()
        upper = math.inf if best is None else best.value
        if status is WorstCaseStatus.INFEASIBLE:
            upper = self.lower = math.inf
        return WorstCaseBounds(
            # A witness that misses by rounding may earn that much less than any that matches.
            lower=min(self.lower, upper),
            upper=upper,
            theta=frozen(self.theta),
            witness=None if best is None else best.policy,
            occupancy=None if best is None else frozen(best.x),
            matched=math.inf if best is None else best.matched,
            solves=self.solves,
            status=status,
        )


def _solve(problem: Problem, form: Form, x: Floats | None, tolerance: float) -> WorstCaseBounds:
    mdp, w = problem.mdp, problem.w
    least = float(np.finfo(float).tiny)
    finest = max(FINEST * float(np.linalg.norm(w)) * mdp.largest_feature, least)
    span = optimal_policy(mdp, w, tolerance=1e-6).lower - worst_policy(mdp, w, tolerance=1e-6).upper
    asked = max(tolerance * span, finest / (1.0 - mdp.discount))
    found = _Findings(problem, x)

    def close() -> bool:
        best = found.best()
        return best is not None and best.fits and best.value - found.lower <= asked

    if form == "cone":
        found.add(solve_cone(problem))
    else:
        found.add(solve_linear(problem, x, lifted=form == "lifted"))
    if not found.fitting:
        # Either no policy matches, or rounding made it look so: the nearest policy tells.
        near = (solve_cone if problem.mismatch else solve_linear)(problem, nearest=True)
        nothing = _Findings(replace(problem, w=np.zeros_like(w)), near.x)
        if near.theta is not None:
            nothing.prove(near.theta)
        if nothing.lower > 0.0:
            nothing.witnesses += found.witnesses
            nothing.solves += found.solves
            return nothing.result(WorstCaseStatus.INFEASIBLE)
        found.add(replace(near, theta=None))
        found.solves += nothing.solves
    if not close() and not found.late:
        # A vertex that matches exactly: what the interior point of a cone program may fail to
        # do, and what mixes well with a witness that misses a tiny mismatch by a little.
        exact = replace(problem, mismatch=0.0)
        known = min(found.witnesses, key=lambda witness: witness.matched, default=None)
        centred = known is not None and (not problem.mismatch or _witness(exact, known.x).fits)
        found.add(solve_linear(exact, known.x if known and centred else None))
    if not close():
        # The width certificate: θ is what the learner can express of w.
        found.prove(problem.theta(problem.scales * (problem.view.basis @ w)))
    if close():
        return found.result(WorstCaseStatus.OPTIMAL)
    return found.result(WorstCaseStatus.OUT_OF_BUDGET if found.late else WorstCaseStatus.INACCURATE)


def _checked_occupancy(problem: Problem, occupancy: ArrayLike) -> Floats:
    x = np.asarray(occupancy, dtype=float)
    shape = (problem.mdp.n_pairs,)
    require(x.shape == shape, f"occupancy must have shape {shape}, got {x.shape}")
    bad = np.argwhere(~(x >= 0.0) | ~np.isfinite(x))
    require(len(bad) == 0, f"occupancy must be non-negative and finite, got {at(x, bad)}")
    known = _witness(problem, x)
    require(
        known.fits,
        "occupancy must be of a policy that matches the expectations, but misses them by "
        f"{known.matched:.3g} in the view",
    )
    return known.x


__all__ = ["FORMS", "Form", "solve_program"]
