"""How bad can the learner be, whatever her algorithm? Bounds on R(T) − R(L), from loose to exact.

Let ‖A(μ_T − μ_L)‖ ≤ ε. For any θ ∈ R^ℓ, with q = w − Aᵀθ,

    R(T) − R(L) ≤ ⟨q, μ_T⟩ − min_{μ ∈ M} ⟨q, μ⟩ + ε‖θ‖.                                       (★)

- Theorem 1 of the paper: ‖w‖(ρ · diam M + ε/σ(A)), with the teaching risk ρ.
- Width: (★) at θ = (Aᵀ)⁺w, where q is w's projection on ker A. Never looser than Theorem 1.
- Exact: the least that (★) can be. A policy that looks right to her and is that bad exists.

Theorem 1 holds as well with AP and Pw in the place of A and w, P removing the directions that
cannot tell policies apart; the better of the two is given. A sampled demonstration says μ̂ with
‖μ̂ − μ_T‖ ≤ e; she matches μ̂, so that ε grows by ‖A‖e, and what is certified holds with the
demonstration's confidence.

Theorem 2 of the paper asks the other way round: can the expert's behaviour look optimal to her? For
w_L proportional to ((A)⁺)ᵀw, an optimal policy looks suboptimal by at most
diam M · ‖A‖ · ρ/√(1 − ρ²).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .bounds import WorstCaseBounds, WorstCaseStatus, expectation_error, lower_bound
from .checks import Floats, frozen
from .demonstrations import Demonstration, as_demonstration
from .errors import require
from .indistinct import Indistinct, indistinct_directions
from .mdp import MDP, check_is_mdp
from .planning import Plan, optimal_policy, worst_policy
from .policy import Policy
from .polytope import Diameter, Method, diameter, worst_case
from .risk import teaching_risk
from .worldview import Worldview

# Norms, pseudoinverses and products of them are rounded; bounds made of them are rounded up.
ROUNDED_UP = 1.0 + 1e-9


@dataclass(frozen=True)
class Bound:
    """An upper bound on R(T) − R(L).

    Attributes
    ----------
    name : which certificate it is
    gap : the bound, in units of reward; ∞ if it says nothing
    terms : what it is made of, by name
    assumes : what it takes for granted
    sentence : what it says, in one sentence
    """

    name: str
    gap: float
    terms: dict[str, float]
    assumes: str
    sentence: str

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, eq=False)
class LooksOptimal:
    """Theorem 2: a reward in her features under which the demonstrated policy looks nearly best.

    Attributes
    ----------
    weights : array [ℓ], w_L of length 1; zeros if the reward has no part that she can see
    bound : how far from optimal the theorem lets an optimal policy look; ∞ if ρ = 1
    suboptimality : how far the demonstrated policy is from optimal under that reward, at most
    sentence : what that says, in one sentence
    """

    weights: Floats
    bound: float
    suboptimality: float
    sentence: str

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, eq=False)
class Certificate:
    """What is proved of every learner who matches the demonstration in her view.

    Attributes
    ----------
    theorem_1, width, exact : Bound on R(T) − R(L); None for what was not needed to reach the target
    theorem_2 : LooksOptimal
    worst : the exact worst case with its witness; None where `exact` is
    least_reward : R(L) is at least this
    guaranteed : relative performance that the best of the bounds proves, in [0, 1]
    against_expert : R(T) − R(L) is at most this
    mismatch : ε, sampling error included
    confidence : with which all of it holds
    """

    theorem_1: Bound
    width: Bound | None
    exact: Bound | None
    theorem_2: LooksOptimal
    worst: WorstCaseBounds | None
    least_reward: float
    guaranteed: float
    against_expert: float
    mismatch: float
    confidence: float

    def __str__(self) -> str:
        bounds = [bound for bound in (self.theorem_1, self.width, self.exact) if bound is not None]
        lines = [f"{bound.name:<10} gap ≤ {bound.gap:.4f}" for bound in bounds]
        lines.append(f"guaranteed relative performance {self.guaranteed:.3f}")
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
) -> Certificate:
    """All certificates, cheapest first.

    Parameters
    ----------
    weights : array [k]
    demonstration : what she is shown, or the policy that she is shown
    mismatch : how far ‖A(μ_L − μ)‖ may be from 0, μ being what the demonstration says
    target : stop as soon as this relative performance is proved
    method : for the exact worst case, see `worst_case`

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
    check_is_mdp(mdp)
    view.check(mdp)
    w = mdp.checked_weights(weights)
    require(w.ndim == 1, f"weights must have shape ({mdp.n_features},), got {w.shape}")
    require(bool(w.any()), "weights must not be all zero: every policy then earns the same")
    require(0.0 <= mismatch < math.inf, f"mismatch must be non-negative, got {mismatch!r}")
    shown = as_demonstration(mdp, demonstration)
    case = _Case(mdp, view, w, shown, float(mismatch))
    best, worst = optimal_policy(mdp, w), worst_policy(mdp, w)
    size, never = diameter(mdp), indistinct_directions(mdp)

    bounds = [_theorem_1(case, size, never)]
    found: WorstCaseBounds | None = None
    least = case.expert_least - bounds[0].gap
    if target is None or _performance(least, best, worst) < target:
        bounds.append(_width(case, bounds[0]))
        least = max(least, case.expert_least - bounds[1].gap)
    if target is None or _performance(least, best, worst) < target:
        found = worst_case(mdp, view, w, shown, mismatch, method=method)
        bounds.append(_exact(case, found, bounds[1]))
        least = max(least, case.expert_least - bounds[2].gap)
        if found.status is not WorstCaseStatus.INFEASIBLE:
            least = max(least, found.lower)
    least = max(least, worst.lower)
    padded: list[Bound | None] = [*bounds, None, None]
    return Certificate(
        theorem_1=bounds[0],
        width=padded[1],
        exact=padded[2],
        theorem_2=_theorem_2(case, size),
        worst=found,
        least_reward=least,
        guaranteed=_performance(least, best, worst),
        against_expert=min(bound.gap for bound in bounds),
        mismatch=case.epsilon,
        confidence=shown.confidence,
    )


