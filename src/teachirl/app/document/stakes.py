"""What a guarantee means, in words: the reward, the feature that costs most, what was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from ...figures.digits import (
    alike,
    asked,
    at_least,
    at_most,
)
from ...precision import SEARCH_TIE
from ...teaching.goal import Goal, GoalKind
from ..decisions import Difference, GoalResult, Stakes
from ..problem import Problem
from .elements import Column, Data, Element, Fact, Section, Sentence, Table
from .expert import baseline_words
from .goals import amount_in, asked_for, beside, never_less, own_of
from .rewards import costs, earned, guaranteed, lost_at_most, reward_range


def reward_facts(problem: Problem, stakes: Stakes, when: str) -> tuple[Fact, ...]:
    """What a percentage means: the reward that is guaranteed (`when`), never more than it is, and
    the expert's, which is no guarantee: to the nearest digit."""
    earns = partial(earned, problem)
    return (
        Fact(
            f"reward guaranteed {when}",
            stakes.reward,
            partial(guaranteed, problem),
            "guaranteed_reward",
        ),
        Fact(who_earns(problem), stakes.expert, earns, "expert_reward"),
        *shown_facts(stakes.shown, earns, "shown_reward"),
    )


def what_is_0(problem: Problem) -> tuple[Fact, ...]:
    """What percentages count from, if the file says it: its reward, to the nearest digit."""
    if problem.baseline.policy is None:
        return ()
    label = f"0 % is {baseline_words(problem.baseline)}, which earns"
    return (Fact(label, problem.task.zero, partial(earned, problem)),)


def shown_facts(
    reward: float | None, earns: Callable[[float], str], key: str = ""
) -> tuple[Fact, ...]:
    """What the policy earns that is shown in the expert's place, if there is one."""
    return () if reward is None else (Fact("what is shown earns", reward, earns, key),)


def recorded(problem: Problem) -> bool:
    """Whether what the expert does is known from recorded episodes alone."""
    return problem.expert.error > 0.0


# Of a search that ended before it knew a policy that looks right and loses.
NOT_YET = "Through which feature most is lost was not found by then."


def who_earns(problem: Problem) -> str:
    """Whose reward it is that is told as the expert's: an estimate is called one."""
    by = "" if problem.world.model is None else ", by the log's estimate"
    if problem.reward.expert is not None:
        by = ", by the weights' estimate"
    if recorded(problem):
        return f"the recordings earn, in the mean{by if problem.world.model is None else ''}"
    return f"{'an optimal policy' if problem.guessed else 'the expert'} earns{by}"


def the_expert(problem: Problem) -> str:
    """Who stands for the expert: nobody saw what one does whose weights are inferred, but for the
    recordings."""
    return "an optimal policy for the estimate" if problem.guessed else "the expert"


def what_is_shown(problem: Problem) -> str:
    """What learners match, as long as a teacher does not change it: what the expert does, or what
    was chosen in its place."""
    return the_expert(problem) if problem.chosen is None else "what is shown"


def in_reward(problem: Problem, stakes: Stakes, when: str) -> str:
    """How much less than the expert a learner may earn, and through which feature."""
    expert = the_expert(problem)
    scale, lost = reward_range(problem), stakes.most_lost
    who = "who comes so near" if problem.mismatch or problem.mismatch_share else "who matches"
    if nothing_lost(problem, stakes):
        return f"{when}, every learner {who} earns what {expert} does, up to rounding."
    less = (
        f"up to {lost_at_most(problem, stakes.loss)} less than {expert}"
        f"{_at_most_earned(problem, stakes)}"
    )
    behind = stakes.expert - stakes.reward
    if recorded(problem) and behind > SEARCH_TIE * scale:
        less = f"up to {lost_at_most(problem, behind)} less than the recordings' mean, and {less}"
    if stakes.worse_than_nothing:
        waiting = f"{baseline_words(stakes.idle)} earns ({earned(problem, stakes.idle_reward)})"
        less += f", and less than {waiting}"
    said = f"{when}, a learner {who} may earn {less}."
    if lost is None:
        sought = stakes.early and problem.world.model is None
        return f"{said} {NOT_YET}" if sought else said
    return f"{said} {most_lost(problem, lost, stakes, stakes.shown_of_it)}"


