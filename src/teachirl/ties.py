"""Which is best, where numbers are rounded: of those that tie, the first."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def first_largest(values: ArrayLike, tie: float) -> int:
    """The first of the values [n] that is the largest, or less by at most `tie`.

    >>> from teachirl.ties import first_largest
    >>> first_largest([0.1 + 0.2 - 0.3, 1.0, 1.0 + 2**-52], 1e-9)
    1
    """
    array = np.asarray(values, dtype=float)
    return int(np.argmax(array >= array.max() - tie))
