"""What a learner is: it sees Aφ and a target in it, and finds a policy that matches the target.

A learner gets an MDP with the features Aφ, `worldview.observe(mdp)`, and what was demonstrated in
them, b = Aμ_T, and returns one `Learned`. Neither the true features nor the reward nor A reach a
learner. The two that are told the reward, to show how bad and how good a match can be, are no
`Learner` but `Informed`: something that becomes one.

Whoever matches exactly matches in any units, so that what our learners do must not depend on them.
They look at ψ_i = Aφ_i/u_i, with u_i the range of feature i over all that can be reached (Abbeel &
Ng, and Syed & Schapire, assume features of like range to begin with): what is nearest if nothing
matches, and how near is near enough, is measured in these even units. What a learner reports is in
the features as given.
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

from ..arrays import Floats, as_floats, check_finite, frozen
from ..demonstrations.observations import Observations, check_observations
from ..errors import Status, require
from ..mdp import kernels
from ..mdp.dynamics import Dynamics
from ..mdp.model import MDP, check_is_mdp
from ..mdp.occupancy import feature_expectations
from ..mdp.policy import Policy, check_policy
from ..views.linear_algebra import directions


class LearnStatus(Status):
    """How learning ended; the text says what to do about it.

    Examples
    --------
    >>> import teachirl as ti
    >>> print(ti.learners.LearnStatus.MATCHED)
    the mismatch is within the tolerance
    """

    MATCHED = "the mismatch is within the tolerance"
    NEAREST = "no policy matches more closely: the target is out of reach"
    SETTLED = "as good as possible by a measure of the learner's own, and so not a match"
    OUT_OF_STEPS = "stopped early; allow more steps, or ask for a larger tolerance"
    ROUNDING = "rounding leaves nothing to gain; ask for a larger tolerance"


@dataclass(frozen=True, eq=False)
class Learned:
    """What a learner made of a demonstration.

    Attributes
    ----------
    policy : Policy, stationary; a mixture has been turned into the one policy with its occupancy
    expectations : array [ℓ], what the policy does in the learner's features
    mismatch : float, ‖expectations − target‖, in the features as given: what `certify` takes
    weights : array [ℓ], the reward in these features that the learner would report; zeros if none
    solves : int, how many MDPs were solved
    history : array [n], the mismatch at the start and after each step
    status : LearnStatus
    nearest : float, no policy's mismatch is less than this, as far as is proved, all rounding
        counted: neither its own nor the one that is computed of it. 0 says nothing

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(3)
    >>> seen = ti.Worldview.select(mdp, ["cell 3"]).observe(mdp)
    >>> learned = ti.learners.LinearProgram().learn(seen, [2.0])
    >>> learned.status, learned.expectations.round(6)
    (MATCHED, array([2.]))
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
    """Anything that can learn; `testing.check_learner` tells whether it does it properly.

    Examples
    --------
    >>> import teachirl as ti
    >>> class Stubborn:
    ...     def learn(self, seen, target, start=None):
    ...         task = ti.learners.Assignment(seen, target, start)
    ...         settled = ti.learners.LearnStatus.SETTLED
    ...         return task.report(task.start, 0 * task.target, 0, [], settled)
    >>> Stubborn().learn(ti.worlds.chain(3), [0, 0, 10]).status
    SETTLED
    """

    def learn(self, seen: MDP, target: ArrayLike, start: Policy | None = None) -> Learned:
        """Find a policy whose feature expectations are near a target.

        One who looks at episodes as well takes ``observations`` besides: Observations, what is
        seen of the episodes that were shown, or None, the default, if there are none.

        Parameters
        ----------
        seen : MDP with the learner's features
        target : array [ℓ], what was shown in these features
        start : Policy to begin with; the uniform one by default

        Returns
        -------
        Learned
        """
        ...


@runtime_checkable
class Informed(Protocol):
    """A learner in name only: told the true reward, which no learner knows.

    Examples
    --------
    >>> import teachirl as ti
    >>> isinstance(ti.learners.Adversarial(), ti.learners.Informed)
    True
    """

    def informed(self, mdp: MDP, weights: ArrayLike) -> Learner:
        """The learner who knows the reward.

        Parameters
        ----------
        mdp : MDP with the true features
        weights : array [k], of the reward ⟨weights, φ⟩

        Returns
        -------
        Learner
        """
        ...


