"""What the learner sees: a worldview A, a linear map on the true features.

The learner observes Aφ ∈ R^ℓ instead of φ ∈ R^k. What the learner can know depends on A through its
row space alone, so a worldview keeps an orthonormal basis Q [r, k] of it beside the matrix, and
extends it when rows come. Whether a row adds to the basis is decided relative to the row's own
length: a row times 1e-12 is the same feature in other units; a row that the others combine to is
none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..arrays import Floats, Names, as_floats, check_finite, checked_names, frozen, unshared
from ..errors import require
from ..mdp.estimated import EstimatedMDP
from ..mdp.model import MDP, check_is_mdp
from ..precision import EPS, RESIDUAL
from .linear_algebra import (
    combined,
    extended_basis,
    least_singular_value,
    shortest_multipliers,
    unit_rows,
    without_span,
)
from .tables import bucketed, chosen_features, numbered_names, with_columns


@dataclass(frozen=True, eq=False)
class Worldview:
    """A learner's features: rows of a matrix, ⟨row, φ⟩ each.

    Parameters
    ----------
    matrix : array [ℓ, k]; no rows, zero rows and dependent rows are all right
    names : sequence of ℓ str; None numbers them
    mdp : MDP that a view of a table is on, see `from_table`; None of others

    Attributes
    ----------
    basis : array [r, k], orthonormal rows that span what the rows of the matrix span

    Examples
    --------
    >>> import teachirl as ti
    >>> view = ti.Worldview([[0, 0, 1, 0, 0]])
    >>> view
    Worldview(1 row on 5 features, rank 1)
    >>> view.extend([1, 0, 0, 0, 0]).extend([1, 0, 1, 0, 0])
    Worldview(3 rows on 5 features, rank 2)
    """

    matrix: Floats
    names: Names | None = None
    mdp: MDP | None = None
    basis: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        matrix = unshared(_checked_rows("matrix", self.matrix))
        require(
            matrix.ndim == 2 and matrix.shape[1] >= 1,
            f"matrix must have shape (rows, features), got {matrix.shape}",
        )
        names = checked_names("names", self.names, len(matrix))
        nothing = np.empty((0, matrix.shape[1]))
        object.__setattr__(self, "matrix", frozen(matrix))
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "basis", frozen(extended_basis(nothing, matrix)))

    @staticmethod
    def select(mdp: MDP, features: Sequence[str | int]) -> Worldview:
        """The view of a learner who sees some of the MDP's features.

        Parameters
        ----------
        mdp : MDP
        features : sequence of str or int, names or numbers

        Returns
        -------
        Worldview

        Examples
        --------
        >>> import teachirl as ti
        >>> ti.Worldview.select(ti.worlds.chain(5), ["cell 3"]).matrix
        array([[0., 0., 1., 0., 0.]])
        """
        chosen = chosen_features(mdp, features)
        matrix = np.zeros((len(chosen), mdp.n_features))
        matrix[np.arange(len(chosen)), chosen] = 1.0
        return Worldview(matrix, tuple(mdp.feature_name(feature) for feature in chosen))

    @staticmethod
    def from_table(mdp: MDP, table: ArrayLike, names: Sequence[str] | None = None) -> Worldview:
        """The view of a learner who sees any table over states or pairs, be it no combination of
        the features: a bucketed reading, a coarse camera, an embedding.

        The learner's columns stand beside the features in ``view.mdp``, which is the world to go on
        with; `lift` gives weights and features zeros for them. Nobody is paid for these columns,
        and the teaching risk says nothing of such a view: the relative risk does.

        Parameters
        ----------
        mdp : MDP
        table : array [S, c], a row a state, or [P, c], a row a pair; 0 in terminal states
        names : sequence of c str, other than those of features; by default ``seen 0`` and so on

        Returns
        -------
        Worldview on k + c features, whose `mdp` has them

        Examples
        --------
        >>> import teachirl as ti
        >>> mdp, weights = ti.worlds.chain(5), [-2, -1, 0, 1, 2]
        >>> view = ti.Worldview.from_table(mdp, [[2], [1], [0], [1], [2]], ["off the middle"])
        >>> best = ti.optimal_policy(view.mdp, view.lift(weights))
        >>> ti.certify(view.mdp, view, view.lift(weights), best.policy).guaranteed
        0.0
        """
        own = with_columns(mdp, table, names)
        first, k = mdp.n_features, own.n_features
        called = tuple(own.feature_name(i) for i in range(first, k))
        return Worldview(np.eye(k - first, k, first), called, own)

    @staticmethod
    def from_buckets(mdp: MDP, edges: Mapping[str, Sequence[float]]) -> Worldview:
        """The view of a learner who sees which bucket readings fall into, and no more.

        Parameters
        ----------
        mdp : MDP
        edges : dict of sequences of float, by feature, where its buckets begin, rising

        Returns
        -------
        Worldview, as `from_table` makes it

        Examples
        --------
        >>> import teachirl as ti
        >>> mdp = ti.worlds.chain(3).with_features([[0.0], [0.2], [0.7]], ["light"])
        >>> ti.Worldview.from_buckets(mdp, {"light": [0.5]}).names
        ('light < 0.5', 'light ≥ 0.5')
        """
        return Worldview.from_table(mdp, *bucketed(mdp, edges))

    def lift(self, rows: ArrayLike) -> Floats:
        """Weights or features of the world, with zeros for the learner's own columns.

        Parameters
        ----------
        rows : array [k] or [n, k], on the features that the table was put beside

        Returns
        -------
        array [k + c] or [n, k + c]; as it came if the view is of no table

        Examples
        --------
        >>> import teachirl as ti
        >>> ti.Worldview.from_table(ti.worlds.chain(3), [[0], [0], [5]]).lift([1, 2, 3])
        array([1., 2., 3., 0.])
        """
        given = as_floats("rows", rows)
        missing = self.n_features - given.shape[-1] if given.ndim in (1, 2) else -1
        require(
            missing >= 0 and (missing == 0 or self.mdp is not None),
            f"rows must be on at most {self.n_features} features, got shape {given.shape}",
        )
        return np.concatenate([given, np.zeros((*given.shape[:-1], missing))], axis=-1)

    def extend(
        self, features: ArrayLike | Worldview, names: str | Iterable[str] | None = None
    ) -> Worldview:
        """The worldview with further rows.

        The basis is extended, not computed anew. A row whose name is taken is called by it with a
        number, ``ice (2)``: a feature that the learner has already may be taught again.

        Parameters
        ----------
        features : array [k], one, or [n, k], several; or Worldview, whose rows come with their
            names
        names : str or sequence of str, as many as there are rows; None numbers them

        Returns
        -------
        Worldview

        Examples
        --------
        >>> import teachirl as ti
        >>> mdp = ti.worlds.chain(5)
        >>> ti.Worldview.select(mdp, ["cell 3"]).extend([0, 0, 2, 0, 0], "cell 3").names
        ('cell 3', 'cell 3 (2)')
        >>> ti.Worldview.select(mdp, ["cell 3"]).extend(ti.Worldview.select(mdp, ["cell 1"])).names
        ('cell 3', 'cell 1')
        """
        if isinstance(features, Worldview):
            names = features.names if names is None else names
            features = features.matrix
        rows = np.atleast_2d(_checked_rows("features", features))
        require(
            rows.ndim == 2 and rows.shape[1] == self.n_features,
            f"features must have shape ({self.n_features},) or (n, {self.n_features}), "
            f"got {np.shape(features)}",
        )
        added = checked_names("names", (names,) if isinstance(names, str) else names, len(rows))
        return _known(
            np.vstack([self.matrix, rows]),
            self._with_names(added, len(rows)),
            extended_basis(self.basis, rows),
            self.mdp,
        )

    def without(self, directions: Floats) -> Worldview:
        """AP, with P the projection that removes some directions.

        Unlike in ``Worldview(AP)``, what of a row is left counts compared to the whole row of A: a
        row that P removes leaves rounding, which is no direction that the learner sees.

        Parameters
        ----------
        directions : array [d, k], orthonormal rows

        Returns
        -------
        Worldview

        Examples
        --------
        >>> import numpy as np, teachirl as ti
        >>> ti.Worldview([[1, 1, 1], [0, 0, 1]]).without(np.full((1, 3), 3**-0.5)).rank
        1
        """
        basis = extended_basis(directions, self.matrix)[len(directions) :]
        return _known(without_span(directions, self.matrix), self.names, basis, self.mdp)

    def _with_names(self, added: Names | None, count: int) -> Names | None:
        if added is None and self.names is None:
            return None
        first = self.n_rows
        there = [self.row_name(row) for row in range(first)]
        return numbered_names(there, added or map(str, range(first, first + count)))

    def observe(self, mdp: MDP) -> MDP:
        """The MDP as the learner sees it: the same dynamics, with the features Aφ. It holds nothing
        else.

        Parameters
        ----------
        mdp : MDP with the true features

        Returns
        -------
        MDP with the features Aφ

        Examples
        --------
        >>> import teachirl as ti
        >>> mdp = ti.worlds.chain(5)
        >>> ti.Worldview.select(mdp, ["cell 3"]).observe(mdp).features.ravel()
        array([0., 0., 1., 0., 0.])
        """
        check_worldview(self, mdp)
        return mdp.with_features(combined(mdp.features, self.matrix), self.names)

    def multipliers(self, coordinates: Floats) -> Floats:
        """The shortest θ with Aᵀθ = basisᵀ · coordinates.

        Parameters
        ----------
        coordinates : array [r]

        Returns
        -------
        array [ℓ], θ
        """
        return shortest_multipliers(self.matrix, self.basis, coordinates)

    def __repr__(self) -> str:
        rows = f"{self.n_rows} row{'' if self.n_rows == 1 else 's'}"
        return f"Worldview({rows} on {self.n_features} features, rank {self.rank})"

    @property
    def n_rows(self) -> int:
        """int ℓ, how many features the learner has."""
        return int(self.matrix.shape[0])

    @property
    def n_features(self) -> int:
        """int k, how many true features there are."""
        return int(self.matrix.shape[1])

    @property
    def rank(self) -> int:
        """int r, how many of the rows are independent."""
        return int(self.basis.shape[0])

    def row_name(self, row: int) -> str:
        """The name of a row, in quotes, or its number if rows have no names.

        Parameters
        ----------
        row : int

        Returns
        -------
        str
        """
        return self.names[row] if self.names else str(row)

    @cached_property
    def norm(self) -> float:
        """‖A‖, the most that the view stretches a vector; 0 if it is blind."""
        if self.rank == min(self.matrix.shape):
            return float(np.linalg.norm(self.matrix, 2)) if self.matrix.size else 0.0
        within = float(np.linalg.norm(self.matrix @ self.basis.T, 2)) if self.rank else 0.0
        return within + self.neglected

    @cached_property
    def sigma(self) -> float:
        """σ(A) = min ‖Av‖ over unit v orthogonal to ker A; ∞ if the view is blind."""
        # On the row space A acts as AQᵀ [ℓ, r], which has full column rank.
        return least_singular_value(self.matrix @ self.basis.T)

    @cached_property
    def magnified(self) -> float:
        """What rounding of the rows becomes in the basis, at most: more if they nearly depend on
        each other."""
        if self.rank == 0:
            return 0.0
        least = least_singular_value(unit_rows(self.matrix) @ self.basis.T)
        return (self.n_rows + self.n_features) * RESIDUAL / min(least, 1.0)

    @cached_property
    def sigma_at_least(self) -> float:
        """σ(A), rounded down: it is divided by."""
        return self.sigma * max(1.0 - self.magnified, 0.0) if self.rank else math.inf

    @cached_property
    def neglected(self) -> float:
        """At least ‖A − AQᵀQ‖: what of A is not in the basis, by rounding or because a row that
        sticks out by less than `DEPENDENT` counts as dependent."""
        left = self.matrix - (self.matrix @ self.basis.T) @ self.basis
        scale = float(np.abs(self.matrix).max(initial=0.0))
        if scale == 0.0:
            return 0.0
        rounding = (self.n_features + self.rank) * EPS
        lengths = [float(np.linalg.norm(part / scale)) for part in (left, self.matrix)]
        return scale * (lengths[0] + rounding * lengths[1])


def check_worldview(view: object, mdp: object = None) -> None:
    """Refuse what is no worldview, such as a matrix, or is on other features than the MDP's."""
    require(
        isinstance(view, Worldview),
        f"view must be a Worldview, got {type(view).__name__}; Worldview(matrix) makes one",
    )
    if mdp is None:
        return
    if not isinstance(mdp, EstimatedMDP):
        check_is_mdp(mdp)
    if isinstance(view, Worldview) and isinstance(mdp, MDP | EstimatedMDP):
        own = "; it is of a table: take view.mdp and view.lift(weights)" if view.mdp else ""
        require(
            view.n_features == mdp.n_features,
            f"the worldview is on {view.n_features} features, the MDP has {mdp.n_features}{own}",
        )


def _known(matrix: Floats, names: Names | None, basis: Floats, mdp: MDP | None) -> Worldview:
    """A worldview whose parts are known to be right, and whose basis need not be computed."""
    view = object.__new__(Worldview)
    object.__setattr__(view, "matrix", frozen(matrix))
    object.__setattr__(view, "names", names)
    object.__setattr__(view, "mdp", mdp)
    object.__setattr__(view, "basis", frozen(np.array(basis)))
    return view


def _checked_rows(name: str, rows: ArrayLike) -> Floats:
    require(not sp.issparse(rows), f"{name} must be a dense array: give {name}.toarray()")
    array = as_floats(name, rows)
    check_finite(name, array)
    return array
