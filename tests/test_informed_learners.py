"""The worst and the best of all that match, against all mixtures of deterministic policies."""

from __future__ import annotations

import dataclasses
import inspect
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
from teachirl.learners import Informed, LearnStatus
from teachirl.learners import informed as module
from teachirl.learners.informed import Adversarial, Benevolent
from teachirl.learners.linear_program import LinearProgram
from teachirl.learners.multiplicative_weights import MultiplicativeWeights
from teachirl.testing import mdps, policies, weights, worldviews

WEIGHTS = np.array([-2.0, -1.0, 0.0, 1.0, 2.0]) / math.sqrt(10.0)
BEST, MIDDLE = [1, 1, 1, 1, 0], [1, 1, 1, 0, 0]


def reward(mdp, w, policy):
    return float(w @ ti.feature_expectations(mdp, policy))


def scale_of(seen):
    return seen.largest_feature / (1.0 - seen.discount)


def spread(mdp, w):
    """max R − min R"""
    return ti.optimal_policy(mdp, w).value - ti.worst_policy(mdp, w).value


def vertices(seen, mdp, w):
    """What every deterministic policy does in its features and earns: [n, ℓ] and [n]."""
    rows = []
    for each, table in ((seen, seen.features), (mdp, mdp.rewards(w)[:, None])):
        table = table.toarray() if sp.issparse(table) else table
        rows.append(table if each.features_per_pair else table[mdp.dynamics.pair_states])
    both = mdp.with_features(np.hstack(rows))
    pairs = [range(*ends) for ends in itertools.pairwise(mdp.dynamics.offsets)]
    chosen = (ti.Policy(mdp.dynamics, pairs=np.array(each)) for each in itertools.product(*pairs))
    found = np.unique([ti.feature_expectations(both, policy) for policy in chosen], axis=0)
    return found[:, :-1], found[:, -1]


def count(mdp):
    return math.prod(np.diff(mdp.dynamics.offsets).tolist())


def extremes(points, values, target, slack):
    """The least and the most of Σ λ values with |Σ λ points − target| ≤ slack, per coordinate."""
    ends = []
    for sign in (1.0, -1.0):
        found = linprog(
            sign * values,
            A_ub=np.vstack([points.T, -points.T]),
            b_ub=np.concatenate([target + slack, slack - target]),
            A_eq=np.ones((1, len(points))),
            b_eq=[1.0],
            method="highs-ds",
            options={
                "presolve": False,  # it takes what is feasible by rounding only for infeasible
                "primal_feasibility_tolerance": 1e-10,
                "dual_feasibility_tolerance": 1e-10,
            },
        )
        assert found.status == 0, found.message
        ends.append(sign * found.fun)
    return ends


@pytest.mark.parametrize(
    ("gamma", "actions", "expected"),
    [(0.5, BEST, -0.3057), (0.5, MIDDLE, -0.1054), (0.9, BEST, -3.9240), (0.9, MIDDLE, -1.3242)],
)
def test_the_table_of_the_chain(gamma, actions, expected):
    mdp = ti.worlds.chain(5, discount=gamma)
    seen = ti.Worldview.select(mdp, ["cell 3"]).observe(mdp)
    target = ti.feature_expectations(seen, ti.Policy.deterministic(mdp, actions))
    for strategy, value in ((Adversarial(), expected), (Benevolent(), -expected)):
        learned = strategy.informed(mdp, WEIGHTS).learn(seen, target)
        assert learned.status is LearnStatus.MATCHED
        assert round(reward(mdp, WEIGHTS, learned.policy), 4) == value
        assert learned.mismatch <= 1e-12 * scale_of(seen)
        assert len(learned.history) == 2 and learned.history[1] == learned.mismatch
        assert learned.solves > 0


