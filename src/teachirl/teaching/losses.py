"""How much less than the expert a learner may earn.

In a world that is known, it is what the expert earns without what is guaranteed. In one that is
known from a log, the expert's best world need not be the learner's worst: if the learner is shown
what the expert does, both live in the same one, and (★) of `gap_bounds` says more.
"""

from __future__ import annotations

from ..demonstrations.demonstration import Demonstration
from ..guarantees.bounds import WorstCaseBounds
from ..guarantees.gap_bounds import Case, least_gap
from ..mdp.estimated import EstimatedMDP
from ..mdp.occupancy import expectation_error
from ..mdp.robust_planning import respond
from ..precision import up
from ..views.worldview import Worldview
from .matching import Matching
from .task import Task


def earned_at_most(task: Task, expert: Demonstration) -> float:
    """What an expert earns at most.

    Parameters
    ----------
    task : Task
    expert : Demonstration

    Returns
    -------
    float
    """
    model, policy = task.model, expert.policy
    if isinstance(model, EstimatedMDP) and policy is not None and not expert.error:
        return respond(model, task.weights, nature=1, policy=policy).upper
    most = expert.earned_between(task.weights)[1]
    return min(up(most + expectation_error(task.mdp, task.weights)), task.best.upper)


def same_unknown_world(task: Task, expert: Demonstration, shown: Demonstration) -> bool:
    """Whether what is shown is the expert's policy, in a world that is known from a log.

    Parameters
    ----------
    task : Task
    expert, shown : Demonstration

    Returns
    -------
    bool
    """
    known = isinstance(task.model, EstimatedMDP) and expert.policy is not None
    return known and expert.policy is shown.policy and not expert.error


def behind_at_most(
    task: Task, view: Worldview, shown: Demonstration, matching: Matching, found: WorstCaseBounds
) -> float:
    """How much less than what is shown, which is a policy, learners who match earn in any world.

    Parameters
    ----------
    task : Task, of a world that is known from a log
    view : Worldview, what they see
    shown : Demonstration
    matching : Matching, how closely they match
    found : WorstCaseBounds, of these

    Returns
    -------
    float
    """
    epsilon = matching.within(view, shown)
    case = Case(task.model, view, task.weights, shown, epsilon, (task.best, task.worst))
    return least_gap(case, found.theta)


__all__ = ["behind_at_most", "earned_at_most", "same_unknown_world"]
