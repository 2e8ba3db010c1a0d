"""How far a greedy plan may be from the best set of features.

What a set S gains beyond L, g(L ∪ S) − g(L) with g = ρ²(A) − ρ²(A ⊕ ·), is at most the sum of what
its members gain alone, divided by the smallest eigenvalue γ of their inner products, once L is
projected out and they are scaled to length 1 (Das & Kempe, Submodular meets Spectral, 2011). So no
set within the budget gains more than

    g(L) + (the most that gains beyond L sum to within the budget)/γ_L

for each beginning L of a plan. If a plan of s features is greedy, it follows that it gains at least
1 − e^{−γ} of the best, γ the least γ_L. The eigenvalue over all candidates bounds that over s of
them, and so does 1 − the largest sum of s − 1 cosines in a row (Gershgorin). Candidates that add
nothing to L, or the same as another, are left out: no best set needs them. Any other dependence
among the candidates makes γ 0 unless s is small, and nothing follows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import AnyRows, Floats, checked_indices
from ..errors import require
from ..figures.digits import percent_at_least
from ..mdp.kernels.subsets import knapsack
from ..precision import DEPENDENT, RESIDUAL, RISK_TIE
from ..views.linear_algebra import as_rows, on_axes, those, units_beside
from ..views.scorer import RiskScorer
from ..views.teaching_risk import teaching_risk
from ..views.worldview import Worldview
from .best_subset import best_subset, check_nodes, risk_at_least
from .greedy import checked_budgets
from .relaxation import at_most, unlike

# Beyond so many candidates no eigenvalues are computed, and only so many cosines are at a time.
MOST_EIGENVALUES, PART = 2000, 1 << 21


@dataclass(frozen=True, eq=False)
class GreedyGap:
    """How good a plan is, compared to the best set within the same budget.

    Attributes
    ----------
    risk : float, the teaching risk at the end of the plan
    ratio : float, γ, at most the submodularity ratio of the problem along the plan; 0 says nothing
    factor : float, the plan gains at least this share of what the best set gains in 1 − ρ². It is 1
        − e^{−γ} if the plan has the full size and each step of it is greedy; otherwise, and with
        costs that differ, Das & Kempe's theorem does not apply, and it is 0
    eigenvalue_lower : float, no set has a lower risk, by the eigenvalues
    search_lower : float, no set has a lower risk, by branch and bound
    """

    risk: float
    ratio: float
    factor: float
    eigenvalue_lower: float
    search_lower: float

    @property
    def lower(self) -> float:
        """No set within the budget has less risk."""
        return max(self.eigenvalue_lower, self.search_lower)

    @property
    def gap(self) -> float:
        """By how much the plan's risk may exceed the least."""
        return self.risk - self.lower

    def __str__(self) -> str:
        text = f"The risk ends at {self.risk:.4f}; no set within the budget ends below "
        text += f"{self.lower:.4f}"
        if self.factor > 0.0:
            share = percent_at_least(self.factor, 0)
            text += f", and the plan gains at least {share} of what the best one gains"
        return text + "."


