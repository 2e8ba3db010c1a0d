"""Evidence from sampled answers: e-values, valid whenever one stops and however one chooses.

An e-value has expectation at most 1 under the hypothesis that it speaks against, so that it exceeds
1/δ with probability at most δ (Ville); those of successive episodes, each chosen before it is seen,
multiply. Here are two:

- against "the learner has f": who has f does E[x] = m, x the return of an episode in f and m what
  was shown. Capital Π (1 + β_t (x_t − m)) bets that it does more, or less, with β_t ≥ 0 chosen from
  the episodes before (Waudby-Smith and Ramdas 2024). An episode that was cut off counts as if the
  least (or the most) had followed, so that the bet stays fair.
- against "the learner does not see what was drawn": the level s ~ U[0, 1] is then independent of
  what the learner does. A density p̂ on [0, 1] that is chosen from the answer has E p̂(s) = 1.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from ..arrays import Floats
from ..demonstrations.trajectories import Trajectories
from ..mdp.model import MDP

NORMAL = NormalDist()
BOLDEST = 0.75  # of the capital that can be lost in one bet
# How much of the density stays uniform: what is lost at most if the guess is wrong.
CAUTION = 0.1


def episode_returns(mdp: MDP, row: Floats, answer: Trajectories) -> tuple[Floats, Floats]:
    """The least and the most that the return of each episode in ⟨row, φ⟩ can be, arrays [m].

    Recorded steps count as they are; what follows the last one of an episode that has not ended is
    between the least and the most of ⟨row, φ⟩ for ever.
    """
    rewards = mdp.rewards(row)
    steps = rewards[answer.pairs if mdp.features_per_pair else answer.states]
    lengths = answer.lengths
    age = np.arange(answer.n_steps) - np.repeat(answer.offsets[:-1], lengths)
    discounts = mdp.discount ** np.arange(int(lengths.max(initial=0)), dtype=float)
    held = np.add.reduceat(steps * discounts[age], answer.offsets[:-1])
    left = np.where(answer.terminated, 0.0, mdp.discount ** lengths.astype(float))
    ahead = left / (1.0 - mdp.discount)
    return held + ahead * rewards.min(), held + ahead * rewards.max()


def against_having(
    mdp: MDP, row: Floats, answer: Trajectories, shown: float, width: float
) -> float:
    """log of the e-value against E[return in ⟨row, φ⟩] = shown, up to `width`.

    Parameters
    ----------
    mdp : MDP
    row : array [k], the candidate
    answer : Trajectories, independent episodes
    shown : float, what was demonstrated of the candidate
    width : float, how far from it the learner may be and still have it
    """
    rewards = mdp.rewards(row) / (1.0 - mdp.discount)
    least, most = episode_returns(mdp, row, answer)
    # What can be lost is known beforehand: no return is below or above these.
    above = _capital(least - (shown + width), shown + width - float(rewards.min()))
    below = _capital((shown - width) - most, float(rewards.max()) - (shown - width))
    return float(np.logaddexp(above, below) - math.log(2.0))


def _capital(gains: Floats, most_lost: float) -> float:
    """log Π (1 + β_t g_t), where no g is below −most_lost, and E[g] ≤ 0 by hypothesis."""
    if not most_lost > 0.0:
        return 0.0
    seen = np.concatenate([[0.0], np.cumsum(gains)[:-1]])
    squares = np.concatenate([[0.0], np.cumsum(gains**2)[:-1]]) + most_lost**2
    count = np.arange(1.0, len(gains) + 1.0)
    means = seen / count
    bets = np.clip(means / (squares / count), 0.0, BOLDEST / most_lost)
    return float(np.log1p(bets * gains).sum())


def for_seeing(level: float, guess: float, error: float) -> float:
    """log p̂(level), p̂ around where the answer alone says that the level was.

    Parameters
    ----------
    level : float in [0, 1], what was drawn
    guess, error : float, where the answer lies between what the two ends show, and its error
    """
    near = min(guess, 1.0 - guess)  # from one side or the other, to all digits
    mass = _beyond(-near / error) - _beyond((1.0 - near) / error)
    if mass < 1e-12:
        return 0.0  # the answer is far from all that was shown: no guess
    peak = NORMAL.pdf((level - guess) / error) / (error * mass)
    return math.log(CAUTION + (1.0 - CAUTION) * peak)


def _beyond(x: float) -> float:
    """The probability that a standard normal number is above x."""
    return 0.5 * math.erfc(x / math.sqrt(2.0))


__all__ = ["against_having", "episode_returns", "for_seeing"]
