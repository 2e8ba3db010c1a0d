"""Ready-made worlds."""

from .driving import Traffic, driving
from .garnet import garnet
from .grids import chain, gridworld
from .gymnasium import from_gymnasium
from .obstacles import obstacles
from .world import World

__all__ = [
    "Traffic",
    "World",
    "chain",
    "driving",
    "from_gymnasium",
    "garnet",
    "gridworld",
    "obstacles",
]
