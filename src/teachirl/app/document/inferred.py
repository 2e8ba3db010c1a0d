"""Weights that were inferred, as a section: what is known of each, and what hangs on it."""

from __future__ import annotations

import numpy as np

from ...demonstrations.plausible_weights import PlausibleWeights
from ...figures.digits import asked, percent_at_least, percent_at_most, risk
from ...precision import DEPENDENT
from ..decisions import Assessment
from ..problem import Problem
from .elements import Bullets, Column, Section, Sentence, Table
from .notes import LEFT_OUT


def what_the_expert_is_after(problem: Problem, found: Assessment | None) -> Section:
    """All weights with their intervals; nothing if they were given.

    Parameters
    ----------
    problem : Problem
    found : Assessment, which says what is guaranteed under other weights; None if there is none

    Returns
    -------
    Section
    """
    title = "What the expert is after"
    if problem.inferred is None:
        return Section(title, ())
    plausible, name = problem.inferred.plausible, problem.mdp.feature_name
    idle = _idle(plausible)
    table = Table(
        f"Weights inferred from episodes, of length 1 (confidence {plausible.confidence:g} for all "
        "together)",
        (
            Column("", "feature", value=name),
            Column("", "weight", value=lambda i: _two(plausible.weights[i])),
            Column("", "at least", value=lambda i: _two(plausible.lower[i])),
            Column("", "at most", value=lambda i: _two(plausible.upper[i])),
            Column(
                "", "sign", value=lambda i: IDLE if i in idle else SIGNS[int(plausible.signs[i])]
            ),
        ),
        tuple(range(problem.mdp.n_features)),
    )
    said = [problem.inferred.summary, _identified(problem, plausible)]
    if plausible.experts:
        said.append(PROVED if plausible.proved else SEARCHED)
    doubt = None if found is None else found.doubt
    if doubt is not None:
        low, high = percent_at_least(doubt.guaranteed[0]), percent_at_most(doubt.guaranteed[1])
        least, most = risk(doubt.risk[0]), risk(doubt.risk[1])
        said.append(
            f"Guarantees below are for the weights in the table. Under {doubt.drawn} others that "
            f"were drawn from all that are plausible, {low} to {high} are guaranteed, and the "
            f"teaching risk is {least} to {most}. So under {percent_at_least(1.0 - doubt.beyond)} "
            f"of all of them, spread evenly, {low} or more are guaranteed (confidence "
            f"{asked(doubt.confidence)}, if the draws count as independent)."
        )
    elif found is not None:
        said.append(f"What is guaranteed under other plausible weights: {LEFT_OUT}")
    return Section(title, (Bullets(tuple(map(Sentence, said)), "inferred"), table))


PROVED = (
    "The ends in the table are proved, by linear programs, if the expert is optimal but for slips; "
    "if it is soft, they are searched for."
)
SEARCHED = "The ends in the table are searched for, and not proved."
SIGNS = {1: "+", -1: "−", 0: "not known"}
IDLE = "earns all alike"


def _two(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


def _idle(plausible: PlausibleWeights) -> set[int]:
    """The features of which all policies have the same amount: their weights change nothing."""
    return set(np.flatnonzero(np.linalg.norm(plausible.basis, axis=0) <= DEPENDENT).tolist())


def _identified(problem: Problem, plausible: PlausibleWeights) -> str:
    """Which weights are known in sign, which are not, and which do not matter."""
    idle, name = _idle(plausible), problem.mdp.feature_name
    unknown = [name(i) for i, sign in enumerate(plausible.signs) if sign == 0 and i not in idle]
    said = "The sign of every weight is known."
    if unknown:
        said = f"Not identified, as either sign is plausible: {_few(unknown)}."
    if idle:
        said += f" All policies have as much of {_few([name(i) for i in sorted(idle)])}, so that "
        said += "no choice tells of the weight, and none depends on it."
    return said


def _few(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


__all__ = ["what_the_expert_is_after"]
