"""Bounds on what sets of features guarantee, at ε = 0, where all sets share the plans of one pool.

What a plan does along all features is a column of every set's master problem. The best mixture of
the pool's columns bounds g_S from above, and most sets are beaten by that alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import replace

import numpy as np

from ..arrays import Floats
from ..guarantees.bounds import WorstCaseBounds, lower_bound
from ..guarantees.solvers.blocks import Blocks, block_count
from ..guarantees.solvers.master import Master
from ..guarantees.solvers.plans import Case
from ..guarantees.solvers.search import GRACE, Search
from ..guarantees.solvers.view_coordinates import ViewCoordinates
from ..mdp import clock
from ..mdp.policy import Policy
from ..precision import DEPENDENT, SOLVED
from ..teaching.matching import Matching
from ..teaching.task import Task
from ..views.linear_algebra import without_span
from ..views.worldview import Worldview
from .race_search import IDLE, SOLVES, across, weigh
from .sets import SetBounds

# Plans whose columns a set's master problem begins with, block by block; and numbers that the
# columns of all plans may be, before those are dropped that were used least lately.
PLANS, ROOM = 128, 16_000_000


class PooledSets(SetBounds):
    """ε = 0, of a policy that is shown: on one pool of plans."""

    def __init__(
        self, task: Task, matching: Matching, free: Sequence[int], tolerance: float
    ) -> None:
        super().__init__(task, matching, free, tolerance)
        mdp, shown = task.mdp, self.shown
        assert shown.policy is not None
        basis = self.view.extend(self.features).basis
        self.basis = basis
        every = np.vstack([basis, task.weights])
        self.blocks = Blocks(mdp, every, block_count(mdp, len(basis)))
        self.rows = np.empty((32, self.blocks.count, self.blocks.width))
        self.latest = np.zeros(len(self.rows))
        self.count, self.turn = 0, 0
        self._origin = np.zeros_like(self.rows[0])
        self.add(shown.policy)
        self._origin, self.rows[0] = self.rows[0].copy(), 0.0
        self._across = across(self.view, self.features) @ basis.T
        self.upper[:] = 0.0  # what is shown matches
        sight = ViewCoordinates(mdp, self.view, 0.0)
        self._blur = SOLVED * sight.reach
        case = Case(mdp, sight, task.weights, shown.expectations, shown.policy)
        search = Search(case, _SetPlans(self, 0, sight.basis), tolerance)
        search.prepare()
        search.begin(sight.basis @ case.w)
        self.asked, self._first = search.asked, search
        # Of each set that was tried: Bᵀθ [k], what it proves, and the step that was good there.
        self._known: dict[int, tuple[Floats, float, float]] = {}
        self._proved: dict[int, float] = {}  # what searches here have, no record
        self._moment = math.inf  # until when records are proved although time is up
        self._note(0, search)

    def add(self, policy: Policy) -> int:
        """The number of a plan that is new to the pool."""
        if self.count == len(self.rows):
            self._make_room()
        self.rows[self.count] = self.blocks.columns(policy) - self._origin
        self.latest[self.count] = self.turn
        self.count += 1
        return self.count - 1

    def _search(self, chosen: int, bar: float, deadline: float, room: float) -> None:
        self.turn += 1
        search = self._begun(chosen)
        enough = max(room, 0.9 * search.asked)
        try:
            clock.in_time(deadline, lambda: self._settle(search, bar, deadline, enough))
        finally:  # on Ctrl-C as well, what is proved holds
            self.solves += search.solves
            self._note(chosen, search)

    def _learn(self, chosen: int, view: Worldview, found: WorstCaseBounds) -> None:
        lower, upper = found.lower - self.earned, found.upper - self.earned
        if chosen not in self._known or lower > self._known[chosen][1]:
            step = self._known[self._nearest(chosen)][2]
            self._known[chosen] = view.matrix.T @ found.theta, lower, step
            self._proved[chosen] = found.lower
        more, fewer = self._with(chosen), np.flatnonzero((self.numbers & ~chosen) == 0)
        self.lower[more] = np.maximum(self.lower[more], lower)
        self.upper[fewer] = np.minimum(self.upper[fewer], max(upper, lower))

    def proved(self, chosen: int, deadline: float = math.inf) -> float:
        direction, lower, _ = self._known[self._nearest(chosen)]
        inside = (proof for each, proof in self._proved.items() if each & chosen == each)
        known = max(self.task.worst.lower, *inside)
        late = clock.seconds() > deadline
        if late and known < lower + self.earned - self.asked:
            # A record says more, which is no proof; there is a moment for those of all sets.
            self._moment = deadline = min(self._moment, clock.seconds() + GRACE)
        proved = clock.in_time(deadline, lambda: self._bound(chosen, direction))
        if proved is None:
            return known
        self.solves += 1
        self._proved[chosen] = max(proved, self._proved.get(chosen, -math.inf))
        return proved

    def witnessed(self, off: Floats, chosen: int) -> None:
        """A point that matches in a set, `off` [r + 1] from the demonstration along the basis and
        in reward: it matches in all sets without the features in which it is off."""
        missed = np.flatnonzero(np.abs(self._across @ off[:-1]) > self._blur)
        outside = sum(1 << int(j) for j in missed) & ~chosen
        found = np.flatnonzero((self.numbers & outside) == 0)
        self.upper[found] = np.minimum(self.upper[found], off[-1])

    def _settle(self, search: Search, bar: float, deadline: float, room: float) -> None:
        """Each MDP is solved for the θ of the pool's best mixture, as in a race; but see `IDLE`.

        Where w is among what is seen, θ = Bw proves that all who match earn the same.
        """
        basis, w = search.case.sight.basis, search.case.w
        if np.linalg.norm(without_span(basis, w)) <= DEPENDENT * search.unit:
            search.look(basis @ w)
        weigh(search)
        idle = 0
        while search.upper >= bar and search.upper - search.lower > room:
            if search.solves >= SOLVES or search.lost or clock.seconds() > deadline:
                return
            known = search.upper, search.lower
            search.look(search.master.theta.copy())
            weigh(search)
            idle = idle + 1 if (search.upper, search.lower) == known else 0
            if idle == IDLE:
                search.climb(SOLVES, deadline)
                return

    def _nearest(self, chosen: int) -> int:
        """Of the sets that were tried and have no other features, the one that guarantees most."""
        inside = (each for each in self._known if each & chosen == each)
        return max(inside, key=lambda each: self._known[each][1])

    def _begun(self, chosen: int) -> Search:
        """A search for a set, from where that for the nearest ended, with the pool's columns."""
        direction, lower, step = self._known[self._nearest(chosen)]
        search = copy(self._first)
        sight = ViewCoordinates(self.task.mdp, self.view_of(chosen), 0.0)
        search.case = replace(self._first.case, sight=sight)
        plans = search.plans = _SetPlans(self, chosen, sight.basis)
        search.theta = search.centre = sight.basis @ direction
        search.lower = search.at_centre = lower
        search.proof = None
        search.upper, search.t, search.solves = float(self.upper[chosen]), step, 0
        search.master = Master(len(search.theta), self.blocks.count)
        plans.fill(search.master, search.theta)
        return search

    def _note(self, chosen: int, search: Search) -> None:
        self._first.guess = search.guess
        if chosen not in self._known or search.lower > self._known[chosen][1]:
            direction = search.case.sight.basis.T @ search.theta
            self._known[chosen] = direction, search.lower, search.t
            if search.proof is not None:
                self._proved[chosen] = self._bound(chosen, direction, search.proof)
        others = self._with(chosen)
        self.lower[others] = np.maximum(self.lower[others], search.lower)

    def _bound(
        self, chosen: int, direction: Floats, known: tuple[Floats, float] | None = None
    ) -> float:
        """What Bᵀθ [k] proves of a set, rounding counted, given what its plan proved, if it is."""
        task, view, shown = self.task, self.view_of(chosen), self.shown.expectations
        theta = view.multipliers(view.basis @ direction)
        return lower_bound(task.mdp, view, task.weights, shown, 0.0, theta, known=known)

    def record(self) -> dict[str, Floats]:
        known = sorted(self._known)
        directions, lower, step = zip(*(self._known[each] for each in known), strict=True)
        found = {"sets": known, "directions": directions, "at": lower, "steps": step}
        return super().record() | {name: np.array(each, float) for name, each in found.items()}

    def resume(self, record: dict[str, Floats]) -> None:
        super().resume(record)
        found = zip(*(record[name] for name in ("sets", "directions", "at", "steps")), strict=True)
        for chosen, direction, lower, step in found:
            self._known[int(chosen)] = direction, float(lower), float(step)

    def _make_room(self) -> None:
        """Twice the room, or half the plans: those used least lately; the first stays."""
        if self.rows.size <= ROOM:
            self.rows = np.concatenate([self.rows, np.empty_like(self.rows)])
            self.latest = np.concatenate([self.latest, np.zeros_like(self.latest)])
            return
        kept = np.sort(np.argsort(-self.latest[1:], kind="stable")[: len(self.rows) // 2]) + 1
        kept = np.concatenate([[0], kept])
        self.count = len(kept)
        self.rows[: self.count], self.latest[: self.count] = self.rows[kept], self.latest[kept]


class _SetPlans:
    """The plans of the search for one set: those of the pool."""

    def __init__(self, pool: PooledSets, chosen: int, basis: Floats) -> None:
        self.pool, self.chosen, self.blocks = pool, chosen, pool.blocks
        self._along = basis @ pool.basis.T

    def begin(self, master: Master, asked: float) -> None:
        owners = np.arange(self.blocks.count)
        master.add(np.zeros((len(owners), len(self._along))), np.zeros(len(owners)), owners, 0)

    def put(self, policy: Policy, master: Master) -> Floats:
        number = self.pool.add(policy)
        rows = self.pool.rows[number]
        columns = rows[:, :-1] @ self._along.T
        master.add(columns, rows[:, -1], np.arange(self.blocks.count), number)
        return np.column_stack([columns, rows[:, -1]])

    def keep(self, master: Master) -> None:
        plans, blocks, shares = master.shares()
        self.pool.latest[plans] = self.pool.turn
        self.pool.witnessed(shares @ self.pool.rows[plans, blocks], self.chosen)

    def fill(self, master: Master, theta: Floats) -> None:
        """The demonstration's columns, and of the pool's those that are cheapest at θ."""
        self.begin(master, 0.0)
        pool = self.pool
        rows = pool.rows[: pool.count]
        count = min(PLANS, pool.count)
        costs = rows @ np.append(-(self._along.T @ theta), 1.0)
        plans = np.argpartition(costs, count - 1, axis=0)[:count].ravel()
        blocks = np.tile(np.arange(self.blocks.count), count)
        chosen = rows[plans, blocks]
        master.add(chosen[:, :-1] @ self._along.T, chosen[:, -1], blocks, plans)


__all__ = ["PooledSets"]
