"""Several plausible rewards, as a section: what holds if the reward is any of them."""

from __future__ import annotations

import numpy as np

from ...figures.digits import (
    asked,
    at_least,
    money,
    number,
    percent,
    percent_at_least,
    percent_at_most,
)
from ...mdp.rewards.rewards import RewardsKind
from ...precision import INVISIBLE
from ...teaching.goal import GoalKind
from ...teaching.worth import FeatureWorth
from ..decisions import Assessment, Frontier, GoalOver, OverRewards, Searched, TeachingPlan
from ..problem import Problem
from .elements import Bullets, Column, Data, Element, Section, Sentence, Table
from .goals import amount_of, asked_for
from .notes import LEFT_OUT

# Weights that are told of the reward under which it is worst.
TOLD = 8


def if_the_reward_is_another(problem: Problem, found: Assessment | TeachingPlan) -> Section:
    """What is guaranteed under all plausible rewards; nothing if one is given.

    Parameters
    ----------
    problem : Problem
    found : Assessment or TeachingPlan

    Returns
    -------
    Section
    """
    then = isinstance(found, TeachingPlan)
    title = f"If the reward is any of these, {'after the plan' if then else 'as things stand'}"
    over = found.over_rewards
    if problem.rewards is None:
        return Section(title, ())
    if over is None:
        return Section(title, (Sentence(LEFT_OUT),))
    certificate = over.certificate
    said = [
        f"The reward is not known exactly: {problem.rewards.sentence}. Everything else here is "
        "about the weights that it is planned for.",
        ("After the plan: " if then else "As things stand: ") + certificate.sentence,
    ]
    if certificate.upper - certificate.lower > 1e-3:
        said.append(
            f"Between {percent_at_least(certificate.lower)} and "
            f"{percent_at_most(certificate.upper)} nothing is proved: {certificate.status}."
        )
    said += [_of_goal(problem, each) + _elsewhere(found, each) for each in over.goals]
    if over.instead is not None:
        said.append(
            "What is shown was chosen for the weights that it is planned for. Chosen for all of "
            f"these: {over.instead.sentence[:1].lower()}{over.instead.sentence[1:]}"
        )
    worth = found.worth_buying if isinstance(found, TeachingPlan) else ()
    if isinstance(found, TeachingPlan) and worth:
        said.append(_worth_buying(found, worth))
    elements: list[Element] = [Bullets(tuple(map(Sentence, said)), "plausible")]
    elements += [_worst(problem, over), *_worth_table(worth)]
    elements.append(Data("over_rewards", lambda: _numbers(over)))
    return Section(title, tuple(elements))


def _worth_buying(plan: TeachingPlan, worth: tuple[FeatureWorth, ...]) -> str:
    """What all plans for plausible rewards buy, and among which sets these were sought."""
    sure = [each.name for each in worth if each.always]
    tried = f"the plans for all {worth[0].tried} plausible rewards that were tried"
    said = f"No feature is in {tried}."
    if sure:
        said = f"Worth buying whatever the reward: {', '.join(sure)}; {tried} buy it."
    bought = {step.name for step in plan.taught}
    without = [name for name in sure if name not in bought]
    said = f"{said} {_searched(worth[0])}"
    if not without or plan.chosen.searched is Searched.TEACHER:
        return said
    return f"{said} The plan above, for the weights in the file, does without {', '.join(without)}."


def _searched(worth: FeatureWorth) -> str:
    """Among which sets of features the plans for plausible rewards were sought."""
    if worth.exact == worth.tried:
        return "For each of them all sets of features were searched."
    if worth.exact == 0:
        return "They are the best that were found: not all sets of features were searched."
    return (
        f"For {worth.exact} of them all sets of features were searched; the others are the best "
        "that were found in the time."
    )


