"""What is known of a learner whose worldview is unknown, as sections."""

from __future__ import annotations

from collections.abc import Iterator

from ...diagnosis.diagnosis import DiagnosisStatus
from ...figures.digits import number, percent_at_least
from ..decisions import Acquaintance, Standing
from ..problem import Problem
from ..problem.places import listed, shown
from .elements import Bullets, Column, Data, Fact, Headline, Section, Sentence, Table

SAID = {
    Standing.PROVED: "has it",
    Standing.EXCLUDED: "lacks it",
    Standing.OPEN: "open",
    Standing.IDLE: "nothing that a policy changes",
}


def acquaintance_headline(problem: Problem, found: Acquaintance) -> Headline:
    """The numbers and the sentences that matter most."""
    known = found.diagnosis
    facts = (
        Fact("candidates that the learner has", len(known.has), str, "proved"),
        Fact("that it lacks", len(known.lacks), str, "excluded"),
        Fact("that are open", len(known.open), str, "open"),
        Fact("guaranteed with what is proved", found.guaranteed, percent_at_least, "guaranteed"),
        Fact("if all that is open were there", found.at_most, percent_at_least, "at_most"),
    )
    return facts, tuple(map(Sentence, (_in_short(found), *_next(problem, found))))


def what_is_known(problem: Problem, found: Acquaintance) -> Section:
    """All candidates, what is known of each, and how sure that is."""
    known = found.diagnosis
    table = Table(
        "What the learner may see",
        (
            Column("name", "candidate"),
            Column("standing", "the learner", lambda standing: SAID[standing]),
            Column("alike", "cannot be told from", lambda names: listed(map(shown, names))),
            Column("most", "policies differ by", number),
        ),
        found.candidates,
        "candidates",
    )
    said = tuple(map(Sentence, (*_sure(found), *_before_buying(problem, found))))
    return Section(
        "What is known of the learner",
        (
            Bullets(said, "sure"),
            table,
            Data("status", lambda: known.status.name),
            Data("p_value", lambda: known.p_value),
            Data("confidence", lambda: known.confidence),
            Data("reused", lambda: known.reused),
            Data("next_file", lambda: found.next_file),
        ),
    )


def _in_short(found: Acquaintance) -> str:
    known = found.diagnosis
    if known.status is DiagnosisStatus.IDENTIFIED:
        has = listed(map(shown, known.has), limit=8) if known.has else "none of the candidates"
        return f"All is known of what the learner has among the candidates: {has}."
    return {
        DiagnosisStatus.OPEN: "Some candidates are neither proved nor excluded.",
        DiagnosisStatus.NOT_DRAWN: (
            "Nothing that was shown was drawn at random, so that nothing is proved that the "
            "learner has."
        ),
        DiagnosisStatus.OUTSIDE_LIBRARY: (
            "The learner reacts to something that no candidate explains: learner.library needs "
            "more of them, or it does not match as closely as is said."
        ),
    }[known.status]


def _next(problem: Problem, found: Acquaintance) -> Iterator[str]:
    """What to do next, as commands."""
    if found.next_file is None:
        return
    name = problem.path.name
    yield (
        f"Next: teachirl probe {name} --out {found.next_file} draws a demonstration. Show it to "
        "the learner, let it learn, and add its answer to the problem file: [[learner.answer]], "
        f'shown = "{found.next_file}", policy = "its policy.csv" (or trajectories).'
    )


def _sure(found: Acquaintance) -> Iterator[str]:
    known = found.diagnosis
    yield (
        "Lacking is seen where the learner misses what was shown"
        f"{' by more than its mismatch' if known.mismatch else ''}. Having is proved by probes "
        f"alone, as only these were drawn at random; all of this holds with confidence "
        f"{known.confidence:g}."
    )
    if known.has and known.p_value < 1.0:
        yield (
            "Who lacks some of what is proved comes so near to the probes by chance with a "
            f"probability of at most {known.p_value:.1g}."
        )
    yield (
        "It is assumed that the learner matches all that it sees, that its answer depends on "
        "nothing else of what is shown, and that what it sees is made of candidates."
    )
    if known.reused:
        one = known.reused == 1
        yield (
            f"{known.reused} probe{' was' if one else 's were'} used more than once: a learner who "
            "remembers the first time passes the second, which proves nothing."
        )


def _before_buying(problem: Problem, found: Acquaintance) -> Iterator[str]:
    """What is open and for sale is tested before it is paid for."""
    names = [name for name in found.diagnosis.open if name in problem.teachables.names]
    if names and found.next_file is not None:
        yield (
            f"{listed(map(shown, names), limit=6)} may be there already: before one is bought, "
            f"test it, as in teachirl probe {problem.path.name} --feature {shown(names[0])} --out "
            f"{found.next_file}. If that proves it, it costs nothing."
        )


__all__ = ["acquaintance_headline", "what_is_known"]
