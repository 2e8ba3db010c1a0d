"""The compiled inner loops, and nothing else.

Index arrays are unsigned: a signed index costs Numba a test for "counted from the end" at every
access. The first call of a kernel compiles it; the result is kept on disk.
"""

from .. import clock  # noqa: F401, it takes notice of what is compiled
from . import by_components, sweeps
from .aims import PAUSED, TOO_LARGE, UNFINISHED, length
from .by_components import plan_by_components
from .by_sweeps import plan_by_sweeps
from .components import Components, components_of
from .layouts import (
    Layout,
    PairReward,
    Reward,
    Sparse,
    StateReward,
    Table,
    layout_of,
    padded,
    rounding_of,
)
from .linear import Flow, push
from .sweeps import LANES, sweep_lanes

# Entries that a kernel passes between two looks at the clock: some tenths of a second.
PIECE = 1 << 26

__all__ = [
    "LANES",
    "PAUSED",
    "PIECE",
    "TOO_LARGE",
    "UNFINISHED",
    "Components",
    "Flow",
    "Layout",
    "PairReward",
    "Reward",
    "Sparse",
    "StateReward",
    "Table",
    "by_components",
    "components_of",
    "layout_of",
    "length",
    "padded",
    "plan_by_components",
    "plan_by_sweeps",
    "push",
    "rounding_of",
    "sweep_lanes",
    "sweeps",
]
