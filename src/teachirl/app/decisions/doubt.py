"""What is left of a guarantee if the weights are not those that were inferred."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...arrays import Floats
from ...demonstrations.demonstration import Demonstration
from ...guarantees.certificate import certify
from ...guarantees.plausible.tails import share_below
from ...mdp.rewards.rewards import Rewards
from ...teaching.task import Task
from ...views.teaching_risk import teaching_risk
from ...views.worldview import Worldview
from ..problem import Problem
from .comparison import ASIDE
from .patience import Patience
from .plausible import GoalOver, goals_over

# Of a world that is not known, each takes a worst case and two plans: so many are tried.
TRIED = 8
# With this confidence draws speak for all that is plausible.
SURE = 0.95


@dataclass(frozen=True)
class WeightDoubt:
    """What is guaranteed, and what is hidden, under the weights inferred and others that were drawn
    from all that are plausible.

    Attributes
    ----------
    guaranteed : the least and the most relative performance that is guaranteed under any of them:
        no less is under the one, no more is under the other
    risk : the least and the most teaching risk, likewise
    drawn : how many others were drawn
    beyond : the share of all plausible weights, spread evenly, under which less may be guaranteed
    confidence : with which it is no larger, if draws are independent
    goals : tuple of GoalOver, whether the file's goals about the reward are met under those that
        were drawn; empty where the world is not known
    """

    guaranteed: tuple[float, float]
    risk: tuple[float, float]
    drawn: int
    beyond: float
    confidence: float
    goals: tuple[GoalOver, ...] = ()


def weight_doubt(
    problem: Problem,
    view: Worldview,
    shown: Demonstration,
    guaranteed: float,
    patience: Patience,
    *,
    unfinished: bool = False,
) -> WeightDoubt | None:
    """What is guaranteed under weights that are as plausible as those inferred.

    Parameters
    ----------
    problem : Problem
    view : Worldview, what the learner sees
    shown : Demonstration that the learner is shown
    guaranteed : what is, under the weights inferred
    patience : Patience
    unfinished : whether more may be, as there was no time to prove it: then there is none for
        others either

    Returns
    -------
    WeightDoubt; None if the weights are given, no plausible ones were found, or there was no time
        for it
    """
    if problem.inferred is None or unfinished:
        return None
    if not problem.inferred.plausible.experts:
        return None
    weights = problem.inferred.plausible.points
    if problem.world.model is not None:
        places = np.linspace(0, len(weights) - 1, TRIED).round().astype(int)
        weights = weights[np.unique(places)]
    found = patience.spared(lambda: _guaranteed(problem, view, shown, weights, patience))
    if found is None:
        return None
    between, goals = found
    risks = [teaching_risk(view, w) for w in (problem.weights, *weights)]
    return WeightDoubt(
        (min(guaranteed, float(between[:, 0].min())), max(guaranteed, float(between[:, 1].max()))),
        (min(risks), max(risks)),
        len(weights),
        share_below(len(weights), SURE),
        SURE,
        goals,
    )


def _guaranteed(
    problem: Problem, view: Worldview, shown: Demonstration, weights: Floats, patience: Patience
) -> tuple[Floats, tuple[GoalOver, ...]]:
    """Between which the guarantee lies under each of some weights, [n, 2]; and what was asked
    for."""
    if problem.world.model is None:
        rewards = Rewards.sampled(weights)
        found = certify(
            problem.mdp,
            view,
            rewards,
            shown,
            problem.matching.within(view, shown),
            max_seconds=ASIDE,
            indistinct=problem.task.indistinct,
        )
        briefly = patience.share(1.0, ASIDE)
        return found.each, goals_over(problem, rewards, view, shown, found, briefly)
    nothing = np.empty((0, problem.mdp.n_features))
    tasks = (Task(problem.model, w, view, nothing, demonstration=shown) for w in weights)
    least = [t.guaranteed(view, shown, problem.matching, max_seconds=ASIDE) for t in tasks]
    return np.array([least, least]).T, ()


__all__ = ["WeightDoubt", "weight_doubt"]
