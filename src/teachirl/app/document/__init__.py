"""Decisions in words: the one place that turns numbers into sentences, tables and figures."""

from .documents import assessment_document, frontier_document, plan_document, report

__all__ = ["assessment_document", "frontier_document", "plan_document", "report"]
