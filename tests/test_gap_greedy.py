"""The race against one worst case a candidate, and the teacher who follows it."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import teachirl as ti
from situations import situation
from teachirl.errors import InvalidInputError
from teachirl.guarantees.solvers.blocks import Blocks
from teachirl.guarantees.solvers.plans import Case
from teachirl.guarantees.solvers.view_coordinates import ViewCoordinates
from teachirl.teachers import race_search
from teachirl.teachers.gap_greedy import GapGreedy
from teachirl.teachers.race import race
from teachirl.teachers.race_search import Directions, Points, Present, across, settle, weigh
from teachirl.teachers.tr_greedy import TRGreedy
from teachirl.teaching.matching import Matching
from teachirl.teaching.rounds import Rounds
from teachirl.testing import mdps, policies, weights, worldviews
from teachirl.views import linear_algebra

TOLERANCE = 1e-4


def size_of(mdp: ti.MDP, w) -> float:
    """What returns could be if w and the features were parallel: rounding is relative to it."""
    return float(np.linalg.norm(w)) * mdp.largest_feature / (1.0 - mdp.discount) + 1e-300


def span_of(mdp: ti.MDP, w) -> float:
    return ti.optimal_policy(mdp, w).value - ti.worst_policy(mdp, w).value


def tie_of(mdp: ti.MDP, w, tolerance: float = TOLERANCE) -> float:
    return max(tolerance * span_of(mdp, w), 4e-10 * size_of(mdp, w))


def one_by_one(
    mdp, view, w, demonstration, features, mismatch=0.0, method="lifted", tolerance=1e-7
):
    """What is guaranteed after each feature, [n]; min R where no policy matches."""
    found = [
        ti.worst_case(
            mdp, view.extend(f), w, demonstration, mismatch, method=method, tolerance=tolerance
        )
        for f in features
    ]
    least = ti.worst_policy(mdp, w).lower
    return np.array([b.lower if math.isfinite(b.lower) else least for b in found])


def check_pick(pick: int, values, tie: float, doubt: float) -> None:
    """The first that ties with the largest; those within `doubt` of the edge may go either way."""
    bar = values.max() - tie
    assert values[pick] >= bar - doubt
    assert not (values[:pick] >= bar + doubt).any()


def check_race(raced, exact, doubt: float) -> None:
    assert (raced.lower <= raced.upper).all()
    assert (raced.lower <= exact + doubt).all()
    assert (raced.upper >= exact - doubt).all()


def awkward(features, view, order):
    """With a zero row, a copy in other units, the opposite, and what the learner sees already."""
    added = [np.zeros_like(features[0]), 3.0 * features[0], -features[-1]]
    if view.n_rows:
        added.append(view.matrix.sum(axis=0))
    rows = np.vstack([features, added])
    return rows[order.permutation(len(rows))]


@pytest.mark.slow
@given(st.data())
@settings(max_examples=60)
def test_the_pick_is_that_of_a_linear_program_a_candidate(data):
    mdp = data.draw(mdps(discounts=(0.5, 0.9)))
    view = ti.Worldview(data.draw(worldviews(mdp.n_features)))
    w = data.draw(weights(mdp.n_features))
    policy = data.draw(policies(mdp))
    features = np.array(data.draw(worldviews(mdp.n_features).filter(len)))
    order = np.random.default_rng(data.draw(st.integers(0, 5)))
    features = awkward(features, view, order)
    raced = race(mdp, view, w, policy, features, tolerance=TOLERANCE)
    exact = one_by_one(mdp, view, w, policy, features)
    doubt = 1e-6 * span_of(mdp, w) + 1e-8 * size_of(mdp, w)
    check_race(raced, exact, doubt)
    check_pick(raced.best, exact, tie_of(mdp, w), doubt)
    assert raced.single == raced.best and raced.matchable
    best = raced.best
    assert raced.upper[best] - raced.lower[best] <= 0.5 * tie_of(mdp, w) + doubt


def grid(seed: int, slip: float, rows: int = 4, n: int = 12):
    mdp = ti.worlds.gridworld(10, 2, slip=slip)
    rng = np.random.default_rng([seed, rows])
    k = mdp.n_features
    w = rng.standard_normal(k)
    view = ti.Worldview(rng.standard_normal((rows, k)))
    features = np.vstack([np.eye(k)[rng.choice(k, n, False)], rng.standard_normal((3, k))])
    return mdp, view, w, awkward(features, view, rng)


@cache
def exact_on_grid(seed: int, slip: float, mismatch: float = 0.0, *, optimal: bool = True):
    """What each feature of a grid guarantees if an optimal policy is shown, or the uniform one."""
    mdp, view, w, features = grid(seed, slip)
    policy = ti.optimal_policy(mdp, w).policy if optimal else ti.Policy.uniform(mdp)
    return one_by_one(mdp, view, w, policy, features, mismatch, method="bundle")


# Those who compare with the same exact numbers do so in one process.
on_grids = pytest.mark.xdist_group("exact on grids")


@on_grids
@pytest.mark.parametrize("slip", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_the_pick_on_grids(seed, slip):
    mdp, view, w, features = grid(seed, slip)
    for policy in (ti.optimal_policy(mdp, w).policy, ti.Policy.uniform(mdp)):
        raced = race(mdp, view, w, policy, features)
        exact = exact_on_grid(seed, slip, optimal=policy.is_deterministic)
        doubt = 2e-7 * span_of(mdp, w)
        check_race(raced, exact, doubt)
        check_pick(raced.best, exact, 1e-6 * span_of(mdp, w), doubt)
        assert raced.present == pytest.approx(ti.worst_case(mdp, view, w, policy).lower, abs=1e-5)
        # Few of them are solved to the end.
        width = raced.upper - raced.lower
        assert np.count_nonzero(width <= 1e-6 * span_of(mdp, w)) < len(features)


def test_a_few_rounds_of_a_lesson_one_hot_and_everything_visible_in_the_end():
    mdp = ti.worlds.gridworld(6, 2)
    rng = np.random.default_rng(5)
    w = rng.standard_normal(mdp.n_features)
    policy = ti.optimal_policy(mdp, w).policy
    view, left = ti.Worldview(np.empty((0, mdp.n_features))), list(range(mdp.n_features))
    before = -math.inf
    while left:
        raced = race(mdp, view, w, policy, np.eye(mdp.n_features)[left])
        exact = one_by_one(mdp, view, w, policy, np.eye(mdp.n_features)[left], method="bundle")
        check_pick(raced.best, exact, 1e-6 * span_of(mdp, w), 2e-7 * span_of(mdp, w))
        assert raced.lower[raced.best] >= before - 1e-9
        before = raced.lower[raced.best]
        view = view.extend(np.eye(mdp.n_features)[left.pop(raced.best)])
    assert before == pytest.approx(ti.optimal_policy(mdp, w).value, abs=1e-5)


@given(st.data())
@settings(max_examples=40)
def test_the_pick_where_learners_may_miss_by_a_little(data):
    mdp = data.draw(mdps(discounts=(0.5, 0.9)))
    view = ti.Worldview(data.draw(worldviews(mdp.n_features)))
    w = data.draw(weights(mdp.n_features))
    policy = data.draw(policies(mdp))
    features = np.array(data.draw(worldviews(mdp.n_features).filter(len)))
    mismatch = data.draw(st.sampled_from((0.05, 0.5)))
    raced = race(mdp, view, w, policy, features, mismatch, tolerance=1e-3)
    found = [
        ti.worst_case(mdp, view.extend(f), w, policy, mismatch, method="cone", tolerance=1e-5)
        for f in features
    ]
    exact = np.array([each.lower for each in found])
    doubt = 1e-4 * span_of(mdp, w) + 1e-7 * size_of(mdp, w)
    check_race(raced, exact, doubt)
    check_pick(raced.best, exact, tie_of(mdp, w, 1e-3), doubt)


@on_grids
def test_witnesses_spare_worst_cases_where_learners_may_miss():
    mdp, view, w, features = grid(0, 0.0)
    raced = race(mdp, view, w, ti.optimal_policy(mdp, w).policy, features, 0.05, tolerance=1e-4)
    exact = exact_on_grid(0, 0.0, 0.05)
    check_race(raced, exact, 1e-5 * span_of(mdp, w))
    check_pick(raced.best, exact, 1e-4 * span_of(mdp, w), 1e-5 * span_of(mdp, w))
    assert raced.weighed < len(features)


def costly():
    """A grid where the best feature is by far the dearest."""
    mdp, view, w, features = grid(1, 0.0, n=8)
    costs = np.random.default_rng(0).integers(1, 6, len(features)) * 0.5
    best = race(mdp, view, w, ti.optimal_policy(mdp, w).policy, features).best
    costs[best] = 40.0
    return mdp, view, w, features, costs


@pytest.mark.parametrize("mismatch", [0.0, 0.3])
def test_the_gain_per_cost(mismatch):
    mdp, view, w, features, costs = costly()
    policy = ti.optimal_policy(mdp, w).policy
    raced = race(mdp, view, w, policy, features, mismatch, costs=costs, tolerance=TOLERANCE)
    exact = one_by_one(mdp, view, w, policy, features, mismatch, method="bundle")
    gains = exact - ti.worst_case(mdp, view, w, policy, mismatch, tolerance=1e-7).lower
    tie, doubt = TOLERANCE * span_of(mdp, w), 0.3 * TOLERANCE * span_of(mdp, w)
    check_race(raced, exact, doubt)
    check_pick(raced.best, gains / costs * costs.min(), tie, doubt)
    check_pick(raced.single, gains, tie, doubt)
    assert costs[raced.best] < costs[raced.single]


def sampled(mdp, w, episodes: int, seed: int = 0):
    policy = ti.optimal_policy(mdp, w).policy
    rng = np.random.default_rng(seed)
    return ti.Demonstration.sample(mdp, policy, episodes=episodes, horizon=60, rng=rng)


def test_sampled_demonstrations_may_be_beyond_what_policies_do():
    mdp, view, w, features = grid(2, 0.3, rows=1, n=5)
    shown = sampled(mdp, w, 400)
    features = np.vstack([features, w])  # with this one nobody matches a lucky sample
    raced = race(mdp, view, w, shown, features, tolerance=TOLERANCE)
    exact = one_by_one(mdp, view, w, shown, features, method="bundle")
    doubt = 0.3 * TOLERANCE * span_of(mdp, w)
    assert raced.matchable
    check_race(raced, exact, doubt)
    check_pick(raced.best, exact, TOLERANCE * span_of(mdp, w), doubt)
    far = ti.Demonstration(shown.expectations + 30.0, radius=1.0, confidence=0.9)
    nobody = race(mdp, view, w, far, features)
    assert not nobody.matchable
    least = ti.worst_policy(mdp, w).value
    room = 1e-5 * span_of(mdp, w)
    assert nobody.lower == pytest.approx(np.full(len(features), least), abs=room)
    assert nobody.present == pytest.approx(least, abs=room)
    within = race(mdp, view, w, far, features, 1e-3)
    assert not within.matchable


def test_points_bound_what_lies_between_them():
    points = Points(3, 1e-9)
    points.add(-1.0, np.array([1.0, 1e-12, 2.0]))
    assert points.least.tolist() == [math.inf, -1.0, math.inf]
    points.add(-4.0, np.array([-1.0, 1.0, 2.0]))
    assert points.least.tolist() == [-2.5, -1.0, math.inf]
    for reward in range(300):  # more than are kept
        points.add(float(reward), np.array([0.5, -1.0, 1.0]))
    # (−4, −1) and (0, .5) meet at −4/3, (−4, 1) and (0, −1) at −2.
    assert points.least.tolist() == [-2.5, -2.0, math.inf]
    points.add(-6.0, np.array([1.0, -1.0, -2.0]))  # a low one finds a place
    assert points.least.tolist() == [-5.0, -5.0, -5.0]
    points.add(-5.5, np.array([1.0, 0.5, 1.0]))
    assert points.least.tolist() == [-5.0, -17.0 / 3.0, -17.0 / 3.0]


@on_grids
@pytest.mark.parametrize(
    ("limit", "room", "held"),
    [(40, 8_000_000, 8_000_000), (100_000, 8_000_000, 8_000_000), (40, 1, 1), (40, 1, 4000)],
)
def test_contenders_share_the_pool_and_a_small_one_will_do(monkeypatch, limit, room, held):
    monkeypatch.setattr(race_search, "ROOM", room)
    monkeypatch.setattr(race_search, "HELD", held)
    mdp, view, w, features = grid(0, 0.0)
    policy = ti.optimal_policy(mdp, w).policy
    mu = ti.feature_expectations(mdp, policy)
    case = Case(mdp, ViewCoordinates(mdp, view, 0.0), w, mu, policy)
    present = Present(case, features, 1e-6)
    present.settle()
    master = present.search.master
    master.limit = max(limit, master.count)
    exact = exact_on_grid(0, 0.0) - float(w @ mu)
    doubt = 2e-6 * span_of(mdp, w)
    useful = np.flatnonzero(~present.pool.directions.lacking)
    most = 0
    for candidate in useful:
        most = max(most, present.pool.count)
        weighed = present.contender(int(candidate))
        weigh(weighed)
        assert weighed.solves == 0
        assert weighed.upper >= exact[candidate] - doubt
        settled = present.contender(int(candidate))
        assert settle(settled, -math.inf)
        assert settled.upper <= weighed.upper
        assert settled.lower == pytest.approx(exact[candidate], abs=doubt)
        assert settled.upper == pytest.approx(exact[candidate], abs=doubt)
    assert master.count <= master.limit
    # What a column is left of is kept, and as much again at most.
    assert room > 1 or most <= 2 * (master.limit + 1)
    assert len(present._known) <= (held > 1) * len(useful)
    assert held > 4000 or len(present._known) < len(useful)
    assert (present.pool.points.least[useful] <= exact[useful] + doubt).all()


@pytest.mark.parametrize("narrow", [True, False])
def test_what_is_read_of_many_plans_at_once_is_what_each_does(monkeypatch, narrow):
    monkeypatch.setattr(race_search, "CHUNK", 3)
    mdp, view, w, features = grid(0, 0.0)
    if not narrow:
        features = np.vstack([features, np.eye(mdp.n_features)])
    rng = np.random.default_rng(3)
    plans = [ti.optimal_policy(mdp, v).policy for v in rng.standard_normal((8, mdp.n_features))]
    mu = ti.feature_expectations(mdp, plans[0])
    case = Case(mdp, ViewCoordinates(mdp, view, 0.0), w, mu, plans[0])
    present = Present(case, features, 1e-6)
    present.settle()
    pool, contender = present.pool, present.contender(1)
    first, master = pool.count, contender.master
    for plan in plans:
        pool.put(plan, present.search.master)
    assert present.contender(1) is contender
    wider = np.vstack([contender.case.sight.basis, w])
    blocks = Blocks(mdp, wider, pool.blocks.count)
    origin, added = blocks.columns(plans[0]), 0
    for j in range(master.count):
        if (number := int(master._source[j]) - first) >= 0:
            column = (blocks.columns(plans[number]) - origin)[master._owner[j]]
            np.testing.assert_allclose(master._columns[j], column[:-1], atol=1e-12)
            assert master._cost[j] == pytest.approx(column[-1], abs=1e-12)
            added += 1
    assert added == len(plans) * blocks.count

    weigh(contender)
    kept: list[np.ndarray] = []
    monkeypatch.setattr(pool.points, "add", lambda reward, off: kept.append(off))
    pool.keep(master)
    does = sum(
        share * pool._held[number // 3][number % 3, block]
        for number, block, share in zip(*master.shares(), strict=True)
    )
    off = does[len(view.basis) + 1 :] if narrow else pool.directions.matrix @ does
    np.testing.assert_allclose(kept[0], off - pool.directions.matrix @ mu, atol=1e-12)


def test_mistakes_are_named():
    mdp, view, w, features = grid(0, 0.0)
    policy = ti.optimal_policy(mdp, w).policy
    with pytest.raises(InvalidInputError, match=r"candidates must have shape \(n, 25\)"):
        race(mdp, view, w, policy, np.empty((0, 25)))
    with pytest.raises(InvalidInputError, match="candidates must be finite"):
        race(mdp, view, w, policy, np.full((1, 25), np.nan))
    with pytest.raises(InvalidInputError, match="costs must be positive and finite"):
        race(mdp, view, w, policy, features, costs=np.zeros(len(features)))
    with pytest.raises(InvalidInputError, match="tolerance must be positive"):
        race(mdp, view, w, policy, features, tolerance=0.0)
    with pytest.raises(InvalidInputError, match=r"mismatches must have shape \(\d+,\)"):
        race(mdp, view, w, policy, features, mismatches=[1.0])
    with pytest.raises(InvalidInputError, match="mismatches must not be negative"):
        race(mdp, view, w, policy, features, mismatches=np.full(len(features), -1.0))
    with pytest.raises(InvalidInputError, match="tolerance must be positive"):
        GapGreedy(tolerance=0.0)


RNG = np.random.default_rng(0)


def test_the_teacher_picks_what_the_race_finds_and_nothing_else():
    mdp, view, w, features = grid(0, 0.0)
    task = ti.Task(mdp, w, view, features)
    raced = race(mdp, view, w, task.demonstration, features)
    choice = GapGreedy().choose(situation(task), RNG)
    assert choice.feature == raced.best and choice.demonstration is None
    np.testing.assert_allclose(choice.scores, raced.upper, atol=2e-6 * span_of(mdp, w))
    assert choice.scores[choice.feature] == choice.scores.max() == raced.upper[raced.best]
    some = np.array([1, 4, 7])
    choice = GapGreedy().choose(situation(task, candidates=some), RNG)
    assert choice.feature == some[race(mdp, view, w, task.demonstration, features[some]).best]
    np.testing.assert_array_equal(np.flatnonzero(~np.isnan(choice.scores)), some)
    assert not choice.scores.flags.writeable


@on_grids
@pytest.mark.parametrize("mismatch", [0.0, 0.05])
@pytest.mark.parametrize("seed", range(4))
def test_the_second_is_the_best_of_the_others(seed, mismatch):
    mdp, view, w, features = grid(seed, 0.0)
    task = ti.Task(mdp, w, view, features)
    policy, span = ti.optimal_policy(mdp, w).policy, span_of(mdp, w)
    exact = exact_on_grid(seed, 0.0, mismatch)
    raced = race(mdp, view, w, policy, features, mismatch)
    assert raced.second is not None and raced.second == raced.second_single != raced.best
    others = np.delete(np.arange(len(features)), raced.best)
    check_pick(int(np.flatnonzero(others == raced.second)[0]), exact[others], 1e-6 * span, 1e-6)
    scores = np.array(GapGreedy().choose(situation(task, matching=Matching(mismatch)), RNG).scores)
    assert scores[raced.second] == pytest.approx(exact[raced.second], abs=2e-6 * span)
    scores[raced.best] = -np.inf
    assert np.argmax(scores) == raced.second
    alone = race(mdp, view, w, policy, features[others], mismatch)
    assert others[alone.best] == raced.second
    assert race(mdp, view, w, policy, features[:1], mismatch).second is None


def test_the_second_by_gain_per_cost():
    mdp, view, w, features, costs = costly()
    policy = ti.optimal_policy(mdp, w).policy
    raced = race(mdp, view, w, policy, features, costs=costs)
    for first, second, worth in (
        (raced.best, raced.second, costs),
        (raced.single, raced.second_single, None),
    ):
        others = np.delete(np.arange(len(features)), first)
        prices = None if worth is None else worth[others]
        alone = race(mdp, view, w, policy, features[others], costs=prices)
        assert others[alone.best] == second


def test_it_stops_where_nothing_can_help_but_teaches_what_is_required():
    mdp, view, w, _ = grid(0, 0.0)
    k = mdp.n_features
    useless = np.vstack([np.zeros(k), view.matrix])
    task = ti.Task(mdp, w, view, useless)
    assert GapGreedy().choose(situation(task), RNG).feature is None
    must = ti.Task(mdp, w, view, useless, required=[1])
    only = situation(must, candidates=np.array([1]))
    assert GapGreedy().choose(only, RNG).feature == 1
    # The reward itself is visible: nothing is missing.
    seeing = view.extend(w)
    task = ti.Task(mdp, w, seeing, np.eye(k))
    assert GapGreedy().choose(situation(task), RNG).feature is None
    # Neither the guarantee nor the risk improves.
    chain, nothing = ti.worlds.chain(5), ti.Worldview(np.empty((0, 5)))
    task = ti.Task(chain, [0, 0, 0, 0, 1.0], nothing, np.eye(5)[:1])
    assert GapGreedy().choose(situation(task), RNG).feature is None
    task = ti.Task(chain, [0, 0, 0, 0, 1.0], nothing, np.eye(5)[:1], required=[0])
    assert GapGreedy().choose(situation(task), RNG).feature == 0


def test_where_no_feature_lifts_anything_the_risk_decides_then_the_cost():
    """With one action nothing is missing; with two that look alike, no feature tells anything."""
    transitions = np.zeros((4, 2, 4))
    transitions[0, 0, [1, 2]] = transitions[0, 1, [1, 3]] = 0.5
    transitions[[1, 2, 3], :, 0] = 1.0
    mdp = ti.MDP.from_arrays(transitions, np.eye(4), discount=0.5)
    w = np.array([0.0, 0.0, 1.0, -1.0])
    view = ti.Worldview(np.empty((0, 4)))
    # Who knows how often it is in 0 or 1 knows nothing of 2 and 3; (1, 1, 2, 2) lowers no risk.
    features = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 1, 0.1, -0.1], [1, 0, 0.2, -0.2]]
    policy = ti.optimal_policy(mdp, w).policy
    task = ti.Task(mdp, w, view, features[:3])
    exact = one_by_one(mdp, view, w, policy, task.teachable)
    assert exact == pytest.approx(np.full(3, ti.worst_policy(mdp, w).value), abs=1e-8)
    assert GapGreedy().choose(situation(task), RNG).feature is None

    # At ε = 100 anybody matches, so that all tie whatever is taught.
    vague = {"matching": Matching(100.0)}
    task = ti.Task(mdp, w, view, features)
    assert GapGreedy().choose(situation(task, **vague), RNG).feature == 4
    task = ti.Task(mdp, w, view, [*features, 2.0 * np.array(features[4])], [1, 1, 1, 1, 5, 3])
    for money in (math.inf, 20.0):
        choice = GapGreedy().choose(situation(task, cost_left=money, **vague), RNG)
        assert choice.feature == 5
        assert choice.scores[5] == np.nanmax(choice.scores)
    must = ti.Task(mdp, w, view, features, required=[1, 3])
    here = situation(must, candidates=np.array([1, 3]), **vague)
    assert GapGreedy().choose(here, RNG).feature == 3


def test_one_state():
    mdp = ti.MDP.from_arrays(np.ones((1, 2, 1)), np.array([[1.0, 2.0]]), discount=0.5)
    task = ti.Task(mdp, [1.0, 0.0], ti.Worldview(np.empty((0, 2))), np.eye(2))
    assert GapGreedy().choose(situation(task), RNG).feature is None


def test_if_nobody_matches_it_chooses_as_tr_greedy_does():
    mdp, view, w, features = grid(0, 0.0)
    far = ti.Demonstration(np.full(mdp.n_features, 9.0), radius=1.0, confidence=0.9)
    task = ti.Task(mdp, w, view, features, demonstration=far)
    choice = GapGreedy().choose(situation(task), RNG)
    other = TRGreedy().choose(situation(task), RNG)
    assert choice.feature == other.feature
    np.testing.assert_array_equal(choice.scores, other.scores)


@cache
def vaguely(seed: int, episodes: int, lengths=(0.1, 1.0, 4.0)):
    """A task with a sampled demonstration, and feature rows of different lengths."""
    mdp = ti.worlds.gridworld(6, 2, slip=0.1)
    rng = np.random.default_rng(seed)
    k = mdp.n_features
    w, view = rng.standard_normal(k), ti.Worldview(0.5 * rng.standard_normal((1, k)))
    features = rng.choice(lengths, (6, 1)) * np.vstack([np.eye(k)[:4], rng.normal(size=(2, k))])
    features = np.vstack([features, np.zeros(k)])
    return ti.Task(mdp, w, view, features, demonstration=sampled(mdp, w, episodes, seed))


def with_their_own(task: ti.Task, view: ti.Worldview):
    """Each feature's ε, and what is guaranteed at that."""
    shown, found = task.demonstration, []
    for f in task.teachable:
        wider = view.extend(f)
        ε = wider.norm * shown.error
        # Thirty times as exact as what is compared with it.
        (value,) = one_by_one(
            task.mdp, view, task.weights, shown, [f], ε, method="bundle", tolerance=1e-5
        )
        found.append((ε, value))
    return np.array(found).T


