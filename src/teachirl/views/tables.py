"""What a learner sees that is no combination of the features: any table over states or pairs.

A bucketed reading, a coarse camera or an embedding is a column of numbers as a feature is. So the
learner's own columns stand beside the features, with weight 0, in an MDP that is otherwise the
same: all that is known of worldviews and guarantees holds there as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..arrays import Floats, Names, as_floats, check_finite, checked_names
from ..errors import require
from ..mdp.model import MDP, check_is_mdp
from ..mdp.terminal import terminal_states


def with_columns(mdp: MDP, table: ArrayLike, names: Sequence[str] | None = None) -> MDP:
    """The MDP with further features beside its own: a table over its states or its pairs.

    Parameters
    ----------
    mdp : MDP
    table : array [S, c], a row a state, or [P, c], a row a pair of a state and an action
    names : sequence of c str, other than those of features; by default ``seen 0`` and so on

    Returns
    -------
    MDP with k + c features

    Examples
    --------
    >>> import teachirl as ti
    >>> from teachirl.views.tables import with_columns
    >>> with_columns(ti.worlds.chain(3), [[0], [0], [5]], ["glow"])
    MDP(3 states, 4 state-action pairs, 4 features per state, discount 0.9)
    """
    check_is_mdp(mdp)
    columns = as_floats("table", table)
    shapes = f"({mdp.n_states}, c), a row a state, or ({mdp.n_pairs}, c), a row a pair"
    require(
        columns.ndim == 2 and columns.shape[0] in (mdp.n_states, mdp.n_pairs),
        f"table must have shape {shapes}, got {columns.shape}",
    )
    check_finite("table", columns)
    count, phi = columns.shape[1], mdp.features
    called = checked_names("names", names, count) or tuple(f"seen {i}" for i in range(count))
    there = {mdp.feature_name(i) for i in range(mdp.n_features)}
    taken = next((name for name in called if name in there), None)
    require(taken is None, f"names must be other than those of features, got {taken!r}")
    states, beside = mdp.dynamics.pair_states, columns
    per_pair = columns.shape[0] != mdp.n_states
    over = terminal_states(mdp)
    ended = columns[over[states]] if per_pair else columns[over]
    require(not ended.any(), "table must be 0 in terminal states: nothing is seen after the end")
    if per_pair and not mdp.features_per_pair:
        phi = phi[states]
    elif mdp.features_per_pair and not per_pair:
        beside = columns[states]
    together: Any
    if isinstance(phi, np.ndarray):
        together = np.hstack([phi, beside])
    else:
        together = sp.hstack([phi, sp.csr_array(beside)], format="csr")
    known = [mdp.feature_name(i) for i in range(mdp.n_features)]
    return mdp.with_features(together, [*known, *called])


def bucketed(mdp: MDP, edges: Mapping[str, Sequence[float]]) -> tuple[Floats, Names]:
    """Which bucket each reading falls into: 1 in its column, 0 in the others.

    Parameters
    ----------
    mdp : MDP
    edges : of each feature that is read, by name, where buckets begin, rising

    Returns
    -------
    array [S, c] or [P, c], one column a bucket, and their names

    Examples
    --------
    >>> import teachirl as ti
    >>> from teachirl.views.tables import bucketed
    >>> mdp = ti.worlds.chain(3).with_features([[0.0], [0.2], [0.7]], ["light"])
    >>> table, names = bucketed(mdp, {"light": [0.2, 0.5]})
    >>> names
    ('light < 0.2', '0.2 ≤ light < 0.5', 'light ≥ 0.5')
    >>> table.argmax(axis=1)
    array([0, 1, 2])
    """
    check_is_mdp(mdp)
    require(
        isinstance(edges, Mapping) and bool(edges),
        f"edges must be a table of features and where their buckets begin, got {edges!r}",
    )
    parts, names = list[Floats](), list[str]()
    for feature, given in edges.items():
        number = mdp.feature_index(feature)
        cuts = as_floats(f"edges of {feature!r}", given)
        rising = cuts.ndim == 1 and len(cuts) > 0 and bool((np.diff(cuts) > 0.0).all())
        require(
            rising and bool(np.isfinite(cuts).all()),
            f"edges of {feature!r} must be numbers that rise, got {given!r}",
        )
        column: Any = mdp.features[:, [number]]
        values = column if isinstance(column, np.ndarray) else column.toarray()
        place = np.searchsorted(cuts, values[:, 0], side="right")
        table = (place[:, None] == np.arange(len(cuts) + 1)).astype(float)
        over = terminal_states(mdp)  # where nothing is read any more
        table[over[mdp.dynamics.pair_states] if mdp.features_per_pair else over] = 0.0
        parts.append(table)
        names += _bucket_names(feature, cuts.tolist())
    return np.hstack(parts), tuple(names)


def chosen_features(mdp: MDP, features: Sequence[str | int]) -> list[int]:
    """The numbers of features that are given by names or numbers, each once."""
    check_is_mdp(mdp)
    require(
        isinstance(features, Sequence) and not isinstance(features, str),
        f"features must be a sequence of names or numbers, got {features!r}",
    )
    chosen: list[int] = []
    for place, feature in enumerate(features):
        number = isinstance(feature, (int, np.integer)) and not isinstance(feature, bool)
        require(
            number or isinstance(feature, str),
            f"features[{place}] must be a name or a number, got {feature!r}",
        )
        index = mdp.feature_index(feature) if isinstance(feature, str) else int(feature)
        require(
            0 <= index < mdp.n_features,
            f"features[{place}] must lie in 0 … {mdp.n_features - 1}, got {index}",
        )
        require(
            index not in chosen,
            f"features must be distinct, got {mdp.feature_name(index)!r} twice",
        )
        chosen.append(index)
    return chosen


def numbered_names(there: Sequence[str], wanted: Iterable[str]) -> Names:
    """Names with further ones, which get a number where they are taken, as in ``ice (2)``."""
    names, taken = list(there), set(there)
    for each in wanted:
        name, times = each, 1
        while name in taken:
            times += 1
            name = f"{each} ({times})"
        names.append(name)
        taken.add(name)
    return tuple(names)


def _bucket_names(feature: str, cuts: list[float]) -> list[str]:
    ends = [-math.inf, *cuts, math.inf]
    names = []
    for low, high in pairwise(ends):
        name = feature if low == -math.inf else f"{low:g} ≤ {feature}"
        name = f"{feature} ≥ {low:g}" if high == math.inf else f"{name} < {high:g}"
        names.append(name)
    return names


__all__ = ["bucketed", "chosen_features", "numbered_names", "with_columns"]
