"""Columns of states and actions, as numbers of an MDP's."""

from __future__ import annotations

import numpy as np

from ...arrays import Ints
from ...mdp.model import MDP
from .tables import Table


def state_numbers(table: Table, mdp: MDP) -> Ints:
    """int array [n], the state of each row, given by its name or, if it has none, its number."""
    name = mdp.dynamics.state_name
    return table.index({name(state): state for state in range(mdp.n_states)}, "state")


def pair_numbers(table: Table, mdp: MDP, states: Ints) -> Ints:
    """int array [n], the pair of each row's state, [n], and action."""
    dynamics, name = mdp.dynamics, mdp.dynamics.action_name
    actions = table.index({name(action): action for action in range(mdp.n_actions)}, "action")
    keys = dynamics.pair_states.astype(np.int64) * mdp.n_actions + dynamics.actions
    wanted = states * mdp.n_actions + actions
    pairs = np.minimum(np.searchsorted(keys, wanted), mdp.n_pairs - 1)
    absent = np.flatnonzero(keys[pairs] != wanted)
    if len(absent):
        row = int(absent[0])
        state, action = (table.texts[column][row] for column in ("state", "action"))
        table.refuse(row, f"action {action!r} does not exist in state {state!r}")
    return pairs


__all__ = ["pair_numbers", "state_numbers"]
