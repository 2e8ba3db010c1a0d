"""What a learner is: she sees Aφ and a target in it, and finds a policy that matches the target.

She gets an MDP whose features are hers, `worldview.observe(mdp)`, and what was demonstrated as she
sees it, b = Aμ_T. What she does is her own business; what she returns is one `Learned`. Neither the
true features nor the reward nor A reach her. The two that are told the reward, to show how bad and
how good a match can be, are no `Learner` but `Informed`: something that becomes one.

Whoever matches exactly matches in any units, so that what our learners do must not depend on them.
They look at ψ_i = Aφ_i/u_i, with u_i the range of feature i over all that can be reached (Abbeel &
Ng, and Syed & Schapire, assume features of like range to begin with): what is nearest if nothing
matches, and how near is near enough, is measured in these even units. What a learner reports is in
her features as they are given.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..arrays import Floats, as_floats, at, frozen
from ..errors import Status, require
from ..mdp import kernels
from ..mdp.model import MDP, check_is_mdp
from ..mdp.occupancy import feature_expectations
from ..mdp.policy import Policy, check_policy


class LearnStatus(Status):
    """How learning ended; the text says what to do about it."""

    MATCHED = "the mismatch is within the tolerance"
    NEAREST = "no policy matches more closely: the target is out of her reach"
    SETTLED = "she did as well as she could by a measure of her own, and so did not match"
    OUT_OF_STEPS = "stopped early; allow more steps, or ask for a larger tolerance"
    ROUNDING = "rounding leaves nothing to gain; ask for a larger tolerance"


@dataclass(frozen=True, eq=False)
class Learned:
    """What a learner made of a demonstration.

    Attributes
    ----------
    policy : Policy, stationary; a mixture has been turned into the one policy with its occupancy
    expectations : array [ℓ], what the policy does in her features
    mismatch : ‖expectations − target‖, in her features as they are: what `certify` takes
    weights : array [ℓ], the reward in her features that she would report; zeros if she has none
    solves : how many MDPs she solved
    history : array [n], the mismatch at the start and after each step
    status : LearnStatus
    nearest : no policy's mismatch is less than this, as far as she has proved, all rounding
        counted: neither its own nor the one that is computed of it. 0 says nothing
    """

    policy: Policy
    expectations: Floats
    mismatch: float
    weights: Floats
    solves: int
    history: Floats
    status: LearnStatus
    nearest: float = 0.0

    def __repr__(self) -> str:
        return f"Learned(mismatch {self.mismatch:.3g}, {self.solves} solves, {self.status!r})"


class Learner(Protocol):
    """Anything that can learn; `testing.check_learner` tells whether it does it properly."""

    def learn(self, seen: MDP, target: ArrayLike, start: Policy | None = None) -> Learned:
        """Find a policy whose feature expectations in `seen` are near `target`, [ℓ].

        `start` is the policy to begin with; the uniform one by default.
        """
        ...


@runtime_checkable
class Informed(Protocol):
    """A learner in name only: she is told the true reward, which no learner knows."""

    def informed(self, mdp: MDP, weights: ArrayLike) -> Learner:
        """The learner who knows that the reward is ⟨weights, φ⟩, with the features of `mdp`."""
        ...


class Assignment:
    """A learning problem, checked: what every learner of ours begins and ends with.

    Attributes
    ----------
    seen : MDP with her features
    target : array [ℓ]
    start : Policy to begin with
    first : array [ℓ], its feature expectations
    scale : max ‖Aφ‖/(1 − γ), which no policy's expectations exceed
    units : array [ℓ], what her features as given were divided by to get these: 1, or see `even`
    """

    def __init__(self, seen: MDP, target: ArrayLike, start: Policy | None) -> None:
        check_is_mdp(seen)
        require(
            not isinstance(target, Policy) and not hasattr(target, "expectations"),
            f"target must be what was shown in her features, array [{seen.n_features}], such as "
            f"view.matrix @ demonstration.expectations, got {type(target).__name__}",
        )
        b = np.array(as_floats("target", target))
        shape = (seen.n_features,)
        require(b.shape == shape, f"target must have shape {shape}, as her features, got {b.shape}")
        bad = np.argwhere(~np.isfinite(b))
        require(len(bad) == 0, f"target must be finite, got {at(b, bad)}")
        if start is not None:
            check_policy(seen, start)
        self.seen, self.target = seen, frozen(b)
        self.start = Policy.uniform(seen) if start is None else start
        self.first = feature_expectations(seen, self.start)
        self.scale = seen.largest_feature / (1.0 - seen.discount)
        self.units: Floats = np.ones(len(b))
        self.given = self

    def even(self) -> Assignment:
        """The same problem with her features in even units, in which all our learners learn.

        What it reports is in her features as given. Its scale, of which tolerances are fractions,
        is max ‖ψ‖/(1 − γ), or √ℓ/(1 − γ) if that is less: no two policies are farther apart.
        """
        made = copy.copy(self)
        made.units = units = even_units(self.seen, self.target)
        if (units != 1.0).any():
            made.seen = self.seen.with_features(divided(self.seen.features, units))
            made.target, made.first = frozen(self.target / units), self.first / units
        made.scale = even_scale(made.seen)
        return made

    def miss(self, expectations: Floats) -> float:
        """‖expectations − target‖"""
        return float(kernels.length(expectations - self.target))

    def mismatch(self, missing: Floats) -> float:
        """The length of what is missing [ℓ], or too much, in her features as given."""
        return float(kernels.length(self.units * missing))

    def as_given(self, weights: Floats, order: int = 2) -> Floats:
        """The weights [ℓ] of the same reward for her features as given, at the length they have.

        That is ‖·‖₂, or another norm if told by its order.
        """
        others = weights / self.units
        size = float(np.abs(others).max(initial=0.0))
        if size == 0.0:
            return others
        others = others / size
        return np.asarray(others * (np.linalg.norm(weights, order) / np.linalg.norm(others, order)))

    def report(
        self,
        policy: Policy,
        weights: Floats,
        solves: int,
        history: Sequence[float],
        status: LearnStatus,
        nearest: float = 0.0,
    ) -> Learned:
        """What was learned; what the policy does is computed from the policy itself.

        All that is passed is in her features as given, and so is the report.
        """
        given = self.given
        expectations = feature_expectations(given.seen, policy)
        return Learned(
            policy=policy,
            expectations=frozen(expectations),
            mismatch=given.miss(expectations),
            weights=frozen(np.array(weights, dtype=float)),
            solves=solves,
            history=frozen(np.array([given.miss(given.first), *history])),
            status=status,
            nearest=nearest,
        )


def even_units(seen: MDP, target: Floats) -> Floats:
    """What to divide each feature by [ℓ]: its range over all that can be reached.

    A feature of large constant size and hardly any range has a thousandth of that size instead.
    Those that are always 0 have what makes the target's part in them 1/(1 − γ) long, or 1.
    """
    phi: Any = seen.features
    dynamics = seen.dynamics
    if phi.shape[1] == 0:
        return np.ones(0)
    if len(dynamics.reachable) < seen.n_states:
        rows = dynamics.reachable
        if seen.features_per_pair:
            reached = np.zeros(seen.n_states, dtype=bool)
            reached[rows] = True
            rows = np.flatnonzero(reached[dynamics.pair_states])
        phi = phi[rows]
    least, most = phi.min(axis=0), phi.max(axis=0)
    if not isinstance(phi, np.ndarray):
        least, most = least.toarray().ravel(), most.toarray().ravel()
    # The least unit of a feature, as a share of its size: what policies do of it is known to 1e-12
    # of that, so that the finest tolerance is still above rounding.
    units = np.maximum(most - least, 1e-3 * np.maximum(np.abs(least), np.abs(most)))
    asked = (1.0 - seen.discount) * float(kernels.length(target[units == 0.0]))
    return np.where(units > 0.0, units, asked or 1.0)


def even_scale(seen: MDP) -> float:
    """What tolerances are fractions of, for features in even units."""
    return min(seen.largest_feature, math.sqrt(seen.n_features)) / (1.0 - seen.discount)


def divided(features: Any, units: Floats) -> Any:
    """The features [S, ℓ] or [P, ℓ], an array or sparse, divided by their units [ℓ]."""
    if isinstance(features, np.ndarray):
        return features / units
    entries = features.data / units[features.indices]
    return sp.csr_array((entries, features.indices, features.indptr), shape=features.shape)


def check_limits(tolerance: float, max_steps: int) -> None:
    """Refuse a tolerance or a number of steps that makes no sense."""
    require(
        isinstance(tolerance, (int, float, np.number)) and 0.0 < tolerance < math.inf,
        f"tolerance must be positive and finite, got {tolerance!r}",
    )
    require(
        isinstance(max_steps, (int, np.integer))
        and not isinstance(max_steps, bool)
        and max_steps >= 1,
        f"max_steps must be a whole number from 1 on, got {max_steps!r}",
    )
