"""The shipped checks catch what is broken, the strategies draw what they promise."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import TypeVar

import numpy as np
import pytest
import scipy.sparse as sp
from flint import fmpq
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

import teachirl as ti
from exact import exact, exact_expectations, exact_optimum, exact_value
from teachirl.arrays import frozen
from teachirl.testing import check_mdp, check_same, mdps, policies, weights, worldviews
from teachirl.testing import mdp as testing

SEARCH = settings(max_examples=200, derandomize=True, database=None, deadline=None)
T = TypeVar("T")


def drawn(strategy: st.SearchStrategy[T], number: int = 350) -> list[T]:
    """What the strategy gives, as Hypothesis draws it; the same every time."""
    examples: list[T] = []

    @settings(SEARCH, max_examples=number, phases=[Phase.generate])
    @given(strategy)
    def collect(example: T) -> None:
        examples.append(example)

    collect()
    return examples


@cache
def some_mdps() -> list[ti.MDP]:
    return drawn(mdps())


@pytest.mark.parametrize(
    "mdp",
    [
        ti.worlds.chain(5),
        ti.worlds.chain(2, discount=0.999),
        ti.worlds.gridworld(6, 2),
        ti.worlds.gridworld(6, 2, slip=0.3, discount=0.99),
        ti.worlds.chain(5).with_features(np.arange(16.0).reshape(8, 2)),
        ti.worlds.chain(5).with_features(sp.csr_array((8, 2))),
    ],
    ids=repr,
)
def test_worlds_keep_their_promises(mdp: ti.MDP) -> None:
    check_mdp(mdp)


@settings(max_examples=60, deadline=None)
@given(mdps())
def test_any_mdp_keeps_its_promises(mdp: ti.MDP) -> None:
    check_mdp(mdp)


def broken(mdp: ti.MDP, part: str, value: object) -> ti.MDP:
    """A copy of the MDP in which one part of it is something else, past all checks."""
    copy = dataclasses.replace(mdp, dynamics=dataclasses.replace(mdp.dynamics))
    owner = copy if part in ("features", "feature_names") else copy.dynamics
    object.__setattr__(owner, part, value)
    return copy


def ints(*values: int) -> np.ndarray:
    return frozen(np.array(values))


def floats(*values: float) -> np.ndarray:
    return frozen(np.array(values, dtype=float))


def rows(*, scale: float = 1.0, columns: int = 5, writeable: bool = False) -> sp.csr_array:
    """The chain's transitions, with the first row scaled."""
    matrix = ti.worlds.chain(5).dynamics.transitions.copy()
    matrix.data[0] = scale
    matrix.resize(8, columns)
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.setflags(write=writeable)
    return matrix


def scrambled() -> sp.csr_array:
    matrix = ti.worlds.gridworld(2, slip=0.5).dynamics.transitions.copy()
    matrix.indices[:2] = matrix.indices[1::-1]
    matrix.has_sorted_indices = matrix.has_canonical_format = False
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.setflags(write=False)
    return matrix


