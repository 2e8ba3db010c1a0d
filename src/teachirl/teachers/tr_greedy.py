"""TRGreedy, the paper's teacher: the feature after which the teaching risk is lowest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..selection.greedy import greedy_plan
from ..teaching.teacher import Choice, Situation
from ..views.scorer import RiskScorer


@dataclass(frozen=True)
class TRGreedy:
    """Teaches what lowers the teaching risk most, and stops when nothing does.

    Where features differ in what they cost and there is so much to spend, it plans to the end of
    the money, by what is gained of 1 − ρ² per cost, and teaches the first of the plan, or the best
    single feature if that ends with the lower risk. It plans anew each time.

    The scores are how much the risk falls, or the gain per cost if the choice is by that.

    Examples
    --------
    >>> import teachirl as ti
    >>> ti.teachers.TRGreedy()
    TRGreedy()
    """

    def choose(self, situation: Situation, rng: np.random.Generator) -> Choice:
        """What to teach next.

        Parameters
        ----------
        situation : Situation
        rng : numpy.random.Generator, not used

        Returns
        -------
        Choice
        """
        task, candidates = situation.task, situation.candidates
        dear = situation.by_cost
        plan = greedy_plan(
            situation.view,
            task.weights,
            task.teachable,
            size=situation.features_left if dear else 1,
            max_cost=situation.money_left if dear else None,
            costs=task.costs,
            among=candidates,
            scorer=None if dear else _scorer(situation),
        )
        if plan.chosen:
            return Choice(plan.chosen[0], plan.scores)
        return Choice(int(candidates[0]) if situation.must_teach else None, plan.scores)


def _scorer(situation: Situation) -> RiskScorer:
    """The last round's, brought up to date by one pass over the candidates; or a new one."""
    task, taught = situation.task, situation.taught
    known: tuple[int, ...]
    scorer: RiskScorer
    known, scorer = situation.notes.get("scored", ((), None))
    if scorer is None or taught[: len(known)] != known:
        known, scorer = taught, RiskScorer(situation.view, task.weights, task.teachable)
    for feature in taught[len(known) :]:
        scorer.teach(feature)
    situation.notes["scored"] = taught, scorer
    return scorer
