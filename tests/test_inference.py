import itertools

import numpy as np
import pytest
import scipy

import teachirl as ti
from teachirl.demonstrations.certain_choices import certainly_meant
from teachirl.demonstrations.inferred_weights import InferStatus, infer_weights
from teachirl.demonstrations.optimal_cone import OptimalCone, habits
from teachirl.demonstrations.plausible_weights import Evidence
from teachirl.demonstrations.weight_region import Walk, explore
from teachirl.mdp.soft_planning import soft_policy
from teachirl.views.potential_shaping import indistinct_directions


def direction(mdp, weights):
    """The part of the weights that policies can tell, of length 1."""
    told = indistinct_directions(mdp).project(np.asarray(weights, dtype=float))
    return told / np.linalg.norm(told)


def episodes_of(mdp, policy, episodes, horizon, seed):
    rng = np.random.default_rng(seed)
    return ti.sample_trajectories(mdp, policy, episodes=episodes, horizon=horizon, rng=rng)


def slow_log_likelihood(mdp, theta, episodes):
    chances = soft_policy(mdp, theta).policy.probabilities
    return sum(np.log(chances[pair]) for pair in episodes.pairs)


SMALL = ti.worlds.garnet(np.random.default_rng(3), 12, 3, 3, n_features=4, per_pair=True)
SMALL_WEIGHTS = np.array([0.3, 0.8, 0.3, -1.3])


def greenhouse():
    """A robot that slips to the side takes plants from two beds to a bench, in 6 × 5 cells."""
    bench, beds, child, wet = (0, 2), [(5, 0), (5, 4)], [(3, 2)], [(2, 1), (3, 1), (2, 3)]
    heat, door = [(4, 0), (4, 1), (4, 4)], [(1, 2), (2, 2)]
    states = list(itertools.product((0, 1), range(5), range(6)))
    moves = [(0, -1), (0, 1), (-1, 0), (1, 0), (0, 0)]
    rows, phi = np.zeros((60, 5, 2, 5, 6)), []
    for s, (load, y, x) in enumerate(states):
        cell, left = (x, y), 0 if (x, y) == bench else load
        for a, (dx, dy) in enumerate(moves):
            for (right, down), chance in (((dx, dy), 0.9), ((dy, dx), 0.05), ((-dy, -dx), 0.05)):
                there = min(max(x + right, 0), 5), min(max(y + down, 0), 4)
                full = 0.75 if there in beds and left == 0 else float(left)
                rows[s, a, :, there[1], there[0]] += chance * np.array([1.0 - full, full])
        places = [cell in child, cell in wet, cell in heat, cell in door, y in (0, 4)]
        phi.append([cell == bench and load, *places, load])
    start = [state == (0, 2, 0) for state in states]
    return ti.MDP.from_arrays(
        rows.reshape(60, 5, 60),
        np.array(phi, dtype=float),
        discount=0.95,
        start=np.array(start, dtype=float),
        first="state",
    )


