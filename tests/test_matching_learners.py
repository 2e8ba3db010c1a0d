"""Projection, max-margin and min-norm point: the learners that go to the nearest policy."""

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import teachirl as ti
from even import evenly
from teachirl.guarantees.solvers.blocks import Blocks
from teachirl.learners import LearnStatus
from teachirl.learners.hull import Hull
from teachirl.learners.learner import Assignment
from teachirl.learners.max_margin import MaxMargin
from teachirl.learners.min_norm_point import MinNormPoint
from teachirl.learners.nearness import concluded, distance
from teachirl.learners.projection import Projection
from teachirl.mdp.kernels.projection import best_share, needed
from teachirl.mdp.occupancy import policy_transitions
from teachirl.testing import check_learner, mdps, policies

LEARNERS = [Projection(), MaxMargin(), MinNormPoint()]
by_name = pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)


def grid(rows, *, size=8, gamma=0.9, slip=0.0, seed=0):
    """A grid seen through a random worldview, and what an optimal policy looks like in it."""
    rng = np.random.default_rng(seed)
    mdp = ti.worlds.gridworld(size, 2, gamma, slip)
    seen = evenly(ti.Worldview(rng.normal(size=(rows, mdp.n_features))).observe(mdp))
    expert = ti.optimal_policy(mdp, rng.normal(size=mdp.n_features)).policy
    return seen, ti.feature_expectations(seen, expert)


def outside(seen, target, share, seed=0):
    """The target, moved by that share of the scale."""
    noise = np.random.default_rng(seed).normal(size=len(target))
    return target + share * Assignment(seen, target, None).scale * noise / np.linalg.norm(noise)


def dense_expectations(mdp, policy):
    chain = policy_transitions(mdp, policy).toarray()
    visits = np.linalg.solve(np.eye(mdp.n_states) - mdp.discount * chain.T, mdp.start)
    if mdp.features_per_pair:
        visits = visits[mdp.dynamics.pair_states] * policy.probabilities
    return mdp.features.T @ visits


def least_mismatch(mdp, target):
    """The slow twin: min ‖Φᵀx − b‖ over occupancies x, by Clarabel."""
    n_pairs, n_states, n_features = mdp.n_pairs, mdp.n_states, mdp.n_features
    away = 1 - mdp.discount
    unit = max(mdp.largest_feature, away * np.linalg.norm(target)) or 1.0
    leaves = np.zeros((n_pairs, n_states))
    leaves[np.arange(n_pairs), mdp.dynamics.pair_states] = 1
    flow = leaves - mdp.discount * mdp.dynamics.transitions.toarray()
    phi = mdp.features.toarray() if sp.issparse(mdp.features) else mdp.features
    phi = phi if mdp.features_per_pair else leaves @ phi
    blocks = [np.hstack([flow.T, np.zeros((n_states, 1))])]
    blocks += [np.hstack([-np.eye(n_pairs), np.zeros((n_pairs, 1))])]
    blocks += [np.eye(n_pairs + 1)[n_pairs:] * -1.0]
    blocks += [np.hstack([-phi.T / unit, np.zeros((n_features, 1))])]
    right = [away * mdp.start, np.zeros(n_pairs + 1), -away * target / unit]
    cones = [clarabel.ZeroConeT(n_states), clarabel.NonnegativeConeT(n_pairs)]
    cones += [clarabel.SecondOrderConeT(n_features + 1)]
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_feas = options.tol_gap_abs = options.tol_gap_rel = 1e-11
    cost = np.append(np.zeros(n_pairs), 1.0)
    solution = clarabel.DefaultSolver(
        sp.csc_matrix((n_pairs + 1, n_pairs + 1)),
        cost,
        sp.csc_matrix(np.vstack(blocks)),
        np.concatenate(right),
        cones,
        options,
    ).solve()
    x = np.maximum(solution.x[:n_pairs], 0.0)
    return unit / away * float(np.linalg.norm(phi.T @ x / unit - away * target / unit))


