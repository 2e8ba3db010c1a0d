"""Worlds beyond the paper's grids: obstacles, garnets, the highway, Gymnasium's tables."""

from __future__ import annotations

import inspect
import itertools
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest

import teachirl as ti
from teachirl.mdp.occupancy import policy_transitions
from teachirl.worlds.built_in import BUILT_IN
from teachirl.worlds.driving import HIGHWAY
from teachirl.worlds.garnet import subsets

DOCS = Path(__file__).parent.parent / "docs" / "worlds.md"


def doc_table(*header: str) -> list[list[str]]:
    """The rows of the table of docs/worlds.md whose first columns are `header`."""
    lines = DOCS.read_text(encoding="utf-8").splitlines()
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in lines]
    (first,) = (i for i, row in enumerate(cells) if tuple(row[: len(header)]) == header)
    return list(itertools.takewhile(lambda row: len(row) > 1, cells[first + 2 :]))


def column(mdp: ti.MDP, name: str) -> np.ndarray:
    return np.asarray(mdp.features)[:, mdp.feature_index(name)]


def weights_of(mdp: ti.MDP, **named: float) -> np.ndarray:
    weights = np.zeros(mdp.n_features)
    for name, weight in named.items():
        weights[mdp.feature_index(name.replace("_", " "))] = weight
    return weights


# World and obstacles


def test_a_world_checks_and_freezes_its_arrays() -> None:
    mdp = ti.worlds.chain(3)
    world = ti.worlds.World(mdp, np.ones(3), np.array([1.0, 2.0, 3.0]))
    with pytest.raises(ValueError, match="read-only"):
        world.weights[0] = 2.0
    with pytest.raises(ti.InvalidInputError, match=r"weights must have shape \(3,\)"):
        ti.worlds.World(mdp, np.ones((2, 3)))
    with pytest.raises(ti.InvalidInputError, match=r"prices must have shape \(3,\), got \(2,\)"):
        ti.worlds.World(mdp, np.ones(3), np.ones(2))
    with pytest.raises(ti.InvalidInputError, match=r"positive and finite, got 0\.0 at index 1"):
        ti.worlds.World(mdp, np.ones(3), np.array([1.0, 0.0, 1.0]))


def test_obstacles_has_the_cells_of_figure_4() -> None:
    world = ti.worlds.obstacles(np.random.default_rng(3))
    assert world.mdp.feature_names == tuple(f"cell {i}" for i in range(25))
    assert world.prices is None
    assert np.linalg.norm(world.weights) == pytest.approx(1.0, abs=1e-15)
    high = world.weights[4]
    np.testing.assert_array_equal(world.weights[[4, 9, 18, 23]], [high, high, -high, -high])
    rest = np.delete(world.weights, [4, 9, 18, 23])
    assert 0 < np.abs(rest).max() < 0.25 * high
    assert len(set(rest)) == 21
    # Macrocell 18 is the fourth of the fourth row: rows 6 and 7, columns 6 and 7.
    inside = np.flatnonzero(world.mdp.features[:, [18]].toarray())
    assert inside.tolist() == [66, 67, 76, 77]
    again = ti.worlds.obstacles(np.random.default_rng(3))
    np.testing.assert_array_equal(world.weights, again.weights)


def test_the_expert_of_obstacles_ends_in_a_goal_and_avoids_obstacles() -> None:
    world = ti.worlds.obstacles(np.random.default_rng(0))
    mdp = world.mdp
    policy = ti.optimal_policy(mdp, world.weights).policy
    moves = policy_transitions(mdp, policy).toarray()
    cell = mdp.features.toarray()
    bad = cell[:, [18, 23]].any(axis=1)
    assert moves[np.ix_(~bad, bad)].sum() == 0
    final = np.linalg.matrix_power(moves, 64)
    np.testing.assert_array_equal(final @ cell[:, [4, 9]].sum(axis=1), 1.0)


def test_obstacles_of_degenerate_sizes() -> None:
    rng = np.random.default_rng(0)
    one = ti.worlds.obstacles(rng, 1, 1, goals=(0,), obstacles=())
    assert (one.mdp.n_states, one.weights.tolist()) == (1, [1.0])
    bare = ti.worlds.obstacles(rng, 4, 2, goals=(), obstacles=(1,), noise=0.0, slip=0.5)
    assert bare.weights.tolist() == [0.0, -1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"goals": (25,)}, "goals must lie in 0 … 24, got 25 at index 0"),
        ({"obstacles": (3, -1)}, "obstacles must lie in 0 … 24, got -1 at index 1"),
        ({"goals": (1.5,)}, "goals must be a one-dimensional array of integers"),
        ({"goals": (4, 18)}, r"must not share a macrocell, got \[18\] in both"),
        ({"noise": -1.0}, "noise must be at least 0, got -1.0"),
        ({"goals": (), "obstacles": (), "noise": 0.0}, "all weights are zero"),
        ({"size": 5}, "block must divide size 5, got 2"),
    ],
)
def test_obstacles_refuses(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ti.InvalidInputError, match=message):
        ti.worlds.obstacles(np.random.default_rng(0), **arguments)


