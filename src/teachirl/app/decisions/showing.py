"""What to demonstrate, in a sentence."""

from __future__ import annotations

import numpy as np

from ...demonstrations.demonstration import Demonstration, as_demonstration
from ...what_to_show.search import Shown, best_demonstration
from ..digits import percent, percent_at_least
from ..problem import Problem
from .basis import SAME_GUARANTEE

# Places from which a demonstration is sought only to say whether it is worth choosing one, and
# transitions up to which that takes seconds.
STARTS, SOUGHT = 4, 50_000


def what_to_show(
    problem: Problem, shown: Demonstration, now: float, since: int | None
) -> tuple[Shown | None, str]:
    """The best demonstration before anything is taught, if it was sought; and what to show.

    Parameters
    ----------
    shown : what the plan shows in the end
    now : the relative performance that is guaranteed before anything is taught
    since : the step from which on the teacher shows that; None if it is what the file says
    """
    task, chosen = problem.task, problem.chosen
    own = percent(task.relative(float(task.weights @ shown.expectations)))
    if since is not None:
        return chosen, (
            f"From step {since} on, demonstrate another policy: it has a relative performance of "
            f"{own} itself, and guarantees more."
        )
    if chosen is not None:
        if chosen.gain == 0.0:
            return chosen, "Demonstrate an optimal policy: none was found to be better."
        optimal = as_demonstration(problem.mdp, task.best.policy)
        plain = problem.guaranteed(problem.worldview, optimal)
        return chosen, (
            f"Demonstrate a policy that was chosen for her, with a relative performance of {own} "
            f"itself. Before anything is taught it guarantees {percent_at_least(now)}; an optimal "
            f"policy, {percent_at_least(plain)}."
        )
    what = {
        "optimal": "Demonstrate an optimal policy.",
        "policy": "Demonstrate the policy of the file.",
        "trajectories": "Demonstrate what was recorded.",
    }[problem.show]
    if problem.mdp.dynamics.transitions.nnz > SOUGHT:
        why = 'In a world of this size no other was sought; show = "choose" does it.'
        return None, f"{what} {why}"
    found = best_demonstration(
        problem.mdp,
        problem.worldview,
        problem.weights,
        starts=STARTS,
        rng=np.random.default_rng(problem.seed),
        proof_solves=0,
        indistinct=task.indistinct,
    )
    then = problem.guaranteed(problem.worldview, found.demonstration)
    if then <= now + SAME_GUARANTEE:
        return found, f"{what} No other was found that would guarantee more than it does now."
    return found, (
        f"{what} A policy chosen for what she sees now would guarantee {percent_at_least(then)} "
        f"instead of {percent_at_least(now)} before anything is taught: "
        'show = "choose" in [demonstration] takes it.'
    )


__all__ = ["what_to_show"]