@pytest.mark.parametrize("learner", [Projection(1e-4, 50), MaxMargin(1e-15), MinNormPoint(1e-15)])
def test_the_contract_at_other_settings(learner):
    check_learner(learner)


@pytest.mark.parametrize(
    ("rows", "gamma", "slip"),
    [(3, 0.9, 0.0), (3, 0.9, 0.3), (8, 0.9, 0.0), (8, 0.5, 0.3), (16, 0.9, 0.0), (4, 0.999, 0.0)],
)
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_the_nearest_policy(rows, gamma, slip, share):
    """Three learners and a cone program over occupancies agree on how near a policy can be."""
    seen, target = grid(rows, gamma=gamma, slip=slip)
    target = outside(seen, target, share)
    scale = Assignment(seen, target, None).scale
    least = least_mismatch(seen, target)
    for learner in (Projection(1e-3, 20_000), MaxMargin(1e-8), MinNormPoint(1e-9)):
        learned = learner.learn(seen, target)
        goal = learner.tolerance * scale
        assert learned.status in (LearnStatus.MATCHED, LearnStatus.NEAREST)
        assert learned.nearest <= learned.mismatch <= least + goal + 1e-8 * scale
        assert learned.nearest <= least + 1e-8 * scale
        assert least <= learned.mismatch + 1e-8 * scale
        assert (learned.status is LearnStatus.MATCHED) == (learned.mismatch <= goal)
        if learned.status is LearnStatus.NEAREST:
            assert learned.mismatch - learned.nearest <= goal
        recomputed = dense_expectations(seen, learned.policy)
        assert np.abs(recomputed - learned.expectations).max() <= 1e-10 * scale
        miss = float(np.linalg.norm(recomputed - target))
        assert learned.mismatch == pytest.approx(miss, abs=1e-12 * scale)
        assert len(learned.history) <= learned.solves + 1
        assert learned.mismatch == pytest.approx(learned.history[-1], abs=1e-10 * scale)


def test_what_is_proved_is_below_what_is_computed():
    """Both round, here to almost the same number: the proof stays on its side."""
    rng = np.random.default_rng(0)
    mdp = ti.worlds.gridworld(8, 2, 0.9, 0.0)
    seen = ti.Worldview(rng.normal(size=(16, mdp.n_features))).observe(mdp)
    expert = ti.optimal_policy(mdp, rng.normal(size=mdp.n_features)).policy
    target = outside(seen, ti.feature_expectations(seen, expert), 0.3)
    for each in (seen, evenly(seen)):
        for learner in (Projection(1e-3, 300), MaxMargin(1e-8), MinNormPoint(1e-9)):
            learned = learner.learn(each, target)
            assert 0.0 < learned.nearest <= learned.mismatch


@settings(max_examples=150)
@given(st.data())
def test_what_is_proved_is_true(data):
    """`nearest` is below the mismatch of every policy; the min-norm point's is the least."""
    mdp = evenly(data.draw(mdps()))
    scale = Assignment(mdp, np.zeros(mdp.n_features), None).scale
    matched = data.draw(policies(mdp))
    target = ti.feature_expectations(mdp, matched)
    away = data.draw(st.sampled_from([0.0, 1e-9, 1e-3, 1.0, 1e3]))
    moves = st.lists(st.integers(-2, 2), min_size=mdp.n_features, max_size=mdp.n_features)
    target = target + away * (scale or 1.0) * np.array(data.draw(moves), dtype=float)
    start = data.draw(st.none() | policies(mdp))
    size = scale + np.linalg.norm(target)
    least = least_mismatch(mdp, target)
    for learner in (Projection(1e-4, 200), MaxMargin(1e-9, 200), MinNormPoint()):
        learned = learner.learn(mdp, target, start)
        assert learned.nearest <= least + 1e-7 * size
        assert learned.mismatch >= learned.nearest
        assert learned.mismatch <= learned.history[0] + 1e-12 * size
        recomputed = dense_expectations(mdp, learned.policy)
        assert np.abs(recomputed - learned.expectations).max(initial=0.0) <= 1e-11 * size
        for policy in (matched, ti.Policy.uniform(mdp)):
            miss = np.linalg.norm(ti.feature_expectations(mdp, policy) - target)
            assert learned.nearest <= miss
    assert learned.status is not LearnStatus.OUT_OF_STEPS
    assert learned.mismatch <= least + 1e-7 * size


