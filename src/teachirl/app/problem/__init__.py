"""A user's problem file (TOML), read strictly: from a file to a `Task`."""

from .building import named_world, read_problem, read_world
from .changes import Change
from .example import example_text
from .features import Teachables
from .goals import Baseline
from .mistakes import ProblemFileError
from .problem import Problem, Show
from .reference import reference
from .rewards import RewardSource

__all__ = [
    "Baseline",
    "Change",
    "Problem",
    "ProblemFileError",
    "RewardSource",
    "Show",
    "Teachables",
    "example_text",
    "named_world",
    "read_problem",
    "read_world",
    "reference",
]
