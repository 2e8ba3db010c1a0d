"""How well a policy does between the worst and the best: relative performance."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats
from ..precision import down, up
from .estimated import AnyMDP, EstimatedMDP, nominal_of
from .model import MDP
from .occupancy import feature_expectations
from .plan import Plan
from .planning import optimal_policy, worst_policy
from .policy import Policy


def relative_performance(mdp: MDP, weights: ArrayLike, policy: Policy) -> float:
    """(R(π) − min R)/(max R − min R), clipped to [0, 1]; 1 where all policies are equally good.

    Parameters
    ----------
    mdp : MDP
    weights : array [k]
    policy : Policy

    Returns
    -------
    float in [0, 1]

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> round(ti.relative_performance(mdp, [-2, -1, 0, 1, 2], ti.Policy.uniform(mdp)), 6)
    0.5
    """
    w = mdp.checked_weights(weights)
    best, worst = optimal_policy(mdp, w), worst_policy(mdp, w)
    width = best.value - worst.value
    doubt = (best.upper - best.lower) + (worst.upper - worst.lower)
    if width <= doubt:
        return 1.0
    performance = (float(w @ feature_expectations(mdp, policy)) - worst.value) / width
    return min(max(performance, 0.0), 1.0)


def performance_at_least(
    mdp: AnyMDP, weights: Floats, least: float, best: Plan, worst: Plan
) -> float:
    """(R − min R)/(max R − min R) of a reward R ≥ least, rounded down.

    Where the world is known from a log, max R is at most the best plan's upper bound, and min R at
    most the worst plan's, whichever the true world is; and the share falls with both.

    Where all policies are equal it is 1; but that no difference was found proves no equality.
    """
    if _surely_equal(mdp, weights):
        return 1.0
    above, spread = down(least - worst.upper), up(best.upper - worst.upper)
    return min(max(down(above / spread), 0.0), 1.0) if spread > 0.0 and above > 0.0 else 0.0


def _surely_equal(mdp: AnyMDP, weights: Floats) -> bool:
    """Whether all policies earn the same: there is one only, or all rewards are exactly equal."""
    if mdp.n_pairs == mdp.n_states:
        return True
    rewards, counted = mdp.rewards(weights), np.flatnonzero(weights)
    # Above so many numbers rewards that look equal are not compared exactly.
    if rewards.min() != rewards.max() or len(rewards) * len(counted) > 10_000_000:
        return False
    phi: Any = nominal_of(mdp).features
    if isinstance(mdp, EstimatedMDP) and mdp.outcomes is not None:
        phi = mdp.outcomes
    features: Any = phi[:, counted]
    rows = np.unique(features if isinstance(features, np.ndarray) else features.toarray(), axis=0)
    w = [Fraction(each) for each in weights[counted].tolist()]
    terms = (zip(w, row.tolist(), strict=True) for row in rows)
    return len({sum((a * Fraction(b) for a, b in row if b), Fraction()) for row in terms}) <= 1


__all__ = ["performance_at_least", "relative_performance"]
