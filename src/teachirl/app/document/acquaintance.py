"""What is known of a learner whose worldview is unknown, as sections."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from ...demonstrations.trajectories import Trajectories
from ...diagnosis.diagnosis import DiagnosisStatus
from ...figures.digits import asked, at_most, counted, number, percent_at_least
from ...files import shown
from ..decisions import Acquaintance, Standing
from ..problem import Problem
from ..problem.places import listed
from .elements import Bullets, Column, Data, Fact, Headline, Section, Sentence, Table

# Who misses by less than this share of what policies can change may only match roughly.
NEARLY = 0.01
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


def not_known_yet(problem: Problem, found: Acquaintance) -> Iterator[Sentence]:
    """What is in doubt of a learner that a plan is made for."""
    known, name = found.diagnosis, problem.path.name
    if known.contradicted or known.status is DiagnosisStatus.OUTSIDE_LIBRARY:
        yield Sentence(f"What is known of the learner does not fit: see teachirl diagnose {name}.")
    elif known.open:
        one = len(known.open) == 1
        yield Sentence(
            f"It is open whether the learner has {counted(len(known.open), 'candidate')}. All here "
            f"counts without {'it' if one else 'them'}; teachirl diagnose {name} says what to show "
            "before anything is bought."
        )


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
            Column("missed", "missed by", lambda off: "" if off is None else number(off)),
        ),
        found.candidates,
        "candidates",
    )
    sentences = (*_doubt(found), *_sure(found), *_before_buying(problem, found))
    said = tuple(map(Sentence, sentences))
    return Section(
        "What is known of the learner",
        (
            Bullets(said, "sure"),
            table,
            Data("status", lambda: known.status.name),
            Data("p_value", lambda: known.p_value),
            Data("confidence", lambda: known.confidence),
            Data("contradicted", lambda: list(known.contradicted)),
            Data("reused", lambda: known.reused),
            Data("next_file", lambda: found.next_file),
        ),
    )


def _in_short(found: Acquaintance) -> str:
    known = found.diagnosis
    if not known.exchanges and known.status is DiagnosisStatus.NOT_DRAWN:
        return "The learner has not been shown anything yet."
    if known.status is DiagnosisStatus.IDENTIFIED:
        if not known.has:
            return (
                "The learner misses all candidates: it sees none of them, or it does not match "
                "what it sees as closely as is said."
            )
        has = listed(map(shown, known.has), limit=8)
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


def _doubt(found: Acquaintance) -> Iterator[str]:
    """What is missed by little, or all of it, may be there after all."""
    known = found.diagnosis
    if known.contradicted:
        names = listed(map(shown, known.contradicted), limit=6)
        yield (
            f"Too closely for chance the learner followed, and yet missed, {names}. It matches "
            "less closely than is said (learner.mismatch), or its answer depends on more than the "
            "candidates: what is said here does not hold."
        )
        return
    near = {
        each.name: each.missed / each.most
        for each in found.candidates
        if each.standing is Standing.EXCLUDED and each.missed is not None
    }
    if not near or (min(near.values()) > NEARLY and (known.has or known.open)):
        return
    nearest = min(near, key=lambda name: near[name])
    yield (
        f"Of what the learner misses, {shown(nearest)} is nearest: it is off by a share of "
        f"{near[nearest]:.1g} of what policies can change of it. If it learned from episodes, or "
        "stops early, it comes no closer to what it sees: say so as learner.mismatch."
    )


def _next(problem: Problem, found: Acquaintance) -> Iterator[str]:
    """What to do next, as commands."""
    if found.next_file is None:
        return
    exchanges, name = found.diagnosis.exchanges, problem.path.name
    sampled = bool(exchanges) and isinstance(exchanges[-1].answer, Trajectories)
    if sampled and not found.alone:
        yield (
            "Episodes prove that a candidate is there by probes of it alone, and each that is open "
            "follows from others: ask for the learner's policy instead."
        )
    command = f"teachirl probe {name}"
    if sampled and found.alone:
        command += f" --feature {shlex.quote(found.alone[0])}"
    answer = Path(found.next_file).stem + "-answer"
    file = f'trajectories = "{answer}.jsonl"' if sampled else f'policy = "{answer}.csv"'
    yield (
        f"Next: {command} --out {found.next_file} draws a demonstration. Show it to the learner, "
        "let it learn, and add its answer to the problem file: [[learner.answer]], shown = "
        f'"{found.next_file}", {file} (or {"policy" if sampled else "trajectories"}).'
    )


def _sure(found: Acquaintance) -> Iterator[str]:
    known = found.diagnosis
    yield (
        "Lacking is seen where the learner misses what was shown"
        f"{' by more than its mismatch' if known.mismatch else ''}. Having is proved by probes "
        f"alone, as only these were drawn at random; all of this holds with confidence "
        f"{asked(known.confidence)}."
    )
    if known.has and not known.open and known.p_value < 1.0:
        yield (
            "Who lacks some of what is proved comes so near to the probes by chance with a "
            f"probability of at most {at_most(known.p_value)}."
        )
    if known.has:
        yield "It has a candidate if what it sees determines it, whatever it looks at itself."
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
        # Of one alone, if there is one that does not follow from the others.
        alone = [f"--feature {shlex.quote(name)} " for name in names if name in found.alone]
        yield (
            f"{listed(map(shown, names), limit=6)} may be there already: before one is bought, "
            f"test it, as in teachirl probe {problem.path.name} {''.join(alone[:1])}--out "
            f"{found.next_file}. If that proves it, it costs nothing."
        )


__all__ = ["acquaintance_headline", "not_known_yet", "what_is_known"]
