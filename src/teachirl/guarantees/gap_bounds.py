"""Bounds on R(T) − R(L), from loose to exact.

Let ‖A(μ_T − μ_L)‖ ≤ ε. For any θ ∈ R^ℓ, with q = w − Aᵀθ,

    R(T) − R(L) ≤ ⟨q, μ_T⟩ − min_{μ ∈ M} ⟨q, μ⟩ + ε‖θ‖.                                       (★)

- Theorem 1 of the paper: ‖w‖(ρ · diam M + ε/σ(A)), with the teaching risk ρ.
- Width: (★) at θ = (Aᵀ)⁺w, where q is w's projection on ker A. Never looser than Theorem 1.
- Exact: the least that (★) can be. A policy that looks right to the learner and is that bad exists.

The first two hold as well with AP and Pw in the place of A and w, P removing the directions that
cannot tell policies apart; the better of the two is given. A sampled demonstration says μ̂ with
‖μ̂ − μ_T‖ ≤ e; the learner matches μ̂, so that ε grows by ‖A‖e, and what is certified holds with
the demonstration's confidence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Floats
from ..demonstrations.demonstration import Demonstration
from ..figures.digits import at_least, at_most, number
from ..mdp.estimated import AnyMDP, EstimatedMDP
from ..mdp.occupancy import expectation_error
from ..mdp.performance import performance_at_least
from ..mdp.plan import Plan
from ..mdp.planning import optimal_policy, worst_policy
from ..mdp.robust_planning import respond
from ..precision import ROUNDED_UP, down, up
from ..views.potential_shaping import Indistinct
from ..views.teaching_risk import teaching_risk
from ..views.worldview import Worldview
from .bounds import Terms, WorstCaseBounds, WorstCaseStatus, combination_error, lower_bound


@dataclass(frozen=True, eq=False)
class Bound:
    """An upper bound on R(T) − R(L), and with it a lower one on R(L).

    Attributes
    ----------
    name : str, which certificate it is
    gap : float, R(T) − R(L) is at most this, in units of reward; ∞ if it says nothing
    least : float, R(L) is at least this; −∞ if it says nothing
    terms : dict of float, what it is made of, by name
    assumes : str, what it takes for granted
    sentence : str, what it says, in one sentence

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp, weights = ti.worlds.chain(3), [0, 0, 1]
    >>> best = ti.optimal_policy(mdp, weights).policy
    >>> bound = ti.certify(mdp, ti.Worldview.select(mdp, []), weights, best).width
    >>> print(bound.name, round(bound.gap, 3))
    width 4.421
    """

    name: str
    gap: float
    least: float
    terms: Terms
    assumes: str
    sentence: str

    def __repr__(self) -> str:
        return f"Bound({self.name}: gap ≤ {at_most(self.gap)}, reward ≥ {at_least(self.least)})"

    def __str__(self) -> str:
        return self.sentence


class Case:
    """A learner, a reward and a demonstration, with the errors that all bounds share."""

    def __init__(
        self,
        mdp: AnyMDP,
        view: Worldview,
        w: Floats,
        shown: Demonstration,
        mismatch: float,
        plans: tuple[Plan, Plan] | None = None,
    ) -> None:
        self.mdp, self.view, self.w, self.mismatch = mdp, view, w, mismatch
        self.shown, self.mu, self.error = shown, shown.expectations, shown.error
        blurred = view.norm * self.error * ROUNDED_UP if self.error else 0.0
        self.epsilon = mismatch + blurred
        # The expert matches: exactly, or with the confidence that is claimed.
        exactly = self.error == 0.0 and shown.policy is not None
        self.surely_matched = exactly or (self.error > 0.0 and 2.0 * mismatch >= self.epsilon)
        self.best, self.worst = plans or (optimal_policy(mdp, w), worst_policy(mdp, w))
        reward = float(w @ self.mu)
        doubt = float(np.linalg.norm(w)) * self.error * ROUNDED_UP + expectation_error(mdp, w)
        least, most = down(reward - doubt), up(reward + doubt)
        self.model = mdp if isinstance(mdp, EstimatedMDP) else None
        # What a policy shows in a world that is known from a log depends on which one it is.
        self.policy = shown.policy if self.model is not None and exactly else None
        if self.model is not None and self.policy is not None:
            least = respond(self.model, w, nature=-1, policy=self.policy).lower
            most = respond(self.model, w, nature=1, policy=self.policy).upper
        self.expert_least = max(least, self.worst.lower)
        self.expert_most = min(most, self.best.upper)
        self.assumes = f"the learner matches what is shown up to {mismatch:.3g} in its view"
        if self.model is not None:
            self.assumes += (
                f", and the log allows the true world (confidence {self.model.confidence:g})"
            )
        if self.error > 0.0:
            self.assumes += (
                f", and the episodes are independent, within {self.error:.3g} "
                f"of the expert's feature expectations (confidence {shown.confidence:g})"
            )

    @property
    def confidence(self) -> float:
        """That of the demonstration and of the model together: what may fail adds up."""
        if self.model is None:
            return self.shown.confidence
        return max(self.shown.confidence - (1.0 - self.model.confidence), 0.0)

    def performance(self, least: float) -> float:
        return performance_at_least(self.mdp, self.w, least, self.best, self.worst)

    def proves(self, target: float | None, bound: Bound) -> bool:
        return target is not None and self.performance(bound.least) >= target


def width_bound(case: Case, view: Worldview, w: Floats) -> Bound:
    """(★) at the θ that expresses most of w in `view`, which is A or AP."""
    theta = view.multipliers(view.basis @ w)
    least, gap, hidden = _star(case, theta)
    blur = float(np.linalg.norm(theta)) * case.epsilon * ROUNDED_UP
    sentence = (
        "In the part of the reward that the learner cannot see, no policy is further below the "
        f"expert than {_most(hidden)}"
    )
    if blur > 0.0:
        sentence += f", and in the part that is seen a mismatch of {case.epsilon:.3g} may cost "
        sentence += f"another {_most(blur)}"
    return Bound(
        "width",
        gap,
        least,
        Terms(hidden=hidden, mismatch=blur, ε=case.epsilon, θ=float(np.linalg.norm(theta))),
        case.assumes,
        sentence + ".",
    )


def _star(case: Case, theta: Floats) -> tuple[float, float, float]:
    """What (★) proves at θ: R(L) at least, R(T) − R(L) at most, and the latter's part of q."""
    mdp, view, w = case.mdp, case.view, case.w
    least = lower_bound(mdp, view, w, case.mu, case.mismatch, theta, case.policy)
    q = w - view.matrix.T @ theta
    blur = float(np.linalg.norm(theta)) * case.epsilon * ROUNDED_UP
    gap = up(case.expert_most - least)
    hidden = gap - blur
    if case.model is not None and case.policy is not None:
        high = respond(case.model, q, nature=1, policy=case.policy).upper
        low = -respond(case.model, -q, nature=1).upper
        most = case.model.largest_entries / (1.0 - case.model.discount)
        rounding = combination_error(mdp, view, theta, q, most)
        hidden = up(up(high - low) + 2.0 * rounding)
    elif case.error > 0.0:
        # Of the error of μ̂ only what is along q matters twice.
        best, worst = optimal_policy(mdp, q), worst_policy(mdp, q)
        shown = float(q @ case.mu) + float(np.linalg.norm(q)) * case.error * ROUNDED_UP
        rounding = expectation_error(mdp, q) + expectation_error(mdp, w)
        rounding += combination_error(mdp, view, theta, q, case.mu)
        hidden = up(min(up(shown + rounding), best.upper) - worst.lower + rounding)
    hidden = max(hidden, 0.0)
    return least, max(min(gap, up(hidden + blur)), 0.0), hidden


