"""Garnets: generic random MDPs, after Archibald, McKinnon and Thomas (1995)."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..arrays import Ints
from ..errors import require
from ..mdp.model import MDP


def garnet(
    rng: np.random.Generator,
    n_states: int,
    n_actions: int,
    branching: int,
    n_features: int,
    *,
    discount: float = 0.9,
    per_pair: bool = False,
) -> MDP:
    """A random MDP: every pair leads to `branching` distinct states, the features are Gaussian.

    The successors of a pair are a uniformly random set; their probabilities are the spacings of
    branching − 1 uniform cuts of [0, 1]. Features are independent N(0, 1). The start is uniform.

    Parameters
    ----------
    rng : numpy.random.Generator, draws everything
    n_states, n_actions, n_features : ints, at least 1
    branching : int, successors a pair, from 1 (deterministic) to n_states
    discount : float in (0, 1)
    per_pair : bool, whether a row of the features belongs to a pair, [P, k], or to a state, [S, k]

    Returns
    -------
    MDP with dense features

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> ti.worlds.garnet(np.random.default_rng(0), 50, 3, branching=4, n_features=6)
    MDP(50 states, 150 state-action pairs, 6 features per state, discount 0.9)
    """
    require(n_states >= 1, f"n_states must be at least 1, got {n_states}")
    require(n_actions >= 1, f"n_actions must be at least 1, got {n_actions}")
    require(n_features >= 1, f"n_features must be at least 1, got {n_features}")
    require(
        1 <= branching <= n_states,
        f"branching must lie in 1 … n_states = {n_states}, got {branching}",
    )
    n_pairs = n_states * n_actions
    successors = subsets(rng, n_pairs, branching, n_states)
    cuts = np.sort(rng.random((n_pairs, branching - 1)), axis=1)
    probabilities = np.diff(cuts, axis=1, prepend=0.0, append=1.0)
    rows = sp.csr_array(
        (
            probabilities.ravel(),
            successors.ravel(),
            np.arange(n_pairs + 1, dtype=np.int64) * branching,
        ),
        shape=(n_pairs, n_states),
    )
    return MDP.from_pairs(
        np.repeat(np.arange(n_states), n_actions),
        np.tile(np.arange(n_actions), n_states),
        rows,
        rng.standard_normal((n_pairs if per_pair else n_states, n_features)),
        discount=discount,
    )


def subsets(rng: np.random.Generator, rows: int, size: int, limit: int) -> Ints:
    """int array [rows, size], each row a uniformly random set of `size` of 0 … limit − 1.

    Floyd's algorithm on all rows at once: the i-th pick is drawn from 0 … j with
    j = limit − size + i, and is j itself where that draw was picked before.
    """
    if size > limit // 2:  # fewer to leave out than to take
        taken = np.ones((rows, limit), dtype=bool)
        left_out = subsets(rng, rows, limit - size, limit)
        np.put_along_axis(taken, left_out, False, axis=1)
        return np.nonzero(taken)[1].reshape(rows, size)
    picks = np.empty((size, rows), dtype=np.int64)
    for i in range(size):
        j = limit - size + i
        pick = rng.integers(0, j, size=rows, endpoint=True)
        picks[i] = np.where((picks[:i] == pick).any(axis=0), j, pick)
    return np.ascontiguousarray(picks.T)
