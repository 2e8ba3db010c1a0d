import copy
import dataclasses
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import teachirl as ti
from exact import exact, exact_expectations
from teachirl.figures.digits import at_least, at_most
from teachirl.guarantees.bound_words import looser_in_words
from teachirl.guarantees.bounds import Terms, lower_bound
from teachirl.guarantees.gap_bounds import Bound
from teachirl.precision import up
from teachirl.testing import mdps, policies, weights, worldviews
from teachirl.views.potential_shaping import indistinct_directions


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
    tolerance = 1e-6 * (ti.optimal_policy(mdp, w).upper - ti.worst_policy(mdp, w).lower)
    assert float(w @ mu) - proved.worst.lower <= width + doubt + tolerance


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
    """The reward is seen up to a parity that tells no policies apart; ε is measured with it."""
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
    """Of a constant row P leaves rounding, which must not be taken for something that is seen."""
    mdp = ti.worlds.gridworld(6, 2)
    w = np.random.default_rng(1).normal(size=9)
    expert = ti.optimal_policy(mdp, w).policy
    seen = np.arange(9.0)
    plain = ti.certify(mdp, ti.Worldview([seen - seen.mean()]), w - w.mean(), expert)
    more = ti.Worldview([np.ones(9), 0.3 * np.ones(9), seen])
    other = ti.certify(mdp, more, w, expert)
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
    assert early.theorem_1 is None and early.exact is None and early.worst is None
    assert early.theorem_2 is None and early.look is None
    assert early.guaranteed >= 0.99
    view = ti.Worldview.select(mdp, ["cell 1", "cell 5"])
    assert ti.certify(mdp, view, w, expert, target=0.5).exact is None
    late = ti.certify(mdp, view, w, expert, target=0.99)
    assert late.exact is not None and late.theorem_1 is not None and late.look is None
    known = ti.certify(
        mdp, view, w, expert, size=ti.diameter(mdp), indistinct=indistinct_directions(mdp)
    )
    assert str(known) == str(ti.certify(mdp, view, w, expert))


def test_with_parity_hidden_width_is_relative_too():
    """Its one row is the reward up to what no policy changes: both bounds know, each by itself."""
    mdp = ti.worlds.chain(5)
    parity = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    w = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    expert = ti.optimal_policy(mdp, w).policy
    proved = ti.certify(mdp, ti.Worldview([w + parity]), w, expert)
    assert proved.theorem_1.gap <= 1e-6
    assert proved.width.gap <= 1e-7
    assert proved.width.terms["hidden"] <= 1e-7


def test_theorem_2_on_random_grids():
    for trial in range(5):
        rng = np.random.default_rng([9, trial])
        mdp = ti.worlds.gridworld(6, 2)
        w = rng.normal(size=9)
        view = ti.Worldview(rng.normal(size=(8, 9)))
        proved = ti.certify(mdp, view, w, ti.optimal_policy(mdp, w).policy)
        assert np.linalg.norm(proved.theorem_2.weights) == pytest.approx(1.0)
        assert proved.theorem_2.suboptimality <= proved.theorem_2.bound
        # No reward of its own favours the policy more than the best look does, up to its tolerance.
        seen = np.linalg.norm(view.matrix.T @ proved.theorem_2.weights)
        assert proved.look.lower <= proved.theorem_2.suboptimality / seen * (1 + 1e-6) + 1e-9


@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e-15, 1e-40])
def test_theorem_2_does_not_depend_on_the_length_of_a_row(scale):
    mdp = ti.worlds.garnet(np.random.default_rng(3), 5, 2, branching=2, n_features=3)
    w = np.array([1.0, 2.0, -1.0])
    view = ti.Worldview(np.diag([1.0, scale, 1.0]))
    proved = ti.certify(mdp, view, w, ti.optimal_policy(mdp, w).policy)
    assert proved.theorem_2.suboptimality <= proved.theorem_2.bound
    assert proved.theorem_2.share <= 1e-9
    assert proved.width.gap <= 1e-8
    assert view.matrix.T @ view.multipliers(view.basis @ w) == pytest.approx(w, rel=1e-14)