@pytest.mark.parametrize(("seed", "episodes"), [(0, 10**5), (1, 10**5), (2, 10**4), (3, 10**4)])
def test_each_feature_with_the_mismatch_that_it_brings(seed, episodes):
    task = vaguely(seed, episodes)
    mdp, w, view, shown = task.mdp, task.weights, task.worldview, task.demonstration
    after, exact = with_their_own(task, view)
    now = view.norm * shown.error
    assert after.max() > 1.2 * now > 0.0
    raced = race(mdp, view, w, shown, task.teachable, now, mismatches=after, tolerance=1e-3)
    span = span_of(mdp, w)
    doubt = 3e-4 * span
    check_race(raced, exact, doubt)
    check_pick(raced.best, exact, 1e-3 * span, doubt)


def test_a_race_with_any_sizes_of_mismatch_even_if_nobody_matches_before():
    matched_later = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        states, actions, k = rng.integers(2, 6), rng.integers(2, 4), rng.integers(1, 5)
        transitions = rng.dirichlet(np.full(states, 0.4), size=(states, actions))
        mdp = ti.MDP.from_arrays(
            transitions, rng.normal(size=(states, k)), discount=0.8, first="state"
        )
        w, view = rng.normal(size=k), ti.Worldview(rng.normal(size=(rng.integers(3), k)))
        features = rng.choice([0.1, 1.0, 5.0], (5, 1)) * rng.normal(size=(5, k))
        features[0] = 0.0
        shown = ti.Demonstration.of_policy(mdp, ti.optimal_policy(mdp, w).policy)
        if seed % 3:
            off = rng.choice([0.1, 1.0]) * rng.normal(size=k)
            shown = ti.Demonstration(shown.expectations + off, radius=0.5, confidence=0.9)
        now, own = rng.choice([0.0, 0.05, 0.5]), rng.choice([0.0, 0.05, 0.5, 3.0], 5)
        raced = race(mdp, view, w, shown, features, now, mismatches=own, tolerance=1e-3)
        exact = np.array(
            [
                one_by_one(mdp, view, w, shown, [f], ε, method="bundle", tolerance=1e-5)[0]
                for f, ε in zip(features, own, strict=True)
            ]
        )
        doubt = 3e-4 * span_of(mdp, w) + 1e-8 * size_of(mdp, w)
        check_race(raced, exact, doubt)
        check_pick(raced.best, exact, raced.tie, doubt)
        matched_later += not raced.matchable and exact.max() > raced.present + raced.tie
    assert matched_later >= 3


