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
import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from .bounds import (
    WorstCaseBounds,
    WorstCaseStatus,
    expectation_error,
    largest_entries,
    lower_bound,
)
from .checks import Floats, at, frozen
from .errors import require
from .mdp import MDP
from .occupancies import occupancy as occupancy_of
from .occupancies import policy_from_occupancy
from .policy import Policy
from .worldview import Worldview

_EPS = float(np.finfo(float).eps)
_TINY = float(np.finfo(float).tiny)
# A witness matches if it misses each row's target by less than this share of what the row can be.
MATCHED = 1e-9
# No bounds are asked to be closer than this share of ‖w‖ max‖φ‖/(1 − γ).
FINEST = 1e-10
# What is left of a row by cancellation, relative to its terms, is rounding: no constraint.
UNSEEN = 1e-12

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
    """The least reward ⟨weights, μ⟩ of all policies that match the demonstration in her view.

    Parameters
    ----------
    weights : array [k]
    expectations : array [k], μ_T, what is demonstrated; it need not be that of a policy
    mismatch : ε, how far ‖A(μ − μ_T)‖ may be from 0; only the cone program takes one above 0
    form : ``"direct"``, ``"lifted"`` or ``"cone"``
    occupancy : array [P] of a policy that matches, if one is known, such as the demonstrated one.
        It makes the program feasible exactly, and not only up to rounding
    maximise : the most instead of the least
    tolerance : how far apart the bounds may be, as a fraction of the range that returns could have,
        (max reward − min reward)/(1 − γ)
    max_seconds : how long the solvers may run in all; certifying comes on top

    Examples
    --------
    >>> import teachirl as ti
    >>> from teachirl.programs import solve_program
    >>> from teachirl.worldview import Worldview
    >>> mdp = ti.worlds.chain(5)
    >>> right = ti.Policy.deterministic(mdp, [1, 1, 1, 1, 0])
    >>> view, w = Worldview.select(mdp, ["cell 3"]), [-2, -1, 0, 1, 2]
    >>> found = solve_program(mdp, view, w, ti.feature_expectations(mdp, right))
    >>> round(found.lower, 4), round(found.upper, 4), found.status
    (-12.4086, -12.4086, OPTIMAL)
    """
    view.check(mdp)
    w, target = mdp.checked_weights(weights), mdp.checked_weights(expectations)
    require(w.ndim == 1, f"weights must have shape ({mdp.n_features},), got {w.shape}")
    require(
        target.ndim == 1, f"expectations must have shape ({mdp.n_features},), got {target.shape}"
    )
    require(form in FORMS, f"form must be one of {', '.join(FORMS)}, got {form!r}")
    require(0.0 <= mismatch < math.inf, f"mismatch must be non-negative, got {mismatch!r}")
    require(
        mismatch == 0.0 or form == "cone",
        f"mismatch {mismatch!r} needs the form 'cone'; linear programs match exactly",
    )
    require(tolerance > 0.0, f"tolerance must be positive, got {tolerance!r}")
    require(max_seconds > 0.0, f"max_seconds must be positive, got {max_seconds!r}")
    deadline = time.monotonic() + max_seconds
    problem = _Problem(mdp, view, -w if maximise else w, target, float(mismatch), deadline)
    x = None if occupancy is None else _checked_occupancy(problem, occupancy)
    found = _solve(problem, form, x, tolerance)
    if maximise:
        found = replace(found, lower=-found.upper, upper=-found.lower, theta=frozen(-found.theta))
    return found


@dataclass(frozen=True, eq=False)
class _Answer:
    """What a solver suggests: an occupancy [P], multipliers [ℓ], and whether it ran out of time."""

    x: Floats | None
    theta: Floats | None
    late: bool


@dataclass(frozen=True, eq=False)
class _Witness:
    policy: Policy
    x: Floats
    value: float
    matched: float
    fits: bool


