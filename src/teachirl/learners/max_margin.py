"""Abbeel & Ng's (2004) apprenticeship learning, the max-margin version.

With the policies π_0 … π_i found so far, the next reward is the one by which the demonstrated b
beats them all by the most,

    max t  such that  ⟨w, b − μ(π_j)⟩ ≥ t for all j,  ‖w‖ ≤ 1,                                 (QP)

and its best policy is π_{i+1}. The dual of (QP) is to find the point μ of the hull of the μ(π_j)
that is nearest to b: w = (b − μ)/‖b − μ‖, and t = ‖b − μ‖ (`hull`). That point, as one stationary
policy, is what is learned in the end.
"""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from ..mdp.model import MDP
from ..mdp.policy import Policy
from .hull import approach
from .learner import Assignment, Learned, check_limits


@dataclass(frozen=True)
class MaxMargin:
    """Abbeel & Ng's quadratic program, one a step; `history` holds its margins.

    Parameters
    ----------
    tolerance : float, the margin to stop at, or what is left of it to lose, as a fraction of max
        ‖Aφ‖/(1 − γ), all in even units (`learner`)
    max_steps : int, MDP solves at most

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> right = ti.Policy.deterministic(mdp, [1, 1, 1, 1, 0])
    >>> learned = ti.learners.MaxMargin().learn(mdp, ti.feature_expectations(mdp, right))
    >>> learned.status, learned.mismatch < 1e-5
    (MATCHED, True)
    """

    tolerance: float = 1e-6
    max_steps: int = 1000

    def __post_init__(self) -> None:
        check_limits(self.tolerance, self.max_steps)

    def learn(self, seen: MDP, target: ArrayLike, start: Policy | None = None) -> Learned:
        """Find a policy near a target.

        Parameters
        ----------
        seen : MDP with the learner's features
        target : array [ℓ], what was shown in these features
        start : Policy π_0; the uniform one by default

        Returns
        -------
        Learned
        """
        assignment = Assignment(seen, target, start).even()
        return approach(assignment, self.tolerance, self.max_steps, blocks=1, with_start=True)
