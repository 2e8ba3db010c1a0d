"""Algorithm 1, its stopping rules, and lessons as data."""

import itertools
import json
import math
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest

import teachirl as ti
from teachirl.errors import FileFormatError, InvalidInputError
from teachirl.learners import Adversarial, Benevolent, MinNormPoint, Projection
from teachirl.teachers import Choice, GapGreedy, JointGreedy
from teachirl.teachers.optimal_subset import OptimalSubset
from teachirl.teachers.tr_greedy import TRGreedy
from teachirl.teaching.lesson import Lesson
from teachirl.teaching.lesson_record import LessonStatus
from teachirl.teaching.teach import teach

WEIGHTS = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])


@dataclass(frozen=True)
class InOrder:
    """Ten lines are enough: teach the candidates in their order."""

    stop_after: int = 100

    def choose(self, situation, rng):
        scores = np.full(len(situation.task.teachable), np.nan)
        scores[situation.candidates] = -situation.candidates.astype(float)
        if len(situation.taught) >= self.stop_after:
            return Choice(None, scores)
        return Choice(int(situation.candidates[0]), scores)


def chain_task(**options):
    mdp = ti.worlds.chain(5)
    view = ti.Worldview.select(mdp, ["cell 3"])
    return ti.Task(mdp, WEIGHTS, view, np.eye(5), **options)


def rng():
    return np.random.default_rng(0)


def test_algorithm_1_by_hand():
    """A plain transcription of the paper's loop, with the learner that the library has."""
    task, learner = chain_task(), Projection(1e-6)
    lesson = teach(task, InOrder(), learner, rng=rng(), budget=3, tolerance=-1.0)
    A, shown = task.worldview.matrix, ti.feature_expectations(task.mdp, task.best.policy)
    policy = ti.Policy.uniform(task.mdp)
    for number in range(4):
        if number:
            A = np.vstack([A, np.eye(5)[number - 1]])
        view = ti.Worldview(A)
        policy = learner.learn(view.observe(task.mdp), A @ shown, policy).policy
        each = lesson.rounds[number]
        assert each.taught == (number - 1 if number else None)
        assert each.performance == pytest.approx(
            ti.relative_performance(task.mdp, WEIGHTS, policy), abs=1e-9
        )
        assert each.risk == pytest.approx(ti.teaching_risk(view, WEIGHTS), abs=1e-14)
        assert each.relative_risk == pytest.approx(
            ti.relative_risk(task.mdp, view, WEIGHTS), abs=1e-14
        )
        proved = ti.certify(task.mdp, view, WEIGHTS, task.best.policy)
        assert each.guaranteed == pytest.approx(proved.guaranteed, abs=1e-6)
        assert each.cost == number
    assert lesson.status is LessonStatus.OUT_OF_BUDGET
    assert lesson.taught == (0, 1, 2)
    assert lesson.rounds[1].name == "cell 1"
    np.testing.assert_array_equal(lesson.rounds[2].scores, [np.nan, -1.0, -2.0, -3.0, -4.0])
    np.testing.assert_allclose(lesson.policy.probabilities, policy.probabilities, atol=1e-12)


def test_the_stopping_rule_is_checked_before_each_round():
    mdp = ti.worlds.chain(5)
    knows_all = ti.Task(mdp, WEIGHTS, ti.Worldview(np.eye(5)), np.eye(5))
    lesson = teach(knows_all, InOrder(), MinNormPoint(), rng=rng())
    assert lesson.status is LessonStatus.LEARNED
    assert len(lesson.rounds) == 1
    # A learner who is wrong by luck of the draw learns on; tolerance 1 is reached by anyone.
    assert len(teach(chain_task(), InOrder(), MinNormPoint(), rng=rng(), tolerance=1).rounds) == 1
    longer = teach(chain_task(), InOrder(), Adversarial(), rng=rng())
    assert longer.status is LessonStatus.LEARNED
    assert longer.rounds[0].performance <= 1e-6
    assert longer.rounds[-1].performance >= 1 - 1e-3
    assert all(each.performance < 1 - 1e-3 for each in longer.rounds[:-1])


def test_other_ways_to_end():
    task = chain_task(costs=[1, 2, 3, 4, 5])
    learner = Adversarial()
    never = {"rng": rng(), "tolerance": -1.0}
    assert teach(task, InOrder(), learner, **never).status is LessonStatus.NOTHING_LEFT
    dear = teach(task, InOrder(), learner, max_cost=6.0, **never)
    assert dear.status is LessonStatus.OUT_OF_MONEY
    assert dear.taught == (0, 1, 2) and dear.rounds[-1].cost == 6.0
    # What is left may be too dear while something cheaper further on is not.
    assert teach(task, InOrder(), learner, max_cost=5.0, **never).taught == (0, 1)
    proud = teach(task, InOrder(), learner, until=0.6, **never)
    assert proud.status is LessonStatus.GUARANTEED
    assert proud.rounds[-1].guaranteed >= 0.6
    assert all(each.guaranteed < 0.6 for each in proud.rounds[:-1])
    tired = teach(task, InOrder(stop_after=2), learner, **never)
    assert tired.status is LessonStatus.NOTHING_HELPS and len(tired.taught) == 2
    assert "says the teacher" in str(tired)


