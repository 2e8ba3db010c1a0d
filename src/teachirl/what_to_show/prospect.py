"""What could be shown for one of several views, where only the best of them counts.

Who compares views need not know of each what is best to show. So it is sought roughly first, also
from what is best for a view that is nearly the same, and in patience where that can decide.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Floats
from ..demonstrations.demonstration import Demonstration
from ..mdp.model import MDP
from .exposed_policies import LENGTH, Exposed, Exposer
from .hunt import Climbs, Steps

# Compared to a thorough search more patience, which ends earlier: that finds about as much in
# fewer steps.
QUICK = Steps((0.5, 0.8), (0.6, 0.97), 0.03)


class Prospect:
    """The best demonstration for a view, as far as it has been sought.

    Parameters
    ----------
    basis : array [r, k], orthonormal rows: what is seen that tells policies apart; r ≥ 1
    weights : array [k]
    span : max R − min R, positive
    rewards : arrays [k], under which to look first, as far as the learner can express them
    starts : int, from how many places to climb, these among them
    rng : numpy.random.Generator, draws the other places, and the steps

    Attributes
    ----------
    demonstration : Demonstration, the best so far
    guaranteed : float, the reward that showing it guarantees, if learners match exactly
    reward : array [k], the one under which it looks best, long enough to prove that by (★)
    """

    def __init__(
        self,
        mdp: MDP,
        basis: Floats,
        weights: Floats,
        span: float,
        rewards: Sequence[Floats],
        starts: int,
        rng: np.random.Generator,
    ) -> None:
        self.mdp, self.exposer = mdp, Exposer(mdp, basis, weights, span)
        places = [self.exposer.coordinates(reward) for reward in rewards]
        self._climbs = Climbs(self.exposer, places, starts, rng, QUICK)
        self._take(self._climbs.rough())

    def refine(self) -> None:
        """Seek it in patience, once."""
        self._take(self._climbs.found)

    def _take(self, best: Exposed) -> None:
        self.demonstration = Demonstration.of_policy(self.mdp, best.policy)
        self.guaranteed = best.reward * self.exposer.span
        self.reward = LENGTH * self.exposer.span * self.exposer.expressed(best.theta)


__all__ = ["Prospect"]