# Garnets


def test_garnet_rows_have_distinct_successors_and_sum_to_one() -> None:
    mdp = ti.worlds.garnet(np.random.default_rng(1), 60, 3, branching=7, n_features=5)
    rows = mdp.dynamics.transitions
    assert (rows.shape, mdp.features.shape) == ((180, 60), (60, 5))
    np.testing.assert_array_equal(np.diff(rows.indptr), 7)
    assert all(len(set(rows.indices[i : i + 7])) == 7 for i in range(0, rows.nnz, 7))
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, rtol=0, atol=1e-15)
    assert rows.data.min() > 0


@pytest.mark.parametrize(("size", "limit"), [(2, 5), (3, 5), (1, 3), (3, 3), (2, 4)])
def test_subsets_are_uniform(size: int, limit: int) -> None:
    rows = 20_000
    drawn = np.sort(subsets(np.random.default_rng(5), rows, size, limit), axis=1)
    possible = list(itertools.combinations(range(limit), size))
    counts = np.array([np.all(drawn == subset, axis=1).sum() for subset in possible])
    assert counts.sum() == rows
    expected = rows / len(possible)
    # Five standard deviations of a multinomial count; the seed is fixed.
    assert np.abs(counts - expected).max() <= 5 * np.sqrt(expected)


def test_garnet_probabilities_are_uniform_spacings() -> None:
    b = 4
    mdp = ti.worlds.garnet(np.random.default_rng(2), 5000, 4, branching=b, n_features=1)
    p = np.sort(mdp.dynamics.transitions.data.reshape(-1, b), axis=1)
    # E of the i-th smallest of b spacings: (1/b) Σ_{j ≤ i} 1/(b − j + 1).
    expected = np.cumsum(1.0 / np.arange(b, 0, -1)) / b
    np.testing.assert_allclose(p.mean(axis=0), expected, atol=0.005)


def test_garnet_of_degenerate_sizes() -> None:
    rng = np.random.default_rng(0)
    one = ti.worlds.garnet(rng, 1, 1, branching=1, n_features=1)
    assert one.dynamics.transitions.toarray().tolist() == [[1.0]]
    certain = ti.worlds.garnet(rng, 9, 2, branching=1, n_features=2, per_pair=True)
    assert certain.features.shape == (18, 2)
    np.testing.assert_array_equal(certain.dynamics.transitions.data, 1.0)
    dense = ti.worlds.garnet(rng, 9, 2, branching=9, n_features=2)
    assert dense.dynamics.transitions.nnz == 18 * 9


def test_garnets_repeat_with_their_generator_and_grow_large() -> None:
    big, again = (
        ti.worlds.garnet(np.random.default_rng(4), 100_000, 4, branching=8, n_features=2)
        for _ in range(2)
    )
    rows = big.dynamics.transitions
    assert (big.n_pairs, rows.nnz) == (400_000, 3_200_000)
    np.testing.assert_array_equal(rows.indices, again.dynamics.transitions.indices)
    np.testing.assert_array_equal(rows.data, again.dynamics.transitions.data)
    np.testing.assert_array_equal(big.features, again.features)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((0, 1, 1, 1), "n_states must be at least 1, got 0"),
        ((3, 0, 1, 1), "n_actions must be at least 1, got 0"),
        ((3, 2, 1, 0), "n_features must be at least 1, got 0"),
        ((3, 2, 4, 1), "branching must lie in 1 … n_states = 3, got 4"),
        ((3, 2, 0, 1), "branching must lie in 1 … n_states = 3, got 0"),
    ],
)
def test_garnet_refuses(sizes: tuple[int, int, int, int], message: str) -> None:
    with pytest.raises(ti.InvalidInputError, match=message):
        ti.worlds.garnet(np.random.default_rng(0), *sizes)


# The highway


@pytest.fixture(scope="module")
def highway() -> ti.worlds.World:
    return ti.worlds.driving()


def state(world: ti.worlds.World, lane: str, speed: str, left: str, middle: str, right: str) -> int:
    names = world.mdp.dynamics.state_names
    assert names is not None
    place = lane if lane == "shoulder" else f"{lane} lane"
    return names.index(f"{place}, {speed}; cars: left {left}, middle {middle}, right {right}")


