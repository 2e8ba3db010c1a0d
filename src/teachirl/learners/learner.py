"""What a learner is: she sees Aφ and a target in it, and finds a policy that matches the target.

She gets an MDP whose features are hers, `worldview.observe(mdp)`, and what was demonstrated as she
sees it, b = Aμ_T. What she does is her own business; what she returns is one `Learned`. Neither the
true features nor the reward nor A reach her. The two that are told the reward, to show how bad and
how good a match can be, are no `Learner` but `Informed`: something that becomes one.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from .. import kernels
from ..checks import Floats, as_floats, at, frozen
from ..errors import require
from ..mdp import MDP, check_is_mdp
from ..occupancies import feature_expectations
from ..policy import Policy, check_policy


class LearnStatus(enum.Enum):
    """How learning ended; the text says what to do about it."""

    MATCHED = "the mismatch is within the tolerance"
    NEAREST = "no policy matches more closely: the target is out of her reach"
    SETTLED = "she did as well as she could by a measure of her own, and so did not match"
    OUT_OF_STEPS = "stopped early; allow more steps, or ask for a larger tolerance"
    ROUNDING = "rounding leaves nothing to gain; ask for a larger tolerance"

    def __repr__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, eq=False)
class Learned:
    """What a learner made of a demonstration.

    Attributes
    ----------
    policy : Policy, stationary; a mixture has been turned into the one policy with its occupancy
    expectations : array [ℓ], what the policy does in her features
    mismatch : ‖expectations − target‖
    weights : array [ℓ], the reward in her features that she would report; zeros if she has none
    solves : how many MDPs she solved
    history : array [n], the mismatch at the start and after each step
    status : LearnStatus
    nearest : no policy's mismatch is less than this, as far as she has proved; 0 says nothing
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
    scale : max ‖Aφ‖/(1 − γ), which no policy's expectations exceed: tolerances are fractions of it
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

    def miss(self, expectations: Floats) -> float:
        """‖expectations − target‖"""
        return float(kernels.length(expectations - self.target))

    def report(
        self,
        policy: Policy,
        weights: Floats,
        solves: int,
        history: Sequence[float],
        status: LearnStatus,
        nearest: float = 0.0,
    ) -> Learned:
        """What was learned; what the policy does is computed from the policy itself."""
        expectations = feature_expectations(self.seen, policy)
        return Learned(
            policy=policy,
            expectations=frozen(expectations),
            mismatch=self.miss(expectations),
            weights=frozen(np.array(weights, dtype=float)),
            solves=solves,
            history=frozen(np.array([self.miss(self.first), *history])),
            status=status,
            nearest=nearest,
        )


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