def asked_under_all(problem: Problem, found: Assessment | TeachingPlan | Frontier) -> Sentence:
    """Of the goals that are met under the weights that are planned for, which fail under other
    plausible rewards, and which hold; empty if one reward is given, and was not inferred.

    Parameters
    ----------
    problem : Problem
    found : Assessment, TeachingPlan or Frontier

    Returns
    -------
    Sentence
    """
    met = {each.goal.number for each in found.stakes.goals if each.met}
    goals = [each for each in _under_any(found) if each.goal.number in met]
    every = _all_of_them(problem, found)
    said = {
        "Under some plausible rewards this fails, which was asked for": [
            each for each in goals if each.fails
        ],
        f"Not proved of {every}, which was asked for": [
            each for each in goals if each.met is False and not each.fails
        ],
        f"Under {every} this holds, as asked for": [each for each in goals if each.met],
    }
    texts = [
        f"{what}: {'; '.join(_with_amount(problem, each, every) for each in those)}."
        for what, those in said.items()
        if those
    ]
    if any(each.met is False for each in goals) and not isinstance(found, Assessment):
        texts.append(_enough_for_all(found, every))
    return Sentence(" ".join(filter(None, texts)), "under_all_rewards")


def _enough_for_all(found: TeachingPlan | Frontier, every: str) -> str:
    """What to teach instead for all that was asked for under all of the rewards; empty if that is
    not known."""
    other = found.enough_for_all
    if other is None:
        return ""
    if other.features is None:
        return f"No set of features has all of it under {every.rstrip(',')}."
    return (
        f"The cheapest set found that has all of it under {every.rstrip(',')} costs "
        f"{money(other.cost)}: {', '.join(other.features)}."
    )


def _under_any(found: Assessment | TeachingPlan | Frontier) -> list[GoalOver]:
    """Of each goal, what is known of it under the plausible rewards of the file and under those
    beside inferred weights, whichever says less."""
    known: dict[int, GoalOver] = {}
    for over in (found.over_rewards, found.doubt):
        for each in () if over is None else over.goals:
            before = known.setdefault(each.goal.number, each)
            if _doubtful(each) > _doubtful(before):
                known[each.goal.number] = each
    return list(known.values())


def _doubtful(over: GoalOver) -> int:
    """How little a goal is known to hold: it fails, is not proved, was not looked at, or holds."""
    return 3 if over.fails else {False: 2, None: 1, True: 0}[over.met]


def _all_of_them(problem: Problem, found: Assessment | TeachingPlan | Frontier) -> str:
    """The rewards under which a goal was looked at: draws are not all that is plausible."""
    rewards, tail = problem.rewards, problem.reward.tail
    drawn = 0 if found.doubt is None else found.doubt.drawn
    sampled = rewards is not None and rewards.kind is RewardsKind.SAMPLED
    if rewards is not None and sampled and found.over_rewards is not None:
        drawn += len(rewards.points)
    said = f"all {drawn} plausible rewards that were drawn" if drawn else "all plausible rewards"
    return said if tail is None else f"{said}, but the worst {asked(tail)},"


def _with_amount(problem: Problem, over: GoalOver, every: str) -> str:
    """A goal and, where it is not met under all of the rewards, what is guaranteed under all."""
    amount = over.amount
    if over.met or amount is None or over.allowed is not None:
        return _wanted(problem, over)
    said = amount_of(over.goal, amount)
    said = {
        GoalKind.GUARANTEE: f"{said} are guaranteed under {every.rstrip(',')}",
        GoalKind.MAX_LOSS: f"up to {said} can be lost under one of them",
    }.get(over.goal.kind, f"{said} is guaranteed under {every.rstrip(',')}")
    return f"{_wanted(problem, over)} ({said})"


def _wanted(problem: Problem, over: GoalOver) -> str:
    """What a goal asks for, as the file says it."""
    if over.goal.computed and problem.asked.max_loss_share is not None:
        return f"a loss of at most {asked(problem.asked.max_loss_share)} of what the expert earns"
    return asked_for(over.goal, *(() if over.amount is None else (over.amount,)))


def one_of_several(problem: Problem, below: bool) -> Sentence:
    """That a headline is about one reward, where several are plausible.

    Parameters
    ----------
    problem : Problem
    below : bool, whether `if_the_reward_is_another` follows

    Returns
    -------
    Sentence
    """
    assert problem.rewards is not None
    asked = ", what was asked for as well" if asked_of_the_reward(problem) else ""
    where = "what holds under the others is told further down"
    if not below:
        where = (
            "what holds under the others teachirl certify tells as things stand, teachirl teach "
            "after its plan"
        )
    return Sentence(
        f"The reward is not known exactly ({problem.rewards.sentence}), and this is about the "
        f"weights that it is planned for{asked}: {where}."
    )


