"""Other people's planners behind one interface.

Each `prepare(mdp, rewards)` builds the peer's own model, which is not timed, and returns a function
that solves it from scratch, stopping at a given epsilon (absolute, on the values), and returns the
optimal values [S]. `rewards` are per state, [S], or per pair, [P]. Peers are
imported where they are used: who lacks one can still run the others.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from teachirl import MDP

Floats = NDArray[np.float64]
Solve = Callable[[float], Any]
Prepare = Callable[[MDP, Floats], Solve]

MAX_ITERATIONS = 100_000  # more than any case needs; a peer that cycles ends here


class Answer:
    """Values that are copied out of a peer's own memory on request, which is not timed either."""

    def __init__(self, fetch: Callable[[], list[float]]) -> None:
        self._fetch = fetch

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self._fetch(), dtype=dtype)


def _per_pair(mdp: MDP, rewards: Floats) -> Floats:
    if len(rewards) == mdp.n_states:
        return rewards[mdp.dynamics.pair_states]
    return rewards


def _refuse_lists(mdp: MDP) -> None:
    """Who wants a model as Python lists waits for minutes at a million states."""
    if mdp.n_states > 300_000:
        raise MemoryError("lists of its entries would take gigabytes")


def plain_numpy(mdp: MDP, rewards: Floats) -> Solve:
    """Value iteration, a sparse product a sweep, with MacQueen's bounds to stop and to correct."""
    dynamics, gamma, n_states = mdp.dynamics, mdp.discount, mdp.n_states
    r, transitions = _per_pair(mdp, rewards), dynamics.transitions
    n_actions, rest = divmod(mdp.n_pairs, n_states)
    if rest == 0 and (np.diff(dynamics.offsets) == n_actions).all():
        # One block of rows an action, so that the maximum runs along memory.
        order = np.arange(mdp.n_pairs).reshape(n_states, n_actions).T.ravel()
        r, transitions = r[order], transitions[order]

        def best(q: Floats) -> Floats:
            return np.asarray(q.reshape(n_actions, n_states).max(axis=0))
    else:

        def best(q: Floats) -> Floats:
            return np.asarray(np.maximum.reduceat(q, dynamics.offsets[:-1]))

    def solve(epsilon: float) -> Floats:
        v = np.zeros(n_states)
        for _ in range(MAX_ITERATIONS):
            q = transitions @ v
            q *= gamma
            q += r
            backed_up = best(q)
            change = backed_up - v
            low, high = change.min(), change.max()
            if gamma * (high - low) / (1.0 - gamma) < epsilon:
                break
            v = backed_up
        return np.asarray(backed_up + 0.5 * gamma * (low + high) / (1.0 - gamma))

    return solve


def quantecon(mdp: MDP, rewards: Floats) -> Solve:
    """QuantEcon's DiscreteDP on sparse state-action pairs, modified policy iteration."""
    import scipy.sparse as sp
    from quantecon.markov import DiscreteDP

    dynamics = mdp.dynamics
    ddp = DiscreteDP(
        _per_pair(mdp, rewards),
        sp.csr_matrix(dynamics.transitions),
        mdp.discount,
        s_indices=dynamics.pair_states,
        a_indices=dynamics.actions,
    )

    def solve(epsilon: float) -> Floats:
        result = ddp.solve(
            method="modified_policy_iteration", epsilon=epsilon, max_iter=MAX_ITERATIONS
        )
        return np.asarray(result.v)

    return solve


def mdpsolver(mdp: MDP, rewards: Floats) -> Solve:
    """mdpsolver's modified policy iteration, Gauss–Seidel, twenty sweeps an evaluation.

    Of the settings tried this was the fastest on average over grids of 20 and 128 cells a side; on
    half of them another one is faster, by up to 1.8 times. Its threads are off: two of them gained
    about a tenth at best, and lost up to tenfold when something else was running.
    """
    from mdpsolver import model

    _refuse_lists(mdp)
    dynamics = mdp.dynamics
    transitions, offsets = dynamics.transitions, dynamics.offsets.tolist()
    pointers = transitions.indptr.tolist()
    pairs = [range(first, last) for first, last in itertools.pairwise(offsets)]

    def nested(array: NDArray[Any]) -> list[list[list[Any]]]:
        flat = array.tolist()
        return [[flat[pointers[p] : pointers[p + 1]] for p in of_state] for of_state in pairs]

    r = _per_pair(mdp, rewards).tolist()
    peer = model()
    peer.mdp(
        discount=mdp.discount,
        rewards=[[r[p] for p in of_state] for of_state in pairs],
        tranMatProbs=nested(transitions.data),
        tranMatColumns=nested(transitions.indices),
    )
    # Without these it starts from where its last run ended.
    values, policy = [0.0] * mdp.n_states, [0] * mdp.n_states

    def solve(epsilon: float) -> Answer:
        peer.solve(
            algorithm="mpi",
            update="gs",
            parIterLim=20,
            parallel=False,
            tolerance=epsilon,
            initValueVector=values,
            initPolicy=policy,
        )
        return Answer(peer.getValueVector)

    return solve