def test_the_highway_has_the_size_and_actions_it_says(highway: ti.worlds.World) -> None:
    mdp = highway.mdp
    assert mdp.n_states == 4 * 3 * 6**3
    dynamics = mdp.dynamics

    def actions(*place: str) -> list[str]:
        s = state(highway, *place)
        pairs = range(dynamics.offsets[s], dynamics.offsets[s + 1])
        return [dynamics.action_name(dynamics.actions[p]) for p in pairs]

    everywhere = ["keep", "accelerate", "brake", "steer left", "steer right"]
    assert actions("middle", "medium", "none", "none", "none") == everywhere
    fast_left = actions("left", "fast", "none", "none", "none")
    assert fast_left == ["keep", "brake", "steer right"]
    slow_shoulder = actions("shoulder", "slow", "none", "none", "beside")
    assert slow_shoulder == ["keep", "accelerate", "steer left"]
    assert actions("left", "slow", "beside", "none", "none") == ["brake"]
    possible = np.flatnonzero(mdp.start)
    assert len(possible) == 36
    names = [dynamics.state_name(s) for s in possible]
    assert all(n.startswith("right lane, medium") and n.endswith("right none") for n in names)


def test_a_step_on_the_highway_by_hand(highway: ti.worlds.World) -> None:
    """Right lane, fast, a truck 2 ahead, nobody else in sight; steer to the middle."""
    dynamics = highway.mdp.dynamics
    s = state(highway, "right", "fast", "none", "none", "2 ahead")
    row = dynamics.transitions[[dynamics.pair_of(s, 3)]].toarray()[0]
    assert {dynamics.state_name(t).split(";")[0] for t in np.flatnonzero(row)} == {
        "middle lane, fast"
    }
    # Left: 0.2 · 0.4 slower cars. Middle: 0.25 · 0.9. Right: leaves, or falls back by 2 or by 1.
    left = {"none": 0.92, "3 ahead": 0.08}
    middle = {"none": 0.775, "3 ahead": 0.225}
    right = {"none": 0.05, "beside": 0.95 * 0.8, "1 ahead": 0.95 * 0.2}
    for (a, p), (b, q), (c, r) in itertools.product(left.items(), middle.items(), right.items()):
        target = state(highway, "middle", "fast", a, b, c)
        assert row[target] == pytest.approx(p * q * r, rel=1e-12)


def slow_highway(traffic, sight, leave, inattention, surprise):
    """The rules of docs/worlds.md, outcome by outcome: {(state, action): {state: probability}}."""
    lanes = len(traffic)
    cells = [-1, 0, *range(1, sight + 1), None]
    table = {}
    for lane, speed in itertools.product(range(lanes + 1), range(3)):
        for gaps in itertools.product(cells, repeat=lanes):
            collision = lane < lanes and gaps[lane] == 0
            for action in ("keep", "accelerate", "brake", "steer left", "steer right"):
                to, pace, cars = lane, speed, list(gaps)
                if collision:
                    if action != "brake":
                        continue
                    pace, cars[lane] = max(speed - 1, 0), None
                elif action == "accelerate":
                    pace = speed + 1
                elif action == "brake":
                    pace = speed - 1
                elif action != "keep":
                    to = lane + (1 if action == "steer right" else -1)
                if not (0 <= to <= lanes and 0 <= pace <= 2):
                    continue
                outcomes = [((), 1.0)]
                for number, law in enumerate(traffic):
                    ways: list[tuple[int | None, float]] = []
                    for u, p in enumerate((law.slow, law.medium, law.fast)):
                        gap = cars[number]
                        if gap is None:
                            new = sight if u < pace else -1 if u > pace else None
                            ways += [(new, p * law.density), (None, p * (1 - law.density))]
                            continue
                        ways.append((None, p * leave))
                        p = p * (1 - leave)
                        moved = gap + u - pace
                        if number != to or gap * moved > 0:
                            ways.append((moved if -1 <= moved <= sight else None, p))
                        elif gap < 0:
                            failure = surprise if to != lane else inattention
                            ways += [(0, p * failure), (-1, p * (1 - failure))]
                        else:
                            ways.append((0, p))
                    outcomes = [((*g, x), q * p) for g, q in outcomes for x, p in ways]
                row = table.setdefault(((lane, speed, gaps), action), {})
                for new_gaps, p in outcomes:
                    if p > 0:
                        target = (to, pace, new_gaps)
                        row[target] = row.get(target, 0.0) + p
    states = itertools.product(range(lanes + 1), range(3), itertools.product(cells, repeat=lanes))
    return {s: i for i, s in enumerate(states)}, table


