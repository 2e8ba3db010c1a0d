"""Theorem 2 of the paper: can the expert's behaviour look optimal to the learner?

For w_L proportional to ((A)⁺)ᵀw, an optimal policy looks suboptimal by at most

    diam M · ‖A‖ · ρ/√(1 − ρ²).

w_L need not be the reward that suits the policy best; that is `apparent_optimality`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..arrays import Floats, frozen
from ..demonstrations.demonstration import Demonstration
from ..figures.digits import percent
from ..mdp.model import MDP
from ..mdp.occupancy import expectation_error
from ..mdp.planning import optimal_policy, worst_policy
from ..precision import ROUNDED_UP, SAME_REWARD, length_at_most, sum_error, up
from ..views.teaching_risk import teaching_risk
from ..views.worldview import Worldview
from .apparent_optimality import share_of
from .bounds import Terms, combination_error


@dataclass(frozen=True, eq=False)
class LooksOptimal:
    """Theorem 2: a reward in the learner's features under which the demonstrated policy looks
    nearly best.

    Attributes
    ----------
    weights : array [ℓ], w_L of length 1; zeros if the learner can see no part of the reward
    bound : float, how far from optimal the theorem lets an optimal policy look; ∞ if ρ = 1
    suboptimality : float, how far the demonstrated policy is from optimal under that reward, at
        most
    share : float, the same as a fraction of that reward's range over all policies, at most
    terms : dict of float, what the bound is made of, by name
    assumes : str, what the bound takes for granted
    sentence : str, what that says, in one sentence

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp, weights = ti.worlds.chain(3), [0, 0, 1]
    >>> best = ti.optimal_policy(mdp, weights).policy
    >>> found = ti.certify(mdp, ti.Worldview.select(mdp, [2]), weights, best)
    >>> found.theorem_2.weights, found.theorem_2.suboptimality < 1e-9
    (array([1.]), True)
    """

    weights: Floats
    bound: float
    suboptimality: float
    share: float
    terms: Terms
    assumes: str
    sentence: str

    def __repr__(self) -> str:
        return f"LooksOptimal({self.sentence!r})"

    def __str__(self) -> str:
        return self.sentence


def looks_optimal(
    mdp: MDP, view: Worldview, w: Floats, shown: Demonstration, diameter: float
) -> LooksOptimal:
    """Theorem 2 for the weights w [k], with an upper bound on diam M."""
    mu = shown.expectations
    risk = teaching_risk(view, w)
    # √(1 − ρ²), without cancellation.
    visible = float(np.linalg.norm(view.basis @ w)) / float(np.linalg.norm(w))
    terms = Terms(risk=risk, visible=visible, diameter=diameter, norm=view.norm)
    assumes = "the bound: that the demonstrated policy is optimal; the rest: nothing"
    if visible <= SAME_REWARD:
        sentence = "The learner sees nothing of the reward, and can express none that resembles it."
        zeros = frozen(np.zeros(view.n_rows))
        return LooksOptimal(zeros, math.inf, math.inf, 1.0, terms, assumes, sentence)
    weights = view.multipliers(view.basis @ w)
    weights = weights / float(np.linalg.norm(weights))
    seen = view.matrix.T @ weights
    high, low = optimal_policy(mdp, seen), worst_policy(mdp, seen)
    rounding = expectation_error(mdp, seen)
    rounding += combination_error(mdp, view, weights, np.zeros_like(w), mu)
    doubt = rounding + float(np.linalg.norm(seen)) * shown.error
    off = max(up(high.upper - float(seen @ mu) + doubt * ROUNDED_UP), 0.0)
    apart = max(view.norm * risk / visible, _apart(view, weights, seen, w))
    bound = up(diameter * apart * ROUNDED_UP + rounding + (high.upper - high.lower))
    share = share_of(off, high, low)
    sentence = (
        "Under the reward of the learner's that resembles the true one most, the demonstrated "
        f"policy looks at most {off:.4g} worse than the best, {percent(share)} of that reward's "
        f"range; Theorem 2 allows an optimal policy {bound:.4g}."
    )
    return LooksOptimal(frozen(weights), bound, off, share, terms, assumes, sentence)


def _apart(view: Worldview, weights: Floats, seen: Floats, w: Floats) -> float:
    """‖Aᵀw_L − c w‖ at most, for the c ≥ 0 with which it is least: what the theorem rests on.

    Where ρ is rounding, w_L is off by rounding as well, and this is more than what ρ says.
    """
    unit = w / float(np.linalg.norm(w))
    rest = seen - max(float(seen @ unit), 0.0) * unit
    sizes = np.abs(view.matrix).T @ np.abs(weights) + float(np.linalg.norm(seen)) * np.abs(unit)
    return length_at_most(np.abs(rest) + sum_error(len(w) + len(weights) + 4, 1.0) * sizes)
