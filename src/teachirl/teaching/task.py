"""What a teacher knows: the world, the reward, the learner's features, and what could be taught.

A task says nothing of how the learner learns, nor of how the teacher chooses. What all rounds and
all teachers share, such as the best policy there is, is computed once, here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import (
    AnyRows,
    Floats,
    Names,
    SparseRows,
    check_finite,
    checked_names,
    checked_positive,
    frozen,
    unshared,
)
from ..demonstrations.demonstration import Demonstration, as_demonstration
from ..errors import InvalidInputError, require
from ..guarantees.bounds import WorstCaseBounds, WorstCaseStatus
from ..mdp.estimated import AnyMDP, nominal_of
from ..mdp.occupancy import expectation_error, feature_expectations
from ..mdp.performance import performance_at_least
from ..mdp.plan import Plan
from ..mdp.planning import optimal_policy, worst_policy
from ..mdp.policy import Policy, check_policy
from ..mdp.rewards.rewards import Rewards
from ..precision import down, up
from ..views.linear_algebra import as_rows
from ..views.potential_shaping import Indistinct, indistinct_directions
from ..views.worldview import Worldview, check_worldview
from .closeness import close_enough, worst_in_order
from .matching import Matching


class BaselineError(InvalidInputError):
    """What counts as 0 is no baseline of this task; the message says why."""


class Task:
    """A teaching problem; it holds checked data, which is not to be changed.

    Parameters
    ----------
    mdp : MDP, with the true features; or EstimatedMDP, and what is guaranteed then holds in every
        world that its log allows, while learners are simulated in the nominal one
    weights : array [k], the true reward's; or Rewards if several are plausible: what is taught is
        planned for their mean, `weights`, and `rewards` are kept for `certify` and `worth_buying`
    worldview : Worldview, what the learner sees at the beginning
    teachable : array [n, k], a row a feature that could be taught; or a worldview, for its names.
        Of thousands that are nearly all 0 the others are kept: `numpy.asarray` makes an array
    costs : array [n], what teaching each costs, positive; 1 each by default
    names : sequence of n str; by default a row with one entry that is not 0 is called by the MDP's
        feature, and others by their number
    demonstration : Demonstration or Policy that the learner is shown; an optimal policy by default
    required, forbidden : sequences of int or str, features that must be taught, or must not
    indistinct : Indistinct, what no policy can change, `indistinct_directions(mdp)` unless given;
        with less of it, what is proved holds as well, and is looser at most
    baseline : Policy whose relative performance is 0; by default a worst one

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> view = ti.Worldview.select(mdp, ["cell 3"])
    >>> task = ti.Task(mdp, [-2, -1, 0, 1, 2], view, np.eye(5), forbidden=["cell 3"])
    >>> task
    Task(5 features, 1 row seen, 5 teachable)
    >>> task.names[0], float(task.costs[0]), task.forbidden
    ('cell 1', 1.0, (2,))
    """

    def __init__(
        self,
        mdp: AnyMDP,
        weights: ArrayLike | Rewards,
        worldview: Worldview,
        teachable: ArrayLike | Worldview,
        costs: ArrayLike | None = None,
        names: Iterable[str] | None = None,
        demonstration: Demonstration | Policy | None = None,
        *,
        required: Iterable[int | str] = (),
        forbidden: Iterable[int | str] = (),
        indistinct: Indistinct | None = None,
        baseline: Policy | None = None,
    ) -> None:
        check_worldview(worldview, mdp)
        self.model, self.mdp, self.worldview = mdp, nominal_of(mdp), worldview
        self._indistinct = indistinct
        self.rewards: Rewards | None = None
        if isinstance(weights, Rewards):
            weights.check(self.mdp)
            self.rewards, weights = weights, weights.mean
            cancel = "the plausible rewards cancel out in the mean: there is nothing to plan with"
            require(bool(self.rewards.mean.any()), cancel)
        self.weights: Floats = frozen(np.array(mdp.checked_weights(weights)))
        k = mdp.n_features
        require(self.weights.shape == (k,), f"weights must have shape ({k},), one a feature")
        require(bool(self.weights.any()), "weights must not be all zero: there is nothing to teach")
        if isinstance(teachable, Worldview):
            names = teachable.names if names is None else names
            teachable = teachable.matrix
        rows = as_rows("teachable", teachable)
        self.teachable: AnyRows = rows if isinstance(rows, SparseRows) else frozen(unshared(rows))
        shape = self.teachable.shape
        require(
            len(shape) == 2 and shape[1] == k, f"teachable must have shape (n, {k}), got {shape}"
        )
        check_finite("teachable", self.teachable)
        self.costs: Floats = self._checked_costs(costs)
        self.names: Names = checked_names("names", names, shape[0]) or self._default_names()
        self.required = self._indices("required", required)
        self.forbidden = self._indices("forbidden", forbidden)
        both = sorted(set(self.required) & set(self.forbidden))
        require(
            not both,
            f"a feature cannot be required and forbidden: {[self.names[i] for i in both]}",
        )
        if demonstration is None:
            demonstration = self.best.policy
        self.demonstration: Demonstration = as_demonstration(mdp, demonstration)
        self.baseline = baseline
        if baseline is not None:
            self._check_baseline(baseline)

    def __repr__(self) -> str:
        rows = self.worldview.n_rows
        return (
            f"Task({self.mdp.n_features} features, {rows} row{'' if rows == 1 else 's'} seen, "
            f"{len(self.teachable)} teachable)"
        )

    def with_weights(self, weights: ArrayLike) -> Task:
        """The same task with another reward, counted from its own worst policy.

        Parameters
        ----------
        weights : array [k]

        Returns
        -------
        Task
        """
        return self._with(weights, self.worldview)

    def with_worldview(self, worldview: Worldview) -> Task:
        """The same task with a learner who sees something else.

        Parameters
        ----------
        worldview : Worldview

        Returns
        -------
        Task
        """
        return self._with(self.weights if self.rewards is None else self.rewards, worldview)

    def _with(self, weights: ArrayLike | Rewards, worldview: Worldview) -> Task:
        return Task(
            self.model,
            weights,
            worldview,
            self.teachable,
            self.costs,
            self.names,
            self.demonstration,
            required=self.required,
            forbidden=self.forbidden,
            indistinct=self._indistinct,
        )

    @cached_property
    def best(self) -> Plan:
        """Plan with max R; its bounds are those of all worlds, where the world is not known."""
        return optimal_policy(self.model, self.weights)

    @cached_property
    def worst(self) -> Plan:
        """Plan with min R; its bounds are those of all worlds, where the world is not known."""
        return worst_policy(self.model, self.weights)

    @cached_property
    def simulated(self) -> tuple[Plan, Plan]:
        """Plans with max R and with min R where learners are simulated: in the nominal world."""
        if self.model is self.mdp:
            return self.best, self.worst
        return optimal_policy(self.mdp, self.weights), worst_policy(self.mdp, self.weights)

    @cached_property
    def indistinct(self) -> Indistinct:
        """Indistinct, the directions along which all policies look the same."""
        if self._indistinct is not None:
            return self._indistinct
        if self.model is not self.mdp:  # in another world of the log they may not look the same
            return Indistinct(np.empty((0, self.mdp.n_features)), 0.0)
        return indistinct_directions(self.mdp)

    @cached_property
    def zero(self) -> float:
        """The reward that is a relative performance of 0: min R, or that of the baseline."""
        if self.baseline is None:
            return self.simulated[1].value
        return float(self.weights @ feature_expectations(self.mdp, self.baseline))

    @cached_property
    def tolerance(self) -> float:
        """How far apart the bounds on a worst case may be, as a fraction of max R − min R."""
        width = self.best.value - self.worst.value
        return close_enough(width, self.weights, self.demonstration.expectations)

    def relative(self, reward: float) -> float:
        """(reward − min R)/(max R − min R), clipped to [0, 1]; 1 where all policies are equal.

        With a baseline, its reward takes the place of min R, and less than it is negative.

        Parameters
        ----------
        reward : float

        Returns
        -------
        float in [0, 1], or below 0 with a baseline
        """
        if self.baseline is not None:
            return min((reward - self.zero) / (self.best.value - self.zero), 1.0)
        best, worst = self.simulated
        width = best.value - worst.value
        if width <= best.upper - best.lower + worst.upper - worst.lower:
            return 1.0
        return min(max((reward - worst.value) / width, 0.0), 1.0)

    def relative_at_least(self, reward: float) -> float:
        """As `relative`, of a reward that is guaranteed: rounded down by what planning may be off.

        Parameters
        ----------
        reward : float

        Returns
        -------
        float in [0, 1], or below 0 with a baseline
        """
        if self.mdp.n_pairs == self.mdp.n_states:  # there is one policy
            return 1.0
        if self.baseline is not None:
            above = down(reward - self._zero_at_most)
            # The larger the range, the nearer to 0 the share.
            most = self.best.upper if above > 0.0 else self.best.lower
            width = most - self._zero_at_most
            return min(down(above / (up(width) if above > 0.0 else down(width))), 1.0)
        return performance_at_least(self.model, self.weights, reward, self.best, self.worst)

    def worst_case(
        self,
        view: Worldview,
        demonstration: Demonstration,
        matching: Matching,
        *,
        tolerance: float | None = None,
        max_seconds: float = math.inf,
        start: Floats | None = None,
    ) -> WorstCaseBounds:
        """The least reward of all learners who match, in whatever order they see what they see.

        Parameters
        ----------
        view : Worldview, what they see
        demonstration : Demonstration that they are shown
        matching : Matching, how closely they match
        tolerance, max_seconds : floats, as in `worst_case`; `Task.tolerance` by default
        start : array [ℓ], the `theta` of an earlier search

        Returns
        -------
        WorstCaseBounds
        """
        return worst_in_order(
            self.model,
            view,
            self.weights,
            demonstration,
            matching,
            tolerance=self.tolerance if tolerance is None else tolerance,
            max_seconds=max_seconds,
            start=start,
        )

    def guaranteed(
        self,
        view: Worldview,
        demonstration: Demonstration,
        matching: Matching,
        *,
        max_seconds: float = math.inf,
    ) -> float:
        """The relative performance that all learners who match have at least.

        Parameters
        ----------
        view : Worldview, what they see
        demonstration : Demonstration that they are shown
        matching : Matching, how closely they match
        max_seconds : float, how long to search

        Returns
        -------
        float, as `relative`; the least there is if nobody matches, as nothing is known of who comes
        near
        """
        found = self.worst_case(view, demonstration, matching, max_seconds=max_seconds)
        return self.guaranteed_by(found)

    def guaranteed_by(self, found: WorstCaseBounds) -> float:
        """The relative performance that a worst case guarantees; the least if nobody matches.

        Parameters
        ----------
        found : WorstCaseBounds

        Returns
        -------
        float, as `relative`
        """
        if found.status is not WorstCaseStatus.INFEASIBLE:
            return self.relative_at_least(found.lower)
        return 0.0 if self.baseline is None else self.relative_at_least(self.worst.lower)

    def index(self, feature: int | str) -> int:
        """The number of a teachable feature.

        Parameters
        ----------
        feature : int or str, its number or name

        Returns
        -------
        int
        """
        return self._indices("feature", [feature])[0]

    @cached_property
    def _zero_at_most(self) -> float:
        return up(self.zero + expectation_error(self.mdp, self.weights))

    def _check_baseline(self, baseline: Policy) -> None:
        check_policy(self.mdp, baseline)
        require(self.model is self.mdp, "a baseline needs a world that is known, not an estimate")
        if self._zero_at_most >= self.best.lower:
            raise BaselineError(
                f"the baseline must earn less than the best policy: it earns {self.zero:.6g}, the "
                f"best {self.best.value:.6g}"
            )

    def _checked_costs(self, costs: ArrayLike | None) -> Floats:
        n = len(self.teachable)
        return frozen(np.ones(n) if costs is None else checked_positive("costs", costs, n))

    def _default_names(self) -> Names:
        names: list[str] = []
        for number, row in enumerate(self.teachable):
            entries = np.flatnonzero(row)
            name = self.mdp.feature_name(int(entries[0])) if len(entries) == 1 else str(number)
            names.append(name if name not in names else f"{name} (teachable {number})")
        return tuple(names)

    def _indices(self, what: str, features: Iterable[int | str]) -> tuple[int, ...]:
        require(not isinstance(features, str), f"{what} must be a sequence, got a string")
        found: list[int] = []
        for feature in features:
            if isinstance(feature, str):
                require(
                    feature in self.names,
                    f"{what}: there is no teachable feature {feature!r}",
                )
                index = self.names.index(feature)
            else:
                number = isinstance(feature, (int, np.integer)) and not isinstance(feature, bool)
                require(number, f"{what} must hold names or numbers, got {feature!r}")
                index = int(feature)
                require(
                    0 <= index < len(self.teachable),
                    f"{what} must lie in 0 … {len(self.teachable) - 1}, got {index}",
                )
            require(index not in found, f"{what}: {self.names[index]!r} is there twice")
            found.append(index)
        return tuple(found)


__all__ = ["BaselineError", "Task"]
