"""What sets of features guarantee: bounds on all sets at once, whatever they are found by.

Sets are numbers: bit j says whether feature j is in it. Rewards are counted from what the
demonstration earns.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from ..arrays import Floats, Ints
from ..errors import require
from ..guarantees.bounds import WorstCaseBounds, checked_case
from ..mdp import clock
from ..mdp.documents import digest
from ..teaching.matching import Matching
from ..teaching.task import Task
from ..views.worldview import Worldview

# Features of which all sets are held: a million of them.
MOST = 20


class SetBounds(ABC):
    """Bounds on what each set of features guarantees.

    Attributes
    ----------
    lower, upper : arrays [2ⁿ], of rewards, counted from the demonstration's
    asked : float, how close bounds are brought
    tried : set of int, those whose bounds were tightened
    done : bool array [2ⁿ], whose bounds are as close as asked, or as rounding allows
    solves : int, how many MDPs were solved
    """

    def __init__(
        self, task: Task, matching: Matching, free: Sequence[int], tolerance: float
    ) -> None:
        require(task.model is task.mdp, "sets of features need a world that is known")
        require(len(free) <= MOST, f"sets of at most {MOST} features, got {len(free)}")
        self.matching, self.tolerance = matching, tolerance
        self.task, self.shown, self.free = task, task.demonstration, tuple(free)
        self.view = task.worldview.extend(task.teachable[list(task.required)])
        checked_case(task.mdp, self.view, task.weights, self.shown.expectations, 0.0)
        self.features = np.asarray(task.teachable[list(free)])
        self.earned = float(task.weights @ self.shown.expectations)
        self.numbers: Ints = np.arange(1 << len(free))
        least, most = task.worst.lower - self.earned, task.best.upper - self.earned
        self.lower = np.full(len(self.numbers), least)
        self.upper = np.full(len(self.numbers), most)
        self.asked = tolerance * (most - least)
        self.tried: set[int] = set()
        self.done = np.zeros(len(self.numbers), dtype=bool)
        self.solves = 0

    def tighten(
        self, chosen: int, bar: float, deadline: float = math.inf, room: float = 0.0
    ) -> None:
        """Until the bounds on a set are close, its upper bound is below the bar, or time is up.

        Parameters
        ----------
        chosen : int, the set
        bar : float, a reward: sets that guarantee less do not matter
        deadline : float, by `clock.seconds`
        room : float, how far apart bounds may stay, if that is more than asked
        """
        self.tried.add(chosen)
        self._search(chosen, bar, deadline, room)
        apart = self.upper[chosen] - self.lower[chosen]
        stuck = self.upper[chosen] >= bar and clock.seconds() < deadline and apart > room
        self.done[chosen] = apart <= self.asked or stuck

    @property
    def hopes(self) -> Floats:
        """array [2ⁿ], the rewards that sets may still turn out to guarantee."""
        return np.where(self.done, self.lower, self.upper)

    @abstractmethod
    def _search(self, chosen: int, bar: float, deadline: float, room: float) -> None:
        """Tighten the bounds on a set, and with it on others."""

    def learn(self, chosen: int, view: Worldview, found: WorstCaseBounds) -> None:
        """Know what a search elsewhere found of a set.

        Parameters
        ----------
        chosen : int, the set
        view : Worldview, what is seen then, its rows in any order
        found : WorstCaseBounds, of that view
        """
        self.tried.add(chosen)
        self._learn(chosen, view, found)

    @abstractmethod
    def _learn(self, chosen: int, view: Worldview, found: WorstCaseBounds) -> None:
        """Know what a search elsewhere found of a set, and what that says of others."""

    @abstractmethod
    def proved(self, chosen: int, deadline: float = math.inf) -> float:
        """What is proved of a set, rounding counted: the reward itself.

        Parameters
        ----------
        chosen : int, the set
        deadline : float, by `clock.seconds`: how long there may be more digits to find
        """

    @property
    def fingerprint(self) -> str:
        """Of all that the bounds are about: those of another one are bounds on something else."""
        task, shown, along = self.task, self.shown, self.shown.along
        policy, nearest = shown.policy, self.matching.nearest
        further: list[object] = [task.weights, self.view.matrix, self.features, shown.expectations]
        further += [[] if policy is None else policy.probabilities]
        further += [[] if nearest is None else nearest]
        further += [] if along is None else [along.rows, along.cut, along.chance]
        within = math.nan if self.matching.mismatch is None else self.matching.mismatch
        numbers = [shown.bias, shown.radius, shown.confidence, within, self.tolerance]
        return digest(task.mdp, [*further, numbers])

    def record(self) -> dict[str, Floats]:
        """What is known by now, as arrays by name, for `resume`."""
        tried = np.array(sorted(self.tried), dtype=float)
        return {"lower": self.lower, "upper": self.upper, "done": self.done * 1.0, "tried": tried}

    def resume(self, record: dict[str, Floats]) -> None:
        """Know what bounds with the same fingerprint knew when they made this record."""
        np.maximum(self.lower, record["lower"], out=self.lower)
        np.minimum(self.upper, record["upper"], out=self.upper)
        self.done |= record["done"] > 0.0
        self.tried |= set(record["tried"].astype(int).tolist())

    def members(self, chosen: int) -> tuple[int, ...]:
        """The features of a set, as the task counts them."""
        return tuple(each for j, each in enumerate(self.free) if chosen >> j & 1)

    def view_of(self, chosen: int) -> Worldview:
        """What the learner sees who was taught a set."""
        return self.view.extend(self.task.teachable[list(self.members(chosen))])

    def _with(self, chosen: int) -> Ints:
        """The sets with all features of one."""
        return np.flatnonzero((self.numbers & chosen) == chosen)


__all__ = ["MOST", "SetBounds"]
