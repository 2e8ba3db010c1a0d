"""Machine precision: what rounding can do to a number, and which is best where numbers are rounded.

EPS is twice what one operation may be off by, relatively. So, whatever the order of the terms,

    Σ a_i b_i of n terms is off by at most (n + 2) EPS Σ |a_i b_i|,
    a Euclidean length of n numbers by at most (n + 6) EPS of itself

(Higham, Accuracy and Stability of Numerical Algorithms, section 3.1). What is proved counts these
where its numbers are computed, and `up` or `down` where they are put together. Of what ties up to
rounding the first is taken, so that no last bit decides.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

EPS = float(np.finfo(float).eps)
# A product of few lengths, norms and quotients, each right to a part in 10¹⁰ or better, is at most
# the computed one times this, and at least the computed one divided by it.
ROUNDED_UP = 1.0 + 1e-9
# Iterations and factorisations leave a few eps of a residual, and so do risks and cosines.
RESIDUAL = 16.0 * EPS
# No bounds on a reward are asked to be closer than this share of ‖w‖ max‖φ‖/(1 − γ).
FINEST = 1e-10
# What differs by less than this share of what there is differs by rounding, to a reader.
INVISIBLE = 1e-9
# What is guaranteed is below the truth by its own rounding: it counts as what was asked for if it
# is less by at most this.
ROUNDED = 1e-9
# Who misses by this share of what can be seen of a policy matches: the rest is the rounding of
# feature expectations that were computed twice, in different ways.
MATCHED = 1e-9
# To this share linear systems, occupancies, mixtures and sums are computed; what is smaller is what
# cancellation, or the end of an iteration, has left.
SOLVED = 1e-12
# Rewards that differ by a smaller share of the largest are the same: each is one sum of products.
SAME_REWARD = 1e-13
# What is computed from squares, such as an eigenvalue of a Gram matrix or a squared sine, has half
# of the digits: less than this share of the largest is 0.
SQUARED = 1e-8
# A vector is dependent on others, or null, if at most this share of it sticks out of their span.
# Rounding leaves a few eps of a truly dependent one, so this leaves room for rows that were
# themselves computed; and of what sticks out further, at least the first six digits are right.
DEPENDENT = 1e-10
# A teaching risk this small is rounding: the weights are a combination of the learner's rows.
NO_RISK = 64 * EPS
# Features tie if the risks after them differ by this share of the risk before. Rounding moves a
# risk by less, unless a candidate is nearly dependent; the paper's SVD by about 1e-15.
RISK_TIE = 1e-10
# Sets of features tie if what they gain, a difference of squared risks, differs by this share.
GAIN_TIE = 1e-11
# What a search has found that ends at a tolerance of its own ties with what differs by this share.
SEARCH_TIE = 1e-6


def sum_error(terms: int, size: float) -> float:
    """By how much a computed sum of products may be off, `size` being the sum of their sizes.

    >>> sum_error(2, 1.0) < 1e-15
    True
    """
    return (terms + 2) * EPS * size


def length_at_least(vector: np.ndarray) -> float:
    """A number that is not above ‖vector‖ (of any shape), and rounding below it.

    >>> length_at_least(np.array([3.0, 4.0])) <= 5.0 <= length_at_most(np.array([3.0, 4.0]))
    True
    """
    return _length(vector) * (1.0 - (vector.size + 6) * EPS)


def length_at_most(vector: np.ndarray) -> float:
    """A number that is not below ‖vector‖ (of any shape), and rounding above it."""
    return _length(vector) * (1.0 + (vector.size + 6) * EPS)


def _length(vector: np.ndarray) -> float:
    with np.errstate(over="ignore"):
        length = float(np.linalg.norm(vector))
    if 1e-140 < length < math.inf:
        return length
    # Squares have under- or overflown. A division and a product more are rounded.
    size = float(np.abs(vector).max(initial=0.0))
    if not 0.0 < size < math.inf:
        return size
    return size * float(np.linalg.norm(vector / size))


def up(value: float) -> float:
    """At least what a value was before its last operation rounded it; a sum that is 0 is exact.

    >>> up(1.0) > 1.0, up(0.0)
    (True, 0.0)
    """
    return math.nextafter(value, math.inf) if value else value


def down(value: float) -> float:
    """At most what a value was before its last operation rounded it; a sum that is 0 is exact."""
    return math.nextafter(value, -math.inf) if value else value


def first_largest(values: ArrayLike, tie: float) -> int:
    """The first of the values [n] that is the largest, or less by at most `tie`.

    >>> first_largest([0.1 + 0.2 - 0.3, 1.0, 1.0 + 2**-52], 1e-9)
    1
    """
    array = np.asarray(values, dtype=float)
    return int(np.argmax(array >= array.max() - tie))


def ranks(values: ArrayLike, tie: float) -> NDArray[np.int64]:
    """The rank of each of the values [n], from 0 for the largest; those in a tie share theirs.

    In a tie are the largest and what is less by at most `tie`, as in `first_largest`; then the
    largest of the rest and what ties with it, and so on. A stable sort by ranks keeps the order in
    which the values are given, whatever their last bits are.

    >>> ranks([1.0, 3.0, 3.0 + 2**-50, 2.0], 1e-9)
    array([2, 0, 0, 1])
    """
    array = np.asarray(values, dtype=float)
    order = np.argsort(-array, kind="stable")
    falling, found = -array[order], np.zeros(len(array), dtype=np.int64)
    begin = 0
    while begin < len(array):
        begin = int(np.searchsorted(falling, falling[begin] + tie, side="right"))
        found[order[begin:]] += 1
    return found
