import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import teachirl as ti
from teachirl.bounds import lower_bound
from teachirl.testing import mdps, policies, weights, worldviews


def theorem_1_by_hand(mdp, view, w, mismatch):
    """The paper's formula, with the SVD in the place of the library's basis."""
    blur = mismatch / view.sigma if view.rank else 0.0
    return np.linalg.norm(w) * (ti.teaching_risk(view, w) * ti.diameter(mdp).upper + blur)


@settings(max_examples=40)
@given(st.data())
def test_the_ladder_holds_and_bounds_every_learner(data):
    mdp = data.draw(mdps(max_states=4, discounts=(0.5, 0.9)))
    view = ti.Worldview(data.draw(worldviews(mdp.n_features)))
    w = data.draw(weights(mdp.n_features))
    assume(w.any())
    teacher, learner = data.draw(policies(mdp)), data.draw(policies(mdp))
    mu, other = (ti.feature_expectations(mdp, policy) for policy in (teacher, learner))
    mismatch = float(np.linalg.norm(view.matrix @ (mu - other))) * (1 + 1e-9)
    proved = ti.certify(mdp, view, w, teacher, mismatch)
    doubt = 1e-9 * np.linalg.norm(w) * mdp.largest_feature / (1 - mdp.discount)
    gap = float(w @ (mu - other))
    for bound in (proved.theorem_1, proved.width, proved.exact):
        assert gap <= bound.gap + doubt
    assert proved.exact.gap <= proved.width.gap <= proved.theorem_1.gap
    assert float(w @ other) >= proved.least_reward - doubt
    assert ti.relative_performance(mdp, w, learner) >= proved.guaranteed - 1e-7
    # The order comes from the mathematics, not from taking the better of two.
    theta = np.linalg.pinv(view.matrix.T) @ w if view.rank else np.zeros(view.n_rows)
    width = float(w @ mu) - lower_bound(mdp, view, w, mu, mismatch, theta)
    assert width <= theorem_1_by_hand(mdp, view, w, mismatch) * (1 + 1e-9) + doubt
    assert float(w @ mu) - proved.worst.lower <= width + doubt + 1e-6 * abs(width)


def test_the_chain():
    mdp = ti.worlds.chain(5)
    w = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    expert = ti.optimal_policy(mdp, w).policy
    blind = ti.certify(mdp, ti.Worldview.select(mdp, ["cell 3"]), w, expert)
    assert blind.exact.gap == pytest.approx(2 * 12.408631540, rel=1e-6)
    assert blind.guaranteed <= 1e-6
    everything = ti.certify(mdp, ti.Worldview(np.eye(5)), w, expert)
    assert everything.theorem_1.gap <= 1e-6
    assert everything.guaranteed >= 1 - 1e-6
    assert everything.theorem_2.suboptimality <= 1e-6
    nothing = ti.certify(mdp, ti.Worldview(np.empty((0, 5))), w, expert)
    assert nothing.guaranteed <= 1e-6
    assert np.isinf(nothing.theorem_2.bound)


def test_the_relative_risk_alone_is_no_bound():
    """She sees the reward up to a parity that tells no policies apart; ε is measured with it."""
    mdp = ti.worlds.chain(5)
    view, w = ti.Worldview([[-1, 1, 2, -3, 1]]), np.array([-1.0, 2.0, 2.0, -2.0, 1.0])
    teacher = ti.Policy.deterministic(mdp, [1, 0, 0, 0, 0])
    learner = ti.Policy.deterministic(mdp, [1, 0, 0, 1, 0])
    mu, other = (ti.feature_expectations(mdp, policy) for policy in (teacher, learner))
    mismatch, gap = float(np.linalg.norm(view.matrix @ (mu - other))), float(w @ (mu - other))
    assert ti.relative_risk(mdp, view, w) <= 1e-12
    wrong = np.linalg.norm(w) * mismatch / view.sigma
    assert gap > 1.05 * wrong
    proved = ti.certify(mdp, view, w, teacher, mismatch * (1 + 1e-12))
    assert proved.exact.gap >= gap * (1 - 1e-9)
    assert proved.theorem_1.gap >= gap


