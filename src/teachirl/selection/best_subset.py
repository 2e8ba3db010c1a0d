"""The best set of features to teach, of given size or cost, by branch and bound.

With r the part of w that the learner does not see, and rows f_i, that of candidate i, a set S gains

    g(S) = ‖P_S r‖² = (ρ²(A; w) − ρ²(A ⊕ S; w))‖w‖²,

P_S the projection on the span of its rows: best subset selection in regression. A node of the
search has chosen some features, which are projected out, has given up others, and has the rest
open. `relaxation` bounds what the rest can add, and tells which of them every better set has, or
none has. Where only two more fit, all pairs are looked at.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import AnyRows, Floats, Ints, checked_indices
from ..errors import Status, require
from ..mdp import clock
from ..precision import DEPENDENT, GAIN_TIE, NO_RISK, RESIDUAL, down, first_largest
from ..views.linear_algebra import (
    PART,
    as_rows,
    extended_basis,
    in_own_coordinates,
    lengths_of,
    on_axes,
    parts_of,
    those,
    unit_rows,
    units_beside,
    without_span,
)
from ..views.scorer import checked_candidates, unit_weights
from ..views.teaching_risk import teaching_risk
from ..views.worldview import Worldview
from .greedy import checked_budgets, greedy_plan, is_whole
from .relaxation import Open, at_most, unlike


class SubsetStatus(Status):
    """How the search ended; the text says what to do about it.

    Examples
    --------
    >>> import teachirl as ti
    >>> [status.name for status in ti.SubsetStatus]
    ['OPTIMAL', 'OUT_OF_NODES']
    """

    OPTIMAL = "no set is better"
    OUT_OF_NODES = "stopped early; allow more nodes, or be content with the gap"


@dataclass(frozen=True, eq=False)
class Subset:
    """A set of features, and how far it may be from the best.

    Attributes
    ----------
    chosen : tuple of int, candidates, each the one that lowers the risk most after those before
    risk : float, the teaching risk once they are taught
    lower : float, no set within the budget has less than this
    gap : float, risk − lower
    nodes : int, how many nodes were looked at
    status : SubsetStatus

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> found = ti.best_subset(ti.Worldview(np.empty((0, 3))), [1, 2, 3], np.eye(3), size=2)
    >>> found.chosen, f"{found.risk:.4f}"
    ((2, 1), '0.2673')
    """

    chosen: tuple[int, ...]
    risk: float
    lower: float
    gap: float
    nodes: int
    status: SubsetStatus

    def __repr__(self) -> str:
        return f"Subset({len(self.chosen)} features, risk {self.risk:.6g}, gap {self.gap:.2g})"


def best_subset(
    view: Worldview,
    weights: ArrayLike,
    candidates: ArrayLike,
    *,
    size: int | None = None,
    max_cost: float | None = None,
    costs: ArrayLike | None = None,
    required: Iterable[int] = (),
    max_nodes: int = 5_000,
) -> Subset:
    """The set of at most `size` candidates that cost at most `max_cost` with the least risk.

    Those that add nothing are left out. For up to some hundreds of candidates.

    Parameters
    ----------
    view : Worldview, what the learner sees anyway
    weights : array [k], not all zero
    candidates : array [n, k]
    size : int, the most candidates; None for any number
    max_cost : float, the most that they may cost together; None for any
    costs : array [n], positive; 1 each by default
    required : sequence of int, indices of candidates that the set must have; they count
    max_nodes : int, where to stop; what is found then comes with its gap

    Returns
    -------
    Subset

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> rows = [[1, 1, 1.2, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
    >>> found = ti.best_subset(ti.Worldview(np.empty((0, 4))), [1, 1, 0, 0], rows, size=2)
    >>> sorted(found.chosen), found.status, found.gap < 1e-9  # greedy begins with the first
    ([1, 2], OPTIMAL, True)
    """
    require(size is not None or max_cost is not None, "give a size, a max_cost, or both")
    check_nodes(max_nodes)
    unit_weights(view, weights)  # refuses what are none
    rows = as_rows("candidates", checked_candidates(view, candidates))
    n = len(rows)
    prices, budgets = checked_budgets(n, size, max_cost, costs)
    must = checked_indices("required", np.array(list(required), dtype=np.int64), n)
    require(len(set(must.tolist())) == len(must), "required must be distinct")
    left = budgets - prices[:, must].sum(axis=1)
    require(bool((left >= 0.0).all()), "the required features do not fit in the size or max_cost")
    wider = view.extend(np.asarray(rows[must]))
    before = teaching_risk(wider, weights)
    free = np.setdiff1d(np.arange(n), must)
    free = free[(prices[:, free] <= left[:, None]).all(axis=0)]
    search = _Search.of(wider, weights, those(rows, free), prices[:, free], left)
    if before > NO_RISK and len(search.rows):
        plan = greedy_plan(
            wider,
            weights,
            those(rows, free[search.places]),
            size=None if math.isinf(left[0]) else int(left[0]),
            max_cost=None if math.isinf(left[1]) else left[1],
            costs=search.costs[1],
        )
        search.run(plan.chosen, max_nodes)
    added = free[search.places[list(search.best)]]
    risk = min(teaching_risk(wider.extend(np.asarray(rows[added])), weights), before)
    lower = risk_at_least(min(math.sqrt(max(before**2 - search.bound, 0.0)), risk), view, rows)
    chosen = _in_order(view, weights, rows, np.concatenate([must, added]))
    status = SubsetStatus.OUT_OF_NODES if search.stopped else SubsetStatus.OPTIMAL
    return Subset(chosen, risk, lower, risk - lower, search.nodes, status)


def risk_at_least(risk: float, view: Worldview, candidates: AnyRows) -> float:
    """A computed risk, once some of the candidates [n, k] are taught, rounded down.

    What is nearly dependent magnifies rounding: the view's rows, a candidate that they hardly lack,
    two that are nearly the same beside them, and all of them together.
    """
    rows = without_span(view.basis, unit_rows(candidates))
    lengths = lengths_of(rows)
    kept = np.flatnonzero(lengths > DEPENDENT)
    rows = unit_rows(those(rows, kept))
    if on_axes(rows):  # what the lines below come to, without matrices of their products
        sine, magnified = 1.0, sum(rows.shape) * RESIDUAL if len(rows) else 0.0
    else:
        rows = np.asarray(rows)
        sine, magnified = _least_sine(rows), Worldview(rows).magnified
    least = float(lengths[kept].min(initial=1.0)) * sine
    doubt = view.magnified + magnified + sum(candidates.shape) * RESIDUAL / least
    return max(down(risk - doubt), 0.0)


def _least_sine(rows: Floats) -> float:
    """The least sine between two of the rows [n, k], of length 1, that are not the same."""
    least, step = 1.0, max(PART // max(len(rows), 1), 1)
    pairs = max(PART // max(rows.shape[1], 1), 1)
    for first in range(0, len(rows), step):
        cosines = rows[first : first + step] @ rows.T
        i, j = np.nonzero(np.triu(np.abs(cosines) > 0.5, first + 1))
        signs = np.sign(cosines[i, j])[:, None]
        for few in range(0, len(i), pairs):
            some = slice(few, few + pairs)
            # Of short differences a cosine knows nothing.
            apart = np.linalg.norm(rows[first + i[some]] - signs[some] * rows[j[some]], axis=1)
            least = min(least, float(apart[apart > DEPENDENT].min(initial=1.0)))
    return least


def check_nodes(max_nodes: int) -> None:
    require(
        is_whole(max_nodes) and max_nodes >= 0,
        f"max_nodes must be a whole number, 0 or more, got {max_nodes!r}",
    )


def _in_order(view: Worldview, weights: ArrayLike, rows: AnyRows, chosen: Ints) -> tuple[int, ...]:
    """By how much each lowers the risk; what is required but adds nothing comes last."""
    some = np.sort(chosen)
    useful = some[list(greedy_plan(view, weights, rows[some]).chosen)]
    return (*useful.tolist(), *np.setdiff1d(some, useful).tolist())


@dataclass(order=True)
class _Node:
    """A part of the search; the one with the largest bound comes first."""

    key: tuple[float, int]
    chosen: list[int] = field(compare=False)
    basis: Floats = field(compare=False)  # orthonormal, of the rows chosen
    open: Ints = field(compare=False)
    z: Floats = field(compare=False)  # [n], where to start the relaxation
    diagonal: Floats = field(compare=False)  # [n], 0 where none is known


@dataclass
class _Search:
    """Rows [n, d] of length 1 and r [d], in coordinates of their own; costs [2, n], budgets [2]."""

    rows: AnyRows
    r: Floats
    costs: Floats
    budgets: Floats
    places: Ints  # [n], where the rows are among the candidates
    best: tuple[int, ...] = ()
    gained: float = 0.0
    bound: float = 0.0
    nodes: int = 0
    stopped: bool = False

    @staticmethod
    def of(
        view: Worldview, weights: ArrayLike, candidates: AnyRows, costs: Floats, budgets: Floats
    ) -> _Search:
        """Without candidates that add nothing, or the same as a cheaper one."""
        r = without_span(view.basis, unit_weights(view, weights))
        rows, lengths = units_beside(view.basis, candidates)
        places = np.flatnonzero(lengths > DEPENDENT)
        rows = those(rows, places)
        kept = unlike(rows, costs[1, places])
        rows, places = those(rows, kept), places[kept]
        if on_axes(rows):  # each gains what r has along it, whatever else is taught
            kept = np.flatnonzero(rows @ r)
            rows, places = those(rows, kept), places[kept]
        # As few coordinates as there are rows; what of r is in none of them is of no use.
        own, r = in_own_coordinates(rows, r)
        return _Search(unit_rows(own), r, costs[:, places], budgets, places)

    def run(self, start: Iterable[int], max_nodes: int) -> None:
        self.offer(list(start))
        n, total = len(self.rows), float(self.r @ self.r)
        tie = GAIN_TIE * total
        share = np.full(n, min(float((self.budgets / self.costs.sum(axis=1)).min()), 1.0))
        root = _Node((-total, 0), [], self.basis([]), np.arange(n), share, np.zeros(n))
        queue, made = [root], 0
        while queue and -queue[0].key[0] > self.gained + tie:
            clock.look()
            if self.nodes >= max_nodes:
                self.stopped = True
                break
            self.nodes += 1
            for node in self.split(heapq.heappop(queue), tie):
                made += 1
                node.key = (node.key[0], made)
                heapq.heappush(queue, node)
        left = -queue[0].key[0] if queue else 0.0
        self.bound = min(max(self.gained + tie, left + tie), total + tie)

    def split(self, node: _Node, tie: float) -> list[_Node]:
        """The parts of a node that may hold a better set."""
        chosen, basis = node.chosen, node.basis
        money = self.budgets - self.costs[:, chosen].sum(axis=1)
        rows = without_span(basis, those(self.rows, node.open))
        lengths = lengths_of(rows)
        fits = (self.costs[:, node.open] <= money[:, None]).all(axis=0) & (lengths > DEPENDENT)
        open_, lengths, costs = node.open[fits], lengths[fits], self.costs[:, node.open[fits]]
        most = min(at_most(price, budget) for price, budget in zip(costs, money, strict=True))
        if most == len(open_):
            self.offer([*chosen, *open_.tolist()])
            return []
        rows = those(rows, np.flatnonzero(fits)) / lengths[:, None]
        rows = unit_rows(without_span(basis, rows))
        along = basis @ self.r
        rest, gained = Open(rows, without_span(basis, self.r), costs, money), float(along @ along)
        if most <= 2:
            for some in rest.best_few(most, self.gained - gained):
                self.offer([*chosen, *open_[some].tolist()])
            return []
        z, diagonal = node.z[open_], node.diagonal[open_] / lengths**2
        relaxed = rest.relaxed(z, diagonal, self.gained + tie - gained)
        filled = rest.filled(relaxed.a)
        if gained + rest.gain(filled) > self.gained:
            self.offer([*chosen, *open_[filled].tolist()])
        bar = self.gained + tie - gained
        never = relaxed.bound - relaxed.if_in <= bar
        always = relaxed.bound - relaxed.if_out <= bar
        if relaxed.bound <= bar or (never & always).any():
            return []
        if always.any():
            chosen = [*chosen, *open_[always].tolist()]
            basis = extended_basis(basis, np.asarray(rows[always]))
        undecided = ~(never | always)
        if not undecided.any():
            self.offer(chosen)
            return []
        doubt = np.where(undecided, relaxed.doubt, -1.0)
        pick = first_largest(doubt, 1e-6 * abs(float(doubt.max())))
        undecided[pick] = False
        z, diagonal = node.z.copy(), node.diagonal.copy()
        z[open_], diagonal[open_] = relaxed.z, relaxed.diagonal * lengths**2
        key = (-min(gained + relaxed.bound, -node.key[0]), 0)
        wider = extended_basis(basis, np.asarray(rows[pick : pick + 1]))
        return [
            _Node(key, [*chosen, int(open_[pick])], wider, open_[undecided], z, diagonal),
            _Node(key, chosen, basis, open_[undecided], z, diagonal),
        ]

    def basis(self, chosen: list[int]) -> Floats:
        return extended_basis(np.empty((0, len(self.r))), np.asarray(self.rows[chosen]))

    def offer(self, chosen: list[int]) -> None:
        """Take the set if it is the best so far, after exchanges that make it better."""
        along = self.basis(chosen) @ self.r
        if float(along @ along) <= self.gained * (1.0 + GAIN_TIE) or not self.affordable(chosen):
            return
        chosen, self.gained = list(chosen), float(along @ along)
        improved = True
        while improved:
            improved = False
            for place in range(len(chosen) + 1):
                others = chosen[:place] + chosen[place + 1 :]
                gained, new = self.with_one_more(others)
                if new is not None and gained > self.gained * (1.0 + GAIN_TIE):
                    chosen, self.gained, improved = [*others, new], gained, True
        self.best = tuple(chosen)

    def with_one_more(self, chosen: list[int]) -> tuple[float, int | None]:
        basis, money = self.basis(chosen), self.budgets - self.costs[:, chosen].sum(axis=1)
        r = without_span(basis, self.r)
        lengths, along = np.empty(len(self.rows)), np.empty(len(self.rows))
        for part in parts_of(self.rows):
            rows = without_span(basis, np.asarray(self.rows[part]))
            lengths[part], along[part] = np.linalg.norm(rows, axis=1), rows @ r
        # Nearly dependent rows are left to the search, which measures them.
        fits = (self.costs <= money[:, None]).all(axis=0) & (lengths > 1e-4)
        if not fits.any():
            return 0.0, None
        gains = np.where(fits, along**2 / np.where(fits, lengths, 1.0) ** 2, -1.0)
        new = first_largest(gains, GAIN_TIE * float(gains.max()))
        gained = self.basis([*chosen, new]) @ self.r
        return float(gained @ gained), new

    def affordable(self, chosen: list[int]) -> bool:
        return bool((self.costs[:, chosen].sum(axis=1) <= self.budgets).all())