@dataclass(frozen=True, eq=False)
class _Problem:
    """The program in units in which all is about 1: (1 − γ)x, which sums to 1, and scaled rows."""

    mdp: MDP
    view: Worldview
    w: Floats
    target: Floats
    mismatch: float
    deadline: float

    @cached_property
    def rewards(self) -> Floats:
        """⟨w, φ⟩ of each pair, [P]."""
        r = self.mdp.rewards(self.w)
        return r if self.mdp.features_per_pair else r[self.mdp.dynamics.pair_states]

    @cached_property
    def unit(self) -> float:
        """Half the range of the rewards; 0 if they differ by rounding only."""
        r = self.rewards
        half = 0.5 * float(r.max() - r.min())
        return half if half > 1e-13 * float(np.abs(r).max()) else 0.0

    @cached_property
    def cost(self) -> Floats:
        """The rewards, centred and in units, [P]: between −1 and 1."""
        r = self.rewards
        if self.unit == 0.0:
            return np.zeros(len(r))
        return np.asarray((r - 0.5 * (r.max() + r.min())) / self.unit)

    @cached_property
    def flow(self) -> sp.csr_array:
        """[P, S], a row a pair: the state it leaves less those it reaches, discounted."""
        dynamics, n = self.mdp.dynamics, self.mdp.n_pairs
        leaves = sp.csr_array(
            (np.ones(n), dynamics.pair_states, np.arange(n + 1)), shape=(n, self.mdp.n_states)
        )
        return sp.csr_array(leaves - dynamics.discount * dynamics.transitions)

    @cached_property
    def largest(self) -> Floats:
        """max |φ_j| of each feature, [k]; 1 for features that are always 0."""
        largest = largest_entries(self.mdp)
        return np.where(largest > 0.0, largest, 1.0)

    @cached_property
    def phi(self) -> sp.csr_array:
        """The features over their largest entries, [P, k]."""
        features: Any = self.mdp.features
        scaled = sp.csr_array(sp.csr_array(features) @ sp.diags_array(1.0 / self.largest))
        return scaled if self.mdp.features_per_pair else scaled[self.mdp.dynamics.pair_states]

    @cached_property
    def terms(self) -> Floats:
        """The size of what a row of Q adds up, [r]."""
        return np.asarray(np.abs(self.view.basis) @ self.largest)

    @cached_property
    def most(self) -> Floats:
        """What each row of Q can be at most on a pair, [r]."""
        features: Any = self.mdp.features
        return np.asarray(np.abs(features @ self.view.basis.T).max(axis=0, initial=0.0))

    @cached_property
    def seen(self) -> Any:
        """bool [r], the rows of Q that are not zero on all pairs; the others constrain nothing."""
        return self.most > UNSEEN * self.terms

    @cached_property
    def scales(self) -> Floats:
        """By what the rows of Q are divided, [r]."""
        return np.where(self.seen, self.most, self.terms)

    @cached_property
    def rows(self) -> Floats:
        """The rows of Q in scaled units, [r, k]."""
        return self.view.basis / self.scales[:, None]

    def theta(self, multipliers: Floats) -> Floats:
        """θ [ℓ] with Aᵀθ = rowsᵀ · multipliers [r], of least norm once A's rows are normalised."""
        A, Q = self.view.matrix, self.view.basis
        powers = np.frexp(np.abs(A).max(axis=1, initial=0.0))[1]
        even = np.ldexp(A, -powers[:, None])  # by powers of two, so that nothing is rounded
        solved = np.linalg.lstsq((even @ Q.T).T, multipliers / self.scales, rcond=None)[0]
        return np.asarray(np.ldexp(solved, -powers))

    def seconds(self) -> float:
        """How long a solver may still run."""
        return max(self.deadline - time.monotonic(), 1e-9)

    def bound(self, theta: Floats) -> float:
        return lower_bound(self.mdp, self.view, self.w, self.target, self.mismatch, theta)

    def witness(self, x: Floats) -> _Witness:
        """The policy of an occupancy that may be slightly wrong, and what it really does."""
        mdp, A = self.mdp, self.view.matrix
        policy = policy_from_occupancy(mdp, np.maximum(x, 0.0))
        x = occupancy_of(mdp, policy)
        mu = _expectations(mdp, x)
        off = mu - self.target
        matched = float(np.linalg.norm(A @ off))
        if self.mismatch:
            room = MATCHED * float(np.linalg.norm(A * self.largest))
            fits = matched <= self.mismatch + room / (1.0 - mdp.discount)
        else:
            rooms = MATCHED * self.most + 10.0 * UNSEEN * self.terms
            fits = bool((np.abs(self.view.basis @ off) <= rooms / (1.0 - mdp.discount)).all())
        # The policy itself earns at most this, whatever rounding did.
        value = float(self.w @ mu) + expectation_error(mdp, self.w)
        return _Witness(policy, x, value, matched, fits)


