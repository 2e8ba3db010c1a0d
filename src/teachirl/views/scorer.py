"""The teaching risk after each of many candidates, kept up to date while features are taught.

With r = w − QᵀQw, Q an orthonormal basis [r, k] of what the learner sees, and f⊥ = f − QᵀQf,

    ρ(A ⊕ f; w) = ‖r − ⟨r, u⟩u‖/‖w‖,  u = f⊥/‖f⊥‖,

and ρ(A; w) if f⊥ = 0. Its square is (‖r‖² − ⟨r, f⟩²/‖f⊥‖²)/‖w‖², as ⟨r, f⟩ = ⟨r, f⊥⟩. So scoring n
candidates costs one product with them, and once u is taught one more keeps the scores up to date:
⟨r, f⟩ falls by ⟨r, u⟩⟨u, f⟩ and ‖f⊥‖² by ⟨u, f⟩². Where these differences cancel, the vectors are
formed and measured instead. To choose like that is orthogonal least squares.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ..arrays import Floats, Ints, SparseRows, as_floats, at, check_finite
from ..errors import require
from ..mdp.kernels import scoring
from ..precision import DEPENDENT, NO_RISK, RISK_TIE
from .linear_algebra import as_rows, lengths_of, unit_rows, without_span
from .worldview import Worldview, check_worldview

# If a candidate takes more of ‖r‖² than this, the rest of r is formed and measured.
NEARLY_ALL = 0.99
# From this many numbers on candidates are screened in single precision, with this relative error.
SCREEN_FROM = 10_000_000
SINGLE = 2.0**-24
# Numbers that a thread is worth starting for, and that a block of candidates may hold.
SHARED_FROM, BLOCK = 1 << 20, 1 << 21

Rows = NDArray[Any] | SparseRows  # of single or double precision
T = TypeVar("T")


class RiskScorer:
    """Candidates scored by the teaching risk after each, while features are taught one by one.

    A round costs one pass over the candidates. Where there are many, the passes run over a copy in
    single precision, and those that could be the best are scored again in double precision: the
    choice is the same. What is taught is not chosen again.

    Parameters
    ----------
    view : Worldview, what the learner sees at first
    weights : array [k], not all zero
    candidates : array [n, k], in single or double precision; kept, not copied, unless they are many
        numbers that are nearly all 0, of which only the others are kept
    screen : bool, whether to work on a copy in single precision; by default from 10⁷ numbers on

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> from teachirl.views.teaching_risk import RiskScorer
    >>> scorer = RiskScorer(ti.Worldview(np.empty((0, 3))), [1, 2, 2], np.eye(3))
    >>> scorer.best()  # of two that are as good the first
    1
    >>> scorer.teach(1)
    >>> scorer.risks().round(3), scorer.best()
    (array([0.667, 0.745, 0.333]), 2)
    """

    def __init__(
        self,
        view: Worldview,
        weights: ArrayLike,
        candidates: ArrayLike,
        *,
        screen: bool | None = None,
    ) -> None:
        check_worldview(view)
        self._given = checked_candidates(view, candidates)
        n, k = self._given.shape
        self._rank = view.rank
        self._rows = np.empty((min(view.rank + 8, k), k))
        self._rows[: view.rank] = view.basis
        self._r = without_span(view.basis, unit_weights(view, weights))
        self._risk = length_of(self._r)
        self._taught = np.zeros(n, dtype=bool)
        passed, exact = self._given, True
        if screen is None:
            screen = passed.size >= SCREEN_FROM
        if screen and not isinstance(passed, SparseRows) and passed.dtype == np.float64:
            passed, exact = _in_single_precision(passed)
        self._scores = _Scores(passed, self._basis, self._r)
        self._screening = not exact

    @property
    def risk(self) -> float:
        """The teaching risk of the view by now."""
        return self._risk

    def risks(self) -> Floats:
        """The risk after each candidate, to double precision.

        Returns
        -------
        array [n]; after one that is taught or adds nothing to the view, the risk as it is
        """
        if self._risk <= NO_RISK:
            return np.full(len(self._given), self._risk)
        scores = self._scores
        if self._screening:
            scores = _Scores(self._given, self._basis, self._r)
        shares = scores.shares()
        risks = self._risk * np.sqrt(1.0 - shares)
        close = np.flatnonzero(shares > NEARLY_ALL)
        risks[close] = self._measured(close)
        return risks

    def best(self) -> int:
        """The candidate that lowers the risk most, of those not taught; of ties the first.

        Candidates tie if their risks differ by at most 1e-10 of the present risk.

        Returns
        -------
        int, its index
        """
        scores = self._scores
        first, most = scoring.choose(
            scores.inner, scores.left, scores.total, self._taught, NO_RISK**2, RISK_TIE
        )
        require(first >= 0, "all candidates are taught: there is none left to choose")
        if self._risk <= NO_RISK or (most <= NEARLY_ALL and not self._screening):
            return int(first)
        contenders = scores.contenders(self._taught, SINGLE if self._screening else 0.0)
        if self._screening and len(contenders) > max(64, len(self._given) // 20):
            # So many close calls that single precision does not pay.
            self._scores = _Scores(self._given, self._basis, self._r)
            self._screening = False
            return self.best()
        risks = self._measured(contenders)
        bar = float(risks.min(initial=self._risk)) + RISK_TIE * self._risk
        if bar >= self._risk:
            return int(np.argmin(self._taught))
        return int(contenders[risks <= bar][0])

    def teach(self, index: int) -> None:
        """Add a candidate to what the learner sees.

        Parameters
        ----------
        index : int
        """
        n, k = self._given.shape
        i = operator.index(index)
        require(0 <= i < n, f"index must lie in 0 … {n - 1}, got {i}")
        self._taught[i] = True
        self._scores.drop(i)
        if self._rank == k:
            return
        if self._rank == len(self._rows):
            rows = np.empty((min(2 * self._rank + 8, k), k))
            rows[: self._rank] = self._rows
            self._rows = rows
        added, along, total = scoring.add_direction(
            self._rows, self._rank, self._given[i], DEPENDENT, self._r
        )
        if added:
            self._rank += 1
            self._risk = min(math.sqrt(total), self._risk)
            self._scores.deflate(self._basis, self._r, total, along)

    @property
    def _basis(self) -> Floats:
        return self._rows[: self._rank]

    def _measured(self, places: Ints) -> Floats:
        """The risk after these candidates: ‖r − ⟨r, u⟩u‖ of the vectors themselves."""
        risks = np.empty(len(places))
        for part in _parts(len(places), self._given.shape[1]):
            some = places[part]
            rows = without_span(self._basis, unit_rows(np.asarray(self._given[some], float)))
            useless = np.linalg.norm(rows, axis=1) <= DEPENDENT
            self._scores.drop(some[useless])
            # To make short vectors unit vectors magnifies what rounding left of the span in them.
            u = unit_rows(without_span(self._basis, unit_rows(rows)))
            u[useless] = 0.0
            rest = self._r - (u @ self._r)[:, None] * u
            rest -= np.einsum("ij,ij->i", rest, u)[:, None] * u
            risks[part] = np.linalg.norm(rest, axis=1)
        return np.minimum(risks, self._risk)


class _Scores:
    """⟨r, f⟩ and ‖f⊥‖² of all candidates f, scaled to length 1, relative to a basis that grows.

    Attributes
    ----------
    rows : array [n, k] in single or double precision, or sparse; the rest is double
    scales : array [n], 1/‖row‖; 0 for zero rows
    inner, left : arrays [n], ⟨r, f⟩ and ‖f⊥‖²; left ≤ 0 for what depends on the basis
    total : float, ‖r‖²
    """

    def __init__(self, rows: Rows, basis: Floats, r: Floats) -> None:
        n = len(rows)
        self.rows = rows
        self.inner, self.left = np.empty(n), np.empty(n)
        self.total = self._total_then = float(r @ r)
        lengths = _lengths(rows)
        self.scales = np.divide(1.0, lengths, out=np.zeros(n), where=lengths > 0.0)
        self._products(r)
        for part in _parts(*rows.shape):
            along = (rows[part] @ basis.T) * self.scales[part, None]
            self.left[part] = 1.0 - np.einsum("ij,ij->i", along, along)
        self._exact = self.left.copy()
        self._fallen = np.empty(n, dtype=np.int64)
        self.drop(self.scales == 0.0)
        self._measure(np.flatnonzero((self.left < 0.01) & (self.scales > 0.0)), basis, r)

    def drop(self, places: int | Ints | NDArray[np.bool_]) -> None:
        """Count these as dependent on the basis from now on: what depends on it always will."""
        self.left[places] = 0.0
        self._exact[places] = -np.inf  # never to be measured again

    def shares(self) -> Floats:
        """⟨r, f⟩²/(‖r‖²‖f⊥‖²), array [n]: what of ‖r‖² goes with each candidate."""
        squares = np.divide(
            self.inner**2, self.left, out=np.zeros(len(self.left)), where=self.left > 0.0
        )
        return np.minimum(squares / self.total, 1.0)

    def contenders(self, excluded: NDArray[np.bool_], error: float) -> Ints:
        """Those that could be best or tie with it, if the rows are right up to `error`."""
        places = np.flatnonzero(~excluded & (self.left > 0.0))
        cosines = np.sqrt(self.shares()[places])
        # A vector moved by e turns by at most about e/‖f⊥‖, which bounds the change of the cosine.
        doubt = 1e-12 + 1.1 * (error + 1e-15) / np.sqrt(self.left[places])
        least = float((cosines - doubt).max(initial=0.0))
        most = np.minimum(cosines + doubt, 1.0)
        bar = np.sqrt(1.0 - least**2) + RISK_TIE
        return np.asarray(places[np.sqrt(1.0 - most**2) <= bar])

    def deflate(self, basis: Floats, r: Floats, total: float, along: float) -> None:
        """Follow `basis`, which got one more row u, and r, which was longer by along · u."""
        self.total = total
        fallen = self._pass(basis[-1], along)
        if len(fallen):
            self._measure(fallen, basis, r)
        if self.total < scoring.RECOMPUTE * self._total_then:
            # The rounding of products with the longer r shows beside the shorter one.
            self._products(r)
            self._total_then = self.total

    def _products(self, r: Floats) -> None:
        rows, r = _along(self.rows, r)
        state = (rows, self.scales, r, self.inner)
        _shared(lambda first, last: scoring.products(*state, first, last), rows.shape)

    def _pass(self, u: Floats, along: float) -> Ints:
        """One pass over the candidates; gives back those of which little is left."""
        fallen = self._fallen
        rows, u = _along(self.rows, u)
        state = (rows, self.scales, u, along, self.inner, self.left, self._exact, fallen)

        def part(first: int, last: int) -> Ints:
            count = scoring.deflate(*state, first, last)
            return fallen[first : first + count]

        found = _shared(part, rows.shape)
        return found[0] if len(found) == 1 else np.concatenate(found)

    def _measure(self, places: Ints, basis: Floats, r: Floats) -> None:
        """Form f⊥ of these candidates, and measure it."""
        for part in _parts(len(places), self.rows.shape[1]):
            some = places[part]
            rows = without_span(basis, np.asarray(self.rows[some]) * self.scales[some, None])
            left = np.einsum("ij,ij->i", rows, rows)
            self.left[some] = self._exact[some] = left
            self.inner[some] = rows @ r
            self.drop(some[left <= DEPENDENT**2])


def _parts(n: int, k: int) -> Iterator[slice]:
    """Blocks of n rows of k numbers, each small enough to be copied."""
    length = max(BLOCK // max(k, 1), 16)
    return (slice(first, min(first + length, n)) for first in range(0, n, length))


def _shared(work: Callable[[int, int], T], shape: tuple[int, ...]) -> list[T]:
    """`work` on rows first … last − 1 of an array, by all cores if it is large enough."""
    n = shape[0]
    if n * shape[1] < SHARED_FROM:
        return [work(0, n)]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    length = -(-n // (4 * (cores or 1)))
    starts = range(0, n, length)
    with ThreadPoolExecutor(cores) as threads:
        return list(threads.map(lambda first: work(first, min(first + length, n)), starts))


def _along(rows: Rows, vector: Floats) -> tuple[NDArray[Any], Floats]:
    """Rows and a vector with the same products; of sparse rows their products, [n, 1], and 1."""
    if isinstance(rows, SparseRows):
        return (rows @ vector)[:, None], np.ones(1)
    return rows, vector


def _lengths(rows: Rows) -> Floats:
    lengths = np.empty(len(rows))
    if isinstance(rows, SparseRows):
        return lengths_of(rows)
    _shared(lambda first, last: scoring.squares(rows, lengths, first, last), rows.shape)
    return np.sqrt(lengths)


def length_of(vector: Floats) -> float:
    """Of what is left of a unit vector: rounding must not make it longer than that."""
    return min(math.sqrt(vector @ vector), 1.0)


def unit_weights(view: Worldview, weights: ArrayLike) -> Floats:
    check_worldview(view)
    w = as_floats("weights", weights)
    k = view.n_features
    require(w.shape == (k,), f"weights must have shape ({k},), one a feature, got {w.shape}")
    check_finite("weights", w)
    require(bool(w.any()), "weights must not all be zero: there is no reward to be blind to")
    return np.asarray(unit_rows(w[None, :])[0])


def checked_candidates(view: Worldview, candidates: ArrayLike) -> Rows:
    """The candidates [n, k] in rows whose squares do not under- or overflow."""
    require(not sp.issparse(candidates), "candidates must be a dense array: give .toarray()")
    single = isinstance(candidates, np.ndarray) and candidates.dtype == np.float32
    array: Rows = np.asarray(candidates) if single else as_rows("candidates", candidates)
    require(
        array.ndim == 2 and array.shape[1] == view.n_features,
        f"candidates must have shape (n, {view.n_features}), got {array.shape}",
    )
    if not isinstance(array, SparseRows):
        array = np.ascontiguousarray(array)
    lengths = _lengths(array)
    odd = np.flatnonzero(~((lengths > 1e-100) & (lengths < 1e100)))
    if len(odd) == 0:
        return array
    array = np.asarray(array)
    bad = np.argwhere(~np.isfinite(array[odd]))
    bad[:, 0] = odd[bad[:, 0]]
    require(len(bad) == 0, f"candidates must be finite, got {at(array, bad)}")
    tiny_or_huge = odd[array[odd].any(axis=1)]
    if len(tiny_or_huge):
        array = array.copy()
        array[tiny_or_huge] = unit_rows(array[tiny_or_huge])
    return array if single else as_rows("candidates", array)


def _in_single_precision(rows: Floats) -> tuple[NDArray[np.float32], bool]:
    """The rows, each times a power of 2, rounded; and whether nothing had to be rounded."""
    single = np.empty(rows.shape, dtype=np.float32)
    factors = np.ldexp(1.0, -np.frexp(_lengths(rows))[1])
    state = (rows, factors, single)
    changed = _shared(lambda first, last: scoring.round_to_single(*state, first, last), rows.shape)
    return single, not any(changed)
