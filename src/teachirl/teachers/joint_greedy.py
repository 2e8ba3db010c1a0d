"""JointGreedy: a feature and a demonstration together, the pair that guarantees most.

What is guaranteed after a feature f depends on what is shown: max over demonstrations of the worst
case of A ⊕ f. That maximum is dear (`what_to_show`), so it is sought for a few features only, from
what is good to show to the learner as it is (`prospect`). Which they are, races tell (`race`) under
what is shown now, under an optimal policy, and under the best demonstration for what the learner
sees now. The last guarantees most, but often all that it earns, and then no feature adds to it;
what features are worth shows under the others, and in the teaching risk.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..arrays import Floats, Ints, frozen
from ..demonstrations.demonstration import Demonstration
from ..errors import require
from ..guarantees.bounds import WorstCaseBounds, check_limits, lower_bound
from ..precision import FINEST, NO_RISK, SEARCH_TIE, ranks
from ..selection.greedy import is_whole
from ..teaching.teacher import Choice, Situation
from ..views.teaching_risk import risk_after, teaching_risk
from ..views.worldview import Worldview
from ..what_to_show.prospect import Prospect
from .gap_greedy import least_risk, race_of
from .race import Raced

# Races are run up to this fraction of max R − min R, which tells who is worth a search; closer only
# where no search finds more than their bounds allow.
ROUGH = 1e-3
# Nothing is sought to gain less than this fraction, nor is a place to begin at known better.
LEAST = 1e-3
# For so many features a demonstration is sought in patience, those that promise most.
PATIENT = 4
# A proof is tried with a θ so much shorter, too: it may do, and rounds less.
SHORTER = (0.01, 0.1, 1.0)


class _Race(NamedTuple):
    """A race under what is shown; what is guaranteed as things stand; and whether its bounds are
    rough."""

    shown: Demonstration
    present: float
    raced: Raced
    rough: bool

    def may_pass(self, bar: Floats) -> bool:
        """Whether some candidate could guarantee more than its bar [n]."""
        return bool((self.raced.upper > bar).any())


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
    starts : int, from how many places it is sought as things stand; with a feature, from half as
        many
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
        require(task.model is task.mdp, "JointGreedy needs a world that is known, not an estimate")
        dear = situation.by_cost
        costs = task.costs[candidates] if dear else np.ones(len(candidates))
        races = self._races(situation, costs)
        tie = self._tie(situation)
        listed = self._listed(situation, races, costs)
        self._seek(situation, races, listed, costs)
        base = max(race.present for race in races)
        found: dict[int, tuple[float, Demonstration]] = {}
        while True:
            for index in set(listed) - found.keys():
                found[index] = self._search(situation, races, index)
            values = np.max([race.raced.lower for race in races], axis=0)
            for index, (reached, _) in found.items():
                values[index] = reached
            gains = (values - base) / costs
            pick, falls = self._pick(situation, np.array(sorted(found)), gains, tie / costs.min())
            bar = base + max(float(gains[pick]), 0.0) * costs + tie
            bar[list(found)] = np.inf
            undecided = (i for i, race in enumerate(races) if race.rough and race.may_pass(bar))
            if (run := next(undecided, None)) is None:
                break
            # Who was not looked at might gain more: this race has to be run to its end.
            races[run] = self._race(situation, races[run].shown, costs, self.tolerance)
            listed = [races[run].raced.best, races[run].raced.single]
        now, measure = races[0].present, gains if dear else values
        scores = np.full(len(task.teachable), np.nan)
        scores[candidates] = np.minimum(measure, measure[pick])  # none is better: they tie at most
        lifted = values[pick] - now
        helps = lifted > tie or (falls and lifted >= -tie)
        idle = bool(np.all([race.raced.idle for race in races]))
        stop = idle or not helps or task.best.value - now <= tie
        if stop and not situation.must_teach:
            return Choice(None, frozen(scores))
        shown = found[pick][1]
        new = None if shown is situation.demonstration else shown
        return Choice(int(candidates[pick]), frozen(scores), new)

    def _tie(self, situation: Situation) -> float:
        """By how much guarantees may differ and count as equal."""
        task = situation.task
        span, size = task.best.value - task.worst.value, float(np.linalg.norm(task.weights))
        reach = task.mdp.largest_feature / (1.0 - task.mdp.discount)
        return max(self.tolerance * span, 4.0 * FINEST * size * reach)

    def _races(self, situation: Situation, costs: Floats) -> list[_Race]:
        """The races under what is shown now, an optimal policy, and the best for the present view;
        the last two only if they are others."""
        task, races = situation.task, list[_Race]()
        optimal = Demonstration.of_policy(task.mdp, task.best.policy)

        def run(shown: Demonstration) -> None:
            others = (
                race.shown.error > 0.0
                or bool((race.shown.expectations != shown.expectations).any())
                for race in races
            )
            if all(others):
                rough = max(self.tolerance, ROUGH)
                races.append(self._race(situation, shown, costs, rough))

        run(situation.demonstration)
        run(optimal)
        reached = max(race.present for race in races)
        prospect = self._prospect(situation, situation.view, reached, [task.weights], self.starts)
        if prospect is not None:
            run(prospect.demonstration)
        return races

    def _race(
        self, situation: Situation, shown: Demonstration, costs: Floats, tolerance: float
    ) -> _Race:
        view, candidates = situation.view, situation.candidates
        known = situation.worst_case if shown is situation.demonstration else None
        present = self._worst_case(situation, view, shown) if known is None else known
        raced = race_of(situation, view, shown, candidates, costs, tolerance, present)
        lower = present.lower if math.isfinite(present.lower) else situation.task.worst.lower
        return _Race(shown, lower, raced, tolerance > self.tolerance)

    def _listed(self, situation: Situation, races: list[_Race], costs: Floats) -> list[int]:
        """For whom a demonstration is sought: the races' winners, and those with the best place by
        what they gain in a race where they come second, or by how they lower the risk."""
        task, view = situation.task, situation.view
        rows = task.teachable[situation.candidates]
        gain, tie = np.zeros(len(rows)), races[0].raced.tie
        for race in races:
            raced = race.raced
            # Of the others there are bounds alone, as loose as they happened to be once beaten.
            for index in {raced.best, raced.second, raced.single, raced.second_single} - {None}:
                gain[index] = max(gain[index], raced.lower[index] - raced.present)
        fall = teaching_risk(view, task.weights) - risk_after(view, task.weights, rows)
        places = np.minimum(
            _places(gain / costs, gain > tie, tie / costs.min()),
            _places(fall / costs, fall > NO_RISK),
        )
        first = np.argsort(places, kind="stable")[: self.shortlist].tolist()
        winners = (index for race in races for index in (race.raced.best, race.raced.single))
        return sorted({*first, *winners})

    def _seek(
        self, situation: Situation, races: list[_Race], listed: list[int], costs: Floats
    ) -> None:
        """Seek what to show after each feature, and in patience for those that promise most."""
        task = situation.task
        here = situation.notes.get("sought", {}).get(situation.view.matrix.tobytes())
        rewards = [task.weights] if here is None else [here.reward, task.weights]
        base = max(race.present for race in races)
        promise: list[tuple[float, Prospect]] = []
        for index in listed:
            reached = max(float(race.raced.lower[index]) for race in races)
            view = situation.view.extend(task.teachable[situation.candidates[index]])
            found = self._prospect(situation, view, reached, rewards, (self.starts + 1) // 2)
            if found is not None:
                promise.append(((found.guaranteed - base) / costs[index], found))
        for place in np.argsort([-gain for gain, _ in promise], kind="stable")[:PATIENT]:
            promise[place][1].refine()

    def _search(
        self, situation: Situation, races: list[_Race], index: int
    ) -> tuple[float, Demonstration]:
        """What can be guaranteed with a feature, and by which demonstration."""
        view = situation.view.extend(situation.task.teachable[situation.candidates[index]])
        own = situation.notes.get("sought", {}).get(view.matrix.tobytes())
        options: list[tuple[float, Demonstration]] = []
        tie = self._tie(situation)
        if own is not None:
            options.append(
                (
                    self._guaranteed(situation, view, own.demonstration, own.reward),
                    own.demonstration,
                )
            )
        # Backwards, so that of ties the demonstration as it was comes out first.
        for race in reversed(races):
            reached, upper = float(race.raced.lower[index]), float(race.raced.upper[index])
            most = max([reached, *(each for each, _ in options)])
            if reached < upper - tie and upper >= most - tie:
                reached = max(reached, self._guaranteed(situation, view, race.shown))
            options.insert(0, (reached, race.shown))
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

    def _prospect(
        self,
        situation: Situation,
        view: Worldview,
        reached: float,
        rewards: list[Floats],
        starts: int,
    ) -> Prospect | None:
        """What to show for a view, sought roughly, once a lesson; None where nothing is to gain
        over what is reached anyway."""
        task, key = situation.task, view.matrix.tobytes()
        known: dict[bytes, Prospect] = situation.notes.setdefault("sought", {})
        span = task.best.lower - task.worst.upper
        basis = view.without(task.indistinct.basis).basis
        if key not in known and len(basis) and task.best.upper - reached > LEAST * span > 0.0:
            dice = np.random.default_rng(self.seed)
            # What proves how bad it is to show an optimal policy tells best where to begin.
            optimal = Demonstration.of_policy(task.mdp, task.best.policy)
            bad = task.worst_case(view, optimal, situation.matching, tolerance=LEAST)
            rewards = [view.matrix.T @ bad.theta, *rewards]
            known[key] = Prospect(task.mdp, basis, task.weights, span, rewards, starts, dice)
        return known.get(key)

    def _guaranteed(
        self,
        situation: Situation,
        view: Worldview,
        shown: Demonstration,
        reward: Floats | None = None,
    ) -> float:
        """The reward that this demonstration guarantees; min R if nobody matches it. It may look
        best under a reward [k], which then proves at once that nobody who matches earns less."""
        task = situation.task
        earned = float(task.weights @ shown.expectations)
        if reward is not None and situation.matching.within(view, shown) == 0.0:
            # Up to what no policy can change.
            rows = np.vstack([view.matrix, task.indistinct.basis])
            found = np.linalg.lstsq(rows.T, reward)[0]
            theta: Floats = np.asarray(found[: view.n_rows], dtype=np.float64)
            for length in SHORTER:
                least = lower_bound(
                    task.mdp, view, task.weights, shown.expectations, 0.0, length * theta
                )
                if least >= earned - 0.25 * self._tie(situation):
                    return least
        case = self._worst_case(situation, view, shown)
        return case.lower if math.isfinite(case.lower) else task.worst.lower

    def _worst_case(
        self, situation: Situation, view: Worldview, shown: Demonstration
    ) -> WorstCaseBounds:
        matching, near = situation.matching, 0.25 * self.tolerance
        return situation.task.worst_case(view, shown, matching, tolerance=near)


def _places(values: Floats, counted: np.ndarray, tie: float = 0.0) -> Ints:
    """The place of each by its value, from 0 on; those that do not count come last, all even.

    What differs by less than a part in 10⁶ of the largest, or so much, is in a tie, and the first
    comes first.
    """
    among = np.where(counted, values, values.min())
    order = np.lexsort((ranks(among, max(tie, SEARCH_TIE * np.abs(values).max())), ~counted))
    places = np.empty(len(values), dtype=np.int64)
    places[order] = np.arange(len(values))
    return np.where(counted, places, len(values))


__all__ = ["JointGreedy"]
