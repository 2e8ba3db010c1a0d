"""How bad can a learner be, by whatever algorithm? Bounds on R(T) − R(L), from loose to exact.

Let ‖A(μ_T − μ_L)‖ ≤ ε. For any θ ∈ R^ℓ, with q = w − Aᵀθ,

    R(T) − R(L) ≤ ⟨q, μ_T⟩ − min_{μ ∈ M} ⟨q, μ⟩ + ε‖θ‖.                                       (★)

- Theorem 1 of the paper: ‖w‖(ρ · diam M + ε/σ(A)), with the teaching risk ρ.
- Width: (★) at θ = (Aᵀ)⁺w, where q is w's projection on ker A. Never looser than Theorem 1.
- Exact: the least that (★) can be. A policy that looks right to the learner and is that bad exists.

The first two hold as well with AP and Pw in the place of A and w, P removing the directions that
cannot tell policies apart; the better of the two is given. A sampled demonstration says μ̂ with
‖μ̂ − μ_T‖ ≤ e; the learner matches μ̂, so that ε grows by ‖A‖e, and what is certified holds with
the demonstration's confidence.

Theorem 2 of the paper asks the other way round: can the expert's behaviour look optimal to the
learner (`theorem_2`)? The exact answer is `best_look`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats
from ..demonstrations.demonstration import Demonstration, as_demonstration
from ..errors import require
from ..mdp.model import MDP
from ..mdp.occupancy import expectation_error
from ..mdp.performance import performance_at_least
from ..mdp.planning import optimal_policy, worst_policy
from ..mdp.policy import Policy
from ..precision import ROUNDED_UP, down, up
from ..views.potential_shaping import Indistinct, indistinct_directions
from ..views.teaching_risk import teaching_risk
from ..views.worldview import Worldview
from .apparent_optimality import Look, best_look
from .bounds import (
    Terms,
    WorstCaseBounds,
    WorstCaseStatus,
    checked_case,
    combination_error,
    lower_bound,
)
from .theorem_2 import LooksOptimal, looks_optimal
from .worst_case import METHODS, Diameter, Method, diameter, worst_case


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

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, eq=False)
class Certificate:
    """What is proved of every learner who matches the demonstration in its view.

    Attributes
    ----------
    theorem_1, width, exact : Bound on R(T) − R(L); None for what was not needed to reach the target
    theorem_2 : LooksOptimal; None likewise
    look : Look, the exact answer to the question of Theorem 2; None likewise
    worst : WorstCaseBounds, the exact worst case with its witness; None where `exact` is
    least_reward : float, R(L) is at least this
    guaranteed : float, relative performance that the best of the bounds proves, in [0, 1]; 0 if no
        policy matches the demonstration, as then all bounds speak of nobody
    against_expert : float, R(T) − R(L) is at most this
    mismatch : float, ε, sampling error included
    confidence : float, with which all of it holds

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp, weights = ti.worlds.chain(5), [-2, -1, 0, 1, 2]
    >>> best = ti.optimal_policy(mdp, weights).policy
    >>> found = ti.certify(mdp, ti.Worldview.select(mdp, ["cell 1", "cell 5"]), weights, best)
    >>> found.guaranteed > 1 - 1e-9, found.matchable, found.confidence
    (True, True, 1.0)
    """

    theorem_1: Bound | None
    width: Bound
    exact: Bound | None
    theorem_2: LooksOptimal | None
    look: Look | None
    worst: WorstCaseBounds | None
    least_reward: float
    guaranteed: float
    against_expert: float
    mismatch: float
    confidence: float

    @property
    def matchable(self) -> bool:
        """False if it is proved that no policy matches the demonstration this closely."""
        return self.worst is None or self.worst.status is not WorstCaseStatus.INFEASIBLE

    def __str__(self) -> str:
        bounds = [bound for bound in (self.theorem_1, self.width, self.exact) if bound is not None]
        if not self.matchable:
            return "nothing is guaranteed: no policy matches the demonstration; raise mismatch"
        lines = [f"{bound.name:<10} gap ≤ {bound.gap:.4f}" for bound in bounds]
        lines.append(f"guaranteed relative performance {self.guaranteed:.3f}")
        if self.mismatch > 0.0:
            lines[-1] += f", if {self.width.assumes}"
        if self.worst is not None and self.worst.status is not WorstCaseStatus.OPTIMAL:
            lines.append(f"the worst case: {self.worst.status}")
        return "\n".join(lines)


def certify(
    mdp: MDP,
    view: Worldview,
    weights: ArrayLike,
    demonstration: Demonstration | Policy,
    mismatch: float = 0.0,
    *,
    target: float | None = None,
    method: Method = "auto",
    tolerance: float = 1e-6,
    max_seconds: float = math.inf,
    size: Diameter | None = None,
    indistinct: Indistinct | None = None,
) -> Certificate:
    """All certificates, cheapest first: width, Theorem 1, the exact worst case, Theorem 2.

    Parameters
    ----------
    mdp : MDP
    view : Worldview
    weights : array [k]
    demonstration : Demonstration or Policy that the learner is shown
    mismatch : float, how far ‖A(μ_L − μ)‖ may be from 0, μ being what the demonstration says; in
        the units of the view's rows
    target : float, stop as soon as this relative performance is proved. If it is not certain that a
        policy matches the demonstration, the exact worst case is computed all the same, to know
    method, tolerance, max_seconds : str, float, float, for the exact worst case, see `worst_case`
    size : Diameter, `diameter(mdp)`, if it is known already
    indistinct : Indistinct, `indistinct_directions(mdp)`, if it is known already

    Returns
    -------
    Certificate

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> weights = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    >>> expert = ti.optimal_policy(mdp, weights).policy
    >>> print(ti.certify(mdp, ti.Worldview.select(mdp, ["cell 3"]), weights, expert))
    Theorem 1  gap ≤ 29.7806
    width      gap ≤ 24.8173
    exact      gap ≤ 24.8173
    guaranteed relative performance 0.000
    >>> print(ti.certify(mdp, ti.Worldview.select(mdp, ["cell 1", "cell 5"]), weights, expert))
    Theorem 1  gap ≤ 13.3183
    width      gap ≤ 8.3747
    exact      gap ≤ 0.0000
    guaranteed relative performance 1.000
    """
    _check_asked(method, target)
    case = _posed(mdp, view, weights, demonstration, mismatch)
    w, shown = case.w, case.shown
    theorem_1 = exact = theorem_2 = look = worst = None
    width = _width(case, view, w)
    if not case.proves(target, width):
        never = indistinct_directions(mdp) if indistinct is None else indistinct
        around = diameter(mdp) if size is None else size
        width, theorem_1 = _both(case, width, around, never)
    if not case.proves(target, width) or not case.surely_matched:
        limits = {"tolerance": tolerance, "max_seconds": max_seconds}
        worst = worst_case(mdp, view, w, shown, mismatch, method=method, **limits)
        exact = _exact(case, worst, width)
    if theorem_1 is not None and not case.proves(target, exact or width):
        theorem_2 = looks_optimal(mdp, view, w, shown, around.upper)
        # MDP solves for the best look, which is no bound on what the learner earns.
        look = best_look(mdp, view, shown, max_solves=50, indistinct=never)
    least, gap = _best_of(case, (width, theorem_1, exact), worst)
    return Certificate(
        theorem_1=theorem_1,
        width=width,
        exact=exact,
        theorem_2=theorem_2,
        look=look,
        worst=worst,
        least_reward=least,
        guaranteed=case.performance(least),
        against_expert=gap,
        mismatch=case.epsilon,
        confidence=shown.confidence,
    )


def _check_asked(method: str, target: float | None) -> None:
    require(method in METHODS, f"method must be one of {', '.join(METHODS)}, got {method!r}")
    require(
        target is None or 0.0 <= target <= 1.0,
        f"target must be a relative performance from 0 to 1, got {target!r}",
    )


def _posed(
    mdp: MDP,
    view: Worldview,
    weights: ArrayLike,
    demonstration: Demonstration | Policy,
    mismatch: float,
) -> _Case:
    shown = as_demonstration(mdp, demonstration)
    w, _ = checked_case(mdp, view, weights, shown.expectations, mismatch)
    require(bool(w.any()), "weights must not be all zero: every policy then earns the same")
    return _Case(mdp, view, w, shown, float(mismatch))


def _best_of(
    case: _Case, bounds: tuple[Bound | None, ...], worst: WorstCaseBounds | None
) -> tuple[float, float]:
    """R(L) is at least the first, R(T) − R(L) at most the second."""
    # Where no policy matches, all bounds speak of nobody.
    nobody = worst is not None and worst.status is WorstCaseStatus.INFEASIBLE
    known = [bound for bound in bounds if bound is not None and not nobody]
    least = max([case.worst.lower, *(bound.least for bound in known)])
    return least, min([up(case.expert_most - least), *(bound.gap for bound in known)])


class _Case:
    """A learner, a reward and a demonstration, with the errors that all bounds share."""

    def __init__(
        self, mdp: MDP, view: Worldview, w: Floats, shown: Demonstration, mismatch: float
    ) -> None:
        self.mdp, self.view, self.w, self.mismatch = mdp, view, w, mismatch
        self.shown, self.mu, self.error = shown, shown.expectations, shown.error
        self.epsilon = mismatch + view.norm * self.error * ROUNDED_UP
        # The expert matches: exactly, or with the confidence that is claimed.
        exactly = self.error == 0.0 and shown.policy is not None
        self.surely_matched = exactly or (self.error > 0.0 and 2.0 * mismatch >= self.epsilon)
        self.best, self.worst = optimal_policy(mdp, w), worst_policy(mdp, w)
        reward = float(w @ self.mu)
        doubt = float(np.linalg.norm(w)) * self.error * ROUNDED_UP + expectation_error(mdp, w)
        self.expert_least = max(down(reward - doubt), self.worst.lower)
        self.expert_most = min(up(reward + doubt), self.best.upper)
        self.assumes = f"the learner matches what is shown up to {mismatch:.3g} in its view"
        if self.error > 0.0:
            self.assumes += (
                f", and the episodes are independent, within {self.error:.3g} "
                f"of the expert's feature expectations (confidence {shown.confidence:g})"
            )

    def performance(self, least: float) -> float:
        return performance_at_least(self.mdp, self.w, least, self.best, self.worst)

    def proves(self, target: float | None, bound: Bound) -> bool:
        return target is not None and self.performance(bound.least) >= target


def _width(case: _Case, view: Worldview, w: Floats) -> Bound:
    """(★) at the θ that expresses most of w in `view`, which is A or AP."""
    theta = view.multipliers(view.basis @ w)
    least, gap, hidden = _star(case, theta)
    blur = float(np.linalg.norm(theta)) * case.epsilon * ROUNDED_UP
    sentence = (
        "In the part of the reward that the learner cannot see, no policy is further below the "
        f"expert than {hidden:.4g}"
    )
    if blur > 0.0:
        sentence += f", and in the part that is seen a mismatch of {case.epsilon:.3g} may cost "
        sentence += f"another {blur:.4g}"
    return Bound(
        "width",
        gap,
        least,
        Terms(hidden=hidden, mismatch=blur, ε=case.epsilon, θ=float(np.linalg.norm(theta))),
        case.assumes,
        sentence + ".",
    )


def _star(case: _Case, theta: Floats) -> tuple[float, float, float]:
    """What (★) proves at θ: R(L) at least, R(T) − R(L) at most, and the latter's part of q."""
    mdp, view, w = case.mdp, case.view, case.w
    least = lower_bound(mdp, view, w, case.mu, case.mismatch, theta)
    q = w - view.matrix.T @ theta
    blur = float(np.linalg.norm(theta)) * case.epsilon * ROUNDED_UP
    gap = up(case.expert_most - least)
    if case.error > 0.0:
        # Of the error of μ̂ only what is along q matters twice.
        high, low = optimal_policy(mdp, q), worst_policy(mdp, q)
        shown = float(q @ case.mu) + float(np.linalg.norm(q)) * case.error * ROUNDED_UP
        rounding = expectation_error(mdp, q) + expectation_error(mdp, w)
        rounding += combination_error(mdp, view, theta, q, case.mu)
        gap = min(gap, up(min(up(shown + rounding), high.upper) - low.lower + blur + rounding))
    gap = max(gap, 0.0)
    return least, gap, max(gap - blur, 0.0)


