"""From a policy to its occupancy and its feature expectations, and back.

The occupancy of policy π is x(s, a) = E Σ γᵗ 1[s_t = s, a_t = a], the discounted number of visits.
With y(s) = Σ_a x(s, a), y solves (I − γ P_πᵀ) y = start and sums to 1/(1 − γ). Feature expectations
are μ(π) = Φᵀx, and π(a | s) = x(s, a)/y(s) recovers the policy wherever it goes.

What `evaluation` finds leaves a residual of at most its goal, relative to ‖y‖₁. A walk along the
one successor of each state rounds once a state and needs no such check.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ..arrays import ROW_SUM_TOLERANCE, Floats, as_floats, at, frozen
from ..errors import require
from ..precision import EPS, RESIDUAL, SOLVED
from . import kernels
from .estimated import AnyMDP
from .evaluation import Chain, Usual
from .kernels.chains import conditional, outflow, outflow_from
from .model import MDP
from .policy import Policy, check_policy
from .right_hand_sides import Solved

# Where it starts in at most one of so many states, a policy may miss most of the others.
FEW_STARTS = 4
# In fewer states than these it takes longer to leave the others out than to solve for them.
MANY_STATES = 1000


def occupancy(mdp: MDP, policy: Policy) -> Floats:
    """The occupancy measure of a policy: how often it is at each pair, discounted.

    Parameters
    ----------
    mdp : MDP
    policy : Policy

    Returns
    -------
    array [P] that sums to 1/(1 − γ)

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> x = ti.occupancy(mdp, ti.Policy.uniform(mdp))
    >>> x.shape, float(round(x.sum(), 9))
    ((8,), 10.0)
    """
    visits = state_occupancy(mdp, policy)
    if policy.pairs is not None:
        x = np.zeros(mdp.n_pairs)
        x[policy.pairs] = visits
        return x
    return visits[mdp.dynamics.pair_states] * policy.probabilities


def state_occupancy(mdp: MDP, policy: Policy, start: Floats | None = None) -> Floats:
    """How often the policy is in each state, discounted: array [S].

    `start` [S] replaces the MDP's distribution of the first state; it need not sum to 1.
    """
    check_policy(mdp, policy)
    return np.maximum(state_flow(mdp, policy, mdp.start if start is None else start), 0.0)


def state_flow(
    mdp: MDP, policy: Policy, source: Floats, share: float = 0.0, chain: AnyChain | None = None
) -> Floats:
    """(I − γPᵀ)⁻¹ of a source [S] of any signs, array [S]; of the source this share may be left
    over, if it is more than rounding. The chain is the policy's, if that is at hand, at least from
    where the source is."""
    if policy.pairs is not None and mdp.dynamics.deterministic:
        choice, first = policy.pairs - mdp.dynamics.offsets[:-1], frozen(source.view())
        return np.asarray(kernels.push(mdp.dynamics.layout, choice, first, mdp.discount))
    chain = chain_from(mdp, policy, np.flatnonzero(source)) if chain is None else chain
    return chain.visits(source[:, None], share).x[:, 0]


def chain_of(mdp: MDP, policy: Policy, sparse: bool = True) -> Chain:
    """The Markov chain of the policy, to be solved; `sparse` if elimination may suit it."""
    dynamics, rows = mdp.dynamics, mdp.dynamics.transitions
    chances = frozen(policy.probabilities.view())
    chain = outflow(dynamics.offsets, chances, rows.indptr, rows.indices, rows.data)
    return Chain(chain, mdp.discount, lambda: dynamics.usual, sparse)


class Reached:
    """The chain of a policy among the states that it reaches from some; no other is ever visited.

    Parameters
    ----------
    chain : Chain, of these states alone
    states : int array, which they are
    """

    def __init__(self, chain: Chain, states: NDArray[np.uint32]) -> None:
        self.chain, self.states, self.rows = chain, states, chain.rows

    def visits(self, sources: Floats, share: float = 0.0) -> Solved:
        """As those of `Chain`, for sources [S, m] that are 0 wherever it does not get to."""
        found = self.chain.visits(sources[self.states], share)
        x = np.zeros_like(sources)
        x[self.states] = found.x
        return found._replace(x=x)


AnyChain: TypeAlias = Chain | Reached


def within(chain: AnyChain) -> tuple[Any, Chain]:
    """Which states a chain is of, as an index, and the chain of these alone."""
    return (chain.states, chain.chain) if isinstance(chain, Reached) else (slice(None), chain)


def chain_from(mdp: MDP, policy: Policy, starts: NDArray[Any], sparse: bool = True) -> AnyChain:
    """The chain of a policy as far as it is of use for visits from these states."""
    if mdp.n_states < MANY_STATES or not 0 < FEW_STARTS * len(starts) <= mdp.n_states:
        return chain_of(mdp, policy, sparse)
    dynamics, rows = mdp.dynamics, mdp.dynamics.transitions
    chances, first = frozen(policy.probabilities.view()), starts.astype(np.uint32)
    *chain, states = outflow_from(
        dynamics.offsets, chances, rows.indptr, rows.indices, rows.data, first
    )

    def usual() -> Usual:
        whole = dynamics.usual
        if whole.order is None:
            return whole
        numbers = np.full(mdp.n_states, -1)
        numbers[states] = np.arange(len(states))
        order = numbers[whole.order]
        return whole._replace(order=order[order >= 0].astype(np.uint32))

    return Reached(Chain(tuple(chain), mdp.discount, usual, sparse), states)


def policy_transitions(mdp: MDP, policy: Policy) -> sp.csr_array:
    """P_π, the Markov chain of the policy: sparse array [S, S]."""
    rows = mdp.dynamics.transitions
    if policy.pairs is not None:
        return rows[policy.pairs]
    offsets, probabilities = mdp.dynamics.offsets, policy.probabilities
    choose = sp.csr_array(
        (probabilities, np.arange(mdp.n_pairs), offsets), shape=(mdp.n_states, mdp.n_pairs)
    )
    return sp.csr_array(choose @ rows)


def feature_expectations(mdp: MDP, policy: Policy) -> Floats:
    """μ(π) = E Σ γᵗ φ(s_t, a_t), the feature expectations of a policy.

    Parameters
    ----------
    mdp : MDP
    policy : Policy

    Returns
    -------
    array [k]

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> ti.feature_expectations(mdp, ti.Policy.uniform(mdp)).round(4)
    array([1.3132, 2.4737, 2.4263, 2.4737, 1.3132])
    """
    visits = occupancy(mdp, policy) if mdp.features_per_pair else state_occupancy(mdp, policy)
    return np.asarray(mdp.features_transposed @ visits)


def expectations_of(mdp: MDP, occupancy: Floats) -> Floats:
    """Φᵀx, [k], of an occupancy x [P]."""
    rows = occupancy
    if not mdp.features_per_pair:
        rows = np.add.reduceat(occupancy, mdp.dynamics.offsets[:-1])
    return np.asarray(mdp.features_transposed @ rows)


def expectation_errors(mdp: MDP) -> Floats:
    """How far the computed feature expectations of a policy may be from its own, array [k]."""
    visits, products = _relative_errors(mdp)
    return (visits + products) * mdp.largest_entries / (1.0 - mdp.discount)


def expectation_error(mdp: AnyMDP, direction: Floats) -> float:
    """How far ⟨direction, μ⟩, with the computed μ [k] of a policy, may be from the policy's own."""
    visits, products = _relative_errors(mdp)
    most = float(np.abs(mdp.rewards(direction)).max())
    sizes = float(np.abs(direction) @ mdp.largest_entries)
    return (visits * most + products * sizes) / (1.0 - mdp.discount)


