"""Teach inverse reinforcement learners: what to show them, what to tell them, how sure you can be."""

from . import worlds
from .errors import FileFormatError, InvalidInputError, MissingExtraError, TeachirlError
from .mdp import MDP, Dynamics
from .policy import Policy

__version__ = "0.1.0"

__all__ = [
    "MDP",
    "Dynamics",
    "FileFormatError",
    "InvalidInputError",
    "MissingExtraError",
    "Policy",
    "TeachirlError",
    "__version__",
    "worlds",
]
