"""Finitely many rewards and one demonstration: bounds for all, the exact worst case for few.

What matches is the fibre F = {μ ∈ M : ‖A(μ − μ_T)‖ ≤ ε}, whatever the reward. So with g(w) the
least ⟨w, μ⟩ of F,

- every witness μ_j bounds every reward from above: g(w_i) ≤ ⟨w_i, μ_j⟩;
- a θ₀ that proves g(w₀) proves something of every w_i by (★) of `bounds`: at θ₀ + B(w_i − w₀), B
  giving what the learner can express of a difference, that takes one plan. Where w_i − w₀ is all
  visible, or nothing that policies can change, it proves as much.

Which of the rewards must then be solved is decided by what is asked for: of the least, those whose
lower bound is below the least upper bound; the one with the smallest first, as it has to be anyway.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...arrays import Floats
from ...demonstrations.demonstration import Demonstration
from ...mdp import clock
from ...mdp.estimated import AnyMDP, EstimatedMDP
from ...mdp.occupancy import expectation_error, expectations_of
from ...mdp.policy import Policy
from ...precision import EPS, SOLVED, down, up
from ...views.linear_algebra import without_span
from ...views.worldview import Worldview
from ..bounds import WorstCaseBounds, WorstCaseStatus, lower_bound
from ..gap_bounds import Case, exact_bound, width_bound
from .grounds import Ground, LoggedGround, Range, down_all, up_all
from .judgement import Criterion, Measure
from .tails import Tail

# Bounds from another reward are computed again if one that was solved is nearer by this factor.
NEARER = 0.7
# How far apart the bounds may be at a first look, as a share of max R − min R.
ROUGHLY = 3e-3


@dataclass(frozen=True, eq=False)
class Posed:
    """Who matches what, and how a worst case is found: all but the reward."""

    mdp: AnyMDP
    view: Worldview
    shown: Demonstration
    mismatch: float
    solve: Callable[[Floats, Floats | None, float, float], WorstCaseBounds]

    @property
    def exact(self) -> bool:
        """Whether what is shown is what a policy does."""
        return self.shown.error == 0.0 and self.shown.policy is not None

    @property
    def recorded(self) -> bool:
        """Whether what is shown is known exactly, and no policy's."""
        return self.shown.error == 0.0 and self.shown.policy is None

    @cached_property
    def ground(self) -> Ground:
        """What policies can earn."""
        if isinstance(self.mdp, EstimatedMDP):
            return LoggedGround(self.mdp.nominal, self.shown, self.mdp)
        return Ground(self.mdp, self.shown)

    @property
    def varying(self) -> Policy | None:
        """Policy that is shown, if what it shows depends on which world of a log it is."""
        return self.ground.policy if isinstance(self.ground, LoggedGround) else None

    @property
    def confidence(self) -> float:
        """That of the demonstration and of the model together: what may fail adds up."""
        if isinstance(self.mdp, EstimatedMDP):
            return max(self.shown.confidence - (1.0 - self.mdp.confidence), 0.0)
        return self.shown.confidence


