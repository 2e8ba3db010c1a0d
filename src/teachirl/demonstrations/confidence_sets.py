"""Sets that hold the rows of an unknown transition matrix, with a confidence.

A pair was tried n times, and c_j of these times successor j of m followed; p̂ = c/n. Two bounds,
each with half of the row's δ, hold together:

- Clopper and Pearson (1934): l_j ≤ p_j ≤ u_j, exact binomial tails. Of m successors there are 2m
  tail events, of two only two: the one is the other's complement.
- Weissman et al. (2003): P(‖p − p̂‖₁ ≥ β) ≤ (2^m − 2) exp(−nβ²/2).

The rows share δ evenly. If a log decides how often a pair was tried, n is random: what holds for
every n at once, with δ/(n(n + 1)) for each, holds for the one that it came to be.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are used

from ..arrays import Floats, Ints

# The inverse of the incomplete beta function is right to about this, relatively.
INVERSE = 1e-9


class RowSets(NamedTuple):
    """estimate, lower and upper [n] of each successor, radius [P] of each row."""

    estimate: Floats
    lower: Floats
    upper: Floats
    radius: Floats


def row_sets(counts: Ints, indptr: Ints, delta: float, *, fixed_tries: bool) -> RowSets:
    """The sets of all rows, which hold at once with probability 1 − δ.

    Parameters
    ----------
    counts : int array [n], how often each allowed successor followed
    indptr : int array [P + 1], the successors of pair i are ``indptr[i]:indptr[i + 1]``
    delta : float, δ
    fixed_tries : bool, whether it was decided beforehand how often each pair would be tried

    Examples
    --------
    >>> import numpy as np
    >>> sets = row_sets(np.array([50, 50]), np.array([0, 2]), 0.05, fixed_tries=True)
    >>> sets.lower.round(3), sets.radius.round(3)
    (array([0.385, 0.385]), array([0.296]))
    """
    lengths = np.diff(indptr)
    owners = np.repeat(np.arange(len(lengths)), lengths)
    tries = np.bincount(owners, counts, len(lengths)).astype(float)
    open_ = lengths > 1
    sure = open_ & (tries > 0) if fixed_tries else open_
    share = np.full(len(lengths), delta / max(int(np.count_nonzero(sure)), 1))
    if not fixed_tries:
        share /= np.maximum(tries * (tries + 1.0), 1.0)
    n, c = tries[owners], counts.astype(float)
    known = (n > 0) & open_[owners]
    estimate = np.where(n > 0, c / np.maximum(n, 1.0), 1.0 / lengths[owners])
    events = np.where(lengths == 2, 2, 2 * lengths)
    tail = (0.5 * share / events)[owners]
    lower, upper = np.zeros(len(c)), np.ones(len(c))
    some, rest = known & (c > 0), known & (c < n)
    betaincinv = scipy.special.betaincinv
    lower[some] = betaincinv(c[some], (n - c)[some] + 1.0, tail[some]) * (1.0 - INVERSE)
    above = betaincinv((n - c)[rest], c[rest] + 1.0, tail[rest]) * (1.0 - INVERSE)
    upper[rest] = np.minimum(1.0 - above + INVERSE * (1.0 - above), 1.0)
    lower[~open_[owners]] = 1.0
    estimate[~open_[owners]] = 1.0
    return RowSets(
        estimate,
        np.minimum(lower, estimate),
        np.maximum(upper, estimate),
        _radii(lengths, tries, 0.5 * share),
    )


def _radii(lengths: Ints, tries: Floats, delta: Floats) -> Floats:
    """Weissman's β [P]; 2, which says nothing, where a pair was not tried, and 0 where only one
    state can follow."""
    m = np.maximum(lengths, 2).astype(float)
    events = m * math.log(2.0) + np.log1p(-np.exp2(1.0 - m))  # log(2^m − 2)
    radius = np.sqrt(2.0 / np.maximum(tries, 1.0) * (events - np.log(delta))) * (1.0 + INVERSE)
    radius = np.where(tries > 0, np.minimum(radius, 2.0), 2.0)
    return np.where(lengths > 1, radius, 0.0)


__all__ = ["RowSets", "row_sets"]
