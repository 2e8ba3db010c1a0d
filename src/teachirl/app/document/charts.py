"""What is drawn of decisions, as records: plans, budgets, and how two policies differ."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ...arrays import Floats
from ...figures.digits import counted
from ...figures.records import Contrast, Curve, Panel, Points
from ..decisions import Difference, Frontier, TeachingPlan
from ..decisions.worth import risk_misleads
from ..problem import Problem
from .elements import Figure
from .rewards import performance

# More bars would be too thin to tell apart.
MOST_BARS = 12
# Of what there is to see of performances in percent, so that marks at the edge are whole; and the
# least that is shown, so that rounding does not look like a slope.
EDGE, LEAST = 0.06, 2.0


def differences_figure(differences: Sequence[Difference], labels: tuple[str, str]) -> Figure:
    """The features that two policies have different amounts of, what costs most first.

    If some of them count for the reward, only those are drawn; the table beside it has all.

    Parameters
    ----------
    differences : as decisions have them
    labels : what to call the expert's and the other one's
    """
    counting = [each for each in differences if each.weight != 0.0]
    shown = (counting or differences)[:MOST_BARS]
    more = " The other features are in the table." if len(shown) < len(differences) else ""
    contrast = Contrast(
        labels,
        tuple(each.name for each in shown),
        np.array([each.expert for each in shown]),
        np.array([each.other for each in shown]),
    )
    told = "; ".join(f"{each.name}: {each.expert:.3g} and {each.other:.3g}" for each in shown[:5])
    return Figure(
        f"features of {labels[0]} and {labels[1]}",
        f"How much of each feature there is, discounted; what costs most is at the top.{more}",
        (Panel("Features that differ", "amount of the feature", "", (contrast,)),),
        (f"Bars for {labels[0]} and {labels[1]}. {told}.",),
    )


def plan_figure(plan: TeachingPlan, base: str) -> Figure | None:
    """What is guaranteed and what is simulated as the plan goes on; None if there is no plan.

    Parameters
    ----------
    plan : TeachingPlan
    base : who has a performance of 0 %
    """
    steps, share = plan.steps, partial(performance, plan.problem)
    if len(steps) < 2:
        return None
    cost = np.array([step.cost for step in steps])
    guaranteed = 100 * np.array([step.guaranteed for step in steps])
    simulated = 100 * np.array([step.performance for step in steps])
    marks: list[Curve | Points] = [
        Curve("guaranteed", cost, guaranteed),
        Curve(f"simulated ({plan.learner})", cost, simulated),
        Points("stop here", cost[[plan.stop]], guaranteed[[plan.stop]], big=True),
    ]
    if plan.wanted is not None:
        marks.append(Curve("asked for", cost[[0, -1]], np.full(2, 100 * plan.wanted)))
    panels = [
        Panel(
            "Performance",
            "cost so far",
            "performance, %",
            tuple(marks),
            y_range=_zoomed(*(mark.y for mark in marks)),
        ),
    ]
    told = [
        f"Guaranteed performance against cost: from {share(steps[0].guaranteed)} at cost "
        f"{cost[0]:g} to {share(steps[-1].guaranteed)} at cost {cost[-1]:g}; simulated, from "
        f"{share(steps[0].performance)} to {share(steps[-1].performance)}. Stop at cost "
        f"{cost[plan.stop]:g}.",
    ]
    if not risk_misleads(plan.problem):
        risk = np.array([step.risk for step in steps])
        curve = (Curve("", cost, risk),)
        panels.append(Panel("Teaching risk", "cost so far", "risk", curve, y_range=(0, 1.03)))
        told.append(f"Teaching risk against cost: from {risk[0]:.3f} to {risk[-1]:.3f}.")
    return Figure(
        "the plan",
        "A mark is a step of the plan. Performance is relative: the best policy has 100 %, "
        f"{base} 0 %. The axis shows where the curves are.",
        tuple(panels),
        tuple(told),
    )


def _zoomed(*curves: Floats) -> tuple[float, float]:
    """Where curves of performances in percent are."""
    low, high = (pick(np.concatenate(curves)) for pick in (np.nanmin, np.nanmax))
    low = min(low, high - LEAST)
    edge = EDGE * (high - low)
    return float(low - edge), float(high + edge)


def frontier_figure(problem: Problem, frontier: Frontier) -> Figure:
    """What is guaranteed for each cost."""
    points, share = frontier.points, partial(performance, problem)
    cost = np.array([point.cost for point in points])
    guaranteed = 100 * np.array([point.guaranteed for point in points])
    # The last set stays the best for every larger budget.
    end = cost[-1] + max(0.1 * float(cost[-1] - cost[0]), 0.5)
    x, y = np.append(cost, end), np.append(guaranteed, guaranteed[-1])
    marks: list[Curve | Points] = [Curve("guaranteed", x, y, stepped=True)]
    if frontier.wanted is not None:
        marks.append(Curve("asked for", x[[0, -1]], np.full(2, 100 * frontier.wanted)))
    if frontier.enough is not None:
        enough = np.array([frontier.enough.cost]), np.array([100 * frontier.enough.guaranteed])
        marks.append(Points("cheapest that suffices", *enough, big=True))
    zoom = _zoomed(*(mark.y for mark in marks))
    return Figure(
        "what a budget buys",
        "The curve stays level until the next set of features can be paid for.",
        (Panel("Guaranteed", "cost", "performance, %", tuple(marks), y_range=zoom),),
        (
            f"A rising curve of {counted(len(cost), 'step')}: "
            f"{share(points[0].guaranteed)} are guaranteed at cost {cost[0]:g}, "
            f"{share(points[-1].guaranteed)} from cost {cost[-1]:g}.",
        ),
    )


def sensitivity_figure(problem: Problem, points: Sequence[tuple[float, float]]) -> Figure:
    """What is guaranteed against how much the learner misses.

    Parameters
    ----------
    problem : Problem
    points : of each mismatch, its share of what policies can change, and the performance
    """
    shares, performances = (100 * np.array(each) for each in zip(*points, strict=True))
    first, last, share = points[0], points[-1], partial(performance, problem)
    zoom = _zoomed(performances)
    return Figure(
        "what a mismatch costs",
        "How much of the guarantee is left where the learner misses what is shown. Between two "
        "marks it may be a little below the line. The axis shows where the curve is.",
        (
            Panel(
                "Guaranteed",
                "missed, % of what policies can change",
                "performance, %",
                (Curve("", shares, performances),),
                y_range=zoom,
            ),
        ),
        (
            f"A falling curve: {share(first[1])} are guaranteed at a mismatch of "
            f"{100 * first[0]:g} %, {share(last[1])} at {100 * last[0]:g} %.",
        ),
    )


__all__ = ["differences_figure", "frontier_figure", "plan_figure", "sensitivity_figure"]