class TestRecovery:
    @pytest.mark.parametrize("scale", [2.0, 6.0])
    @pytest.mark.parametrize("block", [1, 2])
    def test_grids(self, block, scale):
        mdp = ti.worlds.gridworld(6, block=block, slip=0.1)
        weights = np.random.default_rng(0).normal(size=mdp.n_features)
        weights /= np.linalg.norm(weights)
        expert = soft_policy(mdp, scale * weights).policy
        found = infer_weights(mdp, episodes_of(mdp, expert, 3000, 40, seed=1))
        assert found.status is InferStatus.CONVERGED
        error = found.weights - direction(mdp, weights)
        assert np.abs(error / found.spread).max() <= 4.0
        assert 0.7 <= np.sqrt(np.mean((error / found.spread) ** 2)) <= 1.4
        assert found.weights @ direction(mdp, weights) >= 0.98
        assert found.scale == pytest.approx(
            np.linalg.norm(indistinct_directions(mdp).project(scale * weights)), rel=0.05
        )
        best = ti.optimal_policy(mdp, found.weights).policy
        assert ti.relative_performance(mdp, weights, best) >= 0.995

    def test_cut_off_episodes_do_not_bias(self):
        """One step an episode says as much of the expert as any other."""
        mdp = ti.worlds.chain(5)
        expert = soft_policy(mdp, [0, 0, 0, 0, 1]).policy
        found = infer_weights(mdp, episodes_of(mdp, expert, 20_000, 1, seed=2))
        error = found.weights - direction(mdp, [0, 0, 0, 0, 1])
        assert np.abs(error).max() <= 3.5 * found.spread.max()
        assert found.spread.max() <= 0.05

    @pytest.mark.parametrize("episodes", [20, 500])
    def test_optimal_experts(self, episodes):
        mdp = ti.worlds.gridworld(8, block=2)
        for seed in range(3):
            weights = np.random.default_rng(seed).normal(size=16)
            expert = ti.optimal_policy(mdp, weights).policy
            found = infer_weights(mdp, episodes_of(mdp, expert, episodes, 40, seed))
            assert found.status is InferStatus.CONVERGED
            best = ti.optimal_policy(mdp, found.weights).policy
            assert ti.relative_performance(mdp, weights, best) >= (0.9 if episodes == 20 else 0.99)

    @pytest.mark.parametrize("units", [1e-9, 1e9])
    def test_units_of_the_features(self, units):
        factors = np.array([1.0, units, 1.0, 1.0])
        other = SMALL.with_features(SMALL.features * factors)
        expert = soft_policy(SMALL, SMALL_WEIGHTS).policy
        episodes = episodes_of(SMALL, expert, 200, 20, seed=3)
        one, two = infer_weights(SMALL, episodes), infer_weights(other, episodes)
        theta = two.scale * two.weights * factors
        assert theta == pytest.approx(one.scale * one.weights, rel=1e-3, abs=1e-3)
        assert two.log_likelihood == pytest.approx(one.log_likelihood, abs=1e-3)
        all_larger = infer_weights(SMALL.with_features(SMALL.features * units), episodes)
        assert all_larger.weights == pytest.approx(one.weights, abs=1e-4)
        assert all_larger.spread == pytest.approx(one.spread, rel=1e-3)


class TestLikelihood:
    def test_is_that_of_the_steps_and_at_its_maximum(self):
        expert = soft_policy(SMALL, SMALL_WEIGHTS).policy
        episodes = episodes_of(SMALL, expert, 50, 10, seed=4)
        found = infer_weights(SMALL, episodes)
        theta = found.scale * found.weights
        at_best = slow_log_likelihood(SMALL, theta, episodes)
        assert found.log_likelihood == pytest.approx(at_best, rel=1e-9)
        assert found.steps == 500
        assert at_best > slow_log_likelihood(SMALL, SMALL_WEIGHTS, episodes)
        for change in 3.0 * np.linalg.cholesky(found.root @ found.root.T).T:
            for moved in (theta - change, theta + change):
                assert slow_log_likelihood(SMALL, moved, episodes) < at_best

    def test_slope_and_curvature(self):
        """At the estimate L is flat, but for the prior, and bends as the spread says."""
        expert = soft_policy(SMALL, SMALL_WEIGHTS).policy
        episodes = episodes_of(SMALL, expert, 3000, 20, seed=5)
        found = infer_weights(SMALL, episodes, tolerance=1e-6)
        theta = found.scale * found.weights
        sides = np.linalg.cholesky(found.root @ found.root.T).T  # steps of a standard error
        L = found.log_likelihood
        ahead = np.array([slow_log_likelihood(SMALL, theta + d, episodes) for d in sides])
        behind = np.array([slow_log_likelihood(SMALL, theta - d, episodes) for d in sides])
        assert np.abs(ahead - behind).max() / 2 <= 0.05
        assert 2 * L - ahead - behind == pytest.approx(np.ones(4), abs=0.1)

    @pytest.mark.parametrize(("slip", "concave"), [(0.0, True), (0.1, False)])
    def test_slips_make_it_neither_concave_nor_convex(self, slip, concave):
        """Why the ends of soft experts are searched for: tangents do not bound the likelihood."""
        mdp, rng = ti.worlds.chain(3), np.random.default_rng(0)
        expert = soft_policy(mdp, [-1.0, 0.0, 1.0]).policy
        counts = np.bincount(episodes_of(mdp, expert, 20, 20, 0).pairs, minlength=mdp.n_pairs)
        n = np.diff(mdp.dynamics.offsets)[mdp.dynamics.pair_states]

        def likelihood(theta):
            chances = soft_policy(mdp, theta).policy.probabilities
            return counts @ np.log((1.0 - slip) * chances + slip / n)

        bends = []
        for theta, step in rng.standard_normal((40, 2, 3)):
            sides = likelihood(theta + 0.3 * step) + likelihood(theta - 0.3 * step)
            bends.append(sides - 2.0 * likelihood(theta))
        assert min(bends) < -0.1
        assert max(bends) <= 1e-6 if concave else max(bends) > 0.1


