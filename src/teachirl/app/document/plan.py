"""What to teach and what to demonstrate, as sections."""

from __future__ import annotations

from functools import partial

from ...figures.digits import counted, money, percents_apart
from ...teachers.set_bounds import MOST
from ...teaching.goal import Goal, GoalKind
from ...teaching.lesson_record import LessonStatus
from ..decisions import (
    Ending,
    OnceRecorded,
    Searched,
    TeachingPlan,
)
from ..problem import Problem
from .amounts import of_recordings, plain_amounts
from .charts import plan_figure
from .demonstrate import what_to_demonstrate
from .elements import Data, Fact, Headline, Section, Sentence
from .expert import baseline_words
from .inferred import other_weights
from .notes import cut_short, nearness, why_below
from .plausible import asked_of_the_reward, asked_under_all
from .recordings import once_enough
from .rewards import costs, guaranteed, performance
from .sensitivity import how_frail
from .stakes import (
    all_asked_for,
    are_many,
    goals_elements,
    goals_sentence,
    reward_facts,
    stakes_sentence,
    why_out_of_reach,
)
from .steps import steps_table
from .tables import differences_table, policy_rows
from .worth import told_apart

# What to ask for where a share of the way from the worst policy to the best hides a loss.
HIDDEN = (
    " That share hides the loss: ask for max_loss or at_least in [plan], or give a baseline to "
    "count it from."
)


def plan_headline(problem: Problem, plan: TeachingPlan) -> Headline:
    """The numbers and the sentences that matter most."""
    last, share = plan.steps[plan.stop], partial(performance, problem)
    names = ", ".join(step.name for step in plan.taught)
    return (
        Fact("guaranteed by the plan", last.guaranteed, share, "guaranteed"),
        *reward_facts(problem, plan.stakes, "by the plan"),
        Fact("cost of the plan", last.cost, money, "cost"),
    ), (
        Sentence(f"Teach, in this order: {names}." if names else _nothing(plan)),
        Sentence(why_to_stop(problem, plan), "reason"),
        asked_under_all(problem, plan),
        Sentence(_searched(problem, plan), "searched"),
        Sentence(_nearly(problem, plan), "nearly"),
        Sentence(_part_way(problem, plan), "part_way"),
        cut_short(plan.cut, plan.seconds, kept=True),
        stakes_sentence(problem, plan.stakes, "After that"),
        how_frail(problem, plan),
        other_weights(plan.problem, plan.doubt, "by the plan"),
        Sentence(what_to_demonstrate(problem, plan), "demonstrate"),
    )


def _nothing(plan: TeachingPlan) -> str:
    """That nothing is to be taught; or that nothing was found before the planning was cut short."""
    met = bool(plan.stakes.goals) and plan.reached
    if plan.cut is None or met or plan.chosen.searched is Searched.ALL:
        return "Teach nothing."
    return "What to teach is not known yet: nothing was found by then."


def why_to_stop(problem: Problem, plan: TeachingPlan) -> str:
    """Why to follow the plan as far as it says."""
    most, goals = performance(problem, plan.steps[plan.stop].guaranteed), plan.stakes.goals
    if plan.ending is Ending.LITTLE_TO_GAIN:
        reason = (
            f"{most} are guaranteed, and the steps after it add less than {told_apart(problem)}."
        )
    elif not goals:
        reason = f"{most} are guaranteed: {_why_no_more(problem, plan)}."
    elif plan.ending is Ending.REACHED:
        was, is_ = ("were", "are") if are_many(goals) else ("was", "is")
        several = problem.rewards is not None or problem.inferred is not None
        doubted = several and asked_of_the_reward(problem)
        under = " under the weights that it is planned for" if doubted else ""
        reason = f"{all_asked_for(goals)} {was} asked for, and {is_} guaranteed{under}."
        shares = all(each.goal.kind is GoalKind.GUARANTEE for each in goals)
        if shares and plan.stakes.worse_than_nothing:
            reason += HIDDEN
    else:
        reason = f"{goals_sentence(goals)} Why not: {_why_not(problem, plan)}."
    if plan.cap is not None:
        own = performance(problem, plan.cap)
        reason += (
            f" What is shown has a relative performance of {own} itself: no more can be "
            "guaranteed unless something else is shown."
        )
        if problem.chosen is not None and problem.world.model is None:
            reason += (
                ' It was chosen for what the learner sees now: teacher = "JointGreedy" in [plan] '
                "chooses anew after each feature."
            )
    stop = f"Stop after {counted(plan.stop, 'step')}. " if plan.stop else ""
    return f"{stop}{reason[:1].upper()}{reason[1:]}"