CHAIN = ti.worlds.chain(5)
BROKEN: list[tuple[ti.MDP, str]] = [
    (broken(CHAIN, "start", np.full(5, 0.2)), "start must be read-only"),
    (broken(CHAIN, "features", np.eye(5)), "features must be read-only"),
    (broken(CHAIN, "transitions", rows(writeable=True)), "transitions.indptr must be read-only"),
    (broken(CHAIN, "start", floats(1, 0, 0, 0)), "start must have shape (5,), got (4,)"),
    (broken(CHAIN, "start", floats(0.5, 0.4, 0, 0, 0)), "start must be a distribution"),
    (broken(CHAIN, "start", floats(-0.5, 1.5, 0, 0, 0)), "start must be a distribution"),
    (broken(CHAIN, "discount", 1.0), "discount must lie in (0, 1), got 1.0"),
    (broken(CHAIN, "offsets", ints(0, 1, 3, 5, 7, 9)), "offsets must rise from 0 to 8"),
    (broken(CHAIN, "offsets", ints(0, 3, 3, 5, 7, 8)), "offsets must rise from 0 to 8"),
    (broken(CHAIN, "pair_states", ints(0, 1, 1, 2, 2, 3, 4, 4)), "pair_states must say which"),
    (broken(CHAIN, "actions", ints(1, 0, 1, 0, 1, 0, 1, 2)), "actions must lie in 0 … 1"),
    (broken(CHAIN, "actions", ints(1, 1, 0, 0, 1, 0, 1, 0)), "the pairs must be sorted by state"),
    (broken(CHAIN, "actions", ints(1, 1, 1, 0, 1, 0, 1, 0)), "the pairs must be sorted by state"),
    (broken(CHAIN, "transitions", rows(columns=6)), "transitions must be [P, S], got (8, 6)"),
    (broken(CHAIN, "transitions", rows(scale=0.75)), "transitions of pair 0 sum to 0.75, not 1"),
    (broken(CHAIN, "transitions", rows(scale=-1.0)), "transitions must hold positive entries"),
    (broken(CHAIN, "transitions", rows(scale=np.nan)), "transitions must hold positive entries"),
    (
        broken(ti.worlds.gridworld(2, slip=0.5), "transitions", scrambled()),
        "transitions must be sorted and without duplicates",
    ),
    (broken(CHAIN, "state_names", ("a", "b")), "state_names must have 5 entries, got 2"),
    (broken(CHAIN, "action_names", ("a", "a")), "action_names must be distinct"),
    (broken(CHAIN, "feature_names", tuple("abcdd")), "feature_names must be distinct"),
    (broken(CHAIN, "feature_names", (*"abcd", 5)), "feature_names must be strings"),
    (broken(CHAIN, "features", frozen(np.ones((4, 5)))), "features must be [S, k] or [P, k]"),
    (broken(CHAIN, "features", frozen(np.full((5, 5), np.inf))), "features must be finite"),
]


@pytest.mark.parametrize(("mdp", "message"), BROKEN, ids=[message for _, message in BROKEN])
def test_a_broken_mdp_is_told(mdp: ti.MDP, message: str) -> None:
    with pytest.raises(AssertionError) as caught:
        check_mdp(mdp)
    assert message in str(caught.value)


def test_only_mdps_are_mdps() -> None:
    with pytest.raises(AssertionError, match=r"an MDP is an instance of teachirl\.MDP, not"):
        check_mdp(CHAIN.dynamics)  # type: ignore[arg-type]


def test_a_copy_is_not_broken() -> None:
    check_mdp(broken(CHAIN, "discount", 0.9))


def test_broken_planning_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def overconfident(mdp: ti.MDP, weights: np.ndarray) -> ti.Plan:
        plan = ti.optimal_policy(mdp, weights)
        return dataclasses.replace(plan, upper=plan.value - 1e-3)

    monkeypatch.setattr(testing, "optimal_policy", overconfident)
    with pytest.raises(AssertionError, match=r"the optimal policy's value 10\.0\d* is outside"):
        check_mdp(CHAIN)

    def suboptimal(mdp: ti.MDP, weights: np.ndarray) -> ti.Plan:
        plan = ti.optimal_policy(mdp, weights)
        return dataclasses.replace(plan, policy=ti.worst_policy(mdp, weights).policy)

    monkeypatch.setattr(testing, "optimal_policy", suboptimal)
    with pytest.raises(AssertionError, match="by its feature expectations, outside the bounds"):
        check_mdp(CHAIN)

    monkeypatch.setattr(testing, "optimal_policy", ti.worst_policy)
    with pytest.raises(AssertionError, match="outside what the worst and the best policy allow"):
        check_mdp(CHAIN)


def test_broken_occupancies_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusal(name: str, function: Callable[..., object]) -> str:
        with monkeypatch.context() as patch:
            patch.setattr(testing, name, function)
            with pytest.raises(AssertionError) as caught:
                testing._check_occupancy(CHAIN, ti.Policy.uniform(CHAIN))
        return str(caught.value)

    assert "must be [P], got (5,)" in refusal("occupancy", lambda m, p: np.ones(5))
    assert "must not be negative" in refusal("occupancy", lambda m, p: -ti.occupancy(m, p))
    lost = refusal("occupancy", lambda m, p: ti.occupancy(m, p) * (1 + 1e-9))
    assert "occupancy must flow in as it flows out" in lost
    wrong = refusal("feature_expectations", lambda m, p: np.zeros(5))
    assert "feature_expectations are [0. 0. 0. 0. 0.]" in wrong
    other = refusal(
        "policy_from_occupancy", lambda m, x: ti.Policy.deterministic(m, [1, 1, 1, 1, 0])
    )
    assert "policy_from_occupancy must give a policy with that occupancy" in other