def _performance(least: float, best: Plan, worst: Plan) -> float:
    """(R − min R)/(max R − min R) of a reward, rounded down; 1 where all policies are equal."""
    spread = best.upper - worst.upper
    if best.value - worst.value <= (best.upper - best.lower) + (worst.upper - worst.lower):
        return 1.0
    return min(max((least - worst.upper) / spread, 0.0), 1.0)


class _Case:
    """A learner, a reward and a demonstration, with the errors that all bounds share."""

    def __init__(
        self, mdp: MDP, view: Worldview, w: Floats, shown: Demonstration, mismatch: float
    ) -> None:
        self.mdp, self.view, self.w, self.mismatch = mdp, view, w, mismatch
        self.mu, self.error = shown.expectations, shown.error
        self.exact_policy = shown.policy if shown.error == 0.0 else None
        self.epsilon = mismatch + view.norm * self.error * ROUNDED_UP
        reward = float(w @ self.mu)
        doubt = float(np.linalg.norm(w)) * self.error * ROUNDED_UP + expectation_error(mdp, w)
        self.expert_least, self.expert_most = reward - doubt, reward + doubt


def _theorem_1(case: _Case, size: Diameter, never: Indistinct) -> Bound:
    plain = _theorem_1_of(case.view, case.w, case.epsilon, size.upper)
    terms = {"risk": plain[1], "diameter": size.upper, "ε": case.epsilon, "σ": case.view.sigma}
    gap, of = plain[0], "the features"
    distinct = never.project(case.w)
    if len(never.basis) and np.linalg.norm(distinct) > 1e-9 * np.linalg.norm(case.w):
        seen = case.view.without(never.basis)
        hidden = float(np.linalg.norm(case.view.matrix @ never.basis.T)) if case.view.rank else 0.0
        epsilon = case.epsilon + hidden * never.slack * ROUNDED_UP
        relative = _theorem_1_of(seen, distinct, epsilon, size.upper)
        lost = float(np.linalg.norm(never.basis @ case.w)) * never.slack * ROUNDED_UP
        if relative[0] + lost < gap:
            gap, of = relative[0] + lost, "the features that can tell policies apart"
            terms |= {"risk": relative[1], "σ": seen.sigma, "ε": epsilon}
    return Bound(
        "Theorem 1",
        gap,
        terms,
        "she matches the demonstration in her view up to ε",
        f"Of {of}, {terms['risk']:.0%} of the reward's direction is hidden from her, and policies "
        f"can be {size.upper:.3g} apart: she earns at most {gap:.4g} less than the expert.",
    )