def _relative_errors(mdp: AnyMDP) -> tuple[float, float]:
    """Of the visits, ‖x̂ − x‖₁ relative to ‖x‖₁ = 1/(1 − γ): the equations' residual, and sums of
    up to S terms; and of products with the features and a direction."""
    away, n = 1.0 - mdp.discount, mdp.n_states
    visits = max(SOLVED, RESIDUAL / away) + (4 * n + 8 / away) * EPS
    return visits, (n + mdp.n_features + 4) * EPS


def policy_from_occupancy(mdp: MDP, occupancy: ArrayLike) -> Policy:
    """The stationary policy that has this occupancy; uniform in states that are never visited.

    Parameters
    ----------
    mdp : MDP
    occupancy : array [P], non-negative, such as a weighted mean of occupancies

    Returns
    -------
    Policy

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(3)
    >>> ti.policy_from_occupancy(mdp, [1, 2, 6, 1]).matrix()[1]
    array([0.25, 0.75])
    """
    x = as_floats("occupancy", occupancy)
    require(x.shape == (mdp.n_pairs,), f"occupancy must have shape ({mdp.n_pairs},), got {x.shape}")
    chances = np.empty(mdp.n_pairs)
    bad = conditional(np.ascontiguousarray(x), mdp.dynamics.offsets, chances)
    if bad < len(x):
        require(False, f"occupancy must be non-negative and finite, got {x[bad]} at pair {bad}")
    return Policy.of_chances(mdp.dynamics, chances)


def mixture(mdp: MDP, policies: Sequence[Policy], shares: ArrayLike) -> Policy:
    """The one stationary policy with the occupancy of: draw a policy by `shares`, then follow it.

    So its feature expectations are the weighted mean of theirs.

    Parameters
    ----------
    mdp : MDP
    policies : sequence of n Policy
    shares : array [n], non-negative; only their ratios count

    Returns
    -------
    Policy

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp = ti.worlds.chain(3)
    >>> left, right = (ti.Policy.deterministic(mdp, [1, a, 0]) for a in (0, 1))
    >>> half = ti.mixture(mdp, [left, right], [0.5, 0.5])
    >>> mean = (ti.feature_expectations(mdp, left) + ti.feature_expectations(mdp, right)) / 2
    >>> bool(np.allclose(ti.feature_expectations(mdp, half), mean, rtol=1e-12))
    True
    """
    chances = as_floats("shares", shares)
    require(
        chances.shape == (len(policies),) and len(policies) > 0,
        f"shares must have one entry for each of {len(policies)} policies, got {chances.shape}",
    )
    bad = np.argwhere(~(chances >= 0.0))
    require(len(bad) == 0, f"shares must be non-negative, got {at(chances, bad)}")
    require(
        abs(chances.sum() - 1.0) <= ROW_SUM_TOLERANCE,
        f"shares must be a distribution, got a sum of {chances.sum():.12g}",
    )
    x = np.zeros(mdp.n_pairs)
    for share, policy in zip(chances, policies, strict=True):
        if share > 0.0:
            x += share * occupancy(mdp, policy)
    return policy_from_occupancy(mdp, x)
