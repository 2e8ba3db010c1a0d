"""PerfGreedy picks what simulating every candidate with the learner itself picks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import teachirl as ti
from teachirl.errors import InvalidInputError
from teachirl.learners import (
    Adversarial,
    Benevolent,
    Informed,
    LinearProgram,
    MinNormPoint,
    Projection,
)
from teachirl.learners.learner import Assignment
from teachirl.learners.projection import Pursuit
from teachirl.teachers import Situation
from teachirl.teachers.perf_greedy import PerfGreedy
from teachirl.teaching.teach import teach
from teachirl.testing import mdps, policies, weights, worldviews


def situation_of(task, learner=None, taught=(), policy=None, **changes):
    view = task.worldview
    for feature in taught:
        view = view.extend(task.teachable[feature])
    if policy is None:
        shown = view.matrix @ task.demonstration.expectations
        policy = (learner or Projection()).learn(view.observe(task.mdp), shown).policy
    free = np.setdiff1d(np.arange(len(task.teachable)), [*taught, *task.forbidden])
    made = Situation(task, view, task.demonstration, policy, tuple(taught), free, len(free), np.inf)
    return replace(made, **changes)


def exhaustive(situation, learner):
    """One whole learning round a candidate: the choice, and what each earns."""
    task = situation.task
    if isinstance(learner, Informed):
        learner = learner.informed(task.mdp, task.weights)
    earned = np.full(len(task.teachable), np.nan)
    for feature in situation.candidates:
        A = np.vstack([situation.view.matrix, task.teachable[feature]])
        seen = ti.Worldview(A).observe(task.mdp)
        target = A @ situation.demonstration.expectations
        policy = learner.learn(seen, target, situation.policy).policy
        earned[feature] = task.weights @ ti.feature_expectations(task.mdp, policy)
    slack = 1e-9 * np.abs(task.mdp.rewards(task.weights)).max() / (1 - task.mdp.discount)
    best = np.flatnonzero(earned >= np.nanmax(earned) - slack)[0]
    return int(best), earned


def check_equal(situation, learner):
    task = situation.task
    choice = PerfGreedy(learner).choose(situation, np.random.default_rng(0))
    best, earned = exhaustive(situation, learner)
    size = np.abs(task.mdp.rewards(task.weights)).max() / (1 - task.mdp.discount)
    np.testing.assert_allclose(choice.scores, earned, rtol=0, atol=1e-11 * size)
    assert choice.feature == best
    assert choice.demonstration is None and not choice.scores.flags.writeable
    return choice


def grid_task(seed, *, slip=0.0, rows=3, size=6, block=2, **options):
    """Teachable: single features, a random one, a zero, copies, and what is seen already."""
    rng = np.random.default_rng(seed)
    mdp = ti.worlds.gridworld(size, block=block, slip=slip)
    k = mdp.n_features
    A = rng.normal(size=(rows, k))
    singles = np.eye(k)[rng.permutation(k)[:5]]
    teachable = np.vstack(
        [singles, np.zeros(k), singles[1], rng.normal(size=k), -2.0 * A[0], singles[0], -0.0 * A[0]]
    )
    return ti.Task(mdp, rng.normal(size=k), ti.Worldview(A), teachable, **options)


@pytest.mark.parametrize(("slip", "size", "block"), [(0.0, 6, 2), (0.3, 3, 1)])
@pytest.mark.parametrize("seed", range(4))
def test_the_choice_is_that_of_exhaustive_simulation(seed, slip, size, block):
    """With as many features in the small grid that slips, where all is slower."""
    task = grid_task(seed, slip=slip, rows=1 + seed, size=size, block=block)
    most = 30 if slip else 300
    for learner in (Projection(max_steps=most), Projection(1e-2, most), Projection(1e-6, 20)):
        situation = situation_of(task, learner)
        check_equal(situation, learner)
        check_equal(situation_of(task, learner, (1, 7)), learner)
        check_equal(replace(situation, policy=ti.Policy.uniform(task.mdp)), learner)
        check_equal(replace(situation, policy=task.worst.policy), learner)


def test_dense_features_and_sparse_views():
    """However the features that it sees are stored."""
    rng = np.random.default_rng(4)
    grid = ti.worlds.gridworld(6)
    dense = grid.with_features(rng.normal(size=(36, 8)))
    task = ti.Task(dense, rng.normal(size=8), ti.Worldview(rng.normal(size=(2, 8))), np.eye(8))
    check_equal(situation_of(task), Projection(max_steps=400))
    view = ti.Worldview(np.eye(36)[[3, 20]])
    assert not isinstance(view.observe(grid).features, np.ndarray)
    task = ti.Task(grid, rng.normal(size=36), view, np.eye(36)[::3])
    check_equal(situation_of(task), Projection(max_steps=400))


@pytest.mark.parametrize("learner", [MinNormPoint(), LinearProgram(), Adversarial(), Benevolent()])
def test_any_learner_will_do(learner):
    for slip in (0.0, 0.3):
        check_equal(situation_of(grid_task(3, slip=slip, size=4, rows=2)), learner)


@settings(max_examples=60)
@given(st.data())
def test_small_worlds_of_all_kinds(data):
    mdp = data.draw(mdps(max_states=4, max_features=3))
    k = mdp.n_features
    w = data.draw(weights(k))
    assume(w.any() and 1e-9 < np.abs(w).max() < 1e9)
    teachable = data.draw(worldviews(k, max_rows=4))
    assume(len(teachable) > 0)
    view = ti.Worldview(data.draw(worldviews(k, max_rows=2)))
    shown = data.draw(policies(mdp))
    task = ti.Task(mdp, w, view, teachable, demonstration=shown)
    check_equal(situation_of(task, policy=data.draw(policies(mdp))), Projection(max_steps=50))


def test_a_sampled_demonstration_that_no_policy_matches():
    task = grid_task(5)
    rng = np.random.default_rng(1)
    shown = ti.Demonstration.sample(
        task.mdp, task.best.policy, episodes=5, horizon=20, rng=rng, confidence=0.9
    )
    sampled = grid_task(5, demonstration=shown)
    check_equal(situation_of(sampled, policy=ti.Policy.uniform(task.mdp)), Projection(1e-4, 200))


@pytest.mark.parametrize("n", [5, 7, 9])
def test_where_rounding_decides_the_learner_is_asked_herself(n):
    """A target out of reach, a start that is nearest, and others that are, and earn otherwise."""
    middle = n // 2
    shown = ti.Demonstration(np.full(n, 100.0))
    for discount in (0.5, 0.7, 0.9, 0.95):
        mdp = ti.worlds.chain(n, discount=discount)
        blind, w = ti.Worldview(np.empty((0, n))), np.arange(n) - middle + 0.3
        task = ti.Task(mdp, w, blind, np.eye(n)[[middle]], demonstration=shown)
        left, right = (
            ti.Policy.deterministic(mdp, [1] * middle + [side] + [0] * middle) for side in (0, 1)
        )
        for start in (left, right, ti.mixture(mdp, [left, right], [0.3, 0.7])):
            check_equal(situation_of(task, policy=start), Projection(1e-12, 20))


@pytest.mark.parametrize(
    ("seed", "learner", "off", "end"),
    [
        (1, Projection(1e-2), 0.0, {"MATCHED"}),
        (1, Projection(1e-9, 200), 0.0, {"OUT_OF_STEPS"}),
        (0, Projection(1e-3), 1.0, {"NEAREST"}),
        # Rounding leaves nothing to prove, or nothing to gain by any step.
        (3, Projection(1e-16), 0.0, {"ROUNDING", "MATCHED"}),
        (0, Projection(1e-16), 0.02, {"ROUNDING", "NEAREST"}),
    ],
    ids=["matched", "out of steps", "nearest", "rounding", "idle"],
)
def test_the_compiled_loop_takes_its_very_steps(seed, learner, off, end):
    """One step at a time, to the last bit and up to its last step; the target may be off."""
    task = grid_task(seed)
    seen, start = task.worldview.observe(task.mdp), ti.Policy.uniform(task.mdp)
    target = task.worldview.matrix @ task.demonstration.expectations
    target += off * seen.largest_feature * np.cos(np.arange(3))
    learned = learner.learn(seen, target, start)
    assert learned.status.name in end
    even = Assignment(seen, target, start).even()
    goal = learner.tolerance * even.scale
    x = ti.occupancy(seen, start)
    pursuit = Pursuit(even.seen, even.target, even.units, goal, even.first, x)
    misses = [learned.history[0]]
    while not pursuit.standing.ended and len(misses) <= learner.max_steps:
        [miss] = pursuit.run(1)
        assert pursuit.standing.miss == even.miss(pursuit.mixture.mu)
        misses.append(miss)
    np.testing.assert_array_equal(misses, learned.history)
    expected = learned.policy.probabilities
    found = ti.policy_from_occupancy(seen, pursuit.mixture.x).probabilities
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("seed", range(3))
def test_compiled_steps_are_those_of_any_world(seed):
    task = grid_task(seed)
    seen, start = task.worldview.observe(task.mdp), ti.Policy.uniform(task.mdp)
    target = task.worldview.matrix @ task.demonstration.expectations
    even = Assignment(seen, target, start).even()
    x, goal = ti.occupancy(seen, start), 1e-2 * even.scale
    fast, slow = (
        Pursuit(even.seen, even.target, even.units, goal, even.first, x) for _ in range(2)
    )
    assert fast.compiled is not None
    slow.compiled = None
    np.testing.assert_allclose(fast.run(5), slow.run(5), rtol=1e-6)
    np.testing.assert_allclose(fast.mixture.x, slow.mixture.x, atol=1e-6)


def test_ties_go_to_the_first():
    mdp = ti.worlds.chain(5)
    blind = ti.Worldview(np.empty((0, 5)))
    useless = ti.Task(mdp, [-2, -1, 0, 1, 2], blind, np.zeros((3, 5)))
    assert check_equal(situation_of(useless), Projection()).feature == 0
    one = np.eye(5)[4]
    copies = ti.Task(mdp, [-2, -1, 0, 1, 2], blind, [np.zeros(5), one, one, 0 * one])
    choice = check_equal(situation_of(copies), Projection())
    assert choice.feature == 1 and choice.scores[1] == choice.scores[2] > choice.scores[0]
    constant = ti.Task(mdp, np.ones(5), blind, np.eye(5)[::-1])  # all policies earn the same
    assert check_equal(situation_of(constant), Projection()).feature == 0
    assert check_equal(situation_of(constant), MinNormPoint()).feature == 0


@dataclass(frozen=True)
class Counting:
    """Counts how often it learns."""

    seen: list

    def learn(self, seen, target, start=None):
        self.seen.append(seen.features.shape[1])
        return MinNormPoint().learn(seen, target, start)


def test_equal_rows_are_simulated_once():
    learner = Counting([])
    situation = situation_of(grid_task(0, size=4, rows=2))
    check = PerfGreedy(learner).choose(situation, np.random.default_rng(0))
    distinct = np.unique(situation.task.teachable + 0.0, axis=0)
    assert len(learner.seen) == len(distinct) < len(situation.candidates)
    assert set(learner.seen) == {3}
    assert np.isfinite(check.scores[situation.candidates]).all()


def test_the_compiled_loop_replaces_the_learner(monkeypatch):
    situation = situation_of(grid_task(0))
    slippery = situation_of(grid_task(0, slip=0.3))

    def refuse(*_):
        raise AssertionError("the learner was asked itself")

    monkeypatch.setattr(Projection, "learn", refuse)
    PerfGreedy(Projection()).choose(situation, np.random.default_rng(0))
    with pytest.raises(AssertionError, match="asked itself"):
        PerfGreedy(Projection()).choose(slippery, np.random.default_rng(0))


def test_a_loop_in_pieces_is_the_same_loop(monkeypatch):
    situation = situation_of(grid_task(1), policy=None)
    learner = Projection(1e-5, 95)
    whole = PerfGreedy(learner).choose(situation, np.random.default_rng(0))
    monkeypatch.setattr("teachirl.learners.projection.WORK", 10 * situation.task.mdp.n_states)
    pieces = PerfGreedy(learner).choose(situation, np.random.default_rng(0))
    np.testing.assert_array_equal(whole.scores, pieces.scores)


def test_a_heir_of_projection_is_simulated_herself():
    class Lazy(Projection):
        def learn(self, seen, target, start=None):
            return Projection(1e9).learn(seen, target, start)

    situation = situation_of(grid_task(0))
    choice = check_equal(situation, Lazy())
    assert choice.feature == 0  # the learner stays as it is, whatever is taught


def test_in_a_lesson_it_does_what_was_foreseen():
    task = grid_task(7)
    learner = Projection()
    lesson = teach(
        task, PerfGreedy(learner), learner, rng=np.random.default_rng(0), budget=4, tolerance=-1.0
    )
    assert len(lesson.rounds) == 5
    for each in lesson.rounds[1:]:
        foreseen = task.relative(float(each.scores[each.taught]))
        assert each.performance == pytest.approx(foreseen, abs=1e-11)
        assert each.scores[each.taught] >= np.nanmax(each.scores) - 1e-7


def test_what_is_no_learner_is_refused():
    for wrong in (Projection, 3, None, "projection"):
        with pytest.raises(InvalidInputError, match="learner must be a learner, such as Proj"):
            PerfGreedy(wrong)
