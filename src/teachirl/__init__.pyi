from . import learners, teachers, testing, worlds
from .app.problem import Problem, read_problem
from .demonstrations.demonstration import Demonstration, as_demonstration
from .demonstrations.estimation import estimate_mdp
from .demonstrations.inferred_weights import InferredWeights, InferStatus, infer_weights
from .demonstrations.observations import Observations
from .demonstrations.sampling import sample_trajectories
from .demonstrations.trajectories import Trajectories
from .demonstrations.trajectory_files import read_trajectories, write_trajectories
from .demonstrations.transition_log import TransitionLog
from .diagnosis.diagnose import diagnose
from .diagnosis.diagnosis import Diagnosis, DiagnosisStatus
from .diagnosis.exchange import Exchange
from .diagnosis.probe import Probe, next_probe
from .errors import FileFormatError, InvalidInputError, MissingExtraError, TeachirlError
from .figures.picture import Picture
from .guarantees.apparent_optimality import Look, best_look
from .guarantees.bounds import WorstCaseBounds, WorstCaseStatus
from .guarantees.certificate import Certificate, certify
from .guarantees.diameter import Diameter, diameter
from .guarantees.gap_bounds import Bound
from .guarantees.plausible.certificate import RewardsCertificate, RewardsStatus
from .guarantees.plausible.judgement import Criterion, Judgement, Measure
from .guarantees.resolutions import Resolutions, compare_resolutions
from .guarantees.sensitivity import Sensitivity, sensitivity
from .guarantees.theorem_2 import LooksOptimal
from .guarantees.worst_case import best_case, worst_case
from .mdp.dynamics import Dynamics
from .mdp.estimated import EstimatedMDP
from .mdp.model import MDP
from .mdp.occupancy import feature_expectations, mixture, occupancy, policy_from_occupancy
from .mdp.performance import relative_performance
from .mdp.plan import Plan, Plans, PlanStatus
from .mdp.planning import optimal_policies, optimal_policy, worst_policy
from .mdp.policy import Policy
from .mdp.rewards.checks import RewardsKind
from .mdp.rewards.rewards import Rewards
from .mdp.soft_planning import SoftPlan, soft_policy
from .selection.best_subset import Subset, SubsetStatus, best_subset
from .selection.greedy import GreedyPlan, greedy_plan
from .teaching.goal import Limit
from .teaching.goals import Goals
from .teaching.lesson import Lesson
from .teaching.lesson_record import LessonStatus, Round
from .teaching.task import Task
from .teaching.teach import teach
from .teaching.worth import FeatureWorth, worth_buying
from .views.plausible_risk import LargestRisk, largest_risk
from .views.teaching_risk import BlindSpot, blind_spot, relative_risk, risk_after, teaching_risk
from .views.worldview import Worldview
from .what_to_show.few import FewDemonstrations, FewStatus, few_demonstrations
from .what_to_show.search import Shown, ShownStatus, best_demonstration
from .what_to_show.several import ShownForRewards
from .worlds.pictures import plot_policy

__version__: str

__all__ = [
    "MDP",
    "BlindSpot",
    "Bound",
    "Certificate",
    "Criterion",
    "Demonstration",
    "Diagnosis",
    "DiagnosisStatus",
    "Diameter",
    "Dynamics",
    "EstimatedMDP",
    "Exchange",
    "FeatureWorth",
    "FewDemonstrations",
    "FewStatus",
    "FileFormatError",
    "Goals",
    "GreedyPlan",
    "InferStatus",
    "InferredWeights",
    "InvalidInputError",
    "Judgement",
    "LargestRisk",
    "Lesson",
    "LessonStatus",
    "Limit",
    "Look",
    "LooksOptimal",
    "Measure",
    "MissingExtraError",
    "Observations",
    "Picture",
    "Plan",
    "PlanStatus",
    "Plans",
    "Policy",
    "Probe",
    "Problem",
    "Resolutions",
    "Rewards",
    "RewardsCertificate",
    "RewardsKind",
    "RewardsStatus",
    "Round",
    "Sensitivity",
    "Shown",
    "ShownForRewards",
    "ShownStatus",
    "SoftPlan",
    "Subset",
    "SubsetStatus",
    "Task",
    "TeachirlError",
    "Trajectories",
    "TransitionLog",
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
    "compare_resolutions",
    "diagnose",
    "diameter",
    "estimate_mdp",
    "feature_expectations",
    "few_demonstrations",
    "greedy_plan",
    "infer_weights",
    "largest_risk",
    "learners",
    "mixture",
    "next_probe",
    "occupancy",
    "optimal_policies",
    "optimal_policy",
    "plot_policy",
    "policy_from_occupancy",
    "read_problem",
    "read_trajectories",
    "relative_performance",
    "relative_risk",
    "risk_after",
    "sample_trajectories",
    "sensitivity",
    "soft_policy",
    "teach",
    "teachers",
    "teaching_risk",
    "testing",
    "worlds",
    "worst_case",
    "worst_policy",
    "worth_buying",
    "write_trajectories",
]
