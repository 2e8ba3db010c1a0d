"""Where episodes end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .model import MDP


def terminal_states(mdp: MDP) -> NDArray[np.bool_]:
    """bool array [S]: the states that every action stays in and whose features are all zero.

    >>> import teachirl as ti
    >>> from teachirl.mdp.terminal import terminal_states
    >>> terminal_states(ti.worlds.chain(3))
    array([False, False, False])
    """
    dynamics, phi = mdp.dynamics, mdp.features
    rows = dynamics.transitions
    stays = np.diff(rows.indptr) == 1
    stays[stays] = rows.indices[rows.indptr[:-1][stays]] == dynamics.pair_states[stays]
    if isinstance(phi, np.ndarray):
        zero = ~phi.any(axis=1)
    else:
        zero = np.asarray(abs(phi).sum(axis=1)).ravel() == 0
    if mdp.features_per_pair:
        return np.logical_and.reduceat(stays & zero, dynamics.offsets[:-1])
    return np.logical_and.reduceat(stays, dynamics.offsets[:-1]) & zero


__all__ = ["terminal_states"]
