"""All that an MDP promises, as a check that anyone can run on theirs."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import Floats, Names
from ..mdp.model import MDP
from ..mdp.occupancy import feature_expectations, occupancy, policy_from_occupancy
from ..mdp.planning import optimal_policy, worst_policy
from ..mdp.policy import Policy
from ..precision import EPS


def check_mdp(mdp: MDP) -> None:
    """Raise an `AssertionError` that says which promise of an MDP is broken, if one is.

    Arrays are read-only and fit together, rows are distributions, names are distinct; planning
    brackets the optimum, occupancies flow as they should, and saving and loading keeps every bit.

    Parameters
    ----------
    mdp : MDP

    Examples
    --------
    >>> import teachirl as ti
    >>> from teachirl.testing import check_mdp
    >>> check_mdp(ti.worlds.chain(5))
    """
    promise(isinstance(mdp, MDP), f"an MDP is an instance of teachirl.MDP, not {type(mdp)}")
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
    """Raise an `AssertionError` unless both MDPs have the same arrays, bit by bit, and names.

    Parameters
    ----------
    one, other : MDP

    Examples
    --------
    >>> import teachirl as ti
    >>> from teachirl.testing import check_same
    >>> check_same(ti.worlds.chain(3), ti.worlds.chain(3))
    """
    mine, theirs = parts_of(one), parts_of(other)
    promise(mine.keys() == theirs.keys(), f"{sorted(mine)} are not {sorted(theirs)}")
    for name, part in mine.items():
        if isinstance(part, np.ndarray):
            same = part.shape == theirs[name].shape and part.dtype == theirs[name].dtype
            same = same and part.tobytes() == theirs[name].tobytes()
        else:
            same = part == theirs[name]
        promise(same, f"{name} differ: {part!r} and {theirs[name]!r}")


def promise(condition: bool, message: str) -> None:
    """Raise an `AssertionError` with `message` unless `condition` holds."""
    # Not an assert statement: those vanish under python -O.
    if not condition:
        raise AssertionError(message)


def parts_of(mdp: MDP) -> dict[str, Any]:
    """Everything that an MDP holds, by name: arrays, numbers and names."""
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
    for name, part in parts_of(mdp).items():
        if isinstance(part, np.ndarray):
            promise(not part.flags.writeable, f"{name} must be read-only")
    dynamics, n_states, n_pairs = mdp.dynamics, mdp.n_states, mdp.n_pairs
    offsets, actions, rows = dynamics.offsets, dynamics.actions, dynamics.transitions
    promise(n_states >= 1, "there must be at least one state")
    promise(0.0 < mdp.discount < 1.0, f"discount must lie in (0, 1), got {mdp.discount}")
    promise(
        offsets[0] == 0 and offsets[-1] == n_pairs and bool((np.diff(offsets) >= 1).all()),
        f"offsets must rise from 0 to {n_pairs}, got {offsets}",
    )
    states = dynamics.pair_states
    promise(
        np.array_equal(states, np.repeat(np.arange(n_states), np.diff(offsets))),
        "pair_states must say which state each pair belongs to",
    )
    promise(
        bool(((actions >= 0) & (actions < mdp.n_actions)).all()),
        f"actions must lie in 0 … {mdp.n_actions - 1}, got {actions}",
    )
    promise(
        bool(((np.diff(states) > 0) | (np.diff(actions) > 0)).all()),
        "the pairs must be sorted by state and action, without duplicates",
    )
    promise(rows.shape == (n_pairs, n_states), f"transitions must be [P, S], got {rows.shape}")
    _check_sparse("transitions", rows)
    promise(bool((rows.data > 0.0).all()), "transitions must hold positive entries only")
    lengths = np.diff(rows.indptr)
    error = np.abs(rows.sum(axis=1) - 1.0) / np.maximum(8, lengths)
    promise(
        bool(error.max() <= EPS),
        f"transitions of pair {error.argmax()} sum to {rows.sum(axis=1)[error.argmax()]}, not 1",
    )
    start = dynamics.start
    promise(start.shape == (n_states,), f"start must have shape ({n_states},), got {start.shape}")
    promise(
        bool((start >= 0.0).all()) and abs(start.sum() - 1.0) <= 64 * EPS,
        f"start must be a distribution, got {start}",
    )
    _check_names("state_names", dynamics.state_names, n_states)
    _check_names("action_names", dynamics.action_names, mdp.n_actions)


def _check_features(mdp: MDP) -> None:
    features = mdp.features
    rows = mdp.n_pairs if mdp.features_per_pair else mdp.n_states
    promise(
        features.shape == (rows, mdp.n_features),
        f"features must be [S, k] or [P, k], got {features.shape}",
    )
    values: Any = features
    if not isinstance(features, np.ndarray):
        _check_sparse("features", features)
        values = features.data
    promise(bool(np.isfinite(values).all()), "features must be finite")
    _check_names("feature_names", mdp.feature_names, mdp.n_features)
    for feature in range(min(mdp.n_features, 100)):
        name = mdp.feature_name(feature)
        found = mdp.feature_index(name)
        promise(found == feature, f"feature {feature} is called {name!r}, as {found} is")


def _check_sparse(name: str, matrix: sp.csr_array) -> None:
    try:
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise AssertionError(f"{name} is a broken sparse array: {error}") from error
    promise(matrix.has_canonical_format, f"{name} must be sorted and without duplicates")


def _check_names(name: str, names: Names | None, count: int) -> None:
    if names is not None and not (names == () and count > 0):
        promise(len(names) == count, f"{name} must have {count} entries, got {len(names)}")
        promise(len(set(names)) == count, f"{name} must be distinct, got {names}")
        promise(all(isinstance(name, str) for name in names), f"{name} must be strings")


def _check_planning(mdp: MDP, weights: Floats) -> None:
    best, worst = optimal_policy(mdp, weights), worst_policy(mdp, weights)
    uniform = float(weights @ feature_expectations(mdp, Policy.uniform(mdp)))
    # Feature expectations are exact to 1e-10 of what returns could be if no terms cancelled.
    features: Any = mdp.features
    size = float((abs(features) @ np.abs(weights)).max())
    doubt = 1e-10 * size / (1.0 - mdp.discount)
    for plan, which in ((best, "optimal"), (worst, "worst")):
        promise(
            plan.lower <= plan.value <= plan.upper,
            f"the {which} policy's value {plan.value} is outside [{plan.lower}, {plan.upper}]",
        )
        value = float(weights @ feature_expectations(mdp, plan.policy))
        promise(
            plan.lower - doubt <= value <= plan.upper + doubt,
            f"the {which} policy has value {value} by its feature expectations, "
            f"outside the bounds [{plan.lower}, {plan.upper}]",
        )
    promise(
        worst.lower - doubt <= uniform <= best.upper + doubt,
        f"the uniform policy has value {uniform}, outside what the worst and the best "
        f"policy allow, [{worst.lower}, {best.upper}]",
    )


def _check_occupancy(mdp: MDP, policy: Policy) -> None:
    visits = occupancy(mdp, policy)
    total = 1.0 / (1.0 - mdp.discount)
    promise(visits.shape == (mdp.n_pairs,), f"occupancy must be [P], got {visits.shape}")
    promise(bool((visits >= 0.0).all()), "occupancy must not be negative")
    by_state = np.add.reduceat(visits, mdp.dynamics.offsets[:-1])
    inflow = mdp.start + mdp.discount * (mdp.dynamics.transitions.T @ visits)
    off = float(np.abs(by_state - inflow).sum())
    promise(off <= 1e-10, f"occupancy must flow in as it flows out, but {off} is lost")
    error = abs(float(visits.sum()) - total)
    promise(error <= 1e-10 * total, f"occupancy must sum to {total}, it misses that by {error}")
    rows = visits if mdp.features_per_pair else by_state
    features: Any = mdp.features
    expected, mu = features.T @ rows, feature_expectations(mdp, policy)
    size = abs(features).T @ rows
    promise(
        bool((np.abs(mu - expected) <= 1e-10 * size).all()),
        f"feature_expectations are {mu}, those of the occupancy are {expected}",
    )
    again = occupancy(mdp, policy_from_occupancy(mdp, visits))
    promise(
        bool(np.abs(again - visits).sum() <= 1e-9 * total),
        "policy_from_occupancy must give a policy with that occupancy",
    )
