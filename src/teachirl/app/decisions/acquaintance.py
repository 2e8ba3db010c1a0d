"""What is known of a learner of whom nobody knows what it sees, and what that is worth."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from ...diagnosis.diagnosis import Diagnosis, DiagnosisStatus
from ...errors import require
from ..problem import Problem


class Standing(enum.StrEnum):
    """What is known of a candidate."""

    PROVED = "proved"
    EXCLUDED = "excluded"
    OPEN = "open"
    IDLE = "idle"


@dataclass(frozen=True)
class CandidateKnown:
    """A candidate, and what is known of it.

    Attributes
    ----------
    name : of the candidate
    standing : Standing: proved to be there or taught, excluded, open, or nothing that any policy
        changes
    alike : the others that nothing which a learner does can tell from it
    most : by how much policies can differ in it
    missed : by how much the learner missed it, if a policy of it did; None if no more than rounding
    """

    name: str
    standing: Standing
    alike: tuple[str, ...]
    most: float
    missed: float | None


@dataclass(frozen=True, eq=False)
class Acquaintance:
    """What is known of a learner.

    Attributes
    ----------
    diagnosis : Diagnosis
    candidates : CandidateKnown, in the order of the library
    guaranteed : the relative performance that is guaranteed with what is proved
    at_most : what would be guaranteed if the learner had all that is open
    alone : the open ones that a probe can test alone
    next_file : a name for the file of the next probe; None if there is nothing to find out
    """

    diagnosis: Diagnosis
    candidates: tuple[CandidateKnown, ...]
    guaranteed: float
    at_most: float
    alone: tuple[str, ...]
    next_file: str | None


def acquaint(problem: Problem) -> Acquaintance:
    """What is known of the learner of a problem.

    Parameters
    ----------
    problem : Problem, whose learner is unknown

    Returns
    -------
    Acquaintance
    """
    found = problem.diagnosis
    require(
        found is not None,
        f"{problem.path}: what the learner sees is said there; learner.unknown = true if it is not",
    )
    assert found is not None and problem.unknown is not None
    standing = {
        **dict.fromkeys(found.has, Standing.PROVED),
        **dict.fromkeys(found.lacks, Standing.EXCLUDED),
        **dict.fromkeys(found.open, Standing.OPEN),
        **dict.fromkeys(found.idle, Standing.IDLE),
    }
    alike = {name: group for group in found.classes for name in group}
    library, missed, shown = found.library, found.missed, problem.task.demonstration
    candidates = tuple(
        CandidateKnown(
            name,
            standing[name],
            tuple(each for each in alike.get(name, ()) if each != name),
            float(library.ranges[i]),
            float(missed[i] * library.ranges[i]) if missed[i] > library.rounding[i] else None,
        )
        for i, name in enumerate(library.names)
    )
    done = found.status is DiagnosisStatus.IDENTIFIED
    testable = library.alone(library.indices(found.possible.names or (), "candidates"))
    return Acquaintance(
        found,
        candidates,
        problem.guaranteed(found.seen, shown),
        problem.guaranteed(found.possible, shown),
        tuple(name for name in found.open if library.names.index(name) in testable),
        None if done else _next_file(problem),
    )


def _next_file(problem: Problem) -> str:
    """The first probe-N.json that is not there yet."""
    number = 1
    while (problem.path.parent / f"probe-{number}.json").exists():
        number += 1
    return f"probe-{number}.json"


__all__ = ["Acquaintance", "CandidateKnown", "Standing", "acquaint"]