@pytest.mark.parametrize(("seed", "episodes"), [(0, 10**5), (1, 10**5), (2, 10**4), (3, 10**4)])
def test_lessons_from_samples_take_the_best_guarantee_and_stop_before_it_falls(seed, episodes):
    task, rng = vaguely(seed, episodes), np.random.default_rng(0)
    span = task.best.value - task.worst.value
    lesson = ti.teach(task, GapGreedy(1e-3), ti.learners.MinNormPoint(0.3), rng=rng, tolerance=-1.0)
    view = task.worldview
    for before, each in zip(lesson.rounds, lesson.rounds[1:], strict=False):
        exact = with_their_own(task, view)[1]
        exact[list(lesson.taught[: lesson.taught.index(each.taught)])] = -np.inf
        if before.guaranteed > 2e-3:  # otherwise there is nothing to lose
            assert exact[each.taught] >= exact.max() - 1.5e-3 * span
            assert each.guaranteed > before.guaranteed
        view = view.extend(task.teachable[each.taught])
    left = np.setdiff1d(np.arange(len(task.teachable)), lesson.taught)
    if len(left) and lesson.rounds[-1].guaranteed > 2e-3:
        last = task.worst.value + lesson.rounds[-1].guaranteed * span
        assert with_their_own(task, view)[1][left].max() <= last + 1.5e-3 * span
    # A fixed mismatch is the same in all views.
    here = situation(task, view=view, matching=Matching(0.2))
    assert here.mismatch == 0.2
    free = situation(task, view=view, matching=Matching())
    assert free.mismatch == view.norm * task.demonstration.error
    exactly = ti.Demonstration.of_policy(task.mdp, task.best.policy)
    assert free.matching.within(view, exactly) == 0.0


