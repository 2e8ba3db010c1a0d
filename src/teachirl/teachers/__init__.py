"""Teachers: ways to choose what to teach, behind one small protocol."""

from .teacher import Choice, Situation, Teacher

__all__ = ["Choice", "Situation", "Teacher"]
