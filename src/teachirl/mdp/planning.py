"""Optimal policies, with bounds that bracket the optimum.

T is the Bellman operator of reward ⟨w, φ⟩. For any v, with l ≤ Tv − v ≤ h (MacQueen 1966),

    Tv + γ l/(1 − γ) ≤ V* ≤ Tv + γ h/(1 − γ),

and the lower bound holds for the policy that attains Tv as well. A policy π that is greedy up to
ties gets the same bound with T_π in the place of T. To both bounds comes what rounding may have
done to one reward and one backup, times 1/(1 − γ). So lower ≤ R(policy) ≤ max R ≤ upper.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Floats, as_floats, check_finite, frozen
from ..errors import require
from . import clock, kernels
from .estimated import EstimatedMDP
from .kernels import LANES, Components, PairReward, Reward, StateReward, Table
from .model import MDP, check_is_mdp
from .plan import Plan, Plans, PlanStatus
from .policy import Policy
from .robust_planning import OUTLOOKS, Outlook, plan_in_doubt

# What `kernels.aims` numbers.
STATUSES = (PlanStatus.OPTIMAL, PlanStatus.ROUNDING, PlanStatus.OUT_OF_ROUNDS)
NO_GUESS = np.empty(0)
CHOICE = np.dtype(np.uint32)  # which a type would first be turned into


def optimal_policy(
    mdp: MDP | EstimatedMDP,
    weights: ArrayLike,
    *,
    tolerance: float = 1e-10,
    guess: ArrayLike | None = None,
    max_rounds: int | None = None,
    outlook: Outlook = "pessimistic",
) -> Plan:
    """A best policy for the reward ⟨weights, φ⟩, with bounds on the optimum.

    Parameters
    ----------
    mdp : MDP; or EstimatedMDP, and then the bounds hold in every world that its log allows
    weights : array [k]
    tolerance : float, how far apart the bounds may be, as a fraction of the range that returns
        could have, (max reward − min reward)/(1 − γ)
    guess : array [S], values to start from, such as those of a similar reward's plan; any will do
    max_rounds : int, stop after so many rounds of sweeps; the bounds are valid all the same. By
        default as many as are certain to suffice
    outlook : str, of an EstimatedMDP: the policy is best for the worst world that the log allows
        ("pessimistic"), for the best ("optimistic"), or for the estimate ("nominal"). There `guess`
        and `max_rounds` are not used

    Returns
    -------
    Plan

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> plan = ti.optimal_policy(mdp, [-2, -1, 0, 1, 2])
    >>> [mdp.dynamics.action_name(a) for a in plan.policy.actions]
    ['right', 'right', 'right', 'right', 'left']
    >>> print(f"{plan.value:.4f}", plan.upper - plan.lower < 1e-8)
    12.4086 True
    """
    if isinstance(mdp, EstimatedMDP):
        return _in_doubt(mdp, weights, _checked_tolerance(tolerance), outlook)
    check_is_mdp(mdp)
    w = mdp.checked_weights(weights)
    if w.ndim != 1:
        require(False, f"weights must have shape ({mdp.n_features},), got {w.shape}")
    v = None if guess is None else _checked_guess(guess, (mdp.n_states,))
    if max_rounds is not None:
        require(
            isinstance(max_rounds, (int, np.integer)) and max_rounds >= 0,
            f"max_rounds must be a whole number that is not negative, got {max_rounds!r}",
        )
    return _plan(mdp, w, mdp.earned(w), v, _checked_tolerance(tolerance), max_rounds)


def worst_policy(
    mdp: MDP | EstimatedMDP,
    weights: ArrayLike,
    *,
    tolerance: float = 1e-10,
    guess: ArrayLike | None = None,
) -> Plan:
    """A worst policy for the reward ⟨weights, φ⟩: lower ≤ min R ≤ R(policy) ≤ upper.

    Parameters
    ----------
    mdp : MDP or EstimatedMDP, as for `optimal_policy`
    weights : array [k]
    tolerance : float, as for `optimal_policy`
    guess : array [S], values to start from

    Returns
    -------
    Plan

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> print(f"{ti.worst_policy(mdp, [-2, -1, 0, 1, 2]).value:.4f}")
    -12.4086
    """
    if not isinstance(mdp, EstimatedMDP):
        check_is_mdp(mdp)
    start = None if guess is None else -_checked_guess(guess, (mdp.n_states,))
    plan = optimal_policy(mdp, -mdp.checked_weights(weights), tolerance=tolerance, guess=start)
    return Plan(
        policy=plan.policy,
        value=-plan.value,
        lower=-plan.upper,
        upper=-plan.lower,
        values=frozen(-plan.values),
        status=plan.status,
        rounds=plan.rounds,
    )


def optimal_policies(
    mdp: MDP, weights: ArrayLike, *, tolerance: float = 1e-10, guess: ArrayLike | None = None
) -> Plans:
    """A best policy for each of many rewards: as `optimal_policy`, faster.

    Parameters
    ----------
    mdp : MDP
    weights : array [m, k], a reward a row
    tolerance : float, as for `optimal_policy`
    guess : array [m, S], values to start from

    Returns
    -------
    Plans, one a row

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp = ti.worlds.gridworld(4)
    >>> plans = ti.optimal_policies(mdp, np.eye(16))
    >>> len(plans), bool(np.all(plans.upper - plans.lower < 1e-8))
    (16, True)
    """
    check_is_mdp(mdp)
    w = mdp.checked_weights(weights)
    require(w.ndim == 2, f"weights must have shape (m, {mdp.n_features}), got {w.shape}")
    known = None if guess is None else _checked_guess(guess, (len(w), mdp.n_states))
    tolerance = _checked_tolerance(tolerance)
    rewards = mdp.rewards(w)
    layout = mdp.dynamics.layout
    # Lanes pay where sweeps alone suffice and a block of values stays in the cache; the plan that
    # starts from them does the rest, and the certifying, as for a single reward.
    lanes = (
        known is None
        and isinstance(layout, Table)
        and layout.own < 1.0
        and len(layout.unroll) == 4
        and not mdp.features_per_pair
        and mdp.n_states <= 4096
    )
    plans: list[Plan] = []
    for first in range(0, len(w), LANES):
        block = rewards[first : first + LANES]
        guesses: list[Floats | None] = [None] * len(block)
        if known is not None:
            guesses = list(known[first : first + LANES])
        if isinstance(layout, Table) and lanes:
            v = np.tile(block.mean(axis=1) / (1.0 - mdp.discount), (mdp.n_states, 1))
            kernels.sweep_lanes(
                layout.successors,
                layout.own,
                block.T.ravel(),
                v.ravel(),
                np.uint64(len(block)),
                mdp.discount,
                tolerance,
            )
            guesses = list(np.ascontiguousarray(v.T))
        plans += [
            _plan(mdp, row, reward, guess, tolerance, None)
            for row, reward, guess in zip(w[first:], block, guesses, strict=False)
        ]
    return Plans(tuple(plans))


def _in_doubt(model: EstimatedMDP, weights: ArrayLike, tolerance: float, outlook: Outlook) -> Plan:
    w = model.checked_weights(weights)
    require(w.ndim == 1, f"weights must have shape ({model.n_features},), got {w.shape}")
    require(outlook in OUTLOOKS, f"outlook must be one of {', '.join(OUTLOOKS)}, got {outlook!r}")
    nominal = None
    if outlook == "nominal":
        nominal = optimal_policy(model.nominal, w, tolerance=tolerance).policy
    return plan_in_doubt(model, w, outlook, tolerance, nominal)


def _checked_tolerance(tolerance: float) -> float:
    if not (isinstance(tolerance, (int, float, np.floating)) and 0.0 <= tolerance <= 1.0):
        require(False, f"tolerance is a fraction between 0 and 1, got {tolerance!r}")
    return float(tolerance)


def _checked_guess(guess: ArrayLike, shape: tuple[int, ...]) -> Floats:
    v = np.array(as_floats("guess", guess))
    require(v.shape == shape, f"guess must have shape {shape}, got {v.shape}")
    check_finite("guess", v)
    return v


def _plan(
    mdp: MDP,
    weights: Floats,
    rewards: Floats,
    v: Floats | None,
    tolerance: float,
    max_rounds: int | None,
) -> Plan:
    """The plan for checked arguments: by components where that pays, and by sweeps where it does
    not, or leaves the bounds too far apart."""
    dynamics, rounds = mdp.dynamics, -1 if max_rounds is None else int(max_rounds)
    # Of one type, whether the caller's can be written to or not.
    about = (
        dynamics.offsets,
        rewards,
        NO_GUESS if v is None else v,
        weights.copy(),
        mdp.largest_entries,
        mdp.largest_feature,
        dynamics.rounding,
        dynamics.discount,
        tolerance,
        rounds,
    )
    if dynamics.components is None:
        found = _by_sweeps(mdp, about, 0)
    else:
        found = _by_components(mdp, dynamics.components, about)
        if found[-1] == kernels.UNFINISHED:
            found = _by_sweeps(mdp, (*about[:2], found[0], *about[3:]), found[-2])
    values, pairs, lower, upper, used, ended = found
    if ended == kernels.TOO_LARGE:
        norms = kernels.length(weights) * mdp.largest_feature
        require(False, f"weights give rewards of the order of {norms:.3g}: too large to plan with")
    policy = Policy.of_pairs(dynamics, pairs)
    return Plan.of(policy, lower, upper, frozen(values), STATUSES[ended], used)


def _by_components(mdp: MDP, world: Components, about: tuple[Any, ...]) -> Any:
    """What `plan_by_components` finds."""
    n = mdp.n_states
    # At once, as of small worlds arrays take longer to be made than to be filled.
    kept = np.zeros(kernels.by_components.PLACES + 3 * n + mdp.n_pairs)
    choice = np.empty(n, CHOICE)
    while True:
        clock.look()
        found = kernels.plan_by_components(*world, *about, kept, choice, kernels.PIECE)
        if found[-1] != kernels.PAUSED:
            return found


def _by_sweeps(mdp: MDP, about: tuple[Any, ...], used: int) -> Any:
    """What `plan_by_sweeps` finds, after rounds that are used up already."""
    dynamics, n = mdp.dynamics, mdp.n_states
    world = dynamics.layout, _reward_for(mdp, about[1]), dynamics.start
    passes = kernels.PIECE // len(dynamics.transitions.data) + 1
    width = 0 if dynamics.deterministic else n
    kept = (np.zeros(kernels.sweeps.PLACES), np.empty((5, n)), np.empty((7, width)))
    choice = np.empty(n, dtype=_choice_type(mdp))
    while True:
        clock.look()
        found = kernels.plan_by_sweeps(*world, *about, used, *kept, choice, passes)
        if found[-1] != kernels.PAUSED:
            return found


def _reward_for(mdp: MDP, rewards: Floats) -> Reward:
    """The rewards in the shape that the kernels want beside the MDP's layout."""
    if not mdp.features_per_pair:
        return StateReward(rewards)
    layout = mdp.dynamics.layout
    if isinstance(layout, Table):
        return PairReward(kernels.padded(rewards, mdp.dynamics.offsets, len(layout.unroll)))
    return PairReward(rewards)


def _choice_type(mdp: MDP) -> type[np.uint8] | type[np.uint32]:
    return np.uint8 if mdp.n_actions <= 256 else np.uint32


__all__ = ["optimal_policies", "optimal_policy", "worst_policy"]
