"""Where points on either side of a target meet."""

from __future__ import annotations

from .compiling import compiled


@compiled
def meet(reward, off, rewards, others, count, least):
    """least[i] ← at most the reward where a point meets 0 along i, mixed with one of the others.

    The point has that reward and lies off [n] from 0; the others have rewards[:count] and lie at
    others[:count, n].
    """
    for i in range(off.size):
        one = abs(off[i])
        if one == 0.0:
            least[i] = min(least[i], reward)
            continue
        for p in range(count):
            if others[p, i] * off[i] < 0.0:
                other = abs(others[p, i])
                mixed = (rewards[p] * one + reward * other) / (one + other)
                least[i] = min(least[i], mixed)
