"""How bad can a learner be, by whatever algorithm? All certificates, from loose to exact.

The bounds on R(T) − R(L) are those of `gap_bounds`. Theorem 2 of the paper asks the other way
round: can the expert's behaviour look optimal to the learner (`theorem_2`)? The exact answer is
`best_look`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from ..demonstrations.demonstration import Demonstration, as_demonstration
from ..errors import require
from ..figures.cards import Grid, card
from ..figures.digits import (
    at_least,
    at_most,
    percent_at_least,
    share_at_least,
    share_at_most,
    small,
)
from ..figures.picture import Picture
from ..figures.records import Bars, Figure, Panel
from ..mdp.estimated import AnyMDP
from ..mdp.model import MDP
from ..mdp.plan import Plan
from ..mdp.policy import Policy
from ..mdp.rewards.rewards import Rewards
from ..precision import INVISIBLE, first_largest, up
from ..views.potential_shaping import Indistinct, indistinct_directions
from ..views.worldview import Worldview
from .apparent_optimality import Look, best_look
from .bound_words import exact_in_words, looser_in_words
from .bounds import WorstCaseBounds, WorstCaseStatus, checked_case
from .diameter import Diameter, diameter_at_most
from .gap_bounds import Bound, Case, exact_bound, width_and_theorem_1, width_bound
from .plausible.certificate import RewardsCertificate, over_rewards
from .plausible.judgement import Judgement
from .theorem_2 import LooksOptimal, looks_optimal
from .worst_case import METHODS, Method, posed, worst_case

# MDP solves for the best look, which is no bound on what the learner earns.
LOOK_SOLVES = 50


@dataclass(frozen=True, eq=False)
class Certificate:
    """What is proved of every learner who matches the demonstration in its view.

    Attributes
    ----------
    theorem_1, width, exact : Bound on R(T) − R(L); None for what was not needed to reach the
        target, and Theorem 1 where the world is known from a log
    theorem_2 : LooksOptimal; None likewise
    look : Look, the exact answer to the question of Theorem 2; None likewise
    worst : WorstCaseBounds, the exact worst case with its witness; None where `exact` is
    least_reward : float, R(L) is at least this
    guaranteed : float, relative performance that the best of the bounds proves, in [0, 1]; 0 if no
        policy matches the demonstration, as then all bounds speak of nobody
    against_expert : float, R(T) − R(L) is at most this
    at_stake, floor : float, the same of anybody, who matches or not: R(T) − R(L) is at most the
        one and R(L) at least the other, and no bound that is printed says less
    mismatch : float, ε, sampling error included
    confidence : float, with which all of it holds: what may fail of the demonstration and, where
        the world is known from a log, of the model, adds up

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
    at_stake: float
    floor: float
    mismatch: float
    confidence: float

    @property
    def matchable(self) -> bool:
        """False if it is proved that no policy matches the demonstration this closely."""
        return self.worst is None or self.worst.status is not WorstCaseStatus.INFEASIBLE

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """tuple of Bound, those that were computed, from loose to exact."""
        computed = (self.theorem_1, self.width, self.exact)
        return tuple(bound for bound in computed if bound is not None)

    def capped(self, bound: Bound) -> tuple[float, float]:
        """What a bound comes to with all that holds of anybody.

        Parameters
        ----------
        bound : Bound, one of `bounds`

        Returns
        -------
        tuple of two float, R(T) − R(L) at most and R(L) at least
        """
        if not self.matchable:  # it speaks of nobody
            return self.at_stake, self.floor
        least = max(bound.least, self.floor)
        return min(bound.gap, self.at_stake, up(self.at_stake - (least - self.floor))), least

    def in_words(self, bound: Bound, scale: float = 0.0, expert: str = "the expert") -> str:
        """What that is, in one sentence.

        Parameters
        ----------
        bound : Bound, one of `bounds`
        scale : float, how far apart rewards can be, which is what digits are for
        expert : str, whom losses are counted from

        Returns
        -------
        str
        """
        if not self.matchable:
            return bound.sentence
        if bound is self.exact and self.worst is not None:
            return exact_in_words(self.worst, scale)
        return looser_in_words(bound, self.capped(bound)[0], self.at_stake, scale, expert)

    def plot(self) -> Picture:
        """What each certificate says that the learner may lose; needs the extra `plot`.

        Returns
        -------
        Picture
        """
        require(self.matchable, "there is nothing to draw: no policy matches the demonstration")
        shown = [bound for bound in self.bounds if math.isfinite(bound.gap)]
        gaps = [self.capped(bound)[0] for bound in shown]
        told = [
            f"{bound.name}\nat most {at_most(gap)}" for bound, gap in zip(shown, gaps, strict=True)
        ]
        tie = INVISIBLE * max(gaps, default=0.0)
        least = [first_largest([-gap for gap in gaps], tie)] if gaps else []
        bars = Bars("gap", tuple(told), np.array(gaps), tuple(least))
        panel = Panel("", "certificate", "reward below the expert's, at most", (bars,))
        caption = (
            f"The tightest is dark. Every learner who matches earns at least "
            f"{at_least(self.least_reward)}: {percent_at_least(self.guaranteed)} of the way from "
            "the worst policy to the best."
        )
        alt = f"Bars. {'; '.join(each.replace(chr(10), ': ') for each in told)}."
        return Picture(Figure("certificate", caption, (panel,)), (alt,))

    def __repr__(self) -> str:
        return (
            f"Certificate(guaranteed {percent_at_least(self.guaranteed)}, "
            f"reward ≥ {at_least(self.least_reward)})"
        )

    def _repr_html_(self) -> str:
        facts = (
            ("guaranteed relative performance", percent_at_least(self.guaranteed)),
            ("reward at least", at_least(self.least_reward)),
            ("below the expert's by at most", at_most(self.against_expert)),
            ("if the learner misses by at most", small(self.mismatch) if self.mismatch else "0"),
            ("confidence", f"{self.confidence:g}"),
        )
        rows = []
        for bound in self.bounds:
            gap, least = self.capped(bound)
            rows.append((bound.name, at_most(gap), at_least(least), self.in_words(bound)))
        grid = Grid(("certificate", "gap at most", "reward at least", "what it says"), rows)
        return card("Certificate", facts, grid, [] if self.matchable else [str(self)])

    def __str__(self) -> str:
        bounds = self.bounds
        if not self.matchable:
            return "nothing is guaranteed: no policy matches the demonstration; raise mismatch"
        lines = [
            f"{bound.name:<10} gap ≤ {share_at_most(self.capped(bound)[0], 4)}" for bound in bounds
        ]
        lines.append(f"guaranteed relative performance {share_at_least(self.guaranteed)}")
        if self.mismatch > 0.0:
            lines[-1] += f", if {self.width.assumes}"
        if self.worst is not None and self.worst.status is not WorstCaseStatus.OPTIMAL:
            lines.append(f"the worst case: {self.worst.status}")
        return "\n".join(lines)


