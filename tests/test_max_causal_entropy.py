import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import teachirl as ti
from even import evenly
from teachirl.learners import LearnStatus
from teachirl.learners.learner import Assignment
from teachirl.learners.max_causal_entropy import MaxCausalEntropy
from teachirl.learners.min_norm_point import MinNormPoint
from teachirl.mdp.soft_planning import SoftModel, soft_policy
from teachirl.mdp.terminal import terminal_states
from teachirl.testing import check_learner, mdps, policies, worldviews
from teachirl.testing import weights as any_weights
from teachirl.views.potential_shaping import indistinct_directions


def plain_soft_values(mdp, weights, temperature=1.0):
    """Soft value iteration until nothing changes, one state after the other."""
    rewards = mdp.rewards(weights)
    rewards = rewards if mdp.features_per_pair else rewards[mdp.dynamics.pair_states]
    rows, offsets = mdp.dynamics.transitions.toarray(), mdp.dynamics.offsets
    v = np.zeros(mdp.n_states)
    for _ in range(int(np.log(1e-18) / np.log(mdp.discount)) + 1):
        q = rewards + mdp.discount * (rows @ v)
        fresh = np.empty_like(v)
        for s in range(mdp.n_states):
            mine = q[offsets[s] : offsets[s + 1]]
            best = mine.max()
            fresh[s] = best + temperature * np.log(np.exp((mine - best) / temperature).sum())
        if np.array_equal(fresh, v):
            break
        v = fresh
    return v, q


def causal_entropy(mdp, policy):
    """E Σ γᵗ H(π(· | s_t))"""
    chances, x = policy.probabilities, ti.occupancy(mdp, policy)
    held = x > 0.0
    return float(-(x[held] * np.log(chances[held])).sum())


def most_random_match(mdp, target):
    """The largest causal entropy of policies with these expectations, and its occupancy [P].

    With t ≤ −x log(x/y), which is x exp(t/x) ≤ y, y the state's visits: exponential cones.
    """
    n, states = mdp.n_pairs, mdp.dynamics.pair_states
    leaves = sp.csr_array((np.ones(n), (states, np.arange(n))), shape=(mdp.n_states, n))
    flow = leaves - mdp.discount * mdp.dynamics.transitions.T
    phi = sp.csr_array(mdp.features)
    seen = phi.T if mdp.features_per_pair else phi.T @ leaves
    equal = sp.vstack([flow, seen])
    known = np.concatenate([mdp.start, target])
    rows, columns, entries = [], [], []
    for pair in range(n):
        rows += [3 * pair, 3 * pair + 1]
        columns += [n + pair, pair]
        for other in np.flatnonzero(states == states[pair]):
            rows.append(3 * pair + 2)
            columns.append(int(other))
    entries = -np.ones(len(rows))
    cones = sp.csc_array((entries, (rows, columns)), shape=(3 * n, 2 * n))
    A = sp.csc_matrix(sp.vstack([sp.hstack([equal, sp.csr_array((equal.shape[0], n))]), cones]))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solution = clarabel.DefaultSolver(
        sp.csc_matrix((2 * n, 2 * n)),
        np.concatenate([np.zeros(n), -np.ones(n)]),
        A,
        np.concatenate([known, np.zeros(3 * n)]),
        [clarabel.ZeroConeT(len(known))] + [clarabel.ExponentialConeT()] * n,
        settings,
    ).solve()
    assert "Solved" in str(solution.status)
    x = np.array(solution.x)[:n]
    # An optimum is flat, and x good to half the digits of the entropy: Newton adds the others.
    equal = equal.toarray()
    zero = np.zeros((len(known), len(known)))
    for _ in range(4):
        y = leaves @ x
        curvature = np.diag(1.0 / x) - (leaves.T @ sp.diags_array(1.0 / y) @ leaves).toarray()
        system = np.block([[curvature, equal.T], [equal, zero]])
        rest = np.concatenate([-np.log(x / y[states]), known - equal @ x])
        x = x + np.linalg.lstsq(system, rest, rcond=None)[0][:n]
    return float(np.array(solution.x)[n:].sum()), x


