"""Recorded episodes and policies that a problem file names."""

from __future__ import annotations

import os

import numpy as np

from ...demonstrations.minari_files import read_minari
from ...demonstrations.trajectories import Trajectories
from ...demonstrations.trajectory_files import read_trajectories
from ...errors import FileFormatError
from ...mdp.model import MDP
from ...mdp.policy import Policy
from .files import Folder
from .moves import SUM_TOLERANCE
from .pairs import pair_numbers, state_numbers
from .places import called_by_name
from .tables import read_table


def read_episodes(folder: Folder, name: str, mdp: MDP, skip: str | None = None) -> Trajectories:
    """Episodes from JSON lines, CSV or Parquet, whose columns are those of the CSV, or from the
    folder of a Minari dataset; `skip` is as in `read_trajectories`."""
    if os.path.isdir(folder.path / name):
        return read_minari(folder.file, name, mdp, skip)
    path = folder.file(name)
    with called_by_name(path, name):
        return read_trajectories(path, mdp, skip=skip)


def read_policy(folder: Folder, name: str, mdp: MDP) -> Policy:
    """A policy from a table; states that are not in it must have one action."""
    table = read_table(
        folder.file(name),
        name,
        texts=("state", "action"),
        numbers=("probability",),
        optional=("probability",),
    )
    dynamics, states = mdp.dynamics, state_numbers(table, mdp)
    pairs = pair_numbers(table, mdp, states)
    table.refuse_repeats(pairs, "state and action")
    counts = np.diff(dynamics.offsets)
    chances = np.where(counts[dynamics.pair_states] == 1, 1.0, 0.0)
    chances[pairs] = table.probabilities() if table.columns else 1.0
    sums = np.add.reduceat(chances, dynamics.offsets[:-1])
    bad = np.flatnonzero(np.abs(sums - 1.0) > SUM_TOLERANCE)
    if len(bad):
        state = int(bad[0])
        rows = np.flatnonzero(states == state)
        wanted = f"expected the probabilities of state {dynamics.state_name(state)!r} to sum to 1"
        if len(rows) == 0:
            raise FileFormatError(f"{name}: {wanted}, got no row of it")
        table.refuse(int(rows[0]), f"{wanted}, got {sums[state]:.12g}")
    if (chances == chances.round()).all():
        return Policy(dynamics, pairs=np.flatnonzero(chances))
    return Policy(dynamics, chances=chances)


__all__ = ["read_episodes", "read_policy"]
