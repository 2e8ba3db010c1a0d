"""Tables that several sections have: how policies differ, and what a policy does."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ...figures.digits import number, percent, visible
from ...mdp.model import MDP
from ...mdp.occupancy import occupancy
from ...mdp.policy import Policy
from ..decisions import Difference
from .elements import Column, Table

# A page has no more rows of states and of cells.
MOST_ROWS = 100


def differences_table(
    caption: str, differences: tuple[Difference, ...], headings: tuple[str, str, str]
) -> Table:
    """The features that two policies have different amounts of, what costs most first.

    Parameters
    ----------
    caption : what it is a table of
    differences : as decisions have them
    headings : what to call the expert's amounts, the other one's, and the reward that is lost
    """
    expert, other, lost = headings
    most = max((abs(each.lost) for each in differences), default=0.0)
    columns = (
        Column("name", "feature"),
        Column("weight", "weight", number),
        Column("expert", expert, number),
        Column("other", other, number),
        Column("lost", lost, partial(visible, scale=most)),
    )
    return Table(caption, columns, differences, "differences", brief=8)


def policy_rows(policy: Policy | None) -> list[dict[str, Any]] | None:
    """A row for each action that is ever taken, as a file with a policy has them."""
    if policy is None:
        return None
    dynamics, chances = policy.dynamics, policy.probabilities
    return [
        {
            "state": dynamics.state_name(int(dynamics.pair_states[pair])),
            "action": dynamics.action_name(int(dynamics.actions[pair])),
            "probability": float(chances[pair]),
        }
        for pair in np.flatnonzero(chances)
    ]


def policy_table(mdp: MDP, policy: Policy, caption: str) -> Table:
    """What a policy does in the states that it visits most.

    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(3)
    >>> table = policy_table(mdp, ti.Policy.uniform(mdp), "at random")
    >>> [column.cell(table.rows[0]) for column in table.columns]
    ['cell 2', '4.912', 'left (50 %), right (50 %)']
    """
    visits = np.bincount(mdp.dynamics.pair_states, occupancy(mdp, policy), minlength=mdp.n_states)
    most = np.argsort(-visits, kind="stable")[:MOST_ROWS]
    columns = (
        Column("", "state", value=lambda state: mdp.dynamics.state_name(state)),
        Column("", "visits", number, value=lambda state: float(visits[state])),
        Column("", "what is done", value=lambda state: ", ".join(_done(mdp, policy, state))),
    )
    return Table(caption, columns, tuple(int(state) for state in most))


def _done(mdp: MDP, policy: Policy, state: int) -> Iterator[str]:
    pairs = slice(mdp.dynamics.offsets[state], mdp.dynamics.offsets[state + 1])
    actions, chances = mdp.dynamics.actions[pairs], policy.probabilities[pairs]
    for action, chance in zip(actions, chances, strict=True):
        if chance >= 5e-4:  # less would read as 0 %
            yield f"{mdp.dynamics.action_name(int(action))} ({percent(float(chance))})"


__all__ = ["MOST_ROWS", "differences_table", "policy_rows", "policy_table"]