def _theorem_1_of(
    view: Worldview, w: Floats, epsilon: float, largest: float
) -> tuple[float, float]:
    """‖w‖(ρ · diam M + ε/σ), rounded up, and ρ. What the rank decision neglects is hidden."""
    risk = teaching_risk(view, w)
    length = float(np.linalg.norm(w))
    blur = (epsilon + view.neglected * largest) / view.sigma if view.rank else 0.0
    return length * ((risk + 1e-9) * largest + blur) * ROUNDED_UP, risk


def _width(case: _Case, looser: Bound) -> Bound:
    matrix, w = case.view.matrix, case.w
    theta = np.linalg.pinv(matrix.T) @ w if case.view.rank else np.zeros(len(matrix))
    q = w - matrix.T @ theta
    if case.error == 0.0:
        least = lower_bound(case.mdp, case.view, w, case.mu, case.mismatch, theta)
        gap = case.expert_most - least
    else:
        high, low = optimal_policy(case.mdp, q), worst_policy(case.mdp, q)
        shown = float(q @ case.mu) + float(np.linalg.norm(q)) * case.error * ROUNDED_UP
        shown = min(shown + expectation_error(case.mdp, q), high.upper)
        gap = shown - low.lower + float(np.linalg.norm(theta)) * case.epsilon * ROUNDED_UP
    gap = max(min(gap, looser.gap), 0.0)
    return Bound(
        "width",
        gap,
        {"‖θ‖": float(np.linalg.norm(theta)), "‖q‖": float(np.linalg.norm(q)), "ε": case.epsilon},
        "she matches the demonstration in her view up to ε",
        f"Along the part of the reward that she cannot see, no policy is further below the expert "
        f"than {gap:.4g}.",
    )


def _exact(case: _Case, found: WorstCaseBounds, looser: Bound) -> Bound:
    gap = looser.gap
    if found.status is WorstCaseStatus.INFEASIBLE:
        sentence = (
            "No policy matches the demonstration this closely, so that this says nothing: "
            "allow for a larger mismatch."
        )
    else:
        gap = max(min(case.expert_most - found.lower, gap), 0.0)
        sentence = (
            f"There is a policy that looks right to her and earns {found.upper:.4g}; none that "
            f"looks right earns less than {found.lower:.4g}."
        )
    return Bound(
        "exact",
        gap,
        {"expert": case.expert_most, "worst": found.lower, "ε": case.mismatch},
        "she matches the demonstration in her view up to ε",
        sentence,
    )


def _theorem_2(case: _Case, size: Diameter) -> LooksOptimal:
    view, w = case.view, case.w
    risk = teaching_risk(view, w)
    weights = np.linalg.pinv(view.matrix.T) @ w if view.rank else np.zeros(view.n_rows)
    length = float(np.linalg.norm(weights))
    if length == 0.0 or risk == 1.0:
        sentence = "Nothing of the reward is visible to her: no reward of hers resembles it."
        return LooksOptimal(frozen(np.zeros(view.n_rows)), math.inf, math.inf, sentence)
    weights = weights / length
    seen = view.matrix.T @ weights
    bound = size.upper * view.norm * risk / math.sqrt(1.0 - risk**2) * ROUNDED_UP
    plan = optimal_policy(case.mdp, seen)
    doubt = expectation_error(case.mdp, seen) + float(np.linalg.norm(seen)) * case.error
    off = max(plan.upper - float(seen @ case.mu) + doubt * ROUNDED_UP, 0.0)
    sentence = (
        f"Under the reward of hers that resembles the true one most, the demonstrated policy looks "
        f"at most {off:.4g} worse than the best; Theorem 2 allows an optimal policy {bound:.4g}."
    )
    return LooksOptimal(frozen(weights), bound, off, sentence)
