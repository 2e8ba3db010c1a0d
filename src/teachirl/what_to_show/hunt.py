"""The search for a demonstration that guarantees more than an optimal policy.

Showing μ guarantees g(Aμ), g(b) = min {⟨w, μ⟩ : μ ∈ M, Aμ = b}, and g is convex, so that the best
demonstration is at a vertex of AM: a policy that looks best under a reward ⟨θ, Aφ⟩ that the learner
can express. Which of them is best is a search for θ ∈ R^r: hill climbing, from the θ that proves
how bad showing an optimal policy is, from what the learner can express of w, and from random ones.
A θ costs one MDP solve (`exposed_policies`). If `upper_bound` can prove that none is clearly better
than where climbs would begin, nobody climbs.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..arrays import Floats
from ..guarantees.bounds import matching_room
from ..mdp.model import MDP
from ..mdp.planning import optimal_policies
from ..precision import first_largest
from ..views.potential_shaping import Indistinct, indistinct_directions
from ..views.worldview import Worldview
from .exposed_policies import LENGTH, UP, Exposed, Exposer
from .upper_bound import Hull


class Steps(NamedTuple):
    """How climbs go: rough ones first, and from where those got highest on in patience.

    Each has its first step, relative to the length of θ, and what a step is multiplied by if it
    does not lead up. A climb ends when its steps are shorter than the shortest.
    """

    rough: tuple[float, float]
    patient: tuple[float, float]
    shortest: float


# Found by measuring, as all of these.
THOROUGH = Steps((0.5, 0.8), (0.6, 0.95), 1e-3)


class Hunt:
    """The search for a demonstration that guarantees more than an optimal policy, and for what
    none does; whenever it is ended, what it has is the best so far."""

    def __init__(self, mdp: MDP, view: Worldview, w: Floats, span: float, upper: float) -> None:
        self.mdp, self.view, self.w, self.span, self.upper = mdp, view, w, span, upper
        self.exposer: Exposer | None = None
        self.blind = self.stuck = False
        self._found: Exposed | None = None

    def run(
        self,
        theta: Floats,
        starts: int,
        rng: np.random.Generator,
        tolerance: float,
        proof_solves: int,
        indistinct: Indistinct | None,
    ) -> None:
        """Search, also from the θ [ℓ] that proves what showing an optimal policy guarantees."""
        mdp, view, w = self.mdp, self.view, self.w
        never = indistinct_directions(mdp) if indistinct is None else indistinct
        basis = view.without(never.basis).basis
        # Beside larger features, what the learner sees may be rounding to us, and not to the
        # learner.
        self.stuck = not _looks_alike(mdp, view, basis)
        self.blind = not len(basis) and not self.stuck
        if not len(basis):
            return
        self.exposer = exposer = Exposer(mdp, basis, w, self.span)
        places = [exposer.coordinates(reward) for reward in (view.matrix.T @ theta, w)]
        climbs = Climbs(exposer, places, starts, rng)
        # In more directions than these AM has too many facets to bound them all.
        if self.stuck or len(basis) > 6 or proof_solves == 0:
            self.stuck = self.stuck or len(basis) > 6
            self._found = climbs.found
            return
        hull = Hull(exposer, climbs.first(), self.upper / self.span, 0.5 * tolerance)
        # A proof that nothing is better spares the search for it.
        if not self._proves(hull, proof_solves // 2):
            self._found = climbs.found
            hull.rise(self._found)
            self._proves(hull, proof_solves)

    def _proves(self, hull: Hull, solves: int) -> bool:
        """Whether so many solves show that no demonstration is clearly better than the best."""
        proof = hull.run(solves)
        self._found, self.stuck = proof.best, proof.stuck
        self.upper = min(self.upper, proof.upper * self.span)
        return proof.upper <= hull.goal

    @property
    def found(self) -> Exposed | None:
        """The best; None if nothing was found."""
        if self._found is not None or self.exposer is None:
            return self._found
        return self.exposer.highest

    @property
    def solves(self) -> int:
        """How many MDPs were solved."""
        return 0 if self.exposer is None else self.exposer.solves


def _looks_alike(mdp: MDP, view: Worldview, basis: Floats) -> bool:
    """Whether policies that agree along the basis [r, k] look the same to the learner. That is up
    to the rounding of each of the view's rows, however small it is beside others.
    """
    rest = view.matrix - (view.matrix @ basis.T) @ basis
    unseen = Worldview(rest).observe(mdp)
    axes = np.eye(len(rest))
    ends = optimal_policies(unseen, np.vstack([axes, -axes])).lower
    widths = ends[: len(axes)] + ends[len(axes) :]
    sizes = view.observe(mdp).largest_entries / (1.0 - mdp.discount)
    return bool((widths <= matching_room(mdp) * sizes).all())


class Climbs:
    """Climbs from the places, and from random ones."""

    def __init__(
        self,
        exposer: Exposer,
        places: list[Floats],
        starts: int,
        rng: np.random.Generator,
        steps: Steps = THOROUGH,
    ) -> None:
        rank = len(exposer.basis)
        # Each climb has dice of its own: how long the others take does not change it.
        self.dice = [np.random.default_rng(seed) for seed in rng.integers(1 << 62, size=starts)]
        # Rounded: where a climb begins does not depend on the last bits either.
        places = [np.round(each / np.abs(each).max(), 3) for each in places if each.any()]
        self.places = places[:starts]
        self.given = len(self.places)
        self.places += [each.standard_normal(rank) for each in self.dice[self.given :]]
        self.exposer, self.steps = exposer, steps

    def first(self) -> Exposed:
        """The best of what the places that are given expose."""
        tops = [self.exposer.expose(place) for place in self.places[: max(self.given, 1)]]
        return tops[_highest(tops)]

    @cached_property
    def tops(self) -> list[Exposed]:
        """Where rough climbs lead."""
        exposer = self.exposer
        if len(exposer.basis) == 1:
            return [exposer.expose(np.array([sign])) for sign in (1.0, -1.0)]
        return [
            self._climb(exposer.expose(place), self.steps.rough, each)
            for place, each in zip(self.places, self.dice, strict=True)
        ]

    def rough(self) -> Exposed:
        """The best that rough climbs find."""
        return self.tops[_highest(self.tops)]

    @cached_property
    def found(self) -> Exposed:
        """The best that all climbs find."""
        exposer, tops, dice = self.exposer, list(self.tops), list(self.dice)
        if len(exposer.basis) == 1:
            return self.rough()
        higher: list[Exposed] = []
        for _ in range((len(dice) + 1) // 2):
            best = _highest(tops)
            higher.append(self._climb(tops.pop(best), self.steps.patient, dice.pop(best)))
        found = higher[_highest(higher)]
        # A longer θ may reach the vertex that this one is near.
        sharper = exposer.expose(found.theta, 100.0 * LENGTH)
        return sharper if sharper.reward > found.reward + UP else found

    def _climb(
        self, here: Exposed, first: tuple[float, float], rng: np.random.Generator
    ) -> Exposed:
        """Random steps that are taken if they lead up; then the next is longer, otherwise
        shorter."""
        rank, (step, shorter) = len(here.theta), first
        while step > self.steps.shortest:
            aside = step / np.sqrt(rank) * rng.standard_normal(rank)
            there = self.exposer.expose(here.theta + aside)
            if there.reward > here.reward + UP:
                here, step = there, min(2.0 * step, 1.0)
            else:
                step *= shorter
        return here


def _highest(tops: list[Exposed]) -> int:
    return first_largest([top.reward for top in tops], UP)


__all__ = ["Climbs", "Hunt", "Steps"]