def test_it_teaches_what_is_required_even_if_that_takes_from_the_guarantee():
    task = vaguely(0, 10**5)
    worse = ti.Task(
        task.mdp,
        task.weights,
        task.worldview.extend(task.weights),
        [[50.0], [20.0]] * np.eye(9)[:2],
        demonstration=task.demonstration,
    )
    view = worse.worldview
    before = ti.worst_case(
        worse.mdp, view, worse.weights, worse.demonstration, view.norm * worse.demonstration.error
    ).lower
    exact = with_their_own(worse, view)[1]
    assert (exact < before - 1e-2 * span_of(task.mdp, task.weights)).all()
    own = {"matching": Matching()}
    assert GapGreedy(1e-3).choose(situation(worse, **own), RNG).feature is None
    must = ti.Task(
        worse.mdp,
        worse.weights,
        view,
        worse.teachable,
        demonstration=worse.demonstration,
        required=[0, 1],
    )
    choice = GapGreedy(1e-3).choose(situation(must, **own), RNG)
    assert choice.feature == int(np.argmax(exact))


def test_a_sampled_demonstration_with_the_mismatch_it_may_have():
    mdp, view, w, features = grid(0, 0.0, rows=2, n=3)
    shown = sampled(mdp, w, 2000)
    task = ti.Task(mdp, w, view, features, demonstration=shown)
    mismatch = view.norm * shown.error
    choice = GapGreedy(1e-3).choose(situation(task, matching=Matching(mismatch)), RNG)
    exact = one_by_one(mdp, view, w, shown, features, mismatch, method="bundle", tolerance=1e-5)
    doubt = 3e-4 * span_of(mdp, w)
    check_pick(choice.feature, exact, 1e-3 * span_of(mdp, w), doubt)


