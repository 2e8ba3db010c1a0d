"""A region of directions, found from its inside: points drawn from it, and how far it reaches.

A region is known by a test of single points. It is walked through along great circles: from a point
inside, in a random direction or in that of another point that was found, an angle is drawn and
shrunk until the test holds (slice sampling, Neal 2003), so that points are spread evenly. How far
the region reaches in each coordinate is found by steps that grow while they help and shrink where
they leave the region; what is said of it goes one step beyond the last point inside.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..arrays import Floats, frozen

# Angles below this, of a thousandth of a degree, are not told apart.
FINEST = 2e-5
# Suggested points lie on the edge: this share of the way is inside.
INWARD = 0.998
# What a search may have missed of an interval, as a share of it, on either side: a margin that is
# tried, not proved.
MISSED = 0.1
# How often a point is moved before the next is kept, and a step towards an end is tried.
THINNED, TRIES, PASSES = 3, 24, 2


@dataclass(frozen=True, eq=False)
class Region:
    """What is known of a region of directions.

    Attributes
    ----------
    points : array [n, k] of length 1, spread over the region; none if it seems to be empty
    lower, upper : array [k], between which each coordinate lies in the region, of vectors of
        length 1; from −1 to 1 if the region seems to be empty
    """

    points: Floats
    lower: Floats
    upper: Floats


class Walk:
    """A walk through the directions in the span of `basis` [r, k], orthonormal rows, where a test
    holds."""

    def __init__(
        self,
        holds: Callable[[Floats], bool],
        basis: Floats,
        start: Floats,
        rng: np.random.Generator,
    ) -> None:
        self.holds, self.basis, self.rng = holds, basis, rng
        self.points = [_unit(basis.T @ (basis @ start))]
        self.width = math.pi

    def along(self, w: Floats, towards: Floats, angle: float) -> Floats:
        """The point at an angle from w on the great circle towards another."""
        tangent = self.basis.T @ (self.basis @ towards)
        tangent = tangent - (tangent @ w) * w
        size = math.sqrt(tangent @ tangent)
        if size <= FINEST:
            return w
        return _unit(math.cos(angle) * w + math.sin(angle) * tangent / size)

    def step(self) -> None:
        """From the last point on to the next, which is kept."""
        w, rng = self.points[-1], self.rng
        towards = self.basis.T @ rng.standard_normal(len(self.basis))
        if len(self.points) > 4 and rng.random() < 0.5:
            one, two = rng.choice(len(self.points) - 1, 2, replace=False)
            towards = self.points[one] - self.points[two]
        # Until the region is known a little, all of the circle; then a part that is placed anyhow.
        width = 2.0 * min(self.width, math.pi)
        low = -width * rng.random()
        high = low + width
        while high - low > FINEST:
            angle = low + (high - low) * rng.random()
            there = self.along(w, towards, angle)
            if self.holds(there):
                self.points.append(there)
                self.width = max(4.0 * abs(angle), 0.9 * self.width)
                return
            low, high = (low, angle) if angle > 0.0 else (angle, high)
        self.points.append(w)

    def reach(self, direction: Floats) -> float:
        """How far the region reaches in a direction [k]: ⟨direction, w⟩ at most, for w in it."""
        size = float(np.linalg.norm(self.basis @ direction))
        if size <= FINEST:
            return 0.0
        best = self.points[int(np.argmax(np.array(self.points) @ direction))]
        angle = self.width
        for _ in range(TRIES):
            # Straight on, or askance: along what is known of the region's shape.
            toward = direction / size
            if self.rng.random() < 0.7:
                one, two = self.rng.choice(len(self.points), 2)
                askance = self.points[one] - self.points[two]
                askance = askance * np.sign(askance @ direction) + 1e-3 * toward
                toward = askance / np.linalg.norm(askance) + self.rng.random() * toward
            there = self.along(best, toward, angle)
            if float(direction @ there) > float(direction @ best) and self.holds(there):
                best, angle = there, 2.0 * angle
            else:
                angle *= 0.6
        self.points.insert(0, best)
        room = self.along(best, direction, max(angle, FINEST))
        return float(max(direction @ room, direction @ best))

    def pull(self, far: Floats) -> None:
        """Keep the point nearest to one that was suggested, on the way there from the first."""
        near, angle = self.points[0], math.acos(min(max(float(far @ self.points[0]), -1.0), 1.0))
        for _ in range(TRIES // 2):
            there = self.along(near, far, INWARD * angle)
            if self.holds(there):
                self.points.append(there)
                return
            angle *= 0.75

    def climb(self, value: Callable[[Floats], float], tries: int) -> bool:
        """From the start to where the test holds, by steps that raise a value; whether it does."""
        best = self.points[0]
        most, angle = value(best), 0.5
        for _ in range(tries):
            if self.holds(best):
                break
            towards = np.asarray(self.rng.standard_normal(self.basis.shape[1]))
            there = self.along(best, towards, angle)
            now = value(there)
            angle *= 1.5 if now > most else 0.8
            angle = min(max(angle, 1e-3), 1.5)
            if now > most:
                best, most = there, now
        self.points = [best]
        return self.holds(best)


def explore(walk: Walk, steps: int) -> Region:
    """Walk so many steps through a region, then to its ends.

    Parameters
    ----------
    walk : Walk, whose points are inside
    steps : int

    Returns
    -------
    Region
    """
    first = len(walk.points)
    for _ in range(steps):
        walk.step()
    kept = np.array(walk.points[first - 1 :: THINNED])
    ends = np.array([walk.points[0]] * 2)
    for _ in range(PASSES):
        for side, sign in zip(ends, (-1.0, 1.0), strict=True):
            side[:] = [sign * walk.reach(sign * axis) for axis in np.eye(len(side))]
    beyond = MISSED * (ends[1] - ends[0])
    # Up to 0 and no further: a sign that no point contradicts is taken as known.
    lower = np.where(ends[0] > 0.0, np.maximum(ends[0] - beyond, 0.0), ends[0] - beyond)
    upper = np.where(ends[1] < 0.0, np.minimum(ends[1] + beyond, 0.0), ends[1] + beyond)
    lower, upper = (frozen(np.clip(side, -1.0, 1.0)) for side in (lower, upper))
    return Region(frozen(kept), lower, upper)


def _unit(vector: Floats) -> Floats:
    return vector / (math.sqrt(vector @ vector) or 1.0)


__all__ = ["Region", "Walk", "explore"]
