"""What sets of features guarantee: bounds on all sets at once, from what is found for a few.

With n features there are 2ⁿ sets S, and each has a worst case

    g_S = min ⟨w, μ⟩  over  μ ∈ M with ‖A_S(μ − μ_T)‖ ≤ ε.

Where the demonstrated policy matches whatever is seen, three things hold without a solve of their
own:

- θ that proves a bound for S proves it for every set with the same features and others.
- A point of M that matches in S bounds g_S from above, and the worst case of every other set in
  which it matches: those without the features in which it is off, at ε = 0. At ε > 0 a mixture with
  the demonstration matches as well, which earns the less of the difference the further it is off.
- At ε = 0 all sets share the plans of one pool: what a plan does along all features is a column of
  every set's master problem. The best mixture of the pool's columns bounds g_S from above, and
  most sets are beaten by that alone.

Sets are numbers: bit j says whether feature j is in it. Rewards are counted from what the
demonstration earns.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import replace

import numpy as np

from ..arrays import Floats, Ints
from ..errors import require
from ..guarantees.bounds import WorstCaseBounds, WorstCaseStatus, checked_case, lower_bound
from ..guarantees.solvers.blocks import Blocks, block_count
from ..guarantees.solvers.bundle import Search
from ..guarantees.solvers.master import Master
from ..guarantees.solvers.plans import Case
from ..guarantees.solvers.view_coordinates import ViewCoordinates
from ..mdp import clock
from ..mdp.occupancy import expectations_of
from ..mdp.policy import Policy
from ..precision import SOLVED
from ..teaching.matching import Matching
from ..teaching.task import Task
from ..views.worldview import Worldview
from .race_search import IDLE, SOLVES, across, weigh

# Features of which all sets are held: a million of them.
MOST = 20
# Plans whose columns a set's master problem begins with, block by block; and numbers that the
# columns of all plans may be, before those are dropped that were used least lately.
PLANS, ROOM = 128, 16_000_000


class SetBounds(ABC):
    """Bounds on what each set of features guarantees.

    Attributes
    ----------
    lower, upper : arrays [2ⁿ], of rewards, counted from the demonstration's
    asked : float, how close bounds are brought
    tried : set of int, those whose bounds were tightened
    done : bool array [2ⁿ], whose bounds are as close as asked, or as rounding allows
    solves : int, how many MDPs were solved
    """

    def __init__(self, task: Task, free: Sequence[int], tolerance: float) -> None:
        require(len(free) <= MOST, f"sets of at most {MOST} features, got {len(free)}")
        self.task, self.shown, self.free = task, task.demonstration, tuple(free)
        self.view = task.worldview.extend(task.teachable[list(task.required)])
        checked_case(task.mdp, self.view, task.weights, self.shown.expectations, 0.0)
        self.features = task.teachable[list(free)]
        self.earned = float(task.weights @ self.shown.expectations)
        self.numbers: Ints = np.arange(1 << len(free))
        least, most = task.worst.lower - self.earned, task.best.upper - self.earned
        self.lower = np.full(len(self.numbers), least)
        self.upper = np.full(len(self.numbers), most)
        self.asked = tolerance * (most - least)
        self.tried: set[int] = set()
        self.done = np.zeros(len(self.numbers), dtype=bool)
        self.solves = 0

    def tighten(
        self, chosen: int, bar: float, deadline: float = math.inf, room: float = 0.0
    ) -> None:
        """Until the bounds on a set are close, its upper bound is below the bar, or time is up.

        Parameters
        ----------
        chosen : int, the set
        bar : float, a reward: sets that guarantee less do not matter
        deadline : float, by `clock.seconds`
        room : float, how far apart bounds may stay, if that is more than asked
        """
        self.tried.add(chosen)
        self._search(chosen, bar, deadline, room)
        apart = self.upper[chosen] - self.lower[chosen]
        stuck = self.upper[chosen] >= bar and clock.seconds() < deadline and apart > room
        self.done[chosen] = apart <= self.asked or stuck

    @property
    def hopes(self) -> Floats:
        """array [2ⁿ], the rewards that sets may still turn out to guarantee."""
        return np.where(self.done, self.lower, self.upper)

    @abstractmethod
    def _search(self, chosen: int, bar: float, deadline: float, room: float) -> None:
        """Tighten the bounds on a set, and with it on others."""

    @abstractmethod
    def proved(self, chosen: int) -> float:
        """What is proved of a set, rounding counted: the reward itself."""

    def members(self, chosen: int) -> tuple[int, ...]:
        """The features of a set, as the task counts them."""
        return tuple(each for j, each in enumerate(self.free) if chosen >> j & 1)

    def view_of(self, chosen: int) -> Worldview:
        """What the learner sees who was taught a set."""
        return self.view.extend(self.task.teachable[list(self.members(chosen))])

    def _with(self, chosen: int) -> Ints:
        """The sets with all features of one."""
        return np.flatnonzero((self.numbers & chosen) == chosen)


def set_bounds(
    task: Task, matching: Matching, free: Sequence[int], tolerance: float = 2.5e-7
) -> SetBounds:
    """Bounds on the sets of these features, beside those that the task requires.

    Parameters
    ----------
    task : Task
    matching : Matching, how closely learners match
    free : sequence of int, at most `MOST` features of the task
    tolerance : float, how close bounds are brought, as a fraction of max R − min R

    Returns
    -------
    SetBounds

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> view = ti.Worldview.select(mdp, ["cell 3"])
    >>> task = ti.Task(mdp, [-2, -1, 0, 1, 2], view, np.eye(5))
    >>> bounds = set_bounds(task, Matching(), [0, 1])
    >>> for chosen in range(4):
    ...     bounds.tighten(chosen, -np.inf)
    >>> [(bounds.members(chosen), round(bounds.proved(chosen), 2)) for chosen in range(4)]
    [((), -12.41), ((0,), 12.41), ((1,), 12.41), ((0, 1), 12.41)]
    """
    shown = task.demonstration
    sure = shown.policy is not None and shown.error == 0.0
    if sure and not matching.within(task.worldview, shown) and not matching.varies(shown):
        return _Pooled(task, free, tolerance)
    return _Separate(task, matching, free, tolerance, sure and not matching.varies(shown))


class _Pooled(SetBounds):
    """ε = 0, of a policy that is shown: on one pool of plans."""

    def __init__(self, task: Task, free: Sequence[int], tolerance: float) -> None:
        super().__init__(task, free, tolerance)
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
        self._settle(search, bar, deadline, max(room, 0.9 * search.asked))
        self.solves += search.solves
        self._note(chosen, search)

    def proved(self, chosen: int) -> float:
        task, view = self.task, self.view_of(chosen)
        theta = view.multipliers(view.basis @ self._known[self._nearest(chosen)][0])
        self.solves += 1
        return lower_bound(task.mdp, view, task.weights, self.shown.expectations, 0.0, theta)

    def witnessed(self, off: Floats, chosen: int) -> None:
        """A point that matches in a set, `off` [r + 1] from the demonstration along the basis and
        in reward: it matches in all sets without the features in which it is off."""
        missed = np.flatnonzero(np.abs(self._across @ off[:-1]) > self._blur)
        outside = sum(1 << int(j) for j in missed) & ~chosen
        found = np.flatnonzero((self.numbers & outside) == 0)
        self.upper[found] = np.minimum(self.upper[found], off[-1])

    def _settle(self, search: Search, bar: float, deadline: float, room: float) -> None:
        """Each MDP is solved for the θ of the pool's best mixture, as in a race; but see `IDLE`."""
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
        search.upper, search.t, search.solves = float(self.upper[chosen]), step, 0
        search.master = Master(len(search.theta), self.blocks.count)
        plans.fill(search.master, search.theta)
        return search

    def _note(self, chosen: int, search: Search) -> None:
        self._first.guess = search.guess
        if chosen not in self._known or search.lower > self._known[chosen][1]:
            direction = search.case.sight.basis.T @ search.theta
            self._known[chosen] = direction, search.lower, search.t
        others = self._with(chosen)
        self.lower[others] = np.maximum(self.lower[others], search.lower)

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

    def __init__(self, pool: _Pooled, chosen: int, basis: Floats) -> None:
        self.pool, self.chosen, self.blocks = pool, chosen, pool.blocks
        self._along = basis @ pool.basis.T

    def begin(self, master: Master) -> None:
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
        self.begin(master)
        pool = self.pool
        rows = pool.rows[: pool.count]
        count = min(PLANS, pool.count)
        costs = rows @ np.append(-(self._along.T @ theta), 1.0)
        plans = np.argpartition(costs, count - 1, axis=0)[:count].ravel()
        blocks = np.tile(np.arange(self.blocks.count), count)
        chosen = rows[plans, blocks]
        master.add(chosen[:, :-1] @ self._along.T, chosen[:, -1], blocks, plans)


