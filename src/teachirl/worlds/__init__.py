"""Ready-made worlds."""

from .grids import chain, gridworld

__all__ = ["chain", "gridworld"]
