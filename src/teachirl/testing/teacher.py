"""What a teacher promises, as a check that any author can run on their own class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..demonstrations.demonstration import Demonstration, as_demonstration
from ..errors import InvalidInputError
from ..guarantees.bounds import WorstCaseStatus
from ..guarantees.worst_case import worst_case
from ..learners import MinNormPoint
from ..mdp.policy import check_policy
from ..teachers import Choice, Situation, Teacher
from ..teaching.lesson import Lesson
from ..teaching.task import Task
from ..teaching.teach import teach
from ..views.worldview import Worldview
from .mdp import parts_of, promise
from .situations import RIGHT, Scene, scenes

# By what share of the largest score the chosen feature's may miss the best.
TIED = 1e-8
SEED = 20


def check_teacher(teacher: Teacher) -> None:
    """Raise an `AssertionError` that says where a teacher breaks a promise, if it does.

    The teacher is put in small situations: a worldview that sees nothing, or everything; zero,
    duplicate and dependent features; one candidate, one state, one action; features that are
    required or forbidden; costs, and little money; a sampled demonstration, a mismatch that is
    allowed, and more. It must return a `Choice` in all of them, with

    - a feature that is among the candidates; or None, but not while some feature is required;
    - scores [n] that are finite or NaN, and NaN for all that are no candidates. The chosen one's
      is the best of them, up to rounding, unless the attribute ``scores_decide`` is False, as that
      of a teacher who chooses by something else;
    - if any, a demonstration of the MDP, or one of its policies; not one that is said to be exact
      and that no policy has.

    It must give the same answer in the same situation with a generator in the same state, whatever
    it was asked before, and leave what it is given as it is. Then it gives some lessons, with
    budgets of features and of money that it must keep to; and again without its notes, where it
    must teach the same.

    Parameters
    ----------
    teacher : Teacher

    Examples
    --------
    >>> import numpy as np, teachirl as ti
    >>> from teachirl.teachers import Choice
    >>> class MostWanted:
    ...     '''Teaches the feature that is most in line with the reward.'''
    ...     def choose(self, situation, rng):
    ...         task, candidates = situation.task, situation.candidates
    ...         scores = np.full(len(task.teachable), np.nan)
    ...         rows = task.teachable[candidates]
    ...         lengths = np.linalg.norm(rows, axis=1)
    ...         along = np.abs(rows @ task.weights)
    ...         scores[candidates] = along / np.where(lengths > 0, lengths, 1.0)
    ...         return Choice(int(np.nanargmax(scores)), scores)
    >>> from teachirl.testing import check_teacher
    >>> check_teacher(MostWanted())
    """
    promise(
        not isinstance(teacher, type),
        f"a teacher is an object, not a class: check_teacher({getattr(teacher, '__name__', '')}())",
    )
    promise(
        hasattr(teacher, "choose"),
        f"a teacher has a method choose(situation, rng); {type(teacher).__name__} has not",
    )
    first = {scene.name: _check_scene(teacher, scene) for scene in scenes()}
    # In another order, so that one who remembers is found out.
    for scene in reversed(list(scenes())):
        again = _choose(teacher, scene)
        _check_equal(
            first[scene.name],
            again,
            f"{scene.name}: a teacher must give the same answer when asked again with the same "
            "generator",
        )
    _check_lessons(teacher)


def _check_scene(teacher: Teacher, scene: Scene) -> Choice:
    choice = _choose(teacher, scene)
    _check_feature(choice, scene)
    _check_scores(teacher, choice, scene)
    return choice


def _choose(teacher: Teacher, scene: Scene) -> Choice:
    """What is chosen, given candidates that could be written to."""
    before = _parts(scene.situation)
    try:
        choice = teacher.choose(scene.situation, np.random.default_rng(SEED))
    except Exception as error:
        raise AssertionError(
            f"{scene.name}: a teacher must choose, but raised {_shown(error)}"
        ) from error
    after = _parts(scene.situation)
    for name, bits in before.items():
        promise(
            after.get(name) == bits,
            f"{scene.name}: a teacher must leave what is given as it is, but {name} is another "
            "afterwards",
        )
    promise(
        isinstance(choice, Choice),
        f"{scene.name}: choose must return a Choice, got {type(choice).__name__}",
    )
    return replace(choice, demonstration=_checked_demonstration(choice, scene))


def _parts(situation: Situation) -> dict[str, object]:
    """All that a teacher is given, by name and down to the last bit."""
    task, shown = situation.task, situation.demonstration
    parts: dict[str, Any] = {f"mdp.{name}": part for name, part in parts_of(task.mdp).items()}
    parts |= {name: getattr(task, name) for name in ("weights", "teachable", "costs", "names")}
    parts |= {"required": task.required, "forbidden": task.forbidden}
    parts |= {"view.matrix": situation.view.matrix, "view.basis": situation.view.basis}
    parts |= {"demonstration": shown.expectations, "error": shown.error}
    parts |= {"policy": situation.policy.probabilities, "taught": situation.taught}
    parts |= {"candidates": situation.candidates}
    return {name: _bits(part) for name, part in parts.items()}


def _check_feature(choice: Choice, scene: Scene) -> None:
    feature, situation = choice.feature, scene.situation
    whole = isinstance(feature, (int, np.integer)) and not isinstance(feature, bool)
    promise(
        feature is None or whole,
        f"{scene.name}: feature must be an index into the teachable features, or None, "
        f"got {feature!r}",
    )
    missing = set(situation.task.required) - set(situation.taught)
    promise(
        feature is not None or not missing,
        f"{scene.name}: features {sorted(missing)} are required: one must be chosen, got None",
    )
    promise(
        feature is None or feature in situation.candidates,
        f"{scene.name}: feature must be among the candidates, {situation.candidates}, "
        f"got {feature!r}",
    )


def _check_scores(teacher: Teacher, choice: Choice, scene: Scene) -> None:
    scores, situation = choice.scores, scene.situation
    n = len(situation.task.teachable)
    promise(
        isinstance(scores, np.ndarray) and scores.dtype == float and scores.shape == (n,),
        f"{scene.name}: scores must be an array of {n} floats, one a teachable feature, "
        f"got {scores!r}",
    )
    promise(
        not np.isinf(scores).any(),
        f"{scene.name}: scores must be finite, or NaN where not considered, got {scores}",
    )
    others = np.setdiff1d(np.arange(n), situation.candidates)
    promise(
        bool(np.isnan(scores[others]).all()),
        f"{scene.name}: scores must be NaN for {others}, who are no candidates, got {scores}",
    )
    if choice.feature is None or not getattr(teacher, "scores_decide", True):
        return
    chosen = float(scores[choice.feature])
    promise(
        not np.isnan(chosen),
        f"{scene.name}: the chosen feature {choice.feature} must have a score, got {scores}",
    )
    promise(
        chosen >= np.nanmax(scores) - TIED * np.nanmax(np.abs(scores)),
        f"{scene.name}: the chosen feature {choice.feature} must have the best score (or "
        f"scores_decide = False says that something else decides), got {scores}",
    )


def _checked_demonstration(choice: Choice, scene: Scene) -> Demonstration | None:
    """What is shown, a policy as its demonstration."""
    shown, task = choice.demonstration, scene.situation.task
    if shown is None:
        return None
    try:
        shown = as_demonstration(task.mdp, shown)
        if shown.policy is not None:
            check_policy(task.mdp, shown.policy)
    except InvalidInputError as error:
        raise AssertionError(
            f"{scene.name}: the demonstration is not of the MDP: {error}"
        ) from error
    if shown.policy is None and shown.error == 0.0:
        everything = Worldview(np.eye(task.mdp.n_features))
        # How far from any policy an exact one may be, as a share of what expectations reach.
        slack = 1e-6 * task.mdp.largest_feature / (1.0 - task.mdp.discount)
        found = worst_case(task.mdp, everything, task.weights, shown, slack)
        promise(
            found.status is not WorstCaseStatus.INFEASIBLE,
            f"{scene.name}: the demonstration must be one that some policy has, got "
            f"{shown.expectations}",
        )
    return shown


def _check_equal(one: Choice, other: Choice, message: str) -> None:
    promise(one.feature == other.feature, f"{message}, got {one.feature} and {other.feature}")
    same = _bits(one.scores) == _bits(other.scores)
    promise(same, f"{message}, got scores {one.scores} and {other.scores}")
    mine, others = one.demonstration, other.demonstration
    same = (mine is None) == (others is None)
    if mine is not None and others is not None:
        same = _bits(mine.expectations) == _bits(others.expectations)
    promise(same, f"{message}, got demonstrations {mine} and {others}")
    same = repr(one.gap) == repr(other.gap)  # NaN is NaN
    promise(same, f"{message}, got gaps {one.gap} and {other.gap}")


def _check_lessons(teacher: Teacher) -> None:
    """Whole lessons on the chain."""
    line = next(scenes()).situation.task
    costs = [2.0, 0.1, 0.2, 3.0, 1.0]
    view, one = line.worldview, line.teachable
    dear = Task(line.mdp, RIGHT, view, one, costs)
    strict = Task(line.mdp, RIGHT, view, one, costs, required=[3, 1], forbidden=[4])
    # Two features cost .1 + .2, a little more than .3: money is counted up to rounding.
    attempts: list[tuple[str, Task, dict[str, Any]]] = [
        ("two features", line, {"budget": 2}),
        ("as many features as there are", line, {}),
        ("no feature at all", line, {"budget": 0}),
        ("little money", dear, {"max_cost": 0.3}),
        ("money and features", dear, {"budget": 2, "max_cost": 3.0}),
        ("required and forbidden features", strict, {"budget": 3, "max_cost": 5.0}),
    ]
    for name, task, limits in attempts:
        place = f"a lesson with {name}"
        lesson = _lesson(teacher, task, limits, place)
        _check_limits(lesson, limits, place)
        _check_notes(lesson, _lesson(_Forgetful(teacher), task, limits, place), place)
    place, limits = "a lesson that goes on from another", {"budget": 4}
    half = _lesson(teacher, line, {"budget": 2}, place)
    lesson = _lesson(teacher, line, {**limits, "after": half}, place)
    _check_limits(lesson, limits, place)
    alone = _lesson(_Forgetful(teacher), line, {**limits, "after": half}, place)
    _check_notes(lesson, alone, place)


def _lesson(teacher: Teacher, task: Task, options: dict[str, Any], place: str) -> Lesson:
    try:
        lesson = teach(
            task,
            teacher,
            MinNormPoint(),
            rng=np.random.default_rng(SEED),
            tolerance=-1.0,
            certified=False,
            **options,
        )
        text = lesson.to_json()
        again = Lesson.from_json(text, task).to_json()
    except Exception as error:
        raise AssertionError(
            f"{place}: a teacher must give it, but raised {_shown(error)}"
        ) from error
    promise(again == text, f"{place}: it must be the same once saved and loaded")
    return lesson


@dataclass(frozen=True)
class _Forgetful:
    """The same teacher, who finds the notes empty in every round."""

    teacher: Teacher

    def choose(self, situation: Situation, rng: np.random.Generator) -> Choice:
        return self.teacher.choose(replace(situation, notes={}), rng)


def _check_notes(lesson: Lesson, alone: Lesson, place: str) -> None:
    promise(
        lesson.taught == alone.taught,
        f"{place}: without its notes a teacher must teach the same, but taught "
        f"{list(lesson.taught)} with them and {list(alone.taught)} without",
    )
    for one, other in zip(lesson.rounds, alone.rounds, strict=True):
        if one.scores is None or other.scores is None:
            continue
        scale = float(np.nanmax(np.abs(one.scores), initial=0.0))
        promise(
            np.allclose(one.scores, other.scores, rtol=0.0, atol=TIED * scale, equal_nan=True),
            f"{place}: without its notes a teacher must score the same, got {one.scores} with "
            f"them and {other.scores} without",
        )


def _check_limits(lesson: Lesson, limits: dict[str, Any], place: str) -> None:
    task, taught = lesson.task, list(lesson.taught)
    most, money = limits.get("budget", len(task.teachable)), limits.get("max_cost", np.inf)
    cost = float(task.costs[taught].sum())
    promise(
        len(set(taught)) == len(taught) <= most,
        f"{place}: a teacher may teach {most} features, each once, but taught {taught}",
    )
    promise(cost <= money * (1.0 + 1e-9), f"{place}: a teacher may spend {money}, but spent {cost}")
    promise(
        set(task.required) <= set(taught) and not set(task.forbidden) & set(taught),
        f"{place}: {task.required} are required and {task.forbidden} forbidden, "
        f"but {taught} were taught",
    )


def _bits(part: Any) -> object:
    return (part.shape, part.tobytes()) if isinstance(part, np.ndarray) else part


def _shown(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
