"""Classical control problems on grids: their equations are those of Gymnasium's."""

from __future__ import annotations

import numpy as np

from ..arrays import Floats
from .on_grid import on_grid
from .world import World


def mountain_car(points: int = 51, *, discount: float = 0.99) -> World:
    """A car between two hills that is too weak to drive straight up (Moore 1990).

    The expert is after a short way to the flag on the right: every step costs 1. Velocities are
    counted in tenths, so that they are of the size of positions.

    Parameters
    ----------
    points : int, how many in each direction of position and velocity
    discount : float in (0, 1)

    Returns
    -------
    World, with weights −1 for the feature "step"

    Examples
    --------
    >>> import teachirl as ti
    >>> world = ti.worlds.mountain_car(21)
    >>> world.mdp.feature_names
    ('step', 'position', 'velocity', 'pushing')
    """

    def step(at: Floats, action: int) -> Floats:
        position, velocity = at.T
        velocity = velocity + 0.001 * (action - 1) - 0.0025 * np.cos(3.0 * position)
        velocity = np.clip(velocity, -0.07, 0.07)
        position = np.clip(position + velocity, -1.2, 0.6)
        stopped = (position <= -1.2) & (velocity < 0.0)
        return np.stack([position, np.where(stopped, 0.0, velocity)], axis=1)

    def features(at: Floats, action: int) -> dict[str, Floats]:
        return {
            "step": np.ones(len(at)),
            "position": at[:, 0],
            "velocity": 10.0 * at[:, 1],
            "pushing": np.full(len(at), float(action != 1)),
        }

    begin = np.stack([np.linspace(-0.6, -0.4, 41), np.zeros(41)], axis=1)
    made = on_grid(
        step,
        features,
        low=[-1.2, -0.07],
        high=[0.6, 0.07],
        shape=(points, points),
        actions=["left", "coast", "right"],
        discount=discount,
        start=begin,
        ends=lambda at: at[:, 0] >= 0.5,
        axes=["position", "velocity"],
    )
    return World(made.mdp, weights=np.array([-1.0, 0.0, 0.0, 0.0]), map=made.map)


__all__ = ["mountain_car"]