def _why_not(problem: Problem, plan: TeachingPlan) -> str:
    """Why not all that was asked for is guaranteed, and how near the plan comes to it."""
    why = why_out_of_reach(problem)
    if not why:
        return _why_no_more(problem, plan)
    if not _missed(problem, plan):
        return f"{why}. The plan is the cheapest found with which nobody does worse than that"
    return f"{why}; {_why_no_more(problem, plan)}"


def _missed(problem: Problem, plan: TeachingPlan) -> list[Goal]:
    """The goals that are not met, beside those that are met as far as what is shown has it."""
    near = {each.goal for each in plan.stakes.goals if each.as_shown} & set(problem.out_of_reach)
    return [each.goal for each in plan.stakes.goals if not each.met and each.goal not in near]


def _why_no_more(problem: Problem, plan: TeachingPlan) -> str:
    """Why a plan ends: who is left without a choice by a budget is not asked what would help."""
    names = {"budget": problem.budget, "max_cost": problem.max_cost}
    given = [name for name, value in names.items() if value is not None]
    helpless = plan.lesson.status is LessonStatus.NOTHING_HELPS
    if helpless and plan.chosen.searched is Searched.SOME:
        return "of no other set is more proved, as the search for one was cut short"
    if helpless and problem.matching.keeps(plan.demonstration):
        return (
            "with so little recorded, no feature that is left is proved to help, as it is known up "
            f"to an error of its own; {_more_recorded(plan)}"
        )
    if plan.chosen.searched is not Searched.ALL or not helpless or not given:
        return str(plan.lesson.status)
    return (
        f"no set of features within {' and '.join(given)} guarantees {told_apart(problem)} more; "
        "teachirl frontier says what others would"
    )


def _more_recorded(plan: TeachingPlan) -> str:
    """What to do about that, and what to buy until then."""
    once = plan.once_recorded
    if once is None:
        return "record more"
    said, now = once_enough(once), _until_then(plan, once)
    return f"{said[:1].lower()}{said[1:] if now else said[1:-1]}{now}"


def _until_then(plan: TeachingPlan, once: OnceRecorded) -> str:
    """Which to buy now, where what these recordings suffice for is not what more of them would."""
    own, then = [step.name for step in plan.taught], once.names
    if not then or set(own) == set(then):
        return ""
    if not own:
        return " Until so much is recorded, none of that is proved to help: buy nothing now"
    vain = [name for name in own if name not in then]
    if not vain:
        return f" Of these, buy {', '.join(own)} now, and the others once so much is recorded"
    return (
        f" Which to buy now: the plan, {', '.join(own)}, is for these recordings as they are; if "
        f"you mean to record so much, buy {', '.join(then)} instead, as {', '.join(vain)} "
        f"{'is' if len(vain) == 1 else 'are'} not needed then"
    )


def _searched(problem: Problem, plan: TeachingPlan) -> str:
    """Among which sets of features the plan is the best."""
    chosen, goals = plan.chosen, plan.stakes.goals
    within = "" if problem.budget is None and problem.max_cost is None else " within the budget"
    if chosen.searched is Searched.ALL:
        best = f"guarantees {told_apart(problem)} more"
        near = _missed(problem, plan)
        if goals and not near:
            best = "does it for less" if plan.reached else "comes as near for less"
        elif any(goal.feature is not None for goal in near):
            best = "comes 0.1 % of its range closer to the goal that is missed most"
        return (
            f"All {2**chosen.free} sets of {counted(chosen.free, 'feature')} were searched: none"
            f"{within} {best}."
        )
    if chosen.searched is Searched.SOME:
        every = f" of {2**chosen.free}" if chosen.free <= MOST else ""
        return (
            f"{chosen.sets}{every} sets of features "
            f"{'was' if chosen.sets == 1 else 'were'} tried: of all that is proved by that, the "
            "plan is the best. Another set may be better: --resume goes on from here, as does "
            "teachirl frontier --resume."
        )
    if not plan.taught and chosen.led is None:
        return ""
    said = f"The sets that {plan.teacher} leads through were tried, no others"
    if problem.world.model is None:
        said += f": teachirl frontier says what each cost buys{_if_shown_the_same(plan)}"
    return f"{said}.{_led(plan)}"


