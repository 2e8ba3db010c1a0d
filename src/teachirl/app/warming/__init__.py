"""Compiling before it is needed, in other processes."""

from .workers import Warmed, helped, warm

__all__ = ["Warmed", "helped", "warm"]