def test_a_broken_round_trip_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    other = ti.worlds.chain(5, discount=np.nextafter(0.9, 1))
    monkeypatch.setattr(ti.MDP, "load", lambda path: other)
    with pytest.raises(AssertionError, match=r"discount differ: 0\.9 and 0\.90"):
        check_mdp(CHAIN)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (CHAIN.with_features(np.eye(5)), "feature_names differ"),
        (CHAIN.with_features(-np.eye(5) * -1.0 + 0.0, CHAIN.feature_names), None),
        (CHAIN.with_features(np.eye(5) * (1 + 2e-16), CHAIN.feature_names), "features differ"),
        (CHAIN.with_features(sp.eye_array(5), CHAIN.feature_names), "are not"),
        (ti.worlds.chain(4), "offsets differ"),
    ],
)
def test_same_means_every_bit(other: ti.MDP, message: str | None) -> None:
    if message is None:
        check_same(CHAIN, other)
    else:
        with pytest.raises(AssertionError, match=message):
            check_same(CHAIN, other)


def reachable(mdp: ti.MDP) -> set[int]:
    table = mdp.dynamics.transitions.toarray()
    seen = set(np.flatnonzero(mdp.start).tolist())
    for _ in range(mdp.n_states):
        pairs = np.isin(mdp.dynamics.pair_states, sorted(seen))
        seen |= set(np.flatnonzero(table[pairs].sum(axis=0)).tolist())
    return seen


def counts(mdp: ti.MDP) -> np.ndarray:
    return np.diff(mdp.dynamics.offsets)


def columns(mdp: ti.MDP) -> np.ndarray:
    return (mdp.features if isinstance(mdp.features, np.ndarray) else mdp.features.toarray()).T


def ties(mdp: ti.MDP) -> bool:
    """Whether two actions of a state lead to the same."""
    table, states = mdp.dynamics.transitions.toarray(), mdp.dynamics.pair_states
    return any(
        states[i] == states[i + 1] and np.array_equal(table[i], table[i + 1])
        for i in range(len(states) - 1)
    )