class TestSpread:
    def test_covers_what_it_says(self):
        """Of 150 estimates, 95 % lie within 1.96 standard errors, up to chance."""
        expert = soft_policy(SMALL, SMALL_WEIGHTS).policy
        true, errors = direction(SMALL, SMALL_WEIGHTS), []
        for seed in range(150):
            found = infer_weights(SMALL, episodes_of(SMALL, expert, 40, 15, seed=[9, seed]))
            errors.append((found.weights - true) / found.spread)
        inside = np.mean(np.abs(errors) <= 1.96, axis=0)
        assert ((inside >= 0.89) & (inside <= 0.99)).all()  # 150 trials: 95 % ± 3 · 1.8 %
        assert np.std(errors, axis=0) == pytest.approx(1.0, abs=0.2)
        assert np.abs(np.mean(errors, axis=0)).max() <= 0.3

    def test_experts_of_another_kind(self):
        """An expert who is now this, now that, an episode long: its episodes differ by more."""
        one, two = (soft_policy(SMALL, SMALL_WEIGHTS * f).policy for f in (0.2, 3.0))
        mixed, alike = [], []
        for seed in range(20):
            parts = [episodes_of(SMALL, expert, 100, 30, [seed, 0]) for expert in (one, two)]
            both = ti.Trajectories(
                np.concatenate([part.states for part in parts]),
                np.concatenate([part.pairs for part in parts]),
                np.concatenate([parts[0].offsets, parts[0].n_steps + parts[1].offsets[1:]]),
                np.concatenate([part.terminated for part in parts]),
            )
            found = infer_weights(SMALL, both)
            mixed.append(np.trace(found.root @ found.root.T))
            expert = found.policy
            same = infer_weights(SMALL, episodes_of(SMALL, expert, 200, 30, [seed, 1]))
            alike.append(np.trace(same.root @ same.root.T))
        assert np.mean(mixed) > 1.5 * np.mean(alike)

    def test_shrinks_with_the_square_root_of_the_episodes(self):
        expert = soft_policy(SMALL, SMALL_WEIGHTS).policy
        few, many = (
            infer_weights(SMALL, episodes_of(SMALL, expert, n, 20, seed=7)) for n in (200, 20_000)
        )
        assert few.spread / many.spread == pytest.approx(10.0, rel=0.25)

    def test_what_was_never_seen_is_wide(self):
        """Two rooms, two actions in each, and episodes in the first room alone."""
        rows = np.repeat(np.eye(2)[:, None], 2, axis=1)
        features = np.eye(4).reshape(2, 2, 4)
        mdp = ti.MDP.from_arrays(rows, features, discount=0.9, first="state")
        states, actions = [[0] * 10] * 40, [[0, 0, 1, 0, 0, 0, 1, 0, 0, 1]] * 40
        episodes = ti.Trajectories.from_arrays(mdp, states, actions, [False] * 40)
        found = infer_weights(mdp, episodes)
        first, second = np.array([[1, -1, 0, 0], [0, 0, 1, -1]]) / np.sqrt(2)
        assert np.sqrt(2) * found.scale * found.weights @ first == pytest.approx(
            np.log(7 / 3), rel=0.02
        )
        assert abs(found.weights @ second) <= 1e-9
        C = found.root @ found.root.T
        assert second @ C @ second >= 20 * (first @ C @ first)


