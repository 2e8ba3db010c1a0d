"""A few episodes that stand for an expectation, against slow twins and exact arithmetic."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import teachirl as ti
from teachirl.testing import mdps, worldviews


def few(mdp, view, shown, *, horizon=12, seed=0, **options):
    rng = np.random.default_rng(seed)
    return ti.few_demonstrations(mdp, view, shown, horizon=horizon, rng=rng, **options)


def seen_by(mdp, view, episodes):
    """array [m, ℓ], each episode's discounted features, step by step."""
    points = np.zeros((len(episodes), view.n_rows))
    dense = mdp.features if isinstance(mdp.features, np.ndarray) else mdp.features.toarray()
    for i in range(len(episodes)):
        span = range(episodes.offsets[i], episodes.offsets[i + 1])
        for t, step in enumerate(span):
            row = episodes.pairs[step] if mdp.features_per_pair else episodes.states[step]
            points[i] += mdp.discount**t * (view.matrix @ dense[row])
    return points


def all_paths(mdp, policy, horizon):
    """Every episode of a policy within so many steps, with its probability."""
    dynamics, chances = mdp.dynamics, policy.probabilities
    found = [(p, [], s) for s, p in enumerate(mdp.start) if p > 0]
    for _ in range(horizon):
        longer = []
        for p, pairs, s in found:
            for pair in range(dynamics.offsets[s], dynamics.offsets[s + 1]):
                row = dynamics.transitions[[pair]]
                for target, q in zip(row.indices, row.data, strict=True):
                    if p * chances[pair] * q > 0:
                        longer.append((p * chances[pair] * q, [*pairs, pair], target))
        found = longer
    return found


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_what_is_said_of_them_is_true(data):
    mdp = data.draw(mdps(max_states=5))
    view = ti.Worldview(data.draw(worldviews(mdp.n_features)))
    showings = data.draw(st.sampled_from([None, 1, 4]))
    found = few(mdp, view, ti.Policy.uniform(mdp), showings=showings, drawn=60)
    points = seen_by(mdp, view, found.trajectories)
    assert found.shares.sum() == pytest.approx(1.0, abs=1e-12)
    assert (found.shares > 0).all() and (np.diff(found.shares) <= 1e-15).all()
    np.testing.assert_allclose(found.shares @ points, found.seen, atol=1e-7, rtol=1e-9)
    assert np.linalg.norm(found.seen - found.target) <= found.distance * (1 + 1e-9) + 1e-300
    assert 0.0 <= found.at_least <= found.distance
    assert len({tuple(map(float, point)) for point in points}) <= len(found.shares)
    if showings is None:
        assert len(found.shares) <= view.n_rows + 1
        assert found.times is None
    else:
        assert found.times.sum() == showings
        np.testing.assert_array_equal(found.shares, found.times / showings)


def test_the_target_is_the_mean_of_all_paths():
    mdp = ti.worlds.gridworld(2, slip=0.3)
    view = ti.Worldview.select(mdp, [1, 3])
    policy = ti.Policy.uniform(mdp)
    found = few(mdp, view, policy, horizon=3)
    paths = all_paths(mdp, policy, 3)
    assert sum(p for p, _, _ in paths) == pytest.approx(1.0)
    dense, states = mdp.features.toarray(), mdp.dynamics.pair_states
    mean = sum(
        p * mdp.discount**t * (view.matrix @ dense[states[pair]])
        for p, pairs, _ in paths
        for t, pair in enumerate(pairs)
    )
    np.testing.assert_allclose(found.target, mean, rtol=1e-12)
    whole = view.matrix @ ti.feature_expectations(mdp, policy)
    assert found.beyond == pytest.approx(np.linalg.norm(whole - mean), rel=1e-9)
    assert found.beyond >= np.linalg.norm(whole - mean)


@pytest.mark.parametrize("drawn", [3, 8, 400])
def test_no_shares_come_nearer(drawn):
    """Against a linear program for the largest distance along any direction: it is tight."""
    mdp = ti.worlds.garnet(np.random.default_rng(3), 8, 3, 3, 4)
    view, policy = ti.Worldview.select(mdp, [0, 1, 2]), ti.Policy.uniform(mdp)
    found = few(mdp, view, policy, drawn=drawn, horizon=9)
    pool = ti.sample_trajectories(
        mdp, policy, episodes=drawn, horizon=9, rng=np.random.default_rng(0)
    )
    points = seen_by(mdp, view, pool) - found.target
    # Is the target a mixture of the pool's points at all?
    rows = np.vstack([points.T, np.ones(len(points))])
    inside = linprog(np.zeros(len(points)), A_eq=rows, b_eq=[0, 0, 0, 1]).status == 0
    assert (found.status is ti.FewStatus.MATCHED) == inside
    if inside:
        assert found.distance < 1e-12 * 100
        assert len(found.shares) <= 4
    else:
        assert found.at_least == pytest.approx(found.distance, rel=1e-9)
        assert found.at_least > 0.0


