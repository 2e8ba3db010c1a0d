from . import learners, teachers, worlds
from .bounds import WorstCaseBounds, WorstCaseStatus
from .certificates import Bound, Certificate, certify
from .demonstrations import Demonstration, as_demonstration
from .errors import FileFormatError, InvalidInputError, MissingExtraError, TeachirlError
from .greedy import GreedyPlan, greedy_plan
from .inference import InferredWeights, InferStatus, infer_weights
from .lessons import Lesson, LessonStatus, Round
from .mdp import MDP, Dynamics
from .occupancies import feature_expectations, mixture, occupancy, policy_from_occupancy
from .optimality import Look, best_look
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
from .polytope import Diameter, best_case, diameter, worst_case
from .problem import Problem, read_problem
from .risk import BlindSpot, blind_spot, relative_risk, risk_after, teaching_risk
from .sampling import sample_trajectories
from .showing import Shown, ShownStatus, best_demonstration
from .soft import SoftPlan, soft_policy
from .subsets import Subset, SubsetStatus, best_subset
from .task import Task
from .teaching import teach
from .theorem_2 import LooksOptimal
from .trajectories import Trajectories
from .trajectory_files import read_trajectories, write_trajectories
from .worldview import Worldview

__version__: str

__all__ = [
    "MDP",
    "BlindSpot",
    "Bound",
    "Certificate",
    "Demonstration",
    "Diameter",
    "Dynamics",
    "FileFormatError",
    "GreedyPlan",
    "InferStatus",
    "InferredWeights",
    "InvalidInputError",
    "Lesson",
    "LessonStatus",
    "Look",
    "LooksOptimal",
    "MissingExtraError",
    "Plan",
    "PlanStatus",
    "Plans",
    "Policy",
    "Problem",
    "Round",
    "Shown",
    "ShownStatus",
    "SoftPlan",
    "Subset",
    "SubsetStatus",
    "Task",
    "TeachirlError",
    "Trajectories",
    "Worldview",
    "WorstCaseBounds",
    "WorstCaseStatus",
    "__version__",
    "as_demonstration",
    "best_case",
    "best_demonstration",
    "best_look",
    "best_subset",
    "blind_spot",
    "certify",
    "diameter",
    "feature_expectations",
    "greedy_plan",
    "infer_weights",
    "learners",
    "mixture",
    "occupancy",
    "optimal_policies",
    "optimal_policy",
    "policy_from_occupancy",
    "read_problem",
    "read_trajectories",
    "relative_performance",
    "relative_risk",
    "risk_after",
    "sample_trajectories",
    "soft_policy",
    "teach",
    "teachers",
    "teaching_risk",
    "worlds",
    "worst_case",
    "worst_policy",
    "write_trajectories",
]
