"""The bundle method's search, step by step; see `bundle`."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from ...arrays import Floats, frozen
from ...mdp import clock
from ...precision import FINEST, SOLVED
from ..bounds import WorstCaseBounds, WorstCaseStatus, least_of_all, matching_room
from .master import Master
from .plans import Case, FinalPlans, Planned, Plans, Witness

IDLE = 10  # steps in a row that bring nothing and promise no less: rounding, time to stop
FARTHEST = 1e100  # ‖w‖ of θ, beyond which only rounding leads
SHARE = 0.05  # of what is promised: so little a plan may miss
CORRECTIONS = 3  # of a witness that misses by what is not known well of its policies
GRACE = 1.0  # seconds to prove what was found, in any case


class Search:
    """The bundle method's state. Rewards are counted from the demonstration's, ⟨w, μ_T⟩."""

    def __init__(self, case: Case, plans: Plans, tolerance: float) -> None:
        self.case, self.plans, self.tolerance = case, plans, tolerance
        self.solves, self.pace = 0, 0.0  # seconds that a step took, at most
        self.guess: Any = None
        # Where w is 0, any unit will do.
        self.unit = float(np.linalg.norm(case.w)) or 1.0
        self.asked = FINEST * self.unit * case.sight.reach
        self.highest, self.lowest = math.inf, -math.inf
        self.lower, self.upper, self.enough = -math.inf, math.inf, math.inf
        self.theta = np.zeros(len(case.sight.basis))
        # What the lower bound rests on: w − Bᵀθ [k], of which all policies have so much at least.
        self.proof: tuple[Floats, float] | None = None
        balls = 1 if case.sight.mismatch else 0
        self.master = Master(len(self.theta), plans.blocks.count + balls)

    def prepare(self) -> None:
        """The best policy and the worst, and the first columns."""
        case = self.case
        best = self._plan(-case.w, None, 1e-6)
        self.guess = None
        worst = self._plan(case.w, self.theta, 1e-6)
        self.highest, self.lowest = best.upper, -worst.upper
        self.asked = max(self.tolerance * (best.lower + worst.lower), self.asked)
        self.plans.begin(self.master, self.asked)
        if case.policy is not None:
            self.upper = 0.0
        if case.sight.mismatch:
            self.put_ball(np.zeros_like(self.theta))
        self._note(self.theta, self.lowest - case.earned, (case.w, self.lowest))
        self.plans.put(worst.policy, self.master)
        if case.policy is None:
            self.plans.put(best.policy, self.master)

    def wider(self, direction: Floats, plans: Plans, master: Master, upper: float) -> Search:
        """The search in a view with one more coordinate, from where this one stands; for ε = 0.

        The master has the columns of this one, an entry longer; the upper bound is known for it.
        """
        other = copy(self)
        other.case, other.plans, other.master = self.case.wider(direction), plans, master
        other.upper, other.solves = upper, 0
        other.theta = other.centre = np.append(self.theta, 0.0)
        other.at_centre = self.lower
        return other

    def begin(self, theta: Floats) -> None:
        """The first θ [r], and the t that goes with it."""
        self.centre = theta
        self.at_centre, first = self.look(self.centre)
        distance = float(np.linalg.norm(first[:, :-1].sum(axis=0)))
        self.t = 4.0 * self.unit / max(distance, 1e-3 * self.case.sight.reach)

    def go_on_from(self, theta: Floats) -> None:
        """Look at another θ [r], and search around that if it proves more."""
        value, _ = self.look(theta)
        if value > self.at_centre:
            self.centre, self.at_centre = theta, value

    @property
    def matchable(self) -> bool:
        """Whether the lower bound is one that a policy can have."""
        return self.lower <= self.highest - self.case.earned

    @property
    def bounds(self) -> tuple[float, float]:
        """The lower one and the upper one."""
        return self.lower, self.upper

    def closer_than(self, known: tuple[float, float]) -> bool:
        """Whether a bound has moved since these were known, by more than rounding does."""
        least = 1e-3 * self.asked
        return self.lower > known[0] + least or self.upper < known[1] - least

    @property
    def lost(self) -> bool:
        """Whether the master's θ is so far off that a plan for it tells nothing about w."""
        return not float(np.abs(self.master.theta).max(initial=0.0)) <= FARTHEST * self.unit

    def climb(self, max_solves: int, deadline: float) -> bool:
        """Search until the bounds are close or nothing is to gain; whether it ran out of budget."""
        master, promised, failures, idle = self.master, 0.0, 0, 0
        known, least = self.bounds, math.inf
        while self.matchable:
            now = clock.seconds()
            # Another step is as long as those before; to prove the bounds takes about two.
            if self.solves >= max_solves or now + 3.0 * self.pace > deadline:
                self.match(self.t)
                return True
            if self.lower >= self.enough:
                return False
            model = self.maximise(self.centre, self.t, 0.02 * max(self.asked, promised))
            promised = model - self.at_centre
            # Near θ a model promises as little as one likes, unless rounding has raised it.
            stuck = promised <= 0.4 * self.asked or promised > 0.99 * least
            least = min(promised, least)
            if promised <= 0.4 * self.asked:
                if self.match(self.t):
                    return False
                if self.upper == math.inf:  # what there is cannot match yet: let theta go further
                    self.t *= 10.0
                    self.maximise(self.centre, self.t, 0.02 * self.asked)
            if self.lost:
                return False
            theta = master.theta.copy()
            value, _ = self.look(theta, promised)
            self.pace = max(self.pace, clock.seconds() - now)
            gain = value - self.at_centre
            if self.closer_than(known):
                known, least, idle = self.bounds, math.inf, 0
            else:
                idle = idle + 1 if stuck else 0
                if idle == IDLE:
                    break
            # Where the parabola through both values, with the model's slope, has its top.
            top = 0.5 * self.t * promised / (promised - gain) if gain < promised else 10.0 * self.t
            # This share of the promised gain makes a step.
            if gain >= 0.1 * promised:
                self.centre, self.at_centre, failures = theta, value, 0
                if gain > 0.5 * promised:
                    self.t = min(top, 10.0 * self.t)
            else:
                failures += 1
                if failures == 3:
                    self.t, failures = max(min(top, self.t), 0.1 * self.t), 0
        self.match(self.t)
        return False

    def result(self, known: Callable[[], Witness | None], late: bool) -> WorstCaseBounds:
        """What is proved, given what finds the mixture with the least reward, and whether the
        search ran out of its budget.

        That takes as long as the steps of the search did, or a second; of what takes longer, it
        does without.
        """
        sight, w = self.case.sight, self.case.w
        until = clock.seconds() + GRACE + 3.0 * self.pace
        theta, other = sight.theta(self.theta), sight.view.multipliers(sight.view.basis @ w)
        if late and not self.theta.any():  # nothing was found, and what 0 proves is known already
            theta = other
        proved = clock.in_time(until, lambda: self._proved(theta))
        lower = self._certain if proved is None else proved
        if proved is None or (late and proved < self._certain):
            late, lower, theta = True, self._certain, np.zeros_like(theta)
        witness = clock.in_time(until, known)
        upper = matched = math.inf
        if witness is not None:
            off = self._off(witness)
            if off <= self._most_off:
                upper, matched = witness.earned, off
            else:
                witness = None
        status = WorstCaseStatus.OUT_OF_BUDGET if late else WorstCaseStatus.INACCURATE
        if upper - lower > self.asked and self.lower < self.enough:
            # Where rows differ much in length, what steered the search may be far from what it
            # proves; then the θ of the width certificate may prove more.
            proved = clock.in_time(until, lambda: self._proved(other))
            if proved is not None and proved > lower:
                theta, lower = other, proved
        if lower > self.highest:
            lower = upper = math.inf
            status = WorstCaseStatus.INFEASIBLE
        elif upper - lower <= self.asked:
            status = WorstCaseStatus.OPTIMAL
        return WorstCaseBounds(
            # A witness that misses by rounding may earn that much less than any that matches.
            lower=min(lower, upper),
            upper=upper,
            theta=frozen(theta),
            witness=None if witness is None else witness.policy,
            occupancy=None if witness is None else frozen(witness.occupancy),
            matched=matched,
            solves=self.solves,
            status=status,
            world=None if witness is None else witness.world,
        )

    def witness(self, plans: FinalPlans) -> Witness | None:
        """What the mixture does that was kept last, corrected for what its columns missed."""
        found = plans.witness()
        for _ in range(CORRECTIONS):
            if found is None or self._off(found) <= self._most_off:
                break
            self.upper = math.inf
            if not plans.correct(self.master):
                break
            self.match(self.t)
            found = plans.witness()
        return found

    def _off(self, witness: Witness) -> float:
        """How far a witness is from what it is to match, to the learner."""
        return float(
            np.linalg.norm(self.case.sight.view.matrix @ (witness.expectations - witness.target))
        )

    @property
    def _most_off(self) -> float:
        """How far it may be: the mismatch, and rounding."""
        mdp, sight = self.case.mdp, self.case.sight
        size = float(np.linalg.norm(sight.view.matrix * mdp.largest_entries))
        return sight.mismatch + matching_room(mdp) * size / (1.0 - mdp.discount)

    @property
    def _certain(self) -> float:
        """What every policy earns at least, as far as that is known."""
        return max(least_of_all(self.case.mdp, self.case.w), self.lowest)

    def _proved(self, theta: Floats) -> float:
        self.solves += 1
        return self.case.proved(theta)

    def look(self, theta: Floats, promised: float = 0.0) -> tuple[float, Floats]:
        """D(θ), and the columns that its plan adds; who is promised much need not know it well."""
        case, sight = self.case, self.case.sight
        q = case.w - sight.basis.T @ theta
        # The rewards' range, which planning's tolerance is a fraction of, is at most this.
        range_ = 2.0 * math.sqrt(q @ q) * sight.reach
        slack = max(0.1 * self.asked, SHARE * promised)
        finest = min(max(slack / range_, 1e-13), 1e-3) if range_ else 1.0
        plan = self._plan(q, theta, finest)
        value = -plan.upper + float(theta @ case.shown) - sight.penalty(theta) - case.earned
        self._note(theta, value, (q, -plan.upper))
        return value, self.plans.put(plan.policy, self.master)

    def _plan(self, q: Floats, theta: Floats | None, tolerance: float) -> Planned:
        self.solves += 1
        plan = self.case.planned(q, theta, tolerance, self.guess)
        self.guess = plan.values
        return plan

    def _note(self, theta: Floats, value: float, proof: tuple[Floats, float]) -> None:
        if value > self.lower:
            self.lower, self.theta, self.proof = value, theta, proof

    def put_ball(self, point: Floats) -> None:
        """Add a point of the ball [r]."""
        self.master.add(point[None], np.zeros(1), np.array([self.plans.blocks.count]), -1)

    def maximise(self, centre: Floats, t: float, enough: float) -> float:
        """The master's solution; the ball's columns come as they are needed."""
        model = self.master.solve(centre, t, enough)
        if not self.case.sight.mismatch:
            return model
        # So many columns of the ball between two MDP solves, at most.
        for _ in range(50):
            theta = self.master.theta
            edge = self.case.sight.edge(theta)
            held = self.master.least(self.plans.blocks.count)
            if held + float(theta @ edge) <= enough:
                break
            self.put_ball(edge)
            model = self.master.solve(centre, t, enough)
        return model

    def match(self, t: float) -> bool:
        """Multiplier steps until the mixture matches; whether the bounds are then close enough."""
        limit = SOLVED * self.case.sight.reach
        before, slow = math.inf, 0
        while slow < 4:
            off = self.master.off
            if not off > limit:
                break
            slow = slow + 1 if off > 0.5 * before else 0
            before = off
            t *= 4.0
            self.maximise(self.master.theta.copy(), t, 0.02 * self.asked)
        off = self.master.off
        if off <= limit and self.master.cost < self.upper:
            self.upper = self.master.cost
            self.plans.keep(self.master)
        return self.upper - self.lower <= 0.9 * self.asked
