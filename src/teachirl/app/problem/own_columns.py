"""Columns that only the learner sees: a table of readings, and buckets of features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...arrays import Floats
from ...errors import FileFormatError, InvalidInputError
from ...mdp.model import MDP
from ...mdp.terminal import terminal_states
from ...views.tables import bucketed, with_columns
from ...worlds import World
from .files import Folder
from .learner_schema import Learner
from .pairs import pair_numbers, state_numbers
from .places import Place
from .tables import Table, read_table


def with_own_columns(world: World, learner: Learner, place: Place, folder: Folder) -> World:
    """The world with the learner's own columns beside its features, without weight."""
    mdp = world.mdp
    if world.model is not None and (learner.table or learner.buckets):
        place.refuse("table and buckets are for a world that is known, not for one from a log")
    if learner.table is not None:
        with (place / "table").locating():
            texts = ("state", "action")
            table = read_table(
                folder.file(learner.table),
                learner.table,
                texts=texts,
                optional=("action",),
                further=True,
            )
            if not table.columns:
                raise FileFormatError(f"{table.name}: expected a column a reading, got none")
            mdp = with_columns(mdp, _readings(table, mdp), table.columns)
    for name, edges in (learner.buckets or {}).items():
        with (place / "buckets" / name).locating():
            _check_name(world.mdp, name)
            mdp = with_columns(mdp, *bucketed(world.mdp, {name: edges}))
    added = mdp.n_features - world.mdp.n_features
    if not added:
        return world
    weights, prices = (
        None if given is None else np.append(given, np.full(added, value))
        for given, value in ((world.weights, 0.0), (world.prices, 1.0))
    )
    return replace(world, mdp=mdp, weights=weights, prices=prices)


def _check_name(mdp: MDP, name: str) -> None:
    if name not in {mdp.feature_name(i) for i in range(mdp.n_features)}:
        raise InvalidInputError(f"there is no feature {name!r}")


def _readings(table: Table, mdp: MDP) -> Floats:
    """array [S, c] or [P, c]; 0 where episodes have ended, unless the table says otherwise."""
    dynamics, over = mdp.dynamics, terminal_states(mdp)
    states = state_numbers(table, mdp)
    per_pair = "action" in table.texts
    keys = pair_numbers(table, mdp, states) if per_pair else states
    table.refuse_repeats(keys, "state and action" if per_pair else "state")
    found = np.zeros((mdp.n_pairs if per_pair else mdp.n_states, len(table.columns)))
    given = over[dynamics.pair_states] if per_pair else over.copy()
    found[keys], given[keys] = table.numbers, True
    missing = np.flatnonzero(~given)
    if len(missing):
        first = int(missing[0])
        state = dynamics.state_name(int(dynamics.pair_states[first]) if per_pair else first)
        also = (
            f", action {dynamics.action_name(int(dynamics.actions[first]))!r}" if per_pair else ""
        )
        raise FileFormatError(f"{table.name}: expected a row for state {state!r}{also}, got none")
    return found


__all__ = ["with_own_columns"]
