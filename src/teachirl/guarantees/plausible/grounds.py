"""What rewards are measured against: what policies, and who is shown, can earn under each of them.

In a world that is known these are numbers, up to rounding. In one that is known from a log they
depend on which of its worlds is the true one, and what is proved of a reward w counts with

- max R at most: the most of all policies in all worlds, H(w);
- min R at most: the least of all policies in the world where that is most, m(w); as
  1 − (max R − R)/(max R − min R) falls with both ends, no world has less of a performance than
  (g(w) − m(w))/(H(w) − m(w));
- what who is shown earns at most, in the best world for that, if a policy is shown.

H and what is shown are convex in w, as each is the most of linear functions.

Over means of several rewards m(w) is not convex, and a performance is counted with what one policy
earns instead, in the best world for that, m′(w) ≥ m(w): as g − pH − (1 − p)m′ is concave for every
share p, what is 0 or more at all vertices is so everywhere, and performance is p or more. Where a
range is needed that is concave itself, it is ⟨w, μ⟩ − m′(w) ≤ H(w) − m(w), with μ of the best
policy for one w, in the best world for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from ...arrays import Floats
from ...demonstrations.demonstration import Demonstration
from ...mdp.estimated import AnyMDP, EstimatedMDP
from ...mdp.model import MDP
from ...mdp.occupancy import expectation_error
from ...mdp.planning import optimal_policies, optimal_policy, worst_policy
from ...mdp.policy import Policy
from ...mdp.robust_planning import Response, policy_of, respond
from ...precision import EPS, ROUNDED_UP, down, up
from ..bounds import WorstCaseBounds
from ..gap_bounds import Case
from .judgement import Criterion


class Ends(NamedTuple):
    """Between which max R and min R are that rewards are counted with, [m, 2] each; and what every
    policy earns at least, in every world, [m]."""

    most: Floats
    least: Floats
    floor: Floats


@dataclass(frozen=True, eq=False)
class Ground:
    """A world that is known, and what is shown there."""

    mdp: MDP
    demonstration: Demonstration

    # How many MDPs are solved for the ends of a reward.
    plans = 2

    @property
    def any_world(self) -> AnyMDP:
        """The MDP, or all worlds that there may be."""
        return self.mdp

    def ends(self, points: Floats) -> Ends:
        """Those of the rewards [m, k]."""
        found = optimal_policies(self.mdp, np.vstack([points, -points]))
        best, worst = found[: len(points)], found[len(points) :]
        least = -np.stack([worst.upper, worst.lower], 1)
        return Ends(np.stack([best.lower, best.upper], 1), least, least[:, 0])

    def of_case(self, case: Case) -> tuple[Floats, Floats, float] | None:
        """Most, least and what who is shown earns at least, as `certify` has them."""
        best, worst = case.best, case.worst
        most, least = np.array([best.lower, best.upper]), np.array([worst.lower, worst.upper])
        return most, least, case.expert_least

    def shown(self, points: Floats) -> Floats:
        """What who is shown earns that gaps are counted from, [m, 2]."""
        shown = self.demonstration
        earned = points @ shown.expectations
        errors = np.array([expectation_error(self.any_world, w) for w in points])
        doubt = np.linalg.norm(points, axis=1) * shown.error * ROUNDED_UP + errors
        return np.stack([down_all(earned - doubt), up_all(earned + doubt)], 1)

    def most_of_all(self, points: Floats) -> Floats:
        """No policy earns more, [m]."""
        return optimal_policies(self.mdp, points).upper

    def least_shown(self, points: Floats) -> Floats:
        """Who is shown earns at least this, [m]."""
        return self.shown(points)[:, 0]

    def reached(
        self, what: Criterion, points: Floats, high: Floats, met: list[WorstCaseBounds | float]
    ) -> Floats:
        """The criterion that somebody who matches reaches at most under each reward, [m]: `high`
        is what can be proved of it at most, `met` what they earn, or the worst case if known."""
        return high

    def range_between(self, middle: Floats) -> Range:
        """A range that is linear in the reward, from the best and the worst policy for one."""
        best, worst = optimal_policies(self.mdp, np.vstack([middle, -middle]))
        return KnownRange(self.mdp, *(_does(self.mdp, each.policy) for each in (best, worst)))


@dataclass(frozen=True, eq=False)
class LoggedGround(Ground):
    """All worlds that a log allows; `mdp` is the estimate."""

    model: EstimatedMDP

    plans = 3

    @property
    def any_world(self) -> AnyMDP:
        """All worlds that the log allows."""
        return self.model

    @cached_property
    def policy(self) -> Policy | None:
        """What is shown, if it is a policy, and so depends on the world."""
        shown = self.demonstration
        return shown.policy if shown.error == 0.0 else None

    def ends(self, points: Floats) -> Ends:
        """Those of the rewards [m, k]."""
        highest = self._responses(points, 1)
        least = -self._responses(-points, -1)[:, ::-1]
        return Ends(highest, least, -self._responses(-points, 1)[:, 1])

    def of_case(self, case: Case) -> None:
        """Nothing: plans are about every world, and not about the one that counts."""

    def reached(
        self, what: Criterion, points: Floats, high: Floats, met: list[WorstCaseBounds | float]
    ) -> Floats:
        """The same in a world of the log: that of the witness, where there is one."""
        if what is Criterion.REWARD:
            return high
        earned = np.array([each if isinstance(each, float) else each.upper for each in met])
        if what is Criterion.GAP:
            below = up_all(earned - self.least_shown(points))
            return below if self.policy is None else np.minimum(below, 0.0)
        found = np.empty(len(points))
        for number, (w, each) in enumerate(zip(points, met, strict=True)):
            world = None if isinstance(each, float) else each.world
            if world is None:
                [best], [worst] = self._responses(w[None], -1)[:, 0], self.ends(w[None]).floor
            else:
                best, worst = optimal_policy(world, w).lower, worst_policy(world, w).lower
            if what is Criterion.REGRET:
                found[number] = up(earned[number] - best)
            else:
                room = down(best - worst)
                share = up(up(earned[number] - worst) / room) if room > 0.0 else 1.0
                found[number] = min(max(share, 0.0), 1.0)
        return found

    def shown(self, points: Floats) -> Floats:
        """What who is shown earns that gaps are counted from, [m, 2]."""
        if self.policy is None:
            return super().shown(points)
        return self._responses(points, 1, self.policy)

    def least_shown(self, points: Floats) -> Floats:
        """Who is shown earns at least this, [m]."""
        if self.policy is None:
            return super().shown(points)[:, 0]
        return self._responses(points, -1, self.policy)[:, 0]

    def most_of_all(self, points: Floats) -> Floats:
        """No policy earns more in any world, [m]."""
        return self._responses(points, 1)[:, 1]

    def range_between(self, middle: Floats) -> Range:
        """A range that is concave in the reward."""
        model = self.model
        near = optimal_policy(self.mdp, middle, tolerance=1e-6).values
        most = respond(model, middle, nature=1, guess=near)
        mu = _does(model.world(most.rows), policy_of(model, most))
        # The policy that earns least where the world is the best for it.
        return LoggedRange(model, mu, worst_policy(model, middle).policy)

    def _responses(
        self, points: Floats, nature: Literal[1, -1], policy: Policy | None = None
    ) -> Floats:
        """Bounds [m, 2] around what rewards bring with nature or against it."""
        found: list[Response] = []
        for w in points:
            near = None if policy else optimal_policy(self.mdp, w, tolerance=1e-6).values
            found.append(respond(self.model, w, nature=nature, policy=policy, guess=near))
        return np.array([[each.lower, each.upper] for each in found]).reshape(-1, 2)


@dataclass(frozen=True, eq=False)
class Range(ABC):
    """⟨w, μ⟩ without what another policy earns, at most max R − min R, and concave in w."""

    mdp: AnyMDP
    best: Floats

    @abstractmethod
    def bottom(self, points: Floats) -> Floats:
        """Bounds around what the other policy earns, [m, 2]; convex in w."""

    def of(self, points: Floats) -> Floats:
        """At least so much is it, [m]."""
        return down_all(self._around(points, self.best)[:, 0] - self.bottom(points)[:, 1])

    def _around(self, points: Floats, mu: Floats) -> Floats:
        """Bounds around what feature expectations [k] earn that were computed, [m, 2]."""
        earned = points @ mu
        doubt = np.array([expectation_error(self.mdp, w) for w in points])
        return np.stack([down_all(earned - doubt), up_all(earned + doubt)], 1)


@dataclass(frozen=True, eq=False)
class KnownRange(Range):
    """⟨w, μ − μ′⟩, linear in w."""

    worst: Floats

    def bottom(self, points: Floats) -> Floats:
        """Bounds around ⟨w, μ′⟩, [m, 2]."""
        return self._around(points, self.worst)


@dataclass(frozen=True, eq=False)
class LoggedRange(Range):
    """⟨w, μ⟩ − max over worlds of ⟨w, μ′⟩, μ′ what a policy does there; concave in w."""

    policy: Policy

    @property
    def model(self) -> EstimatedMDP:
        assert isinstance(self.mdp, EstimatedMDP)
        return self.mdp

    def bottom(self, points: Floats) -> Floats:
        """Bounds around what that policy earns in the best world for it, [m, 2]."""
        found = [respond(self.model, w, nature=1, policy=self.policy) for w in points]
        return np.array([[each.lower, each.upper] for each in found]).reshape(-1, 2)

    def _around(self, points: Floats, mu: Floats) -> Floats:
        # The rows of the world of μ are put together entry by entry, and then made to sum to 1:
        # they may be outside of the sets, and bring so much more than rows that are not.
        model = self.model
        off = 4.0 * (5 * model.longest_row + 16) * EPS / (1.0 - model.discount) ** 2
        outside = off * (np.abs(points) @ model.largest_entries)
        return super()._around(points, mu) + np.stack([-outside, outside], 1)


def _does(mdp: MDP, policy: Policy) -> Floats:
    return Demonstration.of_policy(mdp, policy).expectations


def up_all(values: Floats) -> Floats:
    """The next larger numbers."""
    return np.nextafter(values, np.inf)


def down_all(values: Floats) -> Floats:
    """The next smaller numbers."""
    return np.nextafter(values, -np.inf)


__all__ = ["Ends", "Ground", "LoggedGround", "Range", "down_all", "up_all"]
