"""How things stand: what is guaranteed, what could go wrong, what learners would do."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...arrays import Floats
from ...demonstrations.demonstration import Demonstration
from ...guarantees.bounds import WorstCaseBounds, unsearched
from ...guarantees.certificate import Certificate, certify
from ...guarantees.gap_bounds import Bound
from ...guarantees.sensitivity import Sensitivity
from ...guarantees.worst_case import LEAST
from ...mdp.policy import Policy
from ...study.progress import Part, Progress
from ...teaching.task import Task
from ...views.teaching_risk import BlindSpot, blind_spot, relative_risk
from ..problem import Problem
from .comparison import SAME_GUARANTEE, Difference, Shortfall, differences, shortfall
from .doubt import WeightDoubt, weight_doubt
from .expert import ExpertAccount, account_in_time
from .kept import Kept, Proof
from .misses import if_missed
from .patience import Cut, Patience
from .plausible import OverRewards, over_rewards
from .readings import Readings, readings
from .simulations import LEARNERS, Simulated, simulate
from .stakes import (
    Stakes,
    expectations_there,
    matching_witness,
    shown_briefly,
    stakes,
    unfinished,
)

# Seconds that the theorems, and then the learners, take at most: they bind nobody.
ASIDE = 30.0
# MDPs that Theorem 2 and the best look take, about.
LOOKS = 150
# Of the time, what the search has that proves the guarantee: the rest is for what goes with it.
SEARCHED = 0.9
# What there is no answer without.
NEEDED = "find the best and the worst policy, and what is shown"
# A time that ends: on Ctrl-C a search is told that it is over.
AGES = 1e9


@dataclass(frozen=True)
class Guarantee:
    """What one certificate proves of every learner who matches what is shown.

    Attributes
    ----------
    name : ``Theorem 1``, ``width`` or ``exact``
    reward : the learner earns at least this
    performance : the same as a relative performance, in [0, 1]
    behind : the expert earns at most this much more
    """

    name: str
    reward: float
    performance: float
    behind: float


@dataclass(frozen=True, eq=False)
class Assessment:
    """How things stand before anything is taught.

    Attributes
    ----------
    best, worst : the most and the least reward that a policy can have
    expert : the reward of the expert; an estimate if that was recorded
    weights : array [k]
    readings : Readings, two ways to take recorded episodes; None if nothing was recorded
    doubt : WeightDoubt, what is left under other plausible weights; None if they were not inferred
    risk : the teaching risk
    blind_spot : BlindSpot, what the learner confuses that matters most
    guaranteed : relative performance that the best of them proves
    stakes : Stakes, what that means in reward, and for what was asked
    account : ExpertAccount, what the expert does
    mismatch : ε, up to which learners are taken to match what is shown, in their features
    confidence : with which all of it holds
    demonstration : what is shown
    witness : the worst policy that could be mistaken for what is shown; None if none was found
    differences : how that differs from what is shown, what costs most first; features that differ
        by rounding are left out
    proved : Certificate, what the guarantee rests on: without the theorems
    problem : Problem that it is about
    patience : Patience, how long the rest may take; its `cut` says whether that was too short
    parts : two Part, to tell of what is being done
    """

    best: float
    worst: float
    expert: float
    weights: Floats
    doubt: WeightDoubt | None
    readings: Readings | None
    risk: float
    blind_spot: BlindSpot
    guaranteed: float
    stakes: Stakes
    account: ExpertAccount
    mismatch: float
    confidence: float
    demonstration: Demonstration
    witness: Policy | None
    differences: tuple[Difference, ...]
    proved: Certificate
    problem: Problem
    patience: Patience
    parts: tuple[Part, Part]

    @property
    def unfinished(self) -> bool:
        """Whether more may be guaranteed than was proved in the time."""
        return self.proved.worst is not None and unfinished(self.proved.worst)

    @property
    def cut(self) -> Cut | None:
        """What ended the work early; None if nothing did."""
        late = self.unfinished and self.patience.seconds < math.inf
        return self.patience.cut or (Cut.OUT_OF_TIME if late else None)

    @cached_property
    def relative_risk(self) -> float:
        """The teaching risk among what policies can change; NaN if there was no time for it."""
        problem, view = self.problem, self.problem.worldview
        found = self.patience.spared(
            lambda: relative_risk(
                problem.mdp, view, problem.weights, indistinct=problem.task.indistinct
            )
        )
        return math.nan if found is None else found

    @cached_property
    def certificate(self) -> Certificate:
        """All that is proved, with Theorems 1 and 2 and the best look if there is time for them."""
        problem, share, found = self.problem, self.patience.share(0.5, ASIDE), self.proved
        # The boxes around all policies' features take four MDPs a feature.
        solves = 4 * problem.mdp.n_features + LOOKS
        if not share.over():
            with share.strictly():
                if problem.plan_seconds * solves <= share.seconds:
                    found = certify(
                        problem.model,
                        problem.worldview,
                        problem.weights,
                        self.demonstration,
                        self.mismatch,
                        worst=found.worst,
                        width=found.width,
                        plans=(problem.task.best, problem.task.worst),
                        indistinct=problem.task.indistinct,
                    )
        self.parts[0].advance()
        return found

    @cached_property
    def over_rewards(self) -> OverRewards | None:
        """What holds under all plausible rewards; None if one is given, or there was no time."""
        problem, shown = self.problem, self.demonstration
        return over_rewards(problem, problem.worldview, shown, self.patience)

    @cached_property
    def sensitivity(self) -> Sensitivity | None:
        """What is guaranteed of learners who miss a little; None if there was no time for it."""
        problem = self.problem
        found = if_missed(problem, problem.worldview, self.demonstration, self.patience)
        self.parts[0].advance()
        return found

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """Those of Theorem 1, if there was time, of the width and of the exact worst case."""
        return _guarantees(self.problem.task, self.certificate, self.stakes.reward)

    @cached_property
    def learners(self) -> tuple[Simulated, ...]:
        """What each learner would do."""
        found, share = [], self.patience.share(1.0, ASIDE)
        for each in simulate(self.problem, self.proved, self.mismatch, share):
            found.append(each)
            self.parts[1].advance()
        return tuple(found)

    @cached_property
    def below(self) -> Shortfall | None:
        """The learner who falls furthest below what is guaranteed; None if nobody does."""
        learners, found = self.learners, list[Shortfall | None]()
        if not self.patience.over():
            with self.patience.strictly():
                found.append(_below(self.problem, self.guaranteed, learners))
        return found[0] if found else None


def assess(
    problem: Problem,
    *,
    seconds: float = math.inf,
    progress: Progress | None = None,
    kept: Kept | None = None,
) -> Assessment:
    """How things stand: what is guaranteed of the learner as it is, and what learners would do.

    Parameters
    ----------
    problem : Problem
    seconds : how long it may take in all; what is proved by then, or by Ctrl-C, is returned
    progress : Progress, to tell of what is being done; by default nobody is told
    kept : Kept, where what proves the guarantee is kept if it is cut short; by default nowhere

    Returns
    -------
    Assessment, with what is guaranteed; the rest is computed when it is asked for

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from teachirl.app.decisions import assess
    >>> from teachirl.app.problem import read_problem
    >>> text = '''
    ... [world]
    ... name = "chain"
    ... [reward.weights]
    ... "cell 1" = -1.0
    ... "cell 5" = 1.0
    ... [learner]
    ... sees = ["cell 3"]
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "figure_1.toml"
    ...     _ = path.write_text(text)
    ...     found = assess(read_problem(path))
    >>> found.guaranteed, round(found.risk, 9)
    (0.0, 1.0)
    >>> [(each.name, round(each.lost, 1)) for each in found.differences[:2]]
    [('cell 1', 4.1), ('cell 5', 4.1)]
    """
    progress, patience = progress or Progress(), Patience(seconds)
    parts = progress.part("theorems", 2), progress.part("learners", len(LEARNERS), weight=0.5)
    with patience.needed(NEEDED):
        view, task, goals = problem.worldview, problem.task, problem.goals
        shown, mismatch = task.demonstration, problem.matching.within(view, task.demonstration)
        best, worst = task.simulated
    found, proved = _proved(problem, mismatch, patience, kept or Kept())
    early = unfinished(found)
    known: dict[str, Any] = {"known": found, "least": proved.least_reward}
    promise = goals.promise(view, shown, problem.matching, max_seconds=patience.left(), **known)
    found = shown_briefly(problem, view, shown, found, patience)
    there = expectations_there(problem, found)
    risk, hidden = _hidden(problem, patience)
    return Assessment(
        best=best.value,
        worst=worst.value,
        expert=float(problem.weights @ problem.expert.expectations),
        weights=problem.weights,
        account=account_in_time(problem, patience),
        readings=readings(problem, view, patience),
        doubt=weight_doubt(problem, view, shown, promise.performance, patience, unfinished=early),
        risk=risk,
        blind_spot=hidden,
        guaranteed=promise.performance,
        stakes=stakes(problem, shown, promise, there, early, patience.last),
        mismatch=mismatch,
        confidence=proved.confidence,
        demonstration=shown,
        witness=matching_witness(found),
        differences=_apart(problem, there),
        proved=proved,
        problem=problem,
        patience=patience,
        parts=parts,
    )


def _apart(problem: Problem, there: Floats | None) -> tuple[Difference, ...]:
    """How feature expectations [k], if they are known, differ from those of what is shown."""
    shown = problem.task.demonstration.expectations
    return () if there is None else differences(problem.mdp, problem.weights, shown, there)


def _hidden(problem: Problem, patience: Patience) -> tuple[float, BlindSpot]:
    """The teaching risk, and what matters most of what is hidden; NaN and nothing said of a learner
    with columns of its own if there was no time for it."""
    mdp, view, weights = problem.mdp, problem.worldview, problem.weights
    if not problem.own and view.mdp is None:  # it takes no plans, and no time
        return problem.risk(view), blind_spot(mdp, view, weights)
    found = patience.spared(lambda: (problem.risk(view), blind_spot(mdp, view, weights)))
    return found or (math.nan, BlindSpot(0.0 * weights, math.nan, ""))


def _proved(
    problem: Problem, mismatch: float, patience: Patience, kept: Kept
) -> tuple[WorstCaseBounds, Certificate]:
    """The guarantee, without the theorems; from where an earlier search was cut short."""
    model, view, weights, task = problem.model, problem.worldview, problem.weights, problem.task
    shown, proof = task.demonstration, Proof(problem, mismatch)

    def certified(worst: WorstCaseBounds, **known: Any) -> Certificate:
        plans = task.best, task.worst
        case = model, view, weights, shown, mismatch
        return certify(*case, worst=worst, plans=plans, theorems=False, **known)

    with patience.needed(NEEDED):
        kept.follow(proof)
        # The width takes a plan: the search, which may end at any time, comes last.
        width = certified(unsearched(model, view, weights), target=0.0).width
    with patience.gently():
        limit = min(max(patience.share(SEARCHED).seconds, LEAST), AGES)
        found = task.worst_case(view, shown, problem.matching, max_seconds=limit, start=proof.theta)
    patience.renew()
    with patience.needed(NEEDED):
        proved = certified(found, width=width)
    proof.theta = found.theta
    kept.end((patience.cut or Cut.OUT_OF_TIME) if unfinished(found) else None)
    return found, proved


def _guarantees(task: Task, proved: Certificate, said: float) -> tuple[Guarantee, ...]:
    """What each of the certificates proves, from loose to exact, where so much reward was said to
    be guaranteed before the theorems."""
    return tuple(_guarantee(task, proved, bound, said) for bound in proved.bounds)


def _guarantee(task: Task, proved: Certificate, bound: Bound, said: float) -> Guarantee:
    """A bound with all that is known anyway; no bound holds where nobody matches."""
    behind, reward = proved.capped(bound)
    performance, before = (float(task.relative_at_least(each)) for each in (reward, said))
    if 0.0 < performance - before <= SAME_GUARANTEE:  # rounding is no better proof
        reward, performance = said, before
    return Guarantee(bound.name, float(reward), performance, float(behind))


def _below(problem: Problem, guaranteed: float, learners: Iterable[Simulated]) -> Shortfall | None:
    """The learner who falls furthest below what is guaranteed."""
    lowest = guaranteed - SAME_GUARANTEE, 0.0, ""
    for each in learners:
        if each.performance is not None and each.mismatch is not None:
            lowest = min(lowest, (each.performance, each.mismatch, each.name))
    performance, mismatch, name = lowest
    if not name:
        return None
    view, shown = problem.worldview, problem.task.demonstration
    return shortfall(problem, view, shown, name, performance, mismatch)


__all__ = ["Assessment", "Guarantee", "assess"]
