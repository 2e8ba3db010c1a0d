"""A user's problem file (TOML), read strictly: from a file to a `Task`."""

from .changes import Change
from .example import example_text
from .features import Teachables
from .goals import Baseline
from .problem import Problem, Show, read_problem
from .reference import reference
from .rewards import RewardSource

__all__ = [
    "Baseline",
    "Change",
    "Problem",
    "RewardSource",
    "Show",
    "Teachables",
    "example_text",
    "read_problem",
    "reference",
]
