"""The contract of teachers passes who keeps it, and tells everyone else what they broke."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import numpy as np
import pytest

import teachirl as ti
from teachirl import teachers
from teachirl.learners import MinNormPoint, Projection
from teachirl.teachers import Choice, Situation
from teachirl.teachers.perf_greedy import PerfGreedy
from teachirl.testing import check_teacher
from teachirl.testing.situations import Scene, candidates_of, scenes
from teachirl.testing.teacher import _check_limits


class MostWanted:
    """The correct teacher of `check_teacher`'s docstring, in pieces that can be broken."""

    def choose(self, situation: Situation, rng: np.random.Generator) -> Choice:
        scores = np.full(len(situation.task.teachable), np.nan)
        scores[situation.candidates] = self.along(situation)
        return Choice(self.pick(scores, situation), scores)

    def along(self, situation: Situation) -> np.ndarray:
        rows = situation.task.teachable[situation.candidates]
        lengths = np.linalg.norm(rows, axis=1)
        return np.abs(rows @ situation.task.weights) / np.where(lengths > 0, lengths, 1.0)

    def pick(self, scores: np.ndarray, situation: Situation) -> int | None:
        return int(np.nanargmax(scores))


class Altered(MostWanted):
    """Chooses properly and then answers something else."""

    def choose(self, situation: Situation, rng: np.random.Generator) -> Choice:
        choice = super().choose(situation, rng)
        return dataclasses.replace(choice, **self.changes(choice, situation, rng))

    def changes(
        self, choice: Choice, situation: Situation, rng: np.random.Generator
    ) -> dict[str, object]:
        return {}


class ReturnsIndex(MostWanted):
    def choose(self, situation: Situation, rng: np.random.Generator) -> Choice:
        return super().choose(situation, rng).feature  # type: ignore[return-value]


class IgnoresCandidates(MostWanted):
    """Takes what is most wanted, whether or not it may be taught."""

    def pick(self, scores: np.ndarray, situation: Situation) -> int | None:
        return int(np.argmax(np.abs(situation.task.teachable @ situation.task.weights)))


class CountsFromCandidates(MostWanted):
    """An index into the candidates, not into what is teachable."""

    def pick(self, scores: np.ndarray, situation: Situation) -> int | None:
        return int(np.argmax(scores[situation.candidates]))


class PicksWorst(MostWanted):
    def pick(self, scores: np.ndarray, situation: Situation) -> int | None:
        return int(np.nanargmin(scores))


class FloatFeature(Altered):
    def changes(
        self, choice: Choice, situation: Situation, rng: np.random.Generator
    ) -> dict[str, object]:
        return {"feature": float(choice.feature)}  # type: ignore[arg-type]


class StopsWhereRiskIsZero(MostWanted):
    """Nothing helps any more, so it stops, required or not."""

    def pick(self, scores: np.ndarray, situation: Situation) -> int | None:
        seen_all = ti.teaching_risk(situation.view, situation.task.weights) < 1e-12
        return None if seen_all else super().pick(scores, situation)


class ScoresOfCandidates(Altered):
    """Scores of the candidates alone."""

    def changes(
        self, choice: Choice, situation: Situation, rng: np.random.Generator
    ) -> dict[str, object]:
        return {"scores": choice.scores[situation.candidates]}


class ScoresOfAll(Altered):
    """Zero, not NaN, for those that were not considered."""

    def changes(
        self, choice: Choice, situation: Situation, rng: np.random.Generator
    ) -> dict[str, object]:
        return {"scores": np.nan_to_num(choice.scores)}


class InfiniteScores(MostWanted):
    """Divides by a length that may be zero."""

    def along(self, situation: Situation) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(super().along(situation))


class ForgetsScore(Altered):
    def changes(
        self, choice: Choice, situation: Situation, rng: np.random.Generator
    ) -> dict[str, object]:
        scores = choice.scores.copy()
        scores[choice.feature] = np.nan
        return {"scores": scores}


class ListsScores(Altered):
    def changes(
        self, choice: Choice, situation: Situation, rng: np.random.Generator
    ) -> dict[str, object]:
        return {"scores": choice.scores.tolist()}


class Remembers(MostWanted):
    """Likes less what it has chosen before."""

    def __init__(self) -> None:
        self.tired = 0.0

    def along(self, situation: Situation) -> np.ndarray:
        self.tired += 0.25
        return super().along(situation) - self.tired * np.arange(len(situation.candidates))


