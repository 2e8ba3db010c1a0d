"""Guarantees that hold for several plausible rewards at once.

- `race`: which of finitely many rewards must be solved exactly, and which bounds decide
- `tails`: the least, a quantile or a tail mean of what is only known to lie in intervals
- `grounds`: what policies can earn under each reward, in a world that is known or in all of a log
- `sets`: polytopes, boxes and ellipsoids of rewards
- `certificate`: the answer; `worst_case` and `certify` are the way in
"""