@pytest.mark.parametrize(
    ("traffic", "sight", "rest"),
    [
        (HIGHWAY[1:], 2, (0.05, 0.01, 0.3)),
        (HIGHWAY[:1], 4, (0.2, 0.5, 0.9)),
        ((HIGHWAY[2], HIGHWAY[0]), 1, (0.0, 0.0, 1.0)),
        ((ti.worlds.Traffic("only", 1.0, 0.3, 0.3, 0.4),), 1, (1.0, 1.0, 0.0)),
        ((ti.worlds.Traffic("only", 0.0, 0.0, 0.0, 1.0),), 6, (0.0, 0.1, 0.2)),
    ],
)
def test_the_highway_moves_like_its_slow_twin(traffic, sight, rest) -> None:
    leave, inattention, surprise = rest
    world = ti.worlds.driving(
        traffic, sight=sight, leave=leave, inattention=inattention, surprise=surprise
    )
    number, table = slow_highway(traffic, sight, leave, inattention, surprise)
    dynamics = world.mdp.dynamics
    assert (len(number), len(table)) == (dynamics.n_states, dynamics.n_pairs)
    expected = np.zeros(dynamics.transitions.shape)
    for (source, action), row in table.items():
        pair = dynamics.pair_of(number[source], dynamics.action_names.index(action))
        for target, probability in row.items():
            expected[pair, number[target]] = probability
    np.testing.assert_allclose(dynamics.transitions.toarray(), expected, rtol=0, atol=1e-14)


def test_sensors_are_on_where_they_should_be(highway: ti.worlds.World) -> None:
    mdp = highway.mdp

    def on(place: tuple[str, ...], action: int) -> set[str]:
        row = np.asarray(mdp.features)[mdp.dynamics.pair_of(state(highway, *place), action)]
        assert set(np.unique(row)) <= {0.0, 1.0}
        return {mdp.feature_name(i) for i in np.flatnonzero(row)}

    keep, accelerate, brake, left, right = range(5)
    place = ("middle", "fast", "behind", "1 ahead", "beside")
    always = {"fast", "middle lane", "tailgating", "ahead 1", "left behind", "right beside"}
    assert on(place, keep) == always
    assert on(place, brake) == always | {"braking"}
    assert on(place, left) == on(place, right) == always | {"lane change", "cutting in"}
    clear = ("left", "medium", "none", "1 ahead", "1 ahead")
    seen = {"medium", "left lane", "dawdling", "right ahead 1"}
    assert on(clear, accelerate) == seen
    assert on(clear, right) == seen | {"lane change"}
    jam = ("right", "slow", "none", "3 ahead", "1 ahead")
    assert on(jam, keep) == {"slow", "right lane", "ahead 1", "left ahead 3"}
    crash = ("right", "medium", "none", "none", "beside")
    assert on(crash, brake) == {"medium", "right lane", "collision"}
    shoulder = ("shoulder", "slow", "beside", "beside", "2 ahead")
    assert on(shoulder, keep) == {"slow", "shoulder", "left ahead 2"}


def test_the_documentation_knows_the_highway(highway: ti.worlds.World) -> None:
    names, prices = highway.mdp.feature_names, highway.prices
    assert names is not None and prices is not None
    documented = [
        (name, float(price), float(weight))
        for name, _, price, weight in doc_table("sensor", "on when")
    ]
    actual = zip(names, prices, highway.weights.round(12), strict=True)
    assert documented == [(n, float(p), float(w)) for n, p, w in actual]
    lanes = [(name, *map(float, rest)) for name, *rest in doc_table("lane", "density")]
    assert lanes == [(t.lane, t.density, t.slow, t.medium, t.fast) for t in HIGHWAY]
    defaults = {
        f"`{p.name}`": p.default
        for p in inspect.signature(ti.worlds.driving).parameters.values()
        if p.name != "traffic"
    }
    rows = doc_table("parameter", "default")
    assert {name: float(value) for name, value, _ in rows} == defaults


def test_the_documentation_knows_how_one_drives(highway: ti.worlds.World) -> None:
    mdp = highway.mdp
    everything = mdp.feature_names
    assert everything is not None
    own = everything[:7]
    assert own[-1] == "shoulder"
    shown = {
        "all (the expert)": everything,
        "all but shoulder": [name for name in everything if name != "shoulder"],
        "all but collision": [name for name in everything if name != "collision"],
        "speed and lanes": own,
        "speed, lanes and collision": [*own, "collision"],
    }
    rows = {name: rest for name, *rest in doc_table("sensors", "fast")}
    assert list(rows) == list(shown)
    for name, seen in shown.items():
        weights = np.where([f in seen for f in everything], highway.weights, 0.0)
        policy = ti.optimal_policy(mdp, weights).policy
        forward = policy_transitions(mdp, policy).T.tocsr()
        share = mdp.start
        for _ in range(1000):
            share = forward @ share
        assert np.abs(forward @ share - share).max() < 1e-9
        rates = share @ np.asarray(mdp.features)[policy.pairs]
        fast, shoulder, tailgating, collision = (
            rates[mdp.feature_index(f)] for f in ("fast", "shoulder", "tailgating", "collision")
        )
        performance = ti.relative_performance(mdp, highway.weights, policy)
        assert rows[name] == [
            f"{100 * fast:.0f} %",
            f"{100 * shoulder:.0f} %",
            f"{100 * tailgating:.0f} %",
            f"{1e5 * collision:.0f}",
            f"{performance:.3f}",
        ]


