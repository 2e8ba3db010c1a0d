"""What came of a lesson: its rounds, as a table and as a file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np

from ..demonstrations.demonstration import Demonstration
from ..errors import FileFormatError, require
from ..figures.digits import share_at_least
from ..figures.picture import Picture
from ..files import replacing
from ..mdp.policy import Policy
from ..selection.distance_from_optimal import GreedyGap, greedy_gap
from ..selection.greedy import checked_limits, money_left
from ..views.worldview import Worldview
from .lesson_files import lesson_as_json, read_lesson
from .lesson_record import LessonStatus, Round
from .lesson_views import lesson_card, lesson_frame, lesson_picture, lesson_text
from .task import Task


@dataclass(frozen=True, eq=False)
class Lesson(Sequence[Round]):
    """What was taught, in which order, and what came of it; a sequence of its rounds.

    Attributes
    ----------
    task : Task
    rounds : tuple of Round; the first is the untaught learner
    policy : Policy of the learner in the end
    demonstration : Demonstration that the learner is shown in the end
    status : LessonStatus

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp = ti.worlds.chain(3)
    >>> task = ti.Task(mdp, [0, 0, 1], ti.Worldview.select(mdp, []), np.eye(3))
    >>> rng, learner = np.random.default_rng(0), ti.learners.MinNormPoint()
    >>> lesson = ti.teach(task, ti.teachers.TRGreedy(), learner, rng=rng)
    >>> lesson.taught, lesson.status, lesson.worldview
    ((2,), LEARNED, Worldview(1 row on 3 features, rank 1))
    """

    task: Task
    rounds: tuple[Round, ...]
    policy: Policy
    demonstration: Demonstration
    status: LessonStatus

    @property
    def taught(self) -> tuple[int, ...]:
        """The features taught, in their order, as indices into the task's."""
        return tuple(each.taught for each in self.rounds if each.taught is not None)

    @property
    def worldview(self) -> Worldview:
        """Worldview, what the learner sees in the end."""
        view = self.task.worldview
        for feature in self.taught:
            view = view.extend(self.task.teachable[feature], self.task.names[feature])
        return view

    def gap_to_optimal(
        self, *, size: int | None = None, max_cost: float | None = None, max_nodes: int = 100
    ) -> GreedyGap:
        """How far from optimal what was taught may be, by the teaching risk.

        It is compared to the best set of as many features, or of `size` or `max_cost` in all. Sets
        have what the task requires and nothing that it forbids; gains count beyond what it
        requires, which is taught first.

        Parameters
        ----------
        size, max_cost : the budgets that the lesson had, what is required included
        size : int, how many features the lesson could teach, what is required included
        max_cost : float, what they could cost, likewise
        max_nodes : int, how much to search for a better bound

        Returns
        -------
        GreedyGap
        """
        task, taught = self.task, list(self.taught)
        places, money = checked_limits(size, max_cost)
        cost = float(task.costs[taught].sum())
        require(
            len(taught) <= places and cost <= money_left(money, 0.0),
            f"the lesson must be within the size and the max_cost: it has {len(taught)} features "
            f"that cost {cost:g}, got size={size}, max_cost={max_cost}",
        )
        must = [feature for feature in taught if feature in task.required]
        rest = [feature for feature in taught if feature not in task.required]
        pool = np.setdiff1d(np.arange(len(task.names)), [*task.required, *task.forbidden])
        if size is None and max_cost is None:
            size = len(taught)
        spent = float(task.costs[must].sum())
        return greedy_gap(
            task.worldview.extend(task.teachable[must]),
            task.weights,
            task.teachable[pool],
            np.searchsorted(pool, rest).tolist(),
            size=None if size is None else size - len(must),
            max_cost=None if max_cost is None else money_left(money, spent),
            costs=task.costs[pool],
            max_nodes=max_nodes,
        )

    @overload
    def __getitem__(self, index: int) -> Round: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Round]: ...
    def __getitem__(self, index: int | slice) -> Round | Sequence[Round]:
        return self.rounds[index]

    def __len__(self) -> int:
        return len(self.rounds)

    def __str__(self) -> str:
        return lesson_text(self)

    def __repr__(self) -> str:
        last, count = self.rounds[-1], len(self.taught)
        proved = (
            "" if math.isnan(last.guaranteed) else f", guaranteed {share_at_least(last.guaranteed)}"
        )
        return (
            f"Lesson({count} feature{'' if count == 1 else 's'} taught, performance "
            f"{share_at_least(last.performance)}{proved}, {self.status!r})"
        )

    def _repr_html_(self) -> str:
        return lesson_card(self)

    def plot(self) -> Picture:
        """How performance, what is guaranteed, and the teaching risk went; needs the extra `plot`.

        Returns
        -------
        Picture
        """
        return lesson_picture(self)

    def to_frame(self) -> Any:
        """The rounds as a data frame, a row each, without the scores; needs pandas or polars.

        Returns
        -------
        pandas.DataFrame, or polars.DataFrame where pandas is not installed
        """
        return lesson_frame(self)

    def to_json(self) -> str:
        """The lesson as JSON; `from_json` reads it.

        Returns
        -------
        str
        """
        return lesson_as_json(self)

    @staticmethod
    def from_json(text: str, task: Task) -> Lesson:
        """A lesson of this task, as `to_json` wrote it.

        Parameters
        ----------
        text : str
        task : Task that the lesson is of; another one is refused

        Returns
        -------
        Lesson
        """
        return read_lesson(text, task, "the lesson", Lesson)

    def save(self, path: str | Path) -> None:
        """Write the lesson as JSON, whole or not at all.

        Parameters
        ----------
        path : str or Path
        """
        with replacing(Path(path)) as file:
            file.write(self.to_json().encode())

    @staticmethod
    def load(path: str | Path, task: Task) -> Lesson:
        """Read a lesson of this task that was saved.

        Parameters
        ----------
        path : str or Path
        task : Task that the lesson is of; another one is refused

        Returns
        -------
        Lesson
        """
        try:
            text = Path(path).read_bytes().decode()
        except UnicodeDecodeError as error:
            raise FileFormatError(f"{path}: a lesson is UTF-8 text: {error}") from error
        return read_lesson(text, task, str(path), Lesson)


__all__ = ["Lesson"]
