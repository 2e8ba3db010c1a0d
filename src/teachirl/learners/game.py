"""The game between a learner and the weights, which two learners play (`multiplicative_weights`).

    min over μ ∈ AM of  loss(μ),   loss(μ) = max over w ∈ W of ⟨w, b − μ⟩,

with W the simplex over the learner's features and their negatives, or over the features alone. For
any w and U ≥ max over AM of ⟨w, μ⟩, loss(μ) ≥ (⟨w, b⟩ − U)/‖w‖₁ and ‖μ − b‖ ≥ (⟨w, b⟩ − U)/‖w‖. All
of it is in even units (`learner`), as the originals have features of range 1.
"""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Floats
from ..precision import sum_error
from .learner import Assignment, Learned, LearnStatus
from .nearness import proved


class Game:
    """What the two learners who play against the weights share.

    Attributes
    ----------
    size : n, how many features there are in play
    goal : the mismatch, or the gap between loss and bound, that is small enough
    """

    def __init__(self, task: Assignment, tolerance: float, nonnegative: bool) -> None:
        self.task, self.nonnegative = task, nonnegative
        self.size = task.seen.n_features * (1 if nonnegative else 2)
        self.goal = tolerance * task.scale

    def settled(self) -> Learned | None:
        """What is learned if the start is an answer already, else None."""
        task, nearest = self.task, 0.0
        miss = task.miss(task.first)
        if task.scale == 0.0:  # all policies look the same
            status = LearnStatus.NEAREST if miss else LearnStatus.MATCHED
            nearest = proved(task.given, task.given.target, 0.0)
        elif miss <= self.goal and not self.nonnegative:
            status = LearnStatus.MATCHED
        else:
            return None
        return task.report(task.start, np.zeros_like(task.target), 0, [], status, nearest)

    def loss(self, mu: Floats) -> float:
        """max ⟨w, b − μ⟩"""
        short = self.task.target - mu
        return float((short if self.nonnegative else np.abs(short)).max())

    def weights(self, logarithms: Floats) -> Floats:
        """The weights on the features [ℓ], of which those in play have these logarithms.

        The negative of a feature has its logarithm negated.
        """
        if self.nonnegative:
            shares = np.exp(logarithms - logarithms.max())
            return np.asarray(shares / shares.sum())
        most = float(np.abs(logarithms).max())
        plus, minus = np.exp(logarithms - most), np.exp(-logarithms - most)
        return np.asarray((plus - minus) / (plus.sum() + minus.sum()))

    def bounds(self, weights: Floats, upper: float, terms: int = 1) -> tuple[float, float]:
        """By (★), the least loss and the least distance that a policy can have.

        weights [ℓ] and upper ≥ max ⟨weights, μ⟩ are sums of so many terms, with ‖w‖₁ ≤ 1 each.
        """
        size = float(np.abs(weights).sum())
        if size == 0.0:
            return (-math.inf if self.nonnegative else 0.0), 0.0
        apart = float(weights @ self.task.target) - upper - self.slack(terms)
        least = apart / size
        nearest = max(apart, 0.0) / float(np.linalg.norm(weights))
        return (least if self.nonnegative else max(least, 0.0)), nearest

    def slack(self, terms: int) -> float:
        """How far ⟨weights, b⟩ and upper, sums of so many terms, may be off."""
        b = self.task.target
        # No term of either is larger, even if it was planned without care.
        reach = 4.0 * terms * (self.task.scale + float(np.abs(b).max()))
        return sum_error(terms + len(b) + 6, reach)

    def proved(self, weights: Floats, upper: float, terms: int = 1) -> float:
        """The least mismatch that a policy can have in the features as given."""
        return proved(self.task, weights, upper + self.slack(terms)) if weights.any() else 0.0

    def status(self, mu: Floats, miss: float, least: float, nearest: float) -> LearnStatus | None:
        """How it ended if the answer is good enough, else None.

        μ is the learner's in the game, miss the distance of what is returned, least and nearest are
        proved.
        """
        # A target that is just out of reach may still be matched within the tolerance.
        enough = self.goal if self.nonnegative else min(self.goal, least)
        solved = self.loss(mu) - least <= enough
        if self.nonnegative and not solved:
            return None
        if miss <= self.goal:
            return LearnStatus.MATCHED
        if miss - nearest <= self.goal:
            return LearnStatus.NEAREST
        return LearnStatus.SETTLED if solved else None

    def mixed(self, mu: Floats) -> tuple[Floats, float]:
        """μ and 1; or what is nearest on the way from the start to μ, and how far along it is.

        Only a μ that is farther from the target than the start was, in the 2-norm, is mixed.
        """
        first, b = self.task.first, self.task.target
        if self.nonnegative or self.task.miss(mu) <= self.task.miss(first):
            return mu, 1.0
        step = mu - first
        share = min(max(float(step @ (b - first)) / float(step @ step), 0.0), 1.0)
        return first + share * step, share
