"""What a choice is worth, as it is found: first what sets share, then the exact worst case.

Bounds come as they tighten. Between two of them the one who asked may have asked for something else
(`stale`): then the rest is left.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...demonstrations.demonstration import Demonstration
from ...errors import require
from ...guarantees.bounds import WorstCaseBounds, WorstCaseStatus
from ...guarantees.plausible.certificate import RewardsStatus
from ...learners import Informed
from ...mdp import clock
from ...mdp.occupancy import feature_expectations
from ...mdp.policy import Policy
from ...teachers.set_bounds import MOST, SetBounds, set_bounds
from ...views.teaching_risk import teaching_risk
from ...views.worldview import Worldview
from ...what_to_show.search import best_demonstration
from ..decisions.comparison import differences
from ..decisions.plausible import certified_over_rewards
from ..decisions.stakes import matching_witness, stakes
from ..document.stakes import missed
from ..problem import Problem
from .choice import Choice
from .describe import behaviour, described

# Seconds for which bounds that sets share are tightened, and then those that a search for the exact
# worst case may take before it is asked whether anybody still wants to know.
FIRST, THEN = 0.08, (0.4, 1.5, 6.0, 25.0)
KEPT = 6  # problems with their bounds
SHOWN = 6  # features in which the worst policy differs most
STARTS = 4  # places from which a demonstration is sought


@dataclass
class Ground:
    """A problem, and what is shared by all sets of features that are taught in it."""

    problem: Problem
    sets: SetBounds | None
    expert: dict[str, Any] | None = None


class Answers:
    """Answers about problem files; those looked at last are kept, with what was found.

    Parameters
    ----------
    paths : the problem files, by name
    """

    def __init__(self, paths: dict[str, Path]) -> None:
        self.paths = paths
        self._grounds: OrderedDict[tuple[Any, ...], Ground] = OrderedDict()

    def describe(self, name: str) -> dict[str, Any]:
        """The problem as the file says it."""
        return described(self._ground(name, Choice()).problem)

    def answer(
        self, name: str, choice: Choice, stale: Callable[[], bool]
    ) -> Iterator[dict[str, Any]]:
        """What a choice is worth, in events that come as they are found.

        Parameters
        ----------
        name : of the problem
        choice : Choice
        stale : whether to stop
        """
        # A better policy to show is sought for each view; what an optimal one does is shared.
        chooses = choice.show == "choose"
        ground = self._ground(name, replace(choice, show="optimal") if chooses else choice)
        problem, task = ground.problem, ground.problem.task
        taught = [task.index(each) for each in choice.taught]
        require(
            not set(taught) & set(task.forbidden), "what is taught must be among what is for sale"
        )
        members = [*task.required, *(i for i in taught if i not in task.required)]
        names = [task.names[i] for i in members]
        view = problem.worldview.extend(task.teachable[members], names)
        yield {
            "event": "standing",
            "cost": float(task.costs[members].sum()),
            "risk": float(teaching_risk(view, task.weights)),
            "seen": view.n_rows,
        }
        lower = task.worst.lower
        if chooses:
            yield _bounds(problem, lower, task.best.upper, exact=False)
            # Who matches exactly is guaranteed as much by what is chosen, or more.
            if problem.matching.within(view, task.demonstration) == 0.0:
                for lower, _ in _of_sets(ground, members):
                    yield _bounds(problem, lower, task.best.upper, exact=False)
        yield from self._bounded(ground, choice, view, members, lower, stale)

    def _bounded(
        self,
        ground: Ground,
        choice: Choice,
        view: Worldview,
        members: list[int],
        lower: float,
        stale: Callable[[], bool],
    ) -> Iterator[dict[str, Any]]:
        problem, task = ground.problem, ground.problem.task
        shown, upper = task.demonstration, task.best.upper
        if choice.show == "choose" or (choice.show is None and problem.chosen is not None):
            yield _bounds(problem, lower, upper, exact=False)
            if stale():
                return
            shown = _chosen(problem, view)
        else:
            for lower, upper in _of_sets(ground, members):
                yield _bounds(problem, lower, upper, exact=False)
                if stale():
                    return
        found = None
        for seconds in THEN:
            if stale():
                return
            found = task.worst_case(view, shown, problem.matching, max_seconds=seconds)
            done = found.status in (WorstCaseStatus.OPTIMAL, WorstCaseStatus.INFEASIBLE)
            if found.status is not WorstCaseStatus.INFEASIBLE:
                lower = max(lower, found.lower)
                upper = min(upper, max(found.upper, lower))
            yield _bounds(problem, lower, upper, exact=done, found=found)
            if done:
                break
        assert found is not None
        if not stale():
            yield from self._rest(ground, choice, view, shown, found, stale)

    def _rest(
        self,
        ground: Ground,
        choice: Choice,
        view: Worldview,
        shown: Demonstration,
        found: WorstCaseBounds,
        stale: Callable[[], bool],
    ) -> Iterator[dict[str, Any]]:
        """The worst policy beside the expert, what was asked for, and who is simulated."""
        problem, witness = ground.problem, matching_witness(found)
        if ground.expert is None:
            ground.expert = behaviour(problem, _expert(problem))
        same = shown.policy is None or shown is problem.task.demonstration
        yield {
            "event": "behaviour",
            "expert": ground.expert if same else behaviour(problem, _policy(shown)),
            "worst": None if witness is None else behaviour(problem, witness),
            "differences": [] if witness is None else _apart(problem, shown, witness),
        }
        if stale():
            return
        promise = problem.goals.promise(view, shown, problem.matching, known=found)
        results = stakes(problem, shown, promise, None).goals
        short = [each for each in results if not each.met]
        yield {
            "event": "goals",
            "met": not short if results else None,
            "missed": missed(tuple(short)) if short else "",
        }
        if not stale():
            yield _simulated(problem, view, shown)
        yield from _over_rewards(problem, view, shown, stale)

    def _ground(self, name: str, choice: Choice) -> Ground:
        require(name in self.paths, f"there is no problem {name!r} here")
        path = self.paths[name]
        stamp = sorted((each.name, each.stat().st_mtime_ns) for each in path.parent.glob("*.*"))
        key = (name, choice.sees, choice.mismatch, choice.show, str(stamp))
        if key not in self._grounds:
            problem = choice.problem(path)
            self._grounds[key] = Ground(problem, _sets(problem))
            while len(self._grounds) > KEPT:
                self._grounds.popitem(last=False)
        self._grounds.move_to_end(key)
        return self._grounds[key]


def _sets(problem: Problem) -> SetBounds | None:
    """Bounds that sets share, of what could be taught; None if that is too much."""
    task = problem.task
    taken = (*task.required, *task.forbidden)
    free = [i for i in range(len(task.names)) if i not in taken]
    if len(free) > MOST or problem.chosen is not None:
        return None
    return set_bounds(task, problem.matching, free)


def _of_sets(ground: Ground, members: list[int]) -> Iterator[tuple[float, float]]:
    """Bounds on the worst case of those who are taught these features: what other sets have told
    of this one, and then what it tells of itself."""
    task, sets = ground.problem.task, ground.sets
    if sets is None:
        return
    number = sum(1 << j for j, each in enumerate(sets.free) if each in members)
    for itself in (False, True):
        if itself:
            sets.tighten(number, -math.inf, clock.seconds() + FIRST)
        lower = max(task.worst.lower, sets.proved(number))
        yield lower, min(task.best.upper, max(float(sets.upper[number]) + sets.earned, lower))


def _chosen(problem: Problem, view: Worldview) -> Demonstration:
    """The demonstration that guarantees most of those found, for who sees this."""
    return best_demonstration(
        problem.mdp,
        view,
        problem.weights,
        starts=STARTS,
        rng=np.random.default_rng(problem.seed),
        proof_solves=0,
        indistinct=problem.task.indistinct,
    ).demonstration


def _bounds(
    problem: Problem,
    lower: float,
    upper: float,
    *,
    exact: bool,
    found: WorstCaseBounds | None = None,
) -> dict[str, Any]:
    task = problem.task
    matchable = found is None or found.status is not WorstCaseStatus.INFEASIBLE
    guaranteed = float(task.relative_at_least(lower)) if matchable else 0.0
    return {
        "event": "bounds",
        "guaranteed": guaranteed,
        "possible": max(float(task.relative(upper)), guaranteed) if matchable else guaranteed,
        "reward": lower,
        "exact": exact,
        "matchable": matchable,
    }


def _expert(problem: Problem) -> Policy:
    """What is shown or, if that was recorded, an optimal policy."""
    shown = problem.task.demonstration.policy
    return problem.task.best.policy if shown is None else shown


def _policy(shown: Demonstration) -> Policy:
    assert shown.policy is not None
    return shown.policy


def _apart(problem: Problem, shown: Demonstration, witness: Policy) -> list[dict[str, Any]]:
    there = feature_expectations(problem.mdp, witness)
    found = differences(problem.mdp, problem.weights, shown.expectations, there)
    return [
        {"name": each.name, "expert": each.expert, "worst": each.other, "lost": each.lost}
        for each in found[:SHOWN]
    ]


def _over_rewards(
    problem: Problem, view: Worldview, shown: Demonstration, stale: Callable[[], bool]
) -> Iterator[dict[str, Any]]:
    """What is guaranteed whichever of the plausible rewards it is, as it is found; nothing if one
    reward is given."""
    if problem.rewards is None:
        return
    for seconds in THEN[:2]:  # who asks for something else waits for no more than this
        if stale():
            return
        found = certified_over_rewards(problem, problem.rewards, view, shown, seconds)
        yield {
            "event": "rewards",
            "guaranteed": float(found.lower),
            "sentence": found.sentence,
            "matchable": found.matchable,
            "cut": found.status is RewardsStatus.OUT_OF_BUDGET,
        }
        if found.status is not RewardsStatus.OUT_OF_BUDGET:
            return


def _simulated(problem: Problem, view: Worldview, shown: Demonstration) -> dict[str, Any]:
    """What the learner does whom the file names."""
    learner: Any = problem.learner
    name = type(learner).__name__
    if isinstance(learner, Informed):
        learner = learner.informed(problem.mdp, problem.weights)
    start = Policy.uniform(problem.mdp)
    learned = learner.learn(view.observe(problem.mdp), view.matrix @ shown.expectations, start)
    earned = float(problem.weights @ feature_expectations(problem.mdp, learned.policy))
    return {
        "event": "simulated",
        "name": name,
        "performance": float(problem.task.relative(earned)),
        "mismatch": float(learned.mismatch),
    }


__all__ = ["Answers"]
