"""What a learner is shown: feature expectations, exact or estimated from episodes with their error.

How the error is bounded, and what that assumes of the episodes, is in `error_bounds`.
"""

from __future__ import annotations

import math
import weakref
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats, check_finite, frozen
from ..errors import require
from ..mdp.estimated import AnyMDP, nominal_of
from ..mdp.model import MDP
from ..mdp.occupancy import feature_expectations
from ..mdp.policy import Policy, check_policy
from ..precision import MATCHED, ROUNDED_UP, length_at_most
from ..views.worldview import Worldview
from .error_bounds import confidence_radius, feature_diameter, mean_and_gaps
from .row_errors import RowErrors, row_errors
from .sampling import sample_trajectories
from .trajectories import Trajectories, check_trajectories

# Where errors are bounded feature by feature as well, the part of the failure that is the radius's.
RADIUS_SHARE = 0.1
# In which MDP what a policy shows was evaluated: there it need not be done again.
_evaluated_in = weakref.WeakKeyDictionary["Demonstration", "weakref.ref[MDP]"]()


@dataclass(frozen=True, eq=False)
class Demonstration:
    """Feature expectations that a teacher shows, with the error they may have.

    ‖expectations − μ‖ ≤ bias + radius with probability `confidence` over the episodes, where μ is
    what the expert really has. An exact demonstration has bias 0, radius 0 and confidence 1.

    Attributes
    ----------
    expectations : array [k]
    bias : float, bound on the Euclidean norm of what is missing because episodes were cut off;
        certain
    radius : float, bound on the Euclidean norm of the error due to chance, at the stated confidence
    confidence : float in (0, 1]
    policy : Policy, the demonstrated policy, if known
    trajectories : Trajectories, the episodes that were seen, if any
    along : RowErrors, tighter bounds on the error in single features, which hold at the same time;
        None if there are none

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(3)
    >>> shown = ti.Demonstration.of_policy(mdp, ti.Policy.uniform(mdp))
    >>> shown.expectations.round(3), shown.error
    (array([2.544, 4.912, 2.544]), 0.0)
    """

    expectations: Floats
    bias: float = 0.0
    radius: float = 0.0
    confidence: float = 1.0
    policy: Policy | None = None
    trajectories: Trajectories | None = None
    along: RowErrors | None = None

    def __post_init__(self) -> None:
        mu = np.array(self.expectations, dtype=float)
        require(mu.ndim == 1, f"expectations must be one-dimensional, got shape {mu.shape}")
        check_finite("expectations", mu)
        object.__setattr__(self, "expectations", frozen(mu))
        for name in ("bias", "radius"):
            value = float(getattr(self, name))
            require(0 <= value < math.inf, f"{name} must be non-negative and finite, got {value}")
            object.__setattr__(self, name, value)
        require(0 < self.confidence <= 1, f"confidence must lie in (0, 1], got {self.confidence!r}")

    @classmethod
    def of_policy(cls, mdp: MDP, policy: Policy) -> Demonstration:
        """The exact feature expectations of a policy.

        Parameters
        ----------
        mdp : MDP
        policy : Policy

        Returns
        -------
        Demonstration

        Examples
        --------
        >>> import teachirl as ti
        >>> mdp = ti.worlds.chain(5)
        >>> ti.Demonstration.of_policy(mdp, ti.Policy.uniform(mdp))
        Demonstration(5 features, exact)
        """
        check_policy(mdp, policy)
        found = cls(feature_expectations(mdp, policy), policy=policy)
        _evaluated_in[found] = weakref.ref(mdp)
        return found

    @classmethod
    def sample(
        cls,
        mdp: MDP,
        policy: Policy,
        *,
        episodes: int,
        horizon: int,
        rng: np.random.Generator,
        confidence: float = 0.95,
    ) -> Demonstration:
        """Feature expectations estimated from episodes of a policy.

        Parameters
        ----------
        mdp : MDP
        policy : Policy
        episodes : int, how many are drawn, independently
        horizon : int, after how many steps an episode that has not terminated is cut off
        rng : numpy.random.Generator
        confidence : float in (0, 1), the probability with which the radius holds

        Returns
        -------
        Demonstration, with the bias and the radius of its error

        Examples
        --------
        >>> import numpy as np, teachirl as ti
        >>> mdp = ti.worlds.chain(5, discount=0.5)
        >>> policy, rng = ti.Policy.uniform(mdp), np.random.default_rng(0)
        >>> ti.Demonstration.sample(mdp, policy, episodes=10_000, horizon=30, rng=rng)
        Demonstration(5 features, 10000 episodes, error bound 0.0345 with confidence 0.95)
        """
        delta = _failure(confidence)
        trajectories = sample_trajectories(mdp, policy, episodes=episodes, horizon=horizon, rng=rng)
        return cls._estimated(mdp, trajectories, delta, confidence, policy)

    @classmethod
    def from_trajectories(
        cls,
        mdp: MDP,
        trajectories: Trajectories,
        confidence: float = 0.95,
        *,
        rows: ArrayLike | None = None,
    ) -> Demonstration:
        """Feature expectations estimated from recorded episodes, taken to be independent.

        Parameters
        ----------
        mdp : MDP
        trajectories : Trajectories
        confidence : float in (0, 1), the probability with which the radius holds
        rows : array [n, k], features whose error is bounded one by one as well, such as those that
            a learner has or could be taught, and the weights; the radius and all of these hold
            together

        Returns
        -------
        Demonstration, with the bias and the radius of its error

        Examples
        --------
        >>> import teachirl as ti
        >>> mdp = ti.worlds.chain(5)
        >>> states, actions = [[0, 1, 2], [3]], [[1, 1, 0], [0]]
        >>> seen = ti.Trajectories.from_arrays(mdp, states, actions, [False, False])
        >>> ti.Demonstration.from_trajectories(mdp, seen).expectations.round(3).tolist()
        [0.5, 0.45, 0.405, 0.5, 0.0]
        """
        delta = _failure(confidence)
        check_trajectories(mdp, trajectories)
        if rows is None:
            return cls._estimated(mdp, trajectories, delta, confidence, None)
        singly = np.atleast_2d(np.asarray(mdp.checked_weights(rows)))
        found = cls._estimated(mdp, trajectories, RADIUS_SHARE * delta, confidence, None)
        along = row_errors(mdp, trajectories, singly, (1.0 - RADIUS_SHARE) * delta)
        return replace(found, along=along)

    @classmethod
    def _estimated(
        cls,
        mdp: MDP,
        trajectories: Trajectories,
        delta: float,
        confidence: float,
        policy: Policy | None,
    ) -> Demonstration:
        gamma, m = mdp.discount, len(trajectories)
        lengths = trajectories.lengths.astype(float)
        cut = ~trajectories.terminated * gamma**lengths * (mdp.largest_feature / (1 - gamma))
        mean, gaps = mean_and_gaps(mdp, trajectories)
        diameter = feature_diameter(mdp) / (1 - gamma)
        n = m // 2
        gaps = np.minimum(gaps + cut[0 : 2 * n : 2] + cut[1 : 2 * n : 2], diameter)
        return cls(
            mean,
            bias=float(cut.mean()),
            radius=confidence_radius(diameter, m, 0.5 * gaps**2, delta),
            confidence=float(confidence),
            policy=policy,
            trajectories=trajectories,
        )

    def __repr__(self) -> str:
        features = f"{len(self.expectations)} features"
        if self.error == 0 and self.confidence == 1:
            return f"Demonstration({features}, exact)"
        seen = "" if self.trajectories is None else f"{len(self.trajectories)} episodes, "
        return (
            f"Demonstration({features}, {seen}error bound {self.error:.3g} "
            f"with confidence {self.confidence:g})"
        )

    @property
    def error(self) -> float:
        """Bound on ‖expectations − μ‖ that holds with the stated confidence: bias + radius."""
        return self.bias + self.radius

    def error_in(self, view: Worldview, units: Floats | None = None) -> float:
        """Bound on ‖A(expectations − μ)‖ for what a learner sees, with the stated confidence.

        Parameters
        ----------
        view : Worldview
        units : array [ℓ], non-negative, what the rows of A are multiplied with; 1 by default

        Returns
        -------
        float
        """
        if self.error == 0.0:
            return 0.0
        scales = np.ones(view.n_rows) if units is None else units
        most = (
            view.norm if units is None else Worldview(view.matrix * units[:, None]).norm
        ) * self.error
        singly = self.errors_of(view)
        return most if singly is None else min(most, length_at_most(scales * singly))

    def errors_of(self, view: Worldview) -> Floats | None:
        """Bounds on |A(expectations − μ)|, row by row, all of them at once with the stated
        confidence.

        Parameters
        ----------
        view : Worldview

        Returns
        -------
        array [ℓ]; None if the rows were not bounded one by one
        """
        places = None if self.along is None else self.along.places(view.matrix)
        if self.along is None or places is None:
            return None
        return np.asarray((self.along.cut + self.along.chance)[places])

    def earned_between(self, weights: Floats) -> tuple[float, float]:
        """Between which rewards ⟨w, μ⟩ lies, with the stated confidence.

        Parameters
        ----------
        weights : array [k]

        Returns
        -------
        tuple of two float; the same if there is no error
        """
        middle = float(weights @ self.expectations)
        if self.error == 0.0:
            return middle, middle
        off = length_at_most(weights) * self.error * ROUNDED_UP
        low, high = middle - off, middle + off
        place = None if self.along is None else self.along.places(weights[None])
        if self.along is not None and place is not None:
            [lower], [upper] = self.along.lower[place], self.along.upper[place]
            low, high = max(low, float(lower)), min(high, float(upper))
        return low, high


