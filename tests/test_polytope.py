import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import teachirl as ti
from exact import exact_expectations
from teachirl.guarantees.diameter import diameter_at_most
from teachirl.guarantees.solvers import plans
from teachirl.guarantees.worst_case import METHODS
from teachirl.mdp import clock
from teachirl.testing import mdps, policies, weights, worldviews

WEIGHTS = np.array([-1, -0.5, 0, 0.5, 1]) / np.linalg.norm([-1, -0.5, 0, 0.5, 1])
BEST, MIDDLE = [1, 1, 1, 1, 0], [1, 1, 1, 0, 0]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("gamma", "actions", "expected"),
    [(0.5, BEST, -0.3057), (0.5, MIDDLE, -0.1054), (0.9, BEST, -3.9240), (0.9, MIDDLE, -1.3242)],
)
def test_the_table_of_the_chain(method, gamma, actions, expected):
    mdp = ti.worlds.chain(5, discount=gamma)
    view = ti.Worldview.select(mdp, ["cell 3"])
    shown = ti.Policy.deterministic(mdp, actions)
    found = ti.worst_case(mdp, view, WEIGHTS, shown, method=method)
    assert found.status is ti.WorstCaseStatus.OPTIMAL
    assert round(found.lower, 4) == round(found.upper, 4) == expected
    lucky = ti.best_case(mdp, view, WEIGHTS, shown, method=method)
    assert round(lucky.lower, 4) == round(lucky.upper, 4) == -expected
    for witness, value in ((found.witness, found.upper), (lucky.witness, lucky.lower)):
        mu = ti.feature_expectations(mdp, witness)
        assert WEIGHTS @ mu == pytest.approx(value, abs=1e-8)
        seen = view.matrix @ (mu - ti.feature_expectations(mdp, shown))
        assert np.linalg.norm(seen) <= 1e-8


@settings(max_examples=40)
@given(st.data())
def test_every_policy_that_matches_is_within_the_extremes(data):
    mdp = data.draw(mdps(max_states=4, discounts=(0.5, 0.9)))
    view = ti.Worldview(data.draw(worldviews(mdp.n_features)))
    w = data.draw(weights(mdp.n_features))
    shown, other = data.draw(policies(mdp)), data.draw(policies(mdp))
    step = ti.feature_expectations(mdp, shown) - ti.feature_expectations(mdp, other)
    # With ε as large as their distance in its view, the other policy matches.
    mismatch = float(np.linalg.norm(view.matrix @ step)) * (1 + 1e-9)
    worst = ti.worst_case(mdp, view, w, shown, mismatch)
    lucky = ti.best_case(mdp, view, w, shown, mismatch)
    reward = float(w @ ti.feature_expectations(mdp, other))
    doubt = 1e-10 * np.linalg.norm(w) * mdp.largest_feature / (1 - mdp.discount)
    assert worst.lower - doubt <= reward <= lucky.upper + doubt


@pytest.mark.parametrize(("gamma", "expected"), [(0.5, 0.6616), (0.9, 8.2984)])
def test_the_diameter_of_the_chain(gamma, expected):
    mdp = ti.worlds.chain(5, discount=gamma)
    size = ti.diameter(mdp)
    assert round(size.lower, 4) == expected
    assert size.lower <= size.upper <= np.sqrt(2) / (1 - gamma)
    one, other = (ti.feature_expectations(mdp, witness) for witness in size.witnesses)
    assert np.linalg.norm(one - other) == pytest.approx(size.lower, rel=1e-9)


@settings(max_examples=60)
@given(st.data())
def test_no_two_policies_are_further_apart_than_the_diameter(data):
    mdp = data.draw(mdps(max_states=4, discounts=(0.5, 0.9, 0.99)))
    size = ti.diameter(mdp, starts=2)
    assert 0.0 <= size.lower <= size.upper
    counts = np.diff(mdp.dynamics.offsets)
    choices = itertools.islice(itertools.product(*(range(count) for count in counts)), 30)
    points = []
    for choice in choices:
        policy = ti.Policy.of_choice(mdp.dynamics, np.array(choice))
        points.append([float(mu) for mu in exact_expectations(mdp, policy)])
    distances = np.linalg.norm(np.array(points)[:, None] - np.array(points), axis=2)
    assert distances.max() <= size.upper * (1 + 1e-12)


