"""What to show if several rewards are plausible: the most that is guaranteed under all of them.

Showing μ guarantees g_i(Aμ) under reward i. Each g_i is convex, with θ_i of its worst case as a
subgradient, so that showing μ′ guarantees g_i(Aμ) + ⟨θ_i, A(μ′ − μ)⟩ at least. To maximise the
least of these over M, or the mean of a tail, is one linear program (`mixtures`), and never leads
down. The answer may be a mixture of policies. No demonstration guarantees more than the best
mixture earns under the worst of the rewards, as who is shown may be who matches.

Of a convex set of rewards some are listed, and what is found for these is certified for the whole
set; the reward under which it is worst there joins the list, and the search goes on, a few times.
What no demonstration exceeds under some of the rewards, none exceeds under all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Floats
from ..demonstrations.demonstration import Demonstration
from ..errors import InvalidInputError, require
from ..figures.cards import card
from ..figures.digits import percent, percent_at_least, percent_at_most
from ..guarantees.certificate import certify
from ..guarantees.plausible.certificate import RewardsCertificate
from ..guarantees.plausible.judgement import Criterion, Judgement, Measure
from ..guarantees.plausible.tails import Tail
from ..guarantees.worst_case import LEAST, TOO_SHORT, worst_case
from ..mdp import clock
from ..mdp.model import MDP
from ..mdp.occupancy import mixture
from ..mdp.planning import optimal_policies, optimal_policy
from ..mdp.policy import Policy
from ..mdp.rewards.checks import RewardsKind
from ..mdp.rewards.rewards import Rewards
from ..precision import first_largest
from ..views.worldview import Worldview
from .mixtures import Mixture, best_mixture

# Steps up from a place, at most; and how closely worst cases and programs are solved on the way.
STEPS, CLOSELY = 20, 1e-4
# How far the ends of a reward's range may be off, as a share of it; more than planning leaves.
PLANNED = 1e-6
# The share of the time that is left in which to climb.
CLIMBING = 0.7
# What is guaranteed by less than this more is a tie.
TIE = 1e-3
# Of a convex set, rewards that are listed first, about, and how often the worst one joins them.
SOME, ROUNDS = 9, 4


@dataclass(frozen=True, eq=False)
class ShownForRewards:
    """A demonstration, and what showing it guarantees if the reward is any of several.

    Attributes
    ----------
    policy : Policy to show; one that may choose at random
    policies : tuple of Policy, what it is a mixture of, all of them deterministic or given
    shares : array [n], their shares: in which share of the episodes each may be shown instead
    demonstration : Demonstration, the same, exact
    certificate : RewardsCertificate, what is proved of it
    upper : float, no demonstration guarantees more than this, as a relative performance; proved
        up to a part in a million
    fair : Policy that earns most under the worst of the rewards, which is where `upper` is from
    plain : float, what showing an optimal policy for the mean reward guarantees
    solves : int, how many MDPs were solved on the way
    finished : bool, whether there was time for the whole search; if not, others may be better

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp, rng = ti.worlds.chain(5), np.random.default_rng(0)
    >>> rewards = ti.Rewards.listed([[-2, -1, 0, 1, 2], [0, 0, 0, 0, 1]])
    >>> view = ti.Worldview.select(mdp, ["cell 1", "cell 5"])
    >>> shown = ti.best_demonstration(mdp, view, rewards, rng=rng)
    >>> shown.guaranteed > 0.999, len(shown.policies)
    (True, 1)
    """

    policy: Policy
    policies: tuple[Policy, ...]
    shares: Floats
    demonstration: Demonstration
    certificate: RewardsCertificate
    upper: float
    fair: Policy
    plain: float
    solves: int
    finished: bool = True

    @property
    def guaranteed(self) -> float:
        """The relative performance that is proved under all rewards, or of the tail."""
        return self.certificate.guaranteed

    @property
    def gain(self) -> float:
        """How much more that is than showing an optimal policy for the mean reward guarantees."""
        return max(self.guaranteed - self.plain, 0.0)

    @property
    def how(self) -> str:
        """str, how to show it, in one sentence."""
        if len(self.policies) == 1:
            return "Show one policy."
        shares = ", ".join(percent(share) for share in self.shares)
        return (
            f"Show a mixture of {len(self.policies)} policies: {shares} of the episodes by each, "
            "or all of them by the one policy that chooses at random and has the same feature "
            "expectations."
        )

    @property
    def sentence(self) -> str:
        """str, what that says, in two sentences."""
        return (
            f"{self.how} {self.certificate.sentence} No demonstration guarantees more than "
            f"{percent_at_most(self.upper)}."
        )

    def __repr__(self) -> str:
        reached = percent_at_least(self.guaranteed)
        parts = f"{len(self.policies)} part{'s' if len(self.policies) > 1 else ''}"
        return f"ShownForRewards(guaranteed {reached}, {parts})"

    def _repr_html_(self) -> str:
        facts = (
            ("guaranteed under all rewards", percent_at_least(self.guaranteed)),
            ("no demonstration guarantees more than", percent_at_most(self.upper)),
            ("policies in the mixture", f"{len(self.policies)}"),
        )
        return card("What to show", facts, notes=[self.sentence])

    def __str__(self) -> str:
        return self.sentence


class _Problem:
    """Rewards in units of their own range, counted from their own worst policy."""

    def __init__(self, mdp: MDP, view: Worldview, rewards: Rewards, judgement: Judgement) -> None:
        self.mdp, self.view, self.solves = mdp, view, 0
        points = rewards.points
        ends = optimal_policies(mdp, np.vstack([points, -points]))
        most, least = ends[: len(points)].lower, -ends[len(points) :].lower
        # Rewards under which all policies are alike ask for nothing.
        some = most - least > 1e-9 * np.abs(points) @ mdp.largest_entries / (1.0 - mdp.discount)
        require(bool(some.any()), "under all plausible rewards every policy earns the same")
        widths = (most - least)[some]
        self.weights = points[some] / widths[:, None]
        self.constants = -least[some] / widths
        self.chances = rewards.chances[some] / rewards.chances[some].sum()
        self.caps = np.ones(len(self.weights))
        self.tail = Tail(Measure.LEAST, 0.0, 1.0)
        if judgement.tail is not None:
            self.tail = Tail(Measure.CVAR, float(judgement.tail), 1.0)
            self.caps = np.minimum(self.chances / float(judgement.tail), 1.0)
        self._thetas: list[Floats | None] = [None] * len(self.weights)

    def guarantees(self, shown: Demonstration) -> tuple[Floats, Floats]:
        """What showing a policy guarantees under each reward [n], and Aᵀθ [n, k]."""
        found, seen = [], []
        for i, w in enumerate(self.weights):
            start = self._thetas[i]
            case = worst_case(self.mdp, self.view, w, shown, tolerance=CLOSELY, start=start)
            self.solves += case.solves
            self._thetas[i] = case.theta
            found.append(case.lower)
            seen.append(self.view.matrix.T @ case.theta)
        return np.array(found) + self.constants, np.array(seen)

    def climb(self, parts: tuple[Policy, ...], shares: Floats) -> _Place:
        """Steps up from a mixture until they lead no further."""
        here: _Place | None = None
        for _ in range(STEPS):
            policy = parts[0] if len(parts) == 1 else mixture(self.mdp, parts, shares)
            shown = Demonstration.of_policy(self.mdp, policy)
            each, seen = self.guarantees(shown)
            value = self.tail.of(each, self.chances)
            if here is not None and value <= here.value + TIE:
                break
            here = _Place(parts, shares, shown, value)
            constants = each - seen @ shown.expectations
            found = best_mixture(self.mdp, seen, constants, self.caps, CLOSELY)
            self.solves += found.solves
            if found.value <= value + TIE:
                break
            parts, shares = found.policies, found.shares
        assert here is not None
        return here


@dataclass(frozen=True, eq=False)
class _Place:
    policies: tuple[Policy, ...]
    shares: Floats
    shown: Demonstration
    value: float

    @property
    def policy(self) -> Policy:
        assert self.shown.policy is not None
        return self.shown.policy


def show_for_rewards(
    mdp: MDP,
    view: Worldview,
    rewards: Rewards,
    judgement: Judgement,
    first: tuple[Policy, ...],
    starts: int,
    rng: np.random.Generator,
    deadline: float,
) -> ShownForRewards:
    """What to show for several rewards; the search begins at the policies `first` as well."""
    rewards.check(mdp)
    require(
        judgement.criterion is Criterion.PERFORMANCE and judgement.measure is not Measure.QUANTILE,
        "what to show is judged by the least performance, or by the mean of a tail (cvar)",
    )
    require(
        judgement.tail is None or not rewards.convex,
        f"tail needs chances, which {rewards.sentence} has not; list rewards, or sample them",
    )
    terms = mdp, view, rewards, judgement
    if not rewards.convex:
        return _shown_for(*terms, rewards, first, starts, rng, deadline)
    listed, best = _some_of(rewards, rng), None
    for _ in range(ROUNDS):
        some = Rewards.listed(listed)
        found = _shown_for(*terms, some, first, starts, rng, deadline)
        if best is not None:
            better = found.guaranteed > best.guaranteed + TIE
            upper, solves = min(found.upper, best.upper), found.solves + best.solves
            found = replace(found if better else best, upper=upper, solves=solves)
        best, worst = found, found.certificate.weights
        known = bool((np.abs(listed - worst).max(axis=1) <= TIE * np.abs(worst).max()).any())
        if known or not found.finished or found.upper - found.guaranteed <= TIE:
            break
        listed, first, starts = np.vstack([listed, worst]), (*first, found.policy), 1
    assert best is not None
    return best


def _some_of(rewards: Rewards, rng: np.random.Generator) -> Floats:
    """Some rewards of a convex set [n, k], at its ends and in the middle."""
    middle, r = rewards.mean[None], rewards.root.shape[1]
    points = rewards.points
    if rewards.kind is RewardsKind.ELLIPSOID:
        points = rewards.mean + np.vstack([rewards.root.T, -rewards.root.T])
    elif rewards.kind is RewardsKind.BOX:
        signs = rng.choice([-1.0, 1.0], (SOME, r))
        points = rewards.mean + np.vstack([signs, -signs]) @ rewards.root.T
    if len(points) > SOME:
        points = points[rng.permutation(len(points))[:SOME]]
    return np.unique(np.vstack([middle, points]), axis=0)


def _shown_for(
    mdp: MDP,
    view: Worldview,
    rewards: Rewards,
    judgement: Judgement,
    some: Rewards,
    first: tuple[Policy, ...],
    starts: int,
    rng: np.random.Generator,
    deadline: float,
) -> ShownForRewards:
    """What to show by a search for some of the rewards, certified for all."""
    one, tops = np.ones(1), list[_Place]()
    begun = clock.in_time(deadline, lambda: _begun(mdp, view, some, judgement))
    if begun is None:
        raise InvalidInputError(TOO_SHORT)
    problem, fair, plain, shown = begun
    best = _Place((plain,), one, shown, -np.inf)
    places: list[tuple[tuple[Policy, ...], Floats]] = [
        ((plain,), one),
        *(((p,), one) for p in first),
    ]
    places.append((fair.policies, fair.shares))
    means = rng.dirichlet(np.ones(len(problem.weights)), starts) @ problem.weights

    def climb_all() -> bool:
        for mean in means:
            places.append(((optimal_policy(mdp, mean).policy,), one))
        for place in places:
            tops.append(problem.climb(*place))
        return True

    # What is found is to be certified as well.
    until = clock.seconds() + CLIMBING * (deadline - clock.seconds())
    finished = clock.in_time(until, climb_all) is not None
    if tops:
        best = tops[first_largest([top.value for top in tops], TIE)]
    found, before = (
        certify(
            mdp,
            view,
            rewards,
            each,
            judgement=judgement,
            max_seconds=max(deadline - clock.seconds(), LEAST),
        )
        for each in (best.shown, shown)
    )
    if (before.guaranteed, before.upper) >= (found.guaranteed, found.upper):
        best, found = _Place((plain,), one, shown, before.guaranteed), before
    solves = problem.solves + fair.solves + found.solves + before.solves
    return ShownForRewards(
        policy=best.policy,
        policies=best.policies,
        shares=best.shares,
        demonstration=best.shown,
        certificate=found,
        upper=max(min(fair.upper + PLANNED, 1.0), found.guaranteed),
        fair=mixture(mdp, fair.policies, fair.shares),
        plain=before.guaranteed,
        solves=solves,
        finished=finished,
    )


def _begun(
    mdp: MDP, view: Worldview, rewards: Rewards, judgement: Judgement
) -> tuple[_Problem, Mixture, Policy, Demonstration]:
    """The problem, the mixture that earns most, and an optimal policy for the mean reward."""
    problem = _Problem(mdp, view, rewards, judgement)
    fair = best_mixture(mdp, problem.weights, problem.constants, problem.caps, CLOSELY)
    plain = optimal_policy(mdp, rewards.mean).policy
    return problem, fair, plain, Demonstration.of_policy(mdp, plain)


__all__ = ["ShownForRewards", "show_for_rewards"]
