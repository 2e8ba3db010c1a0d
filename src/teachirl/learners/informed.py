"""The worst and the best learner there can be: told the true reward, they still match.

Whoever matches a target b in the features Aφ may have any policy with ‖Aμ − b‖ ≤ ε. Among these,
`Adversarial` takes one that earns least, `Benevolent` one that earns most: what a teacher should
fear, and the luck there is. No learner can do this, as none knows the reward; hence neither is a
`Learner`, but something that becomes one once it is told.

Told r = ⟨w, φ⟩, such a learner needs neither φ nor A: it looks at an MDP with ℓ + 1 features,

    ψ = (Aφ_i/u_i, (r − m)/v),   u_i the even units (`learner`),   |r − m| ≤ v.

The worldview on ψ is B = (diag u, 0), so that Bψ = Aφ; or (I, 0) if ε = 0, when units do not
matter. Where features depend on each other there are Vᵀψ in their place, and B = (diag u V, 0). The
weights are (0, …, 0, 1): the worst case of `guarantees`, and so exact. What is demonstrated of the
last feature does not matter, as B does not see it.

If no policy is within ε of b, all nearest ones have the same Aμ, the projection of b on the convex
set AM in even units. They are those that match it exactly, and the choice is among them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..arrays import Floats, frozen
from ..demonstrations.demonstration import Demonstration
from ..errors import require
from ..guarantees.bounds import WorstCaseBounds, WorstCaseStatus
from ..guarantees.worst_case import best_case, worst_case
from ..mdp import kernels
from ..mdp.dynamics import Dynamics
from ..mdp.model import MDP, check_is_mdp
from ..mdp.occupancy import feature_expectations
from ..mdp.planning import optimal_policy
from ..mdp.policy import Policy
from ..precision import MATCHED, SAME_REWARD, SOLVED
from ..views.worldview import Worldview
from .learner import Assignment, Learned, Learner, LearnStatus
from .min_norm_point import MinNormPoint
from .nearness import distance

_STATUS = {
    WorstCaseStatus.INACCURATE: LearnStatus.ROUNDING,
    WorstCaseStatus.OUT_OF_BUDGET: LearnStatus.OUT_OF_STEPS,
}


@dataclass(frozen=True)
class _Extreme:
    mismatch: float = 0.0
    tolerance: float = 1e-6

    kind: ClassVar[bool]

    def __post_init__(self) -> None:
        ε, tolerance = self.mismatch, self.tolerance
        require(0.0 <= ε < math.inf, f"mismatch must be non-negative and finite, got {ε!r}")
        require(
            0.0 < tolerance < math.inf, f"tolerance must be positive and finite, got {tolerance!r}"
        )

    def informed(self, mdp: MDP, weights: ArrayLike) -> Learner:
        """The learner who knows the reward.

        Parameters
        ----------
        mdp : MDP with the true features
        weights : array [k], of the reward ⟨weights, φ⟩

        Returns
        -------
        Learner
        """
        check_is_mdp(mdp)
        w = mdp.checked_weights(weights)
        require(w.ndim == 1, f"weights must have shape ({mdp.n_features},), got {w.shape}")
        rewards = frozen(mdp.rewards(w))
        return _Told(mdp.dynamics, rewards, self.mismatch, self.tolerance, self.kind)


class Adversarial(_Extreme):
    """Among all policies that match in the learner's view, one that is worst for the teacher.

    ``informed(mdp, weights)`` makes a learner of it, whose ``weights`` are the θ [ℓ] which proves
    that none is worse: how the worst case would change with the target. It ends

    - ``MATCHED`` if, up to the tolerance, none that is within ε of the target is worse;
    - ``NEAREST`` if no policy is within ε of the target; its policy is then the worst of those that
      are nearest, and ``nearest`` says what was proved of their mismatch;
    - ``ROUNDING`` if one may be worse, or nearer, and the search had nothing left to gain;
    - ``OUT_OF_STEPS`` if so because the search stopped early; ask for a larger tolerance.

    Parameters
    ----------
    mismatch : float, ε, how far the policy may be from the target, in the features as given; 0 to
        match it up to rounding
    tolerance : float, how near the worst there is the policy must be, as a fraction of max R − min
        R; and, if none matches, its distance the least there is, of it or of max‖Aφ‖/(1 − γ), in
        even units

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp, w = ti.worlds.chain(5), [-2, -1, 0, 1, 2]
    >>> seen = ti.Worldview.select(mdp, ["cell 3"]).observe(mdp)
    >>> shown = ti.feature_expectations(seen, ti.optimal_policy(mdp, w).policy)
    >>> learned = ti.learners.Adversarial().informed(mdp, w).learn(seen, shown)
    >>> print(f"{w @ ti.feature_expectations(mdp, learned.policy):.4f}, {learned.status!r}")
    -12.4086, MATCHED
    """

    kind = False


class Benevolent(_Extreme):
    """Among all policies that match in the learner's view, one that is best for the teacher.

    All is as with `Adversarial`, with best for worst and better for worse.

    Parameters
    ----------
    mismatch, tolerance : floats, as for `Adversarial`

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp, w = ti.worlds.chain(5), [-2, -1, 0, 1, 2]
    >>> seen = ti.Worldview.select(mdp, []).observe(mdp)  # blind, and lucky
    >>> learned = ti.learners.Benevolent().informed(mdp, w).learn(seen, [])
    >>> print(f"{w @ ti.feature_expectations(mdp, learned.policy):.4f}, {learned.status!r}")
    12.4086, MATCHED
    """

    kind = True


@dataclass(frozen=True, eq=False)
class _Told:
    """Who knows the rewards, [S] per state or [P] per pair, and is kind or not."""

    dynamics: Dynamics
    rewards: Floats
    mismatch: float
    tolerance: float
    kind: bool

    @property
    def matches(self) -> bool:
        """Whether it is as near as it can be; it need not be where a mismatch is allowed."""
        return self.mismatch == 0.0

    def learn(self, seen: MDP, target: ArrayLike, start: Policy | None = None) -> Learned:
        """The worst (best) policy that matches, or that is nearest if none does."""
        task = Assignment(seen, target, start).even()
        few = task.independent()
        world, unit = self._world(few.seen)
        at_start = Demonstration.of_policy(world, task.start)
        earned = at_start.expectations[-1]  # no matter what, but of the size that it should have
        shown = Demonstration(np.append(few.target, earned))
        if task.miss(task.first) <= SOLVED * task.scale:
            shown = at_start
        found, weights = self._extreme(world, few, shown, self.mismatch)
        status, nearest, solves = LearnStatus.MATCHED, 0.0, found.solves
        given = task.given if self.mismatch else task
        room = self.mismatch + MATCHED * given.scale
        if found.status is WorstCaseStatus.INFEASIBLE or found.matched > room:
            near = MinNormPoint(tolerance=SOLVED).learn(seen, target, task.start)
            shown = Demonstration.of_policy(world, near.policy)
            found, weights = self._extreme(world, few, shown, 0.0)
            nearest, solves = near.nearest, solves + near.solves + found.solves
            if given.miss(near.expectations / given.units) > room:
                q = task.target - near.expectations / task.units
                least = distance(task.target, q, optimal_policy(task.seen, q).upper)
                miss, solves = float(kernels.length(q)), solves + 1
                is_nearest = miss - least <= self.tolerance * max(task.scale, miss)
                status = LearnStatus.NEAREST if is_nearest else LearnStatus.ROUNDING
        status = _STATUS.get(found.status, status)
        # The policy that was shown matches itself, so there is a witness.
        policy = shown.policy if found.witness is None else found.witness
        assert policy is not None
        mismatch = task.given.miss(feature_expectations(seen, policy))
        return task.report(policy, unit * weights, solves, [mismatch], status, nearest)

    def _world(self, seen: MDP) -> tuple[MDP, float]:
        """The MDP with the features ψ, given the seen ones in even units, and v."""
        mine, other = self.dynamics, seen.dynamics
        require(
            np.array_equal(mine.offsets, other.offsets)
            and np.array_equal(mine.actions, other.actions)
            and mine.discount == other.discount
            and np.array_equal(mine.start, other.start)
            and _same(mine.transitions, other.transitions),
            f"seen must have the dynamics and discount of the MDP that the reward is for, "
            f"got {seen!r}",
        )
        r, phi = self.rewards, cast(Any, seen.features)
        middle, unit = 0.5 * (r.max() + r.min()), 0.5 * float(r.max() - r.min())
        if unit <= SAME_REWARD * float(np.abs(r).max()):
            middle, unit = r, 1.0
        last = ((r - middle) / unit)[:, None]
        if seen.features_per_pair and len(r) != seen.n_pairs:
            last = last[mine.pair_states]
        elif len(r) != phi.shape[0]:
            phi = phi[mine.pair_states]
        if isinstance(phi, np.ndarray):
            psi: Any = np.hstack([phi, last])
        else:
            psi = sp.hstack([phi, sp.csr_array(last)], format="csr")
        return seen.with_features(psi), unit

    def _extreme(
        self, world: MDP, few: Assignment, shown: Demonstration, mismatch: float
    ) -> tuple[WorstCaseBounds, Floats]:
        """What is found, and its θ [ℓ] for the features as given."""
        extreme = best_case if self.kind else worst_case
        seen = np.eye(few.seen.n_features, few.seen.n_features + 1)
        if mismatch:
            rows = seen if few.directions is None else few.directions @ seen
            seen = few.units[:, None] * rows
        weights = np.append(np.zeros(few.seen.n_features), 1.0)
        found = extreme(world, Worldview(seen), weights, shown, mismatch, tolerance=self.tolerance)
        return found, found.theta if mismatch else few.along(found.theta) / few.units


def _same(one: sp.csr_array, other: sp.csr_array) -> bool:
    return one is other or all(
        np.array_equal(getattr(one, part), getattr(other, part))
        for part in ("indptr", "indices", "data")
    )