def asked_of_the_reward(problem: Problem) -> bool:
    """Whether a goal depends on the reward, as all but limits do.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    bool
    """
    return any(goal.kind is not GoalKind.LIMIT for goal in problem.goals)


def _of_goal(problem: Problem, over: GoalOver) -> str:
    """Whether a goal is met under all of the rewards."""
    wanted = _wanted(problem, over)
    if over.certificate is None:
        return (
            f"Asked for: {wanted}. Whether that holds under all of these was not looked at, as "
            f"{_why_not(problem, over)}."
        )
    tail = problem.reward.tail
    these = "all of these" if tail is None else f"all of these but the worst {asked(tail)}"
    how = f"is not proved of {these}"
    if over.met or over.fails:
        how = f"holds under {these}" if over.met else "fails under some of these"
    proved = over.certificate.sentence
    said = f"Asked for: {wanted}. That {how}: {proved[:1].lower()}{proved[1:]}"
    if over.allowed is not None:
        said += (
            f" So much of what the expert earns is {at_least(float(over.allowed.min()))} or more."
        )
    return said


def _elsewhere(found: Assessment | TeachingPlan, over: GoalOver) -> str:
    """That a goal holds under all of the rewards, and fails under others beside them."""
    doubt, number = found.doubt, over.goal.number
    if doubt is None or not over.met:
        return ""
    if not any(each.fails for each in doubt.goals if each.goal.number == number):
        return ""
    return f" But it fails under one of the {doubt.drawn} more that are as plausible."


def _why_not(problem: Problem, over: GoalOver) -> str:
    """Why it is not known whether a goal is met under all of the rewards."""
    if over.goal.kind is GoalKind.GUARANTEE:
        return "0 % is then another reward under each of them"
    if over.goal.computed and problem.reward.tail is not None:
        return "a tail leaves some of them out, and a share is of what each of them pays"
    return "it counts from what the expert earns, which is not known, or not what is shown"


def _worst(problem: Problem, over: OverRewards) -> Table:
    """The weights under which it is worst, beside those that are planned for."""
    worst, planned = over.certificate.weights, problem.weights
    # A reward counts by its direction.
    lengths = [float(np.linalg.norm(each)) or 1.0 for each in (worst, planned)]
    apart = np.abs(worst / lengths[0] - planned / lengths[1])
    size = np.maximum(np.abs(worst) / lengths[0], np.abs(planned) / lengths[1])
    rows = [i for i in np.argsort(-apart, kind="stable")[:TOLD] if size[i] > INVISIBLE]
    return Table(
        "The reward under which it is worst",
        (
            Column("", "feature", value=problem.mdp.feature_name),
            Column("", "weight where it is worst", number, lambda i: float(worst[i])),
            Column("", "weight planned for", number, lambda i: float(planned[i])),
        ),
        tuple(int(i) for i in rows),
    )


def _worth_table(worth: tuple[FeatureWorth, ...]) -> tuple[Table, ...]:
    if not worth:
        return ()
    return (
        Table(
            "What is worth buying whatever the reward: in which share of plans for plausible "
            "rewards a feature is, and what it adds to the guarantee if it is taught first",
            (
                Column("name", "feature"),
                Column("share", "in plans for plausible rewards", percent),
                Column("least", "taught first, adds at least", percent_at_least),
                Column("median", "in the median", percent),
                Column("tried", None),
                Column("exact", None),
            ),
            tuple(sorted(worth, key=lambda each: -each.share)),
            "worth_buying",
        ),
    )


def _numbers(over: OverRewards) -> dict[str, object]:
    found = over.certificate
    return {
        "guaranteed": found.lower,
        "at_most": found.upper,
        "left_out": found.beyond,
        "confidence": found.confidence,
        "worst_weights": found.weights.tolist(),
        "status": found.status.name,
        "goals": [
            {
                "kind": each.goal.kind.value,
                "wanted": each.goal.wanted,
                "guaranteed": each.amount,
                "met": each.met,
                "fails": each.fails,
            }
            for each in over.goals
        ],
    }


__all__ = ["asked_of_the_reward", "asked_under_all", "if_the_reward_is_another", "one_of_several"]
