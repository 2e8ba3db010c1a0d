"""Continuous dynamics on a grid of points, by multilinear interpolation.

Where a step leads between grid points, the weights of interpolation are non-negative and sum to 1:
taken as probabilities they make an MDP (Kushner and Dupuis 2001; Munos and Moore 2002). It comes
nearer to the continuous world as the grid becomes finer, and nothing certifies how near it is:
what is guaranteed is guaranteed of the grid's MDP. `compare_resolutions` compares two.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ..arrays import Floats, Names, as_floats, check_finite
from ..errors import require
from ..mdp.model import MDP
from .map import Map
from .world import World

MOST_POINTS = 5_000_000


def on_grid(
    step: Callable[[Floats, int], ArrayLike],
    features: Callable[[Floats, int], Mapping[str, ArrayLike]],
    *,
    low: ArrayLike,
    high: ArrayLike,
    shape: Sequence[int],
    actions: Sequence[str],
    discount: float,
    start: ArrayLike,
    ends: Callable[[Floats], ArrayLike] | None = None,
    axes: Sequence[str] | None = None,
    wraps: Sequence[bool] | None = None,
) -> World:
    """The MDP of continuous dynamics, on a grid of points between two corners.

    Parameters
    ----------
    step : Callable, from points [n, d] and the number of an action to where it leads, array [n, d];
        what leaves the box is put on its border
    features : Callable, from points [n, d] and the number of an action to arrays [n] by name
    low, high : arrays [d], the corners of the box
    shape : sequence of d ints, how many points in each direction, at least 2
    actions : sequence of str, what the actions are called
    discount : float in (0, 1)
    start : array [d], or [m, d]: the first point, or several that are equally likely
    ends : Callable, from where a step leads, points [n, d], to bools [n]: whether the episode ends
        there; None if it never ends
    axes : sequence of d str, what the directions are called; numbered by default
    wraps : sequence of d bool, which directions come round again, as an angle does: `high` is the
        same as `low` there; none by default

    Returns
    -------
    World, of two dimensions with a map; an MDP with a state a point, and one for the end

    Examples
    --------
    >>> import teachirl as ti
    >>> world = ti.worlds.on_grid(
    ...     lambda points, action: points + (0.1 if action else -0.1),
    ...     lambda points, action: {"place": points[:, 0]},
    ...     low=[0.0],
    ...     high=[1.0],
    ...     shape=[11],
    ...     actions=["left", "right"],
    ...     discount=0.9,
    ...     start=[0.25],
    ... )
    >>> world.mdp.n_states, world.mdp.start.round(3)[:4]
    (11, array([0. , 0. , 0.5, 0.5]))
    """
    grid = _Grid(low, high, shape, axes, wraps)
    n, count = grid.size, len(actions)
    require(count >= 1, "actions must name at least one action, got none")
    points = grid.points()
    rows: list[sp.csr_array] = []
    columns: list[dict[str, Floats]] = []
    over: NDArray[np.bool_] = np.zeros((count, n), dtype=bool)
    for action in range(count):
        reached = grid.checked(f"step(points, {action})", step(points.copy(), action), n)
        if ends is not None:
            over[action] = np.asarray(ends(reached.copy()), dtype=bool)
        rows.append(grid.weights(reached))
        columns.append(_columns(features(points.copy(), action), n, action, columns))
    sink = bool(over.any())
    mdp = MDP.from_pairs(
        np.append(np.repeat(np.arange(n), count), np.full(int(sink), n)),
        np.append(np.tile(np.arange(count), n), np.zeros(int(sink), dtype=np.int64)),
        _transitions(rows, over, sink),
        _stacked(columns, n, sink),
        discount=discount,
        start=np.append(grid.start(start), [0.0] * sink),
        n_states=n + sink,
        n_actions=count,
        state_names=grid.names() + ("the end",) * sink,
        action_names=tuple(actions),
        feature_names=tuple(columns[0]),
    )
    return World(mdp, map=grid.map(sink, count), note=grid.note)


class _Grid:
    """Points of a box, the last direction first."""

    def __init__(
        self,
        low: ArrayLike,
        high: ArrayLike,
        shape: Sequence[int],
        axes: Sequence[str] | None,
        wraps: Sequence[bool] | None,
    ) -> None:
        self.low, self.high = as_floats("low", low), as_floats("high", high)
        self.shape = tuple(shape)
        d = len(self.shape)
        for name, corner in (("low", self.low), ("high", self.high)):
            require(corner.shape == (d,), f"{name} must have shape ({d},), got {corner.shape}")
            check_finite(name, corner)
        require(bool((self.low < self.high).all()), "low must be below high in every direction")
        whole = all(isinstance(each, (int, np.integer)) and each >= 2 for each in self.shape)
        require(d >= 1 and whole, f"shape must hold whole numbers from 2 on, got {list(shape)}")
        self.size = math.prod(self.shape)
        require(
            self.size <= MOST_POINTS,
            f"shape must make at most {MOST_POINTS} points, got {self.size}",
        )
        self.axes: Names = tuple(axes) if axes is not None else tuple(map(str, range(d)))
        require(len(self.axes) == d, f"axes must have {d} names, got {len(self.axes)}")
        self.wraps = np.zeros(d, dtype=bool) if wraps is None else np.array(wraps, dtype=bool)
        require(self.wraps.shape == (d,), f"wraps must have {d} entries, got {len(self.wraps)}")

    @property
    def ticks(self) -> list[Floats]:
        """The places of the points along each direction."""
        ends = zip(self.low, self.high, self.shape, self.wraps, strict=True)
        return [
            np.linspace(low, high, count, endpoint=not wraps) for low, high, count, wraps in ends
        ]

    @property
    def note(self) -> str:
        """What a guarantee is about."""
        return (
            f"This is the MDP on a grid of {' × '.join(map(str, self.shape))} points, not the "
            "continuous world itself: nothing certifies how near they are. Compare it with a finer "
            "grid."
        )

    def points(self) -> Floats:
        """array [n, d]"""
        mesh = np.meshgrid(*self.ticks, indexing="ij")
        return np.stack(mesh, axis=-1).reshape(-1, len(self.shape))

    def checked(self, name: str, points: Any, count: int | None) -> Floats:
        """Points [n, d] in the box."""
        found = as_floats(name, points)
        wanted = (len(found) if count is None else count, len(self.shape))
        require(found.shape == wanted, f"{name} must have shape {wanted}, got {found.shape}")
        check_finite(name, found)
        inside = np.clip(found, self.low, self.high)
        around = self.low + np.mod(found - self.low, self.high - self.low)
        return np.where(self.wraps, around, inside)

    def weights(self, points: Floats) -> sp.csr_array:
        """The weights of interpolation [m, n] of points [m, d]: 2^d of them a row, sum 1."""
        counts = np.array(self.shape)
        spaces = np.where(self.wraps, counts, counts - 1)
        place = (points - self.low) / (self.high - self.low) * spaces
        base = np.clip(np.floor(place).astype(np.int64), 0, spaces - 1)
        part = np.clip(place - base, 0.0, 1.0)
        strides = np.append(np.cumprod(counts[::-1])[::-1][1:], 1)
        rows, columns, values = [], [], []
        for corner in itertools.product((0, 1), repeat=len(counts)):
            far = np.array(corner, dtype=bool)
            values.append(np.where(far, part, 1.0 - part).prod(axis=1))
            columns.append(((base + far) % counts) @ strides)
            rows.append(np.arange(len(points)))
        entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
        found = sp.csr_array(entries, shape=(len(points), self.size))
        found.eliminate_zeros()
        sums = np.asarray(found.sum(axis=1)).ravel()
        return sp.csr_array(sp.diags_array(1.0 / sums) @ found)

    def start(self, points: ArrayLike) -> Floats:
        """The probability [n] of each point where one begins at these, all equally likely."""
        first = self.checked("start", np.atleast_2d(as_floats("start", points)), None)
        begins = np.asarray(self.weights(first).mean(axis=0)).ravel()
        return np.asarray(begins / begins.sum())

    def names(self) -> Names:
        """What to call each point."""
        parts = [[f"{axis} {tick:.4g}" for tick in ticks] for axis, ticks in self._called()]
        found = tuple(", ".join(each) for each in itertools.product(*parts))
        return found if len(set(found)) == len(found) else tuple(map(str, range(self.size)))

    def _called(self) -> list[tuple[str, Floats]]:
        return list(zip(self.axes, self.ticks, strict=True))

    def map(self, sink: bool, actions: int) -> Map | None:
        """Of two directions: the first to the right, the second upwards."""
        if len(self.shape) != 2:
            return None
        across, up = self.shape
        right, height = np.divmod(np.arange(self.size), up)
        cells = (up - 1 - height) * across + right
        return Map(
            (up, across),
            np.append(cells, np.full(int(sink), -1)),
            np.zeros((actions, 2)),
            row_names=tuple(f"{tick:.3g}" for tick in self.ticks[1][::-1]),
            column_names=tuple(f"{tick:.3g}" for tick in self.ticks[0]),
            row_label=self.axes[1],
            column_label=self.axes[0],
        )


def _columns(
    found: Mapping[str, ArrayLike], n: int, action: int, others: list[dict[str, Floats]]
) -> dict[str, Floats]:
    """The features of one action, each [n]."""
    columns = {}
    for name, values in found.items():
        column = np.broadcast_to(as_floats(f"feature {name!r}", values), (n,))
        check_finite(f"feature {name!r}", column)
        columns[name] = column
    require(bool(columns), f"features(points, {action}) must give at least one, got none")
    if others:
        require(
            list(columns) == list(others[0]),
            f"features(points, {action}) must have the names that those of action 0 have, "
            f"{list(others[0])}, got {list(columns)}",
        )
    return columns


def _transitions(rows: list[sp.csr_array], over: NDArray[np.bool_], sink: bool) -> sp.csr_array:
    """[P, S], the actions of a state one after the other."""
    count, n = over.shape
    order = np.arange(count * n).reshape(count, n).T.ravel()
    stacked = sp.csr_array(sp.vstack(rows, format="csr"))
    if not sink:
        return stacked[order]
    ended = over.ravel().astype(float)
    going = sp.csr_array(sp.diags_array(1.0 - ended) @ stacked)
    going.eliminate_zeros()
    whole = sp.hstack([going, sp.csr_array(ended[:, None])], format="csr")[order]
    last = sp.csr_array(([1.0], ([0], [n])), shape=(1, n + 1))
    return sp.csr_array(sp.vstack([whole, last], format="csr"))


def _stacked(columns: list[dict[str, Floats]], n: int, sink: bool) -> Floats:
    """[P, k], the actions of a state one after the other; the end has no features."""
    by_action = [np.stack(list(each.values()), axis=1) for each in columns]
    rows = np.stack(by_action, axis=1).reshape(n * len(columns), -1)
    return np.vstack([rows, np.zeros((int(sink), rows.shape[1]))])


__all__ = ["on_grid"]
