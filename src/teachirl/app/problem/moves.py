"""A table of what follows what: its states, actions and pairs, numbered."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ...arrays import Floats, Ints
from ...errors import FileFormatError
from ...mdp.model import MDP
from .files import MAX_STATES
from .mistakes import Mistakes
from .places import meant, refuse_all, shown
from .tables import Table

# How far from 1 probabilities may sum; and how far if they are to be divided by their sum, where
# numbers with three or more digits were written down.
SUM_TOLERANCE, NEARLY = 1e-9, 1.0005e-3


class Moves:
    """A table of transitions, its states and actions numbered as they first come.

    Where the episode ends, it leads to one more state, ``end``, with zero features and one action.
    """

    def __init__(self, table: Table, normalize: bool) -> None:
        self.tolerance = NEARLY if normalize else SUM_TOLERANCE
        for column in ("state", "action"):
            if "" in table.texts[column]:
                row = table.texts[column].index("")
                table.refuse(row, f"expected a name in column {column!r}, got an empty cell")
        self.states = _numbered(table.texts["state"])
        self.actions = _numbered(table.texts["action"])
        self.n_states = len(self.states)
        if self.n_states > MAX_STATES:
            raise FileFormatError(
                f"{table.name}: expected at most {MAX_STATES} states, got {self.n_states}"
            )
        keys = self.keys(table)
        self.pairs, self.first, self.places = np.unique(
            keys, return_index=True, return_inverse=True
        )
        self.table, self.normalize = table, normalize

    @cached_property
    def rows(self) -> sp.csr_array:
        """array [P, S], or [P, S + 1] with the end; what is wrong with the table is told here, so
        that its states are known by then."""
        table, rows, mistakes = self.table, self.places, Mistakes()
        targets = mistakes.of(lambda: targets_of(table, self.states))
        if targets is not None:
            keys = rows * (self.n_states + 1) + targets
            mistakes.of(lambda: table.refuse_repeats(keys, "transition"))
        chances = mistakes.of(self._chances)
        mistakes.tell_any()
        assert targets is not None and chances is not None
        return sp.csr_array(
            (chances, (rows, targets)),
            shape=(len(self.pairs), self.n_states + bool((targets == self.n_states).any())),
        )

    def _chances(self) -> Floats:
        """array [n], the probabilities, which sum to 1 over the rows of a pair."""
        table, rows = self.table, self.places
        chances = table.probabilities()
        sums = np.bincount(rows, weights=chances)
        bad = np.flatnonzero(np.abs(sums - 1.0) > self.tolerance)
        table.refuse_rows(
            np.sort(self.first[bad]),
            lambda row: (
                f"expected the probabilities of {self.name_of(int(self.pairs[rows[row]]))} to sum "
                f"to 1 within {self.tolerance:.3g}, got {sums[rows[row]]:.12g}"
                f"{_offer(sums[rows[row]], self.tolerance)}"
            ),
        )
        return chances / sums[rows] if self.normalize else chances

    def checked(self) -> Moves:
        """Itself, if nothing is wrong with the table."""
        _ = self.rows
        return self

    @property
    def ends(self) -> bool:
        """Whether an episode can end."""
        return bool(self.rows.shape[1] > self.n_states)

    def keys(self, table: Table) -> Ints:
        """int array [n], which state and action each row is about."""
        states, actions = (
            table.index(getattr(self, f"{column}s"), column) for column in ("state", "action")
        )
        return states * len(self.actions) + actions

    def name_of(self, key: int) -> str:
        state, action = divmod(key, len(self.actions))
        return (
            f"state {shown(list(self.states)[state])}, action {shown(list(self.actions)[action])}"
        )

    def features(self, table: Table) -> Floats:
        """array [S, k] or [P, k], without the end's."""
        if not table.columns:
            raise FileFormatError(f"{table.name}: expected a column a feature, got none")
        per_pair = "action" in table.texts
        keys = self.keys(table) if per_pair else table.index(self.states, "state")
        known = self.pairs if per_pair else np.arange(self.n_states)
        what, mistakes = "state and action" if per_pair else "state", Mistakes()
        mistakes.of(lambda: table.refuse_repeats(keys, what))
        unknown = np.flatnonzero(~np.isin(keys, known))
        mistakes.of(
            lambda: table.refuse_rows(
                unknown, lambda row: f"{self.name_of(int(keys[row]))} has no transitions"
            )
        )

        def missing(key: int) -> str:
            name = self.name_of(key if per_pair else key * len(self.actions))
            name = name if per_pair else name.split(", action")[0]
            return f"expected a row for {name}, got none"

        absent = ((table.name, int(key)) for key in np.setdiff1d(known, keys))
        mistakes.of(lambda: refuse_all(absent, missing))
        mistakes.tell_any()
        return np.asarray(table.numbers[np.argsort(keys)])

    def start(self, table: Table) -> Floats:
        """array [S], without the end's."""
        mistakes = Mistakes()
        states = mistakes.of(lambda: table.index(self.states, "state"))
        if states is not None:
            known = states
            mistakes.of(lambda: table.refuse_repeats(known, "state"))
        chances = mistakes.of(lambda: start_chances(table, self.normalize))
        mistakes.tell_any()
        start = np.zeros(self.n_states)
        start[states] = chances
        return start

    def mdp(self, phi: Floats, names: tuple[str, ...], start: Floats, discount: float) -> MDP:
        states, actions = np.divmod(self.pairs, len(self.actions))
        rows, state_names = self.rows, list(self.states)
        if self.ends:
            end = self.n_states
            states, actions = np.append(states, end), np.append(actions, 0)
            itself = sp.csr_array(([1.0], ([0], [end])), shape=(1, end + 1))
            rows = sp.csr_array(sp.vstack([rows, itself], format="csr"))
            phi, start = np.vstack([phi, np.zeros(phi.shape[1])]), np.append(start, 0.0)
            state_names.append(_unused("end", self.states))
        return MDP.from_pairs(
            states,
            actions,
            rows,
            phi,
            discount=discount,
            start=start,
            state_names=state_names,
            action_names=list(self.actions),
            feature_names=names,
        )


