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
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Floats
from ...demonstrations.demonstration import Demonstration
from ...mdp import clock
from ...mdp.model import MDP
from ...mdp.occupancy import expectation_error, expectations_of
from ...mdp.planning import optimal_policies
from ...mdp.policy import Policy
from ...precision import ROUNDED_UP, down, up
from ...views.linear_algebra import without_span
from ...views.worldview import Worldview
from ..bounds import WorstCaseBounds, WorstCaseStatus, lower_bound
from ..gap_bounds import Case, exact_bound, width_bound
from .judgement import Criterion, Measure
from .tails import Tail

# Bounds from another reward are computed again if one that was solved is nearer by this factor.
NEARER = 0.7
# How far apart the bounds may be at a first look, as a share of max R − min R.
ROUGHLY = 1e-2


@dataclass(frozen=True, eq=False)
class Posed:
    """Who matches what, and how a worst case is found: all but the reward."""

    mdp: MDP
    view: Worldview
    shown: Demonstration
    mismatch: float
    solve: Callable[[Floats, Floats | None, float], WorstCaseBounds]

    @property
    def exact(self) -> bool:
        """Whether what is shown is what a policy does."""
        return self.shown.error == 0.0 and self.shown.policy is not None


class Race:
    """Rewards [n, k], bounds on what is guaranteed under each, and what was solved.

    `low` and `high` [n] bound the criterion, signed so that more is better. With a direction Δ [k],
    ⟨w, Δ⟩ takes the place of max R − min R in `low`, which is no less: then 1 − regret/⟨w, Δ⟩ is
    quasi-concave in w, and its least over a polytope is at a vertex.
    """

    def __init__(
        self,
        posed: Posed,
        criterion: Criterion,
        tolerance: float,
        deadline: float,
        delta: Floats | None = None,
    ) -> None:
        self.posed, self.criterion, self.delta = posed, criterion, delta
        self.tolerance, self.deadline, self.asked = tolerance, deadline, 0.0
        self.points = np.empty((0, posed.mdp.n_features))
        self.low, self.high = np.empty(0), np.empty(0)
        self.cases: dict[int, WorstCaseBounds] = {}
        self.witnesses: list[Floats] = []
        self._starts: dict[int, Floats] = {}
        self.solves, self.matchable = 0, True
        # Between which g, max R and min R are; by how much ⟨w, μ⟩ may be rounded; how far a reward
        # is from the one whose θ proves its lower bound.
        self._g, self._most, self._least = (np.empty((0, 2)) for _ in range(3))
        self._errors, self._distance = np.empty(0), np.empty(0)

    def add(self, points: Floats) -> range:
        """More rewards [m, k]; which numbers they have."""
        n, m, mdp = len(self.points), len(points), self.posed.mdp
        self.points = np.vstack([self.points, points])
        nothing = np.tile([-math.inf, math.inf], (m, 1))
        most, least = nothing.copy(), nothing.copy()
        # Of the first, to know what is close enough.
        needed = m if self.criterion in (Criterion.PERFORMANCE, Criterion.REGRET) else int(n == 0)
        if needed:
            most[:needed], least[:needed] = self._ends(points[:needed])
        self._most, self._least = np.vstack([self._most, most]), np.vstack([self._least, least])
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
        """array [n], upper bounds on what `low` bounds from below: with Δ, on 1 − regret/⟨w, Δ⟩."""
        if self.delta is None:
            return self.high
        range_ = np.maximum(self.points @ self.delta + 2.0 * self._errors, 0.0)
        lost = np.maximum(self._most[:, 0] - self._g[:, 1], 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.nan_to_num(1.0 - lost / range_, nan=1.0, neginf=0.0)
        return np.minimum(np.maximum(shares, 0.0), self.high)

    def least_range(self) -> float:
        """max R − min R is at least this under all means of the rewards; 0 if that is not known."""
        if self.delta is None:
            return 0.0
        return max(float((self.points @ self.delta - 2.0 * self._errors).min()), 0.0)

    def _ends(self, points: Floats) -> tuple[Floats, Floats]:
        """max R and min R, between bounds [m, 2] each."""
        self.solves += 2 * len(points)
        found = optimal_policies(self.posed.mdp, np.vstack([points, -points]))
        best, worst = found[: len(points)], found[len(points) :]
        return np.stack([best.lower, best.upper], 1), -np.stack([worst.upper, worst.lower], 1)

    def _bound(self, mu: Floats, part: slice) -> None:
        """Upper bounds of all g by what a witness earns."""
        earned = _up(self.points[part] @ mu + self._errors[part])
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
            proved = lower_bound(posed.mdp, view, w, mu, posed.mismatch, theta)
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
        least = np.maximum(self._g[:, 0], self._least[:, 0])
        if self.criterion is Criterion.REWARD:
            low, high = least, most
        elif self.criterion is Criterion.GAP:
            low, high = self._against(least, most)
        elif self.criterion is Criterion.REGRET:
            low, high = _down(least - self._most[:, 1]), _up(most - self._most[:, 0])
        else:
            low, high = self._shares(least, most)
        rest = np.ones(len(self.points), dtype=bool)
        rest[list(self.cases)] = False
        self.low[rest], self.high[rest] = low[rest], high[rest]

    def _against(self, least: Floats, most: Floats) -> tuple[Floats, Floats]:
        """What is lost against who is shown, at most and at least, negative."""
        shown = self.posed.shown
        earned = self.points @ shown.expectations
        doubt = np.linalg.norm(self.points, axis=1) * shown.error * ROUNDED_UP + self._errors
        low, high = _down(least - _up(earned + doubt)), _up(most - _down(earned - doubt))
        return low, np.minimum(high, 0.0) if self.posed.exact else high

    def _shares(self, least: Floats, most: Floats) -> tuple[Floats, Floats]:
        """What is reached of the way from min R to max R, at least and at most."""
        (best, better), (worse, worst) = self._most.T, self._least.T
        above, width, room = _down(least - worst), _up(better - worst), _down(best - worse)
        with np.errstate(divide="ignore", invalid="ignore"):
            low = np.where((width > 0.0) & (above > 0.0), _down(above / width), 0.0)
            high = np.where(room > 0.0, _up(_up(most - worse) / room), 1.0)
        if self.delta is not None:
            low = np.minimum(low, self._by_delta(better, least))
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)

    def _by_delta(self, most: Floats, least: Floats) -> Floats:
        """1 − regret/⟨w, Δ⟩, rounded down; 1 if nothing is to be had at all."""
        assert self.delta is not None
        # Δ is a difference of two computed feature expectations.
        range_ = _down(self.points @ self.delta - 2.0 * self._errors)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = _down(1.0 - _up(_up(most - least) / range_))
        shares = np.where(range_ > 0.0, np.maximum(shares, 0.0), 0.0)
        return np.where(self.points.any(axis=1), shares, 1.0)

    def solve(self, number: int) -> WorstCaseBounds:
        """The exact worst case of a reward, and what its witness says of the others."""
        found = self.posed.solve(self.points[number], self._start(number), 0.0)
        self.solves += found.solves
        self.matchable = found.status is not WorstCaseStatus.INFEASIBLE
        self.cases[number] = found
        if self.matchable:
            self._g[number] = found.lower, found.upper
            self._settle(number, found)
            if found.occupancy is not None:
                mu = expectations_of(self.posed.mdp, found.occupancy)
                self.witnesses.append(mu)
                self._bound(mu, slice(None))
            self._judge()
        return found

    def _look(self, number: int) -> None:
        """The worst case of a reward, roughly: that may be enough to know that it is not meant."""
        found = self.posed.solve(self.points[number], self._start(number), ROUGHLY)
        self.solves += found.solves
        self._starts[number] = found.theta
        low, high = self._g[number]
        self._g[number] = max(low, found.lower), min(high, found.upper)
        if found.occupancy is not None:
            mu = expectations_of(self.posed.mdp, found.occupancy)
            self.witnesses.append(mu)
            self._bound(mu, slice(None))
        self._judge()

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
        if self.criterion is Criterion.GAP:
            low, high = (
                -min(exact.gap, up(case.expert_most - least)),
                -down(case.expert_least - most),
            )
        elif self.criterion is Criterion.REGRET:
            low, high = down(least - case.best.upper), up(most - case.best.lower)
        else:
            self._most[number] = case.best.lower, case.best.upper
            self._least[number] = case.worst.lower, case.worst.upper
            low = reached = case.performance(least)
            if self.delta is not None:
                low = min(low, float(self._by_delta(self._most[:, 1], self._g[:, 0])[number]))
            high = max(float(self._shares(self._g[:, 0], self._g[:, 1])[1][number]), reached)
        self.low[number], self.high[number] = low, max(high, low)

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
                self._look(numbers[number])
                continue
            self.solve(numbers[number])
            self.prove_others(most)
        return True

    def _edge(self, high: Floats, chances: Floats, tail: Tail) -> float:
        """What is not below this is not in the tail."""
        return replace(tail, measure=Measure.QUANTILE).of(high, chances)


def direction_of_range(mdp: MDP, weights: Floats) -> Floats:
    """μ − μ′ [k] of a best policy and a worst one: under any w, max R − min R ≥ ⟨w, μ − μ′⟩."""
    best, worst = optimal_policies(mdp, np.vstack([weights, -weights]))
    return _expectations(mdp, best.policy) - _expectations(mdp, worst.policy)


def _expectations(mdp: MDP, policy: Policy) -> Floats:
    return Demonstration.of_policy(mdp, policy).expectations


def _up(values: Floats) -> Floats:
    return np.nextafter(values, np.inf)


def _down(values: Floats) -> Floats:
    return np.nextafter(values, -np.inf)


__all__ = ["Posed", "Race", "direction_of_range"]
