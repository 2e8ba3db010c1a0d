"""Ready-made worlds."""

from .continuous import mountain_car
from .driving import Traffic, driving
from .garnet import garnet
from .grids import chain, gridworld
from .gymnasium import from_gymnasium
from .model import Model, from_model
from .model_files import from_model_file
from .obstacles import obstacles
from .on_grid import on_grid
from .world import World

__all__ = [
    "Model",
    "Traffic",
    "World",
    "chain",
    "driving",
    "from_gymnasium",
    "from_model",
    "from_model_file",
    "garnet",
    "gridworld",
    "mountain_car",
    "obstacles",
    "on_grid",
]
