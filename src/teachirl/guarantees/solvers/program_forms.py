"""The worst case written down as a linear or a cone program, for HiGHS and Clarabel.

In units in which all is about 1: the variables are (1 − γ)x, which sums to 1, and rows and features
are divided by the largest that they can be. What comes back is a suggestion (`programs`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...arrays import Floats
from ...mdp import clock
from ...mdp.model import MDP
from ...precision import MATCHED, SOLVED
from ...views.worldview import Worldview


@dataclass(frozen=True, eq=False)
class Answer:
    """What a solver suggests: an occupancy [P], multipliers [ℓ], and whether it ran out of time."""

    x: Floats | None
    theta: Floats | None
    late: bool


@dataclass(frozen=True, eq=False)
class Problem:
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
        largest = self.mdp.largest_entries
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
        return self.most > SOLVED * self.terms

    @cached_property
    def scales(self) -> Floats:
        """By what the rows of Q are divided, [r]."""
        return np.where(self.seen, self.most, self.terms)

    @cached_property
    def rows(self) -> Floats:
        """The rows of Q in scaled units, [r, k]."""
        return self.view.basis / self.scales[:, None]

    def theta(self, multipliers: Floats) -> Floats:
        """θ [ℓ] with Aᵀθ = rowsᵀ · multipliers [r]."""
        return self.view.multipliers(multipliers / self.scales)

    def seconds(self) -> float:
        """How long a solver may still run."""
        return max(self.deadline - clock.seconds(), 1e-9)


def solve_linear(
    problem: Problem, x: Floats | None = None, *, lifted: bool = True, nearest: bool = False
) -> Answer:
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
    return Answer(_finite(values), _finite(theta), late)


def highs_solver(
    table: sp.csr_array,
    cost: Floats,
    least: Floats,
    right: Floats,
    max_seconds: float = math.inf,
) -> Any:
    """HiGHS with min cost · v, tableᵀ v = right, v ≥ least, to be run."""
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
        # HiGHS' interior point method may go on for ever; it ends in some tens of steps if it ends.
        "ipm_iteration_limit": 300,
    }
    for name, value in options.items():
        solver.setOptionValue(name, value)
    solver.passModel(program)
    return solver


def _highs(
    table: sp.csr_array,
    cost: Floats,
    least: Floats,
    right: Floats,
    methods: tuple[str, ...],
    max_seconds: float,
) -> tuple[Floats | None, Floats | None, bool]:
    """min cost · v, tableᵀ v = right, v ≥ least by the first method that works: v, duals, late."""
    solver = highs_solver(table, cost, least, right, max_seconds)
    import highspy  # deferred: loading it takes longer than many a command

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


def solve_cone(problem: Problem, *, nearest: bool = False) -> Answer:
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
    return Answer(_finite(values), _finite(theta), solution.status == ends.MaxTime)


def _finite(array: Floats | None) -> Floats | None:
    """None for what a solver that broke down leaves: NaN and ∞."""
    return array if array is not None and bool(np.isfinite(array).all()) else None
