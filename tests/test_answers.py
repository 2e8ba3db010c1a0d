"""What learners keep of best policies is what would be computed anew."""

import numpy as np

import teachirl as ti
from teachirl.learners import answers
from teachirl.mdp.occupancy import expectations_of


def test_what_is_kept_is_right_and_not_much(monkeypatch):
    monkeypatch.setattr(answers, "MOST_POLICIES", 3)
    rng = np.random.default_rng(0)
    mdp = ti.worlds.garnet(rng, 4, 2, 2, 3)
    choices = rng.integers(0, 2, (6, mdp.n_states))
    policies = [ti.Policy.deterministic(mdp, actions) for actions in choices]
    policies.append(ti.Policy.uniform(mdp))
    known = answers.Answers(mdp)
    for place in rng.integers(0, len(policies), 60):
        x, mu = known.of(policies[place])
        np.testing.assert_array_equal(x, ti.occupancy(mdp, policies[place]))
        np.testing.assert_array_equal(mu, expectations_of(mdp, x))
        assert known.of(policies[place])[0] is x
        assert len(known._known) <= 3


def test_of_a_large_world_only_the_last_is_kept(monkeypatch):
    monkeypatch.setattr(answers, "MOST_NUMBERS", 1)
    mdp = ti.worlds.chain(3)
    known = answers.Answers(mdp)
    left, right = (ti.Policy.deterministic(mdp, [1, action, 0]) for action in (0, 1))
    first = known.of(left)
    assert known.of(left) is first
    known.of(right)
    assert known.of(left) is not first
