"""The nearest policy to the target, by Wolfe's method (1976) on all start states at once.

The projection learner goes towards one policy at a time. Here each step goes to the nearest point
of all that the policies found so far can be mixed to, with a mixture of its own for each block of
start states (`hull`): the same optimum in a small fraction of the MDP solves, up to rounding where
the target can be matched, and with a proof of the distance where it cannot.
"""

from __future__ import annotations

from dataclasses import dataclass

from numpy.typing import ArrayLike

from ..guarantees.solvers.blocks import block_count
from ..mdp.band_order import DIRECT_LIMIT
from ..mdp.model import MDP
from ..mdp.policy import Policy
from .hull import approach
from .learner import Assignment, Learned, check_limits


@dataclass(frozen=True)
class MinNormPoint:
    """Wolfe's fully corrective method.

    Parameters
    ----------
    tolerance : float, the distance to stop at, or what is left to gain over the nearest policy, as
        a fraction of max ‖Aφ‖/(1 − γ), all in even units (`learner`)
    max_steps : int, MDP solves at most

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> right = ti.Policy.deterministic(mdp, [1, 1, 1, 1, 0])
    >>> learned = ti.learners.MinNormPoint().learn(mdp, ti.feature_expectations(mdp, right))
    >>> learned.status, learned.mismatch < 1e-8
    (MATCHED, True)
    """

    tolerance: float = 1e-9
    max_steps: int = 1000

    def __post_init__(self) -> None:
        check_limits(self.tolerance, self.max_steps)

    def learn(self, seen: MDP, target: ArrayLike, start: Policy | None = None) -> Learned:
        """Find the policy nearest to a target.

        Parameters
        ----------
        seen : MDP with the learner's features
        target : array [ℓ], what was shown in these features
        start : Policy, the first that can be mixed; the uniform one by default

        Returns
        -------
        Learned
        """
        assignment = Assignment(seen, target, start).even()
        # A policy with chances costs as much as many plans where there are many states.
        cheap = assignment.start.is_deterministic or seen.n_states <= DIRECT_LIMIT
        return approach(
            assignment,
            self.tolerance,
            self.max_steps,
            blocks=block_count(seen, seen.n_features),
            with_start=start is not None and cheap,
            memory=0.9,  # of earlier directions; found by measuring
        )
