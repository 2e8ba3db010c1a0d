"""The mixture of policies that is best if the worst of several linear rewards counts.

    max over μ ∈ M of  min over λ ∈ Λ of  Σ λ_i (k_i + ⟨q_i, μ⟩)

with Λ the λ ≥ 0 with Σ λ_i = 1 and λ_i ≤ cap_i. With caps of 1 that is the least of them, with
caps p_i/α the mean of the worst share α by chances p. For λ the maximum over μ is one plan; the
best mixture of the plans so far is a small linear program, whose multipliers are the next λ. Each
plan proves an upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy  # its parts are loaded when they are used

from ..arrays import Floats
from ..mdp.model import MDP
from ..mdp.occupancy import feature_expectations
from ..mdp.planning import optimal_policy
from ..mdp.policy import Policy

# Plans that are made, at most.
PLANS = 400


@dataclass(frozen=True, eq=False)
class Mixture:
    """Policies with their shares, what they earn, and what nobody earns more than."""

    policies: tuple[Policy, ...]
    shares: Floats
    expectations: Floats
    value: float
    upper: float
    solves: int


def best_mixture(
    mdp: MDP, rewards: Floats, constants: Floats, caps: Floats, tolerance: float
) -> Mixture:
    """The best mixture for rewards q [n, k] and constants [n], to a tolerance."""
    policies, columns, solves, upper = list[Policy](), list[Floats](), 0, np.inf
    weights = caps / caps.sum()  # in Λ, as the caps sum to 1 or more
    shares, value = np.empty(0), -np.inf
    while solves < PLANS:
        plan = optimal_policy(mdp, weights @ rewards)
        solves += 1
        upper = min(upper, float(weights @ constants) + plan.upper)
        if upper - value <= tolerance:
            break
        policies.append(plan.policy)
        columns.append(feature_expectations(mdp, plan.policy))
        shares, value, weights = _master(np.array(columns) @ rewards.T + constants, caps)
    kept = shares > 1e-9
    shares = shares[kept] / shares[kept].sum()
    chosen = tuple(policy for policy, keep in zip(policies, kept, strict=True) if keep)
    mu = shares @ np.array(columns)[kept]
    return Mixture(chosen, shares, mu, value, upper, solves)


def _master(values: Floats, caps: Floats) -> tuple[Floats, float, Floats]:
    """Shares of the columns [m], what they earn, and λ [n], for values [m, n]."""
    m, n = values.shape
    # Variables: shares, t, y: most of t − cap · y with t − y_i ≤ Σ shares · values_i.
    cost = np.concatenate([np.zeros(m), [-1.0], caps])
    table = np.hstack([-values.T, np.ones((n, 1)), -np.eye(n)])
    ones = np.concatenate([np.ones(m), np.zeros(n + 1)])[None]
    bounds = [(0, None)] * m + [(None, None)] + [(0, None)] * n
    found = scipy.optimize.linprog(cost, table, np.zeros(n), ones, [1.0], bounds=bounds)
    assert found.fun is not None  # a distribution over columns always fits
    shares = np.maximum(np.asarray(found.x)[:m], 0.0)
    duals = np.maximum(-np.asarray(found.ineqlin.marginals), 0.0)
    return shares / shares.sum(), -float(found.fun), duals / duals.sum()


__all__ = ["Mixture", "best_mixture"]
