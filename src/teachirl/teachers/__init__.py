"""Teachers: ways to choose what to teach, behind one small protocol."""

from ..teaching.teacher import Choice, Situation, Teacher
from .gap_greedy import GapGreedy
from .joint_greedy import JointGreedy
from .optimal_subset import OptimalSubset
from .perf_greedy import PerfGreedy
from .random import Random
from .tr_greedy import TRGreedy

__all__ = [
    "Choice",
    "GapGreedy",
    "JointGreedy",
    "OptimalSubset",
    "PerfGreedy",
    "Random",
    "Situation",
    "TRGreedy",
    "Teacher",
]