@settings(max_examples=60)
@given(st.data())
def test_no_mixture_of_deterministic_policies_is_more_extreme(data):
    mdp = data.draw(mdps(max_states=4, discounts=(0.5, 0.9)))
    assume(count(mdp) <= 81)
    view = ti.Worldview(data.draw(worldviews(mdp.n_features)))
    w = data.draw(weights(mdp.n_features))
    seen, shown = view.observe(mdp), data.draw(policies(mdp))
    target = ti.feature_expectations(seen, shown)
    # In units in which each of its features, and the rewards, are about 1.
    own, earned = vertices(seen, mdp, w)
    units = np.abs(own).max(axis=0, initial=0.0)
    units = np.where(units > 0.0, units, 1.0)
    size = float(np.abs(earned).max()) or 1.0
    found = extremes(own / units, earned / size, target / units, 1e-11)
    asked = 2e-6 * spread(mdp, w) + 1e-8 * size
    start = data.draw(st.sampled_from([None, shown]))
    for strategy, value in zip((Adversarial(), Benevolent()), found, strict=True):
        learned = strategy.informed(mdp, w).learn(seen, target, start)
        assert learned.status is LearnStatus.MATCHED
        assert learned.mismatch <= 1e-9 * scale_of(seen)
        assert reward(mdp, w, learned.policy) == pytest.approx(size * value, rel=0, abs=asked)


@settings(max_examples=30)
@given(st.data())
def test_a_mismatch_that_is_allowed_is_used(data):
    mdp = data.draw(mdps(max_states=4, discounts=(0.5, 0.9)))
    assume(count(mdp) <= 81)
    # With one feature the ball is an interval, and the twin a linear program.
    w, row = data.draw(weights(mdp.n_features)), data.draw(worldviews(mdp.n_features, 1))
    seen = ti.Worldview(row[:1]).observe(mdp)
    assume(seen.n_features == 1 and scale_of(seen) > 0.0)
    target = ti.feature_expectations(seen, data.draw(policies(mdp)))
    share = data.draw(st.sampled_from([0.01, 0.1]))
    (own, earned), scale = vertices(seen, mdp, w), scale_of(seen)
    size = float(np.abs(earned).max()) or 1.0
    found = extremes(own / scale, earned / size, target / scale, share)
    for kind, value in zip((Adversarial, Benevolent), found, strict=True):
        learned = kind(mismatch=share * scale).informed(mdp, w).learn(seen, target)
        assert learned.status is LearnStatus.MATCHED
        assert learned.mismatch <= (share + 1e-9) * scale
        asked = 2e-6 * spread(mdp, w) + 1e-8 * size
        assert reward(mdp, w, learned.policy) == pytest.approx(size * value, rel=0, abs=asked)


def nearest_in_the_plane(points, target):
    """Of the convex hull of points [n, 2], to a target outside of it: on a segment of two."""
    first, second = np.triu_indices(len(points))
    a, along = points[first], points[second] - points[first]
    lengths = np.einsum("ij,ij->i", along, along)
    share = np.einsum("ij,ij->i", target - a, along) / np.where(lengths > 0.0, lengths, 1.0)
    near = a + np.clip(share, 0.0, 1.0)[:, None] * along
    return near[np.argmin(np.linalg.norm(near - target, axis=1))]


@pytest.mark.parametrize("seed", range(20))
def test_out_of_reach_it_is_extreme_among_the_nearest(seed):
    rng = np.random.default_rng(seed)
    steps = rng.dirichlet(np.full(4, 0.3), size=(4, 3))
    mdp = ti.MDP.from_arrays(steps, rng.integers(-3, 4, (4, 3, 4)).astype(float), discount=0.9)
    w, view = rng.standard_normal(4), ti.Worldview(rng.integers(-2, 3, (2, 4)).astype(float))
    seen = evenly(view.observe(mdp))
    scale = scale_of(seen)
    angle = rng.uniform(0.0, 2.0 * math.pi)
    shift = (1 + seed % 4) * scale * np.array([math.cos(angle), math.sin(angle)])
    target = ti.feature_expectations(seen, ti.Policy.uniform(mdp)) + shift
    own, earned = vertices(seen, mdp, w)
    own /= scale
    near = nearest_in_the_plane(own, target / scale)
    miss = float(np.linalg.norm(near - target / scale))
    assert miss > 1e-2
    found = extremes(own, earned, near, 1e-9)
    for strategy, value in zip((Adversarial(), Benevolent()), found, strict=True):
        learned = strategy.informed(mdp, w).learn(seen, target)
        assert learned.status is LearnStatus.NEAREST
        assert learned.mismatch == pytest.approx(miss * scale, rel=1e-7)
        assert learned.nearest <= miss * scale * (1 + 1e-7)
        assert learned.mismatch - learned.nearest <= strategy.tolerance * max(scale, miss * scale)
        asked = 2e-6 * spread(mdp, w)
        assert reward(mdp, w, learned.policy) == pytest.approx(value, rel=0, abs=asked)


