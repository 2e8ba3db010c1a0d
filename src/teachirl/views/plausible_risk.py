"""The largest teaching risk over several plausible rewards.

Of a list it is that of one of them. Of an ellipsoid w₀ + Lz, ‖z‖ ≤ 1, with P the projection on what
the learner does not see, it is the root of max ‖Pw‖²/‖w‖², found by Dinkelbach's steps: with λ the
ratio so far, maximise ‖P(w₀ + Lz)‖² − λ‖w₀ + Lz‖², a quadratic in a ball. Its maximiser solves
(νI − Q)z = b for the least ν ≥ 0 that makes νI − Q positive semidefinite and ‖z‖ ≤ 1, which the
eigenvalues of Q tell. For w₀ = 0 and orthonormal L it is σ_max(PL): the sine of the largest angle
between the rewards and what is seen.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Floats
from ..errors import require
from ..mdp.rewards.checks import RewardsKind
from ..mdp.rewards.rewards import Rewards
from ..precision import EPS, SOLVED
from .linear_algebra import without_span
from .scorer import length_of, unit_weights
from .worldview import Worldview

# Steps of Dinkelbach's method, which takes a handful; and of a bisection.
STEPS, HALVINGS = 60, 200


def largest_risk(view: Worldview, rewards: Rewards) -> float:
    """The largest teaching risk that a plausible reward has.

    >>> import numpy as np, teachirl as ti
    >>> view, plane = ti.Worldview([[1, 0, 0]]), np.array([[0.8, 0], [0.6, 0], [0, 1]])
    >>> round(largest_risk(view, ti.Rewards.ellipsoid([0, 0, 0], plane[:, :1])), 9)
    0.6
    """
    require(
        rewards.n_features == view.n_features,
        f"rewards must have {view.n_features} weights, one a feature, got {rewards.n_features}",
    )
    if not rewards.convex:
        some = rewards.points[rewards.points.any(axis=1)]
        require(len(some) > 0, "rewards must not be all zero")
        return max(length_of(without_span(view.basis, unit_weights(view, w))) for w in some)
    require(
        rewards.kind is RewardsKind.ELLIPSOID,
        f"the teaching risk of {rewards.sentence} need not be largest at a corner, and is not "
        "known; list rewards, or take an ellipsoid around them",
    )
    return _over_ellipsoid(view, rewards.mean, rewards.root)


def _over_ellipsoid(view: Worldview, middle: Floats, root: Floats) -> float:
    size = max(float(np.abs(middle).max()), float(np.abs(root).max(initial=0.0)))
    require(size > 0.0, "rewards must not be all zero")
    middle, root = middle / size, root / size
    hidden, part = without_span(view.basis, middle), without_span(view.basis, root.T).T
    w, best = middle, 0.0
    if not middle.any():
        # All lengths are plausible, and any direction will do to begin with.
        w = root[:, int(np.linalg.norm(root, axis=0).argmax())]
    for _ in range(STEPS):
        length = float(np.linalg.norm(w))
        if length > 0.0:
            best = max(best, float(np.linalg.norm(without_span(view.basis, w))) / length)
        square = best * best
        q = part.T @ part - square * (root.T @ root)
        b = part.T @ hidden - square * (root.T @ middle)
        z = _in_ball(q, b)
        w = middle + root @ z
        gain = float(np.sum(without_span(view.basis, w) ** 2) - square * (w @ w))
        if gain <= SOLVED:
            break
    return min(best, 1.0)


def _in_ball(q: Floats, b: Floats) -> Floats:
    """The z with ‖z‖ ≤ 1 and the largest zᵀQz + 2bᵀz."""
    values, axes = np.linalg.eigh(q)
    along = axes.T @ b
    most, least = float(values[-1]), EPS * max(float(np.abs(values).max()), 1.0)

    def at(nu: float) -> Floats:
        return np.asarray(along / np.maximum(nu - values, least))

    if most < -least and float(np.linalg.norm(at(0.0))) <= 1.0:
        return np.asarray(axes @ at(0.0))
    low, high = max(most, 0.0), max(most, 0.0) + float(np.linalg.norm(b)) + least
    for _ in range(HALVINGS):
        nu = 0.5 * (low + high)
        if float(np.linalg.norm(at(nu))) > 1.0:
            low = nu
        else:
            high = nu
    z = at(high)
    # Where b has nothing along the largest eigenvalue, that direction makes up the length.
    z[-1] += np.copysign(np.sqrt(max(1.0 - float(z @ z), 0.0)), z[-1] or 1.0)
    length = float(np.linalg.norm(z))
    return np.asarray(axes @ (z / max(length, 1.0)))


__all__ = ["largest_risk"]
