"""The projection learner's steps in one compiled loop, where each is one compiled step anyway."""

from __future__ import annotations

from ...precision import EPS
from .layouts import compiled
from .projection import project
from .sweeps import length


@compiled
def rehearse(
    layout,
    features,
    start,
    target,
    discount,
    scale,
    tolerance,
    patience,
    steps,
    v,
    choice,
    mu,
    x,
    offsets,
    gap,
    hoped,
    idle,
):
    """At most so many steps of `learners.Projection`, to the last bit as the learner takes them.

    The arguments are those of `project`; the scale, tolerance and patience to stop by; and where
    the learner stands: v, mu and x, which are changed, the gap between the mismatch and what no
    policy's is below, the latter, and how many steps in a row have brought nothing. Gives back v,
    these three, the mismatch, and whether to stop.
    """
    goal = tolerance * scale
    enough = max(goal, 8.0 * (target.size + 8) * EPS * length(target))
    miss, ended = gap, False
    for _ in range(steps):
        needed = min(max(0.05 * (gap / scale), 1e-13), 1e-3)
        v, _, near, miss = project(
            layout, features, start, target, discount, needed, v, choice, mu, x, offsets
        )
        hoped = max(hoped, near)
        before = gap
        gap = miss - hoped
        idle = idle + 1 if gap > before - 8.0 * EPS * scale else 0
        ended = miss <= goal or gap <= 0.9 * enough or idle == patience
        if ended:
            break
    return v, gap, hoped, idle, miss, ended