class TestSoftPolicy:
    @given(mdps(discounts=(0.5, 0.9)), st.data())
    def test_values_are_those_of_plain_iteration(self, mdp, data):
        weights = data.draw(any_weights(mdp.n_features))
        size = np.abs(weights).max(initial=0.0) * mdp.largest_feature
        temperature = data.draw(st.sampled_from([1.0, 0.01, 100.0])) * (size or 1.0)
        plan = soft_policy(mdp, weights, temperature=temperature)
        v, q = plain_soft_values(mdp, weights, temperature)
        doubt = plan.error + 1e-13 * (np.abs(v).max() + temperature) / (1 - mdp.discount)
        assert np.abs(plan.values - v).max() <= doubt
        assert abs(plan.value - mdp.start @ v) <= doubt
        chances = np.exp((q - v[mdp.dynamics.pair_states]) / temperature)
        assert plan.policy.probabilities == pytest.approx(chances, abs=1e-9, rel=1e-9)
        assert plan.error <= 1e-9 * (np.abs(v).max() + temperature) / (1 - mdp.discount)

    @given(mdps(), st.data())
    def test_value_is_reward_and_entropy(self, mdp, data):
        weights = data.draw(any_weights(mdp.n_features))
        temperature = np.abs(weights).max(initial=0.0) * mdp.largest_feature or 1.0
        plan = soft_policy(mdp, weights, temperature=temperature)
        worth = weights @ ti.feature_expectations(mdp, plan.policy)
        worth += temperature * causal_entropy(mdp, plan.policy)
        assert plan.value == pytest.approx(worth, abs=1e-9 * temperature / (1 - mdp.discount))

    @pytest.mark.parametrize("temperature", [1e-3, 1e-7, 1e-11, 1e-15])
    def test_cold_policies_are_optimal(self, temperature):
        mdp = ti.worlds.gridworld(6, slip=0.2, discount=0.95)
        weights = np.random.default_rng(0).normal(size=36)
        plan = soft_policy(mdp, weights, temperature=temperature)
        best = ti.optimal_policy(mdp, weights)
        most = best.upper + temperature * np.log(4) / 0.05
        assert best.lower - plan.error <= plan.value <= most + plan.error
        worth = weights @ ti.feature_expectations(mdp, plan.policy)
        assert worth >= best.lower - temperature * np.log(4) / 0.05 - 1e-9
        assert plan.error <= 1e-9

    @pytest.mark.parametrize("scale", [1.0, 100.0, 1e4])
    def test_sparse_rewards_far_away(self, scale):
        """Where many actions tie at first, policy iteration needs its steps to be exact."""
        mdp = ti.worlds.gridworld(48, block=8, slip=0.3, discount=0.99)
        weights = scale * (np.arange(36) == 35)
        plan = soft_policy(mdp, weights)
        v = plan.values
        q = (mdp.dynamics.transitions @ (0.99 * v)).reshape(-1, 4)
        best = q.max(axis=1)
        again = mdp.rewards(weights) + best + np.log(np.exp(q - best[:, None]).sum(axis=1))
        assert np.abs(again - v).max() <= 1e-13 * v.max()
        assert plan.error <= 1e-9 * scale

    def test_slow_worlds(self):
        mdp = ti.worlds.garnet(np.random.default_rng(1), 40, 3, 2, 5, discount=0.9999)
        weights = np.arange(5.0)
        plan = soft_policy(mdp, weights)
        v = plan.values
        q = mdp.rewards(weights)[mdp.dynamics.pair_states]
        q = (q + mdp.discount * (mdp.dynamics.transitions @ v)).reshape(40, 3)
        again = q.max(axis=1) + np.log(np.exp(q - q.max(axis=1, keepdims=True)).sum(axis=1))
        assert np.abs(again - v).max() <= 1e-9
        assert plan.error <= 1e-5  # of values of the order of 1e4

    def test_bad_input(self):
        mdp = ti.worlds.chain(3)
        for temperature in (0.0, -1.0, np.inf, np.nan):
            with pytest.raises(ti.InvalidInputError, match="temperature must be positive"):
                soft_policy(mdp, [0, 0, 1], temperature=temperature)
        with pytest.raises(ti.InvalidInputError, match="shape"):
            soft_policy(mdp, [0, 1])
        with pytest.raises(ti.InvalidInputError, match="temperature is too low"):
            soft_policy(mdp, [0, 0, 1e300], temperature=1e-20)


def some_worlds():
    rng = np.random.default_rng(7)
    yield "chain", ti.worlds.chain(5)
    yield "grid", ti.worlds.gridworld(4, block=2, slip=0.1)
    yield "pairs", ti.worlds.garnet(rng, 6, 3, 2, n_features=3, per_pair=True)
    yield "slow", ti.worlds.garnet(rng, 6, 2, 3, n_features=3, discount=0.999)