@pytest.mark.parametrize("money", [math.inf, 100.0, 3.0, 1.5])
@pytest.mark.parametrize("seed", range(3))
def test_what_it_would_choose_next_is_what_it_chooses_without_the_first(seed, money):
    mdp, view, w, features = grid(seed, 0.0)
    costs = np.random.default_rng(seed).uniform(0.5, 2.0, len(features))
    task = ti.Task(mdp, w, view, features, costs=costs)
    here = situation(task, candidates=np.flatnonzero(costs <= money), cost_left=money)
    known = 0
    while len(here.candidates):
        choice = GapGreedy().choose(here, RNG)
        here = replace(here, candidates=here.candidates[here.candidates != choice.feature])
        if choice.second is not None:
            assert GapGreedy().choose(here, RNG).feature == choice.second
            known += 1
        if choice.feature is None or known == 3:
            break
    assert known or money < math.inf


def test_costs_count_only_if_they_differ_and_there_is_so_much_to_spend():
    mdp, view, w, features, costs = costly()
    task = ti.Task(mdp, w, view, features, costs=costs)
    raced = race(mdp, view, w, task.demonstration, features, costs=costs)
    assert raced.best != raced.single
    assert GapGreedy().choose(situation(task), RNG).feature == raced.single
    rich = GapGreedy().choose(situation(task, cost_left=100.0), RNG)
    assert rich.feature == raced.best  # there is money for both
    gains = (raced.upper - raced.present) / costs
    np.testing.assert_allclose(rich.scores, gains, atol=2e-6 * span_of(mdp, w))
    assert rich.scores.max() == rich.scores[rich.feature]
    same = ti.Task(mdp, w, view, features, costs=np.full(len(features), 2.0))
    assert GapGreedy().choose(situation(same, cost_left=10.0), RNG).feature == raced.single


