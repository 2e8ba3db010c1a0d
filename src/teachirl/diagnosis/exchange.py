"""What a learner was shown, and what it made of it."""

from __future__ import annotations

from dataclasses import dataclass

from ..demonstrations.demonstration import Demonstration
from ..demonstrations.trajectories import Trajectories
from ..errors import require
from ..mdp.policy import Policy
from .probe import Probe


@dataclass(frozen=True, eq=False)
class Exchange:
    """What a learner was shown, and what it made of it.

    Attributes
    ----------
    shown : Probe, Demonstration or Policy; only a Probe can prove what the learner has
    answer : Policy of the learner, Demonstration with its exact feature expectations, or
        Trajectories, independent episodes of it

    Examples
    --------
    >>> import teachirl as ti
    >>> mdp = ti.worlds.chain(5)
    >>> ti.Exchange(ti.Policy.uniform(mdp), ti.Policy.uniform(mdp))
    Exchange(Policy, answered by Policy)
    """

    shown: Probe | Demonstration | Policy
    answer: Policy | Demonstration | Trajectories

    def __post_init__(self) -> None:
        for name, kinds in (
            ("shown", (Probe, Demonstration, Policy)),
            ("answer", (Policy, Demonstration, Trajectories)),
        ):
            value = getattr(self, name)
            wanted = " or ".join(kind.__name__ for kind in kinds)
            require(
                isinstance(value, kinds), f"{name} must be {wanted}, got {type(value).__name__}"
            )

    def __repr__(self) -> str:
        return f"Exchange({type(self.shown).__name__}, answered by {type(self.answer).__name__})"


__all__ = ["Exchange"]
