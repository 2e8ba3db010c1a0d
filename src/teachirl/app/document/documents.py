"""Whole documents: of each decision by itself, and the report of all of them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import chain

from ...errors import require
from ...study.provenance import package_versions
from ..decisions import Assessment, Frontier, TeachingPlan
from ..problem import Problem
from .assessment import assessment_headline, how_things_stand
from .elements import Bullets, Code, Column, Document, Fact, Facts, Section, Sentence, Table
from .frontier import frontier_headline, what_a_budget_buys
from .notes import rests_on
from .plan import plan_headline, what_is_different, what_to_teach
from .world import what_to_show, world_section


def assessment_document(problem: Problem, found: Assessment) -> Document:
    """What `teachirl certify` says.

    Parameters
    ----------
    problem : Problem
    found : Assessment of it

    Returns
    -------
    Document
    """
    sections = (
        _in_short(assessment_headline(found)),
        rests_on(problem, found),
        how_things_stand(problem, found),
    )
    return Document("assessment", problem.title, sections)


def plan_document(problem: Problem, found: TeachingPlan) -> Document:
    """What `teachirl teach` says.

    Parameters
    ----------
    problem : Problem
    found : TeachingPlan for it

    Returns
    -------
    Document
    """
    sections = (
        _in_short(plan_headline(problem, found)),
        rests_on(problem),
        what_to_teach(problem, found),
        what_is_different(found),
    )
    return Document("plan", problem.title, sections)


def frontier_document(problem: Problem, found: Frontier) -> Document:
    """What `teachirl frontier` says.

    Parameters
    ----------
    problem : Problem
    found : Frontier of it

    Returns
    -------
    Document
    """
    sections = (_in_short(frontier_headline(found)), rests_on(problem), what_a_budget_buys(found))
    return Document("frontier", problem.title, sections)


def report(
    problem: Problem,
    *,
    assessment: Assessment | None = None,
    plan: TeachingPlan | None = None,
    frontier: Frontier | None = None,
) -> Document:
    """All that was found about a problem, with figures, its input, and how to do it again.

    Parameters
    ----------
    problem : Problem, what all of it is about
    assessment, plan, frontier : what was found; sections of what is missing are left out

    Returns
    -------
    Document, whose sections are made one after the other
    """
    require(
        assessment is not None or plan is not None or frontier is not None,
        "a report needs at least one of assessment, plan and frontier, got none",
    )
    sections = _report_sections(problem, assessment, plan, frontier)
    return Document("report", problem.title, sections)


def _report_sections(
    problem: Problem,
    assessment: Assessment | None,
    plan: TeachingPlan | None,
    frontier: Frontier | None,
) -> Iterator[Section]:
    headlines = []
    if plan is not None:
        headlines.append(plan_headline(problem, plan))
    if frontier is not None:
        headlines.append(frontier_headline(frontier))
    if assessment is not None:
        headlines.append(assessment_headline(assessment))
    yield _in_short(*headlines)
    yield rests_on(problem, assessment)
    if plan is not None:
        yield what_to_teach(problem, plan)
        yield what_to_show(problem, plan)
        yield what_is_different(plan)
    if frontier is not None:
        yield what_a_budget_buys(frontier)
    if assessment is not None:
        yield how_things_stand(problem, assessment)
    yield world_section(problem, assessment)
    # What the other two report includes how things stand.
    commands = {"teach": plan, "frontier": frontier}
    yield _again(problem, [name for name, found in commands.items() if found] or ["certify"])


def _in_short(*headlines: tuple[tuple[Fact, ...], tuple[Sentence, ...]]) -> Section:
    """What to do, in a few numbers and sentences."""
    facts, sentences = (tuple(chain.from_iterable(each)) for each in zip(*headlines, strict=True))
    return Section("In short", (Facts(facts), Bullets(sentences)))


def _again(problem: Problem, commands: list[str]) -> Section:
    """The exact input, the versions, and the commands that make this report."""
    name = problem.path.name
    lines = [f"teachirl {command} {shlex.quote(name)} --out report" for command in commands]
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


__all__ = ["assessment_document", "frontier_document", "plan_document", "report"]
