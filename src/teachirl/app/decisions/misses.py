"""What is left of a guarantee where the learner misses what is shown, if there is time for it."""

from __future__ import annotations

from ...demonstrations.demonstration import Demonstration
from ...guarantees.sensitivity import Sensitivity, sensitivity
from ...mdp.terminal import terminal_states
from ...views.worldview import Worldview
from ..problem import Problem
from .patience import Patience

# Seconds that it takes at most: it is an aside.
ASIDE = 30.0
# MDPs that are solved beside two for each of the learner's features, about.
SOLVES = 150


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
    if not share.over():
        with share.strictly():
            if problem.plan_seconds * solves <= share.seconds:
                found = sensitivity(
                    problem.model,
                    view,
                    problem.weights,
                    shown,
                    max_seconds=share.left(),
                    from_expert=problem.matching.keeps(shown),
                )
    return found


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


__all__ = ["episodes_end", "if_missed"]