class _Findings:
    """What is known so far: witnesses, and the θ that proves most."""

    def __init__(self, problem: _Problem, x: Floats | None) -> None:
        self.problem = problem
        self.witnesses = [] if x is None else [problem.witness(x)]
        self.theta, self.lower = np.zeros(problem.view.n_rows), -math.inf
        self.solves, self.late = 0, False

    def add(self, answer: _Answer) -> None:
        self.late |= answer.late
        if answer.x is not None:
            self.witnesses.append(self.problem.witness(answer.x))
        if answer.theta is not None:
            self.prove(answer.theta)

    def prove(self, theta: Floats) -> None:
        self.solves += 1
        bound = self.problem.bound(theta)
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
                matching.append(self.problem.witness((1.0 - share) * one.x + share * other.x))
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


def _solve(problem: _Problem, form: Form, x: Floats | None, tolerance: float) -> WorstCaseBounds:
    mdp, w = problem.mdp, problem.w
    finest = FINEST * float(np.linalg.norm(w)) * mdp.largest_feature
    asked = max(tolerance * 2.0 * problem.unit, finest, _TINY) / (1.0 - mdp.discount)
    found = _Findings(problem, x)

    def close() -> bool:
        best = found.best()
        return best is not None and best.fits and best.value - found.lower <= asked

    if form == "cone":
        found.add(_solve_cone(problem))
    else:
        found.add(_solve_linear(problem, x, lifted=form == "lifted"))
    if not found.fitting:
        # Either no policy matches, or rounding made it look so: the nearest policy tells.
        near = (_solve_cone if problem.mismatch else _solve_linear)(problem, nearest=True)
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
        centred = known is not None and (not problem.mismatch or exact.witness(known.x).fits)
        found.add(_solve_linear(exact, known.x if known and centred else None))
    if not close():
        # The width certificate: θ is what she can express of w.
        found.prove(problem.theta(problem.scales * (problem.view.basis @ w)))
    if close():
        return found.result(WorstCaseStatus.OPTIMAL)
    return found.result(WorstCaseStatus.OUT_OF_BUDGET if found.late else WorstCaseStatus.INACCURATE)


