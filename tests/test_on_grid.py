"""Continuous dynamics on a grid: interpolation, and the car between two hills."""

import numpy as np
import pytest

import teachirl as ti


def drift(points, action):
    return points + (0.1 if action else -0.1)


def line(**changed):
    given = {
        "low": [0.0],
        "high": [1.0],
        "shape": [11],
        "actions": ["left", "right"],
        "discount": 0.9,
        "start": [0.25],
    } | changed
    step = given.pop("step", drift)
    features = given.pop("features", lambda points, action: {"place": points[:, 0]})
    return ti.worlds.on_grid(step, features, **given)


def test_between_points_the_weights_are_probabilities():
    mdp = line(step=lambda points, action: points + 0.03).mdp
    rows = mdp.dynamics.transitions.toarray()
    assert rows[0, :3] == pytest.approx([0.7, 0.3, 0.0])
    assert rows.sum(axis=1) == pytest.approx(1.0)
    assert rows[-1, -1] == 1.0  # what leaves the box stays on its border
    ti.testing.check_mdp(mdp)


def test_a_linear_value_is_exact():
    """Interpolation keeps what is linear: the discounted places of who goes right."""
    mdp = line(start=[0.2]).mdp
    right = ti.Policy.deterministic(mdp, np.ones(11, dtype=int))
    places = np.minimum(0.2 + 0.1 * np.arange(400), 1.0)
    true = float((0.9 ** np.arange(400) * places).sum())
    assert ti.feature_expectations(mdp, right)[0] == pytest.approx(true, rel=1e-9)


def test_two_directions_have_a_map():
    world = ti.worlds.on_grid(
        lambda points, action: points,
        lambda points, action: {"one": np.ones(len(points))},
        low=[0, 0],
        high=[2, 1],
        shape=[3, 2],
        actions=["stay"],
        discount=0.5,
        start=[1, 1],
        axes=["x", "y"],
    )
    assert world.map.shape == (2, 3)
    # The points (0, 0), (0, 1), (1, 0) …: y goes up.
    assert world.map.cells.tolist() == [3, 0, 4, 1, 5, 2]
    assert world.mdp.dynamics.state_name(3) == "x 1, y 1"
    assert world.mdp.start[3] == 1.0


def test_an_end():
    mdp = line(ends=lambda points: points[:, 0] >= 0.9).mdp
    assert mdp.n_states == 12
    right = ti.Policy.deterministic(mdp, [1] * 11 + [0])
    assert ti.occupancy(mdp, right).sum() == pytest.approx(10.0)
    assert ti.feature_expectations(mdp, right)[0] < 3.0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"low": [0, 0]}, r"low must have shape \(1,\), got \(2,\)"),
        ({"low": [2.0]}, "low must be below high"),
        ({"shape": [1]}, r"shape must hold whole numbers from 2 on, got \[1\]"),
        ({"shape": [10**8]}, "at most 5000000 points"),
        ({"actions": []}, "at least one action"),
        ({"step": lambda points, action: points[:3]}, r"step\(points, 0\) must have shape"),
        ({"step": lambda points, action: points * np.nan}, r"step\(points, 0\)"),
        ({"features": lambda points, action: {}}, "at least one, got none"),
        ({"features": lambda points, action: {str(action): 1.0}}, "must have the names"),
        ({"axes": ["x", "y"]}, "axes must have 1 names, got 2"),
    ],
)
def test_mistakes(changed, message):
    with pytest.raises(ti.InvalidInputError, match=message):
        line(**changed)


class TestMountainCar:
    @pytest.fixture(scope="module")
    def world(self):
        return ti.worlds.mountain_car()

    def test_its_steps_are_gymnasium_s(self, world):
        import gymnasium

        env = gymnasium.make("MountainCar-v0").unwrapped
        ticks = np.linspace(-1.2, 0.6, 51), np.linspace(-0.07, 0.07, 51)
        grid = np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1).reshape(-1, 2)
        state = 10 * 51 + 25  # in the valley
        for action in range(3):
            env.reset(seed=0)
            env.state = tuple(grid[state])
            reached = env.step(action)[0]
            pair = world.mdp.dynamics.pair_of(state, action)
            row = world.mdp.dynamics.transitions[[pair]].toarray()[0, :-1]
            assert row @ grid == pytest.approx(reached, abs=1e-6)


