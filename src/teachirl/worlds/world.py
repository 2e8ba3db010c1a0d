"""What a world that comes with its own rewards hands over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats, checked_positive, frozen
from ..errors import require
from ..mdp.model import MDP


@dataclass(frozen=True, eq=False)
class World:
    """An MDP, the weights that its expert acts on, and what its features cost.

    Attributes
    ----------
    mdp : MDP
    weights : array [k], the reward is ⟨weights, φ⟩
    prices : array [k], what it costs to give a learner each feature; None where nobody says
    """

    mdp: MDP
    weights: Floats
    prices: Floats | None = None

    def __post_init__(self) -> None:
        k = self.mdp.n_features
        weights = np.array(self.mdp.checked_weights(self.weights))
        require(weights.shape == (k,), f"weights must have shape ({k},), got {weights.shape}")
        object.__setattr__(self, "weights", frozen(weights))
        if self.prices is not None:
            prices = checked_positive("prices", self.prices, k)
            object.__setattr__(self, "prices", frozen(prices))

    def __repr__(self) -> str:
        return f"World({self.mdp!r}{'' if self.prices is None else ', with prices'})"
