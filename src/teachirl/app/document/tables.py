"""Tables that several sections have: how policies differ, and what a policy does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...figures.digits import ROUNDING, alike, number, percent
from ...mdp.model import MDP
from ...mdp.occupancy import occupancy
from ...mdp.policy import Policy
from ..decisions import Difference
from .elements import Column, Table

# A page has no more rows of states and of cells.
MOST_ROWS = 100
# A difference that four digits do not show is told if it costs more than this share of the dearest.
TELLS = 1e-3


def differences_table(
    caption: str,
    differences: tuple[Difference, ...],
    headings: tuple[str, str, str],
    costs: Callable[[float], str],
) -> Table:
    """The features that two policies have different amounts of, what costs most first.

    Parameters
    ----------
    caption : what it is a table of
    differences : as decisions have them
    headings : what to call the expert's amounts, the other one's, and the reward that is lost
    costs : how to write a reward that is lost
    """
    expert, other, lost = headings
    most = max((abs(each.lost) for each in differences), default=0.0)
    columns = (
        Column("name", "feature"),
        Column("weight", "weight", number),
        Column("", expert, value=lambda each: alike(each.expert, each.other)[0]),
        Column("", other, value=lambda each: alike(each.expert, each.other)[1]),
        Column("expert", None),
        Column("other", None),
        Column("lost", lost, lambda x: costs(x if abs(x) > ROUNDING * most else 0.0)),
    )
    told = tuple(each for each in differences if _told(each, most))
    return Table(caption, columns, told, "differences", brief=8)


def _told(each: Difference, most: float) -> bool:
    """Whether a difference is one to readers: in four digits, or by what is lost through it."""
    return number(each.expert) != number(each.other) or abs(each.lost) > TELLS * most


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