KINDS: dict[str, Callable[[ti.MDP], bool]] = {
    "one state": lambda m: m.n_states == 1,
    "most states": lambda m: m.n_states == 6,
    "one action": lambda m: m.n_actions == 1 and m.n_states > 1,
    "most actions": lambda m: m.n_pairs == 3 * m.n_states > 3,
    "different action sets": lambda m: len(set(counts(m).tolist())) > 1,
    "an action that is missing first": lambda m: m.dynamics.actions[0] > 0,
    "unreachable states": lambda m: len(reachable(m)) < m.n_states,
    "all reachable from one": lambda m: m.start.max() == 1 and len(reachable(m)) == m.n_states > 2,
    "absorbing": lambda m: m.n_states > 2 and bool(
        (np.bincount(m.dynamics.pair_states, m.dynamics.transitions.toarray()[
            np.arange(m.n_pairs), m.dynamics.pair_states]) == counts(m)).any()
    ),
    "deterministic": lambda m: m.n_states > 2 and bool((m.dynamics.transitions.data == 1).all()),
    "stochastic": lambda m: m.dynamics.transitions.nnz > 2 * m.n_pairs,
    "ties": ties,
    "per pair": lambda m: m.features_per_pair,
    "per state": lambda m: m.n_pairs > m.n_states and not m.features_per_pair,
    "sparse": lambda m: sp.issparse(m.features) and m.features.nnz > 0,
    "sparse per pair": lambda m: sp.issparse(m.features) and m.features_per_pair,
    "no nonzero feature": lambda m: not columns(m).any(),
    "a zero feature": lambda m: columns(m).any() and not columns(m).any(axis=1).all(),
    "a feature twice": lambda m: any(
        np.array_equal(a, b) and a.any() for a, b in itertools.combinations(columns(m), 2)
    ),
    "a constant feature": lambda m: m.n_states > 1 and bool((columns(m) == 1).all(axis=1).any()),
    "fractions": lambda m: bool((columns(m) % 1).any()),
    "start in one": lambda m: m.n_states > 2 and m.start.max() == 1,
    "start uneven": lambda m: 0 < m.start[m.start > 0].min() < m.start.max() < 1,
    "start even": lambda m: m.n_states > 2 and np.ptp(m.start) == 0,
    "named": lambda m: m.feature_names is not None and m.dynamics.state_names is not None,
    "nameless": lambda m: m.feature_names is None and m.dynamics.action_names is None,
    **{f"discount {g}": lambda m, g=g: m.discount == g for g in (0.5, 0.9, 0.99, 0.999)},
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.xdist_group("drawn")
def test_mdps_of_every_kind_are_drawn(kind: str) -> None:
    assert sum(map(KINDS[kind], some_mdps())) >= 5


@settings(max_examples=30, deadline=None)
@given(mdps(max_states=3, max_actions=2, max_features=1, discounts=(0.75,)))
def test_mdps_keep_to_their_limits(mdp: ti.MDP) -> None:
    assert mdp.n_states <= 3
    assert mdp.n_actions <= 2
    assert mdp.n_features == 1
    assert mdp.discount == 0.75


def test_shrunk_mdps_can_be_read() -> None:
    smallest = find(mdps(), lambda mdp: True, settings=SEARCH)
    assert repr(smallest) == "MDP(1 state, 1 state-action pair, 1 feature per state, discount 0.5)"
    assert find(weights(3), lambda w: w.sum() > 2, settings=SEARCH).tolist() == [0, 0, 3]


def test_weights_of_every_kind_are_drawn() -> None:
    kinds: list[Callable[[np.ndarray], bool]] = [
        lambda w: not w.any(),
        lambda w: sorted(w) == [0, 0, 1],
        lambda w: sorted(w) == [-1, 0, 0],
        lambda w: bool(w.all()) and bool((w % 1 == 0).all()),
        lambda w: np.abs(w).max() > 1e11,
        lambda w: 0 < np.abs(w).max() < 1e-11,
        lambda w: bool((w * 4 % 1).all()) and np.abs(w).max() > 0.5,
    ]
    examples = drawn(weights(3))
    for kind in kinds:
        assert any(map(kind, examples))


def test_worldviews_of_every_kind_are_drawn() -> None:
    rank = np.linalg.matrix_rank

    def nonzero_rows(a: np.ndarray) -> bool:
        return len(a) > 0 and bool(a.any(axis=1).all())

    kinds: list[Callable[[np.ndarray], bool]] = [
        lambda a: a.shape == (0, 3),
        lambda a: len(a) == 5 and rank(a) == 3,
        lambda a: len(a) == 2 and not a[1].any() and a[0].any(),
        lambda a: len(a) > 1 and nonzero_rows(a) and np.array_equal(a[0], a[1]),
        lambda a: len(a) == 3 and nonzero_rows(a) and rank(a) == 2 == rank(a[:2]) == rank(a[1:]),
        lambda a: len(a) == 2 and nonzero_rows(a) and np.abs(a[0]).max() > 1e9 * np.abs(a[1]).max(),
        lambda a: len(a) > 1 and sorted(a.ravel()) == [0] * (2 * len(a)) + [1] * len(a),
    ]
    examples = drawn(worldviews(3))
    for kind in kinds:
        assert any(map(kind, examples))


@settings(max_examples=50, deadline=None)
@given(st.data(), st.integers(1, 4))
def test_arrays_have_their_shapes(data: st.DataObject, n_features: int) -> None:
    w = data.draw(weights(n_features))
    view = data.draw(worldviews(n_features, max_rows=2))
    assert w.shape == (n_features,) and w.dtype == float and np.isfinite(w).all()
    assert len(view) <= 2
    assert view.shape[1] == n_features and view.dtype == float and np.isfinite(view).all()


def test_policies_of_every_kind_are_drawn() -> None:
    kinds: list[Callable[[ti.Policy], bool]] = [
        lambda p: p.is_deterministic and p.actions.tolist() == [1, 0, 1, 0, 0],
        lambda p: not p.is_deterministic and bool((p.matrix()[1:4] > 0).all()),
        lambda p: not p.is_deterministic and p.probabilities.min() == 0,
        lambda p: len(set(p.probabilities.tolist())) > 4,
    ]
    examples = drawn(policies(CHAIN))
    assert all(policy.dynamics is CHAIN.dynamics for policy in examples)
    for kind in kinds:
        assert any(map(kind, examples))


def test_without_hypothesis_strategies_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    monkeypatch.delitem(sys.modules, "teachirl.testing")
    monkeypatch.setattr(ti, "testing", None)  # which the import sets, and leaving sets back
    alone = importlib.import_module("teachirl.testing")
    alone.check_mdp(CHAIN)  # contracts need nothing else
    with pytest.raises(ti.MissingExtraError, match=r"needs hypothesis: .*teachirl\[testing\]"):
        _ = alone.mdps
    with pytest.raises(AttributeError, match="has no attribute 'strategy'"):
        _ = alone.strategy


def test_contracts_are_where_people_look_for_them() -> None:
    assert ti.testing.check_mdp is check_mdp


def test_exact_arithmetic_on_a_world_worked_out_by_hand() -> None:
    # From left, stay for 1 or go right for 0; right is absorbing and pays 3.
    mdp = ti.MDP.from_pairs(
        [0, 0, 1],
        [0, 1, 0],
        [[1, 0], [0, 1], [0, 1]],
        [[1.0, 0], [0, 0], [0, 3]],
        discount=0.5,
        start=[0.75, 0.25],
    )
    stay, go = ti.Policy.deterministic(mdp, [0, 0]), ti.Policy.deterministic(mdp, [1, 0])
    assert exact_value(mdp, stay, [1, 1]) == fmpq(3, 4) * 2 + fmpq(1, 4) * 6
    assert exact_value(mdp, go, [1, 1]) == fmpq(3, 4) * 3 + fmpq(1, 4) * 6
    assert exact_optimum(mdp, [1, 1]) == fmpq(15, 4)
    assert exact_optimum(mdp, [1, -1]) == 0
    assert exact_expectations(mdp, stay) == [fmpq(3, 2), fmpq(3, 2)]
    assert exact_expectations(mdp, go) == [0, fmpq(15, 4)]
    assert exact(0.1) == fmpq(*Fraction(0.1).as_integer_ratio())


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_exact_twins_agree(data: st.DataObject) -> None:
    mdp = data.draw(mdps(max_states=4))
    w = data.draw(weights(mdp.n_features))
    policy = data.draw(policies(mdp))
    mu = exact_expectations(mdp, policy)
    value = exact_value(mdp, policy, w)
    assert value == sum((exact(a) * b for a, b in zip(w, mu, strict=True)), fmpq(0))
    # A stochastic policy's probabilities are floats that need not sum to exactly 1.
    if policy.is_deterministic:
        assert -exact_optimum(mdp, -w) <= value <= exact_optimum(mdp, w)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_the_exact_optimum_is_that_of_the_best_policy(data: st.DataObject) -> None:
    mdp = data.draw(mdps(max_states=3, max_actions=2))
    w = data.draw(weights(mdp.n_features))
    offsets = mdp.dynamics.offsets
    choices = itertools.product(
        *(mdp.dynamics.actions[a:b] for a, b in itertools.pairwise(offsets.tolist()))
    )
    values = [exact_value(mdp, ti.Policy.deterministic(mdp, list(c)), w) for c in choices]
    assert exact_optimum(mdp, w) == max(values)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_floats_agree_with_their_exact_twins(data: st.DataObject) -> None:
    mdp = data.draw(mdps())
    w = data.draw(weights(mdp.n_features))
    plan = ti.optimal_policy(mdp, w)
    best, value = exact_optimum(mdp, w), exact_value(mdp, plan.policy, w)
    assert exact(plan.lower) <= value <= best <= exact(plan.upper)
    policy = data.draw(policies(mdp))
    mu = ti.feature_expectations(mdp, policy)
    size = exact(float(abs(columns(mdp)).max(initial=0.0)) / (1 - mdp.discount))
    for close, true in zip(mu, exact_expectations(mdp, policy), strict=True):
        assert abs(exact(close) - true) <= size * fmpq(1, 10**12)
