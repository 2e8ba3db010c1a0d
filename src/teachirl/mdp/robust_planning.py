"""Planning in a world that is known up to sets: with them, against them, or for one policy.

T is the Bellman operator in which the row of each pair is the best of its set (+), or the worst
(−). It is monotone, and T(v + c) = Tv + γc: so the bounds of `planning` hold for it as they stand,

    Tv + γ l/(1 − γ) ≤ V ≤ Tv + γ h/(1 − γ)   with   l ≤ Tv − v ≤ h,

where V is, of all policies, max_π max_P V_P(π) or max_π min_P V_P(π), as sets of different pairs
have nothing to do with each other (Iyengar 2005; Nilim and El Ghaoui 2005).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from ..arrays import Floats, frozen
from ..errors import require
from ..precision import EPS, down, up
from .estimated import EstimatedMDP
from .evaluation import Chain
from .kernels.chains import outflow
from .kernels.robust import Chosen, back_up_robustly, earned
from .plan import Plan, PlanStatus
from .policy import Policy
from .right_hand_sides import Solved

Outlook: TypeAlias = Literal["pessimistic", "optimistic", "nominal"]
OUTLOOKS: tuple[Outlook, ...] = get_args(Outlook)

# Rounds of policy iteration, at most, and in a row without coming nearer, as where rounding is all
# that is left; what is given back is valid whenever it ends.
ROUNDS, STALLED = 500, 8
# Sweeps that follow a policy before it is evaluated exactly: most often they are enough, and a
# sweep takes as long as a backup of the pairs that the policy takes.
SWEEPS = 200


@dataclass(frozen=True, eq=False)
class Response:
    """What a policy and a world of the sets bring, the one chosen with the other or against it.

    Attributes
    ----------
    lower, upper : floats around the value that is sought
    values : array [S]
    chances : array [P], the policy's
    rows : array [n], the probabilities of all successors in that world; those of pairs that the
        policy never takes mean nothing
    rounds : int
    close : bool, whether the bounds are as close as asked, or as rounding allows
    """

    lower: float
    upper: float
    values: Floats
    chances: Floats
    rows: Floats
    rounds: int
    close: bool


def respond(
    model: EstimatedMDP,
    weights: Floats,
    *,
    nature: Literal[1, -1],
    policy: Policy | None = None,
    tolerance: float = 1e-10,
    within: float | None = None,
    guess: Floats | None = None,
    chosen: Chosen | None = None,
) -> Response:
    """The most that a policy earns where the world is the best of the sets, or the worst of them.

    Parameters
    ----------
    model : EstimatedMDP
    weights : array [k]
    nature : 1 for the best world, −1 for the worst
    policy : whose reward it is; the best policy's by default
    tolerance : how far apart the bounds may be, as for `optimal_policy`
    within : the same in units of reward; if given, it counts instead
    guess : array [S], values to start from; by default, of a policy, those in the nominal world
    chosen : what `unchosen` made, to be written to: where responses are alike, the next is faster

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> from teachirl.mdp.robust_planning import respond
    >>> model = ti.estimate_mdp(np.array([[[6, 4]], [[0, 9]]]), np.eye(2), discount=0.9)
    >>> least, most = (respond(model, np.array([1.0, 0.0]), nature=sign) for sign in (-1, 1))
    >>> least.upper < 0.5 / (1 - 0.9 * 0.6) < most.lower
    True
    """
    made = unchosen(model) if chosen is None else chosen
    return _Planning(model, weights, tolerance, within, made).solved(nature, policy, guess)


class _Planning:
    """One reward, in the units that kernels and bounds need."""

    def __init__(
        self,
        model: EstimatedMDP,
        weights: Floats,
        tolerance: float,
        within: float | None,
        chosen: Chosen,
    ) -> None:
        self.model, self.chosen = model, chosen
        self.rewards, self.outcomes = (
            frozen(part.ravel()) for part in model.rewards_of_pairs(weights[None])
        )
        rest, all_ = 1.0 - model.discount, self.outcomes if len(self.outcomes) else self.rewards
        self.least, self.most = float(all_.min()), float(all_.max())
        norms = float(np.abs(weights) @ model.largest_entries)
        self.largest = max(abs(self.least), abs(self.most)) / rest
        if not math.isfinite(1e6 * (norms + self.largest) / rest**2):
            require(False, f"weights give rewards of the order of {norms:.3g}: too large")
        # A row is moved entry by entry and sums to 1 up to that; then there is one sum of products.
        relative = (5 * model.longest_row + 16) * EPS
        tiny = 5e-324 * (model.n_features + model.n_states + relative / EPS) if norms else 0.0
        self.slack = ((model.n_features + 1) * EPS * norms + tiny) / rest
        self.per_value = 2.0 * relative / rest
        asked = tolerance * (self.most - self.least) / rest if within is None else within
        noise = self.slack + self.per_value * self.largest
        self.target = max(0.5 * (asked - 2.0 * noise), 2.0 * noise)

    def solved(self, nature: int, policy: Policy | None, guess: Floats | None) -> Response:
        """The response, by policy iteration: nature's rows are part of what is chosen, or, against
        the policy, what it is evaluated with."""
        model, rest = self.model, 1.0 - self.model.discount
        beyond = model.discount / rest
        middle = 0.5 * (self.least + self.most) / rest
        chances = np.zeros(model.n_pairs) if policy is None else np.array(policy.probabilities)
        if guess is not None:
            v = np.array(guess)
        elif policy is not None:
            v = self._values(chances, model.sets.nominal)
        else:
            v = np.full(model.n_states, middle)
        known = np.zeros(model.n_states), np.full(model.n_pairs, np.inf)
        # Against a policy that is free nature answers anew at every step: nothing is followed.
        sweeps = 0 if policy is None and nature < 0 else SWEEPS
        rounds, nearest, stalled = 0, math.inf, 0
        while True:
            hoped, reached, low, high, more = back_up_robustly(
                model.sets,
                model.nominal.dynamics.offsets,
                self.rewards,
                self.outcomes,
                v,
                chances,
                policy is None,
                float(nature),
                model.discount,
                0.5 * rest * self.target,
                self.chosen,
                known,
                self.target / beyond if beyond else math.inf,
                sweeps,
            )
            rounds += more
            done = beyond * (high - low) <= self.target
            if done or stalled == STALLED or rounds >= ROUNDS:
                break
            before, v = v, self._evaluated(nature, policy, chances, reached)
            # Policy iteration rises from round to round, though the bounds may wait for that.
            moved = float(np.abs(v - before).max()) > self.target
            stalled = 0 if moved or high - low < 0.999 * nearest else stalled + 1
            nearest, sweeps = min(high - low, nearest), 0
        return self._bounded(hoped, reached, low, high, chances, rounds, done)

    def _evaluated(
        self, nature: int, policy: Policy | None, chances: Floats, reached: Floats
    ) -> Floats:
        """The values of the policy that was found: in that world, or in the worst for it."""
        if policy is None and nature < 0:
            mine = Policy.of_chances(self.model.nominal.dynamics, frozen(chances.copy()))
            return np.array(self.solved(nature, mine, reached).values)
        return self._values(chances, self.chosen.rows)

    def _values(self, chances: Floats, rows: Floats) -> Floats:
        rewards = self.rewards[:, None], self.outcomes[:, None]
        return np.ascontiguousarray(values_in(self.model, chances, rows, rewards).x[:, 0])

    def _bounded(
        self,
        hoped: Floats,
        reached: Floats,
        low: float,
        high: float,
        chances: Floats,
        rounds: int,
        done: bool,
    ) -> Response:
        model, gamma = self.model, self.model.discount
        beyond, start = gamma / (1.0 - gamma), model.start
        # No pair is worth more than the best.
        reach = max(float(hoped.max()), -float(reached.min()), self.largest)
        noise = self.slack + self.per_value * reach + (model.n_states + 2) * EPS * reach
        sums = ((64.0 + model.n_states) * EPS + self.per_value) * beyond
        upper = up(float(start @ hoped) + beyond * high + sums * abs(high) + noise)
        lower = down(float(start @ reached) + beyond * low - sums * abs(low) - noise)
        values = reached + beyond * 0.5 * (low + high)
        rows = frozen(self.chosen.rows.copy())
        return Response(lower, upper, frozen(values), frozen(chances), rows, rounds, bool(done))


def unchosen(model: EstimatedMDP) -> Chosen:
    """What nature begins with: only where there is nothing to choose, its rows stand."""
    indptr = model.sets.indptr
    lengths = np.diff(indptr)
    order = (np.arange(indptr[-1]) - np.repeat(indptr[:-1], lengths)).astype(np.int32)
    return Chosen(np.array(model.sets.nominal), order, lengths == 1)


def chain_in(model: EstimatedMDP, chances: Floats, rows: Floats, sparse: bool = True) -> Chain:
    """The Markov chain of a policy where the probabilities of all successors [n] are these."""
    sets = model.sets
    offsets = model.nominal.dynamics.offsets
    chain = outflow(
        offsets,
        frozen(np.asarray(chances).view()),
        sets.indptr,
        sets.indices,
        frozen(np.asarray(rows).view()),
    )
    return Chain(chain, model.discount, lambda: model.nominal.dynamics.usual, sparse)


def values_in(
    model: EstimatedMDP,
    chances: Floats,
    rows: Floats,
    rewards: tuple[Floats, Floats],
    sparse: bool = True,
) -> Solved:
    """What a policy is worth there, [S, m]: given the rewards [P, m] of pairs, and [n, m] of what
    follows, if features are those."""
    given = (frozen(part.view()) for part in (chances, rows, *rewards))
    here = earned(model.sets, model.nominal.dynamics.offsets, *given)
    return chain_in(model, chances, rows, sparse).values(here)


def plan_in_doubt(
    model: EstimatedMDP,
    weights: Floats,
    outlook: Outlook,
    tolerance: float,
    nominal: Policy | None = None,
) -> Plan:
    """A policy, and what is known of it and of the best there is, whichever world is the true one:
    lower ≤ R(π) ≤ max R ≤ upper. The nominal policy comes from who plans in a world that is known.
    """
    most = respond(model, weights, nature=1, tolerance=tolerance)
    if outlook == "pessimistic":
        least = respond(model, weights, nature=-1, tolerance=tolerance)
        policy, values = policy_of(model, least), least.values
    else:
        policy = policy_of(model, most) if nominal is None else nominal
        least = respond(model, weights, nature=-1, policy=policy, tolerance=tolerance)
        values = most.values if nominal is None else least.values
    rewards = model.rewards(weights)
    asked = tolerance * float(rewards.max() - rewards.min()) / (1.0 - model.discount)
    near = most.upper - least.lower <= asked
    return Plan(
        policy=policy,
        value=0.5 * (least.lower + most.upper),
        lower=least.lower,
        upper=most.upper,
        values=values,
        status=PlanStatus.OPTIMAL if near else PlanStatus.IN_DOUBT,
        rounds=least.rounds + most.rounds,
    )


def policy_of(model: EstimatedMDP, found: Response) -> Policy:
    """The policy of a response in which that was free."""
    pairs = np.flatnonzero(found.chances).astype(np.int64)
    return Policy.of_pairs(model.nominal.dynamics, pairs)


__all__ = [
    "OUTLOOKS",
    "Outlook",
    "Response",
    "chain_in",
    "plan_in_doubt",
    "policy_of",
    "respond",
    "unchosen",
    "values_in",
]