class TestUnidentified:
    def test_directions_are_reported_and_left_out(self):
        mdp = ti.worlds.chain(5)
        expert = soft_policy(mdp, [0, 0, 0, 0, 1]).policy
        found = infer_weights(mdp, episodes_of(mdp, expert, 200, 20, seed=1))
        assert found.unidentified.shape == (2, 5)
        assert np.abs(found.unidentified @ found.weights).max() <= 1e-12
        assert np.abs(found.unidentified @ found.root).max() <= 1e-10
        assert np.linalg.norm(found.weights) == pytest.approx(1.0)

    def test_features_that_tell_nothing(self):
        mdp = ti.worlds.chain(5).with_features(np.ones((5, 2)))
        episodes = episodes_of(mdp, ti.Policy.uniform(mdp), 10, 5, seed=0)
        found = infer_weights(mdp, episodes)
        assert found.status is InferStatus.UNIDENTIFIED
        assert not found.weights.any()
        assert not found.spread.any()
        assert found.sample(np.random.default_rng(0), 3).tolist() == [[0, 0]] * 3
        assert not found.plausible.experts and not found.plausible.signs.any()
        assert "nothing" in found.summary
        assert found.log_likelihood == pytest.approx(
            slow_log_likelihood(mdp, np.zeros(2), episodes)
        )

    def test_steps_without_a_choice(self):
        """One-step episodes in a state with one action leave the prior, and no direction."""
        mdp = ti.worlds.chain(5)
        start = mdp.from_pairs(
            mdp.dynamics.pair_states,
            mdp.dynamics.actions,
            mdp.dynamics.transitions,
            mdp.features,
            discount=0.9,
            start=[1.0, 0, 0, 0, 0],
        )
        found = infer_weights(start, episodes_of(start, ti.Policy.uniform(start), 10, 1, seed=0))
        assert found.scale == pytest.approx(0.0, abs=1e-12)
        assert np.isfinite(found.spread).all()
        assert found.plausible.contains([1, 0, 0, 0, 0]) and found.plausible.contains(
            [0, 1, 1, 0, 3]
        )


class TestInput:
    def test_a_demonstration_will_do(self):
        mdp = ti.worlds.chain(5)
        expert = soft_policy(mdp, [0, 0, 0, 0, 1]).policy
        rng = np.random.default_rng(0)
        demo = ti.Demonstration.sample(mdp, expert, episodes=50, horizon=20, rng=rng)
        one, two = infer_weights(mdp, demo), infer_weights(mdp, demo.trajectories)
        assert one.weights.tobytes() == two.weights.tobytes()
        assert one.root.tobytes() == two.root.tobytes()

    def test_results_are_read_only(self):
        mdp = ti.worlds.chain(5)
        found = infer_weights(mdp, episodes_of(mdp, ti.Policy.uniform(mdp), 20, 5, seed=0))
        for array in (found.weights, found.root, found.unidentified, found.covariance):
            assert not array.flags.writeable
        assert "degrees" in found.summary
        assert repr(found).startswith("InferredWeights(5 features, CONVERGED, 100 steps)")

    def test_too_few_steps(self):
        expert = soft_policy(SMALL, SMALL_WEIGHTS).policy
        episodes = episodes_of(SMALL, expert, 100, 20, seed=0)
        found = infer_weights(SMALL, episodes, max_steps=1)
        assert found.status is InferStatus.OUT_OF_STEPS

    def test_bad_input(self):
        mdp = ti.worlds.chain(5)
        exact = ti.Demonstration.of_policy(mdp, ti.Policy.uniform(mdp))
        with pytest.raises(ti.InvalidInputError, match="demonstrations must have episodes"):
            infer_weights(mdp, exact)
        with pytest.raises(ti.InvalidInputError, match="Trajectories or a Demonstration, got Pol"):
            infer_weights(mdp, ti.Policy.uniform(mdp))
        episodes = episodes_of(mdp, ti.Policy.uniform(mdp), 2, 3, seed=0)
        with pytest.raises(ti.InvalidInputError, match="episode"):
            infer_weights(ti.worlds.gridworld(3), episodes)
        for name, value in (
            ("choosiness", 0.0),
            ("confidence", 1.0),
            ("tolerance", np.nan),
            ("max_steps", 0),
        ):
            with pytest.raises(ti.InvalidInputError, match=name):
                infer_weights(mdp, episodes, **{name: value})
        found = infer_weights(mdp, episodes)
        with pytest.raises(ti.InvalidInputError, match="rng must be"):
            found.sample(0, 3)
        with pytest.raises(ti.InvalidInputError, match="n must be a whole number"):
            found.sample(np.random.default_rng(0), -1)