@pytest.mark.parametrize("part", [1e-6, 1e-7, 1e-9])
def test_theorem_2_where_almost_nothing_is_visible(part):
    mdp = ti.worlds.chain(3)
    view, w = ti.Worldview([[1.0, 0.0, 0.0]]), np.array([part, 1.0, 0.0])
    proved = ti.certify(mdp, view, w, ti.optimal_policy(mdp, w).policy)
    expected = ti.diameter(mdp).upper / part
    assert proved.theorem_2.bound == pytest.approx(expected, rel=1e-8)
    assert proved.theorem_2.bound >= expected


def test_the_shortest_multipliers():
    rows = np.array([[1.0, 0.0, 2.0], [2.0, 0.0, 4.0], [0.0, 1.0, 0.0]])
    view, w = ti.Worldview(rows), np.array([1.0, 2.0, 3.0])
    assert view.multipliers(view.basis @ w) == pytest.approx(np.linalg.pinv(rows.T) @ w, rel=1e-12)


def test_terms_add_up_and_cannot_be_changed():
    mdp = ti.worlds.gridworld(4, 2, slip=0.2)
    rng = np.random.default_rng(2)
    w, view = rng.normal(size=4), ti.Worldview(rng.normal(size=(2, 4)))
    proved = ti.certify(mdp, view, w, ti.optimal_policy(mdp, w).policy, mismatch=0.3)
    for bound in (proved.theorem_1, proved.width):
        assert bound.terms["hidden"] + bound.terms["mismatch"] == pytest.approx(bound.gap)
        assert "a mismatch of 0.3" in str(bound)
        assert "up to 0.3 in its view" in bound.assumes
    terms = proved.theorem_1.terms
    assert terms["hidden"] == pytest.approx(terms["length"] * terms["risk"] * terms["diameter"])
    assert terms["mismatch"] == pytest.approx(terms["length"] * terms["ε"] / terms["σ"])
    assert proved.exact.terms["expert"] - proved.exact.terms["worst"] == pytest.approx(
        proved.exact.gap
    )
    with pytest.raises(TypeError):
        proved.exact.terms["worst"] = 0.0


def test_a_demonstration_that_nobody_matches_guarantees_nothing():
    mdp = ti.worlds.garnet(np.random.default_rng(11), 6, 3, branching=2, n_features=2)
    view, w = ti.Worldview.select(mdp, [0]), np.array([0.6, 0.8])
    most = ti.optimal_policy(mdp, [1, 0]).policy
    rng = np.random.default_rng(3)
    lucky = ti.Demonstration.sample(mdp, most, episodes=1000, horizon=100, rng=rng)
    for target in (None, 0.0, 0.5):
        proved = ti.certify(mdp, view, w, lucky, target=target)
        assert not proved.matchable
        assert proved.guaranteed == 0.0
        assert proved.least_reward <= ti.worst_policy(mdp, w).upper
        assert proved.against_expert <= ti.optimal_policy(mdp, w).upper - proved.least_reward
        assert str(proved).startswith("nothing is guaranteed: no policy matches")
        assert "nobody to speak of" in str(proved.exact)
    enough = ti.certify(mdp, view, w, lucky, view.norm * lucky.error)
    assert enough.matchable and enough.guaranteed > 0.0


@pytest.mark.parametrize("discount", [0.9, 1 - 1e-6, 1 - 1e-7])
def test_what_planning_cannot_tell_apart_is_not_taken_for_equal(discount):
    """Two policies differ by one step's reward of about 1e7; a blind learner may play either."""
    transitions = np.zeros((3, 2, 3))
    transitions[0, 0, 1] = transitions[0, 1, 2] = 1.0
    transitions[1, :, 1] = transitions[2, :, 1] = 1.0
    mdp = ti.MDP.from_arrays(
        transitions, [[1.0], [1.0], [0.0]], discount=discount, start=[1.0, 0.0, 0.0]
    )
    good = ti.Policy.deterministic(mdp, [0, 0, 0])
    proved = ti.certify(mdp, ti.Worldview(np.empty((0, 1))), [1.0], good)
    assert proved.guaranteed <= 1e-6
    same = ti.certify(mdp.with_features(np.ones((3, 1))), ti.Worldview([[1.0]]), [1.0], good)
    assert same.guaranteed == 1.0


