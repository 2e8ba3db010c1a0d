"""One goal, a limit on a feature, and what is guaranteed of them."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, replace

from ..errors import require
from ..precision import ROUNDED, SEARCH_TIE
from ..selection.greedy import is_number


class GoalKind(enum.StrEnum):
    """What a goal is about, as a problem file calls it."""

    GUARANTEE = "guarantee"
    MAX_LOSS = "max_loss"
    AT_LEAST = "at_least"
    LIMIT = "limit"


@dataclass(frozen=True)
class Limit:
    """How much of a feature there may be, discounted, for every learner who matches.

    Parameters
    ----------
    feature : int or str, which of the true features
    at_most, at_least : float, or None if it does not matter

    Examples
    --------
    >>> import teachirl as ti
    >>> ti.Limit("collision", at_most=0.1)
    Limit(feature='collision', at_most=0.1, at_least=None)
    """

    feature: int | str
    at_most: float | None = None
    at_least: float | None = None

    def __post_init__(self) -> None:
        given = [each for each in (self.at_most, self.at_least) if each is not None]
        require(bool(given), f"a limit of {self.feature!r} must say at_most or at_least")
        finite = all(is_number(each) and math.isfinite(each) for each in given)
        require(finite, f"a limit of {self.feature!r} must be a finite number, got {given}")


@dataclass(frozen=True)
class Promise:
    """What is guaranteed of every learner who matches.

    Attributes
    ----------
    reward : float, each earns at least this
    performance : float, the same as a relative performance
    loss : float, the expert earns at most this much more
    amounts : tuple of float, what each of the goals is about: the relative performance, the reward
        lost or earned, or the amount of the feature, each on the safe side
    """

    reward: float
    performance: float
    loss: float
    amounts: tuple[float, ...] = ()


@dataclass(frozen=True)
class Goal:
    """One goal in a task: an amount that must be guaranteed.

    Attributes
    ----------
    kind : GoalKind
    wanted : float, the amount
    most : bool, whether there may be no more of it; else there may be no less
    name : str, of the feature; empty if it is about the reward
    feature : int, its index; None if it is about the reward
    scale : float, how much of it there can be: between the worst and the best policy
    at_stake : float, how much of that matters, where a terrible policy stretches it: amounts are
        told apart by a millionth of it
    number : int, its place among the goals
    computed : bool, whether the amount follows from a share that was asked for: its digits are
        nobody's words
    """

    kind: GoalKind
    wanted: float
    most: bool
    name: str = ""
    feature: int | None = None
    scale: float = 1.0
    number: int = 0
    computed: bool = False
    at_stake: float = math.inf

    @property
    def told_by(self) -> float:
        """float, the scale that amounts are told apart on."""
        return min(self.scale, self.at_stake)

    def missing(self, promise: Promise) -> float:
        """How much is missing to what is wanted; 0 if it is guaranteed, up to rounding.

        Parameters
        ----------
        promise : Promise

        Returns
        -------
        float from 0 on
        """
        return self.missing_at(promise.amounts[self.number])

    def missing_at(self, amount: float) -> float:
        """The same of who has that amount.

        Parameters
        ----------
        amount : float

        Returns
        -------
        float from 0 on
        """
        missing = amount - self.wanted if self.most else self.wanted - amount
        return missing if missing > ROUNDED * self.scale else 0.0

    def spare(self, promise: Promise) -> float:
        """How much there is to spare of what is wanted, as a share of the scale.

        Parameters
        ----------
        promise : Promise

        Returns
        -------
        float, below 0 if it is not guaranteed
        """
        amount, scale = promise.amounts[self.number], self.scale or 1.0
        missing = self.missing_at(amount)
        return -missing / scale if missing else abs(amount - self.wanted) / scale

    def eased(self, amount: float) -> Goal:
        """The goal to have as much as that, up to what a search does not tell from it.

        Parameters
        ----------
        amount : float, instead of what is wanted

        Returns
        -------
        Goal
        """
        room = SEARCH_TIE * self.told_by
        return replace(self, wanted=amount + (room if self.most else -room))


__all__ = ["Goal", "GoalKind", "Limit", "Promise"]