def test_no_features_at_all():
    mdp = ti.worlds.gridworld(4, slip=0.1)
    rng = np.random.default_rng(0)
    walks = ti.sample_trajectories(mdp, ti.Policy.uniform(mdp), episodes=5, horizon=10, rng=rng)
    found = ti.infer_weights(mdp.with_features(np.zeros((16, 0))), walks)
    assert found.status is ti.InferStatus.UNIDENTIFIED
    assert found.weights.shape == (0,)


@pytest.mark.parametrize("per_pair", [False, True])
def test_likelihoods_of_soft_experts_who_slip(per_pair):
    """What one kernel finds, against a soft plan and all rates of slips there are."""
    rng = np.random.default_rng(int(per_pair))
    mdp = ti.worlds.garnet(rng, 12, 3, 3, n_features=4, per_pair=per_pair)
    evidence = Evidence(mdp, episodes_of(mdp, ti.Policy.uniform(mdp), 5, 20, 0).pairs, 1.0, 0.0)
    values, counts, rates = np.zeros(12), evidence.counts, np.geomspace(1e-9, 1.0, 20_001)[:, None]
    for _ in range(5):
        w = rng.normal(size=4)
        found = evidence.model.likelihoods(w, evidence.choices, 24)
        for scale in (0.0, 0.3, 2.0, 50.0):
            chances = soft_policy(mdp, scale * w).policy.probabilities[evidence.seen]
            total = np.log(chances + rates * (1.0 / evidence.n - chances)) @ counts
            assert found(scale, values) == pytest.approx(total.max(), rel=1e-6)


