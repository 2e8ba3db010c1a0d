"""What to teach and what to demonstrate, as sections."""

from __future__ import annotations

from ...figures.digits import asked, at_least, money, percent, percent_at_least, risk
from ..decisions import Alternative, Ending, Step, TeachingPlan
from ..decisions.teaching_plan import same_price
from ..problem import Problem, Show
from .charts import plan_figure
from .elements import Column, Data, Fact, Headline, Section, Sentence, Table
from .notes import why_below
from .tables import differences_table, policy_rows

# Risks that differ by less are the same.
SAME_RISK = 1e-6


def plan_headline(problem: Problem, plan: TeachingPlan) -> Headline:
    """The numbers and the sentences that matter most."""
    last = plan.steps[plan.stop]
    names = ", ".join(step.name for step in plan.taught)
    return (
        Fact("guaranteed by the plan", last.guaranteed, percent_at_least, "guaranteed"),
        Fact("cost of the plan", last.cost, money, "cost"),
    ), (
        Sentence(f"Teach, in this order: {names}." if names else "Teach nothing."),
        Sentence(why_to_stop(plan), "reason"),
        Sentence(what_to_demonstrate(problem, plan), "demonstrate"),
    )


def why_to_stop(plan: TeachingPlan) -> str:
    """Why to follow the plan as far as it says."""
    most, wanted = percent_at_least(plan.steps[plan.stop].guaranteed), plan.wanted
    if plan.ending is Ending.LITTLE_TO_GAIN:
        reason = f"{most} are guaranteed, and the steps after it add less than 0.1 %."
    elif wanted is None:
        reason = f"{most} are guaranteed: {plan.lesson.status}."
    elif plan.ending is Ending.REACHED:
        reason = f"{asked(wanted)} were asked for, and are guaranteed."
    else:
        reason = f"{asked(wanted)} are not reached, {most} are the most: {plan.lesson.status}."
    if plan.cap is not None:
        reason += (
            f" What is shown has a relative performance of {percent(plan.cap)} itself: no more can "
            "be guaranteed unless something else is shown."
        )
    return f"Stop after {_counted(plan.stop, 'step')}. {reason}"


def what_to_demonstrate(problem: Problem, plan: TeachingPlan) -> str:
    """What to demonstrate, and whether something else would guarantee more."""
    show = plan.show
    own, now = percent(show.performance), percent_at_least(show.now)
    if show.since is not None:
        return (
            f"From step {show.since} on, demonstrate another policy: it has a relative performance "
            f"of {own} itself, and guarantees more."
        )
    if show.optimal is not None:
        return (
            f"Demonstrate a policy that was chosen for this learner, with a relative performance "
            f"of {own} itself. Before anything is taught it guarantees {now}; an optimal policy, "
            f"{percent_at_least(show.optimal)}."
        )
    what = {
        Show.OPTIMAL: "Demonstrate an optimal policy.",
        Show.CHOSEN: "Demonstrate an optimal policy: none was found to be better.",
        Show.POLICY: "Demonstrate the policy of the file.",
        Show.RECORDED: "Demonstrate what was recorded.",
    }[problem.show]
    if problem.show is Show.CHOSEN:
        return what
    if not show.sought:
        return f'{what} In a world of this size no other was sought; show = "choose" does it.'
    if show.better is None:
        return f"{what} No other was found that would guarantee more than it does now."
    return (
        f"{what} A policy chosen for what the learner sees now would guarantee "
        f"{percent_at_least(show.better)} instead of {now} before anything is taught: "
        'show = "choose" in [demonstration] takes it.'
    )


def what_to_teach(problem: Problem, plan: TeachingPlan) -> Section:
    """The steps of the plan, and how good they are."""
    below = "" if plan.below is None else f"At step {plan.below[0]}, {why_below(plan.below[1])}"
    gap, figure = plan.gap, plan_figure(plan)
    return Section(
        "What to teach",
        (
            Sentence(f"{plan.teacher} plans, {plan.learner} is simulated."),
            _steps_table(plan),
            Sentence(below, "below"),
            *(() if figure is None else (figure,)),
            Sentence(_nearness(problem, plan), "nearness"),
            Data("teacher", lambda: plan.teacher),
            Data("learner", lambda: plan.learner),
            Data("stop", lambda: plan.stop),
            Data("wanted", lambda: plan.wanted),
            Data("reached", lambda: plan.reached),
            Data("optimal", lambda: gap and {"risk": gap.risk, "lower": gap.lower}),
        ),
    )


def _steps_table(plan: TeachingPlan) -> Table:
    numbers = {id(step): number for number, step in enumerate(plan.steps)}

    def number(step: Step) -> str:
        here = numbers[id(step)]
        return f"{here} *" if here == plan.stop else str(here)

    def name(step: Step) -> str:
        new = " (from here on, show something else)" if step.new_demonstration else ""
        return f"{step.name or '(nothing yet)'}{new}"

    def second(other: Alternative | None) -> str:
        return "" if other is None else f"{other.name} ({money(other.price)})"

    return Table(
        f"The plan of {plan.teacher}; stop at the star",
        (
            Column("", "step", value=number),
            Column("", "teach", value=name),
            Column("feature", None),
            Column("name", None),
            Column("price", None),
            Column("cost", "cost", money),
            Column("risk", "risk", risk),
            Column("guaranteed", "guaranteed", percent_at_least),
            Column("performance", "simulated", percent),
            Column("mismatch", None),
            Column("new_demonstration", None),
            Column("alternative", "second best", second),
            Column("", "instead", value=lambda step: _instead(step.alternative)),
        ),
        plan.steps,
        "steps",
    )


def _instead(other: Alternative | None) -> str:
    return "" if other is None else percent_at_least(other.guaranteed)


def _nearness(problem: Problem, plan: TeachingPlan) -> str:
    """How far from the best set of features the plan may be."""
    gap = plan.gap
    if gap is None:
        return "Nothing is taught, so that there is nothing to compare."
    others = f"for {money(plan.steps[plan.stop].cost)} or less"
    if same_price(problem.task):
        others = f"of {_counted(plan.stop, 'feature')}"
    below = at_least(gap.lower, scale=1.0) if gap.risk - gap.lower > SAME_RISK else "that"
    return (
        f"In teaching risk the plan ends at {risk(gap.risk)}, and no set {others} below {below}; "
        "teachirl frontier compares what sets guarantee."
    )


def what_is_different(problem: Problem, plan: TeachingPlan) -> Section:
    """How what to demonstrate differs from an optimal policy, if it does."""
    table = differences_table(
        "How what to demonstrate differs",
        plan.differences,
        ("optimal", "to show", "reward given up"),
    )
    policy = Data("policy", lambda: policy_rows(plan.policy))
    return Section("What the policy to demonstrate does differently", (table, policy))


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


__all__ = ["plan_headline", "what_is_different", "what_to_teach"]
