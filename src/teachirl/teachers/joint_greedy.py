"""JointGreedy: a feature and a demonstration together, the pair that guarantees most.

What is guaranteed after a feature f depends on what is shown: max over demonstrations of the worst
case of A ⊕ f. That maximum is dear (`what_to_show`), so it is sought for a few features only. Which
they are, races tell (`race`) under what is shown now, under an optimal policy, and under the best
demonstration for what the learner sees now. The last guarantees most, but often all that it earns,
and then no feature adds to it; what features are worth shows under the others, and in the teaching
risk.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..arrays import Floats, Ints, frozen
from ..demonstrations.demonstration import Demonstration
from ..errors import require
from ..guarantees.bounds import check_limits
from ..precision import NO_RISK, SEARCH_TIE, ranks
from ..selection.greedy import is_whole
from ..teaching.teacher import Choice, Situation
from ..views.teaching_risk import risk_after, teaching_risk
from ..views.worldview import Worldview
from ..what_to_show.search import best_demonstration
from .gap_greedy import least_risk, race_of
from .race import Raced

Races: TypeAlias = list[tuple[Demonstration, Raced]]


@dataclass(frozen=True)
class JointGreedy:
    """Teaches a feature and changes the demonstration, so that most is guaranteed; of ties the
    first feature, and the demonstration as it was.

    Costs aside, what it chooses guarantees at least what GapGreedy's choice would, be it with the
    demonstration as it was or with an optimal policy shown.

    Where features differ in what they cost and there is so much to spend, it goes by gain per cost.
    Where no feature adds to what a demonstration could guarantee without it, the one that lowers
    the teaching risk most is taught. It stops where no feature adds to the view, neither guarantee
    nor risk improves, or the best that there is is guaranteed.

    The scores are what is proved of the reward guaranteed after each feature, or of the gain per
    cost: for those on the shortlist with a demonstration of their own, for the others without one.

    Parameters
    ----------
    shortlist : int, for how many features a demonstration is sought, beside the winners of the
        races
    starts : int, from how many places it is sought, see `best_demonstration`
    seed : int, of the places. They are not drawn from the lesson's generator: so the same situation
        has the same answer, and two features are compared by searches from the same places
    tolerance : float, guarantees that differ by at most this fraction of max R − min R tie

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

    def __post_init__(self) -> None:
        check_limits(self.tolerance, 1.0)
        for name in ("shortlist", "starts"):
            value = getattr(self, name)
            good = is_whole(value) and value >= 1
            require(good, f"{name} must be a whole number from 1 on, got {value!r}")

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
        costs = task.costs[candidates] if dear else np.ones(len(candidates))
        races = self._races(situation, costs)
        now, tie = races[0][1], races[0][1].tie
        values = np.max([raced.lower for _, raced in races], axis=0)
        found = {
            index: self._search(situation, races, index)
            for index in self._listed(situation, races, costs)
        }
        for index, (reached, _) in found.items():
            values[index] = reached
        base = max(raced.present for _, raced in races)
        gains = (values - base) / costs
        pick, falls = self._pick(situation, np.array(list(found)), gains, tie / costs.min())
        measure = gains if dear else values
        scores = np.full(len(task.teachable), np.nan)
        scores[candidates] = np.minimum(measure, measure[pick])  # none is better: they tie at most
        lifted = values[pick] - now.present
        helps = lifted > tie or (falls and lifted >= -tie)
        idle = bool(np.all([raced.idle for _, raced in races]))
        stop = idle or not helps or task.best.value - now.present <= tie
        if stop and not situation.must_teach:
            return Choice(None, frozen(scores))
        shown = found[pick][1]
        new = None if shown is situation.demonstration else shown
        return Choice(int(candidates[pick]), frozen(scores), new)

    def _races(self, situation: Situation, costs: Floats) -> Races:
        """The races under what is shown now, an optimal policy, and the best for the present view;
        the last two only if they are others."""
        task, view = situation.task, situation.view
        shown = [situation.demonstration]
        require(task.model is task.mdp, "JointGreedy needs a world that is known, not an estimate")
        optimal = Demonstration.of_policy(task.mdp, task.best.policy)
        for other in (optimal, self._best(situation, view)):
            new = (
                each.error > 0.0 or bool((each.expectations != other.expectations).any())
                for each in shown
            )
            if all(new):
                shown.append(other)
        candidates = situation.candidates
        return [
            (each, race_of(situation, view, each, candidates, costs, self.tolerance))
            for each in shown
        ]

    def _listed(self, situation: Situation, races: Races, costs: Floats) -> list[int]:
        """For whom a demonstration is sought: the races' winners, and those with the best place by
        what they gain in a race where they come second, or by how they lower the risk."""
        task, view = situation.task, situation.view
        rows = task.teachable[situation.candidates]
        gain = np.zeros(len(rows))
        for _, raced in races:
            # Of the others there are bounds alone, as loose as they happened to be once beaten.
            for index in {raced.best, raced.second, raced.single, raced.second_single} - {None}:
                gain[index] = max(gain[index], raced.lower[index] - raced.present)
        fall = teaching_risk(view, task.weights) - risk_after(view, task.weights, rows)
        places = np.minimum(
            _places(gain / costs, gain > races[0][1].tie),
            _places(fall / costs, fall > NO_RISK),
        )
        first = np.argsort(places, kind="stable")[: self.shortlist].tolist()
        winners = (index for _, raced in races for index in (raced.best, raced.single))
        return sorted({*first, *winners})

    def _search(
        self, situation: Situation, races: Races, index: int
    ) -> tuple[float, Demonstration]:
        """What can be guaranteed with a feature, and by which demonstration."""
        view = situation.view.extend(situation.task.teachable[situation.candidates[index]])
        own = self._best(situation, view)
        options = [(self._guaranteed(situation, view, own), own)]
        tie = races[0][1].tie
        # Backwards, so that of ties the demonstration as it was comes out first.
        for shown, raced in reversed(races):
            reached, most = float(raced.lower[index]), max(options, key=lambda each: each[0])[0]
            if reached < raced.upper[index] - tie and raced.upper[index] >= most - tie:
                reached = max(reached, self._guaranteed(situation, view, shown))
            options.insert(0, (reached, shown))
        most = max(reached for reached, _ in options)
        return next(each for each in options if each[0] >= most - tie)

    def _pick(
        self, situation: Situation, listed: Ints, gains: Floats, tie: float
    ) -> tuple[int, bool]:
        """The first that gains most; if none gains, who lowers the risk most. Whether it falls."""
        most = float(gains[listed].max())
        even = listed[gains[listed] >= most - tie]
        if most > tie:
            even = even[:1]
        return least_risk(situation, even)

    def _best(self, situation: Situation, view: Worldview) -> Demonstration:
        """What to show for a view; each is sought once a lesson."""
        task, key = situation.task, view.matrix.tobytes()
        known: dict[bytes, Demonstration] = situation.notes.setdefault("shown", {})
        if key not in known:
            known[key] = best_demonstration(
                task.mdp,
                view,
                task.weights,
                starts=self.starts,
                rng=np.random.default_rng(self.seed),
                proof_solves=0,
                indistinct=task.indistinct,
            ).demonstration
        return known[key]

    def _guaranteed(self, situation: Situation, view: Worldview, shown: Demonstration) -> float:
        """The reward that this demonstration guarantees; min R if nobody matches it."""
        task = situation.task
        found = task.worst_case(view, shown, situation.matching, tolerance=0.25 * self.tolerance)
        return found.lower if math.isfinite(found.lower) else task.worst.lower


def _places(values: Floats, counted: np.ndarray) -> Ints:
    """The place of each by its value, from 0 on; those that do not count come last, all even.

    What differs by less than a part in 10⁶ of the largest is in a tie, and the first comes first.
    """
    among = np.where(counted, values, values.min())
    order = np.lexsort((ranks(among, SEARCH_TIE * np.abs(values).max()), ~counted))
    places = np.empty(len(values), dtype=np.int64)
    places[order] = np.arange(len(values))
    return np.where(counted, places, len(values))


__all__ = ["JointGreedy"]
