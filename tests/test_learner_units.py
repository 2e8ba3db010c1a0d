"""Units do not matter, and what is proved of nearness holds to the last bit."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from flint import fmpq

import teachirl as ti
from exact import exact, exact_expectations
from teachirl.learners import LearnStatus
from teachirl.learners.informed import Adversarial, Benevolent
from teachirl.learners.learner import Assignment, even_units
from teachirl.learners.linear_program import LinearProgram
from teachirl.learners.max_causal_entropy import MaxCausalEntropy
from teachirl.learners.max_margin import MaxMargin
from teachirl.learners.min_norm_point import MinNormPoint
from teachirl.learners.multiplicative_weights import MultiplicativeWeights
from teachirl.learners.projection import Projection

LEARNERS = [
    Projection(),
    MaxMargin(),
    MinNormPoint(),
    MaxCausalEntropy(),
    MultiplicativeWeights(max_steps=500),
    LinearProgram(),
    LinearProgram(nonnegative=True),
    MultiplicativeWeights(max_steps=100, nonnegative=True),
    Adversarial(),
    Benevolent(),
]
by_name = pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)


def world(rng):
    """A small random world of some kind."""
    gamma, kind = float(rng.choice([0.5, 0.9, 0.99, 0.999])), rng.integers(3)
    if kind == 0:
        return ti.worlds.gridworld(3, 1, gamma, float(rng.choice([0.0, 0.3])))
    states, actions, branching, k = (int(n) for n in rng.integers([1, 1, 1, 1], [9, 4, 3, 6]))
    return ti.worlds.garnet(
        rng, states, actions, min(branching, states), k, discount=gamma, per_pair=kind == 2
    )


def problem(seed, *, out_of_reach=None):
    """An MDP, weights, what the learner sees, and a target that is out of reach or not."""
    rng = np.random.default_rng([11, seed])
    mdp = world(rng)
    w, rows = rng.normal(size=mdp.n_features), int(rng.integers(1, mdp.n_features + 2))
    matrix = rng.normal(size=(rows, mdp.n_features))
    matrix[rng.integers(rows)] *= rng.choice([0.0, 1.0, 1.0])
    view = ti.Worldview(matrix)
    expert = ti.optimal_policy(mdp, w).policy
    target = matrix @ ti.feature_expectations(mdp, expert)
    if out_of_reach if out_of_reach is not None else seed % 2:
        noise = rng.normal(size=rows) * 10.0 ** rng.uniform(-9, 0)
        target = target + noise * even_units(view.observe(mdp), target) / (1.0 - mdp.discount)
    return mdp, w, view, target


def told(learner, mdp, w):
    return learner.informed(mdp, w) if hasattr(learner, "informed") else learner


def some_policies(mdp, rng):
    yield ti.Policy.uniform(mdp)
    for _ in range(3):
        yield ti.optimal_policy(mdp, rng.normal(size=mdp.n_features)).policy
        chances = rng.dirichlet(np.ones(2), mdp.n_pairs)[:, 0] + 1e-3
        totals = np.add.reduceat(chances, mdp.dynamics.offsets[:-1])
        yield ti.Policy(mdp.dynamics, chances=chances / totals[mdp.dynamics.pair_states])


@pytest.mark.parametrize("seed", range(40))
def test_nothing_is_nearer_than_what_is_proved(seed):
    """Neither what policies do, in exact arithmetic, nor what is computed of it."""
    mdp, w, view, target = problem(seed)
    rng = np.random.default_rng([12, seed])
    units = (
        10.0 ** rng.uniform(-12, 12, size=view.n_rows) if seed % 4 >= 2 else np.ones(view.n_rows)
    )
    seen, b = ti.Worldview(units[:, None] * view.matrix).observe(mdp), units * target
    found = [told(learner, mdp, w).learn(seen, b) for learner in LEARNERS]
    policies = [*some_policies(seen, rng), *(learned.policy for learned in found)]
    # The claims of all are as good as the largest of them.
    claimed = max(learned.nearest for learned in found)
    for policy in policies:
        gaps = (m - exact(t) for m, t in zip(exact_expectations(seen, policy), b, strict=True))
        assert exact(claimed) ** 2 <= sum((gap * gap for gap in gaps), fmpq(0))
        off = ti.feature_expectations(seen, policy) - b
        assert claimed <= Assignment(seen, b, None).mismatch(off)
    for learned in found:
        assert 0.0 <= learned.nearest <= learned.mismatch


def test_the_proof_is_worth_something():
    """What is counted of rounding does not eat up what is proved."""
    near = 0
    for seed in range(1, 40, 2):
        mdp, _, view, target = problem(seed)
        even = Assignment(view.observe(mdp), target, None).even()
        learned = MinNormPoint().learn(even.seen, even.target)
        if learned.status is LearnStatus.NEAREST:
            near += 1
            size = even.scale + np.linalg.norm(even.target)
            # At a discount of .999 a computed expectation is known to 1e-11 of its size.
            assert learned.mismatch - learned.nearest <= 1e-9 * even.scale + 1e-11 * size
    assert near >= 10


@by_name
@pytest.mark.parametrize("out_of_reach", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_units_do_not_matter(learner, out_of_reach, seed):
    mdp, w, view, target = problem(seed, out_of_reach=out_of_reach)
    units = 10.0 ** np.random.default_rng([13, seed]).uniform(-12, 12, size=view.n_rows)
    seen = view.observe(mdp)
    one = told(learner, mdp, w).learn(seen, target)
    other = told(learner, mdp, w).learn(
        ti.Worldview(units[:, None] * view.matrix).observe(mdp), units * target
    )
    assert one.status is other.status
    even = Assignment(seen, target, None).even()
    off = (one.expectations - other.expectations / units) / even.units
    allowed = 2.0 * learner.tolerance if one.status is LearnStatus.MATCHED else 1e-6
    assert np.linalg.norm(off) <= allowed * even.scale + 1e-9 * np.linalg.norm(even.target)
    earned = [ti.relative_performance(mdp, w, learned.policy) for learned in (one, other)]
    assert earned[0] == pytest.approx(earned[1], abs=1e-4)


@by_name
def test_a_sensor_in_other_units(learner):
    """A row 1e-9 times as large as another tells as much as it did."""
    mdp = ti.worlds.gridworld(5, 1, 0.9)
    rng = np.random.default_rng(3)
    w = np.zeros(mdp.n_features)
    w[[6, 12, 18]] = [1.0, -1.0, 2.0]
    rows = np.vstack([rng.normal(size=mdp.n_features), 1e-9 * w])
    view = ti.Worldview(rows)
    expert = ti.optimal_policy(mdp, w).policy
    seen, target = view.observe(mdp), view.matrix @ ti.feature_expectations(mdp, expert)
    learned = told(learner, mdp, w).learn(seen, target)
    earned = ti.relative_performance(mdp, w, learned.policy)
    # Its features tell the reward, so that who matches does as well as the expert.
    assert ti.certify(mdp, view, w, expert).guaranteed == pytest.approx(1.0, abs=1e-6)
    if getattr(learner, "matches", True):
        assert learned.status is LearnStatus.MATCHED
        assert earned >= 1.0 - 10.0 * learner.tolerance
    covered = ti.certify(mdp, view, w, expert, mismatch=learned.mismatch).guaranteed
    assert covered <= earned + 1e-9


def test_a_lesson_in_other_units():
    """`performance` keeps what is `guaranteed`, whatever the units of what is taught."""
    mdp = ti.worlds.gridworld(6, 2, 0.9)
    rng = np.random.default_rng(0)
    w = rng.normal(size=9)
    for unit in (1.0, 1e-9, 1e9):
        task = ti.Task(mdp, w, ti.Worldview(rng.normal(size=(2, 9))), unit * np.eye(9))
        lesson = ti.teach(task, ti.teachers.GapGreedy(), MinNormPoint(), rng=rng, budget=8)
        for each in lesson.rounds:
            assert each.performance >= each.guaranteed - 1e-6
        assert lesson.rounds[-1].performance >= 1.0 - 1e-3


class TestEvenUnits:
    def units(self, features, target=None, **more):
        mdp = ti.worlds.chain(5).with_features(np.asarray(features, dtype=float))
        return even_units(mdp, np.zeros(mdp.n_features) if target is None else np.array(target))

    def test_the_range_whatever_the_offset(self):
        column = np.array([0.0, 1.0, 2.0, 4.0, 3.0])
        features = np.column_stack([column, -3 * column, column + 20.0, 1e-200 * column])
        assert self.units(features) == pytest.approx([4.0, 12.0, 4.0, 4e-200], rel=1e-12)

    def test_what_hardly_changes_is_measured_by_its_size(self):
        features = np.column_stack([np.full(5, 7.0), np.zeros(5), np.zeros(5)])
        assert self.units(features) == pytest.approx([7e-3, 1.0, 1.0])
        # Those that are always 0 share a unit: 0.1 · ‖(3, 4)‖.
        assert self.units(features, [1.0, 3.0, 4.0]) == pytest.approx([7e-3, 0.5, 0.5])

    def test_what_is_never_reached_does_not_count(self):
        here, there = np.kron(np.eye(2), np.eye(2)), np.kron(np.eye(2), np.eye(2)[::-1])
        rows, start = np.stack([here, there], 1), [1.0, 0, 0, 0]
        features = np.array([[1.0, 2.0], [0.0, 5.0], [1e9, 0.0], [-7.0, 0.0]])
        for table in (features, np.repeat(features, 2, axis=0)):
            for phi in (table, sp.csr_array(table)):
                mdp = ti.MDP.from_arrays(rows, features, discount=0.9, start=start)
                units = even_units(mdp.with_features(phi), np.zeros(2))
                assert units.tolist() == [1.0, 3.0]

    def test_nothing_to_see(self):
        mdp = ti.worlds.chain(5)
        for phi in (np.empty((5, 0)), sp.csr_array((5, 0))):
            even = Assignment(mdp.with_features(phi), [], None).even()
            assert even.units.shape == (0,) and even.scale == 0.0

    def test_what_is_even_stays_as_it_is(self):
        mdp = ti.worlds.gridworld(4)
        task = Assignment(mdp, np.ones(16), None)
        even = task.even()
        assert even.seen is mdp and even.target is task.target and even.scale == task.scale

    def test_sparse_is_dense(self):
        seen = ti.worlds.gridworld(4).with_features(np.random.default_rng(0).normal(size=(16, 3)))
        target = np.ones(3)
        dense = Assignment(seen, target, None).even()
        sparse = Assignment(seen.with_features(sp.csr_array(seen.features)), target, None).even()
        assert np.array_equal(dense.seen.features, sparse.seen.features.toarray())
        assert np.array_equal(dense.target, sparse.target)
        assert np.ptp(dense.seen.features, axis=0) == pytest.approx(1.0)

    def test_a_reward_in_its_features(self):
        seen = ti.worlds.gridworld(4).with_features(np.random.default_rng(0).normal(size=(16, 3)))
        even, w = Assignment(seen, np.ones(3), None).even(), np.array([0.3, 0.0, -0.4])
        for order in (1, 2):
            weights = even.as_given(w, order)
            assert np.linalg.norm(weights, order) == pytest.approx(np.linalg.norm(w, order))
            ratio = seen.rewards(weights) / even.seen.rewards(w)
            assert ratio == pytest.approx(ratio[0]) and ratio[0] > 0.0
        assert not even.as_given(np.zeros(3)).any()


class TestCopies:
    """A learner with many copies of each feature is the one with each of them once."""

    LEARNERS = (
        ti.learners.MaxCausalEntropy(),
        ti.learners.Adversarial(),
        ti.learners.Benevolent(),
        ti.learners.Adversarial(mismatch=0.5),
        ti.learners.Benevolent(mismatch=0.5),
    )

    @pytest.mark.parametrize("learner", LEARNERS, ids=repr)
    @pytest.mark.parametrize("away", [0.0, 3.0])
    @pytest.mark.parametrize("copies", [4, 900])
    def test_copies_do_not_matter(self, learner, away, copies):
        mdp, w = ti.worlds.chain(5), np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
        view = ti.Worldview([[1.0, 0, 0, 2.0, 0], [0, 0, -1.0, 0, 3.0]])
        many = ti.Worldview(np.repeat(view.matrix, copies, axis=0))
        uniform = ti.feature_expectations(mdp, ti.Policy.uniform(mdp))
        target = view.matrix @ (0.5 * uniform) + 0.5 * view.matrix @ ti.feature_expectations(
            mdp, ti.optimal_policy(mdp, w).policy
        )
        target[0] += away * 10.0
        # Distances are √copies times as long.
        if getattr(learner, "mismatch", 0.0):
            alike = type(learner)(mismatch=learner.mismatch * math.sqrt(copies))
        else:
            alike = learner
        if hasattr(learner, "informed"):
            learner, alike = learner.informed(mdp, w), alike.informed(mdp, w)
        once = learner.learn(view.observe(mdp), target)
        often = alike.learn(many.observe(mdp), np.repeat(target, copies))
        assert often.status is once.status
        assert often.mismatch == pytest.approx(math.sqrt(copies) * once.mismatch, abs=1e-4)
        assert often.nearest == pytest.approx(math.sqrt(copies) * once.nearest, abs=1e-4)
        assert often.nearest <= often.mismatch
        earned = [w @ ti.feature_expectations(mdp, each.policy) for each in (once, often)]
        assert earned[1] == pytest.approx(earned[0], abs=1e-3)
        assert often.weights.shape == (2 * copies,)

    def test_a_target_out_of_their_span(self):
        """No policy can tell two copies apart, whatever the target says of them."""
        mdp = ti.worlds.chain(5)
        seen = ti.Worldview([[1.0, 0, 0, 0, 0]] * 3).observe(mdp)
        learned = ti.learners.MaxCausalEntropy().learn(seen, [2.0, 3.0, 4.0])
        assert learned.status is ti.learners.LearnStatus.NEAREST
        assert learned.expectations == pytest.approx([3.0] * 3, abs=1e-3)
        assert learned.nearest == pytest.approx(math.sqrt(2.0), abs=1e-5)
