"""Policies: what is refused, what they say of themselves, and to which MDPs they belong."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import teachirl as ti
from teachirl.app.problem.episodes import read_policy
from teachirl.app.problem.files import Folder
from teachirl.demonstrations.trajectory_files import write_trajectories
from teachirl.mdp.policy import check_policy
from teachirl.testing import mdps, policies

CHAIN = ti.worlds.chain(5)
RIGHT = [1, 1, 1, 1, 0]


def matrix(*changes: tuple[int, int, float]) -> np.ndarray:
    """The chain's uniform policy, with some entries changed."""
    table = np.array([[0, 1], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5], [1, 0]])
    for state, action, value in changes:
        table[state, action] = value
    return table


def test_a_deterministic_policy() -> None:
    policy = ti.Policy.deterministic(CHAIN, RIGHT)
    assert policy.is_deterministic
    assert policy.dynamics is CHAIN.dynamics
    assert policy.chances is None
    assert policy.pairs is not None
    assert policy.pairs.tolist() == [0, 2, 4, 6, 7]
    assert policy.actions.tolist() == RIGHT
    assert policy.probabilities.tolist() == [1, 0, 1, 0, 1, 0, 1, 1]
    assert policy.matrix().tolist() == [[0, 1], [0, 1], [0, 1], [0, 1], [1, 0]]
    assert repr(policy) == "Policy(deterministic, 5 states)"
    check_policy(CHAIN, policy)


def test_a_stochastic_policy() -> None:
    policy = ti.Policy.from_matrix(CHAIN, matrix((1, 0, 0.25), (1, 1, 0.75), (3, 0, 1), (3, 1, 0)))
    assert not policy.is_deterministic
    assert policy.pairs is None
    assert policy.probabilities.tolist() == [1, 0.25, 0.75, 0.5, 0.5, 1, 0, 1]
    assert policy.matrix()[1].tolist() == [0.25, 0.75]
    # The likeliest action, and of two the first.
    assert policy.actions.tolist() == [1, 1, 0, 0, 0]
    assert repr(policy) == "Policy(stochastic, 5 states)"
    check_policy(CHAIN, policy)


def test_the_uniform_policy() -> None:
    policy = ti.Policy.uniform(CHAIN)
    assert not policy.is_deterministic
    assert np.array_equal(policy.matrix(), matrix())
    # As many actions as a state may have: what is not checked is what the checks would leave.
    rng = np.random.default_rng(0)
    for mdp in (CHAIN, *(ti.worlds.garnet(rng, 3, n, 2, 1) for n in (6, 10, 49, 300))):
        counts = np.diff(mdp.dynamics.offsets)
        checked = ti.Policy(mdp.dynamics, chances=1.0 / counts[mdp.dynamics.pair_states])
        assert np.array_equal(ti.Policy.uniform(mdp).chances, checked.chances)


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([1, 1, 1, 0], "actions must be 5 integers, got int64 (4,)"),
        ([1.0, 1, 1, 1, 0], "actions must be 5 integers, got float64 (5,)"),
        ([True, True, True, True, False], "actions must be 5 integers, got bool (5,)"),
        ([[1, 1, 1, 1, 0]], "actions must be 5 integers, got int64 (1, 5)"),
        (1, "actions must be 5 integers, got int64 ()"),
        ([0, 1, 1, 1, 0], "actions[0] is 0, which does not exist in state cell 1"),
        ([1, 1, 1, 1, 1], "actions[4] is 1, which does not exist in state cell 5"),
        ([1, 1, 2, 1, 0], "actions[2] is 2, which does not exist in state cell 3"),
        ([1, -1, 1, 1, 0], "actions[1] is -1, which does not exist in state cell 2"),
        ([0, 9, 9, 9, 1], "actions[0] is 0, which does not exist in state cell 1"),
    ],
)
def test_actions_that_are_refused(actions: Any, message: str) -> None:
    with pytest.raises(ti.InvalidInputError, match=re.escape(message)):
        ti.Policy.deterministic(CHAIN, actions)


