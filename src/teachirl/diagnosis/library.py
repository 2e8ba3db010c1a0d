"""Candidates for what a learner sees, in units in which they can be compared.

M are the feature expectations of all policies, N the directions in which these cannot differ
(`potential_shaping`), P = I − NᵀN. Of a candidate f only Pf matters: ⟨f, d⟩ = ⟨Pf, d⟩ for every
difference d of feature expectations. Candidates are divided by their range over M, so that nothing
that is said of them depends on their units; those with the same Pf, up to a factor, cannot be told
apart by anything that a learner does, and are one class.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property

import numpy as np

from ..arrays import Floats, Names
from ..errors import require
from ..mdp.model import MDP
from ..mdp.occupancy import expectation_error
from ..mdp.planning import optimal_policies
from ..precision import DEPENDENT, MATCHED, SQUARED
from ..views.linear_algebra import extended_basis, unit_rows, without_span
from ..views.potential_shaping import Indistinct, indistinct_directions
from ..views.worldview import Worldview, check_worldview


class Library:
    """The candidates of one world, prepared once.

    Parameters
    ----------
    mdp : MDP with the true features
    candidates : Worldview, a row each; None for all of the MDP's features
    indistinct : Indistinct, what no policy can change; computed unless given

    Attributes
    ----------
    names : tuple of n str
    ranges : array [n], max − min of ⟨f, μ⟩ over all policies; 0 where no policy can change it
    rows : array [n, k], Pf in units of its range; zero rows for those that nothing changes
    rounding : array [n], how far ⟨f, d⟩ may be off as feature expectations are computed, in ranges

    Examples
    --------
    >>> import teachirl as ti
    >>> from teachirl.diagnosis.library import Library
    >>> library = Library(ti.worlds.chain(5), None)
    >>> print([f"{each:.4f}" for each in library.ranges])
    ['4.1106', '4.1874', '4.4526', '4.1874', '4.1106']
    >>> library.classes
    (('cell 1',), ('cell 2', 'cell 4'), ('cell 3',), ('cell 5',))
    """

    def __init__(
        self, mdp: MDP, candidates: Worldview | None, indistinct: Indistinct | None = None
    ) -> None:
        if candidates is None:
            candidates = Worldview.select(mdp, range(mdp.n_features))
        check_worldview(candidates, mdp)
        self.mdp, self.view = mdp, candidates
        self.names: Names = tuple(map(candidates.row_name, range(candidates.n_rows)))
        self.indistinct = indistinct or indistinct_directions(mdp)
        unit = unit_rows(candidates.matrix)
        projected = self.indistinct.project(unit)
        moves = np.linalg.norm(projected, axis=1) > DEPENDENT
        widths = np.zeros(len(unit))
        widths[moves] = _widths(mdp, unit[moves])
        scales = np.where(moves & (widths > 0.0), widths, 1.0)
        self.rows: Floats = np.where(moves[:, None], projected / scales[:, None], 0.0)
        lengths = _lengths(candidates.matrix)
        self.ranges: Floats = widths * lengths
        # Exact learners of ours stop at MATCHED of what could be reached of their features.
        rounding = np.array([2.0 * expectation_error(mdp, row) for row in unit])
        exact = rounding + MATCHED * math.sqrt(len(unit)) * self.reach(unit)
        self.rounding: Floats = rounding / scales
        self._exact = np.where(moves, exact / scales, math.inf)

    def __len__(self) -> int:
        return len(self.names)

    def indices(self, names: Iterable[str | int], what: str) -> tuple[int, ...]:
        """Numbers of candidates, given by names or numbers, in order and each once."""
        require(not isinstance(names, str), f"{what} must be a sequence of names, got a string")
        found: set[int] = set()
        for name in names:
            if isinstance(name, str):
                require(name in self.names, f"{what}: there is no candidate {name!r}")
                found.add(self.names.index(name))
            else:
                require(
                    isinstance(name, (int, np.integer)) and 0 <= name < len(self),
                    f"{what} must hold names, or numbers in 0 … {len(self) - 1}, got {name!r}",
                )
                found.add(int(name))
        return tuple(sorted(found))

    def select(self, indices: Iterable[int]) -> Worldview:
        """Some of the candidates as a worldview."""
        chosen = list(indices)
        return Worldview(
            self.view.matrix[chosen].reshape(-1, self.mdp.n_features),
            tuple(self.names[i] for i in chosen),
        )

    @cached_property
    def idle(self) -> tuple[int, ...]:
        """Candidates that no policy can change: nothing can be found out about them."""
        return tuple(int(i) for i in np.flatnonzero(self.ranges == 0.0))

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Numbers of candidates that are parallel in what policies can change; not the idle ones.

        Examples are the cells of one parity at the ends of a chain.
        """
        unit = unit_rows(self.rows)
        found: list[list[int]] = []
        for i in (i for i in range(len(self)) if i not in self.idle):
            for group in found:
                if np.linalg.norm(without_span(unit[group[:1]], unit[i])) <= math.sqrt(DEPENDENT):
                    group.append(i)
                    break
            else:
                found.append([i])
        return tuple(map(tuple, found))

    @property
    def classes(self) -> tuple[Names, ...]:
        """Names of candidates that nothing which a learner does can tell apart."""
        return tuple(tuple(self.names[i] for i in group) for group in self.groups)

    def group_of(self, index: int) -> tuple[int, ...]:
        """All candidates in the class of one; none for an idle one."""
        return next((group for group in self.groups if index in group), ())

    def span(self, indices: Iterable[int]) -> Floats:
        """An orthonormal basis [q, k] of what the candidates span of what policies can change."""
        rows = self.rows[list(indices)]
        return extended_basis(np.empty((0, self.mdp.n_features)), rows[np.any(rows != 0.0, axis=1)])

    def following(self, indices: Iterable[int]) -> set[int]:
        """Candidates, but idle ones, of which all that matters is a combination of some."""
        basis, unit = self.span(indices), unit_rows(self.rows)
        outside = np.linalg.norm(without_span(basis, unit), axis=1)
        return {int(i) for i in np.flatnonzero(outside <= SQUARED)} - set(self.idle)

    def alone(self, indices: Iterable[int]) -> set[int]:
        """Those of some candidates that can change while the others, but for their class, do not.

        A row is outside of the span of the others if e_i is in the image of all of them.
        """
        chosen = set(indices)
        groups = [group for group in self.groups if chosen.intersection(group)]
        unit = unit_rows(self.rows[[group[0] for group in groups]])
        left, sizes, _ = np.linalg.svd(unit, full_matrices=False)
        inside = np.sum(left[:, sizes > SQUARED * sizes.max(initial=0.0)] ** 2, axis=1)
        free = (group for group, each in zip(groups, inside, strict=True) if each > 1.0 - SQUARED)
        return {i for group in free for i in group} & chosen

    def off(self, difference: Floats) -> Floats:
        """⟨f, d⟩ of each candidate, in its range: array [n]."""
        return np.asarray(self.rows @ difference)

    def allowed(self, mismatch: float) -> Floats:
        """How far from 0 `off` may be for a candidate that the learner has, array [n].

        That is the mismatch, a share of the range, and what a learner who matches exactly, and the
        computation of feature expectations, may be off.
        """
        return mismatch + self._exact

    def reach(self, rows: Floats) -> Floats:
        """How much ⟨f, φ⟩ differs between states, times 1/(1 − γ), for rows f [n, k]: [n]."""
        rewards = self.mdp.rewards(rows) if len(rows) else np.zeros((0, 1))
        return np.asarray((rewards.max(axis=1) - rewards.min(axis=1)) / (1.0 - self.mdp.discount))


def _widths(mdp: MDP, rows: Floats) -> Floats:
    if len(rows) == 0:
        return np.zeros(0)
    plans = optimal_policies(mdp, np.vstack([rows, -rows]))
    values = np.array([plan.value for plan in plans])
    return np.asarray(np.maximum(values[: len(rows)] + values[len(rows) :], 0.0))


def _lengths(rows: Floats) -> Floats:
    largest = np.abs(rows).max(axis=1, initial=0.0)
    safe = np.where(largest > 0.0, largest, 1.0)
    return np.asarray(largest * np.linalg.norm(rows / safe[:, None], axis=1))


__all__ = ["Library"]