def _solve_linear(
    problem: _Problem, x: Floats | None = None, *, lifted: bool = True, nearest: bool = False
) -> _Answer:
    """The linear program in (1 − γ)(y − x), if an x that matches is known, else in (1 − γ)y.

    If `nearest`, the least 1-norm of what any policy misses of the target, in the rows of Q; its θ
    makes (★) with w = 0 as large as it gets.
    """
    mdp, away = problem.mdp, 1.0 - problem.mdp.discount
    n_pairs, k = mdp.n_pairs, mdp.n_features
    some = np.full(len(problem.rows), True) if nearest else problem.seen
    rows = problem.rows[some]
    # The constraint matrix's transpose, so that a row is a variable: the pairs, then μ.
    if lifted:
        on_mu = sp.csr_array((rows * problem.largest).T)
        blocks: list[list[Any]] = [[problem.flow, problem.phi, None]]
        blocks += [[sp.csr_array((k, mdp.n_states)), -sp.eye_array(k), on_mu]]
        if nearest:
            blocks += [[None, None, sign * sp.eye_array(len(rows))] for sign in (1.0, -1.0)]
        table = sp.block_array(blocks, format="csr")
    else:
        features: Any = mdp.features
        on_pairs = np.asarray(features @ rows.T)
        if not mdp.features_per_pair:
            on_pairs = on_pairs[mdp.dynamics.pair_states]
        table = sp.hstack([problem.flow, sp.csr_array(on_pairs)], format="csr")
    cost, least = np.zeros(table.shape[0]), np.zeros(table.shape[0])
    right = np.zeros(table.shape[1])
    if lifted:
        least[n_pairs : n_pairs + k] = -math.inf
    if nearest:
        cost[n_pairs + k :] = 1.0
    else:
        cost[:n_pairs] = problem.cost
    if x is None:
        right[: mdp.n_states] = away * mdp.start
        right[len(right) - len(rows) :] = away * (rows @ problem.target)
    else:
        least[:n_pairs] = -away * x
    # The interior point method ends with a crossover: it costs little, and a vertex is exact.
    methods = ("ipx", "simplex") if lifted else ("simplex",)
    values, duals, late = _highs(table, cost, least, right, methods, problem.seconds())
    theta = None
    if values is not None:
        values = values[:n_pairs] / away + (0.0 if x is None else x)
    if duals is not None:
        multipliers = np.zeros(len(problem.rows))
        multipliers[some] = duals[len(duals) - len(rows) :]
        theta = problem.theta((1.0 if nearest else problem.unit) * multipliers)
    return _Answer(_finite(values), _finite(theta), late)


def _highs(
    table: sp.csr_array,
    cost: Floats,
    least: Floats,
    right: Floats,
    methods: tuple[str, ...],
    max_seconds: float,
) -> tuple[Floats | None, Floats | None, bool]:
    """min cost · v, tableᵀ v = right, v ≥ least by the first method that works: v, duals, late."""
    import highspy  # deferred: loading it takes longer than many a command

    n_columns, n_rows = table.shape
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = n_columns, n_rows
    program.col_cost_, program.col_lower_ = cost, least
    program.col_upper_ = np.full(n_columns, math.inf)
    program.row_lower_ = program.row_upper_ = right
    matrix = program.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kColwise
    matrix.num_col_, matrix.num_row_ = n_columns, n_rows
    matrix.start_, matrix.index_ = table.indptr, table.indices
    matrix.value_ = np.asarray(table.data, dtype=float)
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]  # so it is declared there
    options = {
        "output_flag": False,
        "time_limit": max_seconds,
        "primal_feasibility_tolerance": 1e-9,
        "dual_feasibility_tolerance": 1e-9,
        "small_matrix_value": 1e-12,
    }
    for name, value in options.items():
        solver.setOptionValue(name, value)
    solver.passModel(program)
    ends, status = highspy.HighsModelStatus, None
    for method in methods:
        solver.setOptionValue("solver", method)
        solver.run()
        status = solver.getModelStatus()
        if status in (ends.kOptimal, ends.kTimeLimit):
            break
    solution = solver.getSolution()
    proved = solution.dual_valid and status == ends.kOptimal
    return (
        np.array(solution.col_value) if solution.value_valid else None,
        np.array(solution.row_dual) if proved else None,
        status == ends.kTimeLimit,
    )