@pytest.mark.parametrize("seed", range(30))
def test_random_worlds(seed):
    """The min-norm point ends with a match or a proof, and all bounds agree."""
    rng = np.random.default_rng(seed)
    gamma = float(rng.choice([0.5, 0.9, 0.99, 0.999]))
    if seed % 2:
        mdp = ti.worlds.gridworld(6, 2, gamma, float(rng.choice([0.0, 0.1, 0.5])))
    else:
        states, actions, branching, features = rng.integers([2, 1, 1, 1], [60, 5, 3, 8])
        mdp = ti.worlds.garnet(
            rng, states, actions, branching, features, discount=gamma, per_pair=bool(seed % 3)
        )
    rows = int(rng.integers(1, mdp.n_features + 3))
    matrix = rng.normal(size=(rows, mdp.n_features)) * 10.0 ** rng.integers(-6, 6, size=(rows, 1))
    seen = ti.Worldview(matrix).observe(mdp)
    expert = ti.optimal_policy(mdp, rng.normal(size=mdp.n_features)).policy
    target = ti.feature_expectations(seen, expert)
    target = outside(evenly(seen), target, float(rng.choice([0.0, 1e-6, 1e-2, 1.0])), seed)
    even = Assignment(seen, target, None).even()
    learners = (MinNormPoint(), MaxMargin(1e-6, 300), Projection(1e-3, 300))
    found = [learner.learn(seen, target) for learner in learners]
    assert found[0].status in (LearnStatus.MATCHED, LearnStatus.NEAREST)
    misses = [even.miss(one.expectations / even.units) for one in found]
    for one, miss in zip(found, misses, strict=True):
        assert all(one.nearest <= other.mismatch for other in found)
        assert misses[0] <= miss + 1.01e-9 * even.scale
    if found[0].status is LearnStatus.MATCHED:
        assert misses[0] <= 1e-9 * even.scale
    # The proof holds in the features as given, and is tight in even units.
    learned = MinNormPoint().learn(even.seen, even.target)
    gap = learned.mismatch - learned.nearest
    if learned.status is LearnStatus.NEAREST:
        assert gap <= 1e-9 * even.scale + 1e-11 * (np.linalg.norm(even.target) + even.scale)


def plain_projection(seen, target, steps):
    """The slow twin: Abbeel & Ng's loop, with every policy kept."""
    assignment = Assignment(seen, target, None)
    mu, kept, shares = assignment.first, [assignment.start], [1.0]
    history = [assignment.miss(mu)]
    for _ in range(steps):
        if history[-1] <= 1e-12 * assignment.scale:
            break
        w = (target - mu) / np.linalg.norm(target - mu)
        tolerance = needed(history[-1], assignment.scale)
        policy = ti.optimal_policy(seen, w, tolerance=tolerance).policy
        along = ti.feature_expectations(seen, policy) - mu
        alpha = np.clip(along @ (target - mu) / (along @ along), 0, 1)
        mu = mu + alpha * along
        shares = [(1 - alpha) * share for share in shares] + [alpha]
        kept.append(policy)
        history.append(np.linalg.norm(mu - target))
    return history, ti.mixture(seen, kept, shares)


@pytest.mark.parametrize("slip", [0.0, 0.3])
@pytest.mark.parametrize("form", ["dense", "sparse", "per pair"])
def test_projection_is_the_plain_loop(form, slip):
    seen, target = grid(4, size=6, slip=slip, seed=3)
    phi = seen.features
    if form == "sparse":
        seen = seen.with_features(sp.csr_array(phi))
    elif form == "per pair":
        seen = seen.with_features(phi[seen.dynamics.pair_states])
    history, policy = plain_projection(seen, target, 40)
    learned = Projection(1e-12, 40).learn(seen, target)
    assert learned.history == pytest.approx(history, rel=1e-6, abs=1e-11)
    gap = learned.expectations - ti.feature_expectations(seen, policy)
    assert np.abs(gap).max() <= 1e-8


