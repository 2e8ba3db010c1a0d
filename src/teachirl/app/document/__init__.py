"""Decisions in words: the one place that turns numbers into sentences, tables and figures."""

from .documents import answer, report
from .live import live_table
from .stakes import missed
from .world_account import described

__all__ = ["answer", "described", "live_table", "missed", "report"]
