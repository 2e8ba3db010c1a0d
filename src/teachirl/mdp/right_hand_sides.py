"""Right hand sides, so many at a time, and what is found for them."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..arrays import Floats, frozen

# With fewer columns than these, one after the other is faster than all at once.
FEW = 4
# Columns that a vector register holds; and how many numbers are solved for at once.
LANES, BLOCK = 4, 1 << 23


class Method(enum.Enum):
    """The ways to solve."""

    ELIMINATION = "of the strong components of the chain, in order, while it stays sparse"
    BAND = "elimination of the whole chain, in an order in which its entries lie in a band"
    ITERATION = "x ← b + γPx, where it soon makes no difference where one started"
    KRYLOV = "BiCGSTAB, preconditioned by Gauss–Seidel sweeps in the order of the components"
    FACTORS = "SuperLU"
    SWEEPS = "Gauss–Seidel: slow, but it gets nearer with every step"


class Solved(NamedTuple):
    """A solution [S, m], and what its columns may be off by [m]: by how much any entry of values,
    or the 1-norm of visits; and how it was found."""

    x: Floats
    error: Floats
    method: Method


def parts_of(columns: Floats) -> Iterator[Floats]:
    """The columns [S, m], so many at a time as memory has room for, and zeros beside them where
    that fills vector registers."""
    n, m = columns.shape
    width = max(BLOCK // n // LANES, 1) * LANES
    for first in range(0, m, width):
        part = columns[:, first : first + width]
        missing = -part.shape[1] % LANES if part.shape[1] >= FEW else 0
        part = np.hstack([part, np.zeros((n, missing))]) if missing else np.ascontiguousarray(part)
        yield frozen(part.view())


def together(parts: list[Solved], m: int) -> Solved:
    """The m columns that were solved in parts."""
    if len(parts) == 1:
        return Solved(parts[0].x[:, :m], parts[0].error[:m], parts[0].method)
    x = np.hstack([part.x for part in parts])[:, :m]
    return Solved(x, np.concatenate([part.error for part in parts])[:m], parts[-1].method)
