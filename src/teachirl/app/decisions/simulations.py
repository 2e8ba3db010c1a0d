"""What each learner would really do."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from ...errors import TeachirlError
from ...guarantees.certificate import Certificate
from ...learners import (
    Adversarial,
    Benevolent,
    Informed,
    Learned,
    LearnStatus,
    LinearProgram,
    MaxCausalEntropy,
    MaxMargin,
    MinNormPoint,
    MultiplicativeWeights,
    Projection,
)
from ...mdp.occupancy import feature_expectations
from ...mdp.policy import Policy
from ..problem import Problem
from .patience import Patience

LEARNERS: tuple[type[Any], ...] = (
    Projection,
    MaxMargin,
    MinNormPoint,
    MaxCausalEntropy,
    MultiplicativeWeights,
    LinearProgram,
    Adversarial,
    Benevolent,
)
# Transitions that all steps of a learner may go through, and steps that there are at least: a few
# seconds. A step of soft planning costs as much as several of the other kind.
WORK, SOFT_WORK, STEPS = 15_000_000, 6_000_000, 50
# Transitions up to which the learner's linear program takes seconds.
PROGRAM = 20_000
# Independent features of the learner's up to which their factorisations take seconds.
FACTORED = 1_000


class Outcome(enum.Enum):
    """How a simulation ended."""

    LEARNED = enum.auto()
    WORST_CASE = enum.auto()
    OUT_OF_STEPS = enum.auto()
    TOO_LARGE = enum.auto()
    REFUSED = enum.auto()
    CUT = enum.auto()
    INTERRUPTED = enum.auto()

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Simulated:
    """What a learner makes of what is shown.

    Attributes
    ----------
    name : of the learner
    outcome : Outcome: it learned, is the worst case that is known, was stopped as the world is
        large, was left out as the world is too large, raised an error, or its turn never came, as
        time was up or after Ctrl-C
    performance : its relative performance; None if it was not simulated
    mismatch : ‖A(μ_L − μ_T)‖, between it and the demonstration; None if it was not simulated
    status : LearnStatus, how its learning ended; None if it did not learn
    steps : after how many steps it was stopped; None if it was not
    error : what it raised; None if nothing
    """

    name: str
    outcome: Outcome
    performance: float | None = None
    mismatch: float | None = None
    status: LearnStatus | None = None
    steps: int | None = None
    error: TeachirlError | None = None


def simulate(
    problem: Problem, certificate: Certificate, mismatch: float, patience: Patience
) -> Iterator[Simulated]:
    """Each learner in turn; the file's own with its parameters, the others with the usual ones.

    Parameters
    ----------
    problem : Problem
    certificate : Certificate, whose witness is what the adversarial learner does
    mismatch : ε, up to which the adversarial and the benevolent one may miss
    patience : Patience; once it is over, nobody more learns

    Returns
    -------
    iterator of Simulated
    """
    for kind in LEARNERS:
        found = None
        if not patience.over():
            with patience.strictly():
                if isinstance(problem.learner, kind):
                    found = _learned(problem, problem.learner, None)
                else:
                    found = _usual(problem, kind, certificate, mismatch)
        why = Outcome.INTERRUPTED if patience.interrupted else Outcome.CUT
        yield found or Simulated(kind.__name__, why)


def _usual(
    problem: Problem, kind: type[Any], certificate: Certificate, mismatch: float
) -> Simulated:
    """A learner of that kind, in the time that there is for it."""
    transitions = problem.mdp.dynamics.transitions.nnz
    learner: Any = kind()
    if isinstance(learner, Informed):
        learner = kind(mismatch=mismatch)
    worst = certificate.worst if certificate.matchable else None
    if kind is Adversarial and worst is not None and worst.witness is not None:
        performance = _performance(problem, worst.witness)
        return Simulated(kind.__name__, Outcome.WORST_CASE, performance, worst.matched)
    factored = kind is MaxCausalEntropy or isinstance(learner, Informed)
    if (kind is LinearProgram and transitions > PROGRAM) or (
        factored and min(problem.worldview.rank, problem.mdp.n_pairs) > FACTORED
    ):
        return Simulated(kind.__name__, Outcome.TOO_LARGE)
    steps = None
    if "max_steps" in {field.name for field in fields(learner)}:
        work = SOFT_WORK if kind is MaxCausalEntropy else WORK
        limit = max(work // transitions, STEPS)
        if limit <= learner.max_steps:
            steps, learner = limit, replace(learner, max_steps=limit)
    return _learned(problem, learner, steps)


def _learned(problem: Problem, learner: Any, steps: int | None) -> Simulated:
    """What a learner does, who has at most so many steps if the world is large."""
    name, view = type(learner).__name__, problem.worldview
    if isinstance(learner, Informed):
        learner = learner.informed(problem.mdp, problem.weights)
    target = view.matrix @ problem.task.demonstration.expectations
    start = Policy.uniform(problem.mdp)  # as in lessons
    try:
        learned: Learned = learner.learn(view.observe(problem.mdp), target, start)
    except TeachirlError as error:
        return Simulated(name, Outcome.REFUSED, error=error)
    stopped = steps is not None and learned.status is LearnStatus.OUT_OF_STEPS
    return Simulated(
        name,
        Outcome.OUT_OF_STEPS if stopped else Outcome.LEARNED,
        _performance(problem, learned.policy),
        learned.mismatch,
        learned.status,
        steps if stopped else None,
    )


def _performance(problem: Problem, policy: Policy) -> float:
    earned = float(problem.weights @ feature_expectations(problem.mdp, policy))
    return problem.task.relative(earned)


__all__ = ["LEARNERS", "Outcome", "Simulated", "simulate"]
