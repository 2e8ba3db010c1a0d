"""How badly a learner who matches can do: the exact worst case, bounds, certificates."""
