"""Apprenticeship as a game against the weights, played by multiplying them (Syed & Schapire 2007).

Wanted is a policy that no reward in the learner's features tells from the target b. That is a game,

    min over μ ∈ AM of  loss(μ),   loss(μ) = max over w ∈ W of ⟨w, b − μ⟩.

With W the simplex over the features *and their negatives*, {‖w‖₁ ≤ 1}, loss(μ) = ‖μ − b‖_∞, and the
value is 0 if and only if b is within reach: the learner matches. If the weights are known to be
non-negative, W is the simplex over the features as in the original, and loss(μ) = max_i (b − μ)_i
may be negative: the learner does at least as well in every feature, and better if possible.

In round t the learner answers the weights w_t with a best policy, and the weights answer its μ_t
with

    w_{t+1}(i) ∝ w_t(i) β^{G(i)},   G = (1 + (μ_t − b)/d)/2 ∈ [0, 1],   β = 1/(1 + √(2 ln n/T)),

n being the number of features in play and T that of rounds. The original has features in [−1, 1]
and d = 2/(1 − γ); here d = max|Aφ|/(1 − γ) + max|b|, one number for all features: for such features
no more than that if b is within reach, and enough if it is not. What is learned is the uniform
mixture of all rounds' policies, whose loss is within 2d (√(2 ln n/T) + ln n/T) of the least there
is.

For any weights, such as the mean w̄ of all rounds', with U ≥ max over AM of ⟨w̄, μ⟩,

    loss(μ) ≥ (⟨w̄, b⟩ − U)/‖w̄‖₁  and  ‖μ − b‖ ≥ (⟨w̄, b⟩ − U)/‖w̄‖  for every policy.          (★)

The mean of the bounds that planning gave in each round is such a U: the proof costs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..mdp.model import MDP
from ..mdp.occupancy import occupancy, policy_from_occupancy
from ..mdp.planning import optimal_policy
from ..mdp.policy import Policy
from .answers import Answers
from .game import Game
from .learner import Assignment, Learned, LearnStatus, check_limits


@dataclass(frozen=True)
class MultiplicativeWeights:
    """The learner MWAL: simple, and slow to become exact.

    It ends ``MATCHED`` or ``NEAREST`` if its mismatch is within the tolerance of 0, or of a proved
    bound. The game is about another norm: once that is solved up to the tolerance, or up to a half
    if the target is just out of reach, it ends ``SETTLED``; so it mostly does if `nonnegative`.

    `weights` are the mean of all rounds', brought to the features as given, with ‖w‖₁ ≤ 1.

    Parameters
    ----------
    tolerance : float, distance that counts as matched, as a fraction of max‖Aφ‖/(1 − γ), in even
        units (`learner`)
    max_steps : int, T, rounds; each is one MDP solve. The learning rate is set for this many
    nonnegative : bool, whether the weights are known to be non-negative, so that more of a feature
        is never worse. The aim is then not to match the target, but to beat it in every feature

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> seen = ti.Worldview.select(mdp, ["cell 3"]).observe(mdp)
    >>> learned = ti.learners.MultiplicativeWeights().learn(seen, [2.0])
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
        """bool, whether the aim is to match the target, rather than to beat it."""
        return not self.nonnegative

    def learn(self, seen: MDP, target: ArrayLike, start: Policy | None = None) -> Learned:
        """The uniform mixture of the rounds' policies, as one stationary policy.

        Parameters
        ----------
        seen : MDP with the learner's features
        target : array [ℓ], what was shown in these features
        start : Policy, the answer if it matches already; the uniform one by default

        Returns
        -------
        Learned
        """
        task = Assignment(seen, target, start).even()
        seen = task.seen
        game = Game(task, self.tolerance, self.nonnegative)
        known = game.settled()
        if known is not None:
            return known
        b, n = task.target, seen.n_features
        d = float(seen.largest_entries.max()) / (1.0 - seen.discount) + float(np.abs(b).max())
        rate = 0.5 * math.log1p(math.sqrt(2.0 * math.log(game.size) / self.max_steps)) / d
        first = occupancy(seen, task.start)
        # Sums over the rounds: occupancies, μ − b, weights, and bounds on what these can earn.
        visits, ahead, weights, bounds = np.zeros(seen.n_pairs), np.zeros(n), np.zeros(n), 0.0
        rounds, guess, history, answers = 0, None, [], Answers(seen)
        if self.matches:
            # Against the even weights of round 1, which cancel, every policy is a best answer.
            visits, ahead, rounds = visits + first, task.first - b, 1
        while True:
            w = game.weights(-rate * ahead)
            plan = optimal_policy(seen, w, tolerance=min(0.1 * self.tolerance, 1.0), guess=guess)
            x, mu = answers.of(plan.policy)
            visits += x
            ahead += mu - b
            weights += w
            bounds += plan.upper
            guess, rounds = plan.values, rounds + 1
            mean = b + ahead / rounds
            mu, share = game.mixed(mean)
            history.append(task.mismatch(mu - b))
            least, nearest = game.bounds(weights, bounds, rounds)
            status = game.status(mean, task.miss(mu), least, nearest)
            if status is None and len(history) == self.max_steps:
                status = LearnStatus.OUT_OF_STEPS
            if status is not None:
                break
        policy = policy_from_occupancy(seen, (1.0 - share) * first + share * visits / rounds)
        nearest = game.proved(weights, bounds, rounds)
        weights = task.as_given(weights / rounds, order=1)
        return task.report(policy, weights, len(history), history, status, nearest)
