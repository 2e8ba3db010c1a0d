"""What to demonstrate, and whether something else would guarantee more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...demonstrations.demonstration import Demonstration, as_demonstration
from ...what_to_show.search import Shown, best_demonstration
from ..problem import Problem
from .comparison import SAME_GUARANTEE

# Places from which a demonstration is sought only to say whether it is worth choosing one, and
# transitions up to which that takes seconds.
STARTS, SOUGHT = 4, 50_000


@dataclass(frozen=True, eq=False)
class WhatToShow:
    """What a plan demonstrates in the end, and what else could be demonstrated.

    Attributes
    ----------
    since : the step from which on the teacher shows something else; None if what the file says is
        shown from the start
    performance : the relative performance of what is shown in the end
    now : relative performance that is guaranteed before anything is taught
    optimal : the same if an optimal policy were shown; None unless another was chosen instead
    better : the same if the best policy that was found were shown; None unless that is more
    sought : whether another policy was sought
    best : Shown, the demonstration that guarantees most before anything is taught; None if it was
        not sought
    """

    since: int | None
    performance: float
    now: float
    optimal: float | None = None
    better: float | None = None
    sought: bool = True
    best: Shown | None = None


def what_to_show(
    problem: Problem, shown: Demonstration, now: float, since: int | None
) -> WhatToShow:
    """What is shown in the end, and the best that could be before anything is taught.

    Parameters
    ----------
    problem : Problem
    shown : Demonstration, what the plan shows in the end
    now : the relative performance that is guaranteed before anything is taught
    since : the step from which on the teacher shows that; None if it is what the file says

    Returns
    -------
    WhatToShow
    """
    task, chosen = problem.task, problem.chosen
    own = task.relative(float(task.weights @ shown.expectations))
    if since is not None or (chosen is not None and chosen.gain == 0.0):
        return WhatToShow(since, own, now, best=chosen)
    if chosen is not None:
        plain = problem.guaranteed(
            problem.worldview, as_demonstration(problem.mdp, task.best.policy)
        )
        return WhatToShow(None, own, now, optimal=plain, best=chosen)
    if problem.mdp.dynamics.transitions.nnz > SOUGHT:
        return WhatToShow(None, own, now, sought=False)
    found = best_demonstration(
        problem.mdp,
        problem.worldview,
        problem.weights,
        starts=STARTS,
        rng=np.random.default_rng(problem.seed),
        proof_solves=0,
        indistinct=task.indistinct,
    )
    then = problem.guaranteed(problem.worldview, found.demonstration)
    better = then if then > now + SAME_GUARANTEE else None
    return WhatToShow(None, own, now, better=better, best=found)


__all__ = ["WhatToShow", "what_to_show"]
