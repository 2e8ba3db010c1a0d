"""Features and demonstrations together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import teachirl as ti
from situations import situation
from teachirl.errors import InvalidInputError
from teachirl.teachers import joint_greedy
from teachirl.teachers.gap_greedy import GapGreedy
from teachirl.teachers.joint_greedy import JointGreedy
from teachirl.teaching.matching import Matching
from teachirl.what_to_show.search import best_demonstration

RNG = np.random.default_rng(0)


def grid_task(seed: int = 0, n: int = 8, **options) -> ti.Task:
    mdp = ti.worlds.gridworld(6, 2)
    rng = np.random.default_rng(seed)
    w = rng.standard_normal(mdp.n_features)
    view = ti.Worldview(rng.standard_normal((2, mdp.n_features)))
    return ti.Task(mdp, w, view, np.eye(mdp.n_features)[:n], **options)


def guaranteed(task: ti.Task, feature: int, shown) -> float:
    view = task.worldview.extend(task.teachable[feature])
    return ti.worst_case(task.mdp, view, task.weights, shown).lower


@pytest.mark.parametrize("seed", range(2))
def test_the_pair_guarantees_its_score_and_no_less_than_gap_greedy(seed):
    task = grid_task(seed)
    span = task.best.value - task.worst.value
    choice = JointGreedy(shortlist=2, starts=2).choose(situation(task), RNG)
    assert choice.demonstration is not None and choice.demonstration.error == 0.0
    reached = guaranteed(task, choice.feature, choice.demonstration)
    assert reached == pytest.approx(choice.scores[choice.feature], abs=1e-6 * span)
    alone = GapGreedy().choose(situation(task), RNG)
    assert reached > guaranteed(task, alone.feature, task.demonstration) + 1e-3 * span
    again = JointGreedy(shortlist=2, starts=2).choose(situation(task), RNG)
    assert again.feature == choice.feature
    np.testing.assert_array_equal(again.scores, choice.scores)
    np.testing.assert_array_equal(
        again.demonstration.expectations, choice.demonstration.expectations
    )


def test_with_all_on_the_shortlist_it_is_the_best_of_all_pairs():
    task = grid_task(3, n=4)
    choice = JointGreedy(shortlist=4, starts=8, seed=1).choose(situation(task), RNG)
    span = task.best.value - task.worst.value
    exact = [
        best_demonstration(
            task.mdp,
            task.worldview.extend(f),
            task.weights,
            starts=8,
            rng=np.random.default_rng(1),
            proof_solves=0,
        ).guaranteed
        for f in task.teachable
    ]
    assert choice.feature == int(np.argmax(exact))
    assert choice.scores == pytest.approx(np.array(exact), abs=1e-5 * span)


def from_below(seed: int) -> ti.Task:
    """Where the best demonstration for what the learner sees hides what features are worth."""
    mdp = ti.worlds.gridworld(6, 1, discount=0.9)
    rng = np.random.default_rng(seed)
    w, view = rng.normal(size=36), ti.Worldview(rng.normal(size=(3, 36)))
    features = np.eye(36)[rng.choice(36, 12, replace=False)]
    before = ti.Task(mdp, w, view, features)
    shown = best_demonstration(
        mdp, view, w, rng=np.random.default_rng(0), proof_solves=0, indistinct=before.indistinct
    )
    return ti.Task(mdp, w, view, features, demonstration=shown.demonstration)


def test_what_is_shown_now_does_not_hide_what_a_feature_is_worth():
    task = from_below(2)
    choice = JointGreedy(starts=2).choose(situation(task), RNG)
    assert choice.feature == 11
    reached = guaranteed(task, 11, choice.demonstration)
    assert task.relative_at_least(reached) >= 0.95
    # None of them adds anything to what is shown: it guarantees all that it earns.
    best = max(guaranteed(task, f, task.demonstration) for f in range(12))
    assert task.relative_at_least(best) <= 0.81


def sampled_task(seed: int, episodes: int = 10**4) -> ti.Task:
    exact = grid_task(seed)
    rng = np.random.default_rng(seed)
    shown = ti.Demonstration.sample(
        exact.mdp, exact.best.policy, episodes=episodes, horizon=100, rng=rng
    )
    rows = rng.choice([0.2, 1.0, 5.0], (len(exact.teachable), 1)) * exact.teachable
    return ti.Task(exact.mdp, exact.weights, exact.worldview, rows, demonstration=shown)


@pytest.mark.parametrize("make", [from_below, grid_task, sampled_task])
@pytest.mark.parametrize("seed", range(3))
def test_it_never_guarantees_less_than_gap_greedy_with_either_demonstration(make, seed):
    task = make(seed)
    span = task.best.value - task.worst.value
    here = situation(task, matching=Matching())

    def reached(feature, shown):
        view = task.worldview.extend(task.teachable[feature])
        allowed = view.norm * shown.error  # 0 if it is exact
        return ti.worst_case(task.mdp, view, task.weights, shown, allowed).lower

    choice = JointGreedy(shortlist=1, starts=1, tolerance=1e-4).choose(here, RNG)
    mine = reached(choice.feature, choice.demonstration or task.demonstration)
    assert mine == pytest.approx(choice.scores[choice.feature], abs=1e-4 * span)
    optimal = ti.Demonstration.of_policy(task.mdp, task.best.policy)
    for shown in (task.demonstration, optimal):
        other = replace(here, demonstration=shown)
        alone = GapGreedy(1e-4).choose(other, RNG)
        if alone.feature is not None:
            assert mine >= reached(alone.feature, shown) - 2e-4 * span


@pytest.mark.parametrize("make", [from_below, grid_task, sampled_task])
@pytest.mark.parametrize("seed", range(2))
def test_rough_races_choose_what_exact_ones_do(make, seed, monkeypatch):
    task = make(seed)
    span = task.best.value - task.worst.value
    for starts in (1, 4):
        chosen = []
        for rough in (1e-3, 1e-6):
            monkeypatch.setattr(joint_greedy, "ROUGH", rough)
            here = situation(task, matching=Matching())
            choice = JointGreedy(shortlist=1, starts=starts).choose(here, RNG)
            chosen.append((choice.feature, choice.scores[choice.feature]))
        (feature, score), (exact, other) = chosen
        assert feature == exact
        assert score == pytest.approx(other, abs=2e-6 * span)


def test_lessons_from_a_sample_guarantee_what_the_scores_say():
    task = sampled_task(1, episodes=1000)
    lesson = ti.teach(
        task,
        JointGreedy(shortlist=2, starts=2, tolerance=1e-4),
        ti.learners.MinNormPoint(0.3),
        rng=np.random.default_rng(0),
        budget=2,
        tolerance=-1.0,
    )
    assert len(lesson.taught) == 2 and lesson.demonstration.error == 0.0
    for each in lesson.rounds[1:]:
        promised = task.relative(each.scores[each.taught])
        assert each.guaranteed == pytest.approx(promised, abs=2e-4)


def test_if_nothing_gains_the_risk_decides_and_it_stops_where_that_does_not_fall():
    mdp, nothing = ti.worlds.chain(5), ti.Worldview(np.empty((0, 5)))
    vague = {"matching": Matching(100.0)}  # anybody matches
    w = [0.0, 0.0, 0.0, 1.0, 2.0]
    teacher = JointGreedy(shortlist=2, starts=1)
    task = ti.Task(mdp, w, nothing, np.eye(5))
    assert teacher.choose(situation(task, **vague), RNG).feature == 4
    task = ti.Task(mdp, w, nothing, np.eye(5)[:3])
    assert teacher.choose(situation(task, **vague), RNG).feature is None


def test_wrong_settings():
    for settings, message in [
        ({"tolerance": 0.0}, "tolerance must be positive"),
        ({"shortlist": 0}, "shortlist must be a whole number from 1 on, got 0"),
        ({"starts": 1.5}, "starts must be a whole number from 1 on, got 1.5"),
        ({"starts": True}, "starts must be a whole number from 1 on, got True"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            JointGreedy(**settings)


def test_the_demonstration_stays_if_no_other_is_better():
    task = grid_task()
    view = task.worldview.extend(task.weights)
    here = situation(task, view=view)
    assert JointGreedy().choose(here, RNG).feature is None  # π* and the reward visible
    must = grid_task(required=[2])
    choice = JointGreedy().choose(situation(must, view=view, candidates=np.array([2])), RNG)
    assert choice.feature == 2 and choice.demonstration is None


def test_costs_and_mismatch():
    task = grid_task(n=4, costs=[1.0, 1.0, 1.0, 1e6])
    cheap = JointGreedy(shortlist=4, starts=2).choose(situation(task, cost_left=1e7), RNG)
    assert cheap.feature != 3
    span = task.best.value - task.worst.value
    here = situation(task, matching=Matching(0.05))
    choice = JointGreedy(shortlist=2, starts=2, tolerance=1e-4).choose(here, RNG)
    view = task.worldview.extend(task.teachable[choice.feature])
    shown = choice.demonstration or task.demonstration
    reached = ti.worst_case(task.mdp, view, task.weights, shown, 0.05).lower
    assert reached == pytest.approx(choice.scores[choice.feature], abs=1e-4 * span)