class Assignment:
    """A learning problem, checked: what every learner of ours begins and ends with.

    Attributes
    ----------
    seen : MDP with the learner's features
    target : array [ℓ], what was shown in these features
    start : Policy to begin with; the uniform one by default
    observations : Observations of the episodes that were shown, None if there are none
    first : array [ℓ], its feature expectations
    scale : float, max ‖Aφ‖/(1 − γ), which no policy's expectations exceed
    units : array [ℓ], what the features as given were divided by to get these: 1, or see `even`
    directions : array [ℓ, r], along which they are measured then: see `independent`; or None

    Examples
    --------
    >>> import teachirl as ti
    >>> task = ti.learners.Assignment(ti.worlds.chain(3), [0, 1, 2], None)
    >>> task.start, round(task.scale, 6)
    (Policy(stochastic, 3 states), 10.0)
    """

    def __init__(
        self,
        seen: MDP,
        target: ArrayLike,
        start: Policy | None,
        observations: Observations | None = None,
    ) -> None:
        check_is_mdp(seen)
        if observations is not None:
            check_observations(seen, observations)
        self.observations = observations
        require(
            not isinstance(target, Policy) and not hasattr(target, "expectations"),
            f"target must be what was shown in the learner's features, array [{seen.n_features}], "
            f"such as view.matrix @ demonstration.expectations, got {type(target).__name__}",
        )
        b = np.array(as_floats("target", target))
        shape = (seen.n_features,)
        require(b.shape == shape, f"target must have shape {shape}, one a feature, got {b.shape}")
        check_finite("target", b)
        if start is not None:
            check_policy(seen, start)
        self.seen, self.target = seen, frozen(b)
        self.start = Policy.uniform(seen) if start is None else start
        self.first = feature_expectations(seen, self.start)
        self.scale = seen.largest_feature / (1.0 - seen.discount)
        self.units: Floats = np.ones(len(b))
        self.directions: Floats | None = None
        self.given = self

    def even(self) -> Assignment:
        """The same problem with the features in even units, in which all our learners learn.

        What it reports is in the features as given. Its scale, of which tolerances are fractions,
        is max ‖ψ‖/(1 − γ), or √ℓ/(1 − γ) if that is less: no two policies are farther apart.

        Returns
        -------
        Assignment
        """
        made = copy.copy(self)
        made.units = units = even_units(self.seen, self.target)
        if (units != 1.0).any():
            made.seen = self.seen.with_features(divided(self.seen.features, units))
            made.target, made.first = frozen(self.target / units), self.first / units
        made.scale = even_scale(made.seen)
        return made

    def independent(self) -> Assignment:
        """The same problem with as many features as are independent: 5,000 copies of one are one.

        They are Vᵀψ, with V [ℓ, r] orthonormal directions that span what the target and all ψ do,
        so that all lengths and angles are the same; weights θ for them are Vθ for ψ.

        Returns
        -------
        Assignment
        """
        found = directions(self.seen.features, self.target)
        if found is None:
            return self
        made = copy.copy(self)
        made.directions = found
        made.seen = self.seen.with_features(np.asarray(self.seen.features @ found))
        made.target, made.first = frozen(found.T @ self.target), found.T @ self.first
        return made

    def along(self, vector: Floats) -> Floats:
        """Weights, or what is missing, in the features that `independent` was called for.

        Parameters
        ----------
        vector : array [r]

        Returns
        -------
        array [ℓ]
        """
        return vector if self.directions is None else self.directions @ vector

    def miss(self, expectations: Floats) -> float:
        """‖expectations − target‖, in the assignment's units.

        Parameters
        ----------
        expectations : array [ℓ]

        Returns
        -------
        float
        """
        return float(kernels.length(expectations - self.target))

    def mismatch(self, missing: Floats) -> float:
        """The length of what is missing, in the features as given.

        Parameters
        ----------
        missing : array [ℓ], the target less what a policy does, in the assignment's units

        Returns
        -------
        float
        """
        return float(kernels.length(self.units * self.along(missing)))

    def as_given(self, weights: Floats, order: int = 2) -> Floats:
        """The weights of the same reward for the features as given, at the length they have.

        Parameters
        ----------
        weights : array [ℓ], for the features in the assignment's units
        order : int, of the norm that is the length

        Returns
        -------
        array [ℓ]
        """
        others = self.along(weights) / self.units
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

        All that is passed is in the features as given, and so is the report.

        Parameters
        ----------
        policy : Policy
        weights : array [ℓ]
        solves : int, how many MDPs were solved
        history : sequence of float, the mismatch after each step
        status : LearnStatus
        nearest : float, no policy's mismatch is less than this

        Returns
        -------
        Learned
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
    """What to divide each feature by [ℓ]: see `units_of`."""
    return units_of(seen.features, seen.dynamics, target)


def units_of(features: Any, dynamics: Dynamics, target: Floats) -> Floats:
    """What to divide each feature by [ℓ]: its range over all that can be reached.

    A feature of large constant size and hardly any range has a thousandth of that size instead.
    Those that are always 0 have what makes the target's part in them 1/(1 − γ) long, or 1.
    """
    phi: Any = features
    if phi.shape[1] == 0:
        return np.ones(0)
    if len(dynamics.reachable) < dynamics.n_states:
        rows = dynamics.reachable
        if phi.shape[0] != dynamics.n_states:
            reached = np.zeros(dynamics.n_states, dtype=bool)
            reached[rows] = True
            rows = np.flatnonzero(reached[dynamics.pair_states])
        phi = phi[rows]
    least, most = phi.min(axis=0), phi.max(axis=0)
    if not isinstance(phi, np.ndarray):
        least, most = least.toarray().ravel(), most.toarray().ravel()
    # The least unit of a feature, as a share of its size: what policies do of it is known to 1e-12
    # of that, so that the finest tolerance is still above rounding.
    units = np.maximum(most - least, 1e-3 * np.maximum(np.abs(least), np.abs(most)))
    asked = (1.0 - dynamics.discount) * float(kernels.length(target[units == 0.0]))
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