def test_the_expert_overtakes_when_it_is_safe(highway: ti.worlds.World) -> None:
    mdp = highway.mdp
    plan = ti.optimal_policy(mdp, highway.weights)
    actions = plan.policy.actions

    def does(*place: str) -> str:
        return mdp.dynamics.action_name(actions[state(highway, *place)])

    for gap in ("1 ahead", "2 ahead", "3 ahead"):
        assert does("right", "fast", "none", "none", gap) == "steer left"
    assert does("right", "fast", "none", "beside", "2 ahead") == "brake"
    assert does("right", "medium", "none", "none", "none") == "accelerate"
    assert does("right", "fast", "none", "none", "none") == "keep"
    for speed in ("slow", "medium", "fast"):
        assert does("shoulder", speed, "none", "none", "none") == "steer left"
    # Beside another car nobody steers into it where there is a choice of staying in a clear lane.
    assert does("middle", "fast", "beside", "none", "beside") == "keep"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"traffic": ()}, "traffic must have 1 to 3 lanes, got 0"),
        ({"traffic": HIGHWAY + HIGHWAY}, "traffic must have 1 to 3 lanes, got 6"),
        ({"traffic": (HIGHWAY[0], HIGHWAY[0])}, "'left lane' twice|distinct"),
        ({"sight": 0}, "sight must lie in 1 … 6, got 0"),
        ({"leave": 1.5}, r"leave must lie in \[0, 1\], got 1.5"),
        ({"inattention": -0.1}, "inattention must lie in"),
        ({"surprise": float("nan")}, "surprise must lie in"),
        ({"discount": 1.0}, "discount must lie strictly between 0 and 1"),
    ],
)
def test_driving_refuses(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ti.InvalidInputError, match=message):
        ti.worlds.driving(**arguments)


def test_traffic_must_be_probabilities() -> None:
    with pytest.raises(ti.InvalidInputError, match="density of the fast lane must lie in"):
        ti.worlds.Traffic("fast", 2.0, 0.0, 0.0, 1.0)
    with pytest.raises(ti.InvalidInputError, match="of the odd lane must be a distribution"):
        ti.worlds.Traffic("odd", 0.5, 0.5, 0.5, 0.5)
    with pytest.raises(ti.InvalidInputError, match="of the odd lane must be a distribution"):
        ti.worlds.Traffic("odd", 0.5, -0.5, 1.0, 0.5)


# Gymnasium


@pytest.mark.parametrize(
    ("name", "options", "value"),
    [
        ("FrozenLake-v1", {}, 0.542026),
        ("FrozenLake-v1", {"map_name": "8x8"}, 0.414640),
        ("CliffWalking-v1", {}, -12.2479),
        ("Taxi-v4", {}, 6.3275),
    ],
)
def test_optimal_start_values_are_the_known_ones(name, options, value) -> None:
    env = gymnasium.make(name, **options)
    mdp = ti.worlds.from_gymnasium(env, discount=0.99)
    env.close()
    plan = ti.optimal_policy(mdp, weights_of(mdp, reward=1.0))
    digits = len(str(value).split(".")[1])
    assert plan.value == pytest.approx(value, abs=0.51 * 10**-digits)
    assert mdp.start @ plan.values == pytest.approx(plan.value, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "options", "weights"),
    [
        ("FrozenLake-v1", {}, {"goal": 1.0}),
        (
            "FrozenLake-v1",
            {"success_rate": 0.7, "reward_schedule": (5, -3, -0.5)},
            {"goal": 5.0, "hole": -3.0, "ice": -0.5},
        ),
        ("FrozenLake-v1", {"is_slippery": False, "map_name": "8x8"}, {"goal": 1.0}),
        ("CliffWalking-v1", {}, {"step": -1.0, "fall": -99.0}),
        ("CliffWalking-v1", {"is_slippery": True}, {"step": -1.0, "fall": -99.0}),
        (
            "Taxi-v4",
            {},
            {"step": -1.0, "delivery": 21.0, "illegal_pickup": -9.0, "illegal_dropoff": -9.0},
        ),
        (
            "Taxi-v4",
            {"is_rainy": True},
            {"step": -1.0, "delivery": 21.0, "illegal_pickup": -9.0, "illegal_dropoff": -9.0},
        ),
    ],
)
def test_named_features_span_the_reward(name, options, weights) -> None:
    env = gymnasium.make(name, **options)
    mdp = ti.worlds.from_gymnasium(env, discount=0.9)
    env.close()
    combined = mdp.rewards(weights_of(mdp, **weights))
    np.testing.assert_allclose(combined, column(mdp, "reward"), rtol=0, atol=1e-12)
    features = np.asarray(mdp.features)
    assert (np.abs(features).max(axis=0) > 0).all()
    other = features[:, 1:]
    assert (other >= 0).all()
    assert other[:, [n != "holes near" for n in mdp.feature_names[1:]]].max() <= 1.0 + 1e-12


