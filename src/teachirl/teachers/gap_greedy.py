"""GapGreedy: the feature after which most is guaranteed, whatever the learner's algorithm.

With the exact worst case g of a worldview (`race`), teach f with the largest g_f. It needs what
TRGreedy needs and the MDP, which the teacher knows anyway.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..checks import Ints, frozen
from ..greedy import WITHIN
from ..race import Raced, race
from ..worldview import Worldview
from .teacher import Choice, Situation
from .tr_greedy import TRGreedy


@dataclass(frozen=True)
class GapGreedy:
    """Teaches what lifts the guaranteed reward most; of ties the first.

    Where features differ in what they cost and there is so much to spend, it teaches what gains
    most per cost. As that may spend all on what is cheap: if the feature that gains most by itself
    would then be too dear, the plan by gain per cost is followed to the end of the money, and that
    feature taught instead if it guarantees more. It plans anew each time.

    It stops where nothing can help: no feature adds to her view, or what is guaranteed is all that
    the demonstration earns. If no policy matches the demonstration, nothing is guaranteed whatever
    is taught, and it chooses as TRGreedy does.

    The scores are bounds on the reward guaranteed after each feature, or on the gain per cost where
    the choice is by that: no feature reaches more than its score, ties aside, and the one chosen
    reaches it. Most are beaten long before their exact worst case is known.

    Parameters
    ----------
    tolerance : guarantees that differ by at most this fraction of max R − min R tie

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> from teachirl.teachers.gap_greedy import GapGreedy
    >>> GapGreedy()
    GapGreedy(tolerance=1e-06)
    """

    tolerance: float = 1e-6

    def choose(self, situation: Situation, rng: np.random.Generator) -> Choice:
        task, candidates = situation.task, situation.candidates
        dear = math.isfinite(situation.cost_left) and bool((task.costs != task.costs[0]).any())
        raced = self._race(situation, situation.view, candidates, dear)
        if not raced.matchable:
            return TRGreedy().choose(situation, rng)
        pick, values = raced.best, raced.upper
        if dear:
            if raced.single != raced.best and self._single_is_better(situation, raced):
                pick = raced.single
            else:
                values = (raced.upper - raced.present) / task.costs[candidates]
        scores = np.full(len(task.teachable), np.nan)
        scores[candidates] = np.minimum(values, values[pick])  # none is better: they tie at most
        required = bool(np.isin(candidates, task.required).any())
        if not required and (bool(raced.idle.all()) or self._complete(situation, raced)):
            return Choice(None, frozen(scores))
        return Choice(int(candidates[pick]), frozen(scores))

    def _race(self, situation: Situation, view: Worldview, candidates: Ints, dear: bool) -> Raced:
        task = situation.task
        return race(
            task.mdp,
            view,
            task.weights,
            situation.demonstration,
            task.teachable[candidates],
            situation.mismatch,
            costs=task.costs[candidates] if dear else None,
            tolerance=self.tolerance,
        )

    def _complete(self, situation: Situation, raced: Raced) -> bool:
        """Whether what is guaranteed is all that the demonstrated policy itself earns."""
        task, shown = situation.task, situation.demonstration
        if shown.policy is None or shown.error > 0.0:
            return False
        return float(task.weights @ shown.expectations) - raced.present <= raced.tie

    def _single_is_better(self, situation: Situation, raced: Raced) -> bool:
        """Whether the best single feature guarantees more than the plan by gain per cost does."""
        task, left = situation.task, situation.candidates
        money = situation.cost_left * (1.0 + WITHIN)
        wanted = float(raced.lower[raced.single]) - raced.tie
        if task.costs[left[[raced.best, raced.single]]].sum() <= money:
            return False  # there will be money for it later
        view, places = situation.view, situation.features_left
        while True:
            taught = left[raced.best]
            reached = float(raced.lower[raced.best])
            view = view.extend(task.teachable[taught])
            places, money = places - 1, money - float(task.costs[taught])
            left = left[(left != taught) & (task.costs[left] <= money)]
            if reached >= wanted or places <= 0 or len(left) == 0:
                return reached < wanted
            raced = self._race(situation, view, left, True)


__all__ = ["GapGreedy"]
