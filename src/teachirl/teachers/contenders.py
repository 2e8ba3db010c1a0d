"""Worldviews that share all rows but one, and with them what is known of their worst cases.

A candidate f adds to a view with the orthonormal basis B one direction u, f's part orthogonal to B
at length 1 (`across`). What a plan does from each block of start states (`blocks`) is a column of
every candidate's master problem: ⟨B, μ_g⟩ and ⟨w, μ_g⟩ are the same for all, ⟨u, μ_g⟩ is its own.
So the plans of one *pool* serve them all, and two things follow without solving an MDP:

- The best mixture of the pool's columns that matches μ_T in B and u bounds the candidate's worst
  case from above (`Contender.weigh`).
- Of two points that match in B, one on either side of μ_T along u, a mixture matches in u as well:
  what is found for one candidate bounds the worst cases of the others (`Points`).

Rewards are counted from the demonstration's, ⟨w, μ_T⟩.
"""

from __future__ import annotations

import math

import numpy as np

from ..arrays import Floats, Ints
from ..guarantees.solvers.blocks import Blocks, block_count
from ..guarantees.solvers.bundle import MATCHED, Search
from ..guarantees.solvers.view_coordinates import ViewCoordinates
from ..mdp.kernels.race import meet
from ..mdp.model import MDP
from ..mdp.policy import Policy
from ..views.worldview import DEPENDENT, Worldview, unit_rows, without_span

ROOM = 32  # plans, at first
POINTS = 128  # that are kept: each new one is compared to all of them
PLANS = 64  # whose columns the pool holds at most, unless the present worst case took more
FAR = 10.0  # how much further than the present t a mixture that matches is sought
IDLE = 3  # MDP solves in a row that bring nothing: time for smaller steps
SOLVES = 2000  # for one candidate, at most; as for one worst case


def across(view: Worldview, features: Floats) -> Floats:
    """What each of the features [n, k] adds to the view, at length 1; zero rows for nothing."""
    left = without_span(view.basis, unit_rows(features))
    left[np.linalg.norm(left, axis=1) <= DEPENDENT] = 0.0
    # To make a short vector a unit vector magnifies what rounding left of the span in it.
    return unit_rows(without_span(view.basis, unit_rows(left)))


class Pool:
    """What plans do from each block, along B, w and the candidates' directions.

    Attributes
    ----------
    directions : array [n, k], u of each candidate
    count : how many plans there are; where a policy is demonstrated, it is the first
    """

    def __init__(
        self, mdp: MDP, basis: Floats, w: Floats, directions: Floats, target: Floats, blocks: int
    ) -> None:
        self.directions, self.count = directions, 0
        self._common = np.vstack([basis, w])
        # In the features themselves, where there are fewer of them than of directions.
        self._narrow = len(self._common) + len(directions) < mdp.n_features
        every = np.vstack([self._common, directions]) if self._narrow else None
        self.blocks = Blocks(mdp, every, blocks)
        self._shown = target if every is None else every @ target
        self._rows = np.empty((ROOM, self.blocks.count, self.blocks.width))

    def add(self, policy: Policy) -> Floats:
        """Along B and w, what the policy does from each block: [G, r + 1]."""
        if self.count == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        columns = self._rows[self.count] = self.blocks.columns(policy)
        self.count += 1
        if self._narrow:
            return np.array(columns[:, : len(self._common)])
        return np.asarray(columns @ self._common.T)

    def along(self, candidate: int, first: int = 0, last: int | None = None) -> Floats:
        """Along u, what each plan from the first on does from each block: [plans, G]."""
        rows = self._rows[first : self.count if last is None else last]
        if self._narrow:
            return rows[:, :, len(self._common) + candidate]
        return np.asarray(rows @ self.directions[candidate])

    def mixed(self, plans: Ints, blocks: Ints, shares: Floats) -> Floats:
        """Along each u, how far a mixture of the plans is from μ_T: [n]."""
        off = shares @ self._rows[plans, blocks] - self._shown
        return np.asarray(off[len(self._common) :] if self._narrow else self.directions @ off)


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