def least_gap(case: Case, theta: Floats) -> float:
    """R(T) − R(L) at most, by (★) at a θ, and at the one that expresses most of w."""
    return min(width_bound(case, case.view, case.w).gap, _star(case, theta)[1])


def width_and_theorem_1(
    case: Case, width: Bound, diameter: float, never: Indistinct
) -> tuple[Bound, Bound]:
    """Width and Theorem 1, each with A and w or with AP and Pw, whichever says more."""
    view, w, of = case.view, case.w, "the reward"
    hidden, blur, risk = _theorem_1(view, w, case.epsilon, diameter)
    sigma, length = view.sigma, float(np.linalg.norm(w))
    distinct = never.project(w)
    if len(never.basis) and np.linalg.norm(distinct) > 1e-9 * np.linalg.norm(w):
        seen = view.without(never.basis)
        other = width_bound(case, seen, distinct)
        if other.gap < width.gap:
            width = other
        beyond = float(np.linalg.norm(view.matrix @ never.basis.T)) if view.rank else 0.0
        epsilon = case.epsilon + beyond * never.slack * ROUNDED_UP
        lost = float(np.linalg.norm(never.basis @ w)) * never.slack * ROUNDED_UP
        relative = _theorem_1(seen, distinct, epsilon, diameter)
        if relative[0] + lost + relative[1] < hidden + blur:
            hidden, blur, risk = relative[0] + lost, relative[1], relative[2]
            sigma, length = seen.sigma, float(np.linalg.norm(distinct))
            of = "what policies can change of the reward"
    sentence = (
        f"The direction of {of} is at a cosine of {risk:.2f} to what is not seen, and policies "
        f"can be {diameter:.3g} apart: that may cost {_most(hidden)}"
    )
    if case.epsilon > 0.0:  # else it is that of rounding
        sentence += f", and a mismatch of {case.epsilon:.3g} another {_most(blur)}"
    theorem_1 = Bound(
        "Theorem 1",
        up(hidden + blur),
        down(case.expert_least - up(hidden + blur)),
        Terms(
            hidden=hidden,
            mismatch=blur,
            length=length,
            risk=risk,
            diameter=diameter,
            ε=case.epsilon,
            σ=sigma,
        ),
        case.assumes,
        sentence + ".",
    )
    if width.gap > theorem_1.gap:  # by rounding; what Theorem 1 proves holds for width
        width = replace(width, gap=theorem_1.gap, least=max(width.least, theorem_1.least))
    return width, theorem_1


