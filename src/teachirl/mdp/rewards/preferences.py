"""Preferences as half-spaces: ⟨w, better − worse⟩ ≥ 0, inside a box of weights.

The vertices of what is left are where k of the bounds hold with equality: all choices of k bounds
are tried. That finds every vertex, and what rounding adds lies outside by a part in 10⁹ at most: a
guarantee over all vertices holds for the whole set.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import ArrayLike

from ...arrays import Floats, as_floats, check_finite
from ...errors import require
from ...precision import DEPENDENT, INVISIBLE

# Systems of k equations that are solved for vertices, at most.
SYSTEMS = 200_000
# Of a walk through the set, how many steps lie between two samples, for each weight.
THINNED = 8


@runtime_checkable
class Outcome(Protocol):
    """What has feature expectations, such as a Demonstration."""

    @property
    def expectations(self) -> Floats: ...


def half_spaces(preferences: Sequence[tuple[ArrayLike | Outcome, ArrayLike | Outcome]]) -> Floats:
    """better − worse, of length 1, [n, k]."""
    require(len(preferences) > 0, "preferences must have at least one pair, got none")
    rows: list[Floats] = []
    for place, pair in enumerate(preferences):
        require(
            isinstance(pair, (tuple, list, np.ndarray)) and len(pair) == 2,
            f"preferences[{place}] must be a pair (better, worse)",
        )
        better, worse = (_features(place, each) for each in pair)
        require(
            better.shape == worse.shape and (not rows or better.shape == rows[0].shape),
            f"preferences[{place}] must be of as many features as the others, got shapes "
            f"{better.shape} and {worse.shape}",
        )
        row = better - worse
        length = float(np.linalg.norm(row))
        require(length > 0.0, f"preferences[{place}] is between two that have the same features")
        rows.append(row / length)
    return np.array(rows)


def _features(place: int, values: Any) -> Floats:
    name = f"preferences[{place}]"
    # Episodes are states and actions: what they have of each feature, an MDP says.
    require(
        not hasattr(values, "pairs"),
        f"{name} must be of features, got {type(values).__name__}: "
        "Demonstration.from_trajectories(mdp, episodes) or Demonstration.of_policy has those",
    )
    row = as_floats(name, values.expectations if isinstance(values, Outcome) else values)
    require(row.ndim == 1, f"{name} must be between arrays of shape (k,), got {row.shape}")
    check_finite(name, row)
    return row


def vertices_of(rows: Floats, lower: Floats, upper: Floats) -> Floats | None:
    """The vertices [n, k] of {w : rows · w ≥ 0, lower ≤ w ≤ upper}, sorted; None if there are too
    many systems to solve."""
    k = rows.shape[1]
    free = np.flatnonzero(upper > lower)
    if math.comb(2 * len(free) + len(rows), len(free)) > SYSTEMS:
        return None
    # All bounds as normal · w ≥ level.
    normals = np.vstack([rows, np.eye(k)[free], -np.eye(k)[free]])
    levels = np.concatenate([np.zeros(len(rows)), lower[free], -upper[free]])
    fixed = np.where(upper > lower, 0.0, lower)
    levels = levels - normals @ fixed
    chosen = np.array(list(itertools.combinations(range(len(normals)), len(free))))
    systems = normals[chosen][:, :, free]
    independent = np.abs(np.linalg.det(systems)) > DEPENDENT
    solved = np.linalg.solve(systems[independent], levels[chosen[independent]][..., None])[..., 0]
    reach = INVISIBLE * float(np.maximum(np.abs(lower), np.abs(upper)).max())
    holds = (solved @ normals[:, free].T >= levels - reach).all(axis=1)
    require(bool(holds.any()), "no weights between lower and upper fit all preferences")
    found = np.tile(fixed, (int(holds.sum()), 1))
    found[:, free] = solved[holds]
    # Corners where more than k bounds meet are found more than once.
    size = reach / INVISIBLE or 1.0
    _, first = np.unique(np.round(found / size, 8) + 0.0, axis=0, return_index=True)
    return np.asarray(found[first] + 0.0)


def drawn(rows: Floats, lower: Floats, upper: Floats, n: int, rng: np.random.Generator) -> Floats:
    """Samples [n, k] spread evenly over {w : rows · w ≥ 0, lower ≤ w ≤ upper}, by hit and run."""
    k = rows.shape[1]
    require(bool((upper > lower).all()), "to draw samples, lower must be below upper everywhere")
    # The ball of largest radius inside, whose centre the walk starts from.
    radii = np.ones((len(rows), 1))
    ends = np.vstack([np.eye(k), -np.eye(k)])
    table = np.vstack([np.hstack([-rows, radii]), np.hstack([ends, np.ones((2 * k, 1))])])
    right = np.concatenate([np.zeros(len(rows)), upper, -lower])
    cost = np.append(np.zeros(k), -1.0)
    found = scipy.optimize.linprog(cost, table, right, bounds=[(None, None)] * k + [(0, None)])
    require(
        found.x is not None and found.x[-1] > INVISIBLE * float((upper - lower).max()),
        "no weights between lower and upper fit all preferences with room to spare",
    )
    assert found.x is not None
    w, out = found.x[:-1], np.empty((n, k))
    for i in range(n):
        for _ in range(THINNED * k):
            step = rng.standard_normal(k)
            slope = np.concatenate([-rows @ step, step, -step])
            room = right - np.concatenate([-rows @ w, w, -w])
            ends_at = np.maximum(room, 0.0) / np.where(slope == 0.0, 1.0, slope)
            most = float(ends_at[slope > 0.0].min())
            least = float(ends_at[slope < 0.0].max())
            w = w + rng.uniform(least, most) * step
        out[i] = w
    return out


__all__ = ["Outcome", "drawn", "half_spaces", "vertices_of"]