def _led(plan: TeachingPlan) -> str:
    """Where the teacher's own steps lead, if the plan does without some of that."""
    led = plan.chosen.led
    if led is None:
        return ""
    return (
        f" {plan.teacher} itself ends with {', '.join(led.features)}, for {money(led.cost)}: of "
        "the sets on its way that are as good the plan is the cheapest, without what it does not "
        "need."
    )


def _if_shown_the_same(plan: TeachingPlan) -> str:
    """That a curve is about what the file shows, where the plan goes on to show something else."""
    if not any(step.new_demonstration for step in plan.taught):
        return ""
    return ", where the file's demonstration is shown all along"


def _nearly(problem: Problem, plan: TeachingPlan) -> str:
    """What guarantees nearly as much for less, where nothing was asked for."""
    other, last = plan.chosen.nearly, plan.steps[plan.stop]
    if other is None or not plan.taught:
        return ""
    one, low, high = len(other.features) == 1, *percents_apart(other.guaranteed, last.guaranteed)
    return (
        f"Nearly as good for less: {', '.join(other.features)}, for {money(other.cost)} instead of "
        f"{money(last.cost)}, {'guarantees' if one else 'guarantee'} {low} instead of {high} "
        f"({guaranteed(problem, other.reward)} of reward instead of "
        f"{guaranteed(problem, last.reward)}). teachirl frontier says what each cost buys."
    )


def _part_way(problem: Problem, plan: TeachingPlan) -> str:
    """What to buy instead of the first steps, if that is all that one means to buy."""
    if plan.part_way is None:
        return ""
    other, step = plan.part_way
    names, one = ", ".join(other.features), len(other.features) == 1
    then, now = (guaranteed(problem, each.reward) for each in (other, step))
    return (
        f"Who means to stop part-way does better with another set: {names}, for "
        f"{money(other.cost)}, {'guarantees' if one else 'guarantee'} "
        f"{performance(problem, other.guaranteed)} ({then} of reward), this "
        f"plan after step {plan.steps.index(step)}, for {money(step.cost)}, "
        f"{performance(problem, step.guaranteed)} ({now}). teachirl frontier "
        "says what each cost buys."
    )


def what_to_teach(problem: Problem, plan: TeachingPlan) -> Section:
    """The steps of the plan, and how good they are."""
    below = ""
    if plan.below is not None:
        step, short = plan.below
        below = f"At step {step}, {why_below(short, plan.steps[step].guaranteed)}"
    gap, figure = plan.gap, plan_figure(plan, baseline_words(problem.baseline))
    whose = "optimal" if problem.guessed else "expert"
    if problem.chosen is not None or plan.show.since is not None:
        whose = "shown"
    recordings = of_recordings(problem)
    policies = {"recorded": recordings, "expert": plan.policy, "worst": plan.witness}
    return Section(
        "What to teach",
        (
            Sentence(f"{plan.teacher} plans, {plan.learner} is simulated."),
            steps_table(problem, plan),
            Sentence(below, "below"),
            *(() if figure is None else (figure,)),
            Sentence(nearness(problem, plan), "nearness"),
            *goals_elements(plan.stakes),
            plain_amounts(problem, policies, "once taught", plan.patience, whose),
            Data("teacher", lambda: plan.teacher),
            Data("learner", lambda: plan.learner),
            Data("stop", lambda: plan.stop),
            Data("wanted", lambda: plan.wanted),
            Data("reached", lambda: plan.reached),
            Data("optimal", lambda: gap and {"risk": gap.risk, "lower": gap.lower}),
        ),
    )


def what_is_different(problem: Problem, plan: TeachingPlan) -> Section:
    """How what to demonstrate differs from an optimal policy, if it does."""
    table = differences_table(
        "How what to demonstrate differs",
        plan.differences,
        ("optimal", "to show", "reward given up"),
        partial(costs, problem),
    )
    policy = Data("policy", lambda: policy_rows(plan.policy))
    return Section("What the policy to demonstrate does differently", (table, policy))


__all__ = ["plan_headline", "what_is_different", "what_to_teach"]