@pytest.mark.parametrize("name", ["FrozenLake-v1", "CliffWalking-v1", "Taxi-v4"])
def test_every_outcome_is_where_the_table_says(name: str) -> None:
    env = gymnasium.make(name)
    table, start = env.unwrapped.P, env.unwrapped.initial_state_distrib
    mdp = ti.worlds.from_gymnasium(env, discount=0.9)
    env.close()
    dynamics, end = mdp.dynamics, mdp.n_states - 1
    assert dynamics.state_name(end) == "end"
    expected = np.zeros((mdp.n_pairs, mdp.n_states))
    reward = np.zeros(mdp.n_pairs)
    for s, actions in table.items():
        for a, outcomes in actions.items():
            for probability, target, gain, ended in outcomes:
                expected[dynamics.pair_of(s, a), end if ended else target] += probability
                reward[dynamics.pair_of(s, a)] += probability * gain
    expected[-1, end] = 1.0
    np.testing.assert_allclose(dynamics.transitions.toarray(), expected, rtol=0, atol=1e-15)
    np.testing.assert_allclose(column(mdp, "reward"), reward, rtol=0, atol=1e-14)
    assert dynamics.offsets[-1] - dynamics.offsets[-2] == 1
    assert not np.asarray(mdp.features)[-1].any()
    np.testing.assert_array_equal(mdp.start, np.append(start, 0.0))


def test_the_documentation_knows_the_features_of_the_environments() -> None:
    documented = {row[0]: row[1].split(", ") for row in doc_table("environment")}
    assert list(documented) == ["FrozenLake", "CliffWalking", "Taxi"]
    for name, version in (("FrozenLake", 1), ("CliffWalking", 1), ("Taxi", 4)):
        found = ti.worlds.from_gymnasium(f"{name}-v{version}", discount=0.9)
        assert found.feature_names == ("reward", *documented[name])


def test_features_of_the_lake_at_hand() -> None:
    """SFFF / FHFH / FFFH / HFFG: from cell (2, 2), one right of which is a hole."""
    mdp = ti.worlds.from_gymnasium("FrozenLake-v1", discount=0.9)
    names = mdp.dynamics.state_names
    assert names is not None
    s = names.index("row 2, column 2")
    actions = mdp.dynamics.action_names
    assert actions == ("left", "down", "right", "up")
    for action, expected in (
        ("right", {"hole": 1 / 3, "ice": 2 / 3, "step": 1.0, "hole ahead": 1.0, "holes near": 1.0}),
        ("left", {"ice": 1.0, "step": 1.0, "holes near": 1.0}),
    ):
        row = np.asarray(mdp.features)[mdp.dynamics.pair_of(s, actions.index(action))]
        found = {mdp.feature_name(i): row[i] for i in np.flatnonzero(row)}
        assert found == pytest.approx(expected, abs=1e-15)
    start = np.asarray(mdp.features)[mdp.dynamics.pair_of(0, actions.index("up"))]
    assert start[mdp.feature_index("edge ahead")] == 1.0
    last = mdp.dynamics.pair_of(names.index("row 3, column 2"), actions.index("right"))
    assert column(mdp, "goal ahead")[last] == 1.0
    assert column(mdp, "goal")[last] == pytest.approx(1 / 3, abs=1e-15)


def test_a_taxi_driver_without_the_destination_sensors_still_has_names() -> None:
    mdp = ti.worlds.from_gymnasium("Taxi-v4", discount=0.9)
    assert mdp.dynamics.state_name(328) == "taxi at row 3, column 1; passenger at yellow; to red"
    assert mdp.dynamics.action_names == ("south", "north", "east", "west", "pickup", "dropoff")
    # Taxi at red with the passenger aboard, who wants to go to green: that is a wrong stop.
    s = (0 * 5 + 0) * 20 + 4 * 4 + 1
    row = np.asarray(mdp.features)[mdp.dynamics.pair_of(s, 5)]
    assert {mdp.feature_name(i) for i in np.flatnonzero(row)} == {
        "reward",
        "step",
        "wrong stop",
        "passenger aboard",
        "destination green",
    }
    bumps = column(mdp, "bump")
    assert bumps[mdp.dynamics.pair_of(s, 1)] == 1.0
    assert bumps[mdp.dynamics.pair_of(s, 0)] == 0.0


