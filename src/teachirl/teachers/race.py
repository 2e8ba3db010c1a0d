"""Which feature lifts the guarantee most? The candidates race, and few of them run far.

After a feature f the learner has the worldview A ⊕ f, and what is guaranteed is the worst case,

    g_f = min ⟨w, μ⟩  over  μ ∈ M with ‖(A ⊕ f)(μ − μ_T)‖ ≤ ε,

one linear or cone program a candidate. Most of them need not be solved: each candidate has bounds
on g_f, at first loose ones, and the one that could be best has its bounds tightened, again and
again, until what one candidate is proved to reach is out of the others' reach. So the choice is
that of exhaustive search, where candidates whose g_f differ by at most `tolerance` of max R − min R
tie and the first of them is taken.

At ε = 0 all candidates share the plans of one pool (`race_search`), and most are beaten without an
MDP solve of their own. At ε > 0 each worst case that is solved has a witness, which bounds those of
others: where it matches in their view too, or would if mixed with the demonstration.

Candidates may have an ε of their own each: then one more row can make the guarantee smaller.

If no policy matches the demonstration, nothing is guaranteed: g_f then counts as min R.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import AnyRows, Floats, as_floats, at, check_finite, checked_positive, frozen
from ..demonstrations.demonstration import Demonstration, as_demonstration
from ..errors import require
from ..guarantees.bounds import WorstCaseBounds, WorstCaseStatus, check_limits, checked_case
from ..guarantees.solvers.plans import Case
from ..guarantees.solvers.view_coordinates import ViewCoordinates
from ..guarantees.worst_case import worst_case
from ..mdp.estimated import AnyMDP, EstimatedMDP
from ..mdp.model import MDP
from ..mdp.occupancy import expectations_of
from ..mdp.planning import optimal_policy, worst_policy
from ..mdp.policy import Policy
from ..precision import FINEST
from ..views.linear_algebra import as_rows, zero_rows
from ..views.worldview import Worldview
from .race_search import Present, settle

Mask: TypeAlias = NDArray[np.bool_]

# Bounds are closed to this share of what makes a tie, so that what ties is seen to tie.
CLOSE = 0.25


@dataclass(frozen=True, eq=False)
class Raced:
    """What is guaranteed after each candidate, as far as it had to be known.

    Attributes
    ----------
    best : int, index of the best candidate: the one that gains most, or most per cost if there are
        costs
    second : int, the best of the others; None if there are none
    single : int, index of the candidate that gains most, whatever it costs
    second_single : int, the best of the others, whatever they cost
    lower, upper : arrays [n], bounds on the reward that is guaranteed after each candidate, valid
        up to rounding: close for those four, for the others as they were once beaten
    idle : bool array [n], which of them change nothing in the view
    present : float, the reward that is guaranteed as things stand
    tie : float, gains that differ by at most this count as equal
    matchable : bool, False if no policy matches the demonstration even now: nothing is guaranteed
    weighed : int, how often a candidate's bounds were tightened
    solves : int, how many MDPs were solved
    """

    best: int
    second: int | None
    single: int
    second_single: int | None
    lower: Floats
    upper: Floats
    idle: Mask
    present: float
    tie: float
    matchable: bool
    weighed: int
    solves: int


def race(
    mdp: AnyMDP,
    view: Worldview,
    weights: ArrayLike,
    demonstration: Demonstration | Policy,
    candidates: ArrayLike,
    mismatch: float = 0.0,
    *,
    present: WorstCaseBounds | None = None,
    mismatches: ArrayLike | None = None,
    costs: ArrayLike | None = None,
    tolerance: float = 1e-6,
) -> Raced:
    """Which of the candidates guarantees most if it is taught next.

    Parameters
    ----------
    mdp : MDP, or EstimatedMDP
    view : Worldview
    weights : array [k]
    demonstration : Demonstration or Policy that the learner is shown
    candidates : array [n, k], at least one
    mismatch : float, ε, up to which learners are taken to match
    present : WorstCaseBounds as things stand, if known: it is then not computed again
    mismatches : array [n], ε once each candidate is taught; the same by default
    costs : array [n], positive: what counts is then the gain per cost
    tolerance : float, gains that differ by at most this fraction of max R − min R tie; of gains per
        cost, in units of the smallest cost

    Returns
    -------
    Raced

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> from teachirl.teachers.race import race
    >>> mdp, weights = ti.worlds.chain(5), [-2, -1, 0, 1, 2]
    >>> view = ti.Worldview.select(mdp, ["cell 1"])
    >>> raced = race(mdp, view, weights, ti.optimal_policy(mdp, weights).policy, np.eye(5))
    >>> raced.best, round(raced.present, 3), round(float(raced.lower[2]), 3)
    (2, -4.187, 12.409)
    """
    shown = as_demonstration(mdp, demonstration)
    w, _ = checked_case(mdp, view, weights, shown.expectations, mismatch)
    check_limits(tolerance, 1.0)
    features = _checked_candidates(candidates, mdp.n_features)
    n = len(features)
    prices = None if costs is None else checked_positive("costs", costs, n)
    after = np.full(n, float(mismatch))
    if mismatches is not None:
        after = _checked_mismatches(mismatches, n)
    run: _Race
    if isinstance(mdp, EstimatedMDP) or mismatch or after.any():
        run = _Separate(mdp, view, w, shown, features, float(mismatch), after, tolerance, present)
    else:
        run = _Together(mdp, view, w, shown, features, tolerance, present)
    single, second_single = best, second = run.places(np.ones(n))
    if prices is not None:
        best, second = run.places(prices.min() / prices)
    return Raced(
        best=best,
        second=second,
        single=single,
        second_single=second_single,
        lower=frozen(np.minimum(run.lower, run.upper) + run.earned),
        upper=frozen(run.upper + run.earned),
        idle=frozen(run.idle),
        present=run.present + run.earned,
        tie=run.tie,
        matchable=run.matchable,
        weighed=run.weighed,
        solves=run.solves,
    )


def _checked_candidates(candidates: ArrayLike, k: int) -> AnyRows:
    features = as_rows("candidates", candidates)
    require(
        features.ndim == 2 and features.shape[1] == k and len(features) > 0,
        f"candidates must have shape (n, {k}) with n at least 1, got {features.shape}",
    )
    check_finite("candidates", features)
    return features


def _checked_mismatches(mismatches: ArrayLike, n: int) -> Floats:
    after = as_floats("mismatches", mismatches)
    require(after.shape == (n,), f"mismatches must have shape ({n},), got {after.shape}")
    bad = np.argwhere(~(after >= 0.0) | ~np.isfinite(after))
    require(len(bad) == 0, f"mismatches must not be negative, got {at(after, bad)}")
    return after


class _Race(ABC):
    """Bounds on what each candidate guarantees, and which of them is best.

    Rewards are counted from the demonstration's, `earned`.
    """

    def __init__(
        self, n: int, earned: float, least: float, most: float, tie: float, policy: Policy | None
    ) -> None:
        """What policies can earn, what counts as equal, and the policy that is shown exactly."""
        self.earned, self.least, self.tie = earned, least, tie
        self.surely = policy is not None  # matched, by that policy
        self.lower, self.upper = np.full(n, least), np.full(n, most)
        self.settled = np.zeros(n, dtype=bool)
        self.present, self.matchable = least, True
        self.weighed = self.solves = 0

    def places(self, worth: Floats) -> tuple[int, int | None]:
        """Who wins, and who would were the winner not there."""
        others = np.ones(len(worth), dtype=bool)
        best = self.winner(worth, others)
        others[best] = False
        return best, self.winner(worth, others) if others.any() else None

    def winner(self, worth: Floats, among: Mask) -> int:
        """The first of those among whom it is whose gain times worth, [n] in (0, 1], ties with the
        largest."""
        while True:
            low, high = (
                np.where(among, (bound - self.present) * worth, -np.inf)
                for bound in (self.lower, self.upper)
            )
            proved = float(low.max())
            going = ~self.settled & (high >= proved - self.tie)
            # Whoever surely ties with the best can lose to an earlier one alone.
            sure = np.flatnonzero(low >= high.max() - self.tie)
            if len(sure):
                going[sure[0] + 1 :] = False
            if not going.any():
                return int(np.argmax(low >= proved - self.tie))
            high[~going] = -np.inf
            first = int(np.argmax(high))
            high[first] = -np.inf
            # Halfway to what is proved, as it costs less to go on now than to take it up again.
            bar = 0.5 * (max(float(high.max()), proved) + proved) - self.tie
            self.weighed += 1
            self.tighten(first, self.present + bar / worth[first])

    @abstractmethod
    def tighten(self, candidate: int, bar: float) -> None:
        """Settle a candidate, or bring its upper bound below the bar: others are then ahead."""

    def begin(self, lower: float, upper: float, matchable: bool, idle: Mask, more: Floats) -> None:
        """What the present worst case says of all candidates.

        Those that are idle change nothing but ε, which grows by `more` [n]. If the demonstration is
        not surely matched, one more row may leave nobody who matches it.
        """
        self.matchable, self.idle = matchable, idle & (more == 0.0)
        if not matchable:
            nobody = more <= 0.0
            self.upper[nobody] = self.lower[nobody]
            self.settled[nobody] = True
            return
        self.present = lower
        self.lower[self.idle | (self.surely & (more <= 0.0))] = lower
        self.upper[self.idle] = np.minimum(upper, self.upper[self.idle])
        self.settled[self.idle] = True

    def settle(self, candidate: int, lower: float, upper: float, matchable: bool) -> None:
        self.settled[candidate] = True
        if matchable:
            self.lower[candidate] = max(lower, self.lower[candidate])
            self.upper[candidate] = min(upper, self.upper[candidate])
        else:
            self.lower[candidate] = self.upper[candidate] = self.least


class _Together(_Race):
    """ε = 0: on one pool."""

    def __init__(
        self,
        mdp: MDP,
        view: Worldview,
        w: Floats,
        shown: Demonstration,
        features: AnyRows,
        tolerance: float,
        present: WorstCaseBounds | None,
    ) -> None:
        policy = shown.policy if shown.error == 0.0 else None
        case = Case(mdp, ViewCoordinates(mdp, view, 0.0), w, shown.expectations, policy)
        now = Present(case, features, CLOSE * tolerance)
        now.settle(present)
        search = now.search
        earned, asked = search.case.earned, search.asked
        least, most = search.lowest - earned, search.highest - earned
        super().__init__(len(features), earned, least, most, asked / CLOSE, policy)
        self.now, self.solves = now, search.solves
        idle: Mask = now.pool.directions.lacking
        same = np.zeros(len(features))
        self.begin(search.lower, search.upper, self.surely or search.matchable, idle, same)
        self._bound()

    def tighten(self, candidate: int, bar: float) -> None:
        contender = self.now.contender(candidate)
        close = settle(contender, bar)
        self.solves += contender.solves
        self._bound()
        self.upper[candidate] = min(self.upper[candidate], contender.upper)
        if close:
            matchable = self.surely or contender.matchable
            self.settle(candidate, contender.lower, contender.upper, matchable)

    def _bound(self) -> None:
        np.minimum(self.upper, self.now.pool.points.least, out=self.upper)


class _Separate(_Race):
    """ε > 0, or a world that is known from a log: one by one, those whom no witness has beaten."""

    def __init__(
        self,
        mdp: AnyMDP,
        view: Worldview,
        w: Floats,
        shown: Demonstration,
        features: AnyRows,
        mismatch: float,
        after: Floats,
        tolerance: float,
        present: WorstCaseBounds | None,
    ) -> None:
        self.mdp, self.view, self.w, self.shown = mdp, view, w, shown
        self.features, self.after, self.tolerance = features, after, CLOSE * tolerance
        policy = shown.policy if shown.error == 0.0 else None
        earned = float(w @ shown.expectations)
        least = worst_policy(mdp, w).lower - earned
        most = optimal_policy(mdp, w).upper - earned
        rounding = FINEST * float(np.linalg.norm(w)) * mdp.largest_feature / (1.0 - mdp.discount)
        tie = max(tolerance * (most - least), rounding / CLOSE)
        super().__init__(len(features), earned, least, most, tie, policy)
        if self.surely:
            self.upper[:] = 0.0
        if present is not None and not present.upper - present.lower > tie:  # or both are infinite
            now = present
            self._bound(now)
        else:
            now = self._solve(view, mismatch)
        matchable = now.status is not WorstCaseStatus.INFEASIBLE
        idle: Mask = zero_rows(features)
        more = after - mismatch
        self.begin(now.lower - earned, now.upper - earned, matchable, idle, more)

    def tighten(self, candidate: int, bar: float) -> None:
        wider = self.view.extend(self.features[candidate])
        found = self._solve(wider, float(self.after[candidate]))
        matchable = found.status is not WorstCaseStatus.INFEASIBLE
        self.settle(candidate, found.lower - self.earned, found.upper - self.earned, matchable)

    def _solve(self, view: Worldview, mismatch: float) -> WorstCaseBounds:
        found = worst_case(self.mdp, view, self.w, self.shown, mismatch, tolerance=self.tolerance)
        self.solves += found.solves
        self._bound(found)
        return found

    def _bound(self, found: WorstCaseBounds) -> None:
        """Bound the worst cases of all candidates in whose view this one's witness matches."""
        if found.occupancy is None or found.status is WorstCaseStatus.INFEASIBLE:
            return
        if isinstance(self.mdp, EstimatedMDP):  # a witness has a world of its own
            return
        reward = found.upper - self.earned
        off = expectations_of(self.mdp, found.occupancy) - self.shown.expectations
        distance = np.hypot(np.linalg.norm(self.view.matrix @ off), self.features @ off)
        if self.surely:
            # Mixed with the demonstration it matches: with this share it is ε away.
            share = np.ones(len(distance))
            np.divide(self.after, distance, out=share, where=distance > self.after)
            bound = reward * share
        else:
            bound = np.where(distance <= self.after, reward, np.inf)
        np.minimum(self.upper, bound, out=self.upper)


__all__ = ["Raced", "race"]
