"""Candidates scored for several rewards at once.

The mean of the squared teaching risks of rewards w_i with chances p_i, once u = f⊥/‖f⊥‖ is seen, is

    Σ p_i ‖r_i‖²/‖w_i‖² − uᵀCu,   C = Σ p_i w_i w_iᵀ/‖w_i‖²,

r_i the hidden part of w_i: a sum of what one reward alone would gain, with its submodularity ratio.
The largest of the risks has none.
"""

from __future__ import annotations

import math
import operator

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats
from ..errors import require
from ..mdp.rewards.rewards import Rewards
from ..precision import DEPENDENT
from .linear_algebra import unit_rows, without_span
from .scorer import NEARLY_ALL, checked_candidates
from .worldview import Worldview, check_worldview


class SeveralScorer:
    """As `RiskScorer`, by the root of the mean of the squared risks of several rewards.

    Parameters
    ----------
    view : Worldview, what the learner sees at first
    rewards : Rewards that are listed or sampled, not all zero
    candidates : array [n, k]

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> from teachirl.views.several_scorer import SeveralScorer
    >>> rewards = ti.Rewards.listed([[1, 1, 0], [1, 0, 1]])
    >>> scorer = SeveralScorer(ti.Worldview(np.empty((0, 3))), rewards, np.eye(3))
    >>> scorer.risks().round(3)  # the first is half of either
    array([0.707, 0.866, 0.866])
    """

    def __init__(self, view: Worldview, rewards: Rewards, candidates: ArrayLike) -> None:
        check_worldview(view)
        require(
            not rewards.convex,
            f"features are chosen for rewards that are listed or sampled, got {rewards.sentence}; "
            "list some of them, such as rewards.draw(rng, 20), or take their `mean`",
        )
        require(
            rewards.n_features == view.n_features,
            f"rewards must have {view.n_features} weights, one a feature, got {rewards.n_features}",
        )
        given = np.asarray(checked_candidates(view, candidates), dtype=float)
        some = rewards.points.any(axis=1)
        require(bool(some.any()), "rewards must not be all zero")
        chances = rewards.chances[some] / rewards.chances[some].sum()
        self._candidates = unit_rows(given)
        self._basis = np.array(view.basis)
        roots = np.sqrt(chances)[:, None]
        self._hidden = roots * without_span(self._basis, unit_rows(rewards.points[some]))
        self._risk = self._length(self._hidden)

    @property
    def risk(self) -> float:
        """The root of the mean of the squared risks by now."""
        return self._risk

    def risks(self) -> Floats:
        """The same after each candidate.

        Returns
        -------
        array [n]; after one that adds nothing to the view, the risk as it is
        """
        if self._risk == 0.0:
            return np.zeros(len(self._candidates))
        u = self._directions()
        shares = np.minimum(((u @ self._hidden.T) ** 2).sum(axis=1) / self._risk**2, 1.0)
        risks = self._risk * np.sqrt(1.0 - shares)
        for i in np.flatnonzero(shares > NEARLY_ALL):  # where the difference would be rounding
            risks[i] = self._length(self._hidden - np.outer(self._hidden @ u[i], u[i]))
        return np.asarray(np.minimum(risks, self._risk))

    def teach(self, index: int) -> None:
        """Add a candidate to what the learner sees.

        Parameters
        ----------
        index : int
        """
        n, i = len(self._candidates), operator.index(index)
        require(0 <= i < n, f"index must lie in 0 … {n - 1}, got {i}")
        u = self._directions()[i]
        if u.any():
            self._basis = np.vstack([self._basis, u])
            self._hidden = without_span(self._basis, self._hidden)
            self._risk = min(self._length(self._hidden), self._risk)

    def _directions(self) -> Floats:
        """What each candidate adds to the view, as unit vectors; 0 of one that adds nothing."""
        left = without_span(self._basis, self._candidates)
        useless = np.linalg.norm(left, axis=1) <= DEPENDENT
        # To make short vectors unit vectors magnifies what rounding left of the span in them.
        u = unit_rows(without_span(self._basis, unit_rows(left)))
        u[useless] = 0.0
        return np.asarray(u)

    @staticmethod
    def _length(rows: Floats) -> float:
        return min(math.sqrt(float((rows**2).sum())), 1.0)


__all__ = ["SeveralScorer"]