@pytest.mark.parametrize(
    ("probabilities", "message"),
    [
        (np.ones((5, 3)), "probabilities must have shape (5, 2), got (5, 3)"),
        (np.ones(5), "probabilities must have shape (5, 2), got (5,)"),
        (
            matrix((1, 0, -0.5), (1, 1, 1.5)),
            "probabilities must be non-negative, got -0.5 for state cell 2, action left",
        ),
        (matrix((2, 1, NAN)), "non-negative, got nan for state cell 3, action right"),
        (matrix((2, 1, INF)), "non-negative, got inf for state cell 3, action right"),
        (matrix((0, 0, NAN)), "non-negative, got nan for state cell 1, action left"),
        (
            matrix((0, 0, 0.25), (0, 1, 0.75)),
            "action left does not exist in state cell 1 but has probability 0.25",
        ),
        (
            matrix((4, 1, 1e-300)),
            "action right does not exist in state cell 5 but has probability 1e-300",
        ),
        (
            matrix((1, 0, 0.4)),
            "probabilities must sum to 1 in every state: those of state cell 2 sum to 0.9",
        ),
        (
            matrix((1, 0, 0.5 + 1e-9), (3, 1, 0.5 + 2e-8)),
            "probabilities must sum to 1 in every state: those of state cell 4 sum to 1.00000002",
        ),
        (matrix((0, 1, 0.0)), "in every state: those of state cell 1 sum to 0"),
    ],
)
def test_probabilities_that_are_refused(probabilities: np.ndarray, message: str) -> None:
    before = probabilities.copy()
    with pytest.raises(ti.InvalidInputError, match=re.escape(message)):
        ti.Policy.from_matrix(CHAIN, probabilities)
    assert np.array_equal(before, probabilities, equal_nan=True)


def test_rounded_probabilities_are_rescaled() -> None:
    policy = ti.Policy.from_matrix(CHAIN, matrix((1, 0, 0.333333333), (1, 1, 0.666666666)))
    assert abs(policy.matrix()[1].sum() - 1) <= 2**-52
    assert policy.matrix()[1, 0] == 0.333333333 / (0.333333333 + 0.666666666)


def test_policies_cannot_be_changed_and_callers_arrays_stay_theirs() -> None:
    actions, table = np.array(RIGHT), matrix()
    sure, mixed = ti.Policy.deterministic(CHAIN, actions), ti.Policy.from_matrix(CHAIN, table)
    actions[...] = 0
    table[...] = 0
    assert sure.actions.tolist() == RIGHT
    assert mixed.matrix().tolist() == matrix().tolist()
    for array in (sure.pairs, mixed.chances, ti.Policy.uniform(CHAIN).chances):
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        sure.pairs = None  # type: ignore[misc]
    # What is computed on demand is the caller's.
    sure.matrix()[...] = 0
    sure.probabilities[...] = 0
    assert sure.probabilities.sum() == 5


def test_policies_belong_to_their_dynamics() -> None:
    policy = ti.Policy.uniform(CHAIN)
    check_policy(CHAIN.with_features(np.ones((5, 1))), policy)
    check_policy(ti.worlds.chain(5, discount=0.5), policy)
    message = r"policy must belong to the MDP: Policy\(stochastic, 5 states\) has other states or"
    for other in (ti.worlds.chain(6), ti.worlds.gridworld(3)):
        with pytest.raises(ti.InvalidInputError, match=message):
            check_policy(other, policy)
    # As many pairs in every state, but other actions.
    renamed = ti.MDP.from_pairs(
        CHAIN.dynamics.pair_states,
        CHAIN.dynamics.actions + 1,
        CHAIN.dynamics.transitions,
        CHAIN.features,
        discount=0.9,
    )
    with pytest.raises(ti.InvalidInputError, match=message):
        check_policy(renamed, policy)


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_the_views_of_a_policy_agree(data: st.DataObject) -> None:
    mdp = data.draw(mdps())
    policy = data.draw(policies(mdp))
    dynamics, table = mdp.dynamics, policy.matrix()
    assert table.shape == (mdp.n_states, mdp.n_actions)
    assert np.abs(table.sum(axis=1) - 1).max() <= 4 * np.finfo(float).eps
    assert np.array_equal(table[dynamics.pair_states, dynamics.actions], policy.probabilities)
    assert np.count_nonzero(table) == np.count_nonzero(policy.probabilities)
    likeliest = table[np.arange(mdp.n_states), policy.actions]
    assert np.array_equal(likeliest, table.max(axis=1))
    for state, action in enumerate(policy.actions):
        dynamics.pair_of(state, int(action))
    if policy.is_deterministic:
        again = ti.Policy.deterministic(mdp, policy.actions)
        assert np.array_equal(again.pairs, policy.pairs)
        assert np.array_equal(ti.Policy.from_matrix(mdp, table).matrix(), table)
    else:
        again = ti.Policy.from_matrix(mdp, table)
        assert np.abs(again.probabilities - policy.probabilities).max() <= np.finfo(float).eps


