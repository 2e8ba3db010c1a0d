"""Planning by sweeps of the whole world, from the aims to the bounds."""

from __future__ import annotations

import numpy as np

from .aims import OPTIMAL, OUT_OF_ROUNDS, PAUSED, ROUNDING, TOO_LARGE, aims, bracket
from .by_steps import ENDED
from .compiling import compiled
from .layouts import action_count, is_table, pair_reward
from .sweeps import BEGUN, plan


@compiled
def plan_by_sweeps(
    layout, reward, start, offsets, rewards, guess, weights, entries, longest, relative, discount,
    tolerance, rounds, used, state, memory, work, choice, passes,
):  # fmt: skip
    """All that `planning` does, by sweeps, after `used` rounds of something else.

    reward are the rewards, [S], or [P] a pair, as the layout needs them; offsets [S + 1] are those
    of the pairs of states; guess is [S], or empty; the rest is as for `aims`. Gives back the values
    and the pairs taken [S]; the bounds; the rounds; and how it ended: after so many passes over the
    world it pauses, and goes on when it is called with the same again. state [PLACES] is all 0
    before the first call, and memory [5, S], work [7, S] (or [7, 0], if the world is deterministic)
    and choice [S] keep what it has.
    """
    n = start.size
    values, pairs = np.empty(n), np.empty(n, np.int64)
    least, most, asked, target, tie, limit, slack, per_value, largest = aims(
        rewards, weights, entries, longest, n, relative, discount, tolerance, rounds
    )
    if asked == np.inf:
        return values, pairs, -np.inf, np.inf, 0, TOO_LARGE
    lowest, highest = least / (1.0 - discount), most / (1.0 - discount)  # all values are there
    v = memory[4]
    for s in range(n if state[BEGUN] == 0.0 else 0):
        v[s] = 0.5 * (lowest + highest)
        if guess.size == n:
            v[s] = min(max(guess[s], lowest), highest)
        elif not is_table(layout):  # what a backup makes of the same value everywhere
            earned = pair_reward(layout, reward, s, 0)
            for a in range(1, action_count(layout, s)):
                earned = max(earned, pair_reward(layout, reward, s, a))
            v[s] = earned + discount * v[s]
    values, hoped, high, reached, low, reach, done, ended = plan(
        layout, reward, start, v, choice, discount, target, tie, limit - used, state, memory, work,
        passes,
    )  # fmt: skip
    if ended == PAUSED:
        return values, pairs, -np.inf, np.inf, 0, PAUSED
    for s in range(n):
        pairs[s] = offsets[s] + np.int64(choice[s])
    lower, upper = bracket(hoped, high, reached, low, reach, slack, per_value, largest, discount)
    status = OPTIMAL
    if upper - lower > asked and least != most:
        status = ROUNDING if ended == ENDED else OUT_OF_ROUNDS
    return values, pairs, lower, upper, used + done, status
