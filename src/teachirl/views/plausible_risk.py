"""The largest teaching risk over several plausible rewards.

With P the projection on what the learner does not see and Q = 1 − P, the risk of w is ‖Pw‖/‖w‖.

- Of a *list* it is that of one of them.
- Of an *ellipsoid* w₀ + Lz, ‖z‖ ≤ 1, it is the root of max ‖Pw‖²/‖w‖², found by Dinkelbach's steps:
  with λ the ratio so far, maximise ‖P(w₀ + Lz)‖² − λ‖w₀ + Lz‖², a quadratic zᵀBz + 2bᵀz in a ball.
  Its maximiser solves (νI − B)z = b for the least ν ≥ 0 that makes νI − B positive semidefinite and
  ‖z‖ ≤ 1, which the eigenvalues of B tell. For w₀ = 0 and orthonormal L it is σ_max(PL): the sine
  of the largest angle between the rewards and what is seen.
- Of a *polytope* it need not be at a vertex: between (1, .1) and (−1, .1), of which the first entry
  is seen, lies (0, .1), of which nothing is. From above, for any unit vector v with ⟨v, Pw⟩ = 0 for
  all w and ⟨v, w⟩ > 0 at all vertices,

      ‖Pw‖/‖Qw‖ ≤ ‖Pw‖/⟨v, w⟩,

  a convex function over a positive linear one, and so largest at a vertex. The best v is along the
  point of least length in the hull of the Qw_i/‖Pw_i‖. If all Pw_i point the same way the two ends
  meet, and also if Qw has one dimension and does not change its sign. From below, any reward of the
  polytope, found by steps towards vertices.
- A *box* is the polytope of its corners, if these are few; and it lies in an ellipsoid.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import scipy  # its parts are loaded when they are used

from ..arrays import Floats, frozen
from ..errors import require
from ..mdp.rewards.checks import RewardsKind
from ..mdp.rewards.rewards import Rewards
from ..precision import EPS, INVISIBLE, SOLVED
from .linear_algebra import without_span
from .scorer import length_of, unit_weights
from .worldview import Worldview

# Steps of Dinkelbach's method, which takes a handful; and of a bisection.
STEPS, HALVINGS = 60, 200
# Doubtful weights of a box up to which its corners are listed; steps towards vertices, and places
# that are looked at on the way.
CORNERS, TOWARDS, PLACES = 9, 60, 65


@dataclass(frozen=True, eq=False)
class LargestRisk:
    """The largest teaching risk that a plausible reward has, between two bounds.

    Attributes
    ----------
    lower : float in [0, 1], the risk of `weights`
    upper : float in [0, 1], no plausible reward has more; the same as `lower`, up to rounding, of
        rewards that are listed or sampled, and of an ellipsoid
    weights : array [k], plausible ones

    Examples
    --------
    >>> import teachirl as ti
    >>> found = ti.largest_risk(ti.Worldview([[1, 0]]), ti.Rewards.box([1, -0.5], [2, 0.5]))
    >>> round(found.lower, 6), round(found.upper, 6), found.weights.tolist()
    (0.447214, 0.447214, [1.0, -0.5])
    """

    lower: float
    upper: float
    weights: Floats


def largest_risk(view: Worldview, rewards: Rewards) -> LargestRisk:
    """The largest teaching risk that a plausible reward has.

    Parameters
    ----------
    view : Worldview
    rewards : Rewards

    Returns
    -------
    LargestRisk

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> view, plane = ti.Worldview([[1, 0, 0]]), np.array([[0.8, 0], [0.6, 0], [0, 1]])
    >>> round(ti.largest_risk(view, ti.Rewards.ellipsoid([0, 0, 0], plane[:, :1])).upper, 9)
    0.6
    """
    require(
        rewards.n_features == view.n_features,
        f"rewards must have {view.n_features} weights, one a feature, got {rewards.n_features}",
    )
    if rewards.kind is RewardsKind.ELLIPSOID:
        risk, w = _over_ellipsoid(view, rewards.mean, rewards.root)
        return LargestRisk(risk, risk, frozen(w))
    if rewards.kind is not RewardsKind.BOX:
        some = rewards.points[rewards.points.any(axis=1)]
        require(len(some) > 0, "rewards must not be all zero")
        if rewards.kind is RewardsKind.POLYTOPE:
            return _over_polytope(view, some)
        risks = [length_of(without_span(view.basis, unit_weights(view, w))) for w in some]
        worst = int(np.argmax(risks))
        return LargestRisk(risks[worst], risks[worst], frozen(some[worst].copy()))
    return _over_box(view, rewards)


def _over_box(view: Worldview, rewards: Rewards) -> LargestRisk:
    r = rewards.root.shape[1]
    if r == 0:
        return largest_risk(view, Rewards.listed(rewards.mean[None]))
    # ‖z‖ ≤ √r holds all of |z_i| ≤ 1.
    around, _ = _over_ellipsoid(view, rewards.mean, math.sqrt(r) * rewards.root)
    if r <= CORNERS:
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=r)))
        corners = rewards.mean + signs @ rewards.root.T
        found = _over_polytope(view, corners[corners.any(axis=1)])
        lower, upper, w = found.lower, found.upper, found.weights
    else:
        upper, (lower, w) = 1.0, _over_ellipsoid(view, rewards.mean, rewards.root)
    around = min(around + INVISIBLE, 1.0)
    return LargestRisk(lower, max(min(upper, around), lower), frozen(w))


def _over_polytope(view: Worldview, vertices: Floats) -> LargestRisk:
    """Vertices [n, k], none of them zero."""
    size = float(np.abs(vertices).max())
    points = vertices / size
    hidden = without_span(view.basis, points)
    seen = points @ view.basis.T
    lower, shares = _towards_vertices(hidden, seen)
    far = float(np.linalg.norm(hidden, axis=1).max())
    upper = 1.0
    if far <= SOLVED:  # nothing is hidden of any
        upper = max(lower, far / max(float(np.linalg.norm(points, axis=1).min()), SOLVED))
    elif view.rank:
        upper = _from_above(hidden, seen)
    w = frozen(shares @ vertices)
    return LargestRisk(lower, min(max(upper, lower), 1.0), w)


def _from_above(hidden: Floats, seen: Floats) -> float:
    """No mean of these has more of a risk: hidden [n, k] and seen [n, r] are their parts."""
    lengths = np.linalg.norm(hidden, axis=1)
    # Any v will do: that of vertices of which nearly nothing is hidden need not be exact.
    z = seen / np.maximum(lengths, 1e-6 * lengths.max())[:, None]
    scale = float(np.linalg.norm(z, axis=1).min())
    if scale == 0.0:
        return 1.0
    # The point of least length in the hull of z: least ‖zᵀm‖² + (Σm − 1)² for m ≥ 0 is along it.
    table = np.vstack([z.T / scale, np.ones(len(z))])
    m, _ = scipy.optimize.nnls(table, np.append(np.zeros(z.shape[1]), 1.0))
    v = m @ z
    length = float(np.linalg.norm(v))
    if length <= INVISIBLE * scale * float(m.sum()):
        return 1.0
    along = seen @ (v / length) * (1.0 - 8.0 * len(v) * EPS) - 8.0 * len(v) * EPS
    if not (along > 0.0).all():
        return 1.0
    tangent = float((lengths / along).max()) * (1.0 + INVISIBLE)
    return tangent / math.hypot(1.0, tangent)


def _towards_vertices(hidden: Floats, seen: Floats) -> tuple[float, Floats]:
    """A risk that some mean of the vertices has, and the shares [n] of them in it."""
    n = len(hidden)

    def risk(dark: Floats, bright: Floats) -> Floats:
        a, b = (np.linalg.norm(part, axis=-1) for part in (dark, bright))
        whole = np.hypot(a, b)
        return np.asarray(np.divide(a, whole, out=np.zeros_like(whole), where=whole > SOLVED))

    each = risk(hidden, seen)
    shares = np.eye(n)[int(each.argmax())]
    best, steps = float(each.max()), np.linspace(0.0, 1.0, PLACES)[:, None, None]
    for _ in range(TOWARDS):
        dark, bright = shares @ hidden, shares @ seen
        # All ways to a vertex at once; the best place on one of them.
        along = risk(dark + steps * (hidden - dark)[None], bright + steps * (seen - bright)[None])
        place, vertex = np.unravel_index(int(along.argmax()), along.shape)
        if along[place, vertex] <= best + SOLVED:
            break
        best, t = float(along[place, vertex]), float(steps[place, 0, 0])
        shares = (1.0 - t) * shares
        shares[vertex] += t
    return min(best, 1.0), shares


def _over_ellipsoid(view: Worldview, middle: Floats, root: Floats) -> tuple[float, Floats]:
    """The largest risk, and weights that have it."""
    size = max(float(np.abs(middle).max()), float(np.abs(root).max(initial=0.0)))
    require(size > 0.0, "rewards must not be all zero")
    middle, root = middle / size, root / size
    hidden, part = without_span(view.basis, middle), without_span(view.basis, root.T).T
    w, best, worst = middle, 0.0, middle
    if not middle.any():
        # All lengths are plausible, and any direction will do to begin with.
        w = worst = root[:, int(np.linalg.norm(root, axis=0).argmax())]
    for _ in range(STEPS):
        length = float(np.linalg.norm(w))
        if length > 0.0:
            here = float(np.linalg.norm(without_span(view.basis, w))) / length
            best, worst = (here, w) if here > best else (best, worst)
        square = best * best
        q = part.T @ part - square * (root.T @ root)
        b = part.T @ hidden - square * (root.T @ middle)
        z = _in_ball(q, b)
        w = middle + root @ z
        gain = float(np.sum(without_span(view.basis, w) ** 2) - square * (w @ w))
        if gain <= SOLVED:
            break
    return min(best, 1.0), worst * size


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


__all__ = ["LargestRisk", "largest_risk"]