class OwnGenerator(Altered):
    """Draws, but not from the generator that it is given."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def changes(
        self, choice: Choice, situation: Situation, rng: np.random.Generator
    ) -> dict[str, object]:
        scores = choice.scores.copy()
        scores[situation.candidates] = 0.0
        return {"feature": int(self.rng.choice(situation.candidates)), "scores": scores}


class Shuffles(MostWanted):
    def choose(self, situation: Situation, rng: np.random.Generator) -> Choice:
        choice = super().choose(situation, rng)
        rng.shuffle(situation.candidates)
        return choice


class WritesWeights(MostWanted):
    def choose(self, situation: Situation, rng: np.random.Generator) -> Choice:
        choice = super().choose(situation, rng)
        situation.task.weights.setflags(write=True)
        situation.task.weights /= 2.0
        return choice


class NeedsRows(MostWanted):
    """Takes the largest entry of a worldview that may have none."""

    def along(self, situation: Situation) -> np.ndarray:
        return super().along(situation) * situation.view.matrix.max()


class NeedsPolicy(MostWanted):
    """Takes it for granted that the expert's policy is known."""

    def along(self, situation: Situation) -> np.ndarray:
        assert situation.demonstration.policy is not None, "who is it?"
        return super().along(situation)


class NeedsMoney(MostWanted):
    def along(self, situation: Situation) -> np.ndarray:
        return super().along(situation) * int(situation.cost_left)


class Panics(MostWanted):
    """Does not expect the learner to mix its actions unequally, as it only does in lessons."""

    def along(self, situation: Situation) -> np.ndarray:
        chances = situation.policy.probabilities
        chances = chances[(chances > 0.0) & (chances < 1.0)]
        if len(np.unique(chances.round(3))) > 2:
            raise ValueError("what is it doing?")
        return super().along(situation)


class Shows(Altered):
    """Shows something else from now on."""

    def __init__(self, shown: object) -> None:
        self.shown = shown

    def changes(
        self, choice: Choice, situation: Situation, rng: np.random.Generator
    ) -> dict[str, object]:
        return {"demonstration": self.shown}


class ShowsAnyone(Altered):
    """Claims that one policy does what another does."""

    def changes(
        self, choice: Choice, situation: Situation, rng: np.random.Generator
    ) -> dict[str, object]:
        task = situation.task
        policy, mu = task.worst.policy, task.demonstration.expectations
        return {"demonstration": ti.Demonstration(mu, policy=policy)}


class ShowsByMood(Altered):
    """Shows a demonstration every other time."""

    mood = False

    def changes(
        self, choice: Choice, situation: Situation, rng: np.random.Generator
    ) -> dict[str, object]:
        self.mood = not self.mood
        return {"demonstration": situation.demonstration if self.mood else None}


class ShowsNobody(Altered):
    """Claims what no policy does."""

    def changes(
        self, choice: Choice, situation: Situation, rng: np.random.Generator
    ) -> dict[str, object]:
        return {"demonstration": ti.Demonstration(np.full(situation.task.mdp.n_features, 1e6))}


class GapByMood(Altered):
    """Says something else of its plan each time."""

    asked = 0

    def changes(
        self, choice: Choice, situation: Situation, rng: np.random.Generator
    ) -> dict[str, object]:
        self.asked += 1
        return {"gap": float(self.asked)}


class LivesByNotes(MostWanted):
    """Wants the opposite once it finds a note of its own."""

    def along(self, situation: Situation) -> np.ndarray:
        wish = super().along(situation)
        noted = situation.notes.setdefault("taught", situation.taught)
        return wish if noted == situation.taught else -wish


class ScoresByNotes(MostWanted):
    """Teaches the same, but its scores shrink with what it remembers."""

    def along(self, situation: Situation) -> np.ndarray:
        asked = situation.notes["asked"] = situation.notes.get("asked", 0) + 1
        return super().along(situation) / asked