WORLDS = dict(some_worlds())


@pytest.mark.parametrize("name", WORLDS)
class TestDerivatives:
    def test_gradient_and_curvature(self, name):
        mdp = WORLDS[name]
        model = SoftModel(mdp)
        rng = np.random.default_rng(3)
        theta = rng.normal(size=mdp.n_features) * 0.5

        def value_and_slope(theta):
            point = model.at(theta)
            return point.value, model.expectations(point.chances, model.visits(point.chances))

        point = model.at(theta)
        visits = model.visits(point.chances)
        mu = ti.feature_expectations(mdp, ti.Policy(mdp.dynamics, chances=point.chances))
        scale = mdp.largest_feature / (1 - mdp.discount)
        assert np.abs(model.expectations(point.chances, visits) - mu).max() <= 1e-11 * scale
        R = model.root(point.chances, visits)
        h = 1e-4 * (1 - mdp.discount)
        for direction in rng.normal(size=(4, mdp.n_features)):
            (up, up_mu), (down, down_mu) = (value_and_slope(theta + s * direction) for s in (h, -h))
            assert (up - down) / (2 * h) == pytest.approx(
                mu @ direction, rel=1e-6, abs=1e-6 * scale
            )
            bend = (up_mu - down_mu) / (2 * h)
            size = np.linalg.norm(R.T @ (R @ direction)) + 1e-6 * scale
            assert np.abs(R.T @ (R @ direction) - bend).max() <= 1e-4 * size

    def test_advantages_are_the_slope_of_log_chances(self, name):
        mdp = WORLDS[name]
        model, rng = SoftModel(mdp), np.random.default_rng(4)
        theta, direction = rng.normal(size=(2, mdp.n_features)) * 0.3
        point = model.at(theta)
        assert np.exp(model.log_chances(point)) == pytest.approx(point.chances, rel=1e-9)
        h = 1e-5 * (1 - mdp.discount)
        up, down = (model.log_chances(model.at(theta + s * direction)) for s in (h, -h))
        along = model.advantages(point.chances) @ direction
        assert (up - down) / (2 * h) == pytest.approx(
            along, rel=1e-4, abs=1e-4 * np.abs(along).max()
        )


class TestMatching:
    @pytest.mark.parametrize("name", WORLDS)
    @pytest.mark.parametrize("temperature", [1.0, 1e-6, 1e6])
    def test_recovers_weights_of_a_soft_expert(self, name, temperature):
        mdp = WORLDS[name]
        weights = temperature * 0.5 * np.random.default_rng(5).normal(size=mdp.n_features)
        expert = soft_policy(mdp, weights, temperature=temperature).policy
        target = ti.feature_expectations(mdp, expert)
        learner = MaxCausalEntropy(tolerance=1e-11, temperature=temperature)
        learned = learner.learn(mdp, target)
        assert learned.status is LearnStatus.MATCHED
        never = indistinct_directions(mdp)
        error = never.project(learned.weights) - never.project(weights)
        assert np.linalg.norm(error) <= 1e-6 * np.linalg.norm(weights)
        assert np.abs(learned.policy.matrix() - expert.matrix()).max() <= 1e-6

    def test_recovers_weights_on_the_papers_grid(self):
        mdp = ti.worlds.gridworld(20, block=2)
        rng = np.random.default_rng(0)
        seen = ti.Worldview(rng.normal(size=(20, 100))).observe(mdp)
        weights = 0.3 * rng.normal(size=20)
        target = ti.feature_expectations(seen, soft_policy(seen, weights).policy)
        learned = MaxCausalEntropy(tolerance=1e-9).learn(seen, target)
        assert learned.status is LearnStatus.MATCHED
        assert np.abs(learned.weights - weights).max() <= 1e-7
        assert learned.solves <= 60

    @pytest.mark.parametrize("seed", range(4))
    def test_agrees_with_an_independent_solver(self, seed):
        rng = np.random.default_rng(seed)
        per_pair = seed % 2 == 1
        mdp = ti.worlds.garnet(rng, 8, 3, 2, n_features=6, per_pair=per_pair)
        view = ti.Worldview(rng.normal(size=(2, 6)))
        seen = view.observe(mdp)
        expert = ti.Policy.from_matrix(mdp, rng.dirichlet(np.ones(3), size=8))
        target = ti.feature_expectations(seen, expert)
        learned = MaxCausalEntropy(tolerance=1e-11).learn(seen, target)
        assert learned.status is LearnStatus.MATCHED
        most, x = most_random_match(seen, target)
        mine = ti.occupancy(seen, learned.policy)
        assert causal_entropy(seen, learned.policy) == pytest.approx(most, abs=1e-8)
        # Also in features that it does not see, as the most random policy is unique.
        rows = x if per_pair else np.add.reduceat(x, mdp.dynamics.offsets[:-1])
        theirs = mdp.features.T @ rows
        assert ti.feature_expectations(mdp, learned.policy) == pytest.approx(theirs, abs=1e-8)
        assert np.abs(mine - x).max() <= 1e-8

    def test_is_the_most_random_match(self):
        mdp = ti.worlds.chain(5)
        seen = ti.Worldview.select(mdp, ["cell 3"]).observe(mdp)
        expert = ti.Policy.deterministic(mdp, [1, 1, 0, 1, 0])
        learned = MaxCausalEntropy(tolerance=1e-10).learn(
            seen, ti.feature_expectations(seen, expert)
        )
        assert learned.status is LearnStatus.MATCHED
        assert causal_entropy(mdp, learned.policy) > causal_entropy(mdp, expert) + 0.1

    @pytest.mark.parametrize("scale", [1e-12, 1e-3, 1e3, 1e12])
    def test_units_of_the_features_do_not_matter(self, scale):
        mdp = WORLDS["grid"]
        units = np.array([1.0, scale, 1.0, 1.0 / scale])
        other = mdp.with_features(mdp.features @ sp.diags_array(units))
        expert = soft_policy(mdp, [0.0, 1.0, 0.5, -1.0]).policy
        for world, factor in ((mdp, 1.0), (mdp, scale)):
            seen = world.with_features(world.features * factor)
            target = ti.feature_expectations(seen, expert)
            learned = MaxCausalEntropy(tolerance=1e-10).learn(seen, target)
            assert learned.status is LearnStatus.MATCHED
            assert np.abs(learned.policy.matrix() - expert.matrix()).max() <= 1e-7
        target = ti.feature_expectations(other, expert)
        learned = MaxCausalEntropy(tolerance=1e-14).learn(other, target)
        assert learned.mismatch <= 1e-13 * other.largest_feature / (1 - mdp.discount)