@pytest.mark.parametrize("scale", [1e-40, 1e-20, 1e20, 1e40])
def test_small_and_large_units(scale):
    mdp, w = ti.worlds.chain(5), np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    view = ti.Worldview.select(mdp, ["cell 1", "cell 5"])
    expert = ti.optimal_policy(mdp, w).policy
    known = ti.worst_case(mdp, view, w, expert, 5.0).lower
    assert known == pytest.approx(-9.88042, abs=1e-4)
    little = ti.worst_case(mdp, view, w * scale, expert, 5.0)
    assert little.lower == pytest.approx(scale * known, rel=1e-5)
    more = ti.worst_case(mdp, ti.Worldview(view.matrix * scale), w / scale, expert, 5.0 * scale)
    assert more.lower == pytest.approx(known / scale, rel=1e-5)
    size = ti.diameter(mdp.with_features(np.eye(5) * scale))
    assert size.lower == pytest.approx(scale * 8.2984, rel=1e-4)


def test_units_that_are_too_small_or_too_large_are_refused():
    mdp, w = ti.worlds.chain(5), np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    view, expert = ti.Worldview(np.eye(5)), ti.optimal_policy(mdp, w).policy
    for scale in (1e-165, 1e160):
        with pytest.raises(ti.InvalidInputError, match="weights must be 0 or between"):
            ti.certify(mdp, view, w * scale, expert)
        with pytest.raises(ti.InvalidInputError, match="the worldview's rows must be 0 or"):
            ti.worst_case(mdp, ti.Worldview(np.eye(5) * scale), w, expert)
        tiny = mdp.with_features(np.eye(5) * scale)
        for call in (
            lambda mdp=tiny: ti.diameter(mdp),
            lambda mdp=tiny: ti.best_look(mdp, view, expert),
            lambda mdp=tiny: ti.certify(mdp, view, w, expert),
        ):
            with pytest.raises(ti.InvalidInputError, match="the features must be 0 or between"):
                call()


def test_theorem_2_counts_the_rounding_of_its_reward():
    """Two rows nearly cancel in the reward that the learner would have."""
    mdp = ti.worlds.chain(5)
    view = ti.Worldview([[0.1, 0.2, 0.3, 0.1, 0.7], [0.1, 0.2, 0.3, 0.10000001, 0.7]])
    uniform = ti.Policy.uniform(mdp)
    proved = ti.certify(mdp, view, [0, 1, 0, 0, 0], uniform).theorem_2
    truth = exact_suboptimality(mdp, view, proved.weights, uniform)
    assert truth <= exact(proved.suboptimality)
    view = ti.Worldview([[1, 2, 3, 1, 2], [1, 2, 3, 1.00000001, 2]])
    look = ti.best_look(mdp, view, uniform)
    assert exact_suboptimality(mdp, view, look.weights, uniform) <= exact(look.upper)


def exact_suboptimality(mdp, view, weights, policy):
    """In rational arithmetic, over all deterministic policies."""
    seen = [
        sum((exact(a) * exact(x) for a, x in zip(row, weights, strict=True)), exact(0.0))
        for row in view.matrix.T
    ]
    counts = np.diff(mdp.dynamics.offsets)
    rewards = []
    for choice in itertools.product(*(range(count) for count in counts)):
        other = ti.Policy.of_choice(mdp.dynamics, np.array(choice))
        mu = exact_expectations(mdp, other)
        rewards.append(sum((a * x for a, x in zip(seen, mu, strict=True)), exact(0.0)))
    mine = exact_expectations(mdp, policy)
    return max(rewards) - sum((a * x for a, x in zip(seen, mine, strict=True)), exact(0.0))


