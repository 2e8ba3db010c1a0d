"""The start states in an order in which they are cut into blocks, and where to cut."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints
from ...mdp.model import MDP


def even_bounds(masses: Floats, count: int) -> Ints:
    """Where to cut so that the parts, none of them empty, have about the same mass."""
    if count >= len(masses):
        return np.arange(len(masses) + 1)
    marks = np.cumsum(masses) * (count / masses.sum())
    cuts = np.searchsorted(marks, np.arange(1, count) - 1e-9) + 1
    return np.unique(np.concatenate([[0], cuts, [len(masses)]]))


def in_order(mdp: MDP) -> NDArray[np.uint32]:
    """The start states, those with the same feature together: blocks that differ make better cuts.

    States that are numbered one after the other are taken to be near each other anyway.
    """
    states = np.flatnonzero(mdp.start > 0.0).astype(np.uint32)
    features: Any = mdp.features
    dense = isinstance(features, np.ndarray)
    if dense or mdp.features_per_pair or features.nnz > mdp.n_states:
        return states
    first = np.full(mdp.n_states, -1, dtype=np.int64)
    some = np.diff(features.indptr) > 0
    first[some] = features.indices[features.indptr[:-1][some]]
    return states[np.argsort(first[states], kind="stable")]