def test_required_and_forbidden():
    task = chain_task(required=["cell 5", 3], forbidden=["cell 1"])
    lesson = teach(task, InOrder(), MinNormPoint(), rng=rng(), tolerance=-1.0)
    assert set(lesson.taught[:2]) == {3, 4}
    assert 0 not in lesson.taught and len(lesson.taught) == 4
    # Required features are taught even if the learner needs none of them.
    soon = teach(task, InOrder(), MinNormPoint(), rng=rng(), tolerance=1.0)
    assert set(soon.taught) == {3, 4}
    with pytest.raises(InvalidInputError, match="budget must allow for 2 required"):
        teach(task, InOrder(), MinNormPoint(), rng=rng(), budget=1)
    with pytest.raises(InvalidInputError, match="max_cost must allow for the required"):
        teach(task, InOrder(), MinNormPoint(), rng=rng(), max_cost=1.5)


def test_a_guarantee_holds_for_the_worst_learner():
    task = chain_task()
    for learner in (Adversarial(), MinNormPoint()):
        lesson = teach(task, InOrder(), learner, rng=rng(), tolerance=-1.0)
        for each in lesson.rounds:
            assert each.performance >= each.guaranteed - 1e-6
    assert all(
        each.performance <= each.guaranteed + 1e-5
        for each in teach(task, InOrder(), Adversarial(), rng=rng(), tolerance=-1.0).rounds
    )


def test_a_lesson_goes_on_where_it_stopped():
    task = chain_task()
    whole = teach(task, InOrder(), Projection(), rng=rng(), budget=4, tolerance=-1.0)
    half = teach(task, InOrder(), Projection(), rng=rng(), budget=2, tolerance=-1.0)
    read = Lesson.from_json(half.to_json(), task)
    rest = teach(task, InOrder(), Projection(), rng=rng(), budget=4, tolerance=-1.0, after=read)
    assert rest.taught == whole.taught
    for one, other in zip(rest.rounds, whole.rounds, strict=True):
        same = {"scores": None, "choosing_seconds": 0.0, "learning_seconds": 0.0}
        same["certifying_seconds"] = 0.0
        assert repr(replace(one, **same)) == repr(replace(other, **same))
    np.testing.assert_array_equal(rest.policy.probabilities, whole.policy.probabilities)
    with pytest.raises(InvalidInputError, match="of this very task"):
        teach(chain_task(), InOrder(), Projection(), rng=rng(), after=half)


def test_json_and_back(tmp_path):
    task = chain_task(costs=[1, 2, 3, 4, 5])
    lesson = teach(task, InOrder(), MinNormPoint(), rng=rng(), certified=False, tolerance=-1.0)
    path = tmp_path / "lesson.json"
    lesson.save(path)
    read = Lesson.load(path, task)
    assert read.to_json() == lesson.to_json()
    assert str(read) == str(lesson)
    assert read.status is lesson.status
    assert math.isnan(read.rounds[1].guaranteed)
    assert read.demonstration is task.demonstration
    np.testing.assert_array_equal(read.rounds[2].scores, lesson.rounds[2].scores)
    np.testing.assert_array_equal(read.policy.probabilities, lesson.policy.probabilities)


def test_a_demonstration_chosen_by_the_teacher_is_kept():
    task = chain_task()
    middle = ti.Demonstration.of_policy(
        task.mdp, ti.Policy.deterministic(task.mdp, [1, 1, 1, 0, 0])
    )

    class Shows:
        def choose(self, situation, rng):
            choice = InOrder().choose(situation, rng)
            return replace(choice, demonstration=middle)

    lesson = teach(task, Shows(), MinNormPoint(), rng=rng(), budget=1, tolerance=-1.0)
    assert lesson.demonstration is middle
    assert [each.shown for each in lesson.rounds] == [False, True]
    read = Lesson.from_json(lesson.to_json(), task)
    np.testing.assert_array_equal(read.demonstration.expectations, middle.expectations)
    np.testing.assert_array_equal(read.demonstration.policy.pairs, middle.policy.pairs)


def test_sampled_demonstrations_are_matched_as_closely_as_the_expert_does():
    mdp = ti.worlds.gridworld(4, 2, slip=0.2)
    w = np.array([1.0, -0.5, 0.2, 0.0])
    expert = ti.optimal_policy(mdp, w).policy
    demo = ti.Demonstration.sample(mdp, expert, episodes=2000, horizon=100, rng=rng())
    task = ti.Task(mdp, w, ti.Worldview(np.eye(4)[:1]), np.eye(4), demonstration=demo)
    lesson = teach(task, InOrder(), MinNormPoint(), rng=rng(), budget=2, tolerance=-1.0)
    view = task.worldview
    proved = ti.certify(mdp, view, w, demo, view.norm * demo.error)
    assert lesson.rounds[0].guaranteed == pytest.approx(proved.guaranteed, abs=1e-6)
    strict = teach(task, InOrder(), MinNormPoint(), rng=rng(), budget=0, mismatch=1e9)
    assert strict.rounds[0].guaranteed <= 1e-6