def fake(table: object, **more: object) -> SimpleNamespace:
    return SimpleNamespace(unwrapped=SimpleNamespace(P=table, **more))


def test_any_environment_with_a_table_will_do() -> None:
    table = [
        {0: [(0.25, 1, 4.0, False), (0.5, 0, 0.0, False), (0.25, 1, 8.0, False)]},
        {0: [(1.0, 0, 1.0, False)], 2: [(1.0, 1, -1.0, False)]},
    ]
    mdp = ti.worlds.from_gymnasium(fake(table), 0.5)
    assert (mdp.n_states, mdp.n_pairs) == (2, 3)  # nothing ends, so there is no end
    assert mdp.dynamics.actions.tolist() == [0, 0, 2]
    assert mdp.dynamics.transitions.toarray().tolist() == [[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]
    assert mdp.feature_names == ("reward",)
    assert column(mdp, "reward").tolist() == [3.0, 1.0, -1.0]
    assert mdp.start.tolist() == [0.5, 0.5]
    assert mdp.dynamics.state_names is None


def test_the_next_state_of_an_outcome_that_ends_does_not_matter() -> None:
    table = {0: {0: [(0.5, 0, 1.0, False), (0.25, 0, 2.0, True), (0.25, 1, 3.0, True)]}}
    table[1] = {0: [(1.0, 1, 7.0, True)]}
    mdp = ti.worlds.from_gymnasium(fake(table, initial_state_distrib=[1.0, 0.0]), 0.5)
    assert mdp.dynamics.state_names == ("0", "1", "end")
    assert mdp.dynamics.transitions.toarray().tolist() == [[0.5, 0, 0.5], [0, 0, 1], [0, 0, 1]]
    assert mdp.start.tolist() == [1.0, 0.0, 0.0]
    assert np.asarray(mdp.features).ravel().tolist() == [1.75, 7.0, 0.0]
    # V = 1.75 + 0.5 · 0.5 V
    plan = ti.optimal_policy(mdp, [1.0])
    assert plan.value == pytest.approx(1.75 / 0.75, abs=1e-9)


def test_features_of_the_users_own() -> None:
    table = {0: {0: [(1.0, 1, 0.0, False)], 1: [(1.0, 0, 1.0, True)]}, 1: {1: [(1, 0, 2, False)]}}
    named = ti.worlds.from_gymnasium(
        fake(table), 0.9, lambda s, a: {"late": s == 1} if a else {"wait": 2}
    )
    assert named.feature_names == ("reward", "wait", "late")
    expected = [[0, 2, 0], [1, 0, 0], [2, 0, 1], [0, 0, 0]]
    np.testing.assert_array_equal(named.features, expected)
    vectors = ti.worlds.from_gymnasium(fake(table), 0.9, lambda s, a: [s, a])
    assert vectors.feature_names == ("reward", "feature 0", "feature 1")
    np.testing.assert_array_equal(np.asarray(vectors.features)[:3, 1:], [[0, 0], [0, 1], [1, 1]])
    lake = ti.worlds.from_gymnasium("FrozenLake-v1", 0.9, lambda s, a: np.eye(16)[s])
    assert lake.n_features == 17


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("goal", "features must be a function, got 'goal'"),
        (lambda s, a: 3.0, r"features\(0, 0\) must be a dict or a vector, got 3.0"),
        (lambda s, a: np.ones(s + 1), r"features\(1, 0\) must be a dict or a vector of length 1"),
        (lambda s, a: {"reward": 1.0}, r"features\(0, 0\): a name must be .* other than 'reward'"),
        (lambda s, a: {3: 1.0}, "a name must be a string other than 'reward', got 3"),
        (lambda s, a: {"x": float("nan")}, "x must be a finite number, got nan"),
        (lambda s, a: {"x": "high"}, "x must be a finite number, got 'high'"),
    ],
)
def test_features_that_are_none(features, message) -> None:
    table = {0: {0: [(1.0, 1, 0.0, False)]}, 1: {0: [(1.0, 0, 0.0, False)]}}
    with pytest.raises(ti.InvalidInputError, match=message):
        ti.worlds.from_gymnasium(fake(table), 0.9, features)


