"""What a learner sees, from what it was shown and what it then did.

An exchange is a demonstration and the learner's answer, d = μ_T − μ_L. Three things are assumed,
and each conclusion says which it needs:

    match      |⟨f, d⟩| ≤ ε for every feature f that the learner has
    barrier    given what it sees of the demonstration, its answer does not depend on the rest
    library    all that matters of what it has is a combination of candidates that it has

*It lacks f* follows from a miss (match). *It has f* follows from no behaviour alone: the blind may
be lucky. It follows, with the confidence that is asked for, once the demonstration was drawn at
random (match, barrier, library; see `probe`). Confidence is spent in three parts: on p-values of
exact answers, the i-th probe being allowed a share of 1/(i(i + 1)); on e-values of sampled answers
for having, and on those for lacking, shared by all candidates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ..arrays import Floats, frozen
from ..demonstrations.demonstration import Demonstration, as_demonstration
from ..demonstrations.trajectories import Trajectories, check_trajectories
from ..errors import require
from ..mdp.model import MDP, check_is_mdp
from ..precision import SEARCH_TIE
from ..views.linear_algebra import extended_basis, unit_rows, without_span
from ..views.worldview import Worldview
from .betting import against_having, episode_returns, for_seeing
from .diagnosis import Diagnosis, DiagnosisStatus
from .exchange import Exchange
from .library import Library
from .probe import Probe


def diagnose(
    mdp: MDP,
    candidates: Worldview | Library | None,
    exchanges: Sequence[Exchange],
    *,
    taught: Iterable[str | int] = (),
    mismatch: float = 0.0,
    confidence: float = 0.95,
) -> Diagnosis:
    """What a learner sees, as far as its answers prove it.

    Parameters
    ----------
    mdp : MDP with the true features
    candidates : Worldview, a row each that the learner may have; None for all of the MDP's features
    exchanges : sequence of Exchange, in the order in which they took place
    taught : sequence of str or int, candidates that the learner has been given. A probe that was
        made without one of them must have been answered before
    mismatch : float, how closely the learner matches each of its features, as a share of what
        policies can change of it; 0 for one who matches exactly. Take it too small, and features
        that the learner has are excluded
    confidence : float in (0, 1), with which all that is said holds

    Returns
    -------
    Diagnosis

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> expert = ti.optimal_policy(mdp, [-2, -1, 0, 1, 2]).policy
    >>> left = ti.worst_policy(mdp, [-2, -1, 0, 1, 2]).policy
    >>> found = ti.diagnose(mdp, None, [ti.Exchange(expert, left)])
    >>> found.lacks, found.open
    (('cell 1', 'cell 2', 'cell 4', 'cell 5'), ('cell 3',))
    >>> found.status
    NOT_DRAWN
    """
    check_is_mdp(mdp)
    require(
        isinstance(confidence, (int, float)) and 0.0 < confidence < 1.0,
        f"confidence must lie strictly between 0 and 1, got {confidence!r}",
    )
    require(
        isinstance(mismatch, (int, float)) and 0.0 <= mismatch < math.inf,
        f"mismatch must be non-negative and finite, got {mismatch!r}",
    )
    for number, exchange in enumerate(exchanges):
        require(
            isinstance(exchange, Exchange),
            f"exchanges[{number}] must be an Exchange, got {type(exchange).__name__}",
        )
    library = candidates if isinstance(candidates, Library) else Library(mdp, candidates)
    given = library.indices(taught, "taught")
    evidence = _Evidence(library, float(mismatch), 1.0 - confidence)
    for number, exchange in enumerate(exchanges):
        evidence.add(exchange, f"exchanges[{number}]")
    found = evidence.conclude(set(given), float(confidence))
    names = tuple(library.names[i] for i in given)
    return replace(found, exchanges=tuple(exchanges), taught=names)


def updated(
    diagnosis: Diagnosis, exchanges: Sequence[Exchange] = (), taught: Iterable[str | int] = ()
) -> Diagnosis:
    """A diagnosis with further exchanges, or after more was taught.

    Parameters
    ----------
    diagnosis : Diagnosis
    exchanges : sequence of Exchange, that took place since
    taught : sequence of str or int, candidates that the learner has been given since

    Returns
    -------
    Diagnosis

    Examples
    --------
    >>> import teachirl as ti
    >>> from teachirl.diagnosis.diagnose import updated
    >>> found = ti.diagnose(ti.worlds.chain(5), None, [])
    >>> updated(found, taught=["cell 1"]).has
    ('cell 1',)
    """
    library = diagnosis.library
    return diagnose(
        library.mdp,
        library,
        [*diagnosis.exchanges, *exchanges],
        taught=[*diagnosis.taught, *taught],
        mismatch=diagnosis.mismatch,
        confidence=diagnosis.confidence,
    )


class _Evidence:
    """What the exchanges so far say of each candidate."""

    def __init__(self, library: Library, mismatch: float, failure: float) -> None:
        n = len(library)
        self.library, self.mismatch = library, mismatch
        self.part = failure / 3.0
        self.sampled = np.zeros(n, dtype=bool)  # whether sampled answers exclude it
        self.lacking = np.zeros(n)  # log e-values of sampled answers
        self.having = np.zeros(n)
        self.proofs: list[tuple[float, set[int], str]] = []  # p, whom it is about
        self.missed = np.zeros(n)  # the most that exact answers were off, in ranges
        self.misses: list[Floats] = []  # d of exact answers, by what is allowed
        self.wide: list[Floats] = []  # d of probes that were drawn among all candidates
        self.settled = False  # whether the last of these was off in no new direction
        self.levels: list[Floats] = []
        self.drawn = self.probes = self.reused = 0

    def add(self, exchange: Exchange, place: str) -> None:
        """Count one more exchange."""
        shown, fresh = exchange.shown, False
        if isinstance(shown, Probe):
            fresh = not any(np.array_equal(shown.levels, other) for other in self.levels)
            self.levels.append(shown.levels)
            self.drawn += 1
            self.reused += not fresh
            shown = shown.demonstration
        mdp = self.library.mdp
        before = as_demonstration(mdp, shown)
        require(
            before.error == 0.0,
            f"{place}: what was shown must be known exactly, as a policy or a probe",
        )
        answer = exchange.answer
        if isinstance(answer, Demonstration) and answer.trajectories is not None:
            answer = answer.trajectories
        probe = exchange.shown if isinstance(exchange.shown, Probe) and fresh else None
        if isinstance(answer, Trajectories):
            check_trajectories(mdp, answer)
            self._sampled(before, answer, probe)
            return
        after = as_demonstration(mdp, answer)
        require(
            after.error == 0.0,
            f"{place}: an answer that is estimated must come with its trajectories",
        )
        self._exact(before.expectations - after.expectations, probe)

    def _exact(self, difference: Floats, probe: Probe | None) -> None:
        library = self.library
        off, allowed = np.abs(library.off(difference)), library.allowed(self.mismatch)
        self.missed = np.maximum(self.missed, off)
        along = library.indistinct.project(difference)
        times = float((off / allowed).max(initial=0.0))
        if times > 1.0:
            self.misses.append(along * (times / np.linalg.norm(along)))
        if probe is None:
            return
        self.probes += 1
        about = set(library.indices(probe.survivors, "the probe's candidates"))
        if len(about) == len(library) - len(library.idle):
            self._wide(along)
        tested = [i for i in about if not probe.tested or library.names[i] == probe.tested]
        missed = float(np.linalg.norm(off[tested] + library.rounding[tested]))
        p = min(1.0, probe.p_value(missed) * self.probes * (self.probes + 1))
        self.proofs.append((p, about, probe.tested))

    def _wide(self, along: Floats) -> None:
        """What the learner was off by, after a probe that was drawn among all candidates."""
        # In ranges, so that it does not matter in which units features are.
        rows = self.library.rows
        known, now = np.array(self.wide).reshape(-1, len(along)) @ rows.T, rows @ along
        sizes = np.linalg.norm(known, axis=1)
        basis = extended_basis(known[:0], known[sizes > 0.0])
        new = float(np.linalg.norm(without_span(basis, now)))
        self.settled = new <= SEARCH_TIE * max(np.linalg.norm(now), sizes.max(initial=0.0))
        self.wide.append(along)

    def _row_space(self, given: set[int]) -> Worldview | None:
        """All that the learner sees of what policies can change, if the candidates span that."""
        library = self.library
        never, k = library.indistinct.basis, library.mdp.n_features
        if self.mismatch > 0.0 or not self.settled:
            return None
        if len(library.span(range(len(library)))) < k - len(never):
            return None
        off = np.array(self.wide)
        off = off[np.linalg.norm(off, axis=1) > 0.0]
        left, sizes, _ = np.linalg.svd(off @ library.rows.T, full_matrices=False)
        leading = left.T[sizes > SEARCH_TIE * sizes.max(initial=0.0)] @ off
        unseen = extended_basis(never, leading)
        seen = extended_basis(unseen, np.eye(k))[len(unseen) :]
        return Worldview(extended_basis(seen, library.rows[sorted(given - set(library.idle))]))

    def _blind(self, given: set[int]) -> Floats:
        """What the learner was off by, of which it has been taught nothing, orthonormal [m, k].

        Directions in which it was off by no more than a few times what is allowed are left out, as
        these may be tolerance alone; all are, if it is known to match roughly only.
        """
        library = self.library
        if self.mismatch > 0.0 or not self.misses:
            return np.empty((0, library.mdp.n_features))
        _, sizes, directions = np.linalg.svd(np.array(self.misses), full_matrices=False)
        basis = directions[sizes > 1.0 / SEARCH_TIE]
        taught = unit_rows(library.rows[sorted(given)]) @ basis.T
        _, sizes, across = np.linalg.svd(taught)
        seen = int(np.count_nonzero(sizes > SEARCH_TIE))
        return np.asarray(across[seen:] @ basis)

    def _sampled(self, before: Demonstration, answer: Trajectories, probe: Probe | None) -> None:
        library, mdp = self.library, self.library.mdp
        rows, ranges = library.view.matrix, library.ranges
        possible = {i for group in library.groups if not self._lacks(group) for i in group}
        for i in (i for i in range(len(library)) if i not in library.idle):
            shown = float(rows[i] @ before.expectations)
            width = self.mismatch * float(ranges[i])
            self.lacking[i] += against_having(mdp, rows[i], answer, shown, width)
        self.sampled |= self.lacking >= math.log(max(len(library), 1) / self.part)
        if probe is None or not probe.tested:
            return
        self.probes += 1
        # E-values multiply if each is chosen before it is seen: it counts with who is possible now.
        if not possible <= set(library.indices(probe.survivors, "the probe's candidates")):
            return
        tested = library.indices([probe.tested], "the probe's candidate")[0]
        low, high = (float(rows[tested] @ m) for m in _ends(mdp, probe))
        least, most = episode_returns(mdp, rows[tested], answer)
        middle = 0.5 * (least + most)
        spread = float(middle.std(ddof=1)) if len(middle) > 1 else abs(high - low)
        error = spread / math.sqrt(len(middle)) + 0.5 * float((most - least).mean())
        error = max(error, 1e-3 * abs(high - low)) / abs(high - low)
        guess = (float(middle.mean()) - low) / (high - low)
        gained = for_seeing(float(probe.levels[1]), guess, error)
        for i in library.group_of(tested):
            self.having[i] += gained

    def conclude(self, given: set[int], confidence: float) -> Diagnosis:
        """What all of it proves together."""
        library, n = self.library, len(self.library)
        idle = set(library.idle)
        given = {i for each in given for i in library.group_of(each)}
        excluded = {i for g in library.groups if self._lacks(g) for i in g}
        alive = set(range(n)) - idle - (excluded - given)
        proved, p_value, missed = self._proved(alive, excluded & given)
        has = (proved & alive) | given
        if given:  # what was missed before may follow from what is there now
            alive |= library.following(alive) & excluded
        if self.mismatch == 0.0:
            has |= library.following(has) & alive
        open_ = alive - has
        status = DiagnosisStatus.OPEN
        if not open_:
            status = DiagnosisStatus.IDENTIFIED
        elif not self.drawn:
            status = DiagnosisStatus.NOT_DRAWN
        if self._unexplained(alive):
            status = DiagnosisStatus.OUTSIDE_LIBRARY
        names = library.names
        return Diagnosis(
            library=library,
            has=tuple(names[i] for i in sorted(has)),
            lacks=tuple(names[i] for i in range(n) if i not in alive and i not in idle),
            open=tuple(names[i] for i in sorted(open_)),
            seen=library.select(sorted(has)),
            possible=library.select(sorted(alive)),
            blind=frozen(self._blind(given)),
            p_value=p_value,
            confidence=confidence,
            mismatch=self.mismatch,
            reused=self.reused,
            status=status,
            row_space=self._row_space(given),
            missed=frozen(self.missed),
            contradicted=tuple(names[i] for i in sorted(missed)),
        )

    def _lacks(self, group: tuple[int, ...]) -> bool:
        """Whether a class is excluded: all of it, as what tells of one tells of each.

        The learner may have any of them, and be off by the most that one allows.
        """
        members = list(group)
        most = float(self.library.allowed(self.mismatch)[members].max())
        return bool(self.sampled[members].any() or self.missed[members].min() > most)

    def _proved(self, alive: set[int], since: set[int]) -> tuple[set[int], float, set[int]]:
        """Whom the learner has, with confidence; the p-value that it has all that are alive; and
        whom it was proved to have, and misses."""
        library = self.library
        proved: set[int] = set()
        missed: set[int] = set()
        best = 1.0
        for p, about, tested in self.proofs:
            # Made for fewer than may be there, a probe says nothing; but it was answered before
            # anything was taught that it leaves out, and that the learner lacked.
            left = alive - (since - about)
            if not left <= about:
                continue
            whom = about if not tested else set(library.group_of(library.names.index(tested)))
            if whom == left:
                best = min(best, p)
            if p <= self.part:
                missed |= whom - left
                proved |= whom if whom <= left else set()
        enough = math.log(max(len(library), 1) / self.part)
        proved |= {int(i) for i in np.flatnonzero(self.having >= enough)}
        return proved, best, missed | (proved - alive)

    def _unexplained(self, alive: set[int]) -> bool:
        """Whether the learner has matched some direction in which no candidate that is left lies.

        Drawn among all candidates, each probe that is answered by who has those alone is off in a
        new direction, until there is none.
        """
        library = self.library
        kept, whole = library.span(sorted(alive)), library.span(range(len(library)))
        free = len(whole) - len(kept)
        if free == 0 or len(self.wide) < free:
            return False
        missed = without_span(kept, np.array(self.wide)) @ library.rows.T
        sizes = np.linalg.svd(missed, compute_uv=False)
        return bool(np.count_nonzero(sizes > SEARCH_TIE * sizes[0]) < free)


def _ends(mdp: MDP, probe: Probe) -> tuple[Floats, Floats]:
    """What the two ends of a tea test show, [k] each, with what is mixed in."""
    shown = [as_demonstration(mdp, each).expectations for each in probe.vertices]
    if probe.near is None:
        return shown[0], shown[1]
    near = as_demonstration(mdp, probe.near).expectations
    mixed = [probe.share * each + (1.0 - probe.share) * near for each in shown]
    return mixed[0], mixed[1]


__all__ = ["diagnose", "updated"]
