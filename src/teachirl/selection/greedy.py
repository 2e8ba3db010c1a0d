"""Features taught one after another, each the best at its time; or the best for its cost.

Without costs each step takes the feature after which the teaching risk ρ is lowest. With costs c
and money, each takes the most (ρ² − ρ_f²)/c_f that is affordable: what is gained of 1 − ρ² per
cost. As that may spend all on what is cheap, its end is compared to that of the best single
feature, and the better is the plan: the classical rule for a knapsack.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Floats, checked_indices, checked_positive, frozen
from ..errors import require
from ..mdp.rewards.rewards import Rewards
from ..precision import NO_RISK, RISK_TIE, SOLVED
from ..views.scorer import RiskScorer
from ..views.several_scorer import SeveralScorer
from ..views.worldview import Worldview


def money_left(max_cost: float, spent: float) -> float:
    """What of a budget is left to compare further costs with, sums of costs being rounded.

    The rounding is that of the whole budget, however little of it is left.

    >>> from teachirl.selection.greedy import money_left
    >>> 0.2 <= 10000.3 - 10000.1, 0.2 <= money_left(10000.3, 10000.1)
    (False, True)
    """
    return max_cost * (1.0 + SOLVED) - spent


@dataclass(frozen=True, eq=False)
class GreedyPlan:
    """What to teach, in this order.

    Attributes
    ----------
    chosen : tuple of int, candidates; it ends early where nothing lowers the risk further
    risk : float, the teaching risk at the end; of several rewards, the root of the mean square
    scores : array [n], what the first is chosen by, larger is better; NaN if it may not be

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> plan = ti.greedy_plan(ti.Worldview(np.empty((0, 3))), [1, 2, 2], np.eye(3), size=1)
    >>> plan.chosen, int(plan.scores.argmax())
    ((1,), 1)
    """

    chosen: tuple[int, ...]
    risk: float
    scores: Floats

    def __repr__(self) -> str:
        return f"GreedyPlan(chosen={self.chosen}, risk {self.risk:.6g})"


def greedy_plan(
    view: Worldview,
    weights: ArrayLike | Rewards,
    candidates: ArrayLike,
    *,
    size: int | None = None,
    max_cost: float | None = None,
    costs: ArrayLike | None = None,
    among: ArrayLike | None = None,
    scorer: RiskScorer | SeveralScorer | None = None,
) -> GreedyPlan:
    """The greedy plan for at most `size` features that cost at most `max_cost` together.

    Of candidates that are as good, the first is taken: without costs, if the risks differ by at
    most 1e-10 of the risk before; with costs, the gains by at most 1e-10 of its square.

    Parameters
    ----------
    view : Worldview, what the learner sees at first
    weights : array [k], not all zero; or Rewards that are listed or sampled: the root of the mean
        of their squared risks then takes the place of the risk
    candidates : array [n, k]
    size : int, the most features; None for any number
    max_cost : float, the most that they may cost together; None for any
    costs : array [n], positive; 1 each by default. They matter only if they differ and there is a
        `max_cost`
    among : int array, the candidates that may be chosen; all by default
    scorer : RiskScorer or SeveralScorer of these candidates for this view, if there is one;
        features of the plan but the last are taught to it

    Returns
    -------
    GreedyPlan

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> nothing = ti.Worldview(np.empty((0, 3)))
    >>> ti.greedy_plan(nothing, [1, 2, 2], np.eye(3), size=2).chosen
    (1, 2)
    >>> ti.greedy_plan(nothing, [1, 2, 2], np.eye(3), max_cost=3, costs=[0.5, 1, 3]).chosen
    (1, 0)
    """
    if scorer is None:
        if isinstance(weights, Rewards):
            scorer = SeveralScorer(view, weights, candidates)
        else:
            scorer = RiskScorer(view, weights, candidates, screen=False)
    before, after = scorer.risk, scorer.risks()
    n = len(after)
    prices, budgets = checked_budgets(n, size, max_cost, costs)
    per_cost = math.isfinite(budgets[1]) and bool((prices[1] != prices[1][:1]).any())
    allowed = np.zeros(n, dtype=bool)
    allowed[slice(None) if among is None else checked_indices("among", among, n)] = True
    allowed &= (prices <= budgets[:, None]).all(axis=0)
    alone = np.where(allowed, before - after, np.nan)
    single = _first_within(after, allowed, RISK_TIE * before)
    first, chosen, risk, risks = alone, list[int](), before, after
    while risk > NO_RISK:
        falls = risk - risks
        scores = (risk + risks) * falls / prices[1] if per_cost else falls
        if not chosen:
            first = np.where(allowed, scores, np.nan)
        slack = RISK_TIE * risk**2 / prices[1] if per_cost else RISK_TIE * risk
        pick = _first_within(-scores, allowed & (falls > RISK_TIE * risk), slack)
        if pick is None:
            break
        chosen.append(pick)
        budgets = budgets - prices[:, pick]
        allowed[pick] = False
        allowed &= (prices <= budgets[:, None]).all(axis=0)
        risk = float(risks[pick])
        if not allowed.any():
            break
        scorer.teach(pick)
        risk, risks = scorer.risk, scorer.risks()
    if per_cost and single is not None and after[single] < risk - RISK_TIE * before:
        return GreedyPlan((single,), float(after[single]), frozen(alone))
    return GreedyPlan(tuple(chosen), risk, frozen(first))


def checked_budgets(
    n: int, size: int | None, max_cost: float | None, costs: ArrayLike | None
) -> tuple[Floats, Floats]:
    """What a candidate takes [2, n] of the two budgets [2]: a place, and its cost."""
    places, money = checked_limits(size, max_cost)
    values = np.ones(n) if costs is None else checked_positive("costs", costs, n)
    return np.stack([np.ones(n), values]), np.array([places, money_left(money, 0.0)])


def checked_limits(size: int | None, max_cost: float | None) -> tuple[float, float]:
    """How many features there may be, and what they may cost; ∞ if it does not matter."""
    require(
        size is None or (is_whole(size) and size >= 0),
        f"size must be a whole number, 0 or more, got {size!r}",
    )
    require(
        max_cost is None or (is_number(max_cost) and max_cost >= 0.0),
        f"max_cost must be a number, 0 or more, got {max_cost!r}",
    )
    return (
        math.inf if size is None else float(size),
        math.inf if max_cost is None else float(max_cost),
    )


def is_whole(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    return is_whole(value) or isinstance(value, (float, np.floating))


def _first_within(values: Floats, allowed: NDArray[np.bool_], slack: Floats | float) -> int | None:
    """The first of those allowed whose value is the least, or more by at most its slack."""
    least = values[allowed].min(initial=np.inf)
    places = np.flatnonzero(allowed & (values - slack <= least))
    return int(places[0]) if len(places) else None
