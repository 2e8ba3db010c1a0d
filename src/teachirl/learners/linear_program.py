"""Apprenticeship as one linear program over occupancies (Syed, Bowling & Schapire 2008).

Occupancies are the x ≥ 0 [P] with Fᵀx = start, F [P, S] having for each pair the state it leaves
less those it reaches, discounted. With the learner's features Φ [P, ℓ] and the target b, the game
of `multiplicative_weights` is solved at one stroke,

    min τ  such that  Fᵀx = start,  Φᵀx − p + q = b,  p + q ≤ τ,  p, q ≥ 0,

which is the least ‖Φᵀx − b‖_∞; or, with weights known to be non-negative as in the original,

    max τ  such that  Fᵀx = start,  Φᵀx − p − τ = b,  p ≥ 0,

the largest margin by which b can be beaten in every feature. The multipliers of the rows with b are
the weights that are played against. All is solved in units in which it is about 1: (1 − γ)x, which
sums to 1, and Φ in even units (`learner`).

Mostly many x are as good, and at which one a solver ends may depend on the last bit. Taken is the
one with the least Σ c_p x_p, the costs c being of no meaning but without ties: fractional parts of
multiples of the golden ratio. So the first search is for the least of that with Φᵀx = b; and if
nothing matches, for the least of it among those that are as good as what the program above has
found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..arrays import Floats
from ..guarantees.solvers.program_forms import highs_solver
from ..mdp.model import MDP
from ..mdp.occupancy import expectations_of, occupancy, policy_from_occupancy
from ..mdp.planning import optimal_policy
from ..mdp.policy import Policy
from .game import Game
from .learner import Assignment, Learned, LearnStatus, check_limits

GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


@dataclass(frozen=True)
class LinearProgram:
    """The learner LPAL: exact at once, for as many states as a linear program can have.

    It ends ``MATCHED`` or ``NEAREST`` if its mismatch is within the tolerance of 0, or of a proved
    bound, and otherwise ``SETTLED``: mostly if the target is out of reach, as then the nearest in
    the ∞-norm is seldom so in the 2-norm, and if `nonnegative`. If the solver fails, ``ROUNDING``.

    `solves` is 0 if it matched, and 1 if an MDP was solved to prove what cannot be done. `weights`
    are the program's multipliers, ‖w‖₁ ≤ 1, for which the policy is optimal: those of the features
    in even units, brought to those as given. They are 0 after a match, as then no reward proves
    that there is none.

    Parameters
    ----------
    tolerance : float, distance that counts as matched, as a fraction of max‖Aφ‖/(1 − γ), in even
        units (`learner`). The solver keeps to 1e-9 of that, and a vertex is mostly exact up to
        rounding
    nonnegative : bool, whether the weights are known to be non-negative, so that more of a feature
        is never worse. The target is then not matched, but beaten in every feature if that is
        possible

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> seen = ti.Worldview.select(mdp, ["cell 3"]).observe(mdp)
    >>> ti.learners.LinearProgram().learn(seen, [2.0]).status
    MATCHED
    >>> far = ti.learners.LinearProgram().learn(seen, [20.0])
    >>> far.status, far.weights, round(far.mismatch - far.nearest, 9)
    (NEAREST, array([1.]), 0.0)
    """

    tolerance: float = 1e-6
    nonnegative: bool = False

    def __post_init__(self) -> None:
        check_limits(self.tolerance, 1)

    @property
    def matches(self) -> bool:
        """bool, whether the aim is to match the target, rather than to beat it."""
        return not self.nonnegative

    def learn(self, seen: MDP, target: ArrayLike, start: Policy | None = None) -> Learned:
        """The policy of the program's occupancy.

        Parameters
        ----------
        seen : MDP with the learner's features
        target : array [ℓ], what was shown in these features
        start : Policy, the answer if it matches already; the uniform one by default

        Returns
        -------
        Learned
        """
        task = Assignment(seen, target, start).even()
        seen = task.seen
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
        miss, history = task.miss(mu), [task.mismatch(mu - task.target)]
        given = task.as_given(weights, order=1)
        if self.matches and miss <= game.goal:
            return task.report(policy, given, 0, history, LearnStatus.MATCHED)
        upper = optimal_policy(seen, weights).upper
        status = game.status(own, miss, *game.bounds(weights, upper)) or LearnStatus.ROUNDING
        return task.report(policy, given, 1, history, status, game.proved(weights, upper))


def _solve(task: Assignment, nonnegative: bool) -> tuple[Floats | None, Floats]:
    """The program's occupancy [P], None if the solver failed, and its weights [ℓ]."""
    seen, dynamics = task.seen, task.seen.dynamics
    n_pairs, n_states, n = seen.n_pairs, seen.n_states, seen.n_features
    away, nothing = 1.0 - seen.discount, np.zeros(n)
    leaves = sp.csr_array(
        (np.ones(n_pairs), dynamics.pair_states, np.arange(n_pairs + 1)), shape=(n_pairs, n_states)
    )
    flow = leaves - seen.discount * dynamics.transitions
    phi: Any = sp.csr_array(seen.features)
    phi = phi if seen.features_per_pair else phi[dynamics.pair_states]
    right = [away * seen.start, away * task.target]
    places = np.arange(n_pairs, dtype=np.int32)
    other_cost = np.modf(GOLDEN * (places + 1.0))[0]
    if not nonnegative:
        table = sp.csr_array(sp.hstack([flow, phi], format="csr"))
        solver = highs_solver(table, other_cost, np.zeros(n_pairs), np.concatenate(right))
        if _solved(solver, "simplex", "ipm"):
            return _occupancy(solver, n_pairs) / away, nothing
    one, ones = sp.eye_array(n), sp.csr_array(np.ones((1, n)))
    # A row a variable: x, p, τ; or x, p, q, what p + q are less than τ by, τ.
    rows: list[list[Any]] = [[flow, phi], [None, -one], [None, -ones]]
    if not nonnegative:
        rows = [[flow, phi, None], [None, -one, one], [None, one, one], [None, None, one]]
        rows += [[None, None, -ones]]
        right.append(nothing)
    table = sp.csr_array(sp.block_array(rows, format="csr"))
    cost, least = np.zeros(table.shape[0]), np.zeros(table.shape[0])
    cost[-1] = -1.0 if nonnegative else 1.0
    least[-1] = -math.inf if nonnegative else 0.0
    solver = highs_solver(table, cost, least, np.concatenate(right))
    if not _solved(solver, "ipm", "simplex"):  # the first ends with a crossover, at a vertex too
        return None, nothing
    solution, x = solver.getSolution(), _occupancy(solver, n_pairs)
    weights = np.array(solution.row_dual)[n_states : n_states + n]
    weights /= max(float(np.abs(weights).sum()), 1.0)  # rounding aside, it is not above 1
    tau = float(solution.col_value[-1])
    ends = (tau, math.inf) if nonnegative else (0.0, max(tau, 0.0))
    solver.changeColBounds(len(cost) - 1, *ends)
    solver.changeColCost(len(cost) - 1, 0.0)
    solver.changeColsCost(n_pairs, places, other_cost)
    if _solved(solver, "simplex"):  # from the basis that it has
        x = _occupancy(solver, n_pairs)
    return x / away, weights


def _solved(solver: Any, *methods: str) -> bool:
    """Whether HiGHS finds an optimum by the first of the methods that comes to an end."""
    status = ""
    for method in methods:
        solver.setOptionValue("solver", method)
        solver.run()
        status = solver.getModelStatus().name
        if status in ("kOptimal", "kInfeasible"):
            break
    return status == "kOptimal"


def _occupancy(solver: Any, n_pairs: int) -> Floats:
    values: Floats = np.array(solver.getSolution().col_value)
    return np.asarray(np.maximum(values[:n_pairs], 0.0))
