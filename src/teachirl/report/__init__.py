"""Figures as records, their drawings, and reports."""