def _solve_cone(problem: _Problem, *, nearest: bool = False) -> _Answer:
    """The cone program, lifted; or, if `nearest` and ε > 0, the least mismatch of any policy.

    The nearest policy's θ makes (★) with w = 0 as large as it gets.
    """
    import clarabel

    mdp, away, ε = problem.mdp, 1.0 - problem.mdp.discount, problem.mismatch
    n_pairs, k = mdp.n_pairs, mdp.n_features
    rows, unit, radius = problem.rows[problem.seen], 1.0, 0.0
    if ε:
        size = float(np.linalg.norm(problem.view.matrix * problem.largest))
        unit = max(size, away * ε)
        rows = problem.view.matrix / unit
        # A little inside, as a solver is only as exact as this.
        radius = max(0.5 * away * ε, away * ε - 0.1 * MATCHED * size) / unit
    shown, on_mu, n_rows = away * (rows @ problem.target), rows * problem.largest, len(rows)
    # Variables: the pairs, μ and, for the nearest, the radius. table · variables + slack = right.
    blocks: list[list[Any]] = [
        [problem.flow.T, sp.csr_array((mdp.n_states, k)), sp.csr_array((mdp.n_states, 1))],
        [problem.phi.T, -sp.eye_array(k), None],
        [-sp.eye_array(n_pairs), None, None],
    ]
    right = [away * mdp.start, np.zeros(k), np.zeros(n_pairs)]
    cones = [clarabel.ZeroConeT(mdp.n_states + k), clarabel.NonnegativeConeT(n_pairs)]
    if n_rows and ε:
        blocks += [[None, None, -sp.eye_array(1)], [None, -sp.csr_array(on_mu), None]]
        right += [np.array([0.0 if nearest else radius]), -shown]
        cones += [clarabel.SecondOrderConeT(n_rows + 1)]
    elif n_rows:
        blocks += [[None, sp.csr_array(on_mu), None]]
        right += [shown]
        cones += [clarabel.ZeroConeT(n_rows)]
    cost = np.concatenate([np.zeros(n_pairs) if nearest else problem.cost, np.zeros(k), [1.0]])
    table = sp.csc_matrix(sp.block_array(blocks))
    if not nearest:
        cost, table = cost[:-1], table[:, :-1]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.time_limit = problem.seconds()
    settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = 1e-10
    square = sp.csc_matrix((len(cost), len(cost)))
    solution = clarabel.DefaultSolver(
        square, cost, table, np.concatenate(right), cones, settings
    ).solve()
    ends = clarabel.SolverStatus
    lost = solution.status in (ends.PrimalInfeasible, ends.AlmostPrimalInfeasible)
    values = None if lost else np.array(solution.x[:n_pairs]) / away
    duals = np.array(solution.z[len(solution.z) - n_rows :])
    duals *= 1.0 if nearest else problem.unit
    if ε:
        theta = duals / unit
    else:
        multipliers = np.zeros(len(problem.rows))
        multipliers[problem.seen] = -duals
        theta = problem.theta(multipliers)
    return _Answer(_finite(values), _finite(theta), solution.status == ends.MaxTime)


def _finite(array: Floats | None) -> Floats | None:
    """None for what a solver that broke down leaves: NaN and ∞."""
    return array if array is not None and bool(np.isfinite(array).all()) else None


def _expectations(mdp: MDP, x: Floats) -> Floats:
    """Φᵀx, [k]."""
    rows = x if mdp.features_per_pair else np.add.reduceat(x, mdp.dynamics.offsets[:-1])
    return np.asarray(mdp.features.T @ rows)


def _checked_occupancy(problem: _Problem, occupancy: ArrayLike) -> Floats:
    x = np.asarray(occupancy, dtype=float)
    shape = (problem.mdp.n_pairs,)
    require(x.shape == shape, f"occupancy must have shape {shape}, got {x.shape}")
    bad = np.argwhere(~(x >= 0.0) | ~np.isfinite(x))
    require(len(bad) == 0, f"occupancy must be non-negative and finite, got {at(x, bad)}")
    known = problem.witness(x)
    require(
        known.fits,
        "occupancy must be of a policy that matches the expectations, but misses them by "
        f"{known.matched:.3g} in her view",
    )
    return known.x


__all__ = [
    "FORMS",
    "Form",
    "WorstCaseBounds",
    "WorstCaseStatus",
    "expectation_error",
    "lower_bound",
    "solve_program",
]
