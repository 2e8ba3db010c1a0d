"""A user's problem file (TOML), read strictly: from a file to a `Task`."""

from .example import example_text
from .features import Lessons
from .problem import Problem, read_problem
from .reference import reference
from .rewards import Given

__all__ = ["Given", "Lessons", "Problem", "example_text", "read_problem", "reference"]
