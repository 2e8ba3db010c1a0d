"""TRGreedy, the paper's teacher: the feature after which the teaching risk is lowest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import AnyRows, Floats
from ..selection.greedy import greedy_plan
from ..teaching.teacher import Choice, Situation
from ..views.linear_algebra import without_span
from ..views.scorer import RiskScorer
from ..views.teaching_risk import distinct_terms
from ..views.worldview import Worldview


@dataclass(frozen=True)
class TRGreedy:
    """Teaches what lowers the teaching risk most, and stops when nothing does.

    Where features differ in what they cost and there is so much to spend, it plans to the end of
    the money, by what is gained of 1 − ρ² per cost, and teaches the first of the plan, or the best
    single feature if that ends with the lower risk. It plans anew each time.

    Of a view of a table (`Worldview.from_table`) it is the relative risk that it lowers.

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
            *_terms(situation),
            size=situation.features_left if dear else 1,
            max_cost=situation.money_left if dear else None,
            costs=task.costs,
            among=candidates,
            scorer=None if dear else _scorer(situation),
        )
        if plan.chosen:
            return Choice(plan.chosen[0], plan.scores)
        return Choice(int(candidates[0]) if situation.must_teach else None, plan.scores)


def _terms(situation: Situation) -> tuple[Worldview, Floats, AnyRows]:
    """The view, the weights and what can be taught; where the view is of a table, which no reward
    is made of, only what of them policies can change."""
    task, view = situation.task, situation.view
    if view.mdp is None:
        return view, task.weights, task.teachable
    seen, weights = distinct_terms(task.mdp, view, task.weights, task.indistinct)
    if not weights.any():  # all policies are equally good
        return view, task.weights, task.teachable
    return seen, weights, without_span(task.indistinct.basis, task.teachable)


def _scorer(situation: Situation) -> RiskScorer:
    """The last round's, brought up to date by one pass over the candidates; or a new one."""
    taught = situation.taught
    known: tuple[int, ...]
    scorer: RiskScorer
    known, scorer = situation.notes.get("scored", ((), None))
    if scorer is None or taught[: len(known)] != known:
        known, scorer = taught, RiskScorer(*_terms(situation))
    for feature in taught[len(known) :]:
        scorer.teach(feature)
    situation.notes["scored"] = taught, scorer
    return scorer
