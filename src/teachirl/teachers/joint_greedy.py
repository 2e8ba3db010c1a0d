"""JointGreedy: a feature and a demonstration together, the pair that guarantees most.

What is guaranteed after a feature f depends on what is shown: max over demonstrations of the worst
case of A ⊕ f. That maximum is dear (`showing`), so it is sought for a few features only: those that
promise most under the best demonstration for what she sees now (`race`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..checks import Floats, frozen
from ..demonstrations import Demonstration
from ..polytope import worst_case
from ..race import Raced, race
from ..showing import best_demonstration
from ..worldview import Worldview
from .teacher import Choice, Situation


@dataclass(frozen=True)
class JointGreedy:
    """Teaches a feature and changes the demonstration, so that most is guaranteed; of ties the
    first feature, and the demonstration as it was.

    Costs aside, what it chooses guarantees at least what GapGreedy's choice would with the
    demonstration as it was.

    Where features differ in what they cost and there is so much to spend, it goes by gain per cost.
    It stops where no feature adds to her view, or the best that there is is guaranteed.

    The scores are the reward guaranteed after each feature, or the gain per cost. For those on the
    shortlist it is proved, each with its own demonstration; for the others it is a bound on what
    they could guarantee without a demonstration of their own.

    Parameters
    ----------
    shortlist : for how many features a demonstration is sought
    starts : from how many places it is sought, see `best_demonstration`
    seed : of the places; the same situation has the same answer
    tolerance : guarantees that differ by at most this fraction of max R − min R tie

    Examples
    --------
    >>> from teachirl.teachers.joint_greedy import JointGreedy
    >>> JointGreedy(shortlist=2)
    JointGreedy(shortlist=2, starts=8, seed=0, tolerance=1e-06)
    """

    shortlist: int = 4
    starts: int = 8
    seed: int = 0
    tolerance: float = 1e-6

    def choose(self, situation: Situation, rng: np.random.Generator) -> Choice:
        task, view, candidates = situation.task, situation.view, situation.candidates
        own = np.random.default_rng(self.seed)
        now, better = situation.demonstration, self._best(situation, view, own)
        dear = math.isfinite(situation.cost_left) and bool((task.costs != task.costs[0]).any())
        costs = task.costs[candidates] if dear else np.ones(len(candidates))
        races = [(each, self._race(situation, each, costs)) for each in (now, better)]
        tie = races[0][1].tie
        if races[1][1].present <= races[0][1].present + tie:
            del races[1]
        raced = races[-1][1]
        promise = np.where(raced.idle, -math.inf, (raced.upper - raced.present) / costs)
        promising = np.argsort(-promise, kind="stable")
        values, shown = raced.upper.copy(), dict[int, Demonstration]()
        few = {*promising[: self.shortlist].tolist(), *(each.best for _, each in races)}
        for index in sorted(few):
            wider = view.extend(task.teachable[candidates[index]])
            options = [(float(each.lower[index]), which) for which, each in races]
            for_her = self._best(situation, wider, own)
            options.append((self._guaranteed(situation, wider, for_her), for_her))
            most = max(reached for reached, _ in options)
            values[index], shown[index] = next(each for each in options if each[0] >= most - tie)
        gains = (values - raced.present) / costs
        listed = np.array(list(shown))
        pick = int(listed[gains[listed] >= gains[listed].max() - tie / costs.min()][0])
        scores = np.full(len(task.teachable), np.nan)
        measure = gains if dear else values
        scores[candidates] = np.minimum(measure, measure[pick])  # none is better: they tie at most
        complete = task.best.value - races[0][1].present <= tie
        required = bool(np.isin(candidates, task.required).any())
        if not required and (complete or bool(raced.idle.all())):
            return Choice(None, frozen(scores))
        new = None if shown[pick] is now else shown[pick]
        return Choice(int(candidates[pick]), frozen(scores), new)

    def _race(self, situation: Situation, shown: Demonstration, costs: Floats) -> Raced:
        task = situation.task
        return race(
            task.mdp,
            situation.view,
            task.weights,
            shown,
            task.teachable[situation.candidates],
            situation.mismatch,
            costs=costs,
            tolerance=self.tolerance,
        )

    def _best(
        self, situation: Situation, view: Worldview, rng: np.random.Generator
    ) -> Demonstration:
        task = situation.task
        return best_demonstration(
            task.mdp,
            view,
            task.weights,
            starts=self.starts,
            rng=rng,
            proof_solves=0,
            indistinct=task.indistinct,
        ).demonstration

    def _guaranteed(self, situation: Situation, view: Worldview, shown: Demonstration) -> float:
        """The reward that this demonstration guarantees; min R if nobody matches it."""
        task = situation.task
        found = worst_case(
            task.mdp,
            view,
            task.weights,
            shown,
            situation.mismatch,
            tolerance=0.25 * self.tolerance,
        )
        return found.lower if math.isfinite(found.lower) else task.worst.lower


__all__ = ["JointGreedy"]