class Race:
    """Rewards [n, k], bounds on what is guaranteed under each, and what was solved.

    `low` and `high` [n] bound the criterion, signed so that more is better, and where the world is
    known from a log, what can be proved of it. With a `span`, what one policy earns takes the place
    of min R in `low`, which is no more: then 1 − regret/(max R − that) is quasi-concave in w, and
    its least over a polytope is at a vertex.
    """

    def __init__(
        self,
        posed: Posed,
        criterion: Criterion,
        tolerance: float,
        deadline: float,
        span: Range | None = None,
    ) -> None:
        self.posed, self.criterion, self.span = posed, criterion, span
        self.tolerance, self.deadline, self.asked = tolerance, deadline, 0.0
        self.points = np.empty((0, posed.mdp.n_features))
        self.low, self.high = np.empty(0), np.empty(0)
        self.cases: dict[int, WorstCaseBounds] = {}
        self.witnesses: list[Floats] = []
        self._starts: dict[int, Floats] = {}
        self.solves, self.matchable = 0, True
        # Between which g, max R and min R are; by how much ⟨w, μ⟩ may be rounded; how far a reward
        # is from the one whose θ proves its lower bound.
        self._g, self._most, self._least, self._shown, self._bottom = np.empty((5, 0, 2))
        self._errors, self._distance, self._floor = np.empty((3, 0))

    def add(self, points: Floats) -> range:
        """More rewards [m, k]; which numbers they have."""
        n, m, mdp = len(self.points), len(points), self.posed.mdp
        self.points = np.vstack([self.points, points])
        nothing = np.tile([-math.inf, math.inf], (m, 1))
        most, least, floor = nothing.copy(), nothing.copy(), nothing[:, 0].copy()
        # Of the first, to know what is close enough.
        needed = m if self.criterion in (Criterion.PERFORMANCE, Criterion.REGRET) else int(n == 0)
        ground = self.posed.ground
        if needed:
            most[:needed], least[:needed], floor[:needed] = ground.ends(points[:needed])
            self.solves += ground.plans * needed
        self._most, self._least = np.vstack([self._most, most]), np.vstack([self._least, least])
        self._floor = np.append(self._floor, floor)
        earned = ground.shown(points) if self.criterion is Criterion.GAP else nothing
        self._shown = np.vstack([self._shown, earned])
        bottom = nothing if self.span is None else self.span.bottom(points)
        self._bottom = np.vstack([self._bottom, bottom])
        if n == 0 < m:
            span = float(most[0, 0] - least[0, 1])
            relative = self.criterion is Criterion.PERFORMANCE
            self.asked = self.tolerance if relative else self.tolerance * max(span, 0.0)
        self._errors = np.append(self._errors, [expectation_error(mdp, w) for w in points])
        self._distance = np.append(self._distance, np.full(m, math.inf))
        self._g = np.vstack([self._g, nothing])
        self.low, self.high = (np.append(each, np.zeros(m)) for each in (self.low, self.high))
        for mu in self.witnesses:
            self._bound(mu, slice(n, None))
        self._judge()
        self.prove_others(math.inf, slice(n, None))
        return range(n, n + m)

    @property
    def solved(self) -> int:
        """How many rewards' worst cases were solved, roughly or exactly."""
        return len(self.cases.keys() | self._starts.keys())

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return clock.seconds() > self.deadline

    @property
    def nearly(self) -> Floats:
        """array [n], upper bounds on what `low` bounds from below."""
        if self.span is None:
            return self.high
        most, least = self._most[:, 0], self._bottom[:, 0]
        lost = np.maximum(most - self._g[:, 1], 0.0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            shares = np.nan_to_num(1.0 - lost / np.maximum(most - least, 0.0), nan=1.0, neginf=0.0)
        return np.minimum(np.maximum(shares, 0.0), self.high)

    def least_range(self) -> float:
        """max R − min R is at least this under all means of the rewards; 0 if that is not known."""
        return 0.0 if self.span is None else max(float(self.span.of(self.points).min()), 0.0)

    def spare(self, number: int, share: float) -> float:
        """g − share · max R − (1 − share) · what one policy earns, at least: if that is not
        negative, the share is reached under this reward."""
        least = max(float(self._g[number, 0]), float(self._floor[number]))
        most, bottom = float(self._most[number, 1]), float(self._bottom[number, 1])
        rounding = 8.0 * EPS * (abs(least) + abs(most) + abs(bottom))
        return down(least - share * most - (1.0 - share) * bottom - rounding)

    def _bound(self, mu: Floats, part: slice) -> None:
        """Upper bounds of all g by what a witness earns."""
        earned = up_all(self.points[part] @ mu + self._errors[part])
        self._g[part, 1] = np.minimum(self._g[part, 1], earned)

    def prove_others(self, limit: float, part: slice = slice(None)) -> None:
        """Lower bounds of g by the nearest reward that was solved, if that is nearer than before,
        for those whose `low` is below a limit."""
        if not self.cases or not self.matchable:
            return
        posed, solved = self.posed, np.array(list(self.cases))
        view, mu = posed.view, posed.shown.expectations
        numbers = np.arange(len(self.points))[part]
        numbers = numbers[(self.low[numbers] < limit) & ~np.isin(numbers, solved)]
        # Only what is hidden of a difference counts.
        hidden = without_span(view.basis, self.points)
        for number in numbers:
            lengths = np.linalg.norm(hidden[solved] - hidden[number], axis=1)
            nearest = int(lengths.argmin())
            if not lengths[nearest] < NEARER * self._distance[number]:
                continue
            self._distance[number] = lengths[nearest]
            w, other = self.points[number], int(solved[nearest])
            self.solves += 1
            theta = self._theta(int(number), other)
            proved = lower_bound(posed.mdp, view, w, mu, posed.mismatch, theta, posed.varying)
            self._g[number, 0] = max(self._g[number, 0], proved)
        self._judge()

    def _theta(self, number: int, solved: int) -> Floats:
        """What is to prove a reward's lower bound, from one that was solved."""
        view = self.posed.view
        step = view.multipliers(view.basis @ (self.points[number] - self.points[solved]))
        return self.cases[solved].theta + step

    def _judge(self) -> None:
        """`low` and `high` of the rewards that were not solved."""
        most = self._g[:, 1]
        least = np.maximum(self._g[:, 0], self._floor)
        if self.criterion is Criterion.REWARD:
            low, high = least, most
        elif self.criterion is Criterion.GAP:
            low, high = self._against(least, most)
        elif self.criterion is Criterion.REGRET:
            low, high = down_all(least - self._most[:, 1]), up_all(most - self._most[:, 0])
        else:
            low, high = self._shares(least, most)
        rest = np.ones(len(self.points), dtype=bool)
        rest[list(self.cases)] = False
        self.low[rest], self.high[rest] = low[rest], high[rest]

    def _against(self, least: Floats, most: Floats) -> tuple[Floats, Floats]:
        """What is lost against who is shown, at most and at least, negative."""
        low, high = down_all(least - self._shown[:, 1]), up_all(most - self._shown[:, 0])
        return low, np.minimum(high, 0.0) if self.posed.exact else high

    def _shares(self, least: Floats, most: Floats) -> tuple[Floats, Floats]:
        """What is reached of the way from min R to max R, at least and at most."""
        (best, better), (worse, worst) = self._most.T, self._least.T
        above, width, room = down_all(least - worst), up_all(better - worst), down_all(best - worse)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            low = np.where((width > 0.0) & (above > 0.0), down_all(above / width), 0.0)
            high = np.where(room > 0.0, up_all(up_all(most - worse) / room), 1.0)
        if self.span is not None:
            low = np.minimum(low, self._by_span(better, least))
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

    def _by_span(self, most: Floats, least: Floats) -> Floats:
        """1 − regret/(max R − what one policy earns), rounded down; 1 if nothing is to be had."""
        range_ = down_all(most - self._bottom[:, 1])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            shares = down_all(1.0 - up_all(up_all(most - least) / range_))
        shares = np.where(range_ > 0.0, np.maximum(shares, 0.0), 0.0)
        return np.where(self.points.any(axis=1), shares, 1.0)

    def solve(self, number: int) -> WorstCaseBounds:
        """The exact worst case of a reward, and what its witness says of the others."""
        found = self.posed.solve(self.points[number], self._start(number), 0.0, math.inf)
        self.solves += found.solves
        self.matchable = found.status is not WorstCaseStatus.INFEASIBLE
        self.cases[number] = found
        if self.matchable:
            self._g[number] = found.lower, found.upper
            self._settle(number, found)
            self._bring(found)
        return found

    def _bring(self, found: WorstCaseBounds) -> None:
        """What a worst case's witness, in its world, says of all rewards."""
        if found.occupancy is not None:
            world = self.posed.ground.mdp if found.world is None else found.world
            mu = expectations_of(world, found.occupancy)
            self.witnesses.append(mu)
            self._bound(mu, slice(None))
        self._judge()

    def _look(self, number: int, bar: float) -> None:
        """The worst case of a reward, roughly: that may be enough to know that it is not meant, as
        it is if its `low` is above a bar."""
        enough = self._reward_for(number, bar)
        found = self.posed.solve(self.points[number], self._start(number), ROUGHLY, enough)
        self.solves += found.solves
        self._starts[number] = found.theta
        low, high = self._g[number]
        self._g[number] = max(low, found.lower), min(high, found.upper)
        self._bring(found)

    def _reward_for(self, number: int, bar: float) -> float:
        """A g that gives a reward a `low` above a bar, about."""
        most, least = float(self._most[number, 1]), float(self._least[number, 1])
        reward = {
            Criterion.REWARD: bar,
            Criterion.GAP: bar + float(self._shown[number, 1]),
            Criterion.REGRET: bar + most,
            Criterion.PERFORMANCE: least + bar * (most - least),
        }[self.criterion]
        return reward + SOLVED * abs(reward)

    def _start(self, number: int) -> Floats | None:
        """The θ to search from: that of an earlier look, or of the nearest that was solved."""
        if number in self._starts or not self.cases:
            return self._starts.get(number)
        hidden = without_span(self.posed.view.basis, self.points[[*self.cases, number]])
        nearest = int(np.linalg.norm(hidden[:-1] - hidden[-1], axis=1).argmin())
        return self._theta(number, list(self.cases)[nearest])

    def _settle(self, number: int, found: WorstCaseBounds) -> None:
        """`low` and `high` of a reward that was solved: what `certify` would say of it alone."""
        posed, w = self.posed, self.points[number]
        if self.criterion is Criterion.REWARD:
            self.low[number], self.high[number] = found.lower, found.upper
            return
        case = Case(posed.mdp, posed.view, w, posed.shown, posed.mismatch)
        self.solves += 3
        width = width_bound(case, posed.view, w)
        exact = exact_bound(case, found, width)
        least = max(case.worst.lower, width.least, exact.least)
        most = self._g[number, 1] = found.upper
        self._g[number, 0] = least
        earned, ends = self._shown[number, 0], posed.ground.of_case(case)
        if ends is not None:
            self._most[number], self._least[number], earned = ends
            self._floor[number] = case.worst.lower
        if self.criterion is Criterion.GAP:
            low = -min(exact.gap, up(case.expert_most - least))
            high = -down(float(earned) - most)
        elif self.criterion is Criterion.REGRET:
            low, high = down(least - case.best.upper), up(most - float(self._most[number, 0]))
        else:
            low = reached = case.performance(least)
            if self.span is not None:
                low = min(low, float(self._by_span(self._most[:, 1], self._g[:, 0])[number]))
            high = max(float(self._shares(self._g[:, 0], self._g[:, 1])[1][number]), reached)
        self.low[number], self.high[number] = low, max(high, low)

    def reached(self, numbers: Sequence[int]) -> Floats:
        """array [m], what somebody who matches reaches at most under these rewards: `high`, but
        where the world is known from a log, in one that it allows."""
        met = [self.cases.get(number) or float(self._g[number, 1]) for number in numbers]
        some = list(numbers)
        ground, high = self.posed.ground, self.high[some]
        return np.maximum(
            ground.reached(self.criterion, self.points[some], high, met), self.low[some]
        )

    def run(self, numbers: range, chances: Floats, tail: Tail) -> bool:
        """Solve until the number that is meant of these rewards is known; whether there was time.

        `chances` [n] are those of the numbers.
        """
        part = slice(numbers.start, numbers.stop)
        while self.matchable:
            low, high = self.low[part], self.high[part]
            least, most = tail.of(low, chances), tail.of(high, chances)
            if most - least <= self.asked:
                return True
            solved = np.array([number in self.cases for number in numbers])
            if tail.measure is Measure.LEAST:
                number = int(low.argmin())
                if solved[number]:
                    return True
            else:
                beyond = (
                    most if tail.measure is Measure.QUANTILE else self._edge(high, chances, tail)
                )
                wide = np.where(solved | (low >= beyond), -math.inf, high - low)
                if tail.measure is Measure.QUANTILE:
                    wide = np.where(high <= least, -math.inf, wide)
                number = int(wide.argmax())
                if wide[number] == -math.inf:
                    return True
            if self.cases and self.late:
                return False
            if self.cases and numbers[number] not in self._starts:
                least_of_all = tail.measure is Measure.LEAST
                self._look(numbers[number], most if least_of_all else math.inf)
                continue
            self.solve(numbers[number])
            self.prove_others(most)
        return True

    def _edge(self, high: Floats, chances: Floats, tail: Tail) -> float:
        """What is not below this is not in the tail."""
        return replace(tail, measure=Measure.QUANTILE).of(high, chances)


__all__ = ["Posed", "Race"]
