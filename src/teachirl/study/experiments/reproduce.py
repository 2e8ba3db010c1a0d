"""From experiments to figures and claims: run what is missing, draw what is complete, write it up.

In the output folder: ``results.sqlite``, what was computed (`results_database`), and a folder
``full`` or ``quick`` with ``figures``, ``claims.md`` and ``reproduction.md``, all made from that
database alone.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ...errors import TeachirlError
from ...figures.drawing import write_figure
from ...figures.records import Claim, Findings, Verdict
from ...files import made_folder, replacing
from ..engine import Failure, Job, Outcome, run_units
from ..progress import Part, Progress
from ..results_database import Store, canonical, run_id
from ..write_up import Chapter, claims_page, reproduction_page
from .experiment import BUILT_IN, WITH, Experiment, Result, Results, Unit, find, job_text


@dataclass(frozen=True, eq=False)
class Report:
    """What came of it.

    Attributes
    ----------
    folder : with the figures and pages
    chapters : the experiments that are complete, the paper's own first
    failed : a text for each unit that failed
    seconds : what it took this time
    quick : whether the sizes are reduced
    """

    folder: Path
    chapters: tuple[Chapter, ...]
    failed: tuple[str, ...]
    seconds: float
    quick: bool

    @property
    def claims(self) -> tuple[Claim, ...]:
        return tuple(claim for chapter in self.chapters for claim in chapter.findings.claims)

    def __str__(self) -> str:
        width = max((len(chapter.title) for chapter in self.chapters), default=0)
        lines = [
            f"{chapter.title:<{width}}  {_units(chapter.record.done):>10}  "
            f"{chapter.record.elapsed:>7.1f} s of processor time"
            for chapter in self.chapters
        ]
        total = sum(chapter.record.elapsed for chapter in self.chapters)
        lines.append(
            f"{total:.0f} s of processor time in all; this time it took {self.seconds:.0f} s"
        )
        lines += ["", *self._judged(), ""]
        figures = sum(len(chapter.findings.figures) for chapter in self.chapters)
        lines += [
            f"Made: {figures} figures, as PDF, SVG, PNG and CSV, in {self.folder / 'figures'}.",
            f"Look first at {self.folder / 'reproduction.md'}: all figures, what is claimed, and "
            "what was measured.",
        ]
        return "\n".join(lines)

    def _judged(self) -> list[str]:
        """How many claims hold, and those that do not."""
        by_verdict = {
            verdict: [claim for claim in self.claims if claim.verdict is verdict]
            for verdict in Verdict
        }
        judged = len(self.claims) - len(by_verdict[Verdict.UNJUDGED])
        lines = (
            [f"Of the {judged} claims judged, {len(by_verdict[Verdict.HOLDS])} hold."]
            if judged
            else []
        )
        lines += [
            f"  {verdict}: {claim.text} ({claim.measured})"
            for verdict in (Verdict.FAILS, Verdict.UNDECIDED)
            for claim in by_verdict[verdict]
        ]
        if judged < len(self.claims):
            lines.append(
                f"{len(self.claims) - judged} claims are about larger sizes than these, and are "
                "not judged here: leave out --quick for them."
            )
        return lines


def _units(count: int) -> str:
    return f"{count} unit{'' if count == 1 else 's'}"


def reproduce(
    references: Sequence[str],
    *,
    quick: bool,
    out: Path,
    workers: int | None = None,
    cluster: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """Run experiments, draw their figures and check their claims.

    What the store in `out` has is not computed again.

    Parameters
    ----------
    references : names of `BUILT_IN`, or FILE.py:NAME; all built-in ones if there are none
    quick : the small settings
    out : the output folder
    workers, cluster : where to work, see `run_units`
    """
    names = list(dict.fromkeys(map(_full_name, references))) or list(BUILT_IN)
    progress, began = progress or Progress(), time.monotonic()
    folder = out / ("quick" if quick else "full")
    found = {name: find(name) for name in names}
    with Store.open(out) as store:
        studies = [_Study(name, found[name], quick, store, folder) for name in names]
        for study in studies:
            study.begin()
        by_job: dict[Job, tuple[_Study, Unit]] = {}
        for study in studies:
            study.part = progress.part(
                study.name,
                len(study.units),
                done=len(study.units) - len(study.missing),
                weight=study.experiment.unit_seconds,
            )
            by_job |= {study.job(unit): (study, unit) for unit in study.missing}
            study.finish()
        # One unit of each first: that shows how long each takes, and workers compile different
        # kernels instead of all the same.
        jobs = sorted(by_job, key=lambda job: by_job[job][1] != by_job[job][0].missing[0])

        def on_done(job: Job, outcome: Outcome) -> None:
            study, unit = by_job[job]
            study.add(unit, outcome)

        failures = run_units(jobs, on_done=on_done, workers=workers, cluster=cluster)
        chapters = _chapters(studies, quick, store, folder)
    seconds = time.monotonic() - began
    failed = [
        *(_text(failure) for failure in failures),
        *(study.problem for study in studies if study.problem),
    ]
    report = Report(folder, chapters, tuple(failed), seconds, quick)
    _write(folder / "claims.md", claims_page(chapters))
    _write(folder / "reproduction.md", reproduction_page(chapters, quick))
    return report


class _Study:
    """An experiment with its settings, and what of it is done."""

    def __init__(
        self, name: str, experiment: Experiment, quick: bool, store: Store, folder: Path
    ) -> None:
        self.name, self.experiment, self.store, self.folder = name, experiment, store, folder
        self.settings: Any = self.experiment.quick if quick else self.experiment.full
        self.units = self.experiment.units(self.settings)
        self.source = "" if name in BUILT_IN else Path(name.rpartition(":")[0]).read_text()
        self.run = run_id(name, experiment.version, asdict(self.settings), self.source)
        begun = any(run.id == self.run for run in store.runs())
        done = store.finished(self.run) if begun else {}
        self.missing = [unit for unit in self.units if canonical(unit) not in done]
        self.left = len(self.missing)
        self.part: Part | None = None
        self.problem = ""
        self.findings: Findings | None = None

    def begin(self) -> None:
        """Enter it in the store."""
        version, settings = self.experiment.version, asdict(self.settings)
        self.store.begin(self.name, version, settings, self.units, self.source)

    def job(self, unit: Unit) -> Job:
        where = ", ".join(f"{key} {value}" for key, value in unit.items())
        return Job(f"{self.name}, {where}", job_text(self.name, self.settings, unit))

    def add(self, unit: Unit, outcome: Outcome) -> None:
        self.store.add(
            self.run, unit, outcome.values, outcome.seconds, outcome.worker, outcome.elapsed
        )
        self.left -= 1
        if self.part is not None:
            self.part.advance()
        self.finish()

    def finish(self) -> None:
        """Once all units are there: analyse and draw.

        The analysis may be the user's: a mistake in it must not stop the other experiments.
        """
        if self.left > 0:
            return
        try:
            self.findings = self.analysed()
        except TeachirlError:
            raise
        except Exception:
            self.problem = f"{self.name}: its analysis failed\n{traceback.format_exc().rstrip()}"
            return
        try:
            for figure in self.findings.figures:
                write_figure(figure, self.folder / "figures")
        except (OSError, TeachirlError):  # what is computed is kept, and the user makes room
            raise
        except Exception:
            self.problem = f"{self.name}: drawing failed\n{traceback.format_exc().rstrip()}"

    def analysed(self) -> Findings:
        done = self.store.finished(self.run)
        pairs = [(unit, Result(*done[canonical(unit)])) for unit in self.units]
        found = self.experiment.analyse(self.settings, Results(pairs))
        if self.settings == self.experiment.full:
            return found
        claims = (replace(claim, verdict=Verdict.UNJUDGED) for claim in found.claims)
        return replace(found, claims=tuple(claims))

    def chapter(self) -> Chapter:
        findings = self.findings or self.analysed()
        return Chapter(self.experiment.title, findings, self.store.get(self.run))


def _chapters(
    studies: list[_Study], quick: bool, store: Store, folder: Path
) -> tuple[Chapter, ...]:
    """All that are complete: those that were asked for, and built-in ones of earlier runs."""
    ready = {study.name: study for study in studies if study.left == 0 and not study.problem}
    begun = {run.experiment for run in store.runs()}
    asked = {study.name for study in studies}
    for name in BUILT_IN:
        if name in begun and name not in asked:
            earlier = _Study(name, find(name), quick, store, folder)
            if earlier.left == 0:
                ready[name] = earlier
    order = [
        *(name for name in BUILT_IN if name in ready),
        *(n for n in ready if n not in BUILT_IN),
    ]
    return tuple(ready[name].chapter() for name in order)


def _full_name(reference: str) -> str:
    """A built-in name, or FILE.py:NAME with the whole path: workers may be in another folder."""
    name = WITH.get(reference, reference)
    return name if name in BUILT_IN or ":" not in name else str(Path(name).resolve())


def _text(failure: Failure) -> str:
    return "\n".join(text for text in (str(failure), failure.traceback.rstrip()) if text)


def _write(path: Path, text: str) -> None:
    made_folder(path.parent)
    with replacing(path) as file:
        file.write(text.encode())
