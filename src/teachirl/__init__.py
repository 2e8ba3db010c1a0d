"""Teach inverse reinforcement learners: what to show, what to tell, and how sure you can be."""

from . import worlds
from .demonstrations import Demonstration, as_demonstration
from .errors import FileFormatError, InvalidInputError, MissingExtraError, TeachirlError
from .mdp import MDP, Dynamics
from .occupancies import feature_expectations, mixture, occupancy, policy_from_occupancy
from .planning import (
    Plan,
    Plans,
    PlanStatus,
    optimal_policies,
    optimal_policy,
    relative_performance,
    worst_policy,
)
from .policy import Policy
from .sampling import sample_trajectories
from .trajectories import Trajectories
from .trajectory_files import read_trajectories, write_trajectories

__version__ = "0.1.0"

__all__ = [
    "MDP",
    "Demonstration",
    "Dynamics",
    "FileFormatError",
    "InvalidInputError",
    "MissingExtraError",
    "Plan",
    "PlanStatus",
    "Plans",
    "Policy",
    "TeachirlError",
    "Trajectories",
    "__version__",
    "as_demonstration",
    "feature_expectations",
    "mixture",
    "occupancy",
    "optimal_policies",
    "optimal_policy",
    "policy_from_occupancy",
    "read_trajectories",
    "relative_performance",
    "sample_trajectories",
    "worlds",
    "worst_policy",
    "write_trajectories",
]