def test_a_single_feature_that_beats_the_plan_by_gain_per_cost_is_taken():
    mdp, view, w, features, _ = costly()
    raced = race(mdp, view, w, ti.optimal_policy(mdp, w).policy, features)
    gains = raced.upper - raced.present
    small = int(np.argmax(np.where(raced.idle | (gains >= gains[raced.best]), -1.0, gains)))
    pair = features[[small, raced.best]]
    policy = ti.optimal_policy(mdp, w).policy
    exact = one_by_one(mdp, view, w, policy, pair, method="bundle")
    lifts = exact - ti.worst_case(mdp, view, w, policy).lower
    assert 0.0 < lifts[0] < lifts[1]
    costs = [0.5 * lifts[0] / lifts[1], 1.0]  # per cost, the small one is twice as good
    task = ti.Task(mdp, w, view, pair, costs=costs)
    for money, expected in ((1.0, 1), (1.0 + costs[0], 0), (0.9, 0)):
        affordable = np.flatnonzero(task.costs <= money)
        here = situation(task, cost_left=money, candidates=affordable)
        assert GapGreedy().choose(here, RNG).feature == expected


@pytest.mark.parametrize("mismatch", [0.0, 0.05])
def test_what_is_known_of_the_present_is_not_computed_again(mismatch):
    mdp, view, w, features = grid(0, 0.0)
    policy = ti.optimal_policy(mdp, w).policy
    known = ti.worst_case(mdp, view, w, policy, mismatch)
    fresh = race(mdp, view, w, policy, features, mismatch)
    told = race(mdp, view, w, policy, features, mismatch, present=known)
    assert (told.best, told.single, told.matchable) == (fresh.best, fresh.single, fresh.matchable)
    assert told.present == pytest.approx(fresh.present, abs=2.0 * fresh.tie)
    assert told.solves < fresh.solves


