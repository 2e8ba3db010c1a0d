"""Apprenticeship as one linear program over occupancies (Syed, Bowling & Schapire 2008).

Occupancies are the x ≥ 0 [P] with Fᵀx = start, F [P, S] having for each pair the state it leaves
less those it reaches, discounted. With her features Φ [P, ℓ] and the target b, the game of
`multiplicative_weights` is solved at one stroke,

    min τ  such that  Fᵀx = start,  Φᵀx − p + q = b,  p + q ≤ τ,  p, q ≥ 0,

which is the least ‖Φᵀx − b‖_∞; or, with weights known to be non-negative as in the original,

    max τ  such that  Fᵀx = start,  Φᵀx − p − τ = b,  p ≥ 0,

the largest margin by which she can beat b in every feature. The multipliers of the rows with b are
the weights that she plays against. All is solved in units in which it is about 1: (1 − γ)x, which
sums to 1, and Φ over its largest entry.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from ..bounds import largest_entries
from ..checks import Floats
from ..mdp import MDP
from ..occupancies import expectations_of, occupancy, policy_from_occupancy
from ..planning import optimal_policy
from ..policy import Policy
from .game import Game
from .learner import Assignment, Learned, LearnStatus, check_limits

# What HiGHS may violate a constraint by, in units in which all is about 1.
FEASIBLE = 1e-9


@dataclass(frozen=True)
class LinearProgram:
    """The learner LPAL: exact at once, for as many states as a linear program can have.

    Parameters
    ----------
    tolerance : mismatch that counts as matched, as a fraction of max‖Aφ‖/(1 − γ). The solver
        itself keeps to 1e-9 of that, and a vertex is mostly exact up to rounding
    nonnegative : whether the weights are known to be non-negative, so that more of a feature is
        never worse. She then does not match the target but beats it in every feature, if she can

    She ends ``MATCHED`` or ``NEAREST`` if her mismatch is within the tolerance of 0, or of a proved
    bound, and otherwise ``SETTLED``: mostly if the target is out of reach, as then the nearest in
    the ∞-norm is seldom so in the 2-norm, and if `nonnegative`. If the solver fails, ``ROUNDING``.

    `solves` is 0 if she matched, and 1 if an MDP was solved to prove what she could not do.
    `weights` are the program's multipliers, ‖w‖₁ ≤ 1, for which her policy is optimal. They are 0
    for a target that is not on the boundary of what she can reach.

    Examples
    --------
    >>> import teachirl as ti
    >>> from teachirl.learners.linear_program import LinearProgram
    >>> mdp = ti.worlds.chain(5)
    >>> seen = ti.Worldview.select(mdp, ["cell 3"]).observe(mdp)
    >>> LinearProgram().learn(seen, [2.0]).status
    MATCHED
    >>> far = LinearProgram().learn(seen, [20.0])
    >>> far.status, far.weights, round(far.mismatch - far.nearest, 9)
    (NEAREST, array([1.]), 0.0)
    """

    tolerance: float = 1e-6
    nonnegative: bool = False

    def __post_init__(self) -> None:
        check_limits(self.tolerance, 1)

    @property
    def matches(self) -> bool:
        """Whether she tries to match the target, rather than to beat it."""
        return not self.nonnegative

    def learn(self, seen: MDP, target: ArrayLike, start: Policy | None = None) -> Learned:
        """The policy of the program's occupancy."""
        task = Assignment(seen, target, start)
        game = Game(task, self.tolerance, self.nonnegative)
        known = game.settled()
        if known is not None:
            return known
        x, weights = _solve(task, self.nonnegative)
        policy = task.start if x is None else policy_from_occupancy(seen, x)
        x = occupancy(seen, policy)
        own = expectations_of(seen, x)
        mu, share = game.mixed(own)
        if share < 1.0:
            x = (1.0 - share) * occupancy(seen, task.start) + share * x
            policy = policy_from_occupancy(seen, x)
        miss = task.miss(mu)
        if self.matches and miss <= game.goal:
            return task.report(policy, weights, 0, [miss], LearnStatus.MATCHED)
        least, nearest = game.proved(weights, optimal_policy(seen, weights).upper)
        status = game.status(own, miss, least, nearest) or LearnStatus.ROUNDING
        return task.report(policy, weights, 1, [miss], status, nearest)


def _solve(task: Assignment, nonnegative: bool) -> tuple[Floats | None, Floats]:
    """The program's occupancy [P], None if the solver failed, and its weights [ℓ]."""
    seen, dynamics = task.seen, task.seen.dynamics
    n_pairs, n_states, n = seen.n_pairs, seen.n_states, seen.n_features
    away, unit = 1.0 - seen.discount, float(largest_entries(seen).max())
    leaves = sp.csr_array(
        (np.ones(n_pairs), dynamics.pair_states, np.arange(n_pairs + 1)), shape=(n_pairs, n_states)
    )
    flow = leaves - seen.discount * dynamics.transitions
    phi: Any = sp.csr_array(seen.features) / unit
    phi = phi if seen.features_per_pair else phi[dynamics.pair_states]
    one, ones, none = sp.eye_array(n), sp.csr_array(np.ones((n, 1))), sp.csr_array((n, 1))
    # Variables: x, p, q, τ; without q if the weights are non-negative.
    parts = [-one, -ones] if nonnegative else [-one, one, none]
    rows: list[list[Any]] = [[flow.T] + [None] * len(parts), [phi.T, *parts]]
    table = sp.block_array(rows, format="csc")
    within = None
    if not nonnegative:
        within = sp.hstack([sp.csr_array((n, n_pairs)), one, one, -ones], format="csc")
    cost, lower = np.zeros(table.shape[1]), np.zeros(table.shape[1])
    cost[-1] = -1.0 if nonnegative else 1.0
    lower[-1] = -math.inf if nonnegative else 0.0
    for method in ("highs-ipm", "highs-ds"):  # the first ends with a crossover, at a vertex too
        found: Any = linprog(  # type: ignore[call-overload]  # its types know no sparse arrays
            cost,
            A_ub=within,
            b_ub=None if nonnegative else np.zeros(n),
            A_eq=table,
            b_eq=np.concatenate([away * seen.start, away * task.target / unit]),
            bounds=np.column_stack([lower, np.full(len(lower), math.inf)]),
            method=method,
            options={
                "primal_feasibility_tolerance": FEASIBLE,
                "dual_feasibility_tolerance": FEASIBLE,
            },
        )
        if found.status == 0:
            weights = np.asarray(found.eqlin.marginals[n_states:], dtype=float)
            weights /= max(float(np.abs(weights).sum()), 1.0)  # rounding aside, it is not above 1
            return np.maximum(found.x[:n_pairs], 0.0) / away, weights
    return None, np.zeros(n)
