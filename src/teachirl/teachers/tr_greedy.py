"""TRGreedy, the paper's teacher: the feature after which the teaching risk is lowest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

import numpy as np

from ..arrays import AnyRows, Floats
from ..mdp.rewards.rewards import Rewards
from ..selection.greedy import greedy_plan
from ..teaching.teacher import Choice, Situation
from ..views.linear_algebra import without_span
from ..views.scorer import RiskScorer
from ..views.several_scorer import SeveralScorer
from ..views.teaching_risk import distinct_terms
from ..views.worldview import Worldview


@dataclass(frozen=True)
class TRGreedy:
    """Teaches what lowers the teaching risk most, and stops when nothing does.

    Where features differ in what they cost and there is so much to spend, it plans to the end of
    the money, by what is gained of 1 − ρ² per cost, and teaches the first of the plan, or the best
    single feature if that ends with the lower risk. It plans anew each time.

    Of a view of a table (`Worldview.from_table`) it is the relative risk that it lowers.

    Parameters
    ----------
    every : bool, where several rewards of the task are listed or sampled, whether to lower the
        mean of the squared risks of all of them, instead of the risk of their mean

    The scores are how much the risk falls, or the gain per cost if the choice is by that.

    Examples
    --------
    >>> import teachirl as ti
    >>> ti.teachers.TRGreedy()
    TRGreedy()
    """

    every: bool = False

    def __repr__(self) -> str:
        return "TRGreedy(every=True)" if self.every else "TRGreedy()"

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
        rewards = task.rewards if self.every else None
        if rewards is not None and not rewards.convex:
            scorer: RiskScorer | SeveralScorer = SeveralScorer(*_terms(situation, rewards))
        else:
            scorer = RiskScorer(*_terms(situation), screen=False) if dear else _scorer(situation)
        plan = greedy_plan(
            situation.view,
            task.weights,
            task.teachable,
            size=situation.features_left if dear else 1,
            max_cost=situation.money_left if dear else None,
            costs=task.costs,
            among=candidates,
            scorer=scorer,
        )
        if plan.chosen:
            return Choice(plan.chosen[0], plan.scores)
        return Choice(int(candidates[0]) if situation.must_teach else None, plan.scores)


@overload
def _terms(situation: Situation) -> tuple[Worldview, Floats, AnyRows]: ...
@overload
def _terms(situation: Situation, rewards: Rewards) -> tuple[Worldview, Rewards, AnyRows]: ...
def _terms(
    situation: Situation, rewards: Rewards | None = None
) -> tuple[Worldview, Floats | Rewards, AnyRows]:
    """The view, the weights or rewards, and what can be taught; where the view is of a table, which
    no reward is made of, only what of them policies can change."""
    task, view, never = situation.task, situation.view, situation.task.indistinct
    if view.mdp is None:
        return view, task.weights if rewards is None else rewards, task.teachable
    seen, weights = distinct_terms(task.mdp, view, task.weights, never)
    rows = without_span(never.basis, task.teachable)
    if rewards is not None:
        left = Rewards.listed(never.project(rewards.points), rewards.chances)
        return (seen, left, rows) if left.points.any() else (view, rewards, task.teachable)
    if not weights.any():  # all policies are equally good
        return view, task.weights, task.teachable
    return seen, weights, rows


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
