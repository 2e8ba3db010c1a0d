"""What a teacher is: told where the lesson stands, it chooses what to teach next.

A teacher knows the task, what the learner sees by now, and how the learner behaves; not how the
learner learns, unless the teacher is given a learner to simulate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ..arrays import Floats, Ints
from ..demonstrations.demonstration import Demonstration
from ..guarantees.bounds import WorstCaseBounds
from ..mdp.policy import Policy
from ..selection.greedy import money_left
from ..views.worldview import Worldview
from .matching import Matching
from .task import Task


@dataclass(frozen=True, eq=False)
class Situation:
    """Where a lesson stands when the teacher has to choose.

    Attributes
    ----------
    task : Task
    view : Worldview, what the learner sees by now
    demonstration : Demonstration that the learner is shown by now
    policy : Policy of the learner by now
    taught : tuple of int, indices into the task's teachable features, in the order of teaching
    candidates : int array, indices of those that may be chosen: neither taught nor forbidden and
        within the budget; while some are required, those alone. Never empty
    features_left : int, how many features may still be taught
    cost_left : float, what they may cost in all, up to rounding, see `money_left`; ∞ if it does not
        matter
    matching : Matching, how closely learners are taken to match
    begun : int, how many of `taught` had been taught before this teacher took over, in a lesson
        that goes on from another; all that follow are the teacher's own choices
    notes : dict, the teacher's own, kept from one round of a lesson to the next, to save work:
        without it the teacher must choose the same
    worst_case : WorstCaseBounds of learners who see this, are shown this and match so closely; None
        if nobody has computed it

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp = ti.worlds.chain(3)
    >>> view, shown = ti.Worldview.select(mdp, []), ti.Policy.uniform(mdp)
    >>> task = ti.Task(mdp, [0, 0, 1], view, np.eye(3))
    >>> now = ti.teachers.Situation(
    ...     task, view, task.demonstration, shown, (), np.arange(3), 3, np.inf
    ... )
    >>> ti.teachers.TRGreedy().choose(now, np.random.default_rng(0)).feature
    2
    """

    task: Task
    view: Worldview
    demonstration: Demonstration
    policy: Policy
    taught: tuple[int, ...]
    candidates: Ints
    features_left: int
    cost_left: float
    matching: Matching = field(default_factory=Matching)
    begun: int = 0
    notes: dict[str, Any] = field(default_factory=dict)
    worst_case: WorstCaseBounds | None = None

    @property
    def by_cost(self) -> bool:
        """Whether gains count per cost: costs differ, and there is so much to spend."""
        costs = self.task.costs
        return math.isfinite(self.cost_left) and bool((costs != costs[0]).any())

    @property
    def money_left(self) -> float:
        """`cost_left` with room for rounding: what is within it can be taught."""
        spent = float(self.task.costs[list(self.taught)].sum())
        return money_left(self.cost_left + spent, spent)

    @property
    def must_teach(self) -> bool:
        """Whether the candidates are required ones, one of which is taught even if it is no use."""
        return bool(np.isin(self.candidates, self.task.required).any())

    @property
    def mismatch(self) -> float:
        """ε as things stand."""
        return self.matching.within(self.view, self.demonstration)


@dataclass(frozen=True, eq=False)
class Choice:
    """What to teach.

    Attributes
    ----------
    feature : int, index into the task's teachable features; None to stop, as nothing would help
    scores : array [n], how good each teachable feature would be, by the teacher's own measure and
        larger is better; NaN for those that were not considered
    demonstration : Demonstration to show from then on, if not the same as before
    gap : float, for a teacher who plans ahead, by how much the teaching risk at the end of the plan
        may exceed the least that there is within the budget; NaN if the teacher does not say
    second : int, what the teacher would choose were that feature not among the candidates; None if
        it has to be asked again

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> ti.teachers.Choice(1, np.array([0.2, 0.5])).feature
    1
    """

    feature: int | None
    scores: Floats
    demonstration: Demonstration | None = None
    gap: float = math.nan
    second: int | None = None

    def __repr__(self) -> str:
        return f"Choice({'nothing' if self.feature is None else f'feature {self.feature}'})"


class Teacher(Protocol):
    """Anything that can choose; `testing.check_teacher` tells whether it does it properly.

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> class Last:
    ...     def choose(self, situation, rng):
    ...         last = int(situation.candidates[-1])
    ...         scores = np.full(len(situation.task.teachable), np.nan)
    ...         scores[last] = 1.0
    ...         return ti.teachers.Choice(last, scores)
    >>> mdp, rng = ti.worlds.chain(3), np.random.default_rng(0)
    >>> task = ti.Task(mdp, [0, 0, 1], ti.Worldview.select(mdp, []), np.eye(3))
    >>> ti.teach(task, Last(), ti.learners.MinNormPoint(), rng=rng).taught
    (2,)
    """

    def choose(self, situation: Situation, rng: np.random.Generator) -> Choice:
        """What to teach next.

        Parameters
        ----------
        situation : Situation
        rng : numpy.random.Generator, for whoever leaves it to chance

        Returns
        -------
        Choice
        """
        ...
