"""What there is in a world, before anything is asked about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp  # its parts are loaded when they are used

from ...arrays import Floats
from ...mdp import clock
from ...mdp.model import MDP
from ...mdp.planning import optimal_policies, optimal_policy
from ...mdp.terminal import terminal_states
from ...precision import INVISIBLE
from ...worlds import World

# Seconds that the ranges of features take at most.
PATIENCE = 20.0


@dataclass(frozen=True)
class FeatureRange:
    """A feature, and how much of it there is.

    Attributes
    ----------
    name : of the feature
    low, high : its smallest and its largest number, of a state or of a pair
    least, most : how much of it policies have, discounted; NaN if that takes too long
    weight, price : if the world has them
    """

    name: str
    low: float
    high: float
    least: float
    most: float
    weight: float | None
    price: float | None


@dataclass(frozen=True)
class WorldAccount:
    """What there is in a world.

    Attributes
    ----------
    states, reachable : how many there are, and how many some policy visits
    pairs, transitions : of states and actions, and of those with next states
    discount : γ
    ends : whether episodes end, in states that can be reached
    chance : whether it is left to chance where an action leads, somewhere
    components, largest : of states that can reach each other, how many there are, and how many
        states the largest has
    seconds : what one plan took, about
    features : FeatureRange of each
    note : where it comes from, if that matters
    """

    states: int
    reachable: int
    pairs: int
    transitions: int
    discount: float
    ends: bool
    chance: bool
    components: int
    largest: int
    seconds: float
    features: tuple[FeatureRange, ...]
    note: str


def world_account(world: World) -> WorldAccount:
    """Describe a world.

    Parameters
    ----------
    world : World

    Returns
    -------
    WorldAccount

    Examples
    --------
    >>> import teachirl as ti
    >>> found = world_account(ti.worlds.World(ti.worlds.chain(3)))
    >>> found.states, found.pairs, found.components, found.ends
    (3, 4, 1, False)
    >>> print(f"{found.features[0].least:.3f} … {found.features[0].most:.3f}")
    0.333 … 4.754
    """
    mdp = world.mdp
    rows = mdp.dynamics.transitions
    first = np.ones(mdp.n_features) if world.weights is None else world.weights
    optimal_policy(mdp, first)  # what is prepared once is not counted
    began = clock.seconds()
    optimal_policy(mdp, -first)
    seconds = clock.seconds() - began
    count, largest = _components(mdp)
    over = terminal_states(mdp)[mdp.dynamics.reachable]
    return WorldAccount(
        states=mdp.n_states,
        reachable=len(mdp.dynamics.reachable),
        pairs=mdp.n_pairs,
        transitions=int(rows.nnz),
        discount=mdp.discount,
        ends=bool(over.any()),
        chance=bool((np.diff(rows.indptr) > 1).any()),
        components=count,
        largest=largest,
        seconds=seconds,
        features=_features(world, 2.0 * seconds * mdp.n_features <= PATIENCE),
        note=world.note,
    )


def _components(mdp: MDP) -> tuple[int, int]:
    """How many sets of states there are that reach each other, and the size of the largest."""
    dynamics, n = mdp.dynamics, mdp.n_states
    rows = dynamics.transitions
    # The pairs of a state are neighbours, so their successors together are the state's.
    ends = rows.indptr[dynamics.offsets]
    graph = sp.csr_array((np.ones(rows.nnz, dtype=np.int8), rows.indices, ends), shape=(n, n))
    count, labels = sp.csgraph.connected_components(graph, connection="strong")
    return int(count), int(np.bincount(labels).max())


def _features(world: World, ranges: bool) -> tuple[FeatureRange, ...]:
    mdp, k = world.mdp, world.mdp.n_features
    least = most = np.full(k, np.nan)
    if ranges:
        plans = optimal_policies(mdp, np.vstack([np.eye(k), -np.eye(k)]))
        values = np.array([plan.value for plan in plans])
        size = mdp.largest_entries / (1.0 - mdp.discount)
        values = np.where(np.abs(values) > INVISIBLE * np.tile(size, 2), values, 0.0)
        least, most = 0.0 - values[k:], values[:k]
    phi: Any = mdp.features
    low, high = (_dense(each) for each in (phi.min(axis=0), phi.max(axis=0)))

    def of(given: Floats | None, i: int) -> float | None:
        return None if given is None else float(given[i])

    return tuple(
        FeatureRange(
            mdp.feature_name(i),
            float(low[i]),
            float(high[i]),
            float(least[i]),
            float(most[i]),
            of(world.weights, i),
            of(world.prices, i),
        )
        for i in range(k)
    )


def _dense(array: Any) -> Floats:
    return np.asarray(array if isinstance(array, np.ndarray) else array.toarray()).ravel()


__all__ = ["FeatureRange", "WorldAccount", "world_account"]