def test_who_matches_lies_between_them():
    mdp = ti.worlds.gridworld(6, block=2, slip=0.1)
    rng = np.random.default_rng(5)
    view = ti.Worldview(rng.standard_normal((3, mdp.n_features)))
    w, seen = rng.standard_normal(mdp.n_features), view.observe(mdp)
    best = ti.optimal_policy(mdp, w).policy
    target = ti.feature_expectations(seen, best)
    worst, lucky = (
        reward(mdp, w, kind().informed(mdp, w).learn(seen, target).policy)
        for kind in (Adversarial, Benevolent)
    )
    room = 1e-6 * spread(mdp, w)
    matching = LinearProgram(tolerance=1e-9).learn(seen, target)
    assert matching.status is LearnStatus.MATCHED
    assert worst - room <= reward(mdp, w, matching.policy) <= lucky + room
    assert worst < reward(mdp, w, best) - 0.01 * spread(mdp, w)
    assert lucky == pytest.approx(reward(mdp, w, best), abs=room)
    # The same as with the true features, and the worldview itself.
    bounds = ti.worst_case(mdp, view, w, best)
    assert bounds.lower - room <= worst <= bounds.upper + room


def test_its_weights_prove_that_none_is_worse():
    mdp = ti.worlds.gridworld(6, block=2)
    rng = np.random.default_rng(3)
    w = 1e3 + rng.standard_normal(mdp.n_features)
    seen = ti.Worldview(1e-3 * rng.standard_normal((2, mdp.n_features))).observe(mdp)
    expert = ti.mixture(mdp, [ti.optimal_policy(mdp, w).policy, ti.Policy.uniform(mdp)], [0.5, 0.5])
    target = ti.feature_expectations(seen, expert)
    for strategy, sign in ((Adversarial(), 1.0), (Benevolent(), -1.0)):
        learned = strategy.informed(mdp, w).learn(seen, target)
        theta = learned.weights
        rest = mdp.rewards(w) - seen.rewards(theta)
        alone = ti.worst_policy(mdp.with_features(rest[:, None]), [sign])
        bound = theta @ target + sign * alone.value
        worth = reward(mdp, w, learned.policy)
        assert bound == pytest.approx(worth, rel=0, abs=1e-6 * spread(mdp, w))
        assert np.linalg.norm(theta) > 0.0


def test_who_sees_nothing_is_anyone():
    mdp = ti.worlds.chain(5)
    blind = ti.Worldview(np.empty((0, 5))).observe(mdp)
    dark = ti.Worldview(np.zeros((2, 5))).observe(mdp)
    best, worst = ti.optimal_policy(mdp, WEIGHTS).value, ti.worst_policy(mdp, WEIGHTS).value
    for strategy, value in ((Adversarial(), worst), (Benevolent(), best)):
        told = strategy.informed(mdp, WEIGHTS)
        for seen, target in ((blind, []), (dark, [0.0, 0.0])):
            learned = told.learn(seen, target)
            assert learned.status is LearnStatus.MATCHED and learned.mismatch == 0.0
            assert reward(mdp, WEIGHTS, learned.policy) == pytest.approx(value, abs=1e-9)
        # Nothing that the learner can do changes what it sees: every policy is nearest.
        learned = told.learn(dark, [3.0, 4.0])
        assert learned.status is LearnStatus.NEAREST
        assert learned.mismatch == 5.0
        assert learned.nearest == pytest.approx(5.0, rel=1e-12)
        assert reward(mdp, WEIGHTS, learned.policy) == pytest.approx(value, abs=1e-9)


