"""The learner as she is: what is guaranteed of her, what she could get wrong, what she would do."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...arrays import Floats
from ...demonstrations.demonstration import Demonstration
from ...guarantees.apparent_optimality import Look
from ...guarantees.bounds import WorstCaseStatus
from ...guarantees.certificate import Bound, Certificate, certify
from ...guarantees.worst_case import diameter
from ...mdp.occupancy import feature_expectations
from ...mdp.policy import Policy
from ...precision import INVISIBLE
from ...study.progress import Progress
from ...teaching.task import Task
from ...views.teaching_risk import BlindSpot, blind_spot, relative_risk, teaching_risk
from ..digits import at_least, at_most
from ..problem import Problem
from .basis import (
    SAME_GUARANTEE,
    Difference,
    differences,
    notes_on,
    why_below,
)
from .simulations import LEARNERS, Simulated, simulate


@dataclass(frozen=True)
class Guarantee:
    """What one certificate proves of every learner who matches what she is shown.

    Attributes
    ----------
    name : ``Theorem 1``, ``width`` or ``exact``
    reward : she earns at least this
    performance : the same as a relative performance, in [0, 1]
    behind : the expert earns at most this much more
    sentence : what it says, and `assumes` what it takes for granted
    """

    name: str
    reward: float
    performance: float
    behind: float
    sentence: str
    assumes: str


@dataclass(frozen=True, eq=False)
class Standing:
    """How things stand before anything is taught.

    Attributes
    ----------
    title : of the problem
    world : what the world is, in a few words
    best, worst : the most and the least reward that a policy can have
    expert : the reward of what is demonstrated; an estimate if that was recorded
    weights : array [k]; `spread` [k], their standard errors, if they were inferred
    notes : sentences on what all of this rests on: an inferred or projected reward, episodes
    risk, relative_risk : the teaching risk, and that among what policies can change
    blind_spot : BlindSpot, what she confuses that matters most
    guarantees : those of Theorem 1, of the width and of the exact worst case, in this order
    guaranteed : relative performance that the best of them proves
    mismatch : ε, up to which she is taken to match what she is shown, in her features
    confidence : with which all of it holds
    demonstration : what she is shown
    witness : the worst policy that she could mistake for the expert's; None if none was found
    differences : how that differs from the expert's, what costs most first; features that differ by
        rounding are left out
    looks : sentences on whether the expert's behaviour can look optimal to her, Theorem 2 and exact
    learners : what each learner would do
    below : a sentence, why the one who falls furthest below what is guaranteed does so; empty if
        nobody does
    certificate : Certificate, with all the terms
    """

    title: str
    world: str
    best: float
    worst: float
    expert: float
    weights: Floats
    spread: Floats | None
    notes: tuple[str, ...]
    risk: float
    relative_risk: float
    blind_spot: BlindSpot
    guarantees: tuple[Guarantee, ...]
    guaranteed: float
    mismatch: float
    confidence: float
    demonstration: Demonstration
    witness: Policy | None
    differences: tuple[Difference, ...]
    looks: tuple[str, ...]
    learners: tuple[Simulated, ...]
    below: str
    certificate: Certificate


def assess(problem: Problem, *, progress: Progress | None = None) -> Standing:
    """How things stand: what is guaranteed of the learner as she is, and what she would do.

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
    ...     standing = assess(read_problem(path))
    >>> standing.guaranteed, round(standing.risk, 9)
    (0.0, 1.0)
    >>> [(each.name, round(each.lost, 1)) for each in standing.differences[:2]]
    [('cell 1', 4.1), ('cell 5', 4.1)]
    """
    progress = progress or Progress()
    proofs = progress.part("as she is: certificates", 3)
    people = progress.part("as she is: learners", len(LEARNERS), weight=0.5)
    task, view = problem.task, problem.worldview
    mdp, weights, shown = problem.mdp, problem.weights, task.demonstration
    indistinct = task.indistinct
    proofs.advance()
    size = diameter(mdp)
    proofs.advance()
    mismatch = problem.matching.within(view, shown)
    proved = certify(mdp, view, weights, shown, mismatch, size=size, indistinct=indistinct)
    proofs.advance()
    learners = []
    for each in simulate(problem, proved, mismatch):
        learners.append(each)
        people.advance()
    assert proved.theorem_1 and proved.exact and proved.worst and proved.theorem_2 and proved.look
    witness = proved.worst.witness if proved.matchable else None
    return Standing(
        title=problem.title,
        world=(
            f"{mdp.n_states} states, {mdp.n_pairs} state-action pairs, {mdp.n_features} features "
            f"of which she sees {view.rank}, discount {mdp.discount:g}"
        ),
        best=task.best.value,
        worst=task.worst.value,
        expert=float(weights @ shown.expectations),
        weights=weights,
        spread=None if problem.inferred is None else problem.inferred.spread,
        notes=notes_on(problem) + _doubts(proved),
        risk=teaching_risk(view, weights),
        relative_risk=relative_risk(mdp, view, weights, indistinct=indistinct),
        blind_spot=blind_spot(mdp, view, weights),
        guarantees=tuple(
            _guarantee(task, proved, bound)
            for bound in (proved.theorem_1, proved.width, proved.exact)
        ),
        guaranteed=proved.guaranteed,
        mismatch=mismatch,
        confidence=proved.confidence,
        demonstration=shown,
        witness=witness,
        differences=()
        if witness is None
        else differences(mdp, weights, shown.expectations, feature_expectations(mdp, witness)),
        looks=(proved.theorem_2.sentence, _look(proved.look)),
        learners=tuple(learners),
        below=_below(problem, proved, learners),
        certificate=proved,
    )


def _guarantee(task: Task, proved: Certificate, bound: Bound) -> Guarantee:
    """A bound with all that is known anyway; no bound holds where nobody matches."""
    reward, behind = task.worst.lower, proved.against_expert
    if proved.matchable:
        reward = max(bound.least, reward)
        behind = min(bound.gap, task.best.upper - reward)
    return Guarantee(
        name=bound.name,
        reward=float(reward),
        performance=float(task.relative_at_least(reward)),
        behind=float(behind),
        sentence=_sentence(task, proved, bound),
        assumes=bound.assumes,
    )


def _sentence(task: Task, proved: Certificate, bound: Bound) -> str:
    """What a bound says, in digits that never promise more than is proved."""
    if not proved.matchable:
        return bound.sentence
    scale, terms = task.best.value - task.worst.value, bound.terms
    if bound is proved.exact:
        assert proved.worst is not None
        least, most = at_least(proved.worst.lower, scale), proved.worst.upper
        if not math.isfinite(most):
            return f"No policy that looks right to her earns less than {least}."
        return (
            f"There is a policy that looks right to her and earns no more than "
            f"{at_most(most, scale)}; none that looks right earns less than {least}."
        )
    hidden, blur = at_most(terms["hidden"], scale), at_most(terms["mismatch"], scale)
    missed = at_most(terms["ε"])
    if bound is proved.width:
        said = (
            f"In the part of the reward that she cannot see, no policy is further below the expert "
            f"than {hidden}"
        )
        more = f", and in the part that she sees a mismatch of {missed} may cost another {blur}"
    else:
        said = (
            f"The teaching risk, of the reward or of what policies can change of it, is "
            f"{terms['risk']:.2f}, and policies can be {at_most(terms['diameter'])} apart: that "
            f"may cost {hidden}"
        )
        more = f", and a mismatch of {missed} another {blur}"
    # Where she matches exactly, what is left of it is rounding.
    return f"{said}{more if terms['ε'] > 0.0 and terms['mismatch'] > 0.0 else ''}."


def _look(look: Look) -> str:
    """Whether he can look optimal to her, without the digits of rounding."""
    if look.vacuous or look.share > INVISIBLE:
        return look.sentence
    return (
        "There is a reward in her features under which the demonstrated policy is optimal, up to "
        "rounding."
    )


def _below(problem: Problem, proved: Certificate, learners: list[Simulated]) -> str:
    lowest = proved.guaranteed - SAME_GUARANTEE, 0.0, ""
    for each in learners:
        if each.performance is not None and each.mismatch is not None:
            lowest = min(lowest, (each.performance, each.mismatch, each.name))
    performance, mismatch, name = lowest
    view, shown = problem.worldview, problem.task.demonstration
    return why_below(problem, view, shown, name, performance, mismatch) if name else ""


def _doubts(proved: Certificate) -> tuple[str, ...]:
    assert proved.worst is not None
    if not proved.matchable:
        return (
            "No policy matches what she is shown, so that nothing is guaranteed: `mismatch` says "
            "how closely she needs to.",
        )
    if proved.worst.status is not WorstCaseStatus.OPTIMAL:
        return (f"The exact worst case: {proved.worst.status}.",)
    return ()


__all__ = ["Difference", "Guarantee", "Simulated", "Standing", "assess"]
