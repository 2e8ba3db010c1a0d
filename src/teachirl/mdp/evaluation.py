"""What a policy is worth, and where it goes: linear systems with I − γP, for many right hand sides.

P [S, S] is the Markov chain of a policy. Values solve (I − γP) V = R for rewards R [S, m], visits
solve (I − γPᵀ) Y = B for sources B [S, m]. Whoever finds them, what they are off by can be seen,
column by column:

    V with D = R + γPV − V:    V + D + γ/(1 − γ)·mid(D) is within γ/(1 − γ)·(max D − min D)/2,
    Y with D = B + γPᵀY − Y:   ‖Y − Y*‖₁ ≤ ‖D‖₁/(1 − γ).

Of six ways (`Method`) the first is taken that is cheap for the chain. Which one that is, counts of
entries, products and steps decide, so that it is the same on every machine. Policies of a world
are much alike: what is dear to find out, `Usual`, is found out once for a world.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp  # its parts are loaded when they are used
from numpy.typing import NDArray

from ..arrays import Floats, frozen
from ..precision import RESIDUAL, SOLVED
from . import clock
from .band_order import in_a_band
from .kernels.block_elimination import Factors, substitute, substitute_transposed
from .kernels.chains import outflow, reordered, transposed, without_flow, without_loops
from .kernels.compiling import Kernel
from .kernels.components import strong_components
from .kernels.linear import Flow
from .kernels.mixing import (
    flow_error,
    flow_left,
    rows_back,
    rows_in,
    settle_values,
    sizes,
    values_left,
)
from .kernels.small_chains import BALANCED, GAVE_UP, TOO_FAR, small_values, small_visits
from .pieces import eliminated, flow_solved, iterated, lanes_solved, swept
from .right_hand_sides import FEW, Method, Solved, parts_of, together

if TYPE_CHECKING:
    from .dynamics import Dynamics

# Elimination may store so many entries in each factor, as a multiple of those that the chain has,
# and take so many products for each of them: at most, and for each column.
FILL, MOST_WORK, WORK = 3.0, 100, 8
# A chain with so many entries is small: to call kernels one by one takes longer than they do.
SMALL = 5000
# What solves such a chain at once takes seconds to compile, and saves a tenth of a millisecond.
OFTEN = 1000
# A chain mixes if so many steps suffice; after so many it is known how many there will be.
STEPS, PROBE = 60, 25
# BiCGSTAB gives up after so many steps.
KRYLOV_STEPS = 2000
# With more products of a band matrix a factorisation may take seconds.
MOST_BAND = 20_000_000_000
# What ways cost, in products, as measured: a step of BiCGSTAB for each entry; elimination in a
# band, as a multiple of its products; SuperLU for each entry, and as a multiple of these products.
PASSES, BANDED, PREPARING, SPARSER = 6.0, 1.5, 500.0, 0.02
# With more of these products SuperLU may take a second: a thread does it.
LONG = 200_000_000.0

Rows: TypeAlias = tuple[NDArray[Any], NDArray[Any], Floats]  # indptr, indices, data


class Usual(NamedTuple):
    """What suits the policies of a world that elimination does not.

    Attributes
    ----------
    mixes : whether iteration does
    steps : of BiCGSTAB for a column, if not
    band : how many products elimination needs in the order [S] in which entries lie in a band
    order
    """

    mixes: bool
    steps: int = 0
    band: float = math.inf
    order: NDArray[np.uint32] | None = None


class Chain:
    """The Markov chain of a policy, to be solved for values and visits.

    Parameters
    ----------
    rows : (indptr, indices, data) of P, each entry once
    discount : float, γ
    usual : says what suits the policies of its world; by default it is found out for this one
    sparse : bool, whether to try elimination
    """

    def __init__(
        self,
        rows: Rows,
        discount: float,
        usual: Callable[[], Usual] | None = None,
        sparse: bool = True,
    ) -> None:
        self.rows, self.discount, self.sparse = _flow(rows, discount), discount, sparse
        self._usual = usual
        self.small = sparse and len(self.rows.data) <= SMALL
        # Of what there is this share is left over: a few eps of a residual, times 1/(1 − γ).
        self.goal = max(SOLVED, RESIDUAL / (1.0 - discount))

    def values(self, rewards: Floats, share: float = 0.0, guess: Floats | None = None) -> Solved:
        """V [S, m] with (I − γP) V = R, for rewards R [S, m].

        Of the largest rewards this share may be left over, if it is more than rounding. The guess
        [S, m] is values to start from.
        """
        guesses = repeat(None) if guess is None else map(np.copy, parts_of(guess))
        parts = zip(parts_of(rewards), guesses, strict=False)
        return together([self._values(*part, share) for part in parts], rewards.shape[1])

    def visits(self, sources: Floats, share: float = 0.0) -> Solved:
        """Y [S, m] with (I − γPᵀ) Y = B, for sources B [S, m]; of which this share may be left
        over, if it is more than rounding."""
        return together([self._visits(part, share) for part in parts_of(sources)], sources.shape[1])

    def _values(self, b: Floats, guess: Floats | None, share: float) -> Solved:
        found = self._at_once(small_values, b)
        if found is None:
            most = sizes(b)[0]
            v, off, left, method = self._solved(b, max(self.goal, share) * most, False, guess)
            found = Solved(v, settle_values(self.rows, v, off, *left, most), method)
        return found

    def _visits(self, b: Floats, share: float) -> Solved:
        found = self._at_once(small_visits, b)
        if found is None:
            most = sizes(b)[1]
            y, method, goals = b / (1.0 - self.discount), Method.ITERATION, self.goal * most
            left = flow_left(self.rows, b, y, np.empty_like(b))
            if np.any(left[0] > goals):  # the sources are not in balance
                y, _, left, method = self._solved(b, np.maximum(goals, share * most), True)
            found = Solved(y, flow_error(self.rows, *left, most), method)
        return found

    def _at_once(self, solve: Kernel, b: Floats) -> Solved | None:
        """What elimination finds of a small chain, in one call; None where that is not enough."""
        clock.look()
        if not self.small or b.shape[1] <= self._gave_up or not solve.pays(OFTEN):
            return None
        indices = frozen(self.rows.indices.view())
        x, error, how = solve(self.rows, indices, b, self.goal, *self._allowed(b.shape[1]))
        if how == GAVE_UP:
            self._gave_up = b.shape[1]
        if how in (GAVE_UP, TOO_FAR):
            return None
        return Solved(x, error, Method.ITERATION if how == BALANCED else Method.ELIMINATION)

    _gave_up = 0  # for so many columns elimination would take too much

    def _allowed(self, columns: int) -> tuple[int, int]:
        """How many entries elimination may store in each factor, and how many products it may
        take, for so many columns."""
        entries = len(self.rows.data)
        return int(FILL * entries) + 1, min(WORK * columns, MOST_WORK) * entries

    def _solved(
        self, b: Floats, goals: Floats, flow: bool, guess: Floats | None = None
    ) -> tuple[Floats, Floats, Any, Method]:
        """x; what it leaves over of b, at most the goals [m]; how much that is; and by whom.

        A guess spares some steps of those who get nearer step by step.
        """
        off = np.empty_like(b)
        left = flow_left if flow else values_left
        for method in self._ways(b.shape[1]):
            clock.look()
            solve = getattr(self, f"_by_{method.name.lower()}")
            if guess is not None and method in (Method.ITERATION, Method.KRYLOV):
                left(self.rows, b, guess, off)
                x = solve(frozen(off.view()), goals, flow)
                x = None if x is None else x + guess
            else:
                x = solve(b, goals, flow)
            for _ in range(3):
                if x is None:
                    break
                much = left(self.rows, b, x, off)
                missed = much[0] if flow else 0.5 * (much[1] - much[0])
                # What broke down is no number, and compares with nothing.
                enough = np.all((missed >= 0.0) & (missed <= goals))
                if enough or method is Method.SWEEPS:
                    break
                more = solve(frozen(off.view()), 0.01 * goals, flow)
                x = None if more is None else x + more
            else:
                continue
            if x is not None:
                break
        return x, off, much, method

    def _ways(self, columns: int) -> Iterator[Method]:
        """What to try, for so many columns, until something succeeds."""
        if self.sparse and columns > self._gave_up:
            yield Method.ELIMINATION
        usual = self.usual
        if usual.mixes:
            yield Method.ITERATION
        entries, band = len(self.rows.data), usual.band
        products = {Method.KRYLOV: PASSES * usual.steps * columns * entries}
        if band <= MOST_BAND:
            products[Method.BAND] = BANDED * band
            products[Method.FACTORS] = self._sparse_products
        yield from sorted(products, key=products.__getitem__)
        yield Method.SWEEPS

    @cached_property
    def usual(self) -> Usual:
        """What suits this chain, if elimination does not."""
        return usual_way(self) if self._usual is None else self._usual()

    @cached_property
    def _components(self) -> tuple[NDArray[np.uint32], NDArray[np.int64], Flow]:
        """The states in an order in which most edges lead back, where components end in it, and
        the rows of P with the states numbered so."""
        order, bounds = strong_components(self.rows.indptr, frozen(self.rows.indices.view()))
        return order, bounds, _flow(reordered(*self.rows[:3], order), self.discount)

    def _by_elimination(self, b: Floats, goals: Floats, flow: bool) -> Floats | None:
        order, bounds, rows = self._components
        if self._sparse_factors is None:
            self._sparse_factors = eliminated(rows, bounds, *self._allowed(b.shape[1]))
            if self._sparse_factors is None:
                return None
        return _substituted(self._sparse_factors, rows, bounds, order, b, flow)

    _sparse_factors: Factors | None = None

    def _by_band(self, b: Floats, goals: Floats, flow: bool) -> Floats | None:
        factors, rows, bounds = self._band_factors
        if factors is None:
            return None
        return _substituted(factors, rows, bounds, self.usual.order, b, flow)

    @cached_property
    def _band_factors(self) -> tuple[Factors | None, Flow, NDArray[np.int64]]:
        rows = _flow(reordered(*self.rows[:3], self.usual.order), self.discount)
        n = len(rows.indptr) - 1
        bounds, room = np.array([0, n]), int(math.sqrt(n * self.usual.band)) + 1
        factors = eliminated(rows, bounds, room, np.iinfo(np.int64).max)
        return factors, rows, bounds

    @cached_property
    def _inflow(self) -> Flow:
        return _flow(transposed(*self.rows[:3]), self.discount)

    def _by_iteration(self, b: Floats, goals: Floats, flow: bool) -> Floats | None:
        # Of 1/(1 − γ) times the source each step keeps the sum, and that is the right one.
        x = b / (1.0 - self.discount) if flow else b.copy()
        operator = self._inflow if flow else self.rows
        return x if iterated(operator, b, x, goals, flow, PROBE, STEPS) else None

    @cached_property
    def _system(self) -> tuple[Flow, Floats]:
        """What BiCGSTAB solves for values, in the components' order and without loops; what leaves
        a state other than by its loop."""
        *rows, leaving = without_loops(*self._components[2])
        return _flow(rows, self.discount), leaving

    @cached_property
    def _back(self) -> Flow:
        """What it solves for visits."""
        return _flow(transposed(*self._system[0][:3]), self.discount)

    def _by_krylov(self, b: Floats, goals: Floats, flow: bool) -> Floats | None:
        order = self._components[0]
        operator, leaving = self._system
        operator = self._back if flow else operator
        # What counts of values is the largest entry of what is left over, not the sum.
        goals = 0.25 * goals if flow else 0.025 * len(b) * goals
        source = rows_in(b, order)
        if not flow:
            source /= leaving[:, None]
        if b.shape[1] < FEW:
            x = np.empty_like(source)
            for i, goal in enumerate(goals):
                column = np.ascontiguousarray(source[:, i])
                x[:, i], left, self.steps = flow_solved(operator, column, goal, KRYLOV_STEPS)
                if left > 4.0 * goal:
                    return None
        elif (x := lanes_solved(operator, source, goals, flow, KRYLOV_STEPS)) is None:
            return None
        if flow:
            x /= leaving[:, None]
        return np.asarray(rows_back(x, order))

    steps = 0  # that BiCGSTAB took for the last single column

    @cached_property
    def _superlu(self) -> Any:
        """The factors of I − γPᵀ, an M-matrix, so that no pivots are needed."""
        # To be transposed twice puts the entries of a row in order.
        indptr, indices, data = without_flow(*transposed(*self._inflow[:3]), self.discount)
        n = len(indptr) - 1
        matrix: Any = sp.csc_array((data, indices, indptr), shape=(n, n))
        kind: Any = {"permc_spec": "MMD_AT_PLUS_A", "options": {"SymmetricMode": True}}
        long = self._sparse_products > LONG
        return clock.aside(lambda: sp.linalg.splu(matrix, diag_pivot_thresh=0.0, **kind), long)

    def _by_factors(self, b: Floats, goals: Floats, flow: bool) -> Floats:
        factors, way, long = self._superlu, "N" if flow else "T", self._sparse_products > LONG
        return np.ascontiguousarray(clock.aside(lambda: factors.solve(b, way), long))

    @property
    def _sparse_products(self) -> float:
        """What SuperLU costs, in products."""
        return PREPARING * len(self.rows.data) + SPARSER * self.usual.band

    def _by_sweeps(self, b: Floats, goals: Floats, flow: bool) -> Floats:
        operator = self._inflow if flow else self.rows
        x = np.zeros_like(b)
        for i in np.flatnonzero(goals):
            x[:, i] = swept(operator, np.ascontiguousarray(b[:, i]), goals[i], flow)
        return x

    def probe(self) -> tuple[bool, int]:
        """Whether the chain mixes, and otherwise how many steps of BiCGSTAB it takes."""
        n = len(self.rows.indptr) - 1
        # Neither even, as what is in balance may be, nor without differences between far states.
        place = np.arange(n)
        source = frozen((place + 0.5 * n * (1.0 + np.cos(place**1.5)) + 1.0)[:, None])
        goals = self.goal * sizes(source)[1]
        if self._by_iteration(source, goals, True) is not None:
            return True, 0
        self._by_krylov(source, goals, True)
        return False, self.steps


def _flow(rows: Sequence[NDArray[Any]], discount: float) -> Flow:
    indptr, indices, data = rows
    return Flow(indptr, indices, data, discount)


def _substituted(
    factors: Factors, rows: Flow, bounds: NDArray[np.int64], order: Any, b: Floats, flow: bool
) -> Floats:
    """(I − γP)⁻¹b, or with Pᵀ, by factors of the chain in this order."""
    x = rows_in(b, order)
    solve = substitute_transposed if flow else substitute
    solve(*rows, bounds, factors, x)
    return np.asarray(rows_back(x, order))


def usual_way(chain: Chain, graph: tuple[NDArray[Any], NDArray[Any]] | None = None) -> Usual:
    """What suits chains like this one, with edges of the graph (indptr, indices) only."""
    mixes, steps = chain.probe()
    if mixes:
        return Usual(True)
    return Usual(False, steps, *in_a_band(*(chain.rows[:2] if graph is None else graph)))


def usual_of(dynamics: Dynamics) -> Usual:
    """What suits the policies of a world, found out with one that is as good as drawn at random."""
    counts = np.diff(dynamics.offsets)
    chances = np.zeros(dynamics.n_pairs)
    drawn = np.random.default_rng(0).integers(0, counts)
    chances[dynamics.offsets[:-1] + drawn] = 1.0
    rows = dynamics.transitions
    chain = outflow(dynamics.offsets, frozen(chances), rows.indptr, rows.indices, rows.data)
    # The pairs of a state are neighbours, so their successors together are the state's.
    graph = (rows.indptr[dynamics.offsets], rows.indices)
    return usual_way(Chain(chain, dynamics.discount), graph)
