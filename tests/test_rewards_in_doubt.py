"""Several plausible rewards in a world that is known from a log: slow twins, and known answers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import teachirl as ti
from teachirl.guarantees.plausible.tails import Tail
from teachirl.mdp.robust_planning import respond
from test_estimated import in_doubt, joint_program, random_model, two_states

CRITERIA = ("performance", "gap", "regret", "reward")
BLIND = ti.Worldview(np.empty((0, 4)))


def certified(model, view, rewards, shown, criterion, tail=None, measure=None, **limits):
    asked = ti.Judgement(criterion, tail, measure)
    return ti.certify(model, view, rewards, shown, judgement=asked, **limits)


def case(seed):
    """A model, a view, weights, a policy, and what it does in the estimate, as if recorded."""
    rng, model = random_model(seed)
    view, w = ti.Worldview(rng.normal(size=(2, 4))), rng.normal(size=4)
    policy = ti.optimal_policy(model.nominal, w).policy
    recorded = ti.Demonstration(ti.feature_expectations(model.nominal, policy))
    return rng, model, view, w, policy, recorded


def proved(model, view, w, shown):
    """What is to be proved of each criterion for one reward, by HiGHS and single plans."""
    policy = shown if isinstance(shown, ti.Policy) else None
    target = None if policy is not None else shown.expectations
    least = joint_program(model, view, w, target, policy)
    most = -joint_program(model, BLIND, -w, np.zeros(4))
    low = -respond(model, -w, nature=-1).lower
    earned = w @ target if policy is None else respond(model, w, nature=1, policy=policy).upper
    return {
        "performance": max(least - low, 0.0) / (most - low),
        "gap": earned - least,
        "regret": most - least,
        "reward": least,
    }


def test_known_answer_of_two_states():
    model, view = two_states(), ti.Worldview(np.eye(2)[:1])
    policy = ti.Policy.uniform(model.nominal)
    recorded = ti.Demonstration(ti.feature_expectations(model.nominal, policy))
    for rewards in (ti.Rewards.listed([[1, 0], [2, 0]]), ti.Rewards.box([1, 0], [2, 0])):
        assert ti.worst_case(model, view, rewards, recorded).lower == pytest.approx(1.818182)
        by_policy = ti.worst_case(model, view, rewards, policy)
        assert by_policy.lower == pytest.approx(1.5625, abs=1e-6)
        assert by_policy.weights.tolist() == [1.0, 0.0]
        assert by_policy.confidence == pytest.approx(0.95)
        gap = certified(model, view, rewards, policy, "gap")
        assert gap.guaranteed == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", ["recorded", "policy"])
def test_lists_agree_with_joint_linear_programs(seed, kind):
    rng, model, view, w, policy, recorded = case(seed)
    shown = policy if kind == "policy" else recorded
    points, chances = w + 0.5 * rng.normal(size=(8, 4)), rng.dirichlet(np.ones(8))
    rewards = ti.Rewards.listed(points, chances)
    twins = [proved(model, view, point, shown) for point in points]
    for criterion in CRITERIA:
        sign = -1.0 if criterion in ("gap", "regret") else 1.0
        each = sign * np.array([twin[criterion] for twin in twins])
        for tail, measure in [(None, None), (0.3, "quantile"), (0.3, "cvar")]:
            found = certified(model, view, rewards, shown, criterion, tail, measure)
            said = Tail(found.tail.measure, found.tail.share, 1.0).of(each, chances)
            # A gap to a policy is proved in a better way as well; all else is what it should be.
            assert sign * found.guaranteed >= said - 1e-5
            if (criterion, kind) != ("gap", "policy"):
                assert sign * found.guaranteed <= said + 1e-5
            assert found.lower <= found.upper and (found.each[:, 0] <= found.each[:, 1]).all()
            exact = criterion == "reward" or (criterion, kind) == ("gap", "recorded")
            status = ti.RewardsStatus
            assert found.status in (
                (status.OPTIMAL,) if exact else (status.OPTIMAL, status.IN_DOUBT)
            )


@pytest.mark.parametrize("seed", range(2))
def test_the_other_end_is_reached_by_the_witness_in_its_world(seed):
    rng, model, view, w, _, recorded = case(seed)
    points = ti.Rewards.listed(w + 0.5 * rng.normal(size=(6, 4)))
    for criterion, rewards in itertools.product(CRITERIA, (points, ti.Rewards.within(w, 0.2))):
        found = certified(model, view, rewards, recorded, criterion)
        world, worst = found.worst.world, found.weights
        there = ti.feature_expectations(world, found.witness)
        assert np.abs(view.matrix @ (there - recorded.expectations)).max() < 1e-5
        best = ti.optimal_policy(world, worst).value
        met = {
            "performance": ti.relative_performance(world, worst, found.witness),
            "gap": worst @ (recorded.expectations - there),
            "regret": best - worst @ there,
            "reward": worst @ there,
        }[criterion]
        assert met == pytest.approx(
            found.upper if criterion in ("performance", "reward") else found.lower, abs=1e-4
        )


def kinds(rng, w):
    root = 0.3 * rng.normal(size=(4, 2))
    return [
        ti.Rewards.within(w, 0.3),
        ti.Rewards.polytope(w + 0.5 * rng.normal(size=(5, 4))),
        ti.Rewards.ellipsoid(w, root),
    ]


@pytest.mark.parametrize("seed", range(2))
def test_without_doubt_all_is_as_in_the_mdp(seed):
    rng, model, view, w, policy, _ = case(seed)
    known, same = model.nominal, in_doubt(model.nominal, 0.0)
    rewards = [ti.Rewards.listed(w + 0.5 * rng.normal(size=(6, 4))), *kinds(rng, w)]
    for criterion, several in itertools.product(CRITERIA, rewards):
        there = certified(known, view, several, policy, criterion)
        here = certified(same, view, several, policy, criterion)
        apart = 1e-4 + 0.011 * abs(there.guaranteed) * (several.kind == "ellipsoid")
        assert here.guaranteed == pytest.approx(there.guaranteed, abs=apart)
        assert here.confidence == pytest.approx(0.95) and there.confidence == 1.0


def test_one_reward_is_what_certify_says_bit_for_bit():
    for seed in range(2):
        _, model, view, w, policy, recorded = case(seed)
        one = ti.Rewards.listed([w])
        for shown in (policy, recorded):
            today = ti.certify(model, view, w, shown, theorems=False)
            assert ti.certify(model, view, one, shown).guaranteed == today.guaranteed
            gap = certified(model, view, one, shown, "gap")
            assert gap.guaranteed == today.against_expert
            assert ti.worst_case(model, view, one, shown).lower == today.worst.lower
            assert gap.confidence == today.confidence


@pytest.mark.parametrize("seed", range(2))
def test_what_is_proved_holds_in_every_world_and_for_every_reward(seed):
    """Whichever world of the sets it is: what matches there does as well as was promised."""
    rng, model, view, w, policy, _ = case(seed)
    uniform = ti.Policy.uniform(model.nominal)
    # The worst world for something, half way to the estimate.
    far = respond(model, rng.normal(size=4), nature=1, policy=uniform).rows
    world = model.world(0.7 * far + 0.3 * model.successors.data)
    recorded = ti.Demonstration(ti.feature_expectations(world, policy))
    for rewards, shown in itertools.product(kinds(rng, w), (policy, recorded)):
        some = ti.Rewards.listed(np.vstack([rewards.draw(rng, 6), rewards.mean]))
        for criterion in CRITERIA:
            promised = certified(model, view, rewards, shown, criterion)
            true = certified(world, view, some, shown, criterion)
            if criterion in ("gap", "regret"):
                assert true.upper <= promised.upper + 1e-6
            else:
                assert true.lower >= promised.lower - 1e-6
            assert promised.lower <= promised.upper


def test_a_large_box_and_recorded_episodes():
    rng = np.random.default_rng(0)
    mdp = ti.worlds.garnet(rng, 12, 2, 3, 11, discount=0.8)
    model, view = in_doubt(mdp, 0.05), ti.Worldview(rng.normal(size=(8, 11)))
    w = rng.normal(size=11)
    policy = ti.optimal_policy(mdp, w).policy
    episodes = ti.sample_trajectories(mdp, policy, episodes=400, horizon=40, rng=rng)
    shown = ti.Demonstration.from_trajectories(mdp, episodes)
    box, some = (
        ti.Rewards.within(w, 0.05),
        ti.Rewards.listed(ti.Rewards.within(w, 0.05).draw(rng, 10)),
    )
    within = shown.error_in(view)
    for criterion in CRITERIA:
        asked = ti.Judgement(criterion)
        promised = ti.certify(model, view, box, shown, within, judgement=asked)
        true = ti.certify(mdp, view, some, policy, judgement=asked)
        assert promised.confidence == pytest.approx(0.9)
        if criterion in ("gap", "regret"):
            assert true.upper <= promised.upper + 1e-6
        else:
            assert true.lower >= promised.lower - 1e-6


def test_visible_doubt_is_free_of_what_was_recorded():
    rng, model, view, w, _, recorded = case(0)
    shift = view.matrix.T @ rng.normal(size=2)
    one = certified(model, view, ti.Rewards.listed([w]), recorded, "gap")
    ball = certified(model, view, ti.Rewards.ellipsoid(w, shift[:, None]), recorded, "gap")
    assert ball.solved == 1 and ball.upper == pytest.approx(one.upper, abs=1e-6)


def test_nobody_matches_what_cannot_be():
    _, model, view, w, _, _ = case(0)
    for rewards in (ti.Rewards.listed([w, 2 * w]), ti.Rewards.within(w, 0.1)):
        found = ti.certify(model, view, rewards, ti.Demonstration(100 * np.ones(4)))
        assert found.status is ti.RewardsStatus.INFEASIBLE and found.guaranteed == 0.0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("policy", [True, False])
def test_of_a_tiny_set_the_performance_is_that_of_its_middle(seed, policy):
    """The range that serves all rewards of a convex set is exact in the middle of it."""
    _, model, view, w, *shown = case(seed)
    shown = shown[0 if policy else 1]
    one = ti.certify(model, view, w, shown).guaranteed
    found = ti.certify(model, view, ti.Rewards.within(w, 1e-7), shown).lower
    assert found == pytest.approx(one, abs=1e-5)
    assert found <= one + 1e-9


def test_of_opposite_rewards_the_one_that_gets_nothing_is_named():
    world, w = ti.worlds.gridworld(3, slip=0.2), np.arange(9.0) - 4.0
    # Each pair tried so often that what follows is nearly known.
    counts = np.rint(1e6 * world.dynamics.transitions.toarray()).astype(int).reshape(9, 4, 9)
    model = ti.estimate_mdp(counts, np.eye(9), discount=0.9, successors=world)
    policy = ti.optimal_policy(model.nominal, w).policy
    rewards = ti.Rewards.listed([w, 1.0 - w, w + 0.1])
    found = certified(model, ti.Worldview(np.eye(9)), rewards, policy, "performance")
    assert found.weights.tolist() == rewards.points[1].tolist()
    assert found.upper == found.each[1, 1] < 0.01 and found.each[0, 0] > 0.9
