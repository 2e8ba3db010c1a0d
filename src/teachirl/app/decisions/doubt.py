"""What is left of a guarantee if the weights are not those that were inferred."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...teaching.task import Task
from ...views.teaching_risk import teaching_risk
from ..problem import Problem
from .comparison import ASIDE

# Plausible weights that are tried: each takes a worst case and two plans.
TRIED = 8


@dataclass(frozen=True)
class WeightDoubt:
    """What is guaranteed, and what is hidden, under plausible weights.

    Attributes
    ----------
    guaranteed : the least and the most relative performance that is guaranteed under any of them
    risk : the least and the most teaching risk, likewise
    tried : how many weights were tried, the estimate among them
    """

    guaranteed: tuple[float, float]
    risk: tuple[float, float]
    tried: int


def weight_doubt(problem: Problem) -> WeightDoubt | None:
    """What is guaranteed under weights that are as plausible as those inferred.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    WeightDoubt; None if the weights are given
    """
    if problem.inferred is None:
        return None
    found, view, shown = problem.inferred.plausible, problem.worldview, problem.task.demonstration
    places = np.linspace(0, len(found.points) - 1, TRIED - 1).round().astype(int)
    weights = [found.weights, *found.points[np.unique(places)]]
    guaranteed, nothing = [], np.empty((0, problem.mdp.n_features))
    for w in weights:
        task = Task(problem.model, w, view, nothing, demonstration=shown)
        guaranteed.append(task.guaranteed(view, shown, problem.matching, max_seconds=ASIDE))
    risks = [teaching_risk(view, w) for w in weights]
    return WeightDoubt(
        (min(guaranteed), max(guaranteed)), (min(risks), max(risks)), len(guaranteed)
    )


__all__ = ["WeightDoubt", "weight_doubt"]
