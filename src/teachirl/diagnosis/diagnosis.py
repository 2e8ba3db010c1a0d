"""What is proved, excluded and open about what a learner sees."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import AnyRows, Floats, Names
from ..errors import Status, require
from ..views.worldview import Worldview
from .library import Library


class DiagnosisStatus(Status):
    """What is known of a learner; the text says what to do next.

    Examples
    --------
    >>> import teachirl as ti
    >>> print(ti.DiagnosisStatus.OPEN)
    some candidates are neither proved nor excluded; show next_probe, and add the answer
    """

    IDENTIFIED = "all that the learner has among the candidates is known"
    OPEN = "some candidates are neither proved nor excluded; show next_probe, and add the answer"
    NOT_DRAWN = (
        "nothing that was shown was drawn at random, so that nothing is proved that the learner "
        "has; show next_probe"
    )
    OUTSIDE_LIBRARY = (
        "the learner reacts to something that no candidate explains; extend the candidates"
    )


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What is proved, excluded and open about what a learner sees.

    Attributes
    ----------
    library : Library, the candidates
    has : tuple of str, proved, with the stated confidence, or taught
    lacks : tuple of str, excluded
    open : tuple of str, neither
    idle : tuple of str, candidates that no policy can change, of which nothing can be known
    seen : Worldview with the rows of `has`: what guarantees count with
    possible : Worldview with the rows of `has` and `open`: the most that the learner may have
    blind : array [m, k], orthonormal rows that span what the learner was off by, less what it was
        taught: it sees none of it, up to a share of 1e-6. Empty if it matches with a mismatch
    p_value : float, of the best proof that the learner has all of `possible`, or had before it was
        taught the rest, all probes counted
    confidence : float, with which all of this holds together
    mismatch : float, how closely the learner is taken to match, as a share of each range
    reused : int, how many probes were shown more than once; their second answers prove nothing
    status : DiagnosisStatus
    exchanges : tuple of Exchange, that all of this rests on
    taught : tuple of str, candidates that the learner has been given
    row_space : Worldview, orthonormal rows that span all that the learner sees of what policies can
        change, whatever the candidates are; known once answers are exact, the candidates span what
        policies can change, and a probe among all of them was off in no new direction. Else None
    missed : array [n], the most that exact answers were off in each candidate, as a share of what
        policies can change of it
    contradicted : tuple of str, candidates that the learner followed too closely for chance, and
        misses nevertheless: what is assumed of it, such as its mismatch, does not hold

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp, rng = ti.worlds.chain(5), np.random.default_rng(0)
    >>> view = ti.Worldview.select(mdp, ["cell 3"])  # which the teacher does not know
    >>> found, exchanges = None, []
    >>> while found is None or found.status is not ti.DiagnosisStatus.IDENTIFIED:
    ...     probe = ti.next_probe(mdp, found, rng=rng)
    ...     target = view.matrix @ probe.demonstration.expectations
    ...     learned = ti.learners.MinNormPoint().learn(view.observe(mdp), target)
    ...     exchanges.append(ti.Exchange(probe, learned.policy))
    ...     found = ti.diagnose(mdp, None, exchanges)
    >>> found
    Diagnosis(has 'cell 3'; lacks 'cell 1', 'cell 2', 'cell 4', 'cell 5'; IDENTIFIED)
    >>> len(exchanges), found.p_value < 1e-6
    (2, True)
    """

    library: Library
    has: Names
    lacks: Names
    open: Names
    seen: Worldview
    possible: Worldview
    blind: Floats
    p_value: float
    confidence: float
    mismatch: float
    reused: int
    status: DiagnosisStatus
    exchanges: tuple[Any, ...] = ()
    taught: Names = ()
    row_space: Worldview | None = None
    missed: Floats = field(default_factory=lambda: np.zeros(0))
    contradicted: Names = ()

    @property
    def idle(self) -> Names:
        """Names of candidates that no policy can change."""
        return tuple(self.library.names[i] for i in self.library.idle)

    @property
    def classes(self) -> tuple[Names, ...]:
        """Names of candidates that nothing which a learner does can tell apart, a tuple each."""
        return self.library.classes

    def risk_at_least(self, weights: ArrayLike) -> float:
        """A teaching risk that the learner has at least: ‖w along `blind`‖/‖w‖.

        Parameters
        ----------
        weights : array [k]

        Returns
        -------
        float in [0, 1]
        """
        w = self.library.mdp.checked_weights(weights)
        size = float(np.linalg.norm(w))
        require(size > 0.0, "weights must not be all zero")
        return min(float(np.linalg.norm(self.blind @ w)) / size, 1.0)

    def within(self, view: Worldview) -> float:
        """ε, how far ‖A(μ_T − μ_L)‖ may be from 0 in a view.

        Parameters
        ----------
        view : Worldview, such as `seen`; a row that is no candidate counts with the most by which
            policies could differ in it

        Returns
        -------
        float, in the units of the view's rows
        """
        if self.mismatch == 0.0:
            return 0.0
        library, widths = self.library, self.library.reach(view.matrix)
        for number, row in enumerate(view.matrix):
            name = view.row_name(number)
            candidate = library.names.index(name) if name in library.names else None
            if candidate is not None and np.array_equal(library.view.matrix[candidate], row):
                widths[number] = library.ranges[candidate]
        return self.mismatch * float(np.linalg.norm(widths))

    def within_all(self, teachable: AnyRows, names: Names) -> float:
        """ε in all candidates and all that could be taught, of who has learned it.

        Parameters
        ----------
        teachable : array [n, k]
        names : tuple of n str; those that are called like a candidate are that

        Returns
        -------
        float
        """
        others = [i for i, name in enumerate(names) if name not in self.library.names]
        view = self.library.view.extend(teachable[others], tuple(names[i] for i in others))
        return self.within(view)

    def __repr__(self) -> str:
        parts = [
            f"{verb} {', '.join(map(repr, names))}"
            for verb, names in (("has", self.has), ("lacks", self.lacks), ("open", self.open))
            if names
        ]
        return f"Diagnosis({'; '.join([*parts, repr(self.status)])})"


__all__ = ["Diagnosis", "DiagnosisStatus"]