def _most(amount: float) -> str:
    return at_most(amount) if math.isfinite(amount) else "any amount"


def _theorem_1(
    view: Worldview, w: Floats, epsilon: float, largest: float
) -> tuple[float, float, float]:
    """‖w‖ρ · diam M and ‖w‖ε/σ, rounded up, and ρ. What the rank decision neglects is hidden."""
    risk = teaching_risk(view, w)
    length = float(np.linalg.norm(w)) * ROUNDED_UP
    sigma = view.sigma_at_least
    if sigma == 0.0:  # the rows are so nearly dependent that rounding hides what they say
        return math.inf, math.inf, risk
    stray, blur = view.neglected * largest / sigma, epsilon / sigma
    return length * ((risk + 1e-9) * largest + stray), length * blur, risk


def exact_bound(case: Case, found: WorstCaseBounds, looser: Bound) -> Bound:
    """What the exact worst case says, and never less than a looser bound does."""
    terms = Terms(expert=case.expert_most, worst=found.lower, ε=case.mismatch)
    if found.status is WorstCaseStatus.INFEASIBLE:
        sentence = (
            "No policy matches the demonstration this closely, so that there is nobody to speak "
            "of: allow for a larger mismatch."
        )
        return Bound("exact", math.inf, -math.inf, terms, case.assumes, sentence)
    gap = min(up(case.expert_most - found.lower), looser.gap)
    if case.error > 0.0 or case.policy is not None:
        gap = min(gap, _star(case, found.theta)[1])
    sentence = f"No policy that looks right to the learner earns less than {at_least(found.lower)}"
    if math.isfinite(found.upper):
        sentence = (
            f"There is a policy that looks right to the learner and earns {number(found.upper)}"
        )
        sentence += f"; none that looks right earns less than {at_least(found.lower)}"
    least = max(found.lower, looser.least)
    return Bound("exact", max(gap, 0.0), least, terms, case.assumes, sentence + ".")


__all__ = ["Bound", "Case", "exact_bound", "least_gap", "width_and_theorem_1", "width_bound"]