def test_an_expert_is_never_thought_better_than_the_best():
    mdp = ti.worlds.driving().mdp
    rng = np.random.default_rng(0)
    w = ti.worlds.driving().weights
    expert = ti.optimal_policy(mdp, w)
    demo = ti.Demonstration.sample(mdp, expert.policy, episodes=50, horizon=60, rng=rng)
    view = ti.Worldview(np.eye(mdp.n_features)[:4])
    proved = ti.certify(mdp, view, w, demo, 2 * view.norm * demo.error, target=0.0)
    # Rounded up, as all that is proved.
    assert proved.against_expert <= up(expert.upper - proved.least_reward)


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
    # The expert itself matches within the error, so that no bound may exclude it.
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
    with pytest.raises(ti.InvalidInputError, match=r"must be non-negative, got '0\.1'"):
        ti.certify(mdp, view, np.ones(5), policy, "0.1")
    for target in (float("nan"), 1.5, -0.1):
        with pytest.raises(ti.InvalidInputError, match="target must be a relative performance"):
            ti.certify(mdp, view, np.ones(5), policy, target=target)
    with pytest.raises(ti.InvalidInputError, match="method must be one of"):
        ti.certify(mdp, view, np.ones(5), policy, target=0.0, method="bundel")
    with pytest.raises(ti.InvalidInputError, match="view must be a Worldview, got ndarray"):
        ti.certify(mdp, np.eye(5), np.ones(5), policy)
    with pytest.raises(ti.InvalidInputError, match=r"of a plan, its \.policy"):
        ti.certify(mdp, view, np.ones(5), ti.optimal_policy(mdp, np.ones(5)))
    other = ti.Demonstration.of_policy(ti.worlds.chain(5, discount=0.8), policy)
    with pytest.raises(ti.InvalidInputError, match="demonstration must be of this MDP"):
        ti.certify(mdp, view, np.ones(5), other)


def test_certificates_go_to_other_processes_and_back():
    mdp = ti.worlds.chain(5)
    view = ti.Worldview.select(mdp, ["cell 3"])
    policy = ti.optimal_policy(mdp, [-2, -1, 0, 1, 2]).policy
    proved = ti.certify(mdp, view, [-2, -1, 0, 1, 2], policy)
    for back in (pickle.loads(pickle.dumps(proved)), copy.deepcopy(proved)):
        assert repr(back) == repr(proved)
        assert back.width.terms == proved.width.terms
        assert back.theorem_2.terms == proved.theorem_2.terms
    with pytest.raises(TypeError):
        proved.width.terms["ε"] = 0.0


def test_what_is_printed_never_promises_more():
    """Guarantees are rounded down, gaps up; no gap is more than there is to lose."""
    mdp, w, rng = (
        ti.worlds.chain(5),
        np.array([-2.0, -1.0, 0.0, 1.0, 2.0]),
        np.random.default_rng(0),
    )
    view, best = ti.Worldview.select(mdp, ["cell 3"]), ti.optimal_policy(mdp, w)
    proved = ti.certify(mdp, view, w, best.policy)
    assert best.lower - ti.worst_policy(mdp, w).upper <= proved.at_stake < proved.theorem_1.gap
    assert "a mismatch of" not in proved.theorem_1.sentence
    lines = str(dataclasses.replace(proved, guaranteed=0.0059)).splitlines()
    assert lines[-1] == "guaranteed relative performance 0.005"
    for line, bound in zip(lines, proved.bounds, strict=False):
        least = min(bound.gap, proved.at_stake)
        assert least - 1e-9 <= float(line.split("≤")[1]) <= least + 1e-4
    told = ti.best_demonstration(mdp, view, w, rng=rng)
    assert f"earns at least {at_least(told.guaranteed)}; " in told.sentence
    task = ti.Task(mdp, w, view, np.eye(5))
    first = ti.teach(task, ti.teachers.TRGreedy(), ti.learners.MinNormPoint(), rng=rng, budget=0)[0]
    assert "guaranteed 0.005" in repr(dataclasses.replace(first, guaranteed=0.0059))