def nothing_lost(problem: Problem, stakes: Stakes) -> bool:
    """Whether every learner who matches earns what the expert does, up to rounding."""
    return stakes.loss <= SEARCH_TIE * reward_range(problem)


def _at_most_earned(problem: Problem, stakes: Stakes) -> str:
    """What the expert earns at most, if that is not known exactly: losses count from there, or in
    a world known from a log, from what the expert earns in the same world, if that says more."""
    task, most = problem.task, problem.goals.expert_reward
    if not recorded(problem) and problem.world.model is None:
        return ""
    if stakes.loss < most - stakes.reward - SEARCH_TIE * reward_range(problem):
        return " in the same world, whichever of those that the log allows it is"
    said = f", who earns {at_most(most, reward_range(problem))} at most"
    if most >= task.best.upper:
        return f"{said}, as every policy does"
    sure = problem.expert.confidence if recorded(problem) else 1.0
    return f"{said} (confidence {asked(sure)})" if sure < 1.0 else said


def most_lost(
    problem: Problem,
    lost: Difference,
    stakes: Stakes,
    shown: float | None = None,
    whose: str = "",
) -> str:
    """The feature whose change costs most, with both amounts, of which the first is the expert's
    unless it is said `whose`; and the amount in what is shown, if that is another. Of the whole
    loss it is a part, or all; of a search that ended early, what is known by then."""
    expert, other = alike(lost.expert, lost.other)
    whose = whose or ("in the recordings" if recorded(problem) else f"for {the_expert(problem)}")
    if shown is not None:
        whose += f", {alike(shown, lost.expert)[0]} in what is shown"
    return (
        f"Most {'can be' if not stakes.early else 'is known to be'} lost through {lost.name}: "
        f"{expert} of it {whose}, {other} for the worst policy {'found by then ' * stakes.early}"
        f"that looks the same, which costs {costs(problem, lost.lost, stakes.loss)}."
    )


def all_asked_for(results: Sequence[GoalResult]) -> str:
    """What all goals ask for."""
    *first, last = (asked_for(each.goal, each.amount) for each in results)
    return f"{', '.join(first)} and {last}" if first else last


def are_many(results: Sequence[GoalResult]) -> bool:
    """Whether `all_asked_for` is a plural, as a percentage is."""
    return len(results) > 1 or results[0].goal.kind is GoalKind.GUARANTEE


# More than that nobody reaches.
ALL = "100 %"


def promised(result: GoalResult) -> str:
    """What is guaranteed of a goal, in the words in which it was asked for."""
    goal, said = result.goal, amount_in(result)
    return {
        GoalKind.GUARANTEE: said if said == ALL else f"{said} or more",
        GoalKind.MAX_LOSS: f"a loss of at most {said}",
        GoalKind.AT_LEAST: f"a reward of at least {said}",
        GoalKind.LIMIT: f"{goal.name} at {'most' if goal.most else 'least'} {said}",
    }[goal.kind]


def guaranteed_of(result: GoalResult) -> str:
    """What is guaranteed of a goal that is not met; and what is shown, if that does not keep it."""
    goal, amount = result.goal, amount_in(result)
    said = {
        GoalKind.GUARANTEE: f"{amount} are guaranteed",
        GoalKind.MAX_LOSS: f"up to {amount} can be lost",
        GoalKind.AT_LEAST: f"{amount} is guaranteed",
        GoalKind.LIMIT: f"up to {amount} is possible" if goal.most else f"{amount} is guaranteed",
    }[goal.kind]
    if goal.missing_at(result.own) and goal.kind is GoalKind.LIMIT:
        said += f"; what is shown has {own_of(result)} itself"
    return said


def goals_sentence(results: Iterable[GoalResult]) -> str:
    """Which goals are met, and which not; empty if there are none."""
    met = [asked_for(each.goal, each.amount) for each in results if each.met]
    said = [f"Guaranteed as asked for: {'; '.join(met)}."] if met else []
    said += [f"{missed(results)}."] if missed(results) else []
    return " ".join(said)


def missed(results: Iterable[GoalResult]) -> str:
    """Which goals are not met; empty if all are."""
    texts = [
        f"{asked_for(each.goal, each.amount)} ({guaranteed_of(each)})"
        for each in results
        if not each.met
    ]
    return f"Asked for, but not guaranteed: {'; '.join(texts)}" if texts else ""


