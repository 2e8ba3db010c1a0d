"""Breadth-first exploration of whatever can say what happens next.

States are numbered in the order in which they are met. An outcome without a state ends the episode:
it leads to a sink, where nothing has any feature.
"""

from __future__ import annotations

import math
import sys
import time
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any, NoReturn, Protocol, TypeAlias

import numpy as np
import scipy.sparse as sp

from ..arrays import Names
from ..errors import InvalidInputError, require
from ..mdp.compilation import attended
from ..mdp.model import MDP

# Whether to tell on stderr, or whom to tell, how many states were explored, and how many met.
Progress: TypeAlias = bool | Callable[[int, int], object]
END = "the end"
# States are called by their text up to this many; texts of more would take more memory than they.
NAMED_STATES = 200_000
# How many states are explored between two looks at the clock, and outcomes that a pair may have.
LOOK, MAX_OUTCOMES = 16, 1_000_000
# So many features are kept as a dense array.
SMALL = 1_000_000


class Model(Protocol):
    """What `from_model` explores. States and actions can be anything that can be a key of a dict.

    Examples
    --------
    >>> import teachirl as ti
    >>> class Coin:
    ...     def start(self):
    ...         return [(1.0, 0)]
    ...     def actions(self, heads):
    ...         return ["toss", "stop"]
    ...     def outcomes(self, heads, action):
    ...         more = [(0.5, min(heads + 1, 3)), (0.5, None)]
    ...         return more if action == "toss" else [(1.0, None)]
    ...     def features(self, heads, action):
    ...         return {"paid": 1.0} if action == "toss" else {"won": heads}
    >>> ti.worlds.from_model(Coin(), discount=0.9)
    MDP(5 states, 9 state-action pairs, 2 features per pair, discount 0.9)
    """

    def start(self) -> Iterable[tuple[float, Hashable]]:
        """Where it begins.

        Returns
        -------
        iterable of pairs, a probability and a state
        """
        ...

    def actions(self, state: Any) -> Iterable[Hashable]:
        """What can be done in a state.

        Parameters
        ----------
        state : Hashable

        Returns
        -------
        iterable of actions, at least one
        """
        ...

    def outcomes(self, state: Any, action: Any) -> Iterable[tuple[float, Hashable | None]]:
        """Where that leads.

        Parameters
        ----------
        state, action : Hashable

        Returns
        -------
        iterable of pairs, a probability and a state; None for the end of the episode
        """
        ...

    def features(self, state: Any, action: Any) -> Mapping[str, float]:
        """The features of doing that there.

        Parameters
        ----------
        state, action : Hashable

        Returns
        -------
        mapping of names to numbers; those that are left out are 0
        """
        ...