LOOP = [(1.0, 0, 0.0, False)]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (None, "SimpleNamespace has no transition table, as .* its probabilities are not known$"),
        ({}, "the transition table P of SimpleNamespace must map each state .* got {}"),
        (7, "the transition table P of SimpleNamespace must map each state .* got 7"),
        ({1: {0: LOOP}}, "P must have the states 0 … 0, but 0 is missing"),
        ({"a": {0: LOOP}}, "the keys of P must be non-negative integers, got 'a'"),
        ({0: 5}, r"P\[0\] must be a dict or a list, got 5"),
        ({0: {-1: LOOP}}, r"the keys of P\[0\] must be non-negative integers, got -1"),
        ({0: {0: []}}, r"P\[0\]\[0\] must be a list of outcomes, got \[\]"),
        ({0: {}}, "P must have a state with an action"),
        ({0: {0: LOOP}, 1: {}}, "state 1 has none"),
        ({0: {0: [(1.0, 0, 0.0)]}}, r"P\[0\]\[0\]\[0\] must be \(probability, next state"),
        ({0: {0: [(1.0, 3, 0.0, False)]}}, r"next state of P\[0\]\[0\]\[0\] must lie in 0 … 0"),
        ({0: {0: [(1.0, 0.5, 0.0, False)]}}, "next state of .* got 0.5"),
        ({0: {0: [(1.0, 0, float("inf"), False)]}}, "the reward of .* must be a finite number"),
        ({0: {0: [("1", 0, 0.0, False)]}}, "the probability of .* must be a finite number"),
        ({0: {0: [(1.5, 0, 0.0, False), (-0.5, 0, 0.0, False)]}}, r"\[1\] must not be negative"),
        ({0: {0: [(0.9, 0, 0.0, False)]}}, "sum to 1 in every row: those of state 0, action 0"),
    ],
)
def test_tables_that_are_none(table: object, message: str) -> None:
    with pytest.raises(ti.InvalidInputError, match=message):
        ti.worlds.from_gymnasium(fake(table), 0.9)


def test_environments_that_cannot_be_converted() -> None:
    with pytest.raises(ti.InvalidInputError, match=r"CartPoleEnv has no transition table"):
        ti.worlds.from_gymnasium("CartPole-v1", 0.99)
    with pytest.raises(ti.InvalidInputError, match="gymnasium cannot make 'NoSuchWorld-v0'"):
        ti.worlds.from_gymnasium("NoSuchWorld-v0", 0.99)
    fickle = gymnasium.make("Taxi-v4", fickle_passenger=True)
    with pytest.raises(ti.InvalidInputError, match="leaves out its fickle_passenger"):
        ti.worlds.from_gymnasium(fickle, 0.99, lambda state, action: {"step": 1.0})
    fickle.close()
    with pytest.raises(ti.InvalidInputError, match=r"initial_state_distrib must have shape \(1,\)"):
        ti.worlds.from_gymnasium(fake({0: {0: LOOP}}, initial_state_distrib=[0.5, 0.5]), 0.9)


def test_only_environments_made_here_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []
    env = fake({0: {0: LOOP}})
    env.close = lambda: closed.append(True)
    ti.worlds.from_gymnasium(env, 0.9)
    assert closed == []
    monkeypatch.setattr(gymnasium, "make", lambda name: env)
    ti.worlds.from_gymnasium("Anything-v0", 0.9)
    assert closed == [True]
    with pytest.raises(ti.InvalidInputError, match="discount"):
        ti.worlds.from_gymnasium("Anything-v0", 2.0)
    assert closed == [True, True]


def test_without_gymnasium_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(ti.MissingExtraError, match=r"teachirl\[gym\]"):
        ti.worlds.from_gymnasium("Taxi-v4", 0.99)
    # An environment that is there already needs no import.
    assert ti.worlds.from_gymnasium(fake({0: {0: LOOP}}), 0.9).n_states == 1


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_worlds_know_their_size_and_where_states_lie(name: str) -> None:
    given: dict[str, Any] = {
        "gridworld": {"size": 6, "block": 2},
        "mountain_car": {"points": 9},
        "cart_pole": {"points": 3},
        "garnet": {"n_states": 9, "n_actions": 2, "branching": 3, "n_features": 4},
    }.get(name, {})
    entry = BUILT_IN[name]
    states, numbers = entry.size(**given)
    if "rng" in inspect.signature(entry.make).parameters:
        given = {**given, "rng": np.random.default_rng(0)}
    world = entry.world(**given)
    assert states in (0, world.mdp.n_states)  # the highway has limits of its own
    assert numbers == 0 or numbers >= world.mdp.dynamics.transitions.nnz
    assert (world.map is None) == (name in ("cart_pole", "garnet"))
    if world.map is not None:
        assert world.map.cells.shape == (world.mdp.n_states,)
        assert world.map.steps.shape == (world.mdp.n_actions, 2)
        rows, columns = world.map.shape
        least = -1 if name == "mountain_car" else 0  # its end lies nowhere
        assert world.map.cells.min() == least and world.map.cells.max() < rows * columns