@overload
def certify(
    mdp: AnyMDP,
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
    worst: WorstCaseBounds | None = None,
    width: Bound | None = None,
    plans: tuple[Plan, Plan] | None = None,
    theorems: bool = True,
    judgement: Judgement | None = None,
) -> Certificate: ...
@overload
def certify(
    mdp: AnyMDP,
    view: Worldview,
    weights: Rewards,
    demonstration: Demonstration | Policy,
    mismatch: float = 0.0,
    *,
    target: float | None = None,
    method: Method = "auto",
    tolerance: float = 1e-6,
    max_seconds: float = math.inf,
    size: Diameter | None = None,
    indistinct: Indistinct | None = None,
    worst: WorstCaseBounds | None = None,
    width: Bound | None = None,
    plans: tuple[Plan, Plan] | None = None,
    theorems: bool = True,
    judgement: Judgement | None = None,
) -> RewardsCertificate: ...
def certify(
    mdp: AnyMDP,
    view: Worldview,
    weights: ArrayLike | Rewards,
    demonstration: Demonstration | Policy,
    mismatch: float = 0.0,
    *,
    target: float | None = None,
    method: Method = "auto",
    tolerance: float = 1e-6,
    max_seconds: float = math.inf,
    size: Diameter | None = None,
    indistinct: Indistinct | None = None,
    worst: WorstCaseBounds | None = None,
    width: Bound | None = None,
    plans: tuple[Plan, Plan] | None = None,
    theorems: bool = True,
    judgement: Judgement | None = None,
) -> Certificate | RewardsCertificate:
    """All certificates, cheapest first: width, Theorem 1, the exact worst case, Theorem 2.

    Parameters
    ----------
    mdp : MDP; or EstimatedMDP, see `worst_case`, where there are no Theorems 1 and 2
    view : Worldview
    weights : array [k], or Rewards if several are plausible
    demonstration : Demonstration or Policy that the learner is shown
    mismatch : float, how far ‖A(μ_L − μ)‖ may be from 0, μ being what the demonstration says; in
        the units of the view's rows
    target : float, stop as soon as this relative performance is proved. If it is not certain that a
        policy matches the demonstration, the exact worst case is computed all the same, to know
    method, tolerance, max_seconds : str, float, float, for the exact worst case, see `worst_case`
    size : Diameter, `diameter(mdp)`, if it is known already
    indistinct : Indistinct, `indistinct_directions(mdp)`, if it is known already
    worst : WorstCaseBounds, the exact worst case, if it is known already
    width : Bound, the one that a certificate without theorems has, if it is known already
    plans : tuple of two Plan, `optimal_policy` and `worst_policy`, if they are known already
    theorems : bool, False to leave out Theorems 1 and 2 and the best look, which may take longer
    judgement : Judgement, what counts of several rewards: their least performance by default

    Returns
    -------
    Certificate; of several rewards RewardsCertificate, by the exact worst case alone

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> weights = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    >>> expert = ti.optimal_policy(mdp, weights).policy
    >>> print(ti.certify(mdp, ti.Worldview.select(mdp, ["cell 3"]), weights, expert))
    Theorem 1  gap ≤ 24.8173
    width      gap ≤ 24.8173
    exact      gap ≤ 24.8173
    guaranteed relative performance 0.000
    """
    _check_asked(method, target)
    limits: dict[str, Any] = {"tolerance": tolerance, "max_seconds": max_seconds}
    if isinstance(weights, Rewards):
        alone = "target, worst, width, plans and size are of one reward, and weights are several"
        known = target, worst, width, plans, size
        require(all(each is None for each in known), alone)
        who, asked = posed(mdp, view, demonstration, mismatch, method, **limits), judgement
        return over_rewards(who, weights, asked or Judgement(), indistinct=indistinct, **limits)
    require(judgement is None, "judgement is of several plausible rewards, and weights are one")
    case = _posed(mdp, view, weights, demonstration, mismatch, plans)
    return _of_one(case, target, method, limits, size, indistinct, worst, width, theorems)


