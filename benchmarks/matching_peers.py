"""Other people's solvers on the learner's problem: the nearest policy to a target in its features.

With F [S, P] the flow of a discounted occupancy x, φ [P, k] the true features and b the target,

    min ‖r‖  such that  Fᵀx = start,  μ = φᵀx,  Aμ − r = b,  x ≥ 0,

lifted, so that A stands there once and not at every pair. All is in units in which it is about 1:
(1 − γ)x, which sums to 1, and A over max ‖Aφ‖, so that ‖r‖ is the relative mismatch. The solvers
may look at A and φ, which a learner may not.

Each `prepare(problem)` writes the program down, which is not timed, and returns a function of the
solver's tolerance: the solver is set up and run from nothing, and an occupancy comes back.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import teachirl as ti

Floats = NDArray[np.float64]

OSQP_STEPS = 20_000  # its default is 4000
LOOP_STEPS = 5_000


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be matched: the view of `policy` in `seen`, which is `view.observe(mdp)`."""

    mdp: ti.MDP
    view: ti.Worldview
    seen: ti.MDP
    policy: ti.Policy

    @cached_property
    def target(self) -> Floats:
        return ti.feature_expectations(self.seen, self.policy)

    @property
    def scale(self) -> float:
        """What a mismatch is a fraction of."""
        return self.seen.largest_feature / (1.0 - self.seen.discount)

    def mismatch(self, policy: ti.Policy) -> float:
        missed = ti.feature_expectations(self.seen, policy) - self.target
        return float(np.linalg.norm(missed)) / self.scale


class Program:
    """The equations, table @ [x, μ, r] = right, in units in which all is about 1."""

    def __init__(self, problem: Problem) -> None:
        mdp, rows = problem.mdp, problem.view.matrix / problem.seen.largest_feature
        dynamics, away = mdp.dynamics, 1.0 - mdp.discount
        self.n_pairs, (self.n_rows, k) = mdp.n_pairs, rows.shape
        self.before = self.n_pairs + k  # variables before r
        every = np.arange(self.n_pairs)
        leaves = sp.csr_array((np.ones(self.n_pairs), (every, dynamics.pair_states)))
        flow = leaves - mdp.discount * dynamics.transitions
        phi: Any = sp.csr_array(mdp.features)[dynamics.pair_states]
        self.table = sp.block_array(
            [
                [flow.T, None, None],
                [-phi.T, sp.eye_array(k), None],
                [None, sp.csr_array(rows), -sp.eye_array(self.n_rows)],
            ],
            format="csc",
        )
        target = away * problem.target / problem.seen.largest_feature
        self.right = np.concatenate([away * mdp.start, np.zeros(k), target])

    def on_pairs(self) -> Any:
        """[P, n], the x of all variables."""
        return sp.eye_array(self.n_pairs, self.table.shape[1])

    def on_missed(self) -> Any:
        """[ℓ, n], the r of all variables."""
        return sp.eye_array(self.n_rows, self.table.shape[1], k=self.before)

    def occupancy(self, variables: Any) -> Floats:
        """x [P], non-negative; its scale is left as it is, which no policy depends on."""
        return np.maximum(np.asarray(variables, dtype=float)[: self.n_pairs], 0.0)


def clarabel(problem: Problem) -> Callable[[float], Floats]:
    """As a cone program, min t, (t, r) in the cone: as a QP it has to square the accuracy."""
    import clarabel

    p = Program(problem)
    n_equations, n = p.table.shape
    cost = np.zeros(n + 1)
    cost[-1] = 1.0
    blocks = [[p.table, None], [-p.on_pairs(), None], [None, -sp.eye_array(1)]]
    table = sp.csc_matrix(sp.block_array([*blocks, [-p.on_missed(), None]], format="csc"))
    right = np.concatenate([p.right, np.zeros(table.shape[0] - n_equations)])
    cones = [
        clarabel.ZeroConeT(n_equations),
        clarabel.NonnegativeConeT(p.n_pairs),
        clarabel.SecondOrderConeT(p.n_rows + 1),
    ]
    nothing = sp.csc_matrix((n + 1, n + 1))

    def solve(epsilon: float) -> Floats:
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_threads = False, 1
        settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = epsilon
        found = clarabel.DefaultSolver(nothing, cost, table, right, cones, settings).solve()
        return p.occupancy(found.x)

    return solve