def _both(case: _Case, width: Bound, size: Diameter, never: Indistinct) -> tuple[Bound, Bound]:
    """Width and Theorem 1, each with A and w or with AP and Pw, whichever says more."""
    view, w, of = case.view, case.w, "the reward"
    hidden, blur, risk = _theorem_1(view, w, case.epsilon, size.upper)
    sigma, length = view.sigma, float(np.linalg.norm(w))
    distinct = never.project(w)
    if len(never.basis) and np.linalg.norm(distinct) > 1e-9 * np.linalg.norm(w):
        seen = view.without(never.basis)
        other = _width(case, seen, distinct)
        if other.gap < width.gap:
            width = other
        beyond = float(np.linalg.norm(view.matrix @ never.basis.T)) if view.rank else 0.0
        epsilon = case.epsilon + beyond * never.slack * ROUNDED_UP
        lost = float(np.linalg.norm(never.basis @ w)) * never.slack * ROUNDED_UP
        relative = _theorem_1(seen, distinct, epsilon, size.upper)
        if relative[0] + lost + relative[1] < hidden + blur:
            hidden, blur, risk = relative[0] + lost, relative[1], relative[2]
            sigma, length = seen.sigma, float(np.linalg.norm(distinct))
            of = "what policies can change of the reward"
    sentence = (
        f"The direction of {of} is at a cosine of {risk:.2f} to what is not seen, and policies "
        f"can be {size.upper:.3g} apart: that may cost {hidden:.4g}"
    )
    if blur > 0.0:
        sentence += f", and a mismatch of {case.epsilon:.3g} another {blur:.4g}"
    theorem_1 = Bound(
        "Theorem 1",
        up(hidden + blur),
        down(case.expert_least - up(hidden + blur)),
        Terms(
            hidden=hidden,
            mismatch=blur,
            length=length,
            risk=risk,
            diameter=size.upper,
            ε=case.epsilon,
            σ=sigma,
        ),
        case.assumes,
        sentence + ".",
    )
    if width.gap > theorem_1.gap:  # by rounding; what Theorem 1 proves holds for width
        width = replace(width, gap=theorem_1.gap, least=max(width.least, theorem_1.least))
    return width, theorem_1


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


def _exact(case: _Case, found: WorstCaseBounds, looser: Bound) -> Bound:
    terms = Terms(expert=case.expert_most, worst=found.lower, ε=case.mismatch)
    if found.status is WorstCaseStatus.INFEASIBLE:
        sentence = (
            "No policy matches the demonstration this closely, so that there is nobody to speak "
            "of: allow for a larger mismatch."
        )
        return Bound("exact", math.inf, -math.inf, terms, case.assumes, sentence)
    gap = min(up(case.expert_most - found.lower), looser.gap)
    if case.error > 0.0:
        gap = min(gap, _star(case, found.theta)[1])
    sentence = f"No policy that looks right to the learner earns less than {found.lower:.4g}"
    if math.isfinite(found.upper):
        sentence = f"There is a policy that looks right to the learner and earns {found.upper:.4g}"
        sentence += f"; none that looks right earns less than {found.lower:.4g}"
    least = max(found.lower, looser.least)
    return Bound("exact", max(gap, 0.0), least, terms, case.assumes, sentence + ".")
