"""Decisions in words: the one place that turns numbers into sentences, tables and figures."""

from .documents import answer, report

__all__ = ["answer", "report"]
