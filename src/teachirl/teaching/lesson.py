"""What came of a lesson: its rounds, as a table and as JSON.

The JSON says which task it belongs to by a digest of the task's numbers, and is refused for another
one. What is demonstrated is in it only if it is not the task's own.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Floats, frozen
from ..demonstrations.demonstration import Demonstration, as_demonstration
from ..errors import FileFormatError, InvalidInputError, Status, require
from ..files import JsonReader, kind_of, replacing
from ..mdp.policy import Policy
from ..selection.distance_from_optimal import GreedyGap, greedy_gap
from ..selection.greedy import checked_limits, money_left
from ..views.worldview import Worldview
from .task import Task

VERSION = 2


class LessonStatus(Status):
    """Why a lesson ended; the text says what to do about it.

    Examples
    --------
    >>> import teachirl as ti
    >>> print(ti.LessonStatus.OUT_OF_MONEY)
    no feature that is left is within max_cost
    """

    LEARNED = "the learner earns what the expert does, up to the tolerance"
    INDISTINGUISHABLE = (
        "the learner earns what the expert does, as far as the demonstrations tell; record more, "
        "or give until"
    )
    GUARANTEED = "the performance that was asked for is guaranteed"
    OUT_OF_BUDGET = "as many features as allowed were taught; raise budget to go on"
    OUT_OF_MONEY = "no feature that is left is within max_cost"
    NOTHING_LEFT = "all features that may be taught were taught"
    NOTHING_HELPS = "no feature that is left would help, says the teacher"


@dataclass(frozen=True, eq=False)
class Round:
    """One round of a lesson.

    Attributes
    ----------
    taught : int, index into the task's teachable features; None in round 0, the untaught learner
    name : str, the feature's name; empty in round 0
    scores : array [n], the teacher's of all candidates, larger is better and NaN for the rest; None
        in round 0
    shown : bool, whether what is demonstrated was changed in this round
    cost : float, of all features taught so far
    risk, relative_risk : floats, of the learner's worldview after this round
    mismatch : float, ‖A(μ_L − μ_T)‖, between the learner and the demonstration
    performance : float, the learner's relative performance
    guaranteed : float, relative performance that every learner with this worldview has who matches
        the demonstration, up to the `mismatch` that `teach` was given: exactly, unless told
        otherwise. One who stops further from it, as `Projection` does, may do a little worse, and
        is covered by `certify` with that mismatch. NaN if it was not asked for
    gap : float, by how much the teaching risk at the end of the teacher's plan may exceed the least
        within the budget; NaN if the teacher does not say. Only `OptimalSubset` does
    solves : int, MDPs that the learner solved
    choosing_seconds, learning_seconds, certifying_seconds : floats, what the teacher, the learner
        and the guarantee took

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp = ti.worlds.chain(3)
    >>> task = ti.Task(mdp, [0, 0, 1], ti.Worldview.select(mdp, []), np.eye(3))
    >>> rng, learner = np.random.default_rng(0), ti.learners.MinNormPoint()
    >>> lesson = ti.teach(task, ti.teachers.TRGreedy(), learner, rng=rng)
    >>> [(each.name, each.cost, each.risk) for each in lesson.rounds]
    [('', 0.0, 1.0), ('cell 3', 1.0, 0.0)]
    """

    taught: int | None
    name: str
    scores: Floats | None
    shown: bool
    cost: float
    risk: float
    relative_risk: float
    mismatch: float
    performance: float
    guaranteed: float
    gap: float
    solves: int
    choosing_seconds: float
    learning_seconds: float
    certifying_seconds: float


@dataclass(frozen=True, eq=False)
class Lesson:
    """What was taught, in which order, and what came of it.

    Attributes
    ----------
    task : Task
    rounds : tuple of Round; the first is the untaught learner
    policy : Policy of the learner in the end
    demonstration : Demonstration that the learner is shown in the end
    status : LessonStatus

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> mdp = ti.worlds.chain(3)
    >>> task = ti.Task(mdp, [0, 0, 1], ti.Worldview.select(mdp, []), np.eye(3))
    >>> rng, learner = np.random.default_rng(0), ti.learners.MinNormPoint()
    >>> lesson = ti.teach(task, ti.teachers.TRGreedy(), learner, rng=rng)
    >>> lesson.taught, lesson.status, lesson.worldview
    ((2,), LEARNED, Worldview(1 row on 3 features, rank 1))
    """

    task: Task
    rounds: tuple[Round, ...]
    policy: Policy
    demonstration: Demonstration
    status: LessonStatus

    @property
    def taught(self) -> tuple[int, ...]:
        """The features taught, in their order, as indices into the task's."""
        return tuple(each.taught for each in self.rounds if each.taught is not None)

    @property
    def worldview(self) -> Worldview:
        """Worldview, what the learner sees in the end."""
        view = self.task.worldview
        for feature in self.taught:
            view = view.extend(self.task.teachable[feature], self.task.names[feature])
        return view

    def gap_to_optimal(
        self, *, size: int | None = None, max_cost: float | None = None, max_nodes: int = 100
    ) -> GreedyGap:
        """How far from optimal what was taught may be, by the teaching risk.

        It is compared to the best set of as many features, or of `size` or `max_cost` in all. Sets
        have what the task requires and nothing that it forbids; gains count beyond what it
        requires, which is taught first.

        Parameters
        ----------
        size, max_cost : the budgets that the lesson had, what is required included
        size : int, how many features the lesson could teach, what is required included
        max_cost : float, what they could cost, likewise
        max_nodes : int, how much to search for a better bound

        Returns
        -------
        GreedyGap
        """
        task, taught = self.task, list(self.taught)
        places, money = checked_limits(size, max_cost)
        cost = float(task.costs[taught].sum())
        require(
            len(taught) <= places and cost <= money_left(money, 0.0),
            f"the lesson must be within the size and the max_cost: it has {len(taught)} features "
            f"that cost {cost:g}, got size={size}, max_cost={max_cost}",
        )
        must = [feature for feature in taught if feature in task.required]
        rest = [feature for feature in taught if feature not in task.required]
        pool = np.setdiff1d(np.arange(len(task.names)), [*task.required, *task.forbidden])
        if size is None and max_cost is None:
            size = len(taught)
        spent = float(task.costs[must].sum())
        return greedy_gap(
            task.worldview.extend(task.teachable[must]),
            task.weights,
            task.teachable[pool],
            np.searchsorted(pool, rest).tolist(),
            size=None if size is None else size - len(must),
            max_cost=None if max_cost is None else money_left(money, spent),
            costs=task.costs[pool],
            max_nodes=max_nodes,
        )

    def __str__(self) -> str:
        names = [each.name or "(nothing yet)" for each in self.rounds]
        width = max(len("taught"), *(len(name) for name in names))
        planned = any(not math.isnan(each.gap) for each in self.rounds)
        lines = [
            f"{'':>3}  {'taught':<{width}}  {'cost':>8}  {'risk':>5}  {'mismatch':>9}  "
            f"{'performance':>11}  {'guaranteed':>10}" + planned * f"  {'gap':>6}"
        ]
        for number, (each, name) in enumerate(zip(self.rounds, names, strict=True)):
            proved = "" if math.isnan(each.guaranteed) else f"{each.guaranteed:.3f}"
            missed = "< 1e-9" if each.mismatch < 1e-9 else f"{each.mismatch:.2g}"
            line = (
                f"{number:>3}  {name:<{width}}  {each.cost:>8.6g}  {each.risk:>5.3f}  "
                f"{missed:>9}  {each.performance:>11.3f}  {proved:>10}"
            )
            # That of a plan found to be optimal is above 0 only by rounding.
            short = "< 1e-5" if each.gap < 1e-5 else f"{each.gap:.2g}"
            lines.append(line if math.isnan(each.gap) else f"{line}  {short:>6}")
        return "\n".join([*lines, f"ended: {self.status}"])

    def to_json(self) -> str:
        """The lesson as JSON; `from_json` reads it.

        Returns
        -------
        str
        """
        return json.dumps(_document(self), allow_nan=False, indent=1)

    @staticmethod
    def from_json(text: str, task: Task) -> Lesson:
        """A lesson of this task, as `to_json` wrote it.

        Parameters
        ----------
        text : str
        task : Task that the lesson is of; another one is refused

        Returns
        -------
        Lesson
        """
        return _of_document(text, task, "the lesson")

    def save(self, path: str | Path) -> None:
        """Write the lesson as JSON, whole or not at all.

        Parameters
        ----------
        path : str or Path
        """
        with replacing(Path(path)) as file:
            file.write(self.to_json().encode())

    @staticmethod
    def load(path: str | Path, task: Task) -> Lesson:
        """Read a lesson of this task that was saved.

        Parameters
        ----------
        path : str or Path
        task : Task that the lesson is of; another one is refused

        Returns
        -------
        Lesson
        """
        try:
            text = Path(path).read_bytes().decode()
        except UnicodeDecodeError as error:
            raise FileFormatError(f"{path}: a lesson is UTF-8 text: {error}") from error
        return _of_document(text, task, str(path))