@pytest.mark.parametrize("method", ["bundle", "direct", "lifted", "cone"])
def test_out_of_time_the_bounds_are_valid(method):
    mdp = ti.worlds.gridworld(8, 2, slip=0.1)
    rng = np.random.default_rng(1)
    w, view = rng.normal(size=16), ti.Worldview(rng.normal(size=(6, 16)))
    expert = ti.optimal_policy(mdp, w)
    known = ti.worst_case(mdp, view, w, expert.policy)
    early = ti.worst_case(mdp, view, w, expert.policy, method=method, max_seconds=1e-9)
    assert early.status is ti.WorstCaseStatus.OUT_OF_BUDGET
    assert str(early.status).startswith("stopped early with valid bounds")
    assert early.lower <= known.upper and early.upper >= known.lower
    mu = ti.feature_expectations(mdp, early.witness)
    assert w @ mu == pytest.approx(early.upper, abs=1e-8)
    off = view.matrix @ (mu - ti.feature_expectations(mdp, expert.policy))
    assert np.linalg.norm(off) <= 1e-8


@pytest.mark.parametrize("calls", range(5))
def test_interrupted_it_returns_nothing(calls, monkeypatch):
    mdp = ti.worlds.gridworld(8, 2)
    rng = np.random.default_rng(1)
    w, view = rng.normal(size=16), ti.Worldview(rng.normal(size=(6, 16)))
    expert = ti.optimal_policy(mdp, w)
    plan, left = plans.optimal_policy, iter(range(calls))

    def interrupted(*arguments, **options):
        if next(left, None) is None:
            raise KeyboardInterrupt
        return plan(*arguments, **options)

    monkeypatch.setattr(plans, "optimal_policy", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ti.worst_case(mdp, view, w, expert.policy, method="bundle")


def test_wrong_arguments():
    mdp = ti.worlds.chain(5)
    view, policy = ti.Worldview(np.eye(5)), ti.Policy.uniform(mdp)
    with pytest.raises(ti.InvalidInputError, match="method must be one of auto, bundle, direct"):
        ti.worst_case(mdp, view, WEIGHTS, policy, method="simplex")
    with pytest.raises(ti.InvalidInputError, match="mismatch must be non-negative, got -1"):
        ti.worst_case(mdp, view, WEIGHTS, policy, -1.0)
    with pytest.raises(ti.InvalidInputError, match="on 4 features, the MDP has 5"):
        ti.worst_case(mdp, ti.Worldview(np.eye(4)), WEIGHTS, policy)
    with pytest.raises(ti.InvalidInputError, match="starts must be at least 1"):
        ti.diameter(mdp, starts=0)


def test_the_diameter_from_above_alone():
    rng = np.random.default_rng(2)
    for mdp in (ti.worlds.chain(5), ti.worlds.garnet(rng, 30, 3, 4, 5), ti.worlds.gridworld(6, 2)):
        size, alone = ti.diameter(mdp), diameter_at_most(mdp)
        assert size.lower <= size.upper <= alone * (1.0 + 1e-12)


def test_a_generic_world_is_done_within_its_time():
    """4,000 states that mix: their factors would take minutes."""
    rng = np.random.default_rng(3)
    mdp = ti.worlds.garnet(rng, 4000, 3, 5, 12)
    w = rng.standard_normal(12)
    view = ti.Worldview(rng.standard_normal((6, 12)))
    best = ti.optimal_policy(mdp, w).policy
    found = ti.worst_case(mdp, view, w, best, tolerance=1e-4, max_seconds=30.0)
    assert found.status is ti.WorstCaseStatus.OPTIMAL
    before = clock.seconds()
    found = ti.worst_case(mdp, view, w, best, tolerance=1e-10, max_seconds=0.5)
    assert clock.seconds() - before < 5.0  # in a test other processes take their share
    assert found.lower <= found.upper
