"""Worldviews that share all rows but one, and with them what is known of their worst cases.

A candidate f adds to a view with the orthonormal basis B one direction u, f's part orthogonal to B
at length 1 (`across`). What a plan does from each block of start states (`blocks`) is a column of
every candidate's master problem: ⟨B, μ_g⟩ and ⟨w, μ_g⟩ are the same for all, ⟨u, μ_g⟩ is its own.
So the plans of one *pool* serve them all, and two things follow without solving an MDP:

- The best mixture of the pool's columns that matches μ_T in B and u bounds the candidate's worst
  case from above (`weigh`).
- Of two points that match in B, one on either side of μ_T along u, a mixture matches in u as well:
  what is found for one candidate bounds the worst cases of the others (`Points`).

Rewards are counted from the demonstration's, ⟨w, μ_T⟩.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyRows, Floats, SparseRows
from ..guarantees.bounds import WorstCaseBounds
from ..guarantees.solvers.blocks import Blocks, block_count
from ..guarantees.solvers.master import Master
from ..guarantees.solvers.plans import Case
from ..guarantees.solvers.search import Search
from ..mdp.kernels.race import meet
from ..mdp.policy import Policy
from ..precision import DEPENDENT, SOLVED
from ..views.linear_algebra import SPARSE, as_rows, cleared, units_beside, zero_rows
from ..views.worldview import Worldview

NUMBERS = 20_000  # of a plan, at most: of thousands of features there are fewer blocks
POINTS = 128  # that are kept: each new one is compared to all of them
CHUNK = 32  # plans that are held together
PLANS = 64  # whose columns the pool holds at most, unless the present worst case took more
HELD = 8_000_000  # numbers of contenders that are kept to go on with
ROOM = 8_000_000  # numbers of plans; once they are more, those that nobody uses are dropped
IDLE = 3  # MDP solves in a row that bring nothing: time for smaller steps
SOLVES = 2000  # for one candidate, at most; as for one worst case


class Directions:
    """What each of the features [n, k] adds to a view, at length 1; zero rows for nothing.

    Attributes
    ----------
    matrix : array [n, k], or SparseRows
    lacking : bool array [n], which of them add nothing
    """

    def __init__(self, view: Worldview, features: AnyRows) -> None:
        self.matrix: AnyRows = across(view, as_rows("features", features))
        self.lacking: NDArray[np.bool_] = zero_rows(self.matrix)

    def __len__(self) -> int:
        return len(self.matrix)

    @property
    def dense(self) -> Floats | None:
        """The matrix, unless it is sparse."""
        return None if isinstance(self.matrix, SparseRows) else self.matrix

    def __getitem__(self, candidate: int) -> Floats:
        """The direction [k] of one."""
        return np.asarray(self.matrix[candidate])


def across(view: Worldview, features: AnyRows) -> AnyRows:
    """What each of the features [n, k] adds to the view, at length 1; zero rows for nothing."""
    made, lengths = units_beside(view.basis, features)
    return cleared(made, lengths <= DEPENDENT)


class Pool:
    """What plans do from each block, along B, w and the candidates' directions.

    Attributes
    ----------
    directions : Directions, u of each candidate
    count : how many plans there are; where a policy is demonstrated, it is the first
    points : what the mixtures that were kept prove
    """

    def __init__(self, case: Case, features: AnyRows) -> None:
        sight = case.sight
        self.case, self.directions, self.count = case, Directions(sight.view, features), 0
        self._common = np.vstack([sight.basis, case.w])
        # In the features themselves, where there are fewer of them than of directions.
        dense, every = self.directions.dense, None
        if dense is not None and len(self._common) + len(dense) < case.mdp.n_features:
            every = np.vstack([self._common, dense])
        self._narrow = every is not None
        width = case.mdp.n_features if every is None else len(every)
        most = max(NUMBERS // width, 1)
        self.blocks = Blocks(case.mdp, every, min(block_count(case.mdp, len(self._common)), most))
        self._most = max(ROOM // (self.blocks.count * width), 2)
        self._shown = case.target if every is None else every @ case.target
        self._held = list[Floats]()  # what plans do from each block, `CHUNK` plans together
        self._origin = self.blocks.masses[:, None] * np.append(case.shown, case.earned)
        self.points = Points(len(features), SOLVED * sight.reach)

    def begin(self, master: Master, asked: float) -> None:
        if self.case.policy is not None:
            self._origin = self._add(self.case.policy)
            self._put(np.zeros_like(self._origin), master)
            self.points.add(0.0, np.zeros(len(self.directions)))

    def put(self, policy: Policy, master: Master) -> Floats:
        if self.full:
            self.forget([master])
        columns: Floats = self._add(policy) - self._origin
        self._put(columns, master)
        return columns

    @property
    def full(self) -> bool:
        """Whether there are so many plans that some have to go."""
        return self.count >= self._most

    def forget(self, masters: Sequence[Master]) -> None:
        """Drop the plans of which none of these, who hold all columns that are left, has one."""
        kept = sorted({0}.union(*(master.sources() for master in masters)))
        for place, number in enumerate(kept):  # which is never before it
            self._plan(place)[:] = self._plan(number)
        for master in masters:
            master.renumber(kept)
        self.count, self._most = len(kept), max(self._most, 2 * len(kept))
        del self._held[-(-self.count // CHUNK) :]

    def keep(self, master: Master) -> None:
        plans, blocks, shares = master.shares()
        does, chunks = np.empty((len(plans), self.blocks.width)), plans // CHUNK
        for chunk in set(chunks.tolist()):
            mine = chunks == chunk
            does[mine] = self._held[chunk][plans[mine] % CHUNK, blocks[mine]]
        off = shares @ does - self._shown
        across = off[len(self._common) :] if self._narrow else self.directions.matrix @ off
        self.points.add(master.cost, np.asarray(across))

    def along(self, candidate: int, first: int = 0) -> Floats:
        """Along u, what each plan from the first on does from each block beyond μ_T's part."""
        each = self._along(candidate, first, self.count)
        if self.case.policy is not None:
            return each - self._along(candidate, 0, 1)
        return each - self.blocks.masses * float(self.directions[candidate] @ self.case.target)

    def common(self, first: int) -> Floats:
        """Along B and w, what each plan from the first on does from each block beyond μ_T's part:
        [plans, G, r + 1]."""
        every = [self._across(rows) for rows in self._plans(first, self.count)]
        return np.asarray(np.concatenate(every) - self._origin)

    def _add(self, policy: Policy) -> Floats:
        """Along B and w, what the policy does from each block: [G, r + 1]."""
        if self.count == CHUNK * len(self._held):
            self._held.append(np.empty((CHUNK, self.blocks.count, self.blocks.width)))
        self._plan(self.count)[:] = self.blocks.columns(policy)
        self.count += 1
        return self._across(self._plan(self.count - 1))

    def _across(self, columns: Floats) -> Floats:
        """Along B and w, what plans do [..., width]."""
        if self._narrow:
            return np.array(columns[..., : len(self._common)])
        return np.asarray(columns @ self._common.T)

    def _put(self, columns: Floats, master: Master) -> None:
        """The columns [G, r + 1] of the plan that was added last."""
        owners = np.arange(self.blocks.count)
        master.add(columns[:, :-1], columns[:, -1], owners, self.count - 1)

    def _along(self, candidate: int, first: int, last: int) -> Floats:
        every = self._plans(first, last)
        none = np.empty((0, self.blocks.count))
        if self._narrow:
            place = len(self._common) + candidate
            return np.concatenate([none, *(rows[:, :, place] for rows in every)])
        u = self.directions[candidate]
        [some] = u.nonzero()
        if len(some) > SPARSE * len(u):
            return np.concatenate([none, *(np.asarray(rows @ u) for rows in every)])
        parts = (np.asarray(rows[:, :, some] @ u[some]) for rows in every)
        return np.concatenate([none, *parts])

    def _plans(self, first: int, last: int) -> list[Floats]:
        """What those plans do from each block: arrays [plans, G, width], in turn."""
        starts = range(first - first % CHUNK, last, CHUNK)
        return [self._held[at // CHUNK][max(first - at, 0) : last - at] for at in starts]

    def _plan(self, number: int) -> Floats:
        """What a plan does from each block: [G, width]."""
        plan: Floats = self._held[number // CHUNK][number % CHUNK]
        return plan


class Points:
    """Points that match in B, and what they prove.

    Attributes
    ----------
    least : array [n], at least the worst case of each candidate
    """

    def __init__(self, count: int, blur: float) -> None:
        """`blur`: how far from 0 is still 0."""
        self.blur, self.count = blur, 0
        self.least = np.full(count, math.inf)
        self._rewards, self._off = np.empty(POINTS), np.empty((POINTS, count))

    def add(self, reward: float, off: Floats) -> None:
        """A point with that reward, `off` [n] from μ_T along each u."""
        off = np.where(np.abs(off) <= self.blur, 0.0, off)
        meet(reward, off, self._rewards, self._off, self.count, self.least)
        place = self.count
        if place == POINTS:  # the lower the reward, the more a point proves
            place = int(np.argmax(self._rewards))
            if reward >= self._rewards[place]:
                return
        self._rewards[place], self._off[place] = reward, off
        self.count = max(self.count, place + 1)


class _Shared:
    """The plans of the search for one candidate: the pool's, and so the present search's too."""

    def __init__(self, present: Present, candidate: int) -> None:
        self.present, self.pool, self.candidate = present, present.pool, candidate
        self.blocks, self.seen = self.pool.blocks, self.pool.count

    def begin(self, master: Master, asked: float) -> None:
        """The pool has begun."""

    def put(self, policy: Policy, master: Master) -> Floats:
        if self.pool.full:
            self.present.forget(self.candidate, master)
            self.seen = self.pool.count
        common = self.pool.put(policy, self.present.search.master)
        self.catch_up(master)
        return common

    def catch_up(self, master: Master) -> None:
        """Add the plans that others have found."""
        pool, first, blocks = self.pool, self.seen, self.blocks.count
        if first == pool.count:
            return
        common, along = pool.common(first), pool.along(self.candidate, first)
        mine = np.concatenate([common[:, :, :-1], along[:, :, None]], axis=2)
        owners = np.tile(np.arange(blocks), len(mine))
        numbers = np.repeat(np.arange(first, pool.count), blocks)
        master.add(mine.reshape(len(owners), -1), common[:, :, -1].ravel(), owners, numbers)
        self.seen = pool.count

    def keep(self, master: Master) -> None:
        self.pool.keep(master)


class Present:
    """The worst case of the view as it is. Its plans begin the pool."""

    def __init__(self, case: Case, features: AnyRows, tolerance: float) -> None:
        self.pool = Pool(case, features)
        self.search = Search(case, self.pool, tolerance)
        self._known: dict[int, tuple[Search, _Shared]] = {}

    def settle(self, known: WorstCaseBounds | None = None) -> None:
        """Search, from what is known of this worst case, if it is."""
        search = self.search
        search.prepare()
        if known is None or known.witness is None:
            search.begin(search.case.sight.basis @ search.case.w)
        else:
            self.pool.put(known.witness, search.master)
            view = search.case.sight.view
            search.begin(view.basis @ (view.matrix.T @ known.theta))
        search.climb(SOLVES, math.inf)
        master = search.master
        master.limit = max(PLANS * self.pool.blocks.count, 2 * master.count)

    def contender(self, candidate: int) -> Search:
        """The search in the view with one candidate more, from where it ended, or the present."""
        master, pool = self.search.master, self.pool
        least = float(pool.points.least[candidate])
        if candidate in self._known:
            search, plans = self._known[candidate]
            search.upper, search.solves = min(search.upper, least), 0
            plans.catch_up(search.master)
            return search
        plans = _Shared(weakref.proxy(self), candidate)  # in no circle, which would outlive it
        wider = master.widened(pool.along(candidate))
        search = self.search.wider(pool.directions[candidate], plans, wider, least)
        self._keep(candidate, search, plans)
        return search

    def forget(self, candidate: int, master: Master) -> None:
        """Drop all contenders but one, who has that master, and the plans that only they use."""
        self._known = {each: known for each, known in self._known.items() if each == candidate}
        self.pool.forget([self.search.master, master])

    def _keep(self, candidate: int, search: Search, plans: _Shared) -> None:
        """Keep a contender to go on with; if there is no room, drop those with the least hope."""
        size, k = len(search.theta), len(search.case.w)
        # Its columns; B, w − Bᵀθ and the direction; the values of its last plan.
        numbers = search.master.count * size + (size + 2) * k + search.case.mdp.n_states
        while self._known and (len(self._known) + 1) * numbers > HELD:
            del self._known[min(self._known, key=lambda each: self._known[each][0].upper)]
        if numbers <= HELD:
            self._known[candidate] = search, plans


def weigh(contender: Search) -> None:
    """Bound the contender's worst case by what the pool alone proves."""
    contender.maximise(contender.centre, contender.t, 0.02 * contender.asked)
    contender.match(contender.t)


def settle(contender: Search, bar: float) -> bool:
    """Until the bounds are close, or the upper one is below the bar; whether that is all.

    Each MDP is solved for the θ of the pool's best mixture: what is wrong with that mixture is
    what brings the upper bound down, and most candidates are to be beaten, not to be settled.
    """
    weigh(contender)
    known, idle = contender.bounds, 0
    while contender.upper >= bar and contender.matchable:
        if contender.upper - contender.lower <= 0.9 * contender.asked or contender.solves >= SOLVES:
            return True
        if contender.lost:
            return True
        contender.look(contender.master.theta.copy())
        weigh(contender)
        if contender.closer_than(known):
            known, idle = contender.bounds, 0
        else:
            idle += 1
        if idle == IDLE:
            contender.climb(SOLVES, math.inf)
            return True
    return not contender.matchable


__all__ = ["Points", "Present", "settle", "weigh"]