def _digest(task: Task) -> str:
    """A fingerprint of everything that a lesson's numbers depend on."""
    mdp, made = task.mdp, hashlib.sha256()
    rows = mdp.dynamics.transitions
    features: Any = mdp.features
    parts = [features] if isinstance(features, np.ndarray) else []
    if not parts:
        parts = [features.indptr, features.indices, features.data]
    parts += [rows.indptr, rows.indices, rows.data, mdp.dynamics.offsets, mdp.start]
    parts += [np.array(mdp.discount), task.weights, task.worldview.matrix, task.teachable]
    parts += [task.costs, task.demonstration.expectations, np.array(task.demonstration.error)]
    parts += [np.array(task.required, int), np.array(task.forbidden, int)]
    for part in parts:
        array = np.ascontiguousarray(part)
        if array.dtype.kind == "i":
            array = array.astype(np.int64)
        made.update(repr((array.shape, array.dtype.str)).encode())
        made.update(array.tobytes())
    return made.hexdigest()


def _document(lesson: Lesson) -> dict[str, Any]:
    task, shown = lesson.task, lesson.demonstration
    own = shown is task.demonstration
    return {
        "teachirl_lesson": VERSION,
        "task": {"teachable": list(task.names), "digest": _digest(task)},
        "status": lesson.status.name,
        "rounds": [
            {name: _plain(getattr(each, name)) for name in _FIELDS} for each in lesson.rounds
        ],
        "policy": _policy_document(lesson.policy),
        "demonstration": None
        if own
        else {
            "expectations": shown.expectations.tolist(),
            "bias": shown.bias,
            "radius": shown.radius,
            "confidence": shown.confidence,
            "policy": None if shown.policy is None else _policy_document(shown.policy),
        },
    }


