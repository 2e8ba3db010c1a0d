"""Coordinates of what a learner sees, in which the ball of what may be missed has axes."""

from __future__ import annotations

import math
from copy import copy

import numpy as np

from ...arrays import Floats
from ...mdp.estimated import AnyMDP
from ...views.worldview import Worldview

# Directions in which even this share of the ball holds all of M are left out: they bind nothing.
LOOSE = 1e-5


class ViewCoordinates:
    """The worldview in coordinates B in which ‖A(μ − μ_T)‖² = Σ (σ_i z_i)², z = B(μ − μ_T)."""

    def __init__(self, mdp: AnyMDP, view: Worldview, mismatch: float) -> None:
        self.view, self.mismatch = view, mismatch
        self.reach = mdp.largest_feature / (1.0 - mdp.discount) or 1.0
        self.basis = view.basis
        if mismatch:
            left, sigma, right = np.linalg.svd(view.matrix @ view.basis.T, full_matrices=False)
            binds = 2.0 * self.reach * sigma > LOOSE * mismatch
            self._left, self._sigma = left[:, binds], sigma[binds]
            self.basis = np.ascontiguousarray(right[binds] @ view.basis)

    def wider(self, direction: Floats) -> ViewCoordinates:
        """With one more coordinate, along a unit vector [k] orthogonal to the rest; for ε = 0."""
        other = object.__new__(ViewCoordinates)
        other.view, other.mismatch, other.reach = self.view, 0.0, self.reach
        other.basis = np.vstack([self.basis, direction])
        return other

    def at(self, mismatch: float) -> ViewCoordinates:
        """The same coordinates with another ball; for ε > 0, of both."""
        other = copy(self)
        other.mismatch = mismatch
        return other

    def theta(self, theta: Floats) -> Floats:
        """θ_A [ℓ]; at ε = 0 its length does not matter."""
        if self.mismatch:
            return np.asarray(self._left @ (theta / self._sigma))
        return self.view.multipliers(theta)

    def penalty(self, theta: Floats) -> float:
        """ε‖θ_A‖"""
        if not self.mismatch:
            return 0.0
        scaled = theta / self._sigma
        return self.mismatch * math.sqrt(scaled @ scaled)

    def edge(self, theta: Floats) -> Floats:
        """The −z in the ball with the largest ⟨θ, −z⟩ = ε‖θ_A‖, a little inside."""
        scaled = theta / self._sigma
        length = math.sqrt(scaled @ scaled)
        if length == 0.0:
            return np.zeros_like(theta)
        return np.asarray(self.mismatch * (1.0 - LOOSE**2) * scaled / self._sigma / length)
