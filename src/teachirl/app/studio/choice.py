"""What is switched on at the desk: it stands in the page's address, and makes a problem another."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import require
from ..problem import Change, Problem, Show, read_problem

MOST_NAMES = 5000
ANSWER = re.compile(r"probe-(\d{1,4})\.json")


@dataclass(frozen=True)
class Choice:
    """What differs from the problem file.

    Attributes
    ----------
    sees : names of what the learner sees; None if that is what the file says
    taught : names of what is taught
    mismatch : up to which learners match; None if that is what the file says
    show : ``optimal`` or ``choose``; None if that is what the file says

    Examples
    --------
    >>> Choice.of({"taught": ["radar"], "mismatch": 0.1})
    Choice(sees=None, taught=('radar',), mismatch=0.1, show=None)
    """

    sees: tuple[str, ...] | None = None
    taught: tuple[str, ...] = ()
    mismatch: float | None = None
    show: str | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Choice:
        """A choice as the page sends it."""
        unknown = sorted(set(given) - {"sees", "taught", "mismatch", "show"})
        require(not unknown, f"a choice has no {unknown[:1]}")
        sees, show, mismatch = given.get("sees"), given.get("show"), given.get("mismatch")
        number = isinstance(mismatch, (int, float)) and not isinstance(mismatch, bool)
        require(
            mismatch is None or (number and 0.0 <= mismatch < 1e9),
            "mismatch must be a number that is not negative",
        )
        require(show in (None, "optimal", "choose"), "show must be optimal or choose")
        return cls(
            None if sees is None else _names("sees", sees),
            _names("taught", given.get("taught", [])),
            None if mismatch is None else float(mismatch),
            show,
        )

    def plain(self) -> dict[str, Any]:
        """The same, as JSON has it."""
        taught = list(self.taught)
        sees = None if self.sees is None else list(self.sees)
        return {"sees": sees, "taught": taught, "mismatch": self.mismatch, "show": self.show}

    def changes(self, path: Path, *, required: bool = False) -> list[Change]:
        """What stands in for some of what the file says: answers to probes, and what is chosen.

        Parameters
        ----------
        path : the problem file
        required : whether what is taught is what must be
        """
        return [*_answers(path), *self.own(required=required)]

    def own(self, *, required: bool = False) -> list[Change]:
        """What stands in for some of what a file says, as it is chosen."""
        found = []
        if self.sees is not None:
            option = f"--sees {','.join(self.sees)}"
            found.append(Change(option, ("learner", "sees"), list(self.sees)))
        if self.mismatch is not None:
            found.append(Change.set(f"plan.mismatch={self.mismatch!r}"))
        if self.show is not None:
            found.append(Change.set(f'demonstration={{show="{self.show}"}}'))
        if required and self.taught:
            names = json.dumps(list(self.taught), ensure_ascii=False)
            option = f"--set teach.required={names}"
            found.append(Change(option, ("teach", "required"), list(self.taught)))
        return found

    def problem(self, path: Path, *, required: bool = False) -> Problem:
        """The problem file as it is with this choice."""
        return read_problem(path, changes=self.changes(path, required=required))


def shows(problem: Problem) -> str:
    """How the file itself shows: optimal, choose, policy or trajectories."""
    return {Show.OPTIMAL: "optimal", Show.CHOSEN: "choose"}.get(problem.show, problem.show.value)


def _names(what: str, value: Any) -> tuple[str, ...]:
    fine = isinstance(value, list) and len(value) <= MOST_NAMES
    require(fine and all(isinstance(each, str) for each in value), f"{what} must be names")
    require(len(set(value)) == len(value), f"{what} must be distinct")
    return tuple(value)


def unanswered(path: Path) -> str | None:
    """The name of the last probe beside a problem file that has no answer; None if all have one."""
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    probes = [each for each in path.parent.glob("probe-*.json") if ANSWER.fullmatch(each.name)]
    probes.sort(key=lambda each: int(each.stem.removeprefix("probe-")), reverse=True)
    for probe in probes:
        answers = (probe.with_name(f"{probe.stem}-answer{end}") for end in (".csv", ".jsonl"))
        if f'"{probe.name}"' not in text and not any(each.is_file() for each in answers):
            return probe.name
    return None


def _answers(path: Path) -> list[Change]:
    """Probes that were answered at the desk, and that the file does not mention."""
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    found = []
    for probe in sorted(path.parent.glob("probe-*.json")):
        if not ANSWER.fullmatch(probe.name) or f'"{probe.name}"' in text:
            continue
        for key, suffix in (("policy", ".csv"), ("trajectories", ".jsonl")):
            answer = probe.with_name(f"{probe.stem}-answer{suffix}")
            if answer.is_file():
                value = {"shown": probe.name, key: answer.name}
                option = f"answer to {probe.name}"
                found.append(Change(option, ("learner", "answer"), [value], added=True))
                break
    return found if "unknown" in text else []


__all__ = ["Choice", "shows", "unanswered"]