def _plain(value: Any) -> Any:
    """A number, text, array or None as JSON has it; NaN is null."""
    if isinstance(value, np.ndarray):
        return [_plain(float(entry)) for entry in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _policy_document(policy: Policy) -> dict[str, Any]:
    if policy.pairs is not None:
        return {"pairs": policy.pairs.tolist()}
    return {"chances": policy.probabilities.tolist()}


def _of_document(text: str, task: Task, source: str) -> Lesson:
    document = JsonReader.of_text(text, source)
    version = document.get("teachirl_lesson", (int,), f"the version {VERSION}")
    if version != VERSION:
        document.fail("teachirl_lesson", f"must be {VERSION}, got {version}")
    if document.inside("task").get("digest", (str,), "text") != _digest(task):
        document.fail("task.digest", "is of another task than the one given")
    name = document.get("status", (str,), "text")
    if name not in LessonStatus.__members__:
        known = ", ".join(LessonStatus.__members__)
        document.fail("status", f"must be one of {known}, got {name!r}")
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
    return Lesson(task, tuple(read), policy, shown, LessonStatus[name])


def _round(reader: JsonReader, task: Task, earlier: list[Round]) -> Round:
    first, before = not earlier, [each.taught for each in earlier if each.taught is not None]
    taught = reader.get("taught", (int, type(None)), "an index or null")
    if (taught is None) != first or (taught is not None and not 0 <= taught < len(task.names)):
        wanted = "null" if first else f"an index below {len(task.names)}"
        reader.fail("taught", f"must be {wanted}, got {kind_of(taught)}")
    if taught in before or taught in task.forbidden:
        why = "was taught before" if taught in before else "is forbidden"
        reader.fail("taught", f"must not be {taught}: that feature {why}")
    spent = float(task.costs[before if taught is None else [*before, taught]].sum())
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
        solves=solves,
        **{name: reader.number(name, least=0.0) for name in _MEASURED},
    )


def _policy(reader: JsonReader, task: Task) -> Policy:
    dynamics = task.mdp.dynamics
    try:
        if "pairs" in reader.value:
            pairs = reader.numbers("pairs")
            last = task.mdp.n_pairs - 1
            # Before they become integers, which would wrap around.
            if not ((pairs == np.trunc(pairs)) & (pairs >= 0) & (pairs <= last)).all():
                reader.fail("pairs", f"must be whole numbers from 0 to {last}")
            return Policy(dynamics, pairs=pairs.astype(np.int64))
        chances = reader.numbers("chances")
        Policy(dynamics, chances=chances)  # checks them; and normalises, which rounds
        return Policy.of_chances(dynamics, chances)
    except InvalidInputError as error:
        reader.fail("", f"is no policy of the task: {error}")


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


_SECONDS = ("choosing_seconds", "learning_seconds", "certifying_seconds")
_MEASURED = ("risk", "relative_risk", "mismatch", "performance", *_SECONDS)
_FIELDS = tuple(field.name for field in fields(Round) if field.name != "name")
