"""Of very many features, some that help, found at once: those that the worst case rests on.

A greedy plan compares all features before it takes one, which of thousands takes long. The witness
of a worst case, who does μ, falls ⟨w, μ_T − μ⟩ short of what is shown. What a feature adds to the
view at length 1, u, has ⟨u, w⟩⟨u, μ_T − μ⟩ of that to itself: who matches along u as well cannot
fall short by it. So the feature with the most of it for its cost is taught, and its worst case has
the next witness. That is a worst case a step; what it proves holds, and another set may be better.

And who sees all that the reward is made of cannot go wrong at all, whatever that costs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats
from ...guarantees.bounds import WorstCaseBounds, WorstCaseStatus
from ...mdp.occupancy import expectations_of
from ...precision import DEPENDENT, ROUNDED, first_largest, ranks
from ...teachers.race_search import Directions
from ...views.teaching_risk import teaching_risk
from ...views.worldview import Worldview
from ..problem import Problem
from .patience import Patience
from .worth import worth_of

# The share of the time that it has, and seconds, at most.
SHARE, SECONDS = 0.1, 2.0
# A reward that is made of more features is not taught whole: nobody buys so many.
MOST_OF_A_REWARD = 100


@dataclass(frozen=True, eq=False)
class Tried:
    """A set of features, and what is guaranteed of who was taught it.

    Attributes
    ----------
    taught : tuple of int, in the order in which they were taken; what is required comes first
    view : Worldview
    worst_case : WorstCaseBounds
    """

    taught: tuple[int, ...]
    view: Worldview
    worst_case: WorstCaseBounds


def tried_at_once(problem: Problem, patience: Patience) -> list[Tried]:
    """What is required, and with it one feature more each time, as far as the file allows.

    Parameters
    ----------
    problem : Problem
    patience : Patience with all of the work, of which this has a small share

    Returns
    -------
    list of Tried; empty if there was no time for the first, or nobody matches
    """
    task, part = problem.task, patience.share(SHARE, SECONDS)
    found = list[Tried]()
    with part.strictly():
        taught, view = task.required, task.worldview
        for feature in taught:
            view = view.extend(task.teachable[feature])
        while True:
            shown, left = task.demonstration, part.left()
            worst = task.worst_case(view, shown, problem.matching, max_seconds=left)
            if worst.status is WorstCaseStatus.INFEASIBLE:
                break
            found.append(Tried(taught, view, worst))
            enough = task.guaranteed_by(worst) >= 1.0 - worth_of(problem)
            blamed = None if enough else _to_blame(problem, found[-1])
            if blamed is None or part.over():
                break
            taught, view = (*taught, blamed), view.extend(task.teachable[blamed])
    return found


def _to_blame(problem: Problem, now: Tried) -> int | None:
    """The feature that most of what the witness lacks is along, for its cost; None if there is no
    witness, or no feature that may be taught is to blame."""
    task, x = problem.task, now.worst_case.occupancy
    if x is None or (problem.budget is not None and len(now.taught) >= problem.budget):
        return None
    free = _may_be_taught(problem, now)
    short: Floats = task.demonstration.expectations - expectations_of(task.mdp, x)
    added = Directions(now.view, task.teachable).matrix
    blame = np.where(free, (added @ task.weights) * (added @ short), 0.0) / task.costs
    most = float(blame.max(initial=0.0))
    return first_largest(blame, ROUNDED * most) if most > 0.0 else None


def _may_be_taught(problem: Problem, now: Tried) -> NDArray[np.bool_]:
    """bool array [n], which features may come next."""
    task = problem.task
    free = np.ones(len(task.names), dtype=bool)
    free[[*now.taught, *task.forbidden]] = False
    if problem.max_cost is not None:
        spent = float(task.costs[list(now.taught)].sum())
        free &= task.costs <= problem.max_cost * (1.0 + ROUNDED) - spent
    return free


def showing_all(problem: Problem, now: Tried, patience: Patience) -> Tried | None:
    """The features that the reward is made of, those first that have most of it for their price.

    Parameters
    ----------
    problem : Problem
    now : Tried, what is required
    patience : Patience with all of the work

    Returns
    -------
    Tried; None if they do not show all of the reward, may not all be taught, or time is up
    """
    task = problem.task
    parts = np.abs(Directions(now.view, task.teachable).matrix @ task.weights) / task.costs
    parts[~_may_be_taught(problem, now)] = 0.0
    order = np.argsort(ranks(parts, ROUNDED * float(parts.max(initial=0.0))), kind="stable")
    chosen = [int(each) for each in order if parts[each]]
    taught = (*now.taught, *chosen)
    cost, most = float(task.costs[list(taught)].sum()), problem.max_cost
    allowed = problem.budget is None or len(taught) <= problem.budget
    allowed &= most is None or cost <= most * (1.0 + ROUNDED)
    if not allowed or len(chosen) > MOST_OF_A_REWARD:
        return None
    view = now.view
    for feature in chosen:
        view = view.extend(task.teachable[feature])
    if teaching_risk(view, task.weights) > DEPENDENT:
        return None
    # That all who match earn the same is proved by the first plan, whatever time is left after it.
    part, shown = patience.share(SHARE, SECONDS), task.demonstration
    with part.strictly():
        worst = task.worst_case(view, shown, problem.matching, max_seconds=0.5 * part.left())
        return Tried(taught, view, worst)
    return None


__all__ = ["Tried", "showing_all", "tried_at_once"]
