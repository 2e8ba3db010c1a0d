"""What the numbers rest on, and what is left to say of a learner who falls short of them."""

from __future__ import annotations

from collections.abc import Iterator

from ...figures.digits import (
    asked,
    at_least,
    at_most,
    counted,
    money,
    percent_at_least,
    percents_apart,
    risk,
)
from ...guarantees.bounds import WorstCaseStatus
from ...teaching.prices import same_price
from ..decisions import Assessment, Cut, Shortfall, TeachingPlan
from ..decisions.worth import risk_misleads
from ..problem import Problem
from .elements import Bullets, Section, Sentence

# Said in place of what the time did not suffice for.
LEFT_OUT = "Left out, as it would have taken longer than the time for it: --seconds gives it more."
# Risks that differ by less are the same.
SAME_RISK = 1e-6


def rests_on(problem: Problem, assessment: Assessment | None = None) -> Section:
    """What a reader must know of where the numbers come from.

    Parameters
    ----------
    problem : Problem
    assessment : Assessment, whose doubts are told as well; None for none

    Returns
    -------
    Section, without sentences if there is nothing to say
    """
    said = [problem.world.note] if problem.world.note else []
    said += [*_of_the_learner(problem), *_of_rewards(problem), *_of_episodes(problem)]
    if assessment is not None:
        said += _of_the_worst_case(assessment)
    return Section("What this rests on", (Bullets(tuple(map(Sentence, said)), "notes"),))


def _of_the_learner(problem: Problem) -> Iterator[str]:
    found = problem.diagnosis
    if found is not None:
        yield (
            "Nobody knows what the learner sees: guarantees count with what is proved that it has, "
            f"with confidence {asked(found.confidence)}, and nothing else."
        )


def _of_rewards(problem: Problem) -> Iterator[str]:
    if problem.reward.residual > 1e-9:
        yield (
            f"The features leave {problem.reward.residual:.2g} of the rewards, in length, "
            "unexpressed: all that follows is about the reward that they do express."
        )
    if problem.many_features:
        yield (
            "With so many features it is not known which of their combinations no policy can "
            "change: risks are those of all together."
        )
    task = problem.task
    if task.relative_at_least(task.best.upper) == 0.0:
        yield (
            "All policies earn the same, as far as planning can tell: there is nothing to teach, "
            "and relative performances say nothing."
        )


def _of_episodes(problem: Problem) -> Iterator[str]:
    shown = problem.task.demonstration
    for episodes in (problem.reward.expert, shown.trajectories):
        if episodes is not None and episodes.left_out:
            yield episodes.left_out
    if shown.error > 0.0:
        count = "" if shown.trajectories is None else f"{len(shown.trajectories)} "
        allowed = "guarantees are for learners who match the episodes as `mismatch` says."
        given = problem.mismatch is not None or problem.mismatch_share is not None
        if not given and problem.match == "expert":
            allowed = "all guarantees allow for that, and hold with that confidence."
        elif not given:
            allowed = (
                "guarantees are for learners who match the episodes themselves, as closely as a "
                "policy can in all features, and what they earn is certain."
            )
        yield (
            f"What is shown are {count}recorded episodes, which say what the expert does up to "
            f"{at_most(shown.error_in(problem.worldview))} in the learner's features (confidence "
            f"{asked(shown.confidence)}): {allowed}"
        )
    if problem.mismatch_share:
        yield (
            "Guarantees are for learners who miss what they are shown by "
            f"{asked(problem.mismatch_share)} at most of what policies can change of each of their "
            "features, in all: features are counted in these units."
        )
    if problem.mismatch or (problem.mismatch is not None and shown.error > 0.0):
        yield (
            f"Guarantees are for learners who match what they are shown up to {problem.mismatch:g} "
            "in their features."
        )


def _of_the_worst_case(assessment: Assessment) -> Iterator[str]:
    proved = assessment.proved
    if not proved.matchable:
        yield (
            "No policy matches what is shown, so that nothing is guaranteed: `mismatch` says how "
            "closely the learner needs to."
        )
    elif proved.worst is not None and proved.worst.status is not WorstCaseStatus.OPTIMAL:
        yield f"The exact worst case: {proved.worst.status}."


def cut_short(cut: Cut | None, seconds: float, *, kept: bool = False) -> Sentence:
    """What ended the work early, and what to do about it; `kept` if it can be gone on from."""
    said, on = "", ", and --resume goes on from here" if kept else ""
    if cut is Cut.OUT_OF_TIME:
        said = f"Cut short after {seconds:g} seconds: --seconds gives it more time{on}."
    elif cut is not None:
        said = f"Cut short by Ctrl-C: what was proved by then is shown{on}."
    return Sentence(said, "cut_short")


def why_below(found: Shortfall, guaranteed: float) -> str:
    """Why a learner that is simulated does less than is guaranteed: it stops before it matches."""
    reached, promised = percents_apart(found.performance, guaranteed)
    return (
        f"{found.name} reaches {reached}, less than the {promised} that are guaranteed to learners "
        f"who match, as it misses what is shown by {at_most(found.mismatch)} in its features: of "
        f"learners who miss it by that much, {percent_at_least(found.guaranteed)} are guaranteed."
    )


def nearness(problem: Problem, plan: TeachingPlan) -> str:
    """How far from the best set of features a plan may be, in teaching risk; empty where the risk
    misleads.

    Parameters
    ----------
    problem : Problem
    plan : TeachingPlan

    Returns
    -------
    str, a sentence
    """
    gap = plan.gap
    if risk_misleads(problem):
        return ""
    if not plan.stop:
        return "Nothing is taught, so that there is nothing to compare."
    if gap is None:
        return f"How far the plan is from the best set: {LEFT_OUT[:1].lower()}{LEFT_OUT[1:]}"
    others = f"for {money(plan.steps[plan.stop].cost)} or less"
    if same_price(problem.task):
        others = f"of {counted(plan.stop, 'feature')}"
    below = at_least(gap.lower, scale=1.0) if gap.risk - gap.lower > SAME_RISK else "that"
    said = f"In teaching risk the plan ends at {risk(gap.risk)}, and no set {others} below {below}"
    if problem.world.model is not None:
        return f"{said}."
    return f"{said}; teachirl frontier compares what sets guarantee."


__all__ = ["LEFT_OUT", "cut_short", "nearness", "rests_on", "why_below"]
