"""How exact a plan is asked to be, how exact it can be, and the bounds that it then has.

Both ways to plan, by sweeps and by components, take their aims from here and give back the same
bounds; `planning` says why they hold.
"""

from __future__ import annotations

import math

import numpy as np

from ...precision import EPS
from .compiling import compiled

TINY = 5e-324  # the smallest float above 0
# How a plan ended, or that it is to go on; what is too large has no plan.
OPTIMAL, ROUNDING, OUT_OF_ROUNDS, UNFINISHED, TOO_LARGE, PAUSED = 0, 1, 2, 3, 4, 5


@compiled
def extremes(values):
    """The least and the largest, in one pass."""
    low, high = np.inf, -np.inf
    for value in values.flat:
        low = value if value < low else low
        high = value if value > high else high
    return low, high


@compiled
def length(vector):
    """‖vector‖, without under- or overflow of squares."""
    scale = 0.0
    for entry in vector:
        scale = max(scale, abs(entry))
    if scale == 0.0:
        return 0.0
    total = 0.0
    for entry in vector:
        total += (entry / scale) ** 2
    return scale * np.sqrt(total)


@compiled
def most_product(vector, largest):
    """Σ |vector_i| largest_i: no ⟨vector, φ⟩ with |φ_i| ≤ largest_i is above."""
    total = 0.0
    for i in range(vector.size):
        total += abs(vector[i]) * largest[i]
    return total


@compiled
def certain_rounds(discount, target, error):
    """Rounds after which the contraction alone has brought an error down to the target."""
    if not target > 0.0:
        return 1
    wanted = target * (1.0 - discount) / (4.0 * discount)
    # Of the smallest γ, `wanted` overflows; of the smallest targets, it underflows.
    sweeps = 0.0
    if wanted < error:
        sweeps = math.log(max(wanted / error, TINY)) / math.log(discount)
    return math.ceil(sweeps) + 3  # every round backs up each state at least once


@compiled
def aims(rewards, weights, entries, longest, n_states, relative, discount, tolerance, rounds):
    """What to plan for: the least and the largest reward; how far apart the bounds may be; those of
    the values, and how far from the best an action may be to count as tied; the rounds allowed,
    certain to suffice if `rounds` is negative; what rounding may do to a start value, and to one
    unit of the largest value; and the largest value that rewards allow. Of weights that are not
    finite, or too large to plan with, the bounds may be infinitely far apart.

    entries [k] are the largest |φ_i|, longest is the largest ‖φ‖: of features in very different
    units only those count that have weight. relative is what a backup may be off by.
    """
    least, most = extremes(rewards)
    # A bound on Σ |w_i φ_i|.
    norms = min(length(weights) * longest, most_product(weights, entries))
    rest = 1.0 - discount
    largest = max(abs(least), abs(most)) / rest
    finite = math.isfinite(1e6 * (norms + largest) / rest**2)
    for weight in weights:
        finite &= math.isfinite(weight)
    k = weights.size
    # One reward and one backup are rounded, times 1/(1 − γ); the last term is what may underflow.
    tiny = TINY * (k + n_states + 2.0 * relative / EPS) if norms > 0.0 else 0.0
    slack, per_value = ((k + 1) * EPS * norms + tiny) / rest, 2.0 * relative / rest
    asked = tolerance * (most - least) / rest if finite else np.inf
    noise = slack + per_value * largest
    # Half of what is asked goes to the values, half to actions that are tied within it.
    target = max(0.5 * (asked - 2.0 * noise), 2.0 * noise)
    tie = 0.5 * rest * target
    limit = rounds
    if rounds < 0 and finite:
        limit = certain_rounds(discount, target, 2.0 * largest)
    return least, most, asked, target, tie, limit, slack, per_value, largest


@compiled
def bracket(hoped, high, reached, low, reach, slack, per_value, largest, discount):
    """The bounds, given the start's mean of Tv and the largest of Tv − v, the start's mean of T_π v
    and the least of T_π v − v, and the largest |v|."""
    noise = slack + per_value * max(largest, reach)
    beyond = discount / (1.0 - discount)
    # The start and the rows sum to 1 up to rounding only, and l and h are weighted by their sums.
    sums = (64.0 * EPS + per_value) * beyond
    upper = hoped + beyond * high + sums * abs(high) + noise
    lower = reached + beyond * low - sums * abs(low) - noise
    # The last operation is rounded as well; a sum that is 0 is exact.
    return (
        np.nextafter(lower, -np.inf) if lower != 0.0 else lower,
        np.nextafter(upper, np.inf) if upper != 0.0 else upper,
    )