def interpolated(world, ticks, at, action):
    """Where a grid's MDP leads from a point, on average, with what the points are."""
    grid = np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1).reshape(-1, len(ticks))
    state = int(np.abs(grid - at).sum(axis=1).argmin())
    row = world.mdp.dynamics.transitions[[world.mdp.dynamics.pair_of(state, action)]].toarray()[0]
    return grid[state], row[: len(grid)] @ grid


def test_the_pendulum_s_steps_are_gymnasium_s():
    import gymnasium

    world = ti.worlds.pendulum(21)
    ticks = np.linspace(-np.pi, np.pi, 21, endpoint=False), np.linspace(-8, 8, 21)
    env = gymnasium.make("Pendulum-v1").unwrapped
    for action, torque in enumerate((-2.0, -1.0, 0.0, 1.0, 2.0)):
        at, reached = interpolated(world, ticks, [0.5, 1.6], action)
        env.reset(seed=0)
        env.state = at.copy()
        _, reward, _, _, _ = env.step(np.array([torque]))
        assert reached == pytest.approx(env.state, abs=1e-6)
        state = 12 * 21 + 12
        assert at == pytest.approx([ticks[0][12], ticks[1][12]])
        paid = world.mdp.features[world.mdp.dynamics.pair_of(state, action)] @ world.weights
        assert reward == pytest.approx(paid, abs=1e-6)
    # Hanging down, it turns over the border of the angle.
    down = world.mdp.dynamics.transitions[[world.mdp.dynamics.pair_of(0 * 21 + 8, 2)]].toarray()[0]
    assert set(np.flatnonzero(down) // 21) == {20, 0}


def test_the_pole_s_steps_are_gymnasium_s():
    import gymnasium

    world = ti.worlds.cart_pole(7)
    lean = 12 * 2 * np.pi / 360
    ticks = [np.linspace(-each, each, 7) for each in (2.4, 3.0, lean, 3.5)]
    env = gymnasium.make("CartPole-v1").unwrapped
    for action in (0, 1):
        at, reached = interpolated(world, ticks, [0.8, -1.0, 0.0, 0.0], action)
        env.reset(seed=0)
        env.state = tuple(at)
        assert reached == pytest.approx(env.step(action)[0], abs=1e-6)
    # From far outside with speed, it is over.
    mdp = world.mdp
    last = mdp.dynamics.transitions[[mdp.dynamics.pair_of(6 * 343 + 6 * 49, 0)]].toarray()[0]
    assert last[-1] == 1.0


def test_what_comes_round_again():
    mdp = line(shape=[10], wraps=[True], step=lambda points, action: points + 0.97).mdp
    rows = mdp.dynamics.transitions.toarray()[::2]
    for state in range(10):
        assert rows[state, [state - 1, state]] == pytest.approx([0.3, 0.7])
    with pytest.raises(ti.InvalidInputError, match="wraps must have 1 entries, got 2"):
        line(wraps=[True, False])


def test_two_resolutions_side_by_side():
    found = ti.compare_resolutions(ti.worlds.mountain_car, (11, 15), ["position", "velocity"])
    assert found.states == (122, 226)
    for points, value, share in zip((11, 15), found.values, found.guaranteed, strict=True):
        world = ti.worlds.mountain_car(points)
        best = ti.optimal_policy(world.mdp, world.weights)
        view = ti.Worldview.select(world.mdp, ["position", "velocity"])
        assert value == best.value
        assert share == ti.certify(world.mdp, view, world.weights, best.policy).guaranteed
    assert found.difference == found.guaranteed[1] - found.guaranteed[0]
    assert str(found).splitlines()[-1].startswith("difference")
    assert "nothing certifies the grid" in found._repr_html_()
    for wrong in ((15, 11), (11,)):
        with pytest.raises(ti.InvalidInputError, match="the smaller first"):
            ti.compare_resolutions(ti.worlds.mountain_car, wrong, [])
    with pytest.raises(ti.InvalidInputError, match="must return a World with weights"):
        ti.compare_resolutions(lambda points: line(shape=[points]), (5, 6), ["place"])


def test_the_grid_is_told_of():
    assert "a grid of 11 points, not the continuous world" in line().note
