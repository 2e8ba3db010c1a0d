"""Random numbers that come out in every way: a generator that branches instead of drawing.

A simulator draws its chances from a generator. Given this one, a step is run again and again, each
time with the draws coming out in another way, until all ways were taken, and each has its exact
probability: nothing is sampled. A draw from [0, 1) is kept as an interval, which is cut where it is
compared with something: ``random() < 0.3`` has two ways, a comparison with cumulated probabilities
as many as there are of them. What would need more than comparisons has no end of ways: refused.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NoReturn, TypeVar

import numpy as np

from ..errors import InvalidInputError, require

T = TypeVar("T")
# Cumulated probabilities may end so little below 1, by rounding: what is left above is no way.
SHORT_OF_ONE = 1e-12
CAN = "integers, choice, permutation, shuffle, or random() compared with numbers"


class BranchingGenerator:
    """Stands in for a `numpy.random.Generator`.

    Parameters
    ----------
    max_branches : int, how many ways one call may have, and how many draws each of them
    deadline : float, until when, by `time.monotonic`
    """

    def __init__(self, max_branches: int, deadline: float = math.inf) -> None:
        self._max, self._deadline = max_branches, deadline
        # Which of its ways each draw of this run takes, and the chances of all of its ways.
        self._taken: list[int] = []
        self._chances: list[Sequence[float]] = []
        self._draws = 0
        self._running = False

    def every(self, run: Callable[[], T]) -> Iterator[tuple[float, T]]:
        """What a function returns, with its probability, in each way its draws can come out."""
        self._taken, self._chances = [], []
        branches = 0
        while True:
            branches += 1
            if branches > self._max:
                self._refuse(f"it has more than {self._max} ways to come out; allow max_branches")
            self._look()
            self._draws, self._running = 0, True
            found = run()
            self._running = False
            if self._draws < len(self._taken):
                self._not_repeated()
            yield math.prod(map(_nth, self._chances, self._taken)), found
            while self._taken and self._taken[-1] + 1 == len(self._chances[-1]):
                self._taken.pop()
                self._chances.pop()
            if not self._taken:
                return
            self._taken[-1] += 1

    def choose(self, chances: Sequence[float]) -> int:
        """Which of several ways to take, each of a positive chance."""
        if not self._running:
            self._refuse("a draw of an earlier step is used: it must not be kept")
        at = self._draws
        self._draws += 1
        if at == len(self._taken):
            if at >= self._max:
                self._refuse(
                    f"it draws more than {self._max} times, as if it drew until something fits"
                )
            self._look()
            self._taken.append(0)
            self._chances.append(chances)
        elif len(self._chances[at]) != len(chances):
            self._not_repeated()
        return self._taken[at]

    def _look(self) -> None:
        if time.monotonic() > self._deadline:
            self._refuse("it took too long; allow max_seconds")

    def _not_repeated(self) -> NoReturn:
        self._refuse(
            "it draws otherwise when it is repeated: something is left out of what is saved"
        )

    def _refuse(self, why: str) -> NoReturn:
        raise InvalidInputError(why)

    # What simulators call.

    def random(self, size: Any = None) -> Any:
        """A number from [0, 1), or several, to be compared with others."""
        return self._several(lambda: Draw(self, [0.0, 1.0]), size)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None) -> Any:
        """A number from [low, high), to be compared with others."""
        return self._several(lambda: low + (high - low) * Draw(self, [0.0, 1.0]), size)

    def integers(
        self,
        low: int,
        high: int | None = None,
        size: Any = None,
        dtype: Any = np.int64,
        endpoint: bool = False,
    ) -> Any:
        """A whole number from low up to high, all equally likely."""
        first, last = (0, low) if high is None else (low, high)
        first, count = int(first), int(last) + int(endpoint) - int(first)
        require(count >= 1, f"integers({low}, {high}): there is none")
        require(count <= self._max, f"integers({low}, {high}) has more than {self._max} ways")
        kind = np.dtype(dtype).type
        return self._several(lambda: kind(first + self._even(count)), size)

    def choice(
        self,
        a: Any,
        size: Any = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        shuffle: bool = True,
    ) -> Any:
        """One of several things, or of whole numbers below one; or as many as `size` says."""
        require(axis == 0, "choice from another axis than the first is not supported")
        given = np.arange(a) if np.ndim(a) == 0 else np.asarray(a)
        require(len(given) >= 1, "choice from nothing")
        chances = np.full(len(given), 1.0 / len(given)) if p is None else np.asarray(p, dtype=float)
        require(len(chances) == len(given), f"choice: p must have {len(given)} numbers")
        require(replace or size is None or p is None, "choice without replacement takes no p")
        if replace or size is None:
            return self._several(lambda: given[self._weighted(chances)], size)
        left = list(range(len(given)))
        count = math.prod(size) if isinstance(size, tuple) else int(size)
        require(count <= len(left), f"choice of {count} from {len(left)} without replacement")
        taken = [left.pop(self._even(len(left))) for _ in range(count)]
        return given[np.array(taken, dtype=np.int64).reshape(size)]

    def permutation(self, x: Any) -> Any:
        """What is given, or the whole numbers below it, in any order."""
        return self.choice(x, size=x if np.ndim(x) == 0 else len(x), replace=False)

    def shuffle(self, x: Any) -> None:
        """The same, in place."""
        copied = list(x)
        left = list(range(len(copied)))
        for place in range(len(copied)):
            x[place] = copied[left.pop(self._even(len(left)))]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(np.random.Generator, name):
            raise AttributeError(f"a generator has no {name}")
        self._refuse(f"it draws by {name}, whose ways are not counted: there are {CAN}")

    def _several(self, draw: Callable[[], Any], size: Any) -> Any:
        if size is None:
            return draw()
        shape = size if isinstance(size, tuple) else (int(size),)
        drawn = [draw() for _ in range(math.prod(shape))]
        draws = any(isinstance(each, Draw) for each in drawn)
        array = np.array(drawn, dtype=object) if draws else np.array(drawn)
        return array.reshape(shape)

    def _even(self, count: int) -> int:
        return self.choose([1.0 / count] * count) if count > 1 else 0

    def _weighted(self, chances: Any) -> int:
        there = np.flatnonzero(chances > 0.0)
        if len(there) == 1:
            return int(there[0])
        return int(there[self.choose(chances[there].tolist())])


class Draw:
    """A number from [0, 1) times `scale` plus `shift`, of which an interval is known.

    Parameters
    ----------
    generator : BranchingGenerator that decides between parts of the interval
    span : list of two floats, where in [0, 1) it lies; shared by all that is made of one draw
    scale, shift : floats
    """

    # Arrays leave comparisons with it to it.
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]  # it has no value

    def __init__(
        self, generator: BranchingGenerator, span: list[float], scale: float = 1.0, shift: float = 0
    ) -> None:
        self._generator, self._span, self._scale, self._shift = generator, span, scale, shift

    def _below(self, other: Any) -> Any:
        """Whether it is less: bool, or bools of an array. Equal it is with probability 0."""
        if isinstance(other, Draw):
            raise InvalidInputError("it compares two draws with each other: compare with numbers")
        if self._scale == 0.0:
            return self._shift < other
        places = (np.asarray(other, dtype=float) - self._shift) / self._scale
        low, high = self._span
        places = np.where(places > 1.0 - SHORT_OF_ONE, np.maximum(places, 1.0), places)
        cuts = np.unique(places[(places > low) & (places < high)])
        if len(cuts):
            edges = [low, *cuts.tolist(), high]
            widths = [(b - a) / (high - low) for a, b in pairwise(edges)]
            part = self._generator.choose(widths)
            self._span[:] = edges[part : part + 2]
        below = places >= self._span[1] if self._scale > 0.0 else places <= self._span[0]
        return bool(below) if np.ndim(other) == 0 else below

    def __lt__(self, other: Any) -> Any:
        return self._below(other)

    def __le__(self, other: Any) -> Any:
        return self._below(other)

    def __gt__(self, other: Any) -> Any:
        return _not(self._below(other))

    def __ge__(self, other: Any) -> Any:
        return _not(self._below(other))

    def __eq__(self, other: object) -> Any:
        raise InvalidInputError("it asks whether a draw equals something: compare with < or >")

    def __floor__(self) -> int:
        ends = sorted(self._scale * each + self._shift for each in self._span)
        wholes = np.arange(math.floor(ends[0]) + 1, math.ceil(ends[1]))
        return math.floor(ends[0]) + int(np.count_nonzero(~np.asarray(self._below(wholes))))

    def __int__(self) -> int:
        down = math.floor(self)
        return down if down >= 0 else down + 1

    def __float__(self) -> NoReturn:
        raise InvalidInputError(
            f"it uses the value of a draw, of which there is no end: there are {CAN}"
        )

    def __mul__(self, other: Any) -> Draw:
        by = float(other)
        return Draw(self._generator, self._span, self._scale * by, self._shift * by)

    def __add__(self, other: Any) -> Draw:
        return Draw(self._generator, self._span, self._scale, self._shift + float(other))

    __rmul__, __radd__ = __mul__, __add__

    def __truediv__(self, other: Any) -> Draw:
        return self * (1.0 / float(other))

    def __neg__(self) -> Draw:
        return self * -1.0

    def __sub__(self, other: Any) -> Draw:
        return self + -float(other)

    def __rsub__(self, other: Any) -> Draw:
        return (-self).__add__(other)


def _not(value: Any) -> Any:
    return ~value if isinstance(value, np.ndarray) else not value


def _nth(chances: Sequence[float], which: int) -> float:
    return chances[which]


__all__ = ["BranchingGenerator", "Draw"]
