"""The transition table of a Gymnasium environment, read and checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Floats, Ints
from ..errors import require


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The outcomes of all pairs, one after the other.

    states, actions are [P]; pairs, probabilities, targets, rewards, ended are [outcomes].
    """

    n_states: int
    states: Ints
    actions: Ints
    pairs: Ints
    probabilities: Floats
    targets: Ints
    rewards: Floats
    ended: NDArray[np.bool_]

    def expected(self, values: ArrayLike) -> Floats:
        """[P], the expectation of what has `values` [outcomes]."""
        result = np.zeros(len(self.states))
        np.add.at(result, self.pairs, self.probabilities * np.asarray(values, dtype=float))
        return result

    @cached_property
    def sources(self) -> Ints:
        """[outcomes], the state that each outcome starts from."""
        return self.states[self.pairs]


def read_outcomes(base: Any, whole: bool = True) -> Outcomes:
    """The table of an environment; one that is not the whole truth is refused, if `whole`."""
    name = type(base).__name__
    table = getattr(base, "P", None)
    require(
        table is not None,
        f"{name} has no transition table, as FrozenLake, CliffWalking and Taxi have, and so its "
        "probabilities are not known",
    )
    require(
        isinstance(table, (Mapping, list, tuple)) and len(table) > 0,
        f"the transition table P of {name} must map each state to its actions and their outcomes, "
        f"got {table!r}",
    )
    # Taxi's changing destination happens in step() and is not in the table.
    require(
        not (whole and getattr(base, "fickle_passenger", False)),
        f"the transition table of {name} leaves out its fickle_passenger",
    )
    by_state = _numbered(table, "P")
    gap = next((i for i, (state, _) in enumerate(by_state) if state != i), None)
    require(gap is None, f"P must have the states 0 … {len(by_state) - 1}, but {gap} is missing")
    states: list[int] = []
    actions: list[int] = []
    pairs: list[int] = []
    outcomes: list[tuple[float, int, float, bool]] = []
    for state, by_action in by_state:
        for action, listed in _numbered(by_action, f"P[{state}]"):
            require(
                isinstance(listed, (list, tuple)) and len(listed) > 0,
                f"P[{state}][{action}] must be a list of outcomes, got {listed!r}",
            )
            for i, outcome in enumerate(listed):
                place = f"P[{state}][{action}][{i}]"
                outcomes.append(_checked_outcome(outcome, place, len(by_state)))
            pairs += [len(states)] * len(listed)
            states.append(state)
            actions.append(action)
    require(len(states) > 0, "P must have a state with an action, got none")
    probabilities, targets, rewards, ended = zip(*outcomes, strict=True)
    return Outcomes(
        len(by_state),
        np.array(states),
        np.array(actions),
        np.array(pairs),
        np.array(probabilities),
        np.array(targets),
        np.array(rewards),
        np.array(ended),
    )


def _numbered(entries: Any, place: str) -> list[tuple[int, Any]]:
    """The entries of a dict with numbers as keys, or of a list, by number."""
    if isinstance(entries, Mapping):
        for key in entries:
            require(
                isinstance(key, (int, np.integer)) and int(key) >= 0,
                f"the keys of {place} must be non-negative integers, got {key!r}",
            )
        return sorted(
            ((int(key), value) for key, value in entries.items()), key=lambda entry: entry[0]
        )
    require(
        isinstance(entries, (list, tuple)), f"{place} must be a dict or a list, got {entries!r}"
    )
    return list(enumerate(entries))


def _checked_outcome(outcome: Any, place: str, n_states: int) -> tuple[float, int, float, bool]:
    require(
        isinstance(outcome, (list, tuple)) and len(outcome) == 4,
        f"{place} must be (probability, next state, reward, terminated), got {outcome!r}",
    )
    probability, target, reward, ended = outcome
    for what, value in (("probability", probability), ("reward", reward)):
        require(
            isinstance(value, (int, float, np.integer, np.floating)) and math.isfinite(value),
            f"the {what} of {place} must be a finite number, got {value!r}",
        )
    require(probability >= 0, f"the probability of {place} must not be negative: {probability}")
    require(
        isinstance(target, (int, np.integer)) and 0 <= int(target) < n_states,
        f"the next state of {place} must lie in 0 … {n_states - 1}, got {target!r}",
    )
    return float(probability), int(target), float(reward), bool(ended)
