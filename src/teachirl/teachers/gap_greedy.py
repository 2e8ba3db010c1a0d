"""GapGreedy: the feature after which most is guaranteed, whatever the learner's algorithm.

With the exact worst case g of a worldview (`race`), teach f with the largest g_f. It needs what
TRGreedy needs and the MDP, which the teacher knows anyway.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..arrays import Floats, Ints, frozen
from ..demonstrations.demonstration import Demonstration
from ..guarantees.bounds import WorstCaseBounds, check_limits
from ..precision import NO_RISK, RISK_TIE
from ..teaching.teacher import Choice, Situation
from ..views.teaching_risk import risk_after, teaching_risk
from ..views.worldview import Worldview
from .race import Raced, race
from .tr_greedy import TRGreedy


@dataclass(frozen=True)
class GapGreedy:
    """Teaches what lifts the guaranteed reward most; of ties the first.

    Where no feature lifts it by itself, it teaches what lowers the teaching risk most; of ties the
    cheapest, then the first.

    Where features differ in what they cost and there is so much to spend, it teaches what gains
    most per cost. As that may spend all on what is cheap: if the feature that gains most by itself
    would then be too dear, the plan by gain per cost is followed to the end of the money, and that
    feature taught instead if it guarantees more. It plans anew each time.

    It stops where nothing can help: neither the guarantee nor the risk improves, or what is
    guaranteed is all that the demonstration earns. A sampled demonstration is matched the less
    closely the longer the rows, so that a feature may even take from what is guaranteed: there it
    stops once no feature lifts it. If no policy matches the demonstration, nothing is guaranteed
    whatever is taught, and it chooses as TRGreedy does.

    The scores are the reward guaranteed after each feature, or the gain per cost where the choice
    is by that: exact, up to the tolerance, for the one chosen and for the best of the others. The
    rest are beaten long before their worst case is known: no one of them reaches more than its
    score, ties aside, which is at most that of the second.

    Parameters
    ----------
    tolerance : float, guarantees that differ by at most this fraction of max R − min R tie

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> from teachirl.teachers.gap_greedy import GapGreedy
    >>> GapGreedy()
    GapGreedy(tolerance=1e-06)
    """

    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        check_limits(self.tolerance, 1.0)

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
        raced = self._race(situation, situation.view, candidates, dear)
        raised = raced.lower - raced.present > raced.tie
        if not raced.matchable and not raised[raced.single]:
            return TRGreedy().choose(situation, rng)
        pick, second, values, stop = raced.best, raced.second, raced.upper, False
        if not raised[raced.single]:
            even = np.flatnonzero(raced.lower >= raced.present - raced.tie)
            pick, falls = least_risk(situation, even) if len(even) else (raced.single, False)
            stop = not falls or _may_lose(situation, raced) or self._complete(situation, raced)
        elif dear:
            if not raised[raced.best] or self._single_is_better(situation, raced):
                pick, second = raced.single, raced.second_single
            else:
                values = (raced.upper - raced.present) / task.costs[candidates]
        scores = np.full(len(task.teachable), np.nan)
        # None is better than these two: the others tie with them at most.
        most = values[pick] if second is None else min(values[[pick, second]])
        scores[candidates] = np.minimum(values, most)
        scores[candidates[pick]] = values[pick]
        stop = stop and not situation.must_teach
        next_one = self._next(situation, raced, pick, second)
        return Choice(None if stop else int(candidates[pick]), frozen(scores), second=next_one)

    def _next(
        self, situation: Situation, raced: Raced, pick: int, second: int | None
    ) -> int | None:
        """What it would choose without its pick, where the race has settled that as well."""
        if pick != raced.best or second is None:
            return None
        if not raced.lower[second] - raced.present > raced.tie:
            return None
        if situation.by_cost:
            single = raced.second_single if raced.single == pick else raced.single
            assert single is not None
            both = situation.task.costs[situation.candidates[[second, single]]].sum()
            if single != second and both > situation.money_left:
                return None  # a plan would have to be followed
        return int(situation.candidates[second])

    def _race(self, situation: Situation, view: Worldview, candidates: Ints, dear: bool) -> Raced:
        costs = situation.task.costs[candidates] if dear else None
        shown = situation.demonstration
        return race_of(situation, view, shown, candidates, costs, self.tolerance)

    def _complete(self, situation: Situation, raced: Raced) -> bool:
        """Whether what is guaranteed is all that the demonstrated policy itself earns."""
        task, shown = situation.task, situation.demonstration
        if shown.policy is None or shown.error > 0.0:
            return False
        return float(task.weights @ shown.expectations) - raced.present <= raced.tie

    def _single_is_better(self, situation: Situation, raced: Raced) -> bool:
        """Whether the best single feature guarantees more than the plan by gain per cost does."""
        task, left = situation.task, situation.candidates
        if raced.single == raced.best:
            return False
        money = situation.money_left
        wanted = float(raced.lower[raced.single]) - raced.tie
        if task.costs[left[[raced.best, raced.single]]].sum() <= money:
            return False  # there will be money for it later
        view, places, reached = situation.view, situation.features_left, -math.inf
        while True:
            taught = left[raced.best]
            reached = max(reached, float(raced.lower[raced.best]))
            view = view.extend(task.teachable[taught])
            places, money = places - 1, money - float(task.costs[taught])
            left = left[(left != taught) & (task.costs[left] <= money)]
            if reached >= wanted or places <= 0 or len(left) == 0:
                return reached < wanted
            raced = self._race(situation, view, left, True)


def race_of(
    situation: Situation,
    view: Worldview,
    shown: Demonstration,
    candidates: Ints,
    costs: Floats | None,
    tolerance: float,
    present: WorstCaseBounds | None = None,
) -> Raced:
    """The race of the candidates from this view on, each with the ε that it would have; what is
    guaranteed as things stand may be known."""
    task = situation.task
    features, after = task.teachable[candidates], None
    here = view is situation.view and shown is situation.demonstration
    known = situation.worst_case if here and present is None else present
    if situation.matching.varies(shown):
        after = [situation.matching.within(view.extend(f), shown) for f in features]
    return race(
        task.model,
        view,
        task.weights,
        shown,
        features,
        situation.matching.within(view, shown),
        present=known,
        mismatches=after,
        costs=costs,
        tolerance=tolerance,
    )


def _may_lose(situation: Situation, raced: Raced) -> bool:
    """Whether a feature may take from what is guaranteed, as ε grows with it."""
    grows = situation.matching.varies(situation.demonstration)
    return grows and raced.present - situation.task.worst.lower > raced.tie


def least_risk(situation: Situation, even: Ints) -> tuple[int, bool]:
    """Which of these candidates lowers the risk most, and whether it does.

    Of ties the cheapest, and of those the first. Candidates are counted by their place.
    """
    task, candidates = situation.task, situation.candidates
    risks = risk_after(situation.view, task.weights, task.teachable[candidates[even]])
    before, least = teaching_risk(situation.view, task.weights), float(risks.min())
    even, falls = even[risks <= least + RISK_TIE * before], before - least > NO_RISK
    return int(even[np.argmin(task.costs[candidates[even]])]), falls


__all__ = ["GapGreedy", "least_risk", "race_of"]