@runtime_checkable
class Shows(Protocol):
    """What has a demonstration, such as the answer of `best_demonstration`."""

    @property
    def demonstration(self) -> Demonstration: ...


def as_demonstration(mdp: AnyMDP, demonstration: Demonstration | Policy | Shows) -> Demonstration:
    """`demonstration` itself, the exact one of a policy, or what shows one has: where a
    demonstration is asked for, all will do. Where the world is known from a log, what a policy
    shows is what it shows in the nominal one.

    Parameters
    ----------
    mdp : MDP or EstimatedMDP
    demonstration : Demonstration or Policy

    Returns
    -------
    Demonstration

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> ti.as_demonstration(mdp, ti.Policy.uniform(mdp))
    Demonstration(5 features, exact)
    """
    world = nominal_of(mdp)
    if isinstance(demonstration, Policy):
        return Demonstration.of_policy(world, demonstration)
    if isinstance(demonstration, Shows):
        demonstration = demonstration.demonstration
    require(
        isinstance(demonstration, Demonstration),
        f"demonstration must be a Demonstration or a Policy (of a plan, its .policy), got "
        f"{type(demonstration).__name__}",
    )
    shape = demonstration.expectations.shape
    require(
        shape == (mdp.n_features,),
        f"demonstration must have {mdp.n_features} expectations, one a feature, got {shape[0]}",
    )
    if demonstration.policy is not None and demonstration.error == 0.0:
        home = _evaluated_in.get(demonstration)
        if home is not None and home() is world:
            return demonstration
        here = feature_expectations(world, demonstration.policy)
        off = float(np.linalg.norm(here - demonstration.expectations))
        require(
            off <= MATCHED * world.largest_feature / (1.0 - mdp.discount),
            f"demonstration must be of this MDP: here its policy's feature expectations are "
            f"{off:.3g} from it; were the features, the discount or the dynamics others?",
        )
    return demonstration


def _failure(confidence: float) -> float:
    require(
        isinstance(confidence, (int, float, np.floating)) and 0 < confidence < 1,
        f"confidence must lie strictly between 0 and 1, got {confidence!r}",
    )
    return 1.0 - float(confidence)
