"""What to show: the demonstration after which the worst learner who matches earns most.

What is found by `hunt` is certified by the exact worst case, and how much better anything else
could be is bounded by `upper_bound`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats
from ..demonstrations.demonstration import Demonstration
from ..errors import InvalidInputError, Status, require
from ..figures.cards import card
from ..figures.digits import at_least, at_most, number
from ..guarantees.bounds import check_limits
from ..guarantees.plausible.judgement import Judgement
from ..guarantees.worst_case import GRACE, LEAST, TOO_SHORT, worst_case
from ..mdp import clock
from ..mdp.estimated import AnyMDP, EstimatedMDP, nominal_of
from ..mdp.model import MDP
from ..mdp.planning import optimal_policy, worst_policy
from ..mdp.policy import Policy
from ..mdp.rewards.rewards import Rewards
from ..precision import SEARCH_TIE
from ..views.potential_shaping import Indistinct
from ..views.worldview import Worldview, check_worldview
from .hunt import Hunt
from .in_doubt import climbed_in_doubt, several_in_doubt
from .several import ShownForRewards, show_for_rewards


class ShownStatus(Status):
    """How the search for a demonstration ended; the text says what to do about it.

    Examples
    --------
    >>> import teachirl as ti
    >>> [status.name for status in ti.ShownStatus]
    ['OPTIMAL', 'BLIND', 'OUT_OF_SOLVES', 'OUT_OF_TIME', 'UNPROVED', 'IN_DOUBT']
    """

    OPTIMAL = "no demonstration guarantees more, up to the tolerance"
    BLIND = "all demonstrations look alike to the learner: none is better; teach a feature"
    OUT_OF_SOLVES = "others may guarantee more, if not more than upper; raise proof_solves"
    OUT_OF_TIME = "others may guarantee more, if not more than upper; allow more seconds"
    UNPROVED = "others may guarantee more, if not more than upper; raise starts to search further"
    IN_DOUBT = "others may guarantee more, if not more than upper; a longer log would help"


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
    gain : float, `guaranteed` less what showing an optimal policy guarantees; never negative. Where
        the world is known from a log, that is the one which is best in the worst world
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
            first = f"It guarantees {number(self.gain)} more than showing an optimal policy does: a"
        return (
            f"{first} learner who matches earns at least {at_least(self.guaranteed)}; "
            f"no demonstration guarantees more than {at_most(self.upper)}."
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
    mdp: AnyMDP,
    view: Worldview,
    weights: ArrayLike,
    *,
    starts: int = 8,
    rng: np.random.Generator,
    tolerance: float = 1e-3,
    proof_solves: int = 1000,
    indistinct: Indistinct | None = None,
    judgement: Judgement | None = None,
    max_seconds: float = math.inf,
) -> Shown: ...
@overload
def best_demonstration(
    mdp: AnyMDP,
    view: Worldview,
    weights: Rewards,
    *,
    starts: int = 8,
    rng: np.random.Generator,
    tolerance: float = 1e-3,
    proof_solves: int = 1000,
    indistinct: Indistinct | None = None,
    judgement: Judgement | None = None,
    max_seconds: float = math.inf,
) -> ShownForRewards: ...
def best_demonstration(
    mdp: AnyMDP,
    view: Worldview,
    weights: ArrayLike | Rewards,
    *,
    starts: int = 8,
    rng: np.random.Generator,
    tolerance: float = 1e-3,
    proof_solves: int = 1000,
    indistinct: Indistinct | None = None,
    judgement: Judgement | None = None,
    max_seconds: float = math.inf,
) -> Shown | ShownForRewards:
    """The policy to show to a learner with this view for the largest guaranteed reward.

    A learner who matches what is visible of an optimal policy may do badly all the same. Another
    policy may earn less, and look like none that is worse: every learner who matches it does at
    least as well as what was shown.

    Where the world is known from a log, what a policy guarantees holds in every world that the log
    allows. Then it is sought in the nominal world first, and from there by steps that never lead
    down in all of them.

    Parameters
    ----------
    mdp : MDP or EstimatedMDP
    view : Worldview
    weights : array [k], or Rewards if several are plausible: then the demonstration that guarantees
        most under the worst of them, which may be a mixture of policies
    starts : int, from how many places to climb, unless a proof spares it; some 120 MDP solves each
    rng : numpy.random.Generator, draws the places and the steps
    tolerance : float, how far above what was found the upper bound may stay, as a fraction of max R
        − min R
    proof_solves : int, about how many MDPs may be solved for the upper bound; with 0 it is max R. A
        few hundred suffice for a view of up to three independent features that tell policies apart,
        a few thousand for four; for more than six, none are spent
    indistinct : Indistinct, `indistinct_directions(mdp)`, if it is known already
    judgement : Judgement, of several rewards: the least performance, or with ``"cvar"`` the mean of
        a tail
    max_seconds : float, how long to search; out of time, the best is returned that was found and
        could be certified. They must suffice to plan for the reward and to evaluate that policy

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
    check_limits(tolerance, max_seconds)
    deadline = clock.seconds() + max_seconds
    if isinstance(weights, Rewards):
        asked = judgement or Judgement()
        # It is but a place to begin at.
        until, world = clock.seconds() + max_seconds / 3.0, nominal_of(mdp)
        nearly = _Terms(starts, rng, tolerance, 0, indistinct, until)
        mean = _of_one(world, view, weights.mean, nearly)
        first, by = (mean.policy,), deadline
        if isinstance(mdp, EstimatedMDP):
            by = clock.seconds() + 0.5 * (deadline - clock.seconds())
        found = show_for_rewards(world, view, weights, asked, first, starts, rng, by)
        if isinstance(mdp, EstimatedMDP):
            return several_in_doubt(mdp, view, weights, asked, found, deadline)
        return found
    require(judgement is None, "judgement is of several plausible rewards, and weights are one")
    terms = _Terms(starts, rng, tolerance, proof_solves, indistinct, deadline)
    if isinstance(mdp, EstimatedMDP):
        return _of_one_in_doubt(mdp, view, weights, terms)
    return _of_one(mdp, view, weights, terms)


