"""For tests, yours and ours: a check of all that an MDP promises, and Hypothesis strategies.

    from hypothesis import given
    from teachirl.testing import check_mdp, mdps

    @given(mdps())
    def test_my_wrapper(mdp):
        check_mdp(my_wrapper(mdp))

The strategies draw small integers, fractions of them and a few scales, so that what Hypothesis
shrinks to can be read and worked out by hand; they draw the awkward cases on purpose.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from .checks import Floats, Names
from .errors import MissingExtraError
from .mdp import MDP
from .occupancies import feature_expectations, occupancy, policy_from_occupancy
from .planning import optimal_policy, worst_policy
from .policy import Policy

try:
    from hypothesis import strategies as st
except ImportError as error:
    raise MissingExtraError("hypothesis", "testing") from error

EPS = float(np.finfo(float).eps)
DISCOUNTS = (0.5, 0.9, 0.25, 0.99, 0.999)
SCALES = (1e-12, 1e-6, 1e6, 1e12)


def check_mdp(mdp: MDP) -> None:
    """Raise an `AssertionError` that says which promise of an MDP is broken, if one is.

    Arrays are read-only and fit together, rows are distributions, names are distinct; planning
    brackets the optimum, occupancies flow as they should, and saving and loading keeps every bit.

    >>> import teachirl as ti
    >>> from teachirl.testing import check_mdp
    >>> check_mdp(ti.worlds.chain(5))
    """
    _promise(isinstance(mdp, MDP), f"an MDP is an instance of teachirl.MDP, not {type(mdp)}")
    _check_dynamics(mdp)
    _check_features(mdp)
    for weights in (np.ones(mdp.n_features), np.cos(np.arange(mdp.n_features))):
        _check_planning(mdp, weights)
    _check_occupancy(mdp, Policy.uniform(mdp))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mdp.npz"
        mdp.save(path)
        check_same(mdp, MDP.load(path))


def check_same(one: MDP, other: MDP) -> None:
    """Raise an `AssertionError` unless both MDPs have the same arrays, bit by bit, and names."""
    mine, theirs = _parts(one), _parts(other)
    _promise(mine.keys() == theirs.keys(), f"{sorted(mine)} are not {sorted(theirs)}")
    for name, part in mine.items():
        if isinstance(part, np.ndarray):
            same = part.shape == theirs[name].shape and part.dtype == theirs[name].dtype
            same = same and part.tobytes() == theirs[name].tobytes()
        else:
            same = part == theirs[name]
        _promise(same, f"{name} differ: {part!r} and {theirs[name]!r}")


def _promise(condition: bool, message: str) -> None:
    # Not an assert statement: those vanish under python -O.
    if not condition:
        raise AssertionError(message)


def _parts(mdp: MDP) -> dict[str, Any]:
    dynamics = mdp.dynamics
    parts = {
        name: getattr(dynamics, name)
        for name in (
            "offsets",
            "actions",
            "start",
            "discount",
            "n_actions",
            "state_names",
            "action_names",
        )
    }
    parts["feature_names"] = mdp.feature_names
    for name, matrix in (("transitions", dynamics.transitions), ("features", mdp.features)):
        if isinstance(matrix, np.ndarray):
            parts[name] = matrix
        else:
            parts |= {f"{name}.{part}": getattr(matrix, part) for part in _SPARSE}
    return parts


_SPARSE = ("indptr", "indices", "data", "shape")


def _check_dynamics(mdp: MDP) -> None:
    for name, part in _parts(mdp).items():
        if isinstance(part, np.ndarray):
            _promise(not part.flags.writeable, f"{name} must be read-only")
    dynamics, n_states, n_pairs = mdp.dynamics, mdp.n_states, mdp.n_pairs
    offsets, actions, rows = dynamics.offsets, dynamics.actions, dynamics.transitions
    _promise(n_states >= 1, "there must be at least one state")
    _promise(0.0 < mdp.discount < 1.0, f"discount must lie in (0, 1), got {mdp.discount}")
    _promise(
        offsets[0] == 0 and offsets[-1] == n_pairs and bool((np.diff(offsets) >= 1).all()),
        f"offsets must rise from 0 to {n_pairs}, got {offsets}",
    )
    states = dynamics.pair_states
    _promise(
        np.array_equal(states, np.repeat(np.arange(n_states), np.diff(offsets))),
        "pair_states must say which state each pair belongs to",
    )
    _promise(
        bool(((actions >= 0) & (actions < mdp.n_actions)).all()),
        f"actions must lie in 0 … {mdp.n_actions - 1}, got {actions}",
    )
    _promise(
        bool(((np.diff(states) > 0) | (np.diff(actions) > 0)).all()),
        "the pairs must be sorted by state and action, without duplicates",
    )
    _promise(rows.shape == (n_pairs, n_states), f"transitions must be [P, S], got {rows.shape}")
    _check_sparse("transitions", rows)
    _promise(bool((rows.data > 0.0).all()), "transitions must hold positive entries only")
    lengths = np.diff(rows.indptr)
    error = np.abs(rows.sum(axis=1) - 1.0) / np.maximum(8, lengths)
    _promise(
        bool(error.max() <= EPS),
        f"transitions of pair {error.argmax()} sum to {rows.sum(axis=1)[error.argmax()]}, not 1",
    )
    start = dynamics.start
    _promise(start.shape == (n_states,), f"start must have shape ({n_states},), got {start.shape}")
    _promise(
        bool((start >= 0.0).all()) and abs(start.sum() - 1.0) <= 64 * EPS,
        f"start must be a distribution, got {start}",
    )
    _check_names("state_names", dynamics.state_names, n_states)
    _check_names("action_names", dynamics.action_names, mdp.n_actions)


def _check_features(mdp: MDP) -> None:
    features = mdp.features
    rows = mdp.n_pairs if mdp.features_per_pair else mdp.n_states
    _promise(
        features.shape == (rows, mdp.n_features),
        f"features must be [S, k] or [P, k], got {features.shape}",
    )
    values: Any = features
    if not isinstance(features, np.ndarray):
        _check_sparse("features", features)
        values = features.data
    _promise(bool(np.isfinite(values).all()), "features must be finite")
    _check_names("feature_names", mdp.feature_names, mdp.n_features)
    for feature in range(min(mdp.n_features, 100)):
        name = mdp.feature_name(feature)
        found = mdp.feature_index(name)
        _promise(found == feature, f"feature {feature} is called {name!r}, as {found} is")


def _check_sparse(name: str, matrix: sp.csr_array) -> None:
    try:
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise AssertionError(f"{name} is a broken sparse array: {error}") from error
    _promise(matrix.has_canonical_format, f"{name} must be sorted and without duplicates")


def _check_names(name: str, names: Names | None, count: int) -> None:
    if names is not None and not (names == () and count > 0):
        _promise(len(names) == count, f"{name} must have {count} entries, got {len(names)}")
        _promise(len(set(names)) == count, f"{name} must be distinct, got {names}")
        _promise(all(isinstance(name, str) for name in names), f"{name} must be strings")


def _check_planning(mdp: MDP, weights: Floats) -> None:
    best, worst = optimal_policy(mdp, weights), worst_policy(mdp, weights)
    uniform = float(weights @ feature_expectations(mdp, Policy.uniform(mdp)))
    # Feature expectations are exact to 1e-10 of what returns could be if no terms cancelled.
    features: Any = mdp.features
    size = float((abs(features) @ np.abs(weights)).max())
    doubt = 1e-10 * size / (1.0 - mdp.discount)
    for plan, which in ((best, "optimal"), (worst, "worst")):
        _promise(
            plan.lower <= plan.value <= plan.upper,
            f"the {which} policy's value {plan.value} is outside [{plan.lower}, {plan.upper}]",
        )
        value = float(weights @ feature_expectations(mdp, plan.policy))
        _promise(
            plan.lower - doubt <= value <= plan.upper + doubt,
            f"the {which} policy has value {value} by its feature expectations, "
            f"outside the bounds [{plan.lower}, {plan.upper}]",
        )
    _promise(
        worst.lower - doubt <= uniform <= best.upper + doubt,
        f"the uniform policy has value {uniform}, outside what the worst and the best "
        f"policy allow, [{worst.lower}, {best.upper}]",
    )


def _check_occupancy(mdp: MDP, policy: Policy) -> None:
    visits = occupancy(mdp, policy)
    total = 1.0 / (1.0 - mdp.discount)
    _promise(visits.shape == (mdp.n_pairs,), f"occupancy must be [P], got {visits.shape}")
    _promise(bool((visits >= 0.0).all()), "occupancy must not be negative")
    by_state = np.add.reduceat(visits, mdp.dynamics.offsets[:-1])
    inflow = mdp.start + mdp.discount * (mdp.dynamics.transitions.T @ visits)
    off = float(np.abs(by_state - inflow).sum())
    _promise(off <= 1e-10, f"occupancy must flow in as it flows out, but {off} is lost")
    error = abs(float(visits.sum()) - total)
    _promise(error <= 1e-10 * total, f"occupancy must sum to {total}, it misses that by {error}")
    rows = visits if mdp.features_per_pair else by_state
    features: Any = mdp.features
    expected, mu = features.T @ rows, feature_expectations(mdp, policy)
    size = abs(features).T @ rows
    _promise(
        bool((np.abs(mu - expected) <= 1e-10 * size).all()),
        f"feature_expectations are {mu}, those of the occupancy are {expected}",
    )
    again = occupancy(mdp, policy_from_occupancy(mdp, visits))
    _promise(
        bool(np.abs(again - visits).sum() <= 1e-9 * total),
        "policy_from_occupancy must give a policy with that occupancy",
    )


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
    """
    n_states = draw(st.integers(1, max_states), label="states")
    n_actions = draw(st.integers(1, max_actions), label="actions")
    all_actions = st.just(set(range(n_actions)))
    some_actions = st.sets(st.integers(0, n_actions - 1), min_size=1)
    states, actions, rows = [], [], []
    for state in range(n_states):
        for action in sorted(draw(all_actions | some_actions)):
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
        start=draw(st.none() | _rows(0, n_states), label="start"),
        state_names=[f"s{i}" for i in range(n_states)] if named else None,
        action_names=[f"a{i}" for i in range(n_actions)] if named else None,
        feature_names=[f"f{i}" for i in range(features.shape[1])] if named else None,
    )


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
        parts = st.lists(st.integers(0, 4), min_size=n_states, max_size=n_states).filter(any)
        row[:] = draw(parts)
        row /= row.sum()
    return row


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