def osqp(problem: Problem) -> Callable[[float], Floats]:
    """As a quadratic program, min ‖r‖²/2, polished."""
    import osqp

    p = Program(problem)
    n = p.table.shape[1]
    quadratic = sp.csc_matrix(p.on_missed().T @ p.on_missed())
    table = sp.csc_matrix(sp.vstack([p.table, p.on_pairs()]))
    lower = np.concatenate([p.right, np.zeros(p.n_pairs)])
    upper = np.concatenate([p.right, np.full(p.n_pairs, np.inf)])

    def solve(epsilon: float) -> Floats:
        solver = osqp.OSQP()
        solver.setup(
            quadratic,
            np.zeros(n),
            table,
            lower,
            upper,
            verbose=False,
            eps_abs=epsilon,
            eps_rel=epsilon,
            max_iter=OSQP_STEPS,
            polishing=True,
        )
        return p.occupancy(solver.solve(raise_error=False).x)

    return solve


def highs(method: str, problem: Problem) -> Callable[[float], Floats]:
    """As a linear program, min ‖r‖₁, by "simplex", or by "ipx" without crossover.

    On seed 0 neither method was always the faster one, and the ∞-norm was slower mostly. Its QP
    solver took more than 20 s at ℓ = 20.
    """
    import highspy

    p = Program(problem)
    # r is a difference of two non-negative variables.
    table = sp.csc_array(sp.hstack([p.table, -p.table[:, p.before :]]))
    n_rows, n_columns = table.shape
    cost, least = np.zeros(n_columns), np.zeros(n_columns)
    cost[p.before :] = 1.0
    least[p.n_pairs : p.before] = -math.inf
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = n_columns, n_rows
    program.col_cost_, program.col_lower_ = cost, least
    program.col_upper_ = np.full(n_columns, math.inf)
    program.row_lower_ = program.row_upper_ = p.right
    matrix = program.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kColwise
    matrix.num_col_, matrix.num_row_ = n_columns, n_rows
    matrix.start_, matrix.index_, matrix.value_ = table.indptr, table.indices, table.data

    def solve(epsilon: float) -> Floats:
        solver = highspy.Highs()
        feasible = float(np.clip(epsilon, 1e-10, 1e-6))  # it takes no less; with 1e-3 it misses
        for name, value in (
            ("output_flag", False),
            ("threads", 1),
            ("solver", method),
            ("run_crossover", "off"),
            ("ipm_optimality_tolerance", max(epsilon, 1e-12)),
            ("primal_feasibility_tolerance", feasible),
            ("dual_feasibility_tolerance", feasible),
        ):
            solver.setOptionValue(name, value)
        solver.passModel(program)
        solver.run()
        return p.occupancy(solver.getSolution().col_value)

    return solve


def quantecon_loop(method: str, problem: Problem) -> Callable[[float], tuple[Floats, int]]:
    """The projection learner on QuantEcon's DiscreteDP: occupancy and iterations.

    Each plan starts from the last values, as ours does; QuantEcon has no visits, and so these are a
    sparse solve of scipy's.
    """
    from quantecon.markov import DiscreteDP
    from scipy.sparse.linalg import splu

    seen, b = problem.seen, problem.target
    dynamics, gamma, states = seen.dynamics, seen.discount, np.arange(seen.n_states)
    phi: Any = seen.features
    ddp = DiscreteDP(
        np.zeros(seen.n_pairs),
        sp.csr_matrix(dynamics.transitions),
        gamma,
        s_indices=dynamics.pair_states,
        a_indices=dynamics.actions,
    )
    first = ti.occupancy(seen, ti.Policy.uniform(seen))
    identity = sp.eye_array(seen.n_states, format="csc")

    def solve(epsilon: float) -> tuple[Floats, int]:
        x, values = first.copy(), None
        mu = phi.T @ np.add.reduceat(x, dynamics.offsets[:-1])
        steps = 0
        while steps < LOOP_STEPS:
            missing = b - mu
            distance = float(np.linalg.norm(missing))
            if distance <= epsilon * problem.scale:
                break
            ddp.R = (phi @ (missing / distance))[dynamics.pair_states]
            # Our learner plans to a twentieth of what is missing as well.
            found = ddp.solve(method=method, v_init=values, epsilon=0.05 * distance, max_iter=1000)
            values = found.v
            moves = sp.csc_array(ddp.controlled_mc(found.sigma).P)
            visits = splu(sp.csc_matrix(identity - gamma * moves.T)).solve(seen.start)
            ahead = phi.T @ visits - mu
            share = float(np.clip(ahead @ missing / (ahead @ ahead), 0.0, 1.0))
            x *= 1.0 - share
            x[dynamics.offsets[states] + found.sigma] += share * visits
            mu = mu + share * ahead
            steps += 1
        return x, steps

    return solve
