"""Figures as records of numbers, and their drawing."""
