"""What to show where the world is known from a log: the policy that guarantees most in all worlds.

For any θ, showing π guarantees in every world of the sets at least

    min_P ⟨Aᵀθ, μ_P(π)⟩ + min over M_𝒫 of ⟨w − Aᵀθ, μ⟩,

the demonstration in one world and the learner in another. With the θ of the worst case of what is
shown now this is what it guarantees; the policy that is best against the sets for the reward
⟨θ, Aφ⟩ guarantees as much or more. Such steps never lead down, and begin at what is best to show
in the nominal world, at the policy that is best against the sets, and at those for a few θ that
are drawn.

What is guaranteed in all worlds is guaranteed in the nominal one, with the demonstration there as
well; and who is shown may be who matches, in the world that is worst for that. So no policy
guarantees more than one could in the nominal world, nor more than the best against the sets earns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Floats
from ..demonstrations.demonstration import as_demonstration
from ..errors import InvalidInputError
from ..guarantees.bounds import WorstCaseBounds
from ..guarantees.certificate import certify
from ..guarantees.plausible.judgement import Judgement
from ..guarantees.worst_case import LEAST, TOO_SHORT, worst_case
from ..mdp import clock
from ..mdp.estimated import EstimatedMDP
from ..mdp.policy import Policy
from ..mdp.rewards.rewards import Rewards
from ..mdp.robust_planning import Response, policy_of, respond
from ..precision import SEARCH_TIE
from ..views.worldview import Worldview
from .several import ShownForRewards

# Steps up from a place, at most.
STEPS = 20


@dataclass(frozen=True, eq=False)
class Climbed:
    """What was found: the policy, its worst case, what the policy that is best against the sets
    guarantees, what none exceeds, max R − min R at most, the MDPs solved, and whether there was
    time for all of it."""

    policy: Policy
    case: WorstCaseBounds
    plain: float
    upper: float
    span: float
    solves: int
    finished: bool


class _Climb:
    def __init__(self, model: EstimatedMDP, view: Worldview, w: Floats, deadline: float) -> None:
        self.model, self.view, self.w, self.deadline = model, view, w, deadline
        self.solves, self.span = 0, math.inf
        self.best: tuple[Policy, WorstCaseBounds] | None = None

    def against(self, weights: Floats) -> Response:
        self.solves += 1
        return respond(self.model, weights, nature=-1)

    def look(self, policy: Policy, start: Floats | None = None) -> WorstCaseBounds:
        """What showing the policy guarantees; whatever is best so far is kept."""
        left = max(self.deadline - clock.seconds(), LEAST)
        case = worst_case(self.model, self.view, self.w, policy, max_seconds=left, start=start)
        self.solves += case.solves
        if self.best is None or case.lower > self.best[1].lower + SEARCH_TIE * self.span:
            self.best = policy, case
        return case

    def up(self, case: WorstCaseBounds) -> bool:
        """Steps up from there, until they lead no further."""
        for _ in range(STEPS):
            seen = self.view.matrix.T @ case.theta
            if not seen.any():
                break
            higher = self.look(policy_of(self.model, self.against(seen)), case.theta)
            if higher.lower <= case.lower + SEARCH_TIE * self.span:
                break
            case = higher
        return True


def climbed_in_doubt(
    model: EstimatedMDP,
    view: Worldview,
    w: Floats,
    policies: tuple[Policy, ...],
    drawn: Floats,
    deadline: float,
) -> Climbed:
    """The policy that guarantees most of those found by steps up from these, from the one that is
    best against the sets, and from those for θ that were drawn [n, ℓ]."""
    climb = _Climb(model, view, w, deadline)
    found = clock.in_time(
        deadline, lambda: (climb.against(w), respond(model, w, nature=1), climb.against(-w))
    )
    if found is None:
        raise InvalidInputError(TOO_SHORT)
    safe, most, least = found
    climb.span = max(most.upper + least.upper, 0.0)
    first = climb.look(policy_of(model, safe))

    def climb_all() -> bool:
        climb.up(first)
        for policy in policies:
            climb.up(climb.look(policy))
        for theta in drawn:
            climb.up(climb.look(policy_of(model, climb.against(view.matrix.T @ theta))))
        return True

    finished = clock.in_time(deadline, climb_all) is not None
    assert climb.best is not None
    policy, case = climb.best
    return Climbed(policy, case, first.lower, safe.upper, climb.span, climb.solves + 1, finished)


def several_in_doubt(
    model: EstimatedMDP,
    view: Worldview,
    rewards: Rewards,
    judgement: Judgement,
    nominal: ShownForRewards,
    deadline: float,
) -> ShownForRewards:
    """What is best to show in the nominal world, or else the policy that is best against the sets
    for the mean reward, whichever guarantees more in all worlds, certified.

    As a relative performance counts with the most that any policy earns in any world, and with the
    most that the worst one does, it is never larger than in the nominal world.
    """
    safe = policy_of(model, respond(model, rewards.mean, nature=-1))
    found = []
    for policy in (safe, nominal.policy):
        left = max(deadline - clock.seconds(), LEAST)
        found.append(certify(model, view, rewards, policy, judgement=judgement, max_seconds=left))
    plain, other = found
    better = other.guaranteed > plain.guaranteed
    policy = nominal.policy if better else safe
    certificate = other if better else plain
    # The parts of a mixture have its feature expectations in the nominal world only.
    return replace(
        nominal,
        policy=policy,
        policies=(policy,),
        shares=np.ones(1),
        demonstration=as_demonstration(model, policy),
        certificate=certificate,
        upper=max(nominal.upper, certificate.guaranteed),
        plain=plain.guaranteed,
        solves=nominal.solves + plain.solves + other.solves,
    )


__all__ = ["Climbed", "climbed_in_doubt", "several_in_doubt"]
