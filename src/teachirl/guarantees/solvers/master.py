"""The bundle method's master problem, over the columns found so far.

Block g has columns (a_j, c_j), and λ picks a point of each block's convex hull. With r = Σ λ_j a_j,

    min c·λ − ⟨centre, r⟩ + t/2 ‖r‖²   over λ in a product of simplices,                       (QP)

whose dual is to maximise the cutting-plane model Σ_g min_j (c_j − ⟨θ, a_j⟩) − ‖θ − centre‖²/(2t);
θ = centre − t r. An active-set method solves it: each block's support is a base column and others,
and the differences to the base, independent and so at most as many as r has entries, are kept as a
QR factorisation that is updated from one solve to the next.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ...mdp.kernels.master import Pool, Support, minimise, rebuild

ROOM = 1024  # for columns, at first; and for so many of each block
EACH = 16


class Master:
    """The columns, and the last solution.

    Attributes
    ----------
    residual : array [n], r
    theta : array [n]
    """

    def __init__(self, size: int, blocks: int, limit: int = 16_384) -> None:
        """`limit`: how many columns may gather before half of them are dropped."""
        self.limit = max(limit, 8 * blocks)
        self.count = self.pivots = self._m = 0
        self.residual, self.theta = np.zeros(size), np.zeros(size)
        room = max(ROOM, EACH * blocks)
        self._columns = np.empty((room, size))
        self._cost, self._share, self._reduced = (np.zeros(room) for _ in range(3))
        self._owner, self._source = (np.zeros(room, np.int64) for _ in range(2))
        self._inside: NDArray[np.bool_] = np.zeros(room, np.bool_)
        self._base, self._bare = np.full(blocks, -1, np.int64), True  # blocks without a column
        self._free = np.zeros(size + 1, np.int64)
        self._q, self._R = np.zeros((size + 1, size)), np.zeros((size + 1, size + 1))

    def add(self, columns: Floats, cost: Floats, owner: Ints, source: int | Ints) -> None:
        """Add columns [m, n] with costs [m] to blocks [m]; a block's first column is its λ.

        `source` says where they come from, all or each [m], for `shares`.
        """
        if self.count + len(cost) > self.limit:
            self._trim()
        while self.count + len(cost) > len(self._cost):
            for name in _ARRAYS:
                old: NDArray[Any] = getattr(self, name)
                setattr(self, name, np.concatenate([old, np.zeros_like(old)]))
        first, self.count = self.count, self.count + len(cost)
        new = slice(first, self.count)
        self._columns[new], self._cost[new], self._owner[new] = columns, cost, owner
        self._source[new], self._share[new], self._inside[new] = source, 0.0, False
        self._reduced[new] = cost - columns @ self.theta
        if self._bare:
            without = first + np.flatnonzero(self._base[owner] < 0)
            self._base[self._owner[without]] = without
            self._share[without], self._inside[without] = 1.0, True
            self._bare = bool((self._base < 0).any())

    def solve(self, centre: Floats, t: float, enough: float, floor: float = 1e-15) -> float:
        """Solve (QP) to a duality gap of `enough`; the value of the model at theta.

        Gains of less than `floor` of their terms are taken for rounding. With a small t they need
        not be, and 0 makes the most of them, at the risk of many pivots for nothing.
        """
        self._m, _, value, done = minimise(
            Pool(self._columns, self._cost, self._owner),
            self.count,
            Support(self._share, self._inside, self._base, self._free, self._q, self._R),
            self._m,
            centre,
            t,
            enough,
            floor,
            20_000,  # pivots in one solve; it then goes on from the λ reached
            self.residual,
            self.theta,
            self._reduced,
        )
        self.pivots += done
        return float(value)

    def shift(self, column: Floats, cost: float) -> None:
        """Add so much [n] to every r, and to every cost: to all columns of the first block."""
        first = np.flatnonzero(self._owner[: self.count] == 0)
        self._columns[first] += column
        self._cost[first] += cost
        self.residual += column

    def widened(self, coordinate: Floats) -> Master:
        """A copy with one more entry in each column, `coordinate` [sources, blocks], and its λ."""
        n, size = self.count, len(self.residual) + 1
        other = object.__new__(Master)
        other.limit, other.count, other.pivots = self.limit, n, 0
        other.residual, other.theta = np.zeros(size), np.zeros(size)
        other._columns = np.empty((n, size))
        other._columns[:, :-1] = self._columns[:n]
        other._columns[:, -1] = coordinate[self._source[:n], self._owner[:n]]
        for name in _ARRAYS[1:]:
            setattr(other, name, getattr(self, name)[:n].copy())
        other._base, other._bare = self._base.copy(), self._bare
        other._free = np.zeros(size + 1, np.int64)
        other._free[: self._m] = self._free[: self._m]
        other._q, other._R = np.zeros((size + 1, size)), np.zeros((size + 1, size + 1))
        other._m = rebuild(
            Pool(other._columns, other._cost, other._owner),
            Support(other._share, other._inside, other._base, other._free, other._q, other._R),
            self._m,
        )
        return other

    @property
    def off(self) -> float:
        """‖r‖"""
        return math.sqrt(self.residual @ self.residual)

    @property
    def cost(self) -> float:
        """c·λ"""
        return float(self._cost[: self.count] @ self._share[: self.count])

    def least(self, block: int) -> float:
        """The block's term of the model at theta."""
        mine = self._owner[: self.count] == block
        return float(self._reduced[: self.count][mine].min())

    def shares(self) -> tuple[Ints, Ints, Floats]:
        """Source, block and λ of each column with λ > 0; in each block λ sums to 1."""
        used = np.flatnonzero(self._share[: self.count] > 0.0)
        owner, share = self._owner[used], self._share[used]
        return self._source[used], owner, share / np.bincount(owner, share)[owner]

    def sources(self) -> set[int]:
        """Where the columns come from that are still held."""
        return set(self._source[: self.count].tolist())

    def renumber(self, kept: Sequence[int]) -> None:
        """Sources are called by their place among those that are kept, in order, from now on."""
        self._source[: self.count] = np.searchsorted(kept, self._source[: self.count])

    def _trim(self) -> None:
        """Drop the columns that are furthest from use: a large pool is slow to search."""
        n = self.count
        excess = self._reduced[:n] - self._reduced[self._base[self._owner[:n]]]
        excess[self._inside[:n]] = -np.inf
        kept = np.sort(np.argsort(excess, kind="stable")[: self.limit // 2])
        place = np.full(n, -1)
        place[kept] = np.arange(len(kept))
        for name in _ARRAYS:
            array: NDArray[Any] = getattr(self, name)
            array[: len(kept)] = array[kept]
        self._base, self._free[: self._m] = place[self._base], place[self._free[: self._m]]
        self.count = len(kept)


_ARRAYS = ("_columns", "_cost", "_share", "_reduced", "_owner", "_source", "_inside")