class TestHardTargets:
    @given(mdps(), st.data())
    def test_every_target_is_matched_or_proved_out_of_reach(self, mdp, data):
        seen = evenly(ti.Worldview(data.draw(worldviews(mdp.n_features))).observe(mdp))
        target = ti.feature_expectations(seen, data.draw(policies(mdp)))
        beyond = data.draw(st.sampled_from([0.0, 1.1, 5.0]))
        target = target + beyond * (target - ti.feature_expectations(seen, ti.Policy.uniform(seen)))
        tolerance = data.draw(st.sampled_from([1e-3, 1e-6, 1e-9]))
        learned = MaxCausalEntropy(tolerance).learn(seen, target, data.draw(policies(mdp)))
        scale = seen.largest_feature / (1 - mdp.discount)
        if learned.status is LearnStatus.MATCHED:
            assert learned.mismatch <= tolerance * scale
        else:
            assert learned.status is LearnStatus.NEAREST
            assert beyond > 0.0
            assert learned.mismatch - learned.nearest <= (tolerance + 1e-11) * scale
        assert learned.mismatch <= learned.history[0] + 1e-12 * scale

    @pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9])
    def test_deterministic_experts_lie_on_the_boundary(self, tolerance):
        mdp = ti.worlds.gridworld(6)
        weights = np.random.default_rng(2).normal(size=36)
        expert = ti.optimal_policy(mdp, weights).policy
        learned = MaxCausalEntropy(tolerance=tolerance).learn(
            mdp, ti.feature_expectations(mdp, expert)
        )
        assert learned.status is LearnStatus.MATCHED
        assert learned.mismatch <= tolerance * 10
        assert np.linalg.norm(learned.weights) > 10  # there is no finite optimum

    @pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9])
    @pytest.mark.parametrize("factor", [1.05, 3.0])
    def test_out_of_reach(self, tolerance, factor):
        mdp = ti.worlds.gridworld(6, block=2)
        rng = np.random.default_rng(1)
        seen = evenly(ti.Worldview(rng.normal(size=(4, 9))).observe(mdp))
        expert = ti.optimal_policy(seen, rng.normal(size=4)).policy
        centre = ti.feature_expectations(seen, ti.Policy.uniform(seen))
        target = centre + factor * (ti.feature_expectations(seen, expert) - centre)
        learned = MaxCausalEntropy(tolerance=tolerance).learn(seen, target)
        goal = tolerance * seen.largest_feature / 0.1
        assert learned.status is LearnStatus.NEAREST
        assert 0.0 < learned.nearest <= learned.mismatch <= learned.nearest + goal
        assert learned.mismatch <= learned.history[0]
        assert np.isfinite(learned.weights).all()

    def test_directions_that_no_policy_changes(self):
        mdp = ti.worlds.chain(5)  # the visits to all cells add up to 10
        uniform = ti.feature_expectations(mdp, ti.Policy.uniform(mdp))
        target = uniform + 1.0
        learned = MaxCausalEntropy(tolerance=1e-9).learn(mdp, target)
        assert learned.status is LearnStatus.NEAREST
        assert learned.mismatch == pytest.approx(np.sqrt(5), abs=1e-7)
        assert learned.nearest == pytest.approx(np.sqrt(5), abs=1e-7)

    def test_nearest_in_one_feature_is_the_largest_there_is(self):
        mdp = ti.worlds.chain(5)
        seen = ti.Worldview.select(mdp, ["cell 5"]).observe(mdp)
        best = ti.optimal_policy(seen, [1.0]).value
        learned = MaxCausalEntropy(tolerance=1e-8).learn(seen, [best + 2.0])
        assert learned.status is LearnStatus.NEAREST
        assert learned.mismatch == pytest.approx(2.0, abs=2e-7)

    def test_regularisation_ends_where_the_gradient_vanishes(self):
        mdp = ti.worlds.gridworld(6)
        expert = ti.optimal_policy(mdp, np.random.default_rng(2).normal(size=36)).policy
        target = ti.feature_expectations(mdp, expert)
        lengths = []
        for rho in (1.0, 1e-2, 1e-4):
            for temperature in (1.0, 0.1):
                learner = MaxCausalEntropy(1e-8, regularisation=rho, temperature=temperature)
                learned = learner.learn(mdp, target)
                assert learned.status is LearnStatus.SETTLED
                gradient = learned.expectations - target + rho * learned.weights
                assert np.linalg.norm(gradient) <= 2e-7
                soft = soft_policy(mdp, learned.weights, temperature=temperature).policy
                assert np.abs(soft.matrix() - learned.policy.matrix()).max() <= 1e-7
            lengths.append(np.linalg.norm(learned.weights))
        assert lengths == sorted(lengths)
        weak = MaxCausalEntropy(1e-3, regularisation=1e-8).learn(mdp, target)
        assert weak.status is LearnStatus.MATCHED

    def test_too_much_to_ask(self):
        mdp = WORLDS["grid"]
        target = ti.feature_expectations(mdp, soft_policy(mdp, [1, 0, 0, 0]).policy)
        learned = MaxCausalEntropy(tolerance=1e-30).learn(mdp, target)
        assert learned.status is LearnStatus.ROUNDING
        assert learned.mismatch <= 1e-12


