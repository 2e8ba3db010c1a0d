"""What to demonstrate, and what else could be, in words."""

from __future__ import annotations

from ...figures.digits import number, promised_of
from ..decisions import Difference, Instead, Offer, TeachingPlan
from ..decisions.instead import HARDLY
from ..problem import Problem, Show
from .expert import baseline_words, of_little_use
from .goals import asked_for, beside
from .rewards import costs, earned, guaranteed, performance, reward_range
from .stakes import given_up, recorded, the_expert


def what_to_demonstrate(problem: Problem, plan: TeachingPlan) -> str:
    """What to demonstrate, and whether something else would guarantee more."""
    show, lost = plan.show, plan.stakes.expert - plan.show.reward
    own = (
        f"{performance(problem, show.performance)} ({earned(problem, show.reward)} of reward; "
        f"{_earner(problem)} earns {earned(problem, plan.stakes.expert)})"
    )
    now = f"{performance(problem, show.now)} ({guaranteed(problem, show.reward_now)})"
    if show.since is not None:
        return (
            f"From step {show.since} on, demonstrate another policy: it reaches {own} itself, and "
            f"guarantees more.{_given_up(problem, show.differences, lost)}"
            f"{_use(problem, show.instead)}"
        )
    if show.optimal is not None:
        return (
            f"Demonstrate a policy that was chosen for this learner, which reaches {own} itself."
            f"{_given_up(problem, show.differences, lost)} Before anything is taught it guarantees "
            f"{now}; an optimal policy, {performance(problem, show.optimal)}."
        )
    what = {
        Show.OPTIMAL: "Demonstrate an optimal policy.",
        Show.CHOSEN: "Demonstrate an optimal policy: none was found to be better.",
        Show.POLICY: "Demonstrate the policy of the file.",
        Show.RECORDED: "Demonstrate what was recorded.",
    }[problem.show]
    if plan.account.hardly_better:
        return _not_as_it_is(problem, plan)
    if plan.account.doubtful:
        what = f"Once you have looked at the expert: {what[:1].lower()}{what[1:]}"
    logged = problem.world.model is not None
    safe = "Demonstrate the policy that is best in the worst world that the log allows"
    if problem.show is Show.CHOSEN:
        return f"{safe}: none was found to be better." if logged else what
    if logged:
        what = f"{safe}." if problem.show is Show.OPTIMAL else what
        return f'{what} No other was sought; show = "choose" does it.'
    if not show.sought and plan.cut is not None:
        return f"{what} No other was sought, as this was cut short."
    if not show.sought:
        return f'{what} In a world of this size no other was sought; show = "choose" does it.'
    if show.offer is None:
        return f"{what} No other was found that would guarantee more than it does now."
    return f"{what} {_offered(problem, show.offer, now, plan)}"


def _not_as_it_is(problem: Problem, plan: TeachingPlan) -> str:
    """That what the expert does is of little use, and what to show in its place, if anything is."""
    own, task, idle = plan.account.reward, problem.task, plan.account.idle_reward
    what = {
        Show.POLICY: "the policy of the file",
        Show.RECORDED: "what was recorded",
    }.get(problem.show, "an optimal policy")
    best = earned(problem, task.best.value)
    said = (
        f"Do not demonstrate {what} as it is: it earns {earned(problem, own)}, "
        f"{baseline_words(plan.account.idle)} {earned(problem, idle)}, and the best policy {best}."
    )
    if task.best.value - max(own, idle) <= HARDLY * (task.best.value - task.worst.value):
        return f"{said} Is the reward what you mean?"
    return f'{said} show = "optimal" in [demonstration] shows the latter.'


def _offered(problem: Problem, offer: Offer, now: str, plan: TeachingPlan) -> str:
    """What another demonstration brings, and what it costs."""
    least = promised_of(offer.reward, (offer.own_reward,), reward_range(problem))
    then = f"{performance(problem, offer.guaranteed)} ({least} of reward)"
    said = (
        f"A policy chosen for what the learner sees now would guarantee {then} instead of {now} "
        "before anything is taught,"
    )
    if offer.instead.hardly_better:
        why = of_little_use(offer.instead, _earner(problem))
        return f"{said} but is not worth showing: it {why}."
    lost = plan.stakes.expert - offer.own_reward
    less = f", {costs(problem, lost)} less than {_earner(problem)}" if lost > 0.0 else ""
    said += (
        f" and earns {earned(problem, offer.own_reward)} itself{less}: no more than that could "
        f"then be guaranteed.{_given_up(problem, offer.differences, lost)}"
    )
    if offer.broken:
        own = ((each.goal, beside(each.goal, each.own, number)) for each in offer.broken)
        missed = "; ".join(f"{asked_for(goal)} (it has {amount})" for goal, amount in own)
        return f"{said} It does not have itself what was asked for: {missed}."
    promised = f"This plan guarantees {guaranteed(problem, plan.stakes.reward)}"
    taken = 'show = "choose" in [demonstration] takes it'
    if offer.enough and plan.taught:
        met = "what was asked for is then guaranteed, and nothing taught"
        return f"{said} {taken}: {met}. {promised}."
    if offer.worse:
        return f"{said} {promised}: choose that only if nothing is to be taught."
    return f"{said} {taken}."


def _earner(problem: Problem) -> str:
    """Whose reward it is that another policy is measured by."""
    return "the recordings' mean" if recorded(problem) else the_expert(problem)


def _use(problem: Problem, instead: Instead | None) -> str:
    """What is odd about a policy that is shown in the expert's place."""
    if instead is None or not instead.doubtful:
        return ""
    return f" Look at it first: it {of_little_use(instead, _earner(problem))}."


def _given_up(problem: Problem, differences: tuple[Difference, ...], lost: float) -> str:
    """What a policy that earns so much less does otherwise."""
    said = given_up(problem, differences, lost)
    return f" What it does otherwise than {the_expert(problem)}: {said}." if said else ""


__all__ = ["what_to_demonstrate"]