def test_a_round_hands_its_worst_case_to_the_teacher():
    mdp, view, w, features = grid(0, 0.0)
    task = ti.Task(mdp, w, view, features)
    rng = np.random.default_rng(0)
    first, second = islice(Rounds(task, GapGreedy(), rng=rng, budget=1), 2)
    assert first.worst_case is not None
    assert second.situation.worst_case is first.worst_case
    assert first.round.guaranteed == task.guaranteed_by(first.worst_case)
    [_, blind] = Rounds(task, GapGreedy(), rng=rng, budget=1, certified=False)
    assert blind.situation.worst_case is None
    assert blind.round.taught == second.round.taught


class TestManyDirections:
    """Of thousands of features what is 0 is not kept: here of six, a part after the other."""

    @pytest.fixture(autouse=True)
    def few_are_many(self, monkeypatch):
        monkeypatch.setattr(linear_algebra, "PART", 12)
        monkeypatch.setattr(linear_algebra, "SPARSE", 0.5)

    @pytest.mark.parametrize("rows", [[], [[0, 1, 0, 0, 0, 0]], [[1, 1, 1, 1, 1, 1]]])
    def test_are_the_same(self, rows):
        view = ti.Worldview(np.reshape(np.array(rows, dtype=float), (-1, 6)))
        features = np.vstack([np.diag([2.0, 1, 1, 1, 1e-9, 1]), np.zeros((1, 6))])
        found, expected = Directions(view, features), across(view, features)
        assert (found.dense is None) == (rows != [[1] * 6])  # what mixes all is not sparse
        assert len(found) == 7
        np.testing.assert_array_equal([found[i] for i in range(7)], expected)
        np.testing.assert_array_equal(found.matrix @ np.arange(6.0), expected @ np.arange(6.0))
        np.testing.assert_array_equal(found.lacking, ~expected.any(axis=1))

    @pytest.mark.parametrize("slip", [0.0, 0.3])
    def test_the_race_is_the_same(self, monkeypatch, slip):
        mdp = ti.worlds.gridworld(6, 2, slip=slip)
        w = np.random.default_rng(1).standard_normal(9)
        view = ti.Worldview.select(mdp, [4])
        shown = ti.optimal_policy(mdp, w).policy
        sparse = race(mdp, view, w, shown, np.eye(9))
        monkeypatch.undo()
        dense = race(mdp, view, w, shown, np.eye(9))
        assert (sparse.best, sparse.second) == (dense.best, dense.second)
        check = {"rtol": 0.0, "atol": 1e-5 * span_of(mdp, w)}
        for one in (sparse.best, sparse.second):
            np.testing.assert_allclose(sparse.lower[one], dense.lower[one], **check)
        np.testing.assert_array_equal(sparse.idle, dense.idle)
