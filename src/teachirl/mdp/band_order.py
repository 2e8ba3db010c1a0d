"""An order of states in which few entries of a graph are far from the diagonal."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .kernels.band import in_breadth

# Above this many states a factorisation may fill the memory.
DIRECT_LIMIT = 50_000


def in_a_band(
    indptr: NDArray[Any], indices: NDArray[Any]
) -> tuple[float, NDArray[np.uint32] | None]:
    """An order in which the entries of a graph lie in a band, but for states that many lead to,
    which come last; and how many products elimination then needs at most."""
    n = len(indptr) - 1
    if n > DIRECT_LIMIT:
        return math.inf, None
    indices = np.array(indices, dtype=np.int32)
    rows = sp.csr_array((np.ones(len(indices), bool), indices, indptr), shape=(n, n))
    counts = np.bincount(indices, minlength=n)
    hubs = counts > 20 + 10 * counts.mean()
    kept = np.flatnonzero(~hubs)
    graph = sp.coo_array(rows[kept][:, kept])
    # SciPy's own takes .15 s to load, and of equal degrees begins with one that the machine picks.
    both = sp.csr_array(graph + graph.T)
    degrees = np.diff(both.indptr)
    order = in_breadth(both.indptr, both.indices, degrees, np.argsort(degrees, kind="stable"))
    order = order[::-1].astype(np.int64)
    places = np.empty(len(kept), dtype=np.int64)
    places[order] = np.arange(len(kept))
    width = int(np.abs(places[graph.coords[0]] - places[graph.coords[1]]).max(initial=0)) + 1
    width += n - len(kept)
    whole = np.concatenate([kept[order], np.flatnonzero(hubs)]).astype(np.uint32)
    return float(n) * width**2, whole
