"""What a study found, as files: trials as CSV, and trajectories in the library's own format."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...files import made_folder, neutral, replacing
from .ledger import Ledger

COLUMNS = (
    "participant",
    "condition",
    "block",
    "taught",
    "episode",
    "began",
    "seconds",
    "steps",
    "terminated",
    "return",
    "performance",
    "mismatch",
    "guaranteed",
)


@dataclass
class Trial:
    """An episode of a participant, step by step."""

    states: list[int] = field(default_factory=list)
    actions: list[int] = field(default_factory=list)
    took: list[float] = field(default_factory=list)
    began: float = 0.0


def export_lesson(folder: Path, out: Path) -> tuple[int, int]:
    """Write trials.csv and trajectories.jsonl: of all episodes that were finished.

    Parameters
    ----------
    folder : of the lesson
    out : folder to write to, made if need be

    Returns
    -------
    how many participants and trials there are
    """
    ledger = Ledger(folder, write=False)
    try:
        people = {each.number: each for each in ledger.participants()}
        events = ledger.events()
    finally:
        ledger.close()
    rows: list[list[Any]] = []
    lines: list[str] = []
    open_trials: dict[int, Trial] = {}
    for number, at, kind, body in events:
        if kind != "step":
            continue
        trial = open_trials.setdefault(number, Trial())
        trial.began = trial.began or at - body["took"] / 1000.0
        trial.states.append(body["state"])
        trial.actions.append(body["action"])
        trial.took.append(body["took"])
        if "trial" in body:
            del open_trials[number]
            who, found = people[number], body["trial"]
            began = datetime.fromtimestamp(trial.began, UTC).isoformat(timespec="milliseconds")
            seconds = round(sum(trial.took) / 1000.0, 3)
            rows.append(
                [
                    who.name,
                    neutral(who.condition),
                    body["block"],
                    found["taught"],
                    body["episode"],
                    began,
                    seconds,
                    len(trial.states),
                    str(found["terminated"]).lower(),
                    found["return"],
                    found["performance"],
                    found["mismatch"],
                    found["guaranteed"],
                ]
            )
            lines.append(
                json.dumps(
                    {
                        "states": trial.states,
                        "actions": trial.actions,
                        "terminated": found["terminated"],
                        "participant": who.name,
                        "condition": who.condition,
                        "block": body["block"],
                        "episode": body["episode"],
                        "milliseconds": trial.took,
                    }
                )
            )
    made_folder(out)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(rows)
    for name, content in (
        ("trials.csv", text.getvalue()),
        ("trajectories.jsonl", "".join(f"{x}\n" for x in lines)),
    ):
        with replacing(out / name) as file:
            file.write(content.encode())
    return len({row[0] for row in rows}), len(rows)


__all__ = ["COLUMNS", "export_lesson"]
