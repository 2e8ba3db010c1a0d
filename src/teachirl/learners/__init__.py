"""Learners: ways to match feature expectations, behind one small protocol."""

from .learner import Informed, Learned, Learner, LearnStatus

__all__ = ["Informed", "LearnStatus", "Learned", "Learner"]