class Explored:
    """States, pairs, outcomes and features, in the order in which they are met.

    Parameters
    ----------
    model : Model that is asked
    what : str, what messages call it
    max_states : int
    deadline : float, until when, by `time.monotonic`

    Attributes
    ----------
    numbers, order : dict and list, the number of each state, and the states by number
    action_numbers : dict, the number of each action
    pair_states, pair_actions : arrays [P], the numbers of each pair's state and action
    chances, targets, ends : arrays; the outcomes of pair p are those from ends[p] to ends[p + 1],
        and a target of −1 is the end
    """

    def __init__(
        self,
        model: Model,
        max_states: int,
        max_seconds: float,
        *,
        what: str = "model",
    ) -> None:
        require(max_states >= 1, f"max_states must be at least 1, got {max_states}")
        self.model, self.max_states, self.what = model, max_states, what
        self.deadline = time.monotonic() + max_seconds
        self.numbers: dict[Hashable, int] = {}
        self.order: list[Hashable] = []
        self.action_numbers: dict[Hashable, int] = {}
        self.feature_numbers: dict[str, int] = {}
        self.starts: list[tuple[float, int]] = []
        self.pair_states, self.pair_actions = array("i"), array("i")
        self.chances, self.targets, self.ends = array("d"), array("i"), array("q", [0])
        self.values, self.columns, self.rows = array("d"), array("i"), array("q", [0])

    def begin(self) -> None:
        """The states where it begins."""
        try:
            for chance, state in self.model.start():
                self.starts.append((float(chance), self._number(state)))
        except InvalidInputError:
            raise
        except Exception as error:
            _blame("start()", error)
        require(bool(self.starts), "model.start() must give a probability and a state, got none")

    def run(self, progress: Progress) -> None:
        """Explore until no new state is met; `order` grows on the way."""
        with _telling(progress) as tell:
            for place, state in enumerate(self.order):
                if place % LOOK == 0:
                    self._look(place, tell)
                self._expand(place, state)
            tell(len(self.order), len(self.order))

    def _look(self, explored: int, tell: Callable[[int, int], object]) -> None:
        met = len(self.order)
        require(
            time.monotonic() <= self.deadline,
            f"the {self.what} took too long: {explored} states were explored of {met} that were "
            "met; allow max_seconds, or make it smaller",
        )
        tell(explored, met)

    def _expand(self, place: int, state: Hashable) -> None:
        """All actions of a state, their outcomes and features. This loop is most of the time."""
        model, numbers = self.model, self.numbers
        targets, chances = self.targets, self.chances
        action: Any = _NONE
        call = "actions"
        try:
            for action in model.actions(state):
                call = "outcomes"
                for chance, target in islice(model.outcomes(state, action), MAX_OUTCOMES + 1):
                    if target is None:
                        number = -1
                    else:
                        found = numbers.get(target)
                        number = self._number(target) if found is None else found
                    chances.append(chance)
                    targets.append(number)
                if len(targets) - self.ends[-1] > MAX_OUTCOMES:
                    raise InvalidInputError(
                        f"model.outcomes({state!r}, {action!r}) must give at most {MAX_OUTCOMES} "
                        "outcomes, got more"
                    )
                call = "features"
                self._features(model.features(state, action))
                call = "actions"
                self.ends.append(len(targets))
                self.pair_states.append(place)
                self.pair_actions.append(self._action(action))
        except InvalidInputError:
            raise
        except Exception as error:
            arguments = repr(state) if action is _NONE else f"{state!r}, {action!r}"
            _blame(f"{call}({arguments})", error)
        if action is _NONE:
            raise InvalidInputError(
                f"model.actions({state!r}) must give at least one action, got none"
            )

    def _features(self, found: Mapping[str, float]) -> None:
        numbers = self.feature_numbers
        for name, value in found.items():
            if value:
                self.values.append(value)
                self.columns.append(numbers.setdefault(name, len(numbers)))
            elif name not in numbers:
                numbers[name] = len(numbers)
        self.rows.append(len(self.values))

    def _action(self, action: Hashable) -> int:
        return self.action_numbers.setdefault(action, len(self.action_numbers))

    def _number(self, state: Hashable) -> int:
        """The number of a state; the next one if it is new."""
        number = self.numbers.setdefault(state, len(self.order))
        if number == len(self.order):
            require(
                number < self.max_states,
                f"the {self.what} has more than {self.max_states} states; allow max_states, or "
                f"make it smaller; the next one is {state!r}",
            )
            self.order.append(state)
        return number

    def mdp(self, discount: float, name: Callable[[Any], str] | None = None) -> MDP:
        """All of it as an MDP, its states called as `name` says, or by their texts."""
        n, pairs = len(self.order), len(self.pair_states)
        targets, ends = np.asarray(self.targets), np.asarray(self.ends)
        sink = bool((targets < 0).any())
        states, actions = np.asarray(self.pair_states), np.asarray(self.pair_actions)
        rows = np.asarray(self.rows)
        if sink:
            targets = np.where(targets < 0, n, targets)
            targets, ends = np.append(targets, n), np.append(ends, len(targets) + 1)
            states, actions = np.append(states, n), np.append(actions, 0)
            rows = np.append(rows, rows[-1])
        chances = np.append(np.asarray(self.chances), 1.0) if sink else np.asarray(self.chances)
        shape = (pairs + sink, n + sink)
        start = np.zeros(n + sink)
        for chance, number in self.starts:
            start[number] += chance
        called = self.order if name is None else [name(state) for state in self.order]
        k = max(len(self.feature_numbers), 1)
        features = sp.csr_array(
            (np.asarray(self.values), np.asarray(self.columns), rows), shape=(pairs + sink, k)
        )
        return MDP.from_pairs(
            states,
            actions,
            sp.csr_array((chances, targets, ends), shape=shape),
            features.toarray() if math.prod(features.shape) <= SMALL else features,
            discount=discount,
            start=start,
            n_states=n + sink,
            n_actions=len(self.action_numbers),
            state_names=_texts([*called, END] if sink else called),
            action_names=_texts(self.action_numbers),
            feature_names=tuple(self.feature_numbers) or ("nothing",),
        )


_NONE: Any = object()


@contextmanager
def _telling(progress: Progress) -> Iterator[Callable[[int, int], object]]:
    """The function that hears how far it is; one that does nothing if nobody wants to know."""
    require(
        isinstance(progress, bool) or callable(progress),
        f"progress must be True, False or a function of two numbers, got {progress!r}",
    )
    if callable(progress):
        yield progress
    elif not (progress and attended()):
        yield lambda explored, met: None
    else:
        began = time.monotonic()
        shown = [began + 1.0]  # what takes no longer needs no line

        def tell(explored: int, met: int) -> None:
            now = time.monotonic()
            if now > shown[-1] and explored:
                shown.append(now + 0.2)
                left = (now - began) / explored * (met - explored)
                text = f"exploring: {explored:,} of {met:,} states met so far, {left:.0f} s or more"
                print(f"\r{text:<70}", end="", file=sys.stderr, flush=True)

        try:
            yield tell
        finally:
            if len(shown) > 1:
                print(file=sys.stderr, flush=True)


def _texts(things: Iterable[Hashable]) -> Names | None:
    """What to call states or actions: their texts, if these are distinct and not too many."""
    listed = list(things)
    if len(listed) > NAMED_STATES:
        return None
    texts = [each if isinstance(each, str) else repr(each) for each in listed]
    return tuple(texts) if len(set(texts)) == len(texts) else None


def _blame(call: str, error: Exception) -> NoReturn:
    raise InvalidInputError(f"model.{call} raised {type(error).__name__}: {error}") from error


__all__ = ["Explored", "Model", "Progress"]
