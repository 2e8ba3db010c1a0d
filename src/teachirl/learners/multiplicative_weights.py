"""Apprenticeship as a game against the weights, played by multiplying them (Syed & Schapire 2007).

She wants a policy that no reward she can think of tells from the target b. That is a game,

    min over μ ∈ AM of  loss(μ),   loss(μ) = max over w ∈ W of ⟨w, b − μ⟩.

With W the simplex over her features *and their negatives*, {‖w‖₁ ≤ 1}, loss(μ) = ‖μ − b‖_∞, and the
value is 0 if and only if b is within her reach: she matches. If the weights are known to be
non-negative, W is the simplex over the features as in the original, and loss(μ) = max_i (b − μ)_i
may be negative: she does at least as well in every feature, and better if she can.

In round t she answers the weights w_t with a best policy, and the weights answer her μ_t with

    w_{t+1}(i) ∝ w_t(i) β^{G(i)},   G = (1 + (μ_t − b)/d)/2 ∈ [0, 1],   β = 1/(1 + √(2 ln n/T)),

n being the number of features in play and T that of rounds. The original has features in [−1, 1]
and d = 2/(1 − γ); here d = max|Aφ|/(1 − γ) + max|b|, one number for all features: for such features
no more than that if b is within reach, and enough if it is not. Her answer is the uniform mixture
of all rounds' policies, whose loss is within 2d (√(2 ln n/T) + ln n/T) of the least there is.

For any weights, such as the mean w̄ of all rounds', with U ≥ max over AM of ⟨w̄, μ⟩,

    loss(μ) ≥ (⟨w̄, b⟩ − U)/‖w̄‖₁  and  ‖μ − b‖ ≥ (⟨w̄, b⟩ − U)/‖w̄‖  for every policy.          (★)

The mean of the bounds that planning gave in each round is such a U: the proof costs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..bounds import largest_entries
from ..checks import Floats
from ..mdp import MDP
from ..occupancies import occupancy, policy_from_occupancy
from ..planning import optimal_policy
from ..policy import Policy
from .learner import Assignment, Learned, LearnStatus, check_limits

_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class MultiplicativeWeights:
    """The learner MWAL: simple, and slow to become exact.

    Parameters
    ----------
    tolerance : mismatch that counts as matched, as a fraction of max‖Aφ‖/(1 − γ)
    max_steps : T, rounds; each is one MDP solve. The learning rate is set for this many
    nonnegative : whether the weights are known to be non-negative, so that more of a feature is
        never worse. She then does not match the target but tries to beat it in every feature

    She ends ``MATCHED`` or ``NEAREST`` if her mismatch is within the tolerance of 0, or of a proved
    bound. The game is about another norm: once that is solved up to the tolerance, or up to a half
    if the target is just out of reach, she ends ``SETTLED``. So she mostly does if `nonnegative`.

    `weights` are the mean of all rounds', with ‖w‖₁ ≤ 1.

    Examples
    --------
    >>> import teachirl as ti
    >>> from teachirl.learners.multiplicative_weights import MultiplicativeWeights
    >>> mdp = ti.worlds.chain(5)
    >>> seen = ti.Worldview.select(mdp, ["cell 3"]).observe(mdp)
    >>> learned = MultiplicativeWeights().learn(seen, [2.0])
    >>> learned.status, bool(learned.mismatch <= 1e-3 * 10)
    (MATCHED, True)
    """

    tolerance: float = 1e-3
    max_steps: int = 10_000
    nonnegative: bool = False

    def __post_init__(self) -> None:
        check_limits(self.tolerance, self.max_steps)

    @property
    def matches(self) -> bool:
        """Whether she tries to match the target, rather than to beat it."""
        return not self.nonnegative

    def learn(self, seen: MDP, target: ArrayLike, start: Policy | None = None) -> Learned:
        """The uniform mixture of the rounds' policies, as one stationary policy."""
        task = Assignment(seen, target, start)
        game = Game(task, self.tolerance, self.nonnegative)
        known = game.settled()
        if known is not None:
            return known
        b, n = task.target, seen.n_features
        d = float(largest_entries(seen).max()) / (1.0 - seen.discount) + float(np.abs(b).max())
        rate = 0.5 * math.log1p(math.sqrt(2.0 * math.log(game.size) / self.max_steps)) / d
        first = occupancy(seen, task.start)
        # Sums over the rounds: occupancies, μ − b, weights, and bounds on what these can earn.
        visits, ahead, weights, bounds = np.zeros(seen.n_pairs), np.zeros(n), np.zeros(n), 0.0
        rounds, guess, history = 0, None, []
        if self.matches:
            # Against the even weights of round 1, which cancel, every policy is a best answer.
            visits, ahead, rounds = visits + first, task.first - b, 1
        while True:
            w = game.weights(-rate * ahead)
            plan = optimal_policy(seen, w, tolerance=min(0.1 * self.tolerance, 1.0), guess=guess)
            x = occupancy(seen, plan.policy)
            visits += x
            ahead += game.expectations(x) - b
            weights += w
            bounds += plan.upper
            guess, rounds = plan.values, rounds + 1
            mean = b + ahead / rounds
            mu, share = game.mixed(mean)
            history.append(task.miss(mu))
            least, nearest = game.proved(weights, bounds, rounds)
            status = game.status(mean, history[-1], least, nearest)
            if status is None and len(history) == self.max_steps:
                status = LearnStatus.OUT_OF_STEPS
            if status is not None:
                break
        policy = policy_from_occupancy(seen, (1.0 - share) * first + share * visits / rounds)
        return task.report(policy, weights / rounds, len(history), history, status, nearest)


