"""The process of one piece of long work: what to do as JSON on stdin, progress and result out."""

from __future__ import annotations

import json
import secrets
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...diagnosis.probe import next_probe
from ...diagnosis.probe_files import save_probe
from ...errors import TeachirlError, require
from ...study.progress import Progress
from ..decisions import assess, frontier, plan
from ..document.documents import answer, report
from ..problem import Problem
from ..render import html
from ..render.json import contents, plain
from .choice import Choice
from .thinker import said, tell

# Seconds that the frontier and the plan may take; what is proved by then is the answer.
SECONDS = 120.0
OFTEN = 0.1  # seconds between two words about progress


class Told(Progress):
    """Progress that is told to the other side."""

    latest_told = 0.0

    def show(self) -> None:
        """Say how far it is, but not all the time."""
        super().show()
        now = time.monotonic()
        if now - self.latest_told < OFTEN:
            return
        self.latest_told = now
        weights = [part.total * part.weight for part in self.parts]
        done = sum(part.done * part.weight for part in self.parts)
        share = done / (sum(weights) or 1.0)
        left = self.seconds_left()
        tell({"event": "progress", "share": min(share, 1.0), "left": left})


def main() -> None:
    """Do what is asked for, once."""
    asked = json.loads(sys.stdin.readline())
    path = Path(asked["path"])
    try:
        choice = Choice.of(asked["choice"])
        tell({"event": "progress", "share": 0.0, "left": None})
        kind = str(asked["kind"])
        require(kind in KINDS, f"there is no work {kind!r}")
        with Told() as progress:
            found = KINDS[kind](path, choice, progress)
        tell({"event": "result", "result": plain(found)})
    except (TeachirlError, OSError) as error:
        tell({"event": "error", "error": said(error, path)})


def _frontier(path: Path, choice: Choice, progress: Progress) -> dict[str, Any]:
    problem = choice.problem(path)
    return contents(answer(problem, frontier(problem, seconds=SECONDS, progress=progress)))


def _plan(path: Path, choice: Choice, progress: Progress) -> dict[str, Any]:
    problem = choice.problem(path, required=True)
    return contents(answer(problem, plan(problem, seconds=SECONDS, progress=progress)))


def _report(path: Path, choice: Choice, progress: Progress) -> dict[str, Any]:
    problem = choice.problem(path, required=True)
    found = plan(problem, seconds=SECONDS, progress=progress)
    standing = assess(problem, seconds=SECONDS, progress=progress)
    return {"html": html.page(report(problem, standing, found))}


def _probe(path: Path, choice: Choice, progress: Progress) -> dict[str, Any]:
    """Draw the next probe, and write it beside the problem file."""
    problem = choice.problem(path)
    out = path.with_name(_next_probe(problem))
    require(not out.exists(), f"{out.name} is there already: a probe is drawn once")
    part = progress.part("probe", 1)
    rng = np.random.default_rng(secrets.randbits(128))
    made = next_probe(problem.mdp, problem.diagnosis, rng=rng)
    made.policy.save(out.with_suffix(".csv"))
    save_probe(problem.mdp, made, out)
    part.advance()
    return {"probe": out.name, "policy": out.with_suffix(".csv").name}


def _next_probe(problem: Problem) -> str:
    require(problem.diagnosis is not None, "what the learner sees is known: there is no probe")
    number = 1
    while (problem.path.parent / f"probe-{number}.json").exists():
        number += 1
    return f"probe-{number}.json"


KINDS: dict[str, Callable[[Path, Choice, Progress], dict[str, Any]]] = {
    "frontier": _frontier,
    "plan": _plan,
    "report": _report,
    "probe": _probe,
}

if __name__ == "__main__":
    main()
