"""Sets of plausible rewards: what is in them, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import teachirl as ti
from teachirl.guarantees.plausible.tails import Tail, order_statistic


def test_the_constructors_say_what_they_made():
    listed = ti.Rewards.listed([[1, 0], [0, 1]], chances=[0.25, 0.75])
    assert (listed.kind, listed.convex, listed.mean.tolist()) == ("listed", False, [0.25, 0.75])
    box = ti.Rewards.within([2, -1, 0], 0.5)
    assert box.root.tolist() == [[1, 0], [0, 0.5], [0, 0]]
    assert box.sentence == "any reward with each of 2 weights off by up to 50 %"
    assert ti.Rewards.box([0, 2], [2, 2]).mean.tolist() == [1, 2]
    ball = ti.Rewards.ellipsoid([1, 2], [[0.1], [0]])
    assert ball.convex and ball.sentence == "any reward of an ellipsoid with 1 axis"
    assert repr(ti.Rewards.polytope(np.eye(3))) == "Rewards(any mean of 3 rewards)"
    for each in (listed, box, ball):
        for array in (each.mean, each.points, each.chances, each.root):
            assert not array.flags.writeable


def episodes():
    mdp, rng = ti.worlds.chain(3), np.random.default_rng(0)
    uniform = ti.Policy.uniform(mdp)
    return [ti.sample_trajectories(mdp, uniform, episodes=1, horizon=3, rng=rng)] * 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ti.Rewards.listed([1, 2]), r"shape \(n, k\), a row a reward, got \(2,\)"),
        (lambda: ti.Rewards.listed([[1, np.nan]]), r"finite, got nan at index \(0, 1\)"),
        (lambda: ti.Rewards.listed([[1], [2]], [1]), "one entry for each of 2 rewards"),
        (lambda: ti.Rewards.listed([[1], [2]], [0.5, 0.6]), "sum to 1, got 1.1"),
        (lambda: ti.Rewards.listed([[1], [2]], [1.5, -0.5]), "non-negative, got -0.5 at index 1"),
        (lambda: ti.Rewards.box([1, 3], [2, 2]), "lower must not be above upper, got 3.0"),
        (lambda: ti.Rewards.within([1, 2], -0.1), "share must be non-negative"),
        (lambda: ti.Rewards.within([1, 2], [0.1]), "one for each of 2 weights"),
        (lambda: ti.Rewards.ellipsoid([1, 2], [[1]]), r"root must have shape \(2, r\)"),
        (lambda: ti.Rewards.posterior([1], 3, rng=np.random.default_rng(0)), "infer_weights"),
        (lambda: ti.Rewards.preferring([([1, 0], [1, 0])]), r"preferences\[0\] .* same features"),
        (lambda: ti.Rewards.preferring([]), "at least one pair"),
        (lambda: ti.Rewards.preferring([episodes()] * 2), r"from_trajectories\(mdp, episodes\)"),
        (lambda: ti.Rewards.preferring([([1], [0])], lower=-2, upper=-1), "no weights"),
        (lambda: ti.Rewards.preferring([(np.eye(40)[0], np.eye(40)[1])]), "give samples and rng"),
    ],
)
def test_mistakes_are_named(make, message):
    with pytest.raises(ti.InvalidInputError, match=message):
        make()


def test_preferences_are_half_spaces():
    mdp = ti.worlds.chain(3)
    right, left = (
        ti.Demonstration.of_policy(mdp, ti.Policy.deterministic(mdp, [1, a, 0])) for a in (1, 0)
    )
    said = [(right, left), ([0, 1, 0], [0, 0, 0])]
    rng = np.random.default_rng(0)
    whole = ti.Rewards.preferring(said)
    some = ti.Rewards.preferring(said, samples=300, rng=rng)
    steps = np.array([right.expectations - left.expectations, [0, 1, 0]])
    for rewards in (whole, some):
        assert (rewards.points @ steps.T >= -1e-9).all()
        assert (np.abs(rewards.points) <= 1 + 1e-9).all()
    # A slow twin: what is drawn from the box and fits is a mean of the vertices.
    tried = rng.uniform(-1, 1, (200, 3))
    fits = (tried @ steps.T >= 0).all(axis=1)
    for w, is_in in zip(tried, fits, strict=True):
        assert inside(whole.points, w) == is_in
    # Spread evenly: the means of the samples and of what fits agree.
    even = rng.uniform(-1, 1, (20_000, 3))
    even = even[(even @ steps.T >= 0).all(axis=1)]
    assert np.abs(some.mean - even.mean(axis=0)).max() < 0.12


def inside(vertices, w):
    from scipy.optimize import linprog

    table = np.vstack([vertices.T, np.ones(len(vertices))])
    found = linprog(np.zeros(len(vertices)), A_eq=table, b_eq=np.append(w, 1.0))
    return found.status == 0


@pytest.mark.parametrize(
    "rewards",
    [
        ti.Rewards.listed([[1, 0, 2], [0, 1, 1]]),
        ti.Rewards.polytope([[1, 0, 2], [0, 1, 1]]),
        ti.Rewards.within([1, 2, 0], 0.2),
        ti.Rewards.ellipsoid([1, 2, 0], 0.1 * np.eye(3)[:, :2]),
    ],
)
def test_what_is_drawn_is_plausible(rewards):
    drawn = rewards.draw(np.random.default_rng(0), 50)
    assert drawn.shape == (50, 3)
    if len(rewards.points):
        assert all(inside(rewards.points, w) for w in drawn)
    else:
        z = np.linalg.lstsq(rewards.root, (drawn - rewards.mean).T, rcond=None)[0].T
        order = np.inf if rewards.kind == "box" else 2
        assert (np.linalg.norm(z, order, axis=1) <= 1 + 1e-12).all()
        assert np.linalg.norm(z, order, axis=1).max() > 0.9


def test_order_statistics():
    assert order_statistic(200, 0.1, 0.95) == 13 - 1
    assert order_statistic(200, 0.05, 0.95) == 5 - 1
    assert order_statistic(59, 0.05, 0.95) == 0
    with pytest.raises(ti.InvalidInputError, match="takes 59 samples at least, got 58"):
        order_statistic(58, 0.05, 0.95)
    # It is what it says: the share of draws whose 13th of 200 is below the 10 % quantile.
    rng = np.random.default_rng(0)
    below = np.sort(rng.random((4000, 200)), axis=1)[:, 12] <= 0.1
    assert 0.95 < below.mean() < 0.985


def test_tails_of_lists():
    values, chances = np.array([3.0, 1.0, 2.0]), np.array([0.5, 0.2, 0.3])
    assert Tail(ti.Measure.LEAST, 0.0, 1.0).of(values, chances) == 1.0
    for share, quantile, mean in [(0.1, 1, 1), (0.2, 2, 1), (0.4, 2, 1.5), (0.5, 3, 1.6)]:
        assert Tail(ti.Measure.QUANTILE, share, 1.0).of(values, chances) == quantile
        assert Tail(ti.Measure.CVAR, share, 1.0).of(values, chances) == pytest.approx(mean)


def test_the_largest_risk_of_a_subspace_is_the_sine_of_the_largest_angle():
    from scipy.linalg import subspace_angles

    rng = np.random.default_rng(0)
    for _ in range(10):
        view = ti.Worldview(rng.standard_normal((4, 9)))
        axes = np.linalg.qr(rng.standard_normal((9, 3)))[0]
        largest = np.sin(subspace_angles(view.matrix.T, axes).max())
        found = ti.teaching_risk(view, ti.Rewards.ellipsoid(np.zeros(9), axes))
        assert found == pytest.approx(largest, abs=1e-9)


def test_the_largest_risk_of_an_ellipsoid_is_met_and_not_exceeded():
    rng = np.random.default_rng(1)
    for trial in range(30):
        view = ti.Worldview(rng.standard_normal((3, 6)))
        rank = 1 + trial % 5
        root = rng.standard_normal((6, rank)) * rng.choice([0.1, 0.5, 3.0])
        rewards = ti.Rewards.ellipsoid(rng.standard_normal(6), root)
        most = ti.teaching_risk(view, rewards)
        z = rng.standard_normal((4000, rank))
        z /= np.linalg.norm(z, axis=1, keepdims=True)
        drawn = np.vstack([rewards.mean + z @ root.T, rewards.draw(rng, 2000)])
        hidden = drawn - (drawn @ view.basis.T) @ view.basis
        risks = np.linalg.norm(hidden, axis=1) / np.linalg.norm(drawn, axis=1)
        assert risks.max() - 1e-9 <= most <= 1.0
        assert most - risks.max() < (0.02 if rank < 3 else 0.35)


def test_the_risk_of_lists_and_of_what_has_none():
    view = ti.Worldview([[1.0, 0.0]])
    assert ti.teaching_risk(view, ti.Rewards.listed([[1, 0], [3, 4]])) == pytest.approx(0.8)


def test_the_largest_risk_of_a_polytope_need_not_be_at_a_vertex():
    view = ti.Worldview([[1.0, 0.0]])
    across = ti.largest_risk(view, ti.Rewards.polytope([[1, 0.1], [-1, 0.1]]))
    assert across.upper == 1.0 and across.lower == pytest.approx(1.0)
    assert across.weights == pytest.approx([0.0, 0.1])
    # One feature is seen, and its weight does not change its sign: the worst corner, exactly.
    for rewards in (ti.Rewards.within([1, 1], 0.1), ti.Rewards.box([0.9, -1.1], [1.1, 0.5])):
        found = ti.largest_risk(view, rewards)
        assert found.lower == pytest.approx(1.1 / np.hypot(1.1, 0.9), abs=1e-9)
        assert found.upper == pytest.approx(found.lower, abs=1e-8)
    nothing = ti.largest_risk(ti.Worldview(np.eye(2)), ti.Rewards.within([1, 1], 0.1))
    assert nothing.upper < 1e-9
    assert ti.teaching_risk(ti.Worldview(np.empty((0, 2))), ti.Rewards.within([1, 1], 0.1)) == 1.0


@pytest.mark.parametrize("features", [4, 14])
def test_the_largest_risk_of_boxes_and_polytopes_is_met_and_not_exceeded(features):
    rng = np.random.default_rng(2)
    for share in (0.05, 0.3, 0.3, 1.5):
        view, w = ti.Worldview(rng.normal(size=(3, features))), rng.normal(size=features)
        points = w + share * rng.normal(size=(5, features))
        for rewards in (ti.Rewards.within(w, share), ti.Rewards.polytope(points)):
            found = ti.largest_risk(view, rewards)
            drawn = rewards.draw(rng, 3000)
            corners = rng.choice([-1.0, 1.0], (500, rewards.root.shape[1])) @ rewards.root.T
            drawn = np.vstack([drawn, rewards.mean + corners, rewards.points])
            hidden = drawn - (drawn @ view.basis.T) @ view.basis
            risks = np.linalg.norm(hidden, axis=1) / np.linalg.norm(drawn, axis=1)
            assert risks.max() <= found.upper <= 1.0
            assert ti.teaching_risk(view, found.weights) == pytest.approx(found.lower, abs=1e-9)
            if features == 4:
                assert risks.max() <= found.lower + 1e-3
            if rewards.kind == "box":
                assert (np.abs(found.weights - w) <= share * np.abs(w) + 1e-12).all()


def test_several_rewards_are_scored_by_the_mean_of_their_squared_risks():
    """Against the formula, feature by feature; of one reward the plan is today's."""
    rng = np.random.default_rng(5)
    view = ti.Worldview(rng.normal(size=(1, 6)))
    candidates, points = rng.normal(size=(7, 6)), rng.normal(size=(4, 6))
    chances = rng.dirichlet(np.ones(4))
    rewards = ti.Rewards.listed(points, chances)
    plan = ti.greedy_plan(view, rewards, candidates, size=3)
    seen = view
    for chosen in plan.chosen:
        left = [
            sum(
                p * ti.teaching_risk(seen.extend(row), w) ** 2
                for p, w in zip(chances, points, strict=True)
            )
            for row in candidates
        ]
        assert chosen == int(np.argmin(left))
        seen = seen.extend(candidates[chosen])
    assert plan.risk == pytest.approx(np.sqrt(min(left)), abs=1e-12)
    one, alone = ti.Rewards.listed(points[:1]), ti.greedy_plan(view, points[0], candidates)
    same = ti.greedy_plan(view, one, candidates)
    assert same.chosen == alone.chosen and same.risk == pytest.approx(alone.risk, abs=1e-12)
    dear = {"max_cost": 3.0, "costs": rng.uniform(0.5, 2.0, 7)}
    by_cost = ti.greedy_plan(view, points[0], candidates, **dear)
    assert ti.greedy_plan(view, one, candidates, **dear).chosen == by_cost.chosen
    with pytest.raises(
        ti.InvalidInputError, match="listed or sampled, got any reward with each of 6"
    ):
        ti.greedy_plan(view, ti.Rewards.within(points[0], 0.1), candidates)


def test_a_teacher_for_all_rewards():
    """Either reward alone is a feature of its own and a little of the third, which both share."""
    mdp = ti.worlds.chain(4)
    rewards = ti.Rewards.listed([[1.0, 0.0, 0.0, 0.9], [-1.0, 0.0, 0.0, 0.9]], [0.6, 0.4])
    task = ti.Task(mdp, rewards, ti.Worldview(np.empty((0, 4))), np.eye(4))
    for teacher, first in ((ti.teachers.TRGreedy(), 3), (ti.teachers.TRGreedy(every=True), 0)):
        learner, rng = ti.learners.MinNormPoint(), np.random.default_rng(0)
        lesson = ti.teach(task, teacher, learner, rng=rng, budget=1, tolerance=-1)
        assert lesson.taught == (first,)
    assert repr(ti.teachers.TRGreedy(every=True)) == "TRGreedy(every=True)"
