"""Classical control problems on grids: their equations are those of Gymnasium's."""

from __future__ import annotations

from dataclasses import replace

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
    ('step', 'position', 'velocity', 'pushing', 'height', 'energy')
    """

    def step(at: Floats, action: int) -> Floats:
        position, velocity = at.T
        velocity = velocity + 0.001 * (action - 1) - 0.0025 * np.cos(3.0 * position)
        velocity = np.clip(velocity, -0.07, 0.07)
        position = np.clip(position + velocity, -1.2, 0.6)
        stopped = (position <= -1.2) & (velocity < 0.0)
        return np.stack([position, np.where(stopped, 0.0, velocity)], axis=1)

    def features(at: Floats, action: int) -> dict[str, Floats]:
        position, velocity = at.T
        height = np.sin(3.0 * position)
        return {
            "step": np.ones(len(at)),
            "position": position,
            "velocity": 10.0 * velocity,
            "pushing": np.full(len(at), float(action != 1)),
            "height": height,
            # In units of the height: without pushing it stays nearly the same.
            "energy": 600.0 * velocity**2 + height,
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
    return _weighted(made, {"step": -1.0})


def pendulum(points: int = 51, *, discount: float = 0.95) -> World:
    """A pendulum that hangs down, and is to be swung up and held there by a weak motor.

    The expert's reward is −angle² − 0.1 spin² − 0.001 torque², the angle counted from above.

    Parameters
    ----------
    points : int, how many in each direction of angle and spin
    discount : float in (0, 1)

    Returns
    -------
    World, with weights for the squares

    Examples
    --------
    >>> import teachirl as ti
    >>> world = ti.worlds.pendulum(21)
    >>> world.mdp.feature_names[:4]
    ('angle²', 'spin²', 'torque²', 'height')
    """
    torques = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])

    def step(at: Floats, action: int) -> Floats:
        angle, spin = at.T
        spin = spin + (15.0 * np.sin(angle) + 3.0 * torques[action]) * 0.05
        spin = np.clip(spin, -8.0, 8.0)
        return np.stack([angle + 0.05 * spin, spin], axis=1)

    def features(at: Floats, action: int) -> dict[str, Floats]:
        angle, spin = at.T
        return {
            "angle²": angle**2,
            "spin²": spin**2,
            "torque²": np.full(len(at), torques[action] ** 2),
            "height": np.cos(angle),
            "side": np.sin(angle),
            "spin": spin,
            # Of a rod of length and mass 1; without a torque it stays nearly the same.
            "energy": spin**2 / 6.0 + 5.0 * np.cos(angle),
        }

    made = on_grid(
        step,
        features,
        low=[-np.pi, -8.0],
        high=[np.pi, 8.0],
        shape=(points, points),
        actions=[f"torque {torque:g}" for torque in torques],
        discount=discount,
        start=[np.pi, 0.0],
        axes=["angle", "spin"],
        wraps=[True, False],
    )
    return _weighted(made, {"angle²": -1.0, "spin²": -0.1, "torque²": -0.001})


def cart_pole(points: int = 9, *, discount: float = 0.98) -> World:
    """A pole on a cart that is pushed left or right (Barto, Sutton and Anderson 1983).

    The expert is after a long time before the pole leans by more than 12 degrees, or the cart is
    2.4 away: every step is worth 1.

    Parameters
    ----------
    points : int, how many in each of the four directions; there are points⁴ states
    discount : float in (0, 1)

    Returns
    -------
    World, with weights 1 for the feature "step"

    Examples
    --------
    >>> import teachirl as ti
    >>> world = ti.worlds.cart_pole(5)
    >>> world.mdp.n_states, world.mdp.feature_names[:3]
    (626, ('step', 'position', 'velocity'))
    """
    gravity, cart, pole, half, force, tau = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
    mass = cart + pole

    def step(at: Floats, action: int) -> Floats:
        position, velocity, angle, spin = at.T
        pushed = force if action == 1 else -force
        sine, cosine = np.sin(angle), np.cos(angle)
        shared = (pushed + pole * half * spin**2 * sine) / mass
        turned = (gravity * sine - cosine * shared) / (half * (4.0 / 3.0 - pole * cosine**2 / mass))
        moved = shared - pole * half * turned * cosine / mass
        return np.stack(
            [
                position + tau * velocity,
                velocity + tau * moved,
                angle + tau * spin,
                spin + tau * turned,
            ],
            axis=1,
        )

    def features(at: Floats, action: int) -> dict[str, Floats]:
        position, velocity, angle, spin = at.T
        return {
            "step": np.ones(len(at)),
            "position": position,
            "velocity": velocity,
            "angle": angle,
            "spin": spin,
            "leaning": np.abs(angle),
            "height": np.cos(angle),
            "energy": 0.5 * mass * velocity**2
            + pole * half * velocity * spin * np.cos(angle)
            + pole * half**2 * spin**2 * 2.0 / 3.0
            + pole * gravity * half * np.cos(angle),
        }

    lean = 12.0 * 2.0 * np.pi / 360.0

    def ends(at: Floats) -> Floats:
        return np.asarray((np.abs(at[:, 0]) >= 2.4) | (np.abs(at[:, 2]) >= lean))

    made = on_grid(
        step,
        features,
        low=[-2.4, -3.0, -lean, -3.5],
        high=[2.4, 3.0, lean, 3.5],
        shape=(points,) * 4,
        actions=["left", "right"],
        discount=discount,
        start=[0.0, 0.0, 0.0, 0.0],
        ends=ends,
        axes=["position", "velocity", "angle", "spin"],
    )
    return _weighted(made, {"step": 1.0})


def _weighted(world: World, weights: dict[str, float]) -> World:
    names = world.mdp.feature_names or ()
    return replace(world, weights=np.array([weights.get(name, 0.0) for name in names]))


__all__ = ["cart_pole", "mountain_car", "pendulum"]
