"""Decisions in words: the one place that turns numbers into sentences, tables and figures."""

from .documents import answer, report
from .stakes import missed

__all__ = ["answer", "missed", "report"]