def test_what_is_shown_of_the_reward_does_not_matter():
    mdp = ti.worlds.chain(5)
    both = mdp.with_features(np.column_stack([np.eye(5)[2], mdp.rewards(WEIGHTS)]))
    view, shown = ti.Worldview([[1.0, 0.0]]), ti.Policy.deterministic(mdp, MIDDLE)
    seen = ti.feature_expectations(both, shown)[0]
    found = [
        ti.worst_case(both, view, [0, 1], ti.Demonstration(np.array([seen, anything])))
        for anything in (0.0, 40.0, -1e4)
    ]
    for each in found:
        assert each.status is ti.WorstCaseStatus.OPTIMAL
        assert round(each.lower, 4) == round(each.upper, 4) == -1.3242


def test_a_start_changes_nothing_but_where_history_begins():
    mdp = ti.worlds.gridworld(4, block=2)
    w = np.array([3.0, -1.0, 2.0, 0.5])
    seen = ti.Worldview([[1.0, -1.0, 0.0, 2.0]]).observe(mdp)
    shown = ti.mixture(
        mdp, [ti.optimal_policy(mdp, w).policy, ti.Policy.uniform(mdp)], [0.25, 0.75]
    )
    target = ti.feature_expectations(seen, shown)
    told = Adversarial().informed(mdp, w)
    values = []
    for start in (None, shown, ti.worst_policy(mdp, w).policy):
        learned = told.learn(seen, target, start)
        assert learned.mismatch <= 1e-12 * scale_of(seen)
        first = ti.feature_expectations(seen, start or ti.Policy.uniform(mdp))
        assert learned.history[0] == pytest.approx(np.linalg.norm(first - target), abs=1e-12)
        values.append(reward(mdp, w, learned.policy))
    assert max(values) - min(values) <= 2e-6 * spread(mdp, w)


@pytest.mark.parametrize("factor", [1.0, 1e-9, 1e9])
@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_units_of_the_reward_do_not_matter(factor, offset):
    mdp = ti.worlds.chain(5)
    seen = ti.Worldview.select(mdp, ["cell 3"]).observe(mdp)
    target = ti.feature_expectations(seen, ti.Policy.deterministic(mdp, MIDDLE))
    learned = Adversarial().informed(mdp, factor * (WEIGHTS + offset)).learn(seen, target)
    assert learned.status is LearnStatus.MATCHED
    assert round(reward(mdp, WEIGHTS, learned.policy), 4) == -1.3242


def test_a_reward_that_is_the_same_everywhere():
    mdp = ti.worlds.chain(5)
    seen = ti.Worldview.select(mdp, ["cell 3"]).observe(mdp)
    target = ti.feature_expectations(seen, ti.Policy.deterministic(mdp, MIDDLE))
    for w in (np.zeros(5), np.full(5, 0.1)):
        learned = Adversarial().informed(mdp, w).learn(seen, target)
        assert learned.status is LearnStatus.MATCHED
        assert learned.mismatch <= 1e-12 * scale_of(seen)
        assert np.abs(learned.weights).max() <= 1e-9


def test_rewards_and_features_may_be_per_state_or_per_pair():
    line = ti.worlds.chain(5)
    states = line.dynamics.pair_states
    shown = ti.Policy.deterministic(line, MIDDLE)
    feature = np.eye(5)[:, 2:3]
    for phi, psi in itertools.product(
        (np.eye(5), np.eye(5)[states], sp.csr_array(np.eye(5))),
        (feature, feature[states], sp.csr_array(feature), sp.csr_array(feature[states])),
    ):
        mdp, seen = line.with_features(phi), line.with_features(psi)
        target = ti.feature_expectations(seen, shown)
        learned = Adversarial().informed(mdp, WEIGHTS).learn(seen, target)
        assert learned.status is LearnStatus.MATCHED
        assert round(reward(mdp, WEIGHTS, learned.policy), 4) == -1.3242


def test_who_may_miss_does_not_promise_to_match():
    mdp = ti.worlds.chain(5)
    assert Adversarial().informed(mdp, WEIGHTS).matches
    assert not Adversarial(mismatch=0.1).informed(mdp, WEIGHTS).matches