CHAIN = "a chain of five cells: "
STRANGER = ti.Policy.uniform(ti.worlds.chain(7))
BROKEN: list[tuple[object, str]] = [
    (ReturnsIndex(), CHAIN + "choose must return a Choice, got int"),
    (IgnoresCandidates(), "one candidate left: feature must be among the candidates, [1], got "),
    (CountsFromCandidates(), "one candidate left: feature must be among the candidates, [1], got "),
    (PicksWorst(), CHAIN + "the chosen feature 2 must have the best score (or scores_decide ="),
    (FloatFeature(), CHAIN + "feature must be an index into the teachable features, or None, got"),
    (StopsWhereRiskIsZero(), "of no use: features [2] are required: one must be chosen, got None"),
    (ScoresOfCandidates(), "one candidate left: scores must be an array of 4 floats, one a teac"),
    (ScoresOfAll(), "one candidate left: scores must be NaN for [0 2 3], who are no candidates,"),
    (InfiniteScores(), CHAIN + "scores must be finite, or NaN where not considered, got ["),
    (ForgetsScore(), CHAIN + "the chosen feature 0 must have a score, got [nan"),
    (ListsScores(), CHAIN + "scores must be an array of 5 floats, one a teachable feature, got ["),
    (Remembers(), "a teacher must give the same answer when asked again with the same gener"),
    (OwnGenerator(), "a teacher must give the same answer when asked again with the same gen"),
    (ShowsByMood(), "asked again with the same generator, got demonstrations "),
    (Shuffles(), CHAIN + "a teacher must leave what is given as it is, but candidates is anot"),
    (WritesWeights(), CHAIN + "a teacher must leave what is given as it is, but weights is ano"),
    (NeedsRows(), "an empty worldview: a teacher must choose, but raised ValueError: zero-size"),
    (NeedsPolicy(), "a sampled demonstration: a teacher must choose, but raised AssertionError: "),
    (NeedsMoney(), CHAIN + "a teacher must choose, but raised OverflowError: cannot convert f"),
    (Panics(), "a lesson with two features: a teacher must give it, but raised ValueError: what"),
    (LivesByNotes(), "without its notes a teacher must teach the same, but taught [0, 2]"),
    (
        ScoresByNotes(),
        "a lesson with two features: without its notes a teacher must score the same, got [",
    ),
    (Shows(STRANGER), CHAIN + "the demonstration is not of the MDP: policy must belong to the MD"),
    (
        Shows(3),
        CHAIN + "the demonstration is not of the MDP: demonstration must be a Demonstration",
    ),
    (ShowsNobody(), CHAIN + "the demonstration must be one that some policy has, got [1000000."),
    (GapByMood(), "asked again with the same generator, got gaps "),
    (Shows(ti.Demonstration(np.ones(7))), CHAIN + "the demonstration is not of the MDP: demonstr"),
    (
        Shows(ti.Demonstration(np.ones(5), policy=STRANGER)),
        CHAIN + "the demonstration is not of the MDP: policy must belong to the MDP",
    ),
    (ShowsAnyone(), CHAIN + "the demonstration is not of the MDP: demonstration"),
    (MostWanted, "a teacher is an object, not a class: check_teacher(MostWanted())"),
    (3, "a teacher has a method choose(situation, rng); int has not"),
]


def test_a_teacher_who_keeps_it_passes() -> None:
    check_teacher(MostWanted())
    check_teacher(Altered())


@pytest.mark.parametrize(("teacher", "message"), BROKEN, ids=[m[-50:] for _, m in BROKEN])
def test_a_broken_teacher_is_told(teacher: teachers.Teacher, message: str) -> None:
    with pytest.raises(AssertionError) as caught:
        check_teacher(teacher)
    assert message in str(caught.value)


def test_who_chooses_by_something_else_says_so() -> None:
    contrary = PicksWorst()
    contrary.scores_decide = False  # type: ignore[attr-defined]
    check_teacher(contrary)


def test_who_shows_and_who_stops_passes() -> None:
    class ShowsBest(Altered):
        def changes(
            self, choice: Choice, situation: Situation, rng: np.random.Generator
        ) -> dict[str, object]:
            task = situation.task
            return {"demonstration": ti.Demonstration.of_policy(task.mdp, task.best.policy)}

    class Stops(MostWanted):
        def pick(self, scores: np.ndarray, situation: Situation) -> int | None:
            needed = set(situation.task.required) - set(situation.taught)
            return int(situation.candidates[0]) if needed else None

        scores_decide = False

    class ShowsPolicy(Altered):
        def changes(
            self, choice: Choice, situation: Situation, rng: np.random.Generator
        ) -> dict[str, object]:
            return {"demonstration": situation.task.best.policy}

    class ShowsUnnamed(Altered):
        """What some policy does, but not which one."""

        def changes(
            self, choice: Choice, situation: Situation, rng: np.random.Generator
        ) -> dict[str, object]:
            task = situation.task
            one, other = (
                ti.feature_expectations(task.mdp, policy)
                for policy in (task.best.policy, ti.Policy.uniform(task.mdp))
            )
            return {"demonstration": ti.Demonstration(0.5 * one + 0.5 * other)}

    check_teacher(ShowsBest())
    check_teacher(ShowsPolicy())
    check_teacher(ShowsUnnamed())
    check_teacher(Stops())


def constructed() -> Iterator[object]:
    """All of our teachers that need no arguments, one that needs a learner, and one that would
    look at more than there is to see in such small worlds."""
    made: dict[str, object] = {
        "PerfGreedy": PerfGreedy(Projection()),
        "JointGreedy": teachers.JointGreedy(shortlist=2, starts=2),
    }
    for name in sorted(set(teachers.__all__) - made.keys()):
        try:
            made[name] = getattr(teachers, name)()
        except TypeError:  # protocols, situations, choices, who needs a learner
            continue
    return iter([pytest.param(teacher, id=name) for name, teacher in made.items()])


