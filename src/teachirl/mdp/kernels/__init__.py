"""The compiled inner loops, and nothing else.

Index arrays are unsigned: a signed index costs Numba a test for "counted from the end" at every
access. The first call of a kernel compiles it; the result is kept on disk.
"""

from .. import clock  # noqa: F401, it takes notice of what is compiled
from .aims import TOO_LARGE, UNFINISHED, aims, bracket, length
from .by_components import plan_by_components
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
from .linear import Flow, push, solve_flow, sweep_flow
from .sweeps import LANES, plan, sweep_lanes

__all__ = [
    "LANES",
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
    "aims",
    "bracket",
    "components_of",
    "layout_of",
    "length",
    "padded",
    "plan",
    "plan_by_components",
    "push",
    "rounding_of",
    "solve_flow",
    "sweep_flow",
    "sweep_lanes",
]
