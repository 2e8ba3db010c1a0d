"""What sets of features guarantee: bounds on all sets at once, from what is found for a few.

With n features there are 2ⁿ sets S, and each has a worst case

    g_S = min ⟨w, μ⟩  over  μ ∈ M with ‖A_S(μ − μ_T)‖ ≤ ε.

Where the demonstrated policy matches whatever is seen, three things hold without a solve of their
own:

- θ that proves a bound for S proves it for every set with the same features and others.
- A point of M that matches in S bounds g_S from above, and the worst case of every other set in
  which it matches: those without the features in which it is off, at ε = 0. At ε > 0 a mixture with
  the demonstration matches as well, which earns the less of the difference the further it is off.
- At ε = 0 all sets share the plans of one pool (`pooled_sets`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..arrays import Floats
from ..guarantees.bounds import WorstCaseBounds, WorstCaseStatus
from ..mdp import clock
from ..mdp.occupancy import expectations_of
from ..teaching.matching import Matching
from ..teaching.task import Task
from ..views.worldview import Worldview
from .pooled_sets import PooledSets
from .sets import MOST, SetBounds

# How close bounds are brought, as a fraction of max R − min R, unless they have to be closer.
CLOSE = 2.5e-7


def set_bounds(
    task: Task, matching: Matching, free: Sequence[int], tolerance: float = CLOSE
) -> SetBounds:
    """Bounds on the sets of these features, beside those that the task requires.

    Parameters
    ----------
    task : Task
    matching : Matching, how closely learners match
    free : sequence of int, at most `MOST` features of the task
    tolerance : float, how close bounds are brought, as a fraction of max R − min R

    Returns
    -------
    SetBounds

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> view = ti.Worldview.select(mdp, ["cell 3"])
    >>> task = ti.Task(mdp, [-2, -1, 0, 1, 2], view, np.eye(5))
    >>> bounds = set_bounds(task, Matching(), [0, 1])
    >>> for chosen in range(4):
    ...     bounds.tighten(chosen, -np.inf)
    >>> [(bounds.members(chosen), round(bounds.proved(chosen), 2)) for chosen in range(4)]
    [((), -12.41), ((0,), 12.41), ((1,), 12.41), ((0, 1), 12.41)]
    """
    shown = task.demonstration
    sure = shown.policy is not None and shown.error == 0.0
    if sure and not matching.within(task.worldview, shown) and not matching.varies(shown):
        return PooledSets(task, matching, free, tolerance)
    return _Separate(task, matching, free, tolerance, sure and not matching.varies(shown))


class _Separate(SetBounds):
    """Any ε: one set after the other; if what is shown surely matches, witnesses bound others."""

    def __init__(
        self, task: Task, matching: Matching, free: Sequence[int], tolerance: float, sure: bool
    ) -> None:
        super().__init__(task, matching, free, tolerance)
        self.sure = sure
        self._proved: dict[int, float] = {}
        if sure:
            self.upper[:] = 0.0

    def _search(self, chosen: int, bar: float, deadline: float, room: float) -> None:
        left = max(deadline - clock.seconds(), 1e-3)
        view = self.view_of(chosen)
        found = self.task.worst_case(
            view, self.shown, self.matching, tolerance=self.tolerance, max_seconds=left
        )
        self.solves += found.solves
        self._learn(chosen, view, found)

    def _learn(self, chosen: int, view: Worldview, found: WorstCaseBounds) -> None:
        if found.status is WorstCaseStatus.INFEASIBLE:  # nothing is known of who comes near
            self._proved[chosen] = self.task.worst.lower
            self.upper[chosen] = self.lower[chosen]
            return
        self._proved[chosen] = max(found.lower, self._proved.get(chosen, -math.inf))
        self._note(chosen, found, self.matching.within(view, self.shown))

    def record(self) -> dict[str, Floats]:
        known = np.array(sorted(self._proved.items())).reshape(-1, 2)
        return super().record() | {"sets": known[:, 0], "proved": known[:, 1]}

    def resume(self, record: dict[str, Floats]) -> None:
        super().resume(record)
        self._proved |= dict(
            zip(record["sets"].astype(int).tolist(), record["proved"].tolist(), strict=True)
        )

    def proved(self, chosen: int, deadline: float = math.inf) -> float:
        known = self._proved.items()
        return max(
            (reward for each, reward in known if each == chosen or self._implies(each, chosen)),
            default=self.task.worst.lower,
        )

    def _implies(self, each: int, chosen: int) -> bool:
        return self.sure and each & chosen == each

    def _note(self, chosen: int, found: WorstCaseBounds, allowed: float) -> None:
        lower, upper = found.lower - self.earned, found.upper - self.earned
        same = self._with(chosen) if self.sure else np.array([chosen])
        self.lower[same] = np.maximum(self.lower[same], lower)
        self.upper[chosen] = min(self.upper[chosen], max(upper, lower))
        if not self.sure or found.occupancy is None:
            return
        off = expectations_of(self.task.mdp, found.occupancy) - self.shown.expectations
        squares = np.full(len(self.numbers), float(np.sum((self.view.matrix @ off) ** 2)))
        for j, each in enumerate((self.features @ off) ** 2):
            squares[(self.numbers >> j & 1) == 1] += each
        distance = np.sqrt(squares)
        # Mixed with the demonstration it matches: with this share it is ε away.
        share = np.ones(len(distance))
        np.divide(allowed, distance, out=share, where=distance > allowed)
        np.minimum(self.upper, np.minimum(upper * share, 0.0), out=self.upper)


__all__ = ["CLOSE", "MOST", "SetBounds", "set_bounds"]
