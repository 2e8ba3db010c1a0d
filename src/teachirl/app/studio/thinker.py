"""The process that answers at once: lines of JSON in, lines of JSON out.

``{"id": 3, "ask": "answer", "problem": "driving", "choice": {…}}`` is answered by events with the
same id, the last of which is ``done`` or ``error``; ``{"cancel": 3}`` ends it early.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import TeachirlError
from ..render.json import plain
from .answers import Answers
from .choice import Choice

_silenced: set[int] = set()
_asked: queue.Queue[dict[str, Any] | None] = queue.Queue()


def main() -> None:
    """Answer until the other side closes."""
    problems = {name: Path(path) for name, path in json.loads(sys.argv[1]).items()}
    answers = Answers(problems)
    threading.Thread(target=_listen, daemon=True).start()
    while (asked := _asked.get()) is not None:
        number = int(asked["id"])
        if number not in _silenced:
            for event in _events(answers, asked):
                tell({"id": number, **event})
        _silenced.discard(number)


def _listen() -> None:
    for line in sys.stdin:
        said = json.loads(line)
        if "cancel" in said:
            _silenced.add(int(said["cancel"]))
        else:
            _asked.put(said)
    _asked.put(None)


def _events(answers: Answers, asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
    number, name = int(asked["id"]), str(asked["problem"])
    try:
        if asked["ask"] == "describe":
            yield {"event": "problem", "problem": answers.describe(name)}
        else:
            choice = Choice.of(asked["choice"])
            yield from answers.answer(name, choice, lambda: number in _silenced)
        yield {"event": "done"}
    except (TeachirlError, OSError) as error:
        yield {"event": "error", "error": said(error, answers.paths.get(name))}


def said(error: TeachirlError | OSError, path: Path | None) -> str:
    """What went wrong, with names of files and without the folder of the problem's."""
    text = str(error)
    if isinstance(error, OSError):
        text = f"{error.filename}: {error.strerror}"
    return text if path is None else text.replace(f"{path.parent}{os.sep}", "")


def tell(event: dict[str, Any]) -> None:
    """A line on stdout."""
    sys.stdout.write(json.dumps(plain(event), allow_nan=False) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
