"""What each learner would really do."""

from __future__ import annotations

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
# Transitions that all steps of a learner may go through, and steps that she has at least: a few
# seconds. A step of soft planning costs as much as several of the other kind.
WORK, SOFT_WORK, STEPS = 15_000_000, 6_000_000, 50
# Transitions up to which the learner's linear program takes seconds.
PROGRAM = 20_000
WORST = "the worst that matches, by the exact worst case"


@dataclass(frozen=True)
class Simulated:
    """What a learner makes of what she is shown.

    Attributes
    ----------
    name : of the learner
    performance : her relative performance; None if she was not simulated
    mismatch : ‖A(μ_L − μ_T)‖, between her and the demonstration; None if she was not simulated
    ended : how her learning ended, or why she was not simulated
    """

    name: str
    performance: float | None
    mismatch: float | None
    ended: str


def simulate(problem: Problem, certificate: Certificate, mismatch: float) -> Iterator[Simulated]:
    """Each learner in turn; the file's own with its parameters, the others with the usual ones.

    Parameters
    ----------
    certificate : Certificate, whose witness is what the adversarial learner does
    mismatch : ε, up to which the adversarial and the benevolent one may miss
    """
    for kind in LEARNERS:
        own = isinstance(problem.learner, kind)
        learner = problem.learner if own else kind()
        if not own and isinstance(learner, Informed):
            learner = kind(mismatch=mismatch)
        yield _simulated(problem, learner, certificate, own)


def _simulated(problem: Problem, learner: Any, certificate: Certificate, own: bool) -> Simulated:
    name, task = type(learner).__name__, problem.task
    worst = certificate.worst if certificate.matchable else None
    witness = None if worst is None or own else worst.witness
    transitions = problem.mdp.dynamics.transitions.nnz
    if isinstance(learner, Adversarial) and worst is not None and witness is not None:
        return Simulated(name, _performance(problem, witness), worst.matched, WORST)
    if isinstance(learner, LinearProgram) and not own and transitions > PROGRAM:
        why = f"not simulated: a linear program of {transitions} transitions takes too long"
        return Simulated(name, None, None, why)
    steps = None
    if not own and "max_steps" in {field.name for field in fields(learner)}:
        work = SOFT_WORK if isinstance(learner, MaxCausalEntropy) else WORK
        limit = max(work // transitions, STEPS)
        if limit <= learner.max_steps:
            steps, learner = limit, replace(learner, max_steps=limit)
    if isinstance(learner, Informed):
        learner = learner.informed(problem.mdp, problem.weights)
    view = problem.worldview
    target = view.matrix @ task.demonstration.expectations
    start = Policy.uniform(problem.mdp)  # as in lessons
    try:
        learned: Learned = learner.learn(view.observe(problem.mdp), target, start)
    except TeachirlError as error:
        return Simulated(name, None, None, f"not simulated: {error}")
    ended = str(learned.status)
    if learned.status is LearnStatus.OUT_OF_STEPS and steps is not None:
        ended = f"stopped after {steps} steps, all that she is given in a world of this size"
    return Simulated(name, _performance(problem, learned.policy), learned.mismatch, ended)


def _performance(problem: Problem, policy: Policy) -> float:
    earned = float(problem.weights @ feature_expectations(problem.mdp, policy))
    return problem.task.relative(earned)


__all__ = ["LEARNERS", "Simulated", "simulate"]
