"""From a log of transitions to a model that says what it does not know."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..arrays import Floats, Ints, as_floats
from ..errors import require
from ..mdp.estimated import EstimatedMDP
from ..mdp.model import MDP
from .confidence_sets import row_sets
from .transition_log import TransitionLog

# With more entries than this, "any state can follow" is not spelled out.
MOST_ENTRIES = 10_000_000


def estimate_mdp(
    log: TransitionLog | ArrayLike,
    features: ArrayLike,
    *,
    discount: float,
    successors: MDP | ArrayLike | None = None,
    confidence: float = 0.95,
    start: ArrayLike | None = None,
    feature_names: Iterable[str] | None = None,
    fixed_tries: bool = False,
) -> EstimatedMDP:
    """The model of a world that is known from a log, with sets that hold the true transitions.

    The sets of all pairs hold at once with the stated confidence (`confidence_sets`). A pair that
    was never tried may lead to its allowed successors in any way. The start is taken as known.

    Parameters
    ----------
    log : TransitionLog, or int array [S, A, S] of how often each state followed
    features : array [S, k] per state, [S, A, k] or [P, k] per pair, or [S, A, S, k] or [n, k] of a
        pair and what follows it, as what is an expectation over next states must be given
    discount : float, γ in (0, 1)
    successors : MDP whose transitions, or bool array [S, A, S] or int array [n, 3] of states,
        actions and next states which, say what may follow, and so which pairs there are. By default
        there are those of the log, and any state may follow: nearly nothing is guaranteed then
    confidence : float in (0, 1)
    start : array [S]; uniform by default
    feature_names : sequence of str, distinct; numbers by default
    fixed_tries : bool, whether it was decided beforehand how often each pair is tried, as in a
        simulator. In other logs that is random, and costs some of the confidence

    Returns
    -------
    EstimatedMDP

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp, rng = ti.worlds.gridworld(3, slip=0.2), np.random.default_rng(0)
    >>> seen = ti.sample_trajectories(
    ...     mdp, ti.Policy.uniform(mdp), episodes=50, horizon=100, rng=rng)
    >>> log = ti.TransitionLog.from_trajectories(mdp, seen)
    >>> ti.estimate_mdp(log, np.eye(9), discount=0.9, successors=mdp)
    EstimatedMDP(9 states, 36 state-action pairs, from 4950 steps, confidence 0.95)
    """
    if not isinstance(log, TransitionLog):
        log = TransitionLog.from_counts(log)
    sure = isinstance(confidence, (int, float, np.floating)) and 0.0 < confidence < 1.0
    require(sure, f"confidence must lie strictly between 0 and 1, got {confidence!r}")
    triples = _allowed(log, successors)
    keys, indptr = _pairs(log, triples)
    counts = _counts(log, triples)
    sets = row_sets(counts, indptr, 1.0 - float(confidence), fixed_tries=fixed_tries)
    rows = sp.csr_array(
        (sets.estimate, triples[:, 2].astype(np.int32), indptr.astype(np.int32)),
        shape=(len(keys), log.n_states),
    )
    states, actions = np.divmod(keys, log.n_actions)
    phi, outcomes = _features(features, log, keys, triples, rows)
    nominal = MDP.from_pairs(
        states,
        actions,
        rows,
        phi,
        discount=discount,
        start=start,
        n_states=log.n_states,
        n_actions=log.n_actions,
        state_names=log.state_names,
        action_names=log.action_names,
        feature_names=feature_names,
    )
    tries, bounds = np.add.reduceat(counts, indptr[:-1]), (sets.lower, sets.upper, sets.radius)
    return EstimatedMDP(nominal, rows, *bounds, tries, float(confidence), outcomes)


def _allowed(log: TransitionLog, successors: MDP | ArrayLike | None) -> Ints:
    """int array [n, 3], sorted, the states, actions and next states that there may be."""
    s, a = log.n_states, log.n_actions
    found: Any
    if successors is None:
        tried = np.unique(log.steps[:, 0] * a + log.steps[:, 1])
        require(
            len(tried) * s <= MOST_ENTRIES,
            f"successors must say what may follow each of {len(tried)} pairs: with {s} states, any "
            "that may follow are too many",
        )
        pairs = np.repeat(tried, s)
        found = np.column_stack([pairs // a, pairs % a, np.tile(np.arange(s), len(tried))])
    elif isinstance(successors, MDP):
        dynamics = successors.dynamics
        require(
            (successors.n_states, successors.n_actions) == (s, a),
            f"successors must be an MDP of {s} states and {a} actions, as the log has, got "
            f"{successors.n_states} and {successors.n_actions}",
        )
        rows = dynamics.transitions
        owners = np.repeat(np.arange(dynamics.n_pairs), np.diff(rows.indptr))
        found = np.column_stack(
            [dynamics.pair_states[owners], dynamics.actions[owners], rows.indices]
        )
    else:
        given = np.asarray(successors)
        if given.shape == (s, a, s) and given.dtype == bool:
            found = np.argwhere(given)
        else:
            require(
                given.ndim == 2 and given.shape[1] == 3 and given.dtype.kind in "iu",
                f"successors must be an MDP, a bool array {(s, a, s)} or an int array (n, 3), got "
                f"{given.dtype} {given.shape}",
            )
            found = given
            inside = (found >= 0).all() and (found < np.array([s, a, s])).all()
            require(bool(inside), f"successors must lie below {s}, {a} and {s}")
    keys = np.unique(np.ravel_multi_index(tuple(found.T.astype(np.int64)), (s, a, s)))
    return np.column_stack(np.unravel_index(keys, (s, a, s))).astype(np.int64)


def _pairs(log: TransitionLog, triples: Ints) -> tuple[Ints, Ints]:
    """The pairs as state · A + action, sorted, and where the triples of each begin."""
    keys, first = np.unique(triples[:, 0] * log.n_actions + triples[:, 1], return_index=True)
    without = np.setdiff1d(np.arange(log.n_states), keys // log.n_actions)
    if len(without):
        name = log.state_names[without[0]] if log.state_names else without[0]
        require(
            False,
            f"every state needs an action: state {name} is never left in the log; say in "
            "successors what may follow it",
        )
    return keys, np.append(first, len(triples)).astype(np.int64)


def _counts(log: TransitionLog, triples: Ints) -> Ints:
    """int array [n], how often each of the allowed triples was seen."""
    shape = (log.n_states, log.n_actions, log.n_states)
    known = np.ravel_multi_index(tuple(triples.T), shape)
    seen = np.ravel_multi_index(tuple(log.steps.T), shape)
    place = np.minimum(np.searchsorted(known, seen), len(known) - 1)
    bad = np.flatnonzero(known[place] != seen)
    if len(bad):
        state, action, follows = log.steps[bad[0]].tolist()
        name = log.state_names[follows] if log.state_names else follows
        require(
            False,
            f"successors must hold every step of the log: {log.name_of(state, action)} led to "
            f"state {name}, {log.counts[bad[0]]} times",
        )
    counts = np.zeros(len(known), dtype=np.int64)
    counts[place] = log.counts
    return counts


def _features(
    features: ArrayLike, log: TransitionLog, keys: Ints, triples: Ints, rows: sp.csr_array
) -> tuple[Floats, Floats | None]:
    """Those of states [S, k] or pairs [P, k]; and of what follows, [n, k], if that is given."""
    phi = as_floats("features", features)
    s, a, p, n = log.n_states, log.n_actions, len(keys), len(triples)
    outcomes = None
    if phi.ndim == 4 and phi.shape[:3] == (s, a, s):
        outcomes = phi[tuple(triples.T)]
    elif phi.ndim == 3 and phi.shape[:2] == (s, a):
        return phi.reshape(s * a, -1)[keys], None
    elif phi.ndim == 2 and len(phi) in (s, p):
        return phi, None
    elif phi.ndim == 2 and len(phi) == n:
        outcomes = phi
    require(
        outcomes is not None,
        f"features must have a row for each of {s} states, {p} pairs or {n} successors, or shape "
        f"{(s, a)} or {(s, a, s)} and one more for the features, got {phi.shape}",
    )
    assert outcomes is not None
    mean = np.add.reduceat(rows.data[:, None] * outcomes, rows.indptr[:-1], axis=0)
    return np.asarray(mean), outcomes


__all__ = ["estimate_mdp"]
