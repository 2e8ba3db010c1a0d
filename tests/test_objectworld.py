"""Levine et al.'s objectworld, against its definition."""

import numpy as np
import pytest

import teachirl as ti


@pytest.fixture(scope="module")
def world():
    return ti.worlds.objectworld(np.random.default_rng(3), 7, objects=6, colours=3)


def test_the_reward_by_its_definition(world):
    names, mdp = world.mdp.feature_names, world.mdp
    column = {name: mdp.features[:, i] for i, name in enumerate(names)}
    rewards = mdp.features @ world.weights
    for cell in range(49):
        red, blue = column["distance to outer red"][cell], column["distance to outer blue"][cell]
        assert rewards[cell] == (0.0 if red > 3 else 1.0 if blue <= 2 else -1.0)
    assert set(rewards) == {-1.0, 0.0, 1.0}


def test_distances_are_those_to_the_nearest_object(world):
    mdp = world.mdp
    column = {name: mdp.features[:, i] for i, name in enumerate(mdp.feature_names)}
    rng = np.random.default_rng(3)
    places, painted = rng.permutation(49)[:6], rng.integers(3, size=(6, 2))
    for part, number in (("outer", 0), ("inner", 1)):
        for colour, name in enumerate(("red", "blue", "green")):
            there = [
                divmod(p, 7) for p, c in zip(places, painted[:, number], strict=True) if c == colour
            ]
            for cell in range(49):
                row, right = divmod(cell, 7)
                apart = [np.hypot(row - r, right - c) for r, c in there] or [np.hypot(6, 6)]
                found = column[f"distance to {part} {name}"][cell]
                assert found == pytest.approx(min(apart))
                assert column[f"{part} {name} here"][cell] == (found == 0.0)
                for within in (1, 2, 3):
                    assert column[f"{part} {name} within {within}"][cell] == (found <= within)


def test_moves_and_wind():
    world = ti.worlds.objectworld(np.random.default_rng(0), 3, objects=2, slip=0.5)
    rows = world.mdp.dynamics.transitions.toarray()
    # From the middle: left with .5 + .1, each other way and staying with .1.
    assert rows[4 * 5].reshape(3, 3) == pytest.approx(
        np.array([[0, 0.1, 0], [0.6, 0.1, 0.1], [0, 0.1, 0]])
    )
    # In a corner, what leads over the edge stays.
    assert rows[4].reshape(3, 3)[0] == pytest.approx([0.8, 0.1, 0])
    still = ti.worlds.objectworld(np.random.default_rng(0), 3, objects=2, slip=0.0).mdp
    assert still.dynamics.transitions.nnz == 45
    ti.testing.check_mdp(world.mdp)


def test_a_reward_that_distances_do_not_span(world):
    """Distances alone, or colours alone, leave the reward open; both regions close it."""
    mdp, weights = world.mdp, world.weights
    sees = [name for name in mdp.feature_names if name.startswith("distance")]
    view = ti.Worldview.select(mdp, sees)
    assert ti.teaching_risk(view, weights) == pytest.approx(1.0)
    best = ti.optimal_policy(mdp, weights).policy
    assert ti.certify(mdp, view, weights, best).guaranteed < 1.0 - 1e-3
    whole = ti.Worldview.select(mdp, ["red and blue", "red alone"])
    assert ti.certify(mdp, whole, weights, best).guaranteed > 1.0 - 1e-6


def test_none_of_a_colour_and_mistakes():
    empty = ti.worlds.objectworld(np.random.default_rng(0), 4, objects=0)
    assert not (empty.mdp.features @ empty.weights).any()
    for wrong, message in (
        ({"colours": 1}, "colours must lie in 2 … 8, got 1"),
        ({"objects": 17}, "objects must lie in 0 … 16, got 17"),
        ({"slip": 2.0}, r"slip must lie in \[0, 1\], got 2.0"),
        ({"size": 0}, "size must be at least 1, got 0"),
    ):
        with pytest.raises(ti.InvalidInputError, match=message):
            ti.worlds.objectworld(np.random.default_rng(0), **{"size": 4, "objects": 0, **wrong})