def test_rows_that_tell_no_policies_apart_add_nothing_to_theorem_1():
    """Of a constant row P leaves rounding, which must not be taken for something that she sees."""
    mdp = ti.worlds.gridworld(6, 2)
    w = np.random.default_rng(1).normal(size=9)
    expert = ti.optimal_policy(mdp, w).policy
    seen = np.arange(9.0)
    plain = ti.certify(mdp, ti.Worldview([seen - seen.mean()]), w - w.mean(), expert, target=0.0)
    more = ti.Worldview([np.ones(9), 0.3 * np.ones(9), seen])
    other = ti.certify(mdp, more, w, expert, target=0.0)
    assert other.theorem_1.terms["risk"] == pytest.approx(plain.theorem_1.terms["risk"], rel=1e-9)


def test_scales_do_not_matter():
    mdp = ti.worlds.gridworld(6, 2, slip=0.2)
    rng = np.random.default_rng(4)
    matrix, w = rng.normal(size=(3, 9)), rng.normal(size=9)
    expert = ti.optimal_policy(mdp, w).policy
    plain = ti.certify(mdp, ti.Worldview(matrix), w, expert)
    rows = ti.certify(mdp, ti.Worldview(matrix * [[1e-6], [1.0], [1e6]]), w, expert)
    more = ti.certify(mdp, ti.Worldview(1e9 * matrix), 1e-6 * w, expert)
    for other in (rows, more):
        assert other.guaranteed == pytest.approx(plain.guaranteed, abs=1e-5)
    assert more.theorem_1.gap == pytest.approx(1e-6 * plain.theorem_1.gap, rel=1e-6)


def test_what_is_not_needed_is_not_done():
    mdp = ti.worlds.chain(5)
    w = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    expert = ti.optimal_policy(mdp, w).policy
    early = ti.certify(mdp, ti.Worldview(np.eye(5)), w, expert, target=0.99)
    assert early.width is None and early.exact is None and early.worst is None
    assert early.guaranteed >= 0.99
    view = ti.Worldview.select(mdp, ["cell 1", "cell 5"])
    assert ti.certify(mdp, view, w, expert, target=0.5).exact is None
    assert ti.certify(mdp, view, w, expert, target=0.99).exact is not None


def test_theorem_2_on_random_grids():
    for trial in range(5):
        rng = np.random.default_rng([9, trial])
        mdp = ti.worlds.gridworld(6, 2)
        w = rng.normal(size=9)
        view = ti.Worldview(rng.normal(size=(8, 9)))
        proved = ti.certify(mdp, view, w, ti.optimal_policy(mdp, w).policy, target=0.0)
        assert np.linalg.norm(proved.theorem_2.weights) == pytest.approx(1.0)
        assert proved.theorem_2.suboptimality <= proved.theorem_2.bound


def test_a_sampled_demonstration_certifies_with_its_confidence():
    mdp = ti.worlds.gridworld(4, 2, slip=0.2)
    rng = np.random.default_rng(0)
    w = rng.normal(size=4)
    expert = ti.optimal_policy(mdp, w)
    demo = ti.Demonstration.sample(mdp, expert.policy, episodes=3000, horizon=120, rng=rng)
    view = ti.Worldview(np.eye(4)[:3])
    proved = ti.certify(mdp, view, w, demo, mismatch=demo.error)
    assert proved.confidence == 0.95
    assert proved.mismatch == pytest.approx(2 * demo.error)
    # The expert herself matches within the error, so that no bound may exclude her.
    assert proved.least_reward <= expert.upper
    assert proved.against_expert >= 0.0
    tight = ti.certify(mdp, view, w, expert.policy)
    assert proved.guaranteed <= tight.guaranteed


def test_wrong_arguments():
    mdp = ti.worlds.chain(5)
    view, policy = ti.Worldview(np.eye(5)), ti.Policy.uniform(mdp)
    with pytest.raises(ti.InvalidInputError, match="weights must not be all zero"):
        ti.certify(mdp, view, np.zeros(5), policy)
    with pytest.raises(ti.InvalidInputError, match="mismatch must be non-negative, got nan"):
        ti.certify(mdp, view, np.ones(5), policy, float("nan"))
