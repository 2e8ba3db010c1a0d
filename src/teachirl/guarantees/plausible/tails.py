"""The least, a quantile or the tail mean of numbers of which each has a chance.

All three never fall when a number rises. So of numbers that are known up to intervals, the lower
ends give a lower bound and the upper ends an upper one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy  # its parts are loaded when they are used

from ...arrays import Floats
from ...errors import require
from ...precision import SOLVED
from .judgement import Measure


@dataclass(frozen=True)
class Tail:
    """Which number of many is meant.

    Attributes
    ----------
    measure : Measure
    share : float in (0, 1), of the worst; 0 for the least
    confidence : float, with which a quantile of a law is at least an order statistic of its
        samples; 1 where the numbers are all there are
    """

    measure: Measure
    share: float
    confidence: float

    def of(self, values: Floats, chances: Floats) -> float:
        """That number of the values [n], which have these chances [n].

        >>> Tail(Measure.QUANTILE, 0.5, 1.0).of(np.array([3.0, 1.0]), np.array([0.5, 0.5]))
        3.0
        """
        order = np.argsort(values, kind="stable")
        if self.measure is Measure.LEAST:
            return float(values[order[0]])
        if self.confidence < 1.0:
            return float(values[order[order_statistic(len(values), self.share, self.confidence)]])
        below = np.cumsum(chances[order])
        if self.measure is Measure.QUANTILE:
            # The largest that is reached with a chance of 1 − share or more; sums are rounded.
            place = int(np.searchsorted(below, self.share + SOLVED, side="right"))
            return float(values[order[min(place, len(order) - 1)]])
        parts = np.diff(np.minimum(below, self.share), prepend=0.0)
        # The smallest values first, so that rounding takes nothing from the tail.
        parts[-1] += max(self.share - float(parts.sum()), 0.0)
        return float(parts @ values[order] / parts.sum())


def order_statistic(n: int, share: float, confidence: float) -> int:
    """Which of n samples, counted from 0 and from the smallest, is at most the `share` quantile of
    their law with this confidence: P(Binomial(n, share) > number) is at least that.

    >>> order_statistic(200, 0.1, 0.95), order_statistic(200, 0.05, 0.95)  # the 13th and the 5th
    (12, 4)
    """
    beyond = scipy.special.bdtrc(np.arange(n), n, share)
    if beyond[0] < confidence:
        least = math.ceil(math.log1p(-confidence) / math.log1p(-share))
        require(
            False,
            f"a quantile of {share:g} with confidence {confidence:g} takes {least} samples at "
            f"least, got {n}",
        )
    return int(np.flatnonzero(beyond >= confidence)[-1])


def share_below(n: int, confidence: float) -> float:
    """The share of a law that is below the least of n samples is at most this, with confidence.

    >>> round(share_below(200, 0.95), 4)
    0.0149
    """
    return -math.expm1(math.log1p(-confidence) / n)


__all__ = ["Tail", "order_statistic", "share_below"]
