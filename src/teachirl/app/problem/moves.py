"""A table of what follows what: its states, actions and pairs, numbered."""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp

from ...arrays import Floats, Ints
from ...errors import FileFormatError
from ...files import shown
from ...mdp.model import MDP
from .files import MAX_STATES
from .mistakes import Mistakes
from .places import KEPT, meant, refuse_all, similar
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
        self._mistakes = Mistakes()
        table = self._with_names(table)
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

    def _with_names(self, table: Table) -> Table:
        """The table without rows of which nobody can say what they are about; these are told."""
        nameless = set[int]()
        for column in ("state", "action"):
            rows = [row for row, name in enumerate(table.texts[column]) if not name]
            said = dict.fromkeys(rows, f"expected a name in column {column!r}, got an empty cell")
            self._mistakes.of(partial(table.refuse_rows, rows, said.__getitem__))
            nameless.update(rows)
        if len(nameless) == len(table):
            self._mistakes.tell_any()
        return table.without(np.array(sorted(nameless), dtype=np.int64))

    @cached_property
    def rows(self) -> sp.csr_array:
        """array [P, S], or [P, S + 1] with the end; what is wrong with the table is told here, so
        that its states are known by then."""
        table, rows, mistakes = self.table, self.places, self._mistakes
        mistakes.of(table.refuse_wrong)
        targets = table.numbers_of({"": self.n_states} | self.states, "next_state")
        if table.whole:  # else a state may be unknown as its rows are left out
            mistakes.of(lambda: refuse_targets(table, targets, self.states))
        keys = np.where(targets < 0, -1, rows * (self.n_states + 1) + targets)
        mistakes.of(lambda: table.refuse_repeats(keys, "transition"))
        mistakes.of(table.probabilities)
        chances = table.column("probability")
        # What a pair sums to is not known where a row of it is wrong.
        judged = np.where((chances < 0.0) | (chances > 1.0), np.nan, chances)
        judged[list(table.repeats(keys))] = np.nan
        sums = np.asarray(np.bincount(rows, weights=judged), dtype=np.float64)
        mistakes.of(lambda: self._refuse_sums(sums))
        mistakes.tell_any()
        chances = chances / sums[rows] if self.normalize else chances
        return sp.csr_array(
            (chances, (rows, targets)),
            shape=(len(self.pairs), self.n_states + bool((targets == self.n_states).any())),
        )

    def _refuse_sums(self, sums: Floats) -> None:
        """Refuse the table if probabilities of a pair do not sum to 1; sums [P], NaN if unknown."""
        rows, off = self.places, sums - 1.0
        # Rows that are left out could only add to a sum.
        bad = np.flatnonzero((np.abs(off) if self.table.whole else off) > self.tolerance)
        self.table.refuse_rows(
            np.sort(self.first[bad]),
            lambda row: (
                f"expected the probabilities of {self.name_of(int(self.pairs[rows[row]]))} to sum "
                f"to 1 within {self.tolerance:.3g}, got {sums[rows[row]]:.12g}"
                f"{_offer(sums[rows[row]], self.tolerance)}"
            ),
        )

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
        per_pair, mistakes = "action" in table.texts, Mistakes()
        mistakes.of(table.refuse_wrong)
        states = keys = table.numbers_of(self.states, "state")
        known = np.arange(self.n_states)
        if per_pair:
            actions, known = table.numbers_of(self.actions, "action"), self.pairs
            keys = np.where((states < 0) | (actions < 0), -1, states * len(self.actions) + actions)
        if self.table.whole:  # else what is not there may have been left out
            mistakes.of(lambda: table.refuse_unknown(states, self.states, "state"))
            if per_pair:
                mistakes.of(lambda: table.refuse_unknown(actions, self.actions, "action"))
            without = np.flatnonzero((keys >= 0) & ~np.isin(keys, known))
            mistakes.of(
                lambda: table.refuse_rows(
                    without, lambda row: f"{self.name_of(int(keys[row]))} has no transitions"
                )
            )
        what = "state and action" if per_pair else "state"
        mistakes.of(lambda: table.refuse_repeats(keys, what))

        def missing(key: int) -> str:
            name = self.name_of(key if per_pair else key * len(self.actions))
            name = name if per_pair else name.split(", action")[0]
            return f"expected a row for {name}, got none"

        absent = np.setdiff1d(known, keys)
        # A row that is wrong may be the one that seems to be missing.
        doubtful = self._may_be(table, states, np.flatnonzero(keys < 0))
        about = absent // len(self.actions) if per_pair else absent
        absent = absent[~np.isin(about, doubtful)]
        if table.whole:
            mistakes.of(lambda: refuse_all([(table.name, int(key)) for key in absent], missing))
        mistakes.tell_any()
        return np.asarray(table.numbers[np.argsort(keys)])

    def _may_be(self, table: Table, states: Ints, rows: Ints) -> Ints:
        """Numbers of the states that rows with unknown names may be about; of many rows, any."""
        if len(rows) > KEPT:
            return np.arange(self.n_states)
        names = table.texts["state"]
        near = [similar(names[row], self.states) for row in rows if states[row] < 0]
        meant_states = [self.states[name] for name in near if name is not None]
        return np.array([*states[rows], *meant_states], dtype=np.int64)

    def start(self, table: Table) -> Floats:
        """array [S], without the end's."""
        mistakes = Mistakes()
        mistakes.of(table.refuse_wrong)
        states = table.numbers_of(self.states, "state")
        if self.table.whole:
            mistakes.of(lambda: table.refuse_unknown(states, self.states, "state"))
        mistakes.of(lambda: table.refuse_repeats(states, "state"))
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
    """array [n], the probabilities to start with, which sum to 1; of a table whose rows are not all
    known, to 1 at most."""
    chances, tolerance = table.probabilities(), NEARLY if normalize else SUM_TOLERANCE
    total = float(chances.sum())
    if (abs(total - 1.0) if table.whole else total - 1.0) > tolerance:
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
    targets = table.numbers_of({"": len(states)} | states, "next_state")
    refuse_targets(table, targets, states)
    return targets


def refuse_targets(table: Table, targets: Ints, states: dict[str, int]) -> None:
    """Refuse the table if next states are unknown, which have a number below 0, [n]."""
    names = table.texts["next_state"]
    table.refuse_rows(
        np.flatnonzero(targets < 0),
        lambda row: (
            f"next_state {shown(names[row])} has no transitions of its own; leave it empty where "
            f"the episode ends{meant(names[row], states, also=False)}"
        ),
    )


def _unused(name: str, names: dict[str, int]) -> str:
    number, unused = 1, name
    while unused in names:
        number += 1
        unused = f"{name} ({number})"
    return unused


__all__ = ["SUM_TOLERANCE", "Moves", "start_chances", "targets_of"]
