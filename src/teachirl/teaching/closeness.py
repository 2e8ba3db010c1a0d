"""One number for one set of features: worst cases close enough for what is at stake, and the same
in whatever order the features were taught.

From the worst policy to the best is what is at stake, unless one terrible policy stretches that:
beside what nobody would do, all that an expert earns is nothing. An expert who earns and pays T in
all is 2T above who pays what the expert earns: no more than that is at stake.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arrays import Floats, frozen
from ..demonstrations.demonstration import Demonstration
from ..guarantees.bounds import WorstCaseBounds
from ..guarantees.worst_case import worst_case
from ..mdp.estimated import AnyMDP
from ..precision import SEARCH_TIE
from ..views.worldview import Worldview
from .matching import Matching

# No bounds are brought closer than this share of max R − min R: planning has few more digits.
CLOSEST = 1e-9
# Numbers of a view up to which its rows are put in order.
ORDERED = 1_000_000


def at_stake(width: float, weights: Floats, amounts: Floats) -> float:
    """What is at stake for an expert, in reward.

    Parameters
    ----------
    width : float, the reward between the worst policy and the best
    weights : array [k]
    amounts : array [k], the expert's feature expectations

    Returns
    -------
    float, the width; or twice all that the expert earns and pays, if that is less and not 0

    Examples
    --------
    >>> import numpy as np
    >>> at_stake(1000.0, np.array([1.0, -1000.0]), np.array([3.0, 0.0]))
    6.0
    """
    return min(width, 2.0 * float(np.abs(weights * amounts).sum()) or np.inf)


def close_enough(width: float, weights: Floats, amounts: Floats) -> float:
    """How far apart the bounds on a worst case may be.

    Parameters
    ----------
    width, weights, amounts : as in `at_stake`

    Returns
    -------
    float, a fraction of the width: a millionth of what is at stake

    Examples
    --------
    >>> import numpy as np
    >>> close_enough(1000.0, np.array([1.0, -1000.0]), np.array([50.0, 0.0]))
    1e-07
    """
    if width <= 0.0:
        return SEARCH_TIE
    return max(SEARCH_TIE * (at_stake(width, weights, amounts) / width), CLOSEST)


def worst_in_order(
    model: AnyMDP,
    view: Worldview,
    weights: Floats,
    shown: Demonstration,
    matching: Matching,
    *,
    tolerance: float,
    max_seconds: float,
    start: Floats | None = None,
) -> WorstCaseBounds:
    """The worst case of all who match, the same to the last bit in whatever order rows are seen.

    Parameters
    ----------
    model : MDP or EstimatedMDP
    view : Worldview, what they see
    weights : array [k]
    shown : Demonstration
    matching : Matching, how closely they match
    tolerance, max_seconds, start : as in `worst_case`

    Returns
    -------
    WorstCaseBounds, with the multipliers in the order of the view's rows
    """
    order = _order(view)
    if order is not None:
        view = Worldview(view.matrix[order], mdp=view.mdp)
        start = None if start is None else start[order]
    found = worst_case(
        model,
        view,
        weights,
        shown,
        matching.within(view, shown),
        tolerance=tolerance,
        max_seconds=max_seconds,
        start=start,
    )
    if order is None:
        return found
    theta = np.empty_like(found.theta)
    theta[order] = found.theta
    return replace(found, theta=frozen(theta))


def _order(view: Worldview) -> list[int] | None:
    """The rows by what is in them; None if they are in order, or too many to look."""
    if view.matrix.size > ORDERED:
        return None
    rows = [row.tobytes() for row in np.ascontiguousarray(view.matrix)]
    order = sorted(range(len(rows)), key=rows.__getitem__)
    return None if order == list(range(len(rows))) else order


__all__ = ["at_stake", "close_enough", "worst_in_order"]
