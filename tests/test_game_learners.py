"""Who plays against the weights: the two of them, against each other and against all policies."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import teachirl as ti
from even import evenly
from teachirl.errors import InvalidInputError
from teachirl.learners import LearnStatus
from teachirl.learners import linear_program as module
from teachirl.learners.game import Game
from teachirl.learners.learner import Assignment, even_scale, even_units
from teachirl.learners.linear_program import LinearProgram
from teachirl.learners.multiplicative_weights import MultiplicativeWeights
from teachirl.testing import check_learner, mdps, policies, worldviews

BOTH = [MultiplicativeWeights(), LinearProgram()]


def scale_of(seen):
    return seen.largest_feature / (1.0 - seen.discount)


def vertices(mdp):
    """μ of every deterministic policy, [n, k]."""
    pairs = [range(*ends) for ends in itertools.pairwise(mdp.dynamics.offsets)]
    chosen = (ti.Policy(mdp.dynamics, pairs=np.array(each)) for each in itertools.product(*pairs))
    return np.unique([ti.feature_expectations(mdp, policy) for policy in chosen], axis=0)


def count(mdp):
    return math.prod(np.diff(mdp.dynamics.offsets).tolist())


def value_of_the_game(points, target, nonnegative):
    """min over mixtures of the points [n, ℓ] of max |b − μ|_i, or of max (b − μ)_i."""
    n, size = points.shape
    rows = [np.hstack([-points.T, -np.ones((size, 1))])]
    right = [-target]
    if not nonnegative:
        rows.append(np.hstack([points.T, -np.ones((size, 1))]))
        right.append(target)
    found = linprog(
        [*np.zeros(n), 1.0],
        A_ub=np.vstack(rows),
        b_ub=np.concatenate(right),
        A_eq=[[*np.ones(n), 0.0]],
        b_eq=[1.0],
        bounds=[*[(0, None)] * n, (None, None)],
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.status == 0, found.message
    return found.fun


def grid(n_features=3, seed=0, **kinds):
    """A gridworld as someone sees it, and what is seen of the expert."""
    mdp = ti.worlds.gridworld(6, block=2, **kinds)
    rng = np.random.default_rng(seed)
    seen = evenly(ti.Worldview(rng.standard_normal((n_features, mdp.n_features))).observe(mdp))
    expert = ti.optimal_policy(mdp, rng.standard_normal(mdp.n_features)).policy
    return seen, ti.feature_expectations(seen, expert)


@pytest.mark.parametrize("learner", BOTH)
@pytest.mark.parametrize("kinds", [{}, {"slip": 0.2}, {"discount": 0.99}])
def test_what_an_expert_does_is_matched(learner, kinds):
    seen, target = grid(**kinds)
    learned = learner.learn(seen, target)
    assert learned.status is LearnStatus.MATCHED
    assert learned.mismatch <= learner.tolerance * scale_of(seen)
    assert learned.history[-1] == pytest.approx(learned.mismatch, abs=1e-11 * scale_of(seen))


def test_the_program_is_exact_and_needs_no_mdp_solved():
    seen, target = grid(8, slip=0.1)
    learned = LinearProgram(tolerance=1e-9).learn(seen, target)
    assert learned.status is LearnStatus.MATCHED and learned.solves == 0
    assert learned.mismatch <= 1e-10 * scale_of(seen)


@settings(max_examples=60)
@given(st.data())
def test_the_program_is_the_value_of_the_game(data):
    mdp = data.draw(mdps(max_states=4, discounts=(0.5, 0.9)))
    assume(count(mdp) <= 81)
    view = ti.Worldview(data.draw(worldviews(mdp.n_features)))
    seen = evenly(view.observe(mdp))
    scale = even_scale(seen)
    assume(scale > 0.0)
    away = data.draw(st.sampled_from([0.0, 0.1, 2.0]))
    shift = scale * away * np.cos(np.arange(seen.n_features))
    target = ti.feature_expectations(seen, data.draw(policies(mdp))) + shift
    even = Assignment(seen, target, None).even()  # what is always 0 has a unit by its target
    seen, target, shift = even.seen, even.target, shift / even.units
    points = vertices(seen) / scale
    for nonnegative in (False, True):
        value = value_of_the_game(points, target / scale, nonnegative)
        learner = LinearProgram(nonnegative=nonnegative)
        # From a start that is as far as can be, so that the answer is its own.
        start = ti.optimal_policy(seen, -shift).policy if away else None
        learned = learner.learn(seen, target, start)
        short = (target - learned.expectations) / scale
        loss = short.max() if nonnegative else np.abs(short).max()
        assert value - 1e-8 <= loss
        if nonnegative or learned.mismatch < 0.999 * learned.history[0]:
            assert loss <= value + 1e-6
        game = Game(even, 1e-6, nonnegative)
        assert loss * scale == pytest.approx(game.loss(learned.expectations), abs=1e-12 * scale)
        if not nonnegative:
            assert (value <= 1e-6) == (learned.status is LearnStatus.MATCHED)
            assert learned.nearest <= learned.mismatch
        if learned.solves:
            # The multipliers prove the value; their bound in the other norm is no more than true.
            least, nearest = game.bounds(
                learned.weights, ti.optimal_policy(seen, learned.weights).upper
            )
            assert least / scale == pytest.approx(value, rel=0, abs=1e-7)
            assert learned.nearest <= nearest
            # What is computed is known to 1e-12 of its size, for each of up to five features.
            assert nearest - learned.nearest <= 1e-10 * scale + 1e-11 * scale_of(seen)


def extended_program(seen, target):
    """The least of the costs without ties, by another solver on dense rows: x [P]."""
    leaves = np.eye(seen.n_states)[seen.dynamics.pair_states]
    flow = leaves - seen.discount * seen.dynamics.transitions.toarray()
    rows = np.hstack([flow, np.asarray(seen.features)[seen.dynamics.pair_states]]).T
    cost = np.modf(module.GOLDEN * np.arange(1.0, seen.n_pairs + 1.0))[0]
    right = np.concatenate([seen.start, target])
    found = linprog(cost, A_eq=rows, b_eq=right, method="highs-ipm")
    assert found.status == 0
    return np.maximum(found.x, 0.0)


@pytest.mark.parametrize("seed", range(6))
def test_of_many_programs_that_match_it_takes_one(seed):
    """Which one does not depend on how the last bit is rounded, or on who solves it."""
    seen, target = grid(3, seed, slip=0.1 * (seed % 2))
    learned = LinearProgram().learn(seen, target)
    nudged = LinearProgram().learn(seen, target * (1.0 + 1e-13))
    other = ti.policy_from_occupancy(seen, extended_program(seen, target))
    x = ti.occupancy(seen, learned.policy)
    for policy in (nudged.policy, other):
        assert np.abs(ti.occupancy(seen, policy) - x).max() <= 1e-7
    assert not learned.weights.any()


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("away", [0.0, 0.3])
def test_rounds_come_as_near_to_the_program_as_the_theorem_says(nonnegative, away):
    seen, target = grid(3, seed=4)
    scale, target = scale_of(seen), target + away * scale_of(seen) * np.array([1.0, -1.0, 0.5])
    game = Game(Assignment(seen, target, None), 1e-6, nonnegative)
    exact = LinearProgram(nonnegative=nonnegative).learn(seen, target)
    value = game.loss(exact.expectations)
    reach = float(np.abs(seen.features).max()) / (1.0 - seen.discount) + np.abs(target).max()
    for rounds in (50, 1000):
        learner = MultiplicativeWeights(1e-9, rounds, nonnegative)
        played = learner.learn(seen, target)
        assert played.status is LearnStatus.OUT_OF_STEPS and played.solves == rounds
        # Freund & Schapire 1999: the mean regret of the weights, G being in [0, 1].
        regret = math.sqrt(2.0 * math.log(game.size) / rounds) + math.log(game.size) / rounds
        loss = game.loss(played.expectations)
        assert value - 1e-9 * scale <= loss <= value + 2.0 * reach * regret
        assert played.nearest <= exact.mismatch
        if away and not nonnegative:
            assert played.nearest > 0.0


def test_rounds_multiply_weights_as_in_the_paper():
    # A plain copy of the original: features in [−1, 1], weights multiplied round by round.
    mdp = ti.worlds.gridworld(4, block=2)
    seen = mdp.with_features(np.cos(np.arange(32.0)).reshape(16, 2).round(1))
    seen = seen.with_features(np.vstack([[1.0, 0.5], seen.features[1:]]))
    target = ti.feature_expectations(seen, ti.optimal_policy(seen, [1.0, 2.0]).policy)
    steps, away = 7, 1.0 - seen.discount
    beta = 1.0 / (1.0 + math.sqrt(2.0 * math.log(2) / steps))
    most = 1.0 + away * np.abs(target).max()  # 2 in the original
    w, x, weights = np.ones(2), np.zeros(seen.n_pairs), []
    for _ in range(steps):
        weights.append(w / w.sum())
        policy = ti.optimal_policy(seen, weights[-1]).policy
        x += ti.occupancy(seen, policy) / steps
        w = w * beta ** ((away * (ti.feature_expectations(seen, policy) - target) / most + 1) / 2)
    learned = MultiplicativeWeights(tolerance=1e-12, max_steps=steps, nonnegative=True).learn(
        seen, target
    )
    assert learned.status is LearnStatus.OUT_OF_STEPS and learned.solves == steps
    np.testing.assert_allclose(learned.weights, np.mean(weights, axis=0), rtol=1e-12)
    own = ti.feature_expectations(seen, ti.policy_from_occupancy(seen, x))
    np.testing.assert_allclose(learned.expectations, own, rtol=1e-12)


@pytest.mark.parametrize("kind", [MultiplicativeWeights, LinearProgram])
def test_with_nonnegative_weights_it_beats_the_target(kind):
    # Half the time the expert does anything: who knows that more is better does better.
    mdp = ti.worlds.gridworld(6, block=2)
    seen = mdp.with_features(mdp.features[:, :2])
    best = ti.optimal_policy(seen, [1.0, 1.0]).policy
    expert = ti.mixture(mdp, [best, ti.Policy.uniform(mdp)], [0.5, 0.5])
    target = ti.feature_expectations(seen, expert)
    for start in (None, expert):
        learned = kind(nonnegative=True).learn(seen, target, start)
        assert ((learned.expectations - target) > 0.05 * scale_of(seen)).all()
        assert (learned.weights >= 0.0).all()
        assert learned.weights.sum() == pytest.approx(1.0)
    assert not kind(nonnegative=True).matches and kind().matches
    assert kind().learn(seen, target, expert).solves == 0


@pytest.mark.parametrize("learner", BOTH)
def test_a_target_out_of_reach(learner):
    seen, target = grid(1)
    scale = scale_of(seen)
    learned = learner.learn(seen, target + 3.0 * scale)
    assert learned.status is LearnStatus.NEAREST
    best = ti.optimal_policy(seen, [1.0])
    least = float(target[0]) + 3.0 * scale - best.value
    assert learned.mismatch == pytest.approx(least, abs=learner.tolerance * scale)
    assert least - learner.tolerance * scale <= learned.nearest <= least * (1 + 1e-9)
    assert learned.weights[0] > 0.0


@pytest.mark.parametrize("learner", [LinearProgram(), MultiplicativeWeights(max_steps=50)])
def test_never_farther_than_the_start(learner):
    # The nearest in the ∞-norm is far in the 2-norm: the start is mixed in, where that is nearest.
    square = ti.MDP.from_arrays(
        np.ones((1, 3, 1)), np.array([[[0.0, 0.0], [1.0, 0.0], [0.8, 1.0]]]), discount=0.5
    )
    target = np.array([2.0, 0.0]) + np.array([1.0, 0.3])
    start = ti.Policy.deterministic(square, [1])
    learned = learner.learn(square, target, start)
    first = float(np.linalg.norm([1.0, 0.3]))
    assert learned.history[0] == pytest.approx(first)
    assert (learned.history <= first + 1e-12).all()
    assert learned.mismatch <= first and learned.mismatch == pytest.approx(learned.history[-1])


@settings(max_examples=40)
@given(st.data())
def test_what_is_proved_is_true(data):
    mdp = data.draw(mdps(max_states=4, discounts=(0.5, 0.9)))
    view = ti.Worldview(data.draw(worldviews(mdp.n_features, 3)))
    seen, scale = view.observe(mdp), scale_of(view.observe(mdp))
    away = data.draw(st.sampled_from([0.0, 0.2, 5.0]))
    shift = scale * away * np.sin(1.0 + np.arange(seen.n_features))
    shown, other = data.draw(policies(mdp)), data.draw(policies(mdp))
    target = ti.feature_expectations(seen, shown) + shift
    miss = float(np.linalg.norm(ti.feature_expectations(seen, other) - target))
    start, units = ti.Policy.uniform(seen), even_units(seen, target)

    def away_from_target(mu):
        """In the units in which they learn: in others they may end farther away than they began."""
        return float(np.linalg.norm((mu - target) / units))

    first = away_from_target(ti.feature_expectations(seen, start))
    for kind in (LinearProgram, MultiplicativeWeights):
        for nonnegative in (False, True):
            options = {} if kind is LinearProgram else {"max_steps": 40}
            learned = kind(nonnegative=nonnegative, **options).learn(seen, target, start)
            assert learned.nearest <= miss
            if not nonnegative:
                assert away_from_target(learned.expectations) <= first + 1e-11 * (1.0 + first)


@pytest.mark.parametrize("learner", BOTH)
def test_who_sees_nothing(learner):
    mdp = ti.worlds.chain(5)
    for nonnegative in (False, True):
        learner = type(learner)(nonnegative=nonnegative)
        learned = learner.learn(ti.Worldview(np.empty((0, 5))).observe(mdp), [])
        assert learned.status is LearnStatus.MATCHED and learned.solves == 0
        dark = ti.Worldview(np.zeros((2, 5))).observe(mdp)
        assert learner.learn(dark, [0.0, 0.0]).status is LearnStatus.MATCHED
        learned = learner.learn(dark, [3.0, 4.0])
        assert learned.status is LearnStatus.NEAREST
        assert 5.0 - 1e-13 <= learned.nearest <= learned.mismatch == 5.0


@pytest.mark.parametrize("learner", BOTH)
def test_units_do_not_matter(learner):
    seen, target = grid(3, slip=0.1)
    plain = learner.learn(seen, target)
    for factor in (2.0**-40, 2.0**40):
        scaled = seen.with_features(factor * np.asarray(seen.features))
        learned = learner.learn(scaled, factor * target)
        assert learned.status is plain.status and learned.solves == plain.solves
        assert learned.mismatch <= learner.tolerance * scale_of(scaled)


@pytest.mark.parametrize("learner", BOTH)
def test_features_may_be_sparse_and_per_pair(learner):
    mdp = ti.worlds.gridworld(4)
    dense = mdp.with_features(np.asarray(mdp.features.toarray())[:, [5, 10]])
    target = ti.feature_expectations(dense, ti.optimal_policy(dense, [1.0, 0.5]).policy)
    by_pair = dense.features[mdp.dynamics.pair_states]
    for features in (dense.features, by_pair, sp.csr_array(dense.features), sp.csr_array(by_pair)):
        learned = learner.learn(mdp.with_features(features), target)
        assert learned.status is LearnStatus.MATCHED


def test_the_contract_at_other_settings():
    check_learner(LinearProgram(nonnegative=True))
    for nonnegative in (False, True):
        check_learner(MultiplicativeWeights(max_steps=100, nonnegative=nonnegative))


def test_a_solver_that_fails_leaves_the_start(monkeypatch):
    seen, target = grid()

    monkeypatch.setattr(module, "_solved", lambda solver, *methods: False)
    start = ti.Policy.uniform(seen)
    for nonnegative in (False, True):
        learned = LinearProgram(nonnegative=nonnegative).learn(seen, target, start)
        assert learned.status is LearnStatus.ROUNDING
        np.testing.assert_array_equal(learned.policy.probabilities, start.probabilities)
        assert learned.nearest == 0.0 and not learned.weights.any()


def test_what_makes_no_sense_is_refused():
    for kind in (MultiplicativeWeights, LinearProgram):
        with pytest.raises(InvalidInputError, match="tolerance must be positive"):
            kind(tolerance=0.0)
    with pytest.raises(InvalidInputError, match="max_steps must be a whole number"):
        MultiplicativeWeights(max_steps=0)
    seen, target = grid()
    for learner in BOTH:
        with pytest.raises(InvalidInputError, match="target must have shape"):
            learner.learn(seen, target[:2])
