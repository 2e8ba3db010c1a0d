"""How far single features of an expert may be off that are estimated from episodes.

Of a feature a (a row), an episode is worth ⟨a, F_i⟩, which no path through the world makes less
than l nor more than h: both are found by following, step by step, the best successor that is
possible at all. Of an episode that was cut off, the rest is worth what a path from anywhere is
worth, at least and at most, so that ⟨a, F_i⟩ lies between two known numbers. With x_i ∈ [0, 1] the
lower of them, measured from l to h, and m the mean over all episodes of the expert, measured
likewise, the wealth of a gambler who bets a share s of it on each x_i being above m, at a price of
m for what pays x_i,

    K(m) = Σ_k p_k Π (1 − s_k + s_k x_i/m),  s_k = 2^−k,  p_k ∝ 1/(k + 1),  k = 0, 1, …

has expectation 1 at most, and so exceeds 1/δ with probability δ at most. K falls with m: where it
reaches 1/δ is a lower bound that fails with probability δ; upper bounds by reflection. No variance
need be known or estimated (Waudby-Smith and Ramdas 2024). Most is bet by who stakes all, as experts
do nearly the same each time: where all x_i are 1, δ^(1/n) is the best bound that there is, and this
is near to it. All rows and both sides share the failure equally.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..arrays import Floats, Ints, frozen
from ..mdp.model import MDP
from ..precision import ROUNDED_UP
from .trajectories import Trajectories

# The shares of a gambler's wealth, the logarithms of what is bet with each, and how often the
# interval of a mean is halved.
SHARES = 0.5 ** np.arange(14)
STAKES = -np.log(np.arange(1.0, 15.0) * (1.0 / np.arange(1.0, 15.0)).sum())
HALVINGS = 40
# So many values are looked at together, for all shares at once: more would leave the cache.
TOGETHER = 1 << 11
# Into so many groups episodes are put to tell what more of them would say.
TYPICAL = 200
# Numbers looked at to find what paths are worth; a path is followed that far, 300 steps at most.
WORK, LONGEST = 200_000_000, 300


@dataclass(frozen=True, eq=False)
class RowErrors:
    """Bounds on the error of single features, all of which hold at once.

    Attributes
    ----------
    rows : array [n, k], the features
    lower, upper : array [n], between which the expert has of each
    cut, chance : array [n], of the error of the estimate: what cutting episodes off may have done,
        and what chance may have done
    typical : array [n, q], about what whole episodes are worth, from the least to the most, each
        the mean of as many of them; who was cut off is taken to go on as before
    paths : array [n, 4], what an episode is worth at least and at most, then the same of what is
        left of one that was cut off
    went_on : float, the share of the episodes that were cut off
    failure : float, the probability that any one bound is wrong
    """

    rows: Floats
    lower: Floats
    upper: Floats
    cut: Floats
    chance: Floats
    typical: Floats
    paths: Floats
    went_on: float
    failure: float

    def places(self, matrix: Floats) -> Ints | None:
        """Where the rows of a matrix [ℓ, k] are among these; None if one is not."""
        known = {row.tobytes(): i for i, row in enumerate(self.rows)}
        found = [known.get(row.tobytes(), -1) for row in np.ascontiguousarray(matrix)]
        return None if -1 in found else np.array(found, dtype=np.int64)

    def tail(self, places: Ints) -> float:
        """What cutting episodes off at once might do to these rows, as a length."""
        return float(np.linalg.norm(np.abs(self.paths[places, 2:]).max(axis=1) * self.went_on))

    def expected(self, places: Ints, episodes: float, steps: float, discount: float) -> float:
        """About how large the error ‖r‖ of these rows would be after so many episodes that are as
        different from each other, each cut off after so many steps, unless it ends.

        It is bounded as that of the episodes that there are: each of the typical ones is taken
        to be there as often as makes so many.
        """
        left, found = self.went_on * discount**steps, []
        for worth, path in zip(self.typical[places], self.paths[places], strict=True):
            often = episodes / len(worth)
            low, high = _between(worth, left, path, self.failure, often)
            mean = float(worth.mean())
            found.append(max(high - mean, mean - low))
        return float(np.linalg.norm(found))


def row_errors(mdp: MDP, episodes: Trajectories, rows: Floats, failure: float) -> RowErrors:
    """Bounds on the error of the mean of episodes in single features.

    Parameters
    ----------
    mdp : MDP
    episodes : Trajectories, independent
    rows : array [n, k]
    failure : float, the probability that any of the bounds is wrong

    Returns
    -------
    RowErrors

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> from teachirl.demonstrations.row_errors import row_errors
    >>> mdp, rng = ti.worlds.chain(5, discount=0.5), np.random.default_rng(0)
    >>> seen = ti.sample_trajectories(
    ...     mdp, ti.Policy.uniform(mdp), episodes=1000, horizon=30, rng=rng)
    >>> found = row_errors(mdp, seen, np.eye(5), 0.05)
    >>> true = ti.feature_expectations(mdp, ti.Policy.uniform(mdp))
    >>> bool(np.all((found.lower <= true) & (true <= found.upper))), bool(found.chance.max() < 0.2)
    (True, True)
    """
    rows = np.unique(np.ascontiguousarray(rows, dtype=float), axis=0)
    gamma, lengths, m = mdp.discount, episodes.lengths, len(episodes)
    rewards = np.asarray(mdp.features @ rows.T)
    steps = np.arange(episodes.n_steps) - np.repeat(episodes.offsets[:-1], lengths)
    places = episodes.pairs if mdp.features_per_pair else episodes.states
    each = max(failure / (2 * len(rows)), 1e-300) if len(rows) else failure
    paths = _path_ranges(mdp, rewards)
    left = ~episodes.terminated * gamma ** lengths.astype(float)
    weights = gamma ** steps.astype(float)
    found, typical = [], np.empty((len(rows), min(m, TYPICAL)))
    for i, path in enumerate(paths):
        worth = np.add.reduceat(weights * rewards[places, i], episodes.offsets[:-1])
        low_end, high_end = _between(worth, left, path, each)
        mean, size = float(worth.mean()), float(np.abs(path[2:]).max())
        cut_off = float(left.mean()) * size * ROUNDED_UP
        off = max(high_end - mean, mean - low_end) * ROUNDED_UP
        found.append((low_end, high_end, cut_off, max(off - cut_off, 0.0)))
        whole = np.sort(np.clip(worth / (1.0 - left), path[0], path[1]))
        typical[i] = [part.mean() for part in np.array_split(whole, typical.shape[1])]
    lower, upper, cut, chance = (
        frozen(np.array(column)) for column in np.array(found).reshape(-1, 4).T
    )
    went_on = float((~episodes.terminated).mean())
    arrays = frozen(typical), frozen(paths)
    return RowErrors(frozen(rows), lower, upper, cut, chance, *arrays, went_on, failure=each)


def _between(
    worth: Floats, left: Floats | float, path: Floats, failure: float, often: float = 1.0
) -> tuple[float, float]:
    """Between what the mean lies of whole episodes, of which worth [m] was seen, each so often."""
    low, high, least, most = map(float, path)
    return (
        mean_at_least(worth + left * least, low, high, failure, often),
        -mean_at_least(-worth - left * most, -high, -low, failure, often),
    )


def mean_at_least(
    values: Floats, low: float, high: float, failure: float, often: float = 1.0
) -> float:
    """A lower bound on a mean of which `values` [m] in [low, high] are an independent sample (or no
    more than one), wrong with a probability of `failure` at most; or what it would be if each
    of them had been drawn so often.

    >>> mean_at_least(np.ones(100), 0.0, 1.0, 0.05) > 0.94
    True
    """
    if not high > low:
        return low
    x = np.clip((values - low) / (high - low), 0.0, 1.0)
    begin, end = 0.0, float(x.mean())
    if end == 0.0:
        return low
    parts = np.array_split(x, 1 + len(x) // TOGETHER)
    for _ in range(HALVINGS):
        middle = 0.5 * (begin + end)
        wealth = sum(
            np.log1p(SHARES[:, None] * (part / middle - 1.0) * BELOW_1).sum(axis=1)
            for part in parts
        )
        if float(np.logaddexp.reduce(often * wealth + STAKES)) >= -math.log(failure):
            begin = middle
        else:
            end = middle
    return low + begin * (high - low)


# A share of all would leave nothing after a loss of all: the logarithm stays finite.
BELOW_1 = 1.0 - 1e-9


def _path_ranges(mdp: MDP, rewards: Floats) -> Floats:
    """What paths are worth: at least and at most from the start; then both from anywhere.

    `rewards` [S or P, n] are of n features; the ranges [n, 4].
    """
    dynamics, gamma = mdp.dynamics, mdp.discount
    indptr, indices, states = (
        dynamics.transitions.indptr,
        dynamics.transitions.indices,
        dynamics.pair_states,
    )
    start = dynamics.start > 0.0
    ends: list[tuple[float, float]] = []
    count = int(np.clip(WORK / max(1, 2 * rewards.size + len(indices)), 1, LONGEST))
    for column in np.vstack([-rewards.T, rewards.T]):
        r = column if mdp.features_per_pair else column[states]
        room = 1e-9 * float(np.abs(r).max(initial=0.0)) / (1.0 - gamma)
        most = np.full(mdp.n_states, float(r.max(initial=-math.inf)) / (1.0 - gamma))
        # From above, each round is a bound: what is best after so many steps, or the best there is.
        for _ in range(count):
            ahead = np.maximum.reduceat(most[indices], indptr[:-1])
            most = np.maximum.reduceat(r + gamma * ahead, dynamics.offsets[:-1])
        ends.append((float(most[start].max()) + room, float(most.max()) + room))
    sides = np.array(ends).reshape(2, -1, 2)
    return np.stack([-sides[0, :, 0], sides[1, :, 0], -sides[0, :, 1], sides[1, :, 1]], axis=1)


__all__ = ["RowErrors", "mean_at_least", "row_errors"]
