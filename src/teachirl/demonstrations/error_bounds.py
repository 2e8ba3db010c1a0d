"""How far feature expectations that are estimated from episodes may be off.

An episode i is worth F_i = Σ_t γᵗ φ(s_t, a_t), over all its steps, seen or not, and μ = E F_i. Seen
are its first H_i steps, worth X_i; the estimate m of μ is the mean of the X_i over n episodes.

**Bias.** What was not seen of an episode that was cut off is worth at most
B_i = γ^H_i max‖φ‖ / (1−γ); of one that terminated, B_i = 0. So ‖mean F − m‖ ≤ bias = mean B always,
whatever it was that cut the episodes off, since both means are over the same episodes.

**Radius.** With probability 1 − δ, ‖mean F − μ‖ ≤ radius; hence ‖m − μ‖ ≤ bias + radius. It is the
smallest of three bounds. All F_i lie in a set of diameter D = diam φ / (1−γ), as (1−γ)F_i is a mean
of rows of φ (a terminal state has a row, of zeros); so D itself is a bound. The other two hold with
probability 1 − δ/2 each, hence together with 1 − δ:

- Of Hoeffding's kind (McDiarmid 1989, bounded differences). One episode moves ‖mean F − μ‖ by at
  most D/n, and its expectation is at most √(σ²/n) ≤ D/√(2n), for
  σ² = E‖F − μ‖² = ½ E‖F − F′‖² ≤ D²/2. So, except with probability δ′, it is at most

      D/√n · (1/√2 + √(ln(1/δ′)/2)).

- Of Bernstein's kind (Pinelis 1994, theorem 3.4, for a Hilbert space). As ‖F − μ‖ ≤ D,
  P(‖mean F − μ‖ ≥ r) ≤ 2 exp(−nσ²/D² h(rD/σ²)) with h(u) = (1+u) ln(1+u) − u, and
  h(u) ≥ 9 (1 + u/3 − √(1 + 2u/3)), which has an inverse in closed form: except with probability δ″,
  ‖mean F − μ‖ is at most

      √(2σ²L/n) + DL/(3n),  L = ln(2/δ″).

  σ² is not known, but the Y_j = ½‖F_{2j−1} − F_{2j}‖², j = 1 … p = ⌊n/2⌋, are independent, lie in
  [0, b] with b = D²/2, and have mean σ². A mean of non-negative variables is rarely far too small
  (Maurer 2003): P(σ² − mean Y ≥ t) ≤ exp(−pt²/(2 E Y²)), and E Y² ≤ bσ². Solved for σ, except with
  probability δ‴,

      σ ≤ √(mean Y + bL′/(2p)) + √(bL′/(2p)),  L′ = ln(1/δ‴).

  The F_i are not seen whole, so Y_j is replaced by ½ (‖X_{2j−1} − X_{2j}‖ + B_{2j−1} + B_{2j})²,
  capped at b, which is never smaller. We take δ″ = δ‴ = δ/4.

What this assumes of recorded episodes: they are independent, all of one expert, in this MDP and
from its start, and none was left out for how it went (for being long, or a failure). Their lengths
may differ, and the cuts may depend on what happened. Sampled episodes are so by construction.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..arrays import Floats
from ..mdp.model import MDP
from ..precision import EPS
from .trajectories import Trajectories

# Distances between all rows are computed for at most this many distinct rows and entries.
PAIRWISE_ROWS, PAIRWISE_ENTRIES = 2_000, 1 << 20
CHUNK_ENTRIES = 1 << 22


def hoeffding_radius(diameter: float, episodes: int, failure: float) -> float:
    """The bound of Hoeffding's kind on ‖mean F − μ‖, which fails with probability `failure`."""
    return diameter / math.sqrt(episodes) * (math.sqrt(0.5) + math.sqrt(-math.log(failure) / 2))


def bernstein_radius(diameter: float, episodes: int, half_squares: Floats, failure: float) -> float:
    """The bound of Bernstein's kind on ‖mean F − μ‖, which fails with probability `failure`.

    Parameters
    ----------
    half_squares : array [episodes // 2] of the Y_j (or of upper bounds on them), not empty
    """
    n, b = len(half_squares), diameter**2 / 2
    slack = b * math.log(2 / failure) / (2 * n)
    sigma = math.sqrt(float(half_squares.mean()) + slack) + math.sqrt(slack)
    L = math.log(4 / failure)
    return sigma * math.sqrt(2 * L / episodes) + diameter * L / (3 * episodes)


def confidence_radius(
    diameter: float, episodes: int, half_squares: Floats, failure: float
) -> float:
    """The smallest of the bounds on ‖mean F − μ‖; together they fail with probability `failure`."""
    if len(half_squares) == 0:
        return min(diameter, hoeffding_radius(diameter, episodes, failure))
    return min(
        diameter,
        hoeffding_radius(diameter, episodes, failure / 2),
        bernstein_radius(diameter, episodes, half_squares, failure / 2),
    )