def storm(mdp: MDP, rewards: Floats) -> Solve:
    """Storm's discounted total reward, for which it has one method; sound, absolute precision."""
    import stormpy

    model = _storm_model(mdp.dynamics.transitions, mdp.dynamics.offsets, _per_pair(mdp, rewards))
    goal = stormpy.parse_property(f'R{{"r"}}max=? [Cdiscount={Fraction(str(mdp.discount))}]')
    return _asked_of_storm(model, goal, None)


def _storm_until_the_end(method: str, mdp: MDP, rewards: Floats) -> Solve:
    """Storm's total reward until an end that is reached with probability 1 − γ from everywhere.

    That is the same number, and Storm has many methods for it. They want rewards that are not
    negative: all are raised by as much, which adds the same to all values.
    """
    import scipy.sparse as sp
    import stormpy

    n, n_pairs, gamma = mdp.n_states, mdp.n_pairs, mdp.discount
    _refuse_lists(mdp)
    r = _per_pair(mdp, rewards)
    least = float(r.min())
    ends = sp.csr_array(np.full((n_pairs, 1), 1.0 - gamma))
    last = sp.csr_array(([1.0], ([0], [n])), shape=(1, n + 1))
    rows = sp.csr_array(sp.vstack([sp.hstack([gamma * mdp.dynamics.transitions, ends]), last]))
    offsets = np.append(mdp.dynamics.offsets, n_pairs + 1)
    model = _storm_model(rows, offsets, np.append(r - least, 0.0))
    goal = stormpy.parse_property('R{"r"}max=? [F "end"]')
    solve = _asked_of_storm(model, goal, method)

    def shifted(epsilon: float) -> Answer:
        answer = solve(epsilon)
        return Answer(lambda: (np.asarray(answer)[:n] + least / (1.0 - gamma)).tolist())

    return shifted


storm_topological = functools.partial(_storm_until_the_end, "TOPOLOGICAL")
storm_policy_iteration = functools.partial(_storm_until_the_end, "POLICY_ITERATION")
storm_optimistic = functools.partial(_storm_until_the_end, "OPTIMISTIC_VALUE_ITERATION")


def _storm_model(transitions: Any, offsets: NDArray[Any], rewards: Floats) -> Any:
    """A sparse MDP with reward "r" a choice; its last state is labelled "end"."""
    from stormpy import datastructures, models

    transitions = transitions.copy()
    transitions.sort_indices()
    n_pairs, n_states = transitions.shape
    builder = datastructures.SparseMatrixBuilder[float](
        rows=n_pairs,
        columns=n_states,
        entries=transitions.nnz,
        has_custom_row_grouping=True,
        row_groups=n_states,
    )
    builder.add_next_values(
        np.repeat(np.arange(n_pairs), np.diff(transitions.indptr)).tolist(),
        transitions.indices.tolist(),
        transitions.data.tolist(),
        offsets[:-1].tolist(),
    )
    labels = models.StateLabeling(n_states)
    for label, state in (("init", 0), ("end", n_states - 1)):
        labels.add_label(label)
        labels.add_label_to_state(label, state)
    reward = models.SparseRewardModel[float](optional_state_action_reward_vector=rewards.tolist())
    return models.SparseMdp[float](
        models.SparseModelComponents[float](
            transition_matrix=builder.build(), state_labeling=labels, reward_models={"r": reward}
        )
    )


def _asked_of_storm(model: Any, goal: Any, method: str | None) -> Solve:
    import stormpy
    from stormpy import environments

    @functools.cache
    def environment(epsilon: float) -> Any:
        result = environments.sound()
        settings = result.solver().min_max()
        if method is not None:
            settings.method = getattr(environments.MinMaxMethod, method)
        settings.precision = stormpy.Rational(str(Fraction(epsilon).limit_denominator(10**18)))
        settings.relative_termination_criterion = False
        return result

    def solve(epsilon: float) -> Answer:
        result = stormpy.model_checking(model, goal, environment=environment(epsilon))
        return Answer(result.get_value_vector)

    return solve