def _of_one(
    case: Case,
    target: float | None,
    method: Method,
    limits: dict[str, Any],
    size: Diameter | None,
    indistinct: Indistinct | None,
    worst: WorstCaseBounds | None,
    width: Bound | None,
    theorems: bool,
) -> Certificate:
    """All certificates of one reward."""
    mdp, view, mismatch = case.mdp, case.view, case.mismatch
    theorem_1 = exact = theorem_2 = look = None
    width = width or width_bound(case, view, case.w)
    if theorems and isinstance(mdp, MDP) and not case.proves(target, width):
        never = indistinct_directions(mdp) if indistinct is None else indistinct
        around = diameter_at_most(mdp) if size is None else size.upper
        width, theorem_1 = width_and_theorem_1(case, width, around, never)
    if not case.proves(target, width) or not case.surely_matched:
        if worst is None:
            worst = worst_case(mdp, view, case.w, case.shown, mismatch, method=method, **limits)
        exact = exact_bound(case, worst, width)
    if theorem_1 and isinstance(mdp, MDP) and not case.proves(target, exact or width):
        theorem_2 = looks_optimal(mdp, view, case.w, case.shown, around)
        look = best_look(mdp, view, case.shown, max_solves=LOOK_SOLVES, indistinct=never)
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
        at_stake=up(case.expert_most - case.worst.lower),
        floor=case.worst.lower,
        mismatch=case.epsilon,
        confidence=case.confidence,
    )


def _check_asked(method: str, target: float | None) -> None:
    require(method in METHODS, f"method must be one of {', '.join(METHODS)}, got {method!r}")
    require(
        target is None or 0.0 <= target <= 1.0,
        f"target must be a relative performance from 0 to 1, got {target!r}",
    )


def _posed(
    mdp: AnyMDP,
    view: Worldview,
    weights: ArrayLike,
    demonstration: Demonstration | Policy,
    mismatch: float,
    plans: tuple[Plan, Plan] | None,
) -> Case:
    shown = as_demonstration(mdp, demonstration)
    w, _ = checked_case(mdp, view, weights, shown.expectations, mismatch)
    require(bool(w.any()), "weights must not be all zero: every policy then earns the same")
    return Case(mdp, view, w, shown, float(mismatch), plans)


def _best_of(
    case: Case, bounds: tuple[Bound | None, ...], worst: WorstCaseBounds | None
) -> tuple[float, float]:
    """R(L) is at least the first, R(T) − R(L) at most the second."""
    # Where no policy matches, all bounds speak of nobody.
    nobody = worst is not None and worst.status is WorstCaseStatus.INFEASIBLE
    known = [bound for bound in bounds if bound is not None and not nobody]
    least = max([case.worst.lower, *(bound.least for bound in known)])
    return least, min([up(case.expert_most - least), *(bound.gap for bound in known)])


__all__ = ["Certificate", "certify"]