def start_chances(table: Table, normalize: bool) -> Floats:
    """array [n], the probabilities to start with, which sum to 1."""
    chances, tolerance = table.probabilities(), NEARLY if normalize else SUM_TOLERANCE
    total = float(chances.sum())
    if abs(total - 1.0) > tolerance:
        raise FileFormatError(
            f"{table.name}: expected probabilities that sum to 1 within {tolerance:.3g}, "
            f"got {total:.12g}{_offer(total, tolerance)}"
        )
    return chances / total if normalize else chances


def _offer(total: float, tolerance: float) -> str:
    """What to do about a sum that may be meant to be 1."""
    if tolerance == NEARLY or abs(total - 1.0) > NEARLY:
        return ""
    return "; if that is rounding, world.normalize = true divides by the sum"


def _numbered(names: list[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(dict.fromkeys(names))}


def targets_of(table: Table, states: dict[str, int]) -> Ints:
    """int array [n], the numbers of the next states; where there is none, S."""
    names, numbers = table.texts["next_state"], {"": len(states)} | states
    targets = np.fromiter((numbers.get(name, -1) for name in names), np.int64, len(table))
    table.refuse_rows(
        np.flatnonzero(targets < 0),
        lambda row: (
            f"next_state {shown(names[row])} has no transitions of its own; leave it empty where "
            f"the episode ends{meant(names[row], states, also=False)}"
        ),
    )
    return targets


def _unused(name: str, names: dict[str, int]) -> str:
    number, unused = 1, name
    while unused in names:
        number += 1
        unused = f"{name} ({number})"
    return unused


__all__ = ["SUM_TOLERANCE", "Moves", "start_chances", "targets_of"]
