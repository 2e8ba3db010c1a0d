"""What features that are open to choose can gain at most, and at least.

They are rows f_i of length 1; a set S of them gains ‖P_S r‖², P_S the projection on its span. The
bound is that of `kernels.subsets`. It needs rows that are independent. Those that are not are taken
to be free, which only helps: S gains at most what the free ones gain together, and what S gains
once they are projected out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyRows, Floats, Ints
from ..mdp.kernels import subsets as kernels
from ..precision import DEPENDENT, GAIN_TIE, SQUARED, first_largest, ranks
from ..views.linear_algebra import PART, cosines, extended_basis, unit_rows, without_span

# With more open features, one diagonal has to do: another costs as much as their number cubed.
MANY = 150


@dataclass(frozen=True, eq=False)
class Relaxed:
    """A bound on what any set within the budgets gains, and what follows from it; arrays [m].

    Attributes
    ----------
    bound : float
    a : how much each is worth in it
    if_in, if_out : by how much it falls if the feature is in the set, or if it is not
    doubt : how much a decision about the feature would help
    z, diagonal : where to start if some features are decided
    """

    bound: float
    a: Floats
    if_in: Floats
    if_out: Floats
    doubt: Floats
    z: Floats
    diagonal: Floats


@dataclass(frozen=True, eq=False)
class Open:
    """Rows [m, d] of length 1, r [d], what each takes [2, m] of two budgets, and those [2]."""

    rows: AnyRows
    r: Floats
    costs: Floats
    budgets: Floats

    @cached_property
    def c(self) -> Floats:
        return np.asarray(self.rows @ self.r)

    @cached_property
    def N(self) -> Floats:  # noqa: N802  # the letter of the definitions
        return cosines(self.rows, slice(None))

    def relaxed(self, z: Floats, diagonal: Floats, enough: float) -> Relaxed:
        """The bound, from where to start, [m] each; it need not be less than `enough`.

        A diagonal of zeros is none.
        """
        m = len(self.rows)
        start = _starting_diagonal(self.N, diagonal)
        if start is None:
            return self._with_free_ones(z, enough)
        rounds = 0 if m > MANY else 12 if start is diagonal else 30
        bound, a, which, upper, lower, D, z = kernels.relax(
            *(self.N, self.c, start, z, np.ascontiguousarray(self.costs), self.budgets),
            *(2 if rounds else 12, rounds, enough),
        )
        if_in = np.maximum(upper * self.costs[which] - a, 0.0)
        if_out = np.maximum(a - lower * self.costs[which], 0.0)
        return Relaxed(float(bound), a, if_in, if_out, np.minimum(z, 1.0 - z) * a, z, D)

    def _with_free_ones(self, z: Floats, enough: float) -> Relaxed:
        free = _dependent(self.N)
        held = ~free
        basis = extended_basis(np.empty((0, len(self.r))), np.asarray(self.rows[free]))
        bound = float((basis @ self.r) @ (basis @ self.r))
        if_in, if_out = np.zeros(len(free)), np.zeros(len(free))
        if held.any():
            rows = unit_rows(without_span(basis, self.rows[held]))
            rest = Open(rows, without_span(basis, self.r), self.costs[:, held], self.budgets)
            inner = rest.relaxed(z[held], np.zeros(len(rows)), enough - bound)
            bound += inner.bound
            if_in[held], if_out[held] = inner.if_in, inner.if_out
        # What is free is decided first: with some of it gone, the rest may be independent.
        doubt = np.where(free, 1.0 + self.c**2, 0.0)
        return Relaxed(bound, self.c**2, if_in, if_out, doubt, z, np.zeros(len(free)))

    def best_few(self, most: int, bar: float) -> list[list[int]]:
        """The best set of at most `most`, 1 or 2, and others that may be as good.

        Pairs that gain less than `bar` are left out.
        """
        found = [[first_largest(self.c**2, GAIN_TIE * float((self.c**2).max()))]]
        if most == 1:
            return found
        n, close = len(self.c), list[list[int]]()
        most_with, step = np.empty(n), max(PART // n, 1)
        for first in range(0, n, step):
            gains, same = self._pairs(first, first + step)
            most_with[first : first + step] = gains.max(axis=1)
            close += (np.argwhere(same) + np.array([first, 0])).tolist()
        enough = (1.0 - GAIN_TIE) * most_with.max(initial=bar)
        for i in np.flatnonzero(most_with >= enough)[:1].tolist():
            [gains], _ = self._pairs(i, i + 1)
            found.append([i, int(np.argmax(gains >= min(enough, gains.max())))])
        return found + close

    def _pairs(self, first: int, last: int) -> tuple[Floats, NDArray[np.bool_]]:
        """What first … last − 1 gain with each later one that fits, −∞ with others; and with which
        of them they are the same, so that their cosine does not tell."""
        i, j = np.arange(len(self.c))[first:last, None], np.arange(len(self.c))
        fit = i < j
        for price, budget in zip(self.costs, self.budgets, strict=True):
            fit &= price[i] + price <= budget
        N = cosines(self.rows, slice(first, last))  # the letter of the definitions
        squared_sines = (1.0 - N) * (1.0 + N)
        same = squared_sines <= SQUARED
        beyond = (self.c - N * self.c[i]) ** 2 / np.where(same, np.inf, squared_sines)
        return np.where(fit, self.c[i] ** 2 + beyond, -np.inf), same & fit

    def filled(self, a: Floats) -> list[int]:
        """Those with the most a per cost, as long as the budgets last."""
        chosen, left = list[int](), self.budgets
        worth = a / self.costs[1]
        for i in np.argsort(ranks(worth, GAIN_TIE * float(worth.max(initial=0.0))), kind="stable"):
            if (self.costs[:, i] <= left).all():
                chosen.append(int(i))
                left = left - self.costs[:, i]
        return chosen

    def gain(self, chosen: list[int]) -> float:
        """What a set gains, unless its rows depend on each other: then roughly."""
        inner = self.N[np.ix_(chosen, chosen)] + 1e-14 * np.eye(len(chosen))
        return float(self.c[chosen] @ np.linalg.solve(inner, self.c[chosen]))


def _starting_diagonal(N: Floats, known: Floats) -> Floats | None:
    """One that can be taken from N; None if its rows depend on each other."""
    if known.all() and kernels.positive(N, known):
        return known
    least = float(np.linalg.eigvalsh(N)[0])
    return np.full(len(N), 0.9 * least) if least > SQUARED else None


def _dependent(N: Floats) -> NDArray[np.bool_]:
    """Those that others combine to, or nearly; all, if they cannot be told from the rest."""
    values, vectors = np.linalg.eigh(N)
    free = np.asarray((vectors[:, values <= SQUARED] ** 2).sum(axis=1) > 1e-10)
    rest = N[np.ix_(~free, ~free)]
    told_apart = len(rest) == 0 or float(np.linalg.eigvalsh(rest)[0]) > SQUARED
    return free if free.any() and told_apart else np.ones(len(N), dtype=bool)


def unlike(rows: AnyRows, costs: Floats) -> Ints:
    """Of unit rows [n, d] that are the same, up to sign, the cheapest, of those the first."""
    n, d = rows.shape
    # Rows that are the same are equally long along any direction: few are left to be compared.
    direction = np.cos(np.arange(d) ** 1.5 + 1.0)
    along = np.abs(rows @ (direction / (np.linalg.norm(direction) or 1.0)))
    order = np.argsort(along)
    first = np.searchsorted(along[order], along - 2.0 * DEPENDENT)
    last = np.searchsorted(along[order], along + 2.0 * DEPENDENT, side="right")
    kept = np.zeros(n, dtype=bool)
    for i in np.lexsort((np.arange(n), costs)):
        near = order[first[i] : last[i]]
        near = near[kept[near]]
        kept[i] = True
        if len(near):
            others, row = np.asarray(rows[near]), rows[i]
            signs = np.where(others @ row < 0.0, -1.0, 1.0)[:, None]
            kept[i] = not (np.linalg.norm(others - signs * row, axis=1) <= DEPENDENT).any()
    return np.flatnonzero(kept)


def at_most(costs: Floats, budget: float) -> int:
    """How many could be afforded, if they were the cheapest."""
    return int(np.count_nonzero(np.cumsum(np.sort(costs)) <= budget))
