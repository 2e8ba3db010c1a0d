"""Whole documents: the answer of a command, and the report of all that was found."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

from ...errors import require
from ...study.provenance import package_versions
from ..decisions import (
    Acquaintance,
    Assessment,
    Check,
    Frontier,
    Patience,
    TeachingPlan,
    account_in_time,
    acquaint,
)
from ..problem import Problem
from .acquaintance import acquaintance_headline, not_known_yet, what_is_known
from .assessment import (
    assessment_headline,
    how_the_expert_looks,
    how_things_stand,
    what_is_guaranteed,
    what_learners_do,
)
from .check import check_headline, what_looks_odd, what_there_is
from .elements import (
    Bullets,
    Code,
    Column,
    Data,
    Document,
    Facts,
    Headline,
    Section,
    Sentence,
    Table,
)
from .expert import warnings
from .frontier import frontier_headline, what_a_budget_buys
from .inferred import what_the_expert_is_after
from .log import what_the_log_leaves_open
from .notes import cut_short, rests_on
from .plan import plan_headline, what_is_different, what_to_teach
from .plausible import if_the_reward_is_another, one_of_several
from .recordings import what_the_recordings_say
from .sensitivity import if_the_learner_misses
from .stakes import what_is_0
from .world import what_to_show, world_section

Decision: TypeAlias = Assessment | TeachingPlan | Frontier | Check | Acquaintance


class _Kind(NamedTuple):
    """What a decision is called in JSON, which command makes it, and what is said of it."""

    name: str
    command: str
    headline: Callable[[Problem, Any], Headline]
    sections: tuple[Callable[[Problem, Any], Section], ...]


# In the order in which a report has them.
KINDS: dict[type, _Kind] = {
    TeachingPlan: _Kind(
        "plan",
        "teach",
        plan_headline,
        (what_to_teach, what_is_different, if_the_learner_misses, if_the_reward_is_another),
    ),
    Frontier: _Kind("frontier", "frontier", frontier_headline, (what_a_budget_buys,)),
    Assessment: _Kind(
        "assessment",
        "certify",
        assessment_headline,
        # What is known at once, then what takes longer: a document arrives section by section.
        (
            how_things_stand,
            if_the_learner_misses,
            what_is_guaranteed,
            if_the_reward_is_another,
            how_the_expert_looks,
            what_learners_do,
        ),
    ),
    Acquaintance: _Kind("diagnosis", "diagnose", acquaintance_headline, (what_is_known,)),
    Check: _Kind("check", "check", check_headline, (what_looks_odd, what_there_is)),
}


def answer(problem: Problem, found: Decision) -> Document:
    """What a command says of what was found.

    Parameters
    ----------
    problem : Problem
    found : Assessment, TeachingPlan, Frontier or Check

    Returns
    -------
    Document, whose sections are made one after the other
    """
    return Document(KINDS[type(found)].name, _title(problem), _sections(problem, found))


def report(problem: Problem, *found: Decision) -> Document:
    """All that was found about a problem, with figures, its input, and how to do it again.

    Parameters
    ----------
    problem : Problem, what all of it is about
    found : one or more of Assessment, TeachingPlan and Frontier, in any order

    Returns
    -------
    Document, whose sections are made one after the other
    """
    require(bool(found), "a report needs an assessment, a plan or a frontier, got none")
    kinds = list(KINDS)
    ordered = sorted(found, key=lambda each: kinds.index(type(each)))
    return Document("report", _title(problem), _report_sections(problem, ordered))


def _title(problem: Problem) -> str:
    """What the problem is called, and what was changed in its file for once."""
    return f"{problem.title} ({'; '.join(problem.options)})" if problem.options else problem.title


def _sections(problem: Problem, *found: Decision) -> Iterator[Section]:
    whole = [each for each in found if getattr(each, "cut", None) is None]
    headlines = [KINDS[type(each)].headline(problem, each) for each in found]
    facts, sentences = (tuple(chain.from_iterable(each)) for each in zip(*headlines, strict=True))
    # Those that two have are one.
    facts = (*facts, *(what_is_0(problem) if any(_patient(found)) else ()))
    facts = tuple({fact.label: fact for fact in facts}.values())
    sentences = tuple(dict.fromkeys(sentences))
    # What a report adds is made in a hurry once its main part was cut short, which alone is told.
    ended = [each for each in sentences if each.key == "cut_short" and each.text]
    sentences = tuple(each for each in sentences if each not in ended[1:])
    known = _first(found, Assessment)
    told = known or _first(found, Check)
    patience = next((each.patience for each in _patient(found)), Patience())
    told = told or _first(found, TeachingPlan)
    doubts = warnings(account_in_time(problem, patience) if told is None else told.account)
    learner = None
    if problem.unknown is not None and _first(found, Acquaintance) is None:
        learner = patience.spared(lambda: acquaint(problem))
        doubts = (*doubts, *(() if learner is None else not_known_yet(problem, learner)))
    if problem.rewards is not None and not isinstance(told, Check):
        below = any(isinstance(each, (Assessment, TeachingPlan)) for each in found)
        doubts = (*doubts, one_of_several(problem, below))
    doubted = Data("doubts", lambda: [each.text for each in doubts])
    yield Section("In short", (Facts(facts), Bullets((*doubts, *sentences)), doubted))
    yield what_the_expert_is_after(problem, known, _first(found, TeachingPlan))
    yield what_the_recordings_say(problem, known, _first(found, TeachingPlan))
    yield rests_on(problem, known)
    yield what_the_log_leaves_open(problem, known, _first(found, TeachingPlan))
    if learner is not None:
        yield what_is_known(problem, learner)
    for each in found:
        # Of a plan that teaches nothing the same is said where it is said how things stand.
        idle = known is not None and isinstance(each, TeachingPlan) and not each.taught
        for make in KINDS[type(each)].sections:
            if not (idle and make is if_the_learner_misses):
                yield make(problem, each)
    # What ended the work after the first lines had been made.
    late = [cut_short(each.patience.cut, each.patience.seconds) for each in _patient(whole)]
    yield Section("Cut short", tuple(each for each in late[:1] if each.text and not ended))


def _patient(found: Iterable[Decision]) -> Iterator[Assessment | TeachingPlan | Frontier]:
    return (each for each in found if isinstance(each, (Assessment, TeachingPlan, Frontier)))


def _report_sections(problem: Problem, found: list[Decision]) -> Iterator[Section]:
    yield from _sections(problem, *found)
    plan = _first(found, TeachingPlan)
    if plan is not None:
        yield what_to_show(problem, plan)
    yield world_section(problem, _first(found, Assessment))
    # What the other two report includes how things stand.
    made = [KINDS[type(each)].command for each in found if not isinstance(each, Assessment)]
    yield _again(problem, made or ["certify"])


def _first(found: Any, kind: type[Any]) -> Any:
    return next((each for each in found if isinstance(each, kind)), None)


def _again(problem: Problem, commands: list[str]) -> Section:
    """The exact input, the versions, and the commands that make this report."""
    name = problem.path.name
    changes = chain.from_iterable(option.split(" ", 1) for option in problem.options)
    options = shlex.join([name, *changes, "--out", "report"])
    lines = [f"teachirl {command} {options}" for command in commands]
    return Section(
        "To do it again",
        (
            Sentence(f"In a folder with {name}, and the files that it names:"),
            Code("\n".join(lines)),
            Section(name, (Code(problem.source),)),
            _pairs("Files that it names", ("file", "SHA-256"), problem.files),
            _pairs("Versions", ("package", "version"), tuple(package_versions().items())),
        ),
    )


def _pairs(caption: str, headings: tuple[str, str], rows: tuple[tuple[str, str], ...]) -> Table:
    columns = (
        Column("", headings[0], value=lambda row: row[0]),
        Column("", headings[1], value=lambda row: row[1]),
    )
    return Table(caption, columns, rows)


__all__ = ["answer", "report"]
