"""MDPs: what is refused and how it is told, and that what is accepted stays as it was given."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import teachirl as ti
from teachirl.mdp.model import LARGE
from teachirl.testing import check_mdp, check_same, mdps

# Two states, two actions: stay, and swap with a chance of failing.
STAY, SWAP = np.eye(2), np.array([[0.25, 0.75], [1.0, 0.0]])
TABLE = np.stack([STAY, SWAP], axis=1)
FEATURES = np.array([[1.0, 0.0, 2.0], [0.5, -1.0, 0.0]])


def arrays(**changes: Any) -> ti.MDP:
    """`MDP.from_arrays` of the two states, with some arguments changed."""
    arguments: Any = {"transitions": TABLE, "features": FEATURES, "discount": 0.9}
    arguments |= changes
    # There are as many states as actions: a dense array could be read in two ways.
    rows = arguments["transitions"]
    sparse = isinstance(rows, (list, tuple)) and any(map(sp.issparse, rows))
    return ti.MDP.from_arrays(**({"first": None if sparse else "state"} | arguments))


def pairs(**changes: Any) -> ti.MDP:
    """`MDP.from_pairs` of the same, with some arguments changed."""
    arguments: Any = {
        "states": [0, 0, 1, 1],
        "actions": [0, 1, 0, 1],
        "transitions": TABLE.reshape(4, 2),
        "features": FEATURES,
        "discount": 0.9,
    }
    return ti.MDP.from_pairs(**(arguments | changes))


def table(state: int, action: int, *row: float) -> np.ndarray:
    changed = TABLE.copy()
    changed[state, action] = row
    return changed


def bad_columns(rows: int, columns: int, column: int) -> sp.csr_array:
    """A sparse array of that shape with an entry in a column that does not exist."""
    matrix = sp.csr_array(np.eye(rows, columns) + np.eye(rows, columns, k=-columns))
    matrix.indices[1] = column
    return matrix


NAMED = {"state_names": ["home", "away"], "action_names": ["stay", "swap"]}
NAN, INF = float("nan"), float("inf")

REFUSED_ARRAYS: list[tuple[dict[str, Any], str]] = [
    # the shape of the transitions
    (
        {"transitions": np.eye(2)},
        "transitions must have shape [S, A, S], state, action, next state, got (2, 2)",
    ),
    (
        {"transitions": np.ones((2, 1, 3))},
        "transitions must have shape [S, A, S], state, action, next state, got (2, 1, 3)",
    ),
    (
        {"transitions": np.ones((0, 1, 0))},
        "transitions must have shape [S, A, S], state, action, next state, got (0, 1, 0)",
    ),
    (
        {"transitions": np.ones((2, 0, 2))},
        "transitions must have shape [S, A, S], state, action, next state, got (2, 0, 2)",
    ),
    (
        {"transitions": []},
        "transitions must have shape [S, A, S], state, action, next state, got (0,)",
    ),
    (
        {"transitions": [sp.eye_array(2), sp.eye_array(3)]},
        "transitions[1] must have shape (2, 2), got (3, 3)",
    ),
    (
        {"transitions": [sp.csr_array(np.ones((2, 3)))]},
        "transitions[0] must have shape (2, 2), got (2, 3)",
    ),
    # probabilities
    (
        {"transitions": table(0, 1, 0.25, 0.7)},
        "transitions must sum to 1 in every row: those of state 0, action 1 sum to 0.95",
    ),
    (
        {"transitions": table(1, 0, 0.25, 0.75 + 2e-8), **NAMED},
        "transitions must sum to 1 in every row: those of state away, action stay sum to "
        "1.00000002",
    ),
    (
        {"transitions": table(1, 1, 0, 0), **NAMED},
        "transitions must sum to 1 in every row: those of state away, action swap sum to 0",
    ),
    (
        {"transitions": table(0, 0, -0.25, 1.25)},
        "transitions must be non-negative and finite: state 0, action 0 goes to state 0 with "
        "probability -0.25",
    ),
    (
        {"transitions": table(1, 0, 0.5, NAN), **NAMED},
        "transitions must be non-negative and finite: state away, action stay goes to state away "
        "with probability nan",
    ),
    (
        {"transitions": [sp.csr_array(STAY), sp.csr_array(SWAP * [INF, 1])]},
        "transitions must be non-negative and finite: state 0, action 1 goes to state 0 with "
        "probability inf",
    ),
    # available
    (
        {"available": [[1, 1], [1, 1]]},
        "available must be a bool array of shape (2, 2), got int64 (2, 2)",
    ),
    (
        {"available": np.ones(2, bool)},
        "available must be a bool array of shape (2, 2), got bool (2,)",
    ),
    (
        {"available": np.array([[True, True], [False, False]])},
        "every state needs at least one action: state 1 has none",
    ),
    (
        {"available": np.array([[False, False], [True, False]]), **NAMED},
        "every state needs at least one action: state home has none",
    ),
    # start
    ({"start": [1.0]}, "start must have shape (2,), got (1,)"),
    ({"start": 1.0}, "start must have shape (2,), got ()"),
    ({"start": [[0.5, 0.5]]}, "start must have shape (2,), got (1, 2)"),
    (
        {"start": [0.5, 0.4]},
        "start must be a distribution: its probabilities sum to 0.9, not 1",
    ),
    ({"start": [1.5, -0.5]}, "start must be non-negative and finite, got -0.5 at index 1"),
    ({"start": [NAN, 1]}, "start must be non-negative and finite, got nan at index 0"),
    ({"start": [0, INF]}, "start must be non-negative and finite, got inf at index 1"),
    (
        {"start": [1e308, 1e308]},
        "start must be a distribution: its probabilities sum to inf, not 1",
    ),
    # discount
    ({"discount": 1.0}, "discount must lie strictly between 0 and 1, got 1.0"),
    ({"discount": 0}, "discount must lie strictly between 0 and 1, got 0"),
    ({"discount": -0.5}, "discount must lie strictly between 0 and 1, got -0.5"),
    ({"discount": NAN}, "discount must lie strictly between 0 and 1, got nan"),
    ({"discount": True}, "discount must lie strictly between 0 and 1, got True"),
    ({"discount": "0.9"}, "discount must lie strictly between 0 and 1, got '0.9'"),
    ({"discount": None}, "discount must lie strictly between 0 and 1, got None"),
    # features
    (
        {"features": np.ones((3, 2))},
        "features must have a row for each of the 2 states or of the 4 state-action pairs, got "
        "shape (3, 2)",
    ),
    (
        {"features": np.ones(2)},
        "features must have a row for each of the 2 states or of the 4 state-action pairs, got "
        "shape (2,)",
    ),
    (
        {"features": sp.csr_array((5, 2))},
        "features must have a row for each of the 2 states or of the 4 state-action pairs, got "
        "shape (5, 2)",
    ),
    ({"features": np.ones((2, 3, 1))}, "features must have shape (2, 2, k), got (2, 3, 1)"),
    ({"features": [[1.0, NAN], [0, 0]]}, "features must be finite, got nan at index (0, 1)"),
    ({"features": [[1.0, 2], [0, -INF]]}, "features must be finite, got -inf at index (1, 1)"),
    (
        {"features": sp.csr_array([[0.0, 0], [0, INF]])},
        "features must be finite, got inf at index (1, 1)",
    ),
    (
        {"features": sp.csr_array(([1e308, 1e308], [1, 1], [0, 0, 2]), shape=(2, 2))},
        "features must be finite, got inf at index (1, 1)",
    ),
    ({"features": bad_columns(2, 3, 3)}, "features must have columns in 0 … 2, got 3 at index 1"),
    ({"features": bad_columns(2, 3, -1)}, "features must have columns in 0 … 2, got -1 at index 1"),
    # names
    ({"state_names": ["a"]}, "state_names must have 2 entries, got 1"),
    ({"state_names": "ab"}, "state_names must be a sequence of names, got one string"),
    ({"state_names": ["a", "a"]}, "state_names must be distinct, got 'a' twice"),
    ({"state_names": ["a", 1]}, "state_names[1] must be a string, got 1"),
    ({"action_names": ["a", "a"]}, "action_names must be distinct, got 'a' twice"),
    ({"action_names": ["a"]}, "action_names must have 2 entries, got 1"),
    ({"action_names": ["a", None]}, "action_names[1] must be a string, got None"),
    ({"feature_names": ["a", "b"]}, "feature_names must have 3 entries, got 2"),
    ({"feature_names": ["b", "a", "b"]}, "feature_names must be distinct, got 'b' twice"),
    ({"feature_names": "abc"}, "feature_names must be a sequence of names, got one string"),
]

REFUSED_PAIRS: list[tuple[dict[str, Any], str]] = [
    ({"states": [0, 0, 1, 2]}, "states must lie in 0 … 1, got 2 at index 3"),
    ({"states": [0, 0, -1, 1]}, "states must lie in 0 … 1, got -1 at index 2"),
    (
        {"states": [0.0, 0, 1, 1]},
        "states must be a one-dimensional array of integers, got float64 (4,)",
    ),
    (
        {"actions": [[0, 1, 0, 1]]},
        "actions must be a one-dimensional array of integers, got int64 (1, 4)",
    ),
    (
        {"actions": [False, True, False, True]},
        "actions must be a one-dimensional array of integers, got bool (4,)",
    ),
    ({"actions": [0, 1, 0, -1]}, "actions must lie in 0 … 2147483646, got -1 at index 3"),
    (
        {"actions": [0, 1, 0, 2], "action_names": ["a", "b"]},
        "actions must lie in 0 … 1, got 2 at index 3",
    ),
    (
        {"states": [0, 0, 1]},
        "states, actions and transitions must agree: got 3 states, 4 actions and transitions "
        "(4, 2) for 2 states",
    ),
    (
        {"actions": [0, 1, 0]},
        "states, actions and transitions must agree: got 4 states, 3 actions and transitions "
        "(4, 2) for 2 states",
    ),
    (
        {"n_states": 3},
        "states, actions and transitions must agree: got 4 states, 4 actions and transitions "
        "(4, 2) for 3 states",
    ),
    (
        {"transitions": np.ones((3, 2))},
        "states, actions and transitions must agree: got 4 states, 4 actions and transitions "
        "(3, 2) for 2 states",
    ),
    ({"transitions": np.ones(4)}, "transitions must have shape [P, S], got (4,)"),
    ({"transitions": TABLE}, "transitions must have shape [P, S], got (2, 2, 2)"),
    (
        {"transitions": bad_columns(4, 2, 7)},
        "transitions must have columns in 0 … 1, got 7 at index 1 of its indices",
    ),
    (
        {"states": [0, 1, 1, 0], "actions": [1, 0, 1, 1]},
        "the pair of state 0 and action 1 is given twice",
    ),
    (
        {"states": [0, 0, 0, 0], "actions": [0, 1, 2, 3]},
        "every state needs at least one action: state 1 has none",
    ),
    (
        {
            "states": [],
            "actions": [],
            "transitions": np.zeros((0, 0)),
            "features": np.zeros((0, 1)),
        },
        "an MDP needs at least one state, got none",
    ),
    (
        {"states": [], "actions": [], "transitions": np.zeros((0, 2))},
        "every state needs at least one action: state 0 has none",
    ),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED_ARRAYS)
def test_from_arrays_refuses(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ti.InvalidInputError, match=re.escape(message)) as caught:
        arrays(**changes)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, ti.TeachirlError)


@pytest.mark.parametrize(("changes", "message"), REFUSED_PAIRS)
def test_from_pairs_refuses(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ti.InvalidInputError, match=re.escape(message)):
        pairs(**changes)


def test_what_was_refused_is_accepted_unchanged() -> None:
    check_mdp(arrays())
    check_mdp(arrays(**NAMED))
    check_mdp(pairs())


def test_the_example_is_stored_as_pairs() -> None:
    mdp = arrays(**NAMED, feature_names=["ice", "speed", "lane"])
    dynamics = mdp.dynamics
    assert (mdp.n_states, mdp.n_pairs, mdp.n_actions, mdp.n_features) == (2, 4, 2, 3)
    assert dynamics.offsets.tolist() == [0, 2, 4]
    assert dynamics.actions.tolist() == [0, 1, 0, 1]
    assert dynamics.pair_states.tolist() == [0, 0, 1, 1]
    assert dynamics.transitions.toarray().tolist() == [[1, 0], [0.25, 0.75], [0, 1], [1, 0]]
    assert dynamics.transitions.nnz == 5
    assert mdp.start.tolist() == [0.5, 0.5]
    assert mdp.discount == dynamics.discount == 0.9
    assert not mdp.features_per_pair
    assert repr(mdp) == "MDP(2 states, 4 state-action pairs, 3 features per state, discount 0.9)"


def test_dense_sparse_and_pairs_are_the_same() -> None:
    dense = arrays()
    check_same(dense, arrays(transitions=TABLE.tolist(), features=FEATURES.tolist()))
    for kind in (sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.lil_matrix):
        check_same(dense, arrays(transitions=[kind(STAY), kind(SWAP)]))
    check_same(dense, arrays(transitions=(sp.eye_array(2), sp.csr_array(SWAP))))
    for rows in (TABLE.reshape(4, 2), sp.csr_array(TABLE.reshape(4, 2))):
        check_same(dense, pairs(transitions=rows))
    check_same(pairs(), pairs(transitions=TABLE.reshape(4, 2).tolist(), n_states=2))


@settings(max_examples=50, deadline=None)
@given(st.data(), mdps())
def test_the_order_of_pairs_does_not_matter(data: st.DataObject, mdp: ti.MDP) -> None:
    dynamics = mdp.dynamics
    order = data.draw(st.permutations(range(mdp.n_pairs)))
    features = mdp.features[order] if mdp.features_per_pair else mdp.features
    again = ti.MDP.from_pairs(
        dynamics.pair_states[order],
        dynamics.actions[order],
        dynamics.transitions[order],
        features,
        discount=mdp.discount,
        start=mdp.start,
        state_names=dynamics.state_names,
        action_names=dynamics.action_names,
        feature_names=mdp.feature_names,
    )
    check_same(mdp, again)


@settings(max_examples=50, deadline=None)
@given(mdps())
def test_arrays_with_available_are_the_same_as_pairs(mdp: ti.MDP) -> None:
    dynamics, shape = mdp.dynamics, (mdp.n_states, mdp.n_actions)
    available = np.zeros(shape, dtype=bool)
    available[dynamics.pair_states, dynamics.actions] = True
    # What stands where no action is does not matter, whatever it is.
    full = np.full((*shape, mdp.n_states), np.nan)
    full[dynamics.pair_states, dynamics.actions] = dynamics.transitions.toarray()
    features: Any = mdp.features
    if mdp.features_per_pair and isinstance(features, np.ndarray):
        features = np.full((*shape, mdp.n_features), np.nan)
        features[dynamics.pair_states, dynamics.actions] = mdp.features
    names = dynamics.action_names or tuple(map(str, range(mdp.n_actions)))
    again = ti.MDP.from_arrays(
        full,
        features,
        discount=mdp.discount,
        start=mdp.start,
        available=available,
        state_names=dynamics.state_names,
        action_names=names,
        first="state",
        feature_names=mdp.feature_names,
    )
    named = dataclasses.replace(mdp, dynamics=dataclasses.replace(dynamics, action_names=names))
    check_same(named, again)


def test_available_leaves_actions_out() -> None:
    mdp = arrays(available=np.array([[True, True], [False, True]]))
    assert mdp.dynamics.offsets.tolist() == [0, 2, 3]
    assert mdp.dynamics.actions.tolist() == [0, 1, 1]
    assert mdp.dynamics.transitions.toarray().tolist() == [[1, 0], [0.25, 0.75], [1, 0]]
    # The action that nobody has is still an action.
    none = arrays(available=np.array([[True, False], [True, False]]))
    assert (none.n_actions, none.n_pairs) == (2, 2)


def test_features_per_pair() -> None:
    grid = np.arange(12.0).reshape(2, 2, 3)
    mdp = arrays(features=grid)
    assert mdp.features_per_pair
    assert mdp.features.tolist() == grid.reshape(4, 3).tolist()
    assert repr(mdp).endswith("3 features per pair, discount 0.9)")
    check_same(mdp, arrays(features=grid.reshape(4, 3)))
    fewer = arrays(features=grid, available=np.array([[True, True], [False, True]]))
    assert fewer.features.tolist() == grid.reshape(4, 3)[[0, 1, 3]].tolist()
    sparse = arrays(features=sp.csr_array(grid.reshape(4, 3)))
    assert sparse.features_per_pair
    assert sp.issparse(sparse.features)
    assert sparse.features.toarray().tolist() == mdp.features.tolist()


def test_features_of_unsorted_pairs() -> None:
    order = [2, 0, 3, 1]
    changes = {
        "states": np.array([0, 0, 1, 1])[order],
        "actions": np.array([0, 1, 0, 1], dtype=np.uint8)[order],
        "transitions": TABLE.reshape(4, 2)[order],
    }
    check_same(pairs(**changes), pairs())
    per_pair = np.arange(8.0).reshape(4, 2)
    check_same(pairs(**changes, features=per_pair[order]), pairs(features=per_pair))
    sparse = sp.csr_array(per_pair)
    check_same(pairs(**changes, features=sparse[order]), pairs(features=sparse))


def test_one_pair_a_state_has_features_per_state() -> None:
    # Rows then belong to states, in their order, whatever the order of the pairs.
    mdp = ti.MDP.from_pairs([1, 0], [0, 0], [[1, 0], [0, 1]], [[10.0], [20.0]], discount=0.5)
    assert mdp.features.tolist() == [[10], [20]]
    assert not mdp.features_per_pair
    assert mdp.dynamics.transitions.toarray().tolist() == [[0, 1], [1, 0]]


def test_sparse_features_stay_sparse_and_duplicates_add_up() -> None:
    messy = sp.csr_array(
        (np.array([1.0, 2.0, 4.0, 8.0]), np.array([2, 0, 2, 1]), np.array([0, 3, 4])), shape=(2, 3)
    )
    mdp = arrays(features=messy)
    assert sp.issparse(mdp.features)
    assert mdp.features.has_canonical_format
    assert mdp.features.indices.tolist() == [0, 2, 1]
    assert mdp.features.data.tolist() == [2, 5, 8]
    assert messy.indices.tolist() == [2, 0, 2, 1]
    assert messy.data.tolist() == [1, 2, 4, 8]


def test_duplicate_and_zero_transitions() -> None:
    rows = sp.csr_array(
        (
            np.array([0.5, 0.0, 0.5, 1, 1, 1]),
            np.array([1, 0, 1, 0, 1, 0]),
            np.array([0, 3, 4, 5, 6]),
        ),
        shape=(4, 2),
    )
    mdp = pairs(transitions=rows)
    assert mdp.dynamics.transitions.toarray().tolist() == [[0, 1], [1, 0], [0, 1], [1, 0]]
    assert mdp.dynamics.transitions.nnz == 4
    assert rows.nnz == 6


def test_rounded_probabilities_are_rescaled() -> None:
    rough = table(0, 1, 0.333333333, 0.666666666)
    mdp = arrays(transitions=rough, start=[0.1, 0.899999999])
    row = mdp.dynamics.transitions.toarray()[1]
    assert row.tolist() == [0.333333333 / 0.999999999, 0.666666666 / 0.999999999]
    assert abs(row.sum() - 1) <= 2**-52
    assert mdp.start.tolist() == [0.1 / 0.999999999, 0.899999999 / 0.999999999]
    # Rows that were right are left alone, and so is all of it the next time.
    assert mdp.dynamics.transitions.toarray()[[0, 2, 3]].tolist() == [[1, 0], [0, 1], [1, 0]]
    again = pairs(transitions=mdp.dynamics.transitions, start=mdp.start)
    assert again.dynamics.transitions.data.tobytes() == mdp.dynamics.transitions.data.tobytes()
    assert again.start.tobytes() == mdp.start.tobytes()


def test_rounding_in_the_last_place_is_left_alone() -> None:
    tenths = np.full((1, 10), 0.1)
    assert tenths.sum() != 1 or sum(tenths[0]) != 1
    rows = np.repeat(tenths, 10, axis=0)
    mdp = ti.MDP.from_pairs(
        range(10), [0] * 10, rows, np.ones((10, 1)), discount=0.5, start=tenths[0]
    )
    assert set(mdp.dynamics.transitions.data.tolist()) == {0.1}
    assert set(mdp.start.tolist()) == {0.1}


def parts(matrix: Any) -> list[np.ndarray]:
    return (
        [matrix] if isinstance(matrix, np.ndarray) else [matrix.data, matrix.indices, matrix.indptr]
    )


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("per_pair", [False, True])
@pytest.mark.parametrize("dtype", [float, int])
def test_callers_arrays_stay_theirs(sparse: bool, per_pair: bool, dtype: type) -> None:
    make: Any = sp.csr_array if sparse else np.array
    rows = make(np.array([[1, 0], [0, 1], [0, 1], [1, 0]], dtype=dtype))
    features = make(np.arange(8 if per_pair else 4).reshape(-1, 2).astype(dtype))
    start, states, actions = np.array([0.25, 0.75]), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    mdp = pairs(states=states, actions=actions, transitions=rows, features=features, start=start)
    twin = pairs(
        transitions=np.array([[1, 0], [0, 1], [0, 1], [1, 0]]),
        features=make(np.arange(8.0 if per_pair else 4.0).reshape(-1, 2)),
        start=[0.25, 0.75],
    )
    check_same(mdp, twin)
    for array in (start, states, actions, *parts(rows), *parts(features)):
        assert array.flags.writeable
        array[...] = 0
    check_same(mdp, twin)


def test_read_only_views_of_what_can_change_are_copied() -> None:
    mine = FEATURES.copy()
    view = mine[:]
    view.setflags(write=False)
    mdp = arrays(features=view)
    mine[0, 0] = 99.0
    assert mdp.features[0, 0] == 1.0


def test_features_that_nobody_can_change_are_shared() -> None:
    for features in (FEATURES.copy(), sp.csr_array(FEATURES)):
        mdp = arrays(features=features)
        again = mdp.with_features(mdp.features)
        for one, other in zip(parts(mdp.features), parts(again.features), strict=True):
            assert np.shares_memory(one, other)


def test_mdps_cannot_be_changed() -> None:
    mdp = arrays(features=sp.csr_array(FEATURES))
    dynamics = mdp.dynamics
    held = [dynamics.offsets, dynamics.actions, dynamics.start, dynamics.pair_states]
    for array in (*held, *parts(dynamics.transitions), *parts(mdp.features), arrays().features):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        mdp.features = FEATURES  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        dynamics.discount = 0.5  # type: ignore[misc]


def test_with_features_keeps_the_dynamics() -> None:
    mdp = arrays(feature_names=["a", "b", "c"])
    seen = mdp.with_features(FEATURES @ np.ones((3, 1)), ["sum"])
    assert seen.dynamics is mdp.dynamics
    assert seen.feature_names == ("sum",)
    assert seen.features.tolist() == [[3.0], [-0.5]]
    assert mdp.with_features(FEATURES).feature_names is None
    with pytest.raises(ti.InvalidInputError, match=r"features must have a row .* shape \(1, 3\)"):
        mdp.with_features(FEATURES[:1])


def test_no_features_at_all() -> None:
    mdp = arrays(features=np.zeros((2, 0)))
    assert mdp.n_features == 0
    assert mdp.rewards([]).tolist() == [0, 0]


def test_names() -> None:
    mdp = arrays(**NAMED, feature_names=iter(["ice", "speed", "lane"]))
    dynamics = mdp.dynamics
    assert dynamics.state_names == ("home", "away")
    assert dynamics.action_names == ("stay", "swap")
    assert mdp.feature_names == ("ice", "speed", "lane")
    assert (dynamics.state_name(1), dynamics.action_name(0), mdp.feature_name(2)) == (
        "away",
        "stay",
        "lane",
    )
    assert [mdp.feature_index(name) for name in mdp.feature_names] == [0, 1, 2]
    message = "there is no feature 'snow'; there are: ice, speed, lane"
    with pytest.raises(ti.InvalidInputError, match=re.escape(message)):
        mdp.feature_index("snow")


def test_what_has_no_name_has_a_number() -> None:
    mdp = pairs()
    dynamics = mdp.dynamics
    assert (dynamics.state_names, dynamics.action_names, mdp.feature_names) == (None, None, None)
    assert (dynamics.state_name(1), dynamics.action_name(0), mdp.feature_name(2)) == ("1", "0", "2")
    assert mdp.feature_index("2") == 2
    many = mdp.with_features(np.zeros((2, 12)))
    message = "there is no feature '12'; there are: 0, 1, 2, 3, 4, 5, 6, 7, … (12 in all)"
    with pytest.raises(ti.InvalidInputError, match=re.escape(message)):
        many.feature_index("12")


def test_actions_beyond_those_taken_may_have_names() -> None:
    mdp = pairs(action_names=["stay", "swap", "never"])
    assert mdp.n_actions == 3
    assert pairs(actions=[0, 5, 0, 1]).n_actions == 6


def test_pair_of() -> None:
    dynamics = ti.worlds.chain(5).dynamics
    for pair in range(dynamics.n_pairs):
        state, action = int(dynamics.pair_states[pair]), int(dynamics.actions[pair])
        assert dynamics.pair_of(state, action) == pair
    for (state, action), message in {
        (0, 0): "action left does not exist in state cell 1",
        (4, 1): "action right does not exist in state cell 5",
        (0, 2): "action must lie in 0 … 1, got 2",
        (1, -1): "action must lie in 0 … 1, got -1",
        (5, 0): "state must lie in 0 … 4, got 5",
        (-1, 0): "state must lie in 0 … 4, got -1",
    }.items():
        with pytest.raises(ti.InvalidInputError, match=re.escape(message)):
            dynamics.pair_of(state, action)


@pytest.mark.parametrize("per_pair", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_rewards(per_pair: bool, sparse: bool) -> None:
    features = np.arange(12.0).reshape(4, 3) if per_pair else FEATURES
    mdp = arrays(features=sp.csr_array(features) if sparse else features)
    weights = np.array([[1.0, -1.0, 0.5], [0, 0, 0], [2, 0, 0]])
    expected = np.array([[row @ w for row in features] for w in weights])
    assert np.array_equal(mdp.rewards(weights[0]), expected[0])
    assert np.array_equal(mdp.rewards(weights), expected)
    assert mdp.rewards(weights).flags.c_contiguous


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], "weights must have shape (3,), one a feature, got (2,)"),
        (1.0, "weights must have shape (3,), one a feature, got ()"),
        ([[[1, 2, 3]]], "weights must have shape (3,), one a feature, got (1, 1, 3)"),
        ([1, NAN, 3], "weights must be finite, got nan at index 1"),
        ([INF, 0, -INF], "weights must be finite, got inf at index 0"),
        ([[1, 2, 3], [1, -INF, 3]], "weights must be finite, got -inf at index (1, 1)"),
    ],
)
def test_weights_that_are_refused(weights: Any, message: str) -> None:
    with pytest.raises(ti.InvalidInputError, match=re.escape(message)):
        arrays().rewards(weights)


def test_weights_whose_sum_overflows_are_finite() -> None:
    weights = [1e308, 1e308, -1e308]
    assert arrays().checked_weights(weights).tolist() == weights


def test_numbers_of_other_types_are_taken() -> None:
    mdp = arrays(
        transitions=TABLE.astype(np.float32), discount=np.float32(0.5), start=np.array([0, 1])
    )
    assert mdp.discount == 0.5
    assert isinstance(mdp.discount, float)
    assert mdp.start.dtype == mdp.dynamics.transitions.dtype == float
    assert mdp.start.tolist() == [0, 1]


def test_save_and_load(tmp_path: Any) -> None:
    arrays().save(str(tmp_path / "mdp"))
    check_same(ti.MDP.load(tmp_path / "mdp"), arrays())


@settings(max_examples=50, deadline=None)
@given(mdps(), st.sampled_from(["csr", "csc", "coo"]))
def test_any_sparse_format_gives_the_same(mdp: ti.MDP, layout: str) -> None:
    dynamics = mdp.dynamics
    again = ti.MDP.from_pairs(
        dynamics.pair_states,
        dynamics.actions,
        dynamics.transitions.asformat(layout),
        mdp.features if isinstance(mdp.features, np.ndarray) else mdp.features.asformat(layout),
        discount=mdp.discount,
        start=mdp.start,
        state_names=dynamics.state_names,
        action_names=dynamics.action_names,
        feature_names=mdp.feature_names,
    )
    check_same(mdp, again)


class TestAsPeopleBringThem:
    """Arrays of another order or precision: understood if it is said which, or asked about."""

    def test_single_precision_is_normalized_on_request(self):
        rng = np.random.default_rng(0)
        rows = rng.dirichlet(np.ones(30), size=(30, 2)).astype(np.float32)
        start = rng.dirichlet(np.ones(30)).astype(np.float32)
        told = "if that is rounding, as of single precision, normalize=True divides by the sums"
        third = np.full(3, 1 / 3, dtype=np.float32)
        with pytest.raises(ti.InvalidInputError, match=f"^start .*{told}"):
            ti.MDP.from_arrays(np.ones((3, 1, 3)) / 3, np.eye(3), discount=0.9, start=third)
        with pytest.raises(ti.InvalidInputError, match=f"^transitions .*{told}"):
            ti.MDP.from_arrays(rows, np.eye(30), discount=0.9)
        mdp = ti.MDP.from_arrays(rows, np.eye(30), discount=0.9, start=start, normalize=True)
        check_mdp(mdp)
        assert mdp.dynamics.transitions.sum(axis=1) == pytest.approx(np.ones(60), abs=1e-14)
        assert mdp.start.sum() == pytest.approx(1.0, abs=1e-14)

    def test_chances_that_vanish_when_they_are_normalized_are_none(self):
        rows = sp.csr_array(np.array([[2.0, 5e-324], [1.0, 1.0], [0.0, 3.0], [1.0, 0.0]]))
        mdp = pairs(transitions=rows, normalize=True)
        assert mdp.dynamics.transitions.data.tolist() == [1.0, 0.5, 0.5, 1.0, 1.0]

    def test_counts_are_normalized_and_nothing_is_no_distribution(self):
        counted = pairs(transitions=[[3, 1], [2, 2], [0, 5], [1, 0]], normalize=True)
        assert counted.dynamics.transitions.toarray()[:2].tolist() == [[0.75, 0.25], [0.5, 0.5]]
        with pytest.raises(ti.InvalidInputError, match="those of state 1, action 0 have none"):
            pairs(transitions=[[3, 1], [2, 2], [0, 0], [1, 0]], normalize=True)
        with pytest.raises(ti.InvalidInputError, match="start must be a distribution"):
            pairs(start=[0.0, 0.0], normalize=True)

    def test_what_is_far_from_1_is_no_rounding(self):
        with pytest.raises(ti.InvalidInputError, match=r"sum to 0\.9$"):
            arrays(transitions=TABLE * [[[1.0]], [[0.9]]])

    def test_as_many_states_as_actions_are_asked_about(self):
        asked = "may be [S, A, S] or [A, S, S], which differ: say which axis is the first"
        with pytest.raises(ti.InvalidInputError, match=re.escape(asked)):
            ti.MDP.from_arrays(TABLE, FEATURES, discount=0.9)
        one = ti.MDP.from_arrays(TABLE, FEATURES, discount=0.9, first="state")
        other = ti.MDP.from_arrays(np.stack([STAY, SWAP]), FEATURES, discount=0.9, first="action")
        check_same(one, other)
        # Both readings are the same: there is nothing to ask.
        stay, swap = np.eye(2), np.eye(2)[::-1]
        ti.MDP.from_arrays(np.stack([stay, swap], axis=1), FEATURES, discount=0.9)

    def test_one_matrix_an_action(self):
        stay, on = np.eye(3), np.roll(np.eye(3), 1, axis=1)
        with pytest.raises(ti.InvalidInputError, match='pass first="action"'):
            ti.MDP.from_arrays(np.stack([stay, on]), np.eye(3), discount=0.9)
        one = ti.MDP.from_arrays(np.stack([stay, on]), np.eye(3), discount=0.9, first="action")
        check_same(one, ti.MDP.from_arrays(np.stack([stay, on], 1), np.eye(3), discount=0.9))
        with pytest.raises(ti.InvalidInputError, match="the action is first"):
            ti.MDP.from_arrays([sp.csr_array(stay)], np.eye(3), discount=0.9, first="state")
        with pytest.raises(ti.InvalidInputError, match='first must be "state" or "action"'):
            ti.MDP.from_arrays(np.stack([stay, on]), np.eye(3), discount=0.9, first="next")


@pytest.mark.parametrize("per_pair", [False, True])
def test_of_one_feature_that_counts_the_others_are_not_read(per_pair: bool) -> None:
    mdp = ti.worlds.garnet(np.random.default_rng(0), 300, 3, 2, 20, per_pair=per_pair)
    assert mdp.features.size > LARGE
    for weight in (-1.5, 0.3, 1e-300):
        w = np.zeros(20)
        w[7] = weight
        assert np.array_equal(mdp.rewards(w), mdp.features @ w)
        w[3] = 1.0
        assert np.array_equal(mdp.rewards(w), mdp.features @ w)
