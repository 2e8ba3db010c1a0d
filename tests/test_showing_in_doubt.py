"""What to show where the world is known from a log."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import teachirl as ti
from teachirl.what_to_show.in_doubt import climbed_in_doubt
from test_estimated import in_doubt, random_model


def all_policies(mdp):
    """Every deterministic policy."""
    counts = np.diff(mdp.dynamics.offsets)
    for choice in itertools.product(*map(range, counts)):
        pairs = mdp.dynamics.offsets[:-1].astype(np.int64) + np.array(choice)
        yield ti.Policy.of_pairs(mdp.dynamics, pairs)


@pytest.mark.parametrize("seed", range(6))
def test_is_certified_in_all_worlds_and_below_what_no_policy_exceeds(seed):
    """Against every deterministic policy, one worst case each."""
    rng, model = random_model(seed)
    view, w = ti.Worldview(rng.normal(size=(1, 4))), rng.normal(size=4)
    found = ti.best_demonstration(model, view, w, rng=rng)
    again = ti.worst_case(model, view, w, found.policy)
    assert found.guaranteed == pytest.approx(again.lower, abs=1e-5)
    each = [ti.worst_case(model, view, w, p).lower for p in all_policies(model.nominal)]
    assert max(each) <= found.upper + 1e-9
    safe = ti.optimal_policy(model, w).policy
    plain = ti.worst_case(model, view, w, safe).lower
    assert found.gain == pytest.approx(found.guaranteed - plain, abs=1e-5)
    # It is a search; with one row seen, both ends of what can be shown are among its places.
    assert found.guaranteed >= max(each) - 1e-4 * (max(each) - min(each))


def test_without_doubt_it_is_what_is_best_in_the_nominal_world():
    mdp, w = ti.worlds.chain(5), [-2.0, -1.0, 0.0, 1.0, 2.0]
    view = ti.Worldview.select(mdp, ["cell 3"])
    model = in_doubt(mdp, 0.0, 1e-300, 1e-300)
    one, other = (
        ti.best_demonstration(each, view, w, rng=np.random.default_rng(0)) for each in (mdp, model)
    )
    assert other.guaranteed == pytest.approx(one.guaranteed, abs=1e-5)
    assert other.upper == pytest.approx(one.upper, abs=1e-5)
    assert other.status is ti.ShownStatus.OPTIMAL


@pytest.mark.parametrize("seed", range(4))
def test_steps_never_lead_down_and_begin_no_lower_than_what_is_given(seed):
    rng, model = random_model(seed + 10)
    view, w = ti.Worldview(rng.normal(size=(2, 4))), rng.normal(size=4)
    given = ti.Policy.uniform(model.nominal)
    climbed = climbed_in_doubt(model, view, w, (given,), np.empty((0, 2)), np.inf)
    least = ti.worst_case(model, view, w, given).lower
    assert climbed.case.lower >= max(least, climbed.plain) - 1e-6
    assert climbed.finished and climbed.case.lower <= climbed.upper


@pytest.mark.parametrize("seed", range(3))
def test_of_several_rewards(seed):
    """Certified for all of them, at least what is best against the sets guarantees, and a policy,
    as the parts of a mixture show something else in another world."""
    rng, model = random_model(seed + 20)
    view = ti.Worldview(rng.normal(size=(2, 4)))
    rewards = ti.Rewards.listed(rng.normal(size=4) + 0.3 * rng.normal(size=(3, 4)))
    found = ti.best_demonstration(model, view, rewards, rng=rng)
    again = ti.certify(model, view, rewards, found.policy)
    assert found.guaranteed == pytest.approx(again.guaranteed, abs=1e-5)
    assert found.certificate.confidence == 0.95 and len(found.policies) == 1
    safe = ti.optimal_policy(model, rewards.mean).policy
    assert found.plain == pytest.approx(ti.certify(model, view, rewards, safe).guaranteed, abs=1e-5)
    assert found.plain <= found.guaranteed <= found.upper


def test_out_of_time_what_was_certified_is_given_back():
    world = ti.worlds.gridworld(6, slip=0.2)
    model, rng = in_doubt(world, 0.05, 0.02, 0.02), np.random.default_rng(0)
    view, w = ti.Worldview(rng.normal(size=(3, 36))), rng.normal(size=36)
    found = ti.best_demonstration(model, view, w, rng=rng, max_seconds=0.3)
    assert found.guaranteed <= found.upper
    assert found.guaranteed <= ti.worst_case(model, view, w, found.policy).upper