class Game:
    """What the two learners who play against the weights share.

    Attributes
    ----------
    size : n, how many features there are in play
    goal : the mismatch, or the gap between loss and bound, that is small enough
    """

    def __init__(self, task: Assignment, tolerance: float, nonnegative: bool) -> None:
        self.task, self.nonnegative = task, nonnegative
        self.size = task.seen.n_features * (1 if nonnegative else 2)
        self.goal = tolerance * task.scale

    def settled(self) -> Learned | None:
        """What she has learned if the start is an answer already, else None."""
        task, nearest = self.task, 0.0
        miss = task.miss(task.first)
        if task.scale == 0.0:  # all policies look the same to her
            status, nearest = LearnStatus.NEAREST if miss else LearnStatus.MATCHED, miss
        elif miss <= self.goal and not self.nonnegative:
            status = LearnStatus.MATCHED
        else:
            return None
        return task.report(task.start, np.zeros_like(task.target), 0, [], status, nearest)

    def loss(self, mu: Floats) -> float:
        """max ⟨w, b − μ⟩"""
        short = self.task.target - mu
        return float((short if self.nonnegative else np.abs(short)).max())

    def weights(self, logarithms: Floats) -> Floats:
        """The weights on her features [ℓ], of which those in play have these logarithms.

        The negative of a feature has its logarithm negated.
        """
        if self.nonnegative:
            shares = np.exp(logarithms - logarithms.max())
            return np.asarray(shares / shares.sum())
        most = float(np.abs(logarithms).max())
        plus, minus = np.exp(logarithms - most), np.exp(-logarithms - most)
        return np.asarray((plus - minus) / (plus.sum() + minus.sum()))

    def expectations(self, x: Floats) -> Floats:
        """Φᵀx, [ℓ]"""
        seen = self.task.seen
        rows = x if seen.features_per_pair else np.add.reduceat(x, seen.dynamics.offsets[:-1])
        return np.asarray(seen.features.T @ rows)

    def proved(self, weights: Floats, upper: float, terms: int = 1) -> tuple[float, float]:
        """By (★), the least loss and the least mismatch that a policy can have.

        weights [ℓ] and upper ≥ max ⟨weights, μ⟩ are sums of so many terms, with ‖w‖₁ ≤ 1 each.
        """
        b = self.task.target
        size = float(np.abs(weights).sum())
        if size == 0.0:
            return (-math.inf if self.nonnegative else 0.0), 0.0
        # No term of ⟨weights, b⟩ or of upper is larger, even if it was planned without care.
        reach = 4.0 * terms * (self.task.scale + float(np.abs(b).max()))
        slack = (terms + len(b) + 8) * _EPS * reach
        apart = float(weights @ b) - upper - slack
        least = apart / size
        nearest = max(apart, 0.0) / float(np.linalg.norm(weights))
        return (least if self.nonnegative else max(least, 0.0)), nearest

    def status(self, mu: Floats, miss: float, least: float, nearest: float) -> LearnStatus | None:
        """How it ended if the answer is good enough, else None.

        μ is hers in the game, miss the mismatch of what she returns, least and nearest are proved.
        """
        # A target that is just out of reach may still be matched within the tolerance.
        enough = self.goal if self.nonnegative else min(self.goal, least)
        solved = self.loss(mu) - least <= enough
        if self.nonnegative and not solved:
            return None
        if miss <= self.goal:
            return LearnStatus.MATCHED
        if miss - nearest <= self.goal:
            return LearnStatus.NEAREST
        return LearnStatus.SETTLED if solved else None

    def mixed(self, mu: Floats) -> tuple[Floats, float]:
        """μ and 1; or what is nearest on the way from the start to μ, and how far along it is.

        Only a μ that is farther from the target than the start was, in the 2-norm, is mixed.
        """
        first, b = self.task.first, self.task.target
        if self.nonnegative or self.task.miss(mu) <= self.task.miss(first):
            return mu, 1.0
        step = mu - first
        share = min(max(float(step @ (b - first)) / float(step @ step), 0.0), 1.0)
        return first + share * step, share