class Present(Search):
    """The worst case of the view as it is. Its plans begin the pool."""

    def __init__(
        self,
        mdp: MDP,
        view: Worldview,
        w: Floats,
        target: Floats,
        policy: Policy | None,
        features: Floats,
        tolerance: float,
    ) -> None:
        sight = ViewCoordinates(mdp, view, 0.0)
        count = block_count(mdp, len(sight.basis) + 1)
        super().__init__(mdp, sight, w, target, policy, tolerance, count)
        self.pool = Pool(mdp, sight.basis, w, across(view, features), target, count)
        self.points = Points(len(features), MATCHED * sight.reach)
        if policy is not None:
            self.points.add(0.0, np.zeros(len(features)))

    def settle(self) -> None:
        self.prepare()
        self.begin()
        self.climb(SOLVES, math.inf)
        self.master.limit = max(PLANS * self.blocks.count, 2 * self.master.count)

    def along(self, candidate: int, first: int = 0) -> Floats:
        """Along u, what each plan from the first on does from each block beyond μ_T's part."""
        pool = self.pool
        if self.policy is not None:
            return pool.along(candidate, first) - pool.along(candidate, 0, 1)
        shown = float(pool.directions[candidate] @ self.target)
        return pool.along(candidate, first) - pool.blocks.masses * shown

    def _blocks(self) -> Blocks:
        return self.pool.blocks

    def _columns(self, policy: Policy) -> Floats:
        return self.pool.add(policy)

    def _keep(self) -> None:
        self.upper = self.master.cost
        self.points.add(self.upper, self.pool.mixed(*self.master.shares()))


class Contender(Search):
    """The worst case of the view with one candidate more, from where the present one ended."""

    def __init__(self, present: Present, candidate: int) -> None:
        direction = present.pool.directions[candidate]
        super().__init__(
            present.mdp,
            present.sight.wider(direction),
            present.w,
            present.target,
            present.policy,
            present.tolerance,
            present.count,
        )
        self.present, self.candidate = present, candidate
        self.blocks, self.owners, self.asked = present.blocks, present.owners, present.asked
        self.highest, self.earned, self.guess = present.highest, present.earned, present.guess
        self.shown = np.append(present.shown, direction @ present.target)
        self.theta = self.centre = np.append(present.theta, 0.0)
        self.lower = self.at_centre = present.lower
        self.upper, self.t = float(present.points.least[candidate]), present.t
        self.master = present.master.widened(present.along(candidate))

    def weigh(self) -> None:
        """What the pool alone proves."""
        self._maximise(self.centre, FAR * self.t, 0.02 * self.asked)
        self._match(FAR * self.t)

    def settle(self, bar: float) -> bool:
        """Until the bounds are close, or the upper one is below the bar; whether they are close.

        Each MDP is solved for the θ of the pool's best mixture: what is wrong with that mixture is
        what brings the upper bound down, and most candidates are to be beaten, not to be settled.
        """
        self.weigh()
        idle = 0
        while self.upper >= bar and self.matchable:
            if self.upper - self.lower <= 0.9 * self.asked or self.solves >= SOLVES:
                return True
            known = self.upper, self.lower
            self._look(self.master.theta.copy())
            self.weigh()
            idle = idle + 1 if (self.upper, self.lower) == known else 0
            if idle == IDLE:
                self.climb(SOLVES, math.inf)
                return True
        return not self.matchable

    def _put(self, policy: Policy, columns: Floats | None = None) -> Floats:
        present, number = self.present, self.present.pool.count
        common: Floats = present.pool.add(policy) - present.origin
        along = present.along(self.candidate, number)[0]
        mine = np.column_stack([common[:, :-1], along])
        self.master.add(mine, common[:, -1], self.owners, number)
        present.master.add(common[:, :-1], common[:, -1], self.owners, number)
        return common

    def _keep(self) -> None:
        self.upper = self.master.cost
        off = self.present.pool.mixed(*self.master.shares())
        self.present.points.add(self.upper, off)