class _Terms(NamedTuple):
    """How to search, as `best_demonstration` is told; and by when, by `clock.seconds`."""

    starts: int
    rng: np.random.Generator
    tolerance: float
    proof_solves: int
    indistinct: Indistinct | None
    deadline: float


def _of_one_in_doubt(
    model: EstimatedMDP,
    view: Worldview,
    weights: ArrayLike,
    terms: _Terms,
) -> Shown:
    """What to show for one reward in all worlds that a log allows, see `in_doubt`."""
    w = _checked_weights(model.nominal, view, weights)
    starts, rng, tolerance, *_, deadline = terms
    until = clock.seconds() + 0.5 * (deadline - clock.seconds())
    nominal = _of_one(model.nominal, view, w, terms._replace(deadline=until))
    # Each way, so that of a view with one row both ends are looked at.
    ways = rng.normal(size=((starts + 1) // 2, view.n_rows))
    ways = np.vstack([ways, -ways]) if view.n_rows else np.empty((0, 0))
    found = climbed_in_doubt(model, view, w, (nominal.policy,), ways, deadline)
    reached = found.case.lower
    upper, status = max(min(nominal.upper, found.upper), reached), ShownStatus.IN_DOUBT
    if upper - reached <= tolerance * found.span:
        status = ShownStatus.OPTIMAL
    elif not found.finished or nominal.status is ShownStatus.OUT_OF_TIME:
        status = ShownStatus.OUT_OF_TIME
    return Shown(
        policy=found.policy,
        demonstration=Demonstration.of_policy(model.nominal, found.policy),
        guaranteed=reached,
        upper=upper,
        gain=max(reached - found.plain, 0.0),
        theta=found.case.theta,
        solves=nominal.solves + found.solves,
        status=status,
    )


def _of_one(
    mdp: MDP,
    view: Worldview,
    weights: ArrayLike,
    terms: _Terms,
) -> Shown:
    """What to show for one reward."""
    starts, rng, tolerance, proof_solves, indistinct, deadline = terms
    w = _checked_weights(mdp, view, weights)
    ends = clock.in_time(deadline, lambda: (optimal_policy(mdp, w), worst_policy(mdp, w)))
    began = clock.seconds()
    plain = None if ends is None else _certified(mdp, view, w, ends[0].policy, deadline)
    if ends is None or plain is None:
        raise InvalidInputError(TOO_SHORT)
    best, worst = ends
    span, upper = best.lower - worst.upper, best.upper
    # To certify another takes as long.
    hunt, until = Hunt(mdp, view, w, span, upper), deadline - (clock.seconds() - began)
    solves, shown, status = 2 + plain.solves, plain, ShownStatus.OPTIMAL
    if span > 0.0 and upper - plain.guaranteed > tolerance * span:

        def hunted() -> bool:
            hunt.run(plain.theta, starts, rng, tolerance, proof_solves, indistinct)
            return True

        late = clock.in_time(until, hunted) is None
        upper, solves, found = hunt.upper, solves + hunt.solves, hunt.found
        other = None if found is None else _certified(mdp, view, w, found.policy, deadline)
        if other is not None:
            solves += other.solves
            shown = other if other.guaranteed - plain.guaranteed > SEARCH_TIE * span else plain
        if hunt.blind:
            upper, status = min(plain.upper, upper), ShownStatus.BLIND
        elif upper - shown.guaranteed > tolerance * span or other is None:
            status = ShownStatus.UNPROVED if hunt.stuck else ShownStatus.OUT_OF_SOLVES
            status = ShownStatus.OUT_OF_TIME if late else status
    upper, gain = max(upper, shown.guaranteed), shown.guaranteed - plain.guaranteed
    return replace(shown, upper=upper, gain=gain, solves=solves, status=status)


def _certified(
    mdp: MDP, view: Worldview, w: Floats, policy: Policy, deadline: float
) -> Shown | None:
    """What showing the policy guarantees, and that it guarantees no more; None if there is no time
    to evaluate it."""
    evaluate = partial(Demonstration.of_policy, mdp, policy)
    shown = clock.in_time(deadline + GRACE, evaluate)
    if shown is None:
        return None
    left = max(deadline - clock.seconds(), LEAST)
    case = worst_case(mdp, view, w, shown, max_seconds=left)
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


__all__ = ["Shown", "ShownStatus", "best_demonstration"]
