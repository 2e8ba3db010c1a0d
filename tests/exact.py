"""Slow twins in exact rational arithmetic, from the very floats that an MDP stores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from flint import fmpq, fmpq_mat

from teachirl import MDP, Policy


def exact(number: float) -> fmpq:
    return fmpq(*float(number).as_integer_ratio())


def exact_value(mdp: MDP, policy: Policy, weights: Sequence[float]) -> fmpq:
    """R(π) from the start distribution, by solving (I − γ P_π) V = r_π."""
    values = _values(mdp, policy.probabilities, _rewards(mdp, weights))
    return sum((exact(p) * v for p, v in zip(mdp.start, values, strict=True)), fmpq(0))


def exact_expectations(mdp: MDP, policy: Policy) -> list[fmpq]:
    """μ(π), by solving (I − γ P_πᵀ) y = start for the occupancy."""
    n, probabilities = mdp.n_states, [exact(p) for p in policy.probabilities]
    system = _system(mdp, probabilities)
    flipped = fmpq_mat(n, n, [system[j, i] for i in range(n) for j in range(n)])
    visits = flipped.solve(fmpq_mat(n, 1, [exact(p) for p in mdp.start]))
    features = _dense(mdp.features)
    mu = [fmpq(0)] * mdp.n_features
    for pair, state in enumerate(mdp.dynamics.pair_states):
        row = features[pair if mdp.features_per_pair else state]
        for k, value in enumerate(row):
            mu[k] += visits[int(state), 0] * probabilities[pair] * exact(value)
    return mu


def exact_optimum(mdp: MDP, weights: Sequence[float]) -> fmpq:
    """max R from the start distribution, by policy iteration, which ends as nothing is rounded."""
    dynamics, rewards = mdp.dynamics, _rewards(mdp, weights)
    rows, gamma = _dense(dynamics.transitions), exact(mdp.discount)
    chosen = [int(first) for first in dynamics.offsets[:-1]]
    while True:
        probabilities = np.zeros(mdp.n_pairs)
        probabilities[chosen] = 1.0
        values = _values(mdp, probabilities, rewards)

        def worth(pair: int, values: list[fmpq] = values) -> fmpq:
            hopes = (exact(p) * v for p, v in zip(rows[pair], values, strict=True) if p)
            return rewards[pair] + gamma * sum(hopes, fmpq(0))

        improved = False
        for state in range(mdp.n_states):
            for pair in range(dynamics.offsets[state], dynamics.offsets[state + 1]):
                if worth(pair) > worth(chosen[state]):
                    chosen[state], improved = pair, True
        if not improved:
            return sum((exact(p) * v for p, v in zip(mdp.start, values, strict=True)), fmpq(0))


def _dense(matrix: np.ndarray | sp.csr_array) -> list[list[float]]:
    return (matrix if isinstance(matrix, np.ndarray) else matrix.toarray()).tolist()


def _rewards(mdp: MDP, weights: Sequence[float]) -> list[fmpq]:
    """⟨w, φ⟩ of each pair, as the exact sum of exact products."""
    w = [exact(weight) for weight in weights]
    by_row = [
        sum((a * exact(b) for a, b in zip(w, row, strict=True)), fmpq(0))
        for row in _dense(mdp.features)
    ]
    if mdp.features_per_pair:
        return by_row
    return [by_row[state] for state in mdp.dynamics.pair_states]


def _system(mdp: MDP, probabilities: Sequence[fmpq]) -> fmpq_mat:
    """I − γ P_π, [S, S]."""
    n, gamma = mdp.n_states, exact(mdp.discount)
    system = fmpq_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])
    for pair, row in enumerate(_dense(mdp.dynamics.transitions)):
        state = int(mdp.dynamics.pair_states[pair])
        for target, p in enumerate(row):
            if p and probabilities[pair]:
                system[state, target] -= gamma * probabilities[pair] * exact(p)
    return system


def _values(mdp: MDP, probabilities: Sequence[float], rewards: Sequence[fmpq]) -> list[fmpq]:
    shares = [exact(p) for p in probabilities]
    expected = [fmpq(0)] * mdp.n_states
    for pair, state in enumerate(mdp.dynamics.pair_states):
        expected[state] += shares[pair] * rewards[pair]
    solved = _system(mdp, shares).solve(fmpq_mat(mdp.n_states, 1, expected))
    return [solved[state, 0] for state in range(mdp.n_states)]
