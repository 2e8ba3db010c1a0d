"""The exact worst case by a multi-cut proximal bundle method: many MDP solves, all of them small.

With the demonstrated μ_T, the worst that a learner with worldview A can do is

    g = min ⟨w, μ⟩  over  μ ∈ M with ‖A(μ − μ_T)‖ ≤ ε
      = max over θ of  D(θ) = ⟨θ, Bμ_T⟩ − ε‖θ_A‖ + min_{μ ∈ M} ⟨w − Bᵀθ, μ⟩,

with B an orthonormal basis of A's rows and θ_A the shortest with Aᵀθ_A = Bᵀθ. Each θ costs one MDP
solve and gives a lower bound. The plan is optimal from every start state, so it gives a column
(B(μ_g − μ_T,g), ⟨w, μ_g − μ_T,g⟩) for each of G blocks of start states (`blocks`): these make a
model of D that is exact there in each of G terms. The next θ maximises it less a quadratic that
keeps it near the best θ so far (`master`). Once the model promises little more, raising t until
r = 0 makes its λ a mixture of the plans that matches μ_T: the witness, whose reward is the upper
bound. The ball of radius ε is one more block, whose columns cost nothing.

The bounds in between steer; what is returned is proved at the end, as in `programs`.
"""

from __future__ import annotations

import math

from numpy.typing import ArrayLike

from ...arrays import Floats
from ...errors import require
from ...mdp import clock
from ...mdp.model import MDP
from ...mdp.policy import Policy, check_policy
from ...views.worldview import Worldview
from ..bounds import WorstCaseBounds, check_limits, checked_case, mirrored
from .blocks import block_count
from .plans import Case, FinalPlans, OwnPlans, Past
from .search import Search
from .view_coordinates import ViewCoordinates


def worst_case_by_bundle(
    mdp: MDP,
    view: Worldview,
    weights: ArrayLike,
    expectations: ArrayLike,
    mismatch: float = 0.0,
    *,
    policy: Policy | None = None,
    maximise: bool = False,
    tolerance: float = 1e-6,
    max_solves: int = 2000,
    max_seconds: float = math.inf,
    blocks: int | None = None,
    start: Floats | None = None,
    enough: float = math.inf,
) -> WorstCaseBounds:
    """The least reward ⟨weights, μ⟩ of all policies that match the demonstration in the learner's
    view.

    Parameters
    ----------
    weights : array [k]
    expectations : array [k], μ_T, what is demonstrated; it need not be that of a policy
    mismatch : ε, how far ‖A(μ − μ_T)‖ may be from 0
    policy : the demonstrated policy, if μ_T is one's. A mixture that matches is then always known
    maximise : the most instead of the least
    tolerance : how far apart the bounds may be, as a fraction of max R − min R
    max_solves : stop once this many MDPs are solved, the first three and the last one, which proves
        the lower bound, aside; the bounds are valid whenever it stops
    max_seconds : stop in time for what is left to do, to prove the bounds
    blocks : G; chosen by default
    start : array [ℓ], a θ_A that proves something already, to go on from
    enough : stop once the least is at least this

    Examples
    --------
    >>> import teachirl as ti
    >>> from teachirl.guarantees.solvers.bundle import worst_case_by_bundle
    >>> from teachirl.views.worldview import Worldview
    >>> mdp = ti.worlds.chain(5)
    >>> right = ti.Policy.deterministic(mdp, [1, 1, 1, 1, 0])
    >>> view, mu = Worldview.select(mdp, ["cell 3"]), ti.feature_expectations(mdp, right)
    >>> found = worst_case_by_bundle(mdp, view, [-2, -1, 0, 1, 2], mu, policy=right)
    >>> round(found.lower, 4), round(found.upper, 4), found.status
    (-12.4086, -12.4086, OPTIMAL)
    """
    w, target = checked_case(mdp, view, weights, expectations, mismatch)
    check_limits(tolerance, max_seconds)
    require(max_solves >= 1, f"max_solves must be at least 1, got {max_solves!r}")
    require(blocks is None or blocks >= 1, f"blocks must be at least 1, got {blocks!r}")
    if policy is not None:
        check_policy(mdp, policy)
    sight = ViewCoordinates(mdp, view, float(mismatch))
    count = block_count(mdp, len(sight.basis)) if blocks is None else blocks
    deadline = clock.seconds() + max_seconds
    case = Case(mdp, sight, -w if maximise else w, target, policy, past=Past())
    near = None
    if start is not None:
        near = sight.basis @ (view.matrix.T @ (-start if maximise else start))
    plans = OwnPlans(case, count)
    found = searched(case, plans, tolerance, max_solves, deadline, near, enough)
    return mirrored(found) if maximise else found


def searched(
    case: Case,
    plans: FinalPlans,
    tolerance: float,
    max_solves: int,
    deadline: float,
    near: Floats | None = None,
    enough: float = math.inf,
) -> WorstCaseBounds:
    """The worst case of what plans of the case can do; `near` [r] is a θ to go on from, and no more
    is to be proved than that the worst is `enough`."""
    search = Search(case, plans, tolerance)
    search.enough = enough - case.earned

    def climbed() -> bool:
        search.prepare()
        search.begin(case.sight.basis @ case.w)  # that of the width certificate
        if near is not None:
            search.go_on_from(near)
        return search.climb(max_solves, deadline)

    late = clock.in_time(deadline, climbed) is not False
    # Who is in a hurry wants what is proved: to put the witness together takes long where it is
    # large. Where enough is proved, there is no witness to that.
    alone = clock.hurried(deadline) or search.lower >= search.enough
    return search.result((lambda: None) if alone else lambda: search.witness(plans), late)


__all__ = ["searched", "worst_case_by_bundle"]
