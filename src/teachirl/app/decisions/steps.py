"""The steps of a plan: what each teaches and guarantees, and what would have been second best."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...teaching.rounds import Moment
from ...teaching.teacher import Teacher
from ..problem import Problem
from .patience import Patience
from .ways import Way


@dataclass(frozen=True)
class Alternative:
    """The second-best choice of a step.

    Attributes
    ----------
    name, price : of the feature
    guaranteed : relative performance that would be guaranteed had it been taught instead
    reward : the same, as a reward
    """

    name: str
    price: float
    guaranteed: float
    reward: float


@dataclass(frozen=True)
class Step:
    """A step of the plan; step 0 is the learner as it is.

    Attributes
    ----------
    feature : index into the task's teachable features; None in step 0
    name, price : of the feature; empty and 0 in step 0
    cost : of all features so far
    risk : the teaching risk after the step
    guaranteed : relative performance that is guaranteed after the step
    reward : the reward that is guaranteed then
    amounts : what is guaranteed then of each goal
    performance : relative performance of the simulated learner after the step
    mismatch : how far the simulated learner is from the demonstration, in its features
    new_demonstration : whether another policy is demonstrated from this step on
    alternative : what the teacher would have chosen were that feature not there; None if nothing
        else would help, the feature is required, or the set was chosen as a whole, and what would
        be chosen guarantees more than this step of it
    """

    feature: int | None
    name: str
    price: float
    cost: float
    risk: float
    guaranteed: float
    reward: float
    amounts: tuple[float, ...]
    performance: float
    mismatch: float
    new_demonstration: bool
    alternative: Alternative | None


def step_of(problem: Problem, moment: Moment, alternative: Alternative | None) -> Step:
    each, promise = moment.round, moment.promise
    assert promise is not None
    return Step(
        feature=each.taught,
        name=each.name,
        price=0.0 if each.taught is None else float(problem.teachables.costs[each.taught]),
        cost=each.cost,
        risk=each.risk if problem.own == 0 else each.relative_risk,
        guaranteed=float(each.guaranteed),
        reward=promise.reward,
        amounts=promise.amounts,
        performance=each.performance,
        mismatch=each.mismatch,
        new_demonstration=each.shown,
        alternative=alternative,
    )


def second_best(
    problem: Problem, teacher: Teacher, moments: list[Moment], patience: Patience
) -> tuple[Alternative, Way] | None:
    """What the teacher would choose in the last round were the first not there, and where that
    leads; None if there is no time to ask."""
    found = None
    if not patience.over():
        with patience.strictly():
            found = _second_best(problem, teacher, moments)
    return found


def _second_best(
    problem: Problem, teacher: Teacher, moments: list[Moment]
) -> tuple[Alternative, Way] | None:
    """Of required features the order hardly matters: for those there is none."""
    situation, choice = moments[-1].situation, moments[-1].choice
    if situation is None or choice is None or situation.must_teach:
        return None
    left = situation.candidates[situation.candidates != choice.feature]
    feature, shown = choice.second, situation.demonstration
    if feature is None and len(left):
        # With dice of its own, so that to ask for it changes nothing.
        rng = np.random.default_rng(0)
        other = teacher.choose(replace(situation, candidates=left), rng)
        feature, shown = other.feature, other.demonstration or shown
    if feature is None:
        return None
    features, before = problem.teachables, tuple(each.demonstration for each in moments[1:-1])
    view = situation.view.extend(problem.teachable[feature])
    then = problem.aims.promise(view, shown, problem.matching)
    name, price = features.names[feature], float(features.costs[feature])
    way = Way((*situation.taught, feature), (*before, shown), then)
    return Alternative(name, price, then.performance, then.reward), way


__all__ = ["Alternative", "Step", "second_best", "step_of"]
