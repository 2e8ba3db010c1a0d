"""Recorded episodes, as a section: two readings, and what would have to be recorded."""

from __future__ import annotations

from ...figures.digits import asked, at_least, at_most, number, percent_at_least, small
from ..decisions import Assessment, Enough, Readings
from ..problem import Problem
from .elements import Bullets, Column, Section, Sentence, Table


def what_the_recordings_say(problem: Problem, found: Assessment | None) -> Section:
    """Both readings of recorded episodes; nothing if nothing was recorded.

    Parameters
    ----------
    problem : Problem
    found : Assessment, which has them; None if there is none

    Returns
    -------
    Section
    """
    title, both = "What the recordings say", None if found is None else found.readings
    if both is None:
        return Section(title, ())
    table = Table(
        "Two readings of the recordings",
        (
            Column("name", "if"),
            Column("mismatch", "up to", lambda x: small(x) if x < 1e-9 else at_most(x)),
            Column("guaranteed", "guaranteed", percent_at_least),
            Column("confidence", "confidence", asked),
        ),
        (both.recordings, both.expert),
        "readings",
    )
    said = (_taken(problem), _error(both), _earned(problem, both), _needed(both.enough))
    return Section(title, (table, Bullets(tuple(map(Sentence, said)), "recorded")))


def _taken(problem: Problem) -> str:
    if problem.mismatch is not None or problem.mismatch_share is not None:
        return "All else is about learners who match the recordings as `mismatch` says."
    other = 'match = "expert" in [demonstration] takes the other.'
    if problem.match == "expert":
        other = 'match = "recordings" in [demonstration] takes the other.'
    which = {"recordings": "first", "expert": "second"}[problem.match]
    return f"All else takes the {which} reading; {other}"


def _error(both: Readings) -> str:
    cut = small(both.cut) if small(both.cut).startswith("<") else at_most(both.cut)
    return (
        f"The expert may differ from the recordings by {at_most(both.expert.mismatch)} in the "
        f"learner's features: {cut} as episodes were cut off, which longer ones "
        f"mend, and {at_most(both.chance)} by chance, which more of them mend."
    )


def _earned(problem: Problem, both: Readings) -> str:
    low, high = both.earns
    return (
        f"The expert earns between {at_least(low)} and {at_most(high)} (confidence "
        f"{asked(both.expert.confidence)}); the recordings' mean is "
        f"{number(float(problem.weights @ problem.task.demonstration.expectations))}."
    )


def _needed(enough: Enough) -> str:
    wanted = percent_at_least(enough.wanted)
    if enough.steps is None:
        return (
            f"No number of episodes would guarantee {wanted}: learners who match the recordings "
            "may do worse. Teach more, or show something else."
        )
    if enough.episodes is None:
        return f"For the second reading to guarantee {wanted} would take far too many episodes."
    return (
        f"For the second reading to guarantee {wanted} would take about {enough.episodes} episodes "
        f"of {enough.steps} steps that vary as these do."
    )


__all__ = ["what_the_recordings_say"]
