"""How transitions are laid out for the kernels, and what depends on it.

`Table` is the compact layout: every pair (s, a) has one successor n(s, a), reached with probability
`own`, and otherwise the move is one of the state's moves, uniformly (own = 1: deterministic
dynamics; own < 1: a slip). `Sparse` is the general one. `layout_of` finds out which of the two a
world has, so that nobody needs to say.

What depends on the layout is declared once as a stub (`bellman`, `drift`, `pair_reward`, …) and
overloaded by the type of its arguments; the solvers are then written once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from ...arrays import Floats
from ...precision import EPS
from .compiling import compiled

if TYPE_CHECKING:
    from ..dynamics import Dynamics

WIDTHS = (4, 6, 8, 16)  # actions a table may have; fewer are padded
SLIP_TOLERANCE = 1e-15  # by how much a probability may miss the mixture that it is taken for


class Table(NamedTuple):
    """successors [S, width]; a state's missing actions repeat its last. `unroll` has width entries:
    the length of a tuple is known when a kernel is compiled."""

    successors: NDArray[np.uint32]
    own: float
    unroll: tuple[int, ...]


class Sparse(NamedTuple):
    """offsets [S + 1] of the pairs of a state; the rows of the pairs as indptr, indices, data, and
    how many entries the longest has."""

    offsets: NDArray[np.uint64]
    indptr: NDArray[Any]
    indices: NDArray[Any]
    data: Floats
    longest: int


class StateReward(NamedTuple):
    """values [S]"""

    values: Floats


class PairReward(NamedTuple):
    """values [S, width] beside a `Table`, [P] beside `Sparse`"""

    values: Floats


Layout: TypeAlias = Table | Sparse
Reward: TypeAlias = StateReward | PairReward


def layout_of(dynamics: Dynamics) -> Layout:
    """The most compact layout that holds the dynamics, exact up to rounding."""
    rows = dynamics.transitions
    indptr, indices = _unsigned(rows.indptr), _unsigned(rows.indices)
    counts = np.diff(dynamics.offsets)
    width = next((width for width in WIDTHS if width >= counts.max()), None)
    if width is not None and dynamics.n_pairs * 4 >= dynamics.n_states * width:
        if rows.nnz == dynamics.n_pairs:
            successors = padded(indices.astype(np.uint32), dynamics.offsets, width)
            return Table(successors, 1.0, (0,) * width)
        if counts.min() == width:
            successors, own = find_slip(indptr, indices, rows.data, dynamics.n_states, width)
            if own > 0.0:
                return Table(successors, own, (0,) * width)
    return sparse_layout(dynamics)


def sparse_layout(dynamics: Dynamics) -> Sparse:
    """The layout that holds any dynamics."""
    rows = dynamics.transitions
    longest = int(np.diff(rows.indptr).max())
    indptr, indices = _unsigned(rows.indptr), _unsigned(rows.indices)
    return Sparse(dynamics.offsets.view(np.uint64), indptr, indices, rows.data, longest)


def rounding_of(layout: Layout) -> float:
    """What a backup may be off by, relative to the largest reward plus the largest value."""
    if isinstance(layout, Sparse):
        return (layout.longest + 8) * EPS
    width = len(layout.unroll)
    return (2 * width + 8) * EPS + (width * SLIP_TOLERANCE if layout.own < 1.0 else 0.0)


@compiled
def padded(values, offsets, width):
    """values [P] as [S, width], the last of each state repeated where it has fewer pairs."""
    table = np.empty((offsets.size - 1, width), values.dtype)
    p = np.uint64(0)
    for s in range(np.uint64(0), np.uint64(offsets.size - 1)):
        last = np.uint64(offsets[s + np.uint64(1)] - 1)
        for a in range(np.uint64(0), np.uint64(width)):
            table[s, a] = values[p]
            p += np.uint64(p < last)
        p = last + np.uint64(1)
    return table


def _unsigned(array: NDArray[Any]) -> NDArray[Any]:
    return array.view(np.uint32 if array.dtype.itemsize == 4 else np.uint64)


@compiled
def find_slip(indptr, indices, data, n_states, width):
    """The successors and `own` of a slip mixture, or own = 0 if the rows are none.

    With m the mean of a state's rows, a mixture's rows are own·δ(n) + (1 − own)·m, and m itself is
    the mean of the δ(n): what sticks out of a row above (1 − own)·m is the successor.
    """
    successors = np.zeros((n_states, width), np.uint32)
    own = 0.0
    seen = np.empty(width * width, np.uint32)
    mean = np.empty(width * width)
    for s in range(n_states):
        n_seen = 0
        for p in range(s * width, (s + 1) * width):
            if indptr[p + 1] - indptr[p] > width:
                return successors, 0.0
            for j in range(indptr[p], indptr[p + 1]):
                i = 0
                while i < n_seen and seen[i] != indices[j]:
                    i += 1
                if i == n_seen:
                    seen[i] = indices[j]
                    mean[i] = 0.0
                    n_seen += 1
                mean[i] += data[j] / width
        if n_seen == 1:  # every action leads to the same state: that fits any mixture
            for a in range(width):
                successors[s, a] = seen[0]
            continue
        if own == 0.0:
            # Only the successor's own entry exceeds its mean m, by own·(1 − m).
            for j in range(indptr[s * width], indptr[s * width + 1]):
                for i in range(n_seen):
                    if seen[i] == indices[j] and data[j] > mean[i] * (1.0 + 1e-9):
                        own = (data[j] - mean[i]) / (1.0 - mean[i])
            if own == 0.0:
                return successors, 0.0
        for p in range(s * width, (s + 1) * width):
            found = 0
            for i in range(n_seen):
                entry = 0.0
                for j in range(indptr[p], indptr[p + 1]):
                    if indices[j] == seen[i]:
                        entry = data[j]
                rest = entry - (1.0 - own) * mean[i]
                if abs(rest - own) <= SLIP_TOLERANCE:
                    successors[s, p - s * width] = seen[i]
                    found += 1
                elif abs(rest) > SLIP_TOLERANCE:
                    return successors, 0.0
            if found != 1:
                return successors, 0.0
        # The layout takes the mean of the successors for that of the rows: compare what it says.
        for i in range(n_seen):
            leads_there = 0
            for a in range(width):
                leads_there += successors[s, a] == seen[i]
            for p in range(s * width, (s + 1) * width):
                entry = (1.0 - own) / width * leads_there
                if successors[s, p - s * width] == seen[i]:
                    entry += own
                for j in range(indptr[p], indptr[p + 1]):
                    if indices[j] == seen[i]:
                        entry -= data[j]
                if abs(entry) > SLIP_TOLERANCE:
                    return successors, 0.0
    return successors, own


def bellman(layout, reward, v, s, discount):
    """The best backup of state s and the position of the action that attains it first."""


def drift(layout, v, s, choice):
    """E v(s′) when state s takes its action number `choice`."""


def pair_reward(layout, reward, s, choice):
    """The reward of state s for its action number `choice`."""


def action_count(layout, s):
    """How many actions the layout has for state s, padding included."""


def is_deterministic(layout):
    """Whether every pair has one successor."""


def is_table(layout):
    """Whether the layout is a `Table`."""


def is_a(kind: types.Type, cls: type) -> bool:
    return getattr(kind, "instance_class", None) is cls


@overload(bellman)
def _bellman(layout, reward, v, s, discount):
    if is_a(layout, Table) and is_a(reward, StateReward):

        def table_state(layout, reward, v, s, discount):
            best = v[layout.successors[s, 0]]
            total = best
            choice = 0
            for a in range(1, len(layout.unroll)):
                value = v[layout.successors[s, a]]
                total += value
                if value > best:
                    best = value
                    choice = a
            mine, shared = discount * layout.own, discount * (1.0 - layout.own) / len(layout.unroll)
            return (reward.values[s] + shared * total) + mine * best, choice

        return table_state
    if is_a(layout, Table):

        def table_pair(layout, reward, v, s, discount):
            value = v[layout.successors[s, 0]]
            total = value
            best = reward.values[s, 0] + discount * layout.own * value
            choice = 0
            for a in range(1, len(layout.unroll)):
                value = v[layout.successors[s, a]]
                total += value
                q = reward.values[s, a] + discount * layout.own * value
                if q > best:
                    best = q
                    choice = a
            shared = (1.0 - layout.own) / len(layout.unroll)
            return best + discount * shared * total, choice

        return table_pair

    def sparse(layout, reward, v, s, discount):
        first = layout.offsets[s]
        best = -np.inf
        choice = 0
        for a in range(action_count(layout, s)):
            q = pair_reward(layout, reward, s, a)
            p = first + np.uint64(a)
            total = 0.0
            for j in range(layout.indptr[p], layout.indptr[p + np.uint64(1)]):
                total += layout.data[j] * v[layout.indices[j]]
            q += discount * total
            if q > best:
                best = q
                choice = a
        return best, choice

    return sparse


@overload(drift)
def _drift(layout, v, s, choice):
    if is_a(layout, Table):

        def table(layout, v, s, choice):
            mine = layout.own * v[layout.successors[s, choice]]
            if layout.own == 1.0:
                return mine
            total = 0.0
            for a in range(len(layout.unroll)):
                total += v[layout.successors[s, a]]
            return mine + (1.0 - layout.own) / len(layout.unroll) * total

        return table

    def sparse(layout, v, s, choice):
        p = layout.offsets[s] + np.uint64(choice)
        total = 0.0
        for j in range(layout.indptr[p], layout.indptr[p + np.uint64(1)]):
            total += layout.data[j] * v[layout.indices[j]]
        return total

    return sparse


@overload(pair_reward)
def _pair_reward(layout, reward, s, choice):
    if is_a(reward, StateReward):
        return lambda layout, reward, s, choice: reward.values[s]
    if is_a(layout, Table):
        return lambda layout, reward, s, choice: reward.values[s, choice]
    return lambda layout, reward, s, choice: reward.values[layout.offsets[s] + np.uint64(choice)]


@overload(action_count)
def _action_count(layout, s):
    if is_a(layout, Table):
        return lambda layout, s: len(layout.unroll)
    return lambda layout, s: np.int64(layout.offsets[s + np.uint64(1)] - layout.offsets[s])


@overload(is_deterministic)
def _is_deterministic(layout):
    if is_a(layout, Table):
        return lambda layout: layout.own == 1.0
    return lambda layout: False


@overload(is_table)
def _is_table(layout):
    found = is_a(layout, Table)
    return lambda layout: found