def test_only_these_two_are_told_the_reward():
    assert isinstance(Adversarial(), Informed) and isinstance(Benevolent(), Informed)
    assert not hasattr(Adversarial(), "learn") and not hasattr(Benevolent(), "learn")
    for learner in (MultiplicativeWeights(), LinearProgram()):
        assert not isinstance(learner, Informed)
        assert [*inspect.signature(learner.learn).parameters] == ["seen", "target", "start"]
        assert not {"reward", "rewards", "weights"} & {*vars(learner)}


def test_how_the_search_ended_is_passed_on(monkeypatch):
    mdp = ti.worlds.chain(5)
    seen = ti.Worldview.select(mdp, ["cell 3"]).observe(mdp)
    status = ti.WorstCaseStatus
    original = module.worst_case

    def ends(how):
        return lambda *a, **k: dataclasses.replace(original(*a, **k), status=how)

    for how, expected in (
        (status.INACCURATE, LearnStatus.ROUNDING),
        (status.OUT_OF_BUDGET, LearnStatus.OUT_OF_STEPS),
    ):
        monkeypatch.setattr(module, "worst_case", ends(how))
        for target in (2.0, 20.0):
            learned = Adversarial().informed(mdp, WEIGHTS).learn(seen, [target])
            assert learned.status is expected


def test_a_search_that_finds_no_match_starts_again_from_the_nearest(monkeypatch):
    mdp = ti.worlds.chain(5)
    seen = ti.Worldview.select(mdp, ["cell 3"]).observe(mdp)
    target = ti.feature_expectations(seen, ti.Policy.deterministic(mdp, MIDDLE))
    original, calls = module.worst_case, []

    def loses_the_first(*a, **k):
        calls.append(a[3])
        found = original(*a, **k)
        if len(calls) > 1:
            return found
        how = ti.WorstCaseStatus.INACCURATE
        return dataclasses.replace(found, witness=None, matched=math.inf, status=how)

    monkeypatch.setattr(module, "worst_case", loses_the_first)
    learned = Adversarial().informed(mdp, WEIGHTS).learn(seen, target)
    assert len(calls) == 2 and calls[0].policy is None and calls[1].policy is not None
    assert learned.status is LearnStatus.MATCHED
    assert learned.mismatch <= 1e-9 * scale_of(seen)
    assert round(reward(mdp, WEIGHTS, learned.policy), 4) == -1.3242


def test_what_makes_no_sense_is_refused():
    mdp = ti.worlds.chain(5)
    seen = ti.Worldview.select(mdp, ["cell 3"]).observe(mdp)
    for kind in (Adversarial, Benevolent):
        with pytest.raises(InvalidInputError, match="mismatch must be non-negative"):
            kind(mismatch=-1.0)
        with pytest.raises(InvalidInputError, match="tolerance must be positive"):
            kind(tolerance=0.0)
        with pytest.raises(InvalidInputError, match="weights must have shape"):
            kind().informed(mdp, [1.0])
        with pytest.raises(InvalidInputError, match="weights must have shape"):
            kind().informed(mdp, np.ones((2, 5)))
        with pytest.raises(InvalidInputError, match="must be an MDP"):
            kind().informed("chain", WEIGHTS)
        told = kind().informed(mdp, WEIGHTS)
        with pytest.raises(InvalidInputError, match="target must have shape"):
            told.learn(seen, [1.0, 2.0])
        for other in (ti.worlds.chain(6), ti.worlds.chain(5, discount=0.8)):
            with pytest.raises(InvalidInputError, match="dynamics and discount"):
                told.learn(ti.Worldview.select(other, ["cell 3"]).observe(other), [1.0])


def test_a_reward_of_another_world_is_refused():
    calm, slippery = ti.worlds.gridworld(3), ti.worlds.gridworld(3, slip=0.3)
    target = ti.feature_expectations(calm, ti.Policy.uniform(calm))
    told = Adversarial().informed(slippery, np.arange(9.0))
    with pytest.raises(InvalidInputError, match="seen must have the dynamics"):
        told.learn(calm, target)
    shown = ti.Demonstration.of_policy(calm, ti.Policy.uniform(calm))
    for target in (shown, ti.Policy.uniform(calm)):
        with pytest.raises(InvalidInputError, match="target must be what was shown in the"):
            Adversarial().informed(calm, np.arange(9.0)).learn(calm, target)