class TestFiles:
    def test_policies_come_back_as_they_were(self, tmp_path):
        mdp = ti.worlds.gridworld(4)
        rng = np.random.default_rng(0)
        mixed = ti.Policy.from_matrix(mdp, rng.dirichlet(np.ones(4), size=16))
        certain = ti.optimal_policy(mdp, rng.standard_normal(16)).policy
        for policy in (mixed, certain):
            policy.save(tmp_path / "policy.csv")
            again = ti.Policy.load(tmp_path / "policy.csv", mdp)
            assert again.is_deterministic == policy.is_deterministic
            assert again.probabilities.tobytes() == policy.probabilities.tobytes()

    def test_the_table_has_names(self, tmp_path):
        mdp = ti.worlds.chain(3)
        ti.Policy.uniform(mdp).save(str(tmp_path / "policy.csv"))
        assert (tmp_path / "policy.csv").read_text() == (
            "state,action,probability\ncell 1,right,1.0\ncell 2,left,0.5\ncell 2,right,0.5\n"
            "cell 3,left,1.0\n"
        )

    def test_names_that_a_spreadsheet_would_run(self, tmp_path):
        """They are marked in what is written, which is read by the same names."""
        names = {"states": ["=1+1", "-b", "'-b", "'tis"], "actions": ["+go", "@stay"]}
        moves = np.zeros((4, 2, 4))
        for state in range(4):
            moves[state, 0, (state + 1) % 4] = moves[state, 1, state] = 1.0
        mdp = ti.MDP.from_arrays(
            moves,
            np.eye(4),
            discount=0.9,
            state_names=names["states"],
            action_names=names["actions"],
        )
        policy = ti.Policy.deterministic(mdp, [0, 1, 0, 1])
        policy.save(tmp_path / "policy.csv")
        # One of two names that would be the same stays as it is.
        assert (tmp_path / "policy.csv").read_text().splitlines() == [
            "state,action",
            "'=1+1,'+go",
            "-b,'@stay",
            "'-b,'+go",
            "'tis,'@stay",
        ]
        again = ti.Policy.load(tmp_path / "policy.csv", mdp)
        assert again.probabilities.tobytes() == policy.probabilities.tobytes()
        table = read_policy(Folder(tmp_path, False), "policy.csv", mdp)
        assert table.probabilities.tobytes() == policy.probabilities.tobytes()
        seen = ti.sample_trajectories(
            mdp, policy, episodes=3, horizon=4, rng=np.random.default_rng(0)
        )
        for name in ("seen.csv", "seen.jsonl"):
            write_trajectories(tmp_path / name, seen, mdp)
            text = (tmp_path / name).read_text()
            assert ("'@stay" in text) == (name == "seen.csv") and "@stay" in text
            back = ti.read_trajectories(tmp_path / name, mdp)
            assert back.pairs.tolist() == seen.pairs.tolist()

    def test_a_problem_file_reads_it(self, tmp_path):
        mdp = ti.worlds.chain(3)
        policy = ti.Policy.from_matrix(mdp, [[0, 1], [0.25, 0.75], [1, 0]])
        policy.save(tmp_path / "policy.csv")
        (tmp_path / "problem.toml").write_text(
            '[world]\nname = "chain"\ncells = 3\n[reward.weights]\n"cell 3" = 1.0\n'
            '[learner]\nsees = ["cell 2"]\n[demonstration]\npolicy = "policy.csv"\n'
        )
        shown = ti.read_problem(tmp_path / "problem.toml").task.demonstration
        assert shown.policy.probabilities == pytest.approx(policy.probabilities)

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("", "the first line must be state,action,probability, got nothing"),
            ("state,move\n", "the first line must be state,action,probability, got 'state,move'"),
            ("state,action\ncell 9,left\n", "row 2: there is no state 'cell 9'; there are: cell 1"),
            (
                "state,action\ncell 1,left\n",
                "row 2: state 'cell 1' has no action 'left'; it has",
            ),
            ("state,action\ncell 1\n", "row 2: must have 2 entries, got 1"),
            (
                "state,action,probability\ncell 1,right,much\n",
                "row 2: must have a probability from 0 to 1, got 'much'",
            ),
            (
                "state,action,probability\ncell 1,right,1\ncell 2,left,nan\n",
                "row 3: must have a probability from 0 to 1, got 'nan'",
            ),
            (
                "state,action,probability\ncell 1,right,1\ncell 1,right,1\n",
                "row 3: state 'cell 1' and action 'right' are there twice",
            ),
            (
                "state,action\ncell 1,right\ncell 3,left\n",
                "the probabilities of state 'cell 2' must sum to 1, got 0",
            ),
            (b"\xff\xfe", "a policy is a table, as UTF-8 text"),
        ],
    )
    def test_what_is_wrong_with_a_table_is_told(self, tmp_path, text, told):
        path = tmp_path / "policy.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(ti.FileFormatError, match=re.escape(told)):
            ti.Policy.load(path, ti.worlds.chain(3))