class TestContract:
    @pytest.mark.parametrize(
        "learner",
        [
            MaxCausalEntropy(tolerance=1e-10),
            MaxCausalEntropy(tolerance=1e-2, temperature=1e-9),
            MaxCausalEntropy(temperature=1e9),
        ],
    )
    def test_keeps_its_promises(self, learner):
        check_learner(learner)

    def test_start_that_matches_is_returned(self):
        mdp = ti.worlds.chain(5)
        start = ti.Policy.deterministic(mdp, [1, 1, 0, 1, 0])
        learned = MaxCausalEntropy().learn(mdp, ti.feature_expectations(mdp, start), start)
        assert learned.policy is start
        assert (learned.solves, len(learned.history)) == (0, 1)
        assert learned.status is LearnStatus.MATCHED

    def test_never_farther_than_the_start(self):
        mdp = ti.worlds.gridworld(6)
        weights = np.random.default_rng(2).normal(size=36)
        expert = ti.optimal_policy(mdp, weights).policy
        target = ti.feature_expectations(mdp, expert)
        start = ti.mixture(mdp, [expert, ti.Policy.uniform(mdp)], [0.99, 0.01])
        learned = MaxCausalEntropy(tolerance=1e-9, max_steps=1).learn(mdp, target, start)
        assert learned.status is LearnStatus.OUT_OF_STEPS
        assert learned.mismatch <= learned.history[0] < learned.history[1]

    def test_history_ends_with_the_mismatch(self):
        mdp = ti.worlds.gridworld(6, block=2)
        expert = ti.optimal_policy(mdp, np.arange(9.0)).policy
        for steps in (3, 200):
            learner = MaxCausalEntropy(tolerance=1e-7, max_steps=steps)
            learned = learner.learn(mdp, ti.feature_expectations(mdp, expert))
            assert learned.history[-1] == pytest.approx(learned.mismatch, abs=1e-10)
            assert len(learned.history) <= steps + 1
        assert learned.status is LearnStatus.MATCHED

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"tolerance": 0.0}, "tolerance must be positive"),
            ({"max_steps": 0}, "max_steps must be a whole number"),
            ({"temperature": 0.0}, "temperature must be positive"),
            ({"regularisation": -1.0}, "regularisation must be non-negative"),
            ({"regularisation": np.nan}, "regularisation must be non-negative"),
        ],
    )
    def test_bad_settings(self, settings, message):
        with pytest.raises(ti.InvalidInputError, match=message):
            MaxCausalEntropy(**settings)

    @pytest.mark.parametrize("name", ["FrozenLake-v1", "CliffWalking-v1", "Taxi-v4"])
    def test_sinks_of_our_worlds_have_one_action(self, name):
        """With more, a policy would be praised for being random where nothing happens."""
        pytest.importorskip("gymnasium")
        mdp = ti.worlds.from_gymnasium(name, discount=0.9)
        visited = np.add.reduceat(
            ti.occupancy(mdp, ti.Policy.uniform(mdp)), mdp.dynamics.offsets[:-1]
        )
        sinks = np.flatnonzero(terminal_states(mdp) & (visited > 0.0))
        assert len(sinks) == 1
        assert np.diff(mdp.dynamics.offsets)[sinks] == 1

    def test_entropy_of_a_sink_with_two_actions_counts(self):
        """Leaving has the same features as staying, but leads to where one can be random."""
        rows = np.zeros((2, 2, 2))
        rows[0, 0, 0] = rows[0, 1, 1] = rows[1, :, 1] = 1.0
        features, start = [[1.0], [1.0]], [1.0, 0.0]
        rest = {"discount": 0.9, "start": start, "first": "state"}
        both = ti.MDP.from_arrays(rows, features, **rest)
        one = ti.MDP.from_arrays(rows, features, available=[[True, True], [True, False]], **rest)
        assert soft_policy(both, [0.0]).policy.matrix()[0] == pytest.approx([0.5, 0.5])
        # Staying keeps the choice: v = log(exp(0.9 v) + 1).
        v = soft_policy(one, [0.0]).values
        assert abs(v[1]) <= 1e-13
        assert v[0] == pytest.approx(np.log(np.exp(0.9 * v[0]) + 1.0), abs=1e-12)