def _vectors(size: int) -> st.SearchStrategy[Floats]:
    """array [size] of whole numbers or of quarters, between −5 and 5."""
    whole = st.lists(st.integers(-5, 5), min_size=size, max_size=size)
    quarters = st.lists(st.integers(-20, 20), min_size=size, max_size=size)
    return whole.map(lambda v: np.array(v, dtype=float)) | quarters.map(lambda v: np.array(v) / 4)


@st.composite
def weights(draw: st.DrawFn, n_features: int) -> Floats:
    """array [k]: zero, plus or minus one feature, small numbers, decimals, at any scale."""
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
    """array [ℓ, k] of what a learner sees, ℓ from 0 to `max_rows` (k + 2 by default).

    Rows are single features, small numbers, zero, multiples of an earlier row or sums of two, some
    of them scaled by 1e-12.
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
    """Policies of the MDP: one action a state, or a distribution over its actions."""
    dynamics = mdp.dynamics
    counts = np.diff(dynamics.offsets).tolist()
    if draw(st.booleans(), label="deterministic"):
        chosen = [draw(st.integers(0, count - 1)) for count in counts]
        return Policy.deterministic(mdp, dynamics.actions[dynamics.offsets[:-1] + chosen])
    matrix = np.zeros((mdp.n_states, mdp.n_actions))
    for state, count in enumerate(counts):
        first = dynamics.offsets[state]
        parts = st.lists(st.integers(0, 4), min_size=count, max_size=count).filter(any)
        matrix[state, dynamics.actions[first : first + count]] = draw(parts)
    return Policy.from_matrix(mdp, matrix / matrix.sum(axis=1, keepdims=True))


__all__ = ["check_mdp", "check_same", "mdps", "policies", "weights", "worldviews"]
