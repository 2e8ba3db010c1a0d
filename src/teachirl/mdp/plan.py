"""What planning gives: a policy with bounds, for one reward or for many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from ..arrays import Floats
from ..errors import Status
from ..figures.cards import MOST_ROWS, Grid, card
from ..figures.digits import at_least, at_most, number
from .policy import Policy


class PlanStatus(Status):
    """How planning ended; the text says what to do about it.

    Examples
    --------
    >>> import teachirl as ti
    >>> print(ti.PlanStatus.OUT_OF_ROUNDS)
    stopped early with valid bounds; raise max_rounds
    """

    OPTIMAL = "the bounds are as close as asked, or all policies earn the same"
    ROUNDING = "the bounds are as close as double precision allows; ask for a larger tolerance"
    OUT_OF_ROUNDS = "stopped early with valid bounds; raise max_rounds"
    IN_DOUBT = (
        "the bounds are those of every world that the log allows; more steps bring them closer"
    )


@dataclass(frozen=True, eq=False)
class Plan:
    """A policy, and what is known about it and about the best there is.

    Attributes
    ----------
    policy : Policy, deterministic; of actions within the tolerance of the best, the first
    value : float, the middle of the bounds, at most half their distance from R(π)
    lower, upper : floats with lower ≤ R(π) ≤ max R ≤ upper; for a worst policy, with
        lower ≤ min R ≤ R(π) ≤ upper
    values : array [S], the optimal values, as exact as the bounds are close
    status : PlanStatus
    rounds : int, sweeping rounds used

    Examples
    --------
    >>> import teachirl as ti
    >>> plan = ti.optimal_policy(ti.worlds.chain(3), [0, 0, 1])
    >>> plan.status, plan.lower <= plan.value <= plan.upper
    (OPTIMAL, True)
    """

    policy: Policy
    value: float
    lower: float
    upper: float
    values: Floats
    status: PlanStatus
    rounds: int

    @staticmethod
    def of(
        policy: Policy,
        lower: float,
        upper: float,
        values: Floats,
        status: PlanStatus,
        rounds: int,
    ) -> Plan:
        """The plan with these bounds; its value is the middle of them.

        Parameters
        ----------
        policy : Policy
        lower, upper : floats
        values : array [S]
        status : PlanStatus
        rounds : int

        Returns
        -------
        Plan
        """
        plan = object.__new__(Plan)  # nothing to check, and planners are in a hurry
        plan.__dict__.update(
            policy=policy,
            value=0.5 * (lower + upper),
            lower=lower,
            upper=upper,
            values=values,
            status=status,
            rounds=rounds,
        )
        return plan

    def __repr__(self) -> str:
        bounds = f"{at_least(self.lower)} to {at_most(self.upper)}"
        return f"Plan(value {number(self.value)}, bounds {bounds}, {self.status!r})"

    def _repr_html_(self) -> str:
        facts = (
            ("value", number(self.value)),
            ("bounds", f"{at_least(self.lower)} to {at_most(self.upper)}"),
            ("policy", repr(self.policy)),
            ("status", str(self.status)),
        )
        return card("Plan", facts)


@dataclass(frozen=True, eq=False)
class Plans(Sequence[Plan]):
    """Plans for many rewards; a sequence of `Plan`, and the same as arrays.

    Attributes
    ----------
    plans : tuple of m `Plan`

    Examples
    --------
    >>> import teachirl as ti
    >>> plans = ti.optimal_policies(ti.worlds.chain(3), [[0, 0, 1], [1, 0, 0]])
    >>> plans[1].status, plans.values.shape
    (OPTIMAL, (2, 3))
    """

    plans: tuple[Plan, ...]

    @overload
    def __getitem__(self, index: int) -> Plan: ...
    @overload
    def __getitem__(self, index: slice) -> Plans: ...
    def __getitem__(self, index: int | slice) -> Plan | Plans:
        return Plans(self.plans[index]) if isinstance(index, slice) else self.plans[index]

    def __len__(self) -> int:
        return len(self.plans)

    def __iter__(self) -> Iterator[Plan]:
        return iter(self.plans)

    def __repr__(self) -> str:
        ended = Counter(plan.status.name for plan in self.plans)
        counts = ", ".join(f"{count} {name}" for name, count in ended.items())
        return f"Plans({len(self)} rewards{': ' if counts else ''}{counts})"

    def _repr_html_(self) -> str:
        rows = [
            (
                str(place),
                number(plan.value),
                at_least(plan.lower),
                at_most(plan.upper),
                str(plan.status),
            )
            for place, plan in enumerate(self.plans[:MOST_ROWS])
        ]
        heads = ("", "value", "at least", "at most", "status")
        return card(f"Plans for {len(self)} rewards", grid=Grid(heads, rows, len(self)))

    @property
    def lower(self) -> Floats:
        """array [m], a lower bound of each plan."""
        return np.array([plan.lower for plan in self.plans])

    @property
    def upper(self) -> Floats:
        """array [m], an upper bound of each plan."""
        return np.array([plan.upper for plan in self.plans])

    @property
    def values(self) -> Floats:
        """array [m, S], the values of each plan."""
        return np.array([plan.values for plan in self.plans]).reshape(len(self), -1)


__all__ = ["Plan", "PlanStatus", "Plans"]
