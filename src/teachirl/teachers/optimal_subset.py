"""The teacher who plans the whole set: the one with the least teaching risk in the end."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Ints, frozen
from ..precision import GAIN_TIE
from ..selection.best_subset import Subset, SubsetStatus, best_subset, check_nodes
from ..selection.greedy import greedy_plan
from ..teaching.teacher import Choice, Situation


@dataclass(frozen=True)
class OptimalSubset:
    """Teaches the best set for the features or the money that there are, and then stops.

    Its members are taught in the order in which each lowers the risk most; their scores are how
    much it falls, and the others have none. The plan is made at the beginning. If that search is
    stopped early, it goes on in each round, and what is left of the plan changes only for a better
    one. How far from optimal the plan may be, seen from the beginning, is the choice's `gap`, and
    so the round's.

    Parameters
    ----------
    max_nodes : int, how much to search in a round; where it does not suffice, a gap remains

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp = ti.worlds.chain(4)
    >>> features = [[1, 1, 1.2, 0], [1, 0, 0, 0], [0, 1, 0, 0]]
    >>> task = ti.Task(mdp, [1, 1, 0, 0], ti.Worldview(np.empty((0, 4))), features)
    >>> learner, rng = ti.learners.MinNormPoint(), np.random.default_rng(0)
    >>> teacher = ti.teachers.OptimalSubset()
    >>> lesson = ti.teach(task, teacher, learner, rng=rng, budget=2, tolerance=-1)
    >>> lesson.taught, lesson.rounds[-1].risk < 1e-9, lesson.rounds[1].gap < 1e-5
    ((1, 2), True, True)
    """

    max_nodes: int = 1_000

    def __post_init__(self) -> None:
        check_nodes(self.max_nodes)

    def plan(self, situation: Situation) -> Subset:
        """The best set beyond what is taught, as indices into the teachable features.

        All of it follows from the situation: what was planned in the rounds before is found again
        if it is not in the notes.

        Parameters
        ----------
        situation : Situation

        Returns
        -------
        Subset
        """
        taught, notes = situation.taught, situation.notes
        known: tuple[int, ...]
        plan: Subset | None
        known, plan = notes.get("plan", ((), None))
        if plan is None or len(known) < situation.begun or taught[: len(known)] != known:
            known = taught[: situation.begun]
            plan = self._search(_earlier(situation, len(known)))
        for count in range(len(known) + 1, len(taught) + 1):
            plan = self._go_on(plan, _earlier(situation, count))
        notes["plan"] = taught, plan
        return plan

    def _go_on(self, plan: Subset, situation: Situation) -> Subset:
        """The rest of a plan once one more feature is taught, or something better."""
        last = situation.taught[-1]
        if last not in plan.chosen:
            return self._search(situation)
        rest = replace(plan, chosen=tuple(i for i in plan.chosen if i != last))
        if plan.status is SubsetStatus.OPTIMAL:
            return rest
        found = self._search(situation)
        if found.risk >= plan.risk * (1.0 - GAIN_TIE):
            return rest
        # The bound of the first search is on all sets, later ones on those with what is taught.
        return replace(rest, chosen=found.chosen, risk=found.risk, gap=found.risk - plan.lower)

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
        plan = self.plan(situation)
        scores = np.full(len(task.teachable), np.nan)
        members = np.intersect1d(plan.chosen, candidates).astype(np.int64)
        if len(members) == 0 and situation.must_teach:
            members = candidates
        if len(members) == 0:
            return Choice(None, frozen(scores))
        first = greedy_plan(situation.view, task.weights, task.teachable[members], size=1)
        scores[members] = first.scores
        pick = first.chosen[0] if first.chosen else 0
        return Choice(int(members[pick]), frozen(scores), gap=plan.gap)

    def _search(self, situation: Situation) -> Subset:
        task = situation.task
        pool, required = _pool(situation)
        found = best_subset(
            situation.view,
            task.weights,
            task.teachable[pool],
            size=situation.features_left,
            max_cost=situation.money_left,
            costs=task.costs[pool],
            required=np.flatnonzero(np.isin(pool, required)),
            max_nodes=self.max_nodes,
        )
        return replace(found, chosen=tuple(int(pool[i]) for i in found.chosen))


def _earlier(situation: Situation, count: int) -> Situation:
    """The situation when so many features were taught."""
    task, since = situation.task, list(situation.taught[count:])
    if not since:
        return situation
    view = task.worldview
    for feature in situation.taught[:count]:
        view = view.extend(task.teachable[feature])
    return replace(
        situation,
        view=view,
        taught=situation.taught[:count],
        features_left=situation.features_left + len(since),
        cost_left=situation.cost_left + float(task.costs[since].sum()),
    )


def _pool(situation: Situation) -> tuple[Ints, Ints]:
    """What may be taught in this round or later, and what of it must be."""
    task = situation.task
    required = np.setdiff1d(np.array(task.required, dtype=np.int64), situation.taught)
    cost = float(task.costs[required].sum())
    if len(required) > situation.features_left or cost > situation.money_left:
        # The best of what is required, as far as it fits.
        return required, required[:0]
    gone = (*situation.taught, *task.forbidden)
    return np.setdiff1d(np.arange(len(task.teachable)), gone), required
