"""Decisions in words: the one place that turns numbers into sentences, tables and figures."""