def impossible_goals(problem: Problem) -> str:
    """The goals that no policy meets, and what the best of them have; empty if there are none."""
    return "; ".join(
        f"{asked_for(goal)}, but {_no_policy(goal, problem.goals.possible(goal))}"
        for goal in problem.impossible
    )


def _no_policy(goal: Goal, possible: float) -> str:
    """That no policy has more of what a goal is about, or less."""
    if goal.feature is None:
        return f"no policy earns more than {beside(goal, possible, never_less)}"
    most = beside(goal, possible, at_least if goal.most else at_most)
    return f"no policy has {'less' if goal.most else 'more'} of {goal.name} than {most}"


def why_out_of_reach(problem: Problem) -> str:
    """Why no learner can be sure to meet some goals, whatever is taught, and what to do about it;
    empty if all can be met."""
    impossible, possible = problem.impossible, problem.goals.possible
    said = [_no_policy(goal, possible(goal)) for goal in impossible]
    said = [f"{', '.join(said)}: ask for what can be had"] if said else []
    missed = [goal for goal in problem.out_of_reach if goal not in impossible]
    broken = [goal for goal in missed if goal.feature is not None]
    if broken:
        ways = {"raise" if goal.most else "lower" for goal in broken}
        loosen = ways.pop() if len(ways) == 1 else "loosen"
        said.append(
            f"what is shown breaks the limit on {' and '.join(goal.name for goal in broken)} "
            f"itself, whatever is taught: {loosen} {'it' if len(broken) == 1 else 'them'}, or show "
            "something else"
        )
    if len(missed) > len(broken):
        said.append("what is shown does no better itself, whatever is taught")
    return "; ".join(said)


def goals_elements(stakes: Stakes) -> tuple[Element, ...]:
    """What a program wants to know of the stakes; and a table of the goals, if there are any."""
    data = (
        Data("loss", lambda: stakes.loss),
        Data("most_lost", lambda: stakes.most_lost),
    )
    # Of a relative performance alone all is said elsewhere.
    alone = [each.goal.kind for each in stakes.goals] == [GoalKind.GUARANTEE]
    shown = (
        Column("", "asked for", value=lambda each: asked_for(each.goal, each.amount, each.own)),
        Column("", "guaranteed", value=promised),
        Column("", "what is shown has", value=own_of),
        Column("", "is it met?", value=lambda each: "yes" if each.met else "no"),
    )
    table = Table(
        "Goals, and what is guaranteed of each",
        (
            *(() if alone else shown),
            Column("kind", None, value=lambda each: each.goal.kind.value),
            Column("feature", None, value=lambda each: each.goal.name or None),
            Column("wanted", None, value=lambda each: each.goal.wanted),
            Column("at_most", None, value=lambda each: each.goal.most),
            Column("guaranteed", None, value=lambda each: each.amount),
            Column("own", None, value=lambda each: each.own),
            Column("missing", None, value=lambda each: each.missing),
            Column("met", None, value=lambda each: each.met),
        ),
        stakes.goals,
        "goals",
    )
    return (*data, Section("What was asked for", (table,)))


def given_up(problem: Problem, differences: Iterable[Difference], whole: float) -> str:
    """What a demonstration costs, in the features that count: those that cost most, of the whole
    that it earns less."""
    costly = [each for each in differences if each.lost > 0.0][:3]
    return "; ".join(
        f"{each.name}: {' instead of '.join(alike(each.other, each.expert))} "
        f"(costs {costs(problem, each.lost, whole)})"
        for each in costly
    )


def stakes_sentence(problem: Problem, stakes: Stakes, when: str) -> Sentence:
    """`in_reward` as an element."""
    return Sentence(in_reward(problem, stakes, when), "in_reward")


__all__ = [
    "ALL",
    "all_asked_for",
    "are_many",
    "given_up",
    "goals_elements",
    "goals_sentence",
    "guaranteed_of",
    "impossible_goals",
    "missed",
    "most_lost",
    "nothing_lost",
    "recorded",
    "reward_facts",
    "shown_facts",
    "stakes_sentence",
    "the_expert",
    "what_is_0",
    "what_is_shown",
    "who_earns",
    "why_out_of_reach",
]