def test_projection_converges_as_frank_and_wolfe_say():
    """‖μ_t − b‖² ≤ 8D²/(t + 2) for a target that some policy has, D the diameter of M."""
    seen, target = grid(16)
    learned = Projection(1e-9, 500).learn(seen, target)
    steps = np.arange(1, len(learned.history))
    diameter = 2 * Assignment(seen, target, None).scale
    assert np.all(learned.history[1:] ** 2 <= 8 * diameter**2 / (steps + 2))
    assert np.all(np.diff(learned.history) <= 1e-12 * diameter)


def test_margins_fall_and_are_those_of_the_quadratic_program():
    seen, target = grid(3, size=6)
    found = [Assignment(seen, target, None).first]
    for steps in range(1, 6):
        learned = MaxMargin(1e-12, steps).learn(seen, target)
        if learned.status is LearnStatus.MATCHED:
            break
        # The margin of the last reward over all policies before is what the history says it is.
        margin = min(learned.weights @ (target - mu) for mu in found)
        assert np.linalg.norm(learned.weights) == pytest.approx(1.0)
        assert margin == pytest.approx(learned.history[steps - 1], rel=1e-4)
        best = ti.optimal_policy(seen, learned.weights, tolerance=1e-3).policy
        found.append(ti.feature_expectations(seen, best))
        assert learned.history[steps] <= learned.history[steps - 1]
    assert steps >= 3


@by_name
def test_the_chain(learner):
    """Who sees the central cell only can match both the walk to the right and to the left."""
    mdp = ti.worlds.chain(5)
    right = ti.Policy.deterministic(mdp, [1, 1, 1, 1, 0])
    seen = ti.Worldview.select(mdp, ["cell 3"]).observe(mdp)
    shown = ti.feature_expectations(seen, right)
    learned = learner.learn(seen, shown)
    assert learned.status is LearnStatus.MATCHED
    assert learned.mismatch <= learner.tolerance * 10
    # The least and the most that a policy is in the central cell, from the model's own planning.
    most = ti.optimal_policy(seen, [1.0]).value
    beyond = learner.learn(seen, [most + 2.0])
    assert beyond.status is LearnStatus.NEAREST
    assert beyond.nearest == pytest.approx(2.0, abs=1e-9 + 10 * learner.tolerance)
    assert beyond.nearest <= 2.0 + 1e-10
    assert beyond.mismatch == pytest.approx(2.0, abs=10 * learner.tolerance)
    assert beyond.weights.tolist() == [1.0]


@by_name
def test_one_state(learner):
    """The one policy there is has μ = φ/(1 − γ), and its distance to the target is known."""
    mdp = ti.MDP.from_arrays(np.ones((1, 1, 1)), [[1.0, 0.0]], discount=0.5)
    learned = learner.learn(mdp, [2.0, 3.0])
    assert learned.status is LearnStatus.NEAREST
    assert learned.mismatch == pytest.approx(3.0, rel=1e-14)
    assert 3.0 - 1e-11 <= learned.nearest <= 3.0  # what is computed may be off by that


@by_name
def test_nothing_to_see(learner):
    mdp = ti.worlds.chain(5)
    blind = mdp.with_features(np.empty((5, 0)))
    learned = learner.learn(blind, [])
    assert (learned.status, learned.solves, learned.mismatch) == (LearnStatus.MATCHED, 0, 0.0)
    zero = mdp.with_features(np.zeros((5, 2)))
    assert learner.learn(zero, [0.0, 0.0]).status is LearnStatus.MATCHED
    learned = learner.learn(zero, [3.0, 4.0])
    assert learned.status is LearnStatus.NEAREST
    assert 5.0 - 1e-13 <= learned.nearest <= learned.mismatch == 5.0