class TestOutOfReach:
    def test_nothing_to_choose(self):
        one = ti.MDP.from_arrays([[[1.0]]], [[1.0, 0.3, 0.7]], discount=0.9)
        learned = MaxCausalEntropy().learn(one, [30, 1, 4])
        assert learned.status is LearnStatus.NEAREST
        assert learned.mismatch == pytest.approx(np.linalg.norm([20, -2, -3]), rel=1e-12)

    @pytest.mark.parametrize("seed", range(60))
    def test_in_all_directions_and_units(self, seed):
        """Targets off the affine hull, with features in units that differ a thousandfold."""
        rng = np.random.default_rng([5, seed])
        mdp = ti.worlds.garnet(rng, 5, 3, branching=2, n_features=4)
        units = 10.0 ** rng.uniform(-1.5, 1.5, size=4) if seed % 2 else np.ones(4)
        mdp = mdp.with_features(mdp.features * units)
        reach = mdp.largest_feature / (1 - mdp.discount)
        policy = ti.Policy.from_matrix(mdp, rng.dirichlet(np.ones(3), size=5))
        noise = rng.normal(size=4) * reach * 10.0 ** rng.uniform(-5, -1)
        target = ti.feature_expectations(mdp, policy) + noise
        learned = MaxCausalEntropy().learn(mdp, target)
        near = MinNormPoint().learn(mdp, target)
        assert learned.status in (LearnStatus.MATCHED, LearnStatus.NEAREST)
        even = Assignment(mdp, target, None).even()
        misses = [even.miss(one.expectations / even.units) for one in (learned, near)]
        assert misses[0] <= misses[1] + 2e-6 * even.scale
        assert learned.nearest <= near.mismatch