class TestPlausible:
    """What is said of the weights holds, whoever the expert is; the full table is that of
    `benchmarks/confidence.py`."""

    @staticmethod
    def expert(kind, weights):
        best = ti.optimal_policy(SMALL, weights).policy.probabilities
        if kind == "soft":
            return soft_policy(SMALL, 6.0 * weights / np.linalg.norm(weights)).policy
        slips = {"optimal": 0.0, "slipping": 0.1}[kind]
        evenly = ti.Policy.uniform(SMALL).probabilities
        return ti.Policy(SMALL.dynamics, chances=(1.0 - slips) * best + slips * evenly)

    @pytest.mark.parametrize("kind", ["optimal", "slipping", "soft"])
    def test_covers(self, kind):
        inside, said = [], []
        for seed in range(2):
            weights = np.random.default_rng(seed).normal(size=4)
            truth = direction(SMALL, weights)
            seen = episodes_of(SMALL, self.expert(kind, weights), 30, 20, [seed, 4])
            found = infer_weights(SMALL, seen).plausible
            inside.append(found.contains(weights))
            off = np.degrees(np.arccos(min(truth @ found.weights, 1.0)))
            said.append(off <= found.degrees)
            said.append(bool(np.all((found.lower <= truth) & (truth <= found.upper))))
            known = found.signs != 0
            assert np.array_equal(found.signs[known], np.sign(truth[known]))
        assert all(inside) and all(said)

    def test_an_expert_who_never_errs_leaves_a_cone_however_many_episodes(self):
        """3000 episodes were said to tell the weights to .88 degrees, and were 11.7 off."""
        expert = self.expert("optimal", SMALL_WEIGHTS)
        found = infer_weights(SMALL, episodes_of(SMALL, expert, 1000, 20, seed=1))
        plausible, truth = found.plausible, direction(SMALL, SMALL_WEIGHTS)
        off = np.degrees(np.arccos(truth @ plausible.weights))
        standard = np.degrees(np.sqrt(np.trace(found.covariance)))
        assert standard < 2.0 < off <= plausible.degrees
        assert plausible.contains(SMALL_WEIGHTS) and plausible.slips == 0.0
        assert "hardly ever errs is optimal for many weights" in found.summary
        # Under all of them what was seen is optimal, but for a few steps.
        for weights in found.sample(np.random.default_rng(0), 5):
            assert plausible.contains(weights)
            best = ti.optimal_policy(SMALL, weights).policy
            assert ti.relative_performance(SMALL, SMALL_WEIGHTS, best) > 0.95

    @pytest.mark.parametrize("kind", ["optimal", "slipping"])
    def test_no_weights_of_an_optimal_expert_lie_beyond_the_ends(self, kind):
        """Not those that a search would find: all directions are tried."""
        expert = self.expert(kind, SMALL_WEIGHTS)
        found = infer_weights(SMALL, episodes_of(SMALL, expert, 60, 20, seed=3)).plausible
        evidence, meant = found.evidence, found.evidence.meant()
        assert found.proved and meant.any()
        rng, held = np.random.default_rng(0), 0
        for spread in (0.02, 0.05, 0.2, 0.5):
            for drawn in rng.normal(size=(100, 4)):
                w = direction(SMALL, found.weights + spread * drawn)
                if evidence.optimal(w) >= evidence.enough:
                    held += 1
                    assert np.all((found.lower - 1e-6 <= w) & (w <= found.upper + 1e-6))
                    assert evidence._best(w)[meant].all()
        assert held > 20

    @pytest.mark.parametrize("seed", range(4))
    def test_the_ends_are_those_of_the_cone(self, seed):
        """With two features, against all directions there are."""
        rng = np.random.default_rng(seed)
        mdp = ti.worlds.garnet(rng, 8, 3, 3, n_features=2, per_pair=True)
        policy = ti.optimal_policy(mdp, rng.normal(size=2)).policy
        shown, plans = ti.feature_expectations(mdp, policy), []
        angles = np.linspace(0.0, 2.0 * np.pi, 1440, endpoint=False)
        circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        plans = [ti.optimal_policy(mdp, w).upper - w @ shown for w in circle]
        inside = circle[np.array(plans) <= 1e-8]
        assert len(inside) > 3
        meant = policy.probabilities == 1.0
        middle = inside.mean(axis=0) / np.linalg.norm(inside.mean(axis=0))
        cone = OptimalCone(mdp, meant, indistinct_directions(mdp).basis)
        lower, upper = cone.ends(middle)
        assert np.all((lower <= inside + 1e-6) & (inside <= upper + 1e-6))
        # Towards 1 and −1 they are no further than that; towards 0 they may be.
        out = (2.0 * np.pi / 1440) + 1e-6
        assert np.all((upper <= inside.max(axis=0) + out) | (inside.max(axis=0) < 0.0))
        assert np.all((lower >= inside.min(axis=0) - out) | (inside.min(axis=0) > 0.0))
        # From the other side of the cone nothing is known of the ends towards 0, and all the rest.
        other = cone.ends(-middle)
        np.testing.assert_array_equal(other[0], np.minimum(lower, 0.0))
        np.testing.assert_array_equal(other[1], np.maximum(upper, 0.0))

    @pytest.mark.parametrize("seed", range(3))
    def test_the_ends_hold_of_all_directions_and_are_reached(self, seed):
        """With three features: directions that are drawn and tried, and weights at the ends."""
        rng = np.random.default_rng(seed)
        mdp = ti.worlds.garnet(rng, 8, 3, 3, n_features=3, per_pair=True)
        policy = ti.optimal_policy(mdp, rng.normal(size=3)).policy
        shown = ti.feature_expectations(mdp, policy)
        drawn = rng.normal(size=(4000, 3))
        drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
        plans = ti.optimal_policies(mdp, drawn)
        off = np.array([plan.upper for plan in plans]) - drawn @ shown
        inside = drawn[off <= 1e-8]
        assert len(inside) > 20
        cone = OptimalCone(mdp, policy.probabilities == 1.0, indistinct_directions(mdp).basis)
        middle = inside.mean(axis=0) / np.linalg.norm(inside.mean(axis=0))
        lower, upper = cone.ends(middle)
        assert np.all((lower <= inside) & (inside <= upper))
        for side, most, there in zip(np.vstack([np.eye(3), -np.eye(3)]), *cone.reach, strict=True):
            if most > 1e-6:
                assert np.linalg.norm(there) <= 1.0 + 1e-9 and most - 1e-6 <= side @ there <= most
                assert ti.optimal_policy(mdp, there).upper - there @ shown <= 1e-6

    @pytest.mark.parametrize("seed", range(12))
    def test_cones_in_eight_dimensions(self, seed):
        """What is proved, against the distance to the polar cone; and a search from the middle
        finds all of it, be the cone wide (12 sides) or narrow (40)."""
        rng, sides = np.random.default_rng(seed), (12, 20, 40)[seed % 3]
        middle = rng.normal(size=8)
        middle /= np.linalg.norm(middle)
        rows = rng.normal(size=(sides, 8))
        rows *= np.sign(rows @ middle)[:, None]
        # Of all choices there are, the first is optimal if ⟨row, w⟩ ≥ 0 for all rows.
        choices = np.zeros((2, sides + 1, 2))
        choices[:, :, 1] = 1.0
        phi = np.zeros((2, sides + 1, 8))
        phi[0, 1:] = -rows
        mdp = ti.MDP.from_arrays(choices, phi, discount=0.5)
        cone = OptimalCone(mdp, np.arange(mdp.n_pairs) == 0, np.empty((0, 8)))
        axes = np.vstack([np.eye(8), -np.eye(8)])
        true = np.array([scipy.optimize.nnls(rows.T, -axis)[1] for axis in axes])
        most = cone.reach[0]
        assert np.all((true <= most + 1e-12) & (most <= true + 1e-6))
        lower, upper = cone.ends(middle)
        walk = Walk(lambda w: bool((rows @ w >= 0.0).all()), np.eye(8), middle, rng)
        for each in cone.extremes(middle):
            walk.pull(each)
        found = explore(walk, 120)
        points = np.array(walk.points)
        assert np.all((lower <= points) & (points <= upper))
        far = true > 1e-6
        assert np.all(np.concatenate([found.upper, -found.lower])[far] >= true[far])

    def test_what_is_certainly_meant(self):
        """Against the largest probability over sets of optimal actions, rates and habits."""
        table = {0: [30.0, 3.0, 0.0], 1: [12.0, 0.0], 2: [6.0, 1.0, 1.0]}
        pairs = [(s, a) for s, row in table.items() for a, c in enumerate(row) if c > 0.0]
        counts = np.array([table[s][a] for s, a in pairs])
        states, n = np.array([s for s, _ in pairs]), np.array([len(table[s]) for s, _ in pairs])

        rates = np.geomspace(1e-5, 1.0, 3000)

        def most(row, best):
            """Of habits among the best actions, of which each is a slip now and then as well."""
            slip = (rates / len(row))[:, None]
            low, high = np.full_like(slip, 1e-9), np.full_like(slip, 1e9)
            for _ in range(80):
                share = np.sqrt(low * high)
                chances = np.where(best, np.maximum(slip, share * row), slip)
                over = chances.sum(axis=1, keepdims=True) > 1.0
                low, high = np.where(over, low, share), np.where(over, share, high)
            return np.log(chances) @ row

        found = {
            (s, best): most(np.array(row), np.array(best))
            for s, row in table.items()
            for best in itertools.product([False, True], repeat=len(row))
            if any(best)
        }
        top = {s: np.max([f for (t, _), f in found.items() if t == s], axis=0) for s in table}
        for pair, (s, a) in enumerate(pairs):
            slips = np.max([f for (t, best), f in found.items() if t == s and not best[a]], axis=0)
            true = float((sum(top.values()) - top[s] + slips).max())
            # It is never said of a choice that may be a slip, and soon of one that cannot.
            assert not certainly_meant(counts, states, n, true - 1e-9)[pair]
            assert certainly_meant(counts, states, n, true + 3.0)[pair]

    def test_weights_under_which_all_choices_are_optimal_are_found(self):
        """Where some states were never chosen in, the cone of the choices is too large, and its
        centre is not plausible; nor was what a climb from there came to."""
        mdp, weights = greenhouse(), np.array([10.0, -30, -2, -1, 0, 0, 0])
        expert = ti.optimal_policy(mdp, weights).policy
        seen = episodes_of(mdp, expert, 60, 40, seed=2)
        inferred = infer_weights(mdp, seen)
        cone = OptimalCone(mdp, habits(mdp, seen.pairs), inferred.unidentified)
        found = inferred.plausible
        assert found.contains(weights)
        assert not found.contains(inferred.weights) and not found.contains(cone.centre())
        assert found.experts and found.slips == 0.0 and found.contains(found.weights)
        assert all(map(found.contains, found.points))
        assert all(map(found.contains, found.sample(np.random.default_rng(0), 5)))
        truth = direction(mdp, weights)
        assert np.all((found.lower <= truth) & (truth <= found.upper))

    def test_nothing_is_drawn_where_no_weights_explain_the_choices(self):
        mdp, rng = ti.worlds.gridworld(4, block=2), np.random.default_rng(0)
        anyhow = ti.Policy.deterministic(mdp, rng.integers(4, size=16))
        found = infer_weights(mdp, episodes_of(mdp, anyhow, 40, 20, seed=0))
        assert found.scale > 0.0 and not found.plausible.experts
        assert "a search found no weights" in found.summary
        with pytest.raises(ti.InvalidInputError, match="nothing to draw from: a search found no"):
            found.sample(rng, 3)
        with pytest.raises(ti.InvalidInputError, match="nothing to draw from"):
            ti.Rewards.posterior(found, 3, rng=rng)

    def test_a_soft_expert_is_found_out(self):
        expert = self.expert("soft", SMALL_WEIGHTS)
        few, many = (
            infer_weights(SMALL, episodes_of(SMALL, expert, n, 20, seed=2)).plausible
            for n in (20, 1000)
        )
        assert many.degrees < 0.5 * few.degrees
        assert [kind.value for kind in many.experts] == ["soft"]
        assert not many.contains(-SMALL_WEIGHTS)

    def test_opposite_weights_may_both_be_plausible(self):
        mdp = ti.worlds.chain(3, discount=0.5).with_features(np.eye(3)[:, :1])
        rng = np.random.default_rng(0)
        expert = ti.Policy.uniform(mdp)
        seen = ti.sample_trajectories(mdp, expert, episodes=4, horizon=4, rng=rng)
        found = infer_weights(mdp, seen).plausible
        assert found.contains([1.0]) and found.contains([-1.0])
        assert found.lower.tolist() == [-1.0] and found.upper.tolist() == [1.0]


def test_plausible_weights_towards_corners_are_within_the_ends():
    """Weights that `contains` calls plausible lay beyond ends that were searched for."""
    rng = np.random.default_rng(9)
    mdp = ti.worlds.garnet(rng, n_states=8, n_actions=3, branching=2, n_features=5)
    expert = ti.optimal_policy(mdp, rng.normal(size=5)).policy
    seen = ti.sample_trajectories(mdp, expert, episodes=4, horizon=15, rng=rng)
    inferred = ti.infer_weights(mdp, seen)
    found = inferred.plausible
    corners = OptimalCone(mdp, found.evidence.meant(), inferred.unidentified)
    met = 0
    for corner in corners.extremes(found.weights):
        for share in (0.9, 0.6, 0.3):
            w = (1.0 - share) * found.weights + share * corner
            w /= np.linalg.norm(w)
            if found.contains(w):
                met += 1
                assert (found.lower <= w + 1e-12).all() and (w <= found.upper + 1e-12).all()
    assert met > 5 and found.proved
