"""What to show: the demonstration after which the worst learner who matches earns most.

Showing μ guarantees g(Aμ), g(b) = min {⟨w, μ⟩ : μ ∈ M, Aμ = b}, and g is convex, so that the best
demonstration is at a vertex of AM: a policy that looks best under a reward ⟨θ, Aφ⟩ that the learner
can express. Which of them is best is a search for θ ∈ R^r: hill climbing, from the θ that proves
how bad showing an optimal policy is, from what the learner can express of w, and from random ones.
A θ costs one MDP solve (`exposed_policies`). What is found is then certified by the exact worst
case, and how much better anything else could be is bounded by `upper_bound`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats
from ..demonstrations.demonstration import Demonstration
from ..errors import Status, require
from ..figures.cards import card
from ..figures.digits import at_least, at_most, number
from ..guarantees.bounds import matching_room
from ..guarantees.plausible.judgement import Judgement
from ..guarantees.worst_case import worst_case
from ..mdp.model import MDP
from ..mdp.planning import optimal_policies, optimal_policy, worst_policy
from ..mdp.policy import Policy
from ..mdp.rewards.rewards import Rewards
from ..precision import SEARCH_TIE, first_largest
from ..views.potential_shaping import Indistinct, indistinct_directions
from ..views.worldview import Worldview, check_worldview
from .exposed_policies import LENGTH, UP, Exposed, Exposer
from .several import ShownForRewards, show_for_rewards
from .upper_bound import prove

# The first step, and what a step is multiplied by if it does not lead up: climbs are rough, and
# those that got highest go on in patience. Found by measuring, as all of these.
ROUGH, PATIENT = (0.5, 0.8), (0.6, 0.95)


class ShownStatus(Status):
    """How the search for a demonstration ended; the text says what to do about it.

    Examples
    --------
    >>> import teachirl as ti
    >>> [status.name for status in ti.ShownStatus]
    ['OPTIMAL', 'BLIND', 'OUT_OF_SOLVES', 'UNPROVED']
    """

    OPTIMAL = "no demonstration guarantees more, up to the tolerance"
    BLIND = "all demonstrations look alike to the learner: none is better; teach a feature"
    OUT_OF_SOLVES = "others may guarantee more, if not more than upper; raise proof_solves"
    UNPROVED = "others may guarantee more, if not more than upper; raise starts to search further"


@dataclass(frozen=True, eq=False)
class Shown:
    """A demonstration, and what showing it guarantees.

    Attributes
    ----------
    policy : Policy to show
    demonstration : Demonstration, the same, exact
    guaranteed : float, every learner who matches it earns at least this; proved
    upper : float, no demonstration guarantees more than this; proved, up to what the learner may
        miss by rounding: a part in 10⁸ of what is seen. At worst it is max R
    gain : float, `guaranteed` less what showing an optimal policy guarantees; never negative
    theta : array [ℓ], proves the guarantee by (★) of `guarantees.bounds`
    solves : int, how many MDPs were solved
    status : ShownStatus

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp, rng = ti.worlds.chain(3), np.random.default_rng(0)
    >>> view = ti.Worldview.select(mdp, ["cell 3"])
    >>> shown = ti.best_demonstration(mdp, view, [0, 0, 1], rng=rng)
    >>> shown.gain < 1e-9, shown.guaranteed <= shown.upper
    (True, True)
    """

    policy: Policy
    demonstration: Demonstration
    guaranteed: float
    upper: float
    gain: float
    theta: Floats
    solves: int
    status: ShownStatus

    @property
    def expectations(self) -> Floats:
        """array [k], those of the demonstration."""
        return self.demonstration.expectations

    @property
    def sentence(self) -> str:
        """str, what that says, in one sentence."""
        first = "Show an optimal policy: a"
        if self.gain > 0.0:
            first = f"It guarantees {self.gain:.4g} more than showing an optimal policy does: a"
        return (
            f"{first} learner who matches earns at least {self.guaranteed:.4g}; "
            f"no demonstration guarantees more than {self.upper:.4g}."
        )

    def __repr__(self) -> str:
        bounds = f"guaranteed {at_least(self.guaranteed)}, at most {at_most(self.upper)}"
        return f"Shown({bounds}, {self.status!r})"

    def _repr_html_(self) -> str:
        facts = (
            ("guaranteed reward", at_least(self.guaranteed)),
            ("no demonstration guarantees more than", at_most(self.upper)),
            ("more than showing an optimal policy", number(self.gain)),
            ("policy", repr(self.policy)),
            ("status", str(self.status)),
        )
        return card("What to show", facts, notes=[self.sentence])

    def __str__(self) -> str:
        return self.sentence


@overload
def best_demonstration(
    mdp: MDP,
    view: Worldview,
    weights: ArrayLike,
    *,
    starts: int = 8,
    rng: np.random.Generator,
    tolerance: float = 1e-3,
    proof_solves: int = 1000,
    indistinct: Indistinct | None = None,
    judgement: Judgement | None = None,
) -> Shown: ...
@overload
def best_demonstration(
    mdp: MDP,
    view: Worldview,
    weights: Rewards,
    *,
    starts: int = 8,
    rng: np.random.Generator,
    tolerance: float = 1e-3,
    proof_solves: int = 1000,
    indistinct: Indistinct | None = None,
    judgement: Judgement | None = None,
) -> ShownForRewards: ...
def best_demonstration(
    mdp: MDP,
    view: Worldview,
    weights: ArrayLike | Rewards,
    *,
    starts: int = 8,
    rng: np.random.Generator,
    tolerance: float = 1e-3,
    proof_solves: int = 1000,
    indistinct: Indistinct | None = None,
    judgement: Judgement | None = None,
) -> Shown | ShownForRewards:
    """The policy to show to a learner with this view for the largest guaranteed reward.

    A learner who matches what is visible of an optimal policy may do badly all the same. Another
    policy may earn less, and look like none that is worse: every learner who matches it does at
    least as well as what was shown.

    Parameters
    ----------
    mdp : MDP
    view : Worldview
    weights : array [k], or Rewards that are listed or sampled: then the demonstration that
        guarantees most under the worst of them, which may be a mixture of policies
    starts : int, from how many places to climb; some 120 MDP solves each
    rng : numpy.random.Generator, draws the places and the steps
    tolerance : float, how far above what was found the upper bound may stay, as a fraction of max R
        − min R
    proof_solves : int, about how many MDPs may be solved for the upper bound; with 0 it is max R. A
        few hundred suffice for a view of up to three independent features that tell policies apart,
        a few thousand for four; for more than six, none are spent
    indistinct : Indistinct, `indistinct_directions(mdp)`, if it is known already
    judgement : Judgement, of several rewards: the least performance, or with ``"cvar"`` the mean of
        a tail

    Returns
    -------
    Shown; of several rewards ShownForRewards

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp, rng = ti.worlds.chain(5), np.random.default_rng(0)
    >>> view = ti.Worldview.select(mdp, ["cell 3"])
    >>> shown = ti.best_demonstration(mdp, view, [-2, -1, 0, 1, 2], rng=rng)
    >>> print(f"{shown.guaranteed:.4f} instead of {shown.guaranteed - shown.gain:.4f}")
    -2.6526 instead of -12.4086
    >>> shown.policy.actions  # away from the middle
    array([1, 0, 0, 1, 0])
    >>> shown.status
    OPTIMAL
    """
    _check_search(rng, starts, proof_solves, tolerance)
    if isinstance(weights, Rewards):
        mean = _of_one(mdp, view, weights.mean, starts, rng, tolerance, 0, indistinct)
        asked = judgement or Judgement()
        return show_for_rewards(mdp, view, weights, asked, (mean.policy,), starts, rng)
    require(judgement is None, "judgement is of several plausible rewards, and weights are one")
    return _of_one(mdp, view, weights, starts, rng, tolerance, proof_solves, indistinct)


def _of_one(
    mdp: MDP,
    view: Worldview,
    weights: ArrayLike,
    starts: int,
    rng: np.random.Generator,
    tolerance: float,
    proof_solves: int,
    indistinct: Indistinct | None,
) -> Shown:
    """What to show for one reward."""
    w = _checked_weights(mdp, view, weights)
    best, worst = optimal_policy(mdp, w), worst_policy(mdp, w)
    span, upper = best.lower - worst.upper, best.upper
    plain = _certified(mdp, view, w, best.policy)
    solves, shown, status = 2 + plain.solves, plain, ShownStatus.OPTIMAL
    if span > 0.0 and upper - plain.guaranteed > tolerance * span:
        never = indistinct_directions(mdp) if indistinct is None else indistinct
        basis = view.without(never.basis).basis
        # Beside larger features, what the learner sees may be rounding to us, and not to the
        # learner.
        stuck = not _looks_alike(mdp, view, basis)
        if len(basis):
            exposer = Exposer(mdp, basis, w, span)
            places = [exposer.coordinates(reward) for reward in (view.matrix.T @ plain.theta, w)]
            found = _search(exposer, places, starts, rng)
            # In more directions than these AM has too many facets to bound them all.
            stuck = stuck or len(basis) > 6
            if not stuck and proof_solves > 0:
                proof = prove(exposer, found, upper / span, 0.5 * tolerance, proof_solves)
                found, upper, stuck = proof.best, min(upper, proof.upper * span), proof.stuck
            other = _certified(mdp, view, w, found.policy)
            solves += exposer.solves + other.solves
            shown = other if other.guaranteed - plain.guaranteed > SEARCH_TIE * span else plain
            if upper - shown.guaranteed > tolerance * span:
                status = ShownStatus.UNPROVED if stuck else ShownStatus.OUT_OF_SOLVES
        elif stuck:
            status = ShownStatus.UNPROVED
        else:
            upper, status = min(plain.upper, upper), ShownStatus.BLIND
    upper, gain = max(upper, shown.guaranteed), shown.guaranteed - plain.guaranteed
    return replace(shown, upper=upper, gain=gain, solves=solves, status=status)


def _certified(mdp: MDP, view: Worldview, w: Floats, policy: Policy) -> Shown:
    """What showing the policy guarantees, and that it guarantees no more."""
    case, shown = worst_case(mdp, view, w, policy), Demonstration.of_policy(mdp, policy)
    status, solves = ShownStatus.UNPROVED, case.solves
    return Shown(policy, shown, case.lower, case.upper, 0.0, case.theta, solves, status)


def _checked_weights(mdp: MDP, view: Worldview, weights: ArrayLike) -> Floats:
    check_worldview(view, mdp)
    w, shape = mdp.checked_weights(weights), (mdp.n_features,)
    require(w.shape == shape, f"weights must have shape {shape}, got {w.shape}")
    return w


def _check_search(rng: object, starts: int, proof_solves: int, tolerance: float) -> None:
    require(
        isinstance(rng, np.random.Generator),
        f"rng must be a numpy.random.Generator, got {type(rng).__name__}",
    )
    require(starts >= 1, f"starts must be at least 1, got {starts!r}")
    require(proof_solves >= 0, f"proof_solves must not be negative, got {proof_solves!r}")
    require(0.0 < tolerance < 1.0, f"tolerance must lie between 0 and 1, got {tolerance!r}")


def _looks_alike(mdp: MDP, view: Worldview, basis: Floats) -> bool:
    """Whether policies that agree along the basis [r, k] look the same to the learner. That is up
    to the rounding of each of the view's rows, however small it is beside others.
    """
    rest = view.matrix - (view.matrix @ basis.T) @ basis
    unseen = Worldview(rest).observe(mdp)
    axes = np.eye(len(rest))
    ends = optimal_policies(unseen, np.vstack([axes, -axes])).lower
    widths = ends[: len(axes)] + ends[len(axes) :]
    sizes = view.observe(mdp).largest_entries / (1.0 - mdp.discount)
    return bool((widths <= matching_room(mdp) * sizes).all())


def _search(
    exposer: Exposer, places: list[Floats], starts: int, rng: np.random.Generator
) -> Exposed:
    """The best that climbing from the places, and from random ones, finds."""
    rank = len(exposer.basis)
    if rank == 1:
        ends = [exposer.expose(np.array([sign])) for sign in (1.0, -1.0)]
        return ends[_highest(ends)]
    # Each climb has dice of its own: how long the others take does not change it.
    dice = [np.random.default_rng(seed) for seed in rng.integers(1 << 62, size=starts)]
    # Rounded: where a climb begins does not depend on the last bits either.
    places = [np.round(each / np.abs(each).max(), 3) for each in places if each.any()][:starts]
    places += [each.standard_normal(rank) for each in dice[len(places) :]]
    tops = [
        _climb(exposer, exposer.expose(place), *ROUGH, each)
        for place, each in zip(places, dice, strict=True)
    ]
    higher: list[Exposed] = []
    for _ in range((starts + 1) // 2):
        best = _highest(tops)
        higher.append(_climb(exposer, tops.pop(best), *PATIENT, dice.pop(best)))
    found = higher[_highest(higher)]
    # A longer θ may reach the vertex that this one is near.
    sharper = exposer.expose(found.theta, 100.0 * LENGTH)
    return sharper if sharper.reward > found.reward + UP else found


def _highest(tops: list[Exposed]) -> int:
    return first_largest([top.reward for top in tops], UP)


def _climb(
    exposer: Exposer, here: Exposed, step: float, shorter: float, rng: np.random.Generator
) -> Exposed:
    """Random steps that are taken if they lead up; then the next is longer, otherwise shorter."""
    rank = len(here.theta)
    # A climb ends when its steps, relative to the length of θ, are shorter than this.
    while step > 1e-3:
        there = exposer.expose(here.theta + step / np.sqrt(rank) * rng.standard_normal(rank))
        if there.reward > here.reward + UP:
            here, step = there, min(2.0 * step, 1.0)
        else:
            step *= shorter
    return here


__all__ = ["Shown", "ShownStatus", "best_demonstration"]
