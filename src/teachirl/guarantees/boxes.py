"""Boxes on the faces of the ∞-norm sphere, and lengths in them: for `apparent_optimality`."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..arrays import Floats


@dataclass(frozen=True, eq=False)
class Box:
    """A part of a face, arrays [r], with ℓ(β) = ⟨slope, β⟩ + rest ≥ ‖β‖ ≥ 1 on it."""

    low: Floats
    high: Floats

    @property
    def length(self) -> tuple[Floats, float]:
        total, product = self.low + self.high, float(self.low @ self.high)
        m = math.sqrt(float(total @ total) / 2.0 - product)
        return total / (2.0 * m), m / 2.0 - product / (2.0 * m)

    def split(self, beta: Floats) -> tuple[Box, Box]:
        """Two parts, along the coordinate in which ℓ² differs most from β²."""
        width = self.high - self.low
        excess = (beta - self.low) * (self.high - beta) + 1e-6 * width**2
        j = int(excess.argmax())
        # Where β is, ℓ becomes exact; but no part gets too small.
        at = min(max(beta[j], self.low[j] + 0.2 * width[j]), self.high[j] - 0.2 * width[j])
        high, low = self.high.copy(), self.low.copy()
        high[j] = low[j] = at
        return Box(self.low, high), Box(low, self.high)

    def least_ratio(self, g: Floats) -> float:
        """A lower bound, tight up to rounding, on ⟨g, β⟩/ℓ(β) in the box."""
        slope, rest = self.length
        ratio = float(g @ self.low) / (float(slope @ self.low) + rest)
        while True:
            tilted = g - ratio * slope
            beta = np.where(tilted > 0.0, self.low, self.high)
            below = float(tilted @ beta) - ratio * rest
            lower = float(g @ beta) / (float(slope @ beta) + rest)
            if lower >= ratio:
                # ⟨g, β⟩ ≥ ratio ℓ(β) + below, and ℓ ≥ 1.
                return ratio + min(below, 0.0)
            ratio = lower
