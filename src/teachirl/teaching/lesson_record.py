"""What is kept of a lesson: its rounds, and why it ended."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..arrays import Floats
from ..errors import Status
from ..figures.digits import share_at_least


class LessonStatus(Status):
    """Why a lesson ended; the text says what to do about it.

    Examples
    --------
    >>> import teachirl as ti
    >>> print(ti.LessonStatus.OUT_OF_MONEY)
    no feature that is left is within max_cost
    """

    LEARNED = "the learner earns what the expert does, up to the tolerance"
    INDISTINGUISHABLE = (
        "the learner earns what the expert does, as far as the demonstrations tell; record more, "
        "or give until"
    )
    GUARANTEED = "what was asked for is guaranteed"
    OUT_OF_BUDGET = "as many features as allowed were taught; raise budget to go on"
    OUT_OF_MONEY = "no feature that is left is within max_cost"
    NOTHING_LEFT = "all features that may be taught were taught"
    CUT_SHORT = "the time was up, or it was interrupted; what is proved by then holds"
    NOTHING_HELPS = "no feature that is left would help, says the teacher"


@dataclass(frozen=True, eq=False)
class Round:
    """One round of a lesson.

    Attributes
    ----------
    taught : int, index into the task's teachable features; None in round 0, the untaught learner
    name : str, the feature's name; empty in round 0
    scores : array [n], the teacher's of all candidates, larger is better and NaN for the rest; None
        in round 0
    shown : bool, whether what is demonstrated was changed in this round
    cost : float, of all features taught so far
    risk, relative_risk : floats, of the learner's worldview after this round
    mismatch : float, ‖A(μ_L − μ_T)‖, between the learner and the demonstration
    performance : float, the learner's relative performance
    guaranteed : float, relative performance that every learner with this worldview has who matches
        the demonstration, up to the `mismatch` that `teach` was given: exactly, unless told
        otherwise. One who stops further from it, as `Projection` does, may do a little worse, and
        is covered by `certify` with that mismatch. NaN if it was not asked for. Of a learner whose
        worldview is unknown, with what is proved of it
    gap : float, by how much the teaching risk at the end of the teacher's plan may exceed the least
        within the budget; NaN if the teacher does not say. Only `OptimalSubset` does
    solves : int, MDPs that the learner solved
    choosing_seconds, learning_seconds, certifying_seconds : floats, what the teacher, the learner
        and the guarantee took
    guaranteed_at_most : float, what would be guaranteed if the learner had all that is still open;
        NaN where the worldview is known
    found : bool, whether a probe has proved that the learner has the feature: it costs nothing

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp = ti.worlds.chain(3)
    >>> task = ti.Task(mdp, [0, 0, 1], ti.Worldview.select(mdp, []), np.eye(3))
    >>> rng, learner = np.random.default_rng(0), ti.learners.MinNormPoint()
    >>> lesson = ti.teach(task, ti.teachers.TRGreedy(), learner, rng=rng)
    >>> [(each.name, each.cost, each.risk) for each in lesson.rounds]
    [('', 0.0, 1.0), ('cell 3', 1.0, 0.0)]
    """

    taught: int | None
    name: str
    scores: Floats | None
    shown: bool
    cost: float
    risk: float
    relative_risk: float
    mismatch: float
    performance: float
    guaranteed: float
    gap: float
    solves: int
    choosing_seconds: float
    learning_seconds: float
    certifying_seconds: float
    guaranteed_at_most: float = math.nan
    found: bool = False

    def __repr__(self) -> str:
        return (
            f"Round({self.name or 'nothing yet'!r}, cost {self.cost:.6g}, risk {self.risk:.3f}, "
            f"performance {share_at_least(self.performance)}, "
            f"guaranteed {share_at_least(self.guaranteed)})"
        )


__all__ = ["LessonStatus", "Round"]