def feature_diameter(mdp: MDP) -> float:
    """An upper bound on the largest distance ‖φ − φ′‖ between two rows of the features.

    It is exact, up to rounding, for up to 2,000 different rows and for one-hot features.

    >>> import teachirl as ti
    >>> from teachirl.demonstrations.error_bounds import feature_diameter
    >>> round(feature_diameter(ti.worlds.gridworld(100)), 6)
    1.414214
    """
    scale = mdp.largest_feature
    if scale == 0.0:
        return 0.0
    if math.prod(mdp.features.shape) <= PAIRWISE_ENTRIES:
        small = np.unique(_dense(mdp.features), axis=0)
        if len(small) <= PAIRWISE_ROWS:
            apart = small - small[0]  # exact but for one rounding, however far from 0 they are
            largest = float(np.abs(apart).max()) or 1.0
            return largest * _pairwise_diameter(apart / largest) * (1 + 8 * EPS)
    phi: Any = mdp.features / scale  # so that no square under- or overflows
    lower, upper = (_dense(side(axis=0)).ravel() for side in (phi.min, phi.max))
    mean = np.asarray(phi.mean(axis=0)).ravel()
    # All rows lie in a ball around any centre. Seen from a corner of their bounding box all of
    # them lie in one orthant, where ‖a − b‖² ≤ ‖a‖² + ‖b‖².
    around = (np.zeros_like(mean), mean, (lower + upper) / 2)
    squared = [4 * _squared_norms(phi, centre).max() for centre in around]
    squared += [2 * _squared_norms(phi, corner).max() for corner in (lower, upper)]
    # Rows have length 1 at most; each is rounded when it is scaled and when it is centred.
    return scale * (math.sqrt(min(squared)) + 8 * EPS)


def _dense(small: Any) -> Floats:
    return small if isinstance(small, np.ndarray) else np.asarray(small.toarray())


def _pairwise_diameter(rows: Floats) -> float:
    # Centred, no squared norm exceeds the squared diameter, so that nothing cancels below.
    rows = rows - rows.mean(axis=0)
    norms = np.einsum("ij,ij->i", rows, rows)
    squared = norms[:, None] + norms - 2 * (rows @ rows.T)
    rounding = 4 * (rows.shape[1] + 4) * EPS * float(norms.max())
    return math.sqrt(float(squared.max()) + rounding) if norms.any() else 0.0


def _squared_norms(phi: Any, centre: Floats | None = None) -> Floats:
    """‖φ − centre‖² of all rows, rounded up where terms cancel; no centre is 0."""
    if isinstance(phi, np.ndarray):
        squares = np.empty(len(phi))
        rows = max(1, CHUNK_ENTRIES // max(1, phi.shape[1]))
        for first in range(0, len(phi), rows):
            part = phi[first : first + rows]
            part = part if centre is None else part - centre
            squares[first : first + rows] = np.einsum("ij,ij->i", part, part)
        return squares
    squares = np.asarray(phi.multiply(phi).sum(axis=1)).ravel()
    if centre is None or not centre.any():
        return squares
    total = float(centre @ centre)
    rounding = 4 * (phi.shape[1] + 4) * EPS * (squares + total)
    return np.asarray(squares - 2 * (phi @ centre) + total + rounding)


def mean_and_gaps(mdp: MDP, trajectories: Trajectories) -> tuple[Floats, Floats]:
    """The mean of the X_i, [k], and the ‖X_{2j−1} − X_{2j}‖, [m // 2].

    The X_i themselves, [m, k], are never held all at once.
    """
    phi: Any = mdp.features
    offsets, lengths, m = trajectories.offsets, trajectories.lengths, len(trajectories)
    rows = trajectories.pairs if mdp.features_per_pair else trajectories.states
    steps = np.arange(len(rows)) - np.repeat(offsets[:-1], lengths)
    weights = (mdp.discount ** np.arange(lengths.max(), dtype=float))[steps]
    totals = np.bincount(rows, weights=weights, minlength=phi.shape[0])
    mean = np.asarray(phi.T @ totals) / m
    signs = np.repeat(np.where(np.arange(m) % 2, -1.0, 1.0), lengths)
    starts = offsets[: 2 * (m // 2) + 1 : 2]
    gaps = np.empty(m // 2)
    scale = mdp.largest_feature or 1.0
    scaled = phi / scale  # so that no square under- or overflows
    size = phi.shape[1]
    if not isinstance(phi, np.ndarray):
        widest = int(np.diff(phi.indptr).max(initial=0))
        size = min(size, 2 * int(lengths.max()) * widest)
    chunk = max(1, CHUNK_ENTRIES // max(1, size))
    for first in range(0, m // 2, chunk):
        ends = starts[first : first + chunk + 1]
        span = slice(ends[0], ends[-1])
        difference = sp.csr_array(
            (weights[span] * signs[span], rows[span], ends - ends[0]),
            shape=(len(ends) - 1, phi.shape[0]),
        )
        gaps[first : first + chunk] = scale * np.sqrt(_squared_norms(difference @ scaled))
    return mean, gaps


__all__ = [
    "bernstein_radius",
    "confidence_radius",
    "feature_diameter",
    "hoeffding_radius",
    "mean_and_gaps",
]
