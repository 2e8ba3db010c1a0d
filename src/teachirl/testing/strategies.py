"""Hypothesis strategies for small MDPs, weights, worldviews and policies.

They draw small integers, fractions of them and a few scales, so that what Hypothesis shrinks to can
be read and worked out by hand; they draw the awkward cases on purpose.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from ..arrays import Floats
from ..mdp.model import MDP
from ..mdp.policy import Policy

DISCOUNTS = (0.5, 0.9, 0.25, 0.99, 0.999)
SCALES = (1e-12, 1e-6, 1e6, 1e12)


@st.composite
def mdps(
    draw: st.DrawFn,
    *,
    max_states: int = 6,
    max_actions: int = 3,
    max_features: int = 4,
    discounts: tuple[float, ...] = DISCOUNTS,
) -> MDP:
    """Small MDPs of every kind.

    States with different actions, absorbing or out of reach; rows that are deterministic or not;
    actions that are the same; features per state or per pair, dense or sparse, some of them zero or
    equal; a start in one state or in many; with names and without.

    Parameters
    ----------
    max_states, max_actions, max_features : ints, the most that there are of each
    discounts : tuple of float, those to draw from

    Returns
    -------
    strategy of MDP

    Examples
    --------
    >>> from hypothesis import given
    >>> from teachirl.testing import check_mdp, mdps
    >>> @given(mdps())
    ... def test_my_wrapper(mdp):
    ...     check_mdp(mdp)
    """
    n_states = draw(st.integers(1, max_states), label="states")
    n_actions = draw(st.integers(1, max_actions), label="actions")
    states, actions, rows = [], [], []
    for state in range(n_states):
        for action in sorted(draw(_available(n_actions))):
            states.append(state)
            actions.append(action)
            rows.append(draw(_rows(state, n_states)))
    named = draw(st.booleans(), label="named")
    per_pair = draw(st.booleans(), label="features per pair")
    features: Any = draw(_features(len(states) if per_pair else n_states, max_features))
    if draw(st.booleans(), label="sparse features"):
        features = sp.csr_array(features)
    return MDP.from_pairs(
        states,
        actions,
        np.array(rows),
        features,
        discount=draw(st.sampled_from(discounts), label="discount"),
        start=draw(_start(n_states), label="start"),
        state_names=[f"s{i}" for i in range(n_states)] if named else None,
        action_names=[f"a{i}" for i in range(n_actions)] if named else None,
        feature_names=[f"f{i}" for i in range(features.shape[1])] if named else None,
    )


# To make a strategy takes Hypothesis longer than to draw from it: those of parts are made once.
@cache
def _available(n_actions: int) -> st.SearchStrategy[set[int]]:
    """The actions of a state: all of them, or some."""
    some = st.sets(st.integers(0, n_actions - 1), min_size=1)
    return st.just(set(range(n_actions))) | some


@cache
def _parts(count: int) -> st.SearchStrategy[list[int]]:
    """Shares of so many, as small integers; not all of them 0."""
    return st.lists(st.integers(0, 4), min_size=count, max_size=count).filter(any)


@cache
@st.composite
def _rows(draw: st.DrawFn, state: int, n_states: int) -> Floats:
    """A distribution over the states: one that stays in `state`, a sure move, or any."""
    row = np.zeros(n_states)
    kind = draw(st.sampled_from(("stay", "sure", "any")))
    if kind == "stay":
        row[state] = 1.0
    elif kind == "sure":
        row[draw(st.integers(0, n_states - 1))] = 1.0
    else:
        row[:] = draw(_parts(n_states))
        row /= row.sum()
    return row


@cache
def _start(n_states: int) -> st.SearchStrategy[Floats | None]:
    return st.none() | _rows(0, n_states)


@cache
@st.composite
def _features(draw: st.DrawFn, n_rows: int, max_features: int) -> Floats:
    """array [n_rows, k], column by column: zero, constant, one seen before, or small numbers."""
    columns: list[Floats] = []
    for _ in range(draw(st.integers(1, max_features), label="features")):
        kind = draw(st.sampled_from(("any", "zero", "constant", "again")))
        if kind == "zero":
            columns.append(np.zeros(n_rows))
        elif kind == "constant":
            columns.append(np.ones(n_rows))
        elif kind == "again" and columns:
            columns.append(columns[draw(st.integers(0, len(columns) - 1))])
        else:
            columns.append(draw(_vectors(n_rows)))
    return np.stack(columns, axis=1)


@cache
def _vectors(size: int) -> st.SearchStrategy[Floats]:
    """array [size] of whole numbers or of quarters, between −5 and 5."""
    whole = st.lists(st.integers(-5, 5), min_size=size, max_size=size)
    quarters = st.lists(st.integers(-20, 20), min_size=size, max_size=size)
    return whole.map(lambda v: np.array(v, dtype=float)) | quarters.map(lambda v: np.array(v) / 4)


@st.composite
def weights(draw: st.DrawFn, n_features: int) -> Floats:
    """Weights: zero, plus or minus one feature, small numbers, decimals, at any scale.

    Parameters
    ----------
    n_features : int k

    Returns
    -------
    strategy of array [k]

    Examples
    --------
    >>> from hypothesis import given
    >>> from teachirl.testing import weights
    >>> @given(weights(3))
    ... def test_their_shape(w):
    ...     assert w.shape == (3,)
    """
    kind = draw(st.sampled_from(("any", "decimals", "one", "zero")))
    if kind == "zero":
        return np.zeros(n_features)
    if kind == "one":
        w = np.zeros(n_features)
        w[draw(st.integers(0, n_features - 1))] = draw(st.sampled_from((1.0, -1.0)))
    elif kind == "decimals":
        tenths = st.lists(st.integers(-999, 999), min_size=n_features, max_size=n_features)
        w = np.array(draw(tenths)) / 1000
    else:
        w = draw(_vectors(n_features))
    return w * draw(st.sampled_from((1.0, *SCALES)))


@st.composite
def worldviews(draw: st.DrawFn, n_features: int, max_rows: int | None = None) -> Floats:
    """What a learner may see, as a matrix.

    Rows are single features, small numbers, zero, multiples of an earlier row or sums of two, some
    of them scaled by 1e-12.

    Parameters
    ----------
    n_features : int k
    max_rows : int, the most rows ℓ; k + 2 by default

    Returns
    -------
    strategy of array [ℓ, k]

    Examples
    --------
    >>> from hypothesis import given
    >>> from teachirl import Worldview
    >>> from teachirl.testing import worldviews
    >>> @given(worldviews(3))
    ... def test_their_rank(matrix):
    ...     assert Worldview(matrix).rank <= 3
    """
    limit = n_features + 2 if max_rows is None else max_rows
    rows: list[Floats] = []
    for _ in range(draw(st.integers(0, limit), label="rows")):
        kinds = ("one", "any", "tiny", "zero") + (("multiple", "sum") if rows else ())
        kind = draw(st.sampled_from(kinds))
        earlier = st.integers(0, max(len(rows) - 1, 0))
        if kind == "one":
            row = np.eye(n_features)[draw(st.integers(0, n_features - 1))]
        elif kind == "zero":
            row = np.zeros(n_features)
        elif kind == "multiple":
            row = rows[draw(earlier)] * draw(st.sampled_from((1.0, -2.0, 1e-12)))
        elif kind == "sum":
            row = rows[draw(earlier)] + rows[draw(earlier)]
        else:
            row = draw(_vectors(n_features)) * (1e-12 if kind == "tiny" else 1.0)
        rows.append(row)
    return np.array(rows).reshape(len(rows), n_features)


@st.composite
def policies(draw: st.DrawFn, mdp: MDP) -> Policy:
    """Policies of the MDP: one action a state, or a distribution over its actions.

    Parameters
    ----------
    mdp : MDP

    Returns
    -------
    strategy of Policy

    Examples
    --------
    >>> from hypothesis import given
    >>> import teachirl as ti
    >>> from teachirl.testing import policies
    >>> mdp = ti.worlds.chain(3)
    >>> @given(policies(mdp))
    ... def test_they_are_of_the_mdp(policy):
    ...     assert policy.dynamics is mdp.dynamics
    """
    dynamics = mdp.dynamics
    counts = np.diff(dynamics.offsets).tolist()
    if draw(st.booleans(), label="deterministic"):
        chosen = [draw(st.integers(0, count - 1)) for count in counts]
        return Policy.deterministic(mdp, dynamics.actions[dynamics.offsets[:-1] + chosen])
    matrix = np.zeros((mdp.n_states, mdp.n_actions))
    for state, count in enumerate(counts):
        first = dynamics.offsets[state]
        matrix[state, dynamics.actions[first : first + count]] = draw(_parts(count))
    return Policy.from_matrix(mdp, matrix / matrix.sum(axis=1, keepdims=True))
