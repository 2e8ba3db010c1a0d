"""Policies that look best to the learner: each of them is its own worst case.

A learner who sees Aμ can express the rewards ⟨Aᵀθ, μ⟩. Let π be a best policy for the reward
q = Aᵀθ − w, θ any. Who matches it has ⟨Aᵀθ, μ⟩ = ⟨Aᵀθ, μ(π)⟩, and ⟨q, μ⟩ ≤ ⟨q, μ(π)⟩; so

    ⟨w, μ⟩ ≥ ⟨w, μ(π)⟩ = R(π)   for all μ ∈ M with Aμ = Aμ(π):

shown π, the learner earns R(π) at least. One MDP solve finds π and what showing it guarantees, with
no linear program and no tolerance for ties. As θ grows along a ray, π looks ever better to the
learner, and becomes the worst of those that look best: of those at a vertex of AM.

Lengths are relative here. What is seen of μ is b = Cμ, in coordinates in which AM is about as wide
in all directions, and rewards are counted in units of max R − min R.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..arrays import Floats
from ..mdp.model import MDP
from ..mdp.occupancy import expectation_error, feature_expectations
from ..mdp.plan import Plan
from ..mdp.planning import optimal_policy
from ..mdp.policy import Policy
from ..precision import EPS, INVISIBLE, SOLVED, first_largest

# How long θ is: what looks best up to one part in this many is told apart by what it earns.
LENGTH = 1e4
# One policy is better to show than another if it earns more by this share of max R − min R; less
# may be rounding, and is a tie.
UP = 1e-7


class Exposed(NamedTuple):
    """A policy that looks best to the learner, or nearly so.

    theta : array [r], its direction, of length 1
    look : array [r], b of the policy
    reward : R(π) in units of max R − min R, which showing it guarantees
    """

    policy: Policy
    theta: Floats
    look: Floats
    reward: float


class Exposer:
    """What the learner sees of an MDP, and which policies look best to the learner.

    Parameters
    ----------
    basis : array [r, k], orthonormal rows: what is seen that tells policies apart; r ≥ 1
    weights : array [k]
    span : max R − min R, positive
    """

    def __init__(self, mdp: MDP, basis: Floats, weights: Floats, span: float) -> None:
        self.mdp, self.basis, self.span, self.solves = mdp, basis, span, 0
        self.highest: Exposed | None = None  # of all that were exposed so far
        self._earned = weights / span
        self._look_through(np.eye(len(basis)))
        points = self._corners()
        _, widths, axes = np.linalg.svd(points - points.mean(axis=0))
        least = INVISIBLE * float(np.abs(points).max()) or 1.0  # if nothing is seen at all
        # Symmetric, so that it does not matter which axes were taken where there is a choice.
        self._look_through(axes.T @ (axes / np.maximum(widths, least)[:, None]))

    def _look_through(self, stretch: Floats) -> None:
        """C = stretch · basis from now on."""
        directions = np.vstack([stretch @ self.basis, self._earned])
        self._stretch = stretch
        self._seen = self.mdp.with_features(np.asarray(self.mdp.features @ directions.T))
        self._guesses: dict[str, Floats] = {}

    def _corners(self) -> Floats:
        """Points of AM, [2r, r], that no plane holds unless AM is as good as flat."""
        rank = len(self.basis)
        found, along = np.empty((0, rank)), np.eye(rank)[0]
        while True:
            found = np.vstack([found, self._ends(along)])
            if len(found) == 2 * rank:
                return found
            # Next, where all that was found is alike.
            _, widths, axes = np.linalg.svd(found - found.mean(axis=0))
            spread = int(np.count_nonzero(widths > INVISIBLE * widths[0]))
            along = axes[-1]
            if spread < rank:
                alike = axes[spread:].T @ axes[spread:]
                lengths = np.linalg.norm(alike, axis=0)
                # Lengths up to 1 that differ by less than this are even, and the first is taken.
                longest = first_largest(lengths, 1e-2)
                along = alike[longest] / lengths[longest]

    def _ends(self, along: Floats) -> Floats:
        """Where AM has most and least of a direction [r]: [2, r]. If that is more than a point, it
        is where the reward is least."""
        ends = [self.plan("corner", sign * along, 0.0) for sign in (1.0, -1.0)]
        width = sum(plan.value for plan, _ in ends)
        if width > 0.0:
            steep = LENGTH / width * along
            ends = [self.plan("corner", sign * steep, -1.0) for sign in (1.0, -1.0)]
        return np.array([point[:-1] for _, point in ends])

    def coordinates(self, reward: Floats) -> Floats:
        """θ [r] with ⟨θ, b⟩ = ⟨reward, μ⟩ [k], as far as the learner can express it."""
        return np.asarray(np.linalg.solve(self._stretch.T, self.basis @ reward))

    def expressed(self, theta: Floats) -> Floats:
        """The reward [k] with ⟨reward, μ⟩ = ⟨θ, b⟩: `coordinates` takes it back."""
        return np.asarray((theta @ self._stretch) @ self.basis)

    def plan(self, kind: str, theta: Floats, earn: float) -> tuple[Plan, Floats]:
        """A best policy for ⟨θ, b⟩ + earn · R, and its (b, R) [r + 1].

        A plan starts from the values of the last one of its `kind`, as they may be alike.
        """
        self.solves += 1
        reward = np.empty(len(theta) + 1)
        reward[:-1], reward[-1] = theta, earn
        plan = optimal_policy(self._seen, reward, tolerance=SOLVED, guess=self._guesses.get(kind))
        self._guesses[kind] = plan.values
        return plan, feature_expectations(self._seen, plan.policy)

    @cached_property
    def errors(self) -> Floats:
        """array [r + 1], how far the computed (b, R) of a policy may be from its own."""
        k = self.mdp.n_features
        terms = np.abs(np.vstack([self._stretch @ self.basis, self._earned]))
        rows = (k + len(terms)) * EPS * terms @ self.mdp.largest_entries
        visits = [expectation_error(self._seen, row) for row in np.eye(len(terms))]
        return np.asarray(rows / (1.0 - self.mdp.discount) + visits)

    def expose(self, theta: Floats, length: float = LENGTH) -> Exposed:
        """The policy that θ exposes; only its direction matters."""
        unit = theta / math.sqrt(theta @ theta)
        plan, point = self.plan("expose", length * unit, -1.0)
        found = Exposed(plan.policy, unit, point[:-1], float(point[-1]))
        if self.highest is None or found.reward > self.highest.reward + UP:
            self.highest = found
        return found
