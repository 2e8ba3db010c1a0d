"""Slow twins of the worst case in exact rational arithmetic, for tiny MDPs.

Probabilities and the discount are taken as the fractions that their floats stand for: 1/3 thrice
is 1, so that what is constant for all policies is so exactly, and constrains nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from functools import cache, lru_cache

import numpy as np
from flint import fmpq, fmpq_mat

from exact import exact
from teachirl import MDP, Policy
from teachirl.views.linear_algebra import extended_basis
from teachirl.views.worldview import Worldview

Vector = list[fmpq]
# What is asked of one MDP again and again, all of its policies above all, is computed once.
once = lru_cache(maxsize=2)


def minimum(cost: Vector, matrix: list[Vector], right: Vector) -> fmpq | None:
    """min cost · x such that matrix · x = right, x ≥ 0, for a bounded feasible set; None if empty.

    Two phases of the tableau simplex method with Bland's rule, which cannot cycle.
    """
    n, m = len(cost), len(matrix)
    tableau = []
    for row, (entries, value) in enumerate(zip(matrix, right, strict=True)):
        sign = -1 if value < 0 else 1
        artificial = [fmpq(int(i == row)) for i in range(m)]
        tableau.append([sign * a for a in entries] + artificial + [sign * value])
    basis = list(range(n, n + m))
    left = _improve(tableau, basis, [fmpq(0)] * n + [fmpq(1)] * m, n + m)
    if left != 0:
        return None
    for row in range(m):
        if basis[row] >= n:
            # At 0: exchange it for any variable, or the row says nothing new and stays at 0.
            column = next((j for j in range(n) if tableau[row][j] != 0), None)
            if column is not None:
                _pivot(tableau, basis, row, column)
    return _improve(tableau, basis, list(cost) + [fmpq(0)] * m, n)


def _improve(tableau: list[Vector], basis: list[int], cost: Vector, n_columns: int) -> fmpq:
    """Pivots until none of the first columns improves; gives back the cost."""
    while True:
        active = [(row, cost[b]) for row, b in enumerate(basis) if cost[b] != 0]
        entering = None
        for j in range(n_columns):
            if cost[j] < sum((c * tableau[row][j] for row, c in active), fmpq(0)):
                entering = j
                break
        if entering is None:
            return sum((c * tableau[row][-1] for row, c in active), fmpq(0))
        ratios = [
            (line[-1] / line[entering], basis[row], row)
            for row, line in enumerate(tableau)
            if line[entering] > 0
        ]
        _pivot(tableau, basis, min(ratios)[2], entering)


def _pivot(tableau: list[Vector], basis: list[int], row: int, column: int) -> None:
    scale = tableau[row][column]
    tableau[row] = [a / scale for a in tableau[row]]
    for other, line in enumerate(tableau):
        factor = line[column]
        if other != row and factor != 0:
            tableau[other] = [a - factor * b for a, b in zip(line, tableau[row], strict=True)]
    basis[row] = column


def expectations(mdp: MDP, policy: Policy) -> Vector:
    """μ(π) [k], the probabilities of a state's pairs made to sum to 1 exactly."""
    n, states = mdp.n_states, mdp.dynamics.pair_states.tolist()
    shares = [exact(p) for p in policy.probabilities]
    totals = [fmpq(0)] * n
    for state, share in zip(states, shares, strict=True):
        totals[state] += share
    shares = [share / totals[state] for state, share in zip(states, shares, strict=True)]
    system = fmpq_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])
    for pair, row in enumerate(moves(mdp)):
        if shares[pair] != 0:
            share = fraction(mdp.discount) * shares[pair]
            for target, p in enumerate(row):
                system[target, states[pair]] -= share * p
    visits = system.solve(fmpq_mat(n, 1, start(mdp)))
    x = [visits[state, 0] * share for state, share in zip(states, shares, strict=True)]
    return [dot(x, column) for column in zip(*features(mdp), strict=True)]


@once
def features(mdp: MDP) -> list[Vector]:
    """Φ [P, k]."""
    table = mdp.features if isinstance(mdp.features, np.ndarray) else mdp.features.toarray()
    rows = table if mdp.features_per_pair else table[mdp.dynamics.pair_states]
    return [[exact(value) for value in row] for row in rows]


@once
def moves(mdp: MDP) -> list[Vector]:
    """T [P, S]."""
    return [[fraction(p) for p in row] for row in mdp.dynamics.transitions.toarray()]


def start(mdp: MDP) -> Vector:
    return [fraction(p) for p in mdp.start]


@cache
def fraction(number: float) -> fmpq:
    simple = Fraction(float(number)).limit_denominator(1000)
    assert abs(float(simple) - number) <= 1e-15
    return fmpq(simple.numerator, simple.denominator)


def dot(a: Sequence[fmpq], b: Sequence[fmpq]) -> fmpq:
    return sum((x * y for x, y in zip(a, b, strict=True)), fmpq(0))


def vector(values: Sequence[float]) -> Vector:
    return [exact(value) for value in values]


def independent_rows(view: Worldview) -> list[Vector]:
    """Those of A's rows that add to its rank, as the worldview decides it."""
    kept, basis = [], np.empty((0, view.n_features))
    for row in view.matrix:
        wider = extended_basis(basis, row[None, :])
        if len(wider) > len(basis):
            kept.append(vector(row))
        basis = wider
    return kept


def worst_case(mdp: MDP, view: Worldview, weights: Sequence[float], mu: Vector) -> fmpq | None:
    """min ⟨w, Φᵀx⟩ over occupancy measures x with AΦᵀx = Aμ; None if there is none."""
    phi, w, gamma = features(mdp), vector(weights), fraction(mdp.discount)
    rows, states = moves(mdp), mdp.dynamics.pair_states.tolist()
    matrix = [
        [int(own == state) - gamma * row[state] for own, row in zip(states, rows, strict=True)]
        for state in range(mdp.n_states)
    ]
    right = start(mdp)
    for row in independent_rows(view):
        matrix.append([dot(row, seen) for seen in phi])
        right.append(dot(row, mu))
    return minimum([dot(w, seen) for seen in phi], matrix, right)


@once
def vertices(mdp: MDP) -> list[Vector]:
    """μ of all deterministic policies: the vertices of M, and points between."""
    offsets, actions = mdp.dynamics.offsets, mdp.dynamics.actions
    choices = [actions[a:b] for a, b in itertools.pairwise(offsets)]
    return [
        expectations(mdp, Policy.deterministic(mdp, list(chosen)))
        for chosen in itertools.product(*choices)
    ]


def worst_mixture(mdp: MDP, view: Worldview, weights: Sequence[float], mu: Vector) -> fmpq | None:
    """The same by enumeration: the worst mixture of deterministic policies that matches μ."""
    w, corners = vector(weights), vertices(mdp)
    matrix, right = [[fmpq(1)] * len(corners)], [fmpq(1)]
    for row in independent_rows(view):
        matrix.append([dot(row, corner) for corner in corners])
        right.append(dot(row, mu))
    return minimum([dot(w, corner) for corner in corners], matrix, right)
