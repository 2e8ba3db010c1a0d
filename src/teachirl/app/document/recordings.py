"""Recorded episodes, as a section: two readings, and what would have to be recorded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ...figures.digits import asked, at_most, money, percent_at_least, small
from ..decisions import Assessment, Enough, OnceRecorded, Readings, TeachingPlan
from ..problem import Problem, Show
from .elements import Bullets, Column, Section, Sentence, Table
from .notes import LEFT_OUT
from .rewards import earned, guaranteed, performance, reward_range
from .stakes import who_earns


def what_the_recordings_say(
    problem: Problem, known: Assessment | None, plan: TeachingPlan | None
) -> Section:
    """Both readings of recorded episodes, as things stand and after a plan; nothing if nothing was
    recorded.

    Parameters
    ----------
    problem : Problem
    known : Assessment, which has them as things stand; None if there is none
    plan : TeachingPlan, which has them after it; None if there is none

    Returns
    -------
    Section
    """
    title, now = "What the recordings say", None if known is None else known.readings
    then = None if plan is None or (now and not plan.taught) else plan.readings
    before = None if plan is None or now else plan.readings_before
    before = before if now is None else now.both
    if before is None:
        late = problem.show is Show.RECORDED and (known is not None or plan is not None)
        return Section(title, (Sentence(LEFT_OUT),) if late else ())
    taught, share = plan is not None and bool(plan.taught), partial(performance, problem)
    table = Table(
        "Two readings of the recordings",
        (
            Column("name", "if", value=lambda row: row[0].name),
            Column("mismatch", "up to", _up_to, lambda row: row[0].mismatch),
            Column("guaranteed", "guaranteed", share, lambda row: row[0].guaranteed),
            *(() if then is None else _after_the_plan(taught, share)),
            Column("confidence", "confidence", asked, lambda row: row[0].confidence),
        ),
        tuple(zip(before, before if then is None else then.both, strict=True)),
        "readings",
    )
    told = [(each, after) for each, after in ((now, False), (then, taught)) if each is not None]
    said = [_taken(problem), *(_error(*each) for each in told)]
    said += [_earned(problem, told[0][0])] if told else []
    once = None if plan is None else plan.once_recorded
    if once is not None:
        said.append(once_enough(once))
    else:
        said += [_needed(both.enough, after) for both, after in told[-1:] if both.enough]
    return Section(title, (table, Bullets(tuple(map(Sentence, said)), "recorded")))


def _after_the_plan(taught: bool, share: Callable[[float], str]) -> tuple[Column, ...]:
    """The same once something is taught; for programs alone if nothing is."""
    within, reached = "after the plan, up to", "guaranteed by the plan"
    return (
        Column("mismatch_by_plan", within if taught else None, _up_to, lambda row: row[1].mismatch),
        Column(
            "guaranteed_by_plan",
            reached if taught else None,
            share,
            lambda row: row[1].guaranteed,
        ),
    )


def _up_to(mismatch: float) -> str:
    return small(mismatch) if mismatch < 1e-9 else at_most(mismatch)


def _begun(after: bool, text: str) -> str:
    return f"After the plan, {text[:1].lower()}{text[1:]}" if after else text


def _taken(problem: Problem) -> str:
    if problem.mismatch is not None or problem.mismatch_share is not None:
        return "All else is about learners who match the recordings as `mismatch` says."
    other = 'match = "expert" in [demonstration] takes the other.'
    if problem.match == "expert":
        other = 'match = "recordings" in [demonstration] takes the other.'
    which = {"recordings": "first", "expert": "second"}[problem.match]
    return f"All else takes the {which} reading; {other}"


def _error(both: Readings, after: bool) -> str:
    return _begun(
        after,
        f"The expert may differ from the recordings by {at_most(both.expert.mismatch)} in the "
        f"learner's features: {_up_to(both.cut)} as episodes were cut off, which longer ones "
        f"mend, and {at_most(both.chance)} by chance, which more of them mend.",
    )


def _earned(problem: Problem, both: Readings) -> str:
    (low, high), scale = both.earns, reward_range(problem)
    mean = float(problem.weights @ problem.task.demonstration.expectations)
    return (
        f"The expert earns between {guaranteed(problem, low)} and {at_most(high, scale)} "
        f"(confidence {asked(both.expert.confidence)}); {who_earns(problem)}, "
        f"{earned(problem, mean)}."
    )


def once_enough(once: OnceRecorded) -> str:
    """What to teach and to record for what is asked for, if learners match the expert.

    Parameters
    ----------
    once : OnceRecorded

    Returns
    -------
    str, a sentence
    """
    enough, wanted = once.enough, _wanted(once.enough)
    if enough.steps is None:
        return (
            f"No number of episodes as long as these would guarantee {wanted}, whatever is taught: "
            "learners who match the recordings may do worse. Show something else."
        )
    if enough.episodes is None:
        return f"To guarantee {wanted} would take far too many episodes, whatever is taught."
    first = f"Teach {', '.join(once.names)} ({money(once.cost)}), and record"
    return (
        f"{first if once.names else 'Record'} about {enough.episodes} episodes of {enough.steps} "
        f"steps that vary as these do: that would guarantee {wanted}."
    )


def _wanted(enough: Enough) -> str:
    return "what was asked for" if enough.wanted is None else percent_at_least(enough.wanted)


def _needed(enough: Enough, after: bool) -> str:
    wanted = _wanted(enough)
    said = f"For the second reading to guarantee {wanted} would take far too many episodes."
    if enough.steps is None:
        said = (
            f"No number of episodes as long as these would guarantee {wanted}: learners who match "
            "the recordings may do worse. Teach more, or show something else."
        )
    elif enough.episodes == 0:
        said = f"For the second reading to guarantee {wanted} these episodes are enough."
    elif enough.episodes is not None:
        said = (
            f"For the second reading to guarantee {wanted} would take about {enough.episodes} "
            f"episodes of {enough.steps} steps that vary as these do."
        )
    return _begun(after, said)


__all__ = ["once_enough", "what_the_recordings_say"]