@pytest.mark.parametrize("teacher", list(constructed()))
def test_our_teachers_keep_it(teacher: teachers.Teacher) -> None:
    check_teacher(teacher)


SCENES = list(scenes())


class EnoughError(Exception):
    """Raised where a lesson has shown what was to be seen."""


@pytest.mark.parametrize("scene", SCENES, ids=[scene.name for scene in SCENES])
def test_situations_are_such_as_lessons_have(scene: Scene) -> None:
    """`teach` hands over the same candidates, budgets and worldview."""
    made = scene.situation
    met: list[Situation] = []

    class Records:
        def choose(self, situation: Situation, rng: np.random.Generator) -> Choice:
            met.append(situation)
            ahead = [f for f in made.taught if f not in situation.taught]
            if not ahead:
                raise EnoughError
            return Choice(ahead[0], np.zeros(len(situation.task.teachable)))

    task = made.task
    with pytest.raises(EnoughError):
        ti.teach(
            task,
            Records(),
            MinNormPoint(1e-6),
            rng=np.random.default_rng(0),
            budget=len(made.taught) + made.features_left,
            max_cost=made.cost_left + float(task.costs[list(made.taught)].sum()),
            tolerance=-1.0,
            certified=False,
        )
    last = met[-1]
    assert last.taught == made.taught and last.features_left == made.features_left
    assert last.cost_left == made.cost_left
    np.testing.assert_array_equal(last.candidates, made.candidates)
    np.testing.assert_array_equal(last.view.matrix, made.view.matrix)
    assert last.view.names == made.view.names
    assert last.candidates.dtype == made.candidates.dtype and made.candidates.flags.writeable
    assert candidates_of(task, made.taught, made.cost_left) == made.candidates.tolist()


def test_the_scenes_are_what_their_names_say() -> None:
    by_name = {scene.name: scene.situation for scene in SCENES}
    assert len(by_name) == len(SCENES)
    assert by_name["an empty worldview"].view.n_rows == 0
    for name in ("a worldview that sees everything", "a reward that is seen"):
        met = by_name[name]
        assert ti.teaching_risk(met.view, met.task.weights) < 1e-15
    same = by_name["a reward of which all policies earn the same"].task
    assert same.best.value == pytest.approx(same.worst.value, rel=1e-12)
    assert not by_name["nothing but zero features"].task.teachable.any()
    assert len(by_name["one feature to teach"].candidates) == 1
    assert len(by_name["one candidate left"].candidates) == 1
    assert by_name["required features"].candidates.tolist() == [1, 3]
    assert by_name["required and dear"].candidates.tolist() == [0]
    assert by_name["forbidden features"].candidates.tolist() == [1, 2, 3]
    assert by_name["costs, and little money"].candidates.tolist() == [1, 2, 3]
    assert math.isinf(by_name["costs that do not matter"].cost_left)
    worst = by_name["a learner who does worst"]
    assert ti.relative_performance(worst.task.mdp, worst.task.weights, worst.policy) < 1e-12
    for name in ("a sampled demonstration", "a sampled demonstration that is to be matched"):
        shown = by_name[name].demonstration
        assert shown.error > 0.0 and shown.policy is None
    assert by_name["a sampled demonstration"].mismatch > 0.0
    assert by_name["one state"].task.mdp.n_states == 1
    assert by_name["one state, one action"].task.mdp.n_pairs == 1
    assert by_name["features per pair"].task.mdp.features_per_pair
    assert by_name["moves that slip"].task.mdp.dynamics.transitions.data.max() < 1.0


def test_scenes_are_made_anew() -> None:
    once, again = next(scenes()).situation, next(scenes()).situation
    assert once.task is not again.task and once.candidates is not again.candidates


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"budget": 1}, "a teacher may teach 1 features, each once, but taught"),
        ({"max_cost": 1.5}, r"a teacher may spend 1\.5, but spent 2\.0"),
    ],
)
def test_who_exceeds_a_limit_is_told(limits: dict[str, float], message: str) -> None:
    task = SCENES[0].situation.task
    lesson = ti.teach(
        task,
        MostWanted(),
        MinNormPoint(),
        rng=np.random.default_rng(0),
        budget=2,
        tolerance=-1.0,
        certified=False,
    )
    _check_limits(lesson, {"budget": 2, "max_cost": 2.0}, "a lesson")
    with pytest.raises(AssertionError, match=message):
        _check_limits(lesson, limits, "a lesson")
    # A task of the same shape in which the lesson would not have been allowed.
    other = ti.Task(task.mdp, task.weights, task.worldview, task.teachable, forbidden=lesson.taught)
    with pytest.raises(AssertionError, match=r"forbidden, but \[.*\] were taught"):
        _check_limits(dataclasses.replace(lesson, task=other), {}, "a lesson")
