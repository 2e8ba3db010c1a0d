"""Learners: ways to match feature expectations, behind one small protocol."""

from .informed import Adversarial, Benevolent
from .learner import Assignment, Informed, Learned, Learner, LearnStatus
from .linear_program import LinearProgram
from .max_causal_entropy import MaxCausalEntropy
from .max_margin import MaxMargin
from .min_norm_point import MinNormPoint
from .multiplicative_weights import MultiplicativeWeights
from .projection import Projection

__all__ = [
    "Adversarial",
    "Assignment",
    "Benevolent",
    "Informed",
    "LearnStatus",
    "Learned",
    "Learner",
    "LinearProgram",
    "MaxCausalEntropy",
    "MaxMargin",
    "MinNormPoint",
    "MultiplicativeWeights",
    "Projection",
]
