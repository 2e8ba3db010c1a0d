"""Weights that were inferred, as a section: what is known of each, and what hangs on it."""

from __future__ import annotations

import numpy as np

from ...demonstrations.plausible_weights import NONE_FOUND, PlausibleWeights
from ...figures.digits import asked, counted, percent_at_least, percent_at_most, risk
from ...precision import DEPENDENT
from ..decisions import Assessment, TeachingPlan, WeightDoubt
from ..problem import Problem
from .elements import Bullets, Column, Section, Sentence, Table
from .notes import LEFT_OUT


def other_weights(problem: Problem, doubt: WeightDoubt | None, when: str) -> Sentence:
    """What is guaranteed if the weights that were inferred are others, in short.

    Parameters
    ----------
    problem : Problem
    doubt : WeightDoubt; None if they were not inferred, no plausible ones were found, or there was
        no time for it
    when : of what it is said, as in "by the plan"

    Returns
    -------
    Sentence, empty if there is nothing to say
    """
    if problem.inferred is not None and not problem.inferred.plausible.experts:
        return Sentence(
            f"The weights were inferred, and are not to be relied on: {NONE_FOUND}. What is "
            f"guaranteed {when} is so under the estimate alone."
        )
    if doubt is None:
        return Sentence("")
    # Beside those that the file has drawn, which are others again.
    others = counted(doubt.drawn, "other")
    others = others if problem.rewards is None else f"{doubt.drawn} more"
    return Sentence(
        f"The weights were inferred, and are not certain: under these and "
        f"{others} that {'is' if doubt.drawn == 1 else 'are'} as plausible, "
        f"{_range(doubt)} are guaranteed {when}."
    )


def what_the_expert_is_after(
    problem: Problem, found: Assessment | None, plan: TeachingPlan | None = None
) -> Section:
    """All weights with their intervals; nothing if they were given.

    Parameters
    ----------
    problem : Problem
    found : Assessment, which says what is guaranteed under other weights; None if there is none
    plan : TeachingPlan, which says what it guarantees under them; None if there is none

    Returns
    -------
    Section
    """
    title = "What the expert is after"
    if problem.inferred is None:
        return Section(title, ())
    plausible, name = problem.inferred.plausible, problem.mdp.feature_name
    idle, about = _idle(plausible), "" if plausible.proved else ", about"
    ends = (
        Column("", f"at least{about}", value=lambda i: _two(plausible.lower[i])),
        Column("", f"at most{about}", value=lambda i: _two(plausible.upper[i])),
        Column("", "sign", value=lambda i: IDLE if i in idle else SIGNS[int(plausible.signs[i])]),
    )
    sure = f" (confidence {asked(plausible.confidence)} for all together)"
    table = Table(
        "Weights inferred from episodes, of length 1" + (sure if plausible.experts else ""),
        (
            Column("", "feature", value=name),
            Column("", "weight", value=lambda i: _two(plausible.weights[i])),
            *(ends if plausible.experts else ()),
        ),
        tuple(range(problem.mdp.n_features)),
    )
    said = [problem.inferred.summary]
    if plausible.experts:
        said += [_identified(problem, plausible), PROVED if plausible.proved else SEARCHED]
        if found is not None:
            said.append(_under_others(found.doubt, "as things stand"))
        if plan is not None and (plan.taught or found is None):
            said.append(_under_others(plan.doubt, "by the plan"))
    else:
        said.append(ESTIMATE)
    return Section(title, (Bullets(tuple(map(Sentence, said)), "inferred"), table))


def _under_others(doubt: WeightDoubt | None, when: str) -> str:
    """What is guaranteed under other plausible weights, and of how many of them that holds."""
    if doubt is None:
        return f"What is guaranteed under other plausible weights: {LEFT_OUT}"
    low = percent_at_least(doubt.guaranteed[0])
    more = low if doubt.guaranteed[0] == 1.0 else f"{low} or more"
    risks = " to ".join(dict.fromkeys(map(risk, doubt.risk)))
    return (
        "Guarantees below are for the weights in the table. Under these and "
        f"{counted(doubt.drawn, 'other')} that {'was' if doubt.drawn == 1 else 'were'} drawn from "
        f"all that are plausible, {_range(doubt)} are guaranteed {when}, and the "
        f"teaching risk is {risks}. So {more} are guaranteed under at least "
        f"{percent_at_least(1.0 - doubt.beyond)} of all plausible weights, each of which counts as "
        f"much (confidence {asked(doubt.confidence)}, if the draws count as independent)."
    )


def _range(doubt: WeightDoubt) -> str:
    """What is guaranteed, from the least to the most."""
    ends = percent_at_least(doubt.guaranteed[0]), percent_at_most(doubt.guaranteed[1])
    return " to ".join(dict.fromkeys(ends))


PROVED = (
    "The ends in the table are proved, by cone programs, if the expert is optimal but for slips; "
    "if it is soft, they are searched for."
)
SEARCHED = (
    "The ends in the table are searched for, and not proved: a tenth of what was found is added on "
    "either side, and weights a little beyond them may be plausible all the same."
)
ESTIMATE = (
    "Guarantees below are for the weights in the table, and say nothing of others: the expert may "
    "be after something that the features do not have, or be of another kind."
)
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


__all__ = ["other_weights", "what_the_expert_is_after"]
