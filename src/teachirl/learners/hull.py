"""The hull of the policies found so far, and its point that is nearest to a target.

An optimal policy is optimal from every start state, so that M = M_1 + … + M_G over G blocks of
start states, and each policy gives a point of every M_g (`blocks`). In units of the assignment's
scale, with a_j = μ_g(π_j) − b_g and Σ b_g = b,

    min ½‖r‖²,  r = Σ λ_j a_j = μ − b,  over λ in a product of G simplices,

is the point μ of the sum of the blocks' hulls that is nearest to the target b: the master problem
of the bundle method, without costs (`master`). With G = 1 it is the hull of the policies itself.

What each MDP solve proves of the distance of all policies is in `nearness`.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats, Ints
from ..guarantees.solvers.blocks import Blocks
from ..guarantees.solvers.master import Master
from ..mdp import kernels
from ..mdp.kernels.projection import brings_nothing, needed
from ..mdp.occupancy import feature_expectations, policy_from_occupancy
from ..mdp.planning import optimal_policy
from ..mdp.policy import Policy
from .learner import Assignment, Learned, LearnStatus
from .nearness import IDLE, concluded, distance, proved, rounding


class Hull:
    """Policies, and the nearest point to the assignment's target that they can be mixed to."""

    def __init__(self, assignment: Assignment, blocks: int) -> None:
        seen = assignment.seen
        self.assignment, self.unit = assignment, assignment.scale or 1.0
        self.blocks = Blocks(seen, None, blocks)
        self.origin = self.blocks.masses[:, None] * (assignment.target / self.unit)
        self.master = Master(seen.n_features, self.blocks.count)
        self.policies: dict[int, Policy] = {}
        self._added = 0
        self._owners: Ints = np.arange(self.blocks.count)

    def add(self, policy: Policy) -> None:
        seen, count = self.assignment.seen, self.blocks.count
        if count == 1:
            columns = feature_expectations(seen, policy)[None]
        else:
            columns = self.blocks.columns(policy)
        columns = columns / self.unit - self.origin
        self.policies[self._added] = policy
        self.master.add(columns, np.zeros(count), self._owners, self._added)
        self._added += 1
        if self._added % 64 == 0:
            held = self.master.sources()
            self.policies = {i: kept for i, kept in self.policies.items() if i in held}

    def nearest(self, enough: float) -> Floats:
        """μ − b [ℓ] in units of the scale; ½‖μ − b‖² is least up to `enough`."""
        self.master.solve(np.zeros_like(self.master.residual), 1.0, enough, floor=0.0)
        return self.master.residual.copy()

    def policy(self) -> Policy:
        """The stationary policy that does what the nearest point says."""
        shares: dict[int, Floats] = {}
        for source, block, share in zip(*self.master.shares(), strict=True):
            shares.setdefault(int(source), np.zeros(self.blocks.count))[block] = share
        return policy_from_occupancy(self.assignment.seen, self.blocks.blend(self.policies, shares))


def approach(
    assignment: Assignment,
    tolerance: float,
    max_steps: int,
    *,
    blocks: int,
    with_start: bool,
    memory: float = 0.0,
) -> Learned:
    """Wolfe's method: the best policy for b − μ joins the hull, whose nearest point is the next μ.

    Ends at a mismatch, or at a distance of it from what is proved, of tolerance · scale. With
    `memory`, earlier directions, fading by it, are mixed into the reward until one is proved to
    separate the target from all policies: at a corner of M, b − μ alone changes too much each time.
    """
    seen, target = assignment.seen, assignment.target
    goal = tolerance * assignment.scale
    q = past = best = np.zeros_like(target)
    miss, least, upper = assignment.miss(assignment.first), 0.0, 0.0
    if miss <= goal:
        return assignment.report(assignment.start, q, 0, [], LearnStatus.MATCHED)
    hull = Hull(assignment, blocks)
    if with_start:
        hull.add(assignment.start)
    r = (assignment.first - target) / hull.unit
    gap, guess, idle = miss, None, 0
    history: list[float] = []
    status = LearnStatus.OUT_OF_STEPS
    while status is LearnStatus.OUT_OF_STEPS and len(history) < max_steps:
        q = -_unit(r)
        past = memory * past + q
        if memory and not least and not idle and float(past @ q) > 0.0:
            q = _unit(_unit(past) + q)
        plan = optimal_policy(seen, q, tolerance=needed(gap, assignment.scale), guess=guess)
        guess, before = plan.values, gap
        bound = distance(target, q, plan.upper)
        if bound > least:
            least, best, upper = bound, q, plan.upper
        gap = miss - least
        if gap <= max(goal, rounding(target)):
            status = LearnStatus.NEAREST if least else LearnStatus.ROUNDING
        else:
            hull.add(plan.policy)
            # The share of what is left to gain up to which the hull's nearest point is sought: it
            # grows anyway.
            r = hull.nearest(0.01 * (miss / hull.unit) * (gap / hull.unit))
            miss = hull.unit * float(kernels.length(r))
            gap = miss - least
            idle = idle + 1 if brings_nothing(before, gap, assignment.scale) else 0
            if miss <= goal:
                status = LearnStatus.MATCHED
            elif idle == IDLE:
                status = LearnStatus.ROUNDING
        history.append(assignment.mismatch(hull.unit * r))
    policy = hull.policy() if hull.policies else assignment.start
    nearest, weights = proved(assignment, best, upper), assignment.as_given(q)
    learned = assignment.report(policy, weights, len(history), history, status, nearest)
    return concluded(assignment, learned, goal)


def _unit(vector: Floats) -> Floats:
    """The vector, not zero, at length 1."""
    return np.asarray(vector / kernels.length(vector))