@by_name
def test_duplicates_change_nothing_but_the_length(learner):
    """A feature seen twice counts twice in the square of the distance."""
    seen, target = grid(2)
    target = outside(seen, target, 1.0)
    once = seen.with_features(np.sqrt(2.0) * seen.features)
    twice = seen.with_features(np.hstack([seen.features, seen.features]))
    one = learner.learn(once, np.sqrt(2.0) * target)
    other = learner.learn(twice, np.concatenate([target, target]))
    scale = Assignment(twice, np.tile(target, 2), None).scale
    assert other.mismatch == pytest.approx(one.mismatch, abs=2 * learner.tolerance * scale)
    assert one.status is other.status is LearnStatus.NEAREST


@by_name
@pytest.mark.parametrize("unit", [1e-200, 1e100])
def test_units_do_not_matter(learner, unit):
    seen, target = grid(3, size=6)
    target = outside(seen, target, 0.5)
    one = learner.learn(seen, target)
    other = learner.learn(seen.with_features(unit * seen.features), unit * target)
    assert other.status is one.status
    assert other.mismatch / unit == pytest.approx(one.mismatch, rel=1e-3)
    assert other.nearest / unit == pytest.approx(one.nearest, rel=1e-2)


@by_name
def test_a_start_that_matches_is_kept(learner):
    seen, target = grid(4)
    start = MinNormPoint().learn(seen, target).policy
    learned = learner.learn(seen, target, start)
    assert learned.policy is start
    assert (learned.solves, learned.status) == (0, LearnStatus.MATCHED)
    assert len(learned.history) == 1


@by_name
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_stopped_early_it_is_no_worse_than_the_start(learner, steps):
    seen, target = grid(8)
    start = ti.Policy.deterministic(seen, np.ones(64, dtype=int))
    for first in (None, start, MinNormPoint(1e-3).learn(seen, target).policy):
        learned = type(learner)(1e-12, steps).learn(seen, target, first)
        assert learned.status is LearnStatus.OUT_OF_STEPS
        assert learned.mismatch < learned.history[0]
        assert len(learned.history) == steps + 1


def test_what_is_further_than_the_start_is_mixed_with_it():
    seen, target = grid(4)
    target = 0.9 * Assignment(seen, target, None).first + 0.1 * target
    assignment = Assignment(seen, target, None)
    first = assignment.miss(assignment.first)
    over = ti.optimal_policy(seen, target - assignment.first).policy
    against = ti.optimal_policy(seen, assignment.first - target).policy
    for policy in (over, against):
        learned = assignment.report(policy, np.zeros(4), 1, [1.0], LearnStatus.OUT_OF_STEPS)
        assert learned.mismatch > first
        mixed = concluded(assignment, learned, 1e-3)
        assert mixed.mismatch < first if policy is over else mixed.policy is assignment.start
        recomputed = ti.feature_expectations(seen, mixed.policy)
        assert np.abs(recomputed - mixed.expectations).max() <= 1e-10
        assert not mixed.expectations.flags.writeable


def test_matched_is_what_the_policy_does():
    seen, target = grid(4)
    assignment = Assignment(seen, target, None)
    learned = assignment.report(assignment.start, target, 1, [0.0], LearnStatus.MATCHED)
    goal = assignment.miss(assignment.first)
    assert concluded(assignment, learned, goal).status is LearnStatus.MATCHED
    assert concluded(assignment, learned, 0.9 * goal).status is LearnStatus.ROUNDING


@pytest.mark.parametrize("slip", [0.0, 0.3])
@pytest.mark.parametrize("rows", [5, 16])
def test_the_min_norm_point_reaches_rounding(rows, slip):
    seen, target = grid(rows, slip=slip)
    scale = Assignment(seen, target, None).scale
    learned = MinNormPoint(1e-9).learn(seen, target)
    assert learned.status is LearnStatus.MATCHED
    assert np.linalg.norm(dense_expectations(seen, learned.policy) - target) <= 1e-9 * scale
    few = MinNormPoint(1e-6).learn(seen, target)
    assert few.solves <= 35


