"""The write-up of a reproduction, in markdown: figures, claims, times, and what was assumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from ..figures.records import Claim, Findings
from .results_database import RunRecord


@dataclass(frozen=True, eq=False)
class Chapter:
    """An experiment that is complete.

    Attributes
    ----------
    title : what it shows
    findings : its figures and claims
    record : its run in the store
    """

    title: str
    findings: Findings
    record: RunRecord


def claims_page(chapters: Sequence[Chapter]) -> str:
    """All claims with what was measured."""
    claims = [claim for chapter in chapters for claim in chapter.findings.claims]
    return f"# Claims\n\n{claims_table(claims)}\n"


def claims_table(claims: Sequence[Claim]) -> str:
    lines = [
        "| source | claim | measured | how it was checked | verdict |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {each.source} | {each.text} | {each.measured} | {each.test} | **{each.verdict}** |"
        for each in claims
    ]
    return "\n".join(lines)


def reproduction_page(chapters: Sequence[Chapter], quick: bool) -> str:
    """Everything on one page; the figures lie beside it in `figures`."""
    command = "teachirl reproduce --quick" if quick else "teachirl reproduce"
    parts = [
        "# The paper, reproduced" + (" (small)" if quick else ""),
        f"Made by `{command}`. The numbers behind each figure are in the CSV of the same name in "
        "its output folder; `teachirl runs` lists and exports all that was computed.",
        "The sizes are reduced: claims about larger ones have their numbers here, and no verdict."
        if quick
        else "",
    ]
    for chapter in chapters:
        parts.append(f"## {chapter.title}")
        for figure in chapter.findings.figures:
            parts.append(f"![{figure.caption}](figures/{figure.name}.png)")
            parts.append(figure.caption)
        parts += chapter.findings.tables
        if chapter.findings.claims:
            parts.append(claims_table(chapter.findings.claims))
    parts += ["## What we had to assume", _assumptions(), "## What it took", _times(chapters)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _assumptions() -> str:
    text = resources.files(__package__).joinpath("assumptions.md").read_text(encoding="utf-8")
    return text.strip()


def _times(chapters: Sequence[Chapter]) -> str:
    lines = ["| | units | processor time |", "|---|---|---|"]
    for each in chapters:
        record = each.record
        lines.append(f"| {each.title} | {record.done} | {record.elapsed:.1f} s |")
    if not chapters:
        return ""
    made = chapters[-1].record
    packages = ", ".join(f"{name} {version}" for name, version in made.packages.items())
    total = sum(each.record.elapsed for each in chapters)
    lines += [
        "",
        f"{total:.0f} s of processor time in all, on {made.machine['cpus']} processors "
        f"({made.machine['cpu_model']}). {packages}.",
    ]
    return "\n".join(lines)
