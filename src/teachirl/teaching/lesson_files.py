"""A lesson as JSON.

It says which task it belongs to by a digest of the task's numbers, and is refused for another one.
What is demonstrated is in it only if it is not the task's own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Floats, frozen
from ..demonstrations.demonstration import Demonstration, as_demonstration
from ..errors import InvalidInputError
from ..files import JsonReader, kind_of
from ..mdp.documents import digest, policy_document, read_policy_document
from ..mdp.policy import Policy
from .lesson_record import LessonStatus, Round
from .task import Task

if TYPE_CHECKING:
    from .lesson import Lesson

VERSION = 3
_SECONDS = ("choosing_seconds", "learning_seconds", "certifying_seconds")
_MEASURED = ("risk", "relative_risk", "mismatch", "performance", *_SECONDS)
_FIELDS = tuple(field.name for field in fields(Round) if field.name != "name")


def _digest(task: Task) -> str:
    """A fingerprint of everything that a lesson's numbers depend on."""
    shown = task.demonstration
    return digest(
        task.model,
        [
            task.weights,
            task.worldview.matrix,
            task.teachable,
            task.costs,
            shown.expectations,
            np.array(shown.error),
            np.array(task.required, int),
            np.array(task.forbidden, int),
        ],
    )


def lesson_as_json(lesson: Lesson) -> str:
    """The text of a lesson's file."""
    task, shown = lesson.task, lesson.demonstration
    own = shown is task.demonstration
    document = {
        "teachirl_lesson": VERSION,
        "task": {"teachable": list(task.names), "digest": _digest(task)},
        "status": lesson.status.name,
        "rounds": [
            {name: _plain(getattr(each, name)) for name in _FIELDS} for each in lesson.rounds
        ],
        "policy": policy_document(lesson.policy),
        "demonstration": None
        if own
        else {
            "expectations": shown.expectations.tolist(),
            "bias": shown.bias,
            "radius": shown.radius,
            "confidence": shown.confidence,
            "policy": None if shown.policy is None else policy_document(shown.policy),
        },
    }
    return json.dumps(document, allow_nan=False, indent=1)


def _plain(value: Any) -> Any:
    """A number, text, array or None as JSON has it; NaN is null."""
    if isinstance(value, np.ndarray):
        return [_plain(float(entry)) for entry in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def read_lesson(text: str, task: Task, source: str, lesson: Callable[..., Lesson]) -> Lesson:
    """What `lesson_as_json` wrote, made by the class `lesson`; a message calls it `source`."""
    document = JsonReader.of_text(text, source)
    version = document.get("teachirl_lesson", (int,), f"the version {VERSION}")
    if version != VERSION:
        document.fail("teachirl_lesson", f"must be {VERSION}, got {kind_of(version)}")
    if document.inside("task").get("digest", (str,), "text") != _digest(task):
        document.fail("task.digest", "is of another task than the one given")
    name = document.get("status", (str,), "text")
    if name not in LessonStatus.__members__:
        known = ", ".join(LessonStatus.__members__)
        document.fail("status", f"must be one of {known}, got {kind_of(name)}")
    rounds = document.get("rounds", (list,), "a list")
    if not rounds:
        document.fail("rounds", "must not be empty")
    read: list[Round] = []
    for place, each in enumerate(rounds):
        read.append(_round(JsonReader(source, f"rounds[{place}]", each), task, read))
    shown = task.demonstration
    if document.get("demonstration", (dict, type(None)), "an object or null") is not None:
        shown = _demonstration(document.inside("demonstration"), task)
    policy = _policy(document.inside("policy"), task)
    return lesson(task, tuple(read), policy, shown, LessonStatus[name])


def _round(reader: JsonReader, task: Task, earlier: list[Round]) -> Round:
    first, before = not earlier, [each.taught for each in earlier if each.taught is not None]
    taught = reader.get("taught", (int, type(None)), "an index or null")
    if (taught is None) != first or (taught is not None and not 0 <= taught < len(task.names)):
        wanted = "null" if first else f"an index below {len(task.names)}"
        reader.fail("taught", f"must be {wanted}, got {kind_of(taught)}")
    if taught in before or taught in task.forbidden:
        why = "was taught before" if taught in before else "is forbidden"
        reader.fail("taught", f"must not be {taught}: that feature {why}")
    found = reader.get("found", (bool,), "true or false")
    paid = [each.taught for each in earlier if each.taught is not None and not each.found]
    spent = float(task.costs[paid if taught is None or found else [*paid, taught]].sum())
    cost = reader.number("cost")
    if not math.isclose(cost, spent, rel_tol=1e-9):
        reader.fail("cost", f"must be {spent!r}, of all that is taught by then, got {cost!r}")
    scores: Floats | None = None
    if reader.get("scores", (list, type(None)), "a list or null") is not None:
        scores = frozen(reader.numbers("scores"))
        if len(scores) != len(task.names):
            reader.fail("scores", f"must have {len(task.names)} entries, got {len(scores)}")
    solves = reader.get("solves", (int,), "a whole number")
    if solves < 0:
        reader.fail("solves", f"must be at least 0, got {kind_of(solves)}")
    return Round(
        taught=taught,
        name="" if taught is None else task.names[taught],
        scores=scores,
        shown=reader.get("shown", (bool,), "true or false"),
        cost=cost,
        guaranteed=reader.number("guaranteed", missing=True, least=0.0),
        gap=reader.number("gap", missing=True, least=0.0),
        guaranteed_at_most=reader.number("guaranteed_at_most", missing=True, least=0.0),
        found=found,
        solves=solves,
        **{name: reader.number(name, least=0.0) for name in _MEASURED},
    )


def _policy(reader: JsonReader, task: Task) -> Policy:
    return read_policy_document(reader, task.mdp, "the task")


def _demonstration(reader: JsonReader, task: Task) -> Demonstration:
    policy = None
    if reader.get("policy", (dict, type(None)), "an object or null") is not None:
        policy = _policy(reader.inside("policy"), task)
    try:
        shown = Demonstration(
            reader.numbers("expectations"),
            bias=reader.number("bias"),
            radius=reader.number("radius"),
            confidence=reader.number("confidence"),
            policy=policy,
        )
        return as_demonstration(task.mdp, shown)
    except InvalidInputError as error:
        reader.fail("", f"is no demonstration of the task: {error}")


__all__ = ["lesson_as_json", "read_lesson"]