def test_asked_for_more_than_rounding_allows():
    seen, target = grid(4)
    learned = MinNormPoint(1e-18).learn(seen, target)
    assert learned.status is LearnStatus.ROUNDING
    assert learned.mismatch <= 1e-11 * Assignment(seen, target, None).scale
    assert learned.solves < 100


def test_ties_are_broken_the_same_way_each_time():
    """Symmetric features: many policies are equally good, and the answer is one and the same."""
    mdp = ti.worlds.gridworld(6, 3, 0.9)
    expert = ti.Policy.uniform(mdp)
    target = 1.05 * ti.feature_expectations(mdp, expert)
    for learner in LEARNERS:
        one, other = (learner.learn(mdp, target) for _ in range(2))
        assert np.array_equal(one.policy.probabilities, other.policy.probabilities)
        assert one.status is LearnStatus.NEAREST
        # Σ μ = 1/(1 − γ) for one-hot features: the target is that far off along (1, 1, 1, 1)/2.
        assert one.nearest <= 0.25 + 1e-12
        assert one.mismatch == pytest.approx(0.25, abs=learner.tolerance * 10)


@pytest.mark.parametrize("blocks", [1, 5, 1000])
@pytest.mark.parametrize("slip", [0.0, 0.3])
def test_the_hull_is_made_of_what_it_says(blocks, slip):
    seen, target = grid(4, slip=slip)
    assignment = Assignment(seen, target, None)
    hull = Hull(assignment, blocks)
    rng = np.random.default_rng(0)
    hull.add(assignment.start)
    for _ in range(4):
        hull.add(ti.optimal_policy(seen, rng.normal(size=4)).policy)
    r = hull.nearest(1e-12)
    mu = ti.feature_expectations(seen, hull.policy())
    assert np.abs(mu - target - r * hull.unit).max() <= 1e-9 * hull.unit
    assert np.linalg.norm(r) * hull.unit <= assignment.miss(assignment.first)


def test_blocks_of_the_features_themselves():
    for slip in (0.0, 0.3):
        seen, _ = grid(4, slip=slip)
        sparse = seen.with_features(sp.csr_array(seen.features))
        for policy in (ti.optimal_policy(seen, np.ones(4)).policy, ti.Policy.uniform(seen)):
            expected = Blocks(seen, np.eye(4), 7).columns(policy)
            for mdp in (seen, sparse):
                columns = Blocks(mdp, None, 7).columns(policy)
                assert np.abs(columns - expected).max() <= 1e-12 * np.abs(expected).max()


def test_distance():
    assert distance(np.array([3.0, 4.0]), np.array([0.0, 2.0]), 2.0) == pytest.approx(3.0)
    assert distance(np.array([3.0, 4.0]), np.array([0.0, 2.0]), 2.0) < 3.0
    assert distance(np.array([3.0, 4.0]), np.zeros(2), 0.0) == 0.0
    assert distance(np.array([3.0, 4.0]), np.array([1.0, 0.0]), 5.0) == 0.0


def test_the_best_share():
    ahead = np.array([3.0, 4.0])
    for factor in (1.0, 1e-200, 1e200):
        assert best_share(factor * ahead, factor * np.array([3.0, 0.0])) == pytest.approx(9 / 25)
    assert best_share(ahead, -ahead) == 0.0
    assert best_share(ahead, 2 * ahead) == 1.0
    assert best_share(np.zeros(2), ahead) == 0.0


@pytest.mark.parametrize("kind", [Projection, MaxMargin, MinNormPoint])
def test_wrong_settings(kind):
    with pytest.raises(ti.InvalidInputError, match="tolerance must be positive"):
        kind(tolerance=0.0)
    with pytest.raises(ti.InvalidInputError, match="max_steps must be a whole number"):
        kind(max_steps=0)