def greedy_gap(
    view: Worldview,
    weights: ArrayLike,
    candidates: ArrayLike,
    chosen: Iterable[int],
    *,
    size: int | None = None,
    max_cost: float | None = None,
    costs: ArrayLike | None = None,
    max_nodes: int = 100,
) -> GreedyGap:
    """How far a plan may be from the best set of its size, or of `size` or `max_cost`.

    Parameters
    ----------
    view : Worldview, what the learner sees anyway
    weights : array [k], not all zero
    candidates : array [n, k]
    chosen : sequence of int, indices of candidates, in the order of the plan
    size : int, the most candidates; by default, without `max_cost`, as many as are chosen
    max_cost : float, the most that they may cost together; None for any
    costs : array [n], positive; 1 each by default
    max_nodes : int, how much to search for the better of the two bounds

    Returns
    -------
    GreedyGap

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> from teachirl.selection.distance_from_optimal import greedy_gap
    >>> found = greedy_gap(ti.Worldview(np.empty((0, 3))), [1, 2, 3], np.eye(3), [2, 1])
    >>> round(found.ratio, 9), round(found.factor, 3), found.gap < 1e-9
    (1.0, 0.632, True)
    """
    check_nodes(max_nodes)
    scorer = RiskScorer(view, weights, candidates)
    rows = as_rows("candidates", candidates)
    plan = checked_indices("chosen", np.array(list(chosen), dtype=np.int64), len(rows)).tolist()
    require(len(set(plan)) == len(plan), "chosen must be distinct")
    if size is None and max_cost is None:
        size = len(plan)
    prices, budgets = checked_budgets(len(rows), size, max_cost, costs)
    require(
        bool((prices[:, plan].sum(axis=1) <= budgets).all()),
        "chosen must be within the size and the max_cost",
    )
    most = min(at_most(costs, budget) for costs, budget in zip(prices, budgets, strict=True))
    by_size = math.isinf(budgets[1]) or bool((prices[1] == prices[1][:1]).all())
    wider, ratio, least, greedy = view, 1.0, 0.0, by_size
    for step, pick in enumerate([*plan, None]):
        risk, risks = scorer.risk, scorer.risks()
        here = _ratio(wider, rows, most)
        if here > 0.0:
            sums = _most_within((risk + risks) * (risk - risks), prices, budgets)
            least = max(least, (1.0 - RESIDUAL) * risk**2 - sums / here)
        untaught = np.delete(risks, plan[:step])
        if pick is None:
            # A greedy plan uses up its budget, unless nothing would help.
            helps = untaught.min(initial=risk) < risk - RISK_TIE * risk
            greedy &= step >= most or not helps
        else:
            greedy &= bool(risks[pick] <= untaught.min() + RISK_TIE * risk)
            ratio = min(ratio, here)
            scorer.teach(pick)
            wider = wider.extend(rows[pick])
    risk = min(teaching_risk(wider, weights), teaching_risk(view, weights))
    search = best_subset(
        view, weights, rows, size=size, max_cost=max_cost, costs=costs, max_nodes=max_nodes
    )
    factor = 1.0 - math.exp(-ratio) if greedy else 0.0
    return GreedyGap(
        risk,
        ratio,
        factor,
        risk_at_least(min(math.sqrt(least), risk, search.risk), view, rows),
        search.lower,
    )


def _ratio(view: Worldview, rows: AnyRows, most: int) -> float:
    """At most the least eigenvalue of any `most` candidates that the learner does not see yet."""
    left, lengths = units_beside(view.basis, rows)
    useful = lengths > DEPENDENT
    if ((lengths > rows.shape[1] * RESIDUAL) & ~useful).any():
        return 0.0  # what counts as dependent, though it is not, may gain all the same
    if most <= 1 or not useful.any():
        return 1.0
    left = those(left, np.flatnonzero(useful))
    left = those(left, unlike(left, np.zeros(len(left))))
    m = len(left)
    # To make short vectors unit vectors magnifies their rounding.
    rounding = RESIDUAL * m / float(lengths[useful].min())
    # Where no two have anything in common, their least eigenvalue is 1.
    if on_axes(left):
        least = 1.0
    else:
        left = np.asarray(left)
        least = _by_rows(left, min(most, m) - 1)
        if m <= MOST_EIGENVALUES and least < 1.0:
            least = max(least, float(np.linalg.eigvalsh(left @ left.T)[0]))
    return min(max(least - rounding, 0.0), 1.0)


def _by_rows(left: Floats, others: int) -> float:
    """Gershgorin's bound on the least eigenvalue of any row and so many others of `left` [m, k],
    of length 1 each; without all their cosines at once."""
    m, most = len(left), 0.0
    step = max(PART // m, 1)
    for first in range(0, m, step):
        cosines = np.abs(left[first : first + step] @ left.T)
        here = np.arange(len(cosines))
        cosines[here, first + here] = 0.0
        cosines.sort(axis=1)
        most = max(most, float(cosines[:, m - others :].sum(axis=1).max()))
    return 1.0 - most


def _most_within(gains: Floats, prices: Floats, budgets: Floats) -> float:
    fit = (prices <= budgets[:, None]).all(axis=0)
    sums = [
        knapsack(gains[fit], costs[fit], budget)[0]
        for costs, budget in zip(prices, budgets, strict=True)
    ]
    return float(min(sums))