def test_words_of_bounds_for_recordings_are_capped():
    """No policy was said to be further below the expert than 0, and the rest to cost more than
    there is to lose."""
    mdp, w = ti.worlds.gridworld(4, block=2, slip=0.1), np.array([3.0, 0.5, 0.0, -1.0])
    best, view = ti.optimal_policy(mdp, w), ti.Worldview.select(mdp, ["cell 0"])
    seen = ti.sample_trajectories(
        mdp, best.policy, episodes=30, horizon=100, rng=np.random.default_rng(0)
    )
    shown = ti.Demonstration.from_trajectories(mdp, seen)
    proved = ti.certify(mdp, view, w, shown, shown.error_in(view))
    gap = proved.capped(proved.width)[0]
    assert proved.width.terms["hidden"] + proved.width.terms["mismatch"] > gap
    # What is hidden is what it is, however little the whole comes to.
    q = w - view.matrix.T @ (view.matrix @ w)
    apart = q @ ti.feature_expectations(mdp, best.policy) - ti.worst_policy(mdp, q).value
    assert proved.width.terms["hidden"] >= apart > 0.0
    said = proved.in_words(proved.width)
    assert f"than {at_most(proved.width.terms['hidden'])}, and with a mismatch of " in said
    assert said.endswith(f" in the part that is seen all of it {at_most(gap)} at most.")
    said = proved.in_words(proved.theorem_1)
    assert "another" not in said
    assert said.endswith(f"all that there is to lose, {at_most(proved.at_stake)}.")
    near = ti.certify(mdp, view, w, best.policy, 1e-3)
    blur = at_most(near.theorem_1.terms["mismatch"])
    assert near.in_words(near.theorem_1).endswith(f", and a mismatch of 0.001 another {blur}.")
    blur = at_most(near.width.terms["mismatch"])
    assert near.in_words(near.width).endswith(f"a mismatch of 0.001 may cost another {blur}.")
    assert near.in_words(near.width, expert="somebody").count("below somebody than") == 1


@pytest.mark.parametrize(
    ("name", "hidden", "blur", "gap", "said"),
    [
        ("width", 3.0, 0.0, 3.0, "expert than 3."),
        ("width", 9.5, 1.0, 9.0, "expert than 9, all that there is to lose."),
        # What is hidden alone exceeds all that was proved: no part of it is told apart.
        ("width", 3.0, 1.0, 2.5, "and a mismatch of 0.1 in what it sees, may cost 2.5 in all."),
        ("width", 3.0, 1.0, 3.0, "and a mismatch of 0.1 in what it sees, may cost 3 in all."),
        ("theorem 1", 3.0, 1.0, 2.5, "may cost 3, and with a mismatch of 0.1 all of it 2.5 at mo"),
        ("width", 3.0, 1.0, 3.5, "0.1 in the part that is seen all of it 3.5 at most."),
        ("width", 8.5, 1.0, 9.0, "0.1 in the part that is seen all that there is to lose, 9."),
        ("theorem 1", 8.5, 1.0, 9.0, "with a mismatch of 0.1 all that there is to lose, 9."),
        ("width", 3.0, 1.0, 4.0, "in the part that is seen a mismatch of 0.1 may cost another 1."),
        ("theorem 1", 3.0, 1.0, 4.0, "may cost 3, and a mismatch of 0.1 another 1."),
    ],
)
def test_what_a_looser_bound_says(name, hidden, blur, gap, said):
    """Every sentence of them: no part of a loss is said to be more than the whole."""
    terms = Terms(risk=0.5, diameter=6.0, hidden=hidden, mismatch=blur, ε=0.1)
    words = looser_in_words(Bound(name, gap, 0.0, terms, "", ""), gap, at_stake=9.0)
    assert said in words and words.endswith(".")
    if "in all" in words:
        assert f"{hidden:g}" not in words.replace(f"{gap:g} in all", "")
