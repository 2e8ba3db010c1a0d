"""Guarantees over several rewards: known answers, slow twins, and today's answers for one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

import teachirl as ti
from teachirl.guarantees.plausible.tails import Tail, order_statistic
from teachirl.what_to_show.mixtures import best_mixture

GAP = ti.Judgement("gap")
CRITERIA = ("performance", "gap", "regret", "reward")


def bandit(features, discount=0.5):
    """One decision with these features [n, k] a choice, then nothing."""
    n, k = np.shape(features)
    end = np.zeros((n + 1, 2))
    end[:, 1] = 1.0
    rows = np.vstack([features, np.zeros(k)])
    states, actions = np.append(np.zeros(n, int), 1), np.append(np.arange(n), 0)
    return ti.MDP.from_pairs(
        states, actions, sp.csr_array(end), rows, discount=discount, start=[1.0, 0.0]
    )


def least_of(mdp, view, w, mu):
    """g by HiGHS on the linear program over occupancies."""
    flow, phi = flow_of(mdp)
    seen = np.vstack([flow, view.matrix @ phi.T])
    return linprog(phi @ w, A_eq=seen, b_eq=np.append(mdp.start, view.matrix @ mu)).fun


def range_of(mdp, w):
    """max R and min R likewise."""
    flow, phi = flow_of(mdp)
    return (sign * linprog(sign * phi @ w, A_eq=flow, b_eq=mdp.start).fun for sign in (-1, 1))


def flow_of(mdp):
    """Which occupancies there are, as equations, and the features of pairs."""
    dynamics = mdp.dynamics
    start = sp.csr_array(
        (np.ones(mdp.n_pairs), (dynamics.pair_states, np.arange(mdp.n_pairs))),
        shape=(mdp.n_states, mdp.n_pairs),
    )
    phi = mdp.features if isinstance(mdp.features, np.ndarray) else mdp.features.toarray()
    phi = phi if mdp.features_per_pair else phi[dynamics.pair_states]
    return (start - mdp.discount * dynamics.transitions.T).toarray(), phi


def values(mdp, view, w, mu):
    """What each criterion is, for one reward."""
    least, (most, worst) = least_of(mdp, view, w, mu), range_of(mdp, w)
    return {
        "performance": 1.0 if most - worst < 1e-9 else (least - worst) / (most - worst),
        "gap": w @ mu - least,
        "regret": most - least,
        "reward": least,
    }


def case(seed, rows=2, states=6, features=5):
    rng = np.random.default_rng(seed)
    mdp = ti.worlds.garnet(rng, states, 3, 2, features)
    view = ti.Worldview(rng.standard_normal((rows, features)))
    w = rng.standard_normal(features)
    return rng, mdp, view, w, ti.optimal_policy(mdp, w).policy


@pytest.mark.parametrize("seed", range(3))
def test_lists_agree_with_linear_programs(seed):
    rng, mdp, view, w, shown = case(seed)
    points = w + 0.7 * rng.standard_normal((12, len(w)))
    chances = rng.dirichlet(np.ones(12))
    mu = ti.feature_expectations(mdp, shown)
    all_of = [values(mdp, view, point, mu) for point in points]
    rewards = ti.Rewards.listed(points, chances)
    for criterion in CRITERIA:
        each = np.array([found_of[criterion] for found_of in all_of])
        check_list(mdp, view, rewards, chances, shown, criterion, each)


def check_list(mdp, view, rewards, chances, shown, criterion, each):
    """What is said of a list of rewards, given what the criterion is for each of them."""
    mu = ti.feature_expectations(mdp, shown)
    better = -1.0 if criterion in ("gap", "regret") else 1.0
    for tail, measure in [(None, None), (0.3, "quantile"), (0.3, "cvar")]:
        asked = ti.Judgement(criterion, tail, measure)
        found = ti.certify(mdp, view, rewards, shown, judgement=asked)
        of = Tail(found.tail.measure, found.tail.share, 1.0).of(better * each, chances)
        assert found.lower - 1e-6 <= better * of <= found.upper + 1e-6
        assert found.upper - found.lower <= 1e-4
        assert (found.each[:, 0] <= each + 1e-6).all() and (each <= found.each[:, 1] + 1e-6).all()
        assert found.status is ti.RewardsStatus.OPTIMAL and found.solved <= 13
    # The witness looks right, and is that bad under the weights that are named.
    least = ti.certify(mdp, view, rewards, shown, judgement=ti.Judgement(criterion))
    assert values(mdp, view, least.weights, mu)[criterion] == pytest.approx(
        least.guaranteed, abs=1e-5
    )
    there = ti.feature_expectations(mdp, least.witness)
    assert np.abs(view.matrix @ (there - mu)).max() < 1e-6


def test_one_reward_is_todays_answer_bit_for_bit():
    for seed in range(3):
        _, mdp, view, w, shown = case(seed)
        one = ti.Rewards.listed([w])
        today = ti.certify(mdp, view, w, shown, theorems=False)
        assert ti.certify(mdp, view, one, shown).guaranteed == today.guaranteed
        gap = ti.certify(mdp, view, one, shown, judgement=GAP)
        assert gap.guaranteed == today.against_expert
        worst, several = ti.worst_case(mdp, view, w, shown), ti.worst_case(mdp, view, one, shown)
        assert (several.lower, several.upper) == (worst.lower, worst.upper)
        assert several.criterion == "reward" and (several.weights == w).all()
        assert (several.witness.probabilities == worst.witness.probabilities).all()
        for same in (ti.Rewards.polytope([w, w]), ti.Rewards.within(w, 0.0)):
            assert ti.worst_case(mdp, view, same, shown).lower == worst.lower


def test_performance_is_not_worst_at_a_vertex():
    mdp = bandit([[0, 0], [0, 1], [1, 0], [1, 1]])
    view = ti.Worldview([[1.0, 0.0]])
    shown = ti.Policy.from_matrix(mdp, [[0, 0.5, 0, 0.5], [1, 0, 0, 0]])
    ends = [[1.0, 0.1], [-1.0, 0.1]]
    finite = ti.certify(mdp, view, ti.Rewards.listed(ends), shown)
    assert finite.lower == pytest.approx(0.5 / 1.1, abs=1e-6)
    whole = ti.certify(mdp, view, ti.Rewards.polytope(ends), shown)
    assert whole.lower == 0.0 <= whole.upper < 1e-9
    assert whole.weights.tolist() == [0.0, 0.1]


def test_visible_and_constant_doubt_is_free():
    for seed in range(3):
        rng, mdp, view, w, shown = case(seed)
        gap = ti.certify(mdp, view, w, shown, theorems=False).against_expert
        shift = view.matrix.T @ rng.standard_normal(view.n_rows)
        for other in (w + shift, w - 2 * shift):
            again = ti.certify(mdp, view, other, shown, theorems=False).against_expert
            assert again == pytest.approx(gap, abs=1e-6)
        # A box and a ball of visible doubt: one worst case, and the same gap.
        ball = ti.Rewards.ellipsoid(w, np.outer(shift, [1.0, 0.5, 0.2, 0.1, 1.0, 3.0]))
        found = ti.certify(mdp, view, ball, shown, judgement=GAP)
        assert found.solved == 1 and found.status is ti.RewardsStatus.OPTIMAL
        assert found.upper == pytest.approx(gap, abs=1e-6)
        assert (
            ti.certify(mdp, view, ball, shown, judgement=ti.Judgement("regret")).upper > gap + 1e-3
        )


def test_doubt_that_no_policy_can_change_is_free():
    mdp, w = ti.worlds.chain(5), np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    view, shown = ti.Worldview.select(mdp, ["cell 3"]), ti.optimal_policy(mdp, w).policy
    gap = ti.certify(mdp, view, w, shown, theorems=False).against_expert
    assert gap > 1.0
    # One is always in one of the cells: weights that all rise alike are a constant reward.
    for constant in (7.0, -3.0):
        again = ti.certify(mdp, view, w + constant, shown, theorems=False).against_expert
        assert again == pytest.approx(gap, abs=1e-6)
    ball = ti.Rewards.ellipsoid(w, 5.0 * np.ones((5, 1)))
    found = ti.certify(mdp, view, ball, shown, judgement=GAP)
    assert found.solved == 1 and found.status is ti.RewardsStatus.OPTIMAL
    assert found.upper == pytest.approx(gap, abs=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_boxes_and_polytopes_are_worst_at_a_corner(seed):
    _, mdp, view, w, shown = case(seed)
    mu = ti.feature_expectations(mdp, shown)
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * 5)).reshape(5, -1).T
    corners = w + 0.4 * signs * np.abs(w)
    all_of = [values(mdp, view, corner, mu) for corner in corners]
    kinds = (ti.Rewards.within(w, 0.4), ti.Rewards.polytope(corners))
    for criterion, rewards in itertools.product(("gap", "regret", "reward"), kinds):
        each = [found_of[criterion] for found_of in all_of]
        expected = min(each) if criterion == "reward" else max(each)
        found = ti.certify(mdp, view, rewards, shown, judgement=ti.Judgement(criterion))
        assert found.lower - 1e-6 <= expected <= found.upper + 1e-6
        assert found.upper - found.lower < 1e-4 and found.solved < 32
        assert (np.abs(found.weights - w) <= 0.4 * np.abs(w) + 1e-12).all()


@pytest.mark.parametrize("seed", range(2))
def test_over_a_polytope_performance_counts_from_one_bad_policy(seed):
    rng, mdp, view, w, shown = case(seed)
    mu = ti.feature_expectations(mdp, shown)
    vertices = w + 0.5 * rng.standard_normal((5, 5))
    rewards = ti.Rewards.polytope(vertices)
    found = ti.certify(mdp, view, rewards, shown)
    bad = ti.feature_expectations(mdp, ti.worst_policy(mdp, rewards.mean).policy)
    shares = []
    for vertex in vertices:
        least, (most, _) = least_of(mdp, view, vertex, mu), range_of(mdp, vertex)
        shares.append((least - vertex @ bad) / (most - vertex @ bad))
    assert found.lower == pytest.approx(max(min(shares), 0.0), abs=1e-5)
    inside = [values(mdp, view, point, mu)["performance"] for point in rewards.draw(rng, 20)]
    assert found.lower <= min(inside) + 1e-6


def test_with_features_that_are_never_negative_the_low_corner_earns_least():
    rng = np.random.default_rng(0)
    mdp = ti.worlds.gridworld(6, 2)
    w = rng.standard_normal(mdp.n_features)
    view = ti.Worldview(rng.standard_normal((2, mdp.n_features)))
    shown = ti.optimal_policy(mdp, w).policy
    lower = w - 0.3 * np.abs(w)
    found = ti.worst_case(mdp, view, ti.Rewards.within(w, 0.3), shown)
    assert found.solved == 2 and found.status is ti.RewardsStatus.OPTIMAL
    assert found.lower == pytest.approx(ti.worst_case(mdp, view, lower, shown).lower, abs=1e-9)


def test_a_large_box_has_an_interval_that_holds():
    rng, mdp, view, w, shown = case(3, rows=4, states=12, features=11)
    mu = ti.feature_expectations(mdp, shown)
    drawn = w + rng.choice([-0.2, 0.2], (40, 11)) * np.abs(w)
    all_of = [values(mdp, view, point, mu) for point in drawn]
    for criterion in CRITERIA:
        rewards = ti.Rewards.within(w, 0.2)
        found = ti.certify(mdp, view, rewards, shown, judgement=ti.Judgement(criterion))
        each = [found_of[criterion] for found_of in all_of]
        if criterion in ("gap", "regret"):
            assert max(each) <= found.upper + 1e-6
        else:
            assert min(each) >= found.lower - 1e-6
        there = values(mdp, view, found.weights, mu)[criterion]
        assert found.lower - 1e-6 <= there <= found.upper + 1e-6
        # What those who match can have of each feature says much of what is lost.
        scale = {"performance": 0.3, "regret": 6.0}.get(criterion, 1.0)
        assert found.lower <= found.upper <= found.lower + scale


def test_of_a_large_box_nothing_is_lost_where_all_that_counts_is_seen():
    rng, mdp, _, w, shown = case(3, states=12, features=11)
    everything, rewards = ti.Worldview(np.eye(11)), ti.Rewards.within(w, 0.2)
    gap = ti.certify(mdp, everything, rewards, shown, judgement=GAP)
    assert gap.upper <= 1e-6
    found = ti.certify(mdp, everything, rewards, shown)
    earned = ti.feature_expectations(mdp, shown)
    for point in rewards.draw(rng, 20):
        most, worst = range_of(mdp, point)
        assert found.lower <= (point @ earned - worst) / (most - worst) + 1e-6
    assert 0.5 < found.lower <= found.upper


@pytest.mark.parametrize("rank", [1, 2, 3, 6])
def test_ellipsoids(rank):
    rng, mdp, view, w, shown = case(rank, rows=2, states=10, features=9)
    mu = ti.feature_expectations(mdp, shown)
    root = 0.3 * rng.standard_normal((9, rank))
    rewards = ti.Rewards.ellipsoid(w, root)
    found = ti.certify(mdp, view, rewards, shown, judgement=GAP)
    drawn = rewards.draw(rng, 60)
    for z in (drawn - w) @ np.linalg.pinv(root).T:
        edge = w + root @ (z / np.linalg.norm(z))
        assert edge @ mu - least_of(mdp, view, edge, mu) <= found.upper + 1e-6
    z = np.linalg.lstsq(root, found.weights - w, rcond=None)[0]
    assert np.linalg.norm(z) <= 1 + 1e-9 and np.allclose(w + root @ z, found.weights)
    assert found.weights @ mu - least_of(mdp, view, found.weights, mu) >= found.lower - 1e-6
    if rank <= 4:
        assert found.status is ti.RewardsStatus.OPTIMAL
        assert found.upper - found.lower <= 0.011 * found.upper
    lowest = ti.certify(mdp, view, rewards, shown)
    each = [values(mdp, view, point, mu)["performance"] for point in drawn[:20]]
    assert lowest.lower <= min(each) + 1e-6


@pytest.mark.parametrize("rank", [2, 3, 4])
def test_ellipsoids_where_the_largest_gap_is_known(rank):
    """One choice of many, none of it seen: max over i of ⟨w₀, d_i⟩ + ‖d_i‖, d_i what is lost."""
    rng = np.random.default_rng(rank)
    phi, w = rng.normal(size=(12, rank)), 0.3 * rng.normal(size=rank)
    mdp, lost = bandit(phi), phi[0] - phi
    shown = ti.Policy.deterministic(mdp, [0, 0])
    rewards, view = ti.Rewards.ellipsoid(w, np.eye(rank)), ti.Worldview(np.empty((0, rank)))
    found = ti.certify(mdp, view, rewards, shown, judgement=GAP)
    largest = max(lost @ w + np.linalg.norm(lost, axis=1))
    assert found.lower - 1e-9 <= largest <= found.upper <= 1.011 * largest


def test_what_cannot_be_is_refused_or_said():
    _, mdp, view, w, shown = case(0)
    one = ti.Rewards.listed([w, -w])
    for options, message in [
        ({"tail": 1.0}, "tail must lie strictly between 0 and 1"),
        ({"confidence": 0.0}, "confidence must lie strictly between 0 and 1"),
        ({"criterion": "luck"}, "criterion must be one of performance, gap"),
        ({"measure": "cvar"}, "tail is needed for a quantile or the mean"),
    ]:
        with pytest.raises(ti.InvalidInputError, match=message):
            ti.Judgement(**options)
    with pytest.raises(ti.InvalidInputError, match="of one reward"):
        ti.certify(mdp, view, one, shown, target=0.5)
    with pytest.raises(ti.InvalidInputError, match="tail needs chances"):
        ti.certify(mdp, view, ti.Rewards.within(w, 0.1), shown, judgement=ti.Judgement(tail=0.1))
    with pytest.raises(ti.InvalidInputError, match="judgement is of several"):
        ti.certify(mdp, view, w, shown, judgement=ti.Judgement(tail=0.1))
    with pytest.raises(ti.InvalidInputError, match="must have 5 weights, one a feature, got 2"):
        ti.certify(mdp, view, ti.Rewards.listed([[1, 2]]), shown)
    with pytest.raises(ti.InvalidInputError, match="their `mean` is one"):
        ti.best_case(mdp, view, one, shown)
    with pytest.raises(ti.InvalidInputError, match="several are plausible, and one is needed"):
        ti.optimal_policy(mdp, one)
    nowhere = ti.Demonstration(100 * np.ones(5))
    for rewards in (one, ti.Rewards.within(w, 0.1)):
        found = ti.certify(mdp, view, rewards, nowhere)
        assert found.status is ti.RewardsStatus.INFEASIBLE and found.guaranteed == 0.0
        assert ti.certify(mdp, view, rewards, nowhere, judgement=GAP).guaranteed == np.inf
        assert ti.worst_case(mdp, view, rewards, nowhere).guaranteed == np.inf
    with pytest.raises(ti.InvalidInputError, match="the middle of the rewards must not be zero"):
        ti.certify(mdp, view, ti.Rewards.box(-np.ones(5), np.ones(5)), shown)
    early = ti.certify(mdp, view, one, shown, max_seconds=1e-9)
    assert 0.0 <= early.lower <= early.upper <= 1.0


def test_samples_speak_with_confidence():
    rng, mdp, view, w, shown = case(1)
    rewards = ti.Rewards.sampled(w + 0.3 * rng.standard_normal((100, 5)))
    least = ti.certify(mdp, view, rewards, shown)
    assert 0.0295 < least.beyond < 0.0296 and least.confidence == pytest.approx(0.95)
    assert "under all but 3 % of plausible rewards, with confidence 95 %" in str(least)
    tenth = ti.certify(mdp, view, rewards, shown, judgement=ti.Judgement(tail=0.1))
    each = np.sort(
        ti.certify(
            mdp, view, rewards, shown, judgement=ti.Judgement(tail=0.9, measure="cvar")
        ).each[:, 0]
    )
    assert tenth.lower == pytest.approx(each[order_statistic(100, 0.1, 0.95)], abs=1e-5)
    assert least.solved < 60 and least.lower <= tenth.lower


def test_a_mixture_is_best_to_show_where_opinions_differ():
    mdp = bandit([[1, 0], [0, 1]])
    rewards, view = ti.Rewards.listed(np.eye(2)), ti.Worldview(np.eye(2))
    for action in (0, 1):
        alone = ti.Policy.deterministic(mdp, [action, 0])
        assert ti.certify(mdp, view, rewards, alone).upper < 1e-9
    shown = ti.best_demonstration(mdp, view, rewards, rng=np.random.default_rng(0))
    assert shown.guaranteed == pytest.approx(0.5, abs=1e-6)
    assert shown.upper == pytest.approx(0.5, abs=2e-6)
    assert len(shown.policies) == 2 and shown.shares == pytest.approx([0.5, 0.5])
    assert "Show a mixture of 2 policies: 50 %, 50 % of the episodes by each" in str(shown)
    assert ti.certify(mdp, view, rewards, shown).guaranteed == shown.guaranteed


def test_what_to_show_is_no_worse_than_what_is_best_for_the_mean():
    for seed in range(2):
        rng, mdp, view, w, _ = case(seed, rows=2, states=8)
        rewards = ti.Rewards.listed(w + rng.standard_normal((4, 5)))
        mean = ti.best_demonstration(mdp, view, rewards.mean, rng=rng, proof_solves=0)
        shown = ti.best_demonstration(mdp, view, rewards, starts=2, rng=rng)
        least = ti.certify(mdp, view, rewards, mean.policy).guaranteed
        assert max(least, shown.plain) - 2e-3 <= shown.guaranteed <= shown.upper
        # The mixture has the feature expectations of its parts.
        mu = [ti.feature_expectations(mdp, policy) for policy in shown.policies]
        assert np.allclose(shown.shares @ np.array(mu), shown.demonstration.expectations)
        tail = ti.Judgement(tail=0.5, measure="cvar")
        half = ti.best_demonstration(mdp, view, rewards, starts=1, rng=rng, judgement=tail)
        assert half.guaranteed >= shown.guaranteed - 1e-6


def test_what_to_show_for_convex_sets():
    """Opinions between two: the mixture is best, as for the two alone; and sets with a middle."""
    mdp, view = bandit([[1, 0], [0, 1]]), ti.Worldview(np.eye(2))
    rng, between = np.random.default_rng(0), ti.Rewards.polytope([[1, 0.25], [0.25, 1]])
    shown = ti.best_demonstration(mdp, view, between, starts=1, rng=rng)
    assert shown.upper == pytest.approx(0.5, abs=1e-4)
    assert shown.shares == pytest.approx([0.5, 0.5], abs=1e-3)
    # What is proved over the set is less: 1 − regret/⟨w, Δ⟩ with one Δ for all rewards.
    assert shown.guaranteed == ti.certify(mdp, view, between, shown).guaranteed
    rng, mdp, view, w, _ = case(1, rows=3, states=8)
    root = 0.1 * rng.standard_normal((5, 2))
    for rewards in (ti.Rewards.within(w, 0.2), ti.Rewards.ellipsoid(w, root)):
        shown = ti.best_demonstration(mdp, view, rewards, starts=1, rng=rng)
        assert shown.plain <= shown.guaranteed <= shown.upper
        assert shown.guaranteed == ti.certify(mdp, view, rewards, shown.policy).guaranteed
        for point in rewards.draw(rng, 5):
            alone = ti.certify(mdp, view, point, shown.policy, theorems=False)
            assert alone.guaranteed >= shown.guaranteed - 1e-6
    tail = ti.Judgement(tail=0.5, measure="cvar")
    with pytest.raises(ti.InvalidInputError, match="tail needs chances"):
        ti.best_demonstration(mdp, view, rewards, rng=rng, judgement=tail)


@pytest.mark.parametrize("tail", [None, 0.5])
def test_the_best_mixture_is_that_of_one_joint_linear_program(tail):
    for seed in range(4):
        rng, mdp, _, _, _ = case(seed)
        q, constants = rng.standard_normal((4, 5)), rng.standard_normal(4)
        chances = rng.dirichlet(np.ones(4))
        caps = np.ones(4) if tail is None else np.minimum(chances / tail, 1.0)
        found = best_mixture(mdp, q, constants, caps, 1e-9)
        # Occupancies, t and y: most of t − caps · y with t − y_i at most what reward i gives.
        flow, phi = flow_of(mdp)
        n = mdp.n_pairs
        table = np.hstack([-(phi @ q.T).T, np.ones((4, 1)), -np.eye(4)])
        cost = np.concatenate([np.zeros(n), [-1.0], caps])
        equal = np.hstack([flow, np.zeros((mdp.n_states, 5))])
        bounds = [(0, None)] * n + [(None, None)] + [(0, None)] * 4
        joint = linprog(cost, table, constants, equal, mdp.start, bounds=bounds)
        assert found.value == pytest.approx(-joint.fun, abs=1e-7)
        assert found.upper >= -joint.fun - 1e-9
        assert found.upper - found.value <= 1e-7


@pytest.mark.parametrize("criterion", ["performance", "gap", "regret", "reward"])
def test_the_witness_is_that_bad_under_the_weights_that_are_named(criterion):
    """Also where what others say of the worst reward is enough to know its bounds."""
    for seed, spread, count in ((1, 1.0, 3), (7, 3.0, 3), (12, 1.0, 30), (23, 3.0, 2)):
        rng = np.random.default_rng(seed)
        mdp = ti.worlds.gridworld(4, 2, slip=0.1)
        w, view = rng.normal(size=4), ti.Worldview(rng.normal(size=(2, 4)))
        shown = ti.optimal_policy(mdp, w).policy
        points = w + spread * rng.normal(size=(count, 4))
        for rewards, tails in (
            (ti.Rewards.listed(points), (None, 0.1)),
            (ti.Rewards.polytope(points[:6]), (None,)),
        ):
            for tail in tails:
                asked = ti.Judgement(criterion, tail=tail)
                found = ti.certify(mdp, view, rewards, shown, judgement=asked)
                least = criterion in ("performance", "reward")
                reached = found.upper if least else found.lower
                assert _judged(criterion, mdp, found, shown) == pytest.approx(reached, abs=1e-4)


def _judged(criterion, mdp, found, shown):
    """What the witness reaches under the worst weights."""
    w, mu = found.weights, ti.feature_expectations(mdp, found.witness)
    best, worst = ti.optimal_policy(mdp, w).value, ti.worst_policy(mdp, w).value
    return {
        "performance": (w @ mu - worst) / (best - worst),
        "gap": w @ (ti.feature_expectations(mdp, shown) - mu),
        "regret": best - w @ mu,
        "reward": w @ mu,
    }[criterion]


def test_of_opposite_opinions_the_one_that_gets_nothing_is_named():
    mdp, w = ti.worlds.chain(5), np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    view, shown = ti.Worldview.select(mdp, ["cell 1", "cell 5"]), ti.optimal_policy(mdp, w).policy
    rewards = ti.Rewards.listed([w, w[::-1] + 3.0, np.eye(5)[4]])
    found = ti.certify(mdp, view, rewards, shown)
    assert found.upper == pytest.approx(0.0, abs=1e-9)
    assert found.weights.tolist() == rewards.points[1].tolist()
