"""The world and what policies do in it, as sections with figures."""

from __future__ import annotations

from collections.abc import Mapping

from ...demonstrations.demonstration import Demonstration
from ...mdp.policy import Policy
from ..decisions import Assessment, TeachingPlan
from ..problem import Problem
from .charts import differences_figure
from .elements import Element, Figure, Folded, Section
from .pictures import policy_figures, reward_figure, visits_of
from .tables import policy_table


def world_section(problem: Problem, assessment: Assessment | None) -> Section:
    """The world, and what is shown beside the worst that looks the same."""
    shown = problem.task.demonstration if assessment is None else assessment.demonstration
    policies: dict[str, Demonstration | Policy] = {"What is shown": shown}
    if assessment is not None and assessment.witness is not None:
        policies["The worst that looks the same to the learner"] = assessment.witness
    drawn: tuple[Element, ...] = _drawn(problem, policies, "what could happen")
    if assessment is not None and not drawn:
        drawn = tuple(
            _by_state(problem, name, policy)
            for name, each in policies.items()
            if (policy := each if isinstance(each, Policy) else each.policy) is not None
        )
    reward = reward_figure(problem)
    title = "The world, and the worst that could happen in it" if assessment else "The world"
    return Section(title, (*(() if reward is None else (reward,)), *drawn))


def what_to_show(problem: Problem, plan: TeachingPlan) -> Section:
    """What to show beside an optimal policy; nothing if that is the same."""
    title = "What to demonstrate"
    another = plan.differences or any(step.new_demonstration for step in plan.steps)
    if plan.policy is None or not another:
        return Section(title, ())
    policies = {"An optimal policy": problem.task.best.policy, "What to show": plan.policy}
    labels = ("an optimal policy", "what to show")
    differ = (differences_figure(plan.differences, labels),) if plan.differences else ()
    drawn = _drawn(problem, policies, "what to show")
    return Section(title, (*drawn, *differ, _by_state(problem, "What to show", plan.policy)))


def _drawn(
    problem: Problem, policies: Mapping[str, Demonstration | Policy], title: str
) -> tuple[Figure, ...]:
    visits = {name: visits_of(problem.mdp, each) for name, each in policies.items()}
    known = {name: x for name, x in visits.items() if x is not None}
    return policy_figures(problem, known, title)


def _by_state(problem: Problem, name: str, policy: Policy) -> Folded:
    caption = f"{name}: states, most visited first"
    return Folded(f"{name}, state by state", policy_table(problem.mdp, policy, caption))


__all__ = ["what_to_show", "world_section"]
