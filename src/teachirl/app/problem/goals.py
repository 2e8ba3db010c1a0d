"""What a file wants to be guaranteed, and whose performance it takes for 0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...files import shown
from ...mdp.model import MDP
from ...mdp.policy import Policy
from ...teaching.goal import Limit
from ...teaching.goals import Goals
from .episodes import read_policy
from .features import Features
from .files import Folder
from .goal_schema import Baseline as BaselineTable
from .places import Place, meant
from .schema import Plan

# What an action is called that does nothing.
IDLE = frozenset(
    {"do nothing", "idle", "no-op", "no op", "none", "noop", "nothing", "pause", "wait"}
    | {"hold", "hover", "remain", "rest", "stand", "stay"}
)


@dataclass(frozen=True, eq=False)
class Baseline:
    """Whose relative performance is 0.

    Attributes
    ----------
    kind : ``worst``, ``uniform``, ``nothing``, ``action`` or ``policy``
    name : of the action that is always taken, or of the file; empty if there is none
    policy : Policy; None for a worst one
    """

    kind: str = "worst"
    name: str = ""
    policy: Policy | None = None


def build_goals(plan: Plan, place: Place, features: Features) -> Goals:
    """The goals that a file asks for."""
    features.check({place / "limits" / name: name for name in plan.limits})
    loss = plan.max_loss
    return Goals(
        guarantee=plan.guarantee,
        max_loss=None if loss is None else loss.amount,
        max_loss_share=None if loss is None else loss.share,
        at_least=plan.at_least,
        limits=tuple(
            Limit(features.numbers[name], each.at_most, each.at_least)
            for name, each in plan.limits.items()
        ),
    )


def build_baseline(table: BaselineTable | None, place: Place, folder: Folder, mdp: MDP) -> Baseline:
    """The policy that a file takes for 0."""
    if table is None or table.of == "worst":
        return Baseline()
    if table.of == "uniform":
        return Baseline("uniform", policy=Policy.uniform(mdp))
    if table.policy is not None:
        with (place / "policy").locating():
            return Baseline("policy", table.policy, read_policy(folder, table.policy, mdp))
    names = [mdp.dynamics.action_name(i) for i in range(mdp.n_actions)]
    if table.of == "nothing":
        found = doing_nothing(mdp)
        if found is None:
            place.refuse(
                f"expected an action called {', '.join(sorted(IDLE))}, which every state has, "
                f'got none; say {{ action = "…" }}{meant(None, names)}'
            )
        return found
    assert table.action is not None
    if table.action not in names:
        wrong = f"there is no action {shown(table.action)}{meant(table.action, names)}"
        (place / "action").refuse(wrong)
    policy = _always(mdp, names.index(table.action))
    if isinstance(policy, int):
        state = shown(mdp.dynamics.state_name(policy))
        (place / "action").refuse(
            f"expected an action of every state, but {state} has no {shown(table.action)}"
        )
    return Baseline("action", table.action, policy)


def doing_nothing(mdp: MDP) -> Baseline | None:
    """The policy that always waits, if the world has an action for that, which its name tells.

    >>> import teachirl as ti
    >>> print(doing_nothing(ti.worlds.chain(3)))
    None
    """
    for action in range(mdp.n_actions):
        name = mdp.dynamics.action_name(action)
        if name.lower().replace("_", " ") in IDLE:
            policy = _always(mdp, action)
            if isinstance(policy, Policy):
                return Baseline("nothing", name, policy)
    return None


def _always(mdp: MDP, action: int) -> Policy | int:
    """The policy that always takes that action; or a state where it can't, and has a choice."""
    dynamics = mdp.dynamics
    choice = np.zeros(mdp.n_states, dtype=np.int64)
    has = np.flatnonzero(dynamics.actions == action)
    states = dynamics.pair_states[has]
    choice[states] = has - dynamics.offsets[states]
    free = np.diff(dynamics.offsets) > 1
    free[states] = False
    return int(np.flatnonzero(free)[0]) if free.any() else Policy.of_choice(dynamics, choice)


__all__ = ["Baseline", "build_baseline", "build_goals", "doing_nothing"]