def test_wrong_arguments():
    task, learner = chain_task(), MinNormPoint()
    for options, message in [
        ({"budget": -1}, "budget must be a whole number"),
        ({"budget": 1.5}, "budget must be a whole number"),
        ({"budget": True}, "budget must be a whole number"),
        ({"max_cost": None}, "max_cost must not be negative; math.inf if"),
        ({"max_cost": math.nan}, "max_cost must not be negative"),
        ({"tolerance": "small"}, "tolerance must be a number, got 'small'"),
        ({"until": "soon"}, "until must be a relative performance"),
        ({"mismatch": "none"}, "mismatch must be non-negative"),
        ({"after": "lesson.json"}, "after must be a Lesson, got str"),
        ({"rng": 0}, "rng must be a numpy.random.Generator, got int"),
        ({"rng": None}, "rng must be a numpy.random.Generator, got NoneType"),
        ({"max_cost": -1.0}, "max_cost must not be negative"),
        ({"tolerance": math.nan}, "tolerance must be a number"),
        ({"until": 1.5}, "until must be a relative performance"),
        ({"until": 0.5, "certified": False}, "until needs certified=True"),
        ({"mismatch": -1.0}, "mismatch must be non-negative"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            teach(task, InOrder(), learner, **{"rng": rng()} | options)


def test_wrong_people():
    task, learner = chain_task(), MinNormPoint()
    for people, message in [
        ((task.mdp, InOrder(), learner), "task must be a Task, got MDP"),
        ((task, InOrder, learner), r"teacher must be an object, not a class: InOrder\(\)"),
        ((task, "TRGreedy", learner), "teacher must have a method choose, str has none"),
        ((task, InOrder(), MinNormPoint), r"learner must be an object, not a class: MinNormP"),
        ((task, InOrder(), None), "learner must have a method learn or informed, NoneType"),
        ((task, learner, InOrder()), "teacher must have a method choose, MinNormPoint has none"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            teach(*people, rng=rng())


def test_wrong_answers_of_a_teacher():
    @dataclass
    class Answers:
        answer: object

        def choose(self, situation, rng):
            return self.answer

    for answer, message in [
        (Choice(17, np.zeros(5)), "chose feature 17, which is not among"),
        (Choice(True, np.zeros(5)), "chose feature True, which is not among"),
        (Choice("cell 1", np.zeros(5)), "chose feature 'cell 1', which is not among"),
        (3, "the teacher must return a Choice, got int"),
        (None, "the teacher must return a Choice, got NoneType"),
        (Choice(0, np.zeros(4)), r"scores must have shape \(5,\), one a feature, got \(4,\)"),
        (Choice(None, np.zeros((5, 1))), r"scores must have shape \(5,\)"),
        (Choice(0, "high"), "the teacher's scores"),
        (
            Choice(0, np.array([0.0, -np.inf, 0.0, 0.0, np.nan])),
            "scores must be finite, or NaN where not considered, got",
        ),
        (Choice(0, np.zeros(5), gap=-0.1), "gap must be a number from 0 on, or NaN, got -0.1"),
        (Choice(0, np.zeros(5), gap=None), "gap must be a number from 0 on, or NaN, got None"),
        (Choice(0, np.zeros(5), gap=math.inf), "gap must be a number from 0 on"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            teach(chain_task(), Answers(answer), MinNormPoint(), rng=rng(), tolerance=-1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("rounds"), "rounds is missing"),
        (lambda d: d.update(teachirl_lesson=1), "teachirl_lesson must be 3, got 1"),
        (lambda d: d.update(status="DONE"), "status must be one of LEARNED"),
        (lambda d: d.update(status="x" * 5000), r"NOTHING_HELPS, got .x{36}…$"),
        (lambda d: d.update(rounds=[]), "rounds must not be empty"),
        (lambda d: d["rounds"][1].update(taught=9), r"rounds\[1\].taught must be an index below 5"),
        (lambda d: d["rounds"][1].update(risk="high"), r"rounds\[1\].risk must be a number"),
        (lambda d: d["rounds"][1].pop("gap"), r"rounds\[1\].gap is missing"),
        (lambda d: d["rounds"][1].update(risk=True), r"rounds\[1\].risk must be a number"),
        (lambda d: d["rounds"][1].update(scores=[1]), r"rounds\[1\].scores must have 5 entries"),
        (
            lambda d: d["rounds"][1].update(risk=-0.5),
            r"rounds\[1\].risk must be at least 0, got -0",
        ),
        (lambda d: d["rounds"][2].update(solves=-5), r"rounds\[2\].solves must be at least 0"),
        (lambda d: d["rounds"][1].update(cost=10**400), r"rounds\[1\].cost must be finite, got 10"),
        (lambda d: d["rounds"][2].update(cost=1.0), r"rounds\[2\].cost must be 2.0, of all that"),
        (lambda d: d["rounds"][2].update(taught=0), r"\[2\].taught must not be 0: that .* before"),
        (lambda d: d["rounds"][2].update(taught=4), r"\[2\].taught must not be 4: .* is forbidden"),
        (
            lambda d: d["rounds"][1].update(taught=10**400),
            r"taught must be an index below 5, got 10{36}…$",
        ),
        (
            lambda d: d["rounds"][1].update(scores=[0, math.inf, 0, 0, 0]),
            r"rounds\[1\].scores\[1\] must be finite, got inf",
        ),
        (
            lambda d: d["rounds"][1].update(scores=[0, 0, -(10**400), 0, 0]),
            r"rounds\[1\].scores\[2\] must be finite, got -100",
        ),
        (
            lambda d: d.update(policy={"pairs": [1e300] * 5}),
            "policy.pairs must be whole numbers from 0 to 7",
        ),
        (
            lambda d: d.update(policy={"pairs": [-1, 1, 3, 5, 7]}),
            "policy.pairs must be whole numbers from 0 to 7",
        ),
        (lambda d: d["policy"].update(chances=[1, 2]), "policy is no policy of the task"),
        (lambda d: d["policy"].pop("chances", d["policy"].clear()), "policy.chances is missing"),
        (lambda d: d.update(task={"digest": "0"}), "task.digest is of another task"),
        (
            lambda d: d.update(demonstration={"policy": None}),
            "demonstration.expectations is missing",
        ),
    ],
)
def test_a_damaged_lesson_is_refused_with_its_place(change, message, tmp_path):
    task = chain_task(forbidden=["cell 5"])
    lesson = teach(task, InOrder(), Projection(), rng=rng(), budget=2, tolerance=-1.0)
    document = json.loads(lesson.to_json())
    change(document)
    path = tmp_path / "lesson.json"
    path.write_text(json.dumps(document))
    with pytest.raises(FileFormatError, match=message):
        Lesson.load(path, task)


def test_what_is_no_json_is_refused(tmp_path):
    path = tmp_path / "lesson.json"
    for text in (b"", b"{", b"\xff\xfe", b"[" * 100_000, b"3", b"1" * 5000):
        path.write_bytes(text)
        with pytest.raises(FileFormatError, match=r"lesson\.json"):
            Lesson.load(path, chain_task())


def test_tasks_refuse_what_makes_no_sense():
    mdp = ti.worlds.chain(5)
    view = ti.Worldview.select(mdp, ["cell 3"])
    for options, message in [
        ({"weights": np.zeros(5)}, "weights must not be all zero"),
        ({"weights": np.ones(4)}, "weights"),
        ({"teachable": np.eye(4)}, r"teachable must have shape \(n, 5\)"),
        ({"teachable": np.full((1, 5), np.nan)}, "teachable must be finite"),
        ({"costs": [1, 2]}, r"costs must have shape \(5,\)"),
        ({"costs": [1, 2, 0, 4, 5]}, "costs must be positive"),
        ({"names": ["a"]}, "names"),
        ({"required": ["ice"]}, "required: there is no teachable feature 'ice'"),
        ({"required": [7]}, "required must lie in 0 … 4, got 7"),
        ({"required": "cell 1"}, "required must be a sequence, got a string"),
        ({"required": [1, 1]}, "'cell 2' is there twice"),
        ({"required": [1], "forbidden": ["cell 2"]}, "cannot be required and forbidden"),
        ({"worldview": np.eye(5)}, "view must be a Worldview"),
        ({"demonstration": 3}, "demonstration must be"),
    ]:
        given = {"weights": WEIGHTS, "worldview": view, "teachable": np.eye(5)} | options
        with pytest.raises(InvalidInputError, match=message):
            ti.Task(mdp, **given)
    named = ti.Task(mdp, WEIGHTS, view, ti.Worldview(np.eye(5)[:2], ["left end", "next"]))
    assert named.names == ("left end", "next") and named.index("next") == 1
    plain = ti.Task(mdp, WEIGHTS, view, [[1, 0, 0, 0, 0], [2, 0, 0, 0, 0], [1, 1, 0, 0, 0]])
    assert plain.names == ("cell 1", "cell 1 (teachable 1)", "2")


@pytest.mark.parametrize("seed", range(5))
def test_a_teacher_without_its_notes_chooses_the_same(seed):
    class Forgets:
        def choose(self, situation, rng):
            return TRGreedy().choose(replace(situation, notes={}), rng)

    mdp = ti.worlds.gridworld(6, 1)
    draw = np.random.default_rng(seed)
    features = np.vstack([np.eye(36)[:20], np.zeros((1, 36)), draw.normal(size=(6, 36))])
    view = ti.Worldview(draw.normal(size=(4, 36)))
    task = ti.Task(mdp, draw.normal(size=36), view, features)
    options = {"budget": 10, "tolerance": -1.0, "certified": False}
    one, other = (
        teach(task, teacher, Projection(), rng=rng(), **options)
        for teacher in (TRGreedy(), Forgets())
    )
    assert one.taught == other.taught
    for with_notes, without in zip(one.rounds[1:], other.rounds[1:], strict=True):
        np.testing.assert_allclose(with_notes.scores, without.scores, rtol=1e-9, atol=1e-12)


def test_lucky_learners_do_not_end_a_lesson_that_asks_for_a_guarantee():
    lesson = teach(chain_task(), InOrder(), Benevolent(), rng=rng(), until=0.9)
    assert lesson.status is LessonStatus.GUARANTEED
    assert lesson.rounds[-1].guaranteed >= 0.9
    assert lesson.rounds[0].performance >= 1 - 1e-6  # by luck


def test_a_lesson_that_ends_by_luck_says_so():
    lesson = teach(chain_task(), InOrder(), Benevolent(), rng=rng())
    assert lesson.status is LessonStatus.LEARNED and not lesson.taught
    note = str(lesson).splitlines()[-1]
    assert note.startswith("that is this learner's luck: to all who match what is shown only 0.000")
    assert "teach(…, until=p)" in note and "tolerance=-1" in note
    assert "that is this learner" in lesson._repr_html_() and "only 0.000" in lesson._repr_html_()
    # Whose lesson ends with as much guaranteed has no luck, and neither has who ends otherwise.
    proved = teach(chain_task(), GapGreedy(), MinNormPoint(), rng=rng())
    assert proved.status is LessonStatus.LEARNED and proved[-1].guaranteed > 0.999
    asked = teach(chain_task(), InOrder(), Benevolent(), rng=rng(), until=0.5)
    assert all("luck" not in str(each) for each in (proved, asked))


@pytest.mark.parametrize("certified", [True, False])
def test_what_is_guaranteed_is_computed_anew_where_a_lesson_goes_on(certified):
    """The earlier lesson's is of another mismatch, or not known."""
    task, learner = chain_task(), MinNormPoint()
    options = {"rng": rng(), "until": 0.6}
    exact = teach(task, InOrder(), learner, **options)
    before = teach(
        task,
        InOrder(),
        learner,
        rng=rng(),
        budget=len(exact.taught),
        tolerance=-1.0,
        certified=certified,
    )
    # What suffices is not taught beyond.
    same = teach(task, InOrder(), learner, after=before, **options)
    assert same.status is LessonStatus.GUARANTEED and same.taught == exact.taught
    assert same.rounds[-1].guaranteed == exact.rounds[-1].guaranteed
    # What was enough for who matches exactly is not for who comes near.
    fresh = teach(task, InOrder(), learner, mismatch=2.0, **options)
    loose = teach(task, InOrder(), learner, mismatch=2.0, after=before, **options)
    assert loose.taught == fresh.taught and len(fresh.taught) > len(exact.taught)
    assert loose.status is fresh.status
    assert loose.rounds[-1].guaranteed == fresh.rounds[-1].guaranteed


def test_all_that_there_is_can_be_asked_for():
    """Guarantees are rounded down, and so a little below 1."""
    knows_all = ti.Task(ti.worlds.chain(5), WEIGHTS, ti.Worldview(np.eye(5)), np.eye(5))
    for task in (knows_all, chain_task()):
        lesson = teach(task, InOrder(), MinNormPoint(), rng=rng(), until=1.0)
        assert lesson.status is LessonStatus.GUARANTEED
        assert 1.0 - 1e-9 <= lesson.rounds[-1].guaranteed < 1.0


def test_where_there_is_one_policy_all_is_guaranteed():
    ring = ti.MDP.from_arrays(np.roll(np.eye(4), 1, axis=1)[:, None], np.eye(4), discount=0.8)
    task = ti.Task(ring, [1, 0, 0, 0], ti.Worldview(np.eye(4)[1:2]), np.eye(4))
    lesson = teach(task, InOrder(), MinNormPoint(), rng=rng(), until=1.0)
    assert (lesson.rounds[0].performance, lesson.rounds[0].guaranteed) == (1.0, 1.0)
    assert lesson.taught == ()


@pytest.mark.parametrize("kept", [True, False])
def test_few_episodes_tell_little_of_what_the_expert_earns(kept):
    mdp = ti.worlds.gridworld(6, 2, discount=0.9)
    draw = np.random.default_rng(3)
    w, view = draw.normal(size=9), ti.Worldview(draw.normal(size=(2, 9)))
    expert = ti.optimal_policy(mdp, w)
    learner = MinNormPoint()

    def lesson_of(episodes, **options):
        demo = ti.Demonstration.sample(
            mdp, expert.policy, episodes=episodes, horizon=100, rng=np.random.default_rng(1)
        )
        shown = ti.Demonstration.from_trajectories(mdp, demo.trajectories)
        shown = shown if kept else replace(shown, trajectories=None)
        task = ti.Task(mdp, w, view, np.eye(9), demonstration=shown)
        return teach(task, TRGreedy(), learner, rng=rng(), budget=2, **options)

    few = lesson_of(50)
    assert few.status is LessonStatus.INDISTINGUISHABLE and few.taught == ()
    assert "record more, or give until" in str(few)
    assert Lesson.from_json(few.to_json(), few.task).status is few.status
    assert len(lesson_of(50, tolerance=-1.0).taught) == 2
    assert lesson_of(50, until=0.1, tolerance=1e-3).status is LessonStatus.GUARANTEED
    # Along the reward the error is smaller than in all directions: 500 episodes tell them apart
    # by what they earned, and not by the bound on their expectations.
    many = lesson_of(500)
    assert (len(many.taught) > 0) is kept


def test_the_rule_is_about_the_expert_not_his_sample():
    """Of 30 episodes the mean may earn more than any policy can."""
    mdp = ti.worlds.chain(5)
    expert = ti.optimal_policy(mdp, WEIGHTS)
    demo = ti.Demonstration.sample(mdp, expert.policy, episodes=30, horizon=100, rng=rng())
    view = ti.Worldview(np.eye(5))
    for policy in (expert.policy, None):
        shown = replace(demo, policy=policy, trajectories=None)
        task = ti.Task(mdp, WEIGHTS, view, np.eye(5), demonstration=shown)
        lesson = teach(task, InOrder(), MinNormPoint(), rng=rng(), tolerance=0.02)
        assert lesson.status is LessonStatus.LEARNED
        assert len(lesson.rounds) == 1


def test_required_features_that_just_fit_the_money():
    task = chain_task(costs=[0.1, 1, 0.2, 1, 1], required=["cell 1", "cell 3"])
    for teacher in (TRGreedy(), OptimalSubset()):
        lesson = teach(task, teacher, MinNormPoint(), rng=rng(), max_cost=0.3, tolerance=-1.0)
        assert set(lesson.taught) == {0, 2}

    class Stops:
        def choose(self, situation, rng):
            return Choice(None, np.full(5, np.nan))

    with pytest.raises(InvalidInputError, match=r"stopped, but \['cell 1', 'cell 3'\]"):
        teach(task, Stops(), MinNormPoint(), rng=rng())


def test_money_is_rounded_as_a_share_of_the_budget_not_of_what_is_left():
    costs = [10000.1, 0.2, 5e4, 5e4, 5e4]
    assert 10000.1 + 0.2 > 10000.3 and 10000.3 - 10000.1 < 0.2
    options = {"rng": rng(), "max_cost": 10000.3, "tolerance": -1.0, "certified": False}
    teachers = (InOrder(), TRGreedy(), OptimalSubset(), GapGreedy(), JointGreedy(starts=1))
    for teacher in teachers:
        # Once the first is taught, the last two find that all is guaranteed.
        for required in ([0], [0, 1])[0 if teacher in teachers[:3] else 1 :]:
            task = chain_task(costs=costs, required=required)
            lesson = teach(task, teacher, MinNormPoint(), **options)
            assert set(lesson.taught) == {0, 1}, teacher
            assert lesson.gap_to_optimal(max_cost=10000.3).gap < 1e-5
    # So does a plan that is made where little is left.
    half = teach(chain_task(costs=costs), InOrder(), MinNormPoint(), budget=1, **options)
    rest = teach(half.task, OptimalSubset(), MinNormPoint(), after=half, **options)
    assert rest.taught == (0, 1) and rest.rounds[-1].gap < 1e-5


def test_names_may_be_any_text(tmp_path):
    task = chain_task(names=["ice", "\ud800", "été", "a", "b"])
    lesson = teach(task, InOrder(), MinNormPoint(), rng=rng(), budget=2, tolerance=-1.0)
    lesson.save(tmp_path / "lesson.json")
    read = Lesson.load(tmp_path / "lesson.json", task)
    assert [each.name for each in read.rounds] == ["", "ice", "\ud800"]
    assert read.to_json() == lesson.to_json()


def test_costs_are_printed_with_six_digits():
    task = chain_task(costs=[12345.6, 1, 1, 1, 1])
    lesson = teach(task, InOrder(), MinNormPoint(), rng=rng(), budget=1, tolerance=-1.0)
    assert "12345.6" in str(lesson)


def test_policies_come_back_from_json_to_the_last_bit():
    mdp = ti.worlds.gridworld(6, 2)
    draw = np.random.default_rng(5)
    task = ti.Task(mdp, draw.normal(size=9), ti.Worldview(draw.normal(size=(3, 9))), np.eye(9))
    lesson = teach(task, TRGreedy(), Projection(), rng=rng(), budget=2, tolerance=-1.0)
    read = Lesson.from_json(lesson.to_json(), task)
    assert read.policy.probabilities.tobytes() == lesson.policy.probabilities.tobytes()
    assert read.to_json() == lesson.to_json()
    vague = replace(task.demonstration, radius=2.0, confidence=0.9)
    other = ti.Task(mdp, task.weights, task.worldview, np.eye(9), demonstration=vague)
    with pytest.raises(FileFormatError, match="is of another task"):
        Lesson.from_json(lesson.to_json(), other)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("learner", [Projection(), Projection(1e-1)])
def test_its_own_mismatch_covers_a_learner_who_stops_early(seed, learner):
    """What is guaranteed is for exact matches; `certify` with its mismatch is for the learner."""
    mdp = ti.worlds.gridworld(6, 2)
    draw = np.random.default_rng(seed)
    task = ti.Task(mdp, draw.normal(size=9), ti.Worldview(draw.normal(size=(3, 9))), np.eye(9))
    for budget in (0, 2, 5):
        lesson = teach(task, TRGreedy(), learner, rng=rng(), budget=budget, tolerance=-1.0)
        last, view = lesson.rounds[-1], lesson.worldview
        proved = ti.certify(mdp, view, task.weights, lesson.demonstration, last.mismatch)
        assert proved.guaranteed <= last.performance + 1e-9
        assert proved.guaranteed <= last.guaranteed + 1e-6
        strict = teach(
            task,
            TRGreedy(),
            learner,
            rng=rng(),
            budget=budget,
            tolerance=-1.0,
            mismatch=last.mismatch,
        )
        assert strict.rounds[-1].guaranteed == pytest.approx(proved.guaranteed, abs=1e-6)


def test_who_stops_early_may_fall_below_what_is_guaranteed_to_who_matches():
    """So the caveat is real: this one does."""
    mdp = ti.worlds.gridworld(6, 2)
    draw = np.random.default_rng(0)
    task = ti.Task(mdp, draw.normal(size=9), ti.Worldview(draw.normal(size=(3, 9))), np.eye(9))
    lesson = teach(task, TRGreedy(), Projection(1e-1), rng=rng(), budget=5, tolerance=-1.0)
    last = lesson.rounds[-1]
    assert last.mismatch > 0.0
    assert last.performance < last.guaranteed - 1e-3


def test_what_took_how_long_is_recorded():
    lesson = teach(chain_task(), TRGreedy(), MinNormPoint(), rng=rng(), budget=1)
    assert all(each.certifying_seconds > 0.0 for each in lesson.rounds)
    assert all(each.learning_seconds > 0.0 for each in lesson.rounds)
    assert [each.choosing_seconds > 0.0 for each in lesson.rounds] == [False, True]


def test_it_sees_in_the_end_what_was_taught():
    task = chain_task()
    lesson = teach(task, InOrder(), MinNormPoint(), rng=rng(), budget=2, tolerance=-1.0)
    np.testing.assert_array_equal(lesson.worldview.matrix, np.eye(5)[[2, 0, 1]])
    assert lesson.worldview.names == ("cell 3", "cell 1", "cell 2")


def test_the_gap_of_a_plan_is_in_the_table_and_in_the_file():
    lesson = teach(chain_task(), OptimalSubset(), MinNormPoint(), rng=rng(), budget=2, tolerance=-1)
    assert math.isnan(lesson.rounds[0].gap)
    assert all(0.0 <= each.gap < 1e-5 for each in lesson.rounds[1:])
    lines = str(lesson).splitlines()
    assert lines[0].endswith("guaranteed     gap") and lines[2].endswith("  < 1e-5")
    read = Lesson.from_json(lesson.to_json(), lesson.task)
    assert [repr(each.gap) for each in read.rounds] == [repr(each.gap) for each in lesson.rounds]
    rough = replace(lesson, rounds=(lesson.rounds[0], replace(lesson.rounds[1], gap=0.0123)))
    assert str(rough).splitlines()[2].endswith("   0.012")
    greedy = teach(chain_task(), TRGreedy(), MinNormPoint(), rng=rng(), budget=2, tolerance=-1)
    assert "gap" not in str(greedy)


def test_budgets_are_those_of_the_whole_lesson():
    task = chain_task(costs=[1, 2, 3, 4, 5])
    half = teach(task, InOrder(), MinNormPoint(), rng=rng(), budget=2, tolerance=-1.0)
    more = {"rng": rng(), "tolerance": -1.0, "after": half}
    assert teach(task, InOrder(), MinNormPoint(), budget=3, **more).taught == (0, 1, 2)
    assert teach(task, InOrder(), MinNormPoint(), budget=2, **more).taught == (0, 1)
    assert teach(task, InOrder(), MinNormPoint(), max_cost=6.0, **more).taught == (0, 1, 2)
    assert teach(task, InOrder(), MinNormPoint(), max_cost=5.9, **more).taught == (0, 1)


def test_a_teacher_is_told_what_was_taught_before_it_took_over():
    met = []

    class Listens(InOrder):
        def choose(self, situation, rng):
            met.append((situation.begun, situation.taught))
            return super().choose(situation, rng)

    task = chain_task()
    half = teach(task, Listens(), MinNormPoint(), rng=rng(), budget=2, tolerance=-1.0)
    assert met == [(0, ()), (0, (0,))]
    teach(task, Listens(), MinNormPoint(), rng=rng(), budget=4, tolerance=-1.0, after=half)
    assert met[2:] == [(2, (0, 1)), (2, (0, 1, 2))]


def teachable_task(seed, **options):
    """Twelve correlated features, where greed does not find the best."""
    draw = np.random.default_rng(seed)
    k = 8
    mdp = ti.MDP.from_arrays(np.ones((1, k, 1)), np.eye(k), discount=0.5)
    rows = draw.normal(size=(12, k)) + 1.5 * draw.normal(size=k)
    return ti.Task(
        mdp, draw.normal(size=k), ti.Worldview(draw.normal(size=(1, k))), rows, **options
    )


def least_risk(task, size=99, money=math.inf):
    """By trying all sets that the task allows."""
    return min(
        ti.teaching_risk(task.worldview.extend(task.teachable[list(some)]), task.weights)
        for count in range(min(size, 12) + 1)
        for some in itertools.combinations(range(12), count)
        if set(task.required) <= set(some)
        and not set(task.forbidden) & set(some)
        and task.costs[list(some)].sum() <= money + 1e-9
    )


@pytest.mark.parametrize("seed", range(6))
def test_how_far_a_lesson_is_from_optimal(seed):
    options = {"rng": rng(), "tolerance": -1.0, "certified": False}
    plain = teachable_task(seed)
    lesson = teach(plain, TRGreedy(), MinNormPoint(), budget=3, **options)
    found, least = lesson.gap_to_optimal(), least_risk(plain, 3)
    assert found.risk == pytest.approx(lesson.rounds[-1].risk, abs=1e-12)
    assert found.lower <= least + 1e-9 and found.gap >= 0.0
    exact = lesson.gap_to_optimal(max_nodes=10_000)
    assert exact.lower == pytest.approx(least, abs=1e-5)
    gained = lesson.rounds[0].risk ** 2 - found.risk**2
    assert gained >= found.factor * (lesson.rounds[0].risk ** 2 - least**2) - 1e-9
    # As the task says: what is required is in all sets, what is forbidden in none.
    strict = teachable_task(seed, required=[4, 7], forbidden=list(lesson.taught[:1]))
    if strict.forbidden[0] not in strict.required:
        taught = teach(strict, TRGreedy(), MinNormPoint(), budget=4, **options)
        exact = taught.gap_to_optimal(max_nodes=10_000)
        assert exact.lower == pytest.approx(least_risk(strict, 4), abs=1e-5)
    dear = teachable_task(seed, costs=np.random.default_rng(seed).integers(1, 5, 12), required=[2])
    taught = teach(dear, TRGreedy(), MinNormPoint(), max_cost=8.0, **options)
    exact = taught.gap_to_optimal(max_cost=8.0, max_nodes=10_000)
    assert exact.lower == pytest.approx(least_risk(dear, money=8.0), abs=1e-5)
    assert exact.risk >= exact.lower


def test_an_untaught_lesson_and_too_small_a_budget():
    options = {"rng": rng(), "tolerance": -1.0, "certified": False}
    none = teach(teachable_task(0), TRGreedy(), MinNormPoint(), budget=0, **options)
    assert none.gap_to_optimal().gap < 1e-9
    assert none.gap_to_optimal(size=2, max_nodes=1000).gap > 0.1
    two = teach(teachable_task(0), TRGreedy(), MinNormPoint(), budget=2, **options)
    with pytest.raises(InvalidInputError, match="must be within the size"):
        two.gap_to_optimal(size=1)
    must = teach(teachable_task(0, required=[1, 2]), TRGreedy(), MinNormPoint(), **options)
    with pytest.raises(InvalidInputError, match="size"):
        must.gap_to_optimal(size=1)
    with pytest.raises(InvalidInputError, match="within the size and the max_cost"):
        must.gap_to_optimal(max_cost=1.0)
    both = teach(
        teachable_task(0, required=[1, 2]), TRGreedy(), MinNormPoint(), budget=2, **options
    )
    for budget, message in [
        ({"size": 1}, "it has 2 features that cost 2, got size=1, max_cost=None"),
        ({"max_cost": 1.5}, "it has 2 features that cost 2, got size=None, max_cost=1.5"),
        ({"size": 2.5}, "size must be a whole number, 0 or more, got 2.5"),
        ({"size": True}, "size must be a whole number, 0 or more, got True"),
        ({"size": "two"}, "size must be a whole number, 0 or more, got 'two'"),
        ({"max_cost": "2"}, "max_cost must be a number, 0 or more, got '2'"),
        ({"max_cost": math.nan}, "max_cost must be a number, 0 or more, got nan"),
        ({"max_nodes": 1.5}, "max_nodes must be a whole number, 0 or more, got 1.5"),
        ({"max_nodes": "a"}, "max_nodes must be a whole number, 0 or more, got 'a'"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            both.gap_to_optimal(**budget)
    assert both.gap_to_optimal(max_cost=2.0).gap < 1e-5


class TestProgress:
    def test_a_function_hears_of_each_round(self):
        heard = []
        lesson = teach(
            chain_task(),
            InOrder(),
            MinNormPoint(),
            rng=rng(),
            tolerance=-1.0,
            progress=heard.append,
        )
        assert heard == list(lesson.rounds) and len(heard) == 6

    def test_what_the_function_raises_ends_the_lesson(self):
        def stop(latest):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            teach(chain_task(), InOrder(), MinNormPoint(), rng=rng(), progress=stop)

    def test_a_bar_is_drawn_for_who_looks_on(self, monkeypatch, capsys):
        monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)  # as in a notebook
        options = {"rng": rng(), "tolerance": -1.0, "budget": 2}
        teach(chain_task(), InOrder(), MinNormPoint(), progress=True, **options)
        captured = capsys.readouterr()
        _, *shown = captured.err.removesuffix("\n").split("\r")
        assert captured.out == "" and captured.err.endswith("\n")
        assert [line[:39] for line in shown] == [
            f"teaching [{bar:.<20}] {done} of at most 2: "[:39]
            for done, bar in enumerate(("", "#" * 10, "#" * 20))
        ]
        assert "nothing yet" in shown[0] and "cell 2" in shown[2] and "guaranteed" in shown[2]

    def test_it_is_quiet_when_piped(self, monkeypatch, capsys):
        monkeypatch.delattr(sys, "ps1", raising=False)
        teach(chain_task(), InOrder(), MinNormPoint(), rng=rng(), progress=True)
        assert capsys.readouterr().err == ""

    def test_anything_else_is_refused(self):
        with pytest.raises(InvalidInputError, match="progress must be True, False or a function"):
            teach(chain_task(), InOrder(), MinNormPoint(), rng=rng(), progress="bar")


class TestWrongLearners:
    @pytest.mark.parametrize("teacher", [InOrder(), ti.teachers.PerfGreedy(MinNormPoint())])
    def test_what_is_no_report_is_told(self, teacher):
        class Hasty:
            def learn(self, seen, target, start=None):
                return ti.Policy.uniform(seen)

        told = "Hasty.learn must return a Learned, as Assignment.* makes it, got Policy"
        with pytest.raises(InvalidInputError, match=told):
            teach(chain_task(), teacher, Hasty(), rng=rng())
        with pytest.raises(InvalidInputError, match=told):
            teach(chain_task(), ti.teachers.PerfGreedy(Hasty()), MinNormPoint(), rng=rng())

    def test_a_learner_who_takes_other_arguments_is_told(self):
        class Forgetful:
            def learn(self, mdp, target, **more):
                raise AssertionError  # who cannot be asked is not

        class Blunt:
            def learn(self, seen, target, start=None):
                raise TypeError("a mistake of its own")

        told = r"Forgetful\.learn must take .* as learn\(self, seen, target, start=None\) does: "
        told += r"Forgetful\.learn\(mdp, target, \*\*more\) does not \(too many positional"
        for teacher, learner in (
            (InOrder(), Forgetful()),
            (ti.teachers.PerfGreedy(Forgetful()), MinNormPoint()),
        ):
            with pytest.raises(InvalidInputError, match=told):
                teach(chain_task(), teacher, learner, rng=rng())
        with pytest.raises(TypeError, match="of its own"):
            teach(chain_task(), InOrder(), Blunt(), rng=rng())

    def test_a_policy_of_another_world_is_told(self):
        class Lost:
            def learn(self, seen, target, start=None):
                learned = MinNormPoint().learn(seen, target, start)
                return replace(learned, policy=ti.Policy.uniform(ti.worlds.chain(4)))

        with pytest.raises(InvalidInputError, match="policy must belong to the MDP"):
            teach(chain_task(), InOrder(), Lost(), rng=rng())
