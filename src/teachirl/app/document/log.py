"""What a log leaves open, as a section."""

from __future__ import annotations

from ...figures.digits import counted, number, percent, percent_at_least
from ..decisions import Assessment, LogDoubt, TeachingPlan, log_doubt
from ..problem import Problem
from .elements import Bullets, Column, Data, Section, Sentence, Table

# Pairs that are named in a sentence.
NAMED = 5


def what_the_log_leaves_open(
    problem: Problem, known: Assessment | None, plan: TeachingPlan | None
) -> Section:
    """How well the world is known, and where more steps would help; nothing if it is known.

    Parameters
    ----------
    problem : Problem
    known : Assessment, whose worst case is taken; None if there is none
    plan : TeachingPlan, after which more steps are to help; None if there is none

    Returns
    -------
    Section
    """
    title = "What the log leaves open"
    found = log_doubt(problem, None if known is None else known.proved.worst, plan)
    if found is None:
        return Section(title, ())
    columns = (
        Column("state", "state"),
        Column("action", "action"),
        Column("tries", "tried", lambda times: f"{times}"),
        Column("cost", "reward it costs, about", number),
        Column("share", "share of what all doubt costs", percent),
    )
    table = Table("More steps in these would help most", columns, found.costly, "costly_pairs")
    said = [_known(found), _untried(found), _learners()]
    if found.costly:
        said.append(_more_steps("as things stand" if plan is None else "after the plan"))
    return Section(
        title,
        (
            Bullets(tuple(map(Sentence, said)), "log"),
            *((table,) if found.costly else ()),
            Data("untried", lambda: list(found.untried)),
        ),
    )


def _known(found: LogDoubt) -> str:
    return (
        f"The model is known from {counted(found.steps, 'step')}: what is guaranteed holds in "
        "every world that they allow, and the true one is among these with confidence "
        f"{percent_at_least(found.confidence)}."
    )


def _untried(found: LogDoubt) -> str:
    n = len(found.untried)
    if not n:
        return f"Each of the {found.pairs} pairs of a state and an action was tried."
    names = "; ".join(found.untried[:NAMED]) + (" …" if n > NAMED else "")
    return (
        f"{counted(n, 'pair')} of {found.pairs} {'was' if n == 1 else 'were'} never tried "
        f"({names}): what follows may be whatever is allowed there."
    )


def _more_steps(when: str) -> str:
    return (
        "More steps in these pairs would help most: what the reward guaranteed "
        f"{when} would gain if they were known exactly, about."
    )


def _learners() -> str:
    return (
        "The best policy, the worst and what simulated learners earn are told of the estimate, as "
        "if it were true."
    )


__all__ = ["what_the_log_leaves_open"]