@pytest.mark.parametrize("seed", range(4))
def test_counts_are_near_the_best_of_all_counts(seed):
    mdp = ti.worlds.garnet(np.random.default_rng(seed), 6, 2, 3, 3)
    view, policy = ti.Worldview.select(mdp, [0, 1]), ti.Policy.uniform(mdp)
    found = few(mdp, view, policy, showings=4, drawn=14, horizon=6, seed=seed)
    rng = np.random.default_rng(seed)
    pool = ti.sample_trajectories(mdp, policy, episodes=14, horizon=6, rng=rng)
    points = seen_by(mdp, view, pool) - found.target
    best = min(
        np.linalg.norm(points[list(chosen)].mean(axis=0))
        for chosen in itertools.combinations_with_replacement(range(14), 4)
    )
    exchanged = np.linalg.norm(found.seen - found.target)
    assert best <= exchanged * (1 + 1e-9)
    # Of one exchange less than the best is left: here that is the best, or a fifth of the spread.
    assert exchanged <= max(best * (1 + 1e-9), 0.2 * np.linalg.norm(points, axis=1).max())
    assert found.at_least <= best


def test_the_distance_counts_its_rounding():
    """A chain with γ = 1/2 and two paths: everything is a fraction."""
    mdp = ti.worlds.chain(3, discount=0.5)
    view = ti.Worldview([[0, 0, 1 / 3]])
    policy = ti.Policy.deterministic(mdp, [1, 1, 0])
    found = few(mdp, view, policy, horizon=4)
    third = Fraction(1 / 3)
    true = abs(
        Fraction(float(found.seen[0]))
        - third
        * sum(
            Fraction(1, 2) ** t
            * sum(Fraction(float(p)) for s, p in enumerate(mdp.start) if _cell(s, t) == 2)
            for t in range(4)
        )
    )
    assert true <= Fraction(found.distance)
    assert found.distance < 1e-12


def test_steps_of_the_sum_count_though_every_episode_is_short():
    mdp = ti.MDP.from_pairs(
        [0, 1], [0, 0], [[0.0, 1.0], [0.0, 1.0]], [[1.0], [0.0]], discount=0.5, start=[1.0, 0.0]
    )
    view, policy = ti.Worldview(np.eye(1)), ti.Policy.uniform(mdp)
    short, long = (few(mdp, view, policy, horizon=each) for each in (10, 1000))
    assert long.trajectories.lengths.max() < 10
    assert long.distance > 1000 * np.finfo(float).eps > short.distance
    assert long.at_least == 0.0


def _cell(start, steps):
    """Where the chain's walker is who goes right, and from the last cell one back."""
    cell = start
    for _ in range(steps):
        cell = cell + 1 if cell < 2 else 1
    return cell


def test_degenerate_cases():
    chain = ti.worlds.chain(5)
    blind = ti.Worldview(np.empty((0, 5)))
    right = ti.Policy.deterministic(chain, [1, 1, 1, 1, 0])
    nothing = few(chain, blind, right)
    assert len(nothing.shares) == 1 and nothing.distance < 1e-12
    zero = few(chain, ti.Worldview(np.zeros((2, 5))), right, showings=3)
    assert zero.status is ti.FewStatus.MATCHED
    twice = few(chain, ti.Worldview(np.eye(5)[[2, 2]]), right)
    assert twice.status is ti.FewStatus.MATCHED and len(twice.shares) <= 3
    one = ti.MDP.from_pairs([0], [0], [[1.0]], [[1.0]], discount=0.5)
    alone = few(one, ti.Worldview(np.eye(1)), ti.Policy.uniform(one), showings=2)
    assert alone.times.tolist() == [2] and alone.drawn == 1


def test_recorded_episodes_are_chosen_as_they_are():
    mdp = ti.worlds.chain(5)
    states, actions = [[0, 1, 2], [3], [0, 1, 2]], [[1, 1, 0], [0], [1, 1, 0]]
    episodes = ti.Trajectories.from_arrays(mdp, states, actions, [False] * 3)
    shown = ti.Demonstration.from_trajectories(mdp, episodes)
    found = few(mdp, ti.Worldview(np.eye(5)), shown, showings=3)
    assert found.times.tolist() == [2, 1] and found.drawn == 2
    assert found.status is ti.FewStatus.MATCHED and found.beyond < 1e-12
    assert "2 episodes of 2" in found.sentence


def test_mistakes_are_told():
    mdp, view = ti.worlds.chain(5), ti.Worldview(np.eye(5))
    policy = ti.Policy.uniform(mdp)
    for name, value in (("horizon", 0), ("drawn", 1.5), ("showings", 0), ("showings", True)):
        options = {"horizon": 3} | {name: value}
        with pytest.raises(ti.InvalidInputError, match=f"{name} must be at least 1, got"):
            few(mdp, view, policy, **options)
    with pytest.raises(ti.InvalidInputError, match="must have a policy or episodes"):
        few(mdp, view, ti.Demonstration(np.zeros(5)))