class _Separate(SetBounds):
    """Any ε: one set after the other; if what is shown surely matches, witnesses bound others."""

    def __init__(
        self, task: Task, matching: Matching, free: Sequence[int], tolerance: float, sure: bool
    ) -> None:
        super().__init__(task, free, tolerance)
        self.matching, self.tolerance, self.sure = matching, tolerance, sure
        self._proved: dict[int, float] = {}
        if sure:
            self.upper[:] = 0.0

    def _search(self, chosen: int, bar: float, deadline: float, room: float) -> None:
        left = max(deadline - clock.seconds(), 1e-3)
        view = self.view_of(chosen)
        found = self.task.worst_case(
            view, self.shown, self.matching, tolerance=self.tolerance, max_seconds=left
        )
        self.solves += found.solves
        if found.status is WorstCaseStatus.INFEASIBLE:  # nothing is known of who comes near
            self._proved[chosen] = self.task.worst.lower
            self.upper[chosen] = self.lower[chosen]
            return
        self._proved[chosen] = max(found.lower, self._proved.get(chosen, -math.inf))
        self._note(chosen, found, self.matching.within(view, self.shown))

    def proved(self, chosen: int) -> float:
        known = self._proved.items()
        return max(
            (reward for each, reward in known if each == chosen or self._implies(each, chosen)),
            default=self.task.worst.lower,
        )

    def _implies(self, each: int, chosen: int) -> bool:
        return self.sure and each & chosen == each

    def _note(self, chosen: int, found: WorstCaseBounds, allowed: float) -> None:
        lower, upper = found.lower - self.earned, found.upper - self.earned
        same = self._with(chosen) if self.sure else np.array([chosen])
        self.lower[same] = np.maximum(self.lower[same], lower)
        self.upper[chosen] = min(self.upper[chosen], max(upper, lower))
        if not self.sure or found.occupancy is None:
            return
        off = expectations_of(self.task.mdp, found.occupancy) - self.shown.expectations
        squares = np.full(len(self.numbers), float(np.sum((self.view.matrix @ off) ** 2)))
        for j, each in enumerate((self.features @ off) ** 2):
            squares[(self.numbers >> j & 1) == 1] += each
        distance = np.sqrt(squares)
        # Mixed with the demonstration it matches: with this share it is ε away.
        share = np.ones(len(distance))
        np.divide(allowed, distance, out=share, where=distance > allowed)
        np.minimum(self.upper, np.minimum(upper * share, 0.0), out=self.upper)


__all__ = ["MOST", "SetBounds", "set_bounds"]
