"""Ready-made worlds."""

from .continuous import cart_pole, mountain_car, pendulum
from .driving import Traffic, driving
from .exploration import Model
from .garnet import garnet
from .grids import chain, gridworld
from .gymnasium import from_gymnasium
from .model import from_model
from .model_files import from_model_file
from .objectworld import objectworld
from .obstacles import obstacles
from .on_grid import on_grid
from .simulation import Simulator
from .simulator import from_simulator
from .world import World

__all__ = [
    "Model",
    "Simulator",
    "Traffic",
    "World",
    "cart_pole",
    "chain",
    "driving",
    "from_gymnasium",
    "from_model",
    "from_model_file",
    "from_simulator",
    "garnet",
    "gridworld",
    "mountain_car",
    "objectworld",
    "obstacles",
    "on_grid",
    "pendulum",
]
