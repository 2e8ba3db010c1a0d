"""What is left of a guarantee where the learner misses what is shown, if there is time for it."""

from __future__ import annotations

from dataclasses import dataclass

from ...demonstrations.demonstration import Demonstration
from ...guarantees.sensitivity import Sensitivity, sensitivity
from ...mdp.terminal import terminal_states
from ...views.worldview import Worldview
from ..problem import Baseline, Problem
from .patience import Patience
from .stakes import Stakes

# Seconds that it takes at most: it is an aside.
ASIDE = 30.0
# MDPs that are solved beside two for each of the learner's features, about.
SOLVES = 150
# How closely it is proved where the world is known from a log, and each takes long.
ROUGHLY = 1e-4
# Seconds that it may take where something else waits for it.
QUICK = 2.0


@dataclass(frozen=True)
class Frailty:
    """How little imprecision it takes to lose a guarantee.

    Attributes
    ----------
    share : by how much a learner misses what is shown, of what policies can change
    reward : what is guaranteed then
    expert : what the expert earns
    idle : Baseline, doing nothing, if there is an action for that; else acting at random
    idle_reward : what that earns
    """

    share: float
    reward: float
    expert: float
    idle: Baseline
    idle_reward: float

    @property
    def worse_than_nothing(self) -> bool:
        """Whether doing nothing earns more than is guaranteed then."""
        return self.reward < self.idle_reward


def if_missed(
    problem: Problem, view: Worldview, shown: Demonstration, patience: Patience
) -> Sensitivity | None:
    """What is guaranteed of learners who miss a little.

    Parameters
    ----------
    problem : Problem
    view : Worldview, what they see
    shown : Demonstration, what they are shown
    patience : Patience, how long all of the work may take: half of what is left is for this

    Returns
    -------
    Sensitivity; None if there was no time for it
    """
    share, found, solves = patience.share(0.5, ASIDE), None, 2 * view.n_rows + SOLVES
    known = problem.world.model is None
    if not share.over():
        with share.strictly():
            if problem.plan_seconds * solves <= share.seconds:
                found = sensitivity(
                    problem.model,
                    view,
                    problem.weights,
                    shown,
                    # As closely as what is asked for at such a mismatch: it is one number.
                    tolerance=problem.task.tolerance if known else ROUGHLY,
                    max_seconds=share.left(),
                    from_expert=problem.matching.keeps(shown),
                )
    return found


def quickly_told(problem: Problem, view: Worldview) -> bool:
    """Whether what is guaranteed of learners who miss a little takes no time worth mentioning.

    Parameters
    ----------
    problem : Problem
    view : Worldview, what they see

    Returns
    -------
    bool
    """
    return problem.plan_seconds * (2 * view.n_rows + SOLVES) <= QUICK


def frailty(
    problem: Problem, shown: Demonstration, stakes: Stakes, known: Sensitivity | None
) -> Frailty | None:
    """Whether a guarantee for learners who match is lost with those who nearly do.

    Parameters
    ----------
    problem : Problem
    shown : Demonstration, what they are shown
    stakes : Stakes, what is guaranteed of who matches
    known : Sensitivity, what is guaranteed of who nearly does; None if that is not known

    Returns
    -------
    Frailty, at the least mismatch that is known; None unless doing nothing then earns more, or
    more than half is lost of what the expert earns beyond that, and not with those who match
    """
    given = problem.mismatch or problem.mismatch_share or problem.matching.keeps(shown)
    if known is None or given or problem.world.model is not None or not known.attainable[0]:
        return None
    nothing, then = stakes.idle_reward, float(known.rewards[0])
    half = (stakes.expert + nothing) / 2.0
    if not (then < half <= stakes.reward or then < nothing < stakes.reward):
        return None
    return Frailty(float(known.shares[0]), then, stakes.expert, stakes.idle, nothing)


def episodes_end(problem: Problem) -> bool:
    """Whether episodes end, in states that can be reached.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    bool
    """
    mdp = problem.mdp
    return bool(terminal_states(mdp)[mdp.dynamics.reachable].any())


__all__ = ["Frailty", "episodes_end", "frailty", "if_missed", "quickly_told"]
