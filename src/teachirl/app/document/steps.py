"""The steps of a plan, as a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from ...figures.digits import money, risk
from ...teaching.goal import GoalKind
from ..decisions import Alternative, GoalResult, Step, TeachingPlan
from ..decisions.worth import risk_misleads
from ..problem import Problem
from .elements import Column, Table
from .goals import amount_in
from .rewards import guaranteed, performance


def steps_table(problem: Problem, plan: TeachingPlan) -> Table:
    """What is taught in each step, what is guaranteed then, and what would be second best.

    Parameters
    ----------
    problem : Problem
    plan : TeachingPlan

    Returns
    -------
    Table
    """
    # A risk that does not change tells nothing of the plan; and one that a terrible weight
    # stretches, nothing of what the expert earns.
    tells = len({risk(step.risk) for step in plan.steps}) > 1 or len(plan.steps) == 1
    tells &= not risk_misleads(problem)
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
            Column("risk", "risk" if tells else None, risk),
            Column("guaranteed", "guaranteed", partial(performance, problem)),
            Column("reward", "reward", partial(guaranteed, problem)),
            *_goal_columns(plan),
            Column("amounts", None),
            Column("performance", "simulated", partial(performance, problem)),
            Column("mismatch", None),
            Column("new_demonstration", None),
            Column("alternative", "second best", second),
            Column("", "instead", value=lambda step: _instead(problem, step.alternative)),
            Column("", "its reward", value=lambda step: _reward(problem, step.alternative)),
        ),
        plan.steps,
        "steps",
    )


def _goal_columns(plan: TeachingPlan) -> Iterator[Column]:
    """How much of each feature with a limit there may be after a step, and how much loss."""
    for each in plan.stakes.goals:
        if each.goal.kind in (GoalKind.LIMIT, GoalKind.MAX_LOSS):
            yield _goal_column(each)


def _goal_column(result: GoalResult) -> Column:
    goal = result.goal
    heading = f"{goal.name or 'loss'} at {'most' if goal.most else 'least'}"

    def amount(step: Step) -> str:
        return amount_in(replace(result, amount=step.amounts[goal.number]))

    return Column("", heading, value=amount)


def _instead(problem: Problem, other: Alternative | None) -> str:
    return "" if other is None else performance(problem, other.guaranteed)


def _reward(problem: Problem, other: Alternative | None) -> str:
    return "" if other is None else guaranteed(problem, other.reward)


__all__ = ["steps_table"]
