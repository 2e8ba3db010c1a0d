"""The paper's experiments and our own, as data."""

from .experiment import BUILT_IN, Experiment, Result, Results, Unit, find

__all__ = ["BUILT_IN", "Experiment", "Result", "Results", "Unit", "find"]
